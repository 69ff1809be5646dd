//! The sizes of a small model, and the configuration file that says them to others.

use crate::error::{Error, Result};
use glowworm_model::Config;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// Sizes, under the names of `config.json`. The default is the built-in model's, but for the vocabulary.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Shape {
    /// Tokens; a trainer takes the number from its tokenizer.
    pub vocab_size: usize,
    /// Width of the stream.
    pub hidden_size: usize,
    /// Width inside the feed-forward networks.
    pub intermediate_size: usize,
    /// Layers.
    pub num_hidden_layers: usize,
    /// Query heads.
    pub num_attention_heads: usize,
    /// Key and value heads.
    pub num_key_value_heads: usize,
    /// Width of an attention head.
    pub head_dim: usize,
    /// Key heads of a delta net.
    pub linear_num_key_heads: usize,
    /// Value heads of a delta net.
    pub linear_num_value_heads: usize,
    /// Width of a delta net's key head.
    pub linear_key_head_dim: usize,
    /// Width of a delta net's value head.
    pub linear_value_head_dim: usize,
    /// Tokens that the convolution sees.
    pub linear_conv_kernel_dim: usize,
    /// Every so-many-th layer is attention.
    pub full_attention_interval: usize,
    /// Share of an attention head that is rotated.
    pub partial_rotary_factor: f64,
    /// Base of the rotation's frequencies.
    pub rope_theta: f64,
    /// Added to the mean square before its root.
    pub rms_norm_eps: f64,
}

impl Default for Shape {
    fn default() -> Self {
        Self {
            vocab_size: 2048,
            hidden_size: 192,
            intermediate_size: 384,
            num_hidden_layers: 8,
            num_attention_heads: 4,
            num_key_value_heads: 2,
            head_dim: 64,
            linear_num_key_heads: 4,
            linear_num_value_heads: 4,
            linear_key_head_dim: 32,
            linear_value_head_dim: 32,
            linear_conv_kernel_dim: 4,
            full_attention_interval: 2,
            partial_rotary_factor: 0.25,
            rope_theta: 10_000.0,
            rms_norm_eps: 1e-6,
        }
    }
}

/// The longest context that the file promises.
const CONTEXT: usize = 4096;

impl Shape {
    /// Changes to the default, as JSON.
    ///
    /// # Errors
    /// When it is no JSON object, or names a size that there is not.
    pub fn from_json(text: &str) -> Result<Self> {
        serde_json::from_str(text).map_err(|e| Error::Settings(format!("--config {text}: {e}")))
    }

    /// The sizes in a `config.json` of transformers.
    ///
    /// # Errors
    /// When it is none of `Qwen3_5ForCausalLM`, or says what a [`Shape`] cannot: an output matrix of its own, layers in
    /// another order.
    pub fn from_config_json(text: &str) -> Result<Self> {
        let wanted = Config::from_hf_json(text)?;
        let all: Value =
            serde_json::from_str(text).map_err(|e| Error::Settings(format!("config.json: {e}")))?;
        let mut shape = serde_json::to_value(Self::default()).map_err(|e| Error::Settings(e.to_string()))?;
        if let Some(sizes) = shape.as_object_mut() {
            for (name, size) in sizes {
                let places = [
                    &all,
                    &all["text_config"],
                    &all["rope_parameters"],
                    &all["text_config"]["rope_parameters"],
                ];
                if let Some(value) = places.iter().find_map(|place| place.get(name)) {
                    size.clone_from(value);
                }
            }
        }
        let shape: Self =
            serde_json::from_value(shape).map_err(|e| Error::Settings(format!("config.json: {e}")))?;
        if shape.config()? != wanted {
            return Err(Error::Settings(
                "config.json describes a model of another build than is trained here: tied embeddings, and an attention every \
                 full_attention_interval layers".into(),
            ));
        }
        Ok(shape)
    }

    /// Whether a layer is attention.
    pub fn is_attention(&self, layer: usize) -> bool {
        (layer + 1).is_multiple_of(self.full_attention_interval.max(1))
    }

    /// Numbers of an attention head that are rotated.
    pub fn rotated(&self) -> usize {
        (self.head_dim as f64 * self.partial_rotary_factor) as usize
    }

    /// `config.json` as transformers reads it, for `Qwen3_5ForCausalLM`. `stop` ends a turn, `pad` fills.
    pub fn config_json(&self, stop: Option<u32>, pad: Option<u32>) -> Value {
        let kind = |layer| if self.is_attention(layer) { "full_attention" } else { "linear_attention" };
        let layers: Vec<&str> = (0..self.num_hidden_layers).map(kind).collect();
        let pairs = self.rotated() / 2;
        // Text has one position in all three rows: how the pairs are shared among them changes nothing, but the
        // shares must add up.
        let (height, width) = (pairs * 3 / 8, pairs / 4);
        json!({
            "architectures": ["Qwen3_5ForCausalLM"],
            "model_type": "qwen3_5_text",
            "vocab_size": self.vocab_size,
            "hidden_size": self.hidden_size,
            "intermediate_size": self.intermediate_size,
            "num_hidden_layers": self.num_hidden_layers,
            "num_attention_heads": self.num_attention_heads,
            "num_key_value_heads": self.num_key_value_heads,
            "head_dim": self.head_dim,
            "linear_num_key_heads": self.linear_num_key_heads,
            "linear_num_value_heads": self.linear_num_value_heads,
            "linear_key_head_dim": self.linear_key_head_dim,
            "linear_value_head_dim": self.linear_value_head_dim,
            "linear_conv_kernel_dim": self.linear_conv_kernel_dim,
            "full_attention_interval": self.full_attention_interval,
            "rms_norm_eps": self.rms_norm_eps,
            "layer_types": layers,
            "hidden_act": "silu",
            "tie_word_embeddings": true,
            "attention_bias": false,
            "attention_dropout": 0.0,
            "max_position_embeddings": CONTEXT,
            "attn_output_gate": true,
            "rope_parameters": {
                "rope_type": "default",
                "rope_theta": self.rope_theta,
                "partial_rotary_factor": self.partial_rotary_factor,
                "mrope_section": [pairs - height - width, height, width],
                "mrope_interleaved": true,
            },
            "eos_token_id": stop,
            "pad_token_id": pad,
            "bos_token_id": null,
            "dtype": "float32",
            "use_cache": true,
        })
    }

    /// The configuration that the model is built with, checked.
    ///
    /// # Errors
    /// When the sizes do not fit together.
    pub fn config(&self) -> Result<Config> {
        Ok(Config::from_hf_json(&self.config_json(None, None).to_string())?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_is_the_built_in_model() {
        let config = Shape { vocab_size: 8154, ..Shape::default() }.config().unwrap();
        assert_eq!((config.hidden, config.layers.len(), config.rope_dim, config.tied), (192, 8, 16, true));
        let json = Shape::default().config_json(Some(2), Some(0));
        assert_eq!(json["rope_parameters"]["mrope_section"], json!([3, 3, 2]));
        assert_eq!(json["layer_types"][0], "linear_attention");
    }

    #[test]
    fn a_config_json_gives_the_sizes_that_it_was_written_with() {
        let shape = Shape { vocab_size: 999, num_hidden_layers: 4, rope_theta: 5e5, ..Shape::default() };
        let mut json = shape.config_json(Some(2), Some(0));
        assert_eq!(Shape::from_config_json(&json.to_string()).unwrap(), shape);
        json["tie_word_embeddings"] = json!(false);
        assert!(matches!(Shape::from_config_json(&json.to_string()), Err(Error::Settings(_))));
        assert!(Shape::from_config_json("{}").is_err());
    }

    #[test]
    fn changes_are_named() {
        assert_eq!(Shape::from_json(r#"{"hidden_size": 64}"#).unwrap().hidden_size, 64);
        assert!(Shape::from_json(r#"{"hidden": 64}"#).is_err());
        assert!(Shape { num_attention_heads: 3, ..Shape::default() }.config().is_err());
    }
}
