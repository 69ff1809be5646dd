//! The tensors of a trunk: their names in a GGUF file and the dims that the configuration implies.
//!
//! An engine walks this list to load a model; [`check`] compares it with a file's directory first, so that a
//! missing or odd tensor is named before any memory is asked for. Blocks of a multi-token-prediction head and
//! anything else in the file are ignored.

use glowworm_gguf::Header;

use crate::config::{Config, LayerKind};
use crate::error::{Error, Result};

/// One tensor that the trunk needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrunkTensor {
    /// Name in a GGUF file.
    pub name: String,
    /// Dims in GGUF order: the first is the contiguous one, a matrix product's input.
    pub dims: Vec<u64>,
    /// Where it belongs.
    pub place: Place,
}

/// Where a tensor belongs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// `token_embd`, `output_norm` or `output`.
    Model,
    /// A layer of the trunk, from 0.
    Layer(usize),
}

/// Every tensor of the trunk, in the order of the forward pass: embedding, layers, final norm, and the head where
/// it is not the embedding.
///
/// Norm weights are as GGUF stores them (1 already added to the zero-centred ones), and `ssm_a` is `−exp(A_log)`.
pub fn trunk(config: &Config) -> Vec<TrunkTensor> {
    let hidden = config.hidden as u64;
    let vocab = config.vocab_size as u64;
    let mut list = Vec::with_capacity(3 + 14 * config.layers.len());
    let model = |name: &str, dims: &[u64]| TrunkTensor {
        name: name.to_owned(),
        dims: dims.to_vec(),
        place: Place::Model,
    };
    list.push(model("token_embd.weight", &[hidden, vocab]));
    for (index, kind) in config.layers.iter().enumerate() {
        let parts = common(config).into_iter().chain(match kind {
            LayerKind::Linear => linear(config),
            LayerKind::Full => full(config),
        });
        list.extend(parts.map(|(name, dims)| TrunkTensor {
            name: format!("blk.{index}.{name}"),
            dims,
            place: Place::Layer(index),
        }));
    }
    list.push(model("output_norm.weight", &[hidden]));
    if !config.tied {
        list.push(model("output.weight", &[hidden, vocab]));
    }
    list
}

/// Checks that every tensor of the trunk is in the file with the dims that the configuration implies, and of a
/// type that can be multiplied with.
///
/// # Errors
/// The first tensor that is missing, of other dims, or of an unsupported type, by name.
pub fn check(config: &Config, header: &Header) -> Result<()> {
    for expected in trunk(config) {
        let Some(found) = header.tensor(&expected.name) else {
            return Err(Error::Tensor { name: expected.name, problem: "is missing".into() });
        };
        // A file may keep trailing dims of 1.
        let used = found.dims.iter().rposition(|dim| *dim != 1).map_or(1, |last| last + 1);
        let needed = expected.dims.iter().rposition(|dim| *dim != 1).map_or(1, |last| last + 1);
        if found.dims.get(..used) != expected.dims.get(..needed) {
            let problem = format!("has dims {:?} where {:?} are needed", found.dims, expected.dims);
            return Err(Error::Tensor { name: expected.name, problem });
        }
        found.require_supported()?;
    }
    Ok(())
}

type Part = (&'static str, Vec<u64>);

fn common(config: &Config) -> Vec<Part> {
    let (hidden, inner) = (config.hidden as u64, config.intermediate as u64);
    vec![
        ("attn_norm.weight", vec![hidden]),
        ("post_attention_norm.weight", vec![hidden]),
        ("ffn_gate.weight", vec![hidden, inner]),
        ("ffn_up.weight", vec![hidden, inner]),
        ("ffn_down.weight", vec![inner, hidden]),
    ]
}

fn linear(config: &Config) -> Vec<Part> {
    let hidden = config.hidden as u64;
    let channels = config.conv_channels() as u64;
    let values = config.linear_value_width() as u64;
    let heads = config.linear_value_heads as u64;
    vec![
        ("attn_qkv.weight", vec![hidden, channels]),
        ("attn_gate.weight", vec![hidden, values]),
        ("ssm_alpha.weight", vec![hidden, heads]),
        ("ssm_beta.weight", vec![hidden, heads]),
        ("ssm_conv1d.weight", vec![config.conv_kernel as u64, channels]),
        ("ssm_a", vec![heads]),
        ("ssm_dt.bias", vec![heads]),
        ("ssm_norm.weight", vec![config.linear_value_dim as u64]),
        ("ssm_out.weight", vec![values, hidden]),
    ]
}

fn full(config: &Config) -> Vec<Part> {
    let hidden = config.hidden as u64;
    let queries = config.query_width() as u64;
    let keys = config.kv_width() as u64;
    let head = config.head_dim as u64;
    vec![
        // Each head's query is followed by its gate.
        ("attn_q.weight", vec![hidden, 2 * queries]),
        ("attn_k.weight", vec![hidden, keys]),
        ("attn_v.weight", vec![hidden, keys]),
        ("attn_output.weight", vec![queries, hidden]),
        ("attn_q_norm.weight", vec![head]),
        ("attn_k_norm.weight", vec![head]),
    ]
}
