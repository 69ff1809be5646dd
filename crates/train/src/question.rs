//! Questions with their gold SQL, over one database.

use crate::align::{in_order, says};
use crate::condition::{Condition, Lookup, Speaker, plain};
use crate::frames::{self, Frames};
use crate::lexicon::Split;
use crate::schema::{Column, ColumnKind, Shape, quoted};
use crate::text::{capitalised, list_of, literal, number_word};
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
    /// Join conditions.
    pub joins: Vec<String>,
}

/// Stands for the noun of a table that the question does not name.
pub const BETWEEN: &str = "between";

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
        let spoken: Vec<(String, Lookup)> = q.lookups.into_iter().map(|l| (l.spoken.clone(), l)).collect();
        q.lookups =
            in_order(&q.text, &spoken).into_iter().map(|(spoken, l)| Lookup { spoken, ..l }).collect();
        // A table that the question does not name is thought of last.
        let (hidden, named): (Vec<_>, Vec<_>) = q.tables.into_iter().partition(|(n, _)| n == BETWEEN);
        q.tables = in_order(&q.text, &named);
        q.tables.extend(hidden);
        Some(q)
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
            let mut chars = text.chars();
            let first = chars.next().map(|c| c.to_lowercase().collect::<String>()).unwrap_or_default();
            let rest = first + chars.as_str();
            let lead = *self.rng.pick(&["Please ", "Can you ", "Could you please ", "I want you to "]);
            text = lead.to_owned() + &rest;
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
            let mut chars = text.chars();
            text = chars.next().map(|c| c.to_lowercase().collect::<String>()).unwrap_or_default()
                + chars.as_str();
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

    fn single(&mut self, t: usize) -> Option<Question> {
        let weights: Vec<u32> = SINGLE.iter().map(|x| x.1).collect();
        let kind = SINGLE[self.rng.weighted(&weights)].0;
        let mut q = Question { kind, ..Question::default() };
        let (e, many) = self.noun(t);
        let table = &self.world.tables[t];
        let from = quoted(&table.name);
        let label = table.label();
        let rows = table.rows();
        let (mut before, mut w, mut sql) = (String::new(), String::new(), String::new());
        q.tables.push((many.clone(), t));
        match kind {
            "count" | "count_where" => {
                if kind == "count_where" {
                    (before, w, sql) = self.conditions(&mut q, t, &[])?;
                }
                let noun = before + &many;
                q.text = self.frame(&frames::COUNT, &[("E", &noun), ("W", &w)]);
                q.sql = format!("SELECT COUNT(*) FROM {from}{sql}");
            }
            "list" | "list_where" | "order_list" => {
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
                        (c.numeric() || matches!(c.kind, ColumnKind::Date | ColumnKind::Name))
                            && !c.has_null()
                    });
                    if by.is_empty() {
                        return None;
                    }
                    let by = *self.rng.pick(&by);
                    let c = self.say(t, by);
                    let name = self.column(t, by);
                    let down =
                        self.rng.chance(0.45) && self.world.tables[t].columns[by].kind != ColumnKind::Name;
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
            }
            "count_is" | "which_is" => {
                let (_, c) = self.condition(t, &[])?;
                if c.predicate.is_empty() || self.split == Split::Test {
                    return None;
                }
                let is = c.predicate.clone();
                let who = singular_verb(&is);
                (_, _, sql) = Self::where_of(&mut q, c);
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
            }
            "which_where" => {
                let name = self.column(t, label);
                (before, w, sql) = self.conditions(&mut q, t, &[label])?;
                q.links.insert(0, (many.clone(), name.clone()));
                let noun = before + &many;
                q.text = self.frame(&frames::WHICH, &[("E", &noun), ("W", &w)]);
                q.sql = format!("SELECT {name} FROM {from}{sql}");
            }
            "distinct" | "count_distinct" => {
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
            }
            "aggregate" | "aggregate_where" | "two_aggregates" => {
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
                q.text =
                    self.frame(&frames::AGGREGATE, &[("w", &words), ("c", &said), ("E", &noun), ("W", &w)]);
                q.sql = format!("SELECT {select} FROM {from}{sql}");
            }
            "top" | "top_n" => {
                let by = self.columns(t, |c| (c.numeric() || c.kind == ColumnKind::Date) && !c.has_null());
                if by.is_empty() {
                    return None;
                }
                let c = *self.rng.pick(&by);
                let date = self.world.tables[t].columns[c].kind == ColumnKind::Date;
                let high = self.rng.chance(0.6);
                let words = self.world.tables[t].columns[c].words.clone();
                let adjective = self.lexicon.adjectives.get(&words).and_then(|a| a.extremes.clone());
                let adjective = adjective.filter(|_| self.split == Split::Train && self.rng.chance(0.5));
                let hi = if date {
                    if high {
                        self.of(&["latest", "most recent", "newest"], &["latest"])
                    } else {
                        self.of(&["earliest", "oldest", "first"], &["earliest"])
                    }
                } else {
                    self.high_low(high)
                };
                let said = self.say(t, c);
                let name = self.column(t, c);
                let mut oc = if self.rng.chance(0.6) { label } else { *self.shown(t, 1).first()? };
                if oc == c {
                    oc = label;
                }
                if oc == c {
                    return None;
                }
                let oc_said = self.say(t, oc);
                let oc_name = self.column(t, oc);
                if self.rng.chance(0.18) {
                    (before, w, sql) = self.conditions(&mut q, t, &[c, oc])?;
                }
                let (one, noun) = (format!("{before}{e}"), format!("{before}{many}"));
                if kind == "top_n" {
                    let n = self.rng.range(2, (rows as i64 - 1).clamp(2, 5));
                    let said_n = if self.rng.chance(0.35) {
                        number_word(n).unwrap_or("two").to_owned()
                    } else {
                        n.to_string()
                    };
                    let named = self.rng.chance(0.7) || oc == label;
                    let mut ocs = self.plural_of(&oc_said);
                    if self.rng.chance(0.3) {
                        ocs = oc_said.clone();
                    }
                    let frame = self.of(frames::TOP_N.0, frames::TOP_N.1);
                    let (asked, oc_name) = if frame.contains("{ocs}") {
                        (ocs.clone(), oc_name)
                    } else {
                        (many.clone(), self.column(t, label))
                    };
                    let top = if frame.contains("{top}") {
                        if !named && !high {
                            return None;
                        }
                        if high { "top " } else { "bottom " }
                    } else {
                        ""
                    };
                    if let (Some((a, b)), true) = (&adjective, self.rng.chance(0.6)) {
                        let a = if high { a } else { b };
                        let frame = *self.rng.pick(&[
                            "[Which|What] are the {n} {a} {E}{W}?",
                            "[List|Show|Find] the {n} {a} {E}{W}.",
                            "{n} {a} {E}{W}",
                        ]);
                        q.text = self.fill(frame, &[("n", &said_n), ("a", a), ("E", &noun), ("W", &w)]);
                        let l = self.column(t, label);
                        q.links.insert(0, (a.clone(), name.clone()));
                        q.links.insert(0, (many, l.clone()));
                        q.sql = format!(
                            "SELECT {l} FROM {from}{sql} ORDER BY {name}{} LIMIT {n}",
                            if high { " DESC" } else { "" }
                        );
                        return Some(q);
                    }
                    q.links.insert(0, (said.clone(), name.clone()));
                    q.links.insert(0, (asked, oc_name.clone()));
                    q.text = self.fill(
                        frame,
                        &[
                            ("ocs", &ocs),
                            ("n", &said_n),
                            ("E", &noun),
                            ("W", &w),
                            ("hi", hi),
                            ("c", &said),
                            ("top", top),
                        ],
                    );
                    q.sql = format!(
                        "SELECT {oc_name} FROM {from}{sql} ORDER BY {name}{} LIMIT {n}",
                        if high { " DESC" } else { "" }
                    );
                    return Some(q);
                }
                let (select, phrase, by_phrase);
                if let Some((a, b)) = adjective {
                    let a = if high { a } else { b };
                    let frame = self.of(frames::TOP_ADJECTIVE.0, frames::TOP_ADJECTIVE.1);
                    q.text = self
                        .fill(frame, &[("a", &a), ("oc", &oc_said), ("e", &one), ("E", &noun), ("W", &w)]);
                    (select, phrase) =
                        if frame.contains("{oc}") { (oc_name, oc_said) } else { (self.column(t, label), e) };
                    by_phrase = a;
                } else if oc == label && self.rng.chance(0.6) {
                    q.text = self.frame(
                        &frames::TOP_WHICH,
                        &[("e", &one), ("E", &noun), ("W", &w), ("hi", hi), ("c", &said)],
                    );
                    (select, phrase, by_phrase) = (oc_name, e, said);
                } else {
                    q.text = self.frame(
                        &frames::TOP,
                        &[("oc", &oc_said), ("e", &one), ("W", &w), ("hi", hi), ("c", &said)],
                    );
                    (select, phrase, by_phrase) = (oc_name, oc_said, said);
                }
                q.links.insert(0, (by_phrase, name.clone()));
                q.links.insert(0, (phrase, select.clone()));
                q.sql = format!(
                    "SELECT {select} FROM {from}{sql} ORDER BY {name}{} LIMIT 1",
                    if high { " DESC" } else { "" }
                );
            }
            "group_count" | "group_aggregate" | "group_top" | "group_best" | "having" => {
                let g = self.group(t)?;
                let c = self.say(t, g);
                let cp = self.plural_of(&c);
                let name = self.column(t, g);
                q.links.push((c.clone(), name.clone()));
                let group = format!("GROUP BY {name}");
                match kind {
                    "group_count" => {
                        if self.rng.chance(0.15) {
                            (before, w, sql) = self.conditions(&mut q, t, &[g])?;
                        }
                        let noun = before + &many;
                        q.text = self
                            .frame(&frames::GROUP_COUNT, &[("c", &c), ("cp", &cp), ("E", &noun), ("W", &w)]);
                        q.sql = format!("SELECT {name}, COUNT(*) FROM {from}{sql} {group}");
                        if self.rng.chance(0.08) {
                            q.text = q.text.trim_end_matches(['.', '?']).to_owned()
                                + *self.rng.pick(&[
                                    ", most first.",
                                    ", largest count first.",
                                    ", sorted by the count descending.",
                                    ", in descending order of the count.",
                                ]);
                            q.sql += " ORDER BY COUNT(*) DESC";
                        }
                    }
                    "group_aggregate" => {
                        let x = self.number(t, true)?;
                        let (f, words) = self.aggregate();
                        let said = self.say(t, x);
                        let col = self.column(t, x);
                        if self.rng.chance(0.1) {
                            (before, w, sql) = self.conditions(&mut q, t, &[g, x])?;
                        }
                        q.links.push((said.clone(), col.clone()));
                        let noun = before + &many;
                        q.text = self.frame(
                            &frames::GROUP_AGGREGATE,
                            &[("c", &c), ("w", words), ("x", &said), ("E", &noun), ("W", &w)],
                        );
                        q.sql = format!("SELECT {name}, {f}({col}) FROM {from}{sql} {group}");
                    }
                    "group_top" => {
                        if self.world.tables[t].columns[g].has_null() {
                            return None;
                        }
                        let most = self.rng.chance(0.75);
                        let m = if most {
                            self.of(
                                &["most", "highest number of", "largest number of", "greatest number of"],
                                &["most"],
                            )
                        } else {
                            self.of(
                                &["fewest", "least", "lowest number of", "smallest number of"],
                                &["fewest"],
                            )
                        };
                        q.text = if most && self.rng.chance(0.25) {
                            self.frame(&frames::COMMON, &[("c", &c), ("E", &many), ("W", "")])
                        } else {
                            self.frame(&frames::GROUP_TOP, &[("c", &c), ("m", m), ("E", &many), ("W", "")])
                        };
                        q.sql = format!(
                            "SELECT {name} FROM {from} {group} ORDER BY COUNT(*){} LIMIT 1",
                            if most { " DESC" } else { "" }
                        );
                    }
                    "group_best" => {
                        let x = self.number(t, true)?;
                        let (f, words) = if self.rng.chance(0.7) {
                            ("AVG", self.of(frames::AVERAGE.0, frames::AVERAGE.1))
                        } else {
                            ("SUM", self.of(&["total", "combined", "overall"], &["total"]))
                        };
                        let said = self.say(t, x);
                        let col = self.column(t, x);
                        q.links.push((said.clone(), col.clone()));
                        let high = self.rng.chance(0.7);
                        let hi = self.high_low(high);
                        q.text = self.frame(
                            &frames::GROUP_BEST,
                            &[("c", &c), ("hi", hi), ("w", words), ("x", &said), ("E", &many), ("W", "")],
                        );
                        q.sql = format!(
                            "SELECT {name} FROM {from} {group} ORDER BY {f}({col}){} LIMIT 1",
                            if high { " DESC" } else { "" }
                        );
                    }
                    _ => {
                        if self.rng.chance(0.35) {
                            let x = self.number(t, true)?;
                            let value = self.world.tables[t].columns[x]
                                .values
                                .iter()
                                .find(|v| **v != Value::Null)?
                                .clone();
                            let (f, words) = if self.rng.chance(0.6) {
                                ("AVG", self.of(frames::AVERAGE.0, frames::AVERAGE.1))
                            } else {
                                ("SUM", self.of(&["total", "combined"], &["total"]))
                            };
                            let said = self.say(t, x);
                            let col = self.column(t, x);
                            let n = self.say_number(&value);
                            let (op, op_words) = if self.rng.chance(0.65) {
                                (
                                    ">",
                                    self.of(
                                        &["above", "over", "more than", "greater than", "higher than"],
                                        &["above", "over"],
                                    ),
                                )
                            } else {
                                ("<", self.of(&["below", "under", "less than", "lower than"], &["below"]))
                            };
                            q.links.push((said.clone(), col.clone()));
                            q.text = self.frame(
                                &frames::HAVING_AGGREGATE,
                                &[
                                    ("c", &c),
                                    ("cp", &cp),
                                    ("w", words),
                                    ("x", &said),
                                    ("E", &many),
                                    ("op", op_words),
                                    ("n", &n),
                                ],
                            );
                            q.sql = format!(
                                "SELECT {name} FROM {from} {group} HAVING {f}({col}) {op} {}",
                                plain(&value)
                            );
                        } else {
                            let (n, words, test) = self.threshold(4);
                            q.text = self.frame(
                                &frames::HAVING,
                                &[("c", &c), ("cp", &cp), ("op", &words), ("n", &n), ("E", &many), ("W", "")],
                            );
                            q.sql = format!("SELECT {name} FROM {from} {group} HAVING COUNT(*) {test}");
                        }
                    }
                }
            }
            "above_average" => {
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
                    q.text =
                        self.frame(&frames::COUNT_ABOVE, &[("c", &said), ("above", above), ("E", &many)]);
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
            }
            "percent" => {
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
            }
            _ => {
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
                let how = c0.first().and_then(|&c| {
                    self.lexicon.adjectives.get(&self.world.tables[t].columns[c].words)?.how.clone()
                });
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
            }
        }
        Some(q)
    }

    /// `p`: the parent with its condition, as it follows `of`; its SQL.
    fn parent(&mut self, q: &mut Question, a: usize, one: &str) -> Option<(String, String)> {
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

    fn relation(&mut self, phrase: &str, p: &str) -> String {
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

    fn on(&self, child: usize, parent: usize) -> Option<(String, String)> {
        let tables = &self.world.tables;
        let link = tables[child].link_to(parent)?;
        let key = tables[parent].key()?;
        let phrase = match &tables[child].columns[link].kind {
            ColumnKind::Link(_, p) => p.clone(),
            _ => String::new(),
        };
        Some((format!("{} = {}", self.column(child, link), self.column(parent, key)), phrase))
    }

    /// `b` points to `a`.
    fn pair(&mut self, b: usize, a: usize) -> Option<Question> {
        self.qualify = true;
        let weights: Vec<u32> = PAIR.iter().map(|x| x.1).collect();
        let kind = PAIR[self.rng.weighted(&weights)].0;
        let mut q = Question { kind, ..Question::default() };
        let (b_one, b_many) = self.noun(b);
        let (a_one, a_many) = self.noun(a);
        let (ta, tb) = (quoted(&self.world.tables[a].name), quoted(&self.world.tables[b].name));
        let (on, phrase) = self.on(b, a)?;
        let from = format!("{tb} JOIN {ta} ON {on}");
        let a_label = self.world.tables[a].label();
        let b_label = self.world.tables[b].label();
        let a_key = self.column(a, self.world.tables[a].key()?);
        let a_name = self.column(a, a_label);
        q.tables = vec![(b_many.clone(), b), (a_one.clone(), a)];
        q.joins.push(on);
        let group = format!("GROUP BY {a_key}");
        match kind {
            "join_list" | "join_count" | "join_aggregate" => {
                let mut select = String::from("COUNT(*)");
                let (mut said, mut words) = (String::new(), "");
                if kind == "join_list" {
                    let n = 1 + self.rng.weighted(&[75, 25]);
                    let cs = self.shown(b, n);
                    if cs.is_empty() {
                        return None;
                    }
                    (said, select) = self.said_columns(b, &cs, &mut q);
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
                        w = format!("{}{}{w}", c.after, if word.is_empty() { "" } else { word });
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
                    "join_list" => {
                        self.frame(&frames::LIST, &[("cs", &said), ("E", &many), ("e", &one), ("W", &w)])
                    }
                    _ => {
                        self.frame(&frames::AGGREGATE, &[("w", words), ("c", &said), ("E", &many), ("W", &w)])
                    }
                };
                q.sql = format!("SELECT {select} FROM {from} WHERE {sql}");
            }
            "join_pairs" => {
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
            }
            "parent_of" => {
                if self.world.tables[b].columns[b_label].kind != ColumnKind::Name {
                    return None;
                }
                let ac = if self.rng.chance(0.4) { a_label } else { *self.shown(a, 1).first()? };
                let v = text_of(self.rng.pick(&self.world.tables[b].columns[b_label].values.clone()))?;
                let s = self.say(a, ac);
                let (an, bn) = (self.column(a, ac), self.column(b, b_label));
                q.text =
                    self.frame(&frames::PARENT_OF, &[("ac", &s), ("a", &a_one), ("b", &b_one), ("v", &v)]);
                q.links = vec![(s, an.clone()), (v.clone(), bn.clone())];
                q.sql = format!("SELECT {an} FROM {from} WHERE {bn} = {}", literal(&v));
            }
            "children_count" | "children_top" | "children_having" | "children_aggregate"
            | "children_best" => {
                let s = self.say(a, a_label);
                let acp = self.plural_of(&s);
                q.links.push((s.clone(), a_name.clone()));
                let common = [
                    ("a", a_one.as_str()),
                    ("A", &a_many),
                    ("B", &b_many),
                    ("b", &b_one),
                    ("ac", &s),
                    ("acp", &acp),
                ];
                match kind {
                    "children_count" => {
                        q.text = self.frame(&frames::CHILDREN, &common);
                        q.sql = format!("SELECT {a_name}, COUNT(*) FROM {from} {group}");
                    }
                    "children_top" => {
                        let most = self.rng.chance(0.78);
                        let m = if most {
                            self.of(&["most", "highest number of", "largest number of", "most"], &["most"])
                        } else {
                            self.of(&["fewest", "least", "smallest number of"], &["fewest"])
                        };
                        let values = [common.as_slice(), &[("m", m)]].concat();
                        q.text = self.frame(&frames::CHILDREN_TOP, &values);
                        q.sql = format!(
                            "SELECT {a_name} FROM {from} {group} ORDER BY COUNT(*){} LIMIT 1",
                            if most { " DESC" } else { "" }
                        );
                    }
                    "children_having" => {
                        let (n, words, test) = self.threshold(4);
                        let values = [common.as_slice(), &[("op", &words), ("n", &n)]].concat();
                        q.text = self.frame(&frames::CHILDREN_HAVING, &values);
                        q.sql = format!("SELECT {a_name} FROM {from} {group} HAVING COUNT(*) {test}");
                    }
                    _ => {
                        let x = self.number(b, true)?;
                        let said = self.say(b, x);
                        let col = self.column(b, x);
                        q.links.push((said.clone(), col.clone()));
                        if kind == "children_aggregate" {
                            let (f, words) = self.aggregate();
                            let values = [common.as_slice(), &[("w", words), ("x", &said)]].concat();
                            q.text = self.frame(&frames::CHILDREN_AGGREGATE, &values);
                            q.sql = format!("SELECT {a_name}, {f}({col}) FROM {from} {group}");
                        } else {
                            let high = self.rng.chance(0.75);
                            let hi = self.high_low(high);
                            let (f, words) = if self.rng.chance(0.4) {
                                ("AVG", self.of(frames::AVERAGE.0, frames::AVERAGE.1))
                            } else {
                                ("SUM", self.of(&["total", "combined", "overall"], &["total"]))
                            };
                            let values =
                                [common.as_slice(), &[("hi", hi), ("w", words), ("x", &said)]].concat();
                            q.text = self.frame(&frames::CHILDREN_BEST, &values);
                            q.sql = format!(
                                "SELECT {a_name} FROM {from} {group} ORDER BY {f}({col}){} LIMIT 1",
                                if high { " DESC" } else { "" }
                            );
                        }
                    }
                }
            }
            "without_children" | "count_without" | "with_children" => {
                let s = self.say(a, a_label);
                let acp = self.plural_of(&s);
                let link = self.column(b, self.world.tables[b].link_to(a)?);
                let (mut w, mut inner) = (String::new(), String::new());
                if kind == "with_children" && self.rng.chance(0.6) {
                    let (_, c) = self.condition(b, &[])?;
                    if c.before.is_empty() {
                        w.clone_from(&c.after);
                        inner = format!(" WHERE {}", c.sql);
                        q.links.extend(c.links);
                        q.lookups.extend(c.lookups);
                    }
                }
                let common = [
                    ("a", a_one.as_str()),
                    ("A", &a_many),
                    ("B", &b_many),
                    ("b", &b_one),
                    ("acp", &acp),
                    ("W", &w),
                ];
                let not = if kind == "with_children" { "" } else { "NOT " };
                let frame = match kind {
                    "without_children" => &frames::NONE,
                    "count_without" => &frames::COUNT_NONE,
                    _ => &frames::SOME,
                };
                q.text = self.frame(frame, &common);
                let select = if kind == "count_without" { "COUNT(*)".to_owned() } else { a_name.clone() };
                if kind != "count_without" {
                    q.links.insert(0, (s, a_name));
                }
                q.sql = format!(
                    "SELECT {select} FROM {ta} WHERE {a_key} {not}IN (SELECT {link} FROM {tb}{inner})"
                );
            }
            "parent_top" => {
                let by = self.columns(b, |c| c.numeric() && !c.has_null());
                if by.is_empty() {
                    return None;
                }
                let c = *self.rng.pick(&by);
                let high = self.rng.chance(0.65);
                let hi = self.high_low(high);
                let (s, said) = (self.say(a, a_label), self.say(b, c));
                let col = self.column(b, c);
                q.text = self.frame(
                    &frames::PARENT_TOP,
                    &[("ac", &s), ("a", &a_one), ("b", &b_one), ("hi", hi), ("c", &said)],
                );
                q.links = vec![(s, a_name.clone()), (said, col.clone())];
                q.sql = format!(
                    "SELECT {a_name} FROM {from} ORDER BY {col}{} LIMIT 1",
                    if high { " DESC" } else { "" }
                );
            }
            _ => {
                let g = self.group(a)?;
                let said = self.say(a, g);
                let col = self.column(a, g);
                let c = format!("{a_one} {said}");
                let cp = self.plural_of(&c);
                q.links.push((c.clone(), col.clone()));
                if self.rng.chance(0.6) {
                    q.text = self
                        .frame(&frames::GROUP_COUNT, &[("c", &c), ("cp", &cp), ("E", &b_many), ("W", "")]);
                    q.sql = format!("SELECT {col}, COUNT(*) FROM {from} GROUP BY {col}");
                } else {
                    let x = self.number(b, true)?;
                    let (f, words) = self.aggregate();
                    let xs = self.say(b, x);
                    let xc = self.column(b, x);
                    q.links.push((xs.clone(), xc.clone()));
                    q.text = self.frame(
                        &frames::GROUP_AGGREGATE,
                        &[("c", &c), ("w", words), ("x", &xs), ("E", &b_many), ("W", "")],
                    );
                    q.sql = format!("SELECT {col}, {f}({xc}) FROM {from} GROUP BY {col}");
                }
            }
        }
        Some(q)
    }

    /// `c` points to `b`, `b` points to `a`; the question joins all three.
    fn chain(&mut self, c: usize, b: usize, a: usize) -> Option<Question> {
        self.qualify = true;
        let kind = *self.rng.pick(&["chain_list", "chain_count", "chain_top"]);
        let mut q = Question { kind, ..Question::default() };
        let (_, c_many) = self.noun(c);
        let (b_one, _) = self.noun(b);
        let (a_one, a_many) = self.noun(a);
        let name = |t: usize| quoted(&self.world.tables[t].name);
        let (on1, phrase) = self.on(c, b)?;
        let (on2, phrase2) = self.on(b, a)?;
        let from = format!("{} JOIN {} ON {on1} JOIN {} ON {on2}", name(c), name(b), name(a));
        q.tables = vec![(c_many.clone(), c), (b_one.clone(), b), (a_one.clone(), a)];
        q.joins = vec![on1, on2];
        if kind == "chain_top" {
            let label = self.world.tables[a].label();
            let s = self.say(a, label);
            let a_name = self.column(a, label);
            let key = self.column(a, self.world.tables[a].key()?);
            let most = self.rng.chance(0.8);
            let m = if most { "most" } else { "fewest" };
            q.text = self.frame(
                &frames::CHILDREN_TOP,
                &[("a", &a_one), ("A", &a_many), ("B", &c_many), ("ac", &s), ("m", m)],
            );
            q.links.push((s, a_name.clone()));
            q.tables = vec![(a_one, a), (c_many, c), (BETWEEN.into(), b)];
            q.sql = format!(
                "SELECT {a_name} FROM {from} GROUP BY {key} ORDER BY COUNT(*){} LIMIT 1",
                if most { " DESC" } else { "" }
            );
            return Some(q);
        }
        let mut select = "COUNT(*)".to_owned();
        let mut said = String::new();
        if kind == "chain_list" {
            let cs = self.shown(c, 1);
            if cs.is_empty() {
                return None;
            }
            (said, select) = self.said_columns(c, &cs, &mut q);
        }
        let (p, test) = self.parent(&mut q, a, &a_one)?;
        let inner = self.relation(&phrase2, &p);
        // With or without the table between.
        let w = if self.rng.chance(0.7) {
            let of = self.relation(&phrase, &format!("a {b_one}"));
            let of = of.replace(" that have a ", " of a ");
            format!("{of}{inner}")
        } else {
            q.tables = vec![(c_many.clone(), c), (a_one, a), (BETWEEN.into(), b)];
            inner
        };
        let e = self.world.tables[c].one.clone();
        q.text = if kind == "chain_list" {
            self.frame(&frames::LIST, &[("cs", &said), ("E", &c_many), ("e", &e), ("W", &w)])
        } else {
            self.frame(&frames::COUNT, &[("E", &c_many), ("W", &w)])
        };
        q.sql = format!("SELECT {select} FROM {from} WHERE {test}");
        Some(q)
    }

    /// `j` points to both `a` and `b`.
    fn many(&mut self, a: usize, j: usize, b: usize) -> Option<Question> {
        self.qualify = true;
        let kind = ["many_list", "many_count", "many_pairs", "many_group", "many_top", "many_without"]
            [self.rng.weighted(&[34, 18, 14, 12, 14, 8])];
        let mut q = Question { kind, ..Question::default() };
        let (a_one, a_many) = self.noun(a);
        let (b_one, b_many) = self.noun(b);
        let name = |t: usize| quoted(&self.world.tables[t].name);
        let (on1, _) = self.on(j, a)?;
        let (on2, phrase) = self.on(j, b)?;
        let (ta, tj, tb) = (name(a), name(j), name(b));
        let from = format!("{ta} JOIN {tj} ON {on1} JOIN {tb} ON {on2}");
        q.tables = vec![(a_many.clone(), a), (b_one.clone(), b), (BETWEEN.into(), j)];
        q.joins = vec![on1, on2];
        let (la, lb) = (self.world.tables[a].label(), self.world.tables[b].label());
        let key = self.column(a, self.world.tables[a].key()?);
        match kind {
            "many_list" | "many_count" => {
                let (mut said, mut select) = (String::new(), "COUNT(*)".to_owned());
                if kind == "many_list" {
                    let cs = self.shown(a, 1);
                    if cs.is_empty() {
                        return None;
                    }
                    (said, select) = self.said_columns(a, &cs, &mut q);
                }
                let (p, test) = self.parent(&mut q, b, &b_one)?;
                let w = self.relation(&phrase, &p);
                q.text = if kind == "many_list" {
                    self.frame(&frames::LIST, &[("cs", &said), ("E", &a_many), ("e", &a_one), ("W", &w)])
                } else {
                    self.frame(&frames::COUNT, &[("E", &a_many), ("W", &w)])
                };
                q.sql = format!("SELECT {select} FROM {from} WHERE {test}");
            }
            "many_pairs" => {
                let (os, bs) = (self.say(a, la), self.say(b, lb));
                let (an, bn) = (self.column(a, la), self.column(b, lb));
                q.text = self.frame(
                    &frames::BOTH,
                    &[("oc", &os), ("ac", &bs), ("a", &a_one), ("A", &a_many), ("b", &b_one), ("B", &b_many)],
                );
                q.links = vec![(format!("{a_one} {os}"), an.clone()), (format!("{b_one} {bs}"), bn.clone())];
                q.sql = format!("SELECT {an}, {bn} FROM {from}");
            }
            "many_without" => {
                let s = self.say(a, la);
                let acp = self.plural_of(&s);
                let an = self.column(a, la);
                let link = self.column(j, self.world.tables[j].link_to(a)?);
                q.text = self
                    .frame(&frames::NONE, &[("a", &a_one), ("A", &a_many), ("B", &b_many), ("acp", &acp)]);
                q.links = vec![(s, an.clone())];
                q.joins.truncate(1);
                q.tables = vec![(a_many.clone(), a), (b_one.clone(), b), (BETWEEN.into(), j)];
                q.sql = format!("SELECT {an} FROM {ta} WHERE {key} NOT IN (SELECT {link} FROM {tj})");
            }
            _ => {
                let s = self.say(a, la);
                let acp = self.plural_of(&s);
                let an = self.column(a, la);
                q.links = vec![(s.clone(), an.clone())];
                q.joins.truncate(1);
                let short = format!("{ta} JOIN {tj} ON {}", q.joins[0]);
                let common = [
                    ("a", a_one.as_str()),
                    ("A", &a_many),
                    ("B", &b_many),
                    ("b", &b_one),
                    ("ac", &s),
                    ("acp", &acp),
                ];
                if kind == "many_group" {
                    q.text = self.frame(&frames::CHILDREN, &common);
                    q.sql = format!("SELECT {an}, COUNT(*) FROM {short} GROUP BY {key}");
                } else {
                    let most = self.rng.chance(0.8);
                    let m = if most { "most" } else { "fewest" };
                    let values = [common.as_slice(), &[("m", m)]].concat();
                    q.text = self.frame(&frames::CHILDREN_TOP, &values);
                    q.sql = format!(
                        "SELECT {an} FROM {short} GROUP BY {key} ORDER BY COUNT(*){} LIMIT 1",
                        if most { " DESC" } else { "" }
                    );
                }
            }
        }
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

fn text_of(value: &Value) -> Option<String> {
    match value {
        Value::Text(t) => Some(t.clone()),
        _ => None,
    }
}
