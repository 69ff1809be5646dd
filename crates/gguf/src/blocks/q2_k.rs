//! Q2_K: 256 weights in 84 bytes, 16 groups of 16. `w = d · scale · q − dmin · min`, `q` from 0 to 3.

use super::{Block, Half};

/// A block of Q2_K.
#[derive(Debug, Clone, Copy, PartialEq, Eq, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub struct BlockQ2K {
    /// Scale (low half) and minimum (high half) of each group of 16 weights.
    pub scales: [u8; 16],
    /// Quants: byte `32 n + l` holds weight `128 n + 32 r + l` at bit `2 r` (`n` < 2, `r` < 4, `l` < 32).
    pub qs: [u8; 64],
    /// Scale of the group scales.
    pub d: Half,
    /// Scale of the group minimums.
    pub dmin: Half,
}
const _: () = assert!(size_of::<BlockQ2K>() == 84);

/// The pair of bits of a weight in 64 bytes that are laid out as the quants of Q2_K.
pub(super) fn pair(bytes: &[u8; 64], weight: usize) -> u8 {
    let (n, r, l) = (weight / 128, weight / 32 % 4, weight % 32);
    bytes[32 * n + l] >> (2 * r) & 3
}

impl Block<256> for BlockQ2K {
    fn dequantize(&self, out: &mut [f32; 256]) {
        let (d, dmin) = (self.d.to_f32(), self.dmin.to_f32());
        for (weight, out) in out.iter_mut().enumerate() {
            let scale = self.scales[weight / 16];
            let (step, minimum) = (d * f32::from(scale & 15), dmin * f32::from(scale >> 4));
            *out = step * f32::from(pair(&self.qs, weight)) - minimum;
        }
    }
}
