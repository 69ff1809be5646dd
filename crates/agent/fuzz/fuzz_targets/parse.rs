//! Any text as a turn and as an answer: no panic, and calls that come from the text in order.
#![no_main]

use glowworm_agent::answer::final_sql;
use glowworm_agent::parse::{Found, parse_turn, split_think};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    for think_open in [false, true] {
        let split = split_think(text, think_open);
        assert!(text.ends_with(split.rest));
        let mut rest = split.rest;
        for found in parse_turn(text, think_open).found {
            let raw = match found {
                Found::Call(call) => call.raw,
                Found::Unreadable { raw, .. } => raw,
            };
            let at = rest.find(&raw).expect("a call that is not in the text");
            rest = &rest[at + raw.len()..];
        }
        if let Some(sql) = final_sql(text, think_open) {
            assert!(!sql.trim().is_empty());
        }
    }
});
