//! Where a model's bytes come from.
//!
//! The engine asks for one range after another, mostly ascending, each at most a few MiB long. A file on disk, an
//! HTTP server that answers ranges, the browser's private file system and a dropped file can all be sources; none
//! ever holds the whole model in memory.

use std::future::Future;

use crate::error::{Error, Result};

/// A readable range of bytes.
///
/// The futures need not be `Send`: in the browser they hold JavaScript values.
pub trait ByteSource {
    /// Name for messages: a path or an address.
    fn name(&self) -> &str;

    /// Length in bytes.
    fn len(&self) -> u64;

    /// Whether there is nothing to read.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Fills `buffer` with the bytes from `offset`.
    ///
    /// # Errors
    /// [`Error::Source`] when the range cannot be read whole.
    fn read(&mut self, offset: u64, buffer: &mut [u8]) -> impl Future<Output = Result<()>>;
}

/// Reads and parses the header at the start of a source, in pieces that grow as the parser asks for more.
///
/// # Errors
/// What the source or the parser says.
pub async fn read_header<S: ByteSource>(source: &mut S) -> Result<glowworm_gguf::Header> {
    const SMALLEST: u64 = 64 << 10;
    const LARGEST: u64 = 4 << 20;
    let mut parser = glowworm_gguf::HeaderParser::new().with_file_len(source.len());
    let mut offset = 0;
    let mut wanted = SMALLEST;
    let mut buffer = Vec::new();
    loop {
        let length = wanted.clamp(SMALLEST, LARGEST).min(source.len() - offset);
        buffer.resize(length as usize, 0);
        source.read(offset, &mut buffer).await?;
        offset += length;
        match parser.push(&buffer)? {
            glowworm_gguf::Progress::Done => return Ok(parser.finish()?),
            glowworm_gguf::Progress::Need(more) if offset < source.len() => wanted = more.max(2 * length),
            glowworm_gguf::Progress::Need(_) => return Ok(parser.finish()?),
        }
    }
}

/// Bytes in memory: the embedded model, and tests.
pub struct MemorySource<B> {
    name: String,
    bytes: B,
}

impl<B: AsRef<[u8]>> MemorySource<B> {
    /// A source over `bytes`, called `name` in messages.
    pub fn new(name: impl Into<String>, bytes: B) -> Self {
        Self { name: name.into(), bytes }
    }
}

impl<B: AsRef<[u8]>> ByteSource for MemorySource<B> {
    fn name(&self) -> &str {
        &self.name
    }

    fn len(&self) -> u64 {
        self.bytes.as_ref().len() as u64
    }

    async fn read(&mut self, offset: u64, buffer: &mut [u8]) -> Result<()> {
        let range = usize::try_from(offset)
            .ok()
            .and_then(|first| first.checked_add(buffer.len()).map(|end| first..end))
            .and_then(|range| self.bytes.as_ref().get(range));
        match range {
            Some(bytes) => {
                buffer.copy_from_slice(bytes);
                Ok(())
            }
            None => Err(past_the_end(self, offset, buffer.len())),
        }
    }
}

/// A file on disk.
#[cfg(not(target_arch = "wasm32"))]
pub struct FileSource {
    name: String,
    file: std::fs::File,
    length: u64,
}

#[cfg(not(target_arch = "wasm32"))]
impl FileSource {
    /// Opens the file at `path`.
    ///
    /// # Errors
    /// [`Error::Source`] when there is no such file or it may not be read.
    pub fn open(path: &std::path::Path) -> Result<Self> {
        let name = path.display().to_string();
        let open = || {
            let file = std::fs::File::open(path)?;
            let metadata = file.metadata()?;
            if metadata.is_dir() {
                return Err(std::io::Error::other("it is a folder, not a file"));
            }
            Ok((file, metadata.len()))
        };
        match open() {
            Ok((file, length)) => Ok(Self { name, file, length }),
            Err(error) => {
                Err(Error::Source { source_name: name, offset: 0, length: 0, reason: error.to_string() })
            }
        }
    }
}

#[cfg(not(target_arch = "wasm32"))]
impl ByteSource for FileSource {
    fn name(&self) -> &str {
        &self.name
    }

    fn len(&self) -> u64 {
        self.length
    }

    async fn read(&mut self, offset: u64, buffer: &mut [u8]) -> Result<()> {
        use std::io::{Read, Seek, SeekFrom};
        let mut read = || {
            self.file.seek(SeekFrom::Start(offset))?;
            self.file.read_exact(buffer)
        };
        read().map_err(|error| Error::Source {
            source_name: self.name.clone(),
            offset,
            length: buffer.len() as u64,
            reason: error.to_string(),
        })
    }
}

fn past_the_end(source: &impl ByteSource, offset: u64, length: usize) -> Error {
    Error::Source {
        source_name: source.name().to_owned(),
        offset,
        length: length as u64,
        reason: format!("the source ends at {}", source.len()),
    }
}
