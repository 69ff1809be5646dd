//! A JSON reader that forgives what can be understood in only one way.
//!
//! Models write JSON by habit, not by grammar. This reader takes what they commonly write and a careful
//! person would still read without a doubt: a comma before a closing bracket, Python's `True`, `False`
//! and `None`, single quotes in place of double ones, a line break inside a string, `\'`, and a missing
//! last brace where nothing else follows. It refuses what has two readings: a quote inside a string that
//! was not escaped, an escape that JSON does not know, a key given twice with two values.

use std::ops::Range;

use serde_json::{Map, Number, Value};

/// Deeper nesting than any call has.
const MAX_DEPTH: usize = 32;

/// An object that was read.
#[derive(Debug)]
pub(crate) struct Object {
    /// Its members.
    pub map: Map<String, Value>,
    /// Where it ends in the text, exclusive.
    pub end: usize,
    /// Whether its last brace was missing.
    pub unclosed: bool,
    /// Places of the objects inside, in the order in which they begin.
    pub nested: Vec<Range<usize>>,
}

/// Why no object could be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Fault {
    /// Byte offset in the text.
    pub at: usize,
    /// What is wrong there.
    pub what: &'static str,
}

/// Reads the object that begins at `start`, which must be the place of a `{`.
pub(crate) fn object(text: &str, start: usize) -> Result<Object, Fault> {
    let mut reader = Reader { text, at: start, depth: 0, unclosed: false, nested: Vec::new() };
    let map = reader.object()?;
    // Nested objects were noted when they ended.
    reader.nested.pop();
    reader.nested.sort_by_key(|range| range.start);
    Ok(Object { map, end: reader.at, unclosed: reader.unclosed, nested: reader.nested })
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
    depth: usize,
    unclosed: bool,
    nested: Vec<Range<usize>>,
}

impl Reader<'_> {
    fn rest(&self) -> &str {
        &self.text[self.at..]
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn fault<T>(&self, what: &'static str) -> Result<T, Fault> {
        Err(Fault { at: self.at, what })
    }

    fn skip_space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    fn enter(&mut self) -> Result<(), Fault> {
        self.depth += 1;
        if self.depth > MAX_DEPTH { self.fault("it is nested too deep") } else { Ok(()) }
    }

    fn object(&mut self) -> Result<Map<String, Value>, Fault> {
        let start = self.at;
        if self.peek() != Some(b'{') {
            return self.fault("a { is missing");
        }
        self.enter()?;
        self.at += 1;
        let mut map = Map::new();
        loop {
            self.skip_space();
            match self.peek() {
                Some(b'}') => {
                    self.at += 1;
                    break;
                }
                Some(b'"' | b'\'') => {}
                Some(_) => return self.fault("a quoted key or a } is missing"),
                None => return self.fault("it ends too early"),
            }
            let key = self.string()?;
            self.skip_space();
            if self.peek() != Some(b':') {
                return self.fault("a : is missing after a key");
            }
            self.at += 1;
            self.skip_space();
            let value = self.value()?;
            match map.get(&key) {
                Some(other) if *other != value => return self.fault("a key is given twice"),
                _ => map.insert(key, value),
            };
            let after_value = self.at;
            self.skip_space();
            match self.peek() {
                Some(b',') => self.at += 1,
                Some(b'}') => {}
                _ if self.depth == 1 && self.last_brace_may_be_missing(after_value) => {
                    self.at = after_value;
                    self.unclosed = true;
                    break;
                }
                Some(_) => return self.fault("a , or a } is missing after a value"),
                None => return self.fault("it ends too early"),
            }
        }
        self.depth -= 1;
        self.nested.push(start..self.at);
        Ok(map)
    }

    /// Whether nothing that could belong to the object follows the value that ended at `after_value`: the
    /// text, a fence or a wrapper ends, or the next object begins on a new line.
    fn last_brace_may_be_missing(&self, after_value: usize) -> bool {
        let rest = self.rest();
        rest.is_empty()
            || rest.starts_with("```")
            || rest.starts_with("</tool_call>")
            || (rest.starts_with('{') && self.text[after_value..self.at].contains('\n'))
    }

    fn array(&mut self) -> Result<Value, Fault> {
        self.enter()?;
        self.at += 1;
        let mut items = Vec::new();
        loop {
            self.skip_space();
            if self.peek() == Some(b']') {
                break;
            }
            items.push(self.value()?);
            self.skip_space();
            match self.peek() {
                Some(b',') => self.at += 1,
                Some(b']') => {}
                Some(_) => return self.fault("a , or a ] is missing after a value"),
                None => return self.fault("it ends too early"),
            }
        }
        self.at += 1;
        self.depth -= 1;
        Ok(Value::Array(items))
    }

    fn value(&mut self) -> Result<Value, Fault> {
        match self.peek() {
            Some(b'{') => self.object().map(Value::Object),
            Some(b'[') => self.array(),
            Some(b'"' | b'\'') => self.string().map(Value::String),
            Some(b'-' | b'0'..=b'9') => self.number(),
            Some(c) if c.is_ascii_alphabetic() => self.word(),
            Some(_) => self.fault("a value is missing"),
            None => self.fault("it ends too early"),
        }
    }

    fn word(&mut self) -> Result<Value, Fault> {
        let rest = self.rest();
        let len = rest.bytes().take_while(|c| c.is_ascii_alphanumeric() || *c == b'_').count();
        let value = match &rest[..len] {
            "true" | "True" => Value::Bool(true),
            "false" | "False" => Value::Bool(false),
            "null" | "None" => Value::Null,
            _ => return self.fault("a text without quotes"),
        };
        self.at += len;
        Ok(value)
    }

    fn number(&mut self) -> Result<Value, Fault> {
        let rest = self.rest();
        let len = rest
            .bytes()
            .take_while(|c| c.is_ascii_alphanumeric() || matches!(c, b'-' | b'+' | b'.' | b'_'))
            .count();
        match serde_json::from_str::<Number>(&rest[..len]) {
            Ok(number) => {
                self.at += len;
                Ok(Value::Number(number))
            }
            Err(_) => self.fault("a number is malformed"),
        }
    }

    fn string(&mut self) -> Result<String, Fault> {
        let bytes = self.text.as_bytes();
        let quote = bytes[self.at];
        self.at += 1;
        let mut out = String::new();
        loop {
            let run = bytes[self.at..].iter().take_while(|c| **c != quote && **c != b'\\').count();
            out.push_str(&self.text[self.at..self.at + run]);
            self.at += run;
            match self.peek() {
                None => return self.fault("a text is not closed"),
                Some(b'\\') => self.escape(&mut out)?,
                Some(_) => {
                    self.at += 1;
                    return Ok(out);
                }
            }
        }
    }

    fn escape(&mut self, out: &mut String) -> Result<(), Fault> {
        let plain = match self.text.as_bytes().get(self.at + 1) {
            Some(b'"') => '"',
            Some(b'\'') => '\'',
            Some(b'\\') => '\\',
            Some(b'/') => '/',
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{c}',
            Some(b'n') => '\n',
            Some(b'r') => '\r',
            Some(b't') => '\t',
            Some(b'u') => return self.unicode_escape(out),
            Some(_) => return self.fault("an escape that JSON does not know"),
            None => return self.fault("a text is not closed"),
        };
        out.push(plain);
        self.at += 2;
        Ok(())
    }

    fn unicode_escape(&mut self, out: &mut String) -> Result<(), Fault> {
        let unit = |at: usize| -> Option<u32> {
            let digits = self.text.get(at..at + 6)?.strip_prefix("\\u")?;
            digits.bytes().all(|c| c.is_ascii_hexdigit()).then(|| u32::from_str_radix(digits, 16).ok())?
        };
        let Some(first) = unit(self.at) else {
            return self.fault("a \\u escape is malformed");
        };
        let (code, len) = match (first, unit(self.at + 6)) {
            (0xD800..=0xDBFF, Some(second @ 0xDC00..=0xDFFF)) => {
                (0x10000 + ((first - 0xD800) << 10) + (second - 0xDC00), 12)
            }
            _ => (first, 6),
        };
        match char::from_u32(code) {
            Some(c) => {
                out.push(c);
                self.at += len;
                Ok(())
            }
            None => self.fault("a \\u escape is half a character"),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn read(text: &str) -> Result<Value, &'static str> {
        object(text, 0).map(|object| Value::Object(object.map)).map_err(|fault| fault.what)
    }

    #[test]
    fn strict_json_is_read_as_serde_json_reads_it() {
        let text = r#"{"a": [1, -2.5, 1e3, true, null], "b": {"c": "\u00e9\ud83d\ude00\n\"\\\/"}, "": {}}"#;
        assert_eq!(read(text).unwrap(), serde_json::from_str::<Value>(text).unwrap());
    }

    #[test]
    fn unambiguous_slips_are_forgiven() {
        for text in [
            "{'a': True, 'b': None, 'c': False}",
            r#"{"a": true, "b": null, "c": false,}"#,
            "{\"a\": true,\n \"b\": null, \"c\": false",
            "{\"a\": true, \"b\": null, \"c\": false\n```",
            "{\"a\": true, \"b\": null, \"c\": false\n{\"tool\"",
            r#"{"a": true, "b": null, "a": true, "c": false}"#,
        ] {
            assert_eq!(read(text), Ok(json!({"a": true, "b": null, "c": false})), "{text}");
        }
        assert_eq!(read(r#"{"a": [1, 2, ], "b": {"c": 1,},}"#), Ok(json!({"a": [1, 2], "b": {"c": 1}})));
        assert_eq!(read("{\"a\": \"x\ny\tz\"}"), Ok(json!({"a": "x\ny\tz"})));
        assert_eq!(read(r#"{"a": "it\'s", 'b': 'it"s \'' }"#), Ok(json!({"a": "it's", "b": "it\"s '"})));
    }

    #[test]
    fn what_has_two_readings_is_refused() {
        for (text, what) in [
            (r#"{"a": 1, "a": 2}"#, "a key is given twice"),
            (r#"{"a": "say "x""}"#, "a , or a } is missing after a value"),
            ("{'a': 'it's'}", "a , or a } is missing after a value"),
            (r#"{"a": "50\%"}"#, "an escape that JSON does not know"),
            (r#"{"a": "\ud800"}"#, "a \\u escape is half a character"),
            (r#"{"a": "\u12"}"#, "a \\u escape is malformed"),
            (r#"{"a": "\u+123"}"#, "a \\u escape is malformed"),
            ("{a: 1}", "a quoted key or a } is missing"),
            (r#"{"a": b}"#, "a text without quotes"),
            (r#"{"a": Nonexistent}"#, "a text without quotes"),
            (r#"{"a": 01}"#, "a number is malformed"),
            (r#"{"a": 1e999}"#, "a number is malformed"),
            (r#"{"a": NaN}"#, "a text without quotes"),
            (r#"{"a" 1}"#, "a : is missing after a key"),
            (r#"{"a": }"#, "a value is missing"),
            (r#"{"a": "x"#, "a text is not closed"),
            (r#"{"a": "x\"#, "a text is not closed"),
            (r#"{"a": {"b": "x""#, "it ends too early"),
            (r#"{"a": 1,"#, "it ends too early"),
            ("{", "it ends too early"),
            (r#"{"a": 1 {"b": 2}"#, "a , or a } is missing after a value"),
            (r#"{"a": 1 and so on"#, "a , or a } is missing after a value"),
            (r#"{"a": [1 2]}"#, "a , or a ] is missing after a value"),
        ] {
            assert_eq!(read(text), Err(what), "{text}");
        }
    }

    #[test]
    fn nesting_is_bounded() {
        let deep = "{\"a\":".repeat(100_000);
        assert_eq!(read(&deep), Err("it is nested too deep"));
        let deep = format!("{{\"a\":{}", "[".repeat(100_000));
        assert_eq!(read(&deep), Err("it is nested too deep"));
    }

    #[test]
    fn the_end_and_the_objects_inside_are_known() {
        let text = r#"x {"a": {"b": {}}, "c": [{}]} y"#;
        let object = object(text, 2).unwrap();
        assert_eq!(&text[object.end..], " y");
        let nested: Vec<&str> = object.nested.iter().map(|range| &text[range.clone()]).collect();
        assert_eq!(nested, [r#"{"b": {}}"#, "{}", "{}"]);
    }

    proptest! {
        #[test]
        fn whatever_serde_json_writes_is_read_back(map in proptest::collection::hash_map(".*", value(), 0..5)) {
            let value = Value::Object(map.into_iter().collect());
            prop_assert_eq!(read(&value.to_string()), Ok(value.clone()));
            prop_assert_eq!(read(&serde_json::to_string_pretty(&value).unwrap()), Ok(value));
        }

        #[test]
        fn nothing_makes_it_panic(text in r#"\{([{}\[\],:'"\\a-fnu0-9 \n.é-]|true|None|"a": )*"#) {
            let _ = object(&text, 0);
        }
    }

    fn value() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<u64>().prop_map(Value::from),
            any::<f64>().prop_map(Value::from),
            any::<String>().prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 32, 5, |inner| {
            prop_oneof![
                proptest::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
                proptest::collection::hash_map(any::<String>(), inner, 0..5)
                    .prop_map(|map| Value::Object(map.into_iter().collect())),
            ]
        })
    }
}
