//! Decoding tokens one at a time.

use super::{Tokenizer, vocabulary::Kind};

/// Turns tokens into text as they come, never splitting a character.
///
/// A token may end inside a UTF-8 sequence; what is not yet a whole character is kept for the next call. All texts
/// given out, put together, are what [`Tokenizer::decode`] makes of all the tokens.
#[derive(Debug, Clone, Default)]
pub struct StreamDecoder {
    /// The beginning of a character.
    pending: Vec<u8>,
    skip_special: bool,
}

impl StreamDecoder {
    /// A decoder at the start of a text.
    pub fn new(skip_special: bool) -> Self {
        Self { pending: Vec::new(), skip_special }
    }

    /// The text that `id` completes; empty when it ends inside a character, or has no text.
    pub fn push(&mut self, tokenizer: &Tokenizer, id: u32) -> String {
        if self.skip_special && tokenizer.vocabulary.kind(id) == Kind::Special {
            return String::new();
        }
        self.pending.extend_from_slice(tokenizer.vocabulary.bytes(id));
        let mut text = String::new();
        let mut kept = 0;
        let length = self.pending.len();
        for chunk in self.pending.utf8_chunks() {
            text.push_str(chunk.valid());
            let invalid = chunk.invalid();
            if invalid.is_empty() {
                continue;
            }
            let seen = invalid.as_ptr().addr() - self.pending.as_ptr().addr() + invalid.len();
            // Only at the very end can an unfinished sequence still become a character.
            if seen == length && is_unfinished(invalid) {
                kept = invalid.len();
            } else {
                text.push(char::REPLACEMENT_CHARACTER);
            }
        }
        self.pending.drain(..length - kept);
        text
    }

    /// What is left at the end of a text: a replacement character for an unfinished one, or nothing.
    pub fn finish(&mut self) -> String {
        let text = String::from_utf8_lossy(&self.pending).into_owned();
        self.pending.clear();
        text
    }
}

/// Whether more bytes could make a character of these.
fn is_unfinished(bytes: &[u8]) -> bool {
    std::str::from_utf8(bytes).is_err_and(|error| error.error_len().is_none())
}
