//! Three episodes of the published model, with their rounds and their numbers of calls, played by a
//! script over made-up tool results: what the model reads must be right to the byte.

use crate::support::{Script, config};
use glowworm_agent::{
    CallStatus, EndedBy, Episode, FinalTurnReason, SqlSource, ToolCall, ToolOutcome, Trace, drive, replay,
};

const USER: &str = "<|im_end|>\n<|im_start|>user\n";
const ASSISTANT: &str = "<|im_end|>\n<|im_start|>assistant\n<think>\n";

fn call(tool: &str, args: &[(&str, &str)]) -> String {
    let args: serde_json::Map<_, _> =
        args.iter().map(|(key, value)| ((*key).to_owned(), (*value).into())).collect();
    if args.is_empty() {
        return format!("{{\"tool\": \"{tool}\"}}");
    }
    serde_json::json!({"tool": tool, "args": args}).to_string()
}

fn describe(table: &str) -> String {
    call("describe_table", &[("table_name", table)])
}

fn query(sql: &str) -> String {
    call("run_query", &[("sql", sql)])
}

fn turn(think: &str, calls: &[String]) -> String {
    format!("{think}\n</think>\n\n{}", calls.join("\n"))
}

/// A database that says what it was asked.
fn tool(call: &ToolCall) -> ToolOutcome {
    match call.name.as_str() {
        "list_tables" => ToolOutcome::ok("shipping_methods\nshipping_rate_calculations"),
        "describe_table" => {
            let table = call.text("table_name").unwrap();
            ToolOutcome::ok(format!("CREATE TABLE {table} (id INTEGER PRIMARY KEY)"))
        }
        "run_query" if call.text("sql").unwrap().contains("wrong") => {
            ToolOutcome::error("Error: no such column: wrong")
        }
        "run_query" => ToolOutcome { rows: Some(1), ..ToolOutcome::ok("n\n1") },
        other => panic!("{other} is not in the script"),
    }
}

fn round_trip(trace: &Trace) {
    let json = trace.to_json().unwrap();
    let read = Trace::from_json(&json).unwrap();
    assert_eq!(read, *trace);
    replay::verify(&read).unwrap();
}

#[test]
fn shipping_rates_on_239_tables() {
    let answer = "SELECT sc.base_rate, sc.final_rate FROM shipping_rate_calculations sc WHERE \
                  sc.shipping_method_id = 'PRIORITY_INTL' AND sc.weight = 48.64";
    let nine = [
        describe("shipping_rate_calculations"),
        describe("shipping_methods"),
        describe("shipping_zones"),
        describe("shipping_rate_calculations"),
        describe("packages"),
        describe("shipping_methods"),
        describe("rates"),
        query("SELECT * FROM shipping_methods LIMIT 5"),
        query("SELECT wrong FROM rates"),
    ];
    let turns = [
        turn("I need the tables.", &[call("list_tables", &[]), call("list_tables", &[])]),
        turn("Nine looks.", &nine),
        turn("Try it.", &[query(answer)]),
        turn("That is it.", &[call("submit_sql", &[("sql", answer)])]),
    ];
    let turns: Vec<&str> = turns.iter().map(String::as_str).collect();
    let question = "What are the base and final shipping rates for PRIORITY_INTL for a 48.64 unit package?";
    let mut host = Script::new(&turns, |call| match call.text("sql") {
        Some(sql) if sql == answer => ToolOutcome::ok("base_rate | final_rate\n23.9 | 71.51"),
        _ => tool(call),
    });
    let mut episode = Episode::new(config(question)).unwrap();
    let outcome = drive(&mut episode, &mut host);

    assert_eq!(outcome.sql.as_deref(), Some(answer));
    assert_eq!((outcome.ended_by, outcome.source), (EndedBy::SubmitSql, Some(SqlSource::SubmitSql)));
    assert_eq!((outcome.final_turn, outcome.token_budget_hit, outcome.message), (None, false, None));

    let ddl = |table: &str| format!("CREATE TABLE {table} (id INTEGER PRIMARY KEY)");
    let tables = "shipping_methods\nshipping_rate_calculations";
    assert_eq!(
        host.appended,
        [
            format!(
                "<|im_start|>system\nS<|im_end|>\n<|im_start|>user\nQuestion: {question}<|im_end|>\n\
                 <|im_start|>assistant\n<think>\n"
            ),
            format!(
                "{USER}Tool result (1/2):\n{tables}\n\nTool result (2/2):\n{tables}\n\n\
                 [5 tool turns left before you must answer]{ASSISTANT}"
            ),
            format!(
                "{USER}Tool result (1/9):\n{}\n\nTool result (2/9):\n{}\n\nTool result (3/9):\n{}\n\n\
                 Tool result (4/9):\n{}\n\nTool result (5/9):\n{}\n\nTool result (6/9):\n{}\n\n\
                 Tool result (7/9):\n{}\n\nTool result (8/9):\nn\n1\n\n\
                 Tool result (9/9):\nError: no such column: wrong\n\n\
                 [4 tool turns left before you must answer]{ASSISTANT}",
                ddl("shipping_rate_calculations"),
                ddl("shipping_methods"),
                ddl("shipping_zones"),
                ddl("shipping_rate_calculations"),
                ddl("packages"),
                ddl("shipping_methods"),
                ddl("rates"),
            ),
            format!(
                "{USER}Tool result:\nbase_rate | final_rate\n23.9 | 71.51\n\n\
                 [3 tool turns left before you must answer]{ASSISTANT}"
            ),
        ]
    );
    assert_eq!(host.ran.iter().map(Vec::len).collect::<Vec<_>>(), [2, 9, 1]);
    let stats = episode.trace().stats();
    assert_eq!((stats.turns, stats.calls, stats.failed_queries, stats.rejected_calls), (4, 13, 1, 0));
    assert_eq!(episode.trace().turns[1].think, "Nine looks.");
    round_trip(episode.trace());
}

#[test]
fn share_of_alerts_on_106_tables() {
    let answer = "SELECT COUNT(CASE WHEN triggered_by = 5 THEN 1 END) * 100.0 / COUNT(*) FROM alert_log";
    let fourteen: Vec<String> = (0..14).map(|table| describe(&format!("t{table}"))).collect();
    let turns = [
        turn("a", &[call("list_tables", &[])]),
        turn("b", &fourteen),
        turn("c", &[query("SELECT wrong FROM alert_log"), query("SELECT COUNT(*) FROM alert_log")]),
        turn("d", &[query(answer)]),
        turn("e", &[query(answer), call("submit_sql", &[("sql", answer)]), describe("late")]),
    ];
    let turns: Vec<&str> = turns.iter().map(String::as_str).collect();
    let mut host = Script::new(&turns, tool);
    let mut episode = Episode::new(config("What percentage …?")).unwrap();
    let outcome = drive(&mut episode, &mut host);

    assert_eq!(outcome.sql.as_deref(), Some(answer));
    assert_eq!(outcome.ended_by, EndedBy::SubmitSql);
    assert!(host.appended[2].contains("Tool result (14/14):\nCREATE TABLE t13 (id"));
    let ends = |turn: usize, left: &str| {
        let end = format!("\n\n[{left} left before you must answer]{ASSISTANT}");
        assert!(host.appended[turn].ends_with(&end), "{}", host.appended[turn]);
    };
    ends(1, "5 tool turns");
    ends(2, "4 tool turns");
    ends(3, "3 tool turns");
    ends(4, "2 tool turns");
    // What stands before the submission is run, what stands after it is not.
    assert_eq!(host.ran[4], [query(answer)]);
    let last: Vec<CallStatus> = episode.trace().turns[4].calls.iter().map(|call| call.status).collect();
    assert_eq!(last, [CallStatus::Ran, CallStatus::Submitted, CallStatus::NotRun]);
    round_trip(episode.trace());
}

const DEVICES: &str = "SELECT d.device_name,\n       COUNT(r.id) AS requests\nFROM devices d\nJOIN \
                       software_dependencies s ON s.device_id = d.id\nLEFT JOIN diagnostic_requests r ON \
                       r.device_id = d.id\nWHERE s.name LIKE '%firmware%'\nGROUP BY d.device_name";

fn six_rounds(last: &str) -> Vec<String> {
    let mut turns: Vec<String> = vec![
        turn("1", &[call("list_tables", &[])]),
        turn("2", &[describe("devices"), describe("software_dependencies")]),
        turn("3", &[query("SELECT 1"), query("SELECT wrong")]),
        turn("4", &[query("SELECT COUNT(*)\nFROM devices;")]),
        turn("5", &[query("SELECT wrong")]),
        turn("6", &[query("SELECT wrong FROM devices"), describe("diagnostic_requests")]),
    ];
    turns.push(last.to_owned());
    turns
}

fn devices(last: &str, failing: Option<&str>) -> (glowworm_agent::Outcome, Trace, Vec<String>, Vec<String>) {
    let turns = six_rounds(last);
    let turns: Vec<&str> = turns.iter().map(String::as_str).collect();
    let mut host = Script::new(&turns, tool);
    if let Some(error) = failing {
        host = host.failing_check(error);
    }
    let mut episode = Episode::new(config("List device names …")).unwrap();
    let outcome = drive(&mut episode, &mut host);
    round_trip(episode.trace());
    let Script { appended, checked, .. } = host;
    (outcome, episode.into_trace(), appended, checked)
}

#[test]
fn devices_on_225_tables() {
    let (outcome, trace, appended, checked) =
        devices(&format!("Now I must answer.\n</think>\n\n{DEVICES}"), None);
    assert_eq!(outcome.sql.as_deref(), Some(DEVICES));
    assert_eq!((outcome.ended_by, outcome.source), (EndedBy::FinalTurn, Some(SqlSource::FinalTurn)));
    assert_eq!(outcome.final_turn, Some(FinalTurnReason::ToolTurns));
    assert_eq!(checked, [DEVICES]);
    assert_eq!(appended.len(), 7);
    assert!(appended[5].ends_with(&format!("wrong\n\n[1 tool turn left before you must answer]{ASSISTANT}")));
    assert_eq!(
        appended[6],
        format!(
            "{USER}Tool result (1/2):\nError: no such column: wrong\n\nTool result (2/2):\n\
             CREATE TABLE diagnostic_requests (id INTEGER PRIMARY KEY)\n\n\
             [0 tool turns left before you must answer]{USER}\
             You have reached the exploration limit. Now generate the final SQL query to answer the \
             question. Return only the SQL query.\n\n\
             Your last query that executed without error was:\nSELECT COUNT(*)\nFROM devices;\n\
             If you are not sure of an improvement, return that query.{ASSISTANT}"
        )
    );
    let stats = trace.stats();
    assert_eq!((stats.turns, stats.calls, stats.failed_queries, stats.invalid_turns), (7, 9, 3, 0));
}

#[test]
fn a_fenced_or_called_final_answer_counts_as_well() {
    for last in [
        format!("hm\n</think>\n\n```sql\n{DEVICES};\n```"),
        format!("hm\n</think>\n\n{}", call("submit_sql", &[("sql", DEVICES)])),
        format!("hm\n</think>\n\n{}", query(DEVICES)),
        format!("hm\n</think>\n\nThe query is:\n\n{DEVICES};\n\nIt counts requests."),
    ] {
        let (outcome, ..) = devices(&last, None);
        assert_eq!(outcome.sql.as_deref(), Some(DEVICES), "{last}");
        assert_eq!(outcome.ended_by, EndedBy::FinalTurn);
    }
}

#[test]
fn an_empty_or_failing_final_answer_falls_back() {
    let fallback = "SELECT COUNT(*)\nFROM devices;";
    for (last, failing, message) in [
        ("hm\n</think>\n\n", None, "the final answer holds no query"),
        ("hm\n</think>\n\nI do not know.", None, "the final answer holds no query"),
        ("still thinking SELECT 1", None, "the final answer holds no query"),
        (
            "hm\n</think>\n\nSELECT nothing",
            Some("no such column: nothing"),
            "the final answer failed: no such \
                                                                            column: nothing",
        ),
    ] {
        let (outcome, _, _, checked) = devices(last, failing);
        assert_eq!(outcome.sql.as_deref(), Some(fallback), "{last}");
        assert_eq!(outcome.ended_by, EndedBy::FallbackToLastWorkingQuery);
        assert_eq!(outcome.source, Some(SqlSource::LastWorkingQuery));
        assert_eq!(outcome.message.as_deref(), Some(message));
        assert_eq!(checked.len(), usize::from(failing.is_some()));
    }
}
