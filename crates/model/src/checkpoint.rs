//! The weights of a Hugging Face checkpoint: one safetensors file, or several with an index, read by rows.
//!
//! A file is an eight-byte length, a JSON object of that length (name → dtype, shape, range of bytes) and the data. Of
//! a multimodal checkpoint only the text model is asked for; whatever else is in the files is left alone.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use glowworm_gguf::{TensorType, blocks};
use serde::Deserialize;
use serde_json::Value;

use crate::error::{Error, Result};

/// Longest header accepted. That of a 2B model has 80 KB.
const MAX_HEADER: u64 = 64 << 20;
/// What may stand before a tensor's name: of `Qwen3_5ForConditionalGeneration`, of `Qwen3_5ForCausalLM`, and of the
/// head, which lies outside the text model.
const PREFIXES: [&str; 3] = ["model.language_model.", "model.", ""];

/// An open checkpoint: all its files and where each tensor is.
#[derive(Debug)]
pub struct Checkpoint {
    files: Vec<(PathBuf, File)>,
    tensors: BTreeMap<String, Stored>,
}

/// One tensor of a checkpoint.
#[derive(Debug, Clone)]
pub struct Stored {
    file: usize,
    start: u64,
    kind: TensorType,
    /// As PyTorch says it: the last one is contiguous.
    pub shape: Vec<u64>,
}

/// A tensor's entry in the JSON header.
#[derive(Deserialize)]
struct Entry {
    dtype: String,
    shape: Vec<u64>,
    data_offsets: [u64; 2],
}

impl Checkpoint {
    /// Opens the files of a folder and reads their headers.
    ///
    /// # Errors
    /// If a file is missing or broken.
    pub fn open(folder: &Path) -> Result<Self> {
        let mut checkpoint = Checkpoint { files: Vec::new(), tensors: BTreeMap::new() };
        for path in paths(folder)? {
            checkpoint.add(path)?;
        }
        Ok(checkpoint)
    }

    /// A tensor by its name within the text model, such as `layers.0.mlp.up_proj.weight`.
    ///
    /// # Errors
    /// If there is none, or not of floats.
    pub fn find(&self, name: &str) -> Result<&Stored> {
        let found = PREFIXES.iter().find_map(|prefix| self.tensors.get(&format!("{prefix}{name}")));
        found.ok_or_else(|| Error::Tensor {
            name: name.to_owned(),
            problem: "is missing, or not of dtype F32, F16 or BF16".into(),
        })
    }

    /// Reads `count` values of a tensor from the value at `first`, and appends them to `out`.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn read(&mut self, tensor: &Stored, first: u64, count: usize, out: &mut Vec<f32>) -> Result<()> {
        let Some((path, file)) = self.files.get_mut(tensor.file) else { return Ok(()) };
        let width = tensor.kind.block_bytes();
        let mut raw = vec![0; count * width as usize];
        file.seek(SeekFrom::Start(tensor.start + first * width))
            .and_then(|_| file.read_exact(&mut raw))
            .map_err(|source| Error::Io { doing: "reading", path: path.clone(), source })?;
        let from = out.len();
        out.resize(from + count, 0.0);
        blocks::dequantize(tensor.kind, &raw, &mut out[from..])?;
        Ok(())
    }

    /// Reads the header of one file.
    fn add(&mut self, path: PathBuf) -> Result<()> {
        let io = |source| Error::Io { doing: "reading", path: path.clone(), source };
        let broken = |problem: String| Error::Checkpoint { what: path.display().to_string(), problem };
        let mut file = File::open(&path).map_err(io)?;
        let file_len = file.metadata().map_err(io)?.len();
        let mut length = [0; 8];
        file.read_exact(&mut length).map_err(io)?;
        let length = u64::from_le_bytes(length);
        if length > MAX_HEADER || length + 8 > file_len {
            return Err(broken(format!(
                "says that its header has {length} bytes: it is no safetensors file"
            )));
        }
        let mut json = vec![0; length as usize];
        file.read_exact(&mut json).map_err(io)?;
        let header: BTreeMap<String, Value> = serde_json::from_slice(&json)
            .map_err(|source| Error::Json { what: format!("the header of {}", path.display()), source })?;
        let data = 8 + length;
        for (name, entry) in header {
            if name == "__metadata__" {
                continue;
            }
            let entry: Entry = serde_json::from_value(entry)
                .map_err(|source| Error::Json { what: format!("the entry of tensor `{name}`"), source })?;
            let [start, end] = entry.data_offsets;
            if start > end || end > file_len - data {
                return Err(broken(format!(
                    "ends before tensor `{name}` (bytes {start} to {end} of the data): download it again"
                )));
            }
            let Some(kind) = float_type(&entry.dtype) else {
                // Position tables, quantised copies and the like: an error only if the model needs them.
                continue;
            };
            let bytes = entry.shape.iter().try_fold(kind.block_bytes(), |bytes, dim| bytes.checked_mul(*dim));
            if bytes != Some(end - start) {
                return Err(broken(format!(
                    "gives tensor `{name}` of shape {:?} and dtype {} {} bytes",
                    entry.shape,
                    entry.dtype,
                    end - start
                )));
            }
            let stored = Stored { file: self.files.len(), start: data + start, kind, shape: entry.shape };
            if self.tensors.insert(name.clone(), stored).is_some() {
                return Err(broken(format!("has tensor `{name}`, which another file has too")));
            }
        }
        self.files.push((path, file));
        Ok(())
    }
}

fn float_type(dtype: &str) -> Option<TensorType> {
    match dtype {
        "F32" => Some(TensorType::F32),
        "F16" => Some(TensorType::F16),
        "BF16" => Some(TensorType::BF16),
        _ => None,
    }
}

/// The files of a checkpoint: those that the index names, or all of the folder.
fn paths(folder: &Path) -> Result<Vec<PathBuf>> {
    let broken = |problem: String| Error::Checkpoint { what: folder.display().to_string(), problem };
    let mut paths = Vec::new();
    if let Some(index) = read_json(folder, "model.safetensors.index.json")? {
        let Some(map) = index.get("weight_map").and_then(Value::as_object) else {
            return Err(broken("its model.safetensors.index.json has no weight_map".into()));
        };
        for file in map.values() {
            let name = file.as_str().unwrap_or_default();
            // A name, not a path: nothing outside the folder is read.
            if Path::new(name).file_name().is_none_or(|file| file != name) {
                return Err(broken(format!("its index names {file}, which is not a file of the folder")));
            }
            paths.push(folder.join(name));
        }
    } else {
        let io = |source| Error::Io { doing: "reading", path: folder.to_owned(), source };
        for entry in fs::read_dir(folder).map_err(io)? {
            let path = entry.map_err(io)?.path();
            if path.extension().is_some_and(|extension| extension == "safetensors") {
                paths.push(path);
            }
        }
        if paths.iter().any(|path| path.ends_with("model.safetensors")) {
            // Whatever lies beside the one file of an unsharded model belongs to something else.
            paths.retain(|path| path.ends_with("model.safetensors"));
        }
    }
    paths.sort();
    paths.dedup();
    if paths.is_empty() {
        return Err(broken("has no .safetensors file".into()));
    }
    Ok(paths)
}

/// A text file of the folder; `None` if it is not there.
pub(crate) fn read_text(folder: &Path, name: &str) -> Result<Option<String>> {
    let path = folder.join(name);
    match fs::read_to_string(&path) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(source) => Err(Error::Io { doing: "reading", path, source }),
    }
}

pub(crate) fn read_json(folder: &Path, name: &str) -> Result<Option<Value>> {
    read_text(folder, name)?.map(|text| parse(name, &text)).transpose()
}

pub(crate) fn parse(name: &str, text: &str) -> Result<Value> {
    serde_json::from_str(text).map_err(|source| Error::Json { what: name.to_owned(), source })
}
