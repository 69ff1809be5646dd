//! The engine worker's half: a model on WebGPU that answers questions.

mod counted;
mod hash;
mod host;
pub mod self_test;
mod session;
mod source;

pub use hash::Sha256;
pub use host::Host;
pub use session::Session;
