//! The record of an episode. Its JSON is described, field by field, in `docs/trace.md`.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::config::{EpisodeConfig, Segment};
use crate::error::Error;
use crate::step::{Completion, Stop, ToolCall, ToolOutcome};
use crate::tools::RUN_QUERY;

/// What the `format` field of a trace says.
pub const TRACE_FORMAT: &str = "glowworm-trace";
/// The version of the format that this crate writes and reads.
///
/// A field that a reader may ignore can be added without a new version; anything else needs one.
pub const TRACE_VERSION: u32 = 1;

/// All that happened in an episode, and all that is needed to let it happen again.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Trace {
    /// [`TRACE_FORMAT`].
    pub format: String,
    /// [`TRACE_VERSION`].
    pub version: u32,
    /// Version of the program that wrote it.
    pub glowworm: String,
    /// What the episode was started with.
    pub config: EpisodeConfig,
    /// The host's replies to [`Step::Measure`](crate::Step::Measure), in order.
    pub measurements: Vec<Measurement>,
    /// The turns, in order.
    pub turns: Vec<Turn>,
    /// The host's replies to [`Step::CheckSql`](crate::Step::CheckSql), in order.
    pub checks: Vec<CheckRecord>,
    /// How it ended; none while it goes on.
    pub outcome: Option<Outcome>,
}

/// A count of tokens that were about to be appended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Measurement {
    /// What was counted.
    pub what: Measured,
    /// Number of tokens.
    pub tokens: u64,
    /// Whether they were appended. If not, something shorter was tried, or the episode ended.
    pub fits: bool,
}

/// What was counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Measured {
    /// The prompt.
    Prompt,
    /// All results of a turn.
    Results,
    /// The results with the longest withheld.
    ResultsWithheld,
    /// All results, and the final user turn.
    ResultsAndFinal,
    /// The results with the longest withheld, and the final user turn.
    ResultsWithheldAndFinal,
    /// The final user turn alone.
    Final,
    /// The final user turn without the last working query.
    FinalWithoutQuery,
}

/// One assistant turn, and what came of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Turn {
    /// 1-based.
    pub number: u32,
    /// Whether the model could call tools or had to answer.
    pub kind: TurnKind,
    /// What was appended before it. Empty for the first turn: there it is the prompt.
    pub append: Vec<Segment>,
    /// The most tokens it was allowed to generate.
    pub max_tokens: u64,
    /// What the model wrote; none if the episode ended before that.
    pub completion: Option<Completion>,
    /// The leading think block of that.
    pub think: String,
    /// The calls found in it, in order. Empty in a final turn.
    pub calls: Vec<CallRecord>,
    /// What the model was told where there was no call at all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub no_call: Option<String>,
    /// Tool turns left after it.
    pub tool_turns_left: u32,
    /// Tokens in the context after it.
    pub context_tokens: u64,
}

/// Kind of a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TurnKind {
    /// A turn with tool calls.
    Tool,
    /// The final turn, with the answer.
    Final,
}

/// One call, or what was meant as one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CallRecord {
    /// The tool's name; none where the call could not be read.
    pub name: Option<String>,
    /// The arguments: checked and in canonical form, or as written where they were wrong.
    pub args: Map<String, Value>,
    /// The call as the model wrote it.
    pub raw: String,
    /// What was done with it.
    pub status: CallStatus,
    /// The answer, from the tool or from the episode itself.
    pub result: Option<ToolOutcome>,
    /// Whether the model was told that the result is too long, in place of the result.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub withheld: bool,
}

impl CallRecord {
    /// The call as it was or would be handed to a host.
    pub(crate) fn call(&self) -> ToolCall {
        let name = self.name.clone().unwrap_or_default();
        ToolCall { name, args: self.args.clone(), raw: self.raw.clone() }
    }

    fn failed(&self) -> bool {
        self.result.as_ref().is_some_and(|result| result.is_error)
    }

    /// Whether this is a `run_query` call that was answered with an error, its wrong arguments included.
    pub fn is_failed_query(&self) -> bool {
        self.name.as_deref() == Some(RUN_QUERY) && self.failed()
    }

    /// Whether this is a `run_query` call that worked.
    pub fn is_working_query(&self) -> bool {
        self.name.as_deref() == Some(RUN_QUERY) && self.status == CallStatus::Ran && !self.failed()
    }
}

/// What was done with a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CallStatus {
    /// It waits for the host, or the episode ended while it did.
    Pending,
    /// The host ran it.
    Ran,
    /// The episode answered it: unreadable, unknown, with wrong arguments, or held back by the submit gate.
    Rejected,
    /// It is the `submit_sql` that ended the episode.
    Submitted,
    /// It stands after that one.
    NotRun,
}

/// Whether the final answer ran.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckRecord {
    /// The query.
    pub sql: String,
    /// Why it did not run; none: it did.
    pub error: Option<String>,
    /// How long it took, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub elapsed_ms: Option<u64>,
}

/// How an episode ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Outcome {
    /// The answer. In a final turn it may be a query that failed, where no other had worked; `message`
    /// then says how.
    pub sql: Option<String>,
    /// Where the answer came from; none where there is none.
    pub source: Option<SqlSource>,
    /// Why it ended.
    pub ended_by: EndedBy,
    /// Why there was a final turn; none where there was none.
    pub final_turn: Option<FinalTurnReason>,
    /// Whether the token budget changed the course: something did not fit, or a turn was cut short by it.
    pub token_budget_hit: bool,
    /// For a person: the error of the answer, of the host, or what did not fit.
    pub message: Option<String>,
}

/// Why an episode ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EndedBy {
    /// The model called `submit_sql`.
    SubmitSql,
    /// The model was made to answer. `final_turn` in the outcome says by what.
    FinalTurn,
    /// Its answer was empty or failed, and the last query that had worked took its place.
    FallbackToLastWorkingQuery,
    /// The token budget left no room for an answer. The last working query stands in, where there is one.
    TokenBudget,
    /// The user stopped it; likewise.
    Cancelled,
    /// The host could not go on; likewise.
    Error,
}

impl EndedBy {
    /// The name as traces and reports write it.
    pub fn name(self) -> &'static str {
        match self {
            Self::SubmitSql => "submit_sql",
            Self::FinalTurn => "final_turn",
            Self::FallbackToLastWorkingQuery => "fallback_to_last_working_query",
            Self::TokenBudget => "token_budget",
            Self::Cancelled => "cancelled",
            Self::Error => "error",
        }
    }
}

/// What forced the final turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FinalTurnReason {
    /// All tool turns were used.
    ToolTurns,
    /// Too many failed queries in a row.
    FailedQueries,
    /// Another tool turn would not have fitted.
    TokenBudget,
}

/// Where an answer came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SqlSource {
    /// A `submit_sql` call.
    SubmitSql,
    /// The final turn.
    FinalTurn,
    /// The last `run_query` that worked.
    LastWorkingQuery,
}

/// A piece of the context, with its author.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Piece<'a> {
    /// Appended as markup.
    Markup(&'a str),
    /// Appended as text.
    Text(&'a str),
    /// Written by the model.
    Generated(&'a str),
}

/// Figures of one episode.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Stats {
    /// Completions, the final one included.
    pub turns: u32,
    /// Calls found, readable or not, `submit_sql` included.
    pub calls: u32,
    /// Calls that the episode answered with an error: unreadable, unknown, wrong arguments, gate closed.
    pub rejected_calls: u32,
    /// Tool turns in which no call could be run or submitted.
    pub invalid_turns: u32,
    /// `run_query` calls that were answered with an error.
    pub failed_queries: u32,
    /// Results that were too long to show.
    pub withheld_results: u32,
    /// Tokens appended: prompt, results, markup.
    pub appended_tokens: u64,
    /// Tokens generated.
    pub generated_tokens: u64,
    /// Milliseconds in completions.
    pub generate_ms: u64,
    /// Milliseconds in tools and checks, as far as the host said.
    pub tool_ms: u64,
}

impl Trace {
    pub(crate) fn new(config: EpisodeConfig) -> Self {
        Self {
            format: TRACE_FORMAT.into(),
            version: TRACE_VERSION,
            glowworm: env!("CARGO_PKG_VERSION").into(),
            config,
            measurements: Vec::new(),
            turns: Vec::new(),
            checks: Vec::new(),
            outcome: None,
        }
    }

    /// Reads a trace.
    ///
    /// # Errors
    ///
    /// [`Error::NotATrace`], [`Error::TraceVersion`], or [`Error::Json`] where the text is no JSON or a
    /// field is missing.
    pub fn from_json(text: &str) -> Result<Self, Error> {
        #[derive(Deserialize)]
        struct Header {
            format: Option<String>,
            version: Option<u64>,
            glowworm: Option<String>,
        }
        let json = |source| Error::Json { doing: "reading", source };
        let header: Header = serde_json::from_str(text).map_err(json)?;
        if header.format.as_deref() != Some(TRACE_FORMAT) {
            let found = header.format.unwrap_or_else(|| "nothing".into());
            let what = format!("its \"format\" must be {TRACE_FORMAT:?}, but is {found:?}");
            return Err(Error::NotATrace { what });
        }
        match header.version {
            Some(version) if version == u64::from(TRACE_VERSION) => serde_json::from_str(text).map_err(json),
            Some(found) => Err(Error::TraceVersion {
                found,
                known: TRACE_VERSION,
                glowworm: header.glowworm.unwrap_or_else(|| "unknown".into()),
            }),
            None => Err(Error::NotATrace { what: "it has no \"version\"".into() }),
        }
    }

    /// Writes the trace on one line.
    ///
    /// # Errors
    ///
    /// [`Error::Json`], which no trace made by an [`Episode`](crate::Episode) causes.
    pub fn to_json(&self) -> Result<String, Error> {
        serde_json::to_string(self).map_err(|source| Error::Json { doing: "writing", source })
    }

    /// Writes the trace with line breaks, for people.
    ///
    /// # Errors
    ///
    /// As [`to_json`](Self::to_json).
    pub fn to_json_pretty(&self) -> Result<String, Error> {
        serde_json::to_string_pretty(self).map_err(|source| Error::Json { doing: "writing", source })
    }

    /// The whole context, piece by piece, as the model had it before it: what was appended and what it wrote.
    pub fn context(&self) -> Vec<Piece<'_>> {
        fn appended(segment: &Segment) -> Piece<'_> {
            match segment {
                Segment::Markup(text) => Piece::Markup(text),
                Segment::Text(text) => Piece::Text(text),
            }
        }
        let mut pieces = Vec::new();
        for turn in &self.turns {
            let first = if turn.number == 1 { &self.config.prompt.segments[..] } else { &[] };
            pieces.extend(first.iter().chain(&turn.append).map(appended));
            pieces.extend(turn.completion.iter().map(|completion| Piece::Generated(&completion.text)));
        }
        pieces
    }

    /// Counts what happened.
    pub fn stats(&self) -> Stats {
        let mut stats = Stats::default();
        for turn in &self.turns {
            if let Some(completion) = &turn.completion {
                stats.turns += 1;
                stats.appended_tokens += completion.tokens.appended;
                stats.generated_tokens += completion.tokens.generated;
                stats.generate_ms += completion.ended_ms.saturating_sub(completion.started_ms);
                let invalid = turn.calls.iter().all(|call| call.status == CallStatus::Rejected);
                if turn.kind == TurnKind::Tool && invalid && completion.stop != Stop::Cancelled {
                    stats.invalid_turns += 1;
                }
            }
            for call in &turn.calls {
                stats.calls += 1;
                stats.rejected_calls += u32::from(call.status == CallStatus::Rejected);
                stats.failed_queries += u32::from(call.is_failed_query());
                stats.withheld_results += u32::from(call.withheld);
                stats.tool_ms += call.result.as_ref().and_then(|result| result.elapsed_ms).unwrap_or(0);
            }
        }
        stats.tool_ms += self.checks.iter().filter_map(|check| check.elapsed_ms).sum::<u64>();
        stats
    }
}
