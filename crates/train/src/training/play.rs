//! Plays whole episodes with a model in training, and keeps its tokens.

use super::lockstep::{Batch, Lockstep};
use crate::error::{Error, Result};
use crate::tools::tools_on;
use glowworm_agent::{EpisodeConfig, GenerateRequest, Limits, Segment, Stop, Trace};
use glowworm_model::Tokenizer;
use glowworm_model::reference::{Model, Weights, cpu};
use glowworm_session::{DatabaseTools, Generated, LanguageModel, Sampling, TokenModel, run};
use std::cell::RefCell;
use std::future::Future;
use std::ops::{ControlFlow, Range};
use std::rc::Rc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, Waker};

/// Tokens of an episode at most. The longest ideal one has some 800.
const EPISODE_TOKENS: u64 = 2048;
/// Tokens of a turn at most.
const TURN_TOKENS: u64 = 256;

/// The limits of the episodes that are played.
pub fn limits() -> Limits {
    Limits { max_turn_tokens: Some(TURN_TOKENS), ..Limits::with_token_budget(EPISODE_TOKENS) }
}

/// A copy of a model on the processor and without gradients, wherever the original is.
///
/// # Errors
/// When the device cannot be read.
pub fn on_cpu(model: &Model) -> Result<Model> {
    let mut weights: Weights = model.weights()?;
    Ok(Model::from_source(model.config().clone(), &mut weights, &cpu())?)
}

/// Lets `threads` threads, one at least, do `work` on the parts of `0..count`, `size` of it at a time, and gives back all that
/// they made, in no order. `go_on` is asked before every part; what was not begun then is left out.
///
/// # Errors
/// The first error of a thread.
pub fn in_parts<T: Send>(
    threads: usize,
    count: usize,
    size: usize,
    go_on: impl Fn() -> bool + Sync,
    work: impl Fn(Range<usize>) -> Result<Vec<T>> + Sync,
) -> Result<Vec<T>> {
    let next = AtomicUsize::new(0);
    let share = || {
        let mut made = Vec::new();
        loop {
            let first = next.fetch_add(size, Ordering::Relaxed);
            if first >= count || !go_on() {
                return Ok(made);
            }
            made.extend(work(first..count.min(first + size))?);
        }
    };
    let parts: Vec<Result<Vec<T>>> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..threads.max(1)).map(|_| scope.spawn(share)).collect();
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

/// An episode that is to be played.
pub struct Job<'a> {
    /// The file of its database.
    pub image: &'a [u8],
    /// The question and how it begins.
    pub config: EpisodeConfig,
    /// How tokens are chosen.
    pub sampling: Sampling,
}

/// Plays episodes with a model on the processor ([`on_cpu`]) and the text of its tokenizer.json, all of them
/// [in step](super::lockstep). How many there are together may change the last bits of a logit, and no more.
///
/// # Errors
/// When the tokenizer cannot be read, an image is no database, or the settings are none that an episode can run with.
pub fn play(model: &Model, tokenizer: &str, jobs: Vec<Job<'_>>) -> Result<Vec<Played>> {
    let words = Tokenizer::from_json(tokenizer)?;
    let stop = words.token("<|im_end|>").ok_or_else(|| Error::Tokenizer("it has no <|im_end|>".into()))?;
    let batch = Rc::new(RefCell::new(Batch::new(model.clone(), words.len(), jobs.len())));
    let mut playing = Vec::new();
    for (sequence, mut job) in jobs.into_iter().enumerate() {
        job.config.limits = limits();
        let decoder = Lockstep { batch: Rc::clone(&batch), sequence };
        // Reading the tokenizer again is cheap next to an episode.
        let inner = TokenModel::new(decoder, Tokenizer::from_json(tokenizer)?, job.sampling);
        let mut model = Recorder { inner, stop, turns: Vec::new() };
        let mut tools = DatabaseTools::new(tools_on(job.image)?);
        playing.push(Some(Box::pin(async move {
            let trace = run(job.config, &mut model, &mut tools, &mut ()).await;
            let trace = trace.map_err(|e| Error::Tools(e.to_string()))?;
            let (tokens, written) = model.tokens();
            Ok::<_, Error>(Played { trace, tokens, written })
        })));
    }
    let mut played: Vec<Option<Played>> = playing.iter().map(|_| None).collect();
    let mut context = Context::from_waker(Waker::noop());
    loop {
        for (sequence, episode) in playing.iter_mut().enumerate() {
            let Some(future) = episode else { continue };
            if let Poll::Ready(result) = future.as_mut().poll(&mut context) {
                played[sequence] = Some(result?);
                *episode = None;
                batch.borrow_mut().leave(sequence);
            }
        }
        if playing.iter().all(Option::is_none) {
            return Ok(played.into_iter().flatten().collect());
        }
        batch.borrow_mut().step().map_err(|e| Error::Tools(e.to_string()))?;
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
    inner: TokenModel<Lockstep>,
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
