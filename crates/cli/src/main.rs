//! The glowworm program.
fn main() {}
