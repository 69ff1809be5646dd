//! The `qwen35.*` keys of a GGUF file.

use glowworm_gguf::{Array, Header, Metadata, Value};

use super::{Config, LayerKind, ValueHeadOrder, by_interval, cap};
use crate::error::{Error, Result};

const ARCHITECTURE: &str = "qwen35";
/// Layers per attention layer where the file gives neither a list nor an interval: llama.cpp's default.
const DEFAULT_INTERVAL: usize = 4;

pub(super) fn read(header: &Header) -> Result<Config> {
    let metadata = &header.metadata;
    let architecture = metadata.str("general.architecture")?;
    if architecture != ARCHITECTURE {
        return Err(Error::Architecture { found: architecture.to_owned() });
    }
    if let Some(scaling) = metadata.opt_str("qwen35.rope.scaling.type")?
        && scaling != "none"
    {
        return Err(Error::config(
            "qwen35.rope.scaling.type",
            format!("`{scaling}` is not supported: use a file without rotation scaling"),
        ));
    }

    let blocks = number(metadata, "qwen35.block_count")?;
    let mtp = optional(metadata, "qwen35.nextn_predict_layers")?.unwrap_or(0);
    let trunk =
        blocks.checked_sub(mtp).filter(|trunk| (1..=cap::LAYERS).contains(trunk)).ok_or_else(|| {
            Error::config(
                "qwen35.block_count",
                format!(
                    "{blocks} less {mtp} prediction layers leaves no trunk of 1..={} layers",
                    cap::LAYERS
                ),
            )
        })?;

    let head_dim = number(metadata, "qwen35.attention.key_length")?;
    let value_length = optional(metadata, "qwen35.attention.value_length")?.unwrap_or(head_dim);
    if value_length != head_dim {
        return Err(Error::config(
            "qwen35.attention.value_length",
            format!("{value_length} differs from the key length, {head_dim}"),
        ));
    }
    let value_heads = number(metadata, "qwen35.ssm.time_step_rank")?;
    let inner = number(metadata, "qwen35.ssm.inner_size")?;
    if value_heads == 0 || !inner.is_multiple_of(value_heads) {
        return Err(Error::config(
            "qwen35.ssm.inner_size",
            format!("{inner} is no multiple of the {value_heads} value heads"),
        ));
    }

    let embedding = header
        .tensor("token_embd.weight")
        .ok_or_else(|| Error::Tensor { name: "token_embd.weight".into(), problem: "is missing".into() })?;
    let vocab = usize::try_from(embedding.rows()).unwrap_or(usize::MAX);

    Ok(Config {
        hidden: number(metadata, "qwen35.embedding_length")?,
        intermediate: number(metadata, "qwen35.feed_forward_length")?,
        layers: layers(header, trunk)?,
        heads: number(metadata, "qwen35.attention.head_count")?,
        kv_heads: number(metadata, "qwen35.attention.head_count_kv")?,
        head_dim,
        linear_key_heads: number(metadata, "qwen35.ssm.group_count")?,
        linear_value_heads: value_heads,
        linear_key_dim: number(metadata, "qwen35.ssm.state_size")?,
        linear_value_dim: inner / value_heads,
        conv_kernel: number(metadata, "qwen35.ssm.conv_kernel")?,
        rope_dim: number(metadata, "qwen35.rope.dimension_count")?,
        rope_theta: metadata.f32("qwen35.rope.freq_base")?,
        norm_eps: metadata.f32("qwen35.attention.layer_norm_rms_epsilon")?,
        vocab_size: vocab,
        context_length: number(metadata, "qwen35.context_length")?,
        tied: header.tensor("output.weight").is_none(),
        value_heads_order: ValueHeadOrder::Tiled,
        mtp_layers: mtp,
    })
}

fn number(metadata: &Metadata, key: &str) -> Result<usize> {
    Ok(metadata.u32(key)? as usize)
}

fn optional(metadata: &Metadata, key: &str) -> Result<Option<usize>> {
    Ok(metadata.opt_u32(key)?.map(|value| value as usize))
}

/// The trunk's layers: by the list of recurrent layers where the file has one, else by the interval; each then
/// checked against the tensors that are there.
fn layers(header: &Header, trunk: usize) -> Result<Vec<LayerKind>> {
    let metadata = &header.metadata;
    let key = "qwen35.attention.recurrent_layers";
    let layers = match metadata.get(key) {
        Some(Value::Array(array)) => {
            let recurrent: Vec<bool> = match array {
                Array::Bool(flags) => flags.clone(),
                other => other
                    .integers()
                    .ok_or_else(|| Error::config(key, "is a list of neither booleans nor integers"))?
                    .into_iter()
                    .map(|flag| flag != 0)
                    .collect(),
            };
            // It has an entry for each block, prediction layers too; those are not looked at.
            if recurrent.len() < trunk {
                return Err(Error::config(
                    key,
                    format!("has {} entries for {trunk} layers", recurrent.len()),
                ));
            }
            let kinds = recurrent.into_iter().take(trunk);
            kinds.map(|recurrent| if recurrent { LayerKind::Linear } else { LayerKind::Full }).collect()
        }
        Some(other) => return Err(Error::config(key, format!("is {}, not a list", other.describe()))),
        None => {
            let key = "qwen35.full_attention_interval";
            let interval = optional(metadata, key)?.unwrap_or(DEFAULT_INTERVAL);
            if interval == 0 {
                return Err(Error::config(key, "0 is not an interval"));
            }
            by_interval(trunk, interval)
        }
    };
    for (index, kind) in layers.iter().enumerate() {
        let linear = header.tensor(&format!("blk.{index}.ssm_a")).is_some();
        let full = header.tensor(&format!("blk.{index}.attn_q.weight")).is_some();
        let fits = match kind {
            LayerKind::Linear => linear || !full,
            LayerKind::Full => full || !linear,
        };
        if !fits {
            let (said, found) = match kind {
                LayerKind::Linear => ("linear", "attention"),
                LayerKind::Full => ("attention", "linear"),
            };
            return Err(Error::config(
                format!("blk.{index}"),
                format!(
                    "the metadata calls it a {said} layer, but its tensors are those of a layer of kind {found}"
                ),
            ));
        }
    }
    Ok(layers)
}
