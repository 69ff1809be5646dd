//! The trainer: the Burn model of `glowworm-model`, trained on shards.
//!
//! ```text
//! shards ── batches ─┐                      ┌── checkpoint   weights, optimiser, position; goes on to the same numbers
//! shape ── initialise┴─ trainer ── optimiser┤
//!                       loss, schedule      ├── evaluate     the agent loop on held-out questions
//!                                           └── export       a checkpoint for transformers, a GGUF file
//! ```
//!
//! What is learnt, and with which rates, is the recipe of `docs/training.md`. `training/train.py` is the same recipe in
//! PyTorch.

pub mod batches;
pub mod checkpoint;
pub mod data;
pub mod evaluate;
pub mod export;
pub mod initialise;
mod lockstep;
pub mod loss;
pub mod optimiser;
pub mod play;
pub mod schedule;
pub mod shape;
pub mod trainer;

pub use batches::{Batch, Stream};
pub use evaluate::{Evaluation, evaluate};
pub use initialise::initialise;
pub use optimiser::{Gradients, Optimiser, Rates};
pub use schedule::Schedule;
pub use shape::Shape;
pub use trainer::{Progress, Settings, Trainer};
