//! Judges answers: on a copy of the database, with a bound on the work that a query may take.

use crate::error::{Error, Result};
use crate::tools::{cell, orders_outermost, query, same_rows};
use rusqlite::Connection;
use rusqlite::types::Value;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

/// SQLite's instructions between two looks at how many there were.
const LOOK_EVERY: i32 = 10_000;
/// Looks after which a query is given up: some seconds of work. Instructions are counted and not seconds, so that the
/// same query is given up on every machine.
const LOOKS: u32 = 4_000;
/// Rows of a result that are compared.
const ROWS: usize = 2_000;

/// What an answer is worth.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Verdict {
    /// There is no answer, or it is no statement that SQLite understands.
    Unreadable,
    /// It can be parsed and does not run: a name that does not exist, or an endless query.
    Parses,
    /// It runs and gives another result.
    Runs(Likeness),
    /// It gives gold's result.
    Equal,
}

/// How near a result is to gold's.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Likeness {
    /// F1 of the cells: of the values in both results, each counted as often as it occurs in both. 0 to 1.
    pub f1: f64,
    /// As many columns as gold.
    pub columns: bool,
    /// As many rows as gold.
    pub rows: bool,
}

/// A database and the results that are right.
pub struct Judge {
    db: Connection,
    looks: Arc<AtomicU32>,
    golds: Vec<Gold>,
}

struct Gold {
    rows: Vec<Vec<Value>>,
    ordered: bool,
}

impl Judge {
    /// A judge on the database whose file `image` is; an answer is right if it equals any of the golds.
    ///
    /// # Errors
    /// When the image is no database, or a gold query does not run.
    pub fn new(image: &[u8], golds: &[&str]) -> Result<Self> {
        let refused = |source| Error::Sqlite { sql: "opening a copy".into(), source };
        let mut db = Connection::open_in_memory().map_err(refused)?;
        db.deserialize_read_exact("main", image, image.len(), true).map_err(refused)?;
        let looks = Arc::new(AtomicU32::new(0));
        let seen = Arc::clone(&looks);
        let too_long = move || seen.fetch_add(1, Ordering::Relaxed) >= LOOKS;
        db.progress_handler(LOOK_EVERY, Some(too_long)).map_err(refused)?;
        let mut judge = Self { db, looks, golds: Vec::new() };
        for gold in golds {
            let rows =
                judge.run(gold).map_err(|why| Error::Tools(format!("the gold query {gold}: {why}")))?;
            judge.golds.push(Gold { rows, ordered: orders_outermost(gold) });
        }
        Ok(judge)
    }

    fn run(&self, sql: &str) -> std::result::Result<Vec<Vec<Value>>, String> {
        self.looks.store(0, Ordering::Relaxed);
        query(&self.db, sql, ROWS)
    }

    /// Judges an answer; against several golds the best of the verdicts counts.
    pub fn verdict(&self, sql: Option<&str>) -> Verdict {
        let Some(sql) = sql.filter(|sql| !sql.trim().is_empty()) else { return Verdict::Unreadable };
        let rows = match self.run(sql) {
            Ok(rows) => rows,
            Err(why) if is_unreadable(&why) => return Verdict::Unreadable,
            Err(_) => return Verdict::Parses,
        };
        if self.golds.iter().any(|gold| same_rows(&gold.rows, &rows, gold.ordered)) {
            return Verdict::Equal;
        }
        let likenesses = self.golds.iter().map(|gold| likeness(&gold.rows, &rows));
        likenesses.max_by(|a, b| a.f1.total_cmp(&b.f1)).map_or(Verdict::Parses, Verdict::Runs)
    }

    /// Whether an answer is right.
    pub fn is_right(&self, sql: Option<&str>) -> bool {
        self.verdict(sql) == Verdict::Equal
    }
}

/// SQLite's words for text that is no statement, and ours for one that would write.
fn is_unreadable(why: &str) -> bool {
    ["syntax error", "incomplete input", "unrecognized token", "not a query", "You can only execute one"]
        .iter()
        .any(|words| why.contains(words))
}

fn likeness(gold: &[Vec<Value>], rows: &[Vec<Value>]) -> Likeness {
    let count = |rows: &[Vec<Value>]| {
        let mut counts = BTreeMap::<String, usize>::new();
        for value in rows.iter().flatten() {
            *counts.entry(cell(value)).or_default() += 1;
        }
        counts
    };
    let (g, p) = (count(gold), count(rows));
    let both: usize = p.iter().map(|(value, n)| g.get(value).map_or(0, |m| *n.min(m))).sum();
    let all: usize = g.values().chain(p.values()).sum();
    // 2PR/(P+R) with P = both/|p| and R = both/|g|.
    let f1 = if all == 0 { 0.0 } else { 2.0 * both as f64 / all as f64 };
    let width = |rows: &[Vec<Value>]| rows.first().map_or(0, Vec::len);
    Likeness { f1, columns: width(gold) == width(rows), rows: gold.len() == rows.len() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tools::image;

    fn judge(gold: &str) -> Judge {
        let mut db = Connection::open_in_memory().unwrap();
        db.execute_batch(
            "CREATE TABLE t (a INTEGER, b TEXT); INSERT INTO t VALUES (1, 'x'), (2, 'y'), (3, 'y')",
        )
        .unwrap();
        Judge::new(&image(&mut db).unwrap(), &[gold]).unwrap()
    }

    #[test]
    fn the_five_tiers() {
        let j = judge("SELECT a FROM t");
        assert_eq!(j.verdict(None), Verdict::Unreadable);
        assert_eq!(j.verdict(Some(" ")), Verdict::Unreadable);
        assert_eq!(j.verdict(Some("SELEC a FROM t")), Verdict::Unreadable);
        assert_eq!(j.verdict(Some("DELETE FROM t")), Verdict::Unreadable);
        assert_eq!(j.verdict(Some("SELECT elsewhere FROM t")), Verdict::Parses);
        assert_eq!(j.verdict(Some("SELECT a FROM nowhere")), Verdict::Parses);
        assert_eq!(j.verdict(Some("SELECT a FROM t ORDER BY a DESC")), Verdict::Equal);
        // Of gold's 3 cells and the answer's 2, 2 are in both: 2 * 2 / 5.
        let likeness = Likeness { f1: 0.8, columns: true, rows: false };
        assert_eq!(j.verdict(Some("SELECT a FROM t WHERE a < 3")), Verdict::Runs(likeness));
        // 3 of 3 and of 6: 2 * 3 / 9.
        let Verdict::Runs(likeness) = j.verdict(Some("SELECT a, b FROM t")) else { panic!("it runs") };
        assert!((likeness.f1 - 2.0 / 3.0).abs() < 1e-12 && !likeness.columns && likeness.rows);
    }

    #[test]
    fn order_counts_where_gold_asks_for_it() {
        let j = judge("SELECT a FROM t ORDER BY a");
        assert!(j.is_right(Some("SELECT a FROM t ORDER BY a")));
        assert!(!j.is_right(Some("SELECT a FROM t ORDER BY a DESC")));
    }

    #[test]
    fn endless_queries_are_given_up_and_others_then_run() {
        let j = judge("SELECT a FROM t");
        let endless =
            "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT COUNT(*) FROM n";
        assert_eq!(j.verdict(Some(endless)), Verdict::Parses);
        assert!(j.is_right(Some("SELECT a FROM t")));
    }
}
