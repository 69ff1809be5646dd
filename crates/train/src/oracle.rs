//! Ideal episodes: the conversation of a policy that sees only what the tools return, with a mark on what is learnt.

use crate::error::Result;
use crate::machine::{Machine, Next};
use crate::policy::{Call, Policy, Seen, Turn};
use crate::question::Question;
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

    fn play(&mut self, turn: &Turn<'_>, source: Source) -> Result<()> {
        self.write(&turn.text(), source)
    }
}

fn turn<'a>(think: &str, call: Call<'a>) -> Turn<'a> {
    Turn { think: think.to_owned(), calls: vec![call] }
}

/// Plays the ideal episode for `q`, with a mistake and its repair now and then.
///
/// # Errors
/// When the agent refuses the episode (never seen).
pub fn episode(world: &World, q: &Question, rng: &mut Rng) -> Result<Vec<Piece>> {
    let (machine, next) = Machine::start(&world.image, &q.text)?;
    let mut e = Play { machine, pieces: Vec::new() };
    e.append(next);
    let policy = Policy::new(world, q);
    e.play(&policy.list(), Source::Assistant)?;
    // Now and then the budget is used up on the way; those turns are not to be imitated.
    let wander = rng.chance(0.025);

    // Describe, look for the link, look up, run, submit; a mistake takes a turn more.
    let needed = 3 + u32::from(policy.later.is_some()) + u32::from(!q.lookups.is_empty());
    if rng.chance(0.02) && e.machine.left() > needed {
        // A table name as the question has it, which is no table.
        let said = q.tables[0].0.replace(' ', "_") + "_x";
        let think = format!("{} = {said}", q.tables[0].0);
        e.play(&turn(&think, ("describe_table", vec![("table_name", &said)])), Source::Mistake)?;
    }
    e.play(&policy.describe(&Seen::default()), Source::Assistant)?;
    if let Some(link) = policy.link() {
        e.play(&link, Source::Assistant)?;
    }
    let mut look_up = policy.look_up(&Seen::default());
    if !look_up.calls.is_empty() {
        if rng.chance(0.03) && e.machine.left() > 3 && q.lookups.iter().all(|l| l.spoken != l.literal) {
            // The words of the question as they are: an empty result, then the look-up.
            let wrong = q.lookups.iter().fold(q.sql.clone(), |sql, l| {
                sql.replace(&crate::text::literal(&l.literal), &crate::text::literal(&l.spoken))
            });
            e.play(&turn(&look_up.think, ("run_query", vec![("sql", &wrong)])), Source::Mistake)?;
            look_up.think = "Wrong spelling.".into();
        }
        e.play(&look_up, Source::Assistant)?;
    }
    let mut run = policy.run();
    if wander {
        while e.machine.left() > 1 {
            let t = *rng.pick(&policy.names);
            let tool = if rng.chance(0.5) { "sample_rows" } else { "foreign_keys" };
            e.play(&turn("Look again.", (tool, vec![("table_name", t)])), Source::Mistake)?;
        }
        if e.machine.left() == 1 && rng.chance(0.7) {
            e.play(&run, Source::Assistant)?;
        } else if e.machine.left() == 1 {
            e.play(&turn("Look again.", ("list_tables", vec![])), Source::Mistake)?;
        }
        let think = if e.machine.last_query().is_some() { "Submit." } else { run.think.as_str() };
        e.write(&format!("{think}\n</think>\n\n{}", q.sql), Source::Assistant)?;
        return Ok(e.pieces);
    }
    if e.machine.left() > 2
        && rng.chance(0.04)
        && let Some(wrong) = slip(world, q, rng)
    {
        e.play(&turn(&run.think, ("run_query", vec![("sql", &wrong)])), Source::Mistake)?;
        // Looked up anew, as after any error.
        run.think = policy.columns();
    }
    e.play(&run, Source::Assistant)?;
    e.play(&policy.submit(), Source::Assistant)?;
    Ok(e.pieces)
}

/// A query with one misspelt column.
fn slip(world: &World, q: &Question, rng: &mut Rng) -> Option<String> {
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
    Some(q.sql.replace(name, &wrong))
}
