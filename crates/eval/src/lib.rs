//! Benchmarks of text-to-SQL agents: question sets, scores, statistics, runs and reports.
//!
//! ```text
//!   sets ─── Question, gold ──┐
//!   Databases ─ tables ───────┼── run ── one episode after another ── run folder ── Summary ── report, Markdown
//!   Player ── a model ────────┘            │                            (resumes)     │
//!                                          └── Scorer: gold and answer, one engine    └── compare: pairs of runs
//! ```
//!
//! [`run`] plays the episodes of a set with any [`Player`]: a model on this machine, one behind an address
//! ([`remote`]), or a script ([`scripted`]) whose score is known beforehand. Every episode is kept whole, so that a
//! figure can be traced to the calls behind it, and the summary is computed from the kept episodes alone.
//!
//! # What makes two numbers comparable
//! Gold and answer run on one engine, one after the other, within 30 s each: no results are stored, since SQLite's own
//! text of a REAL differs between versions. Every share comes with its interval, and two runs are compared on the same
//! questions ([`compare`]).

mod behaviour;
mod compare;
pub mod databases;
mod error;
mod files;
pub mod markdown;
pub mod metric;
mod player;
pub mod predictions;
pub mod question;
pub mod random;
pub mod remote;
pub mod report;
mod run;
mod score;
pub mod scripted;
pub mod sets;
mod shared;
mod sql;
pub mod stats;
mod stop;
mod store;
mod summary;
mod tables;

pub use behaviour::{Behaviour, LiteralCount};
pub use compare::{Change, PairedRuns, compare};
pub use databases::{Databases, Schema};
pub use error::{Error, Result};
pub use metric::Metric;
pub use player::{Assignment, Player};
pub use question::{Comparison, Gold, Question, Table};
pub use run::{Evaluation, Opening, Progress, run};
pub use score::{GoldState, Judgement, Scorer, TIME_LIMIT};
pub use shared::{PATIENCE, SharedDecoder};
pub use stop::Stop;
pub use store::{EpisodeRecord, Run, RunConfig};
pub use summary::{BehaviourSummary, Group, Middle, Summary, Time};
pub use tables::{Stage, TableMode};
