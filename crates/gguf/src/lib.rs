//! The GGUF file format: header, metadata, tensor directory, block formats, repacking and writing.
//!
//! # Shape of a file
//! ```text
//! "GGUF" | version u32 | tensor count u64 | metadata count u64
//! metadata:  key (string) | value type u32 | value               x metadata count
//! directory: name (string) | dimension count u32 | dimensions u64… | type u32 | offset u64   x tensor count
//! padding to the alignment, then the tensor data; offsets count from here
//! ```
//! A string is a u64 length and that many bytes of UTF-8. Everything is little endian.
//!
//! # Why an incremental parser
//! A model comes over HTTP ranges, out of the browser's private file system or from a dropped file: nobody knows
//! beforehand how long the header is (11 MB for a vocabulary of 248 thousand tokens), and the whole file must never
//! be in memory. So [`HeaderParser`] is given bytes as they come and says how many more it needs at least. It
//! trusts nothing: every count, length and offset is checked before it is used, and the memory that it holds is
//! charged against a budget ([`parse::MEMORY_BUDGET`]), so that a hostile header costs an error and not the page.
//!
//! # Modules
//! - [`parse`]: bytes to [`Header`]; [`header`]: the tensor directory; [`metadata`]: keys and values.
//! - [`blocks`]: how each tensor type stores weights, with a scalar dequantiser each, and quantisers.
//! - [`repack`]: the lossless aligned layouts that the shaders read.
//! - [`write`]: a streaming writer of version 3 files.

pub mod blocks;
pub mod error;
pub mod header;
pub mod metadata;
pub mod parse;
pub mod repack;
pub mod types;
pub mod write;

pub use error::{Error, Item};
pub use header::{Header, TensorInfo};
pub use metadata::{Array, Metadata, Strings, Value};
pub use parse::{HeaderParser, Progress};
pub use types::TensorType;
pub use write::Writer;
