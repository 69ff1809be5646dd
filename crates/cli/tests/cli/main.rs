//! The program as its users run it: the built binary, its output and its exit codes. Models run on the software GPU, so
//! that the tests mean the same on every machine; no test needs a network.
#![allow(clippy::unwrap_used, clippy::expect_used)] // a panic here is the report

mod ask;
mod eval;
mod files;
mod hostile;
mod hub;
mod support;
#[cfg(feature = "train")]
mod train;
