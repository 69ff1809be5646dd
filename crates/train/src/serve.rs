//! A line server for an evaluator in another language: it opens databases, plays episodes, and has answers scored.
//!
//! Requests, a JSON object a line: `{"sample": seed, "split": "test"}` opens a generated database with its question,
//! `{"script": path, "question", "sql"}` one made by an SQL script, `{"database": path, "question", "sql"}` a file; each
//! answers `{"id", "question", "sql", "kind", "odd", "append"}` where `append` is a list of `[is_markup, text]` and `odd` says that
//! words of the database are made up.
//! `{"id", "wrote": text}` answers `{"append"}` or `{"done": sql, "ended_by", "ok"}`; `{"close": id}` closes.
//! `{"teach": id}` answers `{"turn": text}`, what the policy would write next in a generated sample's conversation, or null where
//! too few turns are left.

use crate::error::{Error, Result};
use crate::lexicon::{Lexicon, Split};
use crate::machine::{Machine, Next};
use crate::policy::{Policy, Seen};
use crate::sample::{Sample, sample};
use crate::tools;
use glowworm_agent::Segment;
use rusqlite::Connection;
use serde_json::{Map, Value as Json, json};
use std::collections::BTreeMap;
use std::io::{BufRead, Write};

/// Serves until the input ends.
///
/// # Errors
/// When a line cannot be read or written.
pub fn serve(lexicon: &Lexicon, input: impl BufRead, mut output: impl Write) -> Result<()> {
    let mut open: BTreeMap<u64, Open> = BTreeMap::new();
    let mut next = 0;
    let file = |source| Error::File { path: "standard input or output".into(), source };
    for line in input.lines() {
        let line = line.map_err(file)?;
        let Ok(Json::Object(request)) = serde_json::from_str(&line) else {
            writeln!(output, "{}", json!({"error": "not a JSON object"})).map_err(file)?;
            continue;
        };
        let answer = answer(lexicon, &mut open, &mut next, &request).unwrap_or_else(|e| json!({"error": e}));
        writeln!(output, "{answer}").map_err(file)?;
        output.flush().map_err(file)?;
    }
    Ok(())
}

struct Open {
    about: About,
    golds: Vec<String>,
    machine: Machine,
}

/// What is asked about.
enum About {
    /// A generated sample, and what its conversation has brought to light.
    Sample(Box<Sample>, Seen),
    /// Another's database.
    Database(Connection),
}

impl About {
    fn connection(&self) -> &Connection {
        match self {
            Self::Sample(sample, _) => &sample.world.connection,
            Self::Database(connection) => connection,
        }
    }
}

fn appended(segments: Vec<Segment>) -> Json {
    segments
        .into_iter()
        .map(|s| match s {
            Segment::Markup(t) => json!([true, t]),
            Segment::Text(t) => json!([false, t]),
        })
        .collect()
}

fn answer(
    lexicon: &Lexicon,
    open: &mut BTreeMap<u64, Open>,
    next: &mut u64,
    request: &Map<String, Json>,
) -> std::result::Result<Json, String> {
    let text = |key: &str| request.get(key).and_then(Json::as_str);
    let say = |e: Error| e.to_string();
    if let Some(id) = request.get("close").and_then(Json::as_u64) {
        open.remove(&id);
        return Ok(json!({}));
    }
    if let Some(wrote) = text("wrote") {
        let id = request.get("id").and_then(Json::as_u64).ok_or("no id")?;
        let o = open.get_mut(&id).ok_or("no such id")?;
        if let About::Sample(s, seen) = &mut o.about {
            seen.note(&s.world, &s.question, wrote);
        }
        return Ok(match o.machine.reply(wrote).map_err(say)? {
            Next::Write(segments) => json!({"append": appended(segments)}),
            Next::Done(outcome) => {
                let sql = outcome.sql.clone().unwrap_or_default();
                let ok = o.golds.iter().any(|g| tools::same_result(o.about.connection(), g, &sql));
                json!({"done": sql, "ended_by": outcome.ended_by.name(), "ok": ok})
            }
        });
    }
    if let Some(id) = request.get("teach").and_then(Json::as_u64) {
        let o = open.get(&id).ok_or("no such id")?;
        let About::Sample(s, seen) = &o.about else { return Err("only generated samples are taught".into()) };
        return Ok(json!({"turn": Policy::new(&s.world, &s.question).next(seen, o.machine.left())}));
    }
    let (about, image, question, golds, kind) =
        if let Some(seed) = request.get("sample").and_then(Json::as_u64) {
            let split = if text("split") == Some("train") { Split::Train } else { Split::Test };
            let s = sample(lexicon, split, seed).map_err(say)?;
            let (text, sql, kind) = (s.question.text.clone(), s.question.sql.clone(), s.question.kind);
            let image = s.world.image.clone();
            (About::Sample(Box::new(s), Seen::default()), image, text, vec![sql], kind)
        } else {
            let golds = match request.get("sql") {
                Some(Json::Array(all)) => all.iter().filter_map(Json::as_str).map(str::to_owned).collect(),
                Some(Json::String(one)) => vec![one.clone()],
                _ => Vec::new(),
            };
            let mut db = if let Some(path) = text("script") {
                let script = std::fs::read_to_string(path).map_err(|e| format!("{path}: {e}"))?;
                let db = Connection::open_in_memory().map_err(|e| e.to_string())?;
                db.execute_batch(&script).map_err(|e| format!("{path}: {e}"))?;
                db
            } else {
                let path = text("database").ok_or("nothing is asked for")?;
                Connection::open_with_flags(path, rusqlite::OpenFlags::SQLITE_OPEN_READ_ONLY)
                    .map_err(|e| format!("{path}: {e}"))?
            };
            let image = tools::image(&mut db).map_err(say)?;
            (About::Database(db), image, text("question").unwrap_or("").to_owned(), golds, "")
        };
    let (machine, first) = Machine::start(&image, &question).map_err(say)?;
    let Next::Write(segments) = first else { return Err("the episode was over before it began".into()) };
    *next += 1;
    let odd = matches!(&about, About::Sample(sample, _) if sample.world.odd);
    let reply = json!({
        "id": *next, "question": question, "sql": golds.first(), "kind": kind, "odd": odd, "append": appended(segments),
    });
    open.insert(*next, Open { about, golds, machine });
    Ok(reply)
}
