//! Runs episodes: connects a model, its tokenizer and the tools of a database to the agent's protocol.
//!
//! The protocol (`glowworm_agent`) knows neither model nor database, and neither of them knows the protocol. This
//! crate is the wiring that every host needs and none should write again: the program, the evaluation and the page.
//!
//! ```text
//!   run ──┬── Episode        the rules                              glowworm_agent
//!         ├── LanguageModel  "append this, generate a turn"         TokenModel over a Decoder, or a remote model
//!         │     └── Decoder  "continue these tokens"                EngineDecoder (GPU), ReferenceDecoder (CPU)
//!         ├── ToolHost       "run this call"                        DatabaseTools, or a worker at the other end
//!         └── Observer       what happens, as it happens            a terminal, a page, nobody
//! ```
//!
//! [`ModelFile`] says what a model file is, [`Opening`] makes the prompt of a question from it, and [`run`] drives the
//! episode to its end. Everything that waits is `async` and nothing needs threads, so the same code runs in a
//! browser's worker, where the tools are another worker; natively the futures of a local engine and database are
//! ready at once and any executor will do.
//!
//! # A question costs its own tokens only
//! A [`Decoder`] is given the whole context each time and finds out for itself what of it is new. The tokens of the
//! system turn, which all questions share, are computed once and their state is kept ([`EngineDecoder`]).

mod decoder;
mod engine;
mod error;
mod events;
mod live;
mod memory;
mod model_file;
mod opening;
#[cfg(feature = "reference")]
mod reference;
mod run;
mod summary;
mod token_model;
mod tools;

pub use decoder::{Decoded, Decoder};
pub use engine::EngineDecoder;
pub use error::{Error, Result};
pub use events::{Event, Observer};
pub use glowworm_engine::{GenerateOptions, Sampling, Stop as DecodeStop};
pub use memory::{Memory, longest_context};
pub use model_file::ModelFile;
pub use opening::{Opening, Question};
#[cfg(feature = "reference")]
pub use reference::{Draw, ReferenceDecoder};
pub use run::{Generated, LanguageModel, run};
pub use summary::summary;
pub use token_model::TokenModel;
pub use tools::{DatabaseTools, ToolHost, schema_text};
