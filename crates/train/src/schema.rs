//! Random small databases: tables out of a domain, made-up or rare words mixed in, names written in many styles.

use crate::error::{Error, Result};
use crate::lexicon::{Attribute, AttributeKind, Domain, Entity, Lexicon, Split};
use crate::rng::Rng;
use crate::text::{Style, capitalised, plural};
use rusqlite::Connection;
use rusqlite::types::Value;
use std::collections::BTreeSet;

/// What a column holds.
#[derive(Clone, Debug, PartialEq)]
pub enum ColumnKind {
    /// The primary key.
    Key,
    /// A key to another table (its index) with the phrase of the relation (`written by`).
    Link(usize, String),
    /// What the row is called.
    Name,
    /// Whole numbers.
    Integer,
    /// Decimals.
    Real,
    /// One of a few texts.
    Category,
    /// `YYYY-MM-DD`.
    Date,
    /// 0 or 1.
    Flag,
    /// Free text nobody filters by.
    Text,
}

/// A column with its data.
#[derive(Clone, Debug)]
pub struct Column {
    /// How questions call it.
    pub words: String,
    /// Other ways to call it.
    pub synonyms: Vec<String>,
    /// Its identifier, unquoted.
    pub name: String,
    /// What it holds.
    pub kind: ColumnKind,
    /// One value a row.
    pub values: Vec<Value>,
    bounds: Option<AttributeKind>,
}

impl Column {
    /// Has at least one NULL.
    pub fn has_null(&self) -> bool {
        self.values.contains(&Value::Null)
    }

    /// Integer or real.
    pub fn numeric(&self) -> bool {
        matches!(self.kind, ColumnKind::Integer | ColumnKind::Real)
    }
}

/// A table.
#[derive(Clone, Debug)]
pub struct Table {
    /// Singular noun in questions.
    pub one: String,
    /// Plural noun in questions.
    pub many: String,
    /// Other nouns, singular and plural.
    pub synonyms: Vec<(String, String)>,
    /// Its identifier, unquoted.
    pub name: String,
    /// Its columns, in order.
    pub columns: Vec<Column>,
    /// Rows are people.
    pub person: bool,
    titled: bool,
    nameless: bool,
    coded: bool,
}

impl Table {
    /// The column that says what a row is called; the key where there is none.
    pub fn label(&self) -> usize {
        self.columns
            .iter()
            .position(|c| c.kind == ColumnKind::Name)
            .or_else(|| self.columns.iter().position(|c| c.kind == ColumnKind::Key))
            .unwrap_or(0)
    }

    /// The primary key's column.
    pub fn key(&self) -> Option<usize> {
        self.columns.iter().position(|c| c.kind == ColumnKind::Key)
    }

    /// The column that points to `table`.
    pub fn link_to(&self, table: usize) -> Option<usize> {
        self.columns.iter().position(|c| matches!(c.kind, ColumnKind::Link(t, _) if t == table))
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.columns.first().map_or(0, |c| c.values.len())
    }
}

/// How the tables a question may use hang together.
#[derive(Clone, Debug, PartialEq)]
pub enum Shape {
    /// One table.
    Single(usize),
    /// `(child, parent)`.
    Pair(usize, usize),
    /// `(grandchild, child, parent)`: each points to the next.
    Chain(usize, usize, usize),
    /// `(left, junction, right)`: the middle one points to both.
    Many(usize, usize, usize),
}

/// A database before and after it is in SQLite.
#[derive(Debug)]
pub struct World {
    /// All tables.
    pub tables: Vec<Table>,
    /// The tables questions are about.
    pub shape: Shape,
    /// Keys are declared in the DDL.
    pub declared: bool,
    /// Some words are rare or made-up ones in the place of what such a database would say.
    pub odd: bool,
    /// `CREATE TABLE` statements in creation order.
    pub ddl: Vec<String>,
    /// The database itself.
    pub connection: Connection,
    /// Its file.
    pub image: Vec<u8>,
}

/// Words SQLite reads as keywords: as identifiers they are written quoted.
const KEYWORDS: &str = " add all alter and as asc between by case check collate column commit constraint create cross current_date default \
delete desc distinct drop else end escape except exists for foreign from full group having if in index inner insert intersect into is isnull \
join key left like limit match natural no not notnull null of offset on or order outer plan primary references regexp right rollback row select set table \
then to transaction trigger union unique update using values view when where with ";

/// An identifier as SQL, quoted where it must be.
pub fn quoted(name: &str) -> String {
    let plain = name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
        && !name.starts_with(|c: char| c.is_ascii_digit())
        && !KEYWORDS.contains(&format!(" {} ", name.to_lowercase()));
    if plain { name.to_owned() } else { format!("\"{}\"", name.replace('"', "\"\"")) }
}

/// Short forms people use in column names.
const SHORT: [(&str, &str); 16] = [
    ("number of", "num"),
    ("number of", "no of"),
    ("number of", "n"),
    ("quantity", "qty"),
    ("department", "dept"),
    ("amount", "amt"),
    ("average", "avg"),
    ("description", "descr"),
    ("maximum", "max"),
    ("address", "addr"),
    ("phone", "phone number"),
    ("nationality", "nation"),
    ("date", "dt"),
    ("number", "nr"),
    ("year", "yr"),
    ("category", "cat"),
];

/// Draws databases of one split.
pub struct Builder<'a> {
    lexicon: &'a Lexicon,
    split: Split,
    /// How often a word is replaced by a rare or made-up one in this database.
    rare: f64,
    used: BTreeSet<String>,
}

impl<'a> Builder<'a> {
    /// A builder for one database.
    pub fn new(lexicon: &'a Lexicon, split: Split, rng: &mut Rng) -> Self {
        let rare = match split {
            Split::Test => 0.0,
            Split::Train => [0.0, 0.35, 0.8][rng.weighted(&[42, 38, 20])],
        };
        Self { lexicon, split, rare, used: BTreeSet::new() }
    }

    /// A common word, or a made-up one.
    pub fn word(&self, rng: &mut Rng) -> String {
        if self.split == Split::Train && rng.chance(0.75) {
            rng.pick(&self.lexicon.words).clone()
        } else {
            made_up(rng)
        }
    }

    fn rename(&self, rng: &mut Rng, words: &str) -> Option<String> {
        if !rng.chance(self.rare) {
            return None;
        }
        let first = self.word(rng);
        // Sometimes only the head or the tail of a compound is strange.
        Some(match words.split_once(' ') {
            Some((_, tail)) if rng.chance(0.3) => format!("{first} {tail}"),
            _ if rng.chance(0.12) => format!("{first} {}", self.word(rng)),
            _ => first,
        })
    }

    fn table(&mut self, rng: &mut Rng, e: &Entity) -> Option<Table> {
        let rename = self.rename(rng, &e.one);
        let (one, many, synonyms) = match rename {
            Some(w) => (w.clone(), plural(&w), Vec::new()),
            None => (
                e.one.clone(),
                e.many.clone(),
                // Nobody could know that `craft` means the table `vessel` without having learnt the word.
                if self.split == Split::Test {
                    Vec::new()
                } else {
                    e.synonyms.iter().map(|s| (s.clone(), plural(s))).collect()
                },
            ),
        };
        if one == many || !self.used.insert(one.clone()) || !self.used.insert(many.clone()) {
            return None;
        }
        let mut table = Table {
            one,
            many,
            synonyms,
            name: String::new(),
            columns: Vec::new(),
            person: e.person,
            titled: e.titled,
            nameless: e.nameless && !(e.coded || e.titled),
            coded: e.coded,
        };
        let attributes: Vec<Attribute> =
            e.attributes.iter().filter(|a| !matches!(a.kind, AttributeKind::Link(..))).cloned().collect();
        let n = rng.range(2, 5) as usize;
        let mut seen = BTreeSet::new();
        for a in rng.sample(&attributes, n) {
            let (words, mut synonyms) = match self.rename(rng, &a.words) {
                Some(w) => (w, Vec::new()),
                None => (a.words.clone(), a.synonyms.clone()),
            };
            if !seen.insert(words.clone()) || words == table.one || words == table.many {
                continue;
            }
            synonyms.retain(|s| !seen.contains(s));
            let kind = match &a.kind {
                AttributeKind::Integer(..) => ColumnKind::Integer,
                AttributeKind::Real(..) => ColumnKind::Real,
                AttributeKind::Category(_) => ColumnKind::Category,
                AttributeKind::Date(..) => ColumnKind::Date,
                AttributeKind::Flag => ColumnKind::Flag,
                _ => ColumnKind::Text,
            };
            table.columns.push(Column {
                words,
                synonyms,
                name: String::new(),
                kind,
                values: Vec::new(),
                bounds: Some(a.kind.clone()),
            });
        }
        Some(table)
    }

    /// Draws a database and creates it in memory.
    ///
    /// # Errors
    /// When SQLite refuses a statement (two columns of one name, say): the caller draws again.
    pub fn build(mut self, rng: &mut Rng) -> Result<Option<World>> {
        let domain = rng.pick(self.lexicon.domains(self.split));
        let Some((mut tables, shape)) = self.core(rng, domain) else { return Ok(None) };
        let extra = match self.split {
            Split::Test => [0, 1, 2, 3, 5, 8][rng.weighted(&[14, 22, 26, 20, 12, 6])],
            Split::Train => [0, 1, 2, 3, 5, 8, 12, 18][rng.weighted(&[14, 20, 22, 18, 13, 8, 4, 1])],
        };
        let core = tables.len();
        for _ in 0..extra {
            let from = if rng.chance(0.75) { domain } else { rng.pick(self.lexicon.domains(self.split)) };
            let e = rng.pick(&from.entities);
            if let Some(t) = self.table(rng, e) {
                tables.push(t);
            }
        }
        // Distractors point to other tables now and then.
        for i in core..tables.len() {
            if rng.chance(0.4) {
                let to = rng.below(i);
                add_link(rng, &mut tables, i, to, String::new());
            }
        }
        let link_of = |t: &Table, rng: &mut Rng| t.nameless && rng.chance(0.85);
        for t in &mut tables {
            if !link_of(t, rng) {
                insert_name(rng, t, self.split == Split::Train);
            }
        }
        self.name_all(rng, &mut tables);
        let rows: Vec<usize> = tables.iter().map(|_| rng.range(3, 11) as usize).collect();
        // Most keys start at 1; some at a number that must be looked up.
        let starts: Vec<i64> =
            tables.iter().map(|_| if rng.chance(0.85) { 1 } else { rng.range(1, 60) * 10 + 1 }).collect();
        for i in 0..tables.len() {
            self.fill(rng, &mut tables, i, &rows, &starts);
        }
        let declared = rng.chance(0.72);
        let mut order: Vec<usize> = (0..tables.len()).collect();
        rng.shuffle(&mut order);
        let layout = Layout::draw(rng, declared, self.split);
        let mut connection =
            Connection::open_in_memory().map_err(|source| Error::Sqlite { sql: "open".into(), source })?;
        // Tables are filled in any order. (The bundled SQLite enforces keys by default.)
        let sql = "PRAGMA foreign_keys = OFF";
        connection.execute_batch(sql).map_err(|source| Error::Sqlite { sql: sql.into(), source })?;
        let mut ddl = Vec::new();
        for &i in &order {
            let sql = layout.write(rng, &tables, i);
            connection.execute_batch(&sql).map_err(|source| Error::Sqlite { sql: sql.clone(), source })?;
            ddl.push(sql);
        }
        for t in &tables {
            let places = vec!["?"; t.columns.len()].join(",");
            let sql = format!("INSERT INTO {} VALUES ({places})", quoted(&t.name));
            let wrap = |source| Error::Sqlite { sql: sql.clone(), source };
            let mut insert = connection.prepare(&sql).map_err(wrap)?;
            for r in 0..t.rows() {
                let row = t.columns.iter().map(|c| c.values[r].clone());
                insert.execute(rusqlite::params_from_iter(row)).map_err(wrap)?;
            }
        }
        let image = crate::tools::image(&mut connection)?;
        Ok(Some(World { tables, shape, declared, odd: self.rare > 0.0, ddl, connection, image }))
    }

    fn core(&mut self, rng: &mut Rng, domain: &Domain) -> Option<(Vec<Table>, Shape)> {
        let find = |name: &str| domain.entities.iter().find(|e| e.one == name);
        let links = |e: &Entity| -> Vec<(String, String)> {
            e.attributes
                .iter()
                .filter_map(|a| match &a.kind {
                    AttributeKind::Link(t, p) => Some((t.clone(), p.clone())),
                    _ => None,
                })
                .collect()
        };
        // Shapes are drawn first, then an entity that has such neighbours: else single tables would crowd out the rest.
        let shape = rng.weighted(match self.split {
            Split::Test => &[36, 32, 12, 20],
            Split::Train => &[26, 38, 16, 20],
        });
        let deep = |e: &&Entity| links(e).iter().any(|(p, _)| find(p).is_some_and(|p| !links(p).is_empty()));
        let fit: Vec<&Entity> = match shape {
            1 => domain.entities.iter().filter(|e| !links(e).is_empty()).collect(),
            2 => domain.entities.iter().filter(deep).collect(),
            _ => domain.entities.iter().collect(),
        };
        if fit.is_empty() {
            return None;
        }
        let child = *rng.pick(&fit);
        let mut to = links(child);
        rng.shuffle(&mut to);
        match shape {
            0 => Some((vec![self.table(rng, child)?], Shape::Single(0))),
            1 => {
                let (parent, phrase) = to.first()?;
                let mut t = vec![self.table(rng, child)?, self.table(rng, find(parent)?)?];
                add_link(rng, &mut t, 0, 1, phrase.clone());
                Some((t, Shape::Pair(0, 1)))
            }
            2 => {
                let (parent, phrase) = to.first()?;
                let parent = find(parent)?;
                let above = links(parent);
                let (top, phrase2) = above.first()?;
                let mut t =
                    vec![self.table(rng, child)?, self.table(rng, parent)?, self.table(rng, find(top)?)?];
                add_link(rng, &mut t, 0, 1, phrase.clone());
                add_link(rng, &mut t, 1, 2, phrase2.clone());
                Some((t, Shape::Chain(0, 1, 2)))
            }
            _ => {
                if child.nameless && to.len() >= 2 {
                    let mut t = vec![
                        self.table(rng, find(&to[0].0)?)?,
                        self.table(rng, child)?,
                        self.table(rng, find(&to[1].0)?)?,
                    ];
                    t[1].nameless = true;
                    add_link(rng, &mut t, 1, 0, to[0].1.clone());
                    add_link(rng, &mut t, 1, 2, to[1].1.clone());
                    return Some((t, Shape::Many(0, 1, 2)));
                }
                // A plain junction table between two entities.
                let other = rng.pick(&domain.entities);
                let (left, right) = (self.table(rng, child)?, self.table(rng, other)?);
                let words = match rng.weighted(&[50, 25, 25]) {
                    0 => format!("{} {}", left.one, right.one),
                    1 => format!(
                        "{} {}",
                        left.one,
                        rng.pick(&["link", "entry", "record", "list", "map", "relation"])
                    ),
                    _ => format!("{} {}", right.one, left.many),
                };
                let junction = Table {
                    many: plural(&words),
                    one: words,
                    synonyms: Vec::new(),
                    name: String::new(),
                    columns: Vec::new(),
                    person: false,
                    titled: false,
                    nameless: true,
                    coded: false,
                };
                let mut t = vec![left, junction, right];
                add_link(rng, &mut t, 1, 0, String::new());
                add_link(rng, &mut t, 1, 2, String::new());
                Some((t, Shape::Many(0, 1, 2)))
            }
        }
    }

    fn name_all(&self, rng: &mut Rng, tables: &mut [Table]) {
        let style = Style::draw(rng);
        let table_style = if rng.chance(0.15) { Style::draw(rng) } else { style };
        let plurals = rng.chance(0.5);
        let bare_id = rng.chance(0.5);
        let prefix = ["", "tbl ", "t "][rng.weighted(&[94, 4, 2])];
        for t in tables.iter_mut() {
            let suffix = ["", " info", " data", " table", " list"][rng.weighted(&[94, 2, 2, 1, 1])];
            let noun = match rng.weighted(&[88, 12]) {
                1 if !t.synonyms.is_empty() => {
                    let (a, b) = rng.pick(&t.synonyms).clone();
                    if plurals { b } else { a }
                }
                _ if plurals => t.many.clone(),
                _ => t.one.clone(),
            };
            t.name = table_style.write(&format!("{prefix}{noun}{suffix}"));
        }
        let nouns: Vec<String> = tables.iter().map(|t| t.one.clone()).collect();
        let keys: Vec<String> = nouns
            .iter()
            .map(|n| {
                if bare_id {
                    "id".to_owned()
                } else {
                    format!("{n} {}", rng.pick(&["id", "id", "id", "code", "no"]))
                }
            })
            .collect();
        for (i, t) in tables.iter_mut().enumerate() {
            let prefixed = rng.chance(if self.split == Split::Train { 0.12 } else { 0.05 });
            for c in &mut t.columns {
                let words = match &c.kind {
                    ColumnKind::Key => keys[i].clone(),
                    ColumnKind::Link(to, _) => match rng.weighted(&[82, 10, 8]) {
                        0 if bare_id => format!("{} id", nouns[*to]),
                        0 => keys[*to].clone(),
                        1 => nouns[*to].clone(),
                        _ => format!("{} ref", nouns[*to]),
                    },
                    ColumnKind::Name => c.words.clone(),
                    _ => {
                        let mut w = c.words.clone();
                        if rng.chance(0.2) && !c.synonyms.is_empty() {
                            w.clone_from(rng.pick(&c.synonyms));
                        }
                        if rng.chance(0.25) {
                            let (long, short) = rng.pick(&SHORT);
                            w = w.replace(long, short);
                        }
                        if c.kind == ColumnKind::Flag && rng.chance(0.6) {
                            w = format!("is {w}");
                        }
                        if self.split == Split::Train {
                            w = self.longer(rng, w, c.numeric());
                        }
                        if prefixed { format!("{} {w}", nouns[i]) } else { w }
                    }
                };
                c.name = style.write(&words);
            }
        }
    }

    /// A column name with more than people say: a unit, or, in odd databases, a word that nobody asks for.
    fn longer(&self, rng: &mut Rng, words: String, numeric: bool) -> String {
        let odd = if self.rare > 0.0 { 6 } else { 0 };
        match rng.weighted(&[82, if numeric { 10 } else { 0 }, odd, odd]) {
            0 => words,
            1 => format!("{words} {}", rng.pick(&UNITS)),
            2 => format!("{words} {}", self.word(rng)),
            _ => format!("{} {words}", self.word(rng)),
        }
    }

    fn fill(&self, rng: &mut Rng, tables: &mut [Table], i: usize, rows: &[usize], starts: &[i64]) {
        let n = rows[i];
        let (person, coded) = (tables[i].person, tables[i].coded);
        let cases = rng.weighted(&[55, 20, 15, 10]);
        for k in 0..tables[i].columns.len() {
            let mut column = tables[i].columns[k].clone();
            column.values = match &column.kind {
                ColumnKind::Key => (0..n as i64).map(|r| Value::Integer(starts[i] + r)).collect(),
                ColumnKind::Link(to, _) => {
                    let (start, count) = (starts[*to], rows[*to]);
                    // Some parents stay without children.
                    let reach = if rng.chance(0.6) && count > 2 { count - 1 } else { count };
                    (0..n).map(|_| Value::Integer(start + rng.below(reach) as i64)).collect()
                }
                ColumnKind::Name => {
                    let mut seen = BTreeSet::new();
                    while seen.len() < n {
                        seen.insert(if person {
                            self.person(rng)
                        } else if coded {
                            code(rng)
                        } else {
                            self.thing(rng)
                        });
                    }
                    let mut all: Vec<String> = seen.into_iter().collect();
                    rng.shuffle(&mut all);
                    all.into_iter().map(Value::Text).collect()
                }
                _ => {
                    let nulls = if rng.chance(0.12) { 0.3 } else { 0.0 };
                    let kind = column.bounds.clone().unwrap_or(AttributeKind::Text);
                    let make = self.values(rng, &kind, cases);
                    (0..n).map(|_| if rng.chance(nulls) { Value::Null } else { make(rng) }).collect()
                }
            };
            tables[i].columns[k] = column;
        }
    }

    fn values(&self, rng: &mut Rng, kind: &AttributeKind, cases: usize) -> Box<dyn Fn(&mut Rng) -> Value> {
        match kind.clone() {
            AttributeKind::Integer(low, high) => {
                // Large ranges get round numbers now and then, as real data does.
                let step =
                    if high > 2100 && rng.chance(0.5) { if high > 50_000 { 1000 } else { 100 } } else { 1 };
                Box::new(move |rng| Value::Integer((rng.range(low, high) / step * step).max(low)))
            }
            AttributeKind::Real(low, high) => {
                let digits = if rng.chance(0.7) { 10.0 } else { 100.0 };
                Box::new(move |rng| {
                    Value::Real((rng.range((low * digits) as i64, (high * digits) as i64) as f64) / digits)
                })
            }
            AttributeKind::Category(values) => {
                let values = if rng.chance(self.rare * 0.7) {
                    (0..5).map(|_| self.word(rng)).collect()
                } else {
                    values
                };
                let n = rng.range(2, 5) as usize;
                let values: Vec<Value> = rng
                    .sample(&values, n)
                    .into_iter()
                    .map(|v| {
                        Value::Text(match cases {
                            0 => v,
                            1 => v.to_lowercase(),
                            2 => v.split(' ').map(capitalised).collect::<Vec<_>>().join(" "),
                            _ => v.to_uppercase(),
                        })
                    })
                    .collect();
                Box::new(move |rng| rng.pick(&values).clone())
            }
            AttributeKind::Date(low, high) => Box::new(move |rng| {
                let (y, m, d) = (rng.range(low, high), rng.range(1, 12), rng.range(1, 28));
                Value::Text(format!("{y}-{m:02}-{d:02}"))
            }),
            AttributeKind::Flag => Box::new(|rng| Value::Integer(i64::from(rng.chance(0.5)))),
            _ => {
                let pool: Vec<String> = (0..6).map(|_| self.thing(rng)).collect();
                Box::new(move |rng| Value::Text(rng.pick(&pool).clone()))
            }
        }
    }

    fn person(&self, rng: &mut Rng) -> String {
        let [first, last] = self.lexicon.people(self.split);
        let first =
            if rng.chance(self.rare * 0.5) { capitalised(&made_up(rng)) } else { rng.pick(first).clone() };
        let last =
            if rng.chance(self.rare * 0.5) { capitalised(&self.word(rng)) } else { rng.pick(last).clone() };
        format!("{first} {last}")
    }

    /// A title or a name of a thing.
    fn thing(&self, rng: &mut Rng) -> String {
        let a = capitalised(&self.word(rng));
        match rng.weighted(&[34, 36, 12, 8, 6, 4]) {
            0 => a,
            1 => format!("{a} {}", capitalised(&self.word(rng))),
            2 => format!("The {a}"),
            3 => format!("{a} {}", rng.range(1, 99)),
            4 => format!("{a} of {}", capitalised(&self.word(rng))),
            _ => format!("{a}'s {}", capitalised(&self.word(rng))),
        }
    }
}

/// A short code such as `KX-204`.
fn code(rng: &mut Rng) -> String {
    let letter = |rng: &mut Rng| char::from(b'A' + rng.below(26) as u8);
    match rng.below(3) {
        0 => format!("{}{}{}", letter(rng), letter(rng), rng.range(10, 999)),
        1 => format!("{}-{}", letter(rng), rng.range(100, 9999)),
        _ => format!("{}{}-{}", letter(rng), letter(rng), rng.range(10, 99)),
    }
}

/// A pronounceable word that is in no dictionary, so that names can only be copied.
pub fn made_up(rng: &mut Rng) -> String {
    const ONSETS: [&str; 34] = [
        "b", "c", "d", "f", "g", "h", "j", "k", "l", "m", "n", "p", "qu", "r", "s", "t", "v", "w", "z", "bl",
        "br", "ch", "cr", "dr", "fl", "gr", "pl", "pr", "sh", "st", "th", "tr", "sk", "gl",
    ];
    const VOWELS: [&str; 12] = ["a", "e", "i", "o", "u", "a", "e", "o", "ai", "ea", "oo", "ou"];
    const ENDS: [&str; 22] = [
        "", "", "n", "r", "l", "t", "m", "ck", "nd", "rt", "st", "x", "ng", "p", "sk", "ld", "nt", "mb",
        "th", "ve", "ne", "te",
    ];
    let syllables = 1 + rng.weighted(&[15, 60, 25]);
    let mut out = String::new();
    for i in 0..syllables {
        out.push_str(rng.pick::<&str>(&ONSETS));
        out.push_str(rng.pick::<&str>(&VOWELS));
        if i + 1 == syllables || rng.chance(0.25) {
            out.push_str(rng.pick::<&str>(&ENDS));
        }
    }
    if out.len() < 3 { out + "ra" } else { out }
}

fn add_link(rng: &mut Rng, tables: &mut [Table], from: usize, to: usize, phrase: String) {
    if tables[from].link_to(to).is_some() || from == to {
        return;
    }
    ensure_key(tables, to);
    let column = Column {
        words: format!("{} id", tables[to].one),
        synonyms: Vec::new(),
        name: String::new(),
        kind: ColumnKind::Link(to, phrase),
        values: Vec::new(),
        bounds: None,
    };
    let at = rng.below(tables[from].columns.len() + 1);
    let at = at.max(usize::from(tables[from].key() == Some(0)));
    tables[from].columns.insert(at.min(tables[from].columns.len()), column);
}

fn ensure_key(tables: &mut [Table], i: usize) {
    if tables[i].key().is_none() {
        let column = Column {
            words: "id".into(),
            synonyms: vec![format!("{} id", tables[i].one)],
            name: String::new(),
            kind: ColumnKind::Key,
            values: Vec::new(),
            bounds: None,
        };
        tables[i].columns.insert(0, column);
    }
}

/// What a row is called in training where it is not called a name.
const ODD_LABELS: [&str; 11] = [
    "model",
    "topic",
    "subject",
    "headline",
    "nickname",
    "designation",
    "caption",
    "plate",
    "brand name",
    "short name",
    "description",
];

/// Units that columns of numbers are named with in training.
const UNITS: [&str; 18] = [
    "kg", "g", "cm", "m", "km", "eur", "usd", "ml", "l", "pct", "percent", "hours", "min", "days", "mm", "c",
    "sqm", "per day",
];

fn insert_name(rng: &mut Rng, t: &mut Table, odd: bool) {
    let last = t.one.split(' ').next_back().unwrap_or("").to_owned();
    let words = if t.coded {
        rng.pick(&["code", "number", "label", "name", "tag"]).to_string()
    } else if t.titled {
        rng.pick(&["title", "title", "name"]).to_string()
    } else if t.person {
        match rng.weighted(&[60, 20, 12, 8]) {
            0 => "name".to_owned(),
            1 => "full name".to_owned(),
            2 => format!("{last} name"),
            _ => "last name".to_owned(),
        }
    } else {
        match rng.weighted(&[66, 20, 8, 6]) {
            0 => "name".to_owned(),
            1 => format!("{last} name"),
            2 => "title".to_owned(),
            _ => "label".to_owned(),
        }
    };
    // What a row is called need not be called a name: it is the first text then.
    let words = if odd && rng.chance(0.14) { (*rng.pick::<&str>(&ODD_LABELS)).to_owned() } else { words };
    if t.columns.iter().any(|c| c.words == words) {
        return;
    }
    let column = Column {
        words: words.clone(),
        synonyms: if words.ends_with("name") && words != "name" && words != "last name" {
            vec!["name".into()]
        } else {
            Vec::new()
        },
        name: String::new(),
        kind: ColumnKind::Name,
        values: Vec::new(),
        bounds: None,
    };
    let after_key = t.key().map_or(0, |k| k + 1);
    let at =
        if rng.chance(0.75) { after_key } else { after_key + rng.below(t.columns.len() - after_key + 1) };
    t.columns.insert(at, column);
    if t.key().is_none() && rng.chance(0.85) {
        let one = t.one.clone();
        let key = Column {
            words: "id".into(),
            synonyms: vec![format!("{one} id")],
            name: String::new(),
            kind: ColumnKind::Key,
            values: Vec::new(),
            bounds: None,
        };
        t.columns.insert(0, key);
    }
}

/// How the `CREATE TABLE` statements of one database are laid out.
struct Layout {
    quote: Option<(char, char)>,
    integer: &'static str,
    text: &'static str,
    real: &'static str,
    inline_key: bool,
    inline_links: bool,
    declared: bool,
    line: &'static str,
    not_null: f64,
    lower: bool,
    bare_reference: bool,
    comment: bool,
    /// As generators of schemas write it: constraints with names, actions, a bracket on its own line.
    verbose: bool,
    key_not_null: bool,
}

impl Layout {
    fn draw(rng: &mut Rng, declared: bool, split: Split) -> Self {
        let mut layout = Self::plain(rng, declared);
        if split == Split::Train {
            layout.text = match rng.weighted(&[80, 8, 4, 4, 4]) {
                0 => layout.text,
                1 => "NVARCHAR(120)",
                2 => "NVARCHAR(40)",
                3 => "VARCHAR",
                _ => "CHAR(20)",
            };
            layout.verbose = rng.chance(0.1);
            layout.key_not_null = rng.chance(0.15);
            if layout.verbose && rng.chance(0.6) {
                (layout.quote, layout.inline_key) = (Some(('[', ']')), false);
            }
            layout.line = match layout.line {
                "" => "",
                line => *rng.pick(&[line, line, "\n    ", "\n\t"]),
            };
        }
        layout
    }

    fn plain(rng: &mut Rng, declared: bool) -> Self {
        Self {
            quote: [None, Some(('"', '"')), Some(('`', '`')), Some(('[', ']'))]
                [rng.weighted(&[78, 12, 6, 4])],
            integer: ["INTEGER", "INT", "BIGINT", "int"][rng.weighted(&[66, 24, 3, 7])],
            text: ["TEXT", "VARCHAR(50)", "VARCHAR(255)", "varchar(20)", "text"]
                [rng.weighted(&[72, 10, 6, 4, 8])],
            real: ["REAL", "FLOAT", "NUMERIC", "DOUBLE", "DECIMAL(10,2)"][rng.weighted(&[66, 12, 8, 8, 6])],
            inline_key: rng.chance(0.7),
            inline_links: rng.chance(0.5),
            declared,
            line: if rng.chance(0.6) { "\n  " } else { "" },
            not_null: if rng.chance(0.25) { 0.4 } else { 0.0 },
            lower: rng.chance(0.06),
            bare_reference: rng.chance(0.05),
            comment: rng.chance(0.02),
            verbose: false,
            key_not_null: false,
        }
    }

    fn write(&self, rng: &mut Rng, tables: &[Table], i: usize) -> String {
        let q = |name: &str| match self.quote {
            Some((a, b)) => format!("{a}{name}{b}"),
            None => quoted(name),
        };
        let t = &tables[i];
        let named = |what: &str, of: &str| match self.verbose {
            true => format!("CONSTRAINT {} ", q(&format!("{what}_{}{of}", t.name))),
            false => String::new(),
        };
        let after_key = if self.key_not_null { " NOT NULL" } else { "" };
        let (mut parts, mut tail) = (Vec::new(), Vec::new());
        for c in &t.columns {
            let kind = match c.kind {
                ColumnKind::Key | ColumnKind::Link(..) | ColumnKind::Integer => self.integer,
                ColumnKind::Flag => [self.integer, "BOOLEAN"][usize::from(rng.chance(0.2))],
                ColumnKind::Real => self.real,
                ColumnKind::Date => ["DATE", self.text][usize::from(rng.chance(0.5))],
                _ => self.text,
            };
            let mut def = format!("{} {kind}", q(&c.name));
            match &c.kind {
                ColumnKind::Key if self.inline_key => {
                    def = format!("{} INTEGER PRIMARY KEY{after_key}", q(&c.name));
                }
                ColumnKind::Key => {
                    def += after_key;
                    tail.push(format!("{}PRIMARY KEY ({})", named("PK", ""), q(&c.name)));
                }
                ColumnKind::Link(to, _) if self.declared => {
                    let parent = &tables[*to];
                    let key = parent.key().map_or("id", |k| parent.columns[k].name.as_str());
                    let to = if self.bare_reference {
                        format!("REFERENCES {}", q(&parent.name))
                    } else {
                        format!("REFERENCES {}({})", q(&parent.name), q(key))
                    };
                    let to = if self.verbose {
                        format!("{to} ON DELETE NO ACTION ON UPDATE NO ACTION")
                    } else {
                        to
                    };
                    if self.inline_links && !self.verbose {
                        def = format!("{def} {to}");
                    } else {
                        tail.push(format!(
                            "{}FOREIGN KEY ({}) {to}",
                            named("FK", &format!("_{}", parent.name)),
                            q(&c.name)
                        ));
                    }
                }
                _ if !c.has_null() && rng.chance(self.not_null) => def += " NOT NULL",
                ColumnKind::Flag if rng.chance(0.15) => def += " DEFAULT 0",
                _ => {}
            }
            if self.comment && rng.chance(0.3) {
                def += &format!(" /* {} */", c.words);
            }
            parts.push(def);
        }
        parts.append(&mut tail);
        let gap = if self.line.is_empty() { " " } else { "" };
        let body = parts.join(&format!(",{gap}{}", self.line));
        let end = if self.line.is_empty() { "" } else { "\n" };
        let open = if self.verbose && !self.line.is_empty() { "\n" } else { " " };
        let sql = format!("CREATE TABLE {}{open}({}{body}{end})", q(&t.name), self.line);
        if self.lower {
            sql.replace("INTEGER PRIMARY KEY", "integer primary key").replace(" INTEGER", " integer")
        } else {
            sql
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_training_names_are_not_held_out() {
        let lexicon = Lexicon::load().unwrap();
        for phrase in ODD_LABELS.iter().chain(&UNITS).chain(SHORT.iter().flat_map(|(a, b)| [a, b])) {
            for word in phrase.split(' ') {
                assert!(!lexicon.test_words.contains(word), "{word}");
            }
        }
    }

    #[test]
    fn keys_are_declared_in_most_databases_of_several_tables() {
        let lexicon = Lexicon::load().unwrap();
        for split in [Split::Train, Split::Test] {
            let (mut linked, mut declared, mut several) = (0, 0, 0);
            for seed in 0..300 {
                let mut rng = Rng::new(seed);
                let builder = Builder::new(&lexicon, split, &mut rng);
                // Some draws have two columns of one name and are refused: few.
                let Ok(Some(world)) = builder.build(&mut rng) else { continue };
                several += usize::from(world.shape != Shape::Single(0));
                let links = |t: &Table| t.columns.iter().any(|c| matches!(c.kind, ColumnKind::Link(..)));
                if world.tables.iter().any(links) {
                    linked += 1;
                    declared += usize::from(world.ddl.iter().any(|sql| sql.contains("REFERENCES")));
                }
            }
            assert!(declared * 100 > linked * 60 && declared * 100 < linked * 85, "{declared} of {linked}");
            assert!(several > 100, "{several} of 300");
        }
    }
}
