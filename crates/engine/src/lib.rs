//! Runs a quantised Qwen3.5 text model on a GPU, natively and in the browser, with wgpu and our own WGSL.
//!
//! # How a token is made
//! Decoding reads every weight once for each token, so it can be no faster than memory; the design keeps everything
//! else small. All dispatches of a token are planned when the model is loaded ([`plan`]): pipelines, bindings and
//! sizes never change. They go into one compute pass. The sampler runs on the GPU, writes its token where the next
//! pass reads it, and moves the position on, so that several tokens are queued at a time and read back together; a
//! stop token turns what is still queued into no-ops.
//!
//! # Memory
//! Weights stay quantised. They stream from a [`ByteSource`] through a few MiB of staging into GPU buffers, repacked
//! so that shaders read aligned words (`glowworm_gguf::repack`). A matrix larger than the adapter can bind (128 MiB at least, in plain
//! WebGPU) becomes tiles of rows. The KV cache is allocated once for the whole context.
//!
//! # Reading order
//! [`engine`] (load, append, snapshot), [`generate`] (sampling, drafts), [`layers`] (the model as steps), [`plan`] (a
//! step), [`matrix`] (weights), [`kernels`] (pipelines), `shaders/` (the arithmetic). The oracle of all this is the
//! reference forward pass in `glowworm_model::reference`.

mod activations;
pub mod engine;
pub mod error;
pub mod generate;
pub mod gpu;
mod kernels;
mod layers;
mod matrix;
mod plan;
pub mod sampling;
mod self_test;
mod shaders;
pub mod source;
mod stopwatch;

pub use engine::{Counters, Engine, LoadOptions, PlannedStep, Snapshot};
pub use error::{Error, Result};
pub use generate::{GenerateOptions, Generated, Stop};
pub use gpu::{Gpu, GpuOptions};
pub use plan::{Reads, Tuning, VERIFY_TOKENS};
pub use sampling::Sampling;
pub use self_test::{self_test, self_test_of};
#[cfg(not(target_arch = "wasm32"))]
pub use source::FileSource;
pub use source::{ByteSource, MemorySource};
