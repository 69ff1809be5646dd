//! Values and rows, as either SQLite engine gives them.

use std::borrow::Cow;

/// One SQLite value, in one of SQLite's five storage classes.
///
/// INTEGER and REAL stay apart (`1` is not `1.0` to a reader of the result), and an INTEGER is never carried in a
/// floating-point number, so all 64 bits survive.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// NULL.
    Null,
    /// INTEGER, −2^63 to 2^63 − 1.
    Integer(i64),
    /// REAL. Never NaN, which SQLite stores as NULL; it can be infinite or −0.0.
    Real(f64),
    /// TEXT. Bytes that are not UTF-8 were replaced by U+FFFD, as a browser's decoder replaces them.
    Text(String),
    /// BLOB.
    Blob(Vec<u8>),
}

impl Value {
    /// TEXT from the bytes that SQLite stores, invalid UTF-8 replaced.
    pub fn text_lossy(bytes: &[u8]) -> Value {
        Value::Text(String::from_utf8_lossy(bytes).into_owned())
    }

    /// Bytes that this value takes up in a result: what the byte limit of a query counts.
    pub fn size(&self) -> usize {
        match self {
            Value::Null => 1,
            Value::Integer(_) | Value::Real(_) => 8,
            Value::Text(text) => text.len(),
            Value::Blob(bytes) => bytes.len(),
        }
    }

    /// The name of the storage class, as SQLite's `typeof` gives it.
    pub fn type_name(&self) -> &'static str {
        match self {
            Value::Null => "null",
            Value::Integer(_) => "integer",
            Value::Real(_) => "real",
            Value::Text(_) => "text",
            Value::Blob(_) => "blob",
        }
    }

    /// The value as JSON: a number for INTEGER (all digits) and finite REAL, `"inf"` or `"-inf"` for an infinite one,
    /// and `{"blob": "<hexadecimal>"}` for a BLOB, which JSON has no type for.
    pub fn to_json(&self) -> serde_json::Value {
        match self {
            Value::Null => serde_json::Value::Null,
            Value::Integer(number) => (*number).into(),
            Value::Real(number) => match serde_json::Number::from_f64(*number) {
                Some(number) => serde_json::Value::Number(number),
                None => crate::python::float_repr(*number).into(),
            },
            Value::Text(text) => text.as_str().into(),
            Value::Blob(bytes) => {
                let mut hex = String::with_capacity(2 * bytes.len());
                for byte in bytes {
                    for digit in [byte >> 4, byte & 15] {
                        hex.push(char::from(b"0123456789abcdef"[usize::from(digit)]));
                    }
                }
                serde_json::json!({ "blob": hex })
            }
        }
    }

    /// The text of a TEXT value; of another, its Python form.
    pub(crate) fn as_text(&self) -> Cow<'_, str> {
        match self {
            Value::Text(text) => Cow::Borrowed(text),
            other => Cow::Owned(crate::python::str(other)),
        }
    }
}

/// The rows of one statement.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Rows {
    /// Column names in order. Names can repeat, and they are there when no row is.
    pub columns: Vec<String>,
    /// The rows; each is as long as `columns`.
    pub rows: Vec<Vec<Value>>,
    /// The statement had more rows than the limits let through.
    pub more: bool,
}
