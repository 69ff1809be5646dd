//! IQ4_NL: 32 weights in 18 bytes. `w = d · CODEBOOK[q]`, `q` from 0 to 15.

use super::{Block, Half};

/// The values that a quant of IQ4_NL and IQ4_XS stands for: closer together around zero, where most weights are
/// (ggml's `kvalues_iq4nl`).
pub const CODEBOOK: [i8; 16] = [-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113];

/// A block of IQ4_NL.
#[derive(Debug, Clone, Copy, PartialEq, Eq, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub struct BlockIQ4NL {
    /// Scale.
    pub d: Half,
    /// Quants: byte `i` holds weight `i` in its low half and weight `i + 16` in its high half.
    pub qs: [u8; 16],
}
const _: () = assert!(size_of::<BlockIQ4NL>() == 18);

/// Thirty-two weights from their quants.
pub(super) fn dequantize(step: f32, qs: &[u8; 16], out: &mut [f32; 32]) {
    for (i, byte) in qs.iter().enumerate() {
        out[i] = step * f32::from(CODEBOOK[usize::from(byte & 15)]);
        out[i + 16] = step * f32::from(CODEBOOK[usize::from(byte >> 4)]);
    }
}

impl Block<32> for BlockIQ4NL {
    fn dequantize(&self, out: &mut [f32; 32]) {
        dequantize(self.d.to_f32(), &self.qs, out);
    }
}
