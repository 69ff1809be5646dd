//! What can go wrong between a question and its answer, outside the protocol.

/// An error of this crate. Inside an episode it becomes the episode's message
/// (`glowworm_agent::EndedBy::Error`), so that what happened before it is kept.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The model file, its tokenizer, template or prompt.
    #[error(transparent)]
    Model(#[from] glowworm_model::Error),
    /// The engine or the file it reads.
    #[error(transparent)]
    Engine(#[from] glowworm_engine::Error),
    /// The episode's settings, or the user template.
    #[error(transparent)]
    Agent(#[from] glowworm_agent::Error),
    /// A decoder that is not one of this crate.
    #[error("generating text: {reason}")]
    Decoder {
        /// What it said.
        reason: String,
    },
}

/// A result of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;
