//! The loop for a host that can block.

use std::fmt::Display;

use crate::config::Segment;
use crate::episode::Episode;
use crate::step::{Completion, GenerateRequest, SqlCheck, Step, ToolCall, ToolOutcome};
use crate::trace::Outcome;

/// A model and a database, as an episode sees them. Each method is the answer to one [`Step`], described
/// there.
///
/// An error ends the episode with [`EndedBy::Error`](crate::EndedBy::Error) and its text as the message; a
/// tool that fails is no such error, but a [`ToolOutcome`] that says so.
pub trait Host {
    /// What keeps the host from going on.
    type Error: Display;

    /// Answers [`Step::Measure`].
    fn measure(&mut self, append: &[Segment]) -> Result<u64, Self::Error>;

    /// Answers [`Step::Generate`].
    fn generate(&mut self, request: &GenerateRequest) -> Result<Completion, Self::Error>;

    /// Answers [`Step::RunTools`].
    fn run_tools(&mut self, calls: &[ToolCall]) -> Result<Vec<ToolOutcome>, Self::Error>;

    /// Answers [`Step::CheckSql`].
    fn check_sql(&mut self, sql: &str) -> Result<SqlCheck, Self::Error>;

    /// Called after every reply, to show how the episode stands, and to stop it: false cancels it.
    fn observe(&mut self, episode: &Episode) -> bool {
        let _ = episode;
        true
    }
}

/// Runs an episode to its end.
pub fn drive<H: Host>(episode: &mut Episode, host: &mut H) -> Outcome {
    loop {
        let replied = match episode.step().clone() {
            Step::Done(outcome) => return outcome,
            Step::Measure(append) => {
                host.measure(&append).map(|tokens| episode.measured(tokens)).map_err(|e| e.to_string())
            }
            Step::Generate(request) => {
                host.generate(&request).map(|done| episode.completed(done)).map_err(|e| e.to_string())
            }
            Step::RunTools(calls) => {
                host.run_tools(&calls).map(|results| episode.tool_results(results)).map_err(|e| e.to_string())
            }
            Step::CheckSql(sql) => {
                host.check_sql(&sql).map(|check| episode.sql_checked(check)).map_err(|e| e.to_string())
            }
        };
        // A reply that the episode does not accept is the host's fault as much as its own error.
        match replied {
            Ok(Ok(())) => {}
            Ok(Err(error)) => episode.fail(error.to_string()),
            Err(message) => episode.fail(message),
        }
        if !host.observe(episode) {
            episode.cancel();
        }
    }
}
