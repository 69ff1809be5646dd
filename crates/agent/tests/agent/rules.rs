//! The rules of an episode, one by one.

use crate::support::{Script, config, tokens_of};
use glowworm_agent::{
    CallStatus, EndedBy, Episode, EpisodeConfig, Error, FinalTurnReason, Limits, Measured, Outcome, SqlCheck,
    SqlSource, Step, Stop, SubmitGate, TokenCounts, ToolCall, ToolOutcome, Trace, drive, replay,
};
use glowworm_agent::{Completion, TurnKind};

const LIST: &str = "</think>{\"tool\": \"list_tables\"}";
const WRONG: &str = "</think>{\"tool\": \"run_query\", \"args\": {\"sql\": \"SELECT wrong\"}}";
const RIGHT: &str = "</think>{\"tool\": \"run_query\", \"args\": {\"sql\": \"SELECT 1\"}}";
const SUBMIT: &str = "</think>{\"tool\": \"submit_sql\", \"args\": {\"sql\": \"SELECT 1\"}}";
const NO_CALL: &str = "Error: no tool call found. Write one or more calls, each {\"tool\": \"<name>\", \"args\": \
                       {...}}; to answer, {\"tool\": \"submit_sql\", \"args\": {\"sql\": \"...\"}}.";

fn tool(call: &ToolCall) -> ToolOutcome {
    match call.text("sql") {
        Some(sql) if sql.contains("wrong") => ToolOutcome::error("Error: no such column: wrong"),
        Some(_) => ToolOutcome::ok("1\n1"),
        None => ToolOutcome::ok("users"),
    }
}

fn play(config: EpisodeConfig, turns: &[&str]) -> (Outcome, Trace, Vec<String>) {
    play_with(config, turns, tool)
}

fn play_with(
    config: EpisodeConfig,
    turns: &[&str],
    tool: impl FnMut(&ToolCall) -> ToolOutcome,
) -> (Outcome, Trace, Vec<String>) {
    let mut host = Script::new(turns, tool);
    let mut episode = Episode::new(config).unwrap();
    let outcome = drive(&mut episode, &mut host);
    assert!(episode.context_tokens() <= episode.trace().config.limits.token_budget);
    replay::verify(episode.trace()).unwrap();
    let appended = host.appended.clone();
    drop(host);
    (outcome, episode.into_trace(), appended)
}

#[test]
fn four_failed_queries_in_a_row_force_the_final_turn() {
    let (outcome, trace, appended) =
        play(config("q"), &[RIGHT, WRONG, WRONG, WRONG, WRONG, "</think>SELECT 2"]);
    assert_eq!(outcome.final_turn, Some(FinalTurnReason::FailedQueries));
    assert_eq!((outcome.ended_by, outcome.sql.as_deref()), (EndedBy::FinalTurn, Some("SELECT 2")));
    assert!(appended[5].contains(
        "Tool result:\nError: no such column: wrong\n\n[1 tool turn left before you must \
         answer]<|im_end|>\n<|im_start|>user\nYou have reached the exploration limit."
    ));
    assert!(appended[5].contains("without error was:\nSELECT 1\nIf you"));
    assert_eq!(trace.turns.len(), 6);
}

#[test]
fn failures_are_counted_over_turns_and_calls_until_one_works() {
    // Three in one turn, other tools between them, then one that works.
    let three = format!("{WRONG}{{\"tool\": \"list_tables\"}}{}{}", &WRONG[8..], &WRONG[8..]);
    let (outcome, ..) = play(config("q"), &[&three, RIGHT, &three, SUBMIT]);
    assert_eq!(outcome.ended_by, EndedBy::SubmitSql);
    // Wrong arguments are a failure too; a call that cannot be read is not a run_query.
    let bad_args = "</think>{\"tool\": \"run_query\", \"args\": {\"query\": \"SELECT 1\"}}";
    let unreadable = "</think>{\"tool\": \"run_query\", \"args\": {\"sql\": \"SELECT \"x\"\"}}";
    let (outcome, ..) = play(config("q"), &[&three, unreadable, bad_args, "</think>"]);
    assert_eq!(outcome.final_turn, Some(FinalTurnReason::FailedQueries));
    assert_eq!((outcome.ended_by, outcome.sql), (EndedBy::FinalTurn, None));
    // The count is taken at the end of a turn: all of its calls are run first.
    let four_then_right = format!("{WRONG}{}{}{}{}", &WRONG[8..], &WRONG[8..], &WRONG[8..], &RIGHT[8..]);
    let (outcome, ..) = play(config("q"), &[&four_then_right, SUBMIT]);
    assert_eq!(outcome.ended_by, EndedBy::SubmitSql);
}

#[test]
fn a_turn_without_a_call_costs_a_turn() {
    let (outcome, trace, appended) = play(
        config("q"),
        &["</think>SELECT 1", "I forgot to stop thinking", "", LIST, LIST, LIST, "</think>"],
    );
    assert!(
        appended[1].contains(&format!("Tool result:\n{NO_CALL}\n\n[5 tool turns left")),
        "{}",
        appended[1]
    );
    assert!(appended[2].contains("Tool result:\nError: the thinking did not end, so no tool call was read."));
    assert!(appended[2].contains("[4 tool turns left before you must answer]"));
    assert!(appended[3].contains("[3 tool turns left before you must answer]"));
    assert_eq!(outcome.final_turn, Some(FinalTurnReason::ToolTurns));
    assert_eq!(trace.stats().invalid_turns, 3);
    assert!(trace.checks.is_empty());
}

#[test]
fn wrong_calls_are_answered_in_their_place() {
    let mixed = format!(
        "{LIST} {{\"tool\": \"drop\"}} {{\"tool\": \"list_tables\", \"args\": [1]}} {{\"tool\": \
         \"describe_table\"}} {{\"tool\": \"list_tables\"}}"
    );
    let (_, trace, appended) = play(config("q"), &[&mixed, SUBMIT]);
    let body = appended[1].split("user\n").nth(1).unwrap();
    assert_eq!(
        body,
        "Tool result (1/5):\nusers\n\nTool result (2/5):\nError: unknown tool: drop. The tools are \
         list_tables, describe_table, foreign_keys, join_path, sample_rows, distinct_values, run_query, \
         submit_sql.\n\nTool result (3/5):\nError: this tool call cannot be read: \"args\" is not an object. \
         Write {\"tool\": \"<name>\", \"args\": {...}}.\n\nTool result (4/5):\nError: describe_table needs \
         \"table_name\". Write {\"tool\": \"describe_table\", \"args\": {\"table_name\": \
         \"...\"}}.\n\nTool result (5/5):\nusers\n\n[5 tool turns left before you must \
         answer]<|im_end|>\n<|im_start|>assistant\n<think>\n"
    );
    let statuses: Vec<CallStatus> = trace.turns[0].calls.iter().map(|call| call.status).collect();
    use CallStatus::{Ran, Rejected};
    assert_eq!(statuses, [Ran, Rejected, Rejected, Rejected, Ran]);
    assert_eq!(trace.stats().rejected_calls, 3);
}

#[test]
fn an_empty_submission_is_a_wrong_call() {
    let empty = "</think>{\"tool\": \"submit_sql\", \"args\": {\"sql\": \" ;\"}}";
    let (outcome, _, appended) = play(config("q"), &[empty, SUBMIT]);
    assert!(appended[1].contains("Error: submit_sql needs a query in \"sql\", which is empty."));
    assert_eq!(outcome.sql.as_deref(), Some("SELECT 1"));
}

#[test]
fn the_submit_gate_waits_for_the_same_query() {
    let gated = || EpisodeConfig { submit_gate: SubmitGate::AfterSameQuery, ..config("q") };
    let other = RIGHT.replace("SELECT 1", "SELECT  1 ;");
    let (outcome, trace, appended) =
        play(gated(), &[SUBMIT, &format!("{other}{}{}", &SUBMIT[8..], &LIST[8..])]);
    assert!(appended[1].contains("Tool result:\nError: run this query with run_query before you submit it."));
    assert_eq!((outcome.ended_by, outcome.sql.as_deref()), (EndedBy::SubmitSql, Some("SELECT 1")));
    assert_eq!(trace.turns[1].calls[2].status, CallStatus::NotRun);
    // A refused submission does not stop the calls after it.
    let (_, trace, _) = play(gated(), &[&format!("{LIST}{}{}", &SUBMIT[8..], &RIGHT[8..]), SUBMIT]);
    let statuses: Vec<CallStatus> = trace.turns[0].calls.iter().map(|call| call.status).collect();
    assert_eq!(statuses, [CallStatus::Ran, CallStatus::Rejected, CallStatus::Ran]);
    // A query that failed does not open it.
    let submit_wrong = SUBMIT.replace("SELECT 1", "SELECT wrong");
    let (outcome, ..) = play(gated(), &[WRONG, &submit_wrong, RIGHT, SUBMIT]);
    assert_eq!(outcome.sql.as_deref(), Some("SELECT 1"));
}

#[test]
fn a_failing_answer_without_a_fallback_is_kept_with_its_error() {
    let turns = [LIST, LIST, LIST, LIST, LIST, LIST, "</think>SELECT nothing"];
    let mut host = Script::new(&turns, tool).failing_check("no such column: nothing");
    let mut episode = Episode::new(config("q")).unwrap();
    let outcome = drive(&mut episode, &mut host);
    assert_eq!((outcome.ended_by, outcome.sql.as_deref()), (EndedBy::FinalTurn, Some("SELECT nothing")));
    assert_eq!(outcome.message.as_deref(), Some("the final answer failed: no such column: nothing"));
    assert!(
        host.appended[6].ends_with("Return only the SQL query.<|im_end|>\n<|im_start|>assistant\n<think>\n")
    );
}

#[test]
fn cancelling_keeps_what_there_is() {
    let mut episode = Episode::new(config("q")).unwrap();
    let cut = Completion {
        text: "half a tho".into(),
        tokens: TokenCounts { appended: 20, generated: 3 },
        stop: Stop::Cancelled,
        started_ms: 0,
        ended_ms: 5,
    };
    episode.measured(20).unwrap();
    episode.completed(cut.clone()).unwrap();
    let outcome = episode.outcome().unwrap().clone();
    assert_eq!((outcome.ended_by, outcome.sql), (EndedBy::Cancelled, None));
    assert_eq!(episode.trace().turns[0].think, "half a tho");
    replay::verify(episode.trace()).unwrap();

    let mut episode = Episode::new(config("q")).unwrap();
    episode.measured(20).unwrap();
    let text = format!("{RIGHT}{}", &LIST[8..]);
    episode.completed(Completion { text, stop: Stop::EndOfTurn, ..cut }).unwrap();
    episode.tool_results(vec![ToolOutcome::ok("1"), ToolOutcome::ok("users")]).unwrap();
    episode.cancel();
    episode.fail("too late to fail");
    let outcome = episode.outcome().unwrap().clone();
    assert_eq!((outcome.ended_by, outcome.sql.as_deref()), (EndedBy::Cancelled, Some("SELECT 1")));
    assert_eq!(outcome.source, Some(SqlSource::LastWorkingQuery));
    replay::verify(episode.trace()).unwrap();
}

#[test]
fn a_host_that_cannot_go_on_ends_the_episode() {
    let (outcome, trace, _) = play(config("q"), &[RIGHT]);
    assert_eq!((outcome.ended_by, outcome.sql.as_deref()), (EndedBy::Error, Some("SELECT 1")));
    assert_eq!(outcome.message.as_deref(), Some("the script is at its end"));
    assert_eq!(trace.turns[1].completion, None);
}

#[test]
fn wrong_replies_are_refused_and_change_nothing() {
    let mut episode = Episode::new(config("q")).unwrap();
    let done = |appended, generated| Completion {
        text: LIST.into(),
        tokens: TokenCounts { appended, generated },
        stop: Stop::EndOfTurn,
        started_ms: 0,
        ended_ms: 0,
    };
    assert!(matches!(episode.completed(done(1, 1)), Err(Error::UnexpectedReply { .. })));
    assert!(matches!(episode.tool_results(vec![]), Err(Error::UnexpectedReply { .. })));
    assert!(matches!(episode.sql_checked(SqlCheck::runs()), Err(Error::UnexpectedReply { .. })));
    episode.measured(20).unwrap();
    assert!(matches!(episode.measured(20), Err(Error::UnexpectedReply { .. })));
    let Step::Generate(request) = episode.step().clone() else { panic!() };
    assert_eq!(request.max_tokens, 12_288 - 1_024 - 20);
    for (counts, named) in [(done(21, 1), "appended"), (done(20, request.max_tokens + 1), "generated")] {
        let Err(Error::TooManyTokens { what, .. }) = episode.completed(counts) else { panic!() };
        assert_eq!(what, named);
    }
    assert_eq!(*episode.step(), Step::Generate(request));
    episode.completed(done(20, 9)).unwrap();
    assert!(matches!(
        episode.tool_results(vec![ToolOutcome::ok("a"), ToolOutcome::ok("b")]),
        Err(Error::ResultCount { expected: 1, got: 2 })
    ));
    episode.tool_results(vec![ToolOutcome::ok("users")]).unwrap();
    assert_eq!(episode.context_tokens(), 29);
    assert_eq!(episode.tool_turns_left(), 5);
}

// The token budget. The script counts a token for four bytes.

fn budget(token_budget: u64) -> EpisodeConfig {
    EpisodeConfig { limits: Limits::with_token_budget(token_budget), ..config("q") }
}

#[test]
fn a_prompt_that_does_not_fit_ends_the_episode_at_once() {
    let mut config = budget(1_200);
    config.prompt.segments.push(glowworm_agent::Segment::Text("x".repeat(4 * 1_100)));
    let (outcome, trace, appended) = play(config, &[]);
    assert_eq!((outcome.ended_by, outcome.sql), (EndedBy::TokenBudget, None));
    assert!(outcome.token_budget_hit && appended.is_empty() && trace.turns.is_empty());
    assert!(outcome.message.unwrap().starts_with("the prompt takes 11"));
}

#[test]
fn one_careless_query_does_not_end_the_exploration() {
    let big = |call: &ToolCall| match call.text("sql") {
        Some(_) => ToolOutcome::ok("x".repeat(60_000)),
        None => ToolOutcome::ok("users"),
    };
    let (outcome, trace, appended) =
        play_with(config("q"), &[&format!("{RIGHT}{}", &LIST[8..]), SUBMIT], big);
    assert!(appended[1].contains(
        "Tool result (1/2):\nError: the result is too long to show (60000 bytes). Ask for less.\n\n\
         Tool result (2/2):\nusers\n\n[5 tool turns"
    ));
    assert_eq!(outcome.ended_by, EndedBy::SubmitSql);
    assert!(outcome.token_budget_hit);
    let withheld: Vec<bool> = trace.turns[0].calls.iter().map(|call| call.withheld).collect();
    assert_eq!(withheld, [true, false]);
    assert_eq!(trace.turns[0].calls[0].result.as_ref().unwrap().text.len(), 60_000);
    let what: Vec<Measured> = trace.measurements.iter().map(|measurement| measurement.what).collect();
    assert_eq!(what, [Measured::Prompt, Measured::Results, Measured::ResultsWithheld]);
}

#[test]
fn a_result_beyond_all_measure_is_not_even_counted() {
    let (_, trace, appended) =
        play_with(config("q"), &[LIST, SUBMIT], |_| ToolOutcome::ok("x".repeat(2_000_000)));
    assert!(appended[1].contains("too long to show (2000000 bytes)"));
    assert_eq!(trace.measurements.len(), 2);
    assert_eq!(trace.measurements[1].what, Measured::ResultsWithheld);
}

#[test]
fn when_little_is_left_the_final_turn_comes_early_and_brings_the_results() {
    // 2,400 tokens: 200 are kept for the answer, 50 are the shortest turn.
    let talk = format!("{}{RIGHT}", "x".repeat(4 * 2_000));
    let (outcome, trace, appended) =
        play_with(budget(2_400), &[&talk, "</think>SELECT 2"], |_| ToolOutcome::ok("r".repeat(4 * 100)));
    assert_eq!(outcome.final_turn, Some(FinalTurnReason::TokenBudget));
    assert_eq!((outcome.ended_by, outcome.sql.as_deref()), (EndedBy::FinalTurn, Some("SELECT 2")));
    assert!(outcome.token_budget_hit);
    assert!(appended[1].contains(&"r".repeat(400)) && appended[1].contains("You have reached"));
    let last = &trace.turns[1];
    assert_eq!(last.kind, TurnKind::Final);
    assert_eq!(last.max_tokens, 2_400 - trace.turns[0].context_tokens - tokens_of(&last.append));
    let what: Vec<Measured> = trace.measurements.iter().map(|measurement| measurement.what).collect();
    assert_eq!(what, [Measured::Prompt, Measured::Results, Measured::ResultsAndFinal]);
}

#[test]
fn results_that_do_not_fit_beside_the_final_turn_are_dropped() {
    let talk = format!("{}{RIGHT}", "x".repeat(4 * 2_000));
    let (outcome, trace, appended) =
        play_with(budget(2_400), &[&talk, "</think>SELECT 2"], |_| ToolOutcome::ok("r".repeat(4 * 300)));
    assert_eq!((outcome.ended_by, outcome.sql.as_deref()), (EndedBy::FinalTurn, Some("SELECT 2")));
    assert!(appended[1].contains("too long to show"), "{}", appended[1]);
    assert!(trace.turns[0].calls[0].withheld);
    // A very long query leaves no room for itself in the final turn either.
    let long = format!("{}{}", "x".repeat(4 * 1_500), RIGHT.replace("SELECT 1", &"SELECT 1 ".repeat(220)));
    let (outcome, trace, appended) =
        play_with(budget(2_400), &[&long, "</think>"], |_| ToolOutcome::ok("r".repeat(4 * 300)));
    assert!(appended[1].ends_with("Return only the SQL query.<|im_end|>\n<|im_start|>assistant\n<think>\n"));
    assert!(!appended[1].contains("Tool result"));
    assert_eq!(trace.measurements.last().unwrap().what, Measured::FinalWithoutQuery);
    assert_eq!(outcome.ended_by, EndedBy::FallbackToLastWorkingQuery);
}

#[test]
fn a_turn_that_is_cut_off_still_leaves_room_to_answer() {
    let endless = "x".repeat(4 * 20_000);
    let (outcome, trace, appended) = play(budget(2_400), &[RIGHT, &endless, "</think>SELECT 2"]);
    assert_eq!(trace.turns[1].completion.as_ref().unwrap().stop, Stop::Length);
    assert_eq!(trace.turns[1].context_tokens, 2_200);
    assert!(appended[2].contains("You have reached the exploration limit."));
    assert_eq!(
        (outcome.ended_by, outcome.final_turn),
        (EndedBy::FinalTurn, Some(FinalTurnReason::TokenBudget))
    );
    assert_eq!(outcome.sql.as_deref(), Some("SELECT 2"));
}

#[test]
fn an_answer_that_is_cut_off_is_the_budgets_fault() {
    let endless = "x".repeat(4 * 20_000);
    let (outcome, ..) = play(budget(2_400), &[&endless, &endless]);
    assert_eq!((outcome.ended_by, outcome.sql), (EndedBy::TokenBudget, None));
    assert!(outcome.token_budget_hit);
    let (outcome, ..) = play(budget(2_400), &[RIGHT, &endless, &endless]);
    assert_eq!(outcome.ended_by, EndedBy::FallbackToLastWorkingQuery);
    assert!(outcome.token_budget_hit);
}

#[test]
fn no_room_even_for_the_final_turn() {
    let mut limits = Limits::with_token_budget(400);
    limits.answer_reserve = 0;
    let config = EpisodeConfig { limits, ..config("q") };
    let long = format!("{RIGHT}{}", "x".repeat(4 * 1_000));
    let (outcome, trace, _) = play(config, &[&long]);
    assert_eq!((outcome.ended_by, outcome.sql.as_deref()), (EndedBy::TokenBudget, Some("SELECT 1")));
    assert_eq!(outcome.final_turn, None);
    assert_eq!(trace.turns.len(), 1);
}

#[test]
fn a_limit_on_turns_is_no_hit_of_the_budget() {
    let mut config = config("q");
    config.limits.max_turn_tokens = Some(50);
    let (outcome, trace, _) = play(config, &[&"x".repeat(1_000), SUBMIT]);
    assert_eq!(trace.turns[0].max_tokens, 50);
    assert_eq!(trace.turns[0].completion.as_ref().unwrap().stop, Stop::Length);
    assert!(!outcome.token_budget_hit);
    assert_eq!(outcome.ended_by, EndedBy::SubmitSql);
}
