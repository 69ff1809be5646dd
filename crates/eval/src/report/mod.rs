//! One HTML file with everything of one or several runs: tables, plots, what changed between two of them, and every
//! episode to read. It loads nothing from anywhere and runs no script; what came from a model or a database is escaped.

mod episodes;
mod plots;

use std::fmt::Write;

use crate::compare::{PairedRuns, compare};
use crate::error::Result;
use crate::markdown::percent;
use crate::stats::Share;
use crate::store::Run;
use crate::summary::{Group, Summary};

/// The page's style: readable by day and by night, and on paper.
const STYLE: &str = include_str!("style.css");

/// Text as text: nothing of it is markup, and nothing of it can be a control character that hides something.
pub(crate) fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            '\n' | '\t' => out.push(letter),
            // Invisible, or able to turn the direction of what follows.
            _ if letter.is_control()
                || matches!(letter, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}') =>
            {
                out.push('\u{fffd}');
            }
            _ => out.push(letter),
        }
    }
    out
}

/// The page of some runs. With exactly two of them they are compared too, where they share questions.
///
/// # Errors
///
/// When an episode's trace cannot be read.
pub fn html(runs: &[Run]) -> Result<String> {
    let summaries: Vec<(&Run, Summary)> = runs.iter().map(|run| (run, run.summary())).collect();
    let title = runs.first().map_or("no runs".to_owned(), |run| run.config.set.clone());
    let mut out = String::new();
    // Writing to a String cannot fail, here and below.
    let _ = write!(
        out,
        "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width, \
         initial-scale=1\"><meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src \
         'unsafe-inline'\"><title>{0} – Glowworm evaluation</title><style>{STYLE}</style></head><body><main>\
         <h1>Evaluation on {0}</h1>\n",
        escape(&title)
    );
    settings(&mut out, &summaries);
    accuracy(&mut out, &summaries);
    behaviour(&mut out, &summaries);
    plots::all(&mut out, &summaries);
    if let [first, second] = runs
        && let Ok(paired) = compare(first, second, first.config.metric())
    {
        comparison(&mut out, first, second, &paired);
    }
    for (run, summary) in &summaries {
        breakdown(&mut out, run, summary);
    }
    for (index, run) in runs.iter().enumerate() {
        episodes::all(&mut out, index, run)?;
    }
    out.push_str("</main></body></html>\n");
    Ok(out)
}

/// A table; the first row is the header, and the first column names the row. Cells are escaped here.
fn table(out: &mut String, rows: &[Vec<String>]) {
    out.push_str("<div class=\"wide\"><table>");
    for (index, row) in rows.iter().enumerate() {
        out.push_str("<tr>");
        for (column, cell) in row.iter().enumerate() {
            let tag = if index == 0 || column == 0 { "th" } else { "td" };
            let _ = write!(out, "<{tag}>{}</{tag}>", escape(cell));
        }
        out.push_str("</tr>");
    }
    out.push_str("</table></div>\n");
}

fn row(cells: &[&str]) -> Vec<String> {
    cells.iter().map(|cell| (*cell).to_owned()).collect()
}

fn settings(out: &mut String, runs: &[(&Run, Summary)]) {
    let mut rows = vec![row(&[
        "run",
        "model",
        "device",
        "set",
        "questions",
        "samples",
        "schema",
        "tables",
        "budget",
        "seed",
        "sampling",
    ])];
    for (run, summary) in runs {
        let config = &run.config;
        let sampling: Vec<String> =
            config.sampling.iter().map(|(name, value)| format!("{name} {value}")).collect();
        let questions = match summary.questions as usize == config.questions {
            true => config.questions.to_string(),
            false => format!("{} of {}", summary.questions, config.questions),
        };
        rows.push(vec![
            run.name(),
            config.model.clone(),
            config.device.clone(),
            format!("{} ({})", config.set, config.format),
            questions,
            config.samples.to_string(),
            format!("{:?}", config.schema).to_lowercase(),
            config.tables.to_string(),
            config.token_budget.to_string(),
            config.seed.to_string(),
            sampling.join(", "),
        ]);
    }
    table(out, &rows);
}

fn accuracy(out: &mut String, runs: &[(&Run, Summary)]) {
    out.push_str("<h2>Accuracy</h2>\n<p>Percent of right answers, with 95% intervals. Questions whose gold does not run are \
                  left out and counted; a gold is ambiguous when its result depends on how ties are broken.</p>\n");
    let mut rows = vec![row(&[
        "run",
        "metric",
        "n",
        "accuracy",
        "without ambiguous golds",
        "golds that fail",
        "ambiguous golds right",
    ])];
    for (run, summary) in runs {
        for (metric, share) in &summary.accuracy {
            rows.push(vec![
                run.name(),
                metric.title().to_owned(),
                share.of.to_string(),
                percent(share),
                summary.accuracy_sound.get(metric).map(percent).unwrap_or_default(),
                summary.gold_fails.to_string(),
                if *metric == run.config.metric() { count(&summary.gold_ambiguous) } else { String::new() },
            ]);
        }
    }
    table(out, &rows);
    if runs.iter().any(|(_, summary)| summary.pass_at.len() > 1) {
        let mut rows = vec![row(&["run", "several samples", "percent"])];
        for (run, summary) in runs {
            for (k, chance) in &summary.pass_at {
                rows.push(vec![run.name(), format!("pass@{k}"), format!("{:.1}", 100.0 * chance)]);
            }
            if let Some(majority) = &summary.majority {
                rows.push(vec![run.name(), "majority vote by result".to_owned(), percent(majority)]);
            }
        }
        table(out, &rows);
    }
}

fn count(share: &Share) -> String {
    format!("{} of {}", share.count, share.of)
}

fn behaviour(out: &mut String, runs: &[(&Run, Summary)]) {
    out.push_str("<h2>Behaviour</h2>\n");
    let mut head = row(&["figure"]);
    head.extend(runs.iter().map(|(run, _)| run.name()));
    let mut rows = vec![head];
    let mut line = |name: &str, cell: &dyn Fn(&Summary) -> String| {
        let mut cells = vec![name.to_owned()];
        cells.extend(runs.iter().map(|(_, summary)| cell(summary)));
        rows.push(cells);
    };
    let tflops = |value: Option<f64>| value.map_or("not known".to_owned(), |value| format!("{value:.3}"));
    line("submitted by the model itself", &|one| percent(&one.behaviour.submitted));
    line("ended by", &|one| {
        let ends: Vec<String> =
            one.behaviour.ended_by.iter().map(|(name, count)| format!("{name} {count}")).collect();
        ends.join(", ")
    });
    line("tool calls, mean (median)", &|one| middle(one.behaviour.calls));
    line("turns, mean (median)", &|one| middle(one.behaviour.turns));
    line("invalid calls", &|one| percent(&one.behaviour.invalid_calls));
    line("turns without a valid call", &|one| percent(&one.behaviour.invalid_turns));
    line("failed queries, mean (median)", &|one| middle(one.behaviour.failed_queries));
    line("tokens in the context at the end", &|one| middle(one.behaviour.tokens));
    line("tokens written by the model", &|one| middle(one.behaviour.generated_tokens));
    line("token budget hit", &|one| percent(&one.behaviour.budget_hits));
    line("every gold table opened", &|one| percent(&one.behaviour.opened_all));
    line("string literals of gold seen before the answer", &|one| percent(&one.behaviour.literals_seen));
    line("… of those not in the question", &|one| percent(&one.behaviour.hidden_literals_seen));
    line("TFLOPs a question: 2 × parameters × tokens, each token once", &|one| {
        tflops(one.behaviour.tflops)
    });
    line("… with the context read again in each turn", &|one| tflops(one.behaviour.tflops_without_cache));
    line("seconds an episode, mean (median)", &|one| middle(one.time.episode));
    line("seconds in the model, mean (median)", &|one| middle(one.time.generating));
    line("seconds in the tools, mean (median)", &|one| middle(one.time.tools));
    line("tokens written a second", &|one| format!("{:.1}", one.time.tokens_per_second));
    table(out, &rows);
}

fn middle(middle: crate::summary::Middle) -> String {
    format!("{:.1} ({:.1})", middle.mean, middle.median)
}

fn comparison(out: &mut String, first: &Run, second: &Run, paired: &PairedRuns) {
    let points = |(low, high): (f64, f64)| format!("{:+.1} to {:+.1}", 100.0 * low, 100.0 * high);
    let _ = write!(
        out,
        "<h2>What changed</h2>\n<p>On the {} questions that both runs have, from <b>{}</b> to <b>{}</b>: {:+.1} points (95% \
         interval {} with questions resampled, {} with the {} databases resampled). Only the first is right on {}, only the \
         second on {}; McNemar’s exact p = {:.4}.</p>\n",
        paired.questions,
        escape(&first.name()),
        escape(&second.name()),
        100.0 * paired.paired.difference,
        points(paired.paired.by_question),
        points(paired.paired.by_database),
        paired.paired.databases,
        paired.discordant.only_first,
        paired.discordant.only_second,
        paired.discordant.p
    );
    for setting in &paired.settings {
        let _ = write!(out, "<p>The runs also differ in {}.</p>", escape(setting));
    }
    plots::changes(out, paired);
    for (title, gained) in [("Gained", true), ("Lost", false)] {
        let of_kind: Vec<_> = paired.changes.iter().filter(|change| change.gained == gained).collect();
        let _ = write!(out, "<details><summary>{title}: {}</summary><ul>", of_kind.len());
        for change in of_kind {
            let sql = |sql: &Option<String>| escape(sql.as_deref().unwrap_or("no answer"));
            let _ = write!(
                out,
                "<li><a href=\"#{0}\">{1}</a> ({2})<pre>{3}</pre><a href=\"#{4}\">then</a><pre>{5}</pre></li>",
                episodes::anchor(0, &change.id, 0),
                escape(&change.id),
                escape(&change.db_id),
                sql(&change.first),
                episodes::anchor(1, &change.id, 0),
                sql(&change.second)
            );
        }
        out.push_str("</ul></details>\n");
    }
}

fn breakdown(out: &mut String, run: &Run, summary: &Summary) {
    let _ = writeln!(out, "<h2>{}, by {}</h2>", escape(&run.name()), run.config.metric().title());
    let parts: [(&str, &[Group]); 3] = [
        ("difficulty", &summary.by_difficulty),
        ("number of tables", &summary.by_tables),
        ("database", &summary.by_database),
    ];
    for (title, groups) in parts {
        let mut rows = vec![row(&[title, "n", "accuracy", "calls", "every gold table opened"])];
        rows.extend(groups.iter().map(|group| {
            vec![
                group.name.clone(),
                group.accuracy.of.to_string(),
                percent(&group.accuracy),
                format!("{:.1}", group.calls),
                percent(&group.opened_all),
            ]
        }));
        table(out, &rows);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_text_is_markup() {
        assert_eq!(escape("<script>\"&'\n"), "&lt;script&gt;&quot;&amp;&#39;\n");
        assert_eq!(escape("a\u{0}b\u{1b}[31m\u{202e}c"), "a\u{fffd}b\u{fffd}[31m\u{fffd}c");
    }
}
