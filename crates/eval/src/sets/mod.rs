//! Reading question sets.
//!
//! | format | file | gold | databases |
//! |---|---|---|---|
//! | [`Format::Bird`] | `dev.json`, `mini_dev_sqlite.json` | `SQL` | `db/db.sqlite` |
//! | [`Format::Spider`] | `dev.json`, `Spider-DK.json` | `query` | `database/db/db.sqlite` |
//! | [`Format::Spider2`] | `spider2-lite.jsonl` | CSV files in `evaluation_suite/gold` | `db.sqlite` |
//! | [`Format::Ehrsql`] | `valid.json`, `test.json` | `query`; `null` where there is no answer | `db/db.sqlite` |
//! | [`Format::Sqale`] | what `sqale.load_questions` gives, as JSON or JSON lines | `sql` | `schema_id.db` |
//! | [`Format::Plain`] | `{db_id, question, evidence?, SQL}`, as JSON or JSON lines | `SQL`, one or a list | any of these |
//!
//! All are lists of records whose fields have a few names each, so one reader knows them all, and a format is what a
//! record says beyond that.

mod record;
mod spider2;
mod sqale;

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use crate::Metric;
use crate::error::{Error, Result};
use crate::files::read_text;
use crate::question::Question;
use crate::random::{Random, fingerprint};
use record::Record;

pub use sqale::STYLES;

/// The layout of a question set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Format {
    /// BIRD and mini-dev.
    Bird,
    /// Spider, Spider-DK and others like them.
    Spider,
    /// The local SQLite part of Spider 2.0-lite.
    Spider2,
    /// EHRSQL.
    Ehrsql,
    /// SQaLe.
    Sqale,
    /// `{db_id, question, evidence?, SQL}`.
    Plain,
}

impl Format {
    /// All of them.
    pub const ALL: [Format; 6] =
        [Format::Bird, Format::Spider, Format::Spider2, Format::Ehrsql, Format::Sqale, Format::Plain];

    /// The name that options and files use.
    pub fn name(self) -> &'static str {
        match self {
            Format::Bird => "bird",
            Format::Spider => "spider",
            Format::Spider2 => "spider2",
            Format::Ehrsql => "ehrsql",
            Format::Sqale => "sqale",
            Format::Plain => "plain",
        }
    }

    /// The metric by which the set is published.
    pub fn metric(self) -> Metric {
        match self {
            Format::Bird | Format::Sqale => Metric::Bird,
            Format::Spider => Metric::Spider,
            Format::Spider2 => Metric::Spider2,
            Format::Ehrsql => Metric::Ehrsql,
            Format::Plain => Metric::Strict,
        }
    }

    /// Tells the format by the fields of a record.
    fn guess(record: &Record<'_>) -> Self {
        let has = |names: &[&str]| names.iter().all(|name| record.has(name));
        match () {
            () if has(&["instance_id", "db"]) => Format::Spider2,
            () if has(&["is_impossible"]) => Format::Ehrsql,
            () if has(&["schema_id", "questions"]) || has(&["schema id", "questions"]) => Format::Sqale,
            () if has(&["question_id", "evidence", "SQL"]) => Format::Bird,
            () if has(&["query"]) && (has(&["query_toks"]) || has(&["question_toks"]) || has(&["type"])) => {
                Format::Spider
            }
            () => Format::Plain,
        }
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Format {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let names: Vec<&str> = Format::ALL.iter().map(|format| format.name()).collect();
        Format::ALL.into_iter().find(|format| format.name() == text).ok_or_else(|| {
            format!("there is no question set format {text:?}; there are {}", names.join(", "))
        })
    }
}

/// Which questions of a set are wanted.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Selection {
    /// The layout; told by the first record where it is not given.
    pub format: Option<Format>,
    /// So many questions, drawn by `seed`; all where it is not given.
    pub limit: Option<usize>,
    /// Seed of the draw.
    pub seed: u64,
    /// Only questions of one of these difficulties; empty: all.
    pub difficulties: Vec<String>,
    /// Styles of wording, for SQaLe; `all` for each of them. Empty: `evidence_supported`, the wording of the published
    /// episodes.
    pub phrasings: Vec<String>,
    /// Spider 2.0-lite's folder of golds.
    pub gold: Option<PathBuf>,
}

/// A set of questions, read and selected.
#[derive(Debug, Clone, PartialEq)]
pub struct QuestionSet {
    /// What to call it: the names of its folder and file.
    pub name: String,
    /// Its layout.
    pub format: Format,
    /// The questions, in the order of the file.
    pub questions: Vec<Question>,
    /// The ids of all questions of the file, those that were not selected too.
    pub ids: Vec<String>,
    /// Records left out because they have no usable wording in the style that is asked for.
    pub without_phrasing: usize,
}

impl QuestionSet {
    /// Tells whether two sets hold the same questions with the same golds.
    pub fn fingerprint(&self) -> String {
        format!("{:016x}", fingerprint(format!("{:?}", self.questions).as_bytes()))
    }
}

/// Files that a folder's questions are looked for in.
const FILES: [&str; 11] = [
    "questions.json",
    "questions.jsonl",
    "dev.json",
    "mini_dev_sqlite.json",
    "mini_dev.json",
    "Spider-DK.json",
    "spider2-lite.jsonl",
    "valid.json",
    "test.json",
    "test.jsonl",
    "train.json",
];

/// Reads a question set: a file, or a folder with one of the usual names in it.
///
/// # Errors
///
/// A file that is not there or is no list of records, a record without a database, a question or a gold, or a selection
/// that leaves nothing.
pub fn read(path: &Path, selection: &Selection) -> Result<QuestionSet> {
    let file = if path.is_dir() {
        FILES.iter().map(|name| path.join(name)).find(|file| file.is_file()).ok_or_else(|| {
            Error::Options(format!(
                "{} has no questions; expected one of: {}",
                path.display(),
                FILES.join(", ")
            ))
        })?
    } else {
        path.to_owned()
    };
    let records = records(&file)?;
    let first = records.first().ok_or_else(|| Error::format(&file, None, "it has no questions"))?;
    let format = selection.format.unwrap_or_else(|| Format::guess(&Record::new(&first.1)));
    let gold = match format {
        Format::Spider2 => Some(spider2::Golds::open(&file, selection.gold.as_deref())?),
        _ => None,
    };
    let mut set = QuestionSet {
        name: name(&file),
        format,
        questions: Vec::new(),
        ids: Vec::new(),
        without_phrasing: 0,
    };
    for (index, (line, json)) in records.iter().enumerate() {
        let record = Record::new(json);
        let problem = |problem: String| {
            let place = if line.is_none() { format!("record {}: ", index + 1) } else { String::new() };
            Error::format(&file, *line, place + &problem)
        };
        match format {
            Format::Spider2 => {
                let Some(golds) = &gold else { continue };
                set.questions.extend(golds.question(&record).map_err(problem)?);
            }
            Format::Sqale => {
                let (questions, missing) =
                    sqale::questions(&record, &selection.phrasings).map_err(problem)?;
                set.questions.extend(questions);
                set.without_phrasing += missing;
            }
            Format::Bird | Format::Spider | Format::Ehrsql | Format::Plain => {
                let mut question = record.question(index, format != Format::Ehrsql).map_err(problem)?;
                if format == Format::Ehrsql && record.flag("is_impossible") {
                    question.golds.clear();
                }
                set.questions.push(question);
            }
        }
    }
    make_ids_differ(&mut set.questions);
    set.ids = set.questions.iter().map(|question| question.id.clone()).collect();
    select(&mut set, selection)?;
    Ok(set)
}

/// `folder/file`, without endings.
fn name(file: &Path) -> String {
    let stem = file.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
    let full = file.canonicalize().unwrap_or_else(|_| file.to_owned());
    match full.parent().and_then(Path::file_name) {
        Some(folder) if stem == "questions" => folder.to_string_lossy().into_owned(),
        Some(folder) => format!("{}/{stem}", folder.to_string_lossy()),
        None => stem,
    }
}

/// Records that share an id are told apart by their order.
fn make_ids_differ(questions: &mut [Question]) {
    let mut seen = std::collections::HashMap::new();
    for question in questions {
        let count = seen.entry(question.id.clone()).or_insert(0);
        *count += 1;
        if *count > 1 {
            question.id = format!("{}#{count}", question.id);
        }
    }
}

fn select(set: &mut QuestionSet, selection: &Selection) -> Result<()> {
    if !selection.difficulties.is_empty() {
        let wanted = |difficulty: &Option<String>| {
            difficulty
                .as_ref()
                .is_some_and(|one| selection.difficulties.iter().any(|other| other.eq_ignore_ascii_case(one)))
        };
        let mut found: Vec<String> =
            set.questions.iter().filter_map(|question| question.difficulty.clone()).collect();
        set.questions.retain(|question| wanted(&question.difficulty));
        if set.questions.is_empty() {
            found.sort_unstable();
            found.dedup();
            let found = if found.is_empty() { "none".to_owned() } else { found.join(", ") };
            return Err(Error::Options(format!(
                "no question of {} has the difficulty {}; it has: {found}",
                set.name,
                selection.difficulties.join(", ")
            )));
        }
    }
    if let Some(limit) = selection.limit {
        let mut random = Random::for_purpose(selection.seed, "questions");
        let kept = random.positions(set.questions.len(), limit);
        let all = std::mem::take(&mut set.questions);
        set.questions = all
            .into_iter()
            .enumerate()
            .filter(|(index, _)| kept.binary_search(index).is_ok())
            .map(|(_, question)| question)
            .collect();
    }
    if set.questions.is_empty() {
        return Err(Error::Options(format!("{} has no question that was asked for", set.name)));
    }
    Ok(())
}

/// A record and the line it stands on, where the file is one of lines.
type Line = (Option<usize>, Json);

/// The records of a file: a JSON list, an object with a list in it (`data`), or one object a line.
fn records(file: &Path) -> Result<Vec<Line>> {
    let text = read_text(file)?;
    let text = text.trim_start_matches('\u{feff}');
    if text.trim_start().starts_with('[') {
        let list: Vec<Json> =
            serde_json::from_str(text).map_err(|error| Error::format(file, None, error.to_string()))?;
        return Ok(list.into_iter().map(|json| (None, json)).collect());
    }
    let lines: Vec<(usize, &str)> = text
        .lines()
        .enumerate()
        .map(|(index, line)| (index + 1, line))
        .filter(|(_, line)| !line.trim().is_empty())
        .collect();
    let one_a_line: Result<Vec<Line>> = lines
        .iter()
        .map(|(number, line)| match serde_json::from_str::<Json>(line) {
            Ok(json @ Json::Object(_)) => Ok((Some(*number), json)),
            Ok(_) => Err(Error::format(file, Some(*number), "it is no JSON object")),
            Err(error) => Err(Error::format(file, Some(*number), error.to_string())),
        })
        .collect();
    // An object over several lines, with the list inside.
    if (one_a_line.is_err() || lines.len() == 1)
        && let Ok(Json::Object(mut object)) = serde_json::from_str::<Json>(text)
    {
        for field in ["data", "questions", "examples"] {
            if let Some(Json::Array(list)) = object.remove(field) {
                return Ok(list.into_iter().map(|json| (None, json)).collect());
            }
        }
    }
    one_a_line
}
