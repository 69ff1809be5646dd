//! The training loop.

use super::batches::{Batch, Position, Reading, Stream, list};
use super::checkpoint::{self, Stage, Standing};
use super::initialise::initialise;
use super::loss::Targets;
use super::optimiser::{Division, Gradients, Names, Optimiser, Rates};
use super::schedule::Schedule;
use super::shape::Shape;
use crate::error::{Error, Result};
use burn::module::Module;
use burn::optim::GradientsParams;
use glowworm_model::reference::{Device, Model};
use sha2::{Digest, Sha256};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Tokens that a chunk of the delta rule has in training: the fastest of 16, 32 and 64, forward and backward. Shorter
/// than for reading prompts: with the backward pass the work inside of chunks weighs more than the steps between them.
pub const CHUNK: usize = 32;

/// What a run is made of.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Folder of the shards.
    pub data: PathBuf,
    /// The model's sizes; a run that goes on keeps its own.
    pub shape: Shape,
    /// The most tokens of a batch.
    pub budget: usize,
    /// Longer episodes are left out.
    pub longest: usize,
    /// Batches of a step; each is worked on in a thread of its own.
    pub ranks: usize,
    /// Full learning rates.
    pub rates: Rates,
    /// How they go with the steps.
    pub schedule: Schedule,
    /// Seed of the start and of the order.
    pub seed: u64,
    /// Commit of this program, for the record; empty where it is not known.
    pub commit: String,
}

/// One step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Report {
    /// Mean loss of a token.
    pub loss: f64,
    /// Share of tokens that were the likeliest.
    pub accuracy: f64,
    /// Tokens of the batches.
    pub tokens: usize,
    /// Length of AdamW's gradient before it was cut.
    pub gradient: f64,
}

/// How far a run is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Progress {
    /// Steps done.
    pub step: u64,
    /// Tokens seen so far.
    pub tokens: u64,
    /// Running mean of the loss.
    pub loss: f64,
    /// Running mean of the accuracy.
    pub accuracy: f64,
    /// Tokens a second since the last report.
    pub tokens_per_second: f64,
    /// Seconds that the rest takes at this speed.
    pub seconds_left: f64,
    /// Share of the full rate.
    pub rate: f64,
    /// Whether a checkpoint was just written.
    pub saved: bool,
}

/// A model in training.
pub struct Trainer {
    run: PathBuf,
    settings: Settings,
    model: Model,
    names: Names,
    optimiser: Optimiser,
    streams: Vec<Stream>,
    standing: Standing,
}

impl Trainer {
    /// Begins a run in a folder, or goes on from the checkpoint that is there.
    ///
    /// # Errors
    /// When the data or the checkpoint cannot be read, or the settings cannot be used.
    pub fn start(run: &Path, settings: Settings, device: &Device) -> Result<Self> {
        if settings.ranks == 0 || settings.budget == 0 {
            return Err(Error::Settings("--ranks and --budget must be at least 1".into()));
        }
        std::fs::create_dir_all(run).map_err(Error::file(run))?;
        let device = device.clone().autodiff();
        let optimiser = Optimiser::new(Division::MuonAndAdam);
        let (model, optimiser, mut standing) = match checkpoint::load(run)? {
            Some(saved) => saved.build(optimiser, &device)?,
            None => {
                let model = initialise(&settings.shape, settings.seed, &device)?;
                let (data, shape) = (&settings.data, settings.shape.clone());
                (model, optimiser, Standing::new(data, settings.seed, shape, settings.ranks))
            }
        };
        let goes_on = standing.data == settings.data && standing.positions.len() == settings.ranks;
        if !goes_on {
            standing.data.clone_from(&settings.data);
            standing.positions = vec![Position::default(); settings.ranks];
        }
        let (data, commit) = (hash(&settings.data)?, settings.commit.clone());
        let same = standing.stages.last().is_some_and(|s| s.data == data && s.commit == commit);
        if !same {
            standing.stages.push(Stage { data, commit, from: standing.step });
        }
        let streams = standing.positions.iter().enumerate().map(|(rank, position)| {
            let reading = Reading {
                folder: settings.data.clone(),
                rank,
                ranks: settings.ranks,
                budget: settings.budget,
                longest: settings.longest,
                seed: standing.seed,
            };
            Stream::new(reading, *position)
        });
        let streams = streams.collect();
        let model = model.with_chunk(CHUNK);
        let names = Names::of(&model);
        Ok(Self { run: run.to_owned(), settings, model, names, optimiser, streams, standing })
    }

    /// The model.
    pub fn model(&self) -> &Model {
        &self.model
    }

    /// Where the run stands.
    pub fn standing(&self) -> &Standing {
        &self.standing
    }

    /// Does one step: a batch on each rank, the mean of their gradients, one move of the weights.
    ///
    /// # Errors
    /// When the data cannot be read, or the loss is no number.
    pub fn step(&mut self) -> Result<Report> {
        let batches = self.streams.iter_mut().map(Stream::take).collect::<Result<Vec<_>>>()?;
        let (model, names) = (&self.model, &self.names);
        let parts = match &batches[..] {
            [one] => vec![pass(model, one)],
            all => std::thread::scope(|scope| {
                // Each rank has leaves of its own: graphs that share some would wait for each other.
                let fork = || model.clone().fork(&model.device());
                let threads: Vec<_> = all
                    .iter()
                    .map(|batch| {
                        let model = fork();
                        scope.spawn(move || pass(&model, batch))
                    })
                    .collect();
                threads
                    .into_iter()
                    .map(|t| t.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
                    .collect()
            }),
        };
        let mut gradients = Gradients::new(parts.len());
        let (mut loss, mut right) = (0.0, 0.0);
        for part in parts {
            gradients.add(model, names, part.gradients);
            loss += part.loss / batches.len() as f64;
            right += part.right / batches.len() as f64;
        }
        if !loss.is_finite() {
            return Err(Error::Diverged { step: self.standing.step, loss });
        }
        let rates = self.settings.rates.times(self.settings.schedule.factor(self.standing.step));
        let moved = self.optimiser.step(self.model.clone(), &self.names, gradients, rates)?;
        self.model = moved.0;
        let tokens = batches.iter().map(|b| b.tokens).sum();
        self.standing.step += 1;
        self.standing.tokens += tokens as u64;
        for (position, stream) in self.standing.positions.iter_mut().zip(&self.streams) {
            *position = stream.position();
        }
        let before = self.standing.means.unwrap_or((loss, right));
        self.standing.means = Some((0.97 * before.0 + 0.03 * loss, 0.97 * before.1 + 0.03 * right));
        Ok(Report { loss, accuracy: right, tokens, gradient: moved.1 })
    }

    /// Writes a checkpoint.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn save(&self) -> Result<()> {
        checkpoint::save(&self.run, &self.model, &self.optimiser, &self.standing)
    }

    /// Steps to the end of the schedule, or until `stop`. Reports every `every` steps and at checkpoints, which are
    /// written every `save` and at the end.
    ///
    /// # Errors
    /// As [`Trainer::step`] and [`Trainer::save`].
    pub fn train(
        &mut self,
        every: u64,
        save: Duration,
        stop: &dyn Fn() -> bool,
        report: &mut dyn FnMut(Progress) -> Result<()>,
    ) -> Result<()> {
        let (mut saved, mut reported, mut tokens) = (Instant::now(), Instant::now(), 0);
        while self.standing.step < self.settings.schedule.steps {
            tokens += self.step()?.tokens;
            let step = self.standing.step;
            let last = step >= self.settings.schedule.steps || stop();
            let saves = last || saved.elapsed() >= save;
            if saves {
                self.save()?;
                saved = Instant::now();
            }
            if saves || step.is_multiple_of(every.max(1)) {
                let speed = tokens as f64 / reported.elapsed().as_secs_f64().max(1e-9);
                let a_step = self.standing.tokens as f64 / step as f64;
                let left = self.settings.schedule.steps.saturating_sub(step);
                let (loss, accuracy) = self.standing.means.unwrap_or_default();
                report(Progress {
                    step,
                    tokens: self.standing.tokens,
                    loss,
                    accuracy,
                    tokens_per_second: speed,
                    seconds_left: left as f64 * a_step / speed.max(1e-9),
                    rate: self.settings.schedule.factor(step.saturating_sub(1)),
                    saved: saves,
                })?;
                (reported, tokens) = (Instant::now(), 0);
            }
            if last {
                break;
            }
        }
        Ok(())
    }
}

/// What one rank computes.
struct Part {
    loss: f64,
    right: f64,
    gradients: GradientsParams,
}

fn pass(model: &Model, batch: &Batch) -> Part {
    let targets = Targets::new(batch, &model.device());
    if targets.is_empty() {
        return Part { loss: 0.0, right: 0.0, gradients: GradientsParams::new() };
    }
    let (loss, right) = targets.loss(model);
    let gradients = GradientsParams::from_grads(loss.backward(), model);
    let number = |x: burn::tensor::Tensor<1>| f64::from(x.into_scalar::<f32>());
    Part { loss: number(loss.inner()), right: number(right), gradients }
}

/// SHA-256 over the shards of a folder in the order of their names, each with its length before it.
///
/// # Errors
/// When one cannot be read.
pub fn hash(folder: &Path) -> Result<String> {
    let mut hasher = Sha256::new();
    for shard in list(folder)? {
        let bytes = std::fs::read(&shard).map_err(Error::file(&shard))?;
        hasher.update((bytes.len() as u64).to_le_bytes());
        hasher.update(&bytes);
    }
    Ok(hasher.finalize().iter().map(|byte| format!("{byte:02x}")).collect())
}
