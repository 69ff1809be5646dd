//! What an episode is started with. All of it goes into the trace, so that a replay starts the same.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::error::Error;
use crate::texts::Texts;

/// A piece of the context, with the way it must be encoded.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Segment {
    /// ChatML and the like: strings such as `<|im_start|>` become control tokens.
    Markup(String),
    /// Everything that came from a person, a database or our own sentences: strings that look like control
    /// tokens stay plain text. One user turn is one segment, because splitting a text changes its tokens
    /// at the seam.
    Text(String),
}

impl Segment {
    /// The characters of the segment, whichever kind it is.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Markup(text) | Self::Text(text) => text,
        }
    }
}

/// Whether the model was shown the schema in its prompt. The host renders the prompt; this is its record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SchemaMode {
    /// The model must find the tables with its tools.
    #[default]
    Withheld,
    /// All `CREATE TABLE` statements are in the prompt.
    Shown,
}

/// Where the prompt's words came from. Answers depend on it, so a trace must say it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum PromptOrigin {
    /// A file with the verbatim strings, such as `sqale_agent.py`.
    File {
        /// Path or address of the file.
        location: String,
        /// Name of the constant in it, such as `SYSTEM_PROMPT`.
        constant: String,
    },
    /// The model file's own metadata.
    ModelFile,
    /// Text that the user gave in place of a file.
    Given,
    /// Our own wording, because the verbatim strings were not to be had.
    Reconstruction,
}

/// The opening of the context: system turn, user turn, and the start of the assistant's.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Prompt {
    /// Where the wording of the system turn came from.
    pub system_from: PromptOrigin,
    /// Where the wording around the question came from; a source may have only the one or the other.
    pub user_from: PromptOrigin,
    /// What is appended to an empty context, the generation prompt (`<|im_start|>assistant\n…`) included.
    pub segments: Vec<Segment>,
}

/// The markup around the turns that an episode adds, as the model's chat template writes them.
///
/// An assistant's turn is closed by the episode, not by the host: the stop token that ended a completion
/// is *not* part of the context, and the next append starts with [`turn_end`](Self::turn_end). So a turn
/// that ended with `<|im_end|>`, with `<|endoftext|>` or at its token limit is closed in the same way.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TurnMarkup {
    /// Ends any turn.
    pub turn_end: String,
    /// Opens a user turn.
    pub user_start: String,
    /// Opens the assistant's turn; with thinking on it ends inside the think block.
    pub generation_prompt: String,
}

impl Default for TurnMarkup {
    /// ChatML as Qwen3.5's template writes it, thinking on.
    fn default() -> Self {
        Self {
            turn_end: "<|im_end|>\n".into(),
            user_start: "<|im_start|>user\n".into(),
            generation_prompt: "<|im_start|>assistant\n<think>\n".into(),
        }
    }
}

impl TurnMarkup {
    /// Whether a completion starts inside a think block, because the generation prompt has opened one.
    pub fn opens_think(&self) -> bool {
        match self.generation_prompt.rfind("<think>") {
            Some(open) => !self.generation_prompt[open..].contains("</think>"),
            None => false,
        }
    }
}

/// How long an episode may be.
///
/// Token counts are of the context: prompt, think blocks, calls, results and answer together.
///
/// ```text
/// 0 ─────────── context ───────────┬──── room for tool turns ────┬─ answer_reserve ─┐ token_budget
/// ```
///
/// Tool turns stop `answer_reserve` tokens short of the budget, so that a model that explores until
/// nothing is left can still be told to answer, and answer. No turn is started with fewer than
/// `min_turn_tokens` tokens to generate in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    /// Assistant turns with tool calls before the final turn.
    pub tool_turns: u32,
    /// Failed `run_query` calls in a row that force the final turn.
    pub max_failed_queries: u32,
    /// The most tokens that the context may ever hold.
    pub token_budget: u64,
    /// Tokens kept for the final turn, both its request and its answer.
    pub answer_reserve: u64,
    /// The fewest tokens that a turn is started with.
    pub min_turn_tokens: u64,
    /// The most tokens that one turn may generate; none: as many as the budget leaves.
    pub max_turn_tokens: Option<u64>,
    /// A tool result longer than this many bytes is withheld without counting its tokens.
    pub max_result_bytes: u64,
}

impl Default for Limits {
    /// The limits that the published models were trained with: 6 turns, 4 failures, 12,288 tokens.
    fn default() -> Self {
        Self::with_token_budget(12_288)
    }
}

impl Limits {
    /// Six turns and four failures within another budget; the reserve (a twelfth), the shortest turn (a
    /// forty-eighth) and the longest result (32 bytes a token) follow from it.
    pub fn with_token_budget(token_budget: u64) -> Self {
        Self {
            tool_turns: 6,
            max_failed_queries: 4,
            token_budget,
            answer_reserve: token_budget / 12,
            min_turn_tokens: (token_budget / 48).max(1),
            max_turn_tokens: None,
            max_result_bytes: token_budget.saturating_mul(32),
        }
    }

    /// Checks that an episode can run at all.
    pub(crate) fn check(&self) -> Result<(), Error> {
        let fault = if self.tool_turns == 0 {
            "tool_turns is 0; it must be at least 1"
        } else if self.max_failed_queries == 0 {
            "max_failed_queries is 0; it must be at least 1"
        } else if self.min_turn_tokens == 0 {
            "min_turn_tokens is 0; it must be at least 1"
        } else if self.max_turn_tokens == Some(0) {
            "max_turn_tokens is 0; it must be at least 1, or absent"
        } else if self.answer_reserve.saturating_add(self.min_turn_tokens) >= self.token_budget {
            "answer_reserve and min_turn_tokens leave nothing of token_budget for the prompt"
        } else {
            return Ok(());
        };
        Err(Error::Config { what: fault.into() })
    }
}

/// When `submit_sql` is let through.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SubmitGate {
    /// Always: what evaluation and every user gets.
    #[default]
    Open,
    /// Only when the same query, up to white space and a closing semicolon, was run with `run_query` and
    /// worked. For training.
    AfterSameQuery,
}

/// What the host wants the trace to say about itself. The episode only keeps it.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct RunInfo {
    /// The model's name, as a person would look for it.
    pub model: String,
    /// The database's name.
    pub database: String,
    /// When the episode began, as text (RFC 3339); times in the trace are milliseconds of the host's own
    /// clock.
    pub started_at: Option<String>,
    /// Sampling settings, seed included.
    pub sampling: Map<String, Value>,
    /// Anything else: adapter, file hash, question id.
    pub notes: Map<String, Value>,
}

/// Everything that decides how an episode goes, apart from what the model and the tools say.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EpisodeConfig {
    /// The question, for the record; the prompt has it already.
    pub question: String,
    /// The evidence note that came with the question, likewise.
    pub evidence: Option<String>,
    /// Whether the prompt shows the schema.
    pub schema: SchemaMode,
    /// The opening of the context.
    pub prompt: Prompt,
    /// Markup around later turns.
    pub markup: TurnMarkup,
    /// Turns and tokens.
    pub limits: Limits,
    /// Every sentence of ours that the model reads.
    pub texts: Texts,
    /// Whether `submit_sql` is held back.
    pub submit_gate: SubmitGate,
    /// What the host says about itself.
    pub run: RunInfo,
}

impl EpisodeConfig {
    /// A configuration with the defaults of the published models.
    pub fn new(question: impl Into<String>, prompt: Prompt) -> Self {
        Self {
            question: question.into(),
            evidence: None,
            schema: SchemaMode::default(),
            prompt,
            markup: TurnMarkup::default(),
            limits: Limits::default(),
            texts: Texts::default(),
            submit_gate: SubmitGate::default(),
            run: RunInfo::default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_generation_prompt_tells_whether_thinking_is_open() {
        let with = |prompt: &str| TurnMarkup { generation_prompt: prompt.into(), ..TurnMarkup::default() };
        assert!(TurnMarkup::default().opens_think());
        assert!(!with("<|im_start|>assistant\n<think>\n\n</think>\n\n").opens_think());
        assert!(!with("<|im_start|>assistant\n").opens_think());
    }

    #[test]
    fn default_limits_are_those_of_the_published_models() {
        let limits = Limits::default();
        assert_eq!((limits.tool_turns, limits.max_failed_queries, limits.token_budget), (6, 4, 12_288));
        assert_eq!((limits.answer_reserve, limits.min_turn_tokens), (1024, 256));
        limits.check().unwrap();
        Limits::with_token_budget(24_576).check().unwrap();
    }

    #[test]
    fn limits_that_leave_no_room_are_refused() {
        let broken = [
            Limits { tool_turns: 0, ..Limits::default() },
            Limits { max_failed_queries: 0, ..Limits::default() },
            Limits { min_turn_tokens: 0, ..Limits::default() },
            Limits { max_turn_tokens: Some(0), ..Limits::default() },
            Limits { answer_reserve: 12_288, ..Limits::default() },
            Limits { answer_reserve: u64::MAX, ..Limits::default() },
            Limits::with_token_budget(0),
        ];
        for limits in broken {
            assert!(limits.check().is_err(), "{limits:?}");
        }
    }
}
