//! Ideal episodes: the conversation of a policy that sees only what the tools return, with a mark on what is learnt.

use crate::error::Result;
use crate::machine::{Machine, Next};
use crate::question::{BETWEEN, Question};
use crate::rng::Rng;
use crate::schema::{ColumnKind, World};
use glowworm_agent::Segment;
use serde_json::Value as Json;

/// Who wrote a piece of an episode, and how it is tokenised.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// Chat markup: special tokens are recognised.
    Markup,
    /// Question or tool text: special tokens stay plain text.
    Text,
    /// What the model is to write.
    Assistant,
    /// What the model wrote by mistake: context, not to be learnt.
    Mistake,
}

/// A piece of an episode.
#[derive(Clone, Debug, PartialEq)]
pub struct Piece(pub Source, pub String);

/// One call as the model writes it.
pub fn call_text(tool: &str, args: &[(&str, &str)]) -> String {
    if args.is_empty() {
        return format!("{{\"tool\": \"{tool}\"}}");
    }
    let args: Vec<String> =
        args.iter().map(|(k, v)| format!("\"{k}\": {}", Json::String((*v).to_owned()))).collect();
    format!("{{\"tool\": \"{tool}\", \"args\": {{{}}}}}", args.join(", "))
}

struct Play {
    machine: Machine,
    pieces: Vec<Piece>,
}

type Call<'s> = (&'static str, Vec<(&'static str, &'s str)>);

impl Play {
    fn append(&mut self, next: Next) {
        if let Next::Write(segments) = next {
            self.pieces.extend(segments.into_iter().map(|s| match s {
                Segment::Markup(t) => Piece(Source::Markup, t),
                Segment::Text(t) => Piece(Source::Text, t),
            }));
        }
    }

    /// The model writes `text`; the stop token is learnt with it, and what follows is the agent's.
    fn write(&mut self, text: &str, source: Source) -> Result<()> {
        self.pieces.push(Piece(source, format!("{text}<|im_end|>")));
        let at = self.pieces.len();
        let next = self.machine.reply(text)?;
        self.append(next);
        // The machine closes the turn itself: its end mark is the stop token just written.
        if let Some(Piece(Source::Markup, t)) = self.pieces.get_mut(at)
            && let Some(rest) = t.strip_prefix("<|im_end|>")
        {
            *t = rest.to_owned();
        }
        Ok(())
    }

    fn turn(&mut self, think: &str, calls: &[Call<'_>], source: Source) -> Result<()> {
        let texts: Vec<String> = calls.iter().map(|(t, a)| call_text(t, a)).collect();
        self.write(&format!("{think}\n</think>\n\n{}", texts.join("\n")), source)
    }
}

/// Plays the ideal episode for `q`, with a mistake and its repair now and then.
///
/// # Errors
/// When the agent refuses the episode (never seen).
pub fn episode(world: &World, q: &Question, rng: &mut Rng) -> Result<Vec<Piece>> {
    let (machine, next) = Machine::start(&world.image, &q.text)?;
    let mut e = Play { machine, pieces: Vec::new() };
    e.append(next);
    e.turn("List tables.", &[("list_tables", vec![])], Source::Assistant)?;
    // Now and then the budget is used up on the way; those turns are not to be imitated.
    let wander = rng.chance(0.025);

    let names: Vec<&str> = q.tables.iter().map(|(_, t)| world.tables[*t].name.as_str()).collect();
    // A table the question does not name: its name in the list may say what it joins. Else it is looked for when the tables
    // that are named turn out to have no link.
    let hidden = q.tables.iter().position(|(n, _)| n == BETWEEN);
    let found_later = hidden.filter(|h| !joins_by_name(names[*h], &names[..*h]));
    // Describe, look for the link, look up, run, submit; a mistake takes a turn more.
    let needed = 3 + u32::from(found_later.is_some()) + u32::from(!q.lookups.is_empty());
    if rng.chance(0.02) && e.machine.left() > needed {
        // A table name as the question has it, which is no table.
        let said = q.tables[0].0.replace(' ', "_") + "_x";
        let call = ("describe_table", vec![("table_name", said.as_str())]);
        e.turn(&format!("{} = {said}", q.tables[0].0), &[call], Source::Mistake)?;
    }
    let shown = |i: &usize| found_later != Some(*i);
    let plan: Vec<String> =
        (0..names.len()).filter(shown).map(|i| format!("{} = {}", q.tables[i].0, names[i])).collect();
    let calls: Vec<Call<'_>> =
        (0..names.len()).filter(shown).map(|i| ("describe_table", vec![("table_name", names[i])])).collect();
    e.turn(&plan.join(", "), &calls, Source::Assistant)?;
    if let Some(h) = found_later {
        if world.declared {
            let ends = vec![("table_a", names[0]), ("table_b", names[1])];
            e.turn("No link.", &[("join_path", ends)], Source::Assistant)?;
        } else {
            let call = ("describe_table", vec![("table_name", names[h])]);
            e.turn(&format!("No link. {BETWEEN} = {}", names[h]), &[call], Source::Assistant)?;
        }
    }

    let mut columns: Vec<String> =
        q.links.iter().map(|(said, column)| format!("{said} = {column}")).collect();
    if columns.is_empty() {
        columns.push("count rows".into());
    }
    let mut think = columns.join(", ");
    if !q.lookups.is_empty() {
        if rng.chance(0.03) && e.machine.left() > 3 && q.lookups.iter().all(|l| l.spoken != l.literal) {
            // The words of the question as they are: an empty result, then the look-up.
            let wrong = q.lookups.iter().fold(q.sql.clone(), |sql, l| {
                sql.replace(&crate::text::literal(&l.literal), &crate::text::literal(&l.spoken))
            });
            e.turn(&think, &[("run_query", vec![("sql", &wrong)])], Source::Mistake)?;
            think = "Wrong spelling.".into();
        }
        let mut seen: Vec<(usize, usize)> = Vec::new();
        let mut calls: Vec<Call<'_>> = Vec::new();
        for l in &q.lookups {
            let (t, c) = (&world.tables[l.table], &world.tables[l.table].columns[l.column]);
            if !seen.contains(&(l.table, l.column)) {
                seen.push((l.table, l.column));
                calls.push(("distinct_values", vec![("table_name", &t.name), ("column_name", &c.name)]));
            }
        }
        e.turn(&think, &calls, Source::Assistant)?;
        think =
            q.lookups.iter().map(|l| format!("{} = {}", l.spoken, l.literal)).collect::<Vec<_>>().join(", ");
    }
    if wander {
        while e.machine.left() > 1 {
            let t = *rng.pick(&names);
            let tool = if rng.chance(0.5) { "sample_rows" } else { "foreign_keys" };
            e.turn("Look again.", &[(tool, vec![("table_name", t)])], Source::Mistake)?;
        }
        if e.machine.left() == 1 && rng.chance(0.7) {
            e.turn(&think, &[("run_query", vec![("sql", &q.sql)])], Source::Assistant)?;
        } else if e.machine.left() == 1 {
            e.turn("Look again.", &[("list_tables", vec![])], Source::Mistake)?;
        }
        let think = if e.machine.last_query().is_some() { "Submit." } else { think.as_str() };
        e.write(&format!("{think}\n</think>\n\n{}", q.sql), Source::Assistant)?;
        return Ok(e.pieces);
    }
    if e.machine.left() > 2
        && rng.chance(0.04)
        && let Some((wrong, right)) = slip(world, q, rng)
    {
        e.turn(&think, &[("run_query", vec![("sql", &wrong)])], Source::Mistake)?;
        think = right;
    }
    e.turn(&think, &[("run_query", vec![("sql", &q.sql)])], Source::Assistant)?;
    e.turn("Submit.", &[("submit_sql", vec![("sql", &q.sql)])], Source::Assistant)?;
    Ok(e.pieces)
}

/// Whether the name of a table between others tells so: it holds the beginnings of all their names.
fn joins_by_name(name: &str, others: &[&str]) -> bool {
    let plain = |s: &str| s.to_lowercase().replace(|c: char| !c.is_alphanumeric(), "");
    let name = plain(name);
    others.iter().all(|o| {
        let stem: String = plain(o).trim_start_matches("tbl").chars().take(4).collect();
        name.contains(&stem)
    })
}

/// A query with one misspelt column, and the thought that repairs it.
fn slip(world: &World, q: &Question, rng: &mut Rng) -> Option<(String, String)> {
    let used: Vec<&str> = q
        .tables
        .iter()
        .flat_map(|(_, t)| &world.tables[*t].columns)
        .filter(|c| c.kind != ColumnKind::Key && c.name.len() > 4 && q.sql.contains(&c.name))
        .map(|c| c.name.as_str())
        .collect();
    if used.is_empty() {
        return None;
    }
    let name = *rng.pick(&used);
    let wrong = match rng.below(3) {
        0 => format!("{name}s"),
        1 => name[..name.len() - 1].trim_end_matches('_').to_owned(),
        _ => name
            .split('_')
            .next()
            .map(str::to_owned)
            .filter(|w| w != name)
            .unwrap_or_else(|| format!("{name}_id")),
    };
    if !wrong.is_char_boundary(wrong.len()) || wrong.is_empty() {
        return None;
    }
    Some((q.sql.replace(name, &wrong), format!("{wrong} should be {name}")))
}
