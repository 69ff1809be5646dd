//! What several of the tests need.

use std::path::{Path, PathBuf};

use glowworm_agent::{EpisodeConfig, Limits, Prompt, PromptOrigin, SchemaMode, Segment};
use glowworm_database::ToolOptions;
use glowworm_eval::scripted::{Script, Scripted};
use glowworm_eval::sets::{Format, QuestionSet};
use glowworm_eval::{Databases, Evaluation, Metric, Question, RunConfig, Stop, Summary, TableMode, run};

/// A file of the shared data, which must be there.
pub fn shared(path: &str) -> PathBuf {
    let path = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/data")).join(path);
    assert!(
        path.exists(),
        "{} is missing: these tests need the shared data beside the checkout",
        path.display()
    );
    path
}

/// A file of the repository.
pub fn repository(path: &str) -> PathBuf {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../..")).join(path)
}

/// Makes a database out of a script.
pub fn make(path: &Path, sql: &str) {
    rusqlite::Connection::open(path).unwrap().execute_batch(sql).unwrap();
}

/// A set of ten questions over two small databases, one of whose golds does not run.
pub fn small_set(folder: &Path) -> (QuestionSet, Databases) {
    make(
        &folder.join("shop.sqlite"),
        "CREATE TABLE item (id INTEGER PRIMARY KEY, name TEXT, price REAL, maker INTEGER REFERENCES maker(id));
         CREATE TABLE maker (id INTEGER PRIMARY KEY, town TEXT);
         INSERT INTO maker VALUES (1, 'Ulm'), (2, 'Oslo');
         INSERT INTO item VALUES (1, 'pen', 1.5, 1), (2, 'cup', 4, 2), (3, 'cap', 4, 2);",
    );
    make(
        &folder.join("zoo.sqlite"),
        "CREATE TABLE animal (id INTEGER PRIMARY KEY, kind TEXT, legs INTEGER);
         INSERT INTO animal VALUES (1, 'owl', 2), (2, 'fox', 4), (3, 'bee', 6), (4, 'hen', 2);",
    );
    let question = |id: &str, db: &str, sql: &str, difficulty: &str| {
        let mut question = Question::new(id, db, format!("Question {id}?"), vec![sql.to_owned()]);
        question.difficulty = Some(difficulty.to_owned());
        question
    };
    let questions = vec![
        question("s0", "shop", "SELECT count(*) FROM item", "simple"),
        question("s1", "shop", "SELECT name FROM item WHERE price > 2 ORDER BY name", "simple"),
        question(
            "s2",
            "shop",
            "SELECT town FROM maker JOIN item ON maker.id = item.maker WHERE name = 'pen'",
            "hard",
        ),
        // Two cost the same: which comes first is open.
        question("s3", "shop", "SELECT name FROM item ORDER BY price DESC LIMIT 1", "hard"),
        question("s4", "shop", "SELECT absent FROM item", "hard"),
        question("z0", "zoo", "SELECT kind FROM animal WHERE legs = 2", "simple"),
        question("z1", "zoo", "SELECT legs, count(*) FROM animal GROUP BY legs", "hard"),
        question("z2", "zoo", "SELECT max(legs) FROM animal", "simple"),
        question("z3", "zoo", "SELECT legs FROM animal WHERE kind = 'fox'", "simple"),
        question("z4", "zoo", "SELECT count(DISTINCT legs) FROM animal", "simple"),
    ];
    let ids = questions.iter().map(|question| question.id.clone()).collect();
    let set =
        QuestionSet { name: "small".into(), format: Format::Plain, questions, ids, without_phrasing: 0 };
    (set, Databases::new(folder).unwrap())
}

/// The opening that all of these tests use.
pub fn opening(question: &glowworm_session::Question<'_>) -> Result<EpisodeConfig, String> {
    let schema = question.schema.map(|schema| format!("{schema}\n\n")).unwrap_or_default();
    let prompt = Prompt {
        system_from: PromptOrigin::Given,
        user_from: PromptOrigin::Given,
        segments: vec![
            Segment::Markup("<|im_start|>user\n".into()),
            Segment::Text(format!("{schema}{}", question.text)),
            Segment::Markup("<|im_end|>\n<|im_start|>assistant\n<think>\n".into()),
        ],
    };
    let mut config = EpisodeConfig::new(question.text, prompt);
    config.evidence = question.evidence.map(str::to_owned);
    config.limits = Limits::with_token_budget(2048);
    if question.schema.is_some() {
        config.schema = SchemaMode::Shown;
    }
    Ok(config)
}

/// Settings for a set.
pub fn config(set: &QuestionSet, model: &str) -> RunConfig {
    RunConfig {
        glowworm: "test".into(),
        set: set.name.clone(),
        format: set.format,
        questions: set.questions.len(),
        fingerprint: set.fingerprint(),
        model: model.into(),
        device: "script".into(),
        parameters: Some(2_000_000_000),
        schema: SchemaMode::Withheld,
        tables: TableMode::All,
        samples: 1,
        seed: 1,
        metrics: vec![Metric::Strict, Metric::Bird],
        token_budget: 2048,
        sampling: serde_json::Map::new(),
        time_limit: 30,
    }
}

/// An evaluation with the tests' opening and the tools as they are.
pub fn evaluation<'a>(
    set: &'a QuestionSet,
    databases: &'a Databases,
    config: RunConfig,
    stop: &'a Stop,
) -> Evaluation<'a> {
    Evaluation { set, databases, config, opening: &opening, tools: ToolOptions::default(), stop }
}

/// Plays a script over a set with two players.
pub fn play(
    set: &QuestionSet,
    databases: &Databases,
    config: RunConfig,
    script: Script,
    folder: &Path,
) -> Summary {
    let stop = Stop::default();
    let evaluation = evaluation(set, databases, config, &stop);
    run(&evaluation, folder, vec![Scripted::new(script), Scripted::new(script)], &|_| {}).unwrap()
}
