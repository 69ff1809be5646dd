//! The loop: what the episode asks for is done, until it is over.

use std::fmt::Display;
use std::future::Future;
use std::ops::ControlFlow;

use glowworm_agent::{
    CallStatus, Completion, Episode, EpisodeConfig, Error as AgentError, GenerateRequest, Segment, Step,
    Stop, TokenCounts, ToolCall, ToolOutcome, Trace,
};
use web_time::Instant;

use crate::events::{Event, Observer};
use crate::live::Live;
use crate::tools::ToolHost;

/// A model that holds a growing context and writes turns after it.
pub trait LanguageModel {
    /// What keeps it from going on.
    type Error: Display;

    /// A new episode: the context is empty again.
    fn begin(&mut self);

    /// Counts the tokens that these segments would add to the context, and adds nothing. A model whose tokenizer is
    /// not at hand may give any number that is not too small; the number of bytes is one.
    ///
    /// # Errors
    ///
    /// When the text cannot be encoded.
    fn measure(&mut self, append: &[Segment]) -> Result<u64, Self::Error>;

    /// Adds `request.append` to the context and generates. `on_text` is given the text as it comes, and is also called
    /// with an empty text where tokens give none: it may break off at any time, and the result is what came so far,
    /// with [`Stop::Cancelled`].
    ///
    /// # Errors
    ///
    /// When the model cannot go on.
    fn generate(
        &mut self,
        request: &GenerateRequest,
        on_text: &mut dyn FnMut(&str) -> ControlFlow<()>,
    ) -> impl Future<Output = Result<Generated, Self::Error>>;
}

/// A turn that a model wrote.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Generated {
    /// All of it, thinking included, without the stop token.
    pub text: String,
    /// Tokens that it added to the context.
    pub tokens: TokenCounts,
    /// Why it ended.
    pub stop: Stop,
    /// Tokens of the context that did not have to be computed again.
    pub reused: u64,
}

/// Runs an episode to its end and gives back its trace, which always has an outcome.
///
/// What goes wrong on the way, with the model or with the tools, ends the episode and is its message; the turns before
/// it are in the trace. When the observer stops the episode between the calls of a turn, the calls that were not run
/// are answered with an error that says so, so that the results of the others are kept.
///
/// # Errors
///
/// Settings that no episode can run with.
pub async fn run<M, T, O>(
    config: EpisodeConfig,
    model: &mut M,
    tools: &mut T,
    observer: &mut O,
) -> Result<Trace, AgentError>
where
    M: LanguageModel,
    T: ToolHost,
    O: Observer,
{
    let think_open = config.markup.opens_think();
    let mut episode = Episode::new(config)?;
    let clock = Instant::now();
    model.begin();
    loop {
        let replied = match episode.step().clone() {
            Step::Done(outcome) => {
                observer.event(Event::Ends { outcome: &outcome });
                return Ok(episode.into_trace());
            }
            Step::Measure(append) => match model.measure(&append) {
                Ok(tokens) => episode.measured(tokens),
                Err(error) => failed(&mut episode, &error),
            },
            Step::Generate(request) => {
                let context_tokens = episode.context_tokens();
                observer.event(Event::TurnBegins { request: &request, context_tokens });
                let started_ms = milliseconds(clock);
                let mut live = Live::new(think_open);
                let mut on_text = |piece: &str| {
                    live.push(piece, observer);
                    if observer.cancelled() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
                };
                match model.generate(&request, &mut on_text).await {
                    Ok(generated) => {
                        let reply = episode.completed(Completion {
                            text: generated.text,
                            tokens: generated.tokens,
                            stop: generated.stop,
                            started_ms,
                            ended_ms: milliseconds(clock),
                        });
                        if let Some(turn) = episode.trace().turns.last().filter(|_| reply.is_ok()) {
                            observer.event(Event::TurnEnds { turn, reused: generated.reused });
                        }
                        reply
                    }
                    Err(error) => failed(&mut episode, &error),
                }
            }
            Step::RunTools(calls) => match run_calls(&episode, &calls, tools, observer).await {
                Ok(outcomes) => episode.tool_results(outcomes),
                Err(error) => failed(&mut episode, &error),
            },
            Step::CheckSql(sql) => {
                let started = Instant::now();
                match tools.check(&sql).await {
                    Ok(mut check) => {
                        check.elapsed_ms = check.elapsed_ms.or(Some(milliseconds(started)));
                        observer.event(Event::Checked { sql: &sql, check: &check });
                        episode.sql_checked(check)
                    }
                    Err(error) => failed(&mut episode, &error),
                }
            }
        };
        // A reply that the episode does not accept is the host's fault as much as its own error.
        if let Err(error) = replied {
            episode.fail(error.to_string());
        }
        if observer.cancelled() {
            episode.cancel();
        }
    }
}

/// Runs the calls of one step in order.
async fn run_calls<T: ToolHost, O: Observer>(
    episode: &Episode,
    calls: &[ToolCall],
    tools: &mut T,
    observer: &mut O,
) -> Result<Vec<ToolOutcome>, T::Error> {
    let turn = episode.trace().turns.last();
    let places = turn.into_iter().flat_map(|turn| turn.calls.iter().enumerate());
    let pending = places.filter(|(_, call)| call.status == CallStatus::Pending).map(|(index, _)| index);
    let mut outcomes = Vec::with_capacity(calls.len());
    for (index, call) in pending.zip(calls) {
        let outcome = if observer.cancelled() {
            ToolOutcome::error("Error: the call was not run: the episode was cancelled")
        } else {
            observer.event(Event::ToolBegins { index, call });
            let started = Instant::now();
            let mut outcome = tools.call(call).await?;
            outcome.elapsed_ms = outcome.elapsed_ms.or(Some(milliseconds(started)));
            outcome
        };
        observer.event(Event::ToolEnds { index, call, outcome: &outcome });
        outcomes.push(outcome);
    }
    Ok(outcomes)
}

fn failed(episode: &mut Episode, error: &impl Display) -> Result<(), AgentError> {
    episode.fail(error.to_string());
    Ok(())
}

fn milliseconds(since: Instant) -> u64 {
    u64::try_from(since.elapsed().as_millis()).unwrap_or(u64::MAX)
}
