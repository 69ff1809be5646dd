//! `python::str` against CPython's own answers (`tests/data/make_vectors.py`).

#![allow(clippy::unwrap_used, clippy::expect_used)]

mod common;

use glowworm_database::{Value, python};
use serde_json::Value as Json;

#[test]
fn values_are_written_as_cpython_writes_them() {
    let vectors: Json = serde_json::from_str(include_str!("data/python_str.json")).unwrap();
    let mut seen = 0;
    let mut check = |kind: &str, value: fn(&Json) -> Value| {
        for pair in vectors[kind].as_array().unwrap() {
            let expected = pair[1].as_str().unwrap();
            assert_eq!(python::str(&value(&pair[0])), expected, "{kind} {}", pair[0]);
            seen += 1;
        }
    };
    check("integers", |json| Value::Integer(json.as_i64().unwrap()));
    check("floats", |json| {
        Value::Real(f64::from_bits(u64::from_str_radix(json.as_str().unwrap(), 16).unwrap()))
    });
    check("texts", |json| Value::Text(json.as_str().unwrap().to_owned()));
    check("blobs", |json| {
        let hex = json.as_str().unwrap();
        let byte = |i: usize| u8::from_str_radix(&hex[i..i + 2], 16).unwrap();
        Value::Blob((0..hex.len()).step_by(2).map(byte).collect())
    });
    assert_eq!(python::str(&Value::Null), vectors["null"].as_str().unwrap());
    assert!(seen > 600, "{seen}");
}
