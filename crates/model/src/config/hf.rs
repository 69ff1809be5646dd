//! `config.json` of a Hugging Face checkpoint.

use serde::Deserialize;
use serde_json::{Map, Value};

use super::{Config, LayerKind, ValueHeadOrder, cap};
use crate::error::{Error, Result};

/// The fields that shape the text model. Unknown fields are ignored: checkpoints carry many that change nothing.
#[derive(Deserialize)]
struct Text {
    model_type: Option<String>,
    vocab_size: usize,
    hidden_size: usize,
    intermediate_size: usize,
    num_hidden_layers: usize,
    num_attention_heads: usize,
    num_key_value_heads: usize,
    head_dim: Option<usize>,
    linear_num_key_heads: usize,
    linear_num_value_heads: usize,
    linear_key_head_dim: usize,
    linear_value_head_dim: usize,
    linear_conv_kernel_dim: usize,
    layer_types: Option<Vec<String>>,
    full_attention_interval: Option<usize>,
    rms_norm_eps: f32,
    max_position_embeddings: usize,
    tie_word_embeddings: Option<bool>,
    hidden_act: Option<String>,
    attention_bias: Option<bool>,
    attn_output_gate: Option<bool>,
    mtp_num_hidden_layers: Option<usize>,
    rope_parameters: Option<Rope>,
    // Before `rope_parameters` these lay beside it, and `rope_scaling` held what else there was.
    rope_scaling: Option<Rope>,
    rope_theta: Option<f64>,
    partial_rotary_factor: Option<f64>,
}

#[derive(Deserialize, Default)]
struct Rope {
    rope_type: Option<String>,
    /// The older name of `rope_type`.
    #[serde(rename = "type")]
    old_type: Option<String>,
    rope_theta: Option<f64>,
    partial_rotary_factor: Option<f64>,
}

/// Layers per attention layer where neither a list nor an interval is given: every published model's value.
const DEFAULT_INTERVAL: usize = 4;
/// Share of a head that is rotated where no factor is given: the architecture's default.
const DEFAULT_PARTIAL_ROTARY: f64 = 0.25;
/// Head size where none is given: the architecture's default.
const DEFAULT_HEAD_DIM: usize = 256;

pub(super) fn read(json: &str) -> Result<Config> {
    let json_error = |source| Error::Json { what: "config.json".into(), source };
    let mut top: Map<String, Value> = serde_json::from_str(json).map_err(json_error)?;
    let tied_at_top = top.get("tie_word_embeddings").and_then(Value::as_bool);

    let model_type = top.get("model_type").and_then(Value::as_str).unwrap_or_default().to_owned();
    let class = top
        .get("architectures")
        .and_then(|list| list.get(0))
        .and_then(Value::as_str)
        .unwrap_or_default()
        .to_owned();
    let text = top.remove("text_config");
    if !matches!(model_type.as_str(), "qwen3_5" | "qwen3_5_text") {
        let found = [model_type, class].into_iter().find(|name| !name.is_empty());
        return Err(Error::Architecture { found: found.unwrap_or_else(|| "(none given)".into()) });
    }

    let text: Text = serde_json::from_value(text.unwrap_or(Value::Object(top))).map_err(json_error)?;
    if let Some(found) = &text.model_type
        && !matches!(found.as_str(), "qwen3_5" | "qwen3_5_text")
    {
        return Err(Error::Architecture { found: found.clone() });
    }
    refuse_variants(&text)?;

    let head_dim = text.head_dim.unwrap_or(DEFAULT_HEAD_DIM);
    let rope = text.rope_parameters.as_ref().or(text.rope_scaling.as_ref());
    let theta = rope
        .and_then(|rope| rope.rope_theta)
        .or(text.rope_theta)
        .ok_or_else(|| Error::config("rope_theta", "is missing, both in rope_parameters and beside it"))?;
    let partial = rope
        .and_then(|rope| rope.partial_rotary_factor)
        .or(text.partial_rotary_factor)
        .unwrap_or(DEFAULT_PARTIAL_ROTARY);
    if !(partial > 0.0 && partial <= 1.0) {
        return Err(Error::config("partial_rotary_factor", format!("{partial} is not within 0..=1")));
    }

    Ok(Config {
        hidden: text.hidden_size,
        intermediate: text.intermediate_size,
        layers: layers(&text)?,
        heads: text.num_attention_heads,
        kv_heads: text.num_key_value_heads,
        head_dim,
        linear_key_heads: text.linear_num_key_heads,
        linear_value_heads: text.linear_num_value_heads,
        linear_key_dim: text.linear_key_head_dim,
        linear_value_dim: text.linear_value_head_dim,
        conv_kernel: text.linear_conv_kernel_dim,
        // Truncated, as transformers does.
        rope_dim: (head_dim as f64 * partial) as usize,
        rope_theta: theta as f32,
        norm_eps: text.rms_norm_eps,
        vocab_size: text.vocab_size,
        context_length: text.max_position_embeddings,
        // The composite configuration's word counts where there are both; the architecture's default is untied.
        tied: tied_at_top.or(text.tie_word_embeddings).unwrap_or(false),
        value_heads_order: ValueHeadOrder::Grouped,
        mtp_layers: text.mtp_num_hidden_layers.unwrap_or(0),
    })
}

/// Refuses what would change the forward pass and has no counterpart in it.
fn refuse_variants(text: &Text) -> Result<()> {
    if text.attention_bias == Some(true) {
        return Err(Error::config("attention_bias", "true is not supported"));
    }
    if text.attn_output_gate == Some(false) {
        return Err(Error::config("attn_output_gate", "false is not supported"));
    }
    if let Some(act) = &text.hidden_act
        && act != "silu"
    {
        return Err(Error::config("hidden_act", format!("`{act}` is not supported, only `silu`")));
    }
    for rope in text.rope_parameters.iter().chain(&text.rope_scaling) {
        if let Some(kind) = rope.rope_type.as_ref().or(rope.old_type.as_ref())
            && !matches!(kind.as_str(), "default" | "mrope")
        {
            return Err(Error::config(
                "rope_type",
                format!("`{kind}` is not supported, only `default`: use the configuration without scaling"),
            ));
        }
    }
    Ok(())
}

fn layers(text: &Text) -> Result<Vec<LayerKind>> {
    let count = text.num_hidden_layers;
    if !(1..=cap::LAYERS).contains(&count) {
        return Err(Error::config("num_hidden_layers", format!("{count} is outside 1..={}", cap::LAYERS)));
    }
    if let Some(types) = &text.layer_types {
        if types.len() != count {
            return Err(Error::config(
                "layer_types",
                format!("has {} entries for {count} layers", types.len()),
            ));
        }
        return types
            .iter()
            .map(|kind| match kind.as_str() {
                "linear_attention" => Ok(LayerKind::Linear),
                "full_attention" => Ok(LayerKind::Full),
                other => Err(Error::config("layer_types", format!("`{other}` is not a known kind"))),
            })
            .collect();
    }
    let interval = text.full_attention_interval.unwrap_or(DEFAULT_INTERVAL);
    if interval == 0 {
        return Err(Error::config("full_attention_interval", "0 is not an interval"));
    }
    Ok(super::by_interval(count, interval))
}
