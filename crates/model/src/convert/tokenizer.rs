//! The tokenizer of the file.
//!
//! GGUF names the expression that splits text before merging; the only name that fits this architecture is `qwen35`.
//! A tokenizer.json that does exactly what that name means is written as tokens, types and merges. Any other is
//! written as a whole under `tokenizer.huggingface.json`, which loaders prefer where they know it, and as tokens, types
//! and merges too if it is a byte-level BPE.

use std::collections::BTreeMap;

use glowworm_gguf::{Metadata, Strings};
use serde::Deserialize;
use serde_json::Value;

use crate::config::Config;
use crate::error::{Error, Result};

use super::{Files, Options};

/// What `tokenizer.ggml.pre = qwen35` stands for.
const QWEN35: &str = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+";

/// ggml's types of tokens.
const NORMAL: i32 = 1;
const CONTROL: i32 = 3;
const USER_DEFINED: i32 = 4;
const UNUSED: i32 = 5;

#[derive(Deserialize)]
struct TokenizerJson {
    #[serde(default)]
    added_tokens: Vec<Added>,
    normalizer: Option<Value>,
    pre_tokenizer: Option<Value>,
    model: Model,
}

#[derive(Deserialize)]
struct Added {
    id: usize,
    content: String,
    #[serde(default)]
    special: bool,
}

#[derive(Deserialize)]
struct Model {
    #[serde(rename = "type", default)]
    kind: Option<String>,
    #[serde(default)]
    byte_fallback: bool,
    #[serde(default)]
    vocab: Value,
    #[serde(default)]
    merges: Vec<Merge>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Merge {
    Pair(String, String),
    Joined(String),
}

/// Writes the tokenizer's keys.
pub(super) fn build(
    config: &Config,
    files: &Files,
    options: &Options,
    metadata: &mut Metadata,
) -> Result<()> {
    let json: TokenizerJson = serde_json::from_str(&files.tokenizer)
        .map_err(|source| Error::Json { what: "tokenizer.json".into(), source })?;
    let byte_level = is_byte_level(&json);
    let named = byte_level && is_qwen35(&json);
    let mut ids = BTreeMap::new();
    if byte_level {
        metadata.set("tokenizer.ggml.model", "gpt2");
        metadata.set("tokenizer.ggml.pre", if named { "qwen35" } else { "default" });
        vocabulary(config, &json, metadata)?;
    }
    if !named {
        metadata.set("tokenizer.huggingface.json", files.tokenizer.as_str());
    }
    for token in &json.added_tokens {
        ids.insert(token.content.as_str(), token.id as u64);
    }
    special_tokens(files, &ids, metadata);
    if let Some(template) = chat_template(files, options) {
        metadata.set("tokenizer.chat_template", template);
    }
    Ok(())
}

/// Whether merging works on bytes written in the byte-level alphabet.
fn is_byte_level(json: &TokenizerJson) -> bool {
    let kind = |step: &Value| step.get("type").and_then(Value::as_str) == Some("ByteLevel");
    let pre_tokenizer = json.pre_tokenizer.as_ref();
    let last = match pre_tokenizer.and_then(|step| step.get("pretokenizers")).and_then(Value::as_array) {
        Some(steps) => steps.last(),
        None => pre_tokenizer,
    };
    json.model.kind.as_deref().is_none_or(|kind| kind == "BPE")
        && !json.model.byte_fallback
        && json.model.vocab.is_object()
        && last.is_some_and(kind)
}

/// Whether text is normalised and split as loaders do for `qwen35`.
fn is_qwen35(json: &TokenizerJson) -> bool {
    let steps = json.pre_tokenizer.as_ref().and_then(|step| step.get("pretokenizers"));
    let Some([split, bytes]) = steps.and_then(Value::as_array).map(Vec::as_slice) else { return false };
    let text =
        |value: &Value, pointer: &str| value.pointer(pointer).and_then(Value::as_str).map(str::to_owned);
    let flag = |value: &Value, name: &str| value.get(name).and_then(Value::as_bool).unwrap_or(false);
    let nfc = json.normalizer.as_ref().is_some_and(|step| text(step, "/type").as_deref() == Some("NFC"));
    nfc && text(split, "/type").as_deref() == Some("Split")
        && text(split, "/pattern/Regex").as_deref() == Some(QWEN35)
        && text(split, "/behavior").as_deref() == Some("Isolated")
        && !flag(split, "invert")
        && !flag(bytes, "add_prefix_space")
        && !flag(bytes, "use_regex")
}

/// Tokens, types and merges. Rows of the embedding without a token become `[PADn]`.
fn vocabulary(config: &Config, json: &TokenizerJson, metadata: &mut Metadata) -> Result<()> {
    let broken = |problem: String| Error::Vocabulary { problem };
    let mut tokens: Vec<Option<(&str, i32)>> = vec![None; config.vocab_size];
    let mut place = |id: usize, text, kind| match tokens.get_mut(id) {
        Some(token) => {
            *token = Some((text, kind));
            Ok(())
        }
        None => Err(broken(format!(
            "token `{text}` has id {id}, but the model has only {} rows of embedding",
            config.vocab_size
        ))),
    };
    for (text, id) in json.model.vocab.as_object().into_iter().flatten() {
        let id = id.as_u64().and_then(|id| usize::try_from(id).ok());
        place(id.ok_or_else(|| broken(format!("token `{text}` has no id")))?, text, NORMAL)?;
    }
    for token in &json.added_tokens {
        let control = token.special || looks_special(&token.content);
        place(token.id, &token.content, if control { CONTROL } else { USER_DEFINED })?;
    }
    let (mut texts, mut types) = (Strings::new(), Vec::with_capacity(tokens.len()));
    for (id, token) in tokens.iter().enumerate() {
        match token {
            Some((text, _)) => texts.push(text)?,
            None => texts.push(&format!("[PAD{id}]"))?,
        }
        types.push(token.map_or(UNUSED, |(_, kind)| kind));
    }
    let mut merges = Strings::new();
    for merge in &json.model.merges {
        match merge {
            Merge::Pair(left, right) => merges.push(&format!("{left} {right}"))?,
            Merge::Joined(both) => merges.push(both)?,
        }
    }
    metadata.set("tokenizer.ggml.tokens", texts);
    metadata.set("tokenizer.ggml.token_type", types);
    metadata.set("tokenizer.ggml.merges", merges);
    Ok(())
}

/// llama.cpp takes tokens of this form for control tokens even where tokenizer.json forgot to say so.
fn looks_special(text: &str) -> bool {
    text.len() > 4 && text.starts_with("<|") && text.ends_with("|>")
}

/// Ids of the tokens that begin, end and pad, from whichever file says so.
fn special_tokens(files: &Files, ids: &BTreeMap<&str, u64>, metadata: &mut Metadata) {
    let config = files.tokenizer_config.as_ref();
    // A token's text, or an object around it.
    let by_text = |name: &str| {
        let token = config?.get(name)?;
        let text = token.as_str().or_else(|| token.get("content")?.as_str())?;
        ids.get(text).copied()
    };
    let numbers = |json: Option<&Value>, name: &str| -> Vec<u64> {
        match json.and_then(|json| json.get(name)) {
            Some(Value::Array(list)) => list.iter().filter_map(Value::as_u64).collect(),
            Some(value) => value.as_u64().into_iter().collect(),
            None => Vec::new(),
        }
    };
    let by_number = |name: &str| -> Vec<u64> {
        let text = files.config.get("text_config");
        [files.generation.as_ref(), text, Some(&files.config)]
            .into_iter()
            .flat_map(|json| numbers(json, name))
            .collect()
    };
    let mut set = |name: &str, id: Option<u64>| {
        if let Some(id) = id.and_then(|id| u32::try_from(id).ok()) {
            metadata.set(format!("tokenizer.ggml.{name}_token_id"), id);
        }
    };
    let (ends, pads) = (by_number("eos_token_id"), by_number("pad_token_id"));
    let end = by_text("eos_token").or_else(|| ends.first().copied());
    let pad = by_text("pad_token").or_else(|| pads.first().copied());
    // No default: this family has no beginning-of-text token, whatever number its other files repeat.
    set("bos", by_text("bos_token"));
    set("eos", end);
    // A third token that ends a turn, beside the end token and the padding that ends a document.
    set("eot", ends.into_iter().find(|id| Some(*id) != end && Some(*id) != pad));
    set("padding", pad);
    let add = config.and_then(|config| config.get("add_bos_token")).and_then(Value::as_bool);
    metadata.set("tokenizer.ggml.add_bos_token", add.unwrap_or(false));
}

/// The template asked for, that of chat_template.jinja, or that of tokenizer_config.json (the one named `default` where
/// there are several).
fn chat_template(files: &Files, options: &Options) -> Option<String> {
    let own = options.chat_template.clone().or_else(|| files.chat_template.clone());
    own.or_else(|| match files.tokenizer_config.as_ref()?.get("chat_template")? {
        Value::String(template) => Some(template.clone()),
        Value::Array(named) => {
            let default = named.iter().find(|one| one.get("name").and_then(Value::as_str) == Some("default"));
            Some(default?.get("template")?.as_str()?.to_owned())
        }
        _ => None,
    })
}
