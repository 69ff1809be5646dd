//! Conditions: a phrase after the noun, the same condition in SQL, and what must be looked up for it.

use crate::lexicon::{Lexicon, Split};
use crate::rng::Rng;
use crate::schema::{ColumnKind, World, quoted};
use crate::text::{capitalised, expand, literal, number_word, plural};
use rusqlite::types::Value;

/// A value whose spelling in the database the question does not tell for certain.
#[derive(Clone, Debug, PartialEq)]
pub struct Lookup {
    /// Index of the table.
    pub table: usize,
    /// Index of the column.
    pub column: usize,
    /// As the question says it.
    pub spoken: String,
    /// As the database has it.
    pub literal: String,
}

/// A condition on one table.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Condition {
    /// What goes before the noun (`active `); empty when `after` says it.
    pub before: String,
    /// What goes after the noun, with a leading space.
    pub after: String,
    /// The condition in SQL.
    pub sql: String,
    /// Phrase and column, for the reasoning.
    pub links: Vec<(String, String)>,
    /// Values to look up.
    pub lookups: Vec<Lookup>,
    /// `is active`: the condition as a predicate, where it has one.
    pub predicate: String,
}

/// What the askers share: the world, the words, the split.
pub struct Speaker<'a> {
    /// The database.
    pub world: &'a World,
    /// The words.
    pub lexicon: &'a Lexicon,
    /// Which frames may be used.
    pub split: Split,
    /// Random numbers.
    pub rng: Rng,
    /// Columns are written `table.column`.
    pub qualify: bool,
}

/// What may lead to a column and its verb: `whose` fare is 7.
const WHOSE: &str =
    "[whose|in which the|of which the|if the|provided the|as long as the|such that the|when the|where their]";

/// What may lead to a column and its value: `carrying` a fare of 7.
const HAVING: &str =
    "[holding|carrying|featuring|possessing|reporting|that carry|that got|that hold|that {r1}|{r1}]";

const PLACES: [&str; 12] = [
    "city",
    "country",
    "region",
    "state",
    "location",
    "headquarters",
    "hometown",
    "destination",
    "nationality",
    "hub airport",
    "town",
    "flag",
];

impl Speaker<'_> {
    /// One of `train` or `test`, by split.
    pub fn of(&mut self, train: &'static [&'static str], test: &'static [&'static str]) -> &'static str {
        let pool = if self.split == Split::Train { train } else { test };
        self.rng.pick::<&'static str>(pool)
    }

    /// A frame with its values; `{whose}` and `{having}` in it stand for [`WHOSE`] and [`HAVING`], `{r1}` and `{r2}` for any words.
    pub fn fill(&mut self, frame: &str, values: &[(&str, &str)]) -> String {
        let frame = frame.replace("{whose}", WHOSE).replace("{having}", HAVING);
        if !frame.contains("{r") {
            return expand(&mut self.rng, &frame, values);
        }
        let words = &self.lexicon.words;
        let (a, b) = (self.rng.pick(words).clone(), self.rng.pick(words).clone());
        expand(&mut self.rng, &frame, &[values, &[("r1", &a), ("r2", &b)]].concat())
    }

    /// A column in SQL.
    pub fn column(&self, table: usize, column: usize) -> String {
        let t = &self.world.tables[table];
        let c = quoted(&t.columns[column].name);
        if self.qualify { format!("{}.{c}", quoted(&t.name)) } else { c }
    }

    /// A column in a question: its main name, sometimes another.
    pub fn say(&mut self, table: usize, column: usize) -> String {
        let c = &self.world.tables[table].columns[column];
        if !c.synonyms.is_empty() && self.rng.chance(0.22) {
            self.rng.pick(&c.synonyms).clone()
        } else {
            c.words.clone()
        }
    }

    /// The columns of a table that pass a test, their indices.
    pub fn columns(&self, table: usize, pass: impl Fn(&crate::schema::Column) -> bool) -> Vec<usize> {
        let t = &self.world.tables[table];
        (0..t.columns.len()).filter(|&c| pass(&t.columns[c])).collect()
    }

    /// A number as people write it.
    pub fn say_number(&mut self, value: &Value) -> String {
        match value {
            Value::Integer(n) if self.rng.chance(0.12) => {
                number_word(*n).map_or_else(|| n.to_string(), str::to_owned)
            }
            Value::Integer(n) if *n >= 10_000 && self.rng.chance(0.1) => {
                let s = n.to_string();
                let (head, tail) = s.split_at(s.len() - 3);
                format!("{head},{tail}")
            }
            Value::Integer(n) => n.to_string(),
            Value::Real(x) => number(*x),
            _ => String::new(),
        }
    }

    /// A condition on some column of `table` (never one of `but`); `None` when the table has nothing to filter by.
    pub fn condition(&mut self, table: usize, but: &[usize]) -> Option<(usize, Condition)> {
        let usable = self.columns(table, |c| {
            !matches!(c.kind, ColumnKind::Key | ColumnKind::Link(..))
                && c.values.iter().any(|v| *v != Value::Null)
        });
        let usable: Vec<usize> = usable.into_iter().filter(|c| !but.contains(c)).collect();
        if usable.is_empty() {
            return None;
        }
        let c = *self.rng.pick(&usable);
        let column = &self.world.tables[table].columns[c];
        let nullable = column.has_null();
        if (nullable && self.rng.chance(0.4)) || self.rng.chance(0.012) {
            return Some((c, self.null(table, c)));
        }
        let condition = match &column.kind {
            ColumnKind::Integer | ColumnKind::Real => self.number_condition(table, c),
            ColumnKind::Category => self.category(table, c),
            ColumnKind::Date => self.date(table, c),
            ColumnKind::Flag => self.flag(table, c),
            ColumnKind::Name if self.rng.chance(0.45) => self.like(table, c),
            ColumnKind::Name => self.named(table, c),
            _ => self.like(table, c),
        };
        Some((c, condition))
    }

    fn value(&mut self, table: usize, column: usize) -> Value {
        let known: Vec<Value> = self.world.tables[table].columns[column]
            .values
            .iter()
            .filter(|v| **v != Value::Null)
            .cloned()
            .collect();
        self.rng.pick(&known).clone()
    }

    /// Rows called by their name.
    pub fn named(&mut self, table: usize, column: usize) -> Condition {
        let c = self.say(table, column);
        let Value::Text(v) = self.value(table, column) else { return Condition::default() };
        let said = if self.rng.chance(0.2) { format!("\"{v}\"") } else { v.clone() };
        let frame = self.of(
            &[
                " named {v}",
                " called {v}",
                " with [the |]{c} {v}",
                " whose {c} is {v}",
                " with {c} = {v}",
                " where [the |]{c} is {v}",
                " {whose} {c} [is|was|is given as|remains|{r1}] {v}",
                " [known as|referred to as|under the name|listed as|{r1} as] {v}",
            ],
            &[" that go by the {c} {v}", " bearing the {c} {v}"],
        );
        let after = self.fill(frame, &[("v", &said), ("c", &c)]);
        let name = self.column(table, column);
        Condition {
            after,
            sql: format!("{name} = {}", literal(&v)),
            links: vec![(c, name)],
            ..Condition::default()
        }
    }

    fn null(&mut self, table: usize, column: usize) -> Condition {
        let c = self.say(table, column);
        let name = self.column(table, column);
        let (frame, sql) = if self.rng.chance(0.6) {
            let frame = self.of(
                &[
                    " without [a |any |]{c}",
                    " with no {c}",
                    " whose {c} is [missing|null|unknown|empty|not known|not set]",
                    " where [the |]{c} is [missing|null|unknown|empty]",
                    " with [a missing|missing|an unknown|no known] {c}",
                    " that have no {c}",
                    " lacking a {c}",
                    " {whose} {c} [is absent|is blank|was left out|is not filled in|was not stated|is nowhere to be found|was never {r1}]",
                    " [missing|not giving|that miss|that got no|that show no] {c}",
                ],
                &[" for which no {c} is given", " that lack a {c}"],
            );
            (frame, format!("{name} IS NULL"))
        } else {
            let frame = self.of(
                &[
                    " that have a {c}",
                    " with a known {c}",
                    " whose {c} is [known|not null|not missing|set|given]",
                    " where [the |]{c} is [not null|known|given|not empty]",
                    " {whose} {c} [is present|is there|was filled in|was stated|was {r1}]",
                    " [showing|giving|that got|that come with] [some|any|a] {c}",
                ],
                &[" for which a {c} is given"],
            );
            (frame, format!("{name} IS NOT NULL"))
        };
        let after = self.fill(frame, &[("c", &c)]);
        let predicate =
            if sql.ends_with("NOT NULL") { format!("have a {c}") } else { format!("have no {c}") };
        Condition { after, sql, links: vec![(c, name)], predicate, ..Condition::default() }
    }

    fn number_condition(&mut self, table: usize, column: usize) -> Condition {
        let col = &self.world.tables[table].columns[column];
        let words = col.words.clone();
        let year = words.contains("year") && !words.starts_with("year")
            || words.starts_with("year ") && words.len() < 14;
        let c = self.say(table, column);
        let name = self.column(table, column);
        let value = self.value(table, column);
        // A bound between the values now and then.
        let value = match value {
            Value::Integer(n) if !year && n > 20 && self.rng.chance(0.4) => {
                Value::Integer(if n > 500 { n / 100 * 100 } else { n / 10 * 10 })
            }
            v => v,
        };
        let n = self.say_number(&value);
        let sql_n = plain(&value);
        let links = vec![(c.clone(), name.clone())];
        let kind = self.rng.weighted(&[34, 30, 9, 9, 8, 3, 9]);
        // An adjective instead of the column's name.
        if kind < 2
            && self.split == Split::Train
            && self.rng.chance(0.35)
            && let Some((more, less)) =
                self.lexicon.adjectives.get(&words).and_then(|a| a.comparatives.clone())
        {
            let phrase = if kind == 0 { more } else { less };
            let lead = if phrase.starts_with("who ") || phrase.starts_with("with ") || !self.rng.chance(0.3) {
                " "
            } else {
                " that are "
            };
            let lead = if phrase.ends_with("er than") { lead } else { " " };
            let op = if kind == 0 { ">" } else { "<" };
            return Condition {
                after: format!("{lead}{phrase} {n}"),
                sql: format!("{name} {op} {sql_n}"),
                links: vec![(phrase, name)],
                ..Condition::default()
            };
        }
        let other = self.value(table, column);
        if kind == 6 && float(&other) != float(&value) {
            let (low, high) = if float(&value) <= float(&other) { (value, other) } else { (other, value) };
            let (a, b) = (self.say_number(&low), self.say_number(&high));
            let frame = self.of(
                &[
                    " with [a |an |]{c} between {a} and {b}",
                    " whose {c} is between {a} and {b}",
                    " with {c} from {a} to {b}",
                    " where [the |]{c} is between {a} and {b}",
                    " that have [a |an |]{c} between {a} and {b}",
                    " between {a} and {b} in {c}",
                    " with {c} in the range {a} to {b}",
                    " {whose} {c} [is anywhere|ranges|is somewhere|{r1}] between {a} and {b}",
                    " {having} [a |the |]{c} [of |]between {a} and {b}",
                    " {whose} {c} is [no less than|at least] {a} and [no more than|at most] {b}",
                ],
                &[" whose {c} lies between {a} and {b}", " having {c} {a} to {b}"],
            );
            let after = self.fill(frame, &[("c", &c), ("a", &a), ("b", &b)]);
            let sql = format!("{name} BETWEEN {} AND {}", plain(&low), plain(&high));
            return Condition { after, sql, links, ..Condition::default() };
        }
        let (op, words): (&str, &[&str]) = match (kind, year) {
            (0, true) => (">", &["after", "later than", "after"]),
            (1, true) => ("<", &["before", "earlier than", "before"]),
            (2, true) => (">=", &["since", "from", "in or after"]),
            (3, true) => ("<=", &["up to", "until", "in or before"]),
            (0, false) => (
                ">",
                &[
                    "more than",
                    "greater than",
                    "over",
                    "above",
                    "higher than",
                    "larger than",
                    "exceeding",
                    ">",
                    "bigger than",
                ],
            ),
            (1, false) => {
                ("<", &["less than", "under", "below", "lower than", "smaller than", "fewer than", "<"])
            }
            (2, false) => {
                (">=", &["at least", "no less than", "not less than", "of at least", ">=", "a minimum of"])
            }
            (3, false) => {
                ("<=", &["at most", "no more than", "up to", "not more than", "<=", "a maximum of"])
            }
            (5, _) => ("<>", &["not", "other than", "different from", "not equal to"]),
            (_, true) => ("=", &["in", "of", "equal to"]),
            _ => ("=", &["equal to", "exactly", "of", "of exactly", "="]),
        };
        let op_words = (*self.rng.pick(words)).to_owned();
        let frame = if op == "=" {
            self.of(
                &[
                    " with [a |an |]{c} {op} {n}",
                    " whose {c} is {n}",
                    " where [the |]{c} is {n}",
                    " with {c} {n}",
                    " that have [a |an |]{c} {op} {n}",
                    " with {c} = {n}",
                    " {whose} {c} [amounts to|comes to|stands at|is set at|is given as|is put at|turned out to be|has been|remains|is recorded as|{r1}] {n}",
                    " {having} [a |the |an |]{c} [of |at |being |]{n}",
                    " [at|of] {n} {c}",
                ],
                &[" whose {c} equals {n}", " having the {c} {n}"],
            )
        } else {
            self.of(
                &[
                    " with [a |an |]{c} {op} {n}",
                    " whose {c} is {op} {n}",
                    " that have [a |an |]{c} {op} {n}",
                    " where [the |]{c} is {op} {n}",
                    " having [a |an |]{c} {op} {n}",
                    " with {c} {op} {n}",
                    " with [a |]{c} [that is |]{op} {n}",
                    " with {op} {n} {c}",
                    " where {c} {op} {n}",
                    " if the {c} is {op} {n}",
                    " {whose} {c} [is|was|comes to|stands at|is put at|turned out to be|has been|remains|{r1}] {op} {n}",
                    " {having} [a |the |an |]{c} {op} {n}",
                    " {whose} {c} is [clearly |found to be |known to be |said to be |]{op} {n}",
                ],
                &[
                    " for which the {c} is {op} {n}",
                    " whose {c} happens to be {op} {n}",
                    " that show a {c} {op} {n}",
                ],
            )
        };
        let article = *self.rng.pick::<&str>(&["a ", "", "an ", "a "]);
        let predicate = match op {
            "=" => format!("have {article}{c} of {n}"),
            _ if self.rng.chance(0.15) => format!("have {op_words} {n} {c}"),
            _ => format!("have {article}{c} {op_words} {n}"),
        };
        let after = self.fill(frame, &[("c", &c), ("op", &op_words), ("n", &n)]);
        Condition { after, sql: format!("{name} {op} {sql_n}"), links, predicate, ..Condition::default() }
    }

    fn category(&mut self, table: usize, column: usize) -> Condition {
        let Value::Text(v) = self.value(table, column) else { return Condition::default() };
        let c = self.say(table, column);
        let words = self.world.tables[table].columns[column].words.clone();
        let name = self.column(table, column);
        let quoted_value = self.rng.chance(0.15);
        let say = |rng: &mut Rng, v: &str| match rng.weighted(&[45, 40, 15]) {
            0 => v.to_owned(),
            1 => v.to_lowercase(),
            _ => v.split(' ').map(|w| capitalised(&w.to_lowercase())).collect::<Vec<_>>().join(" "),
        };
        let said = if quoted_value {
            if self.rng.chance(0.5) { format!("'{v}'") } else { format!("\"{v}\"") }
        } else {
            say(&mut self.rng, &v)
        };
        let look = |spoken: &str, v: &str| Lookup {
            table,
            column,
            spoken: spoken.to_owned(),
            literal: v.to_owned(),
        };
        let mut lookups = if quoted_value { Vec::new() } else { vec![look(&said, &v)] };
        let is = literal(&v);
        let roll = self.rng.weighted(&[74, 10, 16]);
        if roll == 1 {
            let frame = self.of(
                &[
                    " whose {c} is not {v}",
                    " where [the |]{c} is not {v}",
                    " with [a |]{c} other than {v}",
                    " that do not have the {c} {v}",
                    " not having {c} {v}",
                    " {whose} {c} is [anything but|never|by no means|some other than] {v}",
                    " [except|apart from|other than] those with {v} {c}",
                ],
                &[" whose {c} differs from {v}"],
            );
            let after = self.fill(frame, &[("c", &c), ("v", &said)]);
            return Condition {
                after,
                sql: format!("{name} <> {is}"),
                links: vec![(c, name)],
                lookups,
                ..Condition::default()
            };
        }
        let other = self.value(table, column);
        if roll == 2 && self.rng.chance(0.5) && other != Value::Text(v.clone()) && !quoted_value {
            let Value::Text(w) = other else { return Condition::default() };
            let said2 = say(&mut self.rng, &w);
            lookups.push(look(&said2, &w));
            let frame = self.of(
                &[
                    " whose {c} is [either |]{v} or {w}",
                    " with {c} {v} or {w}",
                    " where [the |]{c} is {v} or {w}",
                    " that have the {c} {v} or {w}",
                    " {whose} {c} [was|is given as|is recorded as|remains|{r1}] [either |]{v} or {w}",
                    " {having} [either |]{v} or {w} [as|for] {c}",
                ],
                &[" whose {c} is one of {v} and {w}"],
            );
            let after = self.fill(frame, &[("c", &c), ("v", &said), ("w", &said2)]);
            let sql = format!("{name} IN ({is}, {})", literal(&w));
            return Condition { after, sql, links: vec![(c, name)], lookups, ..Condition::default() };
        }
        let sql = format!("{name} = {is}");
        if self.split == Split::Train && self.rng.chance(0.22) && !quoted_value {
            // The value alone: `active users`, `users from Paris`.
            let links = vec![(said.clone(), name)];
            return if PLACES.contains(&words.as_str()) {
                let frame = *self.rng.pick(&[" in {v}", " from {v}", " [based|located] in {v}", " of {v}"]);
                let after = self.fill(frame, &[("v", &said)]);
                let predicate = format!(
                    "{} {said}",
                    self.rng.pick::<&str>(&["are in", "come from", "are from", "are based in", "live in"])
                );
                Condition { after, sql, links, lookups, predicate, ..Condition::default() }
            } else {
                Condition {
                    before: format!("{said} "),
                    sql,
                    links,
                    lookups,
                    predicate: format!("are {said}"),
                    ..Condition::default()
                }
            };
        }
        let frame = self.of(
            &[
                " whose {c} is {v}",
                " with {c} {v}",
                " with [a |the |]{c} of {v}",
                " that have {c} {v}",
                " where [the |]{c} is {v}",
                " with {v} {c}",
                " having {c} {v}",
                " where {c} = {v}",
                " of {c} {v}",
                " with the {c} {v}",
                " that have the {c} {v}",
                " in the {v} {c}",
                " ({c}: {v})",
                " having [a |]{v} {c}",
                " and {c} {v}",
                " {whose} {c} [is|was|is given as|is recorded as|is set to|is said to be|says|remains|{r1}] {v}",
                " {having} [the |]{c} [of |]{v}",
                " {having} {v} [as|for|as their] {c}",
                " [marked|labelled|filed|classed|{r1}] [as|under] {v} in {c}",
                " [being|in] {c} {v}",
            ],
            &[
                " whose {c} reads {v}",
                " for which the {c} is {v}",
                " that show the {c} {v}",
                " that come with the {c} {v}",
            ],
        );
        let after = self.fill(frame, &[("c", &c), ("v", &said)]);
        let predicate = format!("have the {c} {said}");
        Condition { after, sql, links: vec![(c, name)], lookups, predicate, ..Condition::default() }
    }

    fn date(&mut self, table: usize, column: usize) -> Condition {
        let Value::Text(d) = self.value(table, column) else { return Condition::default() };
        let year = d[..4].to_owned();
        let c = self.say(table, column);
        let name = self.column(table, column);
        // A verb form among the synonyms: `hired after 2015`.
        let verb = if self.split == Split::Train {
            self.world.tables[table].columns[column].synonyms.clone()
        } else {
            Vec::new()
        };
        let verb: Vec<String> = verb
            .into_iter()
            .chain(Some(self.world.tables[table].columns[column].words.clone()))
            .filter(|w| w.ends_with("ed") || w == "born" || w == "bought")
            .collect();
        let verb = (!verb.is_empty() && self.rng.chance(0.6)).then(|| self.rng.pick(&verb).clone());
        let whole = self.rng.chance(0.4);
        let (said, when, sql): (String, &str, String) = match (self.rng.weighted(&[34, 24, 24, 10, 8]), whole)
        {
            (0, _) => (
                year.clone(),
                self.of(&["in", "in", "during", "in the year"], &["in", "in the course of"]),
                format!("{name} LIKE '{year}%'"),
            ),
            (1, true) => {
                (d.clone(), self.of(&["after", "later than"], &["after"]), format!("{name} > '{d}'"))
            }
            (1, false) => (
                year.clone(),
                self.of(&["after", "later than"], &["after"]),
                format!("{name} > '{year}-12-31'"),
            ),
            (2, true) => {
                (d.clone(), self.of(&["before", "earlier than"], &["before"]), format!("{name} < '{d}'"))
            }
            (2, false) => (
                year.clone(),
                self.of(&["before", "earlier than"], &["before"]),
                format!("{name} < '{year}-01-01'"),
            ),
            (3, true) => {
                (d.clone(), self.of(&["since", "on or after"], &["since"]), format!("{name} >= '{d}'"))
            }
            (3, false) => {
                (year.clone(), self.of(&["since", "from"], &["since"]), format!("{name} >= '{year}-01-01'"))
            }
            (_, true) => (d.clone(), "on", format!("{name} = '{d}'")),
            (_, false) => {
                let Value::Text(e) = self.value(table, column) else { return Condition::default() };
                let (a, b) = if e < d { (e[..4].to_owned(), year) } else { (year, e[..4].to_owned()) };
                (format!("{a} and {b}"), "between", format!("{name} BETWEEN '{a}-01-01' AND '{b}-12-31'"))
            }
        };
        if let Some(verb) = verb {
            let after = expand(
                &mut self.rng,
                "[ | | that were | who were ]{verb} {when} {d}",
                &[("verb", &verb), ("when", when), ("d", &said)],
            );
            let predicate = format!("were {verb} {when} {said}");
            return Condition { after, sql, links: vec![(verb, name)], predicate, ..Condition::default() };
        }
        let frame = self.of(
            &[
                " with [a |an |]{c} {when} {d}",
                " whose {c} is {when} {d}",
                " where [the |]{c} is {when} {d}",
                " that have [a |an |]{c} {when} {d}",
                " with {c} {when} {d}",
                " having [a |an |]{c} {when} {d}",
                " whose {c} was {when} {d}",
                " {whose} {c} [dates from|was|took place|happened|is set|is recorded|{r1}] {when} {d}",
                " {having} [a |the |]{c} {when} {d}",
            ],
            &[" for which the {c} is {when} {d}", " whose {c} falls {when} {d}"],
        );
        let predicate = format!("have a {c} {when} {said}");
        let after = self.fill(frame, &[("c", &c), ("when", when), ("d", &said)]);
        Condition { after, sql, links: vec![(c, name)], predicate, ..Condition::default() }
    }

    fn flag(&mut self, table: usize, column: usize) -> Condition {
        let words = self.world.tables[table].columns[column].words.clone();
        let name = self.column(table, column);
        let yes = self.rng.chance(0.7);
        let sql = format!("{name} = {}", i32::from(yes));
        let links = vec![(words.clone(), name)];
        if yes && !words.contains(' ') && self.split == Split::Train && self.rng.chance(0.35) {
            return Condition {
                before: format!("{words} "),
                sql,
                links,
                predicate: format!("are {words}"),
                ..Condition::default()
            };
        }
        let frame = if yes {
            self.of(
                &[
                    " that are {c}",
                    " which are {c}",
                    " that are [marked|flagged] [as |]{c}",
                    " where {c} is [true|yes|1]",
                    " with {c} = 1",
                    " with {c} set to 1",
                    " that [are deemed|count as|are considered|turn out to be|were declared|are known to be|were {r1}] {c}",
                    " {whose} {c} [mark|flag|field] is [set|on|true]",
                ],
                &[" that happen to be {c}", " for which {c} is true"],
            )
        } else {
            self.of(
                &[
                    " that are not {c}",
                    " which are not {c}",
                    " where {c} is [false|no|0]",
                    " with {c} = 0",
                    " that are not [marked|flagged] [as |]{c}",
                    " that [are not deemed|do not count as|are not considered|turn out not to be|were never {r1}] {c}",
                    " {whose} {c} [mark|flag|field] is [not set|off|false]",
                ],
                &[" that happen not to be {c}", " for which {c} is false"],
            )
        };
        let after = self.fill(frame, &[("c", &words)]);
        let predicate = if yes { format!("are {words}") } else { format!("are not {words}") };
        Condition { after, sql, links, predicate, ..Condition::default() }
    }

    fn like(&mut self, table: usize, column: usize) -> Condition {
        let c = self.say(table, column);
        let name = self.column(table, column);
        let Value::Text(v) = self.value(table, column) else { return Condition::default() };
        let words: Vec<&str> = v.split(' ').collect();
        let first: String = v.chars().take(1 + self.rng.below(2)).collect();
        let word = (*self.rng.pick(&words)).to_owned();
        let (frame, part, sql) = match self.rng.weighted(&[40, 45, 15]) {
            0 => {
                let x = if self.rng.chance(0.7) { first } else { words[0].to_owned() };
                let frame = self.of(
                    &[
                        " whose {c} [starts|begins] with {q}",
                        " with [a |]{c} [starting|beginning] with {q}",
                        " where [the |]{c} starts with {q}",
                        " that have a {c} starting with {q}",
                        " with {c} starting with [the letter |]{q}",
                        " {whose} {c} [commences with|leads with|begins by] {q}",
                    ],
                    &[" whose {c} opens with {q}"],
                );
                let sql = format!("{name} LIKE {}", literal(&format!("{x}%")));
                (frame, x, sql)
            }
            1 => {
                let frame = self.of(
                    &[
                        " whose {c} contains {q}",
                        " with {q} in [the|their|its] {c}",
                        " with [a |]{c} containing {q}",
                        " where [the |]{c} contains {q}",
                        " whose {c} includes [the word |]{q}",
                        " that have {q} in [the|their|its] {c}",
                        " with the word {q} in [the|their] {c}",
                        " {whose} {c} [mentions|holds|features|comprises|carries] [the text |]{q}",
                        " [mentioning|showing|featuring] {q} [somewhere |]in the {c}",
                    ],
                    &[" whose {c} has {q} in it", " for which the {c} contains {q}"],
                );
                let sql = format!("{name} LIKE {}", literal(&format!("%{word}%")));
                (frame, word, sql)
            }
            _ => {
                let x = words[words.len() - 1].to_owned();
                let frame = self.of(
                    &[
                        " whose {c} ends [with|in] {q}",
                        " with [a |]{c} ending [with|in] {q}",
                        " where [the |]{c} ends with {q}",
                        " {whose} {c} [closes with|terminates in|stops at] {q}",
                    ],
                    &[" whose {c} finishes with {q}"],
                );
                let sql = format!("{name} LIKE {}", literal(&format!("%{x}")));
                (frame, x, sql)
            }
        };
        let said = match self.rng.below(4) {
            0 => format!("\"{part}\""),
            1 | 2 => format!("'{part}'"),
            _ => part,
        };
        let verb = if sql.contains("LIKE '%") && sql.ends_with("%'") {
            "containing"
        } else if sql.ends_with("%'") {
            "starting with"
        } else {
            "ending with"
        };
        let predicate = format!("have a {c} {verb} {said}");
        let after = self.fill(frame, &[("c", &c), ("q", &said)]);
        Condition { after, sql, links: vec![(c, name)], predicate, ..Condition::default() }
    }

    /// The plural of a column phrase, where it has one.
    pub fn plural_of(&self, words: &str) -> String {
        if words.starts_with("number of") || words.starts_with("years ") || words.ends_with('s') {
            words.to_owned()
        } else {
            plural(words)
        }
    }
}

/// A number as SQL and as the tools print it.
pub fn plain(value: &Value) -> String {
    match value {
        Value::Integer(n) => n.to_string(),
        Value::Real(x) => number(*x),
        Value::Text(t) => literal(t),
        _ => "NULL".into(),
    }
}

fn number(x: f64) -> String {
    format!("{x}")
}

fn float(value: &Value) -> f64 {
    match value {
        Value::Integer(n) => *n as f64,
        Value::Real(x) => *x,
        _ => 0.0,
    }
}
