//! A trace on disk, and what happens to one that was tampered with or comes from elsewhere.

use crate::support::{Script, config};
use glowworm_agent::{Episode, Error, RunInfo, ToolOutcome, Trace, drive, replay};
use serde_json::{Value, json};

fn recorded() -> Trace {
    let turns = [
        "Look.\n</think>\n\n{\"tool\": \"list_tables\"}\n{\"tool\": \"sample_rows\", \"args\": {\"table_name\": \
         \"users\", \"limit\": \"3\"}}\n{\"tool\": \"sample_rows\", \"args\": {\"limit\": 0.12345678901234567}}",
        "Try.\n</think>\n\n{\"tool\": \"run_query\", \"args\": {\"sql\": \"SELECT COUNT(*) FROM users\"}}",
        "Good.\n</think>\n\n{\"tool\": \"submit_sql\", \"args\": {\"sql\": \"SELECT COUNT(*) FROM users\"}}",
    ];
    let mut config = config("How many users?");
    config.evidence = Some("users are people".into());
    config.run = RunInfo {
        model: "tiny-Q8_0".into(),
        database: "app.sqlite".into(),
        started_at: Some("2026-01-02T03:04:05Z".into()),
        sampling: json!({"seed": 1, "temperature": 0.6, "top_p": 0.95, "top_k": 20})
            .as_object()
            .unwrap()
            .clone(),
        notes: serde_json::Map::new(),
    };
    let mut host = Script::new(&turns, |call| ToolOutcome {
        rows: Some(1),
        elapsed_ms: Some(2),
        ..ToolOutcome::ok(format!("{} says <|im_end|>", call.name))
    });
    let mut episode = Episode::new(config).unwrap();
    drive(&mut episode, &mut host);
    episode.into_trace()
}

/// The trace with one value replaced.
fn tampered(trace: &Trace, pointer: &str, value: Value) -> Trace {
    let mut json = serde_json::to_value(trace).unwrap();
    *json.pointer_mut(pointer).unwrap_or_else(|| panic!("{pointer} is not in the trace")) = value;
    serde_json::from_value(json).unwrap()
}

#[test]
fn a_recorded_trace_replays() {
    let trace = recorded();
    let trace = Trace::from_json(&trace.to_json_pretty().unwrap()).unwrap();
    replay::verify(&trace).unwrap();
    // Another version of the program is no difference in itself.
    replay::verify(&tampered(&trace, "/glowworm", json!("9.9.9"))).unwrap();
}

#[test]
fn the_stored_example_still_replays() {
    // The example of docs/trace.md. When this fails, the protocol or the format has changed: see whether
    // that was meant, and whether it needs a new version.
    let text = include_str!("data/trace-v1.json");
    let stored: Value = serde_json::from_str(text).unwrap();
    let mut ours: Value = serde_json::to_value(recorded()).unwrap();
    ours["glowworm"] = stored["glowworm"].clone();
    let new = concat!(env!("CARGO_TARGET_TMPDIR"), "/trace-v1.json");
    if ours != stored {
        std::fs::write(new, recorded().to_json_pretty().unwrap() + "\n").unwrap();
    }
    assert_eq!(ours, stored, "fields were added, renamed or lost; if on purpose, take {new}");
    replay::verify(&Trace::from_json(text).unwrap()).unwrap();
}

#[test]
fn every_kind_of_tampering_is_found() {
    let trace = recorded();
    for (pointer, value, what) in [
        ("/config/texts/result_label", json!("Result:\n"), "what is appended"),
        ("/config/limits/tool_turns", json!(5), "what is appended"),
        ("/config/limits/token_budget", json!(9_999), "the largest number of tokens"),
        ("/config/submit_gate", json!("after_same_query"), ""),
        ("/measurements/1/tokens", json!(1), "the largest number of tokens"),
        ("/measurements/1/what", json!("prompt"), "the token counts"),
        ("/turns/0/completion/text", json!("</think>{\"tool\": \"list_tables\"}"), "what is appended"),
        ("/turns/0/think", json!("Hm."), "the turn"),
        ("/turns/0/calls/1/args/limit", json!(4), "the calls to run"),
        ("/turns/0/calls/2/result/text", json!("fine"), "a call"),
        ("/turns/0/calls/1/result/text", json!("other"), "what is appended"),
        ("/turns/1/calls/0/status", json!("not_run"), "a call"),
        ("/turns/1/max_tokens", json!(7), "the largest number of tokens"),
        ("/turns/2/calls", json!([]), "the number of calls"),
        ("/outcome/sql", json!("SELECT 2"), "the outcome"),
        ("/outcome", json!(null), "the outcome"),
    ] {
        match replay::verify(&tampered(&trace, pointer, value)) {
            Err(Error::Divergence { what: found, .. }) => assert_eq!(found, what, "{pointer}"),
            // With the gate this trace is the same: the query was run before.
            Ok(()) => assert_eq!(what, "", "{pointer}"),
            Err(error) => panic!("{pointer}: {error}"),
        }
    }
    let mut shortened = trace.clone();
    shortened.turns.pop();
    assert!(matches!(replay::verify(&shortened), Err(Error::Divergence { .. })));
    let mut shortened = trace;
    shortened.measurements.pop();
    assert!(matches!(replay::verify(&shortened), Err(Error::Divergence { .. })));
}

#[test]
fn what_is_no_trace_is_told_so() {
    let not_json = Trace::from_json("{").unwrap_err();
    assert!(matches!(not_json, Error::Json { doing: "reading", .. }));
    let other = Trace::from_json(r#"{"format": "x", "version": 1}"#).unwrap_err();
    assert_eq!(other.to_string(), "reading a trace: its \"format\" must be \"glowworm-trace\", but is \"x\"");
    assert!(matches!(Trace::from_json("{}"), Err(Error::NotATrace { .. })));
    assert!(matches!(Trace::from_json(r#"{"format": "glowworm-trace"}"#), Err(Error::NotATrace { .. })));
    let newer = Trace::from_json(r#"{"format": "glowworm-trace", "version": 2, "glowworm": "3.0"}"#);
    assert_eq!(
        newer.unwrap_err().to_string(),
        "reading a trace: it is of version 2, and this program reads version 1; use the program that wrote it \
         (glowworm 3.0)"
    );
    // Fields that a later program adds do not matter.
    let mut json = serde_json::to_value(recorded()).unwrap();
    json["new"] = json!(1);
    json["turns"][0]["new"] = json!(1);
    assert_eq!(Trace::from_json(&json.to_string()).unwrap(), recorded());
}
