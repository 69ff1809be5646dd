//! Keys and values of a file, held compactly.

use crate::error::{Error, Item};

/// A list of strings in one piece of memory.
///
/// A vocabulary is half a million strings of some seven bytes (tokens and merges); as separate `String`s they would
/// cost five times their text.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Strings {
    text: String,
    ends: Vec<u32>,
}

impl Strings {
    /// An empty list.
    pub fn new() -> Self {
        Self::default()
    }

    /// The list of `items`.
    ///
    /// # Errors
    /// As [`Strings::push`].
    pub fn collect<S: AsRef<str>>(items: impl IntoIterator<Item = S>) -> Result<Self, Error> {
        let mut strings = Self::new();
        for item in items {
            strings.push(item.as_ref())?;
        }
        Ok(strings)
    }

    /// Appends a string.
    ///
    /// # Errors
    /// [`Error::Write`] when the text of all strings together would pass 4 GiB.
    pub fn push(&mut self, item: &str) -> Result<(), Error> {
        let end = self.text.len().saturating_add(item.len());
        let end = u32::try_from(end)
            .map_err(|_| Error::Write { reason: format!("a list of strings would hold {end} bytes") })?;
        self.text.push_str(item);
        self.ends.push(end);
        Ok(())
    }

    /// A list of parts that are already known to be right: `ends` are ascending character boundaries of `text`.
    pub(crate) fn from_parts(text: String, ends: Vec<u32>) -> Self {
        debug_assert!(ends.iter().all(|end| text.is_char_boundary(*end as usize)));
        Self { text, ends }
    }

    /// Number of strings.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// The string at `index`.
    pub fn get(&self, index: usize) -> Option<&str> {
        let end = *self.ends.get(index)? as usize;
        let start = index.checked_sub(1).map_or(0, |before| self.ends[before] as usize);
        self.text.get(start..end)
    }

    /// The strings in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &str> {
        (0..self.len()).map(|index| self.get(index).unwrap_or_default())
    }

    /// Bytes of text of all strings together.
    pub fn text_len(&self) -> usize {
        self.text.len()
    }
}

/// A list of values of one type.
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs)]
pub enum Array {
    U8(Vec<u8>),
    I8(Vec<i8>),
    U16(Vec<u16>),
    I16(Vec<i16>),
    U32(Vec<u32>),
    I32(Vec<i32>),
    F32(Vec<f32>),
    Bool(Vec<bool>),
    Strings(Strings),
    U64(Vec<u64>),
    I64(Vec<i64>),
    F64(Vec<f64>),
}

impl Array {
    /// Number of values.
    pub fn len(&self) -> usize {
        match self {
            Array::U8(list) => list.len(),
            Array::I8(list) => list.len(),
            Array::U16(list) => list.len(),
            Array::I16(list) => list.len(),
            Array::U32(list) => list.len(),
            Array::I32(list) => list.len(),
            Array::F32(list) => list.len(),
            Array::Bool(list) => list.len(),
            Array::Strings(list) => list.len(),
            Array::U64(list) => list.len(),
            Array::I64(list) => list.len(),
            Array::F64(list) => list.len(),
        }
    }

    /// Whether it has no values.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The values as integers; `None` for strings, floats, booleans and integers above `i64`.
    pub fn integers(&self) -> Option<Vec<i64>> {
        match self {
            Array::U8(list) => Some(list.iter().map(|value| i64::from(*value)).collect()),
            Array::I8(list) => Some(list.iter().map(|value| i64::from(*value)).collect()),
            Array::U16(list) => Some(list.iter().map(|value| i64::from(*value)).collect()),
            Array::I16(list) => Some(list.iter().map(|value| i64::from(*value)).collect()),
            Array::U32(list) => Some(list.iter().map(|value| i64::from(*value)).collect()),
            Array::I32(list) => Some(list.iter().map(|value| i64::from(*value)).collect()),
            Array::U64(list) => list.iter().map(|value| i64::try_from(*value).ok()).collect(),
            Array::I64(list) => Some(list.clone()),
            Array::F32(_) | Array::F64(_) | Array::Bool(_) | Array::Strings(_) => None,
        }
    }

    fn type_name(&self) -> &'static str {
        match self {
            Array::U8(_) => "u8",
            Array::I8(_) => "i8",
            Array::U16(_) => "u16",
            Array::I16(_) => "i16",
            Array::U32(_) => "u32",
            Array::I32(_) => "i32",
            Array::F32(_) => "f32",
            Array::Bool(_) => "bool",
            Array::Strings(_) => "string",
            Array::U64(_) => "u64",
            Array::I64(_) => "i64",
            Array::F64(_) => "f64",
        }
    }
}

/// One value of the metadata.
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs)]
pub enum Value {
    U8(u8),
    I8(i8),
    U16(u16),
    I16(i16),
    U32(u32),
    I32(i32),
    F32(f32),
    Bool(bool),
    String(String),
    Array(Array),
    U64(u64),
    I64(i64),
    F64(f64),
}

impl Value {
    /// The value as an integer, whatever its width; `None` for anything else and for a `u64` above `i64`.
    pub fn integer(&self) -> Option<i64> {
        match self {
            Value::U8(value) => Some(i64::from(*value)),
            Value::I8(value) => Some(i64::from(*value)),
            Value::U16(value) => Some(i64::from(*value)),
            Value::I16(value) => Some(i64::from(*value)),
            Value::U32(value) => Some(i64::from(*value)),
            Value::I32(value) => Some(i64::from(*value)),
            Value::U64(value) => i64::try_from(*value).ok(),
            Value::I64(value) => Some(*value),
            Value::F32(_) | Value::F64(_) | Value::Bool(_) | Value::String(_) | Value::Array(_) => None,
        }
    }

    /// What it is, for messages: `a string`, `u32 7`, `a list of 3 i32`.
    pub fn describe(&self) -> String {
        match self {
            Value::U8(value) => format!("u8 {value}"),
            Value::I8(value) => format!("i8 {value}"),
            Value::U16(value) => format!("u16 {value}"),
            Value::I16(value) => format!("i16 {value}"),
            Value::U32(value) => format!("u32 {value}"),
            Value::I32(value) => format!("i32 {value}"),
            Value::F32(value) => format!("f32 {value}"),
            Value::Bool(value) => format!("bool {value}"),
            Value::String(value) => format!("a string of {} bytes", value.len()),
            Value::Array(array) => format!("a list of {} {}", array.len(), array.type_name()),
            Value::U64(value) => format!("u64 {value}"),
            Value::I64(value) => format!("i64 {value}"),
            Value::F64(value) => format!("f64 {value}"),
        }
    }
}

macro_rules! value_from {
    ($($variant:ident($type:ty)),* $(,)?) => {$(
        impl From<$type> for Value {
            fn from(value: $type) -> Self {
                Value::$variant(value)
            }
        }
        impl From<Vec<$type>> for Value {
            fn from(list: Vec<$type>) -> Self {
                Value::Array(Array::$variant(list))
            }
        }
    )*};
}
value_from!(
    U8(u8),
    I8(i8),
    U16(u16),
    I16(i16),
    U32(u32),
    I32(i32),
    F32(f32),
    Bool(bool),
    U64(u64),
    I64(i64),
    F64(f64)
);

impl From<String> for Value {
    fn from(value: String) -> Self {
        Value::String(value)
    }
}

impl From<&str> for Value {
    fn from(value: &str) -> Self {
        Value::String(value.to_owned())
    }
}

impl From<Strings> for Value {
    fn from(list: Strings) -> Self {
        Value::Array(Array::Strings(list))
    }
}

/// The keys and values of a file, in file order.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Metadata {
    entries: Vec<(String, Value)>,
    /// Positions in `entries`, ordered by key: look-up and the search for duplicates without a second copy of the keys.
    by_key: Vec<u32>,
}

impl Metadata {
    /// No entries.
    pub fn new() -> Self {
        Self::default()
    }

    fn find(&self, key: &str) -> Result<usize, usize> {
        self.by_key.binary_search_by(|position| self.entries[*position as usize].0.as_str().cmp(key))
    }

    /// Appends an entry.
    ///
    /// # Errors
    /// [`Error::Duplicate`] when the key is there already.
    pub fn insert(&mut self, key: impl Into<String>, value: impl Into<Value>) -> Result<(), Error> {
        let key = key.into();
        match self.find(&key) {
            Ok(_) => Err(Error::Duplicate { item: Item::Key(key) }),
            Err(place) => {
                // Four thousand million keys do not fit in memory, let alone in the parser's budget.
                self.by_key.insert(place, self.entries.len() as u32);
                self.entries.push((key, value.into()));
                Ok(())
            }
        }
    }

    /// Appends an entry or replaces the value of a key that is there.
    pub fn set(&mut self, key: impl Into<String>, value: impl Into<Value>) {
        let key = key.into();
        match self.find(&key) {
            Ok(place) => self.entries[self.by_key[place] as usize].1 = value.into(),
            Err(place) => {
                self.by_key.insert(place, self.entries.len() as u32);
                self.entries.push((key, value.into()));
            }
        }
    }

    /// Number of entries.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Entries in file order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&str, &Value)> {
        self.entries.iter().map(|(key, value)| (key.as_str(), value))
    }

    /// The value of a key.
    pub fn get(&self, key: &str) -> Option<&Value> {
        let place = self.find(key).ok()?;
        Some(&self.entries[self.by_key[place] as usize].1)
    }

    fn wrong(key: &str, expected: &'static str, value: &Value) -> Error {
        Error::WrongType { key: key.to_owned(), expected, found: value.describe() }
    }

    fn required<T>(key: &str, value: Option<T>) -> Result<T, Error> {
        value.ok_or_else(|| Error::MissingKey { key: key.to_owned() })
    }

    /// An integer of any width that fits a `u32`; `None` when the key is absent.
    ///
    /// # Errors
    /// [`Error::WrongType`] for another type or a value outside `u32`. So for the other `opt_` functions.
    pub fn opt_u32(&self, key: &str) -> Result<Option<u32>, Error> {
        let Some(value) = self.get(key) else { return Ok(None) };
        let integer = value.integer().and_then(|integer| u32::try_from(integer).ok());
        integer.map(Some).ok_or_else(|| Self::wrong(key, "an unsigned 32-bit integer", value))
    }

    /// As [`Metadata::opt_u32`], and absent is [`Error::MissingKey`]. So for the functions below.
    pub fn u32(&self, key: &str) -> Result<u32, Error> {
        Self::required(key, self.opt_u32(key)?)
    }

    /// A float of either width, as `f32`.
    pub fn opt_f32(&self, key: &str) -> Result<Option<f32>, Error> {
        match self.get(key) {
            None => Ok(None),
            Some(Value::F32(value)) => Ok(Some(*value)),
            Some(Value::F64(value)) => Ok(Some(*value as f32)),
            Some(value) => Err(Self::wrong(key, "a float", value)),
        }
    }

    /// A float of either width, as `f32`.
    pub fn f32(&self, key: &str) -> Result<f32, Error> {
        Self::required(key, self.opt_f32(key)?)
    }

    /// A string.
    pub fn opt_str(&self, key: &str) -> Result<Option<&str>, Error> {
        match self.get(key) {
            None => Ok(None),
            Some(Value::String(value)) => Ok(Some(value)),
            Some(value) => Err(Self::wrong(key, "a string", value)),
        }
    }

    /// A string.
    pub fn str(&self, key: &str) -> Result<&str, Error> {
        Self::required(key, self.opt_str(key)?)
    }

    /// A boolean.
    pub fn opt_bool(&self, key: &str) -> Result<Option<bool>, Error> {
        match self.get(key) {
            None => Ok(None),
            Some(Value::Bool(value)) => Ok(Some(*value)),
            Some(value) => Err(Self::wrong(key, "a boolean", value)),
        }
    }

    /// A boolean.
    pub fn bool(&self, key: &str) -> Result<bool, Error> {
        Self::required(key, self.opt_bool(key)?)
    }

    /// A list of strings.
    pub fn opt_strings(&self, key: &str) -> Result<Option<&Strings>, Error> {
        match self.get(key) {
            None => Ok(None),
            Some(Value::Array(Array::Strings(list))) => Ok(Some(list)),
            Some(value) => Err(Self::wrong(key, "a list of strings", value)),
        }
    }

    /// A list of strings.
    pub fn strings(&self, key: &str) -> Result<&Strings, Error> {
        Self::required(key, self.opt_strings(key)?)
    }

    /// A list of integers of any width.
    pub fn opt_integers(&self, key: &str) -> Result<Option<Vec<i64>>, Error> {
        let Some(value) = self.get(key) else { return Ok(None) };
        let list = match value {
            Value::Array(array) => array.integers(),
            _ => None,
        };
        list.map(Some).ok_or_else(|| Self::wrong(key, "a list of integers", value))
    }

    /// A list of integers of any width.
    pub fn integers(&self, key: &str) -> Result<Vec<i64>, Error> {
        Self::required(key, self.opt_integers(key)?)
    }

    /// A list of booleans.
    pub fn opt_bools(&self, key: &str) -> Result<Option<&[bool]>, Error> {
        match self.get(key) {
            None => Ok(None),
            Some(Value::Array(Array::Bool(list))) => Ok(Some(list)),
            Some(value) => Err(Self::wrong(key, "a list of booleans", value)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_keep_file_order_and_are_found() {
        let mut metadata = Metadata::new();
        for (index, key) in ["m", "z", "a", "k"].into_iter().enumerate() {
            metadata.insert(key, index as u32).unwrap();
        }
        assert!(matches!(metadata.insert("a", true), Err(Error::Duplicate { .. })));
        metadata.set("z", "text");
        let keys: Vec<&str> = metadata.iter().map(|(key, _)| key).collect();
        assert_eq!(keys, ["m", "z", "a", "k"]);
        assert_eq!(metadata.u32("k").unwrap(), 3);
        assert_eq!(metadata.str("z").unwrap(), "text");
        let message = metadata.u32("z").unwrap_err().to_string();
        assert!(message.contains("`z`") && message.contains("string"), "{message}");
        assert!(metadata.u32("none").unwrap_err().to_string().contains("`none`"));
    }

    #[test]
    fn integers_of_any_width_are_read_if_they_fit() {
        let mut metadata = Metadata::new();
        metadata.set("wide", 7u64);
        metadata.set("negative", -1i32);
        metadata.set("list", vec![1i16, -2]);
        assert_eq!(metadata.u32("wide").unwrap(), 7);
        assert!(metadata.u32("negative").is_err());
        assert_eq!(metadata.integers("list").unwrap(), [1, -2]);
    }

    #[test]
    fn strings_keep_their_borders() {
        let strings = Strings::collect(["", "a", "", "Ġ€", "b"]).unwrap();
        assert_eq!(strings.iter().collect::<Vec<_>>(), ["", "a", "", "Ġ€", "b"]);
        assert_eq!(strings.get(5), None);
    }
}
