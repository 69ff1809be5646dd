//! The model's layers as steps: loads each layer's weights, allocates its state and plans its dispatches, once for
//! one token (decoding), once for a few that were drafted (verifying) and once for many (prefill).

use glowworm_model::{Config, LayerKind};

use crate::activations::Activations;
use crate::error::{Error, Result};
use crate::gpu::Gpu;
use crate::kernels::Kernel;
use crate::matrix::{Loader, Matrix};
use crate::plan::{Finish, Groups, Planner, Product, Reads, Step, Tuning, VERIFY_TOKENS, When};
use crate::source::ByteSource;

/// What a gated delta net layer remembers of the sequence. (An attention layer's keys and values are held by the
/// bindings of its steps alone: nobody else needs them.)
#[derive(Debug)]
pub(crate) struct LinearState {
    /// The last inputs of the convolution, in two copies of which [`Control::flip`] names the current one:
    /// [2, 3, channels] f32.
    ///
    /// [`Control::flip`]: crate::activations::Control
    pub(crate) conv: wgpu::Buffer,
    /// [value heads, key dim, value dim] f32.
    pub(crate) recurrent: wgpu::Buffer,
}

/// The steps of a pass, growing layer by layer.
#[derive(Debug, Default)]
pub(crate) struct Passes {
    /// Matrix-vector products over one token.
    pub(crate) decode: Vec<Step>,
    /// Matrix-matrix products over many.
    pub(crate) prefill: Vec<Step>,
    /// The steps of decoding for up to [`VERIFY_TOKENS`] tokens, whose effect on the delta nets is left open: see
    /// `delta_net.wgsl`. Empty where no drafts are wanted.
    pub(crate) verify: Vec<Step>,
    /// Those of them that bring the delta nets' state up to date, and nothing else when there are no tokens.
    pub(crate) settle: Vec<Step>,
}

/// Refuses shapes that the kernels do not cover, before anything is loaded.
pub(crate) fn check_shapes(config: &Config) -> Result<()> {
    let check = |fits: bool, what, value, needed| {
        if fits { Ok(()) } else { Err(Error::Shape { what, value, needed }) }
    };
    let dv = config.linear_value_dim;
    let dk = config.linear_key_dim;
    check(config.conv_kernel == 4, "the convolution kernel", config.conv_kernel, "4 taps")?;
    check(config.head_dim <= 256, "the attention head size", config.head_dim, "at most 256")?;
    check(config.head_dim.is_multiple_of(4), "the attention head size", config.head_dim, "a multiple of 4")?;
    check(dv <= 256, "the linear value head size", dv, "at most 256")?;
    check(
        delta_parts(dk, dv).is_some(),
        "the linear key head size",
        dk,
        "at most 64 × (256 / value head size)",
    )?;
    check(config.hidden.is_multiple_of(32), "the hidden size", config.hidden, "a multiple of 32")?;
    check(
        config.intermediate.is_multiple_of(32),
        "the feed-forward size",
        config.intermediate,
        "a multiple of 32",
    )
}

/// Into how many parts the rows of a delta-net state are divided among a workgroup's invocations: at most 64 rows
/// an invocation, as its registers allow, and 16 where the workgroup may be that large.
fn delta_parts(dk: usize, dv: usize) -> Option<usize> {
    let most = (256 / dv).max(1);
    let fitting = (1..=most).filter(|&parts| dk.is_multiple_of(parts) && dk / parts <= 64);
    fitting.clone().find(|parts| dk / parts <= 16).or(fitting.max())
}

/// A small tensor as an f32 buffer.
pub(crate) async fn upload<S: ByteSource>(loader: &mut Loader<'_, S>, name: &str) -> Result<wgpu::Buffer> {
    let values = loader.vector(name).await?;
    Ok(values_buffer(loader.gpu, name, &values))
}

/// A buffer that holds `values`.
pub(crate) fn values_buffer(gpu: &Gpu, label: &str, values: &[f32]) -> wgpu::Buffer {
    let usage = wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::COPY_DST;
    let buffer = gpu.buffer(label, size_of_val(values) as u64, usage);
    gpu.queue.write_buffer(&buffer, 0, bytemuck::cast_slice(values));
    buffer
}

/// A zeroed buffer of `length` numbers that is part of the sequence's state.
async fn state_buffer(gpu: &Gpu, label: &str, length: usize) -> Result<wgpu::Buffer> {
    let usage = wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::COPY_DST | wgpu::BufferUsages::COPY_SRC;
    gpu.guarded(label, || gpu.buffer(label, 4 * length as u64, usage)).await
}

/// Loads layers and adds their steps to the passes.
pub(crate) struct LayerBuilder<'a, 'b, S> {
    pub(crate) loader: &'b mut Loader<'a, S>,
    pub(crate) planner: &'b mut Planner<'a>,
    pub(crate) passes: &'b mut Passes,
    pub(crate) config: &'a Config,
    /// Positions of the KV cache.
    pub(crate) context: usize,
    /// Cosines and sines for them.
    pub(crate) rotation: &'b wgpu::Buffer,
    /// The layer being built.
    pub(crate) index: usize,
    /// Whether verify passes are wanted.
    pub(crate) drafts: bool,
    /// Positions that a workgroup of attention takes when it has one token; `None`: all.
    pub(crate) span: Option<u32>,
}

impl<'a, S: ByteSource> LayerBuilder<'a, '_, S> {
    fn name(&self, part: &str) -> String {
        format!("blk.{}.{part}", self.index)
    }

    fn label(&self, what: &str) -> String {
        format!("layer {} {what}", self.index)
    }

    /// Loads the layer, plans it and returns its state if it is a linear one.
    pub(crate) async fn build(&mut self) -> Result<Option<LinearState>> {
        let buffers = self.planner.buffers;
        let kind = self.config.layers[self.index];
        let norm = upload(self.loader, &self.name("attn_norm.weight")).await?;
        let (state, output) = match kind {
            LayerKind::Linear => (Some(self.delta_net(&norm).await?), "ssm_out.weight"),
            LayerKind::Full => {
                self.attention(&norm).await?;
                (None, "attn_output.weight")
            }
        };
        self.residual(output, "output", &buffers.mixed).await?;
        self.feed_forward().await?;
        self.residual("ffn_down.weight", "down", &buffers.inner).await?;
        Ok(state)
    }

    /// `projections = norm(hidden) · Wᵀ` of all that the mixer reads, side by side in rows of `stride` numbers.
    /// Verify passes store them in `verified`, half by half where it has two.
    async fn input_projections(
        &mut self,
        parts: &[&str],
        what: &str,
        norm: &wgpu::Buffer,
        stride: usize,
        verified: (&wgpu::Buffer, u32),
    ) -> Result<()> {
        let buffers = self.planner.buffers;
        let names: Vec<_> = parts.iter().map(|part| self.name(part)).collect();
        let label = self.label(what);
        self.norm_for_prefill(norm)?;
        let matrices = self.loader.merged(&names).await?;
        let decode = Product::store(&buffers.hidden, &buffers.projections, stride).normed(norm);
        self.passes.decode.extend(self.planner.matvecs(&label, &matrices, &decode, 1)?);
        if self.drafts {
            let verify = Product { y: verified.0, half: verified.1, ..decode };
            self.passes.verify.extend(self.planner.matvecs(&label, &matrices, &verify, VERIFY_TOKENS)?);
        }
        let prefill = Product::store(&buffers.normed, &buffers.projections, stride);
        self.prefill_product(&label, &matrices, &prefill)
    }

    /// The steps of a product in prefill passes.
    fn prefill_product(&mut self, label: &str, matrices: &[Matrix], product: &Product<'_>) -> Result<()> {
        for matrix in matrices {
            self.passes.prefill.extend(self.planner.matmul(label, matrix, product)?);
        }
        Ok(())
    }

    /// The steps of a product that decoding and verifying compute alike.
    fn decode_product(&mut self, label: &str, matrices: &[Matrix], product: &Product<'_>) -> Result<()> {
        self.passes.decode.extend(self.planner.matvecs(label, matrices, product, 1)?);
        if self.drafts {
            self.passes.verify.extend(self.planner.matvecs(label, matrices, product, VERIFY_TOKENS)?);
        }
        Ok(())
    }

    /// A step that is the same in every pass.
    fn in_all_passes(&mut self, step: Step) {
        self.passes.prefill.push(step.clone());
        self.in_decoding_passes(step);
    }

    /// A step that is the same for one token and for a few that were drafted.
    fn in_decoding_passes(&mut self, step: Step) {
        if self.drafts {
            self.passes.verify.push(step.clone());
        }
        self.passes.decode.push(step);
    }

    /// `normed = norm(hidden)`, which decoding does inside its matrix-vector products.
    fn norm_for_prefill(&mut self, norm: &wgpu::Buffer) -> Result<()> {
        let buffers = self.planner.buffers;
        let shape = [(self.config.hidden / 4) as u32, self.planner.eps.to_bits()];
        let operands = [&buffers.hidden, norm, &buffers.normed];
        let label = self.label("norm");
        let reads = Reads::numbers(2 * self.config.hidden);
        let groups = Groups::PerToken(1);
        let step = self.planner.step(label, (Kernel::RmsNorm, &[]), &operands, &shape, groups, reads)?;
        self.passes.prefill.push(step);
        Ok(())
    }

    /// `hidden += x · Wᵀ`.
    async fn residual(&mut self, part: &str, what: &str, x: &wgpu::Buffer) -> Result<()> {
        let label = self.label(what);
        let product = Product::add(x, &self.planner.buffers.hidden, self.config.hidden);
        let matrices = self.loader.merged(&[self.name(part)]).await?;
        self.decode_product(&label, &matrices, &product)?;
        self.prefill_product(&label, &matrices, &product)
    }

    /// The mixer of a linear layer.
    async fn delta_net(&mut self, norm: &wgpu::Buffer) -> Result<LinearState> {
        let (gpu, buffers, config) = (self.planner.gpu, self.planner.buffers, self.config);
        let stride = Activations::linear_width(config);
        let half = VERIFY_TOKENS * stride;
        let parts = ["attn_qkv.weight", "attn_gate.weight", "ssm_beta.weight", "ssm_alpha.weight"];
        // Where there are no verify passes, nothing is bound to this.
        let verified =
            state_buffer(gpu, "projections to verify", if self.drafts { 2 * half } else { 4 }).await?;
        self.input_projections(&parts, "q|k|v|z|b|a", norm, stride, (&verified, half as u32)).await?;
        let channels = config.conv_channels();
        let (dk, dv) = (config.linear_key_dim, config.linear_value_dim);
        let conv_weights = upload(self.loader, &self.name("ssm_conv1d.weight")).await?;
        let mut head_values = self.loader.vector(&self.name("ssm_a")).await?;
        head_values.extend(self.loader.vector(&self.name("ssm_dt.bias")).await?);
        head_values.extend(self.loader.vector(&self.name("ssm_norm.weight")).await?);
        let head_values = values_buffer(gpu, "head values", &head_values);
        let conv = state_buffer(gpu, "convolution state", 2 * 3 * channels).await?;
        let recurrent = state_buffer(gpu, "recurrent state", config.recurrent_state_len()).await?;

        let z_first = channels;
        let b_first = z_first + config.linear_value_width();
        let a_first = b_first + config.linear_value_heads;
        let shape = [
            stride as u32,
            z_first as u32,
            b_first as u32,
            a_first as u32,
            config.linear_key_heads as u32,
            config.linear_value_heads as u32,
            self.planner.eps.to_bits(),
            half as u32,
        ];
        // check_shapes made sure that there is a division.
        let parts = delta_parts(dk, dv).unwrap_or(1);
        let constants = |verify| {
            [("DK", dk as u32), ("DV", dv as u32), ("WORKGROUP", (parts * dv) as u32), ("VERIFY", verify)]
        };
        let operands =
            |projections| [projections, &conv_weights, &head_values, &conv, &recurrent, &buffers.mixed];
        let groups = Groups::Fixed(config.linear_value_heads as u32);
        let label = self.label("delta net");
        let reads = Reads {
            state: 4 * (config.recurrent_state_len() + 3 * channels) as u64,
            ..Reads::numbers(stride + 4 * channels + 2 * config.linear_value_heads + dv)
        };
        let kernel = (Kernel::DeltaNet, &constants(0)[..]);
        let bound = operands(&buffers.projections);
        let step = self.planner.step(label.clone(), kernel, &bound, &shape, groups, reads)?;
        self.passes.decode.push(step.clone());
        self.passes.prefill.push(step);
        if self.drafts {
            let kernel = (Kernel::DeltaNet, &constants(1)[..]);
            let step = self.planner.step(label, kernel, &operands(&verified), &shape, groups, reads)?;
            self.passes.verify.push(step.clone());
            self.passes.settle.push(step);
        }
        Ok(LinearState { conv, recurrent })
    }

    /// The mixer of an attention layer.
    async fn attention(&mut self, norm: &wgpu::Buffer) -> Result<()> {
        let (gpu, buffers, config) = (self.planner.gpu, self.planner.buffers, self.config);
        let stride = Activations::full_width(config);
        let parts = ["attn_q.weight", "attn_k.weight", "attn_v.weight"];
        self.input_projections(&parts, "q|gate|k|v", norm, stride, (&buffers.projections, 0)).await?;
        let mut norms = self.loader.vector(&self.name("attn_q_norm.weight")).await?;
        norms.extend(self.loader.vector(&self.name("attn_k_norm.weight")).await?);
        let norms = values_buffer(gpu, "q and k norms", &norms);
        let keys = state_buffer(gpu, "key cache", self.context * config.kv_width()).await?;
        let values = state_buffer(gpu, "value cache", self.context * config.kv_width()).await?;

        let shape = [stride as u32, config.heads as u32, config.kv_heads as u32, self.planner.eps.to_bits()];
        let head_dim = ("HEAD_DIM", config.head_dim as u32);
        let prepare = (Kernel::AttentionPrepare, [head_dim, ("ROPE_DIM", config.rope_dim as u32)]);
        let operands = [&buffers.projections, &norms, self.rotation, &buffers.queries, &keys, &values];
        let groups = Groups::PerToken((config.heads + config.kv_heads) as u32);
        let label = self.label("rotate, cache");
        let reads = Reads::numbers(stride - config.query_width() + 2 * config.head_dim + config.rope_dim);
        let step = self.planner.step(label, (prepare.0, &prepare.1), &operands, &shape, groups, reads)?;
        self.in_all_passes(step);

        let label = self.label("attention");
        let operands = |out| [&buffers.projections, &buffers.queries, &keys, &values, out];
        let reads = Reads {
            cache_per_position: 4 * 2 * config.kv_width() as u64,
            ..Reads::numbers(2 * config.query_width())
        };
        let heads = config.heads as u32;
        let kernel = (Kernel::Attention, &[head_dim][..]);
        let bound = operands(&buffers.mixed);
        let shape = |spans| [stride as u32, heads, config.kv_heads as u32, spans];
        // Four heads of one key head together, where that wins.
        let shared = self.planner.tuning == Tuning::Software && config.heads == 4 * config.kv_heads;
        let (whole, groups) = match shared {
            true => ((Kernel::AttentionHeads, kernel.1), Groups::PerToken(config.kv_heads as u32)),
            false => (kernel, Groups::PerToken(heads)),
        };
        let whole = self.planner.step(label.clone(), whole, &bound, &shape(1), groups, reads)?;
        self.passes.prefill.push(whole.clone());
        let Some(span) = self.span.filter(|span| self.context > *span as usize) else {
            self.in_decoding_passes(whole);
            return Ok(());
        };

        // A long sequence: spans of it side by side, then what they left put together.
        let spans = self.context.div_ceil(span as usize);
        let part = config.head_dim + 4;
        let parts =
            state_buffer(gpu, "attention's parts", VERIFY_TOKENS * config.heads * spans * part).await?;
        let shape = shape(spans as u32);
        let constants = [head_dim, ("SPAN", span)];
        let kernel = (Kernel::Attention, &constants[..]);
        let bound = operands(&parts);
        let groups = Groups::PerTokenAndSpan(heads, span);
        let in_spans = self.planner.step(label, kernel, &bound, &shape, groups, reads)?;
        let label = self.label("attention, joined");
        let bound = [&buffers.projections, &parts, &buffers.mixed];
        let kernel = (Kernel::AttentionJoin, &constants[..]);
        let reads = Reads::numbers(config.query_width() + config.heads * part);
        let join = self.planner.step(label, kernel, &bound, &shape, Groups::PerToken(heads), reads)?;
        self.in_decoding_passes(whole.when(When::UpTo(span)));
        self.in_decoding_passes(in_spans.when(When::Beyond(span)));
        self.in_decoding_passes(join.when(When::Beyond(span)));
        Ok(())
    }

    /// `inner = silu(gate) · up` of the normed stream. When both halves are one matrix in one tile, decoding does
    /// it in one dispatch.
    async fn feed_forward(&mut self) -> Result<()> {
        let buffers = self.planner.buffers;
        let intermediate = self.config.intermediate;
        let norm = upload(self.loader, &self.name("post_attention_norm.weight")).await?;
        let gate_up = self.loader.merged(&[self.name("ffn_gate.weight"), self.name("ffn_up.weight")]).await?;
        let (label, halves) = (self.label("gate · up"), self.label("gate|up"));
        self.norm_for_prefill(&norm)?;
        match gate_up.as_slice() {
            [matrix] if matrix.tiles.len() == 1 => {
                let product = Product::store(&buffers.hidden, &buffers.inner, intermediate).normed(&norm);
                let product = Product { finish: Finish::SwiGlu, ..product };
                self.decode_product(&label, std::slice::from_ref(matrix), &product)?;
            }
            matrices => {
                let product = Product::store(&buffers.hidden, &buffers.gate_up, 2 * intermediate);
                self.decode_product(&halves, matrices, &product.normed(&norm))?;
                let step = self.swiglu()?;
                self.passes.decode.push(step.clone());
                if self.drafts {
                    self.passes.verify.push(step);
                }
            }
        }
        let product = Product::store(&buffers.normed, &buffers.gate_up, 2 * intermediate);
        self.prefill_product(&halves, &gate_up, &product)?;
        let step = self.swiglu()?;
        self.passes.prefill.push(step);
        Ok(())
    }

    fn swiglu(&mut self) -> Result<Step> {
        let buffers = self.planner.buffers;
        let words = (self.config.intermediate / 4) as u32;
        let operands = [&buffers.gate_up, &buffers.inner];
        let groups = Groups::PerToken(words.div_ceil(64));
        let reads = Reads::numbers(2 * self.config.intermediate);
        self.planner.step(self.label("silu · up"), (Kernel::Swiglu, &[]), &operands, &[words], groups, reads)
    }
}
