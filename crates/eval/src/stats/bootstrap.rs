//! Bootstrap intervals: of a mean, or of the difference of two paired runs.

use serde::{Deserialize, Serialize};

use crate::random::Random;

/// Resamples that an interval is made of.
const RESAMPLES: usize = 10_000;
/// The seed: the same data always give the same interval.
const SEED: u64 = 20_261_129;

/// The difference of two paired runs, second minus first, with two 95% intervals.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Paired {
    /// Mean difference.
    pub difference: f64,
    /// Interval with the questions resampled.
    pub by_question: (f64, f64),
    /// Interval with the databases resampled, each with all its questions. Wider where questions over one database
    /// stand or fall together; with fewer than a handful of databases it means little.
    pub by_database: (f64, f64),
    /// Number of databases.
    pub databases: usize,
}

impl Paired {
    /// Compares pairs: the database of each question, and what each run scored on it (1 and 0, or a share).
    pub fn new(pairs: &[(&str, f64, f64)]) -> Self {
        let differences: Vec<f64> = pairs.iter().map(|(_, first, second)| second - first).collect();
        let mut names: Vec<&str> = pairs.iter().map(|(database, ..)| *database).collect();
        names.sort_unstable();
        names.dedup();
        let clusters: Vec<Vec<f64>> = names
            .iter()
            .map(|name| {
                let of_name = pairs.iter().zip(&differences).filter(|((database, ..), _)| database == name);
                of_name.map(|(_, difference)| *difference).collect()
            })
            .collect();
        let single: Vec<Vec<f64>> = differences.iter().map(|difference| vec![*difference]).collect();
        Self {
            difference: super::mean(&differences),
            by_question: bootstrap(&single),
            by_database: bootstrap(&clusters),
            databases: clusters.len(),
        }
    }
}

/// The 95% percentile interval of the mean over all values when the clusters are drawn with replacement. A cluster of
/// one value each is the ordinary bootstrap.
pub fn bootstrap(clusters: &[Vec<f64>]) -> (f64, f64) {
    let sums: Vec<(f64, usize)> =
        clusters.iter().map(|cluster| (cluster.iter().sum(), cluster.len())).collect();
    if sums.iter().all(|(_, count)| *count == 0) {
        return (0.0, 0.0);
    }
    let mut random = Random::new(SEED);
    let mut means: Vec<f64> = (0..RESAMPLES)
        .map(|_| {
            let (mut sum, mut count) = (0.0, 0);
            // An empty draw has no mean; draw again, which ends as there is a value somewhere.
            while count == 0 {
                for _ in 0..sums.len() {
                    let (more, many) = sums[random.below(sums.len())];
                    sum += more;
                    count += many;
                }
            }
            sum / count as f64
        })
        .collect();
    means.sort_by(f64::total_cmp);
    (percentile(&means, 0.025), percentile(&means, 0.975))
}

/// A percentile of sorted values, between the two nearest by their distance.
fn percentile(sorted: &[f64], share: f64) -> f64 {
    let at = share * (sorted.len() - 1) as f64;
    let (below, above) = (sorted[at.floor() as usize], sorted[at.ceil() as usize]);
    below + (above - below) * at.fract()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn about_as_wide_as_the_normal_interval() {
        let values: Vec<Vec<f64>> = (0..400).map(|i| vec![f64::from(u8::from(i % 4 == 0))]).collect();
        let (low, high) = bootstrap(&values);
        let half = 1.96 * (0.25 * 0.75 / 400.0_f64).sqrt();
        assert!((low - (0.25 - half)).abs() < 0.006 && (high - (0.25 + half)).abs() < 0.006, "{low} {high}");
        assert_eq!(bootstrap(&values), (low, high), "the same data, the same interval");
    }

    #[test]
    fn questions_that_fall_together_widen_it() {
        // Ten databases of ten questions; all of a database go the same way.
        let names: Vec<String> = (0..10).map(|i| format!("db{i}")).collect();
        let pairs: Vec<(&str, f64, f64)> =
            (0..100).map(|i| (names[i / 10].as_str(), 0.0, f64::from(u8::from((i / 10) % 2 == 0)))).collect();
        let paired = Paired::new(&pairs);
        assert_eq!((paired.difference, paired.databases), (0.5, 10));
        let width = |(low, high): (f64, f64)| high - low;
        assert!(width(paired.by_database) > 2.5 * width(paired.by_question), "{paired:?}");
    }

    #[test]
    fn nothing_and_one() {
        assert_eq!(bootstrap(&[]), (0.0, 0.0));
        assert_eq!(bootstrap(&[vec![]]), (0.0, 0.0));
        assert_eq!(bootstrap(&[vec![0.5]]), (0.5, 0.5));
    }
}
