//! Many episodes at once: the model reads one token of each a step.
//!
//! A step over thirty sequences takes little longer than one over a single one, since what it costs is the launching of
//! operations (on a GPU more so). Episodes differ in length and wait for tools at different times, yet they stay in step: what was
//! appended to one is read while another writes. An episode that is over leaves the batch.

use burn::tensor::{Int, Tensor, TensorData};
use glowworm_model::reference::{Capture, Model, State};
use glowworm_session::{DecodeStop as Stop, Decoded, Decoder, Draw, Error, GenerateOptions, Result};
use std::cell::RefCell;
use std::future::poll_fn;
use std::ops::ControlFlow;
use std::rc::Rc;
use std::task::Poll;

/// The sequences of the episodes that are played together, and the model that reads them.
pub(super) struct Batch {
    model: Model,
    /// Ids from here on have no token and are never chosen.
    vocabulary: usize,
    state: State,
    /// Which sequence each row of the state is.
    rows: Vec<usize>,
    sequences: Vec<Sequence>,
}

/// One episode's tokens.
#[derive(Default)]
struct Sequence {
    /// Tokens that were appended or written. The one that ends a turn is the next append's to add.
    tokens: Vec<u32>,
    /// So many of them the model has read.
    read: usize,
    turn: Option<Turn>,
    over: bool,
}

/// What a sequence is writing.
struct Turn {
    draw: Draw,
    most: usize,
    stops: Vec<u32>,
    written: Vec<u32>,
    ended: Option<Stop>,
}

impl Batch {
    /// `count` empty sequences for a model.
    pub(super) fn new(model: Model, vocabulary: usize, count: usize) -> Self {
        let state = model.start(count);
        let sequences = (0..count).map(|_| Sequence::default()).collect();
        Self { model, vocabulary, state, rows: (0..count).collect(), sequences }
    }

    /// Takes a sequence out.
    pub(super) fn leave(&mut self, sequence: usize) {
        self.sequences[sequence].over = true;
    }

    /// Lets the model read the next token of every sequence, and writes where a turn has read all that there is.
    ///
    /// # Errors
    /// When the device cannot be read.
    pub(super) fn step(&mut self) -> Result<()> {
        let alive: Vec<usize> =
            (0..self.rows.len()).filter(|&row| !self.sequences[self.rows[row]].over).collect();
        // Leaving copies the state of those who stay: not for every one.
        if alive.len() * 8 < self.rows.len() * 7 {
            self.state = self.state.rows(&self.indices(&alive));
            self.rows = alive.iter().map(|&row| self.rows[row]).collect();
        }
        let next = |sequence: &Sequence| sequence.tokens.get(sequence.read).copied().unwrap_or(0);
        let ids: Vec<u32> = self.rows.iter().map(|&at| next(&self.sequences[at])).collect();
        let ids = self.model.ids(&ids).reshape([ids.len(), 1]);
        let hidden = self.model.hidden(ids, Some(&mut self.state), &mut Capture::off());
        let mut writing = Vec::new();
        for (row, &at) in self.rows.iter().enumerate() {
            let sequence = &mut self.sequences[at];
            sequence.read = (sequence.read + 1).min(sequence.tokens.len());
            let waits = sequence.turn.as_ref().is_some_and(|turn| turn.ended.is_none());
            if waits && !sequence.over && sequence.read == sequence.tokens.len() {
                writing.push(row);
            }
        }
        if writing.is_empty() {
            return Ok(());
        }
        let logits = self.model.logits(hidden.select(0, self.indices(&writing)));
        let width = logits.dims()[2];
        let values: Vec<f32> = logits
            .try_into_vec_as()
            .map_err(|error| Error::Decoder { reason: format!("the device cannot be read: {error}") })?;
        for (row, values) in writing.into_iter().zip(values.chunks(width)) {
            self.sequences[self.rows[row]].write(&values[..self.vocabulary.min(width)]);
        }
        Ok(())
    }

    /// Rows as a tensor on the model's device.
    fn indices(&self, rows: &[usize]) -> Tensor<1, Int> {
        let rows: Vec<i32> = rows.iter().map(|&row| row as i32).collect();
        let count = rows.len();
        Tensor::from_data(TensorData::new(rows, [count]), &self.model.device())
    }

    /// Begins a turn after `context`. Gives back how much of it was there already.
    fn begin(&mut self, sequence: usize, context: &[u32], options: &GenerateOptions<'_>) -> Result<usize> {
        let sequence = &mut self.sequences[sequence];
        let held = sequence.tokens.len();
        if held >= context.len() || !context.starts_with(&sequence.tokens) {
            return Err(Error::Decoder { reason: "an episode in a batch can only be gone on with".into() });
        }
        sequence.tokens.extend_from_slice(&context[held..]);
        sequence.turn = Some(Turn {
            draw: Draw::new(&options.sampling, context.len()),
            most: options.max_tokens,
            stops: options.stop_tokens.to_vec(),
            written: Vec::new(),
            ended: (options.max_tokens == 0).then_some(Stop::Length),
        });
        Ok(held)
    }

    /// What the turn of a sequence wrote, once it has ended.
    fn take(&mut self, sequence: usize) -> Option<(Vec<u32>, Stop)> {
        let turn = &mut self.sequences[sequence].turn;
        let stop = turn.as_ref()?.ended?;
        turn.take().map(|turn| (turn.written, stop))
    }
}

impl Sequence {
    /// Chooses the next token.
    fn write(&mut self, logits: &[f32]) {
        let Some(turn) = &mut self.turn else { return };
        let token = turn.draw.choose(logits);
        turn.written.push(token);
        if turn.stops.contains(&token) {
            turn.ended = Some(Stop::Token);
        } else if turn.written.len() >= turn.most {
            turn.ended = Some(Stop::Length);
        } else {
            self.tokens.push(token);
        }
    }
}

/// One sequence of a batch as a decoder. It waits until others have brought the batch forward.
pub(super) struct Lockstep {
    pub(super) batch: Rc<RefCell<Batch>>,
    pub(super) sequence: usize,
}

impl Decoder for Lockstep {
    fn share_prefix(&mut self, _prefix: &[u32]) {}

    async fn decode(
        &mut self,
        context: &[u32],
        options: &GenerateOptions<'_>,
        on_tokens: &mut dyn FnMut(&[u32]) -> ControlFlow<()>,
    ) -> Result<Decoded> {
        let reused = self.batch.borrow_mut().begin(self.sequence, context, options)?;
        let ended =
            poll_fn(|_| self.batch.borrow_mut().take(self.sequence).map_or(Poll::Pending, Poll::Ready));
        let (tokens, stop) = ended.await;
        let stop = match on_tokens(&tokens) {
            ControlFlow::Break(()) if stop != Stop::Token => Stop::Cancelled,
            _ => stop,
        };
        Ok(Decoded { tokens, stop, reused })
    }
}
