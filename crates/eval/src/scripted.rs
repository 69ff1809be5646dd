//! Players whose score is known beforehand. They test the evaluation itself: what it says of them must be exactly this.

use std::collections::BTreeSet;
use std::convert::Infallible;
use std::fmt;
use std::ops::ControlFlow;
use std::str::FromStr;

use glowworm_agent::{GenerateRequest, Segment, Stop, TokenCounts};
use glowworm_session::{Generated, LanguageModel};
use serde_json::json;

use crate::player::{Assignment, Player};

/// What a script does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Script {
    /// Looks at the tables, then submits the gold query: right wherever a gold runs.
    Oracle,
    /// Submits a query that runs and is never right.
    AlwaysWrong,
    /// Looks at the tables in every turn and never answers.
    NeverSubmits,
    /// Thinks until the token budget is used up.
    OverBudget,
    /// Submits the gold query if the prompt shows the schema, and a wrong one if not.
    NeedsSchema,
    /// Submits the gold query in every other sample, and a wrong one in the others.
    EveryOther,
}

impl Script {
    /// All of them.
    pub const ALL: [Script; 6] = [
        Script::Oracle,
        Script::AlwaysWrong,
        Script::NeverSubmits,
        Script::OverBudget,
        Script::NeedsSchema,
        Script::EveryOther,
    ];

    /// The name that options use.
    pub fn name(self) -> &'static str {
        match self {
            Script::Oracle => "oracle",
            Script::AlwaysWrong => "always-wrong",
            Script::NeverSubmits => "never-submits",
            Script::OverBudget => "over-budget",
            Script::NeedsSchema => "needs-schema",
            Script::EveryOther => "every-other",
        }
    }
}

impl fmt::Display for Script {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Script {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let names: Vec<&str> = Script::ALL.iter().map(|script| script.name()).collect();
        Script::ALL
            .into_iter()
            .find(|script| script.name() == text)
            .ok_or_else(|| format!("there is no script {text:?}; there are {}", names.join(", ")))
    }
}

/// Plays a script. Four bytes are a token.
#[derive(Debug, Clone)]
pub struct Scripted {
    script: Script,
    gold: String,
    sample: u32,
    schema_shown: bool,
    tables: BTreeSet<String>,
}

/// What no gold query gives.
const WRONG: &str = "SELECT 'no such answer' AS wrong, 'nor this' AS neither, 17 AS number";

impl Scripted {
    /// A player of a script.
    pub fn new(script: Script) -> Self {
        Self { script, gold: String::new(), sample: 0, schema_shown: false, tables: BTreeSet::new() }
    }

    fn turn(&mut self, request: &GenerateRequest) -> String {
        let submit = |sql: &str| json!({ "tool": "submit_sql", "args": { "sql": sql } }).to_string();
        let look = json!({ "tool": "list_tables" }).to_string();
        match self.script {
            Script::Oracle if request.turn == 1 => format!("Look first.</think>\n{look}"),
            Script::Oracle if request.turn == 2 => {
                let calls = self.tables.iter().map(|table| {
                    json!({ "tool": "describe_table", "args": { "table_name": table } }).to_string()
                });
                let calls: Vec<String> = calls.collect();
                format!("Describe them.</think>\n{}\n{}", calls.join("\n"), submit(&self.gold))
            }
            Script::Oracle => format!("Answer.</think>\n{}", submit(&self.gold)),
            Script::AlwaysWrong => format!("Guess.</think>\n{}", submit(WRONG)),
            Script::NeverSubmits if request.final_turn => "I do not know.</think>\n".to_owned(),
            Script::NeverSubmits => format!("Look again.</think>\n{look}"),
            Script::OverBudget => {
                "and then ".repeat(usize::try_from(request.max_tokens).unwrap_or(1) * 4 / 9 + 1)
            }
            Script::NeedsSchema if self.schema_shown => format!("I see.</think>\n{}", submit(&self.gold)),
            Script::NeedsSchema => format!("I see nothing.</think>\n{}", submit(WRONG)),
            Script::EveryOther if self.sample.is_multiple_of(2) => {
                format!("Even.</think>\n{}", submit(&self.gold))
            }
            Script::EveryOther => format!("Odd.</think>\n{}", submit(WRONG)),
        }
    }
}

impl Player for Scripted {
    fn assign(&mut self, assignment: Assignment<'_>) {
        self.gold = assignment.question.queries().next().unwrap_or("SELECT NULL").to_owned();
        self.sample = assignment.sample;
        self.schema_shown = false;
        self.tables.clear();
    }
}

impl LanguageModel for Scripted {
    type Error = Infallible;

    fn begin(&mut self) {}

    fn measure(&mut self, append: &[Segment]) -> Result<u64, Infallible> {
        Ok(append.iter().map(|segment| segment.as_str().len() as u64).sum::<u64>().div_ceil(4))
    }

    async fn generate(
        &mut self,
        request: &GenerateRequest,
        on_text: &mut dyn FnMut(&str) -> ControlFlow<()>,
    ) -> Result<Generated, Infallible> {
        let appended = self.measure(&request.append)?;
        let shown: String = request.append.iter().map(Segment::as_str).collect();
        self.schema_shown |= shown.contains("CREATE TABLE");
        if request.turn == 2 {
            // The list of tables: a name a line.
            self.tables = shown
                .lines()
                .filter(|line| {
                    !line.is_empty() && !line.starts_with(['[', '<']) && !line.starts_with("Tool result")
                })
                .filter(|line| self.gold.to_lowercase().contains(&line.to_lowercase()))
                .map(str::to_owned)
                .collect();
        }
        let mut text = self.turn(request);
        let most = usize::try_from(request.max_tokens).unwrap_or(usize::MAX).saturating_mul(4);
        let mut stop = Stop::EndOfTurn;
        if text.len() > most {
            text.truncate(text.floor_char_boundary(most));
            stop = Stop::Length;
        }
        if on_text(&text).is_break() {
            stop = Stop::Cancelled;
        }
        let generated = (text.len() as u64).div_ceil(4).min(request.max_tokens);
        Ok(Generated { text, tokens: TokenCounts { appended, generated }, stop, reused: 0 })
    }
}
