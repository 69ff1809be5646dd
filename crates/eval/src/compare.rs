//! Two runs on the same questions.

use std::collections::{HashMap, HashSet};

use serde::Serialize;

use crate::error::{Error, Result};
use crate::metric::Metric;
use crate::stats::{Discordant, Paired, Share, mean};
use crate::store::{EpisodeRecord, Run};

/// Two runs, paired by question.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PairedRuns {
    /// The metric.
    pub metric: Metric,
    /// Questions that both runs have and that can be scored.
    pub questions: usize,
    /// Questions that only one of them has, which count for nothing here.
    pub unpaired: usize,
    /// The first run on these questions, by its first sample of each.
    pub first: Share,
    /// The second run, likewise.
    pub second: Share,
    /// McNemar's exact test on the first samples.
    pub discordant: Discordant,
    /// Difference of the shares over all samples, second minus first, with its intervals.
    pub paired: Paired,
    /// Questions whose first sample changed, in the order of the set.
    pub changes: Vec<Change>,
    /// Settings in which the runs differ, besides the model: `name: first → second`.
    pub settings: Vec<String>,
}

/// A question that one run gets right and the other does not.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Change {
    /// The question's id.
    pub id: String,
    /// Its database.
    pub db_id: String,
    /// Whether it is the second run that gets it right.
    pub gained: bool,
    /// The first run's answer.
    pub first: Option<String>,
    /// The second run's answer.
    pub second: Option<String>,
}

/// Pairs two runs by question: its id, its database and its gold queries, since ids are numbers in many sets.
///
/// # Errors
///
/// When they have no question in common, or one of them was not scored by the metric.
pub fn compare(first: &Run, second: &Run, metric: Metric) -> Result<PairedRuns> {
    for run in [first, second] {
        if !run.config.metrics.contains(&metric) {
            return Err(Error::Options(format!(
                "{} was not scored by the metric {metric}",
                run.folder.display()
            )));
        }
    }
    let others = by_question(second);
    let mut pairs: Vec<(&str, f64, f64)> = Vec::new();
    let (mut firsts, mut seconds, mut changes) = (Vec::new(), Vec::new(), Vec::new());
    let mine = by_question(first);
    let mut seen = HashSet::new();
    let order = first.episodes.iter().map(identity).filter(|question| seen.insert(*question));
    let both: Vec<(&Vec<&EpisodeRecord>, &Vec<&EpisodeRecord>)> =
        order.filter_map(|question| Some((mine.get(&question)?, others.get(&question)?))).collect();
    for (mine, theirs) in &both {
        let (Some(one), Some(two)) = (mine.first(), theirs.first()) else { continue };
        if !one.is_scored() || !two.is_scored() {
            continue;
        }
        let (right, other) = (one.is_right(metric), two.is_right(metric));
        firsts.push(right);
        seconds.push(other);
        pairs.push((&one.db_id, share(mine, metric), share(theirs, metric)));
        if right != other {
            changes.push(Change {
                id: one.id.clone(),
                db_id: one.db_id.clone(),
                gained: other,
                first: one.sql.clone(),
                second: two.sql.clone(),
            });
        }
    }
    if pairs.is_empty() {
        return Err(Error::Options(format!(
            "{} and {} have no question in common that can be scored",
            first.folder.display(),
            second.folder.display()
        )));
    }
    let gained = changes.iter().filter(|change| change.gained).count() as u64;
    Ok(PairedRuns {
        metric,
        questions: pairs.len(),
        unpaired: mine.len() + others.len() - 2 * both.len(),
        first: Share::of(firsts),
        second: Share::of(seconds),
        discordant: Discordant::new(changes.len() as u64 - gained, gained),
        paired: Paired::new(&pairs),
        changes,
        settings: settings(first, second),
    })
}

/// What makes two episodes be about one question.
type Identity<'a> = (&'a str, &'a str, &'a [String]);

fn identity(episode: &EpisodeRecord) -> Identity<'_> {
    (&episode.id, &episode.db_id, &episode.gold)
}

fn by_question(run: &Run) -> HashMap<Identity<'_>, Vec<&EpisodeRecord>> {
    let mut questions: HashMap<Identity<'_>, Vec<&EpisodeRecord>> = HashMap::new();
    for episode in &run.episodes {
        questions.entry(identity(episode)).or_default().push(episode);
    }
    // Threads finish in any order.
    questions.values_mut().for_each(|episodes| episodes.sort_by_key(|episode| episode.sample));
    questions
}

fn share(episodes: &[&EpisodeRecord], metric: Metric) -> f64 {
    let right: Vec<f64> =
        episodes.iter().map(|episode| f64::from(u8::from(episode.is_right(metric)))).collect();
    mean(&right)
}

fn settings(first: &Run, second: &Run) -> Vec<String> {
    let (one, two) = (serde_json::to_value(&first.config), serde_json::to_value(&second.config));
    let (Ok(serde_json::Value::Object(one)), Ok(serde_json::Value::Object(two))) = (one, two) else {
        return Vec::new();
    };
    let expected = ["glowworm", "model", "device", "parameters"];
    one.iter()
        .filter(|(name, _)| !expected.contains(&name.as_str()))
        .filter_map(|(name, value)| {
            let other = two.get(name)?;
            (value != other).then(|| format!("{name}: {value} → {other}"))
        })
        .collect()
}
