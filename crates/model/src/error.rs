//! What can go wrong in reading a model's description, its words and its prompts.

use std::path::PathBuf;

/// Result of this crate's operations.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// A failure of this crate. The text says what was being done, to what, and what can be done about it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The GGUF header or one of its values could not be read.
    #[error(transparent)]
    Gguf(#[from] glowworm_gguf::Error),

    /// The file describes a model of another architecture.
    #[error(
        "this is a model of architecture `{found}`; Glowworm runs Qwen3.5 text models (`qwen35` in GGUF, \
         `qwen3_5` or `qwen3_5_text` in config.json): choose a file of that family"
    )]
    Architecture {
        /// The name the file gives.
        found: String,
    },

    /// A number or flag of the configuration is missing, out of range, or at odds with another.
    #[error("reading the model's configuration: {key}: {problem}")]
    Config {
        /// The metadata key, or the field of config.json.
        key: String,
        /// What is wrong with it, with the value found.
        problem: String,
    },

    /// A tensor of the trunk is missing, or not of the shape the configuration implies.
    #[error("checking the model's tensors: `{name}` {problem}; the file is incomplete or of another kind")]
    Tensor {
        /// Name of the tensor in the file.
        name: String,
        /// `is missing`, or the dims found and expected.
        problem: String,
    },

    /// A JSON text could not be read.
    #[error("reading {what}: {source}")]
    Json {
        /// Which JSON text (`config.json`, `tokenizer.json`).
        what: String,
        /// serde's own complaint, with line and column.
        source: serde_json::Error,
    },

    /// The description of the tokenizer is broken or of a kind that is not supported.
    #[error("building the tokenizer: {problem}")]
    Vocabulary {
        /// What was found, and where.
        problem: String,
    },

    /// A text could not be turned into tokens.
    #[error("turning text into tokens: {problem}")]
    Encode {
        /// What the splitter answered.
        problem: String,
    },

    /// The chat template is broken, refused its input, or took too long.
    #[error("rendering the chat template: {problem}")]
    Template {
        /// minijinja's complaint with line and cause.
        problem: String,
    },

    /// The prompt file is not one this crate can read.
    #[error("reading the prompt from {file}, line {line}: {problem}")]
    PromptFile {
        /// Name of the file as the caller gave it.
        file: String,
        /// Line number, from 1; 0 when the fault is of the file as a whole.
        line: usize,
        /// What is wrong, and what can be done.
        problem: String,
    },

    /// Converting or reading a checkpoint of another format failed.
    #[error("reading the checkpoint: {what}: {problem}")]
    Checkpoint {
        /// The file or tensor concerned.
        what: String,
        /// What is wrong with it.
        problem: String,
    },

    /// The reference forward pass was asked for something it cannot do.
    #[error("running the reference model: {problem}")]
    Reference {
        /// What was asked for.
        problem: String,
    },

    /// A file could not be read or written.
    #[error("{doing} {}: {source}", path.display())]
    Io {
        /// `reading` or `writing`.
        doing: &'static str,
        /// The file.
        path: PathBuf,
        /// The system's answer.
        source: std::io::Error,
    },
}

impl Error {
    /// An [`Error::Config`] about one key.
    pub(crate) fn config(key: impl Into<String>, problem: impl Into<String>) -> Self {
        Self::Config { key: key.into(), problem: problem.into() }
    }

    /// An [`Error::Vocabulary`].
    pub(crate) fn vocabulary(problem: impl Into<String>) -> Self {
        Self::Vocabulary { problem: problem.into() }
    }
}
