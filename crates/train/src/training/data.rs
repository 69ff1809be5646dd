//! The data of a run that brings none: a tokenizer and shards, made where they are missing.

use crate::error::{Error, Result};
use crate::lexicon::Lexicon;
use crate::shards::{self, Kept};
use crate::tokenizer::train_on_samples;
use std::path::Path;

/// How much data is made.
#[derive(Clone, Copy, Debug)]
pub struct Amount {
    /// Tokens of the vocabulary, about.
    pub vocabulary: usize,
    /// Samples that the tokenizer is trained on.
    pub tokenizer_samples: u64,
    /// Shards.
    pub shards: u64,
    /// Samples of each.
    pub per_shard: u64,
    /// Seed of the first.
    pub from: u64,
    /// Samples that are kept.
    pub kept: Kept,
}

/// Makes the tokenizer, if the file is not there, and gives back its text.
///
/// # Errors
/// When it cannot be made, written or read.
pub fn tokenizer(path: &Path, amount: Amount, say: &dyn Fn(String)) -> Result<String> {
    match std::fs::read_to_string(path) {
        Ok(json) => return Ok(json),
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => {}
        Err(e) => return Err(Error::file(path)(e)),
    }
    say(format!("training a tokenizer on {} samples", amount.tokenizer_samples));
    let json = train_on_samples(&Lexicon::load()?, amount.vocabulary, amount.tokenizer_samples)?;
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder).map_err(Error::file(folder))?;
    }
    std::fs::write(path, &json).map_err(Error::file(path))?;
    Ok(json)
}

/// Writes the shards that are missing in a folder.
///
/// # Errors
/// When one cannot be made or written.
pub fn shards(folder: &Path, tokenizer: &str, amount: Amount, say: &dyn Fn(String)) -> Result<()> {
    let lexicon = Lexicon::load()?;
    for shard in 0..amount.shards {
        let first = amount.from + shard * amount.per_shard;
        if !shards::path(folder, first).exists() {
            say(shards::write(&lexicon, tokenizer, folder, first, amount.per_shard, amount.kept)?);
        }
    }
    Ok(())
}
