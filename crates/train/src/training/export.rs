//! A trained model as others read it: a folder for transformers, and a GGUF file.

use super::checkpoint::{Stage, Standing, bytes, write};
use super::shape::Shape;
use crate::error::{Error, Result};
use crate::machine::{SYSTEM_PROMPT, USER_TEMPLATE};
use glowworm_gguf::TensorType;
use glowworm_model::Tokenizer;
use glowworm_model::convert::{Options, Summary, convert};
use glowworm_model::reference::Model;
use std::collections::HashMap;
use std::path::Path;

/// The template of a conversation, the same as `training/chat_template.jinja`.
const CHAT_TEMPLATE: &str = include_str!("../../../../training/chat_template.jinja");

/// Writes `model.safetensors`, `config.json`, `tokenizer.json` and `chat_template.jinja` into a folder, as transformers'
/// `Qwen3_5ForCausalLM` reads them.
///
/// # Errors
/// When a file cannot be written, or the device not be read.
pub fn folder(out: &Path, model: &Model, shape: &Shape, tokenizer: &str) -> Result<()> {
    std::fs::create_dir_all(out).map_err(Error::file(out))?;
    let words = Tokenizer::from_json(tokenizer)?;
    let config = shape.config_json(words.token("<|im_end|>"), words.token("<|endoftext|>"));
    let mut tensors = Vec::new();
    for (name, (mut shape, values)) in model.weights()?.tensors {
        if name.ends_with("conv1d.weight") {
            // A depthwise convolution has an axis of length one for the channels that a filter sees.
            shape.insert(1, 1);
        }
        tensors.push((format!("model.{name}"), shape, bytes(&values)));
    }
    let metadata = HashMap::from([("format".to_owned(), "pt".to_owned())]);
    write(&out.join("model.safetensors"), &tensors, metadata)?;
    let config = serde_json::to_string_pretty(&config).map_err(|e| Error::Settings(e.to_string()))?;
    for (name, text) in
        [("config.json", &config[..]), ("tokenizer.json", tokenizer), ("chat_template.jinja", CHAT_TEMPLATE)]
    {
        let path = out.join(name);
        std::fs::write(&path, text).map_err(Error::file(&path))?;
    }
    Ok(())
}

/// Converts such a folder to a GGUF file that carries its prompt, its template and how it was made.
///
/// # Errors
/// When the file cannot be written.
pub fn gguf(folder: &Path, out: &Path, kind: TensorType, name: &str, standing: &Standing) -> Result<Summary> {
    let mut options = Options::new(kind);
    options.name = Some(name.to_owned());
    options.system_prompt = Some(SYSTEM_PROMPT.to_owned());
    options.user_template = Some(USER_TEMPLATE.to_owned());
    options.metadata = provenance(standing);
    Ok(convert(folder, out, &options, |_| ())?)
}

/// How a model was made, under keys of `glowworm.training`.
fn provenance(standing: &Standing) -> Vec<(String, glowworm_gguf::Value)> {
    let of = |part: fn(&Stage) -> String| standing.stages.iter().map(part).collect::<Vec<_>>().join(" ");
    let key = |name: &str| format!("glowworm.training.{name}");
    vec![
        (key("seed"), standing.seed.into()),
        (key("steps"), standing.step.into()),
        (key("tokens"), standing.tokens.into()),
        (key("data"), of(|s| s.data.clone()).into()),
        (key("commit"), of(|s| s.commit.clone()).into()),
        (key("from"), of(|s| s.from.to_string()).into()),
    ]
}
