//! The agent's episode on a database, up to each turn the model must write.
//!
//! The oracle, the evaluation and the program drive one state machine, so that what is trained on is what is met later.

use crate::error::{Error, Result};
use crate::tools::tools_on;
use glowworm_agent::{
    Completion, Episode, EpisodeConfig, Limits, Outcome, Prompt, PromptOrigin, Segment, SqlCheck, Step, Stop,
    TokenCounts, ToolOutcome,
};
use glowworm_database::{NativeDatabase, Tools};
use serde_json::{Map, json};

/// The built-in model's system turn (also in the GGUF, as `glowworm.system_prompt`).
pub const SYSTEM_PROMPT: &str = include_str!("../prompts/system.txt");
/// Its user turn; `{question}` is the question (`glowworm.user_template`).
pub const USER_TEMPLATE: &str = include_str!("../prompts/user.txt");

/// The episode of a question, in the built-in model's own words.
pub fn config(question: &str) -> EpisodeConfig {
    let segments = vec![
        Segment::Markup("<|im_start|>system\n".into()),
        Segment::Text(SYSTEM_PROMPT.into()),
        Segment::Markup("<|im_end|>\n<|im_start|>user\n".into()),
        Segment::Text(USER_TEMPLATE.replace("{question}", question)),
        Segment::Markup("<|im_end|>\n<|im_start|>assistant\n<think>\n".into()),
    ];
    EpisodeConfig::new(
        question,
        Prompt { system_from: PromptOrigin::Given, user_from: PromptOrigin::Given, segments },
    )
}

/// What the model must write next, or the end.
#[derive(Debug)]
pub enum Next {
    /// These segments are new; then the model writes.
    Write(Vec<Segment>),
    /// The episode is over.
    Done(Box<Outcome>),
}

/// An episode with its tools.
pub struct Machine {
    episode: Episode,
    tools: Tools<NativeDatabase>,
    appended: u64,
}

impl Machine {
    /// Begins an episode on the database whose file `image` is.
    ///
    /// # Errors
    /// When the image is no database.
    pub fn start(image: &[u8], question: &str) -> Result<(Self, Next)> {
        let mut config = config(question);
        // Bytes are counted here in place of tokens; no episode comes near this.
        config.limits = Limits::with_token_budget(1 << 22);
        let episode = Episode::new(config).map_err(|e| Error::Tools(e.to_string()))?;
        let mut machine = Self { episode, tools: tools_on(image)?, appended: 0 };
        let next = machine.advance()?;
        Ok((machine, next))
    }

    /// Tool turns that are left.
    pub fn left(&self) -> u32 {
        self.episode.tool_turns_left()
    }

    /// The last query that ran.
    pub fn last_query(&self) -> Option<&str> {
        self.episode.last_working_query()
    }

    /// The model has written `text` (without the stop token).
    ///
    /// # Errors
    /// When no turn was asked for.
    pub fn reply(&mut self, text: &str) -> Result<Next> {
        let completion = Completion {
            text: text.to_owned(),
            tokens: TokenCounts { appended: self.appended, generated: 1 },
            stop: Stop::EndOfTurn,
            started_ms: 0,
            ended_ms: 0,
        };
        self.episode.completed(completion).map_err(|e| Error::Tools(e.to_string()))?;
        self.advance()
    }

    fn advance(&mut self) -> Result<Next> {
        let fail = |e: glowworm_agent::Error| Error::Tools(e.to_string());
        loop {
            match self.episode.step().clone() {
                Step::Measure(append) => {
                    self.appended = append.iter().map(|s| s.as_str().len() as u64).sum();
                    self.episode.measured(self.appended).map_err(fail)?;
                }
                Step::Generate(request) => return Ok(Next::Write(request.append)),
                Step::RunTools(calls) => {
                    let outcomes = calls.iter().map(|c| {
                        let out = self.tools.call(&c.name, &c.args);
                        ToolOutcome { text: out.text, is_error: out.is_error, ..ToolOutcome::default() }
                    });
                    let outcomes = outcomes.collect();
                    self.episode.tool_results(outcomes).map_err(fail)?;
                }
                Step::CheckSql(sql) => {
                    let mut args = Map::new();
                    args.insert("sql".into(), json!(sql));
                    let out = self.tools.call("run_query", &args);
                    let check = if out.is_error { SqlCheck::fails(out.text) } else { SqlCheck::runs() };
                    self.episode.sql_checked(check).map_err(fail)?;
                }
                Step::Done(outcome) => return Ok(Next::Done(Box::new(outcome))),
            }
        }
    }
}
