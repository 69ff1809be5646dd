//! The feed-forward half of a layer.

use burn::module::Module;
use burn::tensor::Tensor;
use burn::tensor::activation::silu;

use super::Projection;

/// Gated feed-forward network: `y = (silu(x Wgᵀ) ⊙ x Wuᵀ) Wdᵀ`.
#[derive(Module, Debug)]
pub struct Mlp {
    /// `Wg`, `[intermediate, d]`.
    pub gate_proj: Projection,
    /// `Wu`, `[intermediate, d]`.
    pub up_proj: Projection,
    /// `Wd`, `[d, intermediate]`.
    pub down_proj: Projection,
}

impl Mlp {
    /// # Shapes
    /// - x: `[B, T, d]`
    /// - output: `[B, T, d]`
    pub fn forward(&self, x: Tensor<3>) -> Tensor<3> {
        let gate = silu(self.gate_proj.forward(x.clone()));
        let up = self.up_proj.forward(x);
        self.down_proj.forward(gate * up)
    }
}
