//! The loop that ties the pieces together.

use super::advantage::{advantages, teaches};
use super::anchor::{Anchor, frozen};
use super::curriculum::{Curriculum, masked_length};
use super::gate;
use super::objective::{self, Group, Parts};
use super::rollout::{Episode, Problem, groups};
use super::subgraph;
use crate::error::{Error, Result};
use crate::lexicon::{Lexicon, Split};
use crate::rng::Rng;
use crate::sample::{Sample, sample};
use crate::schema::World;
use crate::training::batches::Batch;
use crate::training::checkpoint::{self, Standing};
use crate::training::loss::Targets;
use crate::training::optimiser::{Division, Gradients, Names, Optimiser, Rates};
use crate::training::trainer::CHUNK;
use burn::optim::GradientsParams;
use burn::tensor::Tensor;
use glowworm_model::reference::{Device, Model};
use std::path::Path;

/// What a run of GRPO is made of.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Steps.
    pub steps: u64,
    /// Questions of a step.
    pub questions: usize,
    /// Episodes of a question.
    pub group: usize,
    /// Moves of the weights with the episodes of a step.
    pub passes: usize,
    /// Learning rate.
    pub rate: f64,
    /// Weight of the divergence from the reference.
    pub beta: f64,
    /// The policy becomes the reference every so many steps; 0 for never.
    pub anchor: u64,
    /// The submit gate has opened after so many steps.
    pub gate: u64,
    /// Tables of a database at most.
    pub tables: usize,
    /// Seed of questions and episodes.
    pub seed: u64,
    /// Threads that play.
    pub threads: usize,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            steps: 100,
            questions: 4,
            group: 8,
            passes: 2,
            rate: 2e-5,
            beta: 0.01,
            anchor: 25,
            gate: 50,
            tables: subgraph::MOST,
            seed: 0,
            threads: 2,
        }
    }
}

/// One step.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Report {
    /// Mean reward of an episode.
    pub reward: f64,
    /// Share of episodes with the right answer.
    pub right: f64,
    /// Share that ended with `submit_sql`.
    pub submitted: f64,
    /// Share of groups whose episodes differ, and so teach.
    pub taught: f64,
    /// Tokens of all episodes.
    pub tokens: usize,
    /// Mean of k3 in the last pass.
    pub divergence: f64,
    /// Share of episodes whose ratio was clipped in the last pass.
    pub clipped: f64,
    /// Strength of the submit gate.
    pub gate: f64,
}

/// Samples whose gold lengths make the buckets.
const SURVEYED: u64 = 240;
/// Buckets of the curriculum.
const BUCKETS: usize = 4;
/// Draws for a question of a bucket before any will do.
const DRAWS: usize = 60;
/// Seeds of questions begin here; those of supervised training lie below.
const FIRST: u64 = 1 << 32;

/// A policy in training.
pub struct GrpoTrainer {
    settings: Settings,
    tokenizer: String,
    lexicon: Lexicon,
    curriculum: Curriculum,
    policy: Model,
    names: Names,
    optimiser: Optimiser,
    anchor: Anchor,
    standing: Standing,
}

impl GrpoTrainer {
    /// Begins with a model, which stands as `standing` says; its steps are counted from 0.
    ///
    /// # Errors
    /// When the settings cannot be used or the device cannot be read.
    pub fn new(
        model: &Model,
        mut standing: Standing,
        tokenizer: &str,
        settings: Settings,
        device: &Device,
    ) -> Result<Self> {
        let mut weights = model.weights()?;
        let policy = Model::from_source(model.config().clone(), &mut weights, &device.clone().autodiff())?;
        standing.step = 0;
        Self::with(policy, Optimiser::new(Division::AdamAlone), standing, tokenizer, settings)
    }

    /// Goes on from the checkpoint in a folder; nothing where there is none. The reference is the policy there.
    ///
    /// # Errors
    /// When the checkpoint is broken.
    pub fn resume(
        folder: &Path,
        tokenizer: &str,
        settings: Settings,
        device: &Device,
    ) -> Result<Option<Self>> {
        let Some(saved) = checkpoint::load(folder)? else { return Ok(None) };
        let (policy, optimiser, standing) =
            saved.build(Optimiser::new(Division::AdamAlone), &device.clone().autodiff())?;
        Self::with(policy, optimiser, standing, tokenizer, settings).map(Some)
    }

    fn with(
        policy: Model,
        optimiser: Optimiser,
        standing: Standing,
        tokenizer: &str,
        settings: Settings,
    ) -> Result<Self> {
        if settings.group < 2 || settings.questions == 0 || settings.passes == 0 {
            return Err(Error::Settings(
                "a group needs two episodes or more, and a step a question and a pass".into(),
            ));
        }
        let lexicon = Lexicon::load()?;
        let mut lengths = Vec::new();
        for seed in 0..SURVEYED {
            lengths
                .push(masked_length(&sample(&lexicon, Split::Train, FIRST - SURVEYED + seed)?.question.sql));
        }
        let policy = policy.with_chunk(CHUNK);
        Ok(Self {
            names: Names::of(&policy),
            anchor: Anchor::new(&policy, settings.anchor)?,
            curriculum: Curriculum::new(&lengths, BUCKETS),
            tokenizer: tokenizer.to_owned(),
            settings,
            lexicon,
            policy,
            optimiser,
            standing,
        })
    }

    /// The policy.
    pub fn policy(&self) -> &Model {
        &self.policy
    }

    /// Where the run stands.
    pub fn standing(&self) -> &Standing {
        &self.standing
    }

    /// Writes a checkpoint into a folder.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn save(&self, folder: &Path) -> Result<()> {
        std::fs::create_dir_all(folder).map_err(Error::file(folder))?;
        checkpoint::save(folder, &self.policy, &self.optimiser, &self.standing)
    }

    /// One step: draws questions, plays their groups, and learns from them.
    ///
    /// # Errors
    /// When a question or an episode cannot be made.
    pub fn step(&mut self) -> Result<Report> {
        let s = &self.settings;
        let step = self.standing.step;
        let strength = gate::strength(step, s.gate);
        let mut rng = Rng::new(s.seed ^ (step + 1).wrapping_mul(0xd134_2543_de82_ef95));
        let progress = step as f64 / s.steps.max(2).saturating_sub(1) as f64;
        let problems = (0..s.questions).map(|_| self.problem(progress, strength, &mut rng));
        let problems = problems.collect::<Result<Vec<_>>>()?;
        let groups = groups(&self.policy, &self.tokenizer, &problems, s.group, rng.bits(), s.threads)?;
        let report = self.learn(&groups)?;
        self.standing.step += 1;
        self.standing.tokens += report.tokens as u64;
        self.anchor.after(self.standing.step, &self.policy)?;
        Ok(Report { gate: strength, ..report })
    }

    fn problem(&self, progress: f64, strength: f64, rng: &mut Rng) -> Result<Problem> {
        let bucket = self.curriculum.draw(progress, rng);
        let mut own = self.draw(rng)?;
        for _ in 0..DRAWS {
            if self.curriculum.bucket(masked_length(&own.question.sql)) == bucket {
                break;
            }
            own = self.draw(rng)?;
        }
        let wanted = subgraph::size(self.settings.tables, rng);
        let mut others: Vec<Sample> = Vec::new();
        let tables = |others: &[Sample]| others.iter().map(|s| s.world.tables.len()).sum::<usize>();
        // Tables of one name are left out, so that a few more are needed.
        while own.world.tables.len() + tables(&others) < wanted + wanted / 4 {
            others.push(self.draw(rng)?);
        }
        let worlds: Vec<&World> = [&own.world].into_iter().chain(others.iter().map(|s| &s.world)).collect();
        let gold: Vec<usize> = own.question.tables.iter().map(|table| table.1).collect();
        let image = subgraph::build(&worlds, &gold, wanted, rng)?;
        let gate = gate::draw(strength, rng);
        Ok(Problem { image, question: own.question.text, gold: own.question.sql, gate })
    }

    fn draw(&self, rng: &mut Rng) -> Result<Sample> {
        sample(&self.lexicon, Split::Train, FIRST + rng.below(1 << 31) as u64)
    }

    /// Learns from groups of episodes: some moves of the weights, each against the mean gradient of the groups that
    /// teach.
    ///
    /// # Errors
    /// When the device cannot be read, or a loss is no number.
    pub fn learn(&mut self, groups: &[Vec<Episode>]) -> Result<Report> {
        let mut report = summary(groups);
        let played = frozen(&self.policy)?;
        let mut lessons = Vec::new();
        for group in groups {
            let rewards: Vec<f64> = group.iter().map(|e| e.reward).collect();
            let advantages = advantages(&rewards);
            if teaches(&advantages) {
                lessons.push(self.lesson(group, advantages, &played)?);
            }
        }
        report.taught = lessons.len() as f64 / groups.len().max(1) as f64;
        for _ in 0..self.settings.passes {
            let mut gradients = Gradients::new();
            let mut parts = Parts::default();
            for lesson in &lessons {
                let now = lesson.targets.log_probabilities(&self.policy);
                let beta = self.settings.beta;
                let (loss, found) =
                    objective::loss(now, &lesson.played, &lesson.reference, &lesson.group, beta);
                let of = GradientsParams::from_grads(loss.backward(), &self.policy);
                let value = f64::from(loss.inner().into_scalar::<f32>());
                if !value.is_finite() {
                    return Err(Error::Diverged { step: self.standing.step, loss: value });
                }
                gradients.add(&self.policy, &self.names, of);
                parts.divergence += found.divergence / lessons.len() as f64;
                parts.clipped += found.clipped / lessons.len() as f64;
            }
            if lessons.is_empty() {
                break;
            }
            let rates = Rates { muon: self.settings.rate, adam: self.settings.rate };
            let (policy, _) = self.optimiser.step(self.policy.clone(), &self.names, gradients, rates)?;
            self.policy = policy;
            (report.divergence, report.clipped) = (parts.divergence, parts.clipped);
        }
        Ok(report)
    }

    fn lesson(&self, group: &[Episode], advantages: Vec<f64>, played: &Model) -> Result<Lesson> {
        let batch = Batch::new(group.iter().map(|e| (&e.tokens[..], &e.written[..])));
        let plain = Targets::new(&batch, &played.device());
        let numbers = |x: Tensor<1>| {
            let numbers = x.try_into_vec_as::<f32>();
            numbers.map_err(|e| Error::Settings(format!("the device cannot be read: {e}")))
        };
        let (old, reference) = (
            numbers(plain.log_probabilities(played))?,
            numbers(plain.log_probabilities(self.anchor.model()))?,
        );
        let targets = Targets::new(&batch, &self.policy.device());
        let group = Group { episodes: targets.rows().to_vec(), advantages };
        Ok(Lesson { targets, group, played: old, reference })
    }
}

/// A group as the objective takes it.
struct Lesson {
    targets: Targets,
    group: Group,
    played: Vec<f32>,
    reference: Vec<f32>,
}

fn summary(groups: &[Vec<Episode>]) -> Report {
    let all: Vec<&Episode> = groups.iter().flatten().collect();
    let mean =
        |of: &dyn Fn(&Episode) -> f64| all.iter().map(|e| of(e)).sum::<f64>() / all.len().max(1) as f64;
    Report {
        reward: mean(&|e| e.reward),
        right: mean(&|e| f64::from(u8::from(e.right))),
        submitted: mean(&|e| f64::from(u8::from(e.submitted))),
        tokens: all.iter().map(|e| e.tokens.len()).sum(),
        ..Report::default()
    }
}
