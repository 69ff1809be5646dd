//! Files that llama.cpp wrote and quantised: they parse, and our quantisers make the same bytes of the same weights.

// A panic in a helper of a test is the report, as it is in the test itself.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::fs::File;
use std::path::PathBuf;

use glowworm_gguf::blocks::{dequantize, quantize};
use glowworm_gguf::repack::{Layout, repack, unpack};
use glowworm_gguf::{Header, TensorType};

fn path(name: &str) -> PathBuf {
    let path = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/fixtures")).join(name);
    assert!(path.exists(), "the fixtures are missing: {} does not exist", path.display());
    path
}

const FILES: [&str; 6] = [
    "eq/model-Q8_0.gguf",
    "eq/model-Q4_0.gguf",
    "eq/model-Q4_K_M.gguf",
    "eq/model-Q5_K_M.gguf",
    "eq/model-Q6_K.gguf",
    "grp/model-Q4_K_M.gguf",
];

struct Model {
    header: Header,
    bytes: Vec<u8>,
}

impl Model {
    fn open(name: &str) -> Model {
        let bytes = std::fs::read(path(name)).unwrap();
        let header = Header::read_from(&mut File::open(path(name)).unwrap(), bytes.len() as u64).unwrap();
        Model { header, bytes }
    }

    fn raw(&self, name: &str) -> (TensorType, &[u8]) {
        let tensor = self.header.tensor(name).unwrap_or_else(|| panic!("no tensor {name}"));
        let range = self.header.data_range(tensor);
        (tensor.kind, &self.bytes[range.start as usize..range.end as usize])
    }

    fn weights(&self, name: &str) -> Vec<f32> {
        let (kind, raw) = self.raw(name);
        let mut out = vec![0.0; self.header.tensor(name).unwrap().elements() as usize];
        dequantize(kind, raw, &mut out).unwrap();
        out
    }
}

/// A BF16 tensor of a safetensors file, widened.
fn bf16_tensor(folder: &str, name: &str) -> Vec<f32> {
    let bytes = std::fs::read(path(&format!("{folder}/model.safetensors"))).unwrap();
    // The header is a length and a JSON object; one tensor's offsets are found in it by hand to keep this crate small.
    let length = u64::from_le_bytes(bytes[..8].try_into().unwrap()) as usize;
    let json = std::str::from_utf8(&bytes[8..8 + length]).unwrap();
    let entry = &json[json.find(&format!("\"{name}\"")).unwrap()..];
    let entry = &entry[..entry.find('}').unwrap()];
    assert!(entry.contains("\"BF16\""), "{entry}");
    let offsets = &entry[entry.find("data_offsets\":[").unwrap() + 15..];
    let mut offsets = offsets.split([',', ']']).map(|number| number.trim().parse::<usize>());
    let (from, to) = (offsets.next().unwrap().unwrap(), offsets.next().unwrap().unwrap());
    let mut out = vec![0.0; (to - from) / 2];
    dequantize(TensorType::BF16, &bytes[8 + length + from..8 + length + to], &mut out).unwrap();
    out
}

/// The tensors that the conversion to GGUF leaves as they are: name in safetensors, name in GGUF.
fn unchanged() -> Vec<(String, String)> {
    let mut names = vec![("embed_tokens.weight".to_owned(), "token_embd.weight".to_owned())];
    for layer in 0..4 {
        let mixer: &[(&str, &str)] = if layer == 3 {
            &[
                ("self_attn.q_proj", "attn_q"),
                ("self_attn.k_proj", "attn_k"),
                ("self_attn.v_proj", "attn_v"),
                ("self_attn.o_proj", "attn_output"),
            ]
        } else {
            &[
                ("linear_attn.in_proj_qkv", "attn_qkv"),
                ("linear_attn.in_proj_z", "attn_gate"),
                ("linear_attn.in_proj_a", "ssm_alpha"),
                ("linear_attn.in_proj_b", "ssm_beta"),
                ("linear_attn.out_proj", "ssm_out"),
            ]
        };
        let mlp = [("mlp.gate_proj", "ffn_gate"), ("mlp.up_proj", "ffn_up"), ("mlp.down_proj", "ffn_down")];
        for (from, to) in mixer.iter().chain(&mlp) {
            names.push((format!("layers.{layer}.{from}.weight"), format!("blk.{layer}.{to}.weight")));
        }
    }
    names
}

#[test]
fn every_file_parses_and_fits_exactly() {
    for name in FILES {
        let model = Model::open(name);
        assert_eq!(model.header.metadata.str("general.architecture").unwrap(), "qwen35");
        assert_eq!(model.header.metadata.strings("tokenizer.ggml.tokens").unwrap().len(), 512);
        assert_eq!(model.header.data_end().next_multiple_of(32), model.bytes.len() as u64, "{name}");
        assert!(model.header.tensors.iter().all(|tensor| tensor.kind.is_supported()));
    }
}

#[test]
fn a_real_header_cut_at_any_byte_is_refused() {
    let model = Model::open("eq/model-Q8_0.gguf");
    for cut in 0..model.header.data_offset - 32 {
        assert!(Header::read_from(&mut &model.bytes[..cut as usize], cut).is_err(), "{cut}");
    }
}

#[test]
fn q8_0_and_q4_0_are_made_bit_for_bit() {
    for (file, kind) in [("eq/model-Q8_0.gguf", TensorType::Q8_0), ("eq/model-Q4_0.gguf", TensorType::Q4_0)] {
        let model = Model::open(file);
        let mut compared = 0;
        for (from, to) in unchanged() {
            let (found, expected) = model.raw(&to);
            if found != kind {
                assert_eq!((to.as_str(), found), ("token_embd.weight", TensorType::Q6K), "{file}");
                continue;
            }
            let weights = bf16_tensor("eq", &format!("model.language_model.{from}"));
            let mut made = Vec::new();
            quantize(kind, &weights, &mut made).unwrap();
            assert!(made == expected, "{file}: {to} differs");
            compared += 1;
        }
        assert!(compared >= 31, "{compared}");
    }
}

#[test]
fn k_quants_are_close_to_the_weights_they_were_made_of() {
    // An independent check of the dequantisers' order of weights: any mistake there gives an error near 1.4.
    let limits =
        [("eq/model-Q4_K_M.gguf", 0.09), ("eq/model-Q5_K_M.gguf", 0.05), ("eq/model-Q6_K.gguf", 0.02)];
    for (file, limit) in limits {
        let model = Model::open(file);
        for (from, to) in unchanged() {
            let original = bf16_tensor("eq", &format!("model.language_model.{from}"));
            let weights = model.weights(&to);
            let error: f32 = original.iter().zip(&weights).map(|(a, b)| (a - b) * (a - b)).sum();
            let power: f32 = original.iter().map(|a| a * a).sum();
            assert!(error.sqrt() <= limit * power.sqrt(), "{file} {to}: {}", (error / power).sqrt());
            let (kind, raw) = model.raw(&to);
            // Our quantiser on the same weights is of the same quality.
            if matches!(kind, TensorType::Q4K | TensorType::Q6K) {
                let (mut made, mut back) = (Vec::new(), vec![0.0; original.len()]);
                quantize(kind, &original, &mut made).unwrap();
                dequantize(kind, &made, &mut back).unwrap();
                let ours: f32 = original.iter().zip(&back).map(|(a, b)| (a - b) * (a - b)).sum();
                assert!(ours.sqrt() <= 1.15 * error.sqrt(), "{file} {to}: {} against {}", ours, error);
            }
            let (main, scales) = Layout::of(kind).unwrap().bytes(weights.len());
            let (mut main, mut scales) = (vec![0; main], vec![0; scales]);
            repack(kind, raw, &mut main, &mut scales).unwrap();
            let mut back = vec![0; raw.len()];
            unpack(kind, &main, &scales, &mut back).unwrap();
            assert!(back == raw, "{file} {to}");
        }
    }
}
