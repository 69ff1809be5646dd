//! Tables for a model card.

use std::fmt::Write;

use crate::compare::PairedRuns;
use crate::predictions::Scores;
use crate::stats::Share;
use crate::store::Run;
use crate::summary::Group;

/// A share in percent with its interval: `66.3 (60.7–71.4)`.
pub fn percent(share: &Share) -> String {
    if share.of == 0 {
        return "–".to_owned();
    }
    format!("{:.1} ({:.1}–{:.1})", 100.0 * share.share, 100.0 * share.low, 100.0 * share.high)
}

/// Lines of a table whose first row is the header. Bars in cells are escaped.
fn table(out: &mut String, rows: &[Vec<String>]) {
    for (index, row) in rows.iter().enumerate() {
        let cells: Vec<String> = row.iter().map(|cell| cell.replace('|', "\\|").replace('\n', " ")).collect();
        // Writing to a String cannot fail.
        let _ = writeln!(out, "| {} |", cells.join(" | "));
        if index == 0 {
            let rule: Vec<&str> =
                row.iter().enumerate().map(|(index, _)| if index == 0 { "---" } else { "--:" }).collect();
            let _ = writeln!(out, "| {} |", rule.join(" | "));
        }
    }
}

/// The tables of some runs: accuracy, behaviour, and each run's breakdown.
pub fn runs(runs: &[Run]) -> String {
    let summaries: Vec<_> = runs.iter().map(|run| (run, run.summary())).collect();
    let mut out = String::from("Shares in percent, with 95% intervals.\n\n");
    let mut rows =
        vec![cells(["run", "set", "schema", "tables", "n", "metric", "accuracy", "without ambiguous golds"])];
    for (run, summary) in &summaries {
        for (metric, share) in &summary.accuracy {
            let sound = summary.accuracy_sound.get(metric).map(percent).unwrap_or_default();
            rows.push(vec![
                run.name(),
                run.config.set.clone(),
                format!("{:?}", run.config.schema).to_lowercase(),
                run.config.tables.to_string(),
                share.of.to_string(),
                metric.title().to_owned(),
                percent(share),
                sound,
            ]);
        }
    }
    table(&mut out, &rows);
    out.push('\n');
    let mut rows = vec![cells([
        "run",
        "submitted",
        "calls (median)",
        "turns (median)",
        "budget hit",
        "opened all gold tables",
        "literals seen",
        "of those not in the question",
        "tokens",
        "TFLOPs",
    ])];
    for (run, summary) in &summaries {
        let behaviour = &summary.behaviour;
        rows.push(vec![
            run.name(),
            percent(&behaviour.submitted),
            format!("{:.1} ({:.0})", behaviour.calls.mean, behaviour.calls.median),
            format!("{:.1} ({:.0})", behaviour.turns.mean, behaviour.turns.median),
            percent(&behaviour.budget_hits),
            percent(&behaviour.opened_all),
            percent(&behaviour.literals_seen),
            percent(&behaviour.hidden_literals_seen),
            format!("{:.0}", behaviour.tokens.mean),
            behaviour.tflops.map_or("–".to_owned(), |tflops| format!("{tflops:.2}")),
        ]);
    }
    table(&mut out, &rows);
    for (run, summary) in &summaries {
        let _ = writeln!(out, "\n{}, by {}:\n", run.name(), run.config.metric().title());
        let ended: Vec<String> =
            summary.behaviour.ended_by.iter().map(|(name, count)| format!("{name} {count}")).collect();
        let _ = writeln!(
            out,
            "Ended by: {}. Golds that fail: {}; ambiguous: {}.",
            ended.join(", "),
            summary.gold_fails,
            summary.gold_ambiguous.of
        );
        if summary.pass_at.len() > 1 {
            let pass: Vec<String> =
                summary.pass_at.iter().map(|(k, chance)| format!("pass@{k} {:.1}", 100.0 * chance)).collect();
            let majority = summary.majority.as_ref().map(percent).unwrap_or_default();
            let _ = writeln!(out, "{}; majority vote {majority}.", pass.join(", "));
        }
        for (title, groups) in [
            ("difficulty", &summary.by_difficulty),
            ("tables", &summary.by_tables),
            ("database", &summary.by_database),
        ] {
            if groups.len() > 1 {
                out.push('\n');
                table(&mut out, &group_rows(title, groups));
            }
        }
    }
    out
}

fn group_rows(title: &str, groups: &[Group]) -> Vec<Vec<String>> {
    let mut rows = vec![cells([title, "n", "accuracy", "calls", "opened all gold tables"])];
    rows.extend(groups.iter().map(|group| {
        vec![
            group.name.clone(),
            group.accuracy.of.to_string(),
            percent(&group.accuracy),
            format!("{:.1}", group.calls),
            percent(&group.opened_all),
        ]
    }));
    rows
}

/// The table of a comparison.
pub fn comparison(first: &Run, second: &Run, paired: &PairedRuns) -> String {
    let mut out = String::new();
    table(
        &mut out,
        &[
            cells(["run", "n", paired.metric.title()]),
            vec![first.name(), paired.first.of.to_string(), percent(&paired.first)],
            vec![second.name(), paired.second.of.to_string(), percent(&paired.second)],
        ],
    );
    let points = |(low, high): (f64, f64)| format!("{:+.1} to {:+.1}", 100.0 * low, 100.0 * high);
    let _ = writeln!(
        out,
        "\nDifference {:+.1} points; 95% interval {} (questions), {} (databases, of which there are {}). Only the first is \
         right on {}, only the second on {}: McNemar's exact p = {:.4}.",
        100.0 * paired.paired.difference,
        points(paired.paired.by_question),
        points(paired.paired.by_database),
        paired.paired.databases,
        paired.discordant.only_first,
        paired.discordant.only_second,
        paired.discordant.p
    );
    if paired.unpaired > 0 {
        let _ = writeln!(out, "{} questions are in only one of the runs and were left out.", paired.unpaired);
    }
    for setting in &paired.settings {
        let _ = writeln!(out, "The runs also differ in {setting}.");
    }
    out
}

/// The table of scores of predictions.
pub fn scores(scores: &Scores) -> String {
    let mut rows = vec![cells(["metric", "n", "accuracy", "without ambiguous golds"])];
    for (metric, share) in &scores.accuracy {
        let sound = scores.accuracy_sound.get(metric).map(percent).unwrap_or_default();
        rows.push(vec![metric.title().to_owned(), share.of.to_string(), percent(share), sound]);
    }
    let mut out = String::new();
    table(&mut out, &rows);
    let _ = writeln!(
        out,
        "\n{} of {} questions have a prediction; {} predictions do not run. Golds that fail: {}; ambiguous: {}.",
        scores.predicted, scores.questions, scores.failed, scores.gold_fails, scores.gold_ambiguous
    );
    out
}

fn cells<const N: usize>(texts: [&str; N]) -> Vec<String> {
    texts.iter().map(|text| (*text).to_owned()).collect()
}
