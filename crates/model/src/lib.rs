//! What a Qwen3.5 text model *is*, apart from how it is run: its configuration and tensors, its words, its chat
//! template, the prompts it was trained on, and a reference forward pass to check faster ones against.
//!
//! Everything here is small and runs on the CPU, natively and in a browser. The weights themselves are not touched
//! (but by the converter and the reference pass): a host reads the GGUF header, asks this crate what it means, and
//! hands both to an engine.

pub mod checkpoint;
pub mod config;
pub mod convert;
pub mod error;
pub mod prompt;
mod python;
#[cfg(feature = "reference")]
pub mod reference;
pub mod template;
pub mod tensors;
pub mod tokenizer;

pub use config::{Config, LayerKind, ValueHeadOrder};
pub use error::{Error, Result};
pub use prompt::{Prompt, PromptSource};
pub use template::{ChatTemplate, Rendered, TurnMarkup};
pub use tokenizer::{Segment, StreamDecoder, Tokenizer};
