//! Pairs of queries with the verdict of each metric. The verdicts were made by hand and agree with the official scripts'
//! comparisons run under CPython and pandas.

use glowworm_database::Value;
use glowworm_eval::{Comparison, Databases, Gold, GoldState, Metric, Question, Scorer, Table};

use crate::support::make;

fn database() -> (tempfile::TempDir, Databases) {
    let folder = tempfile::tempdir().unwrap();
    make(
        &folder.path().join("pairs.sqlite"),
        "CREATE TABLE t (a INTEGER, b TEXT, r REAL); INSERT INTO t VALUES (1, 'x', 1.0), (2, 'y', 2.5), (3, 'x', NULL);
         CREATE TABLE d (a INTEGER); INSERT INTO d VALUES (1), (1), (2);",
    );
    let databases = Databases::new(folder.path()).unwrap();
    (folder, databases)
}

fn options(text: &str) -> Comparison {
    let column = text.strip_prefix('c').map(|number| vec![vec![number.parse().unwrap()]]);
    Comparison { columns: column.unwrap_or_default(), ignore_order: text == "i" }
}

#[test]
fn every_pair_has_its_verdicts() {
    let (_folder, databases) = database();
    let mut wrong = Vec::new();
    let lines: Vec<&str> = include_str!("verdicts.tsv").lines().skip(1).collect();
    assert_eq!(lines.len(), 62);
    for (index, line) in lines.iter().enumerate() {
        let [gold, predicted, option, verdicts, why] = line.split('\t').collect::<Vec<_>>()[..] else {
            panic!("{line}");
        };
        let mut question = Question::new(index.to_string(), "pairs", why, vec![gold.to_owned()]);
        question.comparison = options(option);
        for (metric, verdict) in Metric::ALL.into_iter().zip(verdicts.chars()) {
            let mut scorer = Scorer::new(&databases, &[metric]);
            let judgement = scorer.judge(&question, Some(predicted)).unwrap();
            if judgement.is_right(metric) != (verdict == '1') {
                wrong.push(format!("{metric} on {why}: {gold} | {predicted}: not {verdict}: {judgement:?}"));
            }
        }
        // All metrics by one scorer say the same, where the first does not reword the gold.
        let mut scorer = Scorer::new(&databases, &Metric::ALL);
        let together = scorer.judge(&question, Some(predicted)).unwrap();
        let found: String =
            Metric::ALL.iter().map(|metric| if together.is_right(*metric) { '1' } else { '0' }).collect();
        if found != verdicts {
            wrong.push(format!("together on {why}: {found}, not {verdicts}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

fn judge(question: &Question, answer: Option<&str>, metric: Metric) -> (bool, GoldState) {
    let (_folder, databases) = database();
    let judgement = Scorer::new(&databases, &[metric]).judge(question, answer).unwrap();
    (judgement.is_right(metric), judgement.gold)
}

fn ask(gold: &str) -> Question {
    Question::new("q", "pairs", "?", vec![gold.to_owned()])
}

#[test]
fn golds_that_fail_or_are_ambiguous_are_known() {
    for (gold, state) in [
        ("SELECT a FROM t", GoldState::Sound),
        ("SELECT a FROM t ORDER BY b", GoldState::Ambiguous),
        ("SELECT b FROM t ORDER BY b", GoldState::Sound),
        ("SELECT a FROM t ORDER BY b, a", GoldState::Sound),
        ("SELECT a FROM t ORDER BY b DESC LIMIT 1", GoldState::Sound),
        ("SELECT a FROM t ORDER BY b LIMIT 1", GoldState::Ambiguous),
        ("SELECT a FROM t ORDER BY b LIMIT 2 -- two", GoldState::Ambiguous),
        ("SELECT a FROM t LIMIT 1", GoldState::Ambiguous),
        ("SELECT a FROM t LIMIT 10;", GoldState::Sound),
        ("SELECT a FROM d LIMIT 2", GoldState::Ambiguous),
        ("SELECT DISTINCT b FROM t UNION SELECT 'z' ORDER BY 1 LIMIT 2", GoldState::Sound),
        ("SELECT b, count(*) FROM t GROUP BY b ORDER BY count(*) DESC LIMIT 1", GoldState::Sound),
        ("SELECT b FROM absent", GoldState::Fails),
    ] {
        assert_eq!(judge(&ask(gold), Some("SELECT 1"), Metric::Strict).1, state, "{gold}");
    }
}

#[test]
fn any_of_several_golds_will_do() {
    let golds = ["SELECT absent FROM t", "SELECT 1", "SELECT 2"];
    let question = Question::new("q", "pairs", "?", golds.map(str::to_owned).to_vec());
    for (answer, right) in [("SELECT 2", true), ("SELECT 1", true), ("SELECT 3", false)] {
        assert_eq!(judge(&question, Some(answer), Metric::Bird), (right, GoldState::Sound));
    }
    assert_eq!(judge(&question, None, Metric::Bird), (false, GoldState::Sound));
    assert_eq!(judge(&question, Some("  "), Metric::Bird), (false, GoldState::Sound));
}

#[test]
fn what_cannot_be_answered_is_right_without_an_answer() {
    let question = Question::new("q", "pairs", "?", vec![]);
    assert!(judge(&question, None, Metric::Ehrsql).0);
    assert!(judge(&question, Some("null"), Metric::Ehrsql).0);
    assert!(!judge(&question, Some("SELECT 1"), Metric::Ehrsql).0);
}

#[test]
fn ehrsql_s_time_and_vital_signs_are_put_in() {
    let (now, range) = ("SELECT '2105-12-31 23:59:00'", "SELECT 1 WHERE 36.5 BETWEEN 35.5 AND 38.1");
    assert!(judge(&ask("select CURRENT_TIME"), Some(now), Metric::Ehrsql).0);
    let named = "select 1 where 36.5 between temperature_lower and temperature_upper";
    assert!(judge(&ask(range), Some(named), Metric::Ehrsql).0);
    assert!(judge(&ask("SELECT strftime('%Y', '2105-12-31')"), Some("select '2105'"), Metric::Ehrsql).0);
}

#[test]
fn spider2_takes_any_of_several_tables_with_their_own_columns() {
    let text = |text: &str| Value::Text(text.to_owned());
    let table = |rows: &[[&str; 2]]| Table::new(2, rows.iter().map(|row| row.map(text).to_vec()).collect());
    let mut question = Question::new("q", "pairs", "?", vec![]);
    question.golds =
        vec![Gold::Result(table(&[["9", "9"]])), Gold::Result(table(&[["1", "x"], ["2", "y"], ["3", "x"]]))];
    question.comparison = Comparison { columns: vec![vec![0], vec![1]], ignore_order: true };
    assert!(judge(&question, Some("SELECT b FROM t ORDER BY a DESC"), Metric::Spider2).0);
    assert!(!judge(&question, Some("SELECT a FROM t"), Metric::Spider2).0);
    assert!(judge(&question, Some("SELECT 9.004"), Metric::Spider2).0);
    question.comparison.columns = vec![vec![7]];
    assert!(!judge(&question, Some("SELECT 9"), Metric::Spider2).0, "a column that gold does not have");
}

#[test]
fn a_test_suite_has_several_databases() {
    let folder = tempfile::tempdir().unwrap();
    let inner = folder.path().join("database").join("one");
    std::fs::create_dir_all(&inner).unwrap();
    make(&inner.join("one.sqlite"), "CREATE TABLE t (a, b); INSERT INTO t VALUES (1, 1);");
    make(&inner.join("one_fuzzed.sqlite"), "CREATE TABLE t (a, b); INSERT INTO t VALUES (1, 2);");
    let databases = Databases::new(folder.path()).unwrap();
    let question = Question::new("q", "one", "?", vec!["SELECT a FROM t".to_owned()]);
    let mut scorer = Scorer::new(&databases, &[Metric::Spider, Metric::Bird]);
    let lucky = scorer.judge(&question, Some("SELECT b FROM t")).unwrap();
    assert!(lucky.is_right(Metric::Bird) && !lucky.is_right(Metric::Spider));
    assert!(scorer.judge(&question, Some("SELECT min(a) FROM t")).unwrap().is_right(Metric::Spider));
}

#[test]
fn a_runaway_answer_is_wrong_and_a_runaway_gold_fails() {
    let (_folder, databases) = database();
    let endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT max(i) FROM n";
    let mut scorer =
        Scorer::new(&databases, &[Metric::Bird]).with_time(std::time::Duration::from_millis(300));
    let judgement = scorer.judge(&ask("SELECT 1"), Some(endless)).unwrap();
    assert!(!judgement.is_right(Metric::Bird) && judgement.error.unwrap().contains("0.3 s"));
    let mut question = ask(endless);
    question.id = "other".into();
    assert_eq!(scorer.judge(&question, Some("SELECT 1")).unwrap().gold, GoldState::Fails);
}

#[test]
fn wide_results_do_not_take_for_ever() {
    // Twelve columns of the same values: the official script would try 12! orders.
    let columns: Vec<String> = (0..12).map(|i| format!("(n * {}) % 3 AS c{i}", [1, 2][i % 2])).collect();
    let rows = "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r WHERE n < 300)";
    let gold = format!("{rows} SELECT {} FROM r", columns.join(", "));
    let turned: Vec<&str> = columns.iter().rev().map(String::as_str).collect();
    let same = format!("{rows} SELECT {} FROM r", turned.join(", "));
    let other = format!("{rows} SELECT {}, n % 3 + (n = 300) FROM r", turned[1..].join(", "));
    assert!(judge(&ask(&gold), Some(&same), Metric::Spider).0);
    assert!(!judge(&ask(&gold), Some(&other), Metric::Spider).0);
}
