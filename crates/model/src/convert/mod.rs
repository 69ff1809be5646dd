//! From a Hugging Face checkpoint to a GGUF file, as llama.cpp's converter would write it.
//!
//! # What changes on the way
//! - Names, and the order of dims (ggml names the contiguous one first).
//! - Zero-centred norm weights get their 1 added; `linear_attn.norm` is not zero-centred and stays.
//! - `A_log` becomes `ssm_a = −exp(A_log)`, the factor that the forward pass needs.
//! - The convolution loses its middle dimension of 1.
//! - Where there are more value heads than key heads, value heads go from grouped to tiled order.
//! - The vision tower and the multi-token-prediction block are left out; `block_count` counts the trunk.
//!
//! # Memory
//! Tensors are read, converted and written some rows at a time. Nothing but the tokenizer is ever held as a whole.

mod metadata;
mod tensors;
mod tokenizer;

use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use glowworm_gguf::write::Declaration;
use glowworm_gguf::{TensorType, Writer, blocks};
use serde_json::Value;

use crate::checkpoint::{Checkpoint, parse, read_json, read_text};
use crate::config::Config;
use crate::error::{Error, Result};
use crate::prompt::{SYSTEM_PROMPT_KEY, USER_TEMPLATE_KEY};
pub use metadata::architecture;
use tensors::Recipe;

/// How a checkpoint is to be converted.
#[derive(Debug, Clone)]
pub struct Options {
    /// Type of the matrices: F32, F16, BF16, Q8_0 or Q4_0. Norms, the convolution and all one-dimensional tensors
    /// stay F32; with Q4_0 the embedding is Q6_K, as llama.cpp has it.
    pub kind: TensorType,
    /// `general.name`; the folder's name if not given.
    pub name: Option<String>,
    /// Chat template in place of the checkpoint's own.
    pub chat_template: Option<String>,
    /// System prompt that the model was trained with, kept under [`SYSTEM_PROMPT_KEY`].
    pub system_prompt: Option<String>,
    /// Template of the user's turn that the model was trained with, kept under [`USER_TEMPLATE_KEY`].
    pub user_template: Option<String>,
    /// More keys of the file, for what its maker wants to say about it.
    pub metadata: Vec<(String, glowworm_gguf::Value)>,
}

impl Options {
    /// Converts to `kind` and takes everything else from the checkpoint.
    pub fn new(kind: TensorType) -> Self {
        Options {
            kind,
            name: None,
            chat_template: None,
            system_prompt: None,
            user_template: None,
            metadata: Vec::new(),
        }
    }
}

/// What [`convert`] reports while it runs.
#[derive(Debug, Clone, Copy)]
pub struct Step<'a> {
    /// Tensor that is being written.
    pub tensor: &'a str,
    /// Bytes of tensor data written so far.
    pub written: u64,
    /// Bytes of tensor data in all.
    pub total: u64,
}

/// What was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Summary {
    /// Number of tensors.
    pub tensors: usize,
    /// Bytes of tensor data, without padding.
    pub bytes: u64,
    /// Tensors whose rows are not whole blocks of the wanted type and that were written as F16.
    pub fallbacks: Vec<String>,
}

/// Weights that are read, converted and written at once: 4 MiB of f32.
const PIECE: usize = 1 << 20;

/// Converts the checkpoint in `folder` to the GGUF file `out`.
///
/// The folder has `config.json`, `tokenizer.json` and one or more `.safetensors` files, and may have
/// `model.safetensors.index.json`, `tokenizer_config.json`, `chat_template.jinja` and `generation_config.json`. The
/// file appears under its name only when it is complete.
///
/// # Errors
/// A file that is missing, broken or of another architecture, a tensor that is missing or of another shape, a type
/// that cannot be written.
pub fn convert(
    folder: &Path,
    out: &Path,
    options: &Options,
    progress: impl FnMut(Step<'_>),
) -> Result<Summary> {
    let writing = |path: &Path| {
        let path = path.to_owned();
        move |source| Error::Io { doing: "writing", path, source }
    };
    let mut part = out.as_os_str().to_owned();
    part.push(".part");
    let part = PathBuf::from(part);
    let file = File::create(&part).map_err(writing(&part))?;
    let result = convert_to(folder, BufWriter::with_capacity(1 << 20, file), options, progress)
        .and_then(|(summary, _)| fs::rename(&part, out).map_err(writing(out)).map(|()| summary));
    if result.is_err() {
        // What is left of a failed conversion is of no use; the first error is the one to report.
        let _ = fs::remove_file(&part);
    }
    result
}

/// As [`convert`], to anything that takes bytes, which is given back.
///
/// # Errors
/// As [`convert`].
pub fn convert_to<W: Write>(
    folder: &Path,
    out: W,
    options: &Options,
    mut progress: impl FnMut(Step<'_>),
) -> Result<(Summary, W)> {
    if metadata::file_type(options.kind).is_none() {
        return Err(Error::Checkpoint {
            what: format!("converting to {}", options.kind),
            problem: "choose one of F32, F16, BF16, Q8_0 and Q4_0".into(),
        });
    }
    let config_text = read_text(folder, "config.json")?.ok_or_else(|| missing_file(folder, "config.json"))?;
    let config = Config::from_hf_json(&config_text)?;
    let files = Files {
        config: parse("config.json", &config_text)?,
        generation: read_json(folder, "generation_config.json")?,
        tokenizer_config: read_json(folder, "tokenizer_config.json")?,
        tokenizer: read_text(folder, "tokenizer.json")?
            .ok_or_else(|| missing_file(folder, "tokenizer.json"))?,
        chat_template: read_text(folder, "chat_template.jinja")?,
    };
    let mut checkpoint = Checkpoint::open(folder)?;
    let recipes = tensors::recipes(&config, &checkpoint)?;
    let mut fallbacks = Vec::new();
    let mut declarations = Vec::with_capacity(recipes.len());
    for recipe in &recipes {
        let kind = kind_of(recipe, options.kind, &mut fallbacks);
        declarations.push(Declaration { name: recipe.name.clone(), dims: recipe.dims.clone(), kind });
    }
    let name = options.name.clone().unwrap_or_else(|| folder_name(folder));
    let metadata = metadata::build(&config, &files, options, &name)?;

    let mut writer = Writer::new(out, &metadata, declarations)?;
    let total = writer.tensors().iter().map(|tensor| tensor.byte_len()).sum();
    let mut written = 0;
    let (mut weights, mut raw) = (Vec::new(), Vec::new());
    for recipe in &recipes {
        let kind = writer.current().map_or(options.kind, |tensor| tensor.kind);
        for (first, rows) in recipe.pieces(PIECE) {
            recipe.read(&mut checkpoint, first, rows, &mut weights)?;
            raw.clear();
            blocks::quantize(kind, &weights, &mut raw)?;
            writer.write(&raw)?;
            written += raw.len() as u64;
            progress(Step { tensor: &recipe.name, written, total });
        }
    }
    let summary = Summary { tensors: recipes.len(), bytes: written, fallbacks };
    Ok((summary, writer.finish()?))
}

/// The texts of a checkpoint beside its weights.
struct Files {
    config: Value,
    generation: Option<Value>,
    tokenizer_config: Option<Value>,
    tokenizer: String,
    chat_template: Option<String>,
}

/// The type that a tensor is written in.
fn kind_of(recipe: &Recipe, wanted: TensorType, fallbacks: &mut Vec<String>) -> TensorType {
    if recipe.always_f32 {
        return TensorType::F32;
    }
    let k = recipe.dims.first().copied().unwrap_or(1);
    let fits = |kind: TensorType| k.is_multiple_of(kind.block_weights());
    // The embedding is also the head, where four bits cost most.
    if wanted == TensorType::Q4_0 && recipe.name == "token_embd.weight" {
        if fits(TensorType::Q6K) {
            return TensorType::Q6K;
        }
        if fits(TensorType::Q8_0) {
            return TensorType::Q8_0;
        }
    }
    if fits(wanted) {
        return wanted;
    }
    fallbacks.push(recipe.name.clone());
    TensorType::F16
}

fn folder_name(folder: &Path) -> String {
    let folder = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
    folder.file_name().map_or_else(|| "model".to_owned(), |name| name.to_string_lossy().into_owned())
}

fn missing_file(folder: &Path, name: &str) -> Error {
    Error::Checkpoint {
        what: folder.display().to_string(),
        problem: format!("has no {name}; give the folder of a downloaded Hugging Face model"),
    }
}
