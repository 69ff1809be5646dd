//! Writes a GGUF file of a published shape with random weights and the real vocabulary of 248 thousand tokens.
//!
//! No published weights are at hand where the program is built, but what a large file costs does not depend on what the
//! weights are: load time, memory and tokens a second can be measured on this one. The weights are scaled as trained ones
//! are, so that nothing overflows; the text that comes out is nonsense.
//!
//! ```text
//! cargo run --release -p glowworm-tests --features random-model --bin random_model -- \
//!     OUT.gguf [--shape 2b|0.8b|4b|tiny] [--mix q4_k_m|q5_k_m|q4_0|q6_k|q8_0|q2_k|q3_k|q5_0|iq4_nl|iq4_xs] [--seed N]
//! ```
//! The same arguments give the same file. Blocks are made as bytes, never quantised from floats: 1.3 GB take seconds.

use std::error::Error;
use std::fs::File;
use std::io::{BufReader, BufWriter, Read};
use std::path::Path;

use flate2::read::GzDecoder;
use glowworm_gguf::blocks::quantize;
use glowworm_gguf::write::Declaration;
use glowworm_gguf::{Metadata, Strings, TensorInfo, TensorType, Writer};
use glowworm_model::convert::architecture;
use glowworm_model::{Config, tensors};
use glowworm_tests::random_blocks::{Random, fill_blocks};
use glowworm_tests::shared;
use serde_json::Value;

type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// A shape small enough for any test, with the vocabulary of the large ones.
const TINY: &str = r#"{
    "model_type": "qwen3_5_text", "vocab_size": 248320, "hidden_size": 256, "intermediate_size": 512,
    "num_hidden_layers": 4, "num_attention_heads": 2, "num_key_value_heads": 1, "head_dim": 256,
    "linear_num_key_heads": 2, "linear_num_value_heads": 2, "linear_key_head_dim": 128,
    "linear_value_head_dim": 128, "linear_conv_kernel_dim": 4, "rms_norm_eps": 1e-6,
    "max_position_embeddings": 262144, "tie_word_embeddings": true, "rope_theta": 1e7
}"#;

/// The model's special tokens: from this id on, in order. The second is whether skipping specials skips it.
const FIRST_SPECIAL: usize = 248_044;
const SPECIAL: [(&str, bool); 33] = [
    ("<|endoftext|>", true),
    ("<|im_start|>", true),
    ("<|im_end|>", true),
    ("<|object_ref_start|>", true),
    ("<|object_ref_end|>", true),
    ("<|box_start|>", true),
    ("<|box_end|>", true),
    ("<|quad_start|>", true),
    ("<|quad_end|>", true),
    ("<|vision_start|>", true),
    ("<|vision_end|>", true),
    ("<|vision_pad|>", true),
    ("<|image_pad|>", true),
    ("<|video_pad|>", true),
    ("<tool_call>", false),
    ("</tool_call>", false),
    ("<|fim_prefix|>", true),
    ("<|fim_middle|>", true),
    ("<|fim_suffix|>", true),
    ("<|fim_pad|>", true),
    ("<|repo_name|>", true),
    ("<|file_sep|>", true),
    ("<tool_response>", false),
    ("</tool_response>", false),
    ("<think>", false),
    ("</think>", false),
    ("<|audio_start|>", true),
    ("<|audio_end|>", true),
    ("<tts_pad>", true),
    ("<tts_text_bos>", true),
    ("<tts_text_eod>", true),
    ("<tts_text_bos_single>", true),
    ("<|audio_pad|>", true),
];

/// Which type each tensor gets, and llama.cpp's number for the whole.
#[derive(Clone, Copy)]
struct Mix {
    name: &'static str,
    base: TensorType,
    /// The embedding, which is also the head.
    embedding: TensorType,
    /// Layers that llama.cpp gives more bits, where the mix has such.
    better: Option<TensorType>,
    file_type: u32,
}

/// llama.cpp's, but for the last five: those are pure, to measure a type by itself, where llama.cpp gives some tensors more
/// bits.
const MIXES: [Mix; 10] = {
    use TensorType::{IQ4_NL, IQ4_XS, Q2K, Q3K, Q4_0, Q4K, Q5_0, Q5K, Q6K, Q8_0};
    [
        Mix { name: "q4_k_m", base: Q4K, embedding: Q6K, better: Some(Q6K), file_type: 15 },
        Mix { name: "q5_k_m", base: Q5K, embedding: Q6K, better: Some(Q6K), file_type: 17 },
        Mix { name: "q4_0", base: Q4_0, embedding: Q6K, better: None, file_type: 2 },
        Mix { name: "q6_k", base: Q6K, embedding: Q6K, better: None, file_type: 18 },
        Mix { name: "q8_0", base: Q8_0, embedding: Q8_0, better: None, file_type: 7 },
        Mix { name: "q2_k", base: Q2K, embedding: Q6K, better: None, file_type: 10 },
        Mix { name: "q3_k", base: Q3K, embedding: Q6K, better: None, file_type: 11 },
        Mix { name: "q5_0", base: Q5_0, embedding: Q6K, better: None, file_type: 8 },
        Mix { name: "iq4_nl", base: IQ4_NL, embedding: Q6K, better: None, file_type: 25 },
        Mix { name: "iq4_xs", base: IQ4_XS, embedding: Q6K, better: None, file_type: 30 },
    ]
};

impl Mix {
    fn kind(&self, name: &str, dims: &[u64], layers: usize) -> TensorType {
        if dims.len() == 1 || name.ends_with("ssm_conv1d.weight") {
            return TensorType::F32;
        }
        if name == "token_embd.weight" {
            return self.embedding;
        }
        let layer = name.split('.').nth(1).and_then(|layer| layer.parse().ok());
        let sensitive = ["attn_qkv", "attn_v", "ffn_down"].iter().any(|part| name.contains(part));
        match (self.better, layer) {
            (Some(better), Some(layer)) if sensitive && has_more_bits(layer, layers) => better,
            _ => self.base,
        }
    }
}

/// The layers that llama.cpp's `_M` mixes give more bits: the first and last eighth, and every third between.
fn has_more_bits(layer: usize, layers: usize) -> bool {
    let eighth = layers / 8;
    layer < eighth || layer >= 7 * layers / 8 || (layer - eighth) % 3 == 2
}

/// The small tensors, as in a freshly initialised model.
fn floats(name: &str, random: &mut Random, out: &mut [f32]) {
    let part = name.rsplit("blk.").next().unwrap_or(name);
    for value in out {
        let unit = random.unit();
        *value = if part.ends_with("ssm_a") {
            // −A with A from 1 to 16.
            -1.0 - 15.0 * unit
        } else if part.ends_with("ssm_dt.bias") {
            // The inverse of softplus of a time step from 0.001 to 0.1.
            let step = 0.001 * 100f32.powf(unit);
            step.exp_m1().ln()
        } else if part.ends_with("ssm_conv1d.weight") {
            unit - 0.5
        } else {
            // Norms, with their 1 already added.
            0.9 + 0.2 * unit
        };
    }
}

fn vocabulary(config: &Config, metadata: &mut Metadata) -> Result<()> {
    let packed = File::open(shared("fixtures/qwen35-tokenizer/vocab_merges.json.gz"))?;
    let mut text = String::new();
    GzDecoder::new(BufReader::new(packed)).read_to_string(&mut text)?;
    let json: Value = serde_json::from_str(&text)?;
    let mut tokens = vec![None; config.vocab_size];
    for (token, id) in json["vocab"].as_object().ok_or("the vocabulary is no object")? {
        let id = id.as_u64().ok_or("an id is no number")? as usize;
        *tokens.get_mut(id).ok_or("an id is past the embedding")? = Some((token.as_str(), 1));
    }
    for (index, (token, control)) in SPECIAL.into_iter().enumerate() {
        let slot = tokens.get_mut(FIRST_SPECIAL + index).ok_or("the vocabulary is too small")?;
        *slot = Some((token, if control { 3 } else { 4 }));
    }
    let (mut texts, mut types) = (Strings::new(), Vec::new());
    for (id, token) in tokens.into_iter().enumerate() {
        match token {
            Some((text, _)) => texts.push(text)?,
            None => texts.push(&format!("[PAD{id}]"))?,
        }
        types.push(token.map_or(5i32, |(_, kind)| kind));
    }
    let mut merges = Strings::new();
    for pair in json["merges"].as_array().ok_or("the merges are no list")? {
        let (left, right) = (pair[0].as_str(), pair[1].as_str());
        merges.push(&format!("{} {}", left.ok_or("no left part")?, right.ok_or("no right part")?))?;
    }
    metadata.set("tokenizer.ggml.model", "gpt2");
    metadata.set("tokenizer.ggml.pre", "qwen35");
    metadata.set("tokenizer.ggml.tokens", texts);
    metadata.set("tokenizer.ggml.token_type", types);
    metadata.set("tokenizer.ggml.merges", merges);
    metadata.set("tokenizer.ggml.eos_token_id", FIRST_SPECIAL as u32 + 2);
    metadata.set("tokenizer.ggml.padding_token_id", FIRST_SPECIAL as u32);
    metadata.set("tokenizer.ggml.add_bos_token", false);
    let template = std::fs::read_to_string(shared("fixtures/configs/qwen3_5_nothink.jinja"))?;
    metadata.set("tokenizer.chat_template", template);
    Ok(())
}

fn write_tensor<W: std::io::Write>(writer: &mut Writer<W>, tensor: &TensorInfo, seed: u64) -> Result<()> {
    let mut random = Random::new(seed, &tensor.name);
    if tensor.kind == TensorType::F32 {
        let mut values = vec![0.0; tensor.elements() as usize];
        floats(&tensor.name, &mut random, &mut values);
        let mut raw = Vec::new();
        quantize(tensor.kind, &values, &mut raw)?;
        return Ok(writer.write(&raw)?);
    }
    // Products then have the size of their input. What is added to the residual stream is kept smaller.
    let added = ["ffn_down", "attn_output", "ssm_out"].iter().any(|part| tensor.name.contains(part));
    let deviation = if added { 0.3 } else { 1.0 } / (tensor.k() as f32).sqrt();
    let rows_at_once = ((1 << 20) / tensor.row_bytes()).max(1);
    let mut raw = Vec::new();
    let mut left = tensor.rows();
    while left > 0 {
        let rows = left.min(rows_at_once);
        raw.resize((rows * tensor.row_bytes()) as usize, 0);
        fill_blocks(tensor.kind, &mut random, deviation, &mut raw);
        writer.write(&raw)?;
        left -= rows;
    }
    Ok(())
}

fn write_model(out: &Path, shape: &str, mix: Mix, seed: u64) -> Result<u64> {
    let config_text = match shape {
        "tiny" => TINY.to_owned(),
        published => {
            let name = match published {
                "0.8b" => "Qwen3.5-0.8B",
                "2b" => "Qwen3.5-2B",
                "4b" => "Qwen3.5-4B",
                other => return Err(format!("there is no shape `{other}`: 2b, 0.8b, 4b or tiny").into()),
            };
            std::fs::read_to_string(shared(&format!("fixtures/configs/{name}.config.json")))?
        }
    };
    let config = Config::from_hf_json(&config_text)?;
    let mut metadata = Metadata::new();
    metadata.set("general.architecture", "qwen35");
    metadata.set("general.type", "model");
    metadata.set("general.name", format!("Random weights of the {shape} shape"));
    architecture(&config, Some(vec![11, 11, 10, 0]), &mut metadata);
    vocabulary(&config, &mut metadata)?;
    metadata.set("general.quantization_version", 2u32);
    metadata.set("general.file_type", mix.file_type);
    let declarations = tensors::trunk(&config).into_iter().map(|tensor| {
        let kind = mix.kind(&tensor.name, &tensor.dims, config.layers.len());
        Declaration { name: tensor.name, dims: tensor.dims, kind }
    });
    let file = BufWriter::with_capacity(1 << 20, File::create(out)?);
    let mut writer = Writer::new(file, &metadata, declarations.collect())?;
    drop(metadata);
    while let Some(tensor) = writer.current().cloned() {
        write_tensor(&mut writer, &tensor, seed)?;
    }
    Ok(writer.finish()?.into_inner()?.metadata()?.len())
}

fn main() -> Result<()> {
    let mixes = MIXES.map(|mix| mix.name).join("|");
    let usage = format!("usage: random_model OUT.gguf [--shape 2b|0.8b|4b|tiny] [--mix {mixes}] [--seed N]");
    let (mut out, mut shape, mut mix, mut seed) = (None, "2b".to_owned(), "q4_k_m".to_owned(), 1);
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--shape" => shape = arguments.next().ok_or(usage.as_str())?.to_lowercase(),
            "--mix" => mix = arguments.next().ok_or(usage.as_str())?.to_lowercase(),
            "--seed" => seed = arguments.next().ok_or(usage.as_str())?.parse()?,
            option if option.starts_with('-') => return Err(usage.into()),
            path if out.is_none() => out = Some(path.to_owned()),
            _ => return Err(usage.into()),
        }
    }
    let out = out.ok_or(usage.as_str())?;
    let mix = MIXES.into_iter().find(|one| one.name == mix).ok_or(usage.as_str())?;
    let bytes = write_model(Path::new(&out), &shape, mix, seed)?;
    println!("{out}: {bytes} bytes");
    Ok(())
}

#[cfg(test)]
mod tests {
    use glowworm_gguf::Header;

    use super::*;

    #[test]
    fn the_mix_is_llama_cpps() {
        // What llama-quantize chose for the 2B in a dry run.
        let better = |part: &str, layers: std::ops::Range<usize>| -> Vec<usize> {
            let kind = |layer| MIXES[0].kind(&format!("blk.{layer}.{part}.weight"), &[2048, 6144], 24);
            layers.filter(|layer| kind(*layer) == TensorType::Q6K).collect()
        };
        assert_eq!(better("ffn_down", 0..24), [0, 1, 2, 5, 8, 11, 14, 17, 20, 21, 22, 23]);
        let linear: Vec<_> = better("attn_qkv", 0..24).into_iter().filter(|layer| layer % 4 != 3).collect();
        assert_eq!(linear, [0, 1, 2, 5, 8, 14, 17, 20, 21, 22]);
        let full: Vec<_> = better("attn_v", 0..24).into_iter().filter(|layer| layer % 4 == 3).collect();
        assert_eq!(full, [11, 23]);
        assert_eq!(better("ffn_up", 0..24), [0; 0]);
    }

    #[test]
    fn a_tiny_model_is_written_whole() {
        let path = std::env::temp_dir().join(format!("glowworm-random-{}.gguf", std::process::id()));
        let bytes = write_model(&path, "tiny", MIXES[0], 7).unwrap();
        let header = Header::read_from(&mut File::open(&path).unwrap(), bytes).unwrap();
        std::fs::remove_file(&path).unwrap();
        let config = Config::from_gguf(&header).unwrap();
        assert_eq!((config.vocab_size, config.layers.len()), (248_320, 4));
        tensors::check(&config, &header).unwrap();
        let tokens = header.metadata.strings("tokenizer.ggml.tokens").unwrap();
        assert_eq!((tokens.get(248_068), tokens.get(248_319)), (Some("<think>"), Some("[PAD248319]")));
    }
}
