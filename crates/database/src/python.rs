//! Values written as Python's `str` writes them.
//!
//! The tools that the models were trained with were written in Python, so a model reads `None` for NULL, `1e-05` for
//! 0.00001 and `b'\x00'` for a BLOB. The test vectors beside this crate (`tests/data/python_str.json`) were made by
//! CPython itself.

use crate::Value;

/// `str(value)` as CPython writes it: `None`, digits, `repr` of a float, the text itself, `repr` of bytes.
pub fn str(value: &Value) -> String {
    match value {
        Value::Null => "None".to_owned(),
        Value::Integer(number) => number.to_string(),
        Value::Real(number) => float_repr(*number),
        Value::Text(text) => text.clone(),
        Value::Blob(bytes) => bytes_repr(bytes),
    }
}

/// `repr(number)` as CPython writes it: the shortest digits that read back as the same number, plain between 1e-4 and
/// 1e16, else with an exponent of at least two digits.
pub fn float_repr(number: f64) -> String {
    if number.is_nan() {
        return "nan".to_owned();
    }
    if number.is_infinite() {
        return if number > 0.0 { "inf" } else { "-inf" }.to_owned();
    }
    // Rust's `{:e}` gives the same shortest digits in one fixed form, such as `-1.2345e-7`.
    let scientific = format!("{number:e}");
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if !(-4..16).contains(&exponent) {
        let sign = if exponent < 0 { '-' } else { '+' };
        return format!("{mantissa}e{sign}{:02}", exponent.unsigned_abs());
    }
    let (sign, mantissa) = match mantissa.strip_prefix('-') {
        Some(rest) => ("-", rest),
        None => ("", mantissa),
    };
    let digits: String = mantissa.chars().filter(char::is_ascii_digit).collect();
    if exponent < 0 {
        let zeros = "0".repeat(exponent.unsigned_abs() as usize - 1);
        return format!("{sign}0.{zeros}{digits}");
    }
    // The point stands after this many digits; zeros fill up to it, and one follows it where nothing else does.
    let point = exponent as usize + 1;
    if digits.len() <= point {
        let zeros = "0".repeat(point - digits.len());
        return format!("{sign}{digits}{zeros}.0");
    }
    let (whole, fraction) = digits.split_at(point);
    format!("{sign}{whole}.{fraction}")
}

/// `repr(bytes)` as CPython writes it: `b'…'`, or `b"…"` where the bytes hold an apostrophe and no quotation mark.
pub fn bytes_repr(bytes: &[u8]) -> String {
    let quote = if bytes.contains(&b'\'') && !bytes.contains(&b'"') { b'"' } else { b'\'' };
    let mut text = String::with_capacity(bytes.len() + 3);
    text.push('b');
    text.push(char::from(quote));
    for &byte in bytes {
        match byte {
            b'\t' => text.push_str("\\t"),
            b'\n' => text.push_str("\\n"),
            b'\r' => text.push_str("\\r"),
            b'\\' => text.push_str("\\\\"),
            byte if byte == quote => {
                text.push('\\');
                text.push(char::from(byte));
            }
            0x20..=0x7e => text.push(char::from(byte)),
            byte => text.push_str(&format!("\\x{byte:02x}")),
        }
    }
    text.push(char::from(quote));
    text
}

/// What Python's `str.isspace` and the `\s` of its regular expressions hold for white space: Unicode's set and the
/// four separators U+001C to U+001F.
pub(crate) fn is_space(c: char) -> bool {
    c.is_whitespace() || ('\u{1c}'..='\u{1f}').contains(&c)
}
