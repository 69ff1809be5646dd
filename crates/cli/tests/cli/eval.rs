//! The commands that evaluate: eval, compare, report, score.

use std::path::Path;

use serde_json::{Value, json};

use crate::support::{file, folder, glowworm, repository, text};

/// Runs `eval` with a script in the model's place and gives back the summary.
fn scripted(script: &str, out: &Path, more: &[&str]) -> Value {
    let mut arguments = vec!["eval", "--script", script, "--json", "--out", text(out)];
    arguments.extend(more);
    serde_json::from_str(&glowworm(arguments).expect(0).out).unwrap()
}

fn right(summary: &Value) -> u64 {
    summary["accuracy"]["strict"]["count"].as_u64().unwrap()
}

#[test]
fn scripts_score_what_they_must_on_the_suites() {
    let folder = folder();
    for suite in ["hand", "held-out"] {
        for (script, expected) in [("oracle", 20), ("always-wrong", 0), ("never-submits", 0)] {
            let out = folder.path().join(format!("{suite}-{script}"));
            let summary = scripted(script, &out, &["--suite", suite, "--limit", "20"]);
            assert_eq!(summary["questions"], 20, "{suite} {script}");
            assert_eq!(right(&summary), expected, "{suite} {script}: {summary}");
        }
    }
    // The categories of the made-up questions are a table of their own.
    let ran = glowworm(["report", "--markdown", text(&folder.path().join("held-out-oracle"))]).expect(0);
    assert!(ran.out.contains("count_where") || ran.out.contains("list_where"), "{}", ran.out);
}

#[test]
fn a_run_is_gone_on_with_and_not_redone() {
    let folder = folder();
    let out = folder.path().join("run");
    let set = ["--suite", "hand", "--limit", "8"];
    let first = scripted("every-other", &out, &set);
    let episodes = std::fs::read_to_string(out.join("episodes.jsonl")).unwrap();
    let lines: Vec<&str> = episodes.lines().collect();
    assert_eq!(lines.len(), 8);
    // As if stopped after three episodes, in the middle of writing the fourth.
    let half = &lines[3][..lines[3].len() / 2];
    std::fs::write(out.join("episodes.jsonl"), format!("{}\n{half}", lines[..3].join("\n"))).unwrap();
    let again = scripted("every-other", &out, &set);
    let resumed = std::fs::read_to_string(out.join("episodes.jsonl")).unwrap();
    assert_eq!(resumed.lines().take(3).collect::<Vec<_>>(), lines[..3]);
    assert_eq!(resumed.lines().count(), 8);
    let without_times = |mut summary: Value| {
        summary.as_object_mut().unwrap().remove("time");
        summary
    };
    assert_eq!(without_times(first), without_times(again));

    // Another question set in the same folder would mix two runs.
    let ran =
        glowworm(["eval", "--suite", "hand", "--limit", "9", "--script", "every-other", "--out", text(&out)]);
    ran.expect(2);
}

#[test]
fn two_runs_are_compared_in_pairs_and_reported_on_one_page() {
    let folder = folder();
    let (good, bad) = (folder.path().join("good"), folder.path().join("bad"));
    scripted("oracle", &good, &["--suite", "hand", "--limit", "10"]);
    scripted("always-wrong", &bad, &["--suite", "hand", "--limit", "10"]);
    let compared = glowworm(["compare", "--json", text(&bad), text(&good)]).expect(0);
    let compared: Value = serde_json::from_str(&compared.out).unwrap();
    assert_eq!(compared["questions"], 10);
    assert_eq!(compared["changes"].as_array().unwrap().len(), 10);
    assert!(compared["changes"].as_array().unwrap().iter().all(|change| change["gained"] == true));
    let words = glowworm(["compare", text(&bad), text(&good)]).expect(0);
    assert!(words.out.contains("McNemar"), "{}", words.out);

    // Numbers for ids do not make two sets one.
    let other = folder.path().join("other");
    scripted("oracle", &other, &["--suite", "held-out", "--limit", "10"]);
    let ran = glowworm(["compare", text(&good), text(&other)]).expect(2);
    assert!(ran.err.contains("no question in common"), "{}", ran.err);

    let page = folder.path().join("report.html");
    glowworm(["report", text(&bad), text(&good), "--output", text(&page)]).expect(0);
    let html = std::fs::read_to_string(&page).unwrap();
    assert!(html.starts_with("<!doctype html>") || html.starts_with("<!DOCTYPE html>"));
    assert!(
        !html.contains("http://") && !html.contains("https://"),
        "the page asks for nothing from elsewhere"
    );
}

#[test]
fn sql_made_elsewhere_is_scored() {
    let folder = folder();
    let questions = repository("examples/suites/hand/questions.json");
    let golds: Vec<Value> = serde_json::from_slice(&std::fs::read(&questions).unwrap()).unwrap();
    let mut lines: Vec<String> = golds.iter().map(|gold| gold["SQL"].as_str().unwrap().to_owned()).collect();
    lines[0] = "SELECT no_such_column FROM nowhere".to_owned();
    let predictions = file(&folder, "predictions.sql", lines.join("\n"));
    let arguments = ["score", "--json", "--questions", text(&questions), "--predictions", text(&predictions)];
    let scores: Value = serde_json::from_str(&glowworm(arguments).expect(0).out).unwrap();
    assert_eq!(scores["questions"], 100);
    assert_eq!(scores["failed"], 1);
    assert_eq!(right(&scores), 99);
    // A part of the questions keeps the places of the whole file.
    let part = glowworm([&arguments[..], &["--limit", "60", "--seed", "3"]].concat()).expect(0);
    let scores: Value = serde_json::from_str(&part.out).unwrap();
    assert_eq!(scores["questions"], 60);
    assert_eq!(right(&scores) + scores["failed"].as_u64().unwrap(), 60);

    let other =
        file(&folder, "other.json", json!({"1": "SELECT 1", "no-such-question": "SELECT 2"}).to_string());
    let told = glowworm(["score", "--suite", "hand", "--predictions", text(&other)]).expect(0).err;
    assert!(told.contains("no-such-question"), "{told}");

    let empty = file(&folder, "empty.sql", "");
    glowworm(["score", "--suite", "hand", "--predictions", text(&empty)]).expect(2);
}

#[test]
fn the_built_in_model_is_evaluated_on_the_software_gpu() {
    let folder = folder();
    let out = folder.path().join("run");
    let arguments = ["eval", "--suite", "hand", "--limit", "1", "--adapter", "llvmpipe", "--json"];
    let ran = glowworm(arguments.into_iter().chain(["--out", text(&out)])).expect(0);
    let summary: Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!(summary["episodes"], 1);
    assert!(summary["behaviour"]["generated_tokens"]["mean"].as_f64().unwrap() >= 1.0, "{summary}");
}

#[test]
fn a_set_is_needed_and_only_one() {
    let folder = folder();
    let out = folder.path().join("run");
    let none = glowworm(["eval", "--out", text(&out)]).expect(2).err;
    assert!(none.contains("--suite") && none.contains("--questions"), "{none}");
    glowworm(["eval", "--suite", "hand", "--questions", "x.json", "--out", text(&out)]).expect(2);
    glowworm(["eval", "--questions", "no-such-file.json", "--out", text(&out)]).expect(2);
    glowworm(["report", text(&out), "--markdown"]).expect(2);
}
