//! The forward pass of Qwen3.5, written to be read and to be trusted.
//!
//! It is the oracle that every shader is checked against, the CPU device, and what the trainer differentiates. So it
//! follows the equations of the architecture in their order, one operation a line, in f32, and nothing in it is
//! quantised. Read [`Model`] first, then [`DecoderLayer`], [`FullAttention`] or [`GatedDeltaNet`], and
//! [`delta_rule`] last.
//!
//! Burn tensors carry their backend in their [`Device`] instead of in a type parameter, so the same compiled code
//! runs on Burn's CPU backend ([`cpu`]), on wgpu (`wgpu`, feature `reference-wgpu`), and with gradients on
//! `device.autodiff()` (feature `train`).
//!
//! Sizes in `# Shapes`: `B` sequences, `T` tokens each, `d` hidden, `H` heads, `G` key-value heads, `D` the width of
//! a head, `K` and `V` the width of a linear layer's key and value heads.

mod attention;
mod capture;
mod delta_net;
pub mod delta_rule;
mod layer;
mod mlp;
mod model;
mod norm;
mod projection;
mod rotary;
mod session;
pub mod weights;

pub use burn::tensor::Device;

pub use attention::{AttentionState, FullAttention};
pub use capture::Capture;
pub use delta_net::{DeltaState, GatedDeltaNet};
pub use layer::{DecoderLayer, Mixer, MixerState};
pub use mlp::Mlp;
pub use model::{Model, State};
pub use norm::RmsNorm;
pub use projection::Projection;
pub use rotary::Rotary;
pub use session::{CpuModel, Snapshot};
pub use weights::Weights;

/// Burn's CPU device: pure Rust, SIMD, several threads for large operations.
pub fn cpu() -> Device {
    Device::flex()
}

/// Burn's wgpu device on the adapter that wgpu prefers.
#[cfg(feature = "reference-wgpu")]
pub fn wgpu() -> Device {
    Device::wgpu(burn::tensor::DeviceKind::DefaultDevice)
}
