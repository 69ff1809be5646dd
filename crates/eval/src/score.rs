//! Scoring one answer: gold and answer are run, and each metric says whether the results are the same.

use std::collections::BTreeMap;
use std::time::Duration;

use glowworm_database::{Database, Limits, NativeDatabase, Statement};
use serde::{Deserialize, Serialize};

use crate::databases::{Databases, open};
use crate::error::Result;
use crate::metric::{Comparing, Metric, fingerprint};
use crate::question::{Gold, Question, Table};
use crate::sql::{tail, with_ties_broken};
use crate::stop::Stop;

/// What a query may cost while it is scored. A result past the limits counts as one that could not be had.
const ROWS: usize = 2_000_000;
const BYTES: usize = 1 << 30;

/// The time a query may take, gold and answer alike.
pub const TIME_LIMIT: Duration = Duration::from_secs(30);

/// Whether a question's gold can be relied on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GoldState {
    /// It runs, and its result is determined.
    Sound,
    /// It runs, and which rows come in which order depends on more than the query: rows that its ORDER BY does not tell
    /// apart, or a LIMIT without ORDER BY.
    Ambiguous,
    /// None of the golds runs.
    Fails,
}

/// The verdict on one answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Judgement {
    /// What each metric says.
    pub verdicts: BTreeMap<Metric, bool>,
    /// Whether the gold can be relied on.
    pub gold: GoldState,
    /// Why the answer has no result; none where it has, or where there is no answer.
    pub error: Option<String>,
    /// The same for answers with the same result; none where there is no result.
    pub result: Option<String>,
}

impl Judgement {
    /// Whether the answer is right by a metric.
    pub fn is_right(&self, metric: Metric) -> bool {
        self.verdicts.get(&metric).copied().unwrap_or(false)
    }
}

/// Runs queries for scoring. One thread's own: it keeps the last database open, and the last question's golds.
#[derive(Debug)]
pub struct Scorer<'d> {
    databases: &'d Databases,
    metrics: Vec<Metric>,
    time: Duration,
    stop: Option<&'d Stop>,
    open: Option<(String, NativeDatabase)>,
    golds: Option<(String, Vec<Run>)>,
    state: GoldState,
}

/// A gold that was run for one metric's wording of it.
#[derive(Debug, Clone)]
struct Run {
    /// The query as it was run.
    query: Option<String>,
    result: Result<Table, String>,
}

impl<'d> Scorer<'d> {
    /// A scorer over the databases of a set.
    pub fn new(databases: &'d Databases, metrics: &[Metric]) -> Self {
        Self {
            databases,
            metrics: metrics.to_vec(),
            time: TIME_LIMIT,
            stop: None,
            open: None,
            golds: None,
            state: GoldState::Sound,
        }
    }

    /// Another time limit; [`TIME_LIMIT`] is what published figures have.
    pub fn with_time(mut self, time: Duration) -> Self {
        self.time = time;
        self
    }

    /// Its queries are interrupted when `stop` is requested.
    pub(crate) fn ended_by(mut self, stop: &'d Stop) -> Self {
        self.stop = Some(stop);
        self
    }

    /// Judges an answer; `None`: there was none.
    ///
    /// # Errors
    ///
    /// When the database cannot be opened. A query that fails is a verdict.
    pub fn judge(&mut self, question: &Question, answer: Option<&str>) -> Result<Judgement> {
        if !question.is_answerable() {
            return Ok(self.judge_abstention(answer));
        }
        self.open(&question.db_id)?;
        self.run_golds(question);
        let answer = answer.map(str::trim).filter(|answer| !answer.is_empty());
        let result = answer.map(|answer| self.run(answer));
        let mut judgement = Judgement {
            verdicts: BTreeMap::new(),
            gold: self.state,
            error: result.as_ref().and_then(|result| result.as_ref().err().cloned()),
            result: result.as_ref().and_then(|result| result.as_ref().ok()).map(fingerprint),
        };
        for metric in self.metrics.clone() {
            let right = match (answer, &result) {
                (Some(answer), Some(result)) => self.is_right(question, metric, answer, result)?,
                _ => false,
            };
            judgement.verdicts.insert(metric, right);
        }
        Ok(judgement)
    }

    /// A question without an answer is answered right by not answering. The word `null` is what EHRSQL's files write.
    fn judge_abstention(&self, answer: Option<&str>) -> Judgement {
        let abstained = answer.is_none_or(|answer| answer.trim().is_empty() || answer.trim() == "null");
        Judgement {
            verdicts: self.metrics.iter().map(|metric| (*metric, abstained)).collect(),
            gold: GoldState::Sound,
            error: None,
            result: None,
        }
    }

    fn is_right(
        &mut self,
        question: &Question,
        metric: Metric,
        answer: &str,
        result: &Result<Table, String>,
    ) -> Result<bool> {
        let query = metric.query(answer);
        let reworded;
        let result = if query == answer {
            result
        } else {
            reworded = self.run(&query);
            &reworded
        };
        let Ok(predicted) = result else { return Ok(false) };
        let mut right = Vec::new();
        for index in 0..question.golds.len() {
            let gold = self.gold_for(question, metric, index);
            let comparing =
                Comparing { gold_sql: gold.query.as_deref(), gold: index, comparison: &question.comparison };
            if gold.result.as_ref().is_ok_and(|gold| metric.equal(gold, predicted, comparing)) {
                right.push(index);
            }
        }
        if metric != Metric::Spider || right.is_empty() {
            return Ok(!right.is_empty());
        }
        // A test suite: the same must hold in every other database of the folder.
        let own = self.databases.path(&question.db_id)?;
        for other in self.databases.suite(&question.db_id)?.into_iter().filter(|path| *path != own) {
            let mut database = open(&question.db_id, &other)?;
            let Ok(predicted) = execute(&mut database, &query, self.time, self.stop) else {
                return Ok(false);
            };
            right.retain(|index| {
                let Some(Gold::Sql(sql)) = question.golds.get(*index) else { return false };
                let sql = metric.query(sql);
                let comparing =
                    Comparing { gold_sql: Some(&sql), gold: *index, comparison: &question.comparison };
                // A gold that fails in a further database says nothing about the prediction.
                execute(&mut database, &sql, self.time, self.stop)
                    .map_or(true, |gold| metric.equal(&gold, &predicted, comparing))
            });
        }
        Ok(!right.is_empty())
    }

    /// Gold number `index`, in the metric's wording.
    fn gold_for(&mut self, question: &Question, metric: Metric, index: usize) -> Run {
        let kept = self.golds.as_ref().and_then(|(_, golds)| golds.get(index)).cloned();
        let kept = kept.unwrap_or(Run { query: None, result: Err("it was not run".into()) });
        match question.golds.get(index) {
            Some(Gold::Sql(sql)) => {
                let query = metric.query(sql);
                if Some(&query) == kept.query.as_ref() {
                    kept
                } else {
                    let result = self.run(&query);
                    Run { query: Some(query), result }
                }
            }
            _ => kept,
        }
    }

    fn open(&mut self, db_id: &str) -> Result<()> {
        if self.open.as_ref().is_none_or(|(name, _)| name != db_id) {
            self.open = Some((db_id.to_owned(), self.databases.open(db_id)?));
            self.golds = None;
        }
        Ok(())
    }

    fn run(&mut self, sql: &str) -> Result<Table, String> {
        match &mut self.open {
            Some((_, database)) => execute(database, sql, self.time, self.stop),
            None => Err("no database is open".to_owned()),
        }
    }

    /// Runs the golds of a question, unless they were the last. A gold that its set's metric rewords (EHRSQL) is judged
    /// in that wording.
    fn run_golds(&mut self, question: &Question) {
        if self.golds.as_ref().is_some_and(|(id, _)| *id == question.id) {
            return;
        }
        let wording = self.metrics.first().copied().unwrap_or(Metric::Strict);
        let mut ambiguous = false;
        let golds: Vec<Run> = question
            .golds
            .iter()
            .map(|gold| match gold {
                Gold::Result(table) => Run { query: None, result: Ok(table.clone()) },
                Gold::Sql(sql) => {
                    let query = wording.query(sql);
                    let result = self.run(&query);
                    if let Ok(table) = &result {
                        ambiguous |= self.is_ambiguous(&query, table);
                    }
                    Run { query: Some(query), result }
                }
            })
            .collect();
        self.state = match () {
            () if golds.iter().all(|gold| gold.result.is_err()) => GoldState::Fails,
            () if ambiguous => GoldState::Ambiguous,
            () => GoldState::Sound,
        };
        self.golds = Some((question.id.clone(), golds));
    }

    /// Whether rows that the query's ORDER BY does not tell apart decide its result. See [`with_ties_broken`]; a query
    /// that cannot be run with more terms is taken for sound.
    fn is_ambiguous(&mut self, sql: &str, result: &Table) -> bool {
        let tail = tail(sql);
        if (!tail.ordered && tail.limit.is_none()) || result.columns == 0 {
            return false;
        }
        let mut run = |falling| self.run(&with_ties_broken(sql, result.columns, falling));
        let (Ok(rising), Ok(falling)) = (run(false), run(true)) else { return false };
        // Without ORDER BY only the choice of rows is in doubt.
        if tail.ordered { rising != falling } else { fingerprint(&rising) != fingerprint(&falling) }
    }
}

/// Runs one query.
fn execute(
    database: &mut NativeDatabase,
    sql: &str,
    time: Duration,
    stop: Option<&Stop>,
) -> Result<Table, String> {
    let _watched = stop.map(|stop| stop.watch(database.cancel_handle()));
    let statement = Statement::check(sql).map_err(|refusal| refusal.to_string())?;
    let limits = Limits { rows: ROWS, bytes: BYTES, time };
    let rows = database.run(&statement, &limits).map_err(|error| error.to_string())?;
    if rows.more {
        return Err(format!("the result has more than {ROWS} rows, or more than {} MiB", BYTES >> 20));
    }
    Ok(rows.into())
}
