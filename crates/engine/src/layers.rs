//! The model's layers as steps: loads each layer's weights, allocates its state and plans its dispatches, once for
//! one token (decoding) and once for many (prefill).

use glowworm_model::{Config, LayerKind};

use crate::activations::Activations;
use crate::error::{Error, Result};
use crate::gpu::Gpu;
use crate::kernels::Kernel;
use crate::matrix::{Loader, Matrix};
use crate::plan::{Finish, Groups, Planner, Product, Step};
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
    fitting.clone().find(|parts| dk / parts <= 16).or(fitting.last())
}

/// Loads layer `index` and adds its steps to `passes`. Returns the state of a linear layer.
pub(crate) async fn load_layer<S: ByteSource>(
    loader: &mut Loader<'_, S>,
    planner: &mut Planner<'_>,
    passes: &mut Passes,
    config: &Config,
    (index, context): (usize, usize),
    rotation: &wgpu::Buffer,
) -> Result<Option<LinearState>> {
    let buffers = planner.buffers;
    let name = |part: &str| format!("blk.{index}.{part}");
    let label = |what: &str| format!("layer {index} {what}");
    let kind = config.layers[index];
    let words = (config.hidden / 4) as u32;

    let input_norm = upload(loader, &name("attn_norm.weight")).await?;
    let (inputs, output, stride) = match kind {
        LayerKind::Linear => (
            ["attn_qkv.weight", "attn_gate.weight", "ssm_beta.weight", "ssm_alpha.weight"].as_slice(),
            "ssm_out.weight",
            Activations::linear_width(config) as u32,
        ),
        LayerKind::Full => (
            ["attn_q.weight", "attn_k.weight", "attn_v.weight"].as_slice(),
            "attn_output.weight",
            Activations::full_width(config) as u32,
        ),
    };
    let inputs = loader.merged(&inputs.iter().map(|part| name(part)).collect::<Vec<_>>()).await?;

    let norm_shape = [words, planner.eps.to_bits()];
    let norm_step = |planner: &mut Planner<'_>, label: String, norm: &wgpu::Buffer| {
        let operands = [&buffers.hidden, norm, &buffers.normed];
        planner.step(label, (Kernel::RmsNorm, &[]), &operands, &norm_shape, Groups::PerToken(1))
    };
    passes.prefill.push(norm_step(planner, label("norm"), &input_norm)?);
    let what = if kind == LayerKind::Linear { "q|k|v|z|b|a" } else { "q|gate|k|v" };
    for matrix in &inputs {
        let decode = Product::store(&buffers.hidden, &buffers.projections).normed(&input_norm);
        passes.decode.extend(planner.matvec(&label(what), matrix, &decode)?);
        let prefill = Product::store(&buffers.normed, &buffers.projections);
        passes.prefill.extend(planner.matmul(&label(what), matrix, &prefill, stride)?);
    }

    let state = match kind {
        LayerKind::Linear => Some(delta_net(loader, planner, passes, config, &name, &label).await?),
        LayerKind::Full => {
            attention(loader, planner, passes, config, (&name, &label, context, rotation)).await?;
            None
        }
    };

    let hidden = config.hidden as u32;
    for matrix in &loader.merged(&[name(output)]).await? {
        let product = Product::add(&buffers.mixed, &buffers.hidden);
        passes.decode.extend(planner.matvec(&label("output"), matrix, &product)?);
        passes.prefill.extend(planner.matmul(&label("output"), matrix, &product, hidden)?);
    }

    let norm = upload(loader, &name("post_attention_norm.weight")).await?;
    let gate_up = loader.merged(&[name("ffn_gate.weight"), name("ffn_up.weight")]).await?;
    passes.prefill.push(norm_step(planner, label("norm"), &norm)?);
    feed_forward(planner, passes, config, &gate_up, (&norm, &label))?;
    for matrix in &loader.merged(&[name("ffn_down.weight")]).await? {
        let product = Product::add(&buffers.inner, &buffers.hidden);
        passes.decode.extend(planner.matvec(&label("down"), matrix, &product)?);
        passes.prefill.extend(planner.matmul(&label("down"), matrix, &product, hidden)?);
    }
    Ok(state)
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

/// The mixer of a linear layer.
async fn delta_net<S: ByteSource>(
    loader: &mut Loader<'_, S>,
    planner: &mut Planner<'_>,
    passes: &mut Passes,
    config: &Config,
    name: &dyn Fn(&str) -> String,
    label: &dyn Fn(&str) -> String,
) -> Result<LinearState> {
    let gpu = planner.gpu;
    let buffers = planner.buffers;
    let channels = config.conv_channels();
    let (dk, dv) = (config.linear_key_dim, config.linear_value_dim);
    let conv_weights = upload(loader, &name("ssm_conv1d.weight")).await?;
    let mut head_values = loader.vector(&name("ssm_a")).await?;
    head_values.extend(loader.vector(&name("ssm_dt.bias")).await?);
    head_values.extend(loader.vector(&name("ssm_norm.weight")).await?);
    let head_values = values_buffer(gpu, "head values", &head_values);
    let conv = state_buffer(gpu, "convolution state", 2 * 3 * channels).await?;
    let recurrent = state_buffer(gpu, "recurrent state", config.recurrent_state_len()).await?;

    let z_first = channels as u32;
    let b_first = z_first + config.linear_value_width() as u32;
    let a_first = b_first + config.linear_value_heads as u32;
    let shape = [
        Activations::linear_width(config) as u32,
        z_first,
        b_first,
        a_first,
        config.linear_key_heads as u32,
        config.linear_value_heads as u32,
        planner.eps.to_bits(),
    ];
    // check_shapes made sure that there is a division.
    let parts = delta_parts(dk, dv).unwrap_or(1);
    let constants = [("DK", dk as u32), ("DV", dv as u32), ("WORKGROUP", (parts * dv) as u32)];
    let operands = [&buffers.projections, &conv_weights, &head_values, &conv, &recurrent, &buffers.mixed];
    let groups = Groups::Fixed(config.linear_value_heads as u32);
    for pass in [&mut passes.decode, &mut passes.prefill] {
        pass.push(planner.step(
            label("delta net"),
            (Kernel::DeltaNet, &constants),
            &operands,
            &shape,
            groups,
        )?);
    }
    Ok(LinearState { conv, recurrent })
}

/// The mixer of an attention layer.
async fn attention<S: ByteSource>(
    loader: &mut Loader<'_, S>,
    planner: &mut Planner<'_>,
    passes: &mut Passes,
    config: &Config,
    (name, label, context, rotation): (
        &dyn Fn(&str) -> String,
        &dyn Fn(&str) -> String,
        usize,
        &wgpu::Buffer,
    ),
) -> Result<()> {
    let gpu = planner.gpu;
    let buffers = planner.buffers;
    let mut norms = loader.vector(&name("attn_q_norm.weight")).await?;
    norms.extend(loader.vector(&name("attn_k_norm.weight")).await?);
    let norms = values_buffer(gpu, "q and k norms", &norms);
    let keys = state_buffer(gpu, "key cache", context * config.kv_width()).await?;
    let values = state_buffer(gpu, "value cache", context * config.kv_width()).await?;

    let shape = [
        Activations::full_width(config) as u32,
        config.heads as u32,
        config.kv_heads as u32,
        planner.eps.to_bits(),
    ];
    let head_dim = ("HEAD_DIM", config.head_dim as u32);
    let prepare = [head_dim, ("ROPE_DIM", config.rope_dim as u32)];
    let prepare_operands = [&buffers.projections, &norms, rotation, &buffers.queries, &keys, &values];
    let prepare_groups = Groups::PerToken((config.heads + config.kv_heads) as u32);
    let operands = [&buffers.projections, &buffers.queries, &keys, &values, &buffers.mixed];
    let groups = Groups::PerToken(config.heads as u32);
    for pass in [&mut passes.decode, &mut passes.prefill] {
        pass.push(planner.step(
            label("rotate, cache"),
            (Kernel::AttentionPrepare, &prepare),
            &prepare_operands,
            &shape,
            prepare_groups,
        )?);
        pass.push(planner.step(
            label("attention"),
            (Kernel::Attention, &[head_dim]),
            &operands,
            &shape,
            groups,
        )?);
    }
    Ok(())
}

/// `inner = silu(gate) · up`. When both halves are one matrix in one tile, decoding does it in one dispatch.
fn feed_forward(
    planner: &mut Planner<'_>,
    passes: &mut Passes,
    config: &Config,
    gate_up: &[Matrix],
    (norm, label): (&wgpu::Buffer, &dyn Fn(&str) -> String),
) -> Result<()> {
    let buffers = planner.buffers;
    let stride = 2 * config.intermediate as u32;
    let words = (config.intermediate / 4) as u32;
    let swiglu = |planner: &mut Planner<'_>| {
        let groups = Groups::PerToken(words.div_ceil(64));
        planner.step(
            label("silu · up"),
            (Kernel::Swiglu, &[]),
            &[&buffers.gate_up, &buffers.inner],
            &[words],
            groups,
        )
    };
    match gate_up {
        [matrix] if matrix.tiles.len() == 1 => {
            let product =
                Product { finish: Finish::SwiGlu, ..Product::store(&buffers.hidden, &buffers.inner) };
            passes.decode.extend(planner.matvec(&label("gate · up"), matrix, &product.normed(norm))?);
        }
        matrices => {
            for matrix in matrices {
                let product = Product::store(&buffers.hidden, &buffers.gate_up).normed(norm);
                passes.decode.extend(planner.matvec(&label("gate|up"), matrix, &product)?);
            }
            passes.decode.push(swiglu(planner)?);
        }
    }
    for matrix in gate_up {
        let product = Product::store(&buffers.normed, &buffers.gate_up);
        passes.prefill.extend(planner.matmul(&label("gate|up"), matrix, &product, stride)?);
    }
    passes.prefill.push(swiglu(planner)?);
    Ok(())
}
