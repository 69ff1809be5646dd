//! Groups of episodes, played by the policy itself on real databases.

use super::reward::reward;
use crate::error::Result;
use crate::judge::{Judge, Verdict};
use crate::machine;
use crate::training::play::{Player, on_cpu, on_threads};
use glowworm_agent::{EndedBy, SubmitGate};
use glowworm_model::reference::Model;
use glowworm_session::Sampling;
use std::sync::atomic::{AtomicUsize, Ordering};

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
    let next = AtomicUsize::new(0);
    let work = || -> Result<Vec<(usize, Episode)>> {
        let mut player = Player::new(model.clone(), tokenizer)?;
        let mut played = Vec::new();
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            let Some(problem) = problems.get(index / size.max(1)) else { return Ok(played) };
            let seed = seed.wrapping_add(index as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            played.push((index, episode(&mut player, problem, seed)?));
        }
    };
    let mut all = on_threads(threads, work)?;
    all.sort_by_key(|(index, _)| *index);
    let episodes: Vec<Episode> = all.into_iter().map(|(_, episode)| episode).collect();
    Ok(episodes.chunks(size.max(1)).map(<[Episode]>::to_vec).collect())
}

fn episode(player: &mut Player, problem: &Problem, seed: u64) -> Result<Episode> {
    let mut config = machine::config(&problem.question);
    config.submit_gate = problem.gate;
    let played = player.play(&problem.image, config, sampling(seed))?;
    let verdict = Judge::new(&problem.image, &[&problem.gold])?.verdict(played.sql());
    let submitted = played.trace.outcome.as_ref().is_some_and(|o| o.ended_by == EndedBy::SubmitSql);
    let right = verdict == Verdict::Equal;
    Ok(Episode { reward: reward(verdict), right, submitted, tokens: played.tokens, written: played.written })
}
