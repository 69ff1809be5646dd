//! Results that stay in the worker. The page asks for the rows that it shows: a hundred thousand of them never cross
//! to it at once, so it never stands still.

use std::cmp::Ordering;
use std::fmt::Write;

use glowworm_database::{Rows, Value, python};
use js_sys::{Array, Object, Reflect, Uint8Array};
use wasm_bindgen::JsValue;

use super::picture;

/// Characters of a text that a cell of the table shows at most.
const SHOWN_CHARS: usize = 400;

/// One result, with the order it is shown in.
#[derive(Debug)]
pub(super) struct Results {
    rows: Rows,
    /// Positions in `rows`, in the order shown.
    order: Vec<u32>,
}

impl Results {
    pub(super) fn new(rows: Rows) -> Self {
        let order = (0..rows.rows.len() as u32).collect();
        Self { rows, order }
    }

    pub(super) fn rows(&self) -> &Rows {
        &self.rows
    }

    /// Sorts by a column, as SQLite sorts: NULL, numbers, text by bytes, BLOB. `None` restores the query's own order.
    pub(super) fn sort(&mut self, column: Option<usize>, descending: bool) {
        self.order.sort_unstable();
        let Some(column) = column.filter(|&column| column < self.rows.columns.len()) else { return };
        let rows = &self.rows.rows;
        let cell = |position: &u32| &rows[*position as usize][column];
        // A stable sort, also downwards, so that equal values keep the query's order.
        self.order.sort_by(|a, b| {
            let order = compare(cell(a), cell(b));
            if descending { order.reverse() } else { order }
        });
    }

    /// Rows `first .. first + count` in the order shown: an array of arrays of cells (see [`cell`]).
    pub(super) fn window(&self, first: usize, count: usize) -> Array {
        let end = first.saturating_add(count).min(self.order.len());
        let shown = self.order.get(first.min(end)..end).unwrap_or(&[]);
        shown
            .iter()
            .map(|&position| self.rows.rows[position as usize].iter().map(cell).collect::<Array>())
            .collect()
    }

    /// One value in full, in the order shown: a text, a `Uint8Array`, or as in a window.
    pub(super) fn value(&self, row: usize, column: usize) -> JsValue {
        let position = self.order.get(row).copied().unwrap_or(u32::MAX) as usize;
        match self.rows.rows.get(position).and_then(|row| row.get(column)) {
            Some(Value::Text(text)) => text.as_str().into(),
            Some(Value::Blob(bytes)) => Uint8Array::from(bytes.as_slice()).into(),
            Some(other) => cell(other),
            None => JsValue::UNDEFINED,
        }
    }

    /// All rows in the order shown, as CSV (RFC 4180): NULL is empty, `''` is `""`, a BLOB is hexadecimal.
    pub(super) fn csv(&self) -> String {
        let mut out = self.text(',', "\r\n", usize::MAX);
        out.push_str("\r\n");
        out
    }

    /// The first `rows` rows as text with tabs, for the clipboard: what spreadsheets take.
    pub(super) fn tabbed(&self, rows: usize) -> String {
        self.text('\t', "\n", rows)
    }

    fn text(&self, separator: char, line_end: &str, rows: usize) -> String {
        let mut out = String::new();
        let field = |out: &mut String, index: usize, text: &str| {
            if index > 0 {
                out.push(separator);
            }
            out.push_str(text);
        };
        for (index, name) in self.rows.columns.iter().enumerate() {
            field(&mut out, index, &quoted(name, separator));
        }
        for &position in self.order.iter().take(rows) {
            out.push_str(line_end);
            for (index, value) in self.rows.rows[position as usize].iter().enumerate() {
                let text = match value {
                    Value::Null => String::new(),
                    Value::Text(text) if text.is_empty() => "\"\"".to_owned(),
                    Value::Text(text) => quoted(text, separator),
                    other => plain(other),
                };
                field(&mut out, index, &text);
            }
        }
        out
    }
}

/// A value for the page: `null`, a BigInt for INTEGER, a Number for REAL, a string for a short TEXT,
/// `{text, chars}` for the beginning of a longer one, and for a BLOB `{bytes, kind, image}`, where `image` is its media
/// type if it is a picture that browsers show.
fn cell(value: &Value) -> JsValue {
    match value {
        Value::Null => JsValue::NULL,
        Value::Integer(number) => (*number).into(),
        Value::Real(number) => (*number).into(),
        Value::Text(text) => match text.char_indices().nth(SHOWN_CHARS) {
            None => text.as_str().into(),
            Some((end, _)) => {
                object(&[("text", text[..end].into()), ("chars", (text.chars().count() as f64).into())])
            }
        },
        Value::Blob(bytes) => {
            let (kind, image) = picture::kind(bytes);
            object(&[
                ("bytes", (bytes.len() as f64).into()),
                ("kind", kind.into()),
                ("image", image.map_or(JsValue::NULL, JsValue::from)),
            ])
        }
    }
}

pub(super) fn object(fields: &[(&str, JsValue)]) -> JsValue {
    let object = Object::new();
    for (name, value) in fields {
        // Setting a property of a plain object cannot fail.
        let _ = Reflect::set(&object, &(*name).into(), value);
    }
    object.into()
}

fn rank(value: &Value) -> u8 {
    match value {
        Value::Null => 0,
        Value::Integer(_) | Value::Real(_) => 1,
        Value::Text(_) => 2,
        Value::Blob(_) => 3,
    }
}

fn compare(a: &Value, b: &Value) -> Ordering {
    match (a, b) {
        (Value::Integer(a), Value::Integer(b)) => a.cmp(b),
        (Value::Real(a), Value::Real(b)) => a.total_cmp(b),
        (Value::Integer(a), Value::Real(b)) => integer_with_real(*a, *b),
        (Value::Real(a), Value::Integer(b)) => integer_with_real(*b, *a).reverse(),
        (Value::Text(a), Value::Text(b)) => a.as_bytes().cmp(b.as_bytes()),
        (Value::Blob(a), Value::Blob(b)) => a.cmp(b),
        _ => rank(a).cmp(&rank(b)),
    }
}

/// Exact also where the INTEGER has more digits than a REAL can hold.
fn integer_with_real(integer: i64, real: f64) -> Ordering {
    if real.is_nan() || real < i64::MIN as f64 {
        return Ordering::Greater;
    }
    if real >= i64::MAX as f64 {
        return Ordering::Less;
    }
    // Within the range the whole part converts exactly.
    let whole = real.trunc();
    integer.cmp(&(whole as i64)).then_with(|| 0.0f64.total_cmp(&(real - whole + 0.0)))
}

/// A field in double quotes where it needs them.
fn quoted(text: &str, separator: char) -> String {
    if text.contains([separator, '"', '\n', '\r']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.to_owned()
    }
}

/// A number as Python writes it, so that the page and the model show the same; a BLOB in hexadecimal.
fn plain(value: &Value) -> String {
    match value {
        Value::Blob(bytes) => bytes.iter().fold(String::with_capacity(2 * bytes.len()), |mut out, byte| {
            // Writing to a String cannot fail.
            let _ = write!(out, "{byte:02x}");
            out
        }),
        other => python::str(other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn results(rows: Vec<Vec<Value>>) -> Results {
        Results::new(Rows { columns: vec!["a".into(), "b, c".into()], rows, more: false })
    }

    fn text(text: &str) -> Value {
        Value::Text(text.to_owned())
    }

    #[test]
    fn csv_tells_null_from_nothing() {
        let results = results(vec![
            vec![Value::Null, text("")],
            vec![Value::Integer(i64::MIN), text("x\"y,\nz")],
            vec![Value::Real(1.0), Value::Blob(vec![0, 255])],
        ]);
        let expected = "a,\"b, c\"\r\n,\"\"\r\n-9223372036854775808,\"x\"\"y,\nz\"\r\n1.0,00ff\r\n";
        assert_eq!(results.csv(), expected);
        assert_eq!(results.tabbed(1), "a\tb, c\n\t\"\"");
    }

    #[test]
    fn sorting_is_sqlites_and_stable() {
        let values = [
            text("b"),
            Value::Integer((1 << 53) + 1),
            Value::Real(9007199254740992.0),
            Value::Null,
            text("B"),
            Value::Blob(vec![1]),
            Value::Real(f64::NEG_INFINITY),
            Value::Integer(i64::MAX),
            Value::Real(9.3e18),
            Value::Real(-0.5),
            Value::Integer(0),
        ];
        let mut results = results(
            values.iter().enumerate().map(|(i, v)| vec![v.clone(), Value::Integer(i as i64)]).collect(),
        );
        results.sort(Some(0), false);
        assert_eq!(results.order, [3, 6, 9, 10, 2, 1, 7, 8, 4, 0, 5]);
        results.sort(Some(0), true);
        assert_eq!(results.order, [5, 0, 4, 8, 7, 1, 2, 10, 9, 6, 3]);
        results.sort(None, false);
        assert_eq!(results.order, (0..11).collect::<Vec<_>>());
    }
}
