//! What can go wrong, and with which exit code the program ends then.

use std::io;
use std::path::{Path, PathBuf};

/// An error of the program.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Arguments that make no sense together or by themselves.
    #[error("{0}")]
    Usage(String),
    /// A file could not be read or written.
    #[error("{doing} {}: {source}", path.display())]
    Io {
        /// `reading` or `writing`.
        doing: &'static str,
        /// The file.
        path: PathBuf,
        /// The system's answer.
        source: io::Error,
    },
    /// The result could not be written.
    #[error("writing to standard output: {0}")]
    Output(io::Error),
    /// A model was named in a way that cannot be understood, or there is nothing of that name.
    #[error("finding the model {spec}: {problem}")]
    Model {
        /// What was given.
        spec: String,
        /// What is wrong, and what would be right.
        problem: String,
    },
    /// A model file is broken, or of a kind that is not known here.
    #[error("reading the model {name}: {problem}")]
    ModelFile {
        /// What to call it.
        name: String,
        /// What is wrong with it.
        problem: String,
    },
    /// The model's repository could not be reached, or has not what was asked for.
    #[error("getting {what} from {endpoint}: {problem}")]
    Hub {
        /// Repository and file.
        what: String,
        /// Address of the server.
        endpoint: String,
        /// What happened, and what can be done.
        problem: String,
    },
    /// A device that this program was built without.
    #[cfg(not(feature = "reference"))]
    #[error(
        "the CPU device is not in this program; build it with: cargo install --path crates/cli --features reference. \
         Without a GPU, Mesa's lavapipe does the same faster (Debian: mesa-vulkan-drivers), with --device auto or gpu"
    )]
    NoCpuDevice,
    /// What a model file says.
    #[error(transparent)]
    Description(#[from] glowworm_model::Error),
    /// The engine.
    #[error(transparent)]
    Engine(#[from] glowworm_engine::Error),
    /// The database.
    #[error(transparent)]
    Database(#[from] glowworm_database::Error),
    /// An episode's settings.
    #[error(transparent)]
    Agent(#[from] glowworm_agent::Error),
    /// Between model and episode.
    #[error(transparent)]
    Session(#[from] glowworm_session::Error),
    /// An evaluation.
    #[error(transparent)]
    Eval(#[from] glowworm_eval::Error),
    /// Ended by the user before it was done.
    #[error("stopped; the same command goes on with it")]
    Stopped,
    /// The generator of made-up databases.
    #[error(transparent)]
    Made(#[from] glowworm_train::error::Error),
}

/// A result of the program.
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    /// An [`Error::Io`] about reading `path`.
    pub fn reading(path: &Path) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Io { doing: "reading", path: path.to_owned(), source }
    }

    /// An [`Error::Io`] about writing `path`.
    pub fn writing(path: &Path) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Io { doing: "writing", path: path.to_owned(), source }
    }

    /// 2 for what the user gave, 1 for what the machine or the network could not do.
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Stopped => 130,
            Self::Hub { .. } | Self::Output(_) | Self::Eval(glowworm_eval::Error::Endpoint { .. }) => 1,
            Self::Engine(error) | Self::Session(glowworm_session::Error::Engine(error)) => match error {
                glowworm_engine::Error::NoAdapter { .. }
                | glowworm_engine::Error::Limit { .. }
                | glowworm_engine::Error::Device { .. }
                | glowworm_engine::Error::DeviceLost { .. }
                | glowworm_engine::Error::NoNumbers { .. }
                | glowworm_engine::Error::OutOfMemory { .. } => 1,
                _ => 2,
            },
            _ => 2,
        }
    }

    /// Whether the reader of standard output has gone.
    pub fn is_broken_pipe(&self) -> bool {
        matches!(self, Self::Output(error) if error.kind() == io::ErrorKind::BrokenPipe)
    }
}
