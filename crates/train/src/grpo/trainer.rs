//! The loop that ties the pieces together.

use super::advantage::{advantages, teaches};
use super::anchor::Anchor;
use super::curriculum::{Curriculum, masked_length};
use super::gate;
use super::objective::{self, Episodes, Parts};
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
use crate::training::play::in_parts;
use crate::training::trainer::CHUNK;
use burn::module::Module;
use burn::optim::GradientsParams;
use burn::tensor::Tensor;
use glowworm_model::reference::{Device, Model};
use std::ops::Range;
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
        let rewards = |group: &[Episode]| group.iter().map(|e| e.reward).collect::<Vec<_>>();
        let of_all = groups.iter().map(|group| (group, advantages(&rewards(group))));
        let taught: Vec<_> = of_all.filter(|(_, advantages)| teaches(advantages)).collect();
        report.taught = taught.len() as f64 / groups.len().max(1) as f64;
        if taught.is_empty() {
            return Ok(report);
        }
        let mut lessons = lessons(&taught);
        let episodes = lessons.iter().map(|lesson| lesson.of.advantages.len()).sum::<usize>() as f64;
        let tokens = lessons.iter().map(|lesson| lesson.of.tokens.len()).sum::<usize>() as f64;
        for _ in 0..self.settings.passes {
            let work = |part: Range<usize>| -> Result<Vec<(usize, Found)>> {
                part.map(|index| Ok((index, self.pass(&lessons[index])?))).collect()
            };
            let mut found = in_parts(self.settings.threads, lessons.len(), 1, || true, work)?;
            // Always in this order, so that the sum is the same however many threads there are.
            found.sort_by_key(|(index, _)| *index);
            let mut gradients = Gradients::new(taught.len());
            (report.divergence, report.clipped) = (0.0, 0.0);
            for (index, found) in found {
                let lesson = &mut lessons[index];
                gradients.add(&self.policy, &self.names, found.gradients);
                report.divergence += found.parts.divergence * lesson.of.tokens.len() as f64 / tokens;
                report.clipped += found.parts.clipped * lesson.of.advantages.len() as f64 / episodes;
                lesson.before.get_or_insert(found.before);
            }
            let rates = Rates { muon: self.settings.rate, adam: self.settings.rate };
            let (policy, _) = self.optimiser.step(self.policy.clone(), &self.names, gradients, rates)?;
            self.policy = policy;
        }
        Ok(report)
    }

    /// The gradients of a lesson.
    fn pass(&self, lesson: &Lesson) -> Result<Found> {
        // Leaves of its own: graphs that share some would wait for each other.
        let policy = self.policy.clone().fork(&self.policy.device());
        let now = Targets::new(&lesson.batch, &policy.device()).log_probabilities(&policy);
        let before = match &lesson.before {
            Some(before) => before.clone(),
            None => {
                let reference = self.anchor.model();
                let targets = Targets::new(&lesson.batch, &reference.device());
                Before {
                    played: numbers(now.clone().inner())?,
                    reference: numbers(targets.log_probabilities(reference))?,
                }
            }
        };
        let Before { played, reference } = &before;
        let (loss, parts) = objective::loss(now, played, reference, &lesson.of, self.settings.beta);
        let gradients = GradientsParams::from_grads(loss.backward(), &policy);
        let value = f64::from(loss.inner().into_scalar::<f32>());
        if !value.is_finite() {
            return Err(Error::Diverged { step: self.standing.step, loss: value });
        }
        Ok(Found { gradients, parts, before })
    }
}

/// Tokens of a batch at most, the padding included, unless one episode alone has more.
const BUDGET: usize = 2048;

/// Episodes of like length, of any groups, as one batch.
struct Lesson {
    batch: Batch,
    of: Episodes,
    /// Known after the first pass.
    before: Option<Before>,
}

/// What the tokens' probabilities were when the episodes were played, and what they are for the reference. The policy
/// played as it is in the first pass, where both ratios are therefore 1.
#[derive(Clone)]
struct Before {
    played: Vec<f32>,
    reference: Vec<f32>,
}

/// What a pass over a lesson computes.
struct Found {
    gradients: GradientsParams,
    parts: Parts,
    before: Before,
}

/// Packs the episodes of the groups that teach, the short ones first.
fn lessons(taught: &[(&Vec<Episode>, Vec<f64>)]) -> Vec<Lesson> {
    let mut all: Vec<(&Episode, f64, f64)> = Vec::new();
    for (group, advantages) in taught {
        let share = 1.0 / group.len() as f64;
        all.extend(group.iter().zip(advantages).map(|(episode, advantage)| (episode, *advantage, share)));
    }
    all.sort_by_key(|(episode, ..)| episode.tokens.len());
    let mut lessons = Vec::new();
    let mut rest = &all[..];
    while !rest.is_empty() {
        let fits = |n: &usize| n * rest[n - 1].0.tokens.len() <= BUDGET;
        let (now, later) = rest.split_at((1..=rest.len()).take_while(fits).last().unwrap_or(1));
        let batch = Batch::new(now.iter().map(|(e, ..)| (&e.tokens[..], &e.written[..])));
        let of = Episodes {
            tokens: batch.places().map(|(row, _)| row).collect(),
            advantages: now.iter().map(|(_, advantage, _)| *advantage).collect(),
            shares: now.iter().map(|(.., share)| *share).collect(),
        };
        lessons.push(Lesson { batch, of, before: None });
        rest = later;
    }
    lessons
}

fn numbers(x: Tensor<1>) -> Result<Vec<f32>> {
    x.try_into_vec_as::<f32>().map_err(|e| Error::Settings(format!("the device cannot be read: {e}")))
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
