//! The smallest model that the trainers' tests train.

use glowworm_train::tokenizer::Encoder;
use glowworm_train::training::Shape;

/// Its sizes, with the vocabulary of a tokenizer.json.
pub fn shape(words: &str) -> Shape {
    Shape {
        vocab_size: Encoder::new(words).unwrap().size(),
        hidden_size: 96,
        intermediate_size: 96,
        num_hidden_layers: 2,
        num_attention_heads: 2,
        num_key_value_heads: 1,
        head_dim: 32,
        linear_num_key_heads: 2,
        linear_num_value_heads: 2,
        linear_key_head_dim: 16,
        linear_value_head_dim: 16,
        ..Shape::default()
    }
}
