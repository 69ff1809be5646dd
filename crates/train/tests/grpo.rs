//! One step of GRPO makes what was rewarded likelier, and the whole loop runs.
#![allow(clippy::unwrap_used)] // a panic here is the report

mod toy;

use glowworm_model::reference::{Model, cpu};
use glowworm_train::grpo::rollout::Episode;
use glowworm_train::grpo::{GrpoTrainer, Settings};
use glowworm_train::lexicon::Lexicon;
use glowworm_train::tokenizer::train_on_samples;
use glowworm_train::training::batches::Batch;
use glowworm_train::training::checkpoint::Standing;
use glowworm_train::training::initialise;
use glowworm_train::training::loss::Targets;
use std::path::Path;

struct Toy {
    words: String,
    model: Model,
    standing: Standing,
}

fn toy() -> Toy {
    let words = train_on_samples(&Lexicon::load().unwrap(), 1100, 60).unwrap();
    let shape = toy::shape(&words);
    let model = initialise(&shape, 1, &cpu()).unwrap();
    Toy { words, model, standing: Standing::new(Path::new("none"), 1, shape, 0) }
}

/// An episode whose last tokens the policy wrote.
fn episode(tokens: &[u32], reward: f64) -> Episode {
    let written = (0..tokens.len()).map(|i| i >= 4).collect();
    Episode { tokens: tokens.to_vec(), written, reward, right: reward == 3.0, submitted: true }
}

fn log_probability(model: &Model, episode: &Episode) -> f32 {
    let batch = Batch::new([(&episode.tokens[..], &episode.written[..])]);
    Targets::new(&batch, &model.device()).log_probabilities(model).sum().into_scalar::<f32>()
}

#[test]
fn a_step_raises_what_was_rewarded_and_lowers_what_was_not() {
    let toy = toy();
    let settings = Settings { rate: 1e-3, passes: 1, threads: 1, ..Settings::default() };
    let mut trainer = GrpoTrainer::new(&toy.model, toy.standing, &toy.words, settings, &cpu()).unwrap();
    let good = episode(&[5, 6, 7, 8, 301, 302, 303, 2], 3.0);
    let bad = episode(&[5, 6, 7, 8, 401, 402, 2], 0.0);
    let middling = episode(&[5, 6, 7, 8, 351, 2], 1.5);
    let before = [&good, &bad].map(|e| log_probability(trainer.policy(), e));

    // A group of one mind changes nothing.
    let report = trainer.learn(&[vec![good.clone(), good.clone()]]).unwrap();
    assert_eq!((report.taught, report.right), (0.0, 1.0));
    assert_eq!(log_probability(trainer.policy(), &good), before[0]);

    let report = trainer.learn(&[vec![good.clone(), bad.clone(), middling]]).unwrap();
    assert_eq!((report.taught, report.reward), (1.0, 1.5));
    let after = [&good, &bad].map(|e| log_probability(trainer.policy(), e));
    assert!(after[0] > before[0] + 0.01, "{} after {}", after[0], before[0]);
    assert!(after[1] < before[1] - 0.01, "{} after {}", after[1], before[1]);
}

#[test]
fn the_loop_plays_learns_and_goes_on_from_its_checkpoint() {
    let toy = toy();
    let folder = tempfile::tempdir().unwrap();
    let settings =
        Settings { steps: 3, questions: 1, group: 2, tables: 6, threads: 2, ..Settings::default() };
    let new =
        || GrpoTrainer::new(&toy.model, toy.standing.clone(), &toy.words, settings.clone(), &cpu()).unwrap();
    assert!(GrpoTrainer::resume(folder.path(), &toy.words, settings.clone(), &cpu()).unwrap().is_none());

    let mut trainer = new();
    let report = trainer.step().unwrap();
    assert!(report.tokens > 0 && report.gate == 1.0);
    // The same seed plays the same episodes.
    assert_eq!(new().step().unwrap(), report);
    let good = episode(&[5, 6, 7, 8, 301, 302, 303, 2], 3.0);
    trainer.learn(&[vec![good.clone(), episode(&[5, 6, 7, 8, 401, 2], 0.0)]]).unwrap();
    trainer.save(folder.path()).unwrap();
    let resumed = GrpoTrainer::resume(folder.path(), &toy.words, settings, &cpu()).unwrap().unwrap();
    assert_eq!(resumed.standing().step, 1);
    assert!(resumed.policy().weights().unwrap() == trainer.policy().weights().unwrap());
    assert_eq!(log_probability(resumed.policy(), &good), log_probability(trainer.policy(), &good));
}
