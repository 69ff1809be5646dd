//! Q5_0: 32 weights in 22 bytes, Q4_0 with a fifth bit. `w = d · (q − 16)`, `q` from 0 to 31.

use super::{Block, Half};

/// A block of Q5_0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub struct BlockQ5_0 {
    /// Scale; negative where the weight of largest magnitude is positive.
    pub d: Half,
    /// Fifth bits, of weight `i` bit `i` of a little-endian word.
    pub qh: [u8; 4],
    /// Low four bits: byte `i` holds weight `i` in its low half and weight `i + 16` in its high half.
    pub qs: [u8; 16],
}
const _: () = assert!(size_of::<BlockQ5_0>() == 22);

/// Quants of 32 weights from their low four bits and their fifth.
pub(super) fn quants(qh: [u8; 4], qs: &[u8; 16]) -> [u8; 32] {
    let fifth = u32::from_le_bytes(qh);
    std::array::from_fn(|i| qs[i % 16] >> (4 * (i / 16)) & 15 | ((fifth >> i & 1) as u8) << 4)
}

impl Block<32> for BlockQ5_0 {
    fn dequantize(&self, out: &mut [f32; 32]) {
        let d = self.d.to_f32();
        *out = quants(self.qh, &self.qs).map(|q| d * f32::from(q as i8 - 16));
    }
}
