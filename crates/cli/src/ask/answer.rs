//! What comes out of an episode: the query and its rows.

use glowworm_agent::{EndedBy, Outcome, Trace};
use glowworm_database::{Error as DatabaseError, Limits, NativeDatabase, Rows, Tools};
use serde_json::{Value, json};

use crate::args::AskArgs;
use crate::error::{Error, Result};
use crate::model::Loaded;
use crate::numbers::grouped;
use crate::table::table;
use crate::terminal::{print, printable};

/// The answer to one question.
pub struct Answer {
    question: String,
    evidence: Option<String>,
    sql: Option<String>,
    ended_by: Option<EndedBy>,
    rows: Option<Result<Rows, DatabaseError>>,
    /// Why there is none, or what is the matter with it.
    message: Option<String>,
    model: String,
    device: String,
    database: String,
}

impl Answer {
    /// Takes the query out of a finished episode and runs it.
    pub fn new(args: &AskArgs, loaded: &Loaded, trace: &Trace, tools: &mut Tools<NativeDatabase>) -> Self {
        let outcome = trace.outcome.as_ref();
        let rows = run_answer(tools, outcome, args.rows);
        let failed = rows.as_ref().and_then(|rows| rows.as_ref().err());
        let failed = failed.map(|error| format!("the query does not run: {error}"));
        Self {
            question: trace.config.question.clone(),
            evidence: trace.config.evidence.clone(),
            sql: outcome.and_then(|outcome| outcome.sql.clone()),
            ended_by: outcome.map(|outcome| outcome.ended_by),
            message: failed.or_else(|| outcome.and_then(|outcome| outcome.message.clone())),
            rows,
            model: loaded.name.clone(),
            device: loaded.device.clone(),
            database: args.db.display().to_string(),
        }
    }

    /// Whether the episode gave a query that runs. One that was only tried when the budget ended, or when the user
    /// stopped, is none.
    pub fn is_answered(&self) -> bool {
        let gave = matches!(
            self.ended_by,
            Some(EndedBy::SubmitSql | EndedBy::FinalTurn | EndedBy::FallbackToLastWorkingQuery)
        );
        gave && matches!(self.rows, Some(Ok(_)))
    }

    /// What a person should be told about it.
    pub fn problem(&self) -> Option<&str> {
        self.message.as_deref()
    }

    /// Writes query and rows; with the question, as a comment, where there are several.
    pub fn show(&self, with_question: bool, width: usize) -> Result<()> {
        if with_question {
            print(&format!("-- {}", printable(&self.question, false)))?;
        }
        let Some(sql) = &self.sql else {
            return print("-- no answer");
        };
        print(&printable(sql, true))?;
        if let Some(Ok(rows)) = &self.rows {
            print("")?;
            let null = console::style("NULL").dim().to_string();
            for line in table(rows, width, &null) {
                print(&line)?;
            }
            let count = rows.rows.len() as u64;
            match (rows.more, count) {
                (true, _) => print(&format!("({} rows; there are more)", grouped(count)))?,
                (false, 1) => print("(1 row)")?,
                (false, _) => print(&format!("({} rows)", grouped(count)))?,
            }
        }
        if with_question { print("") } else { Ok(()) }
    }

    /// The answer as one line of JSON, with the whole trace in it if wanted.
    ///
    /// # Errors
    /// None that an answer can cause.
    pub fn json(&self, trace: &Trace, whole: bool, notices: &[String]) -> Result<String> {
        let stats = trace.stats();
        let rows = self.rows.as_ref().and_then(|rows| rows.as_ref().ok());
        let values = |rows: &Rows| -> Value {
            rows.rows.iter().map(|row| row.iter().map(|value| value.to_json()).collect::<Value>()).collect()
        };
        let mut object = json!({
            "question": self.question,
            "evidence": self.evidence,
            "answered": self.is_answered(),
            "sql": self.sql,
            "columns": rows.map(|rows| &rows.columns),
            "rows": rows.map(values),
            "more_rows": rows.map(|rows| rows.more),
            "ended_by": self.ended_by,
            "message": self.message,
            "turns": stats.turns,
            "tool_calls": stats.calls,
            "tokens": { "appended": stats.appended_tokens, "generated": stats.generated_tokens },
            "milliseconds": { "generating": stats.generate_ms, "tools": stats.tool_ms },
            "model": self.model,
            "device": self.device,
            "database": self.database,
            "notices": notices,
        });
        let unreadable = |source| Error::Agent(glowworm_agent::Error::Json { doing: "writing", source });
        if let Some(object) = object.as_object_mut().filter(|_| whole) {
            object.insert("trace".to_owned(), serde_json::to_value(trace).map_err(unreadable)?);
        }
        serde_json::to_string(&object).map_err(unreadable)
    }
}

/// Runs the answer for the person who asked. A fault of the query is the answer's, not the program's.
fn run_answer(
    tools: &mut Tools<NativeDatabase>,
    outcome: Option<&Outcome>,
    rows: usize,
) -> Option<Result<Rows, DatabaseError>> {
    let outcome = outcome?;
    let sql = outcome.sql.as_deref()?;
    // After these the query is only what was tried last.
    if matches!(outcome.ended_by, EndedBy::Cancelled | EndedBy::Error) {
        return None;
    }
    Some(tools.query(sql, &Limits { rows, ..Limits::default() }))
}
