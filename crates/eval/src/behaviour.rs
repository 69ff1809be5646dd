//! What an episode did, in figures.

use std::collections::BTreeSet;

use glowworm_agent::{CallRecord, CallStatus, EndedBy, Trace, tools};
use serde::{Deserialize, Serialize};

use crate::question::Question;
use crate::sql::literals;
use crate::tables::Stage;

/// The figures of one episode.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Behaviour {
    /// How it ended.
    pub ended_by: EndedBy,
    /// What was wrong, where it ended by an error of the model or of its server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Whether it ended by a `submit_sql` of the model's own.
    pub submitted: bool,
    /// Whether the token budget changed its course.
    pub token_budget_hit: bool,
    /// Turns, the final one included.
    pub turns: u32,
    /// Calls found, readable or not, `submit_sql` included.
    pub calls: u32,
    /// Calls that could not be run: unreadable, unknown, with wrong arguments.
    pub invalid_calls: u32,
    /// Tool turns without a single call that could be run.
    pub invalid_turns: u32,
    /// `run_query` calls that failed.
    pub failed_queries: u32,
    /// Tokens that were put into the context: prompt, results, markup.
    pub appended_tokens: u64,
    /// Tokens that the model wrote.
    pub generated_tokens: u64,
    /// Tokens that would be computed if every turn read its whole context again, as without a cache.
    pub tokens_without_cache: u64,
    /// Milliseconds in the model and in the tools.
    pub generate_ms: u64,
    /// Milliseconds in the tools.
    pub tool_ms: u64,
    /// Gold tables that were described, sampled or queried.
    pub gold_tables_opened: usize,
    /// Gold tables.
    pub gold_tables: usize,
    /// The string literals of the gold query.
    pub literals: LiteralCount,
    /// Those of them that are not in the question or its evidence note.
    pub hidden_literals: LiteralCount,
}

/// How many string literals were seen in a tool result before the answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct LiteralCount {
    /// Those seen.
    pub seen: usize,
    /// All.
    pub of: usize,
}

impl Behaviour {
    /// Looks through an episode.
    pub fn of(trace: &Trace, question: &Question, stage: &Stage) -> Self {
        let stats = trace.stats();
        let outcome = trace.outcome.as_ref();
        let ended_by = outcome.map_or(EndedBy::Error, |outcome| outcome.ended_by);
        let opened = opened_tables(trace, stage);
        let results: Vec<&str> = ran(trace)
            .filter_map(|call| {
                call.result.as_ref().filter(|_| !call.withheld).map(|result| result.text.as_str())
            })
            .collect();
        let literals = gold_literals(question, stage);
        let asked =
            format!("{}\n{}", question.text, question.evidence.as_deref().unwrap_or("")).to_lowercase();
        let seen = |literal: &&String| results.iter().any(|text| text.contains(literal.as_str()));
        let count = |literals: Vec<&String>| LiteralCount {
            seen: literals.iter().filter(|literal| seen(literal)).count(),
            of: literals.len(),
        };
        let hidden = literals.iter().filter(|literal| !asked.contains(&literal.to_lowercase())).collect();
        let completed = trace.turns.iter().filter(|turn| turn.completion.is_some());
        Self {
            ended_by,
            error: outcome.filter(|_| ended_by == EndedBy::Error).and_then(|outcome| outcome.message.clone()),
            submitted: ended_by == EndedBy::SubmitSql,
            token_budget_hit: outcome.is_some_and(|outcome| outcome.token_budget_hit),
            turns: stats.turns,
            calls: stats.calls,
            invalid_calls: stats.rejected_calls,
            invalid_turns: stats.invalid_turns,
            failed_queries: stats.failed_queries,
            appended_tokens: stats.appended_tokens,
            generated_tokens: stats.generated_tokens,
            tokens_without_cache: completed.map(|turn| turn.context_tokens).sum(),
            generate_ms: stats.generate_ms,
            tool_ms: stats.tool_ms,
            gold_tables_opened: stage.gold_tables.iter().filter(|table| opened.contains(*table)).count(),
            gold_tables: stage.gold_tables.len(),
            literals: count(literals.iter().collect()),
            hidden_literals: count(hidden),
        }
    }

    /// Tokens in the context at the end.
    pub fn tokens(&self) -> u64 {
        self.appended_tokens + self.generated_tokens
    }

    /// Whether every gold table was opened; none where it is not known which those are.
    pub fn opened_all(&self) -> Option<bool> {
        (self.gold_tables > 0).then_some(self.gold_tables_opened == self.gold_tables)
    }
}

/// The string literals of the gold query that has the fewest: another accepted one may need more.
fn gold_literals(question: &Question, stage: &Stage) -> Vec<String> {
    question
        .queries()
        .map(|sql| literals(sql, |name| stage.schema.is_name(name)))
        .min_by_key(Vec::len)
        .unwrap_or_default()
}

/// Calls that ran without an error.
fn ran(trace: &Trace) -> impl Iterator<Item = &CallRecord> {
    trace.turns.iter().flat_map(|turn| &turn.calls).filter(|call| {
        call.status == CallStatus::Ran && call.result.as_ref().is_some_and(|result| !result.is_error)
    })
}

fn opened_tables(trace: &Trace, stage: &Stage) -> BTreeSet<String> {
    let mut opened = BTreeSet::new();
    for call in ran(trace) {
        let text = |name: &str| call.args.get(name).and_then(|value| value.as_str());
        match call.name.as_deref() {
            Some(tools::DESCRIBE_TABLE | tools::SAMPLE_ROWS | tools::DISTINCT_VALUES) => {
                let table = text("table_name").and_then(|name| stage.catalog.table(name));
                opened.extend(table.map(|table| table.name.clone()));
            }
            Some(tools::RUN_QUERY) => {
                opened.extend(text("sql").and_then(|sql| stage.schema.tables(sql)).into_iter().flatten());
            }
            _ => {}
        }
    }
    opened
}
