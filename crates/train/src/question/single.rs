//! Questions about one table: counts, lists, filters, aggregates, look-ups.

use super::{Question, text_of};
use crate::condition::Speaker;
use crate::frames;
use crate::lexicon::Split;
use crate::schema::{ColumnKind, quoted};
use crate::text::{list_of, literal};

const SINGLE: [(&str, u32); 23] = [
    ("count_is", 5),
    ("which_is", 6),
    ("count", 3),
    ("count_where", 11),
    ("list", 6),
    ("list_where", 13),
    ("which_where", 10),
    ("order_list", 6),
    ("distinct", 4),
    ("count_distinct", 3),
    ("aggregate", 6),
    ("aggregate_where", 6),
    ("two_aggregates", 3),
    ("top", 9),
    ("top_n", 5),
    ("group_count", 7),
    ("group_aggregate", 6),
    ("group_top", 4),
    ("group_best", 3),
    ("having", 4),
    ("above_average", 4),
    ("percent", 3),
    ("lookup", 9),
];

/// A question that is begun, about one table, and what every kind of it uses.
pub(super) struct Single {
    /// The question, with its table.
    pub q: Question,
    /// The table's index.
    pub t: usize,
    /// Its noun.
    pub e: String,
    /// The noun's plural.
    pub many: String,
    /// Its name in SQL.
    pub from: String,
    /// The column that says what a row is called.
    pub label: usize,
    /// Its number of rows.
    pub rows: usize,
}

impl Speaker<'_> {
    /// A question about table `t`; `None` when the kind that was drawn does not fit it.
    pub(super) fn single(&mut self, t: usize) -> Option<Question> {
        let weights: Vec<u32> = SINGLE.iter().map(|x| x.1).collect();
        let kind = SINGLE[self.rng.weighted(&weights)].0;
        let (e, many) = self.noun(t);
        let table = &self.world.tables[t];
        let q = Question { kind, tables: vec![(many.clone(), t)], ..Question::default() };
        let (from, label, rows) = (quoted(&table.name), table.label(), table.rows());
        let subject = Single { q, t, e, many, from, label, rows };
        match kind {
            "count" | "count_where" => self.counts(subject),
            "list" | "list_where" | "order_list" => self.lists(subject),
            "count_is" | "which_is" => self.predicates(subject),
            "which_where" => self.which(subject),
            "distinct" | "count_distinct" => self.distinct(subject),
            "aggregate" | "aggregate_where" | "two_aggregates" => self.aggregates(subject),
            "top" | "top_n" => self.top(subject),
            "group_count" | "group_aggregate" | "group_top" | "group_best" | "having" => self.groups(subject),
            "above_average" => self.above_average(subject),
            "percent" => self.percent(subject),
            _ => self.lookup(subject),
        }
    }

    /// How many rows.
    fn counts(&mut self, subject: Single) -> Option<Question> {
        let Single { mut q, t, many, from, .. } = subject;
        let kind = q.kind;
        let (mut before, mut w, mut sql) = (String::new(), String::new(), String::new());
        if kind == "count_where" {
            (before, w, sql) = self.conditions(&mut q, t, &[])?;
        }
        let noun = before + &many;
        q.text = self.frame(&frames::COUNT, &[("E", &noun), ("W", &w)]);
        q.sql = format!("SELECT COUNT(*) FROM {from}{sql}");
        Some(q)
    }

    /// Columns of rows, in an order now and then.
    fn lists(&mut self, subject: Single) -> Option<Question> {
        let Single { mut q, t, e, many, from, .. } = subject;
        let kind = q.kind;
        let (mut before, mut w, mut sql) = (String::new(), String::new(), String::new());
        let n = if kind == "list" {
            1 + self.rng.weighted(&[20, 50, 30])
        } else {
            1 + self.rng.weighted(&[55, 35, 10])
        };
        let cs = self.shown(t, n);
        if cs.is_empty() {
            return None;
        }
        let (said, select) = self.said_columns(t, &cs, &mut q);
        if kind == "list_where" || (kind == "order_list" && self.rng.chance(0.2)) {
            (before, w, sql) = self.conditions(&mut q, t, &cs)?;
        }
        let mut tail = String::new();
        if kind == "order_list" {
            let by = self.columns(t, |c| {
                (c.numeric() || matches!(c.kind, ColumnKind::Date | ColumnKind::Name)) && !c.has_null()
            });
            if by.is_empty() {
                return None;
            }
            let by = *self.rng.pick(&by);
            let c = self.say(t, by);
            let name = self.column(t, by);
            let down = self.rng.chance(0.45) && self.world.tables[t].columns[by].kind != ColumnKind::Name;
            w += &if down {
                self.frame(&frames::ORDER_DOWN, &[("c", &c)])
            } else {
                self.frame(&frames::ORDER_UP, &[("c", &c)])
            };
            tail = format!(" ORDER BY {name}{}", if down { " DESC" } else { "" });
            q.links.push((c, name));
        }
        let (one, noun) = (format!("{before}{e}"), before + &many);
        q.text = self.frame(&frames::LIST, &[("cs", &said), ("E", &noun), ("e", &one), ("W", &w)]);
        q.sql = format!("SELECT {select} FROM {from}{sql}{tail}");
        Some(q)
    }

    /// A condition as the verb of the sentence; training only.
    fn predicates(&mut self, subject: Single) -> Option<Question> {
        let Single { mut q, t, e, many, from, label, .. } = subject;
        let kind = q.kind;
        let (_, c) = self.condition(t, &[])?;
        if c.predicate.is_empty() || self.split == Split::Test {
            return None;
        }
        let is = c.predicate.clone();
        let who = singular_verb(&is);
        let (_, _, sql) = Self::where_of(&mut q, c);
        if kind == "count_is" {
            let frame = *self.rng.pick::<&str>(&[
                "How many {E} {is}?",
                "how many {E} {is}",
                "How many of the {E} {is}?",
                "Do any {E} {be}? How many?",
            ]);
            q.text = self.fill(frame, &[("E", &many), ("is", &is), ("be", &is)]);
            q.sql = format!("SELECT COUNT(*) FROM {from}{sql}");
        } else {
            let name = self.column(t, label);
            q.links.insert(0, (many.clone(), name.clone()));
            let frame = if self.world.tables[t].person && self.rng.chance(0.4) {
                *self.rng.pick::<&str>(&["Who {one}?", "Who of the {E} {one}?", "Which {e} {one}?"])
            } else {
                *self.rng.pick::<&str>(&[
                    "Which {E} {is}?",
                    "What {E} {is}?",
                    "which {E} {is}",
                    "Which of the {E} {is}?",
                    "Which {e} {one}?",
                ])
            };
            if frame == "Who {one}?" && self.world.tables.len() > 1 {
                q.links[0].0 = "who".into();
                q.tables[0].0 = "who".into();
            }
            q.text = self.fill(frame, &[("E", &many), ("e", &e), ("is", &is), ("one", &who)]);
            q.sql = format!("SELECT {name} FROM {from}{sql}");
        }
        Some(q)
    }

    /// What the rows are called.
    fn which(&mut self, subject: Single) -> Option<Question> {
        let Single { mut q, t, many, from, label, .. } = subject;
        let name = self.column(t, label);
        let (before, w, sql) = self.conditions(&mut q, t, &[label])?;
        q.links.insert(0, (many.clone(), name.clone()));
        let noun = before + &many;
        q.text = self.frame(&frames::WHICH, &[("E", &noun), ("W", &w)]);
        q.sql = format!("SELECT {name} FROM {from}{sql}");
        Some(q)
    }

    /// The different values of a column, or their number.
    fn distinct(&mut self, subject: Single) -> Option<Question> {
        let Single { mut q, t, many, from, .. } = subject;
        let kind = q.kind;
        let (mut before, mut w, mut sql) = (String::new(), String::new(), String::new());
        let c = self.group(t)?;
        let said = self.say(t, c);
        let name = self.column(t, c);
        let many_c = self.plural_of(&said);
        q.links.push((many_c.clone(), name.clone()));
        if self.rng.chance(0.2) {
            (before, w, sql) = self.conditions(&mut q, t, &[c])?;
        }
        let noun = before + &many;
        let frame = if kind == "distinct" { &frames::DISTINCT } else { &frames::COUNT_DISTINCT };
        q.text = self.frame(frame, &[("c", &said), ("cp", &many_c), ("E", &noun), ("W", &w)]);
        q.sql = if kind == "distinct" {
            format!("SELECT DISTINCT {name} FROM {from}{sql}")
        } else {
            format!("SELECT COUNT(DISTINCT {name}) FROM {from}{sql}")
        };
        Some(q)
    }

    /// One aggregate of a column, or two.
    fn aggregates(&mut self, subject: Single) -> Option<Question> {
        let Single { mut q, t, many, from, .. } = subject;
        let kind = q.kind;
        let (mut before, mut w, mut sql) = (String::new(), String::new(), String::new());
        let c = self.number(t, true)?;
        let (f, mut words) = {
            let (f, w) = self.aggregate();
            (f, w.to_owned())
        };
        let said = self.say(t, c);
        let name = self.column(t, c);
        q.links.push((said.clone(), name.clone()));
        let mut select = format!("{f}({name})");
        if kind == "two_aggregates" {
            let (g, second) = self.aggregate();
            if f == g || words.contains(" of") || second.contains(" of") {
                return None;
            }
            words = format!("{words} and {second}");
            select += &format!(", {g}({name})");
        }
        if kind == "aggregate_where" {
            (before, w, sql) = self.conditions(&mut q, t, &[c])?;
        }
        let noun = before + &many;
        q.text = self.frame(&frames::AGGREGATE, &[("w", &words), ("c", &said), ("E", &noun), ("W", &w)]);
        q.sql = format!("SELECT {select} FROM {from}{sql}");
        Some(q)
    }

    /// Rows above or below the average, or their number.
    fn above_average(&mut self, subject: Single) -> Option<Question> {
        let Single { mut q, t, many, from, label, .. } = subject;
        let c = self.number(t, true)?;
        let said = self.say(t, c);
        let name = self.column(t, c);
        let up = self.rng.chance(0.65);
        let above = if up {
            self.of(
                &["above", "over", "higher than", "greater than", "more than", "larger than"],
                &["above", "over"],
            )
        } else {
            self.of(&["below", "under", "lower than", "less than", "smaller than"], &["below"])
        };
        let op = if up { ">" } else { "<" };
        let test = format!("{name} {op} (SELECT AVG({name}) FROM {from})");
        if self.rng.chance(0.35) {
            q.links.push((said.clone(), name));
            q.text = self.frame(&frames::COUNT_ABOVE, &[("c", &said), ("above", above), ("E", &many)]);
            q.sql = format!("SELECT COUNT(*) FROM {from} WHERE {test}");
        } else {
            let l = self.column(t, label);
            let oc = self.say(t, label);
            let ocs = self.plural_of(&oc);
            q.links.push((oc, l.clone()));
            q.links.push((said.clone(), name));
            q.text = self.frame(
                &frames::ABOVE,
                &[("c", &said), ("above", above), ("E", &many), ("ocs", &ocs), ("W", "")],
            );
            q.sql = format!("SELECT {l} FROM {from} WHERE {test}");
        }
        Some(q)
    }

    /// The share of rows that pass a test.
    fn percent(&mut self, subject: Single) -> Option<Question> {
        let Single { mut q, t, many, from, .. } = subject;
        let (c, cond) = self.condition(t, &[])?;
        if self.world.tables[t].columns[c].has_null() {
            return None;
        }
        let test = cond.sql.clone();
        let is = cond.predicate.clone();
        let (b, a, _) = Self::where_of(&mut q, cond);
        let frame = loop {
            let f = self.of(frames::PERCENT.0, frames::PERCENT.1);
            if !f.contains("{is}") || !is.is_empty() {
                break f;
            }
        };
        let noun = if frame.contains("{is}") { many.clone() } else { b + &many };
        q.text = self.fill(frame, &[("E", &noun), ("W", &a), ("is", &is)]);
        q.sql = format!("SELECT 100.0 * SUM({test}) / COUNT(*) FROM {from}");
        Some(q)
    }

    /// Columns of the row of a given name.
    fn lookup(&mut self, subject: Single) -> Option<Question> {
        let Single { mut q, t, e, from, label, .. } = subject;
        if self.world.tables[t].columns[label].kind != ColumnKind::Name {
            return None;
        }
        let n = 1 + self.rng.weighted(&[80, 20]);
        let cs: Vec<usize> = self.shown(t, n).into_iter().filter(|&c| c != label).collect();
        if cs.is_empty() {
            return None;
        }
        let (mut said, mut select) = (Vec::new(), Vec::new());
        for c in cs {
            let s = self.say(t, c);
            let name = self.column(t, c);
            q.links.push((s.clone(), name.clone()));
            said.push(s);
            select.push(name);
        }
        let v = text_of(self.rng.pick(&self.world.tables[t].columns[label].values.clone()))?;
        let name = self.column(t, label);
        let c0 = self.columns(t, |c| select.first().is_some_and(|s| *s == quoted(&c.name)));
        let how = c0
            .first()
            .and_then(|&c| self.lexicon.adjectives.get(&self.world.tables[t].columns[c].words)?.how.clone());
        if let (Some((lead, tail)), 1, Split::Train) = (how, select.len(), self.split)
            && self.rng.chance(0.6)
        {
            let tail = if tail.is_empty() { tail } else { format!(" {tail}") };
            let thing = if self.rng.chance(0.5) { v.clone() } else { format!("the {e} {v}") };
            q.text = format!("{lead} {thing}{tail}?");
            q.links[0].0 = lead;
            q.links.push((v.clone(), name.clone()));
            q.sql = format!("SELECT {} FROM {from} WHERE {name} = {}", select[0], literal(&v));
            return Some(q);
        }
        let said_v = if self.rng.chance(0.12) { format!("\"{v}\"") } else { v.clone() };
        let frame = self.of(frames::LOOKUP.0, frames::LOOKUP.1);
        if self.split == Split::Train && self.world.tables.len() > 1 && !frame.contains("{e}") {
            return None;
        }
        q.text = self.fill(frame, &[("cs", &list_of(&said)), ("e", &e), ("v", &said_v)]);
        q.links.push((v.clone(), name.clone()));
        q.sql = format!("SELECT {} FROM {from} WHERE {name} = {}", select.join(", "), literal(&v));
        Some(q)
    }
}

/// The predicate of one: `have a fee` → `has a fee`, `are active` → `is active`.
fn singular_verb(plural: &str) -> String {
    let (verb, rest) = plural.split_once(' ').unwrap_or((plural, ""));
    let verb = match verb {
        "have" => "has",
        "are" => "is",
        "were" => "was",
        "come" => "comes",
        "live" => "lives",
        v => v,
    };
    format!("{verb} {rest}")
}
