//! The scores: when two results are the same.
//!
//! | metric | rows | duplicates | columns | values |
//! |---|---|---|---|---|
//! | [`Metric::Bird`] | as a set | ignored | in order | equal as in Python |
//! | [`Metric::Strict`] | in order iff gold's outermost SELECT has ORDER BY | count | in order | equal as in Python |
//! | [`Metric::Spider`] | in order iff gold's text has `order by` | count | in any order | equal as in Python |
//! | [`Metric::Spider2`] | in order, or each column sorted | count | each gold column is some predicted one | numbers within 0.01 |
//! | [`Metric::Ehrsql`] | sorted | count | the first alone | equal as text |
//!
//! Names of columns never matter. What a query needs to be changed into before it is run (EHRSQL's fixed time, Spider's
//! operators that were torn apart) is part of the metric too: [`Metric::query`].

mod bird;
mod ehrsql;
mod key;
mod spider;
mod spider2;

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::question::{Comparison, Table};
use crate::sql::tail;

pub use key::fingerprint;

/// A way to compare a prediction's result with gold's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Metric {
    /// BIRD's execution accuracy, as its official script computes it.
    Bird,
    /// As [`Metric::Bird`] with duplicates, and with order where gold asks for one.
    Strict,
    /// Spider's test-suite equality, with DISTINCT kept (`--keep_distinct`) and values taken as predicted.
    Spider,
    /// The comparator of Spider 2.0-lite.
    Spider2,
    /// EHRSQL's execution accuracy.
    Ehrsql,
}

/// What a comparison needs besides the two results.
#[derive(Debug, Clone, Copy)]
pub struct Comparing<'a> {
    /// Gold's query, where there is one; it decides whether order counts.
    pub gold_sql: Option<&'a str>,
    /// Position of the gold among those of its question.
    pub gold: usize,
    /// What Spider 2.0-lite says.
    pub comparison: &'a Comparison,
}

impl Metric {
    /// All of them.
    pub const ALL: [Metric; 5] =
        [Metric::Bird, Metric::Strict, Metric::Spider, Metric::Spider2, Metric::Ehrsql];

    /// The name that options, files and reports use.
    pub fn name(self) -> &'static str {
        match self {
            Metric::Bird => "bird",
            Metric::Strict => "strict",
            Metric::Spider => "spider",
            Metric::Spider2 => "spider2",
            Metric::Ehrsql => "ehrsql",
        }
    }

    /// The name for people.
    pub fn title(self) -> &'static str {
        match self {
            Metric::Bird => "BIRD EX",
            Metric::Strict => "strict EX",
            Metric::Spider => "Spider test suite",
            Metric::Spider2 => "Spider 2.0-lite",
            Metric::Ehrsql => "EHRSQL EX",
        }
    }

    /// The query as the metric's script runs it, gold and prediction alike.
    pub fn query(self, sql: &str) -> String {
        match self {
            Metric::Bird | Metric::Strict | Metric::Spider2 => sql.to_owned(),
            Metric::Spider => spider::query(sql),
            Metric::Ehrsql => ehrsql::query(sql),
        }
    }

    /// Whether the prediction's result is the gold's.
    pub fn equal(self, gold: &Table, predicted: &Table, comparing: Comparing<'_>) -> bool {
        match self {
            Metric::Bird => bird::official(gold, predicted),
            Metric::Strict => {
                let ordered = comparing.gold_sql.is_some_and(|sql| tail(sql).ordered);
                bird::strict(gold, predicted, ordered)
            }
            Metric::Spider => {
                let ordered = comparing.gold_sql.is_some_and(|sql| sql.to_lowercase().contains("order by"));
                spider::equal(gold, predicted, ordered)
            }
            Metric::Spider2 => {
                let columns = comparing.comparison.columns_of(comparing.gold);
                spider2::equal(gold, predicted, columns, comparing.comparison.ignore_order)
            }
            Metric::Ehrsql => ehrsql::equal(gold, predicted),
        }
    }
}

impl fmt::Display for Metric {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Metric {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let names: Vec<&str> = Metric::ALL.iter().map(|metric| metric.name()).collect();
        Metric::ALL
            .into_iter()
            .find(|metric| metric.name() == text)
            .ok_or_else(|| format!("there is no metric {text:?}; there are {}", names.join(", ")))
    }
}
