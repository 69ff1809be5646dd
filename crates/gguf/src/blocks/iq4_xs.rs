//! IQ4_XS: 256 weights in 136 bytes, 8 groups of 32. `w = d · (scale − 32) · CODEBOOK[q]`, `q` from 0 to 15, with the
//! codebook of IQ4_NL.

use super::{Block, Half, iq4_nl};

/// A block of IQ4_XS.
#[derive(Debug, Clone, Copy, PartialEq, Eq, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub struct BlockIQ4XS {
    /// Scale of the group scales.
    pub d: Half,
    /// High two bits of the scale of group `g`: bits `2 g` of a little-endian word.
    pub scales_h: [u8; 2],
    /// Low four bits of the scale of group `g`: bits `4 g` of a little-endian word.
    pub scales_l: [u8; 4],
    /// Quants: of each group 16 bytes in the order of IQ4_NL.
    pub qs: [[u8; 16]; 8],
}
const _: () = assert!(size_of::<BlockIQ4XS>() == 136);

impl Block<256> for BlockIQ4XS {
    fn dequantize(&self, out: &mut [f32; 256]) {
        let d = self.d.to_f32();
        let (low, high) = (u32::from_le_bytes(self.scales_l), u16::from_le_bytes(self.scales_h));
        for (g, out) in out.as_chunks_mut::<32>().0.iter_mut().enumerate() {
            let scale = (low >> (4 * g) & 15) as i8 | ((high >> (2 * g) & 3) as i8) << 4;
            iq4_nl::dequantize(d * f32::from(scale - 32), &self.qs[g], out);
        }
    }
}
