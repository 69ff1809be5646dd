//! A Hugging Face checkpoint as a model: converted to a temporary GGUF file, its weights in the type they are stored in.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{BufWriter, Read};
use std::path::Path;

use glowworm_gguf::TensorType;
use glowworm_model::convert::{Options, convert_to};
use serde::Deserialize;
use tempfile::{Builder, TempPath};

use crate::error::{Error, Result};
use crate::progress::Bar;

/// Largest header of a safetensors file that is read, in bytes.
const MAX_HEADER: u64 = 100 << 20;

/// Converts the checkpoint in `folder`. The file is deleted when it is dropped.
///
/// # Errors
/// A checkpoint that cannot be read, or no room for the file (`TMPDIR` says where it goes).
pub fn convert(folder: &Path) -> Result<TempPath> {
    let mut options = Options::new(stored_type(folder)?);
    options.name = folder.file_name().map(|name| name.to_string_lossy().into_owned());
    let place = std::env::temp_dir();
    let file =
        Builder::new().prefix("glowworm-").suffix(".gguf").tempfile().map_err(Error::writing(&place))?;
    let mut bar = Bar::new("converting", 0);
    let writer = BufWriter::with_capacity(1 << 20, file.as_file());
    convert_to(folder, writer, &options, |step| bar.set(step.written, step.total))?;
    Ok(file.into_temp_path())
}

/// The type of most of the weights: F32, F16 or BF16; anything else is written as BF16.
fn stored_type(folder: &Path) -> Result<TensorType> {
    let entries = fs::read_dir(folder).map_err(Error::reading(folder))?;
    let mut bytes: BTreeMap<String, u64> = BTreeMap::new();
    for entry in entries.flatten() {
        let path = entry.path();
        if path.extension().is_some_and(|extension| extension == "safetensors") {
            for (kind, count) in types(&path)? {
                *bytes.entry(kind).or_default() += count;
            }
        }
    }
    let most = bytes.into_iter().max_by_key(|(_, bytes)| *bytes);
    Ok(match most.as_ref().map(|(kind, _)| kind.as_str()) {
        Some("F32") => TensorType::F32,
        Some("F16") => TensorType::F16,
        _ => TensorType::BF16,
    })
}

/// Bytes of each type in a safetensors file, as its header says.
fn types(path: &Path) -> Result<Vec<(String, u64)>> {
    #[derive(Deserialize)]
    struct Entry {
        dtype: String,
        data_offsets: [u64; 2],
    }
    let mut file = File::open(path).map_err(Error::reading(path))?;
    let mut length = [0; 8];
    file.read_exact(&mut length).map_err(Error::reading(path))?;
    let length = u64::from_le_bytes(length);
    let invalid = |problem: String| {
        Error::reading(path)(std::io::Error::other(format!("it is no safetensors file: {problem}")))
    };
    if length > MAX_HEADER {
        return Err(invalid(format!("its header would be {length} bytes long")));
    }
    let mut header = Vec::new();
    file.take(length).read_to_end(&mut header).map_err(Error::reading(path))?;
    let header: BTreeMap<String, serde_json::Value> =
        serde_json::from_slice(&header).map_err(|error| invalid(error.to_string()))?;
    let tensors = header.into_iter().filter(|(name, _)| name != "__metadata__");
    tensors
        .map(|(name, value)| {
            let entry: Entry =
                serde_json::from_value(value).map_err(|error| invalid(format!("{name}: {error}")))?;
            let [first, end] = entry.data_offsets;
            Ok((entry.dtype, end.saturating_sub(first)))
        })
        .collect()
}
