//! The page, as an episode sees it: the tools are in another worker, and somebody is watching.

use std::cell::Cell;
use std::rc::Rc;

use glowworm_agent::{SqlCheck, ToolCall, ToolOutcome};
use glowworm_session::{Event, Observer, ToolHost};
use js_sys::Promise;
use serde_json::{Value as Json, json};
use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::JsFuture;

#[wasm_bindgen]
extern "C" {
    /// What the engine worker passes to [`super::Session::ask`].
    #[derive(Debug, Clone)]
    pub type Host;

    /// Is told what happens, as JSON.
    #[wasm_bindgen(method)]
    fn event(this: &Host, event: &str);

    /// Whether the person has asked to stop.
    #[wasm_bindgen(method)]
    fn cancelled(this: &Host) -> bool;

    /// Runs a call; resolves to a `ToolOutcome` as JSON.
    #[wasm_bindgen(method)]
    fn tool(this: &Host, name: &str, arguments: &str) -> Promise;

    /// Finds out whether a query runs; resolves to why it does not, or null.
    #[wasm_bindgen(method)]
    fn check(this: &Host, sql: &str) -> Promise;
}

/// The tools behind a [`Host`].
pub(super) struct RemoteTools(pub(super) Host);

/// Why the tools gave no answer.
pub(super) struct ToolsGone(String);

impl std::fmt::Display for ToolsGone {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "asking the database: {}", self.0)
    }
}

impl ToolsGone {
    fn thrown(error: &JsValue) -> Self {
        let text = js_sys::Reflect::get(error, &"message".into()).ok().and_then(|text| text.as_string());
        Self(text.or_else(|| error.as_string()).unwrap_or_else(|| "it gave no answer".to_owned()))
    }
}

impl ToolHost for RemoteTools {
    type Error = ToolsGone;

    async fn call(&mut self, call: &ToolCall) -> Result<ToolOutcome, ToolsGone> {
        let arguments = serde_json::to_string(&call.args).map_err(|error| ToolsGone(error.to_string()))?;
        let answer = JsFuture::from(self.0.tool(&call.name, &arguments))
            .await
            .map_err(|error| ToolsGone::thrown(&error))?
            .as_string()
            .unwrap_or_default();
        serde_json::from_str(&answer).map_err(|error| ToolsGone(error.to_string()))
    }

    async fn check(&mut self, sql: &str) -> Result<SqlCheck, ToolsGone> {
        let answer = JsFuture::from(self.0.check(sql)).await.map_err(|error| ToolsGone::thrown(&error))?;
        Ok(SqlCheck { error: answer.as_string(), elapsed_ms: None })
    }
}

/// Passes events on to a [`Host`].
pub(super) struct Watcher {
    pub(super) host: Host,
    /// Tokens of the present turn.
    pub(super) tokens: Rc<Cell<u32>>,
}

impl Watcher {
    /// Tells what the episode starts with: a trace without turns.
    pub(super) fn begins(&self, trace: &Json) {
        self.send(&json!({ "kind": "begins", "trace": trace }));
    }

    fn send(&self, event: &Json) {
        self.host.event(&event.to_string());
    }
}

impl Observer for Watcher {
    fn event(&mut self, event: Event<'_>) {
        let tokens = self.tokens.get();
        match event {
            Event::TurnBegins { request, context_tokens } => {
                self.tokens.set(0);
                self.send(&json!({
                    "kind": "turn",
                    "number": request.turn,
                    "final": request.final_turn,
                    "context": context_tokens,
                }));
            }
            Event::Think(text) => self.send(&json!({ "kind": "think", "text": text, "tokens": tokens })),
            Event::Text(text) => self.send(&json!({ "kind": "text", "text": text, "tokens": tokens })),
            Event::TurnEnds { turn, reused } => {
                self.send(&json!({ "kind": "turnEnds", "turn": turn, "reused": reused }));
            }
            Event::ToolEnds { index, outcome, .. } => {
                self.send(&json!({ "kind": "toolEnds", "index": index, "outcome": outcome }));
            }
            // The page shows calls when the turn is over, and the rest is in the trace.
            _ => {}
        }
    }

    fn cancelled(&mut self) -> bool {
        self.host.cancelled()
    }
}
