//! How Python writes and trims values, where templates and prompts depend on it.

use serde_json::Value;

/// What `str.strip` without arguments takes off: the white space of Unicode and four separators of ASCII.
pub(crate) fn is_space(letter: char) -> bool {
    letter.is_whitespace() || matches!(letter, '\u{1c}'..='\u{1f}')
}

/// `text.strip()`.
pub(crate) fn strip(text: &str) -> &str {
    text.trim_matches(is_space)
}

/// `repr` of a float: the shortest digits that read back the same, with an exponent below 1e-4 and from 1e16 on.
pub(crate) fn float(value: f64) -> String {
    if value.is_nan() {
        return "nan".into();
    }
    if value.is_infinite() {
        return if value > 0.0 { "inf".into() } else { "-inf".into() };
    }
    let size = value.abs();
    if size != 0.0 && !(1e-4..1e16).contains(&size) {
        // Rust writes 1e-5 where Python writes 1e-05, and 1e16 where Python writes 1e+16.
        let text = format!("{value:e}");
        return match text.split_once('e') {
            Some((digits, exponent)) => {
                let (sign, number) = match exponent.strip_prefix('-') {
                    Some(number) => ('-', number),
                    None => ('+', exponent),
                };
                format!("{digits}e{sign}{number:0>2}")
            }
            None => text,
        };
    }
    let text = value.to_string();
    if text.contains('.') { text } else { text + ".0" }
}

/// The arguments of `json.dumps` that chat templates use.
#[derive(Debug, Clone)]
pub(crate) struct JsonStyle {
    pub ensure_ascii: bool,
    pub indent: Option<usize>,
    pub item_separator: String,
    pub key_separator: String,
    pub sort_keys: bool,
}

impl Default for JsonStyle {
    fn default() -> Self {
        Self {
            ensure_ascii: false,
            indent: None,
            item_separator: ", ".into(),
            key_separator: ": ".into(),
            sort_keys: false,
        }
    }
}

impl JsonStyle {
    /// `json.dumps(value, …)`.
    pub fn write(&self, value: &Value) -> String {
        let mut out = String::new();
        self.value(value, 0, &mut out);
        out
    }

    fn value(&self, value: &Value, depth: usize, out: &mut String) {
        match value {
            Value::Null => out.push_str("null"),
            Value::Bool(true) => out.push_str("true"),
            Value::Bool(false) => out.push_str("false"),
            Value::Number(number) => match number.as_f64().filter(|_| number.is_f64()) {
                Some(value) => out.push_str(&float(value)),
                None => out.push_str(&number.to_string()),
            },
            Value::String(text) => self.string(text, out),
            Value::Array(items) => {
                self.list('[', ']', items.iter(), depth, out, |item, out| self.value(item, depth + 1, out));
            }
            Value::Object(fields) => {
                let mut fields: Vec<_> = fields.iter().collect();
                if self.sort_keys {
                    fields.sort_by_key(|(key, _)| *key);
                }
                self.list('{', '}', fields.into_iter(), depth, out, |(key, item), out| {
                    self.string(key, out);
                    out.push_str(&self.key_separator);
                    self.value(item, depth + 1, out);
                });
            }
        }
    }

    fn list<T>(
        &self,
        open: char,
        close: char,
        items: impl ExactSizeIterator<Item = T>,
        depth: usize,
        out: &mut String,
        mut write: impl FnMut(T, &mut String),
    ) {
        out.push(open);
        let empty = items.len() == 0;
        for (index, item) in items.enumerate() {
            if index > 0 {
                out.push_str(&self.item_separator);
            }
            self.line(depth + 1, out);
            write(item, out);
        }
        if !empty {
            self.line(depth, out);
        }
        out.push(close);
    }

    fn line(&self, depth: usize, out: &mut String) {
        if let Some(indent) = self.indent {
            out.push('\n');
            out.extend(std::iter::repeat_n(' ', indent * depth));
        }
    }

    fn string(&self, text: &str, out: &mut String) {
        out.push('"');
        for letter in text.chars() {
            match letter {
                '"' => out.push_str("\\\""),
                '\\' => out.push_str("\\\\"),
                '\n' => out.push_str("\\n"),
                '\r' => out.push_str("\\r"),
                '\t' => out.push_str("\\t"),
                '\u{8}' => out.push_str("\\b"),
                '\u{c}' => out.push_str("\\f"),
                '\0'..'\u{20}' => out.push_str(&format!("\\u{:04x}", u32::from(letter))),
                '\u{20}'..='\u{7e}' => out.push(letter),
                _ if !self.ensure_ascii => out.push(letter),
                _ => {
                    let mut units = [0; 2];
                    for unit in letter.encode_utf16(&mut units) {
                        out.push_str(&format!("\\u{unit:04x}"));
                    }
                }
            }
        }
        out.push('"');
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Expected values were printed by CPython 3.11.
    #[test]
    fn floats() {
        let cases = [
            (1.0, "1.0"),
            (20.90, "20.9"),
            (12.037037037037036, "12.037037037037036"),
            (1e16, "1e+16"),
            (9999999999999998.0, "9999999999999998.0"),
            (1.5e300, "1.5e+300"),
            (0.0001, "0.0001"),
            (0.00001234, "1.234e-05"),
            (5e-324, "5e-324"),
            (-0.0, "-0.0"),
            (f64::INFINITY, "inf"),
        ];
        for (value, expected) in cases {
            assert_eq!(float(value), expected);
        }
    }

    #[test]
    fn json() {
        let value: Value = serde_json::from_str(
            r#"{"b": [1, 2.0, null, true, {}], "a": "é\u0001\"\\\n😀\u007f</script>", "c": []}"#,
        )
        .unwrap();
        let plain = JsonStyle::default();
        assert_eq!(
            plain.write(&value),
            "{\"b\": [1, 2.0, null, true, {}], \"a\": \"é\\u0001\\\"\\\\\\n😀\u{7f}</script>\", \"c\": []}"
        );
        let ascii = JsonStyle { ensure_ascii: true, sort_keys: true, ..JsonStyle::default() };
        assert!(
            ascii.write(&value).starts_with(r#"{"a": "\u00e9\u0001\"\\\n\ud83d\ude00\u007f</script>", "b""#)
        );
        let indented = JsonStyle { indent: Some(2), item_separator: ",".into(), ..JsonStyle::default() };
        let small = serde_json::json!({"a": [1, 2], "b": {}, "c": {"d": "x"}});
        assert_eq!(
            indented.write(&small),
            "{\n  \"a\": [\n    1,\n    2\n  ],\n  \"b\": {},\n  \"c\": {\n    \"d\": \"x\"\n  }\n}"
        );
    }

    #[test]
    fn stripping() {
        assert_eq!(strip("\u{1c}\u{a0}\u{3000}a b\u{1f}\n"), "a b");
        assert_eq!(strip("\u{200b}a\u{feff}"), "\u{200b}a\u{feff}");
    }
}
