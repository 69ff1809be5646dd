//! Q5_K: 256 weights in 176 bytes, Q4_K with a fifth bit. `w = d · scale · q − dmin · min`, `q` from 0 to 31.

use super::k::unpack_scales;
use super::{Block, Half};

/// A block of Q5_K.
#[derive(Debug, Clone, Copy, PartialEq, Eq, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub struct BlockQ5K {
    /// Scale of the group scales.
    pub d: Half,
    /// Scale of the group minimums.
    pub dmin: Half,
    /// Scale and minimum of the 8 groups of 32 weights, 6 bits each.
    pub scales: [u8; 12],
    /// Fifth bits: bit `g` of byte `l` belongs to weight `32 g + l`.
    pub qh: [u8; 32],
    /// Low four bits, in the order of Q4_K.
    pub qs: [u8; 128],
}
const _: () = assert!(size_of::<BlockQ5K>() == 176);

impl Block<256> for BlockQ5K {
    fn dequantize(&self, out: &mut [f32; 256]) {
        let (d, dmin) = (self.d.to_f32(), self.dmin.to_f32());
        let scales = unpack_scales(&self.scales);
        for (group, out) in out.as_chunks_mut::<32>().0.iter_mut().enumerate() {
            let (scale, min) = scales[group];
            let (step, minimum) = (d * f32::from(scale), dmin * f32::from(min));
            let shift = 4 * (group % 2);
            for (l, out) in out.iter_mut().enumerate() {
                let q = self.qs[32 * (group / 2) + l] >> shift & 15 | (self.qh[l] >> group & 1) << 4;
                *out = step * f32::from(q) - minimum;
            }
        }
    }
}
