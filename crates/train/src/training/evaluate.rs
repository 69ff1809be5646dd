//! Evaluation by playing: questions on databases that training never saw, answered in the real agent loop.

use super::play::{Job, Played, in_parts, on_cpu, play};
use crate::error::{Error, Result};
use crate::judge::Judge;
use crate::lexicon::{Lexicon, Split};
use crate::machine;
use crate::sample::{Sample, sample};
use glowworm_agent::EndedBy;
use glowworm_eval::stats::{Discordant, Share};
use glowworm_model::reference::Model;
use glowworm_session::Sampling;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::ops::Range;
use std::time::{Duration, Instant};

/// What is evaluated on.
#[derive(Clone, Copy, Debug)]
pub struct Questions {
    /// Which words and frames.
    pub split: Split,
    /// Seed of the first sample; the others follow it.
    pub seed: u64,
    /// How many.
    pub count: u64,
    /// No questions are begun after this time.
    pub limit: Option<Duration>,
    /// Threads.
    pub threads: usize,
}

/// Questions that are answered at once, by each thread.
const TOGETHER: usize = 32;

/// One answered question.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Answer {
    /// Seed of its sample.
    pub seed: u64,
    /// Kind of question.
    pub kind: String,
    /// The question.
    pub question: String,
    /// Gold's SQL.
    pub gold: String,
    /// The model's, where there is one.
    pub sql: Option<String>,
    /// Whether its result is gold's.
    pub right: bool,
    /// How the episode ended.
    pub ended_by: EndedBy,
    /// Turns, the final one included.
    pub turns: u32,
    /// Tool calls.
    pub calls: u32,
    /// `run_query` calls that failed.
    pub failed_queries: u32,
    /// The whole conversation.
    pub text: String,
}

/// All answers, in the order of their seeds.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Evaluation {
    /// The answers.
    pub answers: Vec<Answer>,
}

/// Figures of an [`Evaluation`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// Right by execution.
    pub right: Share,
    /// Episodes that the model ended with `submit_sql`.
    pub submitted: Share,
    /// Mean turns.
    pub turns: f64,
    /// Mean calls.
    pub calls: f64,
    /// Mean failed queries.
    pub failed_queries: f64,
    /// How episodes ended.
    pub ended_by: BTreeMap<String, u64>,
    /// Right by kind of question.
    pub by_kind: BTreeMap<String, Share>,
}

impl Evaluation {
    /// Its figures.
    pub fn summary(&self) -> Summary {
        let n = self.answers.len().max(1) as f64;
        let mean = |of: fn(&Answer) -> u32| self.answers.iter().map(|a| f64::from(of(a))).sum::<f64>() / n;
        let mut ended_by = BTreeMap::new();
        let mut kinds: BTreeMap<&str, Vec<bool>> = BTreeMap::new();
        for a in &self.answers {
            *ended_by.entry(a.ended_by.name().to_owned()).or_insert(0) += 1;
            kinds.entry(&a.kind).or_default().push(a.right);
        }
        Summary {
            right: Share::of(self.answers.iter().map(|a| a.right)),
            submitted: Share::of(self.answers.iter().map(|a| a.ended_by == EndedBy::SubmitSql)),
            turns: mean(|a| a.turns),
            calls: mean(|a| a.calls),
            failed_queries: mean(|a| a.failed_queries),
            ended_by,
            by_kind: kinds.into_iter().map(|(kind, all)| (kind.to_owned(), Share::of(all))).collect(),
        }
    }

    /// McNemar's test against another evaluation, on the questions that both have.
    pub fn compare(&self, other: &Self) -> Discordant {
        let theirs: BTreeMap<u64, bool> = other.answers.iter().map(|a| (a.seed, a.right)).collect();
        let pairs = self.answers.iter().filter_map(|a| Some((a.right, *theirs.get(&a.seed)?)));
        let (mut mine_alone, mut theirs_alone) = (0, 0);
        for pair in pairs {
            mine_alone += u64::from(pair == (true, false));
            theirs_alone += u64::from(pair == (false, true));
        }
        Discordant::new(mine_alone, theirs_alone)
    }
}

/// Answers questions greedily and judges the answers. `report` is given each as it comes.
///
/// # Errors
/// When a sample or an episode cannot be made.
pub fn evaluate(
    model: &Model,
    tokenizer: &str,
    questions: Questions,
    report: &(dyn Fn(&Answer) + Sync),
) -> Result<Evaluation> {
    let lexicon = Lexicon::load()?;
    let model = on_cpu(model)?;
    let started = Instant::now();
    let in_time = || questions.limit.is_none_or(|limit| started.elapsed() < limit);
    let work = |part: Range<usize>| {
        let seeds = questions.seed + part.start as u64..questions.seed + part.end as u64;
        let answers = together(&lexicon, &model, tokenizer, questions.split, seeds)?;
        answers.iter().for_each(report);
        Ok(answers)
    };
    let mut answers = in_parts(questions.threads, questions.count as usize, TOGETHER, in_time, work)?;
    if answers.is_empty() {
        return Err(Error::Settings("no question was asked; raise the number or the time limit".into()));
    }
    answers.sort_by_key(|a| a.seed);
    Ok(Evaluation { answers })
}

/// Answers the questions of some seeds, in step.
fn together(
    lexicon: &Lexicon,
    model: &Model,
    tokenizer: &str,
    split: Split,
    seeds: Range<u64>,
) -> Result<Vec<Answer>> {
    let samples = seeds.clone().map(|seed| sample(lexicon, split, seed)).collect::<Result<Vec<_>>>()?;
    let jobs = samples.iter().map(|sample| Job {
        image: &sample.world.image,
        config: machine::config(&sample.question.text),
        sampling: Sampling::GREEDY,
    });
    let played = play(model, tokenizer, jobs.collect())?;
    seeds
        .zip(samples.iter().zip(&played))
        .map(|(seed, (sample, played))| answer(seed, sample, played))
        .collect()
}

fn answer(seed: u64, sample: &Sample, played: &Played) -> Result<Answer> {
    let question = &sample.question;
    let judge = Judge::new(&sample.world.image, &[&question.sql])?;
    let stats = played.trace.stats();
    let text = played.trace.context().into_iter().map(|piece| match piece {
        glowworm_agent::Piece::Markup(t)
        | glowworm_agent::Piece::Text(t)
        | glowworm_agent::Piece::Generated(t) => t,
    });
    Ok(Answer {
        seed,
        kind: question.kind.to_owned(),
        text: text.collect(),
        right: judge.is_right(played.sql()),
        sql: played.sql().map(str::to_owned),
        ended_by: played.trace.outcome.as_ref().map_or(EndedBy::Error, |o| o.ended_by),
        turns: stats.turns,
        calls: stats.calls,
        failed_queries: stats.failed_queries,
        question: question.text.clone(),
        gold: question.sql.clone(),
    })
}
