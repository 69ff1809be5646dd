//! Which bytes each token stands for.

use std::hash::{BuildHasher, RandomState};

use hashbrown::HashTable;

use crate::error::{Error, Result};

/// Most tokens a vocabulary may have; above every published one, and a bound for hostile files.
pub(super) const MAX_TOKENS: usize = 1 << 22;
/// Most bytes of one token's text.
const MAX_TOKEN_BYTES: usize = 1 << 16;

/// What a token is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// A row of the embedding without a token.
    Unused,
    /// A byte or a merge of bytes.
    Base,
    /// An added token that is ordinary text, such as a common SQL phrase.
    Phrase,
    /// An added token that structures a conversation and is kept in decoded text, such as `<think>`.
    Markup,
    /// An added token that structures a conversation and is no part of decoded text, such as `<|im_end|>`.
    Special,
}

impl Kind {
    /// The kind of an added token. Those of the shape `<word>` are markup even where the file does not call them
    /// special: a text from outside must not be able to forge them.
    pub fn of_added(text: &str, special: bool) -> Self {
        if special {
            Self::Special
        } else if text.len() > 2
            && text.starts_with('<')
            && text.ends_with('>')
            && !text.contains(char::is_whitespace)
        {
            Self::Markup
        } else {
            Self::Phrase
        }
    }

    pub fn is_added(self) -> bool {
        matches!(self, Self::Phrase | Self::Markup | Self::Special)
    }
}

/// The bytes of all tokens in one piece of memory, by id: 248 thousand tokens take some 3 MB.
#[derive(Debug, Default)]
pub(super) struct Vocabulary {
    bytes: Vec<u8>,
    ends: Vec<u32>,
    kinds: Vec<Kind>,
}

impl Vocabulary {
    pub fn with_capacity(tokens: usize, bytes: usize) -> Self {
        Self {
            bytes: Vec::with_capacity(bytes),
            ends: Vec::with_capacity(tokens),
            kinds: Vec::with_capacity(tokens),
        }
    }

    /// Appends a token written in the byte-level alphabet.
    pub fn push_base(&mut self, encoded: &str) -> Result<()> {
        let id = self.len();
        if encoded.is_empty() {
            return Err(Error::vocabulary(format!("token {id} is empty")));
        }
        let start = self.bytes.len();
        if let Some(odd) = decode_into(encoded, &mut self.bytes) {
            return Err(Error::vocabulary(format!(
                "token {id} holds {odd:?}, which is no letter of the byte-level alphabet"
            )));
        }
        self.close(start, Kind::Base)
    }

    /// Appends a token whose text is written as it is.
    pub fn push_added(&mut self, text: &str, kind: Kind) -> Result<()> {
        if text.is_empty() {
            return Err(Error::vocabulary(format!("the added token {} is empty", self.len())));
        }
        let start = self.bytes.len();
        self.bytes.extend_from_slice(text.as_bytes());
        self.close(start, kind)
    }

    /// Appends an id without a token.
    pub fn push_unused(&mut self) -> Result<()> {
        self.close(self.bytes.len(), Kind::Unused)
    }

    fn close(&mut self, start: usize, kind: Kind) -> Result<()> {
        let id = self.len();
        if id >= MAX_TOKENS {
            return Err(Error::vocabulary(format!("there are more than {MAX_TOKENS} tokens")));
        }
        let end = self.bytes.len();
        if end - start > MAX_TOKEN_BYTES {
            return Err(Error::vocabulary(format!("token {id} is {} bytes long", end - start)));
        }
        let end = u32::try_from(end)
            .map_err(|_| Error::vocabulary("the text of all tokens together passes 4 GiB"))?;
        self.ends.push(end);
        self.kinds.push(kind);
        Ok(())
    }

    pub fn len(&self) -> usize {
        self.kinds.len()
    }

    /// Gives back what was reserved for texts longer than their bytes.
    pub fn shrink(&mut self) {
        self.bytes.shrink_to_fit();
        self.ends.shrink_to_fit();
        self.kinds.shrink_to_fit();
    }

    /// Bytes held, for the record.
    pub fn heap_bytes(&self) -> usize {
        self.bytes.capacity() + self.ends.capacity() * size_of::<u32>() + self.kinds.capacity()
    }

    pub fn kind(&self, id: u32) -> Kind {
        self.kinds.get(id as usize).copied().unwrap_or(Kind::Unused)
    }

    /// The bytes of a token; none for an id without one.
    pub fn bytes(&self, id: u32) -> &[u8] {
        let index = id as usize;
        let Some(end) = self.ends.get(index) else { return &[] };
        let start = index.checked_sub(1).and_then(|before| self.ends.get(before)).copied().unwrap_or(0);
        self.bytes.get(start as usize..*end as usize).unwrap_or(&[])
    }

    pub fn ids(&self, wanted: impl Fn(Kind) -> bool) -> impl Iterator<Item = u32> {
        self.kinds.iter().enumerate().filter(move |(_, kind)| wanted(**kind)).map(|(id, _)| id as u32)
    }

    /// Finds base tokens by their bytes.
    ///
    /// # Errors
    /// Two tokens of the same bytes, of which one could never be told from the other.
    pub fn index(&self) -> Result<Index<'_>> {
        let mut index = Index {
            vocabulary: self,
            state: RandomState::new(),
            table: HashTable::with_capacity(self.len()),
        };
        for id in self.ids(|kind| kind == Kind::Base) {
            let bytes = self.bytes(id);
            if let Some(twin) = index.find(bytes) {
                return Err(Error::vocabulary(format!(
                    "tokens {twin} and {id} are the same, {:?}",
                    String::from_utf8_lossy(bytes)
                )));
            }
            let (state, hash) = (&index.state, index.state.hash_one(bytes));
            index.table.insert_unique(hash, id, |id| state.hash_one(self.bytes(*id)));
        }
        Ok(index)
    }
}

/// Base tokens by their bytes. Needed while the merges are read and dropped afterwards; it holds ids only (5 bytes
/// a slot), the bytes stay in the vocabulary.
pub(super) struct Index<'a> {
    vocabulary: &'a Vocabulary,
    // Keyed at random, so that no file can be made to fall into few slots.
    state: RandomState,
    table: HashTable<u32>,
}

impl Index<'_> {
    pub fn find(&self, bytes: &[u8]) -> Option<u32> {
        self.table.find(self.state.hash_one(bytes), |id| self.vocabulary.bytes(*id) == bytes).copied()
    }
}

/// The byte that a letter of the byte-level alphabet stands for.
///
/// GPT-2's alphabet writes the 188 visible characters of Latin-1 as themselves and the other 68 bytes, in order,
/// as the letters from U+0100 on, so that a token is always printable text.
pub(super) fn letter_to_byte(letter: char) -> Option<u8> {
    let code = u32::from(letter);
    match code {
        0x21..=0x7e | 0xa1..=0xac | 0xae..=0xff => Some(code as u8),
        0x100..=0x143 => {
            let nth = (code - 0x100) as u8;
            Some(match nth {
                0..=0x20 => nth,           // controls and the space
                0x21..=0x42 => nth + 0x5e, // 0x7f..=0xa0
                _ => 0xad,                 // soft hyphen
            })
        }
        _ => None,
    }
}

/// Appends the bytes that a text in the byte-level alphabet stands for; gives the first letter that is not of it.
pub(super) fn decode_into(encoded: &str, out: &mut Vec<u8>) -> Option<char> {
    for letter in encoded.chars() {
        match letter_to_byte(letter) {
            Some(byte) => out.push(byte),
            None => return Some(letter),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_alphabet_is_that_of_the_tokenizers_crate() {
        let letters = tokenizers::pre_tokenizers::byte_level::ByteLevel::alphabet();
        let mut bytes: Vec<u8> = letters.iter().map(|letter| letter_to_byte(*letter).unwrap()).collect();
        bytes.sort_unstable();
        assert_eq!(bytes, (0..=255).collect::<Vec<u8>>());
        for code in (0..0x300).filter_map(char::from_u32) {
            assert_eq!(letter_to_byte(code).is_some(), letters.contains(&code), "{code:?}");
        }
        assert_eq!((letter_to_byte('Ġ'), letter_to_byte('Ċ')), (Some(b' '), Some(b'\n')));
        assert_eq!((letter_to_byte('ł'), letter_to_byte('Ń')), (Some(0xa0), Some(0xad)));
    }

    #[test]
    fn tokens_from_outside_are_checked() {
        let mut vocabulary = Vocabulary::default();
        assert!(vocabulary.push_base("").is_err());
        assert!(vocabulary.push_base("a b").unwrap_err().to_string().contains("' '"));
        assert!(vocabulary.push_added("", Kind::Special).is_err());

        let mut vocabulary = Vocabulary::default();
        vocabulary.push_base("a").unwrap();
        vocabulary.push_unused().unwrap();
        vocabulary.push_base("Ġb").unwrap();
        assert_eq!(vocabulary.bytes(2), b" b");
        assert_eq!((vocabulary.bytes(1), vocabulary.bytes(9)), (&b""[..], &b""[..]));
        assert_eq!(vocabulary.index().unwrap().find(b" b"), Some(2));
        vocabulary.push_base("a").unwrap();
        assert!(vocabulary.index().err().unwrap().to_string().contains("tokens 0 and 3"));
    }
}
