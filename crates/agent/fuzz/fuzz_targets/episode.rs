//! Any turns, results and token counts: no panic, never over the budget, an end, and a trace that replays.
#![no_main]

use glowworm_agent::{
    Completion, Episode, EpisodeConfig, Limits, Prompt, PromptOrigin, Segment, SqlCheck, Step, Stop,
    TokenCounts, ToolOutcome, Trace, replay,
};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: (u16, u8, Vec<(String, u16)>)| {
    let (budget, answer_runs, turns) = input;
    let budget = u64::from(budget).max(4);
    let segments = vec![Segment::Text("q".into())];
    let mut config = EpisodeConfig::new("q", Prompt { system_from: PromptOrigin::Given, user_from: PromptOrigin::Given, segments });
    config.limits = Limits::with_token_budget(budget);
    let mut episode = Episode::new(config).expect("limits that leave room");
    let mut turns = turns.into_iter();
    let (mut measured, mut len) = (0, 0);
    loop {
        match episode.step().clone() {
            Step::Done(_) => break,
            Step::Measure(append) => {
                measured = append.iter().map(|segment| segment.as_str().len() as u64 / 4).sum();
                episode.measured(measured).expect("it asked for it");
            }
            Step::Generate(request) => {
                let (text, result) = turns.next().unwrap_or_default();
                len = usize::from(result);
                let generated = (text.len() as u64 / 4).min(request.max_tokens);
                let completion = Completion {
                    text,
                    tokens: TokenCounts { appended: measured, generated },
                    stop: if generated == request.max_tokens { Stop::Length } else { Stop::EndOfTurn },
                    started_ms: 0,
                    ended_ms: 0,
                };
                episode.completed(completion).expect("within what was agreed");
            }
            Step::RunTools(calls) => {
                let result = ToolOutcome { is_error: len % 2 == 1, ..ToolOutcome::ok("r".repeat(len)) };
                episode.tool_results(vec![result; calls.len()]).expect("one for each");
            }
            Step::CheckSql(_) => {
                let check = if answer_runs % 2 == 0 { SqlCheck::runs() } else { SqlCheck::fails("no") };
                episode.sql_checked(check).expect("it asked for it");
            }
        }
        assert!(episode.context_tokens() <= budget);
    }
    let json = episode.trace().to_json().expect("a trace is JSON");
    let trace = Trace::from_json(&json).expect("its own JSON");
    assert_eq!(trace, *episode.trace());
    replay::verify(&trace).expect("the same again");
});
