//! What a model will take up on the GPU, computed from its header.

use glowworm_engine::VERIFY_TOKENS;
use glowworm_engine::gpu::BASE_BINDING;
use glowworm_gguf::Header;
use glowworm_model::Config;
use glowworm_model::config::SequenceMemory;

/// Bytes of GPU memory, by what they are for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Memory {
    /// The trunk's tensors as they are stored; a tied head is the embedding.
    pub weights: u64,
    /// States and KV cache for the whole context, in f32.
    pub sequence: SequenceMemory,
    /// Buffers for one batch of tokens, for drafted ones, logits and readback.
    pub activations: u64,
}

impl Memory {
    /// What loading the model with so many tokens of context and of batch allocates.
    pub fn of(header: &Header, config: &Config, context: usize, batch: usize) -> Self {
        let trunk = glowworm_model::tensors::trunk(config);
        let stored = trunk.iter().filter_map(|tensor| header.tensor(&tensor.name));
        let weights = stored.map(glowworm_gguf::TensorInfo::byte_len).sum();
        let mut sequence = config.memory(context, 4);
        // The convolution reads one copy of its state and writes the other.
        sequence.conv *= 2;

        let linear = config.conv_channels() + config.linear_value_width() + 2 * config.linear_value_heads;
        let full = 2 * config.query_width() + 2 * config.kv_width();
        let mixed = config.linear_value_width().max(config.query_width());
        let row =
            2 * config.hidden + linear.max(full) + config.query_width() + mixed + 3 * config.intermediate;
        let vocab = config.vocab_size;
        let rotation = context * config.rope_dim;
        let verified = 2 * VERIFY_TOKENS * linear * config.linear_layers();
        let logits = VERIFY_TOKENS * vocab + vocab.max(context);
        let numbers = batch * (row + 1) + verified + logits + context + rotation;
        Self { weights, sequence, activations: 4 * numbers as u64 }
    }

    /// All of it.
    pub fn total(&self) -> u64 {
        self.weights + self.sequence.total() + self.activations
    }
}

/// The longest context that a model can be loaded with: what it was made for, and what one binding of keys holds.
pub fn longest_context(config: &Config) -> usize {
    let row = 4 * config.kv_width() as u64;
    let bound = usize::try_from(BASE_BINDING / row).unwrap_or(usize::MAX);
    config.context_length.min(bound)
}
