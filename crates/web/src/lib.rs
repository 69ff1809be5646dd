//! The entry points of the page.
//!
//! The page (TypeScript, in `web/`) has no model and no SQL logic. It starts two workers, and each loads one wasm of
//! this crate, built with one of its features:
//!
//! ```text
//!   page ── asks, shows
//!    ├── engine worker      feature `engine`: `Session`: model, tokenizer, episodes, on WebGPU
//!    └── database worker    feature `database`: `DatabaseHost`: the tools over sql.js
//! ```
//!
//! Every function that can fail throws an `Error` whose message is a sentence for the person at the screen.

use wasm_bindgen::prelude::*;

#[cfg(feature = "database")]
pub mod database;
#[cfg(feature = "engine")]
pub mod engine;

/// Runs once when the wasm is loaded: a panic then shows its message in the console and not just "unreachable".
#[wasm_bindgen(start)]
pub fn start() {
    console_error_panic_hook::set_once();
}

/// An error for JavaScript, with the message of `error`.
#[cfg(any(feature = "database", feature = "engine"))]
pub(crate) fn thrown(error: &dyn std::fmt::Display) -> JsValue {
    js_sys::Error::new(&error.to_string()).into()
}
