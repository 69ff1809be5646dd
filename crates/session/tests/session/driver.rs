//! The loop with a scripted model and a small database.

use std::collections::VecDeque;
use std::ops::ControlFlow;

use glowworm_agent::{
    CallStatus, EndedBy, EpisodeConfig, GenerateRequest, Prompt, PromptOrigin, Segment, Stop, TokenCounts,
    ToolCall, ToolOutcome, Trace, replay,
};
use glowworm_database::{NativeDatabase, NativeOptions, Tools};
use glowworm_session::{
    DatabaseTools, Event, Generated, LanguageModel, Observer, ToolHost, run, schema_text,
};
use pollster::block_on;

/// Writes its turns letter by letter; a token is a byte.
struct Script(VecDeque<&'static str>);

impl LanguageModel for Script {
    type Error = String;

    fn begin(&mut self) {}

    fn measure(&mut self, append: &[Segment]) -> Result<u64, String> {
        Ok(append.iter().map(|segment| segment.as_str().len() as u64).sum())
    }

    async fn generate(
        &mut self,
        request: &GenerateRequest,
        on_text: &mut dyn FnMut(&str) -> ControlFlow<()>,
    ) -> Result<Generated, String> {
        let turn = self.0.pop_front().ok_or("the model is out of words")?;
        let appended = self.measure(&request.append)?;
        let mut text = String::new();
        let mut stop = Stop::EndOfTurn;
        for letter in turn.chars() {
            text.push(letter);
            if on_text(&letter.to_string()).is_break() {
                stop = Stop::Cancelled;
                break;
            }
        }
        let generated = text.len() as u64;
        Ok(Generated { text, tokens: TokenCounts { appended, generated }, stop, reused: 0 })
    }
}

/// Writes down what happens, and stops the episode at a word of its choice.
#[derive(Default)]
struct Watch {
    lines: Vec<String>,
    think: String,
    stop_at: Option<&'static str>,
}

impl Observer for Watch {
    fn event(&mut self, event: Event<'_>) {
        let line = match event {
            Event::TurnBegins { request, .. } => format!("turn {}", request.turn),
            Event::Think(text) => {
                self.think.push_str(text);
                return;
            }
            Event::Text(_) => return,
            Event::CallWritten { index, call } => format!("written {index} {}", call.name),
            Event::TurnEnds { turn, .. } => format!("turn ends with {} calls", turn.calls.len()),
            Event::ToolBegins { index, .. } => format!("begins {index}"),
            Event::ToolEnds { index, outcome, .. } => {
                format!("ends {index} {}", outcome.text.lines().next().unwrap_or_default())
            }
            Event::Checked { check, .. } => format!("checked {:?}", check.error),
            Event::Ends { outcome } => format!("over {:?}", outcome.ended_by),
            _ => return,
        };
        self.lines.push(line);
    }

    fn cancelled(&mut self) -> bool {
        let told =
            |word: &str| self.think.contains(word) || self.lines.iter().any(|line| line.contains(word));
        self.stop_at.is_some_and(told)
    }
}

fn tools() -> DatabaseTools<NativeDatabase> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("shop.sqlite");
    let sql = "CREATE TABLE item (id INTEGER PRIMARY KEY,\n name TEXT);\
               INSERT INTO item (name) VALUES ('pen'), ('cup');\
               CREATE VIEW named AS SELECT name FROM item;";
    rusqlite::Connection::open(&path).unwrap().execute_batch(sql).unwrap();
    let database = NativeDatabase::open(&path, NativeOptions::default()).unwrap();
    DatabaseTools::new(Tools::new(database).unwrap())
}

fn config() -> EpisodeConfig {
    let segments = vec![
        Segment::Markup("<|im_start|>user\n".into()),
        Segment::Text("How many items?".into()),
        Segment::Markup("<|im_end|>\n<|im_start|>assistant\n<think>\n".into()),
    ];
    let prompt = Prompt { system_from: PromptOrigin::Given, user_from: PromptOrigin::Given, segments };
    EpisodeConfig::new("How many items?", prompt)
}

fn play(turns: &[&'static str], watch: &mut Watch) -> Trace {
    let mut model = Script(turns.iter().copied().collect());
    let trace = block_on(run(config(), &mut model, &mut tools(), watch)).unwrap();
    replay::verify(&trace).unwrap();
    trace
}

const LOOK: &str = "Look.</think>\n{\"tool\": \"list_tables\"}\n{\"tool\": \"fly\"}\n\
                    {\"tool\": \"describe_table\", \"args\": {\"table_name\": \"item\"}}";
const ANSWER: &str = "Count.</think>\n{\"tool\": \"run_query\", \"args\": {\"sql\": \"SELECT COUNT(*) FROM item\"}}\n\
                      {\"tool\": \"submit_sql\", \"args\": {\"sql\": \"SELECT COUNT(*) FROM item\"}}";

#[test]
fn an_episode_is_told_in_order_and_can_be_replayed() {
    let mut watch = Watch::default();
    let trace = play(&[LOOK, ANSWER], &mut watch);
    let outcome = trace.outcome.as_ref().unwrap();
    assert_eq!(
        (outcome.ended_by, outcome.sql.as_deref()),
        (EndedBy::SubmitSql, Some("SELECT COUNT(*) FROM item"))
    );
    assert_eq!(watch.think, "Look.Count.");
    assert_eq!(
        watch.lines,
        [
            "turn 1",
            "written 0 list_tables",
            "written 1 fly",
            "written 2 describe_table",
            "turn ends with 3 calls",
            "begins 0",
            "ends 0 item",
            "begins 2",
            "ends 2 CREATE TABLE item (id INTEGER PRIMARY KEY, name TEXT)",
            "turn 2",
            "written 0 run_query",
            "written 1 submit_sql",
            "turn ends with 2 calls",
            "begins 0",
            "ends 0 COUNT(*)",
            "over SubmitSql",
        ]
    );
    assert!(trace.turns[1].calls[0].result.as_ref().unwrap().elapsed_ms.is_some());
}

#[test]
fn the_final_answer_is_checked() {
    let query = "No.</think>{\"tool\": \"run_query\", \"args\": {\"sql\": \"SELECT x FROM item\"}}";
    let mut watch = Watch::default();
    let trace = play(&[query, query, query, query, "</think>\nSELECT y FROM item"], &mut watch);
    let outcome = trace.outcome.unwrap();
    assert_eq!(outcome.ended_by, EndedBy::FinalTurn);
    assert!(outcome.message.unwrap().contains("no such column: y"));
    assert!(
        watch.lines.iter().any(|line| line.contains("checked Some(\"no such column: y")),
        "{:?}",
        watch.lines
    );
}

#[test]
fn cancelling_while_the_model_writes_keeps_what_it_wrote() {
    let mut watch = Watch { stop_at: Some("Cou"), ..Watch::default() };
    let trace = play(&[LOOK, ANSWER], &mut watch);
    assert_eq!(trace.outcome.as_ref().unwrap().ended_by, EndedBy::Cancelled);
    assert_eq!(trace.turns[1].completion.as_ref().unwrap().text, "Cou");
}

#[test]
fn cancelling_between_calls_keeps_the_results_that_are_there() {
    let mut watch = Watch { stop_at: Some("ends 0"), ..Watch::default() };
    let trace = play(&[LOOK, ANSWER], &mut watch);
    assert_eq!(trace.outcome.as_ref().unwrap().ended_by, EndedBy::Cancelled);
    let results: Vec<_> = trace.turns[0].calls.iter().map(|call| call.result.as_ref().unwrap()).collect();
    assert_eq!(results[0].text, "item\nnamed");
    assert!(results[2].is_error && results[2].text.contains("cancelled"));
    assert_eq!(trace.turns[0].calls[1].status, CallStatus::Rejected);
}

#[test]
fn a_model_that_fails_ends_the_episode_and_loses_nothing() {
    let trace = play(&[LOOK], &mut Watch::default());
    let outcome = trace.outcome.as_ref().unwrap();
    assert_eq!(outcome.ended_by, EndedBy::Error);
    assert_eq!(outcome.message.as_deref(), Some("the model is out of words"));
    assert_eq!(trace.turns[0].calls.len(), 3);
}

#[test]
fn tools_that_are_gone_end_the_episode() {
    struct Gone;
    impl ToolHost for Gone {
        type Error = String;
        async fn call(&mut self, _: &ToolCall) -> Result<ToolOutcome, String> {
            Err("the database worker is gone".into())
        }
        async fn check(&mut self, _: &str) -> Result<glowworm_agent::SqlCheck, String> {
            Err("the database worker is gone".into())
        }
    }
    let trace = block_on(run(config(), &mut Script([LOOK].into()), &mut Gone, &mut ())).unwrap();
    let outcome = trace.outcome.as_ref().unwrap();
    assert_eq!(
        (outcome.ended_by, outcome.message.as_deref()),
        (EndedBy::Error, Some("the database worker is gone"))
    );
    replay::verify(&trace).unwrap();
}

#[test]
fn a_schema_in_the_prompt_has_no_views() {
    assert_eq!(schema_text(tools().catalog()), "CREATE TABLE item (id INTEGER PRIMARY KEY,\n name TEXT)");
}
