//! Rotary position embedding.

use burn::tensor::{Device, Tensor, TensorData};

/// Cosines and sines of the rotation angles for a run of positions.
///
/// `angle(p, i) = p · θ^(−2i/R)` for `i < R/2`, where `R` is how many leading numbers of a head are rotated. The
/// architecture's three-row positions (time, height, width) are one and the same for text, so this plain form is exact.
#[derive(Debug, Clone)]
pub struct Rotary {
    cos: Tensor<4>,
    sin: Tensor<4>,
}

impl Rotary {
    /// Tables for the positions `start .. start + len`; `rope_dim` is `R`.
    ///
    /// Angles are computed in f64: at position 100,000 an f32 product would already be off by a hundredth of a radian.
    pub fn new(start: usize, len: usize, rope_dim: usize, theta: f32, device: &Device) -> Self {
        let half = rope_dim / 2;
        let inverse: Vec<f64> =
            (0..half).map(|i| f64::from(theta).powf(-2.0 * i as f64 / rope_dim as f64)).collect();
        let mut cos = Vec::with_capacity(len * half);
        let mut sin = Vec::with_capacity(len * half);
        for position in start..start + len {
            for &frequency in &inverse {
                let (s, c) = (position as f64 * frequency).sin_cos();
                cos.push(c as f32);
                sin.push(s as f32);
            }
        }
        let table = |values| Tensor::from_data(TensorData::new(values, [1, 1, len, half]), device);
        Self { cos: table(cos), sin: table(sin) }
    }

    /// Rotates the first `R` numbers of every head, number `i` together with number `i + R/2`, and passes the rest:
    /// `(a, b) ↦ (a cos − b sin, b cos + a sin)`.
    ///
    /// # Shapes
    /// - x: `[B, H, T, D]`
    /// - output: `[B, H, T, D]`
    pub fn apply(&self, x: Tensor<4>) -> Tensor<4> {
        let width = x.dims()[3];
        let half = self.cos.dims()[3];
        let a = x.clone().narrow(3, 0, half);
        let b = x.clone().narrow(3, half, half);
        let rotated_a = a.clone() * self.cos.clone() - b.clone() * self.sin.clone();
        let rotated_b = b * self.cos.clone() + a * self.sin.clone();
        let mut parts = vec![rotated_a, rotated_b];
        if width > 2 * half {
            parts.push(x.narrow(3, 2 * half, width - 2 * half));
        }
        Tensor::cat(parts, 3)
    }
}
