//! Text to tokens and back.
//!
//! Byte-level BPE as Qwen3.5 has it: text is normalised (NFC) and split by an expression, both by the `tokenizers`
//! crate, and each piece's bytes are merged by rank. The vocabulary comes from a GGUF file's metadata or from a
//! `tokenizer.json`.
//!
//! # Markup and text
//! Added tokens such as `<|im_end|>` are what a conversation is built of. They are recognised only in text that the
//! chat template wrote. A question or a database cell may hold the same characters and means nothing by them: there
//! they are encoded as ordinary text, so that no content can end a turn or open another. [`Segment`] keeps the two
//! apart. Added tokens that are mere phrases (a vocabulary may have `SELECT ` as one) are recognised everywhere,
//! since the model has seen them everywhere.
//!
//! # Memory
//! The real vocabulary of 248 thousand tokens is built from a parsed header in 0.6 s on a busy two-core machine (the
//! tests' build), takes 13.3 MB while that lasts and holds 8.3 MB; the `tokenizers` crate's own model of the same words
//! took 65.9 MB and holds 49.2 MB. `tests/tokenizer_memory.rs` counts it. Encoding takes some 180 bytes for each byte
//! of a text while it lasts, which is the crate's bookkeeping of where each character came from.

mod added;
mod bpe;
mod gguf;
mod json;
mod splitter;
mod stream;
mod vocabulary;

use glowworm_gguf::Metadata;

use crate::error::{Error, Result};
use added::{Added, Part};
use bpe::Bpe;
use splitter::Splitter;
pub use stream::StreamDecoder;
use vocabulary::{Kind, Vocabulary};

/// Tokens that end a turn in this family, whatever the file says: its eos id names only one of them.
const STOP_TOKENS: [&str; 2] = ["<|im_end|>", "<|endoftext|>"];

/// A stretch of a conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Segment<'a> {
    /// Written by the chat template: added tokens in it are meant.
    Markup(&'a str),
    /// From a person, a database or a file: added tokens in it are only characters.
    Text(&'a str),
}

/// Byte-level BPE with a vocabulary.
#[derive(Debug)]
pub struct Tokenizer {
    vocabulary: Vocabulary,
    bpe: Bpe,
    splitter: Splitter,
    added: Added,
    stop: Vec<u32>,
}

impl Tokenizer {
    /// Builds the tokenizer of a GGUF file: of its `tokenizer.huggingface.json` where it has one, else of the
    /// `tokenizer.ggml.*` keys.
    ///
    /// # Errors
    /// A missing key, another kind of tokenizer, or a vocabulary at odds with itself: tokens that are empty, double
    /// or not in the byte-level alphabet, merges of tokens that do not exist.
    pub fn from_gguf(metadata: &Metadata) -> Result<Self> {
        gguf::read(metadata)
    }

    /// Builds the tokenizer of a `tokenizer.json`.
    ///
    /// # Errors
    /// As [`Tokenizer::from_gguf`].
    pub fn from_json(json: impl AsRef<[u8]>) -> Result<Self> {
        json::read(json.as_ref())
    }

    fn assemble(mut vocabulary: Vocabulary, bpe: Bpe, splitter: Splitter) -> Result<Self> {
        vocabulary.shrink();
        let added = Added::new(&vocabulary)?;
        let mut tokenizer = Self { vocabulary, bpe, splitter, added, stop: Vec::new() };
        for text in STOP_TOKENS {
            if let Some(id) = tokenizer.token(text) {
                tokenizer.add_stop_token(id)?;
            }
        }
        Ok(tokenizer)
    }

    /// The tokens of a text from outside: strings that look like markup stay plain text.
    ///
    /// # Errors
    /// A byte for which the vocabulary has no token. With all 256 in it, as in every published vocabulary, none.
    pub fn encode_text(&self, text: &str) -> Result<Vec<u32>> {
        self.encode_segments(&[Segment::Text(text)])
    }

    /// The tokens of a text that the chat template wrote: added tokens in it are recognised.
    ///
    /// # Errors
    /// As [`Tokenizer::encode_text`].
    pub fn encode_template(&self, text: &str) -> Result<Vec<u32>> {
        self.encode_segments(&[Segment::Markup(text)])
    }

    /// The tokens of segments that follow one another. Where no token of markup stands between two of them, they
    /// are encoded as one text, so that the result for ordinary contents is that of the whole text.
    ///
    /// # Errors
    /// As [`Tokenizer::encode_text`].
    pub fn encode_segments(&self, segments: &[Segment<'_>]) -> Result<Vec<u32>> {
        let mut ids = Vec::new();
        let mut text = String::new();
        for segment in segments {
            let (content, markup) = match *segment {
                Segment::Markup(content) => (content, true),
                Segment::Text(content) => (content, false),
            };
            self.added.split(content, markup, |part| {
                match part {
                    Part::Text(part) => text.push_str(part),
                    Part::Token(id) => {
                        self.encode_ordinary(&text, &mut ids)?;
                        text.clear();
                        ids.push(id);
                    }
                }
                Ok(())
            })?;
        }
        self.encode_ordinary(&text, &mut ids)?;
        Ok(ids)
    }

    fn encode_ordinary(&self, text: &str, ids: &mut Vec<u32>) -> Result<()> {
        if text.is_empty() {
            return Ok(());
        }
        self.splitter.split(text, |piece| self.bpe.encode(piece, ids))
    }

    /// The text of tokens. Ids without a token add nothing; bytes that are no UTF-8 become U+FFFD. With
    /// `skip_special`, tokens that the file calls special are left out (`<think>` and `<tool_call>` are not among
    /// them in Qwen3.5).
    pub fn decode(&self, ids: &[u32], skip_special: bool) -> String {
        let mut bytes = Vec::with_capacity(4 * ids.len());
        for id in ids {
            if !(skip_special && self.vocabulary.kind(*id) == Kind::Special) {
                bytes.extend_from_slice(self.vocabulary.bytes(*id));
            }
        }
        match String::from_utf8(bytes) {
            Ok(text) => text,
            Err(error) => String::from_utf8_lossy(error.as_bytes()).into_owned(),
        }
    }

    /// The bytes of one token, which need not be whole characters; none for an id without a token.
    pub fn token_bytes(&self, id: u32) -> &[u8] {
        self.vocabulary.bytes(id)
    }

    /// The id of an added token, or of a base token of exactly this text.
    pub fn token(&self, text: &str) -> Option<u32> {
        let is = |id: &u32| self.vocabulary.bytes(*id) == text.as_bytes();
        self.added.ids().iter().copied().find(is).or_else(|| {
            // Asked a few times in a program's life, so no table is kept for it.
            self.vocabulary.ids(|kind| kind == Kind::Base).find(is)
        })
    }

    /// Whether the id is an added token that structures a conversation (`<|im_end|>`, `<think>`).
    pub fn is_markup(&self, id: u32) -> bool {
        matches!(self.vocabulary.kind(id), Kind::Markup | Kind::Special)
    }

    /// Ids at which generation stops, ascending: `<|im_end|>`, `<|endoftext|>` and what the file names.
    pub fn stop_tokens(&self) -> &[u32] {
        &self.stop
    }

    /// Adds an id at which generation stops, such as `eos_token_id` of a config.json.
    ///
    /// # Errors
    /// The id has no token.
    pub fn add_stop_token(&mut self, id: u32) -> Result<()> {
        if self.vocabulary.kind(id) == Kind::Unused {
            return Err(Error::vocabulary(format!(
                "the end token {id} is not in the vocabulary of {} tokens",
                self.len()
            )));
        }
        if let Err(place) = self.stop.binary_search(&id) {
            self.stop.insert(place, id);
        }
        Ok(())
    }

    /// One more than the highest id that has a token. The embedding may have more rows, and a sampler must not
    /// choose those: real files pad the vocabulary at its end.
    #[allow(clippy::len_without_is_empty)] // A tokenizer without tokens cannot be built.
    pub fn len(&self) -> usize {
        self.vocabulary.ids(|kind| kind != Kind::Unused).last().map_or(0, |id| id as usize + 1)
    }

    /// Whether an id below [`Tokenizer::len`] has a token. Published vocabularies have no gaps.
    pub fn has_token(&self, id: u32) -> bool {
        self.vocabulary.kind(id) != Kind::Unused
    }

    /// Checks that a model has a row for every token.
    ///
    /// # Errors
    /// The vocabulary is larger than `vocab_size`.
    pub fn check_fits(&self, vocab_size: usize) -> Result<()> {
        if self.len() > vocab_size {
            return Err(Error::vocabulary(format!(
                "it has {} tokens but the model has rows for {vocab_size}: they do not belong together",
                self.len()
            )));
        }
        Ok(())
    }

    /// Bytes that the vocabulary and the merges hold in memory.
    pub fn heap_bytes(&self) -> usize {
        self.vocabulary.heap_bytes() + self.bpe.heap_bytes()
    }
}

#[cfg(test)]
mod tests;
