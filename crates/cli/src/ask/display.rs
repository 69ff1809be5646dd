//! The episode on the terminal, as it happens.
//!
//! ```text
//!  1  albums → Album
//!     list_tables                        → 11 names
//!     describe_table Album               → 3 columns
//!     turn 1 of 6, 402 of 2,048 tokens, 210 tokens/s
//! ```

use std::io::Write;

use console::{Term, measure_text_width, truncate_str};
use glowworm_agent::{
    CallRecord, CallStatus, EndedBy, FinalTurnReason, Limits, Stop, ToolCall, ToolOutcome, Trace, Turn,
    TurnKind,
};
use glowworm_session::{Event, Observer, summary};
use serde_json::Value;

use crate::cancel;
use crate::numbers::{count, grouped, speed, time};
use crate::terminal::{note, printable, style};

/// Columns before what a turn says.
const INDENT: usize = 4;
/// Where results begin, where the call before them leaves room.
const RESULTS_AT: usize = 40;
/// Columns where there is no terminal.
const WIDTH: usize = 120;

/// Shows an episode on standard error.
pub struct Display {
    shown: bool,
    /// Results whole, and every word that the model wrote.
    whole: bool,
    /// Lines may be taken back.
    live: bool,
    width: usize,
    tool_turns: u32,
    token_budget: u64,
    /// What stands at the end of the output.
    at: At,
    /// Columns of think text on the line.
    column: usize,
    /// The beginning of a word of it.
    word: String,
    /// A line break of it, which counts when another word follows.
    broken: bool,
    /// The turn whose calls are being run, and how many of them are shown.
    turn: Option<Turn>,
    calls_shown: usize,
    /// Tokens of the opening that did not have to be computed.
    reused: u64,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum At {
    /// The start of a line.
    Start,
    /// The line of a turn's number and think text, which may go on.
    Think,
    /// A line that is there only until the next is written.
    Moment,
}

impl Display {
    /// A display for one episode; `shown`: it shows anything at all.
    pub fn new(shown: bool, whole: bool, limits: &Limits) -> Self {
        let terminal = Term::stderr();
        let is_terminal = terminal.is_term();
        let width = if is_terminal { usize::from(terminal.size().1).max(40) } else { WIDTH };
        Self {
            shown,
            whole,
            live: is_terminal && shown,
            width,
            tool_turns: limits.tool_turns,
            token_budget: limits.token_budget,
            at: At::Start,
            column: 0,
            word: String::new(),
            broken: false,
            turn: None,
            calls_shown: 0,
            reused: 0,
        }
    }

    /// Columns of the terminal.
    pub fn width(&self) -> usize {
        self.width
    }

    /// The question, where there are several.
    pub fn question(&mut self, question: &str) {
        self.start_line();
        self.write(&format!("{}\n", style().bold().apply_to(printable(question, false))));
    }

    /// How the episode ended, below the answer.
    pub fn ended(&self, trace: &Trace, problem: Option<&str>) {
        if let Some(problem) = problem {
            let problem = printable(problem, false);
            note(&style().yellow().apply_to(problem).to_string());
        }
        if !self.shown {
            return;
        }
        let stats = trace.stats();
        let tokens = stats.appended_tokens + stats.generated_tokens;
        let elapsed = std::time::Duration::from_millis(stats.generate_ms + stats.tool_ms);
        let mut line = format!(
            "{} after {} and {}, {} of {} tokens, {}",
            ended(trace),
            count(stats.turns.into(), "turn"),
            count(stats.calls.into(), "call"),
            grouped(tokens),
            grouped(self.token_budget),
            time(elapsed)
        );
        if self.reused > 0 {
            line.push_str(&format!("; {} tokens of the prompt were computed before", grouped(self.reused)));
        }
        note(&style().dim().apply_to(line).to_string());
    }

    fn turn_begins(&mut self, number: u32, final_turn: bool) {
        self.finish_turn();
        self.column = 0;
        self.broken = false;
        let label = if final_turn { " *".to_owned() } else { format!("{number:>2}") };
        self.write(&format!("{}  ", style().bold().apply_to(label)));
        self.at = At::Think;
    }

    /// Think text as it comes, wrapped at words.
    fn think(&mut self, text: &str) {
        for letter in printable(text, true).chars() {
            if letter.is_whitespace() {
                self.flush_word();
                self.broken |= letter == '\n';
            } else {
                self.word.push(letter);
                // A model that repeats a syllable for ever is to be seen doing so.
                if self.word.len() >= self.width - INDENT {
                    self.flush_word();
                }
            }
        }
    }

    fn flush_word(&mut self) {
        let word = std::mem::take(&mut self.word);
        if word.is_empty() || self.at != At::Think {
            return;
        }
        let length = measure_text_width(&word);
        let full = INDENT + self.column + 1 + length > self.width;
        if self.column > 0 && (full || self.broken) {
            self.write(&format!("\n{:INDENT$}", ""));
            self.column = 0;
        }
        self.broken = false;
        let space = if self.column > 0 { " " } else { "" };
        self.column += space.len() + length;
        self.write(&format!("{space}{}", style().dim().apply_to(word)));
    }

    /// Makes room for a line of its own.
    fn start_line(&mut self) {
        self.flush_word();
        match self.at {
            At::Start => {}
            At::Think => self.write("\n"),
            At::Moment => self.write("\r\x1b[K"),
        }
        self.at = At::Start;
    }

    fn say_for_now(&mut self, text: &str) {
        if self.live {
            self.start_line();
            let text = truncate_str(text, self.width.saturating_sub(INDENT + 1), "…");
            self.write(&format!("{:INDENT$}{}", "", style().dim().apply_to(text)));
            self.at = At::Moment;
        }
    }

    fn line(&mut self, text: &str) {
        self.start_line();
        self.write(&format!("{:INDENT$}{text}\n", ""));
    }

    /// Text from outside, line by line, behind a bar.
    fn quote(&mut self, text: &str) {
        if self.whole {
            for line in printable(text, true).lines() {
                self.line(&format!("{} {line}", style().dim().apply_to("│")));
            }
        }
    }

    fn warning(&mut self, text: &str) {
        self.line(&style().yellow().apply_to(printable(text, false)).to_string());
    }

    fn write(&self, text: &str) {
        if self.shown {
            let mut stderr = std::io::stderr();
            // When nobody can see it any more the work goes on.
            let _ = stderr.write_all(text.as_bytes()).and_then(|()| stderr.flush());
        }
    }

    fn turn_ends(&mut self, turn: &Turn, reused: u64) {
        self.start_line();
        if turn.number == 1 {
            self.reused = reused;
        }
        if let Some(completion) = &turn.completion {
            self.quote(&completion.text);
            if completion.stop == Stop::Length {
                self.warning("the turn was cut off: it reached its limit of tokens");
            }
        }
        if let Some(text) = &turn.no_call {
            self.warning(text);
        }
        self.turn = Some(turn.clone());
        self.calls_shown = 0;
    }

    /// All calls of the turn have their answers.
    fn finish_turn(&mut self) {
        self.start_line();
        self.show_others(usize::MAX);
        let Some(turn) = self.turn.take() else { return };
        let used = match turn.kind {
            TurnKind::Tool => {
                format!(
                    "turn {} of {}",
                    self.tool_turns.saturating_sub(turn.tool_turns_left),
                    self.tool_turns
                )
            }
            TurnKind::Final => "final turn".to_owned(),
        };
        let mut line =
            format!("{used}, {} of {} tokens", grouped(turn.context_tokens), grouped(self.token_budget));
        if let Some(completion) = &turn.completion {
            let seconds = completion.ended_ms.saturating_sub(completion.started_ms) as f64 / 1000.0;
            if seconds > 0.0 {
                let per_second = completion.tokens.generated as f64 / seconds;
                line.push_str(&format!(", {} tokens/s", speed(per_second)));
            }
        }
        self.line(&style().dim().apply_to(line).to_string());
    }

    /// Shows the calls of the turn before the one at `end` that were not run: they have their answers already.
    fn show_others(&mut self, end: usize) {
        let calls = self.turn.as_ref().map_or(&[][..], |turn| &turn.calls);
        let others: Vec<CallRecord> = calls.iter().take(end).skip(self.calls_shown).cloned().collect();
        self.calls_shown += others.len();
        for call in others {
            let name = call.name.unwrap_or_else(|| "unreadable call".to_owned());
            let shown = ToolCall { name, args: call.args, raw: call.raw };
            match (call.status, &call.result) {
                (CallStatus::Rejected, Some(outcome)) => self.call(&shown, outcome),
                (CallStatus::NotRun, _) => {
                    self.call_line(&call_text(&shown), "not run: the answer was submitted before it");
                }
                _ => self.call_line(&call_text(&shown), ""),
            }
        }
    }

    fn call(&mut self, call: &ToolCall, outcome: &ToolOutcome) {
        let short = summary(call, outcome);
        let short = printable(&short, false);
        let result = match outcome.is_error {
            true => style().yellow().apply_to(&*short).to_string(),
            false => style().dim().apply_to(&*short).to_string(),
        };
        self.call_line(&call_text(call), &result);
        self.quote(&outcome.text);
    }

    fn call_line(&mut self, call: &str, result: &str) {
        let room = self.width.saturating_sub(INDENT);
        if result.is_empty() {
            let call = if self.live { truncate_str(call, room, "…") } else { call.into() };
            return self.line(&call);
        }
        let arrow = style().dim().apply_to("→").to_string();
        let length = measure_text_width(call);
        if length <= RESULTS_AT - INDENT || length + 3 + measure_text_width(result) <= room {
            let pad = (RESULTS_AT - INDENT).saturating_sub(length);
            self.line(&format!("{call}{:pad$} {arrow} {result}", ""));
        } else {
            let call = if self.live { truncate_str(call, room, "…").into_owned() } else { call.to_owned() };
            self.line(&call);
            self.line(&format!("  {arrow} {result}"));
        }
    }
}

impl Observer for Display {
    fn event(&mut self, event: Event<'_>) {
        match event {
            Event::TurnBegins { request, .. } => self.turn_begins(request.turn, request.final_turn),
            Event::Think(text) => self.think(text),
            Event::CallWritten { call, .. } | Event::ToolBegins { call, .. } => {
                if let Event::ToolBegins { index, .. } = event {
                    self.show_others(index);
                }
                self.say_for_now(&format!("{} …", call_text(call)));
            }
            Event::TurnEnds { turn, reused } => self.turn_ends(turn, reused),
            Event::ToolEnds { index, call, outcome } => {
                self.show_others(index);
                self.calls_shown = index + 1;
                self.call(call, outcome);
            }
            Event::Checked { check, .. } => {
                if let Some(error) = &check.error {
                    self.warning(&format!("the final answer does not run: {error}"));
                }
            }
            Event::Ends { .. } => self.finish_turn(),
            _ => {}
        }
    }

    fn cancelled(&mut self) -> bool {
        cancel::requested()
    }
}

/// A call in one line: its name and the values of its arguments.
fn call_text(call: &ToolCall) -> String {
    let values = call.args.values().map(|value| match value {
        Value::String(text) => text.split_whitespace().collect::<Vec<_>>().join(" "),
        other => other.to_string(),
    });
    let text: Vec<String> = std::iter::once(call.name.clone()).chain(values).collect();
    printable(&text.join(" "), false).into_owned()
}

/// Why it ended, in words.
fn ended(trace: &Trace) -> &'static str {
    let Some(outcome) = &trace.outcome else { return "not finished" };
    match (outcome.ended_by, outcome.final_turn) {
        (EndedBy::SubmitSql, _) => "submitted",
        (EndedBy::FinalTurn, Some(FinalTurnReason::FailedQueries)) => {
            "answered in the final turn, which too many failed queries had forced,"
        }
        (EndedBy::FinalTurn, Some(FinalTurnReason::TokenBudget)) => {
            "answered in the final turn, which the token budget had forced,"
        }
        (EndedBy::FinalTurn, _) => "answered in the final turn",
        (EndedBy::FallbackToLastWorkingQuery, _) => "ended with the last query that had worked",
        (EndedBy::TokenBudget, _) => "ended by the token budget",
        (EndedBy::Cancelled, _) => "cancelled",
        (EndedBy::Error, _) => "ended by an error",
    }
}
