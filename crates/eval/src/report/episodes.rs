//! The episodes, each folded away until someone wants to read it.

use std::fmt::Write;

use glowworm_agent::{CallStatus, Trace, Turn, TurnKind};

use super::escape;
use crate::error::Result;
use crate::score::GoldState;
use crate::store::{EpisodeRecord, Run};

/// The place of an episode in the page: letters and digits only, whatever the id is made of.
pub(super) fn anchor(run: usize, id: &str, sample: u32) -> String {
    format!("e{run}-{:016x}-{sample}", crate::random::fingerprint(id.as_bytes()))
}

/// All episodes of a run, in the order of its file.
pub(super) fn all(out: &mut String, index: usize, run: &Run) -> Result<()> {
    let _ = writeln!(out, "<h2>Episodes of {}</h2>", escape(&run.name()));
    run.for_each_trace(|record, trace| episode(out, index, run, record, trace))
}

fn episode(out: &mut String, index: usize, run: &Run, record: &EpisodeRecord, trace: &Trace) {
    let metric = run.config.metric();
    let (class, verdict) = match (record.is_scored(), record.is_right(metric)) {
        (false, _) => ("soft", "not scored"),
        (true, true) => ("right", "right"),
        (true, false) => ("wrong", "wrong"),
    };
    let sample =
        if run.config.samples > 1 { format!(" · sample {}", record.sample + 1) } else { String::new() };
    let _ = write!(
        out,
        "<details class=\"episode\" id=\"{}\"><summary><span class=\"{class}\">{verdict}</span> {} <span class=\"soft\">· {}{} · {} · {} \
         calls</span></summary><div>",
        anchor(index, &record.id, record.sample),
        escape(&trace.config.question),
        escape(&record.db_id),
        escape(&sample),
        record.behaviour.ended_by.name(),
        record.behaviour.calls
    );
    facts(out, record, trace);
    for turn in &trace.turns {
        self::turn(out, turn);
    }
    if let Some(outcome) = &trace.outcome
        && let Some(message) = &outcome.message
    {
        let _ = write!(out, "<p class=\"soft\">{}</p>", escape(message));
    }
    out.push_str("</div></details>\n");
}

fn facts(out: &mut String, record: &EpisodeRecord, trace: &Trace) {
    if let Some(evidence) = &trace.config.evidence {
        let _ = write!(out, "<p>Evidence: {}</p>", escape(evidence));
    }
    for gold in &record.gold {
        let _ = write!(out, "<p class=\"soft\">Gold</p><pre>{}</pre>", escape(gold));
    }
    let answer = record.sql.as_deref().unwrap_or("no answer");
    let _ = write!(out, "<p class=\"soft\">Answer</p><pre>{}</pre>", escape(answer));
    let verdicts: Vec<String> = record
        .judgement
        .verdicts
        .iter()
        .map(|(metric, right)| format!("{}: {}", metric.title(), if *right { "right" } else { "wrong" }))
        .collect();
    let gold = match record.judgement.gold {
        GoldState::Sound => "",
        GoldState::Ambiguous => "; gold’s order is ambiguous",
        GoldState::Fails => "; gold does not run",
    };
    let error = record
        .judgement
        .error
        .as_ref()
        .map(|error| format!("; the answer fails: {error}"))
        .unwrap_or_default();
    let _ = write!(
        out,
        "<p class=\"soft\">id {} · {}{gold}{} · {} tokens · opened {} of {} gold tables · question {}</p>",
        escape(&record.id),
        escape(&verdicts.join(", ")),
        escape(&error),
        record.behaviour.tokens(),
        record.behaviour.gold_tables_opened,
        record.behaviour.gold_tables,
        escape(record.difficulty.as_deref().unwrap_or("of no given difficulty"))
    );
}

fn turn(out: &mut String, turn: &Turn) {
    let title = match turn.kind {
        TurnKind::Tool => format!("Turn {}", turn.number),
        TurnKind::Final => "Final turn".to_owned(),
    };
    let _ = write!(out, "<h3>{title}</h3>");
    if !turn.think.trim().is_empty() {
        let _ = write!(out, "<p class=\"soft\">Thinking</p><pre>{}</pre>", escape(turn.think.trim()));
    }
    if turn.calls.is_empty()
        && let Some(completion) = &turn.completion
    {
        let text =
            completion.text.rsplit_once("</think>").map_or(completion.text.as_str(), |(_, after)| after);
        let _ = write!(out, "<pre>{}</pre>", escape(text.trim()));
    }
    for call in &turn.calls {
        let status = match call.status {
            CallStatus::Ran => "",
            CallStatus::Pending => " (not answered)",
            CallStatus::Rejected => " (rejected)",
            CallStatus::Submitted => " (the answer)",
            CallStatus::NotRun => " (not run)",
        };
        let _ = write!(out, "<pre>{}</pre><p class=\"soft\">{status}</p>", escape(&call.raw));
        if let Some(result) = &call.result {
            let class = if result.is_error { " class=\"wrong\"" } else { "" };
            let withheld =
                if call.withheld { "<p class=\"soft\">too long to be shown to the model:</p>" } else { "" };
            let _ = write!(out, "{withheld}<pre{class}>{}</pre>", escape(&result.text));
        }
    }
    if let Some(text) = &turn.no_call {
        let _ = write!(out, "<pre class=\"wrong\">{}</pre>", escape(text));
    }
}
