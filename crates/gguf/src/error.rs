//! What can go wrong with a GGUF file, and which part of it is at fault.

use std::fmt;

/// The part of a file that an error is about.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Item {
    /// The fixed fields at the start of the file.
    Start,
    /// The n-th metadata entry (from 0), when its key could not be read.
    Entry(u64),
    /// The metadata entry of this key.
    Key(String),
    /// The n-th directory entry (from 0), when its name could not be read.
    TensorIndex(u64),
    /// The tensor of this name.
    Tensor(String),
}

/// Names come from the file: they are escaped and cut, so that a message stays one short line.
struct Name<'a>(&'a str);

impl fmt::Display for Name<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const SHOWN: usize = 96;
        let cut: String = self.0.chars().take(SHOWN).collect();
        let dots = if cut.len() < self.0.len() { "…" } else { "" };
        write!(f, "`{}{dots}`", cut.escape_debug())
    }
}

impl fmt::Display for Item {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Item::Start => write!(f, "the start of the file"),
            Item::Entry(index) => write!(f, "metadata entry {index}"),
            Item::Key(key) => write!(f, "metadata key {}", Name(key)),
            Item::TensorIndex(index) => write!(f, "tensor {index} of the directory"),
            Item::Tensor(name) => write!(f, "tensor {}", Name(name)),
        }
    }
}

/// A GGUF file that cannot be read, used or written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The first four bytes are not `GGUF`.
    #[error("this is not a GGUF file: it starts with {found:02x?} instead of \"GGUF\"; choose a .gguf file")]
    NotGguf {
        /// The four bytes found.
        found: [u8; 4],
    },
    /// A version other than 2 and 3.
    #[error(
        "GGUF version {version} cannot be read, only 2 and 3; convert the model again with a current tool"
    )]
    Version {
        /// The version the file names.
        version: u32,
    },
    /// Version 3 may be big endian; such files are not read.
    #[error("this GGUF file is big endian; use the little-endian file of the same model")]
    BigEndian,
    /// The bytes ended inside the header.
    #[error(
        "the file ends inside its header, in {item}: at least {missing} bytes are missing; download it again"
    )]
    Truncated {
        /// What was being read.
        item: Item,
        /// The least number of bytes that a whole header would still have.
        missing: u64,
    },
    /// A length or count that reaches past the end of the file.
    #[error(
        "{item} reaches past the end of the file ({needed} bytes needed, {left} left); the file is cut short or damaged"
    )]
    PastEnd {
        /// What is too long.
        item: Item,
        /// Bytes it needs at least.
        needed: u64,
        /// Bytes the file still has there.
        left: u64,
    },
    /// A count or length above what this reader accepts.
    #[error(
        "{item}: {what} of {found} is above the limit of {limit}; the file is damaged or not meant for this program"
    )]
    TooLarge {
        /// What is too large.
        item: Item,
        /// The quantity, as in "string length".
        what: &'static str,
        /// What the file says.
        found: u64,
        /// What is accepted.
        limit: u64,
    },
    /// The same key or tensor name twice.
    #[error("{item} occurs twice; the file is damaged")]
    Duplicate {
        /// The repeated entry.
        item: Item,
    },
    /// Something that the format does not allow.
    #[error("{item} is not valid: {reason}; the file is damaged or made by a faulty tool")]
    Invalid {
        /// What is wrong.
        item: Item,
        /// Why.
        reason: String,
    },
    /// Two tensors share bytes of the file.
    #[error("tensors {} and {} overlap in the file; the file is damaged", Name(.first), Name(.second))]
    Overlap {
        /// The tensor that starts first.
        first: String,
        /// The one that starts before the first has ended.
        second: String,
    },
    /// Bytes were given to a parser that has already failed.
    #[error("the header was already refused; start again with a new parser")]
    AlreadyFailed,
    /// A key that is needed is not in the file.
    #[error("{} is missing; the file is not a model of the expected kind", Item::Key(.key.clone()))]
    MissingKey {
        /// The key.
        key: String,
    },
    /// A key holds a value of another type or range than needed.
    #[error("{} holds {found} where {expected} is needed", Item::Key(.key.clone()))]
    WrongType {
        /// The key.
        key: String,
        /// What was asked for.
        expected: &'static str,
        /// What the file holds.
        found: String,
    },
    /// A tensor type that can be skipped but not computed with.
    #[error(
        "{what} is of type {kind}, which cannot be used here; use a file of type F32, F16, BF16, Q8_0, Q4_0, Q4_1, Q5_0, Q5_1, IQ4_NL, IQ4_XS or Q2_K to Q6_K"
    )]
    UnsupportedType {
        /// Which tensor or operation.
        what: String,
        /// The type as llama.cpp writes it.
        kind: &'static str,
    },
    /// A buffer whose length does not fit the blocks it should hold.
    #[error("{what}: {found} given where {expected} is needed for {kind}")]
    Length {
        /// Which buffer.
        what: &'static str,
        /// The tensor type.
        kind: &'static str,
        /// The length given.
        found: usize,
        /// The length needed.
        expected: String,
    },
    /// The writer was given data that does not fit what was declared.
    #[error("writing a GGUF file: {reason}")]
    Write {
        /// What does not fit.
        reason: String,
    },
    /// Reading or writing failed below the format.
    #[error("reading or writing a GGUF file failed: {0}")]
    Io(#[from] std::io::Error),
}
