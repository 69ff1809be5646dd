//! What can go wrong when data is made.

/// An error of the generator or of the tokenizer's training.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A lexicon file has a line that cannot be read.
    #[error("the lexicon {file} cannot be read at line {line}: {why}; correct that line")]
    Lexicon {
        /// Which file.
        file: &'static str,
        /// Its line, counted from 1.
        line: usize,
        /// What is wrong with it.
        why: String,
    },
    /// SQLite refused a statement the generator wrote.
    #[error("SQLite refused a generated statement ({sql}): {source}; draw another seed")]
    Sqlite {
        /// The statement.
        sql: String,
        /// SQLite's message.
        source: rusqlite::Error,
    },
    /// No database for this seed gave a question.
    #[error("seed {0} gave no question in 200 draws; use another seed")]
    NoQuestion(u64),
    /// The tokenizer could not be trained, read or used.
    #[error("the tokenizer failed: {0}; train it again with `glowworm-data tokenizer`")]
    Tokenizer(String),
    /// The agent or its tools refused an episode of the generator.
    #[error("an episode could not be played: {0}; this seed cannot be used")]
    Tools(String),
    /// A file of the trainer's is not what it should be.
    #[error("reading {path}: {problem}")]
    Broken {
        /// The file or folder.
        path: String,
        /// What is wrong, and what to do.
        problem: String,
    },
    /// Settings that make no sense, alone or together.
    #[error("these settings cannot be used: {0}")]
    Settings(String),
    /// The numbers of a training step are no numbers.
    #[error(
        "training step {step}: the loss is {loss}; take a lower rate (--muon, --adam) and go on from the last checkpoint"
    )]
    Diverged {
        /// The step.
        step: u64,
        /// The loss.
        loss: f64,
    },
    /// The model, its weights or its tokenizer.
    #[cfg(feature = "trainer")]
    #[error(transparent)]
    Model(#[from] glowworm_model::Error),
    /// A file could not be read or written.
    #[error("{path} could not be read or written: {source}")]
    File {
        /// The file.
        path: String,
        /// The system's message.
        source: std::io::Error,
    },
}

/// A result of this crate.
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    /// An [`Error::File`] about `path`.
    pub(crate) fn file(path: &std::path::Path) -> impl FnOnce(std::io::Error) -> Self {
        move |source| Self::File { path: path.display().to_string(), source }
    }
}
