//! The tokenizer in a GGUF file's metadata.

use glowworm_gguf::{Metadata, Strings};

use super::vocabulary::{Kind, MAX_TOKENS, Vocabulary};
use super::{Splitter, Tokenizer, bpe::Bpe};
use crate::error::{Error, Result};

/// A whole tokenizer.json, which says more than the other keys can.
const HUGGING_FACE: &str = "tokenizer.huggingface.json";
/// Ids that end a turn, where the file names them.
const STOP_KEYS: [&str; 2] = ["tokenizer.ggml.eos_token_id", "tokenizer.ggml.eot_token_id"];

pub(super) fn read(metadata: &Metadata) -> Result<Tokenizer> {
    let mut tokenizer = match metadata.opt_str(HUGGING_FACE)? {
        Some(json) => super::json::read(json.as_bytes())?,
        None => read_keys(metadata)?,
    };
    for key in STOP_KEYS {
        if let Some(id) = metadata.opt_u32(key)? {
            tokenizer.add_stop_token(id)?;
        }
    }
    Ok(tokenizer)
}

fn read_keys(metadata: &Metadata) -> Result<Tokenizer> {
    let model = metadata.str("tokenizer.ggml.model")?;
    if model != "gpt2" {
        return Err(Error::vocabulary(format!(
            "tokenizer.ggml.model is `{model}`, only `gpt2` is supported"
        )));
    }
    let pre = metadata.str("tokenizer.ggml.pre")?;
    let splitter = Splitter::named(pre)?;

    let tokens = metadata.strings("tokenizer.ggml.tokens")?;
    let types = metadata.integers("tokenizer.ggml.token_type")?;
    if tokens.is_empty() || tokens.len() > MAX_TOKENS {
        return Err(Error::vocabulary(format!("there are {} tokens", tokens.len())));
    }
    if types.len() != tokens.len() {
        return Err(Error::vocabulary(format!(
            "there are {} tokens but {} token types",
            tokens.len(),
            types.len()
        )));
    }
    let mut vocabulary = Vocabulary::with_capacity(tokens.len(), tokens.text_len());
    for (text, kind) in tokens.iter().zip(types) {
        match kind {
            1 => vocabulary.push_base(text)?,
            3 => vocabulary.push_added(text, Kind::of_added(text, true))?,
            4 => vocabulary.push_added(text, Kind::of_added(text, false))?,
            // 5 marks rows that only pad the embedding; 2 and 6 belong to other kinds of tokenizer.
            2 | 5 | 6 => vocabulary.push_unused()?,
            other => {
                let id = vocabulary.len();
                return Err(Error::vocabulary(format!("token {id} is of unknown type {other}")));
            }
        }
    }
    let merges = metadata.strings("tokenizer.ggml.merges")?;
    let bpe = Bpe::new(&vocabulary, pairs(merges))?;
    Tokenizer::assemble(vocabulary, bpe, splitter)
}

/// A merge is written as two tokens with a space between; no token holds a space, the alphabet has none.
fn pairs(merges: &Strings) -> impl ExactSizeIterator<Item = Result<(&str, &str)>> {
    merges.iter().enumerate().map(|(rank, merge)| {
        merge
            .split_once(' ')
            .ok_or_else(|| Error::vocabulary(format!("merge {rank}, `{merge}`, is not two tokens")))
    })
}
