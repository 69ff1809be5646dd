//! Q6_K: 256 weights in 210 bytes, 16 groups of 16. `w = d · scale · (q − 32)`, `q` from 0 to 63.

use super::k::fit_signed;
use super::{Block, Half, Quantize};

/// A block of Q6_K.
///
/// Weight `128 n + 32 r + l` (`n` < 2, `r` < 4, `l` < 32) has its low four bits in `ql[64 n + 32 (r % 2) + l]`, in the low
/// half for `r` < 2 and the high half otherwise, and its high two bits in `qh[32 n + l]` at bit `2 r`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub struct BlockQ6K {
    /// Low four bits.
    pub ql: [u8; 128],
    /// High two bits.
    pub qh: [u8; 64],
    /// Scale of each group of 16 weights.
    pub scales: [i8; 16],
    /// Scale of the group scales.
    pub d: Half,
}
const _: () = assert!(size_of::<BlockQ6K>() == 210);

/// Index into `ql` and its shift, index into `qh` and its shift, of a weight.
fn place(weight: usize) -> (usize, usize, usize, usize) {
    let (n, r, l) = (weight / 128, weight / 32 % 4, weight % 32);
    (64 * n + 32 * (r % 2) + l, 4 * (r / 2), 32 * n + l, 2 * r)
}

impl Block<256> for BlockQ6K {
    fn dequantize(&self, out: &mut [f32; 256]) {
        let d = self.d.to_f32();
        for (weight, out) in out.iter_mut().enumerate() {
            let (low, low_shift, high, high_shift) = place(weight);
            let q = self.ql[low] >> low_shift & 15 | (self.qh[high] >> high_shift & 3) << 4;
            *out = d * f32::from(self.scales[weight / 16]) * f32::from(q as i8 - 32);
        }
    }
}

impl Quantize<256> for BlockQ6K {
    fn quantize(weights: &[f32; 256]) -> Self {
        let groups = weights.as_chunks::<16>().0;
        let mut steps = [0f32; 16];
        for (step, group) in steps.iter_mut().zip(groups) {
            *step = fit_signed(group);
        }
        let largest =
            steps.iter().fold(0f32, |largest, s| if s.abs() > largest.abs() { *s } else { largest });
        let d = Half::from_f32(largest / -128.0);
        let mut block = BlockQ6K { ql: [0; 128], qh: [0; 64], scales: [0; 16], d };
        let unit = d.to_f32();
        if unit != 0.0 {
            block.scales = steps.map(|step| (step / unit).round().clamp(-128.0, 127.0) as i8);
        }
        for (weight, value) in weights.iter().enumerate() {
            let step = unit * f32::from(block.scales[weight / 16]);
            let q = if step != 0.0 { (value / step).round().clamp(-32.0, 31.0) } else { 0.0 };
            let q = (q as i8 + 32) as u8;
            let (low, low_shift, high, high_shift) = place(weight);
            block.ql[low] |= (q & 15) << low_shift;
            block.qh[high] |= (q >> 4) << high_shift;
        }
        block
    }
}
