//! Questions with their gold SQL, over one database.
//!
//! Here a question is drawn and finished, and here are the pieces that its kinds share; the kinds are in the modules.

mod children;
mod group;
mod hops;
mod pair;
mod single;
mod top;

use crate::align::{in_order, says};
use crate::condition::{Condition, Lookup, Speaker};
use crate::frames::{self, Frames};
use crate::lexicon::Split;
use crate::schema::{Column, ColumnKind, Shape, quoted};
use crate::text::{capitalised, list_of, number_word, uncapitalised};
use crate::wording::around;
use rusqlite::types::Value;

/// A question and all that the ideal episode needs to know.
#[derive(Clone, Debug, Default)]
pub struct Question {
    /// Kind of question, for figures by type.
    pub kind: &'static str,
    /// What the person asks.
    pub text: String,
    /// The gold SQL.
    pub sql: String,
    /// Indices of the tables it needs, in the order of the question, with the noun that names each or [`BETWEEN`].
    pub tables: Vec<(String, usize)>,
    /// Phrase and column, in the order of the question ([`crate::align`]).
    pub links: Vec<(String, String)>,
    /// Values to look up first.
    pub lookups: Vec<Lookup>,
}

/// Stands for the noun of a table that the question does not name.
pub const BETWEEN: &str = "between";

impl Speaker<'_> {
    /// Draws a question; `None` when this database has no such question.
    pub fn ask(mut self) -> Option<Question> {
        let shape = self.world.shape.clone();
        let joined = !matches!(shape, Shape::Single(_)) && self.rng.chance(0.82);
        let mut q = match shape {
            _ if !joined => {
                let tables: Vec<usize> = match shape {
                    Shape::Single(a) => vec![a],
                    Shape::Pair(a, b) => vec![a, b],
                    Shape::Chain(a, b, c) => vec![a, b, c],
                    Shape::Many(a, _, c) => vec![a, c],
                };
                let t = *self.rng.pick(&tables);
                self.single(t)?
            }
            Shape::Pair(b, a) => self.pair(b, a)?,
            Shape::Chain(c, b, a) => match self.rng.below(3) {
                0 => self.pair(c, b)?,
                1 => self.pair(b, a)?,
                _ => self.chain(c, b, a)?,
            },
            Shape::Many(a, j, b) => {
                // A junction with data of its own is a child of both sides.
                if self.world.tables[j].columns.iter().any(Column::numeric) && self.rng.chance(0.35) {
                    let side = *self.rng.pick(&[a, b]);
                    self.pair(j, side)?
                } else if self.rng.chance(0.5) {
                    self.many(a, j, b)?
                } else {
                    self.many(b, j, a)?
                }
            }
            Shape::Single(_) => return None,
        };
        q.text = self.finish(q.text);
        self.align(&mut q);
        Some(q)
    }

    /// Brings tables, links and look-ups into the words and the order of the question's text.
    fn align(&self, q: &mut Question) {
        for (said, column) in &mut q.links {
            // What a row is called may go without saying: `which class` asks for the name of the class.
            if !says(&q.text, said)
                && let Some((noun, _)) = q.tables.iter().find(|(_, t)| {
                    q.tables.len() == 1
                        || column.starts_with(&format!("{}.", quoted(&self.world.tables[*t].name)))
                })
                && noun != BETWEEN
            {
                said.clone_from(noun);
            }
        }
        q.links = in_order(&q.text, &q.links);
        let spoken: Vec<(String, Lookup)> =
            std::mem::take(&mut q.lookups).into_iter().map(|l| (l.spoken.clone(), l)).collect();
        q.lookups =
            in_order(&q.text, &spoken).into_iter().map(|(spoken, l)| Lookup { spoken, ..l }).collect();
        // A table that the question does not name is thought of last.
        let (hidden, named): (Vec<_>, Vec<_>) =
            std::mem::take(&mut q.tables).into_iter().partition(|(n, _)| n == BETWEEN);
        q.tables = in_order(&q.text, &named);
        q.tables.extend(hidden);
    }

    /// Small variations of a finished sentence.
    fn finish(&mut self, text: String) -> String {
        let mut text = text.replace("  ", " ").replace(" ?", "?").trim().to_owned();
        if self.split == Split::Train {
            text = around(&mut self.rng, &self.lexicon.words, text);
        }
        let imperative =
            ["List", "Show", "Find", "Give", "Return", "Count", "Get", "Tell", "Name", "Display"]
                .iter()
                .any(|v| text.starts_with(&format!("{v} ")));
        if self.split == Split::Train && imperative && self.rng.chance(0.1) {
            let lead = *self.rng.pick(&["Please ", "Can you ", "Could you please ", "I want you to "]);
            text = lead.to_owned() + &uncapitalised(&text);
            if lead.starts_with('C') {
                text = text.trim_end_matches('.').to_owned() + "?";
            }
        } else if self.rng.chance(0.93) {
            let quoted_start = text.starts_with(['"', '\'']);
            if !quoted_start
                && text.chars().next().is_some_and(char::is_lowercase)
                && text.ends_with(['?', '.'])
            {
                text = capitalised(&text);
            }
        } else if self.split == Split::Train {
            text = uncapitalised(&text);
        }
        if self.rng.chance(0.05) {
            text = text.trim_end_matches(['.', '?']).to_owned();
        }
        text
    }

    fn frame(&mut self, frames: &Frames, values: &[(&str, &str)]) -> String {
        let frame = self.of(frames.0, frames.1);
        self.fill(frame, values)
    }

    /// Singular and plural noun for a table.
    fn noun(&mut self, t: usize) -> (String, String) {
        let table = &self.world.tables[t];
        if !table.synonyms.is_empty() && self.rng.chance(0.15) {
            self.rng.pick(&table.synonyms).clone()
        } else {
            (table.one.clone(), table.many.clone())
        }
    }

    fn number(&mut self, t: usize, total: bool) -> Option<usize> {
        let cs = self.columns(t, |c| {
            c.numeric() && !(total && (c.words.contains("year") || c.words.contains("rate")))
        });
        (!cs.is_empty()).then(|| *self.rng.pick(&cs))
    }

    fn group(&mut self, t: usize) -> Option<usize> {
        let cs = self.columns(t, |c| c.kind == ColumnKind::Category);
        let all = self.columns(t, |c| c.kind == ColumnKind::Integer && c.words.contains("year"));
        let pool = if cs.is_empty() || self.rng.chance(0.08) { [cs, all].concat() } else { cs };
        (!pool.is_empty()).then(|| *self.rng.pick(&pool))
    }

    fn shown(&mut self, t: usize, n: usize) -> Vec<usize> {
        let label = self.world.tables[t].label();
        let mut cs = self.columns(t, |c| !matches!(c.kind, ColumnKind::Link(..) | ColumnKind::Key));
        if self.rng.chance(0.04) {
            cs.extend(self.world.tables[t].key());
        }
        let mut out = self.rng.sample(&cs, n);
        if self.rng.chance(0.5) && !out.contains(&label) && !out.is_empty() {
            out[0] = label;
        }
        out
    }

    fn where_of(q: &mut Question, c: Condition) -> (String, String, String) {
        q.links.extend(c.links);
        q.lookups.extend(c.lookups);
        (c.before, c.after, format!(" WHERE {}", c.sql))
    }

    /// One condition, sometimes two; `(before, after, sql)`.
    fn conditions(&mut self, q: &mut Question, t: usize, but: &[usize]) -> Option<(String, String, String)> {
        let (first, c) = self.condition(t, but)?;
        if !c.predicate.is_empty() && self.split == Split::Train && self.rng.chance(0.15) {
            let who = if self.world.tables[t].person && self.rng.chance(0.6) { "who" } else { "that" };
            let after = format!(" {who} {}", c.predicate);
            let (_, _, sql) = Self::where_of(q, c);
            return Some((String::new(), after, sql));
        }
        let (mut before, mut after, mut sql) = Self::where_of(q, c);
        if self.rng.chance(0.16) {
            let but: Vec<usize> = but.iter().copied().chain([first]).collect();
            if let Some((_, d)) = self.condition(t, &but) {
                let or = self.rng.chance(0.25) && !after.is_empty() && !d.after.is_empty();
                if !(d.before.is_empty() || before.is_empty()) || (or && sql.contains(" OR ")) {
                    return Some((before, after, sql));
                }
                let word = if after.is_empty() || d.after.is_empty() {
                    ""
                } else if or {
                    " or"
                } else {
                    " and"
                };
                after = format!("{after}{word}{}", d.after);
                before += &d.before;
                sql = format!("{sql} {} {}", if or { "OR" } else { "AND" }, d.sql);
                q.links.extend(d.links);
                q.lookups.extend(d.lookups);
            }
        }
        Some((before, after, sql))
    }

    fn aggregate(&mut self) -> (&'static str, &'static str) {
        let (sql, words) = match self.rng.weighted(&[35, 22, 20, 23]) {
            0 => ("AVG", &frames::AVERAGE),
            1 => ("MAX", &frames::MAXIMUM),
            2 => ("MIN", &frames::MINIMUM),
            _ => ("SUM", &frames::SUM),
        };
        (sql, self.of(words.0, words.1))
    }

    fn high_low(&mut self, high: bool) -> &'static str {
        if high {
            self.of(
                &["highest", "largest", "greatest", "most", "biggest", "maximum", "highest"],
                &["highest", "largest"],
            )
        } else {
            self.of(&["lowest", "smallest", "least", "minimum", "lowest"], &["lowest", "smallest"])
        }
    }

    fn said_columns(&mut self, t: usize, cs: &[usize], q: &mut Question) -> (String, String) {
        let (mut said, mut sql) = (Vec::new(), Vec::new());
        for &c in cs {
            let s = self.say(t, c);
            let s = if self.rng.chance(0.45) { self.plural_of(&s) } else { s };
            let name = self.column(t, c);
            q.links.push((s.clone(), name.clone()));
            said.push(s);
            sql.push(name);
        }
        (list_of(&said), sql.join(", "))
    }

    /// Up to `n` columns to list, as they are said and in SQL; `None` where the table has none to show.
    fn listed(&mut self, t: usize, n: usize, q: &mut Question) -> Option<(String, String)> {
        let cs = self.shown(t, n);
        (!cs.is_empty()).then(|| self.said_columns(t, &cs, q))
    }

    fn threshold(&mut self, most: usize) -> (String, String, String) {
        let n = self.rng.range(1, most.max(2) as i64 - 1);
        let said = if self.rng.chance(0.25) {
            number_word(n).map_or_else(|| n.to_string(), str::to_owned)
        } else {
            n.to_string()
        };
        let (op, words) = match self.rng.below(5) {
            0 | 1 => (">", self.of(&["more than", "over", "more than"], &["more than"])),
            2 | 3 => (">=", self.of(&["at least", "no less than"], &["at least"])),
            _ => ("<", self.of(&["fewer than", "less than"], &["fewer than"])),
        };
        (said, words.to_owned(), format!("{op} {n}"))
    }
}

/// The text of a text value.
fn text_of(value: &Value) -> Option<String> {
    match value {
        Value::Text(t) => Some(t.clone()),
        _ => None,
    }
}
