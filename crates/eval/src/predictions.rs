//! Scoring SQL that was made elsewhere.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;

use serde::Serialize;
use serde_json::Value as Json;

use crate::databases::Databases;
use crate::error::{Error, Result};
use crate::files::read_text;
use crate::metric::Metric;
use crate::question::Question;
use crate::score::{GoldState, Judgement, Scorer};
use crate::stats::Share;

/// What follows the query in BIRD's prediction files, with the database's name after it.
const BIRD_MARK: &str = "\t----- bird -----\t";

/// Predicted queries, by the question's id or by its position in the file.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Predictions {
    by_id: HashMap<String, String>,
    by_position: Vec<String>,
}

impl Predictions {
    /// Reads predictions:
    ///
    /// - a folder with a file `ID.sql` for each question (Spider 2.0-lite);
    /// - a JSON object from ids or positions to queries (BIRD, EHRSQL);
    /// - a JSON list of queries, or of objects with the query under `sql`, `SQL`, `query`, `prediction` or
    ///   `predicted_sql` and perhaps an id under `id`, `question_id` or `instance_id`; or the same, one a line;
    /// - text with a query a line (Spider).
    ///
    /// # Errors
    ///
    /// When the file cannot be read, or is JSON of another shape.
    pub fn read(path: &Path) -> Result<Self> {
        if path.is_dir() {
            return Self::read_folder(path);
        }
        let text = read_text(path)?;
        let problem = |line: Option<usize>, problem: String| Error::format(path, line, problem);
        let mut found = Self::default();
        match text.trim_start().chars().next() {
            Some('[') => {
                let list: Vec<Json> =
                    serde_json::from_str(&text).map_err(|error| problem(None, error.to_string()))?;
                for (index, json) in list.iter().enumerate() {
                    found.add(json).map_err(|what| problem(None, format!("entry {}: {what}", index + 1)))?;
                }
            }
            Some('{') => match serde_json::from_str::<BTreeMap<String, Json>>(&text) {
                Ok(map) if map.values().all(|value| value.is_string() || value.is_null()) => {
                    for (id, query) in map {
                        found.by_id.insert(id, clean(query.as_str().unwrap_or("")));
                    }
                }
                _ => {
                    for (index, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty())
                    {
                        let number = Some(index + 1);
                        let json =
                            serde_json::from_str(line).map_err(|error| problem(number, error.to_string()))?;
                        found.add(&json).map_err(|what| problem(number, what))?;
                    }
                }
            },
            _ => found.by_position = text.lines().map(clean).collect(),
        }
        Ok(found)
    }

    fn read_folder(folder: &Path) -> Result<Self> {
        let mut found = Self::default();
        for entry in std::fs::read_dir(folder).map_err(Error::reading(folder))?.flatten() {
            let path = entry.path();
            if path.extension().is_some_and(|ending| ending == "sql")
                && let Some(id) = path.file_stem()
            {
                let text = read_text(&path)?;
                found.by_id.insert(id.to_string_lossy().into_owned(), clean(&text));
            }
        }
        Ok(found)
    }

    fn add(&mut self, json: &Json) -> Result<(), String> {
        if let Some(query) = json.as_str() {
            self.by_position.push(clean(query));
            return Ok(());
        }
        if !json.is_object() {
            return Err("it is neither a query nor an object".to_owned());
        }
        let field =
            |names: &[&str]| names.iter().find_map(|name| json.get(*name)).filter(|value| !value.is_null());
        let query = field(&["predicted_sql", "prediction", "sql", "SQL", "query"]);
        let query = clean(query.and_then(Json::as_str).unwrap_or(""));
        match field(&["id", "question_id", "instance_id"]) {
            Some(Json::String(id)) => drop(self.by_id.insert(id.clone(), query)),
            Some(Json::Number(id)) => drop(self.by_id.insert(id.to_string(), query)),
            _ => self.by_position.push(query),
        }
        Ok(())
    }

    /// The prediction for a question: under its id, else by its position in the set, from 0 (as BIRD's files have it).
    pub fn get(&self, question: &Question, position: usize) -> Option<&str> {
        let by_id = self.by_id.get(&question.id).or_else(|| self.by_id.get(&position.to_string()));
        by_id.or_else(|| self.by_position.get(position)).map(String::as_str).filter(|query| !query.is_empty())
    }

    /// Whether some are told by their place in the file alone: they can only be scored against a whole set.
    pub fn have_places(&self) -> bool {
        !self.by_position.is_empty()
    }

    /// Whether there is none at all.
    pub fn is_empty(&self) -> bool {
        self.by_id.is_empty() && self.by_position.is_empty()
    }
}

/// The query alone: no mark of BIRD's, no tab and database as in Spider's gold files, no white space.
fn clean(text: &str) -> String {
    let text = text.split(BIRD_MARK).next().unwrap_or("");
    let text = match text.rsplit_once('\t') {
        Some((query, name)) if !name.contains(char::is_whitespace) && !name.is_empty() => query,
        _ => text,
    };
    text.trim().to_owned()
}

/// The scores of a file of predictions.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Scores {
    /// Questions.
    pub questions: u64,
    /// Questions with a prediction.
    pub predicted: u64,
    /// The share of right ones by each metric, of the questions whose gold runs.
    pub accuracy: BTreeMap<Metric, Share>,
    /// The same without questions whose gold is ambiguous.
    pub accuracy_sound: BTreeMap<Metric, Share>,
    /// Questions whose gold does not run.
    pub gold_fails: u64,
    /// Questions whose gold's result depends on how ties are broken.
    pub gold_ambiguous: u64,
    /// Predictions that do not run.
    pub failed: u64,
    /// Each question's verdicts, in the order of the set.
    pub verdicts: Vec<Scored>,
}

/// One question's verdicts.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Scored {
    /// The question's id.
    pub id: String,
    /// What was predicted.
    pub sql: Option<String>,
    /// What the metrics say.
    #[serde(flatten)]
    pub judgement: Judgement,
}

/// Scores predictions. `watch` is told after each question how many are done.
///
/// # Errors
///
/// When a database cannot be opened.
pub fn score(
    questions: &[Question],
    predictions: &Predictions,
    databases: &Databases,
    metrics: &[Metric],
    watch: &mut dyn FnMut(usize),
) -> Result<Scores> {
    let mut scorer = Scorer::new(databases, metrics);
    let mut verdicts: Vec<Scored> = Vec::with_capacity(questions.len());
    for (position, question) in questions.iter().enumerate() {
        let sql = predictions.get(question, position);
        let judgement = scorer.judge(question, sql)?;
        verdicts.push(Scored { id: question.id.clone(), sql: sql.map(str::to_owned), judgement });
        watch(position + 1);
    }
    let count = |state: GoldState| verdicts.iter().filter(|one| one.judgement.gold == state).count() as u64;
    let accuracy = |keep: fn(GoldState) -> bool| {
        let share = |metric: &Metric| {
            let kept = verdicts.iter().filter(|one| keep(one.judgement.gold));
            (*metric, Share::of(kept.map(|one| one.judgement.is_right(*metric))))
        };
        metrics.iter().map(share).collect()
    };
    Ok(Scores {
        questions: verdicts.len() as u64,
        predicted: verdicts.iter().filter(|one| one.sql.is_some()).count() as u64,
        accuracy: accuracy(|state| state != GoldState::Fails),
        accuracy_sound: accuracy(|state| state == GoldState::Sound),
        gold_fails: count(GoldState::Fails),
        gold_ambiguous: count(GoldState::Ambiguous),
        failed: verdicts.iter().filter(|one| one.judgement.error.is_some()).count() as u64,
        verdicts,
    })
}
