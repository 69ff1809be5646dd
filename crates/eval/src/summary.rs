//! What the episodes of a run add up to. Computed from their records alone, in the order of questions and samples: a
//! run that was stopped and gone on with has the same summary.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::behaviour::{Behaviour, LiteralCount};
use crate::metric::Metric;
use crate::score::GoldState;
use crate::stats::{Share, bootstrap, majority, mean, median, pass_at_k};
use crate::store::{EpisodeRecord, RunConfig};

/// The figures of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// Finished episodes.
    pub episodes: u64,
    /// Questions with at least one finished episode.
    pub questions: u64,
    /// The share of right answers by each metric, of all episodes whose gold runs. With several samples a question the
    /// interval is a bootstrap over questions, since samples of one question are not independent.
    pub accuracy: BTreeMap<Metric, Share>,
    /// The same without questions whose gold is ambiguous.
    pub accuracy_sound: BTreeMap<Metric, Share>,
    /// 95% interval by the first metric, with whole databases resampled.
    pub by_database_interval: (f64, f64),
    /// Episodes that cannot be scored, because no gold of their question runs.
    pub gold_fails: u64,
    /// Right answers by the first metric where the gold's result depends on how ties are broken.
    pub gold_ambiguous: Share,
    /// pass@k by the first metric: the chance that one of `k` samples is right.
    pub pass_at: BTreeMap<u32, f64>,
    /// The share of questions whose most frequent result is right.
    pub majority: Option<Share>,
    /// What the episodes did.
    pub behaviour: BehaviourSummary,
    /// By difficulty, by the first metric.
    pub by_difficulty: Vec<Group>,
    /// By database.
    pub by_database: Vec<Group>,
    /// By number of tables that could be seen.
    pub by_tables: Vec<Group>,
    /// How long it took: the one part that another run of the same does not repeat.
    pub time: Time,
}

/// A part of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Group {
    /// What its episodes have in common.
    pub name: String,
    /// Right answers.
    pub accuracy: Share,
    /// Mean number of calls.
    pub calls: f64,
    /// Episodes that opened every gold table.
    pub opened_all: Share,
}

/// Mean and median.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Middle {
    /// Mean.
    pub mean: f64,
    /// Median.
    pub median: f64,
}

impl Middle {
    fn of(values: impl Iterator<Item = f64>) -> Self {
        let values: Vec<f64> = values.collect();
        Self { mean: mean(&values), median: median(&values) }
    }
}

/// What the episodes of a run did.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BehaviourSummary {
    /// Episodes that ended by the model's own `submit_sql`.
    pub submitted: Share,
    /// How episodes ended.
    pub ended_by: BTreeMap<String, u64>,
    /// What the first of those that ended by an error says of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Calls an episode.
    pub calls: Middle,
    /// Turns an episode, the final one included.
    pub turns: Middle,
    /// Calls that could not be run, of all calls.
    pub invalid_calls: Share,
    /// Tool turns without a call that could be run, of all turns.
    pub invalid_turns: Share,
    /// Failed queries an episode.
    pub failed_queries: Middle,
    /// Tokens in the context at the end.
    pub tokens: Middle,
    /// Tokens that the model wrote.
    pub generated_tokens: Middle,
    /// Episodes whose course the token budget changed.
    pub budget_hits: Share,
    /// Episodes that described, sampled or queried every gold table, of those where it is known which these are.
    pub opened_all: Share,
    /// String literals of the gold query that were seen in a tool result before the answer.
    pub literals_seen: Share,
    /// The same for those that are not in the question or its evidence note.
    pub hidden_literals_seen: Share,
    /// 2 × parameters × tokens, in 10¹² operations a question, each token computed once: what an append-only context
    /// costs.
    pub tflops: Option<f64>,
    /// The same with every turn reading its whole context again, as servers without a prefix cache do, and as published
    /// figures may be counted.
    pub tflops_without_cache: Option<f64>,
}

/// How long a run took.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Time {
    /// Seconds an episode, from beginning to end.
    pub episode: Middle,
    /// Seconds of it in the model.
    pub generating: Middle,
    /// Seconds of it in the tools.
    pub tools: Middle,
    /// Tokens written in a second of generating, over the whole run.
    pub tokens_per_second: f64,
}

/// Upper ends of the groups by number of tables.
const TABLES: [usize; 7] = [5, 10, 20, 50, 100, 200, usize::MAX];

impl Summary {
    /// Adds up the episodes of a run.
    pub fn new(config: &RunConfig, episodes: &[EpisodeRecord]) -> Self {
        let metric = config.metric();
        let scored: Vec<&EpisodeRecord> = episodes.iter().filter(|episode| episode.is_scored()).collect();
        let sound: Vec<&EpisodeRecord> =
            scored.iter().copied().filter(|episode| episode.judgement.gold == GoldState::Sound).collect();
        let several = config.samples > 1;
        let by_metric = |episodes: &[&EpisodeRecord]| {
            config.metrics.iter().map(|metric| (*metric, accuracy(episodes, *metric, several))).collect()
        };
        let ambiguous = scored.iter().filter(|episode| episode.judgement.gold == GoldState::Ambiguous);
        let by_question = grouped(&scored, |episode| episode.id.clone());
        Self {
            episodes: episodes.len() as u64,
            questions: grouped(&episodes.iter().collect::<Vec<_>>(), |episode| episode.id.clone()).len()
                as u64,
            accuracy: by_metric(&scored),
            accuracy_sound: by_metric(&sound),
            by_database_interval: interval(&grouped(&scored, |episode| episode.db_id.clone()), metric),
            gold_fails: (episodes.len() - scored.len()) as u64,
            gold_ambiguous: Share::of(ambiguous.map(|episode| episode.is_right(metric))),
            pass_at: pass_at(&by_question, metric, config.samples),
            majority: several.then(|| voted(&by_question, metric)),
            behaviour: BehaviourSummary::new(episodes, config.parameters),
            by_difficulty: groups(&scored, metric, several, |episode| {
                episode.difficulty.clone().unwrap_or_else(|| "not given".to_owned())
            }),
            by_database: groups(&scored, metric, several, |episode| episode.db_id.clone()),
            by_tables: by_tables(&scored, metric, several),
            time: Time::new(episodes),
        }
    }
}

type Groups<'a> = Vec<(String, Vec<&'a EpisodeRecord>)>;

/// Episodes by what they have in common, in the order in which each kind first comes.
fn grouped<'a>(episodes: &[&'a EpisodeRecord], name: impl Fn(&EpisodeRecord) -> String) -> Groups<'a> {
    let mut places: std::collections::HashMap<String, usize> = std::collections::HashMap::new();
    let mut groups: Groups<'a> = Vec::new();
    for episode in episodes {
        let name = name(episode);
        let place = *places.entry(name.clone()).or_insert_with(|| {
            groups.push((name, Vec::new()));
            groups.len() - 1
        });
        groups[place].1.push(episode);
    }
    groups
}

fn accuracy(episodes: &[&EpisodeRecord], metric: Metric, several: bool) -> Share {
    let mut share = Share::of(episodes.iter().map(|episode| episode.is_right(metric)));
    if several && share.of > 0 {
        (share.low, share.high) = interval(&grouped(episodes, |episode| episode.id.clone()), metric);
    }
    share
}

/// Bootstrap interval of the share of right answers, with the groups resampled.
fn interval(groups: &Groups<'_>, metric: Metric) -> (f64, f64) {
    let right = |episode: &&EpisodeRecord| f64::from(u8::from(episode.is_right(metric)));
    let clusters: Vec<Vec<f64>> =
        groups.iter().map(|(_, episodes)| episodes.iter().map(right).collect()).collect();
    bootstrap(&clusters)
}

fn groups(
    episodes: &[&EpisodeRecord],
    metric: Metric,
    several: bool,
    name: impl Fn(&EpisodeRecord) -> String,
) -> Vec<Group> {
    let mut groups = grouped(episodes, name);
    groups.sort_by(|(a, _), (b, _)| a.cmp(b));
    groups.into_iter().map(|(name, episodes)| Group::new(name, &episodes, metric, several)).collect()
}

fn by_tables(episodes: &[&EpisodeRecord], metric: Metric, several: bool) -> Vec<Group> {
    let mut from = 0;
    let mut groups = Vec::new();
    for to in TABLES {
        let within: Vec<&EpisodeRecord> =
            episodes.iter().copied().filter(|episode| (from..=to).contains(&episode.tables)).collect();
        let name = if to == usize::MAX { format!("{from} or more") } else { format!("{from} to {to}") };
        if !within.is_empty() {
            groups.push(Group::new(name, &within, metric, several));
        }
        from = to.saturating_add(1);
    }
    groups
}

impl Group {
    fn new(name: String, episodes: &[&EpisodeRecord], metric: Metric, several: bool) -> Self {
        Self {
            name,
            accuracy: accuracy(episodes, metric, several),
            calls: Middle::of(episodes.iter().map(|episode| f64::from(episode.behaviour.calls))).mean,
            opened_all: Share::of(episodes.iter().filter_map(|episode| episode.behaviour.opened_all())),
        }
    }
}

/// pass@k for k = 1, 2, 4, … and the number of samples, over the questions that have that many.
fn pass_at(questions: &Groups<'_>, metric: Metric, samples: u32) -> BTreeMap<u32, f64> {
    let mut ks: Vec<u32> =
        std::iter::successors(Some(1u32), |k| k.checked_mul(2)).take_while(|k| *k < samples).collect();
    ks.push(samples);
    ks.into_iter()
        .filter_map(|k| {
            let chances: Vec<f64> = questions
                .iter()
                .filter_map(|(_, episodes)| {
                    let right = episodes.iter().filter(|episode| episode.is_right(metric)).count();
                    pass_at_k(episodes.len() as u64, right as u64, u64::from(k))
                })
                .collect();
            (!chances.is_empty()).then(|| (k, mean(&chances)))
        })
        .collect()
}

fn voted(questions: &Groups<'_>, metric: Metric) -> Share {
    Share::of(questions.iter().map(|(_, episodes)| {
        let results: Vec<Option<&String>> =
            episodes.iter().map(|episode| episode.judgement.result.as_ref()).collect();
        match majority(&results) {
            Some(elected) => episodes[elected].is_right(metric),
            // Nobody has a result: right only where not to answer is.
            None => episodes.first().is_some_and(|episode| episode.is_right(metric)),
        }
    }))
}

impl BehaviourSummary {
    fn new(episodes: &[EpisodeRecord], parameters: Option<u64>) -> Self {
        let all = || episodes.iter().map(|episode| &episode.behaviour);
        let sum = |of: fn(&Behaviour) -> u32| all().map(|one| u64::from(of(one))).sum::<u64>();
        let middle = |of: fn(&Behaviour) -> f64| Middle::of(all().map(of));
        let literals = |of: fn(&Behaviour) -> LiteralCount| {
            let counts = all().map(of);
            let (seen, all) = counts.fold((0, 0), |(seen, all), one| (seen + one.seen, all + one.of));
            Share::new(seen as u64, all as u64)
        };
        let mut ended_by: BTreeMap<String, u64> = BTreeMap::new();
        for one in all() {
            *ended_by.entry(one.ended_by.name().to_owned()).or_default() += 1;
        }
        let tokens = middle(|one| one.tokens() as f64);
        let uncached = middle(|one| one.tokens_without_cache as f64);
        let tflops = |tokens: f64| parameters.map(|parameters| 2.0 * parameters as f64 * tokens / 1e12);
        Self {
            submitted: Share::of(all().map(|one| one.submitted)),
            ended_by,
            error: all().find_map(|one| one.error.clone()),
            calls: middle(|one| f64::from(one.calls)),
            turns: middle(|one| f64::from(one.turns)),
            invalid_calls: Share::new(sum(|one| one.invalid_calls), sum(|one| one.calls)),
            invalid_turns: Share::new(sum(|one| one.invalid_turns), sum(|one| one.turns)),
            failed_queries: middle(|one| f64::from(one.failed_queries)),
            generated_tokens: middle(|one| one.generated_tokens as f64),
            budget_hits: Share::of(all().map(|one| one.token_budget_hit)),
            opened_all: Share::of(all().filter_map(Behaviour::opened_all)),
            literals_seen: literals(|one| one.literals),
            hidden_literals_seen: literals(|one| one.hidden_literals),
            tflops: tflops(tokens.mean),
            tflops_without_cache: tflops(uncached.mean),
            tokens,
        }
    }
}

impl Time {
    fn new(episodes: &[EpisodeRecord]) -> Self {
        let seconds =
            |of: fn(&EpisodeRecord) -> u64| Middle::of(episodes.iter().map(|one| of(one) as f64 / 1000.0));
        let sum = |of: fn(&EpisodeRecord) -> u64| episodes.iter().map(of).sum::<u64>() as f64;
        let (tokens, milliseconds) =
            (sum(|one| one.behaviour.generated_tokens), sum(|one| one.behaviour.generate_ms));
        Self {
            episode: seconds(|one| one.wall_ms),
            generating: seconds(|one| one.behaviour.generate_ms),
            tools: seconds(|one| one.behaviour.tool_ms),
            tokens_per_second: if milliseconds > 0.0 { 1000.0 * tokens / milliseconds } else { 0.0 },
        }
    }
}
