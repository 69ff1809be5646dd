//! The numbers that fix a model's shape.
//!
//! They come from a GGUF file's metadata ([`Config::from_gguf`]) or from the `config.json` beside a Hugging Face
//! checkpoint ([`Config::from_hf_json`]). Both are outside data: every number is checked against a cap and against
//! the others before anything is computed from it, so that later code may multiply them without a thought.

mod gguf;
mod hf;

use glowworm_gguf::Header;

use crate::error::{Error, Result};

/// What mixes the tokens of a layer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum LayerKind {
    /// Gated delta net: a causal convolution and a recurrent state of fixed size.
    Linear,
    /// Gated grouped-query attention with a KV cache.
    Full,
}

/// In which order the value heads of a linear layer are stored.
///
/// Each key head serves `r = linear_value_heads / linear_key_heads` value heads. The two orders are the same
/// when `r` is 1, as in the 2B.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ValueHeadOrder {
    /// GGUF: value head `h` belongs to key head `h mod linear_key_heads`.
    Tiled,
    /// safetensors: value head `h` belongs to key head `h / r`.
    Grouped,
}

/// The shape of a Qwen3.5 text model, checked.
///
/// Lengths are counts of numbers (not bytes) unless a method says so. A multi-token-prediction block and a vision
/// tower are no part of it: they are neither read nor run.
#[derive(Debug, Clone, PartialEq)]
pub struct Config {
    /// Width of the residual stream.
    pub hidden: usize,
    /// Width between the two halves of each MLP.
    pub intermediate: usize,
    /// The trunk's layers in order, without any multi-token-prediction block.
    pub layers: Vec<LayerKind>,
    /// Query heads of a full-attention layer.
    pub heads: usize,
    /// Key and value heads of a full-attention layer; divides `heads`.
    pub kv_heads: usize,
    /// Width of one query, key or value head of a full-attention layer.
    pub head_dim: usize,
    /// Query and key heads of a linear layer.
    pub linear_key_heads: usize,
    /// Value heads of a linear layer; a multiple of `linear_key_heads`.
    pub linear_value_heads: usize,
    /// Width of one query or key head of a linear layer.
    pub linear_key_dim: usize,
    /// Width of one value head of a linear layer.
    pub linear_value_dim: usize,
    /// Taps of the causal convolution, the current token's included.
    pub conv_kernel: usize,
    /// How many leading numbers of a query or key head are rotated; even, at most `head_dim`.
    pub rope_dim: usize,
    /// Base of the rotation angles.
    pub rope_theta: f32,
    /// What is added to the mean square inside every RMS norm.
    pub norm_eps: f32,
    /// Rows of the embedding and of the head. The tokenizer may have fewer tokens.
    pub vocab_size: usize,
    /// Longest sequence the model was made for, in tokens.
    pub context_length: usize,
    /// Whether the embedding is also the head.
    pub tied: bool,
    /// Order of the value heads in the file this came from.
    pub value_heads_order: ValueHeadOrder,
    /// Multi-token-prediction blocks that the file declares. They are skipped, and may be absent from the file.
    pub mtp_layers: usize,
}

/// Largest value each count may have. Far above every published model, low enough that products of three of
/// them stay within 64 bits and that a hostile header cannot ask for terabytes.
mod cap {
    pub const HIDDEN: usize = 1 << 16;
    pub const INTERMEDIATE: usize = 1 << 18;
    pub const LAYERS: usize = 1024;
    pub const HEADS: usize = 1024;
    pub const HEAD_DIM: usize = 4096;
    pub const CONV_KERNEL: usize = 16;
    pub const VOCAB: usize = 1 << 22;
    pub const CONTEXT: usize = 1 << 26;
}

impl Config {
    /// Reads the configuration of a GGUF file of architecture `qwen35`.
    ///
    /// The trunk is `block_count − nextn_predict_layers` layers long; which of them attend is said by the list of
    /// recurrent layers where there is one, else by the interval, and must agree with the tensors that are there.
    /// The vocabulary size is the number of rows of `token_embd.weight`.
    ///
    /// # Errors
    /// As [`Config::from_hf_json`]. Whether all tensors are there with the right dims is for
    /// [`tensors::check`](crate::tensors::check) to say.
    pub fn from_gguf(header: &Header) -> Result<Self> {
        gguf::read(header)?.checked()
    }

    /// Reads the configuration of a `config.json`: `Qwen3_5ForConditionalGeneration`, whose numbers lie under
    /// `text_config`, or a text-only `Qwen3_5ForCausalLM`, whose numbers lie at the top.
    ///
    /// # Errors
    /// Another architecture, a missing number, a number out of range or at odds with another, or a variant that
    /// the forward pass does not have (attention biases, scaled rotation, another activation).
    pub fn from_hf_json(json: &str) -> Result<Self> {
        hf::read(json)?.checked()
    }

    /// Number of gated delta net layers.
    pub fn linear_layers(&self) -> usize {
        self.layers.iter().filter(|kind| **kind == LayerKind::Linear).count()
    }

    /// Number of attention layers.
    pub fn full_layers(&self) -> usize {
        self.layers.len() - self.linear_layers()
    }

    /// Width of all queries (and of all keys) of a linear layer: `linear_key_heads × linear_key_dim`.
    pub fn linear_key_width(&self) -> usize {
        self.linear_key_heads * self.linear_key_dim
    }

    /// Width of all values of a linear layer: `linear_value_heads × linear_value_dim`.
    pub fn linear_value_width(&self) -> usize {
        self.linear_value_heads * self.linear_value_dim
    }

    /// Channels of a linear layer's convolution: queries, keys and values side by side.
    pub fn conv_channels(&self) -> usize {
        2 * self.linear_key_width() + self.linear_value_width()
    }

    /// Width of all query heads of an attention layer: `heads × head_dim`. Its projection has twice as many
    /// rows, each head's query being followed by its gate.
    pub fn query_width(&self) -> usize {
        self.heads * self.head_dim
    }

    /// Width of all key heads (and of all value heads) of an attention layer: `kv_heads × head_dim`.
    pub fn kv_width(&self) -> usize {
        self.kv_heads * self.head_dim
    }

    /// The key head that a value head of a linear layer reads, by [`Config::value_heads_order`].
    pub fn key_head_of(&self, value_head: usize) -> usize {
        match self.value_heads_order {
            ValueHeadOrder::Tiled => value_head % self.linear_key_heads,
            ValueHeadOrder::Grouped => value_head / (self.linear_value_heads / self.linear_key_heads),
        }
    }

    /// Numbers of one linear layer's recurrent state: `linear_value_heads × linear_key_dim × linear_value_dim`.
    pub fn recurrent_state_len(&self) -> usize {
        self.linear_value_heads * self.linear_key_dim * self.linear_value_dim
    }

    /// Numbers of one linear layer's convolution state: the `conv_kernel − 1` columns before the current one.
    pub fn conv_state_len(&self) -> usize {
        (self.conv_kernel - 1) * self.conv_channels()
    }

    /// What one sequence of `tokens` needs beside the weights, in bytes, with f32 states and a KV cache of
    /// `kv_value_bytes` a value (2 for f16, 4 for f32).
    pub fn memory(&self, tokens: usize, kv_value_bytes: usize) -> SequenceMemory {
        let linear = self.linear_layers() as u64;
        let per_token = 2 * self.full_layers() as u64 * self.kv_width() as u64 * kv_value_bytes as u64;
        SequenceMemory {
            recurrent: 4 * linear * self.recurrent_state_len() as u64,
            conv: 4 * linear * self.conv_state_len() as u64,
            kv_per_token: per_token,
            kv: per_token * tokens as u64,
        }
    }

    /// Parameters of the trunk, the embedding and, where it is its own tensor, the head.
    pub fn parameters(&self) -> u64 {
        crate::tensors::trunk(self).iter().map(|tensor| tensor.dims.iter().product::<u64>()).sum()
    }

    /// Checks every number against its cap and against the others.
    fn checked(self) -> Result<Self> {
        let count = |key: &str, value: usize, cap: usize| {
            if (1..=cap).contains(&value) {
                Ok(())
            } else {
                Err(Error::config(key, format!("{value} is outside 1..={cap}")))
            }
        };
        count("hidden size", self.hidden, cap::HIDDEN)?;
        count("feed-forward size", self.intermediate, cap::INTERMEDIATE)?;
        count("number of trunk layers", self.layers.len(), cap::LAYERS)?;
        count("attention heads", self.heads, cap::HEADS)?;
        count("key-value heads", self.kv_heads, cap::HEADS)?;
        count("attention head size", self.head_dim, cap::HEAD_DIM)?;
        count("linear key heads", self.linear_key_heads, cap::HEADS)?;
        count("linear value heads", self.linear_value_heads, cap::HEADS)?;
        count("linear key head size", self.linear_key_dim, cap::HEAD_DIM)?;
        count("linear value head size", self.linear_value_dim, cap::HEAD_DIM)?;
        count("convolution kernel", self.conv_kernel, cap::CONV_KERNEL)?;
        count("vocabulary size", self.vocab_size, cap::VOCAB)?;
        count("context length", self.context_length, cap::CONTEXT)?;

        let divides = |whole_key: &str, whole: usize, part_key: &str, part: usize| {
            if whole.is_multiple_of(part) {
                Ok(())
            } else {
                Err(Error::config(whole_key, format!("{whole} is no multiple of the {part_key}, {part}")))
            }
        };
        divides("attention heads", self.heads, "key-value heads", self.kv_heads)?;
        divides("linear value heads", self.linear_value_heads, "linear key heads", self.linear_key_heads)?;

        if self.rope_dim == 0 || !self.rope_dim.is_multiple_of(2) || self.rope_dim > self.head_dim {
            return Err(Error::config(
                "rotated dimensions",
                format!("{} must be even and within the head size, {}", self.rope_dim, self.head_dim),
            ));
        }
        if !(self.rope_theta.is_finite() && self.rope_theta >= 1.0) {
            return Err(Error::config("rotation base", format!("{} must be at least 1", self.rope_theta)));
        }
        // Zero would divide by nothing on an all-zero row; a tenth would no longer be a guard but a change.
        if !(self.norm_eps > 0.0 && self.norm_eps <= 0.1) {
            return Err(Error::config("norm epsilon", format!("{} must be within 0..=0.1", self.norm_eps)));
        }
        Ok(self)
    }
}

/// Bytes that one sequence takes beside the weights.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SequenceMemory {
    /// Recurrent states of all linear layers, whatever the length.
    pub recurrent: u64,
    /// Convolution states of all linear layers, whatever the length.
    pub conv: u64,
    /// KV cache for one token, all attention layers.
    pub kv_per_token: u64,
    /// KV cache for the number of tokens asked about.
    pub kv: u64,
}

impl SequenceMemory {
    /// All of it.
    pub fn total(&self) -> u64 {
        self.recurrent + self.conv + self.kv
    }
}

/// Every `interval`-th layer attends, the last of each group; the others are linear.
fn by_interval(layers: usize, interval: usize) -> Vec<LayerKind> {
    (1..=layers)
        .map(|n| if n.is_multiple_of(interval) { LayerKind::Full } else { LayerKind::Linear })
        .collect()
}

#[cfg(test)]
mod tests;
