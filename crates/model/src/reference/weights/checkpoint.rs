//! Weights out of a Hugging Face checkpoint: one safetensors file, or several with an index.
//!
//! Of a multimodal checkpoint only the text model is read; whatever else is in the files is left alone.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use half::{bf16, f16};
use safetensors::Dtype;
use serde::Deserialize;

use super::{Source, missing, same_shape};
use crate::{Error, Result};

/// What may stand before a tensor's name: of `Qwen3_5ForConditionalGeneration`, and of `Qwen3_5ForCausalLM`.
const PREFIXES: [&str; 2] = ["model.language_model.", "model."];
/// Longest header that is read. The whole 2B has one of 80 KB.
const MAX_HEADER: u64 = 64 << 20;

/// A checkpoint opened for its weights.
#[derive(Debug)]
pub struct Checkpoint {
    tensors: BTreeMap<String, Stored>,
}

/// Where a tensor lies.
#[derive(Debug)]
struct Stored {
    file: PathBuf,
    start: u64,
    len: usize,
    kind: Dtype,
    shape: Vec<usize>,
}

/// `model.safetensors.index.json`.
#[derive(Deserialize)]
struct Index {
    weight_map: BTreeMap<String, String>,
}

impl Checkpoint {
    /// Opens the checkpoint in a folder and reads the headers of its files.
    ///
    /// # Errors
    /// If a file is missing or broken.
    pub fn open(folder: &Path) -> Result<Self> {
        let mut tensors = BTreeMap::new();
        for file in files(folder)? {
            read_header(&file, &mut tensors)?;
        }
        Ok(Self { tensors })
    }

    fn find(&self, name: &str) -> Option<&Stored> {
        // The head lies outside the text model.
        PREFIXES
            .iter()
            .find_map(|prefix| self.tensors.get(&format!("{prefix}{name}")))
            .or_else(|| self.tensors.get(name))
    }
}

impl Source for Checkpoint {
    fn take(&mut self, name: &str, shape: &[usize]) -> Result<Vec<f32>> {
        let stored = self.find(name).ok_or_else(|| missing(name))?;
        // A depthwise convolution has an axis of length one in the middle.
        let found: Vec<usize> = match stored.shape[..] {
            [channels, 1, taps] => vec![channels, taps],
            _ => stored.shape.clone(),
        };
        same_shape(name, &found, shape)?;
        let bytes = stored.read(name)?;
        match stored.kind {
            Dtype::F32 => Ok(numbers(&bytes, f32::from_le_bytes)),
            Dtype::F16 => Ok(numbers(&bytes, |b| f16::from_le_bytes(b).to_f32())),
            Dtype::BF16 => Ok(numbers(&bytes, |b| bf16::from_le_bytes(b).to_f32())),
            other => Err(Error::Tensor {
                name: name.into(),
                problem: format!("is stored as {other:?}, where only F32, F16 and BF16 can be read"),
            }),
        }
    }
}

impl Stored {
    fn read(&self, name: &str) -> Result<Vec<u8>> {
        let io = |source| Error::Io { doing: "reading", path: self.file.clone(), source };
        let mut file = File::open(&self.file).map_err(io)?;
        let size = file.metadata().map_err(io)?.len();
        if self.start + self.len as u64 > size {
            let problem = format!("lies past the end of {}", self.file.display());
            return Err(Error::Tensor { name: name.into(), problem });
        }
        let mut bytes = vec![0; self.len];
        file.seek(SeekFrom::Start(self.start)).map_err(io)?;
        file.read_exact(&mut bytes).map_err(io)?;
        Ok(bytes)
    }
}

fn numbers<const N: usize>(bytes: &[u8], read: impl Fn([u8; N]) -> f32) -> Vec<f32> {
    bytes.as_chunks::<N>().0.iter().map(|chunk| read(*chunk)).collect()
}

/// The files of a checkpoint: those that the index names, or the only one.
fn files(folder: &Path) -> Result<BTreeSet<PathBuf>> {
    let path = folder.join("model.safetensors.index.json");
    let json = match std::fs::read(&path) {
        Ok(json) => json,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            return Ok(BTreeSet::from([folder.join("model.safetensors")]));
        }
        Err(source) => return Err(Error::Io { doing: "reading", path, source }),
    };
    let index: Index = serde_json::from_slice(&json)
        .map_err(|source| Error::Json { what: "model.safetensors.index.json".into(), source })?;
    index
        .weight_map
        .values()
        .map(|name| {
            // A name from the index must stay within the folder.
            let plain = Path::new(name).file_name().is_some_and(|file| file == name.as_str());
            if plain {
                Ok(folder.join(name))
            } else {
                Err(broken(&path, format!("`{name}` is no file name")))
            }
        })
        .collect()
}

/// Adds the tensors of one file.
fn read_header(path: &Path, tensors: &mut BTreeMap<String, Stored>) -> Result<()> {
    let io = |source| Error::Io { doing: "reading", path: path.to_owned(), source };
    let mut file = File::open(path).map_err(io)?;
    let mut length = [0; 8];
    file.read_exact(&mut length).map_err(io)?;
    let length = u64::from_le_bytes(length);
    if length > MAX_HEADER {
        return Err(broken(path, format!("a header of {length} bytes; is it a safetensors file?")));
    }
    let mut header = vec![0; length as usize];
    file.read_exact(&mut header).map_err(io)?;
    let metadata: safetensors::tensor::Metadata =
        serde_json::from_slice(&header).map_err(|error| broken(path, error.to_string()))?;
    for (name, info) in metadata.tensors() {
        let (start, end) = info.data_offsets;
        let stored = Stored {
            file: path.to_owned(),
            start: 8 + length + start as u64,
            len: end - start,
            kind: info.dtype,
            shape: info.shape.clone(),
        };
        tensors.insert(name, stored);
    }
    Ok(())
}

fn broken(path: &Path, problem: String) -> Error {
    Error::Checkpoint { what: path.display().to_string(), problem }
}
