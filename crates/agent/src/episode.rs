//! The episode itself.

use std::collections::HashSet;

use crate::answer;
use crate::compose;
use crate::config::{EpisodeConfig, Segment, SubmitGate};
use crate::error::Error;
use crate::parse::{Found, parse_turn};
use crate::step::{Completion, GenerateRequest, SqlCheck, Step, Stop, ToolCall, ToolOutcome};
use crate::texts::fill;
use crate::tools::{self, SUBMIT_SQL};
use crate::trace::{
    CallRecord, CallStatus, CheckRecord, EndedBy, FinalTurnReason, Measured, Measurement, Outcome, SqlSource,
    Trace, Turn, TurnKind,
};

/// One question, from the prompt to the answer.
///
/// Ask [`step`](Self::step) what is needed, do it, reply with the method that the [`Step`] names; until
/// [`Step::Done`]. The same step is returned until it is replied to, so a host may look as often as it
/// likes.
///
/// # Turns
///
/// The model has [`tool_turns`](crate::Limits::tool_turns) turns in which it calls tools; a turn without a
/// readable call costs as much as any other. Then, or after
/// [`max_failed_queries`](crate::Limits::max_failed_queries) `run_query` calls that failed in a row (over
/// turns, counted at the end of each; a call with wrong arguments is a failed one, and other tools between
/// them do not matter), it gets the final turn. A `submit_sql` ends the episode where it stands: calls
/// before it in the turn are run, calls after it are recorded as not run.
///
/// # Tokens
///
/// Every append is measured first, and made only if [`min_turn_tokens`](crate::Limits::min_turn_tokens)
/// remain to generate in, within the room for tool turns or, in the final turn, within the whole budget.
/// When the results of a turn do not fit, the first of these that does is taken:
///
/// 1. while a quarter of the budget is free: the results with the longest of them replaced by a note that
///    says so, and the exploration goes on, for one careless query should not end it;
/// 2. all results, then the final turn;
/// 3. the results with the longest replaced, then the final turn;
/// 4. the final turn alone; then without the last working query;
/// 5. nothing: the episode ends by `token_budget`.
#[derive(Debug, Clone)]
pub struct Episode {
    trace: Trace,
    step: Step,
    phase: Phase,
    /// Tokens in the context.
    context: u64,
    tool_turns_left: u32,
    /// Failed `run_query` calls in a row, up to the last finished turn.
    failed_in_a_row: u32,
    last_query: Option<String>,
    /// Queries that worked, in the form in which the submit gate compares them.
    worked: HashSet<String>,
    /// What the model will be told about the last turn, a text a call.
    results: Vec<String>,
    final_turn: Option<FinalTurnReason>,
    budget_hit: bool,
}

#[derive(Debug, Clone)]
enum Phase {
    /// Waiting for the length of a draft.
    Measuring(Draft),
    /// Waiting for a completion.
    Generating {
        /// Tokens of the append, as measured.
        appended: u64,
        /// Whether it is the budget that sets `max_tokens`.
        limited_by_budget: bool,
    },
    /// Waiting for the results of these calls of the last turn.
    RunningTools(Vec<usize>),
    /// Waiting to hear whether the final answer runs.
    CheckingSql,
    Done,
}

impl Phase {
    /// What a host should reply, in words.
    fn expects(&self) -> &'static str {
        match self {
            Self::Measuring(_) => "a token count",
            Self::Generating { .. } => "a completion",
            Self::RunningTools(_) => "tool results",
            Self::CheckingSql => "an SQL check",
            Self::Done => "nothing",
        }
    }
}

/// Something that might be appended next.
#[derive(Debug, Clone)]
enum Draft {
    Prompt,
    /// The results, some of them withheld, and another tool turn.
    Results {
        withheld: Vec<bool>,
    },
    /// The final turn, with or without results, with or without the last working query.
    Final {
        withheld: Option<Vec<bool>>,
        query: bool,
    },
}

impl Draft {
    fn what(&self) -> Measured {
        let any = |withheld: &[bool]| withheld.iter().any(|withheld| *withheld);
        match self {
            Self::Prompt => Measured::Prompt,
            Self::Results { withheld } if any(withheld) => Measured::ResultsWithheld,
            Self::Results { .. } => Measured::Results,
            Self::Final { withheld: Some(withheld), .. } if any(withheld) => {
                Measured::ResultsWithheldAndFinal
            }
            Self::Final { withheld: Some(_), .. } => Measured::ResultsAndFinal,
            Self::Final { withheld: None, query: true } => Measured::Final,
            Self::Final { withheld: None, query: false } => Measured::FinalWithoutQuery,
        }
    }

    fn is_final(&self) -> bool {
        matches!(self, Self::Final { .. })
    }
}

impl Episode {
    /// Starts an episode.
    ///
    /// # Errors
    ///
    /// [`Error::Config`] where no episode could run within the limits.
    pub fn new(config: EpisodeConfig) -> Result<Self, Error> {
        config.limits.check()?;
        let mut episode = Self {
            context: 0,
            tool_turns_left: config.limits.tool_turns,
            failed_in_a_row: 0,
            last_query: None,
            worked: HashSet::new(),
            results: Vec::new(),
            final_turn: None,
            budget_hit: false,
            trace: Trace::new(config),
            step: Step::Measure(Vec::new()),
            phase: Phase::Done,
        };
        episode.measure(Draft::Prompt);
        Ok(episode)
    }

    /// What the episode needs next.
    pub fn step(&self) -> &Step {
        &self.step
    }

    /// All that has happened so far.
    pub fn trace(&self) -> &Trace {
        &self.trace
    }

    /// All that has happened, for keeping.
    pub fn into_trace(self) -> Trace {
        self.trace
    }

    /// How it ended; none while it goes on.
    pub fn outcome(&self) -> Option<&Outcome> {
        self.trace.outcome.as_ref()
    }

    /// Tokens in the context.
    pub fn context_tokens(&self) -> u64 {
        self.context
    }

    /// Tool turns that are left, the one that is going on not counted.
    pub fn tool_turns_left(&self) -> u32 {
        self.tool_turns_left
    }

    /// The last `run_query` that worked, as the model wrote it.
    pub fn last_working_query(&self) -> Option<&str> {
        self.last_query.as_deref()
    }

    /// Ends the episode because the user wants it; a completion that was cut off is replied with
    /// [`Stop::Cancelled`] instead, which keeps its text. Does nothing to an episode that is over.
    pub fn cancel(&mut self) {
        self.stand_in(EndedBy::Cancelled, None);
    }

    /// Ends the episode because the host cannot go on. Does nothing to an episode that is over.
    pub fn fail(&mut self, message: impl Into<String>) {
        self.stand_in(EndedBy::Error, Some(message.into()));
    }

    /// Replies to [`Step::Measure`].
    ///
    /// # Errors
    ///
    /// [`Error::UnexpectedReply`].
    pub fn measured(&mut self, tokens: u64) -> Result<(), Error> {
        let Phase::Measuring(draft) = &self.phase else { return self.unexpected("a token count") };
        let draft = draft.clone();
        let end = self.context.saturating_add(tokens);
        let fits = end.saturating_add(self.limits().min_turn_tokens) <= self.room_end(&draft);
        self.trace.measurements.push(Measurement { what: draft.what(), tokens, fits });
        if fits {
            self.generate(draft, tokens);
            return Ok(());
        }
        self.budget_hit = true;
        match self.shorter(&draft, tokens) {
            Some(draft) => self.measure(draft),
            None => {
                let (context, budget) = (self.context, self.limits().token_budget);
                let what = if matches!(draft, Draft::Prompt) { "the prompt" } else { "the next turn" };
                let message = format!(
                    "{what} takes {tokens} tokens after {context}, which leaves too few of {budget} to answer"
                );
                self.stand_in(EndedBy::TokenBudget, Some(message));
            }
        }
        Ok(())
    }

    /// Replies to [`Step::Generate`].
    ///
    /// # Errors
    ///
    /// [`Error::UnexpectedReply`]; [`Error::TooManyTokens`] where the completion used more tokens than
    /// agreed.
    pub fn completed(&mut self, completion: Completion) -> Result<(), Error> {
        let (Phase::Generating { appended, limited_by_budget }, Step::Generate(request)) =
            (&self.phase, &self.step)
        else {
            return self.unexpected("a completion");
        };
        let limited_by_budget = *limited_by_budget;
        for (what, got, allowed) in [
            ("appended", completion.tokens.appended, *appended),
            ("generated", completion.tokens.generated, request.max_tokens),
        ] {
            if got > allowed {
                return Err(Error::TooManyTokens { what, allowed, got });
            }
        }
        let final_turn = request.final_turn;
        let think_open = self.trace.config.markup.opens_think();
        self.context += completion.tokens.appended + completion.tokens.generated;
        let stop = completion.stop;
        self.budget_hit |= stop == Stop::Length && limited_by_budget;
        let parsed = parse_turn(&completion.text, think_open);
        let sql = final_turn.then(|| answer::final_sql(&completion.text, think_open)).flatten();
        self.tool_turns_left -= u32::from(!final_turn);
        let (context, tool_turns_left) = (self.context, self.tool_turns_left);
        if let Some(turn) = self.trace.turns.last_mut() {
            turn.completion = Some(completion);
            turn.think = parsed.think;
            turn.context_tokens = context;
            turn.tool_turns_left = tool_turns_left;
        }
        if stop == Stop::Cancelled {
            self.cancel();
        } else if !final_turn {
            self.take_calls(parsed.found, parsed.unclosed_think);
        } else if let Some(sql) = sql {
            self.phase = Phase::CheckingSql;
            self.step = Step::CheckSql(sql);
        } else {
            self.answer_failed(None, stop == Stop::Length && limited_by_budget);
        }
        Ok(())
    }

    /// Replies to [`Step::RunTools`].
    ///
    /// # Errors
    ///
    /// [`Error::UnexpectedReply`]; [`Error::ResultCount`] where there is not one outcome a call.
    pub fn tool_results(&mut self, outcomes: Vec<ToolOutcome>) -> Result<(), Error> {
        let Phase::RunningTools(batch) = &self.phase else { return self.unexpected("tool results") };
        if batch.len() != outcomes.len() {
            return Err(Error::ResultCount { expected: batch.len(), got: outcomes.len() });
        }
        let batch = batch.clone();
        if let Some(turn) = self.trace.turns.last_mut() {
            for (index, outcome) in batch.into_iter().zip(outcomes) {
                let call = &mut turn.calls[index];
                call.status = CallStatus::Ran;
                call.result = Some(outcome);
                if call.is_working_query()
                    && let Some(sql) = call.args.get("sql").and_then(|sql| sql.as_str())
                {
                    self.last_query = Some(sql.to_owned());
                    self.worked.insert(comparable(sql));
                }
            }
        }
        self.next_calls();
        Ok(())
    }

    /// Replies to [`Step::CheckSql`].
    ///
    /// # Errors
    ///
    /// [`Error::UnexpectedReply`].
    pub fn sql_checked(&mut self, check: SqlCheck) -> Result<(), Error> {
        let (Phase::CheckingSql, Step::CheckSql(sql)) = (&self.phase, &self.step) else {
            return self.unexpected("an SQL check");
        };
        let sql = sql.clone();
        self.trace.checks.push(CheckRecord {
            sql: sql.clone(),
            error: check.error.clone(),
            elapsed_ms: check.elapsed_ms,
        });
        match check.error {
            None => self.finish(EndedBy::FinalTurn, Some((sql, SqlSource::FinalTurn)), None),
            Some(error) => self.answer_failed(Some((sql, error)), false),
        }
        Ok(())
    }

    fn limits(&self) -> &crate::config::Limits {
        &self.trace.config.limits
    }

    fn unexpected<T>(&self, got: &'static str) -> Result<T, Error> {
        Err(Error::UnexpectedReply { expected: self.phase.expects(), got })
    }

    // What is appended next.

    /// Where the context must end at the latest, after the turn that a draft starts.
    fn room_end(&self, draft: &Draft) -> u64 {
        let limits = self.limits();
        let reserve = if draft.is_final() { 0 } else { limits.answer_reserve };
        limits.token_budget.saturating_sub(reserve)
    }

    fn measure(&mut self, draft: Draft) {
        self.step = Step::Measure(self.write(&draft));
        self.phase = Phase::Measuring(draft);
    }

    fn write(&self, draft: &Draft) -> Vec<Segment> {
        let config = &self.trace.config;
        let results = |withheld: &[bool]| {
            let shown: Vec<String> = self
                .results
                .iter()
                .zip(withheld)
                .map(|(text, withheld)| if *withheld { self.withheld_note(text) } else { text.clone() })
                .collect();
            let shown: Vec<&str> = shown.iter().map(String::as_str).collect();
            compose::results(&config.texts, &shown, self.tool_turns_left)
        };
        let (results, last) = match draft {
            Draft::Prompt => return config.prompt.segments.clone(),
            Draft::Results { withheld } => (Some(results(withheld)), None),
            Draft::Final { withheld, query } => {
                let query = self.last_query.as_deref().filter(|_| *query);
                (withheld.as_deref().map(results), Some(compose::final_turn(&config.texts, query)))
            }
        };
        compose::user_turns(&config.texts, &config.markup, results, last)
    }

    fn withheld_note(&self, text: &str) -> String {
        fill(&self.trace.config.texts.result_withheld, &[("bytes", &text.len().to_string())])
    }

    /// What to try after a draft that took `tokens` and did not fit.
    fn shorter(&self, draft: &Draft, tokens: u64) -> Option<Draft> {
        let limits = self.limits();
        let room = |draft: &Draft| {
            self.room_end(draft).saturating_sub(limits.min_turn_tokens).saturating_sub(self.context)
        };
        let too_many = tokens.saturating_sub(room(draft));
        match draft {
            Draft::Prompt => None,
            Draft::Results { withheld } => {
                let much_is_free = room(draft) >= limits.token_budget / 4;
                let less = much_is_free.then(|| self.withhold(withheld, tokens, too_many)).flatten();
                Some(match less {
                    Some(withheld) => Draft::Results { withheld },
                    None => Draft::Final { withheld: Some(self.far_too_long()), query: true },
                })
            }
            Draft::Final { withheld: Some(withheld), .. } => {
                let withheld = self.withhold(withheld, tokens, too_many);
                Some(Draft::Final { withheld, query: true })
            }
            Draft::Final { withheld: None, query: true } if self.last_query.is_some() => {
                Some(Draft::Final { withheld: None, query: false })
            }
            Draft::Final { withheld: None, .. } => None,
        }
    }

    /// Withholds as many more results, longest first, as should save `too_many` of `tokens`; at least one,
    /// none where no result is longer than the note in its place. Sizes are guessed from bytes, and the
    /// guess is measured.
    fn withhold(&self, withheld: &[bool], tokens: u64, too_many: u64) -> Option<Vec<bool>> {
        let saved = |index: usize| {
            let text = &self.results[index];
            text.len().saturating_sub(self.withheld_note(text).len())
        };
        let mut order: Vec<usize> =
            (0..withheld.len()).filter(|index| !withheld[*index] && saved(*index) > 0).collect();
        order.sort_by_key(|index| std::cmp::Reverse(saved(*index)));
        let mut next = withheld.to_vec();
        let bytes: usize = (0..withheld.len())
            .map(|index| {
                let text = &self.results[index];
                if withheld[index] { self.withheld_note(text).len() } else { text.len() }
            })
            .sum();
        let needed = bytes as f64 * (too_many as f64 / tokens.max(1) as f64);
        let mut got = 0;
        for index in order {
            next[index] = true;
            got += saved(index);
            if got as f64 >= needed {
                break;
            }
        }
        (got > 0).then_some(next)
    }

    /// The results that are withheld without being measured.
    fn far_too_long(&self) -> Vec<bool> {
        let most = self.limits().max_result_bytes;
        self.results.iter().map(|text| text.len() as u64 > most).collect()
    }

    fn generate(&mut self, draft: Draft, appended: u64) {
        let room = self.room_end(&draft) - self.context - appended;
        let max_tokens = self.limits().max_turn_tokens.map_or(room, |most| most.min(room));
        let append = self.write(&draft);
        if let Draft::Results { withheld } | Draft::Final { withheld: Some(withheld), .. } = &draft
            && let Some(turn) = self.trace.turns.last_mut()
        {
            for (call, withheld) in turn.calls.iter_mut().zip(withheld) {
                call.withheld = *withheld;
            }
        }
        let number = self.trace.turns.len() as u32 + 1;
        let final_turn = draft.is_final();
        if final_turn && self.final_turn.is_none() {
            self.final_turn = Some(FinalTurnReason::TokenBudget);
        }
        self.trace.turns.push(Turn {
            number,
            kind: if final_turn { TurnKind::Final } else { TurnKind::Tool },
            append: if matches!(draft, Draft::Prompt) { Vec::new() } else { append.clone() },
            max_tokens,
            completion: None,
            think: String::new(),
            calls: Vec::new(),
            no_call: None,
            tool_turns_left: self.tool_turns_left,
            context_tokens: self.context,
        });
        self.phase = Phase::Generating { appended, limited_by_budget: max_tokens == room };
        self.step = Step::Generate(GenerateRequest { append, max_tokens, final_turn, turn: number });
    }

    // What a turn called for.

    fn take_calls(&mut self, found: Vec<Found>, unclosed_think: bool) {
        let texts = &self.trace.config.texts;
        let rejected = |name, args, raw, text| CallRecord {
            name,
            args,
            raw,
            status: CallStatus::Rejected,
            result: Some(ToolOutcome::error(text)),
            withheld: false,
        };
        let calls: Vec<CallRecord> = found
            .into_iter()
            .map(|found| match found {
                Found::Unreadable { raw, reason } => {
                    let text = fill(&texts.unreadable_call, &[("reason", &reason)]);
                    rejected(None, Default::default(), raw, text)
                }
                Found::Call(call) => match tools::validate(&call, texts) {
                    Err(text) => rejected(Some(call.name), call.args, call.raw, text),
                    Ok(call) => CallRecord {
                        name: Some(call.name),
                        args: call.args,
                        raw: call.raw,
                        status: CallStatus::Pending,
                        result: None,
                        withheld: false,
                    },
                },
            })
            .collect();
        let no_call = match (calls.is_empty(), unclosed_think) {
            (false, _) => None,
            (true, true) => Some(texts.unclosed_think.clone()),
            (true, false) => Some(texts.no_call.clone()),
        };
        if let Some(turn) = self.trace.turns.last_mut() {
            turn.calls = calls;
            turn.no_call = no_call;
        }
        self.next_calls();
    }

    /// Asks for the calls up to the next `submit_sql`, lets that through or refuses it, or ends the turn.
    fn next_calls(&mut self) {
        loop {
            let Some(turn) = self.trace.turns.last_mut() else { return };
            let is_submit = |call: &CallRecord| call.name.as_deref() == Some(SUBMIT_SQL);
            let pending =
                turn.calls.iter().enumerate().filter(|(_, call)| call.status == CallStatus::Pending);
            let batch: Vec<usize> =
                pending.take_while(|(_, call)| !is_submit(call)).map(|(index, _)| index).collect();
            if !batch.is_empty() {
                let calls: Vec<ToolCall> = batch.iter().map(|index| turn.calls[*index].call()).collect();
                self.phase = Phase::RunningTools(batch);
                self.step = Step::RunTools(calls);
                return;
            }
            let Some(submit) = turn.calls.iter_mut().find(|call| call.status == CallStatus::Pending) else {
                return self.end_turn();
            };
            let sql = submit.args.get("sql").and_then(|sql| sql.as_str()).unwrap_or_default().to_owned();
            let open = match self.trace.config.submit_gate {
                SubmitGate::Open => true,
                SubmitGate::AfterSameQuery => self.worked.contains(&comparable(&sql)),
            };
            if open {
                submit.status = CallStatus::Submitted;
                for call in turn.calls.iter_mut().filter(|call| call.status == CallStatus::Pending) {
                    call.status = CallStatus::NotRun;
                }
                return self.finish(EndedBy::SubmitSql, Some((sql, SqlSource::SubmitSql)), None);
            }
            submit.status = CallStatus::Rejected;
            submit.result = Some(ToolOutcome::error(self.trace.config.texts.submit_refused.clone()));
        }
    }

    /// All calls have their answers: the next turn is prepared.
    fn end_turn(&mut self) {
        let Some(turn) = self.trace.turns.last() else { return };
        self.results = match &turn.no_call {
            Some(text) => vec![text.clone()],
            None => {
                let results = turn.calls.iter().filter_map(|call| call.result.as_ref());
                results.map(|result| result.text.clone()).collect()
            }
        };
        for call in &turn.calls {
            if call.is_working_query() {
                self.failed_in_a_row = 0;
            } else if call.is_failed_query() {
                self.failed_in_a_row += 1;
            }
        }
        self.final_turn = if self.tool_turns_left == 0 {
            Some(FinalTurnReason::ToolTurns)
        } else if self.failed_in_a_row >= self.limits().max_failed_queries {
            Some(FinalTurnReason::FailedQueries)
        } else {
            None
        };
        let withheld = self.far_too_long();
        self.measure(match self.final_turn {
            None => Draft::Results { withheld },
            Some(_) => Draft::Final { withheld: Some(withheld), query: true },
        });
    }

    // The end.

    /// The final answer was empty, or `failed` with an error.
    fn answer_failed(&mut self, failed: Option<(String, String)>, cut_by_budget: bool) {
        let (sql, message) = match failed {
            Some((sql, error)) => (Some(sql), format!("the final answer failed: {error}")),
            None if cut_by_budget => {
                (None, "the token budget ended before the final answer was written".to_owned())
            }
            None => (None, "the final answer holds no query".to_owned()),
        };
        match (&self.last_query, sql) {
            (Some(_), _) => self.stand_in(EndedBy::FallbackToLastWorkingQuery, Some(message)),
            (None, Some(sql)) => {
                self.finish(EndedBy::FinalTurn, Some((sql, SqlSource::FinalTurn)), Some(message));
            }
            (None, None) => {
                let ended_by = if cut_by_budget { EndedBy::TokenBudget } else { EndedBy::FinalTurn };
                self.finish(ended_by, None, Some(message));
            }
        }
    }

    /// Ends with the last working query, where there is one, in place of an answer.
    fn stand_in(&mut self, ended_by: EndedBy, message: Option<String>) {
        let sql = self.last_query.clone().map(|sql| (sql, SqlSource::LastWorkingQuery));
        self.finish(ended_by, sql, message);
    }

    fn finish(&mut self, ended_by: EndedBy, sql: Option<(String, SqlSource)>, message: Option<String>) {
        if self.trace.outcome.is_some() {
            return;
        }
        let (sql, source) = sql.unzip();
        // The reason counts only where the turn was really begun.
        let begun = self.trace.turns.last().is_some_and(|turn| turn.kind == TurnKind::Final);
        let outcome = Outcome {
            sql,
            source,
            ended_by,
            final_turn: self.final_turn.filter(|_| begun),
            token_budget_hit: self.budget_hit,
            message,
        };
        self.phase = Phase::Done;
        self.step = Step::Done(outcome.clone());
        self.trace.outcome = Some(outcome);
    }
}

/// A query without the differences that do not matter to the submit gate.
fn comparable(sql: &str) -> String {
    let words: Vec<&str> = sql.split_whitespace().collect();
    words.join(" ").trim_end_matches([';', ' ']).to_owned()
}
