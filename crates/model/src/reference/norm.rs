//! Normalisation over the last axis.

use burn::module::{Module, Param};
use burn::tensor::Tensor;

/// Added to the sum of squares of a query or key of a linear layer, inside the square root.
const L2_EPS: f64 = 1e-6;

/// Root-mean-square norm with a zero-centred weight: `y = x / √(mean(x²) + ε) · (1 + w)`.
///
/// The weight is stored as Hugging Face checkpoints store it. GGUF files hold `1 + w`; the loader takes the 1 off.
/// A weight around zero is also what weight decay wants.
#[derive(Module, Debug)]
pub struct RmsNorm {
    /// `w`, `[d]`.
    pub weight: Param<Tensor<1>>,
    /// `ε`.
    pub eps: f64,
}

impl RmsNorm {
    /// # Shapes
    /// - x: `[..., d]`
    /// - output: `[..., d]`
    pub fn forward<const N: usize>(&self, x: Tensor<N>) -> Tensor<N> {
        rms(x, self.eps) * (self.weight.val() + 1.0).unsqueeze()
    }
}

/// `x / √(mean(x²) + ε)` over the last axis.
///
/// # Shapes
/// - x: `[..., d]`
/// - output: `[..., d]`
pub fn rms<const N: usize>(x: Tensor<N>, eps: f64) -> Tensor<N> {
    let mean = x.clone().square().mean_dim(N - 1);
    x / (mean + eps).sqrt()
}

/// `x / √(Σ x² + 10⁻⁶)` over the last axis: length one, but for vectors near zero.
///
/// # Shapes
/// - x: `[..., d]`
/// - output: `[..., d]`
pub fn l2<const N: usize>(x: Tensor<N>) -> Tensor<N> {
    let sum = x.clone().square().sum_dim(N - 1);
    x / (sum + L2_EPS).sqrt()
}
