//! Q4_K: 256 weights in 144 bytes, 8 groups of 32. `w = d · scale · q − dmin · min`, `q` from 0 to 15.

use super::k::{fit_with_minimum, pack_scales, unpack_scales};
use super::{Block, Half, Quantize};

/// A block of Q4_K.
#[derive(Debug, Clone, Copy, PartialEq, Eq, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub struct BlockQ4K {
    /// Scale of the group scales.
    pub d: Half,
    /// Scale of the group minimums.
    pub dmin: Half,
    /// Scale and minimum of the 8 groups, 6 bits each.
    pub scales: [u8; 12],
    /// Quants: byte `32 j + l` holds weight `64 j + l` in its low half and weight `64 j + 32 + l` in its high half.
    pub qs: [u8; 128],
}
const _: () = assert!(size_of::<BlockQ4K>() == 144);

impl Block<256> for BlockQ4K {
    fn dequantize(&self, out: &mut [f32; 256]) {
        let (d, dmin) = (self.d.to_f32(), self.dmin.to_f32());
        let scales = unpack_scales(&self.scales);
        for (group, out) in out.as_chunks_mut::<32>().0.iter_mut().enumerate() {
            let (scale, min) = scales[group];
            let (step, minimum) = (d * f32::from(scale), dmin * f32::from(min));
            let shift = 4 * (group % 2);
            for (out, byte) in out.iter_mut().zip(&self.qs[32 * (group / 2)..]) {
                *out = step * f32::from(byte >> shift & 15) - minimum;
            }
        }
    }
}

impl Quantize<256> for BlockQ4K {
    fn quantize(weights: &[f32; 256]) -> Self {
        let groups = weights.as_chunks::<32>().0;
        let mut fits = [(0f32, 0f32); 8];
        for (fit, group) in fits.iter_mut().zip(groups) {
            *fit = fit_with_minimum(group, 15.0);
        }
        let largest = |part: fn(&(f32, f32)) -> f32| fits.iter().map(part).fold(0f32, f32::max);
        let d = Half::from_f32(largest(|fit| fit.0) / 63.0);
        let dmin = Half::from_f32(largest(|fit| fit.1) / 63.0);
        let small = |value: f32, unit: f32| {
            if unit > 0.0 { (value / unit).round().clamp(0.0, 63.0) as u8 } else { 0 }
        };
        let scales = fits.map(|(step, minimum)| (small(step, d.to_f32()), small(minimum, dmin.to_f32())));
        let mut qs = [0; 128];
        for (group, weights) in groups.iter().enumerate() {
            // With the scales as they were rounded, so that the quants make up for it.
            let (scale, min) = scales[group];
            let (step, minimum) = (d.to_f32() * f32::from(scale), dmin.to_f32() * f32::from(min));
            for (byte, weight) in qs[32 * (group / 2)..].iter_mut().zip(weights) {
                let q = if step > 0.0 { ((weight + minimum) / step).round().clamp(0.0, 15.0) } else { 0.0 };
                *byte |= (q as u8) << (4 * (group % 2));
            }
        }
        BlockQ4K { d, dmin, scales: pack_scales(&scales), qs }
    }
}
