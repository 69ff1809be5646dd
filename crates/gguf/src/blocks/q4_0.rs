//! Q4_0: 32 weights in 18 bytes. `w = d · (q − 8)`, `q` from 0 to 15.

use super::{Block, Half, Quantize};

/// A block of Q4_0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub struct BlockQ4_0 {
    /// Scale; negative where the weight of largest magnitude is positive.
    pub d: Half,
    /// Quants: byte `i` holds weight `i` in its low half and weight `i + 16` in its high half.
    pub qs: [u8; 16],
}
const _: () = assert!(size_of::<BlockQ4_0>() == 18);

impl Block<32> for BlockQ4_0 {
    fn dequantize(&self, out: &mut [f32; 32]) {
        let d = self.d.to_f32();
        for (i, byte) in self.qs.iter().enumerate() {
            out[i] = d * f32::from((byte & 15) as i8 - 8);
            out[i + 16] = d * f32::from((byte >> 4) as i8 - 8);
        }
    }
}

impl Quantize<32> for BlockQ4_0 {
    /// As ggml's `quantize_row_q4_0_ref`: the weight of largest magnitude becomes exactly −8, because the range has one
    /// more step on that side.
    fn quantize(weights: &[f32; 32]) -> Self {
        let largest =
            weights.iter().fold(0f32, |largest, w| if w.abs() > largest.abs() { *w } else { largest });
        let d = largest / -8.0;
        let inverse = if d != 0.0 { 1.0 / d } else { 0.0 };
        // Adding 8.5 and cutting off the fraction: the values are never below zero here.
        let quant = |weight: f32| ((weight * inverse + 8.5) as i8).min(15) as u8;
        let mut qs = [0; 16];
        for (i, byte) in qs.iter_mut().enumerate() {
            *byte = quant(weights[i]) | quant(weights[i + 16]) << 4;
        }
        BlockQ4_0 { d: Half::from_f32(d), qs }
    }
}
