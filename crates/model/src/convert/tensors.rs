//! Which tensor of the checkpoint becomes which tensor of the file, and what happens to it on the way.
//!
//! # Order of value heads
//! A layer with `nk` key heads and `nv = r · nk` value heads has them grouped in a checkpoint: value head `g r + j` belongs
//! to key head `g`. ggml repeats key heads as a whole, so the file has value head `j nk + g` for it: tiled. The order
//! concerns the rows that make value heads (the v part of `in_proj_qkv` and of the convolution, `in_proj_z`,
//! `in_proj_a`, `in_proj_b`), the numbers that each head has (`A_log`, `dt_bias`), and the columns of `out_proj`, which
//! read them. With `r = 1`, as in the 2B, both orders are the same.

use crate::checkpoint::{Checkpoint, Stored};
use crate::config::Config;
use crate::error::{Error, Result};
use crate::tensors::{Place, trunk};

/// How the numbers change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Change {
    None,
    /// Zero-centred norm weights.
    AddOne,
    /// `A_log`.
    NegativeExp,
}

/// How one tensor of the file is made.
#[derive(Debug)]
pub(super) struct Recipe {
    /// Name in the file.
    pub name: String,
    /// Dims in the file, the contiguous one first.
    pub dims: Vec<u64>,
    /// Whether it stays F32 whatever the type asked for.
    pub always_f32: bool,
    stored: Stored,
    change: Change,
    /// Runs of rows `(first, count)` of the checkpoint, in the order of the file.
    rows: Vec<(u64, u64)>,
    /// For each column of the file, the column of the checkpoint; empty if they are the same.
    columns: Vec<u32>,
}

/// The recipes of all tensors of the trunk.
///
/// # Errors
/// A tensor that is missing or has another shape than the configuration says.
pub(super) fn recipes(config: &Config, checkpoint: &Checkpoint) -> Result<Vec<Recipe>> {
    trunk(config)
        .into_iter()
        .map(|tensor| recipe(config, checkpoint, tensor.name, tensor.dims, tensor.place))
        .collect()
}

fn recipe(
    config: &Config,
    checkpoint: &Checkpoint,
    name: String,
    dims: Vec<u64>,
    place: Place,
) -> Result<Recipe> {
    let part = match place {
        Place::Model => name.as_str(),
        Place::Layer(_) => name.splitn(3, '.').nth(2).unwrap_or_default(),
    };
    let (source, change) = source_of(part).ok_or_else(|| Error::Tensor {
        name: name.clone(),
        problem: "has no counterpart in a checkpoint".into(),
    })?;
    let source = match place {
        Place::Model => source.to_owned(),
        Place::Layer(layer) => format!("layers.{layer}.{source}"),
    };
    let stored = checkpoint.find(&source)?.clone();
    let shape: Vec<u64> = match stored.shape.as_slice() {
        // The convolution is one channel deep.
        [channels, 1, taps] => vec![*taps, *channels],
        shape => shape.iter().rev().copied().collect(),
    };
    if shape != dims {
        let wanted: Vec<u64> = dims.iter().rev().copied().collect();
        let problem = format!("has shape {:?}, where config.json implies {wanted:?}", stored.shape);
        return Err(Error::Tensor { name: source, problem });
    }
    let (rows, columns) = order(config, part, &dims);
    let always_f32 = dims.len() == 1 || part == "ssm_conv1d.weight";
    Ok(Recipe { name, dims, always_f32, stored, change, rows, columns })
}

/// Name in a checkpoint, within its layer, and what changes, of a tensor of the file.
fn source_of(part: &str) -> Option<(&'static str, Change)> {
    use Change::{AddOne, NegativeExp, None as Same};
    Some(match part {
        "token_embd.weight" => ("embed_tokens.weight", Same),
        "output_norm.weight" => ("norm.weight", AddOne),
        "output.weight" => ("lm_head.weight", Same),
        "attn_norm.weight" => ("input_layernorm.weight", AddOne),
        "post_attention_norm.weight" => ("post_attention_layernorm.weight", AddOne),
        "ffn_gate.weight" => ("mlp.gate_proj.weight", Same),
        "ffn_up.weight" => ("mlp.up_proj.weight", Same),
        "ffn_down.weight" => ("mlp.down_proj.weight", Same),
        "attn_qkv.weight" => ("linear_attn.in_proj_qkv.weight", Same),
        "attn_gate.weight" => ("linear_attn.in_proj_z.weight", Same),
        "ssm_alpha.weight" => ("linear_attn.in_proj_a.weight", Same),
        "ssm_beta.weight" => ("linear_attn.in_proj_b.weight", Same),
        "ssm_conv1d.weight" => ("linear_attn.conv1d.weight", Same),
        "ssm_a" => ("linear_attn.A_log", NegativeExp),
        "ssm_dt.bias" => ("linear_attn.dt_bias", Same),
        // Not zero-centred, unlike every other norm.
        "ssm_norm.weight" => ("linear_attn.norm.weight", Same),
        "ssm_out.weight" => ("linear_attn.out_proj.weight", Same),
        "attn_q.weight" => ("self_attn.q_proj.weight", Same),
        "attn_k.weight" => ("self_attn.k_proj.weight", Same),
        "attn_v.weight" => ("self_attn.v_proj.weight", Same),
        "attn_output.weight" => ("self_attn.o_proj.weight", Same),
        "attn_q_norm.weight" => ("self_attn.q_norm.weight", AddOne),
        "attn_k_norm.weight" => ("self_attn.k_norm.weight", AddOne),
        _ => return None,
    })
}

/// Rows and columns of the checkpoint in the order of the file.
fn order(config: &Config, part: &str, dims: &[u64]) -> (Vec<(u64, u64)>, Vec<u32>) {
    let rows = dims.get(1).copied().unwrap_or(1);
    let same = vec![(0, rows)];
    let (key_heads, value_heads) = (config.linear_key_heads as u64, config.linear_value_heads as u64);
    if key_heads == value_heads {
        return (same, Vec::new());
    }
    let group = value_heads / key_heads;
    // The head of the checkpoint at each place of the file.
    let heads: Vec<u64> =
        (0..value_heads).map(|place| place % key_heads * group + place / key_heads).collect();
    let width = config.linear_value_dim as u64;
    // Runs of `width` rows for each head, after the rows before `start`.
    let runs = |start: u64, width: u64| {
        let before = (start > 0).then_some((0, start));
        before.into_iter().chain(heads.iter().map(move |head| (start + head * width, width))).collect()
    };
    let columns = |width: u64| {
        heads.iter().flat_map(|head| (head * width..(head + 1) * width).map(|column| column as u32)).collect()
    };
    match part {
        "attn_qkv.weight" | "ssm_conv1d.weight" => {
            (runs(2 * config.linear_key_width() as u64, width), Vec::new())
        }
        "attn_gate.weight" => (runs(0, width), Vec::new()),
        "ssm_alpha.weight" | "ssm_beta.weight" => (runs(0, 1), Vec::new()),
        "ssm_a" | "ssm_dt.bias" => (same, columns(1)),
        "ssm_out.weight" => (same, columns(width)),
        _ => (same, Vec::new()),
    }
}

impl Recipe {
    fn k(&self) -> u64 {
        self.dims.first().copied().unwrap_or(1)
    }

    /// Runs of rows of the checkpoint `(first, count)` with about `weights` weights each, in the order of the file.
    pub fn pieces(&self, weights: usize) -> impl Iterator<Item = (u64, u64)> {
        let most = (weights as u64 / self.k()).max(1);
        self.rows.iter().flat_map(move |(first, count)| {
            (0..count.div_ceil(most)).map(move |piece| {
                let done = piece * most;
                (first + done, most.min(count - done))
            })
        })
    }

    /// Reads rows of the checkpoint into `out`, as the file has them.
    pub fn read(&self, checkpoint: &mut Checkpoint, first: u64, rows: u64, out: &mut Vec<f32>) -> Result<()> {
        out.clear();
        checkpoint.read(&self.stored, first * self.k(), (rows * self.k()) as usize, out)?;
        if !self.columns.is_empty() {
            let mut row_before = Vec::new();
            for row in out.chunks_exact_mut(self.columns.len()) {
                row_before.clear();
                row_before.extend_from_slice(row);
                for (value, column) in row.iter_mut().zip(&self.columns) {
                    *value = row_before[*column as usize];
                }
            }
        }
        match self.change {
            Change::None => {}
            Change::AddOne => out.iter_mut().for_each(|value| *value += 1.0),
            // In double precision, so that the result is the nearest f32.
            Change::NegativeExp => {
                out.iter_mut().for_each(|value| *value = -f64::from(*value).exp() as f32);
            }
        }
        Ok(())
    }
}
