//! Traces that a person opens. They are read here and not in TypeScript, so that what a trace is is said once.

use glowworm_agent::{Trace, replay};
use wasm_bindgen::prelude::*;

use crate::thrown;

/// Reads a trace file and gives it back as JSON in its present form.
///
/// # Errors
///
/// A sentence that says why the text is not a trace.
#[wasm_bindgen(js_name = readTrace)]
pub fn read_trace(text: &str) -> Result<String, JsValue> {
    Trace::from_json(text).and_then(|trace| trace.to_json()).map_err(|error| thrown(&error))
}

/// Replays a trace by the rules of the protocol, without a model and a database: nothing if every step follows from
/// those before, else what differs.
///
/// # Errors
///
/// As [`read_trace`].
#[wasm_bindgen(js_name = checkTrace)]
pub fn check_trace(text: &str) -> Result<Option<String>, JsValue> {
    let trace = Trace::from_json(text).map_err(|error| thrown(&error))?;
    Ok(replay::verify(&trace).err().map(|error| error.to_string()))
}
