//! The answers have the bytes of the tools that the first built-in model was trained with (`tests/data/make_vectors.py`):
//! a model reads what it was taught to read.

#![allow(clippy::unwrap_used, clippy::expect_used)]

mod common;

use common::{call, hash, tools};
use serde_json::Value as Json;

#[test]
fn answers_have_the_bytes_of_the_training_tools() {
    let calls: Vec<(String, String, Json, usize, String)> =
        serde_json::from_str(include_str!("data/training_tools.json")).unwrap();
    assert!(calls.len() > 150, "{}", calls.len());
    let mut open = None;
    for (path, tool, arguments, length, expected) in calls {
        if open.as_ref().is_none_or(|(name, _)| *name != path) {
            open = Some((path.clone(), tools(&path)));
        }
        let (_, tools) = open.as_mut().unwrap();
        let output = call(tools, &tool, arguments.clone());
        assert_eq!(
            (output.text.len(), hash(output.text.as_bytes())),
            (length, expected),
            "{path} {tool} {arguments}: {}",
            output.text
        );
    }
}
