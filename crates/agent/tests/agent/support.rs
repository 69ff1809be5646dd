//! A host with a script in place of a model and a closure in place of a database.

use std::collections::VecDeque;

use glowworm_agent::{
    Completion, EpisodeConfig, GenerateRequest, Host, Prompt, PromptOrigin, Segment, SqlCheck, Stop,
    TokenCounts, ToolCall, ToolOutcome,
};

/// The opening as ChatML writes it.
pub fn config(question: &str) -> EpisodeConfig {
    let segments = vec![
        Segment::Markup("<|im_start|>system\n".into()),
        Segment::Text("S".into()),
        Segment::Markup("<|im_end|>\n<|im_start|>user\n".into()),
        Segment::Text(format!("Question: {question}")),
        Segment::Markup("<|im_end|>\n<|im_start|>assistant\n<think>\n".into()),
    ];
    let system_from = PromptOrigin::File { location: "agent.py".into(), constant: "SYSTEM_PROMPT".into() };
    EpisodeConfig::new(question, Prompt { system_from, user_from: PromptOrigin::Reconstruction, segments })
}

/// One token for every four bytes that were begun.
pub fn tokens(text: &str) -> u64 {
    text.len().div_ceil(4) as u64
}

pub fn tokens_of(segments: &[Segment]) -> u64 {
    segments.iter().map(|segment| tokens(segment.as_str())).sum()
}

type Tool<'a> = Box<dyn FnMut(&ToolCall) -> ToolOutcome + 'a>;

pub struct Script<'a> {
    turns: VecDeque<String>,
    tool: Tool<'a>,
    check: Option<String>,
    clock: u64,
    /// What was appended before each turn, markup and all.
    pub appended: Vec<String>,
    /// `max_tokens` of each turn.
    pub max_tokens: Vec<u64>,
    /// Calls that were run, by turn.
    pub ran: Vec<Vec<String>>,
    pub checked: Vec<String>,
}

impl<'a> Script<'a> {
    pub fn new(turns: &[&str], tool: impl FnMut(&ToolCall) -> ToolOutcome + 'a) -> Self {
        Self {
            turns: turns.iter().map(|turn| (*turn).to_owned()).collect(),
            tool: Box::new(tool),
            check: None,
            clock: 0,
            appended: Vec::new(),
            max_tokens: Vec::new(),
            ran: Vec::new(),
            checked: Vec::new(),
        }
    }

    /// Lets the final answer fail.
    pub fn failing_check(mut self, error: &str) -> Self {
        self.check = Some(error.into());
        self
    }
}

impl Host for Script<'_> {
    type Error = String;

    fn measure(&mut self, append: &[Segment]) -> Result<u64, String> {
        Ok(tokens_of(append))
    }

    fn generate(&mut self, request: &GenerateRequest) -> Result<Completion, String> {
        self.appended.push(request.append.iter().map(Segment::as_str).collect());
        self.max_tokens.push(request.max_tokens);
        let mut text = self.turns.pop_front().ok_or("the script is at its end")?;
        let mut stop = Stop::EndOfTurn;
        let most = request.max_tokens as usize * 4;
        if text.len() > most {
            text.truncate(most);
            stop = Stop::Length;
        }
        let counts = TokenCounts { appended: tokens_of(&request.append), generated: tokens(&text) };
        let started_ms = self.clock;
        self.clock += counts.generated;
        Ok(Completion { text, tokens: counts, stop, started_ms, ended_ms: self.clock })
    }

    fn run_tools(&mut self, calls: &[ToolCall]) -> Result<Vec<ToolOutcome>, String> {
        self.ran.push(calls.iter().map(|call| call.raw.clone()).collect());
        Ok(calls.iter().map(&mut self.tool).collect())
    }

    fn check_sql(&mut self, sql: &str) -> Result<SqlCheck, String> {
        self.checked.push(sql.into());
        Ok(SqlCheck { error: self.check.clone(), elapsed_ms: Some(1) })
    }
}
