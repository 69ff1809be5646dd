//! Plays whole episodes with a model in training, and keeps its tokens.

use crate::error::{Error, Result};
use crate::tools::tools_on;
use glowworm_agent::{EpisodeConfig, GenerateRequest, Segment, Stop, Trace};
use glowworm_model::Tokenizer;
use glowworm_model::reference::{CpuModel, Model, Weights, cpu};
use glowworm_session::{
    DatabaseTools, Generated, LanguageModel, ReferenceDecoder, Sampling, TokenModel, run,
};
use std::ops::ControlFlow;

/// Tokens of an episode at most. The longest ideal one has some 800.
pub const EPISODE_TOKENS: u64 = 2048;
/// Tokens of a turn at most.
pub const TURN_TOKENS: u64 = 256;

/// A copy of a model on the processor and without gradients, wherever the original is.
///
/// # Errors
/// When the device cannot be read.
pub fn on_cpu(model: &Model) -> Result<Model> {
    let mut weights: Weights = model.weights()?;
    Ok(Model::from_source(model.config().clone(), &mut weights, &cpu())?)
}

/// Lets each of `threads` threads, one at least, do `work`, and gives back all that they made, in no order.
///
/// # Errors
/// The first error of a thread.
pub fn on_threads<T: Send>(threads: usize, work: impl Fn() -> Result<Vec<T>> + Sync) -> Result<Vec<T>> {
    let parts: Vec<Result<Vec<T>>> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..threads.max(1)).map(|_| scope.spawn(&work)).collect();
        threads
            .into_iter()
            .map(|t| t.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
            .collect()
    });
    let mut all = Vec::new();
    for part in parts {
        all.extend(part?);
    }
    Ok(all)
}

/// A played episode.
#[derive(Clone, Debug)]
pub struct Played {
    /// What happened.
    pub trace: Trace,
    /// Every token of it.
    pub tokens: Vec<u32>,
    /// Which of them the model wrote.
    pub written: Vec<bool>,
}

impl Played {
    /// Its answer.
    pub fn sql(&self) -> Option<&str> {
        self.trace.outcome.as_ref().and_then(|outcome| outcome.sql.as_deref())
    }
}

/// A model that plays.
pub struct Player {
    model: Recorder,
}

impl Player {
    /// A player with a model on the processor ([`on_cpu`]) and the text of its tokenizer.json.
    ///
    /// # Errors
    /// When the tokenizer cannot be read.
    pub fn new(model: Model, tokenizer: &str) -> Result<Self> {
        let tokenizer = Tokenizer::from_json(tokenizer)?;
        let stop =
            tokenizer.token("<|im_end|>").ok_or_else(|| Error::Tokenizer("it has no <|im_end|>".into()))?;
        let decoder = ReferenceDecoder::new(CpuModel::new(model), tokenizer.len());
        let inner = TokenModel::new(decoder, tokenizer, Sampling::GREEDY);
        Ok(Self { model: Recorder { inner, stop, turns: Vec::new() } })
    }

    /// Plays an episode on the database whose file `image` is.
    ///
    /// # Errors
    /// When the image is no database, or the settings are none that an episode can run with.
    pub fn play(&mut self, image: &[u8], mut config: EpisodeConfig, sampling: Sampling) -> Result<Played> {
        config.limits = glowworm_agent::Limits {
            max_turn_tokens: Some(TURN_TOKENS),
            ..glowworm_agent::Limits::with_token_budget(EPISODE_TOKENS)
        };
        self.model.inner.set_sampling(sampling);
        let mut tools = DatabaseTools::new(tools_on(image)?);
        let trace = pollster::block_on(run(config, &mut self.model, &mut tools, &mut ()));
        let trace = trace.map_err(|e| Error::Tools(e.to_string()))?;
        let (tokens, written) = self.model.tokens();
        Ok(Played { trace, tokens, written })
    }
}

/// A turn's place among the tokens of an episode.
struct Turn {
    start: usize,
    end: usize,
    stopped: bool,
}

/// A [`TokenModel`] that remembers which tokens it wrote.
struct Recorder {
    inner: TokenModel<ReferenceDecoder>,
    /// The token that ends a turn.
    stop: u32,
    turns: Vec<Turn>,
}

impl Recorder {
    /// The tokens of the episode, and which of them the model wrote. The stop token of a turn is its own, though it is the
    /// protocol that puts it into the context; after the last turn it is added.
    fn tokens(&self) -> (Vec<u32>, Vec<bool>) {
        let mut tokens = self.inner.context().to_vec();
        let mut written = vec![false; tokens.len()];
        for turn in &self.turns {
            written[turn.start..turn.end].fill(true);
            if turn.stopped {
                if turn.end == tokens.len() {
                    tokens.push(self.stop);
                    written.push(true);
                } else if tokens[turn.end] == self.stop {
                    written[turn.end] = true;
                }
            }
        }
        (tokens, written)
    }
}

impl LanguageModel for Recorder {
    type Error = glowworm_session::Error;

    fn begin(&mut self) {
        self.turns.clear();
        self.inner.begin();
    }

    fn measure(&mut self, append: &[Segment]) -> glowworm_session::Result<u64> {
        self.inner.measure(append)
    }

    async fn generate(
        &mut self,
        request: &GenerateRequest,
        on_text: &mut dyn FnMut(&str) -> ControlFlow<()>,
    ) -> glowworm_session::Result<Generated> {
        let generated = self.inner.generate(request, on_text).await?;
        let end = self.inner.context().len();
        let start = end - generated.tokens.generated as usize;
        self.turns.push(Turn { start, end, stopped: generated.stop == Stop::EndOfTurn });
        Ok(generated)
    }
}
