//! Episodes that are played together are those that are played one by one.
#![allow(clippy::unwrap_used)] // a panic here is the report

use glowworm_agent::{EpisodeConfig, Trace};
use glowworm_model::Tokenizer;
use glowworm_model::reference::{CpuModel, Model, cpu};
use glowworm_session::{DatabaseTools, ReferenceDecoder, Sampling, TokenModel, run};
use glowworm_train::lexicon::{Lexicon, Split};
use glowworm_train::machine;
use glowworm_train::sample::{Sample, sample};
use glowworm_train::tools::tools_on;
use glowworm_train::training::play::{Job, limits, play};
use std::path::Path;

/// One episode by a decoder that knows of no other.
fn alone(model: &Model, words: &str, image: &[u8], mut config: EpisodeConfig, sampling: Sampling) -> Trace {
    config.limits = limits();
    let tokenizer = Tokenizer::from_json(words).unwrap();
    let decoder = ReferenceDecoder::new(CpuModel::new(model.clone()), tokenizer.len());
    let mut player = TokenModel::new(decoder, tokenizer, sampling);
    let mut tools = DatabaseTools::new(tools_on(image).unwrap());
    pollster::block_on(run(config, &mut player, &mut tools, &mut ())).unwrap()
}

/// What was said, and how it ended.
fn said(trace: &Trace) -> (Vec<String>, Option<String>) {
    let turns = trace.turns.iter().filter_map(|turn| turn.completion.as_ref());
    let sql = trace.outcome.as_ref().and_then(|outcome| outcome.sql.clone());
    (turns.map(|completion| completion.text.clone()).collect(), sql)
}

#[test]
fn episodes_played_together_are_those_played_alone() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../training/checkpoints");
    let model = Model::from_checkpoint(&folder, &cpu()).unwrap();
    let words = std::fs::read_to_string(folder.join("tokenizer.json")).unwrap();
    let lexicon = Lexicon::load().unwrap();
    let samples: Vec<Sample> =
        (0..4).map(|seed| sample(&lexicon, Split::Test, 910_000 + seed).unwrap()).collect();
    // Two that always take the likeliest token, and two that draw.
    let sampling = |index: usize| {
        let temperature = [0.0, 1.0][index % 2];
        Sampling { temperature, top_k: 0, top_p: 1.0, seed: 7 + index as u64 }
    };
    let jobs = samples.iter().enumerate().map(|(index, sample)| Job {
        image: &sample.world.image,
        config: machine::config(&sample.question.text),
        sampling: sampling(index),
    });
    let together = play(&model, &words, jobs.collect()).unwrap();
    for (index, (sample, played)) in samples.iter().zip(&together).enumerate() {
        let config = machine::config(&sample.question.text);
        let trace = alone(&model, &words, &sample.world.image, config, sampling(index));
        assert_eq!(said(&played.trace), said(&trace), "episode {index}");
        assert!(played.trace.turns.len() > 1 && played.written.iter().any(|written| *written));
    }
}
