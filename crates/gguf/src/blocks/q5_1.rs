//! Q5_1: 32 weights in 24 bytes, Q4_1 with a fifth bit. `w = d · q + m`, `q` from 0 to 31.

use super::q5_0::quants;
use super::{Block, Half};

/// A block of Q5_1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub struct BlockQ5_1 {
    /// Scale.
    pub d: Half,
    /// The least weight.
    pub m: Half,
    /// Fifth bits, as in Q5_0.
    pub qh: [u8; 4],
    /// Low four bits, as in Q5_0.
    pub qs: [u8; 16],
}
const _: () = assert!(size_of::<BlockQ5_1>() == 24);

impl Block<32> for BlockQ5_1 {
    fn dequantize(&self, out: &mut [f32; 32]) {
        let (d, m) = (self.d.to_f32(), self.m.to_f32());
        *out = quants(self.qh, &self.qs).map(|q| d * f32::from(q) + m);
    }
}
