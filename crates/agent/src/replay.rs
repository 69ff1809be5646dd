//! Running a recorded episode again, without a model and without a database.
//!
//! The trace gives the host's replies; the episode must ask the same questions for them. That proves two
//! things: that the trace left nothing out, and that the rules of this version are those under which it
//! was recorded. A recorded episode of the real model thus becomes a test of the protocol.

use std::fmt::Debug;

use crate::episode::Episode;
use crate::error::Error;
use crate::step::{SqlCheck, Step};
use crate::trace::{CallStatus, EndedBy, Trace, Turn};

/// Replays a finished trace and compares every request, and in the end the whole record.
///
/// # Errors
///
/// [`Error::Divergence`] at the first difference; [`Error::Config`] where the trace's own limits are
/// impossible.
pub fn verify(trace: &Trace) -> Result<(), Error> {
    let mut episode = Episode::new(trace.config.clone())?;
    let mut measurements = trace.measurements.iter();
    let mut checks = trace.checks.iter();
    // Number of calls of the turn that have been replied to.
    let mut replied = 0;
    loop {
        let number = episode.trace().turns.last().map_or(0, |turn| turn.number);
        let turn = number.checked_sub(1).and_then(|index| trace.turns.get(index as usize));
        let reply_missing = match episode.step().clone() {
            Step::Done(_) => break,
            Step::Measure(_) => match measurements.next() {
                Some(measurement) => {
                    episode.measured(measurement.tokens)?;
                    false
                }
                None => true,
            },
            Step::Generate(request) => {
                let Some(turn) = turn else {
                    return differs(number, "the number of turns", &trace.turns.len(), &number);
                };
                replied = 0;
                same(number, "the largest number of tokens", &turn.max_tokens, &request.max_tokens)?;
                let append = if number == 1 { &trace.config.prompt.segments } else { &turn.append };
                same(number, "what is appended", append, &request.append)?;
                match &turn.completion {
                    Some(completion) => {
                        episode.completed(completion.clone())?;
                        false
                    }
                    None => true,
                }
            }
            Step::RunTools(calls) => {
                let rest = turn.map_or(&[][..], |turn| turn.calls.get(replied..).unwrap_or(&[]));
                let handed = rest
                    .iter()
                    .enumerate()
                    .filter(|(_, call)| !matches!(call.status, CallStatus::Rejected | CallStatus::Submitted));
                let batch: Vec<_> = handed.take(calls.len()).collect();
                let recorded: Vec<_> = batch.iter().map(|(_, call)| call.call()).collect();
                same(number, "the calls to run", &recorded, &calls)?;
                replied += batch.last().map_or(0, |(index, _)| index + 1);
                let results: Option<Vec<_>> = batch.iter().map(|(_, call)| call.result.clone()).collect();
                match results {
                    Some(results) => {
                        episode.tool_results(results)?;
                        false
                    }
                    None => true,
                }
            }
            Step::CheckSql(sql) => match checks.next() {
                Some(check) => {
                    same(number, "the query to check", &check.sql, &sql)?;
                    let check = SqlCheck { error: check.error.clone(), elapsed_ms: check.elapsed_ms };
                    episode.sql_checked(check)?;
                    false
                }
                None => true,
            },
        };
        if reply_missing {
            interrupt(&mut episode, trace, number)?;
        }
    }
    compare(trace, episode.trace())
}

/// A reply that was not recorded was never given: the episode was stopped there.
fn interrupt(episode: &mut Episode, trace: &Trace, turn: u32) -> Result<(), Error> {
    match &trace.outcome {
        Some(outcome) if outcome.ended_by == EndedBy::Cancelled => episode.cancel(),
        Some(outcome) if outcome.ended_by == EndedBy::Error => {
            episode.fail(outcome.message.clone().unwrap_or_default());
        }
        _ => return differs(turn, "the next step", &"no reply", episode.step()),
    }
    Ok(())
}

fn compare(recorded: &Trace, replayed: &Trace) -> Result<(), Error> {
    let last = replayed.turns.len() as u32;
    same(last, "the outcome", &recorded.outcome, &replayed.outcome)?;
    same(last, "the number of turns", &recorded.turns.len(), &replayed.turns.len())?;
    for (recorded, replayed) in recorded.turns.iter().zip(&replayed.turns) {
        compare_turn(recorded, replayed)?;
    }
    same(last, "the token counts", &recorded.measurements, &replayed.measurements)?;
    same(last, "the checked queries", &recorded.checks, &replayed.checks)
}

fn compare_turn(recorded: &Turn, replayed: &Turn) -> Result<(), Error> {
    let turn = replayed.number;
    same(turn, "the number of calls", &recorded.calls.len(), &replayed.calls.len())?;
    for (recorded, replayed) in recorded.calls.iter().zip(&replayed.calls) {
        same(turn, "a call", recorded, replayed)?;
    }
    same(turn, "the turn", recorded, replayed)
}

fn same<T: PartialEq + Debug>(
    turn: u32,
    what: &'static str,
    recorded: &T,
    replayed: &T,
) -> Result<(), Error> {
    if recorded == replayed { Ok(()) } else { differs(turn, what, recorded, replayed) }
}

fn differs(turn: u32, what: &'static str, recorded: &dyn Debug, replayed: &dyn Debug) -> Result<(), Error> {
    let (recorded, replayed) = (format!("{recorded:?}"), format!("{replayed:?}"));
    Err(Error::Divergence { turn, what, recorded, replayed })
}
