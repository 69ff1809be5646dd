//! Q4_1: 32 weights in 20 bytes. `w = d · q + m`, `q` from 0 to 15.

use super::{Block, Half};

/// A block of Q4_1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub struct BlockQ4_1 {
    /// Scale.
    pub d: Half,
    /// The least weight.
    pub m: Half,
    /// Quants: byte `i` holds weight `i` in its low half and weight `i + 16` in its high half.
    pub qs: [u8; 16],
}
const _: () = assert!(size_of::<BlockQ4_1>() == 20);

impl Block<32> for BlockQ4_1 {
    fn dequantize(&self, out: &mut [f32; 32]) {
        let (d, m) = (self.d.to_f32(), self.m.to_f32());
        for (i, byte) in self.qs.iter().enumerate() {
            out[i] = d * f32::from(byte & 15) + m;
            out[i + 16] = d * f32::from(byte >> 4) + m;
        }
    }
}
