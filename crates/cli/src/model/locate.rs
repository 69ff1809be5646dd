//! From what the user wrote to a GGUF file.

use std::path::{Path, PathBuf};

use glowworm_engine::source::read_header;
use glowworm_engine::{ByteSource, FileSource, MemorySource};
use glowworm_gguf::Header;
use glowworm_session::ModelFile;
use pollster::block_on;
use tempfile::TempPath;

use super::{builtin, checkpoint, hub};
use crate::error::{Error, Result};

/// A model that was found.
#[derive(Debug)]
pub struct Located {
    /// What to call it.
    pub name: String,
    place: Place,
    /// A prompt file that lies in its repository.
    pub(super) prompt: Option<PathBuf>,
    /// It was asked for from the hub, so that the network may be used for its prompt too.
    pub(super) from_hub: bool,
}

#[derive(Debug)]
enum Place {
    Builtin,
    File(PathBuf),
    /// A file that goes when the program ends.
    Temporary(TempPath),
}

/// Finds a model: `builtin`, `hf:owner/name[:TYPE]`, a folder with a checkpoint (which is converted to a temporary file), or a
/// GGUF file.
///
/// # Errors
/// Nothing of that name, a download or a conversion that fails.
pub fn locate(spec: &str) -> Result<Located> {
    if spec == builtin::NAME {
        let name = "built-in".to_owned();
        return Ok(Located { name, place: Place::Builtin, prompt: None, from_hub: false });
    }
    if let Some(repository) = spec.strip_prefix("hf:") {
        let found = hub::model(repository)?;
        let place = match found.weights {
            hub::Weights::Gguf(path) => Place::File(path),
            hub::Weights::Checkpoint(folder) => Place::Temporary(checkpoint::convert(&folder)?),
        };
        return Ok(Located { name: found.name, place, prompt: found.prompt, from_hub: true });
    }
    let path = PathBuf::from(spec);
    let problem = |problem: String| Error::Model { spec: spec.to_owned(), problem };
    if path.is_dir() {
        if !path.join("config.json").is_file() {
            return Err(problem(match gguf_files(&path).as_slice() {
                [] => "the folder has no config.json; give a folder with a Hugging Face checkpoint, or a GGUF file".into(),
                files => format!("it is a folder; give one of its files: {}", files.join(", ")),
            }));
        }
        let prompt = super::prompt::in_folder(&path);
        let place = Place::Temporary(checkpoint::convert(&path)?);
        return Ok(Located { name: file_name(&path), place, prompt, from_hub: false });
    }
    if !path.exists() {
        let hint = if spec.split('/').count() == 2 && !spec.starts_with(['.', '/']) {
            format!("; a repository on the Hugging Face hub is given as hf:{spec}")
        } else {
            String::new()
        };
        return Err(problem(format!("there is no such file{hint}")));
    }
    let prompt = path.parent().and_then(super::prompt::in_folder);
    Ok(Located { name: file_name(&path), place: Place::File(path), prompt, from_hub: false })
}

fn file_name(path: &Path) -> String {
    let full = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let name = path.file_name().or(full.file_name());
    name.map_or_else(|| path.display().to_string(), |name| name.to_string_lossy().into_owned())
}

fn gguf_files(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut files: Vec<String> = entries
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "gguf"))
        .map(|path| path.display().to_string())
        .collect();
    files.sort();
    files
}

impl Located {
    /// Opens the file and reads its header.
    ///
    /// # Errors
    /// A file that may not be read, or is no GGUF file.
    pub fn header(&self) -> Result<(Source, Header)> {
        let mut source = self.source()?;
        let header = block_on(read_header(&mut source)).map_err(|error| self.unreadable(&error))?;
        Ok((source, header))
    }

    /// Opens the file and reads all that its header says.
    ///
    /// # Errors
    /// As [`Located::header`]; or a model that cannot be run.
    pub fn open(&self) -> Result<(Source, ModelFile)> {
        let (source, header) = self.header()?;
        let file = ModelFile::from_header(header).map_err(|error| self.unreadable(&error))?;
        Ok((source, file))
    }

    fn unreadable(&self, error: &dyn std::fmt::Display) -> Error {
        Error::ModelFile { name: self.name.clone(), problem: error.to_string() }
    }

    fn source(&self) -> Result<Source> {
        Ok(match &self.place {
            Place::Builtin => Source::Memory(MemorySource::new("the built-in model", builtin::BYTES)),
            Place::File(path) => Source::File(FileSource::open(path)?),
            Place::Temporary(path) => Source::File(FileSource::open(path)?),
        })
    }

    /// Calls `work` with the path of the file; the built-in model is written to a temporary one for it.
    ///
    /// # Errors
    /// A file that cannot be written; what `work` says.
    #[cfg(feature = "reference")]
    pub fn with_path<T>(&self, work: impl FnOnce(&Path) -> Result<T>) -> Result<T> {
        match &self.place {
            Place::File(path) => work(path),
            Place::Temporary(path) => work(path),
            Place::Builtin => {
                let mut file =
                    tempfile::NamedTempFile::new().map_err(Error::writing(&std::env::temp_dir()))?;
                std::io::Write::write_all(&mut file, builtin::BYTES).map_err(Error::writing(file.path()))?;
                work(file.path())
            }
        }
    }
}

/// The bytes of a model.
pub enum Source {
    /// Part of the program.
    Memory(MemorySource<&'static [u8]>),
    /// On disk.
    File(FileSource),
}

impl ByteSource for Source {
    fn name(&self) -> &str {
        match self {
            Self::Memory(source) => source.name(),
            Self::File(source) => source.name(),
        }
    }

    fn len(&self) -> u64 {
        match self {
            Self::Memory(source) => source.len(),
            Self::File(source) => source.len(),
        }
    }

    async fn read(&mut self, offset: u64, buffer: &mut [u8]) -> glowworm_engine::Result<()> {
        match self {
            Self::Memory(source) => source.read(offset, buffer).await,
            Self::File(source) => source.read(offset, buffer).await,
        }
    }
}
