//! Scoring SQL that was made elsewhere.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::Path;

use serde::Serialize;
use serde_json::Value as Json;

use crate::databases::Databases;
use crate::error::{Error, Result};
use crate::files::read_text;
use crate::metric::Metric;
use crate::question::Question;
use crate::score::{GoldState, Judgement, Scorer};
use crate::sets::QuestionSet;
use crate::stats::Share;

/// What follows the query in BIRD's prediction files, with the database's name after it.
const BIRD_MARK: &str = "\t----- bird -----\t";

/// Predicted queries, as a file has them.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Predictions {
    /// By an id, or by what a map calls them.
    keyed: HashMap<String, String>,
    /// Without an id: by their place in the file.
    placed: BTreeMap<usize, String>,
    /// The keys are places in the question file, as BIRD's own are.
    bird: bool,
    /// Ids that the file has more than once.
    repeated: BTreeSet<String>,
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
                for (place, json) in list.iter().enumerate() {
                    let added = found.add(place, json);
                    added.map_err(|what| problem(None, format!("entry {}: {what}", place + 1)))?;
                }
            }
            Some('{') => match serde_json::from_str::<BTreeMap<String, Json>>(&text) {
                Ok(map) if map.values().all(|value| value.is_string() || value.is_null()) => {
                    for (key, query) in map {
                        let query = query.as_str().unwrap_or("");
                        found.bird |= query.contains(BIRD_MARK);
                        found.keyed.insert(key, clean(query));
                    }
                }
                _ => {
                    let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
                    for (place, (index, line)) in lines.enumerate() {
                        let number = Some(index + 1);
                        let json =
                            serde_json::from_str(line).map_err(|error| problem(number, error.to_string()))?;
                        found.add(place, &json).map_err(|what| problem(number, what))?;
                    }
                }
            },
            _ => found.placed = text.lines().map(clean).enumerate().collect(),
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
                found.keyed.insert(id.to_string_lossy().into_owned(), clean(&text));
            }
        }
        Ok(found)
    }

    fn add(&mut self, place: usize, json: &Json) -> Result<(), String> {
        if let Some(query) = json.as_str() {
            self.placed.insert(place, clean(query));
            return Ok(());
        }
        if !json.is_object() {
            return Err("it is neither a query nor an object".to_owned());
        }
        let field =
            |names: &[&str]| names.iter().find_map(|name| json.get(*name)).filter(|value| !value.is_null());
        let query = field(&["predicted_sql", "prediction", "sql", "SQL", "query"]);
        let query = clean(query.and_then(Json::as_str).unwrap_or(""));
        let id = match field(&["id", "question_id", "instance_id"]) {
            Some(Json::String(id)) => id.clone(),
            Some(Json::Number(id)) => id.to_string(),
            _ => {
                self.placed.insert(place, query);
                return Ok(());
            }
        };
        if self.keyed.insert(id.clone(), query).is_some() {
            self.repeated.insert(id);
        }
        Ok(())
    }

    /// Whether there is none at all.
    pub fn is_empty(&self) -> bool {
        self.keyed.is_empty() && self.placed.is_empty()
    }

    /// Finds the prediction for each question of a set.
    ///
    /// Keys are ids, all of them, or they are all places in the question file, counted from 0: the latter where the queries
    /// carry BIRD's mark, or where not every key is an id but every one is such a place. What has no key counts by its own
    /// place. Places are those of the whole question file, however few of its questions were selected.
    pub fn assign(&self, set: &QuestionSet) -> Assigned<'_> {
        let places: HashMap<&str, usize> =
            set.ids.iter().enumerate().map(|(place, id)| (id.as_str(), place)).collect();
        let place_of = |key: &str| key.parse::<usize>().ok().filter(|place| *place < set.ids.len());
        let are_ids = self.keyed.keys().all(|key| places.contains_key(key.as_str()));
        let by_place = self.bird || (!are_ids && self.keyed.keys().all(|key| place_of(key).is_some()));
        let known = |key: &str| if by_place { place_of(key).is_some() } else { places.contains_key(key) };
        let find = |question: &Question| {
            let place = places.get(question.id.as_str()).copied();
            let key = if by_place { place.map(|place| place.to_string()) } else { Some(question.id.clone()) };
            let keyed = key.and_then(|key| self.keyed.get(&key));
            let query = keyed.or_else(|| self.placed.get(&place?));
            query.map(String::as_str).filter(|query| !query.is_empty())
        };
        let mut notices = Vec::new();
        let mut unknown: Vec<&str> =
            self.keyed.keys().map(String::as_str).filter(|key| !known(key)).collect();
        unknown.sort_unstable();
        if let Some(first) = unknown.first() {
            notices.push(format!(
                "{} predictions are for questions that {} does not have, {first:?} for one",
                unknown.len(),
                set.name
            ));
        }
        if let Some(first) = self.repeated.first() {
            let count = self.repeated.len();
            notices.push(format!("{count} ids have several predictions, {first:?} for one; the last counts"));
        }
        let last = self.placed.iter().rev().find(|(_, query)| !query.is_empty());
        if let Some((place, _)) = last.filter(|(place, _)| **place >= set.ids.len()) {
            let (count, of) = (place + 1, set.ids.len());
            notices.push(format!(
                "there are {count} predictions for the {of} questions of {}: is it the right set?",
                set.name
            ));
        }
        Assigned { queries: set.questions.iter().map(find).collect(), notices }
    }
}

/// The predictions for the questions of a set.
#[derive(Debug, Clone, PartialEq)]
pub struct Assigned<'p> {
    /// The query for each question, in the order of the set.
    pub queries: Vec<Option<&'p str>>,
    /// What about the file looks as if it belonged to other questions.
    pub notices: Vec<String>,
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

/// Scores the predictions for these questions. `watch` is told after each question how many are done.
///
/// # Errors
///
/// When a database cannot be opened.
pub fn score(
    questions: &[Question],
    predictions: &Assigned<'_>,
    databases: &Databases,
    metrics: &[Metric],
    watch: &mut dyn FnMut(usize),
) -> Result<Scores> {
    let mut scorer = Scorer::new(databases, metrics);
    let mut verdicts: Vec<Scored> = Vec::with_capacity(questions.len());
    for (question, sql) in questions.iter().zip(&predictions.queries) {
        let sql = *sql;
        let judgement = scorer.judge(question, sql)?;
        verdicts.push(Scored { id: question.id.clone(), sql: sql.map(str::to_owned), judgement });
        watch(verdicts.len());
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
