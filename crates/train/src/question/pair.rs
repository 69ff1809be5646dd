//! Questions over two tables of which one points to the other, as conditions and as columns side by side.

use super::{Question, text_of};
use crate::condition::Speaker;
use crate::frames;
use crate::lexicon::Split;
use crate::schema::{ColumnKind, quoted};
use crate::text::literal;

const PAIR: [(&str, u32); 15] = [
    ("join_list", 16),
    ("join_count", 10),
    ("join_aggregate", 7),
    ("join_pairs", 8),
    ("parent_of", 8),
    ("children_count", 8),
    ("children_top", 8),
    ("children_having", 5),
    ("without_children", 7),
    ("count_without", 3),
    ("with_children", 5),
    ("children_aggregate", 5),
    ("children_best", 4),
    ("parent_top", 5),
    ("join_group", 6),
];

/// A question that is begun, about `b` that points to `a`, and what every kind of it uses.
pub(super) struct Pair {
    /// The question, with its tables and join.
    pub q: Question,
    /// Index of the table pointed to.
    pub a: usize,
    /// Index of the table that points.
    pub b: usize,
    /// Noun for a row of `a`.
    pub a_one: String,
    /// Its plural.
    pub a_many: String,
    /// Noun for a row of `b`.
    pub b_one: String,
    /// Its plural.
    pub b_many: String,
    /// `a` in SQL.
    pub ta: String,
    /// `b` in SQL.
    pub tb: String,
    /// The join in SQL.
    pub from: String,
    /// How the link is said (`played at`); empty where it has no words.
    pub phrase: String,
    /// The column that says what a row of `a` is called.
    pub a_label: usize,
    /// The same for `b`.
    pub b_label: usize,
    /// Key of `a` in SQL.
    pub a_key: String,
    /// Label of `a` in SQL.
    pub a_name: String,
    /// `GROUP BY` the key of `a`.
    pub group: String,
}

impl Speaker<'_> {
    /// `b` points to `a`.
    pub(super) fn pair(&mut self, b: usize, a: usize) -> Option<Question> {
        self.qualify = true;
        let weights: Vec<u32> = PAIR.iter().map(|x| x.1).collect();
        let kind = PAIR[self.rng.weighted(&weights)].0;
        let (b_one, b_many) = self.noun(b);
        let (a_one, a_many) = self.noun(a);
        let (ta, tb) = (quoted(&self.world.tables[a].name), quoted(&self.world.tables[b].name));
        let (on, phrase) = self.on(b, a)?;
        let from = format!("{tb} JOIN {ta} ON {on}");
        let a_label = self.world.tables[a].label();
        let b_label = self.world.tables[b].label();
        let a_key = self.column(a, self.world.tables[a].key()?);
        let a_name = self.column(a, a_label);
        let tables = vec![(b_many.clone(), b), (a_one.clone(), a)];
        let q = Question { kind, tables, ..Question::default() };
        let group = format!("GROUP BY {a_key}");
        let pair = Pair {
            q,
            a,
            b,
            a_one,
            a_many,
            b_one,
            b_many,
            ta,
            tb,
            from,
            phrase,
            a_label,
            b_label,
            a_key,
            a_name,
            group,
        };
        match kind {
            "join_list" | "join_count" | "join_aggregate" => self.joined(pair),
            "join_pairs" => self.side_by_side(pair),
            "parent_of" => self.parent_of(pair),
            "children_count" | "children_top" | "children_having" | "children_aggregate"
            | "children_best" => self.children(pair),
            "without_children" | "count_without" | "with_children" => self.with_or_without(pair),
            "parent_top" => self.parent_of_top(pair),
            _ => self.grouped_by_parent(pair),
        }
    }

    /// Rows of the one under a condition on the other.
    fn joined(&mut self, pair: Pair) -> Option<Question> {
        let Pair { mut q, a, b, a_one, b_one, b_many, from, phrase, b_label, .. } = pair;
        let kind = q.kind;
        let mut select = String::from("COUNT(*)");
        let (mut said, mut words) = (String::new(), "");
        if kind == "join_list" {
            let n = 1 + self.rng.weighted(&[75, 25]);
            (said, select) = self.listed(b, n, &mut q)?;
            if self.rng.chance(0.25) {
                said = String::new();
                select = self.column(b, b_label);
                q.links = vec![(b_many.clone(), select.clone())];
            }
        } else if kind == "join_aggregate" {
            let c = self.number(b, true)?;
            let (f, w) = self.aggregate();
            words = w;
            said = self.say(b, c);
            let name = self.column(b, c);
            q.links.push((said.clone(), name.clone()));
            select = format!("{f}({name})");
        }
        let (p, test) = self.parent(&mut q, a, &a_one)?;
        let mut w = self.relation(&phrase, &p);
        let mut sql = test;
        let mut before = String::new();
        if self.rng.chance(0.12)
            && let Some((_, c)) = self.condition(b, &[b_label])
        {
            if c.before.is_empty() {
                let word = *self.rng.pick(&[" and", ""]);
                w = format!("{}{word}{w}", c.after);
                if w.contains(" and of ") {
                    return None;
                }
            } else {
                before = c.before;
            }
            sql = format!("{sql} AND {}", c.sql);
            q.links.extend(c.links);
            q.lookups.extend(c.lookups);
        }
        let (one, many) = (format!("{before}{b_one}"), format!("{before}{b_many}"));
        q.text = match kind {
            "join_count" => self.frame(&frames::COUNT, &[("E", &many), ("W", &w)]),
            "join_list" if said.is_empty() => self.frame(&frames::WHICH, &[("E", &many), ("W", &w)]),
            "join_list" => self.frame(&frames::LIST, &[("cs", &said), ("E", &many), ("e", &one), ("W", &w)]),
            _ => self.frame(&frames::AGGREGATE, &[("w", words), ("c", &said), ("E", &many), ("W", &w)]),
        };
        q.sql = format!("SELECT {select} FROM {from} WHERE {sql}");
        Some(q)
    }

    /// Columns of both.
    fn side_by_side(&mut self, pair: Pair) -> Option<Question> {
        let Pair { mut q, a, b, a_one, b_one, b_many, from, a_label, b_label, .. } = pair;
        let oc = if self.rng.chance(0.6) { b_label } else { *self.shown(b, 1).first()? };
        let ac = if self.rng.chance(0.7) { a_label } else { *self.shown(a, 1).first()? };
        let (os, as_) = (self.say(b, oc), self.say(a, ac));
        let (on_, an) = (self.column(b, oc), self.column(a, ac));
        q.text = self.frame(
            &frames::PAIRS,
            &[("oc", &os), ("ac", &as_), ("b", &b_one), ("B", &b_many), ("a", &a_one)],
        );
        q.links = vec![(os, on_.clone()), (format!("{a_one} {as_}"), an.clone())];
        q.sql = format!("SELECT {on_}, {an} FROM {from}");
        Some(q)
    }

    /// What a named row belongs to.
    fn parent_of(&mut self, pair: Pair) -> Option<Question> {
        let Pair { mut q, a, b, a_one, b_one, from, a_label, b_label, .. } = pair;
        if self.world.tables[b].columns[b_label].kind != ColumnKind::Name {
            return None;
        }
        let ac = if self.rng.chance(0.4) { a_label } else { *self.shown(a, 1).first()? };
        let v = text_of(self.rng.pick(&self.world.tables[b].columns[b_label].values.clone()))?;
        let s = self.say(a, ac);
        let (an, bn) = (self.column(a, ac), self.column(b, b_label));
        q.text = self.frame(&frames::PARENT_OF, &[("ac", &s), ("a", &a_one), ("b", &b_one), ("v", &v)]);
        q.links = vec![(s, an.clone()), (v.clone(), bn.clone())];
        q.sql = format!("SELECT {an} FROM {from} WHERE {bn} = {}", literal(&v));
        Some(q)
    }

    /// `p`: the parent with its condition, as it follows `of`; its SQL.
    pub(super) fn parent(&mut self, q: &mut Question, a: usize, one: &str) -> Option<(String, String)> {
        let label = self.world.tables[a].label();
        let named = self.world.tables[a].columns[label].kind == ColumnKind::Name;
        if named && self.rng.chance(0.55) {
            let v = text_of(self.rng.pick(&self.world.tables[a].columns[label].values.clone()))?;
            let name = self.column(a, label);
            q.links.push((v.clone(), name.clone()));
            let said = if self.rng.chance(0.15) { format!("\"{v}\"") } else { v.clone() };
            let p = match self.rng.below(5) {
                0 | 1 => format!("the {one} {said}"),
                2 => format!("the {one} named {said}"),
                3 => format!("the {one} called {said}"),
                // A name alone does not say whose it is; only the held-out split asks so.
                _ if self.split == Split::Train => format!("the {one} {said}"),
                _ => said,
            };
            return Some((p, format!("{name} = {}", literal(&v))));
        }
        let (_, c) = self.condition(a, if named { std::slice::from_ref(&label) } else { &[] })?;
        let many = self.world.tables[a].many.clone();
        let p = match self.rng.below(3) {
            0 => format!("the {}{one}{}", c.before, c.after),
            1 => format!("{}{many}{}", c.before, c.after),
            _ => format!("a {}{one}{}", c.before, c.after),
        };
        q.links.extend(c.links);
        q.lookups.extend(c.lookups);
        Some((p, c.sql))
    }

    /// The words that tie a row to the parent `p`, with a leading space.
    pub(super) fn relation(&mut self, phrase: &str, p: &str) -> String {
        if !phrase.is_empty() && self.rng.chance(0.4) {
            return format!(" {phrase} {p}");
        }
        loop {
            let r = self.of(frames::RELATION.0, frames::RELATION.1);
            let bare = !p.starts_with("the ") && !p.starts_with("a ");
            // "that have Anna Smith" says nothing.
            if !(bare && r.contains("that have")) {
                return self.fill(r, &[("p", p)]);
            }
        }
    }

    /// The condition that joins two tables, and how the link is said.
    pub(super) fn on(&self, child: usize, parent: usize) -> Option<(String, String)> {
        let tables = &self.world.tables;
        let link = tables[child].link_to(parent)?;
        let key = tables[parent].key()?;
        let phrase = match &tables[child].columns[link].kind {
            ColumnKind::Link(_, p) => p.clone(),
            _ => String::new(),
        };
        Some((format!("{} = {}", self.column(child, link), self.column(parent, key)), phrase))
    }
}
