//! The model that is part of the program: see `models/README.md`.

/// How the user names it.
pub const NAME: &str = "builtin";

/// The GGUF file.
pub static BYTES: &[u8] = include_bytes!("../../../../models/builtin.gguf");
