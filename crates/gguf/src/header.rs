//! The tensor directory of a file, and where each tensor's bytes are.

use std::collections::HashMap;
use std::io::Read;
use std::ops::Range;

use crate::error::{Error, Item};
use crate::metadata::Metadata;
use crate::parse::{HeaderParser, Progress};
use crate::types::TensorType;

/// One tensor of the directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TensorInfo {
    /// Its name, as in `blk.0.attn_norm.weight`.
    pub name: String,
    /// Dimensions in ggml's order: `dims[0]` is contiguous in memory (the K of a matrix product, a row), `dims[1]`
    /// counts the rows. A PyTorch shape `[out, in]` is `[in, out]` here.
    pub dims: Vec<u64>,
    /// How the weights are stored.
    pub kind: TensorType,
    /// First byte, counted from the start of the tensor data ([`Header::data_offset`]).
    pub offset: u64,
}

impl TensorInfo {
    /// Weights of one row, `dims[0]`; 1 for a scalar.
    pub fn k(&self) -> u64 {
        self.dims.first().copied().unwrap_or(1)
    }

    /// Number of rows, the product of `dims[1..]`.
    pub fn rows(&self) -> u64 {
        self.dims.iter().skip(1).fold(1, |product, dim| product.saturating_mul(*dim))
    }

    /// Number of weights.
    pub fn elements(&self) -> u64 {
        self.k().saturating_mul(self.rows())
    }

    /// Bytes of one row.
    pub fn row_bytes(&self) -> u64 {
        (self.k() / self.kind.block_weights()).saturating_mul(self.kind.block_bytes())
    }

    /// Bytes of the whole tensor. Exact for whatever passed [`TensorInfo::check`], as parsed tensors have.
    pub fn byte_len(&self) -> u64 {
        self.rows().saturating_mul(self.row_bytes())
    }

    /// Fails, with the tensor's name, unless this crate can dequantise and repack the type.
    pub fn require_supported(&self) -> Result<(), Error> {
        if self.kind.is_supported() {
            return Ok(());
        }
        Err(Error::UnsupportedType { what: format!("tensor `{}`", self.name), kind: self.kind.name() })
    }

    /// Checks the dimensions: none is zero, rows are whole blocks, and the byte length fits a `u64`.
    pub fn check(&self) -> Result<(), Error> {
        let invalid = |reason: String| Err(Error::Invalid { item: Item::Tensor(self.name.clone()), reason });
        if self.dims.contains(&0) {
            return invalid(format!("dimensions {:?} contain a zero", self.dims));
        }
        if !self.k().is_multiple_of(self.kind.block_weights()) {
            let weights = self.kind.block_weights();
            return invalid(format!("rows of {} are not whole {} blocks of {weights}", self.k(), self.kind));
        }
        let blocks = self.dims.iter().try_fold(1u64, |product, dim| product.checked_mul(*dim));
        // Signed 64-bit is what ggml counts with; staying below it leaves room to add offsets.
        let bytes = blocks
            .map(|elements| elements / self.kind.block_weights())
            .and_then(|blocks| blocks.checked_mul(self.kind.block_bytes()))
            .filter(|bytes| *bytes <= i64::MAX as u64);
        if bytes.is_none() {
            return invalid(format!("dimensions {:?} overflow", self.dims));
        }
        Ok(())
    }
}

/// Everything before the tensor data.
#[derive(Debug, Clone, PartialEq)]
pub struct Header {
    /// Version of the format, 2 or 3.
    pub version: u32,
    /// Keys and values in file order.
    pub metadata: Metadata,
    /// The directory in file order.
    pub tensors: Vec<TensorInfo>,
    /// Byte of the file at which tensor data starts.
    pub data_offset: u64,
    /// Alignment of tensor data in bytes (`general.alignment`, 32 unless the file says otherwise).
    pub alignment: u64,
    pub(crate) index: HashMap<String, usize>,
}

impl Header {
    /// The tensor of this name.
    pub fn tensor(&self, name: &str) -> Option<&TensorInfo> {
        self.index.get(name).and_then(|position| self.tensors.get(*position))
    }

    /// Bytes of the file that hold `tensor`.
    pub fn data_range(&self, tensor: &TensorInfo) -> Range<u64> {
        let start = self.data_offset.saturating_add(tensor.offset);
        start..start.saturating_add(tensor.byte_len())
    }

    /// First byte after the last tensor: the length that the file needs to have at least.
    pub fn data_end(&self) -> u64 {
        self.tensors.iter().map(|tensor| self.data_range(tensor).end).max().unwrap_or(self.data_offset)
    }

    /// Reads a header from `reader`, which stands at the start of a file of `file_len` bytes.
    ///
    /// Reads in pieces of at most 256 KiB and never past what the header needs.
    ///
    /// # Errors
    /// Whatever [`HeaderParser::push`] refuses, [`Error::Truncated`] and [`Error::Io`].
    pub fn read_from(reader: &mut impl Read, file_len: u64) -> Result<Header, Error> {
        const PIECE: usize = 256 << 10;
        let mut parser = HeaderParser::new().with_file_len(file_len);
        let mut piece = vec![0u8; PIECE];
        let mut progress = parser.push(&[])?;
        while let Progress::Need(bytes) = progress {
            let wanted = usize::try_from(bytes).unwrap_or(PIECE).clamp(1, PIECE);
            let got = match reader.read(&mut piece[..wanted]) {
                Ok(0) => break,
                Ok(got) => got,
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error.into()),
            };
            progress = parser.push(&piece[..got])?;
        }
        parser.finish()
    }
}

/// Checks the directory as a whole and returns the index by name.
///
/// `data_offset` is where data starts, `file_len` the length of the file if known.
pub(crate) fn check_directory(
    tensors: &[TensorInfo],
    data_offset: u64,
    alignment: u64,
    file_len: Option<u64>,
) -> Result<HashMap<String, usize>, Error> {
    let mut index = HashMap::with_capacity(tensors.len());
    for (position, tensor) in tensors.iter().enumerate() {
        let item = || Item::Tensor(tensor.name.clone());
        if !tensor.offset.is_multiple_of(alignment) {
            let reason = format!("offset {} is not a multiple of the alignment {alignment}", tensor.offset);
            return Err(Error::Invalid { item: item(), reason });
        }
        let length = tensor.byte_len();
        let Some(end) = data_offset.checked_add(tensor.offset).and_then(|start| start.checked_add(length))
        else {
            let reason = format!("offset {} overflows", tensor.offset);
            return Err(Error::Invalid { item: item(), reason });
        };
        if let Some(file_len) = file_len.filter(|file_len| end > *file_len) {
            let left = file_len.saturating_sub(data_offset).saturating_sub(tensor.offset);
            return Err(Error::PastEnd { item: item(), needed: length, left });
        }
        if index.insert(tensor.name.clone(), position).is_some() {
            return Err(Error::Duplicate { item: item() });
        }
    }
    let mut by_offset: Vec<&TensorInfo> = tensors.iter().collect();
    by_offset.sort_by_key(|tensor| tensor.offset);
    for pair in by_offset.windows(2) {
        let [first, second] = pair else { continue };
        if first.offset + first.byte_len() > second.offset {
            return Err(Error::Overlap { first: first.name.clone(), second: second.name.clone() });
        }
    }
    Ok(index)
}
