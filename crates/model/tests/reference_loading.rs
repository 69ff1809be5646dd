//! Where the reference model's weights may come from, and what happens when they are not right.

#![allow(clippy::expect_used, clippy::unwrap_used, reason = "a panic is how a test reports")]

mod reference_support;

use std::collections::HashMap;
use std::path::Path;

use glowworm_model::checkpoint::Checkpoint;
use glowworm_model::reference::{CpuModel, Model, Weights, cpu};
use glowworm_model::{Config, Error};
use glowworm_tests::Fixture;
use half::{bf16, f16};
use reference_support::{checkpoint, distance};
use safetensors::tensor::TensorView;
use safetensors::{Dtype, SafeTensors, serialize_to_file};

fn logits(model: Model) -> Vec<f32> {
    let ids = Fixture::open("grp").prompt(7);
    CpuModel::new(model).append_all(&ids).expect("the prompt is valid")
}

/// A tensor to be written.
struct Raw {
    name: String,
    kind: Dtype,
    shape: Vec<usize>,
    bytes: Vec<u8>,
}

/// The fixture's tensors under other names and as another type; `rename` drops those it gives no name.
fn converted(kind: Dtype, rename: impl Fn(&str) -> Option<String>) -> Vec<Raw> {
    let bytes = std::fs::read(Fixture::open("grp").folder().join("model.safetensors")).unwrap();
    let file = SafeTensors::deserialize(&bytes).unwrap();
    let mut list = Vec::new();
    for (name, view) in file.tensors() {
        let Some(name) = rename(&name) else { continue };
        let numbers: Vec<f32> = match view.dtype() {
            Dtype::F32 => view.data().as_chunks::<4>().0.iter().map(|b| f32::from_le_bytes(*b)).collect(),
            _ => view.data().as_chunks::<2>().0.iter().map(|b| bf16::from_le_bytes(*b).to_f32()).collect(),
        };
        let bytes = match kind {
            Dtype::F16 => numbers.iter().flat_map(|x| f16::from_f32(*x).to_le_bytes()).collect(),
            _ => numbers.iter().flat_map(|x| x.to_le_bytes()).collect(),
        };
        list.push(Raw { name, kind, shape: view.shape().to_vec(), bytes });
    }
    list.sort_by(|a, b| a.name.cmp(&b.name));
    list
}

fn write(path: &Path, tensors: &[Raw]) {
    let views = tensors
        .iter()
        .map(|raw| (raw.name.as_str(), TensorView::new(raw.kind, raw.shape.clone(), &raw.bytes).unwrap()));
    serialize_to_file(views, None, path).unwrap();
}

/// The text part of the fixture's config.json as a text-only model's.
fn write_text_config(folder: &Path) {
    let json = std::fs::read_to_string(Fixture::open("grp").folder().join("config.json")).unwrap();
    let mut config: serde_json::Value = serde_json::from_str(&json).unwrap();
    let mut text = config["text_config"].take();
    text["architectures"] = serde_json::json!(["Qwen3_5ForCausalLM"]);
    std::fs::write(folder.join("config.json"), text.to_string()).unwrap();
}

fn text_only(name: &str) -> Option<String> {
    name.strip_prefix("model.language_model.").map(|rest| format!("model.{rest}"))
}

#[test]
fn text_only_checkpoint_in_f32_is_the_same_model() {
    let folder = tempfile::tempdir().unwrap();
    write_text_config(folder.path());
    write(&folder.path().join("model.safetensors"), &converted(Dtype::F32, text_only));
    let model = Model::from_checkpoint(folder.path(), &cpu()).unwrap();
    assert_eq!(logits(model), logits(checkpoint("grp", &cpu())));
}

#[test]
fn sharded_checkpoint_in_f16_is_nearly_the_same_model() {
    let folder = tempfile::tempdir().unwrap();
    write_text_config(folder.path());
    let tensors = converted(Dtype::F16, text_only);
    let mut weight_map = HashMap::new();
    for (index, part) in tensors.chunks(20).enumerate() {
        let file = format!("model-{index:05}-of-00003.safetensors");
        write(&folder.path().join(&file), part);
        weight_map.extend(part.iter().map(|raw| (raw.name.clone(), file.clone())));
    }
    let index = serde_json::json!({ "metadata": {}, "weight_map": weight_map });
    std::fs::write(folder.path().join("model.safetensors.index.json"), index.to_string()).unwrap();

    let model = Model::from_checkpoint(folder.path(), &cpu()).unwrap();
    // F16 keeps more digits of bf16 weights, but loses the smallest.
    let difference = distance(&logits(model), &logits(checkpoint("grp", &cpu())));
    assert!(difference < 1e-2, "{difference}");
}

#[test]
fn weights_go_out_and_in_again() {
    let model = checkpoint("grp", &cpu());
    let weights = model.weights().unwrap();
    let names: Vec<&str> = weights.tensors.keys().map(String::as_str).collect();
    assert!(names.contains(&"layers.0.linear_attn.A_log"), "{names:?}");
    assert!(names.contains(&"layers.3.self_attn.q_norm.weight"), "{names:?}");
    let again = Model::from_source(model.config().clone(), &mut weights.clone(), &cpu()).unwrap();
    assert_eq!(again.weights().unwrap(), weights);
    assert_eq!(logits(again), logits(model));
}

#[test]
fn names_are_those_of_the_checkpoint() {
    let fixture = Fixture::open("grp");
    let bytes = std::fs::read(fixture.folder().join("model.safetensors")).unwrap();
    let file = SafeTensors::deserialize(&bytes).unwrap();
    let mut expected: Vec<String> = file
        .names()
        .iter()
        .filter_map(|name| name.strip_prefix("model.language_model."))
        .map(str::to_owned)
        .collect();
    let mut found: Vec<String> =
        checkpoint("grp", &cpu()).parameters().into_iter().map(|parameter| parameter.name).collect();
    expected.sort();
    found.sort();
    assert_eq!(found, expected);
}

/// The weights and configuration of the fixture, to be spoilt.
fn parts() -> (Config, Weights) {
    let model = checkpoint("grp", &cpu());
    (model.config().clone(), model.weights().unwrap())
}

#[test]
fn a_missing_or_misshapen_tensor_is_named() {
    let (config, mut weights) = parts();
    weights.tensors.remove("layers.2.mlp.up_proj.weight");
    let error = Model::from_source(config.clone(), &mut weights, &cpu()).unwrap_err();
    assert!(error.to_string().contains("layers.2.mlp.up_proj.weight` is missing"), "{error}");

    let (_, mut weights) = parts();
    weights.tensors.insert("norm.weight".into(), (vec![7], vec![0.0; 7]));
    let error = Model::from_source(config, &mut weights, &cpu()).unwrap_err();
    assert!(error.to_string().contains("`norm.weight` has the shape [7]"), "{error}");
}

#[test]
fn a_broken_checkpoint_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.safetensors");
    assert!(matches!(Checkpoint::open(folder.path()), Err(Error::Checkpoint { .. })));

    std::fs::write(&path, u64::MAX.to_le_bytes()).unwrap();
    assert!(matches!(Checkpoint::open(folder.path()), Err(Error::Checkpoint { .. })));

    let whole = std::fs::read(Fixture::open("grp").folder().join("model.safetensors")).unwrap();
    for len in [0, 4, 8, 1000] {
        std::fs::write(&path, &whole[..len]).unwrap();
        assert!(Checkpoint::open(folder.path()).is_err(), "{len} bytes");
    }
    // The header is whole, the data is not.
    std::fs::write(&path, &whole[..whole.len() / 2]).unwrap();
    write_text_config(folder.path());
    assert!(Model::from_checkpoint(folder.path(), &cpu()).is_err());

    let index = r#"{"weight_map": {"model.norm.weight": "../model.safetensors"}}"#;
    std::fs::write(folder.path().join("model.safetensors.index.json"), index).unwrap();
    let error = Checkpoint::open(folder.path()).unwrap_err();
    assert!(error.to_string().contains("not a file of the folder"), "{error}");
}

#[test]
fn tokens_outside_the_vocabulary_are_refused_and_change_nothing() {
    let mut model = CpuModel::new(checkpoint("grp", &cpu()));
    let expected = model.append(&[1, 2]).unwrap();
    model.clear();
    let error = model.append(&[1, 512]).unwrap_err();
    assert!(error.to_string().contains("no token 512 in a vocabulary of 512"), "{error}");
    assert!(matches!(model.append(&[]), Err(Error::Reference { .. })));
    assert_eq!(model.append(&[1, 2]).unwrap(), expected);
}
