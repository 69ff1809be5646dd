//! Reading question sets and predictions.

use std::path::Path;

use glowworm_eval::predictions::{Predictions, score};
use glowworm_eval::sets::{Format, QuestionSet, Selection, read};
use glowworm_eval::{Databases, Gold, Metric, Question};

use crate::support::{make, shared};

fn write(folder: &Path, name: &str, text: &str) {
    let path = folder.join(name);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}

#[test]
fn the_shared_sets() {
    let all = Selection::default();
    let bird = read(&shared("bird-superhero"), &all).unwrap();
    assert_eq!(
        (bird.name.as_str(), bird.format, bird.questions.len()),
        ("bird-superhero", Format::Bird, 129)
    );
    assert_eq!(bird.questions[0].id, "717");
    assert_eq!(bird.questions[0].difficulty.as_deref(), Some("simple"));
    assert!(bird.questions[0].evidence.as_deref().unwrap().starts_with("3-D Man refers to"));
    let defog = read(&shared("defog/questions.json"), &all).unwrap();
    assert_eq!((defog.format, defog.questions.len()), (Format::Plain, 115));
    assert!(defog.questions.iter().any(|question| question.golds.len() > 2));
    assert_eq!(defog.questions[0].evidence, None, "an empty note is none");
    let spider = read(&shared("spider-dk"), &all).unwrap();
    assert_eq!((spider.format, spider.questions[3].id.as_str()), (Format::Plain, "3"));
}

#[test]
fn questions_are_drawn_by_seed_and_kept_in_order() {
    let draw = |seed| {
        let selection = Selection { limit: Some(10), seed, ..Selection::default() };
        let set = read(&shared("bird-superhero"), &selection).unwrap();
        set.questions.iter().map(|question| question.id.parse::<u32>().unwrap()).collect::<Vec<_>>()
    };
    assert_eq!(draw(1).len(), 10);
    assert_eq!(draw(1), draw(1));
    assert_ne!(draw(1), draw(2));
    assert!(draw(1).is_sorted());
    let hard = |names: &[&str]| Selection {
        difficulties: names.iter().map(|name| (*name).to_owned()).collect(),
        ..Selection::default()
    };
    let set = read(&shared("bird-superhero"), &hard(&["Challenging"])).unwrap();
    assert!(!set.questions.is_empty() && set.questions.len() < 30);
    let error = read(&shared("bird-superhero"), &hard(&["odd"])).unwrap_err().to_string();
    assert!(error.contains("challenging, moderate, simple"), "{error}");
}

#[test]
fn every_layout_is_told_by_its_fields() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    write(
        at,
        "spider.json",
        r#"[{"db_id": "a", "query": "SELECT 1", "sql": {"select": []}, "query_toks": [], "question": "Q?"}]"#,
    );
    write(
        at,
        "ehrsql.json",
        r#"[{"db_id": "eicu", "question": "Q?", "query": "select 1", "is_impossible": false, "id": "x"},
            {"db_id": "eicu", "question": "R?", "query": "null", "is_impossible": true, "id": "y"}]"#,
    );
    write(
        at,
        "sqale.jsonl",
        "{\"question_id\": \"q1\", \"schema_id\": \"schema_1\", \"difficulty\": \"hard\", \"sql\": \"SELECT 1\", \"questions\": \
         {\"evidence_supported\": \"Q?, evidence: E.\", \"casual\": \"q\"}}\n\n{\"question_id\": \"q2\", \"schema_id\": \
         \"schema_1\", \"difficulty\": \"hard\", \"sql\": \"SELECT 1\", \"questions\": {\"evidence_supported\": \"...\"}}\n",
    );
    let read = |name: &str| read(&at.join(name), &Selection::default()).unwrap();
    let spider = read("spider.json");
    assert_eq!((spider.format, spider.questions[0].queries().next()), (Format::Spider, Some("SELECT 1")));
    let ehrsql = read("ehrsql.json");
    assert_eq!(ehrsql.format, Format::Ehrsql);
    let answerable: Vec<bool> = ehrsql.questions.iter().map(Question::is_answerable).collect();
    assert_eq!(answerable, [true, false]);
    let sqale = read("sqale.jsonl");
    assert_eq!((sqale.format, sqale.questions.len(), sqale.without_phrasing), (Format::Sqale, 1, 1));
    assert_eq!(sqale.questions[0].evidence.as_deref(), Some("E."));
}

#[test]
fn spider2_has_results_for_golds() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    write(
        at,
        "spider2-lite.jsonl",
        "{\"instance_id\": \"bq1\", \"db\": \"x\", \"question\": \"not local\"}\n{\"instance_id\": \"local1\", \"db\": \"shop\", \
         \"question\": \"Prices?\", \"external_knowledge\": \"note.md\"}\n{\"instance_id\": \"local2\", \"db\": \"shop\", \
         \"question\": \"no gold\"}\n",
    );
    write(at, "resource/documents/note.md", "A price is in euros.\n");
    write(
        at,
        "evaluation_suite/gold/spider2lite_eval.jsonl",
        "{\"instance_id\": \"local1\", \"condition_cols\": [[1], [0]], \"ignore_order\": true}\n{\"instance_id\": \"local2\", \
         \"condition_cols\": []}\n",
    );
    write(at, "evaluation_suite/gold/exec_result/local1_a.csv", "name,price\n\"pen, red\",1.5\ncup,\n");
    write(at, "evaluation_suite/gold/exec_result/local1_b.csv", "price\n9\n");
    write(at, "evaluation_suite/gold/sql/local1.sql", "SELECT price FROM item");
    make(&at.join("shop.sqlite"), "CREATE TABLE item (price); INSERT INTO item VALUES (NULL), ('1.504');");
    let set = read(at, &Selection::default()).unwrap();
    assert_eq!((set.format, set.questions.len()), (Format::Spider2, 1));
    let question = &set.questions[0];
    assert_eq!(question.evidence.as_deref(), Some("A price is in euros."));
    assert_eq!(question.golds.len(), 2);
    assert!(matches!(&question.golds[0], Gold::Result(table) if table.rows.len() == 2 && table.columns == 2));
    assert_eq!(question.queries().collect::<Vec<_>>(), ["SELECT price FROM item"]);
    // Predictions in a folder, as the benchmark has them.
    write(at, "predicted/local1.sql", "SELECT 1 AS extra, price FROM item WHERE 1 = 1");
    write(at, "wrong/local1.sql", "SELECT 8");
    let databases = Databases::new(at).unwrap();
    for (predicted, right) in [("predicted", 1), ("wrong", 0), ("evaluation_suite", 0)] {
        let predictions = Predictions::read(&at.join(predicted)).unwrap();
        let metrics = [Metric::Spider2];
        let scores =
            score(&set.questions, &predictions.assign(&set), &databases, &metrics, &mut |_| {}).unwrap();
        assert_eq!(scores.accuracy[&Metric::Spider2].count, right, "{predicted}");
        assert_eq!(scores.predicted, u64::from(predicted != "evaluation_suite"));
    }
}

#[test]
fn what_is_wrong_with_a_file_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let error = |name: &str, text: &str| {
        write(at, name, text);
        read(&at.join(name), &Selection::default()).unwrap_err().to_string()
    };
    assert!(error("a.json", "[]").contains("no questions"));
    assert!(
        error("b.json", "[{\"question\": \"Q\", \"SQL\": \"S\"}]").contains("record 1: it names no database")
    );
    assert!(
        error("c.jsonl", "{\"db_id\": \"d\", \"question\": \"Q\", \"SQL\": \"S\"}\n{\"db_id\": \"d\"}")
            .contains("line 2")
    );
    assert!(error("d.json", "[{\"db_id\": \"d\", \"question\": \"Q\"}]").contains("no gold query"));
    assert!(error("e.json", "[1").contains("EOF"));
    assert!(error("f.json", "nonsense").contains("line 1"));
    assert!(
        read(&at.join("none.json"), &Selection::default()).unwrap_err().to_string().contains("none.json")
    );
    assert!(read(at, &Selection::default()).unwrap_err().to_string().contains("questions.json"));
}

/// A set whose file has questions of these ids, of which those at the places `kept` were selected.
fn a_set(ids: &[&str], kept: &[usize]) -> QuestionSet {
    let question = |id: &str| Question::new(id, "d", "?", vec!["SELECT 1".to_owned()]);
    QuestionSet {
        name: "set".to_owned(),
        format: Format::Plain,
        questions: kept.iter().map(|&place| question(ids[place])).collect(),
        ids: ids.iter().map(|id| (*id).to_owned()).collect(),
        without_phrasing: 0,
    }
}

fn predictions(text: &str) -> Predictions {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), "predictions", text);
    Predictions::read(&folder.path().join("predictions")).unwrap()
}

#[test]
fn the_forms_of_predictions() {
    let set = a_set(&["q4", "q5", "q6", "q7"], &[0, 3]);
    for (text, first) in [
        ("{\"0\": \"SELECT 0\", \"3\": \"SELECT 2\\t----- bird -----\\td\"}", Some("SELECT 0")),
        ("{\"q7\": \"SELECT 2\", \"q5\": null}", None),
        ("[\"a\", \"b\", \"c\", \"SELECT 2\"]", Some("a")),
        ("[{\"id\": \"q7\", \"sql\": \"SELECT 2\"}]", None),
        ("[{\"id\": \"q4\", \"sql\": \"a\"}, \"b\", \"c\", {\"sql\": \"SELECT 2\"}]", Some("a")),
        (
            "{\"question_id\": \"q6\", \"sql\": \"x\"}\n\n{\"question_id\": \"q7\", \"predicted_sql\": \"SELECT 2\"}\n",
            None,
        ),
        ("a\nb\n\nSELECT 2\td\n", Some("a")),
    ] {
        let predictions = predictions(text);
        let assigned = predictions.assign(&set);
        assert_eq!(assigned.queries, [first, Some("SELECT 2")], "{text}");
        assert!(assigned.notices.is_empty(), "{:?}", assigned.notices);
    }
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), "bad.json", "[1]");
    assert!(Predictions::read(&folder.path().join("bad.json")).unwrap_err().to_string().contains("entry 1"));
}

#[test]
fn keys_are_ids_or_places_and_never_both() {
    // Ids that look like places, in another order than the file's.
    let set = a_set(&["2", "1", "7"], &[0, 1, 2]);
    let ids = predictions("{\"1\": \"one\", \"2\": \"two\"}");
    assert_eq!(ids.assign(&set).queries, [Some("two"), Some("one"), None]);
    // 0 is no id, so these are places.
    let places = predictions("{\"0\": \"two\", \"1\": \"one\", \"2\": \"seven\"}");
    assert_eq!(places.assign(&set).queries, [Some("two"), Some("one"), Some("seven")]);
    // BIRD's own files go by places, whatever the ids are.
    let bird =
        predictions("{\"2\": \"seven\\t----- bird -----\\td\", \"1\": \"one\\t----- bird -----\\td\"}");
    assert_eq!(bird.assign(&set).queries, [None, Some("one"), Some("seven")]);
}

#[test]
fn predictions_for_other_questions_are_told() {
    let set = a_set(&["a", "b"], &[0, 1]);
    let notices = |text: &str| predictions(text).assign(&set).notices.join("\n");
    assert!(notices("{\"a\": \"x\", \"z\": \"y\", \"y\": \"y\"}").starts_with("2 predictions are for"));
    assert!(
        notices("[{\"id\": \"a\", \"sql\": \"x\"}, {\"id\": \"a\", \"sql\": \"y\"}]")
            .contains("the last counts")
    );
    assert!(notices("x\ny\nz\n").contains("3 predictions for the 2 questions"));
    assert_eq!(notices("x\ny\n\n\n"), "");
    assert_eq!(notices("x"), "");
}
