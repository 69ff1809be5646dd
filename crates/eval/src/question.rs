//! Questions with their accepted answers.

use serde::{Deserialize, Serialize};

use glowworm_database::Value;

/// One question of a set.
#[derive(Debug, Clone, PartialEq)]
pub struct Question {
    /// Tells it from all others of its set, in every run: pairs of runs are matched by it.
    pub id: String,
    /// Its database, as the set names it.
    pub db_id: String,
    /// The question.
    pub text: String,
    /// The evidence note that comes with it.
    pub evidence: Option<String>,
    /// The accepted answers; any of them will do. None: the question cannot be answered, and the right thing is not to.
    pub golds: Vec<Gold>,
    /// Gold queries that tell which tables and values an answer needs, where `golds` are results only.
    pub reference: Vec<String>,
    /// Its difficulty, or whatever category the set has.
    pub difficulty: Option<String>,
    /// The style of wording, for sets that have several.
    pub phrasing: Option<String>,
    /// How the Spider 2.0-lite comparator is to compare.
    pub comparison: Comparison,
}

impl Question {
    /// A question with accepted queries and nothing else.
    pub fn new(
        id: impl Into<String>,
        db_id: impl Into<String>,
        text: impl Into<String>,
        golds: Vec<String>,
    ) -> Self {
        Self {
            id: id.into(),
            db_id: db_id.into(),
            text: text.into(),
            evidence: None,
            golds: golds.into_iter().map(Gold::Sql).collect(),
            reference: Vec::new(),
            difficulty: None,
            phrasing: None,
            comparison: Comparison::default(),
        }
    }

    /// The gold queries: the accepted ones, or those for reference.
    pub fn queries(&self) -> impl Iterator<Item = &str> {
        let accepted = self.golds.iter().filter_map(|gold| match gold {
            Gold::Sql(sql) => Some(sql.as_str()),
            Gold::Result(_) => None,
        });
        accepted.chain(self.reference.iter().map(String::as_str))
    }

    /// Whether it has an answer at all.
    pub fn is_answerable(&self) -> bool {
        !self.golds.is_empty()
    }
}

/// An accepted answer.
#[derive(Debug, Clone, PartialEq)]
pub enum Gold {
    /// A query; it is run when an answer is scored.
    Sql(String),
    /// The rows themselves, from a CSV file.
    Result(Table),
}

/// A result: rows of values.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Table {
    /// Number of columns, also where there are no rows.
    pub columns: usize,
    /// The rows, each of `columns` values.
    pub rows: Vec<Vec<Value>>,
}

impl Table {
    /// A table out of rows that are all of one length; a test's or a caller's own.
    pub fn new(columns: usize, rows: Vec<Vec<Value>>) -> Self {
        Self { columns, rows }
    }

    /// A column's values, from the first row to the last.
    pub fn column(&self, index: usize) -> Vec<&Value> {
        self.rows.iter().filter_map(|row| row.get(index)).collect()
    }
}

impl From<glowworm_database::Rows> for Table {
    fn from(rows: glowworm_database::Rows) -> Self {
        Self { columns: rows.columns.len(), rows: rows.rows }
    }
}

/// What Spider 2.0-lite says about comparing one question's results.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Comparison {
    /// For each gold the columns that count, by position; empty: all. One entry counts for all golds.
    pub columns: Vec<Vec<usize>>,
    /// Each column is sorted by itself before it is compared.
    pub ignore_order: bool,
}

impl Comparison {
    /// The columns of gold number `gold` that count.
    pub fn columns_of(&self, gold: usize) -> &[usize] {
        let one = if self.columns.len() == 1 { self.columns.first() } else { self.columns.get(gold) };
        one.map_or(&[], Vec::as_slice)
    }
}
