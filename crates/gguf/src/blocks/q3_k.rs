//! Q3_K: 256 weights in 110 bytes, 16 groups of 16. `w = d · (scale − 32) · (q − 4)`, `q` from 0 to 7.

use super::q2_k::pair;
use super::{Block, Half};

/// A block of Q3_K.
#[derive(Debug, Clone, Copy, PartialEq, Eq, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub struct BlockQ3K {
    /// Third bits: bit `g` of byte `l` belongs to weight `32 g + l`.
    pub hmask: [u8; 32],
    /// Low two bits, in the order of Q2_K.
    pub qs: [u8; 64],
    /// Scales of the 16 groups, 6 bits each, see [`unpack_scales`].
    pub scales: [u8; 12],
    /// Scale of the group scales.
    pub d: Half,
}
const _: () = assert!(size_of::<BlockQ3K>() == 110);

/// Group `g` has the low four bits of its scale in byte `g % 8`, in the low half for `g` < 8 and the high half
/// otherwise, and its high two bits in byte `8 + g % 4` at bit `2 (g / 4)`.
fn unpack_scales(packed: &[u8; 12]) -> [i8; 16] {
    std::array::from_fn(|g| {
        let low = packed[g % 8] >> (4 * (g / 8)) & 15;
        let high = packed[8 + g % 4] >> (2 * (g / 4)) & 3;
        (low | high << 4) as i8 - 32
    })
}

impl Block<256> for BlockQ3K {
    fn dequantize(&self, out: &mut [f32; 256]) {
        let d = self.d.to_f32();
        let scales = unpack_scales(&self.scales);
        for (weight, out) in out.iter_mut().enumerate() {
            let third = self.hmask[weight % 32] >> (weight / 32) & 1;
            let q = pair(&self.qs, weight) | third << 2;
            *out = d * f32::from(scales[weight / 16]) * f32::from(q as i8 - 4);
        }
    }
}
