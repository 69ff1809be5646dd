//! The agent protocol as a state machine without input or output.
//!
//! A small language model is given a question about a database and a few tool turns to look around in;
//! then it must answer with SQL. This crate holds the rules of that conversation and nothing else: it has
//! no model, no database, no clock and no randomness. An [`Episode`] says what it needs next, the host
//! does it and replies:
//!
//! ```text
//!            ┌────────────── Step::Measure ──> how many tokens is this?      ── measured() ─────┐
//!            ├────────────── Step::Generate ─> append this, then generate    ── completed() ────┤
//! step() ────┼────────────── Step::RunTools ─> run these calls, in order     ── tool_results() ─┼──> step()
//!            ├────────────── Step::CheckSql ─> does this query run?          ── sql_checked() ──┤
//!            └────────────── Step::Done ─────> the outcome                                      │
//!                                              at any time: cancel(), fail() ───────────────────┘
//! ```
//!
//! Why so: the same loop then drives a native engine, a browser's workers, a remote endpoint and a test
//! that replays a recorded episode, and the difference between them cannot creep into the protocol. The
//! price is that the host writes the loop; [`drive`] is that loop for hosts that can block.
//!
//! # What the machine guarantees
//!
//! - **Append-only.** A [`GenerateRequest`] carries only what is new. Every byte before it, think blocks
//!   included, stays in the model's context as it was.
//! - **Data stays data.** Markup that the model was trained to obey comes as [`Segment::Markup`]; all
//!   else, tool results above all, comes as [`Segment::Text`], which a host must encode so that a
//!   `<|im_end|>` in somebody's table remains twelve ordinary characters.
//! - **The token budget is never exceeded.** Nothing is appended before the host has counted it, and
//!   `max_tokens` never reaches past the budget (see [`Limits`]).
//! - **No call is lost.** Every call found in a turn is run or answered, in order.
//! - **It ends.** At most `tool_turns + 1` completions are asked for.
//!
//! # Example
//!
//! A model that submits at once, and a database that is never asked:
//!
//! ```
//! use glowworm_agent::*;
//!
//! let segments = vec![
//!     Segment::Markup("<|im_start|>user\n".into()),
//!     Segment::Text("How many users are there?".into()),
//!     Segment::Markup("<|im_end|>\n<|im_start|>assistant\n<think>\n".into()),
//! ];
//! let prompt = Prompt { system_from: PromptOrigin::Given, user_from: PromptOrigin::Given, segments };
//! let mut episode = Episode::new(EpisodeConfig::new("How many users are there?", prompt))?;
//! loop {
//!     match episode.step() {
//!         Step::Measure(append) => {
//!             let tokens = append.iter().map(|segment| segment.as_str().len() as u64).sum();
//!             episode.measured(tokens)?;
//!         }
//!         Step::Generate(request) => {
//!             assert_eq!((request.turn, request.final_turn), (1, false));
//!             let text = r#"Easy.</think> {"tool": "submit_sql", "args": {"sql": "SELECT 2"}}"#;
//!             episode.completed(Completion {
//!                 text: text.into(),
//!                 tokens: TokenCounts { appended: 60, generated: 25 },
//!                 stop: Stop::EndOfTurn,
//!                 started_ms: 0,
//!                 ended_ms: 700,
//!             })?;
//!         }
//!         Step::RunTools(calls) => {
//!             let outcomes = calls.iter().map(|call| ToolOutcome::ok(&*call.name)).collect();
//!             episode.tool_results(outcomes)?;
//!         }
//!         Step::CheckSql(_) => episode.sql_checked(SqlCheck::runs())?,
//!         Step::Done(outcome) => {
//!             assert_eq!(outcome.sql.as_deref(), Some("SELECT 2"));
//!             assert_eq!(outcome.ended_by, EndedBy::SubmitSql);
//!             break;
//!         }
//!     }
//! }
//! # Ok::<(), Error>(())
//! ```
//!
//! # Where things are
//!
//! [`texts`] has every word of ours that a model reads, [`tools`] the eight tools and their arguments,
//! [`parse`] the reading of a model's turn, [`answer`] the reading of its last one, [`Trace`] the record
//! of an episode (its JSON is described in `docs/trace.md`), and [`replay`] the proof that a record
//! contains all that happened.

#![forbid(unsafe_code)]

pub mod answer;
mod compose;
mod config;
mod episode;
mod error;
mod host;
mod json;
pub mod parse;
pub mod prompt;
pub mod replay;
mod step;
pub mod texts;
pub mod tools;
mod trace;

pub use config::{
    EpisodeConfig, Limits, Prompt, PromptOrigin, RunInfo, SchemaMode, Segment, SubmitGate, TurnMarkup,
};
pub use episode::Episode;
pub use error::Error;
pub use host::{Host, drive};
pub use step::{Completion, GenerateRequest, SqlCheck, Step, Stop, TokenCounts, ToolCall, ToolOutcome};
pub use texts::Texts;
pub use trace::{
    CallRecord, CallStatus, CheckRecord, EndedBy, FinalTurnReason, Measured, Measurement, Outcome, Piece,
    SqlSource, Stats, TRACE_FORMAT, TRACE_VERSION, Trace, Turn, TurnKind,
};
