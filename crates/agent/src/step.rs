//! What an episode asks of its host, and what the host replies.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::config::Segment;
use crate::trace::Outcome;

/// What the episode needs next.
#[derive(Debug, Clone, PartialEq)]
pub enum Step {
    /// Count the tokens that these segments would add to the context, and append nothing. Reply with
    /// [`Episode::measured`](crate::Episode::measured). A host without the model's tokenizer may reply with
    /// any number that is not too small; the number of bytes is one.
    ///
    /// When the next step is [`Generate`](Self::Generate), its `append` is what was counted last, so the
    /// ids may be kept.
    Measure(Vec<Segment>),
    /// Append, then generate. Reply with [`Episode::completed`](crate::Episode::completed).
    Generate(GenerateRequest),
    /// Run these calls, in order. Their arguments are checked: names, types and presence are as
    /// [`tools::TOOLS`](crate::tools::TOOLS) says, and `limit` is a whole number. `submit_sql` is never
    /// among them. Reply with [`Episode::tool_results`](crate::Episode::tool_results).
    RunTools(Vec<ToolCall>),
    /// Find out whether the final answer runs, as `run_query` would run it. Reply with
    /// [`Episode::sql_checked`](crate::Episode::sql_checked).
    CheckSql(String),
    /// Nothing more: the episode is over.
    Done(Outcome),
}

/// A turn for the model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GenerateRequest {
    /// What is new since the last generated token. Never a repetition of what was appended before.
    pub append: Vec<Segment>,
    /// The most tokens to generate, the stop token not counted.
    pub max_tokens: u64,
    /// Whether this is the last turn, in which the model must answer.
    pub final_turn: bool,
    /// Number of the turn, 1-based.
    pub turn: u32,
}

/// What the model wrote in one turn.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Completion {
    /// The text after the generation prompt, special tokens such as `</think>` kept, the stop token left
    /// out. The stop token must not stay in the context either (see [`TurnMarkup`](crate::TurnMarkup)).
    pub text: String,
    /// Tokens that the turn added to the context.
    pub tokens: TokenCounts,
    /// Why the model stopped.
    pub stop: Stop,
    /// When the host began with the turn, in milliseconds of its own clock.
    pub started_ms: u64,
    /// When the last token was there.
    pub ended_ms: u64,
}

/// Tokens that a turn added to the context.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct TokenCounts {
    /// Those appended before generating; no more than were measured.
    pub appended: u64,
    /// Those generated, the stop token not counted; no more than `max_tokens`.
    pub generated: u64,
}

/// Why a completion ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stop {
    /// The model ended its turn with a stop token.
    EndOfTurn,
    /// `max_tokens` were generated.
    Length,
    /// The user stopped it. The episode ends.
    Cancelled,
}

/// One call of one tool, as found in a model's turn.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolCall {
    /// The tool's name.
    pub name: String,
    /// Its arguments. In [`Step::RunTools`] they are checked and in canonical form (`"5"` is 5).
    pub args: Map<String, Value>,
    /// The call as the model wrote it.
    pub raw: String,
}

impl ToolCall {
    /// A text argument, where it is there and text.
    pub fn text(&self, name: &str) -> Option<&str> {
        self.args.get(name).and_then(Value::as_str)
    }

    /// A whole-number argument, where it is there and one.
    pub fn count(&self, name: &str) -> Option<u64> {
        self.args.get(name).and_then(Value::as_u64)
    }
}

/// What a tool said.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ToolOutcome {
    /// What the model is shown, verbatim. An error's text says itself that it is one.
    pub text: String,
    /// Whether the call failed. For `run_query` this decides what the last working query is.
    pub is_error: bool,
    /// Number of rows, where the tool returns rows and counted them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rows: Option<u64>,
    /// How long it took, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub elapsed_ms: Option<u64>,
}

impl ToolOutcome {
    /// A result.
    pub fn ok(text: impl Into<String>) -> Self {
        Self { text: text.into(), ..Self::default() }
    }

    /// A failure.
    pub fn error(text: impl Into<String>) -> Self {
        Self { text: text.into(), is_error: true, ..Self::default() }
    }
}

/// Whether a query ran.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct SqlCheck {
    /// Why it did not; none: it did, with or without rows.
    pub error: Option<String>,
    /// How long it took, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub elapsed_ms: Option<u64>,
}

impl SqlCheck {
    /// The query ran.
    pub fn runs() -> Self {
        Self::default()
    }

    /// The query failed.
    pub fn fails(error: impl Into<String>) -> Self {
        Self { error: Some(error.into()), elapsed_ms: None }
    }
}
