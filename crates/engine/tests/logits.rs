//! The engine's logits on lavapipe against llama.cpp in f32 on the same dequantised files.
#![allow(clippy::expect_used)] // in tests a panic is the report

mod common;

use glowworm_engine::{Engine, LoadOptions};
use glowworm_tests::{Fixture, GGUF_FILES, LOGIT_TOLERANCE, PROMPTS, assert_greedy, compare};
use pollster::block_on;

fn in_pieces(engine: &mut Engine, prompt: &[u32], piece: usize) -> Vec<f32> {
    engine.reset();
    let pieces = prompt.chunks(piece);
    pieces.flat_map(|tokens| block_on(engine.append_with_logits(tokens)).expect("a pass")).collect()
}

#[test]
fn every_format_gives_the_oracles_logits() {
    let gpu = common::gpu();
    for (name, kind) in GGUF_FILES {
        let fixture = Fixture::open(name);
        let oracle = fixture.llama_cpp();
        for (tuning, options) in common::tunings() {
            let mut engine = common::load(&gpu, &fixture.gguf(kind), options);
            for length in PROMPTS {
                let prompt = fixture.prompt(length);
                let expected = oracle.floats(&format!("{kind}.deq.logits_{length}"));
                let logits = in_pieces(&mut engine, &prompt, length);
                let what = format!("{name} {kind} {tuning:?}, {length} tokens at once");
                compare(expected, &logits).assert_logits(&what);
            }
        }
    }
}

#[test]
fn a_prompt_may_come_in_pieces_of_any_size() {
    let gpu = common::gpu();
    for (name, kind) in [("eq", "Q4_K_M"), ("eq", "Q8_0"), ("grp", "Q4_K_M")] {
        let fixture = Fixture::open(name);
        let expected = fixture.llama_cpp();
        let expected = expected.floats(&format!("{kind}.deq.logits_70"));
        let prompt = fixture.prompt(70);
        for (tuning, options) in common::tunings() {
            let mut engine = common::load(&gpu, &fixture.gguf(kind), options);
            let whole = in_pieces(&mut engine, &prompt, 70);
            for piece in [1, 2, 3, 33, 64] {
                let what = format!("{name} {kind} {tuning:?} in pieces of {piece}");
                let logits = in_pieces(&mut engine, &prompt, piece);
                let difference = whole.iter().zip(&logits).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
                assert!(difference <= LOGIT_TOLERANCE, "{what}: {difference}");
                compare(expected, &logits).assert_logits(&what);
            }
        }
    }
}

#[test]
fn a_matrix_may_be_split_into_tiles() {
    let gpu = common::gpu();
    for (name, kind) in [("eq", "Q4_K_M"), ("eq", "Q8_0")] {
        let fixture = Fixture::open(name);
        let expected = fixture.llama_cpp();
        let expected = expected.floats(&format!("{kind}.deq.logits_70"));
        for (tuning, options) in common::tunings() {
            let steps = |tile_bytes| {
                let options = LoadOptions { tile_bytes, ..options.clone() };
                let mut engine = common::load(&gpu, &fixture.gguf(kind), options);
                for piece in [70, 1] {
                    let logits = in_pieces(&mut engine, &fixture.prompt(70), piece);
                    compare(expected, &logits)
                        .assert_logits(&format!("{name} {kind} {tuning:?} {tile_bytes:?}"));
                }
                engine.decode_plan(1).len()
            };
            let (whole, split) = (steps(None), steps(Some(16 << 10)));
            assert!(split > 2 * whole, "{split} dispatches in tiles, {whole} without");
        }
    }
}

#[test]
fn a_small_batch_changes_nothing() {
    let gpu = common::gpu();
    let fixture = Fixture::open("eq");
    let expected = fixture.llama_cpp();
    let options = LoadOptions { batch: 48, ..common::short() };
    let mut engine = common::load(&gpu, &fixture.gguf("Q5_K_M"), options);
    let prompt = fixture.prompt(200);
    block_on(engine.append(&prompt)).expect("append");
    let logits = block_on(engine.logits()).expect("logits");
    let expected = expected.floats("Q5_K_M.deq.logits_200");
    let width = expected.width();
    let last =
        glowworm_tests::Matrix { shape: vec![1, width], values: expected.values[23 * width..].to_vec() };
    compare(&last, &logits).assert_logits("200 tokens in batches of 48");
}

#[test]
fn greedy_generation_follows_the_oracle() {
    let gpu = common::gpu();
    for (name, kind) in GGUF_FILES {
        let fixture = Fixture::open(name);
        let oracle = fixture.llama_cpp();
        let mut engine = common::load(&gpu, &fixture.gguf(kind), common::short());
        for length in PROMPTS {
            let expected = oracle.ids(&format!("{kind}.deq.greedy_{length}"));
            engine.reset();
            block_on(engine.append(&fixture.prompt(length))).expect("append");
            let after_prompt = block_on(engine.logits()).expect("logits");
            let compared = assert_greedy(&format!("{name} {kind} {length}"), &expected, after_prompt, |id| {
                block_on(engine.append_with_logits(&[id])).expect("a step")
            });
            assert!(compared > 0);
        }
    }
}
