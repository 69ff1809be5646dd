//! The engine worker's half: a model on WebGPU that answers questions.

mod counted;
mod hash;
mod host;
mod session;
mod source;

pub use hash::Sha256;
pub use host::Host;
pub use session::Session;
