//! Episodes from end to end: scripted models over a real database, and real models on the software GPU.
#![allow(clippy::unwrap_used, clippy::expect_used)] // a panic here is the report

mod driver;
mod engine;
