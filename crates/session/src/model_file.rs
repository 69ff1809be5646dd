//! What a model file says, before any weight is read.

use glowworm_engine::{ByteSource, Sampling};
use glowworm_gguf::{Header, Metadata, Value};
use glowworm_model::{ChatTemplate, Config, Prompt, Tokenizer};

use crate::Result;

/// A model file's header, read and understood.
#[derive(Debug)]
pub struct ModelFile {
    /// The header: metadata and the places of the tensors.
    pub header: Header,
    /// The model's shape.
    pub config: Config,
    /// Its words.
    pub tokenizer: Tokenizer,
    /// How it writes a conversation.
    pub template: ChatTemplate,
    /// The prompt that it carries.
    pub prompt: Option<Prompt>,
}

impl ModelFile {
    /// Reads the header of a GGUF file and all that is in it.
    ///
    /// # Errors
    ///
    /// No GGUF file, or one of another architecture, with missing or odd tensors, or with a tokenizer or a template
    /// that cannot be read.
    pub async fn read<S: ByteSource>(source: &mut S) -> Result<Self> {
        Self::from_header(glowworm_engine::source::read_header(source).await?)
    }

    /// Understands a header.
    ///
    /// # Errors
    ///
    /// As [`ModelFile::read`].
    pub fn from_header(header: Header) -> Result<Self> {
        let config = Config::from_gguf(&header)?;
        glowworm_model::tensors::check(&config, &header)?;
        let tokenizer = Tokenizer::from_gguf(&header.metadata)?;
        tokenizer.check_fits(config.vocab_size)?;
        let template = ChatTemplate::from_gguf(&header.metadata)?;
        let prompt = Prompt::from_gguf(&header.metadata)?;
        Ok(Self { header, config, tokenizer, template, prompt })
    }

    /// Bytes of the tensors that the engine reads: all but those of prediction blocks after the trunk.
    pub fn weight_bytes(&self) -> u64 {
        let trunk = glowworm_model::tensors::trunk(&self.config);
        trunk
            .iter()
            .filter_map(|tensor| self.header.tensor(&tensor.name))
            .map(|tensor| tensor.byte_len())
            .sum()
    }

    /// The model's name, where the file has one.
    pub fn name(&self) -> Option<&str> {
        text(&self.header.metadata, "general.name")
    }

    /// The address of the repository of the model that this one was made from: conversions name the original there.
    pub fn base_repository(&self) -> Option<&str> {
        text(&self.header.metadata, "general.base_model.0.repo_url")
    }

    /// How tokens are chosen unless the user says otherwise.
    ///
    /// A file that carries its own prompt was made for this agent, and its `general.sampling.*` keys count. Other
    /// files have such keys from general chat, where they have them; for those it is what the agents were trained
    /// with: temperature 0.6, top-k 20, top-p 0.95.
    pub fn sampling(&self) -> Sampling {
        let default = Sampling::default();
        if self.prompt.is_none() {
            return default;
        }
        let metadata = &self.header.metadata;
        let float = |key: &str| metadata.opt_f32(key).ok().flatten();
        let top_k = metadata.get("general.sampling.top_k").and_then(Value::integer);
        Sampling {
            temperature: float("general.sampling.temp")
                .filter(|value| value.is_finite() && *value >= 0.0)
                .unwrap_or(default.temperature),
            top_k: top_k.and_then(|value| u32::try_from(value).ok()).unwrap_or(default.top_k),
            top_p: float("general.sampling.top_p")
                .filter(|value| *value > 0.0 && *value <= 1.0)
                .unwrap_or(default.top_p),
            seed: default.seed,
        }
    }
}

/// A text of the metadata; of another type it is as if it were not there.
fn text<'m>(metadata: &'m Metadata, key: &str) -> Option<&'m str> {
    metadata.opt_str(key).ok().flatten()
}
