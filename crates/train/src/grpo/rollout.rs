//! Groups of episodes, played by the policy itself on real databases.

use super::reward::reward;
use crate::error::Result;
use crate::judge::{Judge, Verdict};
use crate::machine;
use crate::training::play::{Job, Played, in_parts, on_cpu, play};
use glowworm_agent::{EndedBy, SubmitGate};
use glowworm_model::reference::Model;
use glowworm_session::Sampling;
use std::ops::Range;

/// A question on a database.
#[derive(Clone, Debug)]
pub struct Problem {
    /// The database's file.
    pub image: Vec<u8>,
    /// The question.
    pub question: String,
    /// Gold's SQL.
    pub gold: String,
    /// Whether `submit_sql` is held back.
    pub gate: SubmitGate,
}

/// A played episode and what it earned.
#[derive(Clone, Debug, PartialEq)]
pub struct Episode {
    /// Its tokens.
    pub tokens: Vec<u32>,
    /// Which of them the policy wrote.
    pub written: Vec<bool>,
    /// Its reward.
    pub reward: f64,
    /// Whether its answer is right.
    pub right: bool,
    /// Whether it ended with `submit_sql`.
    pub submitted: bool,
}

/// Episodes that are played at once, by each thread: the same ones, however many threads there are.
const TOGETHER: usize = 32;

/// Draws from all tokens at temperature 1: the policy as it is. Any other sampling would play with a policy that the
/// ratios of the objective know nothing of.
fn sampling(seed: u64) -> Sampling {
    Sampling { temperature: 1.0, top_k: 0, top_p: 1.0, seed }
}

/// Plays `size` episodes of each problem. The same seed plays the same episodes, however many threads there are.
///
/// # Errors
/// When a database cannot be opened or a gold query does not run.
pub fn groups(
    policy: &Model,
    tokenizer: &str,
    problems: &[Problem],
    size: usize,
    seed: u64,
    threads: usize,
) -> Result<Vec<Vec<Episode>>> {
    let model = on_cpu(policy)?;
    let work = |part: Range<usize>| -> Result<Vec<(usize, Episode)>> {
        let problem = |index: usize| &problems[index / size];
        let jobs = part.clone().map(|index| job(problem(index), index, seed)).collect();
        let played = play(&model, tokenizer, jobs)?;
        part.zip(played).map(|(index, played)| Ok((index, judged(problem(index), played)?))).collect()
    };
    let mut all = in_parts(threads, problems.len() * size, TOGETHER, || true, work)?;
    all.sort_by_key(|(index, _)| *index);
    let episodes: Vec<Episode> = all.into_iter().map(|(_, episode)| episode).collect();
    Ok(episodes.chunks(size.max(1)).map(<[Episode]>::to_vec).collect())
}

fn job(problem: &Problem, index: usize, seed: u64) -> Job<'_> {
    let mut config = machine::config(&problem.question);
    config.submit_gate = problem.gate;
    let seed = seed.wrapping_add(index as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    Job { image: &problem.image, config, sampling: sampling(seed) }
}

fn judged(problem: &Problem, played: Played) -> Result<Episode> {
    let verdict = Judge::new(&problem.image, &[&problem.gold])?.verdict(played.sql());
    let submitted = played.trace.outcome.as_ref().is_some_and(|o| o.ended_by == EndedBy::SubmitSql);
    let right = verdict == Verdict::Equal;
    Ok(Episode { reward: reward(verdict), right, submitted, tokens: played.tokens, written: played.written })
}
