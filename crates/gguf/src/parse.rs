//! From bytes to a [`Header`], in whatever pieces the bytes come.
//!
//! The parser is a machine that collects one *field* at a time (a length, a key, a value, a piece of a list) and
//! moves on when the field is whole. Fields are copied out of what is pushed, so nothing has to be kept by the
//! caller, and a length is only believed after it was checked against the limits below, against what is left of the
//! memory budget, and, when the length of the file is known, against what is left of the file.

use crate::error::{Error, Item};
use crate::header::{Header, TensorInfo, check_directory};
use crate::metadata::{Array, Metadata, Strings, Value};
use crate::types::TensorType;

/// Bytes that keys, values and the directory may hold in memory together.
///
/// The header of a model with a vocabulary of 248 thousand tokens takes about 12 MiB. The worst case of parsing is a
/// little more than twice the budget (a list of strings that is moved while it grows), and stays below 64 MiB.
pub const MEMORY_BUDGET: u64 = 28 << 20;
/// Longest key, as the format defines it.
pub const MAX_KEY: u64 = 65_535;
/// Longest tensor name. ggml allows 63 bytes.
pub const MAX_NAME: u64 = 255;
/// Most metadata entries.
pub const MAX_ENTRIES: u64 = 65_536;
/// Most tensors.
pub const MAX_TENSORS: u64 = 65_536;
/// Most dimensions of a tensor, as in ggml.
pub const MAX_DIMS: u32 = 4;
/// Largest `general.alignment`.
pub const MAX_ALIGNMENT: u64 = 1 << 20;

/// Memory charged for an entry beside its text: key, value, index.
const ENTRY_COST: u64 = 128;
/// Memory charged for a tensor beside twice its name: directory entry, dimensions, index.
const TENSOR_COST: u64 = 256;
/// Fewest bytes of an entry: key length, one letter, type, one byte.
const LEAST_ENTRY: u64 = 8 + 1 + 4 + 1;
/// Fewest bytes of a directory entry: name length, one letter, dimension count, type, offset.
const LEAST_TENSOR: u64 = 8 + 1 + 4 + 4 + 8;
/// Lists of numbers are collected in pieces of this many bytes.
const PIECE: u64 = 64 << 10;

/// What a parser says after each push.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Progress {
    /// The header is not whole: at least so many more bytes belong to it.
    Need(u64),
    /// The header is whole; call [`HeaderParser::finish`].
    Done,
}

/// Type of a metadata value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ValueType {
    U8,
    I8,
    U16,
    I16,
    U32,
    I32,
    F32,
    Bool,
    String,
    Array,
    U64,
    I64,
    F64,
}

impl ValueType {
    fn from_id(id: u32) -> Option<Self> {
        use ValueType::*;
        [U8, I8, U16, I16, U32, I32, F32, Bool, String, Array, U64, I64, F64].get(id as usize).copied()
    }

    /// Bytes in the file; for a string, of its length.
    fn width(self) -> u64 {
        use ValueType::*;
        match self {
            U8 | I8 | Bool => 1,
            U16 | I16 => 2,
            U32 | I32 | F32 => 4,
            U64 | I64 | F64 | String => 8,
            Array => 12,
        }
    }
}

/// A list of strings under construction: each string is valid text by itself, so all of them together are.
#[derive(Debug, Default)]
struct StringList {
    text: Vec<u8>,
    ends: Vec<u32>,
}

/// A list under construction.
#[derive(Debug)]
enum List {
    Numbers(Array),
    Strings(StringList),
}

/// What the field being collected is.
#[derive(Debug)]
enum State {
    Start,
    KeyLength,
    Key,
    ValueType { key: String },
    Scalar { key: String, kind: ValueType },
    StringBody { key: String },
    ListHead { key: String },
    Numbers { key: String, list: Array, width: u64, left: u64 },
    ItemLength { key: String, list: StringList, left: u64 },
    ItemBody { key: String, list: StringList, left: u64 },
    NameLength,
    Name,
    DimCount { name: String },
    Directory { name: String, dims: usize },
    Done,
    Failed,
}

/// Parses a header out of bytes that come in pieces of any size. See the crate's documentation for why.
///
/// ```
/// # use glowworm_gguf::{HeaderParser, Progress};
/// let file = [b"GGUF".as_slice(), &3u32.to_le_bytes(), &[0; 16]].concat();
/// let mut parser = HeaderParser::new();
/// assert!(matches!(parser.push(&file[..10])?, Progress::Need(14)));
/// assert_eq!(parser.push(&file[10..])?, Progress::Done);
/// assert_eq!(parser.finish()?.version, 3);
/// # Ok::<(), glowworm_gguf::Error>(())
/// ```
#[derive(Debug)]
pub struct HeaderParser {
    state: State,
    /// Bytes of the field collected so far, and how many it has.
    field: Vec<u8>,
    want: u64,
    consumed: u64,
    file_len: Option<u64>,
    budget: u64,
    version: u32,
    entries: u64,
    tensor_count: u64,
    metadata: Metadata,
    tensors: Vec<TensorInfo>,
    alignment: u64,
}

impl Default for HeaderParser {
    fn default() -> Self {
        Self::new()
    }
}

impl HeaderParser {
    /// A parser at the start of a file.
    pub fn new() -> Self {
        HeaderParser {
            state: State::Start,
            field: Vec::new(),
            want: 24,
            consumed: 0,
            file_len: None,
            budget: MEMORY_BUDGET,
            version: 0,
            entries: 0,
            tensor_count: 0,
            metadata: Metadata::new(),
            tensors: Vec::new(),
            alignment: 32,
        }
    }

    /// Tells how long the file is, so that whatever reaches past its end is refused.
    pub fn with_file_len(mut self, bytes: u64) -> Self {
        self.file_len = Some(bytes);
        self
    }

    /// Bytes of the header read so far. Once done: the whole header without the padding before the data.
    pub fn consumed(&self) -> u64 {
        self.consumed
    }

    /// Takes the next bytes of the file. Bytes after the end of the header are ignored.
    ///
    /// # Errors
    /// Any variant that names what is wrong with the file. After an error the parser refuses everything.
    pub fn push(&mut self, mut bytes: &[u8]) -> Result<Progress, Error> {
        match self.state {
            State::Failed => return Err(Error::AlreadyFailed),
            State::Done => return Ok(Progress::Done),
            _ => {}
        }
        loop {
            let missing = self.want - self.field.len() as u64;
            let taken = usize::try_from(missing).unwrap_or(usize::MAX).min(bytes.len());
            self.field.extend_from_slice(&bytes[..taken]);
            self.consumed += taken as u64;
            bytes = &bytes[taken..];
            if (self.field.len() as u64) < self.want {
                return Ok(Progress::Need(self.missing()));
            }
            let state = std::mem::replace(&mut self.state, State::Failed);
            self.state = self.advance(state)?;
            if matches!(self.state, State::Done) {
                return Ok(Progress::Done);
            }
        }
    }

    /// The header, once [`HeaderParser::push`] has answered [`Progress::Done`].
    ///
    /// # Errors
    /// [`Error::Truncated`] when the header is not whole; [`Error::Overlap`], [`Error::PastEnd`] and others when the
    /// directory as a whole is not right.
    pub fn finish(self) -> Result<Header, Error> {
        match self.state {
            State::Done => {}
            State::Failed => return Err(Error::AlreadyFailed),
            _ => return Err(Error::Truncated { item: self.item(), missing: self.missing() }),
        }
        let data_offset = self.consumed.next_multiple_of(self.alignment);
        let index = check_directory(&self.tensors, data_offset, self.alignment, self.file_len)?;
        Ok(Header {
            version: self.version,
            metadata: self.metadata,
            tensors: self.tensors,
            data_offset,
            alignment: self.alignment,
            index,
        })
    }

    /// Bytes that a whole header would have beyond those read, at least.
    fn missing(&self) -> u64 {
        let of_field = self.want - self.field.len() as u64;
        // Counts were checked: these products stay far below overflow.
        let of_list = match &self.state {
            State::Numbers { width, left, .. } => width * left,
            State::ItemLength { left, .. } => 8 * left.saturating_sub(1),
            State::ItemBody { left, .. } => 8 * left,
            _ => 0,
        };
        let (entries, tensors) = match &self.state {
            State::Start => (0, 0),
            State::KeyLength | State::NameLength => (self.entries_left(), self.tensors_left()),
            State::Name | State::DimCount { .. } | State::Directory { .. } => {
                (0, self.tensors_left().saturating_sub(1))
            }
            _ => (self.entries_left().saturating_sub(1), self.tensors_left()),
        };
        // The field itself is the first part of an entry that has not been counted in full.
        let of_entries = match &self.state {
            State::KeyLength => (LEAST_ENTRY * entries).saturating_sub(8) + LEAST_TENSOR * tensors,
            State::NameLength => (LEAST_TENSOR * tensors).saturating_sub(8),
            _ => LEAST_ENTRY * entries + LEAST_TENSOR * tensors,
        };
        of_field + of_list + of_entries
    }

    fn entries_left(&self) -> u64 {
        self.entries - self.metadata.len() as u64
    }

    fn tensors_left(&self) -> u64 {
        self.tensor_count - self.tensors.len() as u64
    }

    /// The part of the file that is being read.
    fn item(&self) -> Item {
        match &self.state {
            State::Start => Item::Start,
            State::KeyLength | State::Key => Item::Entry(self.metadata.len() as u64),
            State::ValueType { key }
            | State::Scalar { key, .. }
            | State::StringBody { key }
            | State::ListHead { key }
            | State::Numbers { key, .. }
            | State::ItemLength { key, .. }
            | State::ItemBody { key, .. } => Item::Key(key.clone()),
            State::NameLength | State::Name | State::Done | State::Failed => {
                Item::TensorIndex(self.tensors.len() as u64)
            }
            State::DimCount { name } | State::Directory { name, .. } => Item::Tensor(name.clone()),
        }
    }

    /// Refuses what cannot be in the file any more.
    fn expect(&self, item: impl FnOnce() -> Item, bytes: u64) -> Result<(), Error> {
        let Some(file_len) = self.file_len else { return Ok(()) };
        let left = file_len.saturating_sub(self.consumed);
        if bytes > left {
            return Err(Error::PastEnd { item: item(), needed: bytes, left });
        }
        Ok(())
    }

    /// Takes memory from the budget before it is allocated.
    fn charge(&mut self, item: impl FnOnce() -> Item, what: &'static str, bytes: u64) -> Result<(), Error> {
        match self.budget.checked_sub(bytes) {
            Some(left) => {
                self.budget = left;
                Ok(())
            }
            None => Err(Error::TooLarge { item: item(), what, found: bytes, limit: self.budget }),
        }
    }

    /// The field is whole: reads it and says what comes next.
    fn advance(&mut self, state: State) -> Result<State, Error> {
        match state {
            State::Start => self.start(),
            State::KeyLength => {
                let length = self.take_u64();
                let item = Item::Entry(self.metadata.len() as u64);
                self.begin_name(item, "key length", length, MAX_KEY)?;
                Ok(State::Key)
            }
            State::Key => {
                let item = Item::Entry(self.metadata.len() as u64);
                let key = self.take_text(|| item)?;
                self.charge(|| Item::Key(key.clone()), "memory", ENTRY_COST + key.len() as u64)?;
                if self.metadata.get(&key).is_some() {
                    return Err(Error::Duplicate { item: Item::Key(key) });
                }
                self.next_field(4);
                Ok(State::ValueType { key })
            }
            State::ValueType { key } => {
                let id = self.take_u32();
                let kind = self.value_type(&key, id)?;
                self.next_field(kind.width());
                Ok(match kind {
                    ValueType::Array => State::ListHead { key },
                    kind => State::Scalar { key, kind },
                })
            }
            State::Scalar { key, kind: ValueType::String } => {
                let length = self.take_u64();
                let item = || Item::Key(key.clone());
                self.expect(item, length)?;
                self.charge(item, "string length", length)?;
                self.next_field(length);
                Ok(State::StringBody { key })
            }
            State::Scalar { key, kind } => {
                let mut list = empty_list(kind, 1);
                self.append_numbers(&key, &mut list)?;
                self.next_field(0);
                self.add_entry(key, only_value(list))
            }
            State::StringBody { key } => {
                let text = self.take_text(|| Item::Key(key.clone()))?;
                self.add_entry(key, Value::String(text))
            }
            State::ListHead { key } => self.list_head(key),
            State::Numbers { key, mut list, width, left } => {
                self.append_numbers(&key, &mut list)?;
                self.continue_list(key, List::Numbers(list), width, left)
            }
            State::ItemLength { key, list, left } => {
                let length = self.take_u64();
                let item = || Item::Key(key.clone());
                self.expect(item, length)?;
                self.charge(item, "string length", length)?;
                self.next_field(length);
                Ok(State::ItemBody { key, list, left: left - 1 })
            }
            State::ItemBody { key, mut list, left } => {
                if std::str::from_utf8(&self.field).is_err() {
                    let reason = format!("string {} of the list is not UTF-8", list.ends.len());
                    return Err(Error::Invalid { item: Item::Key(key), reason });
                }
                grow(&mut list.text, self.field.len());
                list.text.extend_from_slice(&self.field);
                // The budget keeps the text below 4 GiB.
                list.ends.push(list.text.len() as u32);
                self.continue_list(key, List::Strings(list), 8, left)
            }
            State::NameLength => {
                let length = self.take_u64();
                let item = Item::TensorIndex(self.tensors.len() as u64);
                self.begin_name(item, "name length", length, MAX_NAME)?;
                Ok(State::Name)
            }
            State::Name => {
                let item = Item::TensorIndex(self.tensors.len() as u64);
                let name = self.take_text(|| item)?;
                self.charge(|| Item::Tensor(name.clone()), "memory", TENSOR_COST + 2 * name.len() as u64)?;
                self.next_field(4);
                Ok(State::DimCount { name })
            }
            State::DimCount { name } => {
                let dims = self.take_u32();
                if dims > MAX_DIMS {
                    return Err(Error::TooLarge {
                        item: Item::Tensor(name),
                        what: "number of dimensions",
                        found: u64::from(dims),
                        limit: u64::from(MAX_DIMS),
                    });
                }
                self.next_field(8 * u64::from(dims) + 4 + 8);
                Ok(State::Directory { name, dims: dims as usize })
            }
            State::Directory { name, dims } => self.directory_entry(name, dims),
            State::Done | State::Failed => Err(Error::AlreadyFailed),
        }
    }

    /// Magic, version, counts.
    fn start(&mut self) -> Result<State, Error> {
        let mut fields = self.field.chunks_exact(4);
        let mut word = || fields.next().and_then(|bytes| <[u8; 4]>::try_from(bytes).ok()).unwrap_or_default();
        let magic = word();
        if &magic != b"GGUF" {
            return Err(Error::NotGguf { found: magic });
        }
        let version = u32::from_le_bytes(word());
        if version != 0 && version & 0xffff == 0 {
            return Err(Error::BigEndian);
        }
        if !(2..=3).contains(&version) {
            return Err(Error::Version { version });
        }
        let mut count = || {
            let (low, high) = (u32::from_le_bytes(word()), u32::from_le_bytes(word()));
            u64::from(high) << 32 | u64::from(low)
        };
        let (tensor_count, entries) = (count(), count());
        let limits = [("tensor count", tensor_count, MAX_TENSORS), ("metadata count", entries, MAX_ENTRIES)];
        for (what, found, limit) in limits {
            if found > limit {
                return Err(Error::TooLarge { item: Item::Start, what, found, limit });
            }
        }
        self.expect(|| Item::Start, entries * LEAST_ENTRY + tensor_count * LEAST_TENSOR)?;
        (self.version, self.tensor_count, self.entries) = (version, tensor_count, entries);
        self.next_entry()
    }

    fn begin_name(&mut self, item: Item, what: &'static str, length: u64, limit: u64) -> Result<(), Error> {
        if length > limit {
            return Err(Error::TooLarge { item, what, found: length, limit });
        }
        if length == 0 {
            return Err(Error::Invalid { item, reason: "its name is empty".to_owned() });
        }
        self.expect(|| item, length)?;
        self.next_field(length);
        Ok(())
    }

    fn value_type(&self, key: &str, id: u32) -> Result<ValueType, Error> {
        ValueType::from_id(id).ok_or_else(|| Error::Invalid {
            item: Item::Key(key.to_owned()),
            reason: format!("there is no value type {id}"),
        })
    }

    fn list_head(&mut self, key: String) -> Result<State, Error> {
        let id = self.take_u32();
        let count = self.take_u64();
        let item = || Item::Key(key.clone());
        let kind = self.value_type(&key, id)?;
        if kind == ValueType::Array {
            return Err(Error::Invalid { item: item(), reason: "lists of lists are not read".to_owned() });
        }
        let width = kind.width();
        let bytes = count.checked_mul(width).ok_or_else(|| Error::TooLarge {
            item: item(),
            what: "list length",
            found: count,
            limit: MEMORY_BUDGET / width,
        })?;
        self.expect(item, bytes)?;
        if kind == ValueType::String {
            self.charge(item, "list length in bytes", 4 * count)?;
            let list = StringList { text: Vec::new(), ends: Vec::with_capacity(count as usize) };
            self.continue_list(key, List::Strings(list), width, count)
        } else {
            self.charge(item, "list length in bytes", bytes)?;
            self.continue_list(key, List::Numbers(empty_list(kind, count as usize)), width, count)
        }
    }

    /// Next part of a list, or the entry when all parts are there. `left` counts the values not yet asked for.
    fn continue_list(&mut self, key: String, list: List, width: u64, left: u64) -> Result<State, Error> {
        match list {
            List::Numbers(list) if left == 0 => self.add_entry(key, Value::Array(list)),
            List::Numbers(list) => {
                let count = left.min(PIECE / width);
                self.next_field(count * width);
                Ok(State::Numbers { key, list, width, left: left - count })
            }
            List::Strings(list) if left == 0 => {
                let item = || Item::Key(key.clone());
                let text = String::from_utf8(list.text)
                    .map_err(|_| Error::Invalid { item: item(), reason: "it is not UTF-8".to_owned() })?;
                self.add_entry(key, Value::Array(Array::Strings(Strings::from_parts(text, list.ends))))
            }
            List::Strings(list) => {
                self.next_field(8);
                Ok(State::ItemLength { key, list, left })
            }
        }
    }

    /// Appends the collected numbers to `list`.
    fn append_numbers(&mut self, key: &str, list: &mut Array) -> Result<(), Error> {
        fn add<const N: usize, T>(field: &[u8], list: &mut Vec<T>, read: impl Fn([u8; N]) -> T) {
            list.extend(field.as_chunks::<N>().0.iter().map(|bytes| read(*bytes)));
        }
        let field = &self.field;
        match list {
            Array::U8(list) => list.extend_from_slice(field),
            Array::I8(list) => add(field, list, i8::from_le_bytes),
            Array::U16(list) => add(field, list, u16::from_le_bytes),
            Array::I16(list) => add(field, list, i16::from_le_bytes),
            Array::U32(list) => add(field, list, u32::from_le_bytes),
            Array::I32(list) => add(field, list, i32::from_le_bytes),
            Array::F32(list) => add(field, list, f32::from_le_bytes),
            Array::U64(list) => add(field, list, u64::from_le_bytes),
            Array::I64(list) => add(field, list, i64::from_le_bytes),
            Array::F64(list) => add(field, list, f64::from_le_bytes),
            Array::Bool(list) => {
                if let Some(byte) = field.iter().find(|byte| **byte > 1) {
                    let reason = format!("{byte} is not a boolean");
                    return Err(Error::Invalid { item: Item::Key(key.to_owned()), reason });
                }
                list.extend(field.iter().map(|byte| *byte == 1));
            }
            Array::Strings(_) => {}
        }
        Ok(())
    }

    fn add_entry(&mut self, key: String, value: Value) -> Result<State, Error> {
        if key == "general.alignment" {
            let item = || Item::Key(key.clone());
            let alignment = value.integer().and_then(|value| u64::try_from(value).ok()).unwrap_or(0);
            if !alignment.is_power_of_two() || alignment > MAX_ALIGNMENT {
                let reason = format!("{} is not a power of two up to {MAX_ALIGNMENT}", value.describe());
                return Err(Error::Invalid { item: item(), reason });
            }
            self.alignment = alignment;
        }
        self.metadata.insert(key, value)?;
        self.next_entry()
    }

    fn directory_entry(&mut self, name: String, dims: usize) -> Result<State, Error> {
        let dims: Vec<u64> = (0..dims).map(|_| self.take_u64()).collect();
        let id = self.take_u32();
        let offset = self.take_u64();
        let Some(kind) = TensorType::from_id(id) else {
            let reason = format!("there is no tensor type {id} that this program knows");
            return Err(Error::Invalid { item: Item::Tensor(name), reason });
        };
        let tensor = TensorInfo { name, dims, kind, offset };
        tensor.check()?;
        if let Some(file_len) = self.file_len {
            // The exact check needs the start of the data; this one already stops what cannot be.
            self.expect(|| Item::Tensor(tensor.name.clone()), tensor.byte_len().min(file_len))?;
        }
        self.tensors.push(tensor);
        self.next_entry()
    }

    /// The next metadata entry, then the directory, then done.
    fn next_entry(&mut self) -> Result<State, Error> {
        if self.entries_left() > 0 {
            self.next_field(8);
            return Ok(State::KeyLength);
        }
        if self.tensors_left() > 0 {
            self.next_field(8);
            return Ok(State::NameLength);
        }
        self.next_field(0);
        Ok(State::Done)
    }

    fn next_field(&mut self, bytes: u64) {
        self.field.clear();
        // A long field is allocated once and in full: it was charged, and doubling would cost twice its length.
        self.field.reserve_exact(bytes as usize);
        self.want = bytes;
    }

    /// Removes a number from the front of the field.
    fn take<const N: usize>(&mut self) -> [u8; N] {
        let bytes = self.field.first_chunk::<N>().copied().unwrap_or([0; N]);
        self.field.drain(..N.min(self.field.len()));
        bytes
    }

    fn take_u32(&mut self) -> u32 {
        u32::from_le_bytes(self.take())
    }

    fn take_u64(&mut self) -> u64 {
        u64::from_le_bytes(self.take())
    }

    /// The field as text.
    fn take_text(&mut self, item: impl FnOnce() -> Item) -> Result<String, Error> {
        String::from_utf8(std::mem::take(&mut self.field))
            .map_err(|_| Error::Invalid { item: item(), reason: "it is not UTF-8".to_owned() })
    }
}

/// Room for `more` bytes, growing by an eighth where `Vec` would double.
fn grow(text: &mut Vec<u8>, more: usize) {
    if text.capacity() - text.len() < more {
        text.reserve_exact(more.max(text.capacity() / 8).max(PIECE as usize));
    }
}

fn empty_list(kind: ValueType, count: usize) -> Array {
    match kind {
        ValueType::U8 => Array::U8(Vec::with_capacity(count)),
        ValueType::I8 => Array::I8(Vec::with_capacity(count)),
        ValueType::U16 => Array::U16(Vec::with_capacity(count)),
        ValueType::I16 => Array::I16(Vec::with_capacity(count)),
        ValueType::U32 => Array::U32(Vec::with_capacity(count)),
        ValueType::I32 => Array::I32(Vec::with_capacity(count)),
        ValueType::F32 => Array::F32(Vec::with_capacity(count)),
        ValueType::Bool => Array::Bool(Vec::with_capacity(count)),
        ValueType::U64 => Array::U64(Vec::with_capacity(count)),
        ValueType::I64 => Array::I64(Vec::with_capacity(count)),
        ValueType::F64 => Array::F64(Vec::with_capacity(count)),
        ValueType::String | ValueType::Array => Array::Strings(Strings::new()),
    }
}

/// The value of a list that was collected for one.
fn only_value(list: Array) -> Value {
    fn first<T: Copy + Default>(list: &[T]) -> T {
        list.first().copied().unwrap_or_default()
    }
    match list {
        Array::U8(list) => Value::U8(first(&list)),
        Array::I8(list) => Value::I8(first(&list)),
        Array::U16(list) => Value::U16(first(&list)),
        Array::I16(list) => Value::I16(first(&list)),
        Array::U32(list) => Value::U32(first(&list)),
        Array::I32(list) => Value::I32(first(&list)),
        Array::F32(list) => Value::F32(first(&list)),
        Array::Bool(list) => Value::Bool(first(&list)),
        Array::U64(list) => Value::U64(first(&list)),
        Array::I64(list) => Value::I64(first(&list)),
        Array::F64(list) => Value::F64(first(&list)),
        list @ Array::Strings(_) => Value::Array(list),
    }
}
