//! Whatever a model writes and whatever tools say: no panic, never over the budget, no call lost, always
//! an end, and a trace from which all of it can be played again.

use crate::support::config;
use glowworm_agent::parse::{Found, parse_turn};
use glowworm_agent::tools::TOOLS;
use glowworm_agent::{
    CallStatus, Completion, EndedBy, Episode, EpisodeConfig, Limits, Measured, Piece, Segment, SqlCheck,
    SqlSource, Step, Stop, SubmitGate, TokenCounts, ToolOutcome, Trace, TurnKind, replay,
};
use proptest::collection::vec;
use proptest::prelude::*;

/// Pieces from which turns are made: everything that means something to the parser, whole and in halves.
fn piece() -> impl Strategy<Value = String> {
    let word = prop_oneof![
        Just("users".to_owned()),
        Just("SELECT 1".to_owned()),
        Just("SELECT wrong;".to_owned()),
        Just(String::new()),
        "[ -~]{0,20}",
        any::<String>(),
    ];
    let call = (0..TOOLS.len(), vec(word.clone(), 3), 0..6_u8).prop_map(|(tool, words, form)| {
        let tool = &TOOLS[tool];
        let args: serde_json::Map<_, _> = tool
            .args
            .iter()
            .zip(&words)
            .map(|(arg, word)| {
                (arg.name.to_owned(), if arg.name == "limit" { 5.into() } else { word.clone().into() })
            })
            .collect();
        match form {
            0 => serde_json::json!({"name": tool.name, "arguments": args}).to_string(),
            1 => serde_json::json!({"tool": tool.name, "args": {"surplus": 1}}).to_string(),
            2 => {
                let text = serde_json::json!({"tool": tool.name, "args": args}).to_string();
                text[..text.len() - 1].to_owned() + "\n"
            }
            _ => serde_json::json!({"tool": tool.name, "args": args}).to_string(),
        }
    });
    let scrap = proptest::sample::select(vec![
        "</think>",
        "<think>",
        "{",
        "}",
        "\"",
        "'",
        "\n",
        "{\"tool\": ",
        "\"args\": {",
        "\"run_query\"",
        ", ",
        "<tool_call>",
        "</tool_call>",
        "<function=run_query>",
        "<parameter=sql>",
        "</parameter>",
        "</function>",
        "```sql\n",
        "```",
        "SELECT a FROM t",
        ";",
        "<|im_end|>",
        "[",
        "]",
        "None",
        "\\",
        "-- x",
        "/*",
        "é",
    ]);
    prop_oneof![4 => call, 4 => scrap.prop_map(str::to_owned), 1 => word]
}

fn turn() -> impl Strategy<Value = String> {
    (proptest::bool::weighted(0.9), vec(piece(), 0..8))
        .prop_map(|(ends, pieces)| (if ends { "</think>" } else { "" }).to_owned() + &pieces.concat())
}

/// Everything a host may do that the episode does not decide.
#[derive(Debug, Clone)]
struct World {
    limits: Limits,
    gate: SubmitGate,
    joined: bool,
    turns: Vec<String>,
    outcomes: Vec<(bool, usize)>,
    check: bool,
    /// Bytes a token, times 16.
    scale: u64,
    prompt: usize,
    /// After so many replies the user stops it, or the host gives up.
    stop_after: Option<(usize, bool)>,
}

fn world() -> impl Strategy<Value = World> {
    let limits =
        (64_u64..5_000, 1_u32..8, 1_u32..5, 0_u64..400, 1_u64..100, proptest::option::of(1_u64..300));
    (
        limits,
        any::<(bool, bool, bool)>(),
        vec(turn(), 1..9),
        vec((any::<bool>(), prop_oneof![4 => 0..200_usize, 1 => 0..50_000_usize]), 1..9),
        1_u64..80,
        0..600_usize,
        proptest::option::weighted(0.2, (0..40_usize, any::<bool>())),
    )
        .prop_map(|(limits, (gate, joined, check), turns, outcomes, scale, prompt, stop_after)| {
            let (budget, tool_turns, max_failed_queries, answer_reserve, min_turn_tokens, max_turn_tokens) =
                limits;
            World {
                limits: Limits {
                    tool_turns,
                    max_failed_queries,
                    answer_reserve: answer_reserve.min(budget / 2 - 1),
                    min_turn_tokens: min_turn_tokens.min(budget / 2),
                    max_turn_tokens,
                    ..Limits::with_token_budget(budget)
                },
                gate: if gate { SubmitGate::AfterSameQuery } else { SubmitGate::Open },
                joined,
                turns,
                outcomes,
                check,
                scale,
                prompt,
                stop_after,
            }
        })
}

impl World {
    fn tokens(&self, text: &str) -> u64 {
        (text.len() as u64 * 16).div_ceil(self.scale)
    }

    fn config(&self) -> EpisodeConfig {
        let mut config = config("q");
        config.prompt.segments.push(Segment::Text("p".repeat(self.prompt)));
        config.limits = self.limits.clone();
        config.submit_gate = self.gate;
        config.texts.final_turn_joins_results = self.joined;
        config
    }

    /// Plays the episode and checks on the way what can only be seen there. Returns what the model saw.
    fn play(&self) -> (Trace, String) {
        let budget = self.limits.token_budget;
        let mut episode = Episode::new(self.config()).unwrap();
        let (mut seen, mut completions, mut calls, mut measured) = (String::new(), 0, 0, 0);
        for replies in 0.. {
            // Six turns at most, each with a measurement for every result and a few more.
            assert!(replies < 2_000, "it does not end");
            if let Some((after, by_user)) = self.stop_after
                && replies == after
            {
                if by_user { episode.cancel() } else { episode.fail("the device is lost") }
            }
            match episode.step().clone() {
                Step::Done(outcome) => {
                    assert_eq!(episode.outcome(), Some(&outcome));
                    break;
                }
                Step::Measure(append) => {
                    measured = append.iter().map(|segment| self.tokens(segment.as_str())).sum();
                    episode.measured(measured).unwrap();
                }
                Step::Generate(request) => {
                    assert!(request.max_tokens >= 1);
                    assert!(episode.context_tokens() + measured + request.max_tokens <= budget);
                    assert_eq!(
                        request.append.iter().map(|segment| self.tokens(segment.as_str())).sum::<u64>(),
                        measured
                    );
                    let mut text = self.turns[completions % self.turns.len()].clone();
                    let mut stop = Stop::EndOfTurn;
                    while self.tokens(&text) > request.max_tokens {
                        text.pop();
                        stop = Stop::Length;
                    }
                    for segment in &request.append {
                        seen.push_str(segment.as_str());
                    }
                    seen.push_str(&text);
                    completions += 1;
                    assert!(completions <= self.limits.tool_turns as usize + 1);
                    let tokens = TokenCounts { appended: measured, generated: self.tokens(&text) };
                    let completion = Completion { text, tokens, stop, started_ms: 0, ended_ms: 1 };
                    episode.completed(completion).unwrap();
                }
                Step::RunTools(batch) => {
                    assert!(!batch.is_empty());
                    let outcomes = batch.iter().map(|_| {
                        let (is_error, len) = self.outcomes[calls % self.outcomes.len()];
                        calls += 1;
                        // Numbered, so that one result cannot be taken for another.
                        let text = format!("<{calls}>{}", "r".repeat(len));
                        ToolOutcome { is_error, ..ToolOutcome::ok(text) }
                    });
                    episode.tool_results(outcomes.collect()).unwrap();
                }
                Step::CheckSql(sql) => {
                    assert!(!sql.trim().is_empty());
                    let check = if self.check { SqlCheck::runs() } else { SqlCheck::fails("no") };
                    episode.sql_checked(check).unwrap();
                }
            }
            assert!(episode.context_tokens() <= budget);
        }
        (episode.into_trace(), seen)
    }
}

/// Every call of a turn is there, in order, and was run or answered, unless the episode ended before.
fn no_call_is_lost(trace: &Trace) {
    let last = trace.turns.len();
    for turn in trace.turns.iter().filter(|turn| turn.kind == TurnKind::Tool) {
        let Some(completion) = &turn.completion else { continue };
        let found = parse_turn(&completion.text, true).found;
        let raw: Vec<&str> = found
            .iter()
            .map(|found| match found {
                Found::Call(call) => call.raw.as_str(),
                Found::Unreadable { raw, .. } => raw,
            })
            .collect();
        let recorded: Vec<&str> = turn.calls.iter().map(|call| call.raw.as_str()).collect();
        assert_eq!(raw, recorded);
        assert_eq!(turn.no_call.is_some(), raw.is_empty());
        for call in &turn.calls {
            match call.status {
                CallStatus::Ran | CallStatus::Rejected => assert!(call.result.is_some()),
                CallStatus::Submitted | CallStatus::NotRun | CallStatus::Pending => {
                    assert_eq!(turn.number as usize, last);
                    assert!(call.result.is_none());
                }
            }
        }
    }
}

/// Every result is in the next append, in order and under its own number, unless it did not fit.
fn no_result_is_lost(trace: &Trace) {
    let appended: Vec<Measured> =
        trace.measurements.iter().filter(|measured| measured.fits).map(|measured| measured.what).collect();
    for (index, turn) in trace.turns.iter().enumerate().skip(1) {
        let before = &trace.turns[index - 1];
        if matches!(appended[index], Measured::Final | Measured::FinalWithoutQuery) {
            continue;
        }
        let text: String = turn.append.iter().map(Segment::as_str).collect();
        let mut rest = text.as_str();
        let total = before.calls.len();
        for (number, call) in before.calls.iter().enumerate() {
            let label = match total {
                1 => "Tool result:\n".to_owned(),
                _ => format!("Tool result ({}/{total}):\n", number + 1),
            };
            let result = &call.result.as_ref().unwrap().text;
            let shown = if call.withheld {
                format!("Error: the result is too long to show ({} bytes). Ask for less.", result.len())
            } else {
                result.clone()
            };
            let expected = format!("{label}{shown}\n\n");
            let at = rest.find(&expected).unwrap_or_else(|| panic!("{expected:?} is not in {rest:?}"));
            rest = &rest[at + expected.len()..];
        }
        let plural = if before.tool_turns_left == 1 { "" } else { "s" };
        let left = format!("[{} tool turn{plural} left before you must answer]", before.tool_turns_left);
        assert!(rest.contains(&left), "{rest}");
    }
}

fn the_outcome_makes_sense(trace: &Trace) {
    let outcome = trace.outcome.as_ref().unwrap();
    let calls = || trace.turns.iter().flat_map(|turn| &turn.calls);
    let last_query = calls().rfind(|call| call.is_working_query()).map(|call| &call.args["sql"]);
    let final_turn = trace.turns.last().is_some_and(|turn| turn.kind == TurnKind::Final);
    assert_eq!(outcome.sql.is_some(), outcome.source.is_some());
    assert_eq!(outcome.final_turn.is_some(), final_turn);
    assert!(trace.turns.iter().rev().skip(1).all(|turn| turn.kind == TurnKind::Tool));
    match outcome.source {
        Some(SqlSource::LastWorkingQuery) => {
            assert_eq!(last_query.and_then(|sql| sql.as_str()), outcome.sql.as_deref());
        }
        Some(SqlSource::SubmitSql) => {
            let submitted: Vec<_> = calls().filter(|call| call.status == CallStatus::Submitted).collect();
            assert_eq!(submitted.len(), 1);
            assert_eq!(submitted[0].args["sql"].as_str(), outcome.sql.as_deref());
        }
        Some(SqlSource::FinalTurn) => assert_eq!(Some(&trace.checks[0].sql), outcome.sql.as_ref()),
        None => assert!(last_query.is_none()),
    }
    match outcome.ended_by {
        EndedBy::SubmitSql => assert_eq!(outcome.source, Some(SqlSource::SubmitSql)),
        EndedBy::FinalTurn => assert_ne!(outcome.source, Some(SqlSource::LastWorkingQuery)),
        EndedBy::FallbackToLastWorkingQuery => {
            assert!(final_turn);
            assert_eq!(outcome.source, Some(SqlSource::LastWorkingQuery));
        }
        EndedBy::TokenBudget => assert!(outcome.token_budget_hit),
        EndedBy::Cancelled | EndedBy::Error => {}
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn an_episode_keeps_its_promises(world in world()) {
        let (trace, seen) = world.play();
        no_call_is_lost(&trace);
        no_result_is_lost(&trace);
        the_outcome_makes_sense(&trace);

        // The trace has the context as the model saw it; a turn that was not begun was not seen.
        let context: String = match trace.turns.last() {
            Some(last) if last.completion.is_none() => {
                let mut begun = trace.clone();
                begun.turns.pop();
                text_of(&begun)
            }
            _ => text_of(&trace),
        };
        prop_assert_eq!(context, seen);

        let json = trace.to_json().unwrap();
        let read = Trace::from_json(&json).unwrap();
        prop_assert_eq!(&read, &trace);
        prop_assert_eq!(Trace::from_json(&trace.to_json_pretty().unwrap()).unwrap(), read.clone());
        if let Err(error) = replay::verify(&read) {
            prop_assert!(false, "{}", error);
        }
    }

    #[test]
    fn a_turn_of_any_characters_is_read(text in any::<String>(), think_open: bool) {
        parse_turn(&text, think_open);
        glowworm_agent::answer::final_sql(&text, think_open);
    }

    #[test]
    fn a_turn_of_pieces_is_read(text in turn(), think_open: bool) {
        let mut from = 0;
        for found in parse_turn(&text, think_open).found {
            let raw = match found {
                Found::Call(call) => call.raw,
                Found::Unreadable { raw, .. } => raw,
            };
            // Calls come from the text, in order, and never overlap.
            let at = text[from..].find(&raw);
            prop_assert!(at.is_some(), "{raw:?} is not in {:?}", &text[from..]);
            from += at.unwrap() + raw.len();
        }
        if let Some(sql) = glowworm_agent::answer::final_sql(&text, think_open) {
            prop_assert!(!sql.trim().is_empty());
        }
    }

    #[test]
    fn well_written_calls_are_all_found(
        calls in vec((0..TOOLS.len(), any::<String>()), 1..15),
        think in "[^<]*",
    ) {
        let written: Vec<serde_json::Value> = calls
            .iter()
            .map(|(tool, text)| serde_json::json!({"tool": TOOLS[*tool].name, "args": {"sql": text}}))
            .collect();
        let lines: Vec<String> = written.iter().map(ToString::to_string).collect();
        let turn = parse_turn(&format!("{think}</think>\n\n{}", lines.join("\n")), true);
        prop_assert_eq!(turn.think.as_str(), think.trim());
        prop_assert_eq!(turn.found.len(), written.len());
        for (found, written) in turn.found.iter().zip(&written) {
            let Found::Call(call) = found else { panic!("{found:?}") };
            prop_assert_eq!(&serde_json::json!({"tool": call.name, "args": call.args}), written);
        }
    }
}

fn text_of(trace: &Trace) -> String {
    trace
        .context()
        .into_iter()
        .map(|piece| match piece {
            Piece::Markup(text) | Piece::Text(text) | Piece::Generated(text) => text,
        })
        .collect()
}
