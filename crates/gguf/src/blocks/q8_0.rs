//! Q8_0: 32 weights in 34 bytes. `w = d · q`, `q` from -127 to 127.

use super::{Block, Half, Quantize};

/// A block of Q8_0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub struct BlockQ8_0 {
    /// Scale.
    pub d: Half,
    /// Quants.
    pub qs: [i8; 32],
}
const _: () = assert!(size_of::<BlockQ8_0>() == 34);

impl Block<32> for BlockQ8_0 {
    fn dequantize(&self, out: &mut [f32; 32]) {
        let d = self.d.to_f32();
        for (out, q) in out.iter_mut().zip(self.qs) {
            *out = d * f32::from(q);
        }
    }
}

impl Quantize<32> for BlockQ8_0 {
    /// As ggml's `quantize_row_q8_0_ref`: the quants use the scale before it is rounded to half precision, and round
    /// halves away from zero.
    fn quantize(weights: &[f32; 32]) -> Self {
        let largest = weights.iter().fold(0f32, |largest, weight| largest.max(weight.abs()));
        let d = largest / 127.0;
        let inverse = if d != 0.0 { 1.0 / d } else { 0.0 };
        BlockQ8_0 { d: Half::from_f32(d), qs: weights.map(|weight| (weight * inverse).round() as i8) }
    }
}
