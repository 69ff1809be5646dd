//! Whole models of the types that the fixtures have not: random blocks in the shape of a fixture, run by the engine,
//! against the reference forward pass on the dequantised weights.
#![allow(clippy::expect_used)] // in tests a panic is the report

use std::fs::File;
use std::path::Path;

use glowworm_engine::source::read_header;
use glowworm_engine::{Engine, FileSource, Gpu, GpuOptions, LoadOptions, Tuning};
use glowworm_gguf::write::Declaration;
use glowworm_gguf::{Header, TensorInfo, TensorType, Writer, blocks};
use glowworm_model::Config;
use glowworm_model::reference::CpuModel;
use glowworm_tests::random_blocks::{Random, fill_blocks};
use glowworm_tests::{Fixture, Matrix, compare};
use pollster::block_on;

const KINDS: [TensorType; 7] = {
    use TensorType::*;
    [Q2K, Q3K, Q4_1, Q5_0, Q5_1, IQ4_NL, IQ4_XS]
};

/// Writes the model of a fixture with its matrices in these types by turns: random blocks whose weights have the deviation
/// of those in the fixture, with `times` as many query heads. All else stays as it is.
fn write_model(fixture: &Path, out: &Path, kinds: impl Iterator<Item = TensorType>, times: u64) {
    let bytes = std::fs::read(fixture).expect("the fixture");
    let header = Header::read_from(&mut bytes.as_slice(), bytes.len() as u64).expect("a header");
    let is_matrix = |tensor: &TensorInfo| tensor.kind == TensorType::Q8_0;
    let mut kinds = kinds;
    let declarations: Vec<Declaration> = header
        .tensors
        .iter()
        .map(|tensor| {
            let kind = if is_matrix(tensor) { kinds.next().expect("a type") } else { tensor.kind };
            let mut dims = tensor.dims.clone();
            match &tensor.name {
                name if name.ends_with("attn_q.weight") => dims[1] *= times,
                name if name.ends_with("attn_output.weight") => dims[0] *= times,
                _ => {}
            }
            Declaration { name: tensor.name.clone(), dims, kind }
        })
        .collect();
    let file = File::create(out).expect("a new file");
    let mut metadata = header.metadata.clone();
    let heads = metadata.u32("qwen35.attention.head_count").expect("a number of heads");
    metadata.set("qwen35.attention.head_count", heads * times as u32);
    let mut writer = Writer::new(file, &metadata, declarations).expect("a header is written");
    for tensor in &header.tensors {
        let range = header.data_range(tensor);
        let raw = &bytes[range.start as usize..range.end as usize];
        if !is_matrix(tensor) {
            writer.write(raw).expect("a tensor is written");
            continue;
        }
        let mut weights = vec![0.0; tensor.elements() as usize];
        blocks::dequantize(tensor.kind, raw, &mut weights).expect("whole blocks");
        let power: f32 = weights.iter().map(|weight| weight * weight).sum();
        let deviation = (power / weights.len() as f32).sqrt();
        let made = writer.current().expect("as many tensors as declared");
        let (kind, length) = (made.kind, made.byte_len() as usize);
        let mut raw = vec![0; length];
        fill_blocks(kind, &mut Random::new(3, &tensor.name), deviation, &mut raw);
        writer.write(&raw).expect("a tensor is written");
    }
    writer.finish().expect("the file is whole");
}

fn load(gpu: &Gpu, path: &Path, tuning: Tuning) -> Engine {
    block_on(async {
        let mut source = FileSource::open(path)?;
        let header = read_header(&mut source).await?;
        let config = Config::from_gguf(&header)?;
        let options = LoadOptions { context: 160, tuning, ..LoadOptions::default() };
        Engine::load(gpu, &mut source, &header, &config, options, &mut |_| {}).await
    })
    .expect("the model loads")
}

#[test]
fn every_type_gives_the_logits_of_its_dequantised_weights() {
    let adapter = GpuOptions { adapter: Some("llvmpipe".to_owned()) };
    let gpu = block_on(Gpu::open(&adapter)).expect("Mesa's lavapipe");
    let fixture = Fixture::open("eq");
    let prompt = fixture.prompt(70);
    let (most, last) = prompt.split_at(69);
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("mixed.gguf");
    for (first, kind) in KINDS.into_iter().enumerate() {
        // Every type is once that of the first tensor, the embedding, which is also the head.
        write_model(&fixture.gguf("Q8_0"), &path, KINDS.into_iter().cycle().skip(first), 1);
        let mut reference = CpuModel::from_gguf_file(&path).expect("the reference loads the model");
        let values = reference.append_all(&prompt).expect("logits");
        let expected = Matrix { shape: vec![prompt.len(), values.len() / prompt.len()], values };
        // Each layout of the kernels runs every other model: the kernels themselves are tested over all types.
        let tuning = if first % 2 == 0 { Tuning::Software } else { Tuning::Hardware };
        let mut engine = load(&gpu, &path, tuning);
        // Many tokens at once, then one by itself: both kinds of products.
        let mut logits = block_on(engine.append_with_logits(most)).expect("logits");
        logits.extend(block_on(engine.append_with_logits(last)).expect("logits"));
        compare(&expected, &logits).assert_logits(&format!("{kind} first, {tuning:?}"));
    }
}

/// The 2B has four query heads for each key head, the fixtures two. Software adapters take four together.
#[test]
fn four_query_heads_to_a_key_head() {
    let adapter = GpuOptions { adapter: Some("llvmpipe".to_owned()) };
    let gpu = block_on(Gpu::open(&adapter)).expect("Mesa's lavapipe");
    let fixture = Fixture::open("eq");
    // More than one block of 128 positions.
    let prompt: Vec<u32> = fixture.prompt(70).into_iter().cycle().take(150).collect();
    let (most, last) = prompt.split_at(149);
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("wide.gguf");
    write_model(&fixture.gguf("Q8_0"), &path, std::iter::repeat(TensorType::Q8_0), 2);
    let mut reference = CpuModel::from_gguf_file(&path).expect("the reference loads the model");
    let values = reference.append_all(&prompt).expect("logits");
    let expected = Matrix { shape: vec![prompt.len(), values.len() / prompt.len()], values };
    for (tuning, kernel) in [(Tuning::Software, "attention_heads"), (Tuning::Hardware, "attention")] {
        let mut engine = load(&gpu, &path, tuning);
        assert!(engine.decode_plan(1).iter().any(|step| step.kernel == kernel), "{tuning:?} has no {kernel}");
        let mut logits = block_on(engine.append_with_logits(most)).expect("logits");
        logits.extend(block_on(engine.append_with_logits(last)).expect("logits"));
        compare(&expected, &logits).assert_logits(&format!("{tuning:?}"));
    }
}
