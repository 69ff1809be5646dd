//! One record, whatever its fields are called.

use serde_json::Value as Json;

use crate::question::Question;

/// A record of a question file.
pub(super) struct Record<'a> {
    json: &'a Json,
}

impl<'a> Record<'a> {
    pub(super) fn new(json: &'a Json) -> Self {
        Self { json }
    }

    pub(super) fn has(&self, name: &str) -> bool {
        self.json.get(name).is_some()
    }

    pub(super) fn get(&self, names: &[&str]) -> Option<&'a Json> {
        names.iter().find_map(|name| self.json.get(*name).filter(|value| !value.is_null()))
    }

    /// A text or number as text, without white space around it; none where it is empty.
    pub(super) fn text(&self, names: &[&str]) -> Option<String> {
        let text = match self.get(names)? {
            Json::String(text) => text.trim().to_owned(),
            Json::Number(number) => number.to_string(),
            _ => return None,
        };
        Some(text).filter(|text| !text.is_empty())
    }

    pub(super) fn flag(&self, name: &str) -> bool {
        self.json.get(name).and_then(Json::as_bool).unwrap_or(false)
    }

    /// The queries that are accepted.
    pub(super) fn queries(&self) -> Vec<String> {
        let texts = match self.get(&["SQL", "sql", "query", "gold_sql", "gold", "sql statament"]) {
            Some(Json::String(text)) => vec![text.as_str()],
            Some(Json::Array(list)) => list.iter().filter_map(Json::as_str).collect(),
            // Spider has its parse under `sql`, and the text under `query`.
            Some(Json::Object(_)) => self.get(&["query"]).and_then(Json::as_str).into_iter().collect(),
            _ => Vec::new(),
        };
        texts.into_iter().map(str::trim).filter(|text| !text.is_empty()).map(str::to_owned).collect()
    }

    /// The database's name.
    pub(super) fn database(&self) -> Result<String, String> {
        self.text(&["db_id", "db", "schema_id", "schema id", "database"])
            .ok_or_else(|| "it names no database (db_id)".to_owned())
    }

    /// The record as a question. Without an id of its own it is known by its position, from 0.
    pub(super) fn question(&self, index: usize, needs_gold: bool) -> Result<Question, String> {
        if !self.json.is_object() {
            return Err("it is no JSON object".to_owned());
        }
        let text = self.text(&["question", "instruction"]).ok_or("it has no question")?;
        let golds = self.queries();
        if golds.is_empty() && needs_gold {
            return Err("it has no gold query (SQL)".to_owned());
        }
        let id = self.text(&["question_id", "instance_id", "id"]).unwrap_or_else(|| index.to_string());
        let mut question = Question::new(id, self.database()?, text, golds);
        question.evidence = self.text(&["evidence"]);
        question.difficulty = self.text(&["difficulty", "hardness", "category"]);
        Ok(question)
    }
}
