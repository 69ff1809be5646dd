//! What can go wrong in an evaluation.

use std::io;
use std::path::{Path, PathBuf};

/// An error of this crate. What goes wrong within one episode is not here: it is part of that episode's record.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A file or folder could not be read or written.
    #[error("{doing} {}: {source}", path.display())]
    Io {
        /// `reading` or `writing`.
        doing: &'static str,
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A file is not the JSON that it should be.
    #[error("reading {}{}: {problem}", path.display(), line.map(|line| format!(", line {line}")).unwrap_or_default())]
    Format {
        /// The file.
        path: PathBuf,
        /// The line, where the file is read by lines.
        line: Option<usize>,
        /// What is wrong with it, and what was expected.
        problem: String,
    },
    /// Options that leave nothing to do or do not fit together.
    #[error("{0}")]
    Options(String),
    /// There is no database for a question.
    #[error("finding the database {db_id}: there is none below {}; expected one of: {tried}", folder.display())]
    NoDatabase {
        /// The name in the question set.
        db_id: String,
        /// Where it was looked for.
        folder: PathBuf,
        /// The paths that were tried.
        tried: String,
    },
    /// A database was found and cannot be used.
    #[error("preparing the database {db_id}: {problem}")]
    Database {
        /// The name in the question set.
        db_id: String,
        /// What went wrong.
        problem: String,
    },
    /// The run folder holds another run.
    #[error(
        "{} holds a run with other settings ({what}); give another folder, or the settings of that run to go on with it",
        folder.display()
    )]
    OtherRun {
        /// The folder.
        folder: PathBuf,
        /// The first setting that differs.
        what: String,
    },
    /// An episode could not be begun.
    #[error("beginning the episode of question {question}: {problem}")]
    Episode {
        /// The question's id.
        question: String,
        /// What went wrong.
        problem: String,
    },
    /// The model server cannot be used.
    #[error("asking the model server at {url}: {problem}")]
    Endpoint {
        /// The address.
        url: String,
        /// What happened, and what can be done.
        problem: String,
    },
}

/// A result of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    pub(crate) fn reading(path: &Path) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Io { doing: "reading", path: path.to_owned(), source }
    }

    pub(crate) fn writing(path: &Path) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Io { doing: "writing", path: path.to_owned(), source }
    }

    pub(crate) fn format(path: &Path, line: Option<usize>, problem: impl Into<String>) -> Self {
        Self::Format { path: path.to_owned(), line, problem: problem.into() }
    }
}
