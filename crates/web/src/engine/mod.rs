//! The engine worker's half: a model on WebGPU that answers questions.

mod counted;
mod hash;
mod host;
mod scripted;
mod session;
mod source;

pub use hash::Sha256;
pub use host::Host;
pub use session::Session;

use glowworm_engine::{Gpu, GpuOptions};
use wasm_bindgen::prelude::*;

use crate::thrown;

/// Lets the adapter compute known numbers with the engine's own kernels, and says in words what came out right. The
/// kernels have one variant, in f32, so there is none to choose by the result.
///
/// # Errors
///
/// Wrong numbers, with the name of the adapter and of the kernel; an adapter that cannot be opened.
#[wasm_bindgen(js_name = selfTest)]
pub async fn self_test() -> Result<String, JsValue> {
    let gpu = Gpu::open(&GpuOptions::default()).await.map_err(|error| thrown(&error))?;
    let formats = glowworm_engine::self_test(&gpu).await.map_err(|error| thrown(&error))?;
    Ok(format!("the engine's kernels over {} are right in f32", formats.join(", ")))
}
