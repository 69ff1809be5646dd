//! `glowworm ask`.

use glowworm_agent::{EndedBy, Piece, PromptOrigin, SchemaMode, Trace, replay};
use glowworm_tests::Fixture;
use rusqlite::types::ValueRef;
use rusqlite::{Connection, OpenFlags};
use serde_json::{Value, json};

use crate::support::{ask, ask_command, chinook, database, file, folder, repository, run, text};

const PENS: &str = "CREATE TABLE pen (id INTEGER PRIMARY KEY, name TEXT, price REAL);
    INSERT INTO pen (name, price) VALUES ('Quill', 4.5), ('Ballpoint', 1.25), ('Brush', 9.0);";

fn questions() -> Vec<Value> {
    let json = std::fs::read_to_string(repository("examples/questions.json")).unwrap();
    serde_json::from_str(&json).unwrap()
}

/// The rows of a query as JSON, as the program writes them.
fn rows(db_id: &str, sql: &str) -> Value {
    let path = repository(&format!("examples/{db_id}.sqlite"));
    let connection = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY).unwrap();
    let mut statement = connection.prepare(sql).unwrap();
    let columns = statement.column_count();
    let value = |value: ValueRef<'_>| match value {
        ValueRef::Null => Value::Null,
        ValueRef::Integer(number) => json!(number),
        ValueRef::Real(number) => json!(number),
        ValueRef::Text(text) => json!(String::from_utf8_lossy(text)),
        ValueRef::Blob(_) => panic!("no example answers with a BLOB"),
    };
    let rows = statement.query_map([], |row| {
        (0..columns).map(|column| row.get_ref(column).map(value)).collect::<Result<Value, _>>()
    });
    rows.unwrap().map(Result::unwrap).collect()
}

fn traces(path: &std::path::Path) -> Vec<Trace> {
    let text = std::fs::read_to_string(path).unwrap();
    text.lines().map(|line| Trace::from_json(line).unwrap()).collect()
}

#[test]
fn every_example_has_an_answer() {
    let questions = questions();
    assert!(questions.len() >= 20);
    for question in &questions {
        let rows = rows(question["db_id"].as_str().unwrap(), question["SQL"].as_str().unwrap());
        assert_ne!(rows, json!([]), "{question}");
    }
}

#[test]
fn the_built_in_model_answers_its_questions_right() {
    let folder = folder();
    let saved = folder.path().join("traces.jsonl");
    let questions = questions();
    let mine: Vec<&Value> = questions.iter().filter(|question| question["builtin"] == json!(true)).collect();
    assert!(mine.len() >= 5, "at least five examples must be the built-in model's");
    let mut submitted = 0;
    for db_id in ["chinook", "northwind"] {
        let of_db: Vec<&&Value> = mine.iter().filter(|question| question["db_id"] == json!(db_id)).collect();
        if of_db.is_empty() {
            continue;
        }
        let db = repository(&format!("examples/{db_id}.sqlite"));
        let mut arguments = vec!["--json", "--rows", "100000", "--save-trace", text(&saved)];
        arguments.extend(of_db.iter().map(|question| question["question"].as_str().unwrap()));
        let ran = ask(&db, &arguments).expect(0);
        let answers = ran.json();
        let traces = traces(&saved);
        assert_eq!((answers.len(), traces.len()), (of_db.len(), of_db.len()));
        for ((question, answer), trace) in of_db.iter().zip(&answers).zip(&traces) {
            let sql = question["SQL"].as_str().unwrap();
            let mut expected = rows(db_id, sql);
            let mut got = answer["rows"].clone();
            if !sql.contains("ORDER BY") {
                for rows in [&mut expected, &mut got] {
                    rows.as_array_mut().unwrap().sort_by_key(Value::to_string);
                }
            }
            assert_eq!(got, expected, "{answer}");
            assert_eq!(answer["answered"], json!(true));
            assert_eq!(answer["question"], question["question"]);
            submitted += u32::from(answer["ended_by"] == json!("submit_sql"));

            replay::verify(trace).unwrap();
            assert_eq!(trace.config.prompt.system_from, PromptOrigin::ModelFile);
            assert_eq!(trace.config.run.sampling["temperature"], json!(0.0));
            assert_eq!(trace.outcome.as_ref().unwrap().sql.as_deref(), answer["sql"].as_str());
        }
    }
    assert!(submitted >= 4, "{submitted} ended by submit_sql");
}

/// The bytes that the built-in model was trained on.
#[test]
fn an_episode_of_the_built_in_model_has_its_trainings_bytes() {
    let folder = folder();
    let saved = folder.path().join("trace.json");
    let question = "List the names of all genres.";
    ask(&chinook(), &["--save-trace", text(&saved), question]).expect(0);
    let trace = traces(&saved).remove(0);
    let context: String = trace
        .context()
        .iter()
        .map(|piece| match piece {
            Piece::Markup(text) | Piece::Text(text) | Piece::Generated(text) => *text,
        })
        .collect();
    let start = "<|im_start|>system\nYou answer questions about a SQLite database by calling tools.<|im_end|>\n\
                 <|im_start|>user\nList the names of all genres.<|im_end|>\n<|im_start|>assistant\n<think>\n";
    assert!(context.starts_with(start), "{context}");
    let results = "\n</think>\n\n{\"tool\": \"list_tables\"}<|im_end|>\n<|im_start|>user\nTool result:\nAlbum\nArtist\n";
    assert!(context.contains(results), "{context}");
    let budget =
        "\nTrack\n\n[5 tool turns left before you must answer]<|im_end|>\n<|im_start|>assistant\n<think>\n";
    assert!(context.contains(budget), "{context}");
}

#[test]
fn people_read_the_episode_on_stderr_and_the_answer_on_stdout() {
    let ran = ask(&chinook(), &["How many artists are there?"]).expect(0);
    assert_eq!(ran.out, "SELECT COUNT(*) FROM Artist\n\nCOUNT(*)\n────────\n     275\n(1 row)\n");
    for line in
        ["list_tables", "→ 11 names", "describe_table Artist", "turn 1 of 6, ", "submitted after 4 turns"]
    {
        assert!(ran.err.contains(line), "{line} in\n{}", ran.err);
    }
    assert!(!ran.out.contains('\u{1b}') && !ran.err.contains('\u{1b}'), "no colours without a terminal");

    let quiet = ask(&chinook(), &["--quiet", "How many artists are there?"]).expect(0);
    assert_eq!((quiet.out, quiet.err), (ran.out, String::new()));
}

#[test]
fn trace_shows_results_whole() {
    let ran = ask(&chinook(), &["--trace", "How many artists are there?"]).expect(0);
    assert!(ran.err.contains("│ InvoiceLine"), "{}", ran.err);
    let ran = ask(&chinook(), &["--trace", "--json", "How many artists are there?"]).expect(0);
    let answer = ran.json().remove(0);
    let trace = Trace::from_json(&answer["trace"].to_string()).unwrap();
    replay::verify(&trace).unwrap();
    assert_eq!(answer["rows"], json!([[275]]));
}

#[test]
fn questions_come_from_standard_input_on_one_loaded_engine() {
    let command = ask_command(&chinook(), &[]);
    let ran = run(command, "How many artists are there?\n\n  List the names of all genres.  \n").expect(0);
    assert!(ran.out.contains("-- How many artists are there?\nSELECT COUNT(*) FROM Artist\n"), "{}", ran.out);
    assert!(ran.out.contains("-- List the names of all genres.\nSELECT Name FROM Genre\n"), "{}", ran.out);
    assert_eq!(ran.err.matches("loaded in").count(), 1);
    // The system turn was not computed again.
    assert_eq!(ran.err.matches("tokens of the prompt were computed before").count(), 1, "{}", ran.err);
}

#[test]
fn a_seed_gives_the_same_episode_again() {
    let folder = folder();
    let db = database(&folder, PENS);
    let texts = |seed: &str| {
        let saved = folder.path().join("trace.json");
        let hot =
            ["--temperature", "3", "--top-k", "0", "--top-p", "1", "--max-tokens", "400", "--seed", seed];
        ask(&db, &[&hot[..], &["--save-trace", text(&saved), "How many pens are there?"]].concat());
        let trace = traces(&saved).remove(0);
        replay::verify(&trace).unwrap();
        trace.turns.into_iter().filter_map(|turn| turn.completion).map(|turn| turn.text).collect::<Vec<_>>()
    };
    let first = texts("5");
    assert_eq!(first, texts("5"));
    assert!(["6", "7", "8"].iter().any(|seed| texts(seed) != first), "the seed makes no difference");
}

#[test]
fn a_budget_that_is_too_small_is_no_answer() {
    let ran = ask(&chinook(), &["--json", "--max-tokens", "40", "How many artists are there?"]).expect(1);
    let answer = ran.json().remove(0);
    assert_eq!((&answer["answered"], &answer["sql"]), (&json!(false), &Value::Null));
    assert_eq!(answer["ended_by"], json!("token_budget"));
    assert!(answer["message"].as_str().unwrap().contains("the prompt takes"));
}

#[test]
fn one_question_without_an_answer_counts() {
    let command = ask_command(&chinook(), &["--json", "--max-tokens", "90"]);
    let long = format!("{} artists are there?\n", "How many, please, ".repeat(40));
    let ran = run(command, &format!("{long}How many artists are there?\n")).expect(1);
    assert_eq!(ran.json().len(), 2);
}

#[test]
fn the_schema_can_be_shown() {
    let folder = folder();
    let db = database(&folder, PENS);
    let saved = folder.path().join("trace.json");
    let ran = ask(&db, &["--schema", "shown", "--save-trace", text(&saved), "How many pens are there?"]);
    assert!(ran.code < 2, "{}", ran.err);
    assert!(ran.err.contains("has no place for a schema"), "{}", ran.err);
    let trace = traces(&saved).remove(0);
    assert_eq!(trace.config.schema, SchemaMode::Shown);
    assert_eq!(trace.config.prompt.user_from, PromptOrigin::Reconstruction);
    let prompt: String = trace.config.prompt.segments.iter().map(|segment| segment.as_str()).collect();
    assert!(prompt.contains("CREATE TABLE pen (id INTEGER PRIMARY KEY, name TEXT, price REAL)"), "{prompt}");
}

#[test]
fn a_prompt_file_comes_before_the_models_own_prompt() {
    let folder = folder();
    let db = database(&folder, PENS);
    let python = "SYSTEM_PROMPT = (\n    \"You answer questions \"\n    \"briefly.\"\n)\nUSER_TEMPLATE = '''Q: {question}'''\n";
    let prompt = file(&folder, "sqale_agent.py", python);
    let saved = folder.path().join("trace.json");
    let arguments = [
        "--prompt-file",
        text(&prompt),
        "--evidence",
        "pens are in pen",
        "--save-trace",
        text(&saved),
        "How many?",
    ];
    let ran = ask(&db, &arguments);
    assert!(ran.code < 2, "{}", ran.err);
    let trace = traces(&saved).remove(0);
    let location = text(&prompt).to_owned();
    assert_eq!(
        trace.config.prompt.system_from,
        PromptOrigin::File { location: location.clone(), constant: "SYSTEM_PROMPT".into() }
    );
    assert_eq!(
        trace.config.prompt.user_from,
        PromptOrigin::File { location, constant: "USER_TEMPLATE".into() }
    );
    let prompt: String = trace.config.prompt.segments.iter().map(|segment| segment.as_str()).collect();
    assert!(prompt.contains("You answer questions briefly.<|im_end|>"), "{prompt}");
    assert!(prompt.contains("Q: How many?\nEvidence: pens are in pen<|im_end|>"), "{prompt}");
    assert_eq!(trace.config.evidence.as_deref(), Some("pens are in pen"));
}

/// Any Qwen3.5 text model runs: here one of random weights, with the published template and no prompt of its own.
#[test]
fn a_model_from_elsewhere_runs_within_its_budget() {
    let folder = folder();
    let db = database(&folder, PENS);
    let model = Fixture::open("grp").gguf("Q4_K_M");
    let saved = folder.path().join("trace.json");
    let arguments =
        ["--model", text(&model), "--max-tokens", "1200", "--save-trace", text(&saved), "How many pens?"];
    let ran = ask(&db, &arguments).expect(1);
    assert!(ran.err.contains("Glowworm's own words stand in"), "{}", ran.err);
    let trace = traces(&saved).remove(0);
    replay::verify(&trace).unwrap();
    assert_eq!(trace.config.prompt.system_from, PromptOrigin::Reconstruction);
    assert!(trace.turns.iter().all(|turn| turn.context_tokens <= 1200));
    let ended_by = trace.outcome.as_ref().unwrap().ended_by;
    assert!(matches!(ended_by, EndedBy::FinalTurn | EndedBy::TokenBudget), "{ended_by:?}");
    assert_eq!(trace.config.run.sampling["temperature"], json!(0.6));
}

/// What a database says reaches a terminal as text.
#[test]
fn escapes_in_the_data_are_shown_and_not_obeyed() {
    let folder = folder();
    let db = database(
        &folder,
        "CREATE TABLE pen (id INTEGER PRIMARY KEY, name TEXT);
        INSERT INTO pen (name) VALUES (char(27) || '[2Jgone'), (NULL), ('NULL');",
    );
    let ran = ask(&db, &["--trace", "List the names of all pens."]);
    assert!(!ran.out.contains('\u{1b}') && !ran.err.contains('\u{1b}'));
}

#[cfg(unix)]
#[test]
fn ctrl_c_ends_the_question_and_keeps_what_there_is() {
    use std::io::{BufRead, BufReader, Read};
    use std::process::Stdio;
    let folder = folder();
    let saved = folder.path().join("trace.json");
    // A random model writes until its budget ends: long enough to be interrupted.
    let model = Fixture::open("eq").gguf("Q8_0");
    let arguments = ["--model", text(&model), "--save-trace", text(&saved), "How many artists are there?"];
    let mut command = ask_command(&chinook(), &arguments);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut errors = BufReader::new(child.stderr.take().unwrap());
    let mut line = String::new();
    while !line.contains("loaded in") {
        line.clear();
        assert_ne!(errors.read_line(&mut line).unwrap(), 0, "it ended before the model was loaded");
    }
    // The turn's number is written when the model begins to read.
    errors.read_exact(&mut [0]).unwrap();
    let id = child.id().to_string();
    assert!(std::process::Command::new("kill").args(["-INT", &id]).status().unwrap().success());
    let mut rest = String::new();
    errors.read_to_string(&mut rest).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(1), "{rest}");
    assert!(rest.contains("cancelled after 1 turn"), "{rest}");
    let trace = traces(&saved).remove(0);
    replay::verify(&trace).unwrap();
    assert_eq!(trace.outcome.as_ref().unwrap().ended_by, EndedBy::Cancelled);
}
