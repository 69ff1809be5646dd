//! The evaluation from end to end: sets, verdicts, scripted players whose score is known, a stand-in server, reports.
#![allow(clippy::unwrap_used, clippy::expect_used)] // a panic here is the report

mod golds;
mod plays;
mod remote;
mod reports;
mod sets;
mod support;
mod verdicts;
