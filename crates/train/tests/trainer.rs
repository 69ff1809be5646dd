//! A toy run: the loss falls, and a run that was stopped ends with the numbers of one that was not.
#![allow(clippy::unwrap_used)] // a panic here is the report

mod toy;

use glowworm_model::reference::cpu;
use glowworm_train::lexicon::Lexicon;
use glowworm_train::lexicon::Split;
use glowworm_train::oracle::{Piece, Source};
use glowworm_train::sample::sample;
use glowworm_train::shards::{self, Kept};
use glowworm_train::tokenizer::{Encoder, train_on_samples};
use glowworm_train::training::checkpoint::FILE;
use glowworm_train::training::evaluate::{Questions, evaluate};
use glowworm_train::training::{Rates, Schedule, Settings, Trainer, export};
use std::path::Path;
use std::time::Duration;

const STEPS: u64 = 16;

/// A tokenizer and two small shards.
fn corpus(folder: &Path) -> String {
    let lexicon = Lexicon::load().unwrap();
    let words = train_on_samples(&lexicon, 1100, 60).unwrap();
    for first in [0, 40] {
        shards::write(&lexicon, &words, folder, first, 40, Kept { longest: 700, odd: 1.0, cut: 0.0 })
            .unwrap();
    }
    words
}

fn settings(data: &Path, words: &str) -> Settings {
    Settings {
        data: data.to_owned(),
        shape: toy::shape(words),
        budget: 1024,
        longest: 700,
        ranks: 2,
        rates: Rates { muon: 0.02, adam: 4e-3 },
        schedule: Schedule { steps: STEPS, warmup: 4, decay: 4, rewarm: 0 },
        seed: 1,
        commit: "a commit".into(),
    }
}

#[test]
fn a_toy_run_learns_and_resumes_to_the_same_numbers() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let words = corpus(&data);
    let settings = settings(&data, &words);
    let (whole, parts) = (folder.path().join("whole"), folder.path().join("parts"));
    let hour = Duration::from_secs(3600);

    let mut trainer = Trainer::start(&whole, settings.clone(), &cpu()).unwrap();
    let first = trainer.step().unwrap();
    let mut lines = Vec::new();
    let mut report = |progress| {
        lines.push(progress);
        Ok(())
    };
    trainer.train(5, hour, &|| false, &mut report).unwrap();
    let last = lines.last().unwrap();
    assert_eq!((last.step, last.saved, last.seconds_left), (STEPS, true, 0.0));
    assert!(last.tokens_per_second > 0.0 && last.tokens == trainer.standing().tokens);

    // The same in two parts, the second from the file that the first left. It is stopped in the middle of a shard.
    let half = STEPS / 2;
    let mut before = Trainer::start(&parts, settings.clone(), &cpu()).unwrap();
    for _ in 0..half - 1 {
        before.step().unwrap();
    }
    before.train(5, hour, &|| true, &mut |_| Ok(())).unwrap();
    assert_eq!(before.standing().step, half);
    drop(before);
    let mut after = Trainer::start(&parts, settings.clone(), &cpu()).unwrap();
    assert_eq!(after.standing().step, half);
    after.train(5, hour, &|| false, &mut |_| Ok(())).unwrap();

    assert_eq!(trainer.standing(), after.standing());
    assert!(trainer.model().weights().unwrap() == after.model().weights().unwrap(), "other weights");
    let file = |run: &Path| std::fs::read(run.join(FILE)).unwrap();
    assert!(file(&whole) == file(&parts), "another checkpoint: optimiser states or positions differ");
    assert_eq!(after.standing().stages.len(), 1);
    assert_eq!(after.standing().stages[0].data.len(), 64);

    let chance = f64::from(settings.shape.vocab_size as u32).ln();
    println!("loss {:.3} at first, {:.3} at last; chance {chance:.3}", first.loss, last.loss);
    let mut end = Trainer::start(&whole, Settings { ranks: 2, ..settings.clone() }, &cpu()).unwrap();
    let end = end.step().unwrap();
    assert!(end.loss < 0.7 * first.loss && end.loss < 0.7 * chance, "{} after {}", end.loss, first.loss);

    exported(&trainer, &words, &folder.path().join("export"));
    played(&trainer, &words);
}

/// What is written is the model that was trained.
fn exported(trainer: &Trainer, words: &str, out: &Path) {
    use glowworm_gguf::TensorType;
    use glowworm_model::reference::Model;
    let standing = trainer.standing();
    export::folder(out, trainer.model(), &standing.shape, words).unwrap();
    let read = Model::from_checkpoint(out, &cpu()).unwrap();
    assert!(read.weights().unwrap() == trainer.model().weights().unwrap());

    let file = out.join("model.gguf");
    export::gguf(out, &file, TensorType::F32, "toy", standing).unwrap();
    let mut bytes = std::fs::File::open(&file).unwrap();
    let length = bytes.metadata().unwrap().len();
    let header = glowworm_gguf::Header::read_from(&mut bytes, length).unwrap();
    let text = |key: &str| header.metadata.str(key).unwrap().to_owned();
    assert_eq!(text("glowworm.training.commit"), "a commit");
    assert_eq!(text("glowworm.training.data"), standing.stages[0].data);
    assert_eq!(text("glowworm.system_prompt"), glowworm_train::machine::SYSTEM_PROMPT);
    let read = Model::from_gguf_file(&file, &cpu()).unwrap();
    let (read, trained) = (read.weights().unwrap(), trainer.model().weights().unwrap());
    for (name, (_, values)) in &trained.tensors {
        let same =
            read.tensors[name].1.iter().zip(values).all(|(a, b)| (a - b).abs() <= 1e-5 * b.abs().max(1.0));
        assert!(same, "{name}");
    }
}

/// A model that knows nothing yet answers nothing, but plays by the rules, and the same way each time.
fn played(trainer: &Trainer, words: &str) {
    let questions = Questions { split: Split::Test, seed: 900_000, count: 3, limit: None, threads: 2 };
    let evaluation = evaluate(trainer.model(), words, questions, &|_| {}).unwrap();
    let seeds: Vec<u64> = evaluation.answers.iter().map(|a| a.seed).collect();
    assert_eq!(seeds, [900_000, 900_001, 900_002]);
    let summary = evaluation.summary();
    assert_eq!((summary.right.of, summary.by_kind.values().map(|s| s.of).sum::<u64>()), (3, 3));
    assert!(evaluation.answers.iter().all(|a| a.text.starts_with("<|im_start|>system\n") && a.turns > 0));
    let again = evaluate(trainer.model(), words, Questions { threads: 1, ..questions }, &|_| {}).unwrap();
    assert_eq!(again, evaluation);
    let pairs = evaluation.compare(&again);
    assert_eq!((pairs.only_first, pairs.only_second), (0, 0));
}

/// The trainer's encoder and the program's tokenizer cut an episode alike: else the model would meet other tokens later than
/// it was trained on.
#[test]
fn training_and_the_program_cut_alike() {
    let lexicon = Lexicon::load().unwrap();
    let words = train_on_samples(&lexicon, 1100, 60).unwrap();
    let (encoder, tokenizer) =
        (Encoder::new(&words).unwrap(), glowworm_model::Tokenizer::from_json(&words).unwrap());
    assert_eq!(encoder.size(), tokenizer.len());
    for seed in 0..40 {
        let pieces = sample(&lexicon, Split::Train, seed).unwrap().pieces;
        let segments: Vec<glowworm_model::Segment<'_>> = pieces
            .iter()
            .map(|Piece(source, text)| match source {
                Source::Text => glowworm_model::Segment::Text(text),
                _ => glowworm_model::Segment::Markup(text),
            })
            .collect();
        let ids: Vec<u32> = encoder.encode(&pieces).unwrap().0.into_iter().map(u32::from).collect();
        assert_eq!(tokenizer.encode_segments(&segments).unwrap(), ids, "seed {seed}");
    }
}
