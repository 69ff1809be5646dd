//! Plots as SVG within the page. They say nothing that a table does not say too.

use std::fmt::Write;

use super::escape;
use crate::compare::PairedRuns;
use crate::store::Run;
use crate::summary::Summary;

const WIDTH: f64 = 760.0;
const LEFT: f64 = 48.0;
const TOP: f64 = 14.0;
/// Height of the area between the axes.
const HEIGHT: f64 = 190.0;
/// Colours in the style sheet; a further run begins again.
const COLOURS: usize = 4;

/// All plots of some runs.
pub(super) fn all(out: &mut String, runs: &[(&Run, Summary)]) {
    by_tables(out, runs);
    let calls = |run: &Run| run.episodes.iter().map(|one| f64::from(one.behaviour.calls)).collect();
    histogram(out, runs, "Tool calls of an episode, share of episodes", 1.0, 31, "calls", calls);
    let budget = |run: &Run| {
        let budget = run.config.token_budget.max(1) as f64;
        run.episodes.iter().map(|one| 100.0 * one.behaviour.tokens() as f64 / budget).collect()
    };
    histogram(out, runs, "Token budget used, share of episodes", 5.0, 20, "percent of the budget", budget);
}

fn begin(out: &mut String, caption: &str, names: &[String]) {
    let _ = write!(out, "<figure><figcaption>{}</figcaption>", escape(caption));
    let height = TOP + HEIGHT + 44.0 + 16.0 * names.len() as f64;
    let _ = write!(
        out,
        "<svg viewBox=\"0 0 {WIDTH} {height}\" width=\"{WIDTH}\" role=\"img\" aria-label=\"{}\">",
        escape(caption)
    );
    for step in 0..=4 {
        let y = TOP + HEIGHT * (1.0 - f64::from(step) / 4.0);
        let _ =
            write!(out, "<line class=\"axis\" x1=\"{LEFT}\" x2=\"{WIDTH}\" y1=\"{y:.1}\" y2=\"{y:.1}\"/>");
    }
    for (index, name) in names.iter().enumerate() {
        let y = TOP + HEIGHT + 52.0 + 16.0 * index as f64;
        let colour = index % COLOURS;
        let _ = write!(
            out,
            "<rect class=\"s{colour}\" x=\"{LEFT}\" y=\"{:.1}\" width=\"10\" height=\"10\"/><text x=\"{:.1}\" y=\"{y:.1}\">{}</text>",
            y - 10.0,
            LEFT + 16.0,
            escape(name)
        );
    }
}

fn end(out: &mut String) {
    out.push_str("</svg></figure>\n");
}

/// The labels of the vertical axis, of which `top` is the upper end in percent.
fn scale(out: &mut String, top: f64) {
    for step in 0..=4 {
        let share = f64::from(step) / 4.0;
        let y = TOP + HEIGHT * (1.0 - share) + 4.0;
        let _ = write!(
            out,
            "<text class=\"quiet\" x=\"{:.1}\" y=\"{y:.1}\" text-anchor=\"end\">{:.0}%</text>",
            LEFT - 6.0,
            top * share
        );
    }
}

fn names(runs: &[(&Run, Summary)]) -> Vec<String> {
    runs.iter().map(|(run, _)| run.name()).collect()
}

/// Accuracy by number of tables, with intervals.
fn by_tables(out: &mut String, runs: &[(&Run, Summary)]) {
    // Groups in the order of their lower ends.
    let mut groups: Vec<(usize, String)> = Vec::new();
    for group in runs.iter().flat_map(|(_, summary)| &summary.by_tables) {
        let from = group.name.split(' ').next().and_then(|text| text.parse().ok()).unwrap_or(0);
        if !groups.iter().any(|(_, name)| *name == group.name) {
            groups.push((from, group.name.clone()));
        }
    }
    groups.sort();
    begin(out, "Accuracy by number of tables, with 95% intervals", &names(runs));
    scale(out, 100.0);
    let slot = (WIDTH - LEFT) / groups.len().max(1) as f64;
    for (place, (_, name)) in groups.iter().enumerate() {
        let middle = LEFT + slot * (place as f64 + 0.5);
        let _ = write!(
            out,
            "<text x=\"{middle:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>",
            TOP + HEIGHT + 18.0,
            escape(name)
        );
        for (index, (_, summary)) in runs.iter().enumerate() {
            let Some(group) = summary.by_tables.iter().find(|group| group.name == *name) else { continue };
            let x = middle + 16.0 * (index as f64 - (runs.len() as f64 - 1.0) / 2.0);
            let y = |share: f64| TOP + HEIGHT * (1.0 - share);
            let share = &group.accuracy;
            let _ = write!(
                out,
                "<g class=\"s{}\"><title>{}: {} of {}</title><line x1=\"{x:.1}\" x2=\"{x:.1}\" y1=\"{:.1}\" y2=\"{:.1}\" \
                 stroke-width=\"2\"/><circle cx=\"{x:.1}\" cy=\"{:.1}\" r=\"4.5\"/></g>",
                index % COLOURS,
                escape(name),
                share.count,
                share.of,
                y(share.low),
                y(share.high),
                y(share.share)
            );
        }
    }
    let _ = write!(
        out,
        "<text class=\"quiet\" x=\"{WIDTH}\" y=\"{:.1}\" text-anchor=\"end\">tables</text>",
        TOP + HEIGHT + 34.0
    );
    end(out);
}

/// Shares of episodes by a figure, in steps of `step`; the last of `bins` holds all that is above.
fn histogram(
    out: &mut String,
    runs: &[(&Run, Summary)],
    caption: &str,
    step: f64,
    bins: usize,
    unit: &str,
    values: impl Fn(&Run) -> Vec<f64>,
) {
    let shares: Vec<Vec<f64>> = runs
        .iter()
        .map(|(run, _)| {
            let values = values(run);
            let mut counts = vec![0.0; bins];
            for value in &values {
                // `as` keeps below 0 at 0; figures are never negative.
                counts[((value / step) as usize).min(bins - 1)] += 1.0;
            }
            counts.iter().map(|count| count / values.len().max(1) as f64).collect()
        })
        .collect();
    let most = shares.iter().flatten().copied().fold(0.0, f64::max);
    let top = ((most * 20.0).ceil() / 20.0).max(0.05);
    begin(out, caption, &names(runs));
    scale(out, 100.0 * top);
    let slot = (WIDTH - LEFT) / bins as f64;
    let bar = slot * 0.8 / runs.len().max(1) as f64;
    for bin in 0..bins {
        let left = LEFT + slot * bin as f64 + slot * 0.1;
        for (index, of_run) in shares.iter().enumerate() {
            let height = HEIGHT * of_run[bin] / top;
            if height > 0.0 {
                let _ = write!(
                    out,
                    "<rect class=\"s{}\" x=\"{:.1}\" y=\"{:.1}\" width=\"{bar:.1}\" height=\"{height:.1}\"><title>{:.1}%</title></rect>",
                    index % COLOURS,
                    left + bar * index as f64,
                    TOP + HEIGHT - height,
                    100.0 * of_run[bin]
                );
            }
        }
        if bin % 5 == 0 || bin + 1 == bins {
            let more = if bin + 1 == bins { "+" } else { "" };
            let _ = write!(
                out,
                "<text x=\"{left:.1}\" y=\"{:.1}\">{:.0}{more}</text>",
                TOP + HEIGHT + 18.0,
                step * bin as f64
            );
        }
    }
    let _ = write!(
        out,
        "<text class=\"quiet\" x=\"{WIDTH}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
        TOP + HEIGHT + 34.0,
        escape(unit)
    );
    end(out);
}

/// Gains and losses of each database, as bars from a middle line.
pub(super) fn changes(out: &mut String, paired: &PairedRuns) {
    let mut databases: Vec<(&str, usize, usize)> = Vec::new();
    for change in &paired.changes {
        let place = databases.iter().position(|(name, ..)| *name == change.db_id).unwrap_or_else(|| {
            databases.push((&change.db_id, 0, 0));
            databases.len() - 1
        });
        if change.gained { databases[place].1 += 1 } else { databases[place].2 += 1 }
    }
    databases.sort();
    let most = databases.iter().map(|(_, gained, lost)| (*gained).max(*lost)).max().unwrap_or(0);
    if most == 0 {
        return;
    }
    const ROW: f64 = 20.0;
    let (middle, height) = (WIDTH / 2.0 + 90.0, ROW * databases.len() as f64 + 8.0);
    let unit = (WIDTH - middle - 40.0) / most as f64;
    let caption = "Questions gained (right) and lost (left) by database";
    let _ = write!(
        out,
        "<figure><figcaption>{caption}</figcaption><svg viewBox=\"0 0 {WIDTH} {height}\" width=\"{WIDTH}\" role=\"img\" \
         aria-label=\"{caption}\"><line class=\"axis\" x1=\"{middle}\" x2=\"{middle}\" y1=\"0\" y2=\"{height}\"/>"
    );
    for (index, (name, gained, lost)) in databases.iter().enumerate() {
        let y = ROW * index as f64 + 4.0;
        let (right, left) = (unit * *gained as f64, unit * *lost as f64);
        let _ = write!(
            out,
            "<text x=\"0\" y=\"{text:.1}\">{name}</text><rect class=\"gain\" x=\"{middle:.1}\" y=\"{y:.1}\" width=\"{right:.1}\" \
             height=\"13\"/><text x=\"{after:.1}\" y=\"{text:.1}\">{gained}</text><rect class=\"loss\" x=\"{from:.1}\" y=\"{y:.1}\" \
             width=\"{left:.1}\" height=\"13\"/><text x=\"{before:.1}\" y=\"{text:.1}\" text-anchor=\"end\">{lost}</text>",
            text = y + 11.0,
            name = escape(name),
            after = middle + right + 5.0,
            from = middle - left,
            before = middle - left - 5.0,
        );
    }
    end(out);
}
