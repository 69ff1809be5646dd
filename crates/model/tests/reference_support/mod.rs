//! The checks of the reference model against other implementations, on a given device.

#![allow(dead_code, reason = "each test file uses a part of it")]
#![allow(clippy::expect_used, reason = "a panic is how a test reports")]

use std::collections::BTreeMap;

use burn::tensor::Tensor;
use glowworm_model::reference::{Capture, CpuModel, Device, Mixer, MixerState, Model};
use glowworm_tests::{Fixture, GGUF_FILES, LOGIT_TOLERANCE, Matrix, PROMPTS, assert_greedy, compare};

/// Both fixtures.
pub const FIXTURES: [&str; 2] = ["eq", "grp"];

/// The numbers of a tensor, row-major.
pub fn values<const N: usize>(x: Tensor<N>) -> Vec<f32> {
    x.try_into_vec_as::<f32>().expect("the device answers")
}

/// Largest absolute difference.
pub fn distance(a: &[f32], b: &[f32]) -> f32 {
    assert_eq!(a.len(), b.len());
    a.iter().zip(b).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max)
}

/// The checkpoint of a fixture, as transformers would load it.
pub fn checkpoint(name: &str, device: &Device) -> Model {
    Model::from_checkpoint(Fixture::open(name).folder(), device).expect("the fixture loads")
}

/// Logits of the checkpoints at every position that transformers' answers hold.
pub fn logits_equal_those_of_transformers(device: &Device) {
    for name in FIXTURES {
        let fixture = Fixture::open(name);
        let reference = fixture.reference();
        let mut model = CpuModel::new(checkpoint(name, device));
        for len in PROMPTS {
            model.clear();
            let logits = model.append_all(&fixture.prompt(len)).expect("the prompt is valid");
            let agreement = compare(reference.floats(&format!("logits_{len}")), &logits);
            println!("{name} {len} tokens: largest difference {:.1e}", agreement.max_difference);
            agreement.assert_logits(&format!("{name}, {len} tokens"));
        }
    }
}

/// 32 tokens generated after the prompts of 7 and 70.
pub fn greedy_tokens_equal_those_of_transformers(device: &Device) {
    for name in FIXTURES {
        let fixture = Fixture::open(name);
        let reference = fixture.reference();
        let mut model = CpuModel::new(checkpoint(name, device));
        for len in [7, 70] {
            model.clear();
            let after_prompt = model.append(&fixture.prompt(len)).expect("the prompt is valid");
            let expected = reference.ids(&format!("greedy_{len}"));
            let what = format!("{name}, after {len} tokens");
            let compared = assert_greedy(&what, &expected, after_prompt, |id| {
                model.append(&[id]).expect("the id is valid")
            });
            println!("{what}: {compared} tokens the same");
            assert!(compared >= 16, "{what}: undecided already after {compared} tokens");
        }
    }
}

/// Every activation that transformers' answers hold, so that the first one that differs names the culprit.
pub fn activations_equal_those_of_transformers(device: &Device) {
    for name in FIXTURES {
        let fixture = Fixture::open(name);
        let reference = fixture.reference();
        let model = checkpoint(name, device);
        for (len, prefix) in [(7, "act7."), (70, "act70_last8.")] {
            let seen = activations(&model, &fixture.prompt(len));
            let mut compared = 0;
            for full in reference.names(prefix) {
                let computed = &seen[&full[prefix.len()..]];
                let difference = compare(reference.floats(full), computed).max_difference;
                assert!(difference <= 1e-4, "{name}: {full} differs by {difference:.2e}");
                compared += 1;
            }
            let expected = if len == 7 { 22 } else { 5 };
            assert_eq!(compared, expected, "{name}: activations of {len} tokens");
        }
    }
}

fn activations(model: &Model, ids: &[u32]) -> BTreeMap<String, Vec<f32>> {
    let mut capture = Capture::on();
    model.forward(model.ids(ids), &mut model.start(1), &mut capture);
    capture.into_activations().into_iter().map(|(name, x)| (name, values(x))).collect()
}

/// Convolution and recurrent state of the first layer after 70 tokens.
pub fn states_equal_those_of_transformers(device: &Device) {
    for name in FIXTURES {
        let fixture = Fixture::open(name);
        let reference = fixture.reference();
        let model = checkpoint(name, device);
        let mut state = model.start(1);
        model.forward(model.ids(&fixture.prompt(70)), &mut state, &mut Capture::off());
        let MixerState::Linear(first) = &state.layers[0] else {
            panic!("the first layer is linear");
        };

        // transformers keeps four columns, channels first; ours are the last three, columns first.
        let expected = reference.floats("state70.l0.conv");
        let channels = expected.shape[0];
        let conv = values(first.conv.clone());
        for (channel, kept) in expected.values.chunks_exact(4).enumerate() {
            for column in 0..3 {
                let difference = (conv[column * channels + channel] - kept[column + 1]).abs();
                assert!(difference <= 1e-4, "{name}: convolution state, channel {channel}");
            }
        }

        let expected = reference.floats("state70.l0.recurrent");
        let recurrent = values(first.recurrent.clone().narrow(1, 0, 1));
        let difference = distance(&expected.values, &recurrent);
        assert!(difference <= 1e-4, "{name}: recurrent state of head 0 differs by {difference:.2e}");
    }
}

/// Logits and greedy tokens of every GGUF file, dequantised, against llama.cpp on the same weights in f32.
pub fn gguf_files_equal_llama_cpp(device: &Device) {
    for (name, kind) in GGUF_FILES {
        let fixture = Fixture::open(name);
        let answers = fixture.llama_cpp();
        let model = Model::from_gguf_file(&fixture.gguf(kind), device).expect("the fixture loads");
        let mut model = CpuModel::new(model);
        for len in PROMPTS {
            let what = format!("{name} {kind}, {len} tokens");
            model.clear();
            let logits = model.append_all(&fixture.prompt(len)).expect("the prompt is valid");
            let expected = answers.floats(&format!("{kind}.deq.logits_{len}"));
            let agreement = compare(expected, &logits);
            agreement.assert_logits(&what);

            let after_prompt = logits[logits.len() - expected.width()..].to_vec();
            let greedy = answers.ids(&format!("{kind}.deq.greedy_{len}"));
            let compared = assert_greedy(&what, &greedy, after_prompt, |id| {
                model.append(&[id]).expect("the id is valid")
            });
            println!("{what}: largest difference {:.1e}, {compared} greedy", agreement.max_difference);
        }
    }
}

/// One prompt of 200 tokens in one go, in pieces, and with the delta rule token by token.
pub fn pieces_agree_with_one_go(device: &Device) {
    for name in FIXTURES {
        let ids = Fixture::open(name).prompt(200);
        let mut model = CpuModel::new(checkpoint(name, device));
        let width = model.model().config().vocab_size;
        let whole = Matrix {
            shape: vec![ids.len(), width],
            values: model.append_all(&ids).expect("the prompt is valid"),
        };
        for piece in [1, 3, 64] {
            model.clear();
            let mut logits = Vec::new();
            for ids in ids.chunks(piece) {
                logits.extend(model.append_all(ids).expect("the prompt is valid"));
            }
            compare(&whole, &logits).assert_logits(&format!("{name}, pieces of {piece}"));
        }
        let mut sequential = CpuModel::new(model.model().clone().with_chunk(1));
        let logits = sequential.append_all(&ids).expect("the prompt is valid");
        compare(&whole, &logits).assert_logits(&format!("{name}, delta rule token by token"));
    }
}

/// Two continuations of one prefix.
pub fn a_snapshot_brings_a_prefix_back(device: &Device) {
    let ids = Fixture::open("grp").prompt(70);
    let mut model = CpuModel::new(checkpoint("grp", device));
    model.append(&ids[..40]).expect("the prompt is valid");
    let snapshot = model.snapshot();
    let first = model.append(&ids[40..]).expect("the prompt is valid");

    model.restore(&snapshot);
    assert_eq!(model.position(), 40);
    let other = model.append(&ids[..30]).expect("the prompt is valid");
    assert!(distance(&first, &other) > 10.0 * LOGIT_TOLERANCE, "other tokens, other logits");

    model.restore(&snapshot);
    let again = model.append(&ids[40..]).expect("the prompt is valid");
    assert_eq!(first, again);
}

/// The fixtures tell the two orders of value heads apart: with the wrong one the logits are wrong.
pub fn the_order_of_value_heads_matters(device: &Device) {
    let fixture = Fixture::open("grp");
    let mut model = checkpoint("grp", device);
    for layer in &mut model.layers {
        if let Mixer::Linear(net) = &mut layer.mixer {
            net.order = glowworm_model::ValueHeadOrder::Tiled;
        }
    }
    let logits = CpuModel::new(model).append_all(&fixture.prompt(7)).expect("the prompt is valid");
    let agreement = compare(fixture.reference().floats("logits_7"), &logits);
    assert!(agreement.max_difference > 10.0 * LOGIT_TOLERANCE);
}
