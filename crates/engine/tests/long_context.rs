//! Long sequences on lavapipe: attention in spans side by side, as GPUs take it, against attention in one go, and long
//! passes against short ones.
#![allow(clippy::expect_used)] // in tests a panic is the report

mod common;

use std::ops::ControlFlow;

use glowworm_engine::{Engine, GenerateOptions, Generated, LoadOptions, Sampling};
use glowworm_tests::Fixture;
use pollster::block_on;

const SPAN: usize = 64;

/// Four whole spans and a piece of a fifth.
const CONTEXT: usize = 270;

fn engines() -> Vec<(String, Engine)> {
    let mut engines = Vec::new();
    for (name, kind) in [("eq", "Q8_0"), ("grp", "Q4_K_M")] {
        for (tuning, options) in common::tunings() {
            let options = LoadOptions {
                context: CONTEXT,
                vocabulary: Some(3),
                drafts: Some(true),
                span: Some(SPAN as u32),
                ..options
            };
            let engine = common::load(&common::gpu(), &Fixture::open(name).gguf(kind), options);
            engines.push((format!("{name} {kind} {tuning:?}"), engine));
        }
    }
    engines
}

/// `count` tokens without a pattern, but for the last 40, which say the same thing twice.
fn text(count: usize) -> Vec<u32> {
    let mut state = 1u32;
    let mut tokens: Vec<u32> = (0..count - 20)
        .map(|_| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 8) % 200
        })
        .collect();
    tokens.extend_from_within(tokens.len() - 20..);
    tokens
}

/// The logits after `tokens`, of which the last is read by a pass of its own or in one with those before it.
fn logits(engine: &mut Engine, tokens: &[u32], alone: bool) -> Vec<f32> {
    engine.reset();
    let (before, last) = tokens.split_at(tokens.len() - if alone { 1 } else { 2 });
    block_on(engine.append(before)).expect("append");
    block_on(engine.append(last)).expect("append");
    block_on(engine.logits()).expect("logits")
}

#[test]
fn spans_give_the_logits_of_attention_in_one_go() {
    for (name, mut engine) in engines() {
        // A span less one, a span, one more, and the same about two spans.
        for count in [SPAN - 1, SPAN, SPAN + 1, 2 * SPAN, 2 * SPAN + 1, CONTEXT] {
            let tokens = text(count);
            let expected = logits(&mut engine, &tokens, false);
            let found = logits(&mut engine, &tokens, true);
            let furthest = expected.iter().zip(&found).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
            assert!(furthest < 1e-3, "{name}, {count} tokens: logits differ by {furthest}");
        }
    }
}

/// A software adapter may give up loops after some rounds: no pass may be so long that it does.
#[test]
fn a_long_prompt_gives_the_logits_of_its_pieces() {
    let count = 600;
    let tokens = text(count);
    for (name, kind) in [("eq", "Q8_0"), ("grp", "Q4_K_M")] {
        let options = LoadOptions { context: count, batch: count, ..common::short() };
        let mut engine = common::load(&common::gpu(), &Fixture::open(name).gguf(kind), options);
        block_on(engine.append(&tokens)).expect("append");
        let found = block_on(engine.logits()).expect("logits");
        engine.reset();
        for piece in tokens.chunks(48) {
            block_on(engine.append(piece)).expect("append");
        }
        let expected = block_on(engine.logits()).expect("logits");
        let furthest = expected.iter().zip(&found).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
        assert!(furthest < 1e-3, "{name}: logits differ by {furthest}");
    }
}

#[test]
fn a_span_that_the_kernel_cannot_take_is_refused() {
    use glowworm_engine::source::read_header;
    use glowworm_engine::{Error, FileSource};
    use glowworm_model::Config;
    for span in [0, 100] {
        let error = block_on(async {
            let mut source = FileSource::open(&Fixture::open("eq").gguf("Q8_0"))?;
            let header = read_header(&mut source).await?;
            let config = Config::from_gguf(&header)?;
            let options = LoadOptions { span: Some(span), ..common::short() };
            Engine::load(&common::gpu(), &mut source, &header, &config, options, &mut |_| {}).await
        });
        assert!(matches!(error, Err(Error::Usage(_))), "{error:?}");
    }
}

#[test]
fn dispatches_of_spans_are_in_the_plan_and_only_where_they_run() {
    for (name, engine) in engines() {
        let joins = |positions| {
            engine.decode_plan(positions).iter().filter(|step| step.kernel == "attention_join").count()
        };
        let attentions = |positions| {
            engine.decode_plan(positions).iter().filter(|step| step.kernel == "attention").count()
        };
        assert_eq!(joins(SPAN), 0, "{name}");
        assert_eq!(joins(SPAN + 1), attentions(SPAN + 1), "{name}");
        assert_eq!(attentions(SPAN), attentions(SPAN + 1), "{name}");
        assert!(attentions(1) > 0, "{name}");
    }
}

fn generate(engine: &mut Engine, prompt: &[u32], drafts: bool) -> (Generated, Vec<f32>) {
    engine.reset();
    block_on(engine.append(prompt)).expect("append");
    let options = GenerateOptions { max_tokens: 60, sampling: Sampling::GREEDY, stop_tokens: &[], drafts };
    let generated = block_on(engine.generate(&options, |_| ControlFlow::Continue(()))).expect("generate");
    let logits = block_on(engine.logits()).expect("logits");
    (generated, logits)
}

#[test]
fn drafts_across_the_end_of_a_span_change_nothing() {
    for (name, mut engine) in engines() {
        for count in [50, 120, 200] {
            let prompt = text(count);
            let (expected, expected_logits) = generate(&mut engine, &prompt, false);
            let before = engine.counters().accepted;
            let (found, logits) = generate(&mut engine, &prompt, true);
            assert_eq!(found, expected, "{name} after {count} tokens");
            assert_eq!(logits, expected_logits, "{name}: the state after {count} tokens and 60 more");
            assert!(engine.counters().accepted > before, "{name}: no draft was right, nothing is tested");
        }
    }
}
