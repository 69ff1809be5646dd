//! Every gold of the shared sets against itself.

use glowworm_eval::predictions::{Predictions, Scores, score};
use glowworm_eval::sets::{Format, Selection, read};
use glowworm_eval::{Databases, Metric};

use crate::support::{repository, shared};

/// Scores the golds of a set as if they were predictions.
fn against_themselves(folder: &std::path::Path, format: Option<Format>) -> Scores {
    let set = read(folder, &Selection { format, ..Selection::default() }).unwrap();
    let predictions: serde_json::Map<String, serde_json::Value> = set
        .questions
        .iter()
        .map(|question| (question.id.clone(), question.queries().next().unwrap().into()))
        .collect();
    let file = tempfile::NamedTempFile::with_suffix(".json").unwrap();
    std::fs::write(file.path(), serde_json::to_string(&predictions).unwrap()).unwrap();
    let predictions = Predictions::read(file.path()).unwrap();
    let databases = Databases::new(folder).unwrap();
    score(&set.questions, &predictions.assign(&set), &databases, &Metric::ALL, &mut |_| {}).unwrap()
}

fn all_right(scores: &Scores) {
    for (metric, share) in &scores.accuracy {
        // EHRSQL's script changes the query (lower case, its own clock), which is right for its own databases only.
        if *metric != Metric::Ehrsql {
            let wrong: Vec<_> = scores
                .verdicts
                .iter()
                .filter(|one| !one.judgement.is_right(*metric))
                .map(|one| (&one.id, &one.sql, &one.judgement.error))
                .collect();
            assert_eq!(share.count, share.of, "{metric}: {wrong:?}");
        }
    }
}

#[test]
fn bird_superhero() {
    let scores = against_themselves(&shared("bird-superhero"), None);
    assert_eq!((scores.questions, scores.predicted, scores.gold_fails), (129, 129, 0));
    all_right(&scores);
}

#[test]
fn spider_dk() {
    let scores = against_themselves(&shared("spider-dk"), Some(Format::Spider));
    assert_eq!((scores.questions, scores.gold_fails), (85, 0));
    all_right(&scores);
}

#[test]
fn defog() {
    let scores = against_themselves(&shared("defog"), None);
    assert_eq!((scores.questions, scores.gold_fails, scores.failed), (115, 0, 0));
    all_right(&scores);
}

#[test]
fn the_hand_written_suite() {
    let scores = against_themselves(&repository("examples/suites/hand"), None);
    assert_eq!((scores.questions, scores.gold_fails, scores.gold_ambiguous), (100, 0, 0));
    all_right(&scores);
}
