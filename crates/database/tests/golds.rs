//! Every accepted gold query of the question sets, run through the tools, against what CPython's `sqlite3` gave
//! (`tests/data/make_vectors.py`).
//!
//! CPython's SQLite is an older one. It adds REALs up with a little more rounding error, so they are compared to ten
//! digits; and rows are compared as a multiset, since rows that ORDER BY does not tell apart may come in any order.

#![allow(clippy::unwrap_used, clippy::expect_used)]

mod common;

use common::{hash, shared, text};
use glowworm_database::{Limits, NativeDatabase, NativeOptions, Tools, Value};
use serde_json::{Value as Json, json};

fn canonical(value: &Value) -> String {
    match value {
        Value::Null => "nNone".to_owned(),
        Value::Integer(number) => format!("i{number}"),
        Value::Real(number) => format!("r{number:.9e}"),
        Value::Text(text) => format!("t{text}"),
        Value::Blob(bytes) => bytes.iter().fold("b".to_owned(), |hex, byte| format!("{hex}{byte:02x}")),
    }
}

#[test]
fn every_gold_gives_what_python_gives() {
    let golds: Vec<Json> = serde_json::from_str(include_str!("data/golds.json")).unwrap();
    assert_eq!(golds.len(), 409);
    let mut dated = 0;
    let mut open: Option<(String, Tools<NativeDatabase>)> = None;
    for gold in &golds {
        let field = |name: &str| gold[name].as_str().unwrap().to_owned();
        let path = field("database");
        if open.as_ref().is_none_or(|(name, _)| *name != path) {
            let database = NativeDatabase::open(shared(&path), NativeOptions::default()).unwrap();
            open = Some((path.clone(), Tools::new(database).unwrap()));
        }
        let (_, tools) = open.as_mut().unwrap();
        let questions = std::fs::read_to_string(shared(&format!("{}/questions.json", field("set")))).unwrap();
        let questions: Json = serde_json::from_str(&questions).unwrap();
        let question = &questions[gold["index"].as_u64().unwrap() as usize];
        let sql = match &question["SQL"] {
            Json::Array(variants) => variants[gold["variant"].as_u64().unwrap() as usize].as_str(),
            one => one.as_str(),
        }
        .unwrap();

        let rows = tools.query(sql, &Limits::default()).unwrap_or_else(|error| panic!("{sql}: {error}"));
        assert!(!rows.more);
        if gold["rows"].is_null() {
            assert!(sql.contains("'now'"), "only what depends on the date has no result to compare with");
            dated += 1;
            continue;
        }
        let columns: Vec<&str> =
            gold["columns"].as_array().unwrap().iter().filter_map(Json::as_str).collect();
        assert_eq!(rows.columns, columns, "{sql}");
        let mut lines: Vec<String> = rows
            .rows
            .iter()
            .map(|row| row.iter().map(canonical).collect::<Vec<_>>().join("\u{1f}"))
            .collect();
        lines.sort_unstable();
        assert_eq!(lines.len() as u64, gold["rows"].as_u64().unwrap(), "{sql}");
        assert_eq!(hash(lines.join("\u{1e}").as_bytes()), field("hash"), "{sql}: {lines:?}");

        // And as the model sees it: the header, five rows at most, and the line that says there are more.
        let shown = text(tools, "run_query", json!({ "sql": sql }));
        assert!(shown.starts_with(&columns.join(" | ")), "{sql}: {shown}");
        assert_eq!(
            shown.ends_with("\n... (showing first 5 rows; more rows exist)"),
            lines.len() > 5,
            "{sql}"
        );
    }
    assert_eq!(dated, 4);
}
