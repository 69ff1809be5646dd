//! Checkpoints converted by us and run by the engine, against what transformers computes from them in f32.
#![allow(clippy::expect_used)] // in tests a panic is the report

use std::ops::ControlFlow;
use std::path::Path;

use glowworm_engine::source::read_header;
use glowworm_engine::{
    ByteSource, Engine, FileSource, GenerateOptions, Gpu, GpuOptions, LoadOptions, MemorySource, Sampling,
};
use glowworm_gguf::TensorType;
use glowworm_model::Config;
use glowworm_model::convert::{Options, convert, convert_to};
use glowworm_tests::{Fixture, PROMPTS, assert_greedy, compare};
use pollster::block_on;

fn gpu() -> Gpu {
    block_on(Gpu::open(&GpuOptions { adapter: Some("llvmpipe".to_owned()) })).expect("Mesa's lavapipe")
}

fn load(gpu: &Gpu, source: &mut impl ByteSource) -> Engine {
    block_on(async {
        let header = read_header(source).await?;
        let config = Config::from_gguf(&header)?;
        let options = LoadOptions { context: 320, ..LoadOptions::default() };
        Engine::load(gpu, source, &header, &config, options, &mut |_| {}).await
    })
    .expect("the converted model loads")
}

fn converted(folder: &Path, kind: TensorType) -> MemorySource<Vec<u8>> {
    let out = std::io::Cursor::new(Vec::new());
    let (_, out) = convert_to(folder, out, &Options::new(kind), |_| {}).expect("the checkpoint converts");
    MemorySource::new("converted", out.into_inner())
}

#[test]
fn checkpoints_give_the_logits_of_transformers() {
    let gpu = gpu();
    // The checkpoints are BF16, so both types hold them exactly.
    for (name, kind) in [("eq", TensorType::BF16), ("eq", TensorType::F32), ("grp", TensorType::BF16)] {
        let fixture = Fixture::open(name);
        let reference = fixture.reference();
        let mut engine = load(&gpu, &mut converted(fixture.folder(), kind));
        for length in PROMPTS {
            engine.reset();
            let logits = block_on(engine.append_with_logits(&fixture.prompt(length))).expect("logits");
            let expected = reference.floats(&format!("logits_{length}"));
            compare(expected, &logits).assert_logits(&format!("{name} {kind}, {length} tokens"));
        }
        for length in [7, 70] {
            engine.reset();
            block_on(engine.append(&fixture.prompt(length))).expect("append");
            let after = block_on(engine.logits()).expect("logits");
            let expected = reference.ids(&format!("greedy_{length}"));
            assert_greedy(&format!("{name} {kind} {length}"), &expected, after, |id| {
                block_on(engine.append_with_logits(&[id])).expect("a step")
            });
        }
    }
}

#[test]
fn quantised_by_us_gives_the_logits_of_quantised_by_llama_cpp() {
    let fixture = Fixture::open("eq");
    let oracle = fixture.llama_cpp();
    let mut engine = load(&gpu(), &mut converted(fixture.folder(), TensorType::Q8_0));
    for length in PROMPTS {
        engine.reset();
        let logits = block_on(engine.append_with_logits(&fixture.prompt(length))).expect("logits");
        let expected = oracle.floats(&format!("Q8_0.deq.logits_{length}"));
        compare(expected, &logits).assert_logits(&format!("Q8_0, {length} tokens"));
    }
}

#[test]
fn half_floats_stay_close_to_the_checkpoint() {
    let fixture = Fixture::open("grp");
    let mut engine = load(&gpu(), &mut converted(fixture.folder(), TensorType::F16));
    let logits = block_on(engine.append_with_logits(&fixture.prompt(70))).expect("logits");
    let agreement = compare(fixture.reference().floats("logits_70"), &logits);
    // BF16 weights lose nothing but their smallest values in F16.
    assert!(agreement.max_difference <= 0.02, "{agreement:?}");
}

#[test]
fn a_converted_file_on_disk_loads_and_generates() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("eq.gguf");
    let fixture = Fixture::open("eq");
    convert(fixture.folder(), &path, &Options::new(TensorType::Q8_0), |_| {})
        .expect("the checkpoint converts");
    let mut engine = load(&gpu(), &mut FileSource::open(&path).expect("the file opens"));
    block_on(engine.append(&fixture.prompt(7))).expect("append");
    let options =
        GenerateOptions { max_tokens: 8, sampling: Sampling::GREEDY, stop_tokens: &[], drafts: false };
    let generated = block_on(engine.generate(&options, |_| ControlFlow::Continue(()))).expect("generate");
    assert_eq!(generated.tokens.len(), 8);
}
