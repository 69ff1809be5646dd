//! Models: finding one by what the user wrote, and loading it.

mod builtin;
mod checkpoint;
mod decoder;
mod hub;
mod load;
mod locate;
mod prompt;

pub use load::{Loaded, Settings, load, load_engine, open_gpu};
pub use locate::{Located, Source, locate};
pub use prompt::read as read_prompt;
