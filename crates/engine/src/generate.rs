//! Generating: tokens are sampled on the GPU, several passes are queued at a time, and what was sampled is read back
//! together.
//!
//! # Drafts
//! The turns of an agent repeat themselves: names of tables, the frames of tool calls, whole queries that were run and are
//! then submitted. So after each token the GPU looks up where the last tokens occurred before and drafts what followed
//! then (`draft.wgsl`). The next pass, a *verify* pass, reads the weights once for all of them; the sampler draws a token
//! from the logits after each and goes on as long as it draws what was drafted. What it draws depends only on the logits
//! and the token's number, so the text is that of plain decoding, at any temperature.
//!
//! Attention forgets wrong drafts by overwriting their keys. A delta net cannot: its state is updated in place. So a verify
//! pass keeps the projections of its tokens and not the state after them, and the next one first repeats the cheap update
//! for those that were right (`delta_net.wgsl`); `Engine::settle` does it when no further pass comes.

use std::ops::ControlFlow;

use web_time::{Duration, Instant};

use crate::activations::Control;
use crate::engine::{Engine, encode};
use crate::error::{Error, Result};
use crate::plan::{Step, VERIFY_TOKENS};
use crate::sampling::{Sampling, SamplingUniform};
use crate::stopwatch::Stopwatch;

/// What one generation is to do.
#[derive(Debug, Clone, Copy)]
pub struct GenerateOptions<'a> {
    /// Stop after so many tokens at the latest.
    pub max_tokens: usize,
    /// How tokens are chosen.
    pub sampling: Sampling,
    /// Tokens that end the generation; the one that did is the last of the result. At most eight.
    pub stop_tokens: &'a [u32],
    /// Draft tokens from what the sequence said before. This changes the speed and never the tokens, and stops by itself
    /// when drafts are seldom right. Only where [`LoadOptions::drafts`](crate::LoadOptions::drafts) prepared for it.
    pub drafts: bool,
}

/// Why a generation ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stop {
    /// A stop token was sampled.
    Token,
    /// `max_tokens` were generated.
    Length,
    /// The receiver of the tokens asked to stop.
    Cancelled,
}

/// What a generation gave.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Generated {
    /// The tokens, a final stop token included.
    pub tokens: Vec<u32>,
    /// Why it ended.
    pub stop: Stop,
}

/// How long one readback's worth of decoding should take: short enough for a stop button to feel immediate.
const READBACK_INTERVAL: Duration = Duration::from_millis(120);

/// Most passes between readbacks.
const MOST_STRIDE: usize = 16;

/// What `sample.wgsl` stops with when the logits are no numbers.
const NO_NUMBERS: u32 = 2;

/// Passes with drafts after which it is judged whether they are worth it.
const DRAFT_TRIAL: u32 = 8;

impl Engine {
    /// Generates tokens after the sequence. `on_tokens` sees them in small groups, as they come, and may break off.
    ///
    /// # Errors
    /// [`Error::ContextFull`] when not one more token fits, [`Error::Usage`] when nothing was appended or the
    /// settings make no sense, a lost device. The sequence is as it was before, in the first two cases.
    /// [`Error::NoNumbers`] when the model computes none: the sequence is then forgotten.
    pub async fn generate(
        &mut self,
        options: &GenerateOptions<'_>,
        mut on_tokens: impl FnMut(&[u32]) -> ControlFlow<()>,
    ) -> Result<Generated> {
        if options.max_tokens == 0 {
            return Ok(Generated { tokens: Vec::new(), stop: Stop::Length });
        }
        let room = self.capacity().saturating_sub(self.len());
        if room == 0 {
            return Err(Error::ContextFull { capacity: self.capacity(), used: self.len(), wanted: 1 });
        }
        let rows = self.config.vocab_size;
        let vocab = self.options.vocabulary.unwrap_or(rows).min(rows);
        let start = self.len();
        let uniform = SamplingUniform::new(&options.sampling, vocab, rows, options.stop_tokens, start)?;
        self.refresh()?;
        let limit = options.max_tokens.min(room);
        self.gpu.queue.write_buffer(&self.sampling, 0, bytemuck::bytes_of(&uniform));
        let control =
            Control { count: self.fresh, limit: limit as u32, start: start as u32, ..self.control() };
        self.write_control(control);

        let mut tokens: Vec<u32> = Vec::new();
        let mut drafts = options.drafts && !self.passes.verify.is_empty();
        let (stop, mut control) = loop {
            let first = tokens.len();
            let started = Instant::now();
            let passes = self.stride.min(limit - first);
            let control = self.decode_and_read(first, passes, limit, drafts, &mut tokens).await?;
            if control.stopped == NO_NUMBERS {
                let position = start + tokens.len().saturating_sub(1);
                self.reset();
                return Err(Error::NoNumbers { position, adapter: self.gpu.description() });
            }
            self.adapt_stride(started.elapsed(), tokens.len() - first);
            let new = &tokens[first..];
            let flow = on_tokens(new);
            if tokens.last().is_some_and(|last| options.stop_tokens.contains(last)) {
                break (Stop::Token, control);
            }
            if tokens.len() >= limit || control.stopped != 0 {
                break (Stop::Length, control);
            }
            if flow.is_break() {
                break (Stop::Cancelled, control);
            }
            if drafts && !self.drafts_are_worthwhile(&control) {
                drafts = false;
                let settled = self.settle(control);
                self.write_control(settled);
            }
        };
        if drafts {
            control = self.settle(control);
        }

        // The model has read every token but the last.
        if let Some((last, read)) = tokens.split_last() {
            self.advance(read);
            self.pending = Some(*last);
        }
        self.flip = control.flip;
        self.fresh = 0;
        self.counters.draft_passes += u64::from(control.draft_passes);
        self.counters.accepted += u64::from(control.accepted);
        Ok(Generated { tokens, stop })
    }

    /// Queues `passes` samplings after `first` tokens have been sampled, with the passes between them, in one compute
    /// pass, and reads back what was sampled.
    async fn decode_and_read(
        &mut self,
        first: usize,
        passes: usize,
        limit: usize,
        drafts: bool,
        tokens: &mut Vec<u32>,
    ) -> Result<Control> {
        let plain = std::slice::from_ref(&self.sample);
        let (decode, head, sample, most): (&[Step], &[Step], &[Step], usize) = match drafts {
            true => (&self.passes.verify, &self.verify_head, &self.sample_and_draft, VERIFY_TOKENS),
            false => (&self.passes.decode, &self.head, plain, 1),
        };
        let watch = Stopwatch::start();
        let mut encoder = self.gpu.device.create_command_encoder(&Default::default());
        {
            let mut pass = encoder.begin_compute_pass(&Default::default());
            for index in 0..passes {
                // The first token comes of what was read before.
                let (decode, head) =
                    if first + index == 0 { (&[][..], &self.head[..]) } else { (decode, head) };
                // Each pass before this one may have sampled as many tokens as a pass can.
                let positions = (self.len() + first + index * most + most - 1) as u32;
                for step in decode.iter().chain(head).chain(sample).filter(|step| step.runs_at(positions)) {
                    step.encode(&mut pass, most as u32, positions);
                    self.counters.dispatches += 1;
                }
            }
        }
        let control_bytes = size_of::<Control>() as u64;
        let most_tokens = (passes * most).min(limit - first);
        let token_bytes = 4 * most_tokens as u64;
        encoder.copy_buffer_to_buffer(&self.buffers.control, 0, &self.readback, 0, control_bytes);
        let from = 4 * (self.len() + first) as u64;
        let sequence = &self.buffers.sequence;
        encoder.copy_buffer_to_buffer(sequence, from, &self.readback, control_bytes, token_bytes);
        self.gpu.queue.submit([encoder.finish()]);
        self.counters.encode_nanos += watch.elapsed().as_nanos() as u64;
        self.counters.passes += 1;
        self.counters.submits += 1;
        self.counters.readbacks += 1;
        let bytes = self.gpu.read(&self.readback, 0..control_bytes + token_bytes).await?;
        let (control, sampled) = bytes.split_at(size_of::<Control>());
        let control: Control = bytemuck::pod_read_unaligned(control);
        let count = (control.generated as usize).saturating_sub(first).min(most_tokens);
        tokens.extend(bytemuck::pod_collect_to_vec::<u8, u32>(sampled).into_iter().take(count));
        self.counters.tokens += count as u64 - u64::from(first == 0 && count > 0);
        Ok(control)
    }

    /// Brings the delta nets' state up to the tokens of the last verify pass that were right, so that any other pass may
    /// follow. Returns where the sequence then stands.
    fn settle(&mut self, control: Control) -> Control {
        if control.replay == 0 {
            return Control { count: 1, ..control };
        }
        self.write_control(Control { count: 0, stopped: 0, ..control });
        let mut encoder = self.gpu.device.create_command_encoder(&Default::default());
        encode(&mut encoder, &self.passes.settle, 0, 0);
        self.gpu.queue.submit([encoder.finish()]);
        self.counters.dispatches += self.passes.settle.len() as u64;
        self.counters.passes += 1;
        self.counters.submits += 1;
        Control { count: 1, replay: 0, flip: control.flip ^ 1, ..control }
    }

    /// Whether drafts were right often enough so far.
    fn drafts_are_worthwhile(&self, control: &Control) -> bool {
        let wanted = self.tuning.worthwhile_drafts() * control.draft_passes as f32;
        control.draft_passes < DRAFT_TRIAL || control.accepted as f32 >= wanted
    }

    /// Follows the measured speed with the number of passes between readbacks.
    fn adapt_stride(&mut self, elapsed: Duration, tokens: usize) {
        if tokens < self.stride {
            return; // stopped early: says nothing of the speed
        }
        if elapsed < READBACK_INTERVAL / 2 {
            self.stride = (self.stride * 2).min(MOST_STRIDE);
        } else if elapsed > READBACK_INTERVAL {
            self.stride = (self.stride / 2).max(1);
        }
    }
}
