//! The local SQLite part of Spider 2.0-lite: golds are results in CSV files.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use glowworm_database::Value;
use serde_json::Value as Json;

use super::record::Record;
use super::records;
use crate::error::{Error, Result};
use crate::question::{Comparison, Gold, Question, Table};

/// The folder of golds: `spider2lite_eval.jsonl`, `exec_result/ID.csv` or `ID_a.csv`, `ID_b.csv`, …, and `sql/ID.sql` for
/// some.
pub(super) struct Golds {
    folder: PathBuf,
    documents: PathBuf,
    comparisons: HashMap<String, Json>,
    /// Result files by the question's id.
    results: HashMap<String, Vec<PathBuf>>,
}

impl Golds {
    pub(super) fn open(questions: &Path, given: Option<&Path>) -> Result<Self> {
        let beside = questions.parent().unwrap_or(Path::new("."));
        let folder = match given {
            Some(folder) => folder.to_owned(),
            None => beside.join("evaluation_suite").join("gold"),
        };
        let list = folder.join("spider2lite_eval.jsonl");
        let mut comparisons = HashMap::new();
        for (_, json) in records(&list)? {
            if let Some(id) = Record::new(&json).text(&["instance_id"]) {
                comparisons.insert(id, json);
            }
        }
        let results_folder = folder.join("exec_result");
        let mut results: HashMap<String, Vec<PathBuf>> = HashMap::new();
        for entry in std::fs::read_dir(&results_folder).map_err(Error::reading(&results_folder))?.flatten() {
            let path = entry.path();
            let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
            if let Some(stem) = name.strip_suffix(".csv") {
                // `local002_a` is a result of local002.
                let id = match stem.rsplit_once('_') {
                    Some((id, letter)) if letter.len() == 1 && comparisons.contains_key(id) => id,
                    _ => stem,
                };
                results.entry(id.to_owned()).or_default().push(path);
            }
        }
        results.values_mut().for_each(|files| files.sort());
        Ok(Self { folder, documents: beside.join("resource").join("documents"), comparisons, results })
    }

    /// The question of a record; none where it is asked of another engine than SQLite, or is not scored.
    pub(super) fn question(&self, record: &Record<'_>) -> Result<Option<Question>, String> {
        let id = record.text(&["instance_id"]).ok_or("it has no instance_id")?;
        let (true, Some(comparison)) = (id.starts_with("local"), self.comparisons.get(&id)) else {
            return Ok(None);
        };
        let Some(files) = self.results.get(&id) else { return Ok(None) };
        let text = record.text(&["question", "instruction"]).ok_or("it has no question")?;
        let mut question = Question::new(id.clone(), record.database()?, text, Vec::new());
        for file in files {
            question.golds.push(Gold::Result(read_csv(file)?));
        }
        question.comparison = comparison_of(comparison);
        question.reference =
            std::fs::read_to_string(self.folder.join("sql").join(format!("{id}.sql"))).into_iter().collect();
        if let Some(document) =
            record.text(&["external_knowledge"]).filter(|name| !name.contains(['/', '\\']))
        {
            let path = self.documents.join(&document);
            let text = std::fs::read_to_string(&path)
                .map_err(|error| format!("its document {} cannot be read: {error}", path.display()))?;
            question.evidence = Some(text.trim().to_owned());
        }
        Ok(Some(question))
    }
}

/// `condition_cols` is a list of positions, or a list of such lists, one a gold.
fn comparison_of(json: &Json) -> Comparison {
    let positions = |list: &[Json]| -> Vec<usize> {
        list.iter().filter_map(Json::as_u64).filter_map(|number| usize::try_from(number).ok()).collect()
    };
    let list = json.get("condition_cols").and_then(Json::as_array).map_or(&[][..], Vec::as_slice);
    let nested = list.iter().any(Json::is_array);
    let columns = if nested {
        list.iter().map(|one| one.as_array().map(|one| positions(one)).unwrap_or_default()).collect()
    } else {
        vec![positions(list)]
    };
    let ignore_order = json.get("ignore_order").and_then(Json::as_bool).unwrap_or(false);
    Comparison { columns, ignore_order }
}

/// A result file as text; what is a number is decided when it is compared.
fn read_csv(path: &Path) -> Result<Table, String> {
    let problem = |error: csv::Error| format!("its gold {} cannot be read: {error}", path.display());
    let mut reader = csv::ReaderBuilder::new().flexible(true).from_path(path).map_err(problem)?;
    let columns = reader.headers().map_err(problem)?.len();
    let mut table = Table { columns, rows: Vec::new() };
    for record in reader.records() {
        let record = record.map_err(problem)?;
        let cell = |index| match record.get(index) {
            None | Some("") => Value::Null,
            Some(text) => Value::Text(text.to_owned()),
        };
        table.rows.push((0..columns).map(cell).collect());
    }
    Ok(table)
}
