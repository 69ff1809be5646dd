//! Drafted tokens change the speed of generating and nothing else: tokens, state and what follows are those of plain
//! decoding, bit for bit, on lavapipe.
#![allow(clippy::expect_used)] // in tests a panic is the report

mod common;

use std::ops::ControlFlow;

use glowworm_engine::{Counters, Engine, GenerateOptions, Generated, LoadOptions, Sampling, Stop};
use glowworm_tests::Fixture;
use pollster::block_on;

/// Engines of two fixtures (`grp` has fewer key heads than value heads) in both kernel layouts. They sample but three
/// tokens, so that what was said before comes again, and not always.
fn engines() -> Vec<(String, Fixture, Engine)> {
    let mut engines = Vec::new();
    for (name, kind) in [("eq", "Q8_0"), ("grp", "Q4_K_M")] {
        for (tuning, options) in common::tunings() {
            let fixture = Fixture::open(name);
            let options = LoadOptions { vocabulary: Some(3), drafts: Some(true), ..options };
            let engine = common::load(&common::gpu(), &fixture.gguf(kind), options);
            engines.push((format!("{name} {kind} {tuning:?}"), fixture, engine));
        }
    }
    engines
}

/// A prompt that says the same thing three times, so that there is something to look up.
fn repetitive(fixture: &Fixture) -> Vec<u32> {
    fixture.prompt(70)[..40].repeat(3)
}

/// Generates after `prompt`; also returns the logits after one more token, and what the engine counted.
fn run(
    engine: &mut Engine,
    prompt: &[u32],
    options: &GenerateOptions<'_>,
    most_seen: usize,
) -> (Generated, Vec<f32>, Counters) {
    engine.reset();
    block_on(engine.append(prompt)).expect("append");
    let before = engine.counters();
    let mut seen = 0;
    let generated = block_on(engine.generate(options, |tokens| {
        seen += tokens.len();
        if seen < most_seen { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    }));
    let generated = generated.expect("generate");
    let after = engine.counters();
    assert_eq!(engine.len(), prompt.len() + generated.tokens.len());
    block_on(engine.append(&[7])).expect("append");
    let logits = block_on(engine.logits()).expect("logits");
    let counters = Counters {
        tokens: after.tokens - before.tokens,
        draft_passes: after.draft_passes - before.draft_passes,
        accepted: after.accepted - before.accepted,
        ..Counters::default()
    };
    (generated, logits, counters)
}

#[test]
fn tokens_and_state_are_those_of_plain_decoding() {
    let hot = Sampling { temperature: 1.5, top_k: 0, top_p: 1.0, seed: 6 };
    for (name, fixture, mut engine) in engines() {
        let prompt = repetitive(&fixture);
        let mut accepted = 0;
        for sampling in [Sampling::GREEDY, hot] {
            for max_tokens in [1, 3, 50] {
                let plain = GenerateOptions { max_tokens, sampling, stop_tokens: &[], drafts: false };
                let drafts = GenerateOptions { drafts: true, ..plain };
                let (expected, expected_logits, _) = run(&mut engine, &prompt, &plain, usize::MAX);
                let (found, logits, counters) = run(&mut engine, &prompt, &drafts, usize::MAX);
                assert_eq!(found, expected, "{name} {sampling:?}");
                assert_eq!(logits, expected_logits, "{name} {sampling:?}: the state after {max_tokens}");
                assert_eq!(
                    counters.tokens,
                    max_tokens as u64 - 1,
                    "{name}: every token but the last is read"
                );
                assert!(counters.accepted <= 3 * counters.draft_passes);
                accepted += counters.accepted;
            }
        }
        // How many depends on the last bits of the logits, and so on the machine.
        assert!(accepted > 5, "{name}: {accepted} drafted tokens were right: too few to test anything");
    }
}

#[test]
fn a_stop_token_among_the_drafts_ends_generation_there() {
    for (name, fixture, mut engine) in engines() {
        let prompt = repetitive(&fixture);
        let plain =
            GenerateOptions { max_tokens: 60, sampling: Sampling::GREEDY, stop_tokens: &[], drafts: false };
        let (all, _, _) = run(&mut engine, &prompt, &plain, usize::MAX);
        let rarest = (0..3)
            .filter(|token| all.tokens.contains(token))
            .min_by_key(|token| all.tokens.iter().filter(|seen| seen == &token).count());
        let stop = rarest.expect("a token");
        let plain = GenerateOptions { stop_tokens: &[stop], ..plain };
        let (expected, expected_logits, _) = run(&mut engine, &prompt, &plain, usize::MAX);
        let drafts = GenerateOptions { drafts: true, ..plain };
        let (found, logits, _) = run(&mut engine, &prompt, &drafts, usize::MAX);
        assert_eq!(found.stop, Stop::Token, "{name}");
        assert_eq!(found, expected, "{name}");
        assert_eq!(logits, expected_logits, "{name}");
    }
}

#[test]
fn a_cancelled_generation_goes_on_where_it_was_seen_to_end() {
    for (name, fixture, mut engine) in engines() {
        let prompt = repetitive(&fixture);
        let plain =
            GenerateOptions { max_tokens: 90, sampling: Sampling::GREEDY, stop_tokens: &[], drafts: false };
        let (cancelled, logits, _) =
            run(&mut engine, &prompt, &GenerateOptions { drafts: true, ..plain }, 10);
        assert_eq!(cancelled.stop, Stop::Cancelled, "{name}");
        let shorter = GenerateOptions { max_tokens: cancelled.tokens.len(), ..plain };
        let (expected, expected_logits, _) = run(&mut engine, &prompt, &shorter, usize::MAX);
        assert_eq!(cancelled.tokens, expected.tokens, "{name}");
        assert_eq!(logits, expected_logits, "{name}");
    }
}

#[test]
fn drafts_stop_when_they_are_seldom_right_and_fill_the_context_to_its_end() {
    let fixture = Fixture::open("eq");
    let options =
        LoadOptions { context: 120, vocabulary: Some(6), drafts: Some(true), ..LoadOptions::default() };
    let mut engine = common::load(&common::gpu(), &fixture.gguf("Q8_0"), options);
    // At this temperature the tokens are noise, which nothing said before foretells, but pairs repeat in it.
    let noise = Sampling { temperature: 50.0, top_k: 0, top_p: 1.0, seed: 3 };
    let plain = GenerateOptions { max_tokens: 1000, sampling: noise, stop_tokens: &[], drafts: false };
    let prompt = &fixture.prompt(70)[..20];
    engine.reset();
    block_on(engine.append(prompt)).expect("append");
    let expected = block_on(engine.generate(&plain, |_| ControlFlow::Continue(()))).expect("plain");
    engine.reset();
    block_on(engine.append(prompt)).expect("append");
    let before = engine.counters();
    let drafts = GenerateOptions { drafts: true, ..plain };
    let found = block_on(engine.generate(&drafts, |_| ControlFlow::Continue(()))).expect("drafts");
    let after = engine.counters();
    assert_eq!(found, expected);
    assert_eq!(found.tokens.len(), 100, "as many as the context has room for");
    let passes = after.draft_passes - before.draft_passes;
    assert!((8..40).contains(&passes), "{passes} passes checked drafts");
}

#[test]
fn without_preparation_there_are_no_drafts() {
    let fixture = Fixture::open("eq");
    let options = common::short();
    let mut engine = common::load(&common::gpu(), &fixture.gguf("Q8_0"), options);
    let drafts =
        GenerateOptions { max_tokens: 50, sampling: Sampling::GREEDY, stop_tokens: &[], drafts: true };
    let (_, _, counters) = run(&mut engine, &repetitive(&fixture), &drafts, usize::MAX);
    assert_eq!((counters.draft_passes, counters.accepted), (0, 0));
}
