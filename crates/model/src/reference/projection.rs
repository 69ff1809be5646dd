//! A matrix without bias.

use burn::module::{Module, Param};
use burn::tensor::Tensor;
use burn::tensor::module::linear;

/// A linear map `y = x Wᵀ`, with `W` stored `[out, in]` as checkpoints and GGUF files store it.
#[derive(Module, Debug)]
pub struct Projection {
    /// `W`, `[out, in]`.
    pub weight: Param<Tensor<2>>,
}

impl Projection {
    /// # Shapes
    /// - x: `[..., in]`
    /// - output: `[..., out]`
    pub fn forward<const N: usize>(&self, x: Tensor<N>) -> Tensor<N> {
        linear(x, self.weight.val().transpose(), None)
    }
}
