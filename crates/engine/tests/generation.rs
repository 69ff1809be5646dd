//! Generation, sampling, snapshots and limits, on lavapipe.
#![allow(clippy::expect_used)] // in tests a panic is the report

mod common;

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use glowworm_engine::{Engine, Error, GenerateOptions, Generated, LoadOptions, MemorySource, Sampling, Stop};
use glowworm_gguf::Header;
use glowworm_model::Config;
use glowworm_tests::{Fixture, argmax};
use pollster::block_on;

fn engine() -> (Fixture, Engine) {
    let fixture = Fixture::open("eq");
    let engine = common::load(&common::gpu(), &fixture.gguf("Q8_0"), common::short());
    (fixture, engine)
}

fn generate(engine: &mut Engine, max_tokens: usize, sampling: Sampling, stops: &[u32]) -> Generated {
    let options = GenerateOptions { max_tokens, sampling, stop_tokens: stops, drafts: false };
    block_on(engine.generate(&options, |_| ControlFlow::Continue(()))).expect("generate")
}

/// Greedy tokens by reading the logits back for each: the slow path that the fast one must equal.
fn greedy_by_hand(engine: &mut Engine, prompt: &[u32], count: usize) -> Vec<u32> {
    engine.reset();
    block_on(engine.append(prompt)).expect("append");
    let mut tokens = Vec::new();
    for _ in 0..count {
        let token = argmax(&block_on(engine.logits()).expect("logits"));
        tokens.push(token);
        block_on(engine.append(&[token])).expect("append");
    }
    tokens
}

#[test]
fn tokens_fed_on_the_gpu_are_those_fed_by_hand() {
    let (fixture, mut engine) = engine();
    let prompt = fixture.prompt(70);
    let expected = greedy_by_hand(&mut engine, &prompt, 40);

    engine.reset();
    block_on(engine.append(&prompt)).expect("append");
    let mut seen = Vec::new();
    let options =
        GenerateOptions { max_tokens: 40, sampling: Sampling::GREEDY, stop_tokens: &[], drafts: false };
    let generated = block_on(engine.generate(&options, |tokens| {
        seen.extend_from_slice(tokens);
        ControlFlow::Continue(())
    }));
    let generated = generated.expect("generate");
    assert_eq!(generated.tokens, expected);
    assert_eq!(generated.stop, Stop::Length);
    assert_eq!(seen, expected);
    assert_eq!(engine.len(), 110);
}

#[test]
fn a_stop_token_ends_generation_and_the_sequence_goes_on_from_it() {
    let (fixture, mut engine) = engine();
    let prompt = fixture.prompt(7);
    let expected = greedy_by_hand(&mut engine, &prompt, 60);
    // Stop at a token that first appears late enough for several steps to be queued beyond it.
    let (at, &stop) =
        expected.iter().enumerate().skip(9).find(|(i, t)| !expected[..*i].contains(t)).expect("one");

    engine.reset();
    block_on(engine.append(&prompt)).expect("append");
    let generated = generate(&mut engine, 60, Sampling::GREEDY, &[stop]);
    assert_eq!(generated.stop, Stop::Token);
    assert_eq!(generated.tokens, expected[..=at]);
    // What comes after equals a run without the stop: no queued step touched the state.
    let rest = generate(&mut engine, 60 - at - 1, Sampling::GREEDY, &[]);
    assert_eq!(rest.tokens, expected[at + 1..]);
}

#[test]
fn cancelling_keeps_what_was_seen() {
    let (fixture, mut engine) = engine();
    let prompt = fixture.prompt(7);
    let expected = greedy_by_hand(&mut engine, &prompt, 40);
    engine.reset();
    block_on(engine.append(&prompt)).expect("append");
    let options =
        GenerateOptions { max_tokens: 200, sampling: Sampling::GREEDY, stop_tokens: &[], drafts: false };
    let first = block_on(engine.generate(&options, |_| ControlFlow::Break(()))).expect("generate");
    assert_eq!(first.stop, Stop::Cancelled);
    let count = first.tokens.len();
    assert_eq!(first.tokens, expected[..count]);
    let rest = generate(&mut engine, 40 - count, Sampling::GREEDY, &[]);
    assert_eq!(rest.tokens, expected[count..]);
}

#[test]
fn a_snapshot_brings_back_the_state_as_long_as_its_cache_is_there() {
    let (fixture, mut engine) = engine();
    let prompt = fixture.prompt(70);
    let expected = greedy_by_hand(&mut engine, &prompt, 12);

    engine.reset();
    block_on(engine.append(&prompt[..50])).expect("append");
    let snapshot = block_on(engine.snapshot()).expect("snapshot");
    assert_eq!(snapshot.tokens(), &prompt[..50]);
    for _ in 0..2 {
        block_on(engine.append(&prompt[50..])).expect("append");
        assert_eq!(generate(&mut engine, 12, Sampling::GREEDY, &[]).tokens, expected);
        assert!(engine.restore(&snapshot));
        assert_eq!(engine.len(), 50);
        block_on(engine.append(&[3, 1, 4, 1, 5])).expect("append");
        assert!(engine.restore(&snapshot));
    }
    engine.reset();
    block_on(engine.append(&[9, 9, 9])).expect("append");
    assert!(!engine.restore(&snapshot), "the cache holds another sequence");
}

/// Draws one token after the prompt with many seeds and counts them.
fn draw(engine: &mut Engine, prompt: &[u32], sampling: Sampling, draws: u64) -> BTreeMap<u32, u64> {
    engine.reset();
    block_on(engine.append(prompt)).expect("append");
    let snapshot = block_on(engine.snapshot()).expect("snapshot");
    let mut counts = BTreeMap::new();
    for seed in 0..draws {
        assert!(engine.restore(&snapshot));
        block_on(engine.append(&prompt[..1])).expect("append");
        let token = generate(engine, 1, Sampling { seed, ..sampling }, &[]).tokens[0];
        *counts.entry(token).or_default() += 1;
    }
    counts
}

/// The distribution that the settings define, computed on the host from the logits.
fn expected_shares(logits: &[f32], sampling: Sampling) -> BTreeMap<u32, f64> {
    let mut order: Vec<u32> = (0..logits.len() as u32).collect();
    order.sort_by(|&a, &b| logits[b as usize].total_cmp(&logits[a as usize]));
    if sampling.top_k > 0 {
        order.truncate(sampling.top_k as usize);
    }
    let weight = |token: u32| {
        f64::from((logits[token as usize] - logits[order[0] as usize]) / sampling.temperature).exp()
    };
    let total: f64 = order.iter().map(|&token| weight(token)).sum();
    let mut before = 0.0;
    let mut kept = BTreeMap::new();
    for &token in &order {
        if before >= f64::from(sampling.top_p) * total {
            break;
        }
        kept.insert(token, weight(token));
        before += weight(token);
    }
    let kept_total: f64 = kept.values().sum();
    kept.into_iter().map(|(token, weight)| (token, weight / kept_total)).collect()
}

#[test]
fn draws_follow_the_distribution_of_the_settings() {
    let (fixture, mut engine) = engine();
    let prompt = fixture.prompt(7);
    engine.reset();
    block_on(engine.append(&prompt)).expect("append");
    let logits = block_on(engine.append_with_logits(&prompt[..1])).expect("logits");
    let cases = [
        Sampling { temperature: 0.6, top_k: 20, top_p: 0.95, seed: 0 },
        Sampling { temperature: 1.0, top_k: 5, top_p: 1.0, seed: 0 },
        Sampling { temperature: 0.7, top_k: 0, top_p: 0.5, seed: 0 },
        Sampling { temperature: 1.5, top_k: 300, top_p: 1.0, seed: 0 },
        Sampling { temperature: 1.0, top_k: 1, top_p: 1.0, seed: 0 },
    ];
    for sampling in cases {
        let draws = 400;
        let counts = draw(&mut engine, &prompt, sampling, draws);
        let shares = expected_shares(&logits, sampling);
        for (token, count) in &counts {
            let share =
                shares.get(token).unwrap_or_else(|| panic!("{sampling:?} drew {token}, which it excludes"));
            let deviation = (share * (1.0 - share) * draws as f64).sqrt();
            let distance = (*count as f64 - share * draws as f64).abs();
            assert!(distance <= 5.0 * deviation + 1.0, "{sampling:?}: {token} drawn {count}, share {share}");
        }
        for (token, share) in shares.iter().filter(|(_, share)| **share > 0.05) {
            assert!(counts.contains_key(token), "{sampling:?} never drew {token} with share {share}");
        }
    }
}

#[test]
fn a_seed_gives_the_same_tokens_again_and_another_seed_others() {
    let (fixture, mut engine) = engine();
    let prompt = fixture.prompt(7);
    let mut run = |seed| {
        engine.reset();
        block_on(engine.append(&prompt)).expect("append");
        generate(&mut engine, 24, Sampling { temperature: 1.5, seed, ..Sampling::default() }, &[]).tokens
    };
    let first = run(7);
    assert_eq!(first, run(7));
    assert_ne!(first, run(8));
}

#[test]
fn ids_without_a_token_are_never_sampled() {
    let fixture = Fixture::open("eq");
    let options = LoadOptions { vocabulary: Some(3), ..common::short() };
    let mut engine = common::load(&common::gpu(), &fixture.gguf("Q8_0"), options);
    block_on(engine.append(&fixture.prompt(7))).expect("append");
    let hot = Sampling { temperature: 5.0, top_k: 0, top_p: 1.0, seed: 1 };
    assert!(generate(&mut engine, 30, hot, &[]).tokens.iter().all(|&token| token < 3));
    assert!(generate(&mut engine, 5, Sampling::GREEDY, &[]).tokens.iter().all(|&token| token < 3));
}

#[test]
fn what_does_not_fit_is_refused_and_harms_nothing() {
    let fixture = Fixture::open("eq");
    let options = LoadOptions { context: 16, ..LoadOptions::default() };
    let mut engine = common::load(&common::gpu(), &fixture.gguf("Q8_0"), options);
    let nothing =
        GenerateOptions { max_tokens: 4, sampling: Sampling::GREEDY, stop_tokens: &[], drafts: false };
    let early = block_on(engine.generate(&nothing, |_| ControlFlow::Continue(())));
    assert!(matches!(early, Err(Error::Usage(_))));

    let prompt = fixture.prompt(7);
    block_on(engine.append(&prompt)).expect("append");
    assert!(matches!(block_on(engine.append(&[0; 10])), Err(Error::ContextFull { .. })));
    assert!(matches!(block_on(engine.append(&[512])), Err(Error::Token { token: 512, .. })));
    let negative = Sampling { temperature: -1.0, ..Sampling::default() };
    let options = GenerateOptions { max_tokens: 4, sampling: negative, stop_tokens: &[], drafts: false };
    assert!(matches!(
        block_on(engine.generate(&options, |_| ControlFlow::Continue(()))),
        Err(Error::Usage(_))
    ));

    let tokens = generate(&mut engine, 100, Sampling::GREEDY, &[]).tokens;
    assert_eq!(tokens.len(), 9, "as many as the context still takes");
    let expected = {
        let mut long = common::load(&common::gpu(), &fixture.gguf("Q8_0"), common::short());
        greedy_by_hand(&mut long, &prompt, 9)
    };
    assert_eq!(tokens, expected);
    let full = block_on(engine.generate(&nothing, |_| ControlFlow::Continue(())));
    assert!(matches!(full, Err(Error::ContextFull { .. })));
}

#[test]
fn a_model_that_gives_no_numbers_is_an_error_and_not_a_text() {
    for (value, temperature) in [(f32::NAN, 0.0), (f32::NAN, 0.7), (f32::INFINITY, 0.0), (f32::INFINITY, 0.7)]
    {
        let fixture = Fixture::open("eq");
        let mut bytes = std::fs::read(fixture.gguf("Q8_0")).expect("the fixture");
        let header = Header::read_from(&mut bytes.as_slice(), bytes.len() as u64).expect("a header");
        let norm = header.data_range(header.tensor("output_norm.weight").expect("the last norm"));
        bytes[norm.start as usize..][..4].copy_from_slice(&value.to_le_bytes());
        let config = Config::from_gguf(&header).expect("a configuration");
        let mut source = MemorySource::new("damaged", bytes);
        let gpu = common::gpu();
        let options = LoadOptions { drafts: Some(true), ..LoadOptions::default() };
        let mut ignored = |_| {};
        let loaded = Engine::load(&gpu, &mut source, &header, &config, options, &mut ignored);
        let mut engine = block_on(loaded).expect("a model");
        for drafts in [false, true] {
            engine.reset();
            block_on(engine.append(&fixture.prompt(7))).expect("append");
            let sampling = Sampling { temperature, ..Sampling::default() };
            let options = GenerateOptions { max_tokens: 20, sampling, stop_tokens: &[], drafts };
            let error = block_on(engine.generate(&options, |_| ControlFlow::Continue(())));
            assert!(matches!(error, Err(Error::NoNumbers { position: 7, .. })), "{value}: {error:?}");
            assert_eq!(engine.len(), 0);
        }
    }
}

#[test]
fn decoding_is_one_pass_and_few_readbacks() {
    let (fixture, mut engine) = engine();
    block_on(engine.append(&fixture.prompt(7))).expect("append");
    generate(&mut engine, 40, Sampling::GREEDY, &[]); // lets the number of tokens between readbacks settle
    let before = engine.counters();
    generate(&mut engine, 32, Sampling::GREEDY, &[]);
    let after = engine.counters();
    assert_eq!(
        after.submits - before.submits,
        after.readbacks - before.readbacks + 1,
        "one pass for the pending token"
    );
    assert!(after.passes - before.passes <= 33);
    let per_token = (after.dispatches - before.dispatches) as f64 / 32.0;
    // 3 delta-net layers of 5 and 1 attention layer of 6 dispatches, embedding, head, sampler: 24, and once the pending token's.
    assert!(per_token <= 25.0, "{per_token} dispatches a token");
}

#[test]
fn the_self_test_passes_on_a_right_adapter() {
    let formats = pollster::block_on(glowworm_engine::self_test(&common::gpu())).expect("right numbers");
    assert_eq!(formats, ["F16", "Q8_0", "Q4_0", "Q4_K", "Q5_K", "Q6_K"]);
}
