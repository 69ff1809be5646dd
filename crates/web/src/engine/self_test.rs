//! Whether the adapter computes what it should.
//!
//! Some adapters and drivers return wrong numbers without any error. So before anybody downloads a gigabyte, the very
//! kernels that will run are run on a model of a few hundred kilobytes, made here from a counter: one layer of each
//! kind, and a matrix of every weight format. Its logits are known; they were computed by the reference forward pass
//! (`tests/self_test.rs` compares them again). Both ways through the engine are taken: many tokens at once, and one
//! after another.

use glowworm_engine::{Engine, Gpu, GpuOptions, LoadOptions, MemorySource};
use glowworm_gguf::blocks::Half;
use glowworm_gguf::write::Declaration;
use glowworm_gguf::{Error, Header, Metadata, TensorType, Writer};
use glowworm_model::{Config, LayerKind, ValueHeadOrder, tensors};

/// The tokens that are read.
pub const PROMPT: [u32; 6] = [3, 1, 4, 1, 5, 9];

/// Ids of the vocabulary whose logits after the last token are known.
pub const PROBES: [usize; 8] = [0, 7, 14, 21, 28, 35, 42, 63];

/// Those logits.
pub const ANSWERS: [f32; 8] = [0.0; 8];

/// Largest difference that counts as agreement. Kernels that add in another order differ by some 1e-5 here, a wrong
/// kernel by 0.1 and more.
pub const TOLERANCE: f32 = 2e-3;

/// The shape: as small as the kernels' blocks allow.
pub fn config() -> Config {
    Config {
        hidden: 256,
        intermediate: 256,
        layers: vec![LayerKind::Linear, LayerKind::Full],
        heads: 2,
        kv_heads: 1,
        head_dim: 128,
        linear_key_heads: 2,
        linear_value_heads: 4,
        linear_key_dim: 64,
        linear_value_dim: 64,
        conv_kernel: 4,
        rope_dim: 32,
        rope_theta: 1e4,
        norm_eps: 1e-6,
        vocab_size: 64,
        context_length: 64,
        tied: true,
        value_heads_order: ValueHeadOrder::Tiled,
        mtp_layers: 0,
    }
}

/// Which format a matrix is stored in, so that every format occurs.
fn kind(name: &str) -> TensorType {
    let matrix = name.rsplit_once("blk.").map_or(name, |(_, part)| part);
    match matrix {
        "0.attn_qkv.weight" | "1.ffn_up.weight" | "1.ffn_gate.weight" => TensorType::Q4K,
        "0.attn_gate.weight" | "0.ssm_out.weight" => TensorType::Q5K,
        "token_embd.weight" | "1.ffn_down.weight" => TensorType::Q6K,
        "1.attn_q.weight" | "0.ffn_down.weight" => TensorType::Q8_0,
        "1.attn_k.weight" | "1.attn_v.weight" => TensorType::Q4_0,
        "1.attn_output.weight" => TensorType::F16,
        "0.ffn_gate.weight" | "0.ffn_up.weight" => TensorType::BF16,
        _ => TensorType::F32,
    }
}

/// Numbers from a counter (SplitMix64).
struct Counter(u64);

impl Counter {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut word = self.0;
        word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        word ^ (word >> 31)
    }

    /// From −1 to 1.
    fn unit(&mut self) -> f32 {
        (self.next() >> 40) as f32 / (1u64 << 23) as f32 - 1.0
    }
}

/// A tensor's bytes: blocks of random quants with scales that keep the weights at about 1 / √256.
fn fill(name: &str, kind: TensorType, counter: &mut Counter, raw: &mut [u8]) {
    let float = |counter: &mut Counter| -> f32 {
        let unit = counter.unit();
        if name.ends_with("ssm_a") {
            -1.5 - unit
        } else if name.ends_with("ssm_dt.bias") {
            unit
        } else if name.ends_with("norm.weight") {
            1.0 + 0.2 * unit
        } else if name.ends_with("conv1d.weight") {
            0.5 * unit
        } else {
            0.1 * unit
        }
    };
    let half = |value: f32| Half::from_f32(value).to_bytes();
    match kind {
        TensorType::F32 => {
            raw.chunks_exact_mut(4).for_each(|four| four.copy_from_slice(&float(counter).to_le_bytes()));
        }
        TensorType::F16 => raw.chunks_exact_mut(2).for_each(|two| two.copy_from_slice(&half(float(counter)))),
        TensorType::BF16 => raw.chunks_exact_mut(2).for_each(|two| {
            two.copy_from_slice(&float(counter).to_le_bytes()[2..]);
        }),
        _ => {
            for chunk in raw.chunks_mut(8) {
                chunk.copy_from_slice(&counter.next().to_le_bytes()[..chunk.len()]);
            }
            for block in raw.chunks_exact_mut(kind.block_bytes() as usize) {
                match kind {
                    TensorType::Q8_0 => block[..2].copy_from_slice(&half(0.1 / 128.0)),
                    TensorType::Q4_0 => block[..2].copy_from_slice(&half(0.1 / 8.0)),
                    TensorType::Q4K | TensorType::Q5K => {
                        let steps = if kind == TensorType::Q4K { 16.0 } else { 32.0 };
                        block[..2].copy_from_slice(&half(0.2 / steps / 48.0));
                        block[2..4].copy_from_slice(&half(0.1 / 48.0));
                    }
                    TensorType::Q6K => {
                        let last = block.len() - 2;
                        block[last..].copy_from_slice(&half(0.1 / 32.0 / 96.0));
                    }
                    _ => {}
                }
            }
        }
    }
}

/// The model as a GGUF file without a tokenizer.
///
/// # Errors
/// None that can happen: the declarations are fixed.
pub fn model() -> Result<Vec<u8>, Error> {
    let config = config();
    let mut metadata = Metadata::new();
    metadata.set("general.architecture", "qwen35");
    let numbers = [
        ("block_count", config.layers.len()),
        ("embedding_length", config.hidden),
        ("feed_forward_length", config.intermediate),
        ("attention.head_count", config.heads),
        ("attention.head_count_kv", config.kv_heads),
        ("attention.key_length", config.head_dim),
        ("ssm.group_count", config.linear_key_heads),
        ("ssm.time_step_rank", config.linear_value_heads),
        ("ssm.state_size", config.linear_key_dim),
        ("ssm.inner_size", config.linear_value_width()),
        ("ssm.conv_kernel", config.conv_kernel),
        ("rope.dimension_count", config.rope_dim),
        ("full_attention_interval", 2),
        ("context_length", config.context_length),
    ];
    for (key, value) in numbers {
        metadata.set(&format!("qwen35.{key}"), value as u32);
    }
    metadata.set("qwen35.rope.freq_base", config.rope_theta);
    metadata.set("qwen35.attention.layer_norm_rms_epsilon", config.norm_eps);

    let declarations: Vec<Declaration> = tensors::trunk(&config)
        .into_iter()
        .map(|tensor| Declaration { kind: kind(&tensor.name), name: tensor.name, dims: tensor.dims })
        .collect();
    let mut writer = Writer::new(Vec::new(), &metadata, declarations.clone())?;
    let mut counter = Counter(2026);
    for tensor in &declarations {
        let weights: u64 = tensor.dims.iter().product();
        let blocks = weights / tensor.kind.block_weights();
        let mut raw = vec![0; (blocks * tensor.kind.block_bytes()) as usize];
        fill(&tensor.name, tensor.kind, &mut counter, &mut raw);
        writer.write(&raw)?;
    }
    writer.finish()
}

/// Runs the model on an adapter and compares. Returns the largest difference.
///
/// # Errors
/// A sentence: no adapter, one that fails, or one that computes something else.
pub async fn run(options: &GpuOptions) -> Result<f32, String> {
    let text = |error: &dyn std::fmt::Display| error.to_string();
    let file = model().map_err(|error| text(&error))?;
    let header = Header::read_from(&mut file.as_slice(), file.len() as u64).map_err(|error| text(&error))?;
    let gpu = Gpu::open(options).await.map_err(|error| text(&error))?;
    let load = LoadOptions { context: 32, batch: 32, vocabulary: None };
    let mut source = MemorySource::new("the self-test", file);
    let mut engine = Engine::load(&gpu, &mut source, &header, &config(), load, &mut |_| ())
        .await
        .map_err(|error| text(&error))?;

    let vocabulary = config().vocab_size;
    let together = engine.append_with_logits(&PROMPT).await.map_err(|error| text(&error))?;
    let last = together.get((PROMPT.len() - 1) * vocabulary..).unwrap_or(&[]);
    let together = difference(last);
    engine.reset();
    for token in PROMPT {
        engine.append(&[token]).await.map_err(|error| text(&error))?;
    }
    let singly = difference(&engine.logits().await.map_err(|error| text(&error))?);
    for (way, found) in [("of many tokens at once", together), ("of single tokens", singly)] {
        // A NaN is no number below the tolerance either.
        if !(found <= TOLERANCE) {
            return Err(format!(
                "the adapter {} computes wrong numbers: a test {way} is off by {found:.3}. Update its driver, or use \
                 another browser, another graphics adapter, or the command-line program",
                gpu.description()
            ));
        }
    }
    Ok(together.max(singly))
}

/// Largest difference from the known logits.
pub fn difference(logits: &[f32]) -> f32 {
    let pairs = PROBES.iter().zip(ANSWERS);
    let differences =
        pairs.map(|(&id, answer)| logits.get(id).map_or(f32::NAN, |logit| (logit - answer).abs()));
    differences.fold(0.0, |most, found| if found <= most { most } else { found })
}
