//! The metadata of the file: what llama.cpp's converter writes for this architecture, in its order.

use glowworm_gguf::{Metadata, TensorType};
use serde_json::Value;

use crate::config::{Config, LayerKind};
use crate::error::Result;

use super::{Files, Options, SYSTEM_PROMPT_KEY, USER_TEMPLATE_KEY, tokenizer};

/// Version of ggml's quantisation formats. It has not changed since 2023.
const QUANTIZATION_VERSION: u32 = 2;

/// llama.cpp's number for a file of mostly this type; `None` for types that are not converted to.
pub(super) fn file_type(kind: TensorType) -> Option<u32> {
    match kind {
        TensorType::F32 => Some(0),
        TensorType::F16 => Some(1),
        TensorType::Q4_0 => Some(2),
        TensorType::Q8_0 => Some(7),
        TensorType::BF16 => Some(32),
        _ => None,
    }
}

/// All metadata of the file.
pub(super) fn build(config: &Config, files: &Files, options: &Options, name: &str) -> Result<Metadata> {
    let mut metadata = Metadata::new();
    metadata.set("general.architecture", "qwen35");
    metadata.set("general.type", "model");
    sampling(files.generation.as_ref(), &mut metadata);
    metadata.set("general.name", name);
    metadata.set("general.size_label", size_label(config.parameters()));
    architecture(config, rope_sections(&files.config), &mut metadata);
    tokenizer::build(config, files, options, &mut metadata)?;
    if let Some(prompt) = &options.system_prompt {
        metadata.set(SYSTEM_PROMPT_KEY, prompt.as_str());
    }
    if let Some(template) = &options.user_template {
        metadata.set(USER_TEMPLATE_KEY, template.as_str());
    }
    for (key, value) in &options.metadata {
        metadata.set(key.clone(), value.clone());
    }
    metadata.set("general.quantization_version", QUANTIZATION_VERSION);
    metadata.set("general.file_type", file_type(options.kind).unwrap_or_default());
    Ok(metadata)
}

/// What the model's authors recommend for sampling.
fn sampling(generation: Option<&Value>, metadata: &mut Metadata) {
    let number = |name: &str| generation.and_then(|generation| generation.get(name)).and_then(Value::as_f64);
    if let Some(top_k) = number("top_k") {
        metadata.set("general.sampling.top_k", top_k as i32);
    }
    let floats = [("top_p", "top_p"), ("min_p", "min_p"), ("temperature", "temp")];
    for (from, to) in floats {
        if let Some(value) = number(from) {
            metadata.set(format!("general.sampling.{to}"), value as f32);
        }
    }
}

/// Parameters with two significant digits and a letter, as in `1.9B`.
fn size_label(parameters: u64) -> String {
    let parameters = parameters as f64;
    let (scaled, letter) = match parameters {
        _ if parameters >= 1e12 => (parameters / 1e12, 'T'),
        _ if parameters >= 1e9 => (parameters / 1e9, 'B'),
        _ if parameters >= 1e6 => (parameters / 1e6, 'M'),
        _ => (parameters / 1e3, 'K'),
    };
    let digits = usize::from(scaled.round() < 10.0);
    format!("{scaled:.digits$}{letter}")
}

/// Writes the `qwen35.*` keys, which describe a trunk without a multi-token-prediction block.
///
/// `rope_sections` are the shares of time, height and width in the rotated dimensions, and 0; text does not need them.
pub fn architecture(config: &Config, rope_sections: Option<Vec<i32>>, metadata: &mut Metadata) {
    let mut set = |key: &str, value: usize| metadata.set(format!("qwen35.{key}"), value as u32);
    set("block_count", config.layers.len());
    set("context_length", config.context_length);
    set("embedding_length", config.hidden);
    set("feed_forward_length", config.intermediate);
    set("attention.head_count", config.heads);
    set("attention.head_count_kv", config.kv_heads);
    if let Some(sections) = rope_sections {
        metadata.set("qwen35.rope.dimension_sections", sections);
    }
    metadata.set("qwen35.rope.freq_base", config.rope_theta);
    metadata.set("qwen35.attention.layer_norm_rms_epsilon", config.norm_eps);
    let mut set = |key: &str, value: usize| metadata.set(format!("qwen35.{key}"), value as u32);
    set("attention.key_length", config.head_dim);
    set("attention.value_length", config.head_dim);
    set("ssm.conv_kernel", config.conv_kernel);
    set("ssm.state_size", config.linear_key_dim);
    set("ssm.group_count", config.linear_key_heads);
    set("ssm.time_step_rank", config.linear_value_heads);
    set("ssm.inner_size", config.linear_value_width());
    let recurrent: Vec<bool> = config.layers.iter().map(|kind| *kind == LayerKind::Linear).collect();
    let interval = interval(&recurrent);
    metadata.set("qwen35.attention.recurrent_layers", recurrent);
    if let Some(interval) = interval {
        metadata.set("qwen35.full_attention_interval", interval);
    }
    metadata.set("qwen35.rope.dimension_count", config.rope_dim as u32);
}

/// Every how many layers one attends, if they do so regularly.
fn interval(recurrent: &[bool]) -> Option<u32> {
    let interval = recurrent.iter().position(|recurrent| !recurrent)? + 1;
    let regular = recurrent
        .iter()
        .enumerate()
        .all(|(index, recurrent)| *recurrent != (index + 1).is_multiple_of(interval));
    regular.then_some(interval as u32)
}

/// How the rotated dimensions are shared between time, height and width. Text has one position for all of them, but
/// llama.cpp wants to know.
fn rope_sections(json: &Value) -> Option<Vec<i32>> {
    let text = json.get("text_config").unwrap_or(json);
    let rope = text.get("rope_parameters").or_else(|| text.get("rope_scaling"))?;
    let sections = rope.get("mrope_section")?.as_array()?;
    let mut sections: Vec<i32> = sections
        .iter()
        .map(|section| section.as_i64().and_then(|section| i32::try_from(section).ok()))
        .collect::<Option<_>>()?;
    sections.resize(4, 0);
    Some(sections)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_two_digits() {
        let labels = [(1_881_825_088, "1.9B"), (2_362_000, "2.4M"), (24_100_000, "24M"), (999, "1.0K")];
        for (parameters, label) in labels {
            assert_eq!(size_label(parameters), label);
        }
    }

    #[test]
    fn an_interval_is_given_only_where_layers_are_regular() {
        assert_eq!(interval(&[true, true, false, true, true, false]), Some(3));
        assert_eq!(interval(&[true, true, false, true]), Some(3));
        assert_eq!(interval(&[true, false, true, true]), None);
        assert_eq!(interval(&[true, true]), None);
        assert_eq!(interval(&[false, false]), Some(1));
    }
}
