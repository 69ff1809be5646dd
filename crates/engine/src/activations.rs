//! The buffers that a pass computes in, shared by all layers, and the small ones that steer it.

use bytemuck::{Pod, Zeroable};
use glowworm_model::Config;

use crate::error::Result;
use crate::gpu::Gpu;

/// Where the sequence stands: the host's view of `control.wgsl`.
#[derive(Debug, Clone, Copy, Default, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct Control {
    pub(crate) position: u32,
    pub(crate) count: u32,
    pub(crate) stopped: u32,
    pub(crate) flip: u32,
    pub(crate) generated: u32,
    pub(crate) limit: u32,
    pub(crate) advance: u32,
    pub(crate) replay: u32,
    pub(crate) draft_passes: u32,
    pub(crate) accepted: u32,
    pub(crate) start: u32,
    pub(crate) reserved: u32,
}

/// Buffers for up to `batch` tokens at a time. Shapes are [tokens, …] of f32.
#[derive(Debug)]
pub(crate) struct Activations {
    /// The residual stream: [tokens, hidden].
    pub(crate) hidden: wgpu::Buffer,
    /// The normed residual stream of prefill: [tokens, hidden].
    pub(crate) normed: wgpu::Buffer,
    /// What the mixers' input projections give, side by side: [tokens, the wider of the two kinds].
    pub(crate) projections: wgpu::Buffer,
    /// Rotated and scaled queries: [tokens, heads, head_dim].
    pub(crate) queries: wgpu::Buffer,
    /// What the mixer gives before its output projection.
    pub(crate) mixed: wgpu::Buffer,
    /// gate | up of prefill: [tokens, 2 · intermediate].
    pub(crate) gate_up: wgpu::Buffer,
    /// silu(gate) · up: [tokens, intermediate].
    pub(crate) inner: wgpu::Buffer,
    /// Logits of the tokens of a verify pass, or of one token: [`VERIFY_TOKENS` or 1, vocabulary].
    pub(crate) logits: wgpu::Buffer,
    /// Input tokens: [batch] u32.
    pub(crate) ids: wgpu::Buffer,
    /// The sequence, sampled tokens included: [context] u32.
    pub(crate) sequence: wgpu::Buffer,
    /// [`Control`].
    pub(crate) control: wgpu::Buffer,
    /// Bound where a kernel's variant has no use for a binding.
    pub(crate) unused: wgpu::Buffer,
}

impl Activations {
    /// Width of a row of [`Activations::projections`] for a linear layer: q | k | v, z, b, a.
    pub(crate) fn linear_width(config: &Config) -> usize {
        config.conv_channels() + config.linear_value_width() + 2 * config.linear_value_heads
    }

    /// The same for an attention layer: heads × (query | gate), keys, values.
    pub(crate) fn full_width(config: &Config) -> usize {
        2 * config.query_width() + 2 * config.kv_width()
    }

    /// Allocates the buffers for passes of up to `batch` tokens in a context of `context`, with logits of up to
    /// `logit_rows` tokens.
    pub(crate) async fn new(
        gpu: &Gpu,
        config: &Config,
        batch: usize,
        context: usize,
        logit_rows: usize,
    ) -> Result<Self> {
        let base = wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::COPY_SRC | wgpu::BufferUsages::COPY_DST;
        let rows = |label: &str, width: usize| gpu.buffer(label, (4 * batch * width) as u64, base);
        let one = |label: &str, length: usize| gpu.buffer(label, 4 * length as u64, base);
        let projections = Self::linear_width(config).max(Self::full_width(config));
        gpu.guarded("the activations", || Self {
            hidden: rows("hidden", config.hidden),
            normed: rows("normed", config.hidden),
            projections: rows("projections", projections),
            queries: rows("queries", config.query_width()),
            mixed: rows("mixed", config.linear_value_width().max(config.query_width())),
            gate_up: rows("gate_up", 2 * config.intermediate),
            inner: rows("inner", config.intermediate),
            logits: one("logits", logit_rows * config.vocab_size),
            ids: one("ids", batch),
            sequence: one("sequence", context),
            control: gpu.buffer("control", size_of::<Control>() as u64, base | wgpu::BufferUsages::UNIFORM),
            unused: one("unused", 4),
        })
        .await
    }
}
