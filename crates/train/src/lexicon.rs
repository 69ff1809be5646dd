//! The words: domains with their entities and attributes, values, adjectives, people, common words.
//!
//! The files under `lexicon/` are read once. What the held-out split uses is kept apart by file
//! (`domains-test.txt`, the `test-` lines of `people.txt`), and every one of its words is taken out of the pool of
//! common words that training draws from.

use crate::error::{Error, Result};
use crate::text::plural;
use std::collections::{BTreeMap, BTreeSet};

/// Which half of the world a sample comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Split {
    /// What the model is trained on.
    Train,
    /// Other domains, other words, other sentence frames.
    Test,
}

/// What an attribute holds.
#[derive(Clone, Debug, PartialEq)]
pub enum AttributeKind {
    /// Whole numbers between two bounds.
    Integer(i64, i64),
    /// Numbers with one or two decimals between two bounds.
    Real(f64, f64),
    /// One of a few values.
    Category(Vec<String>),
    /// A date between two years, as `YYYY-MM-DD`.
    Date(i64, i64),
    /// 0 or 1.
    Flag,
    /// Free text.
    Text,
    /// A key to another entity, with the phrase that says what it means (`written by`).
    Link(String, String),
}

/// An attribute of an entity.
#[derive(Clone, Debug, PartialEq)]
pub struct Attribute {
    /// Its main name, as words.
    pub words: String,
    /// Other ways of saying it.
    pub synonyms: Vec<String>,
    /// What it holds.
    pub kind: AttributeKind,
}

/// A kind of thing that becomes a table.
#[derive(Clone, Debug, PartialEq)]
pub struct Entity {
    /// Singular.
    pub one: String,
    /// Plural.
    pub many: String,
    /// Other nouns for it (singular).
    pub synonyms: Vec<String>,
    /// Rows are people.
    pub person: bool,
    /// Rows have no name, only an id.
    pub nameless: bool,
    /// The name column is a title.
    pub titled: bool,
    /// The name column is a code.
    pub coded: bool,
    /// Its attributes, links included.
    pub attributes: Vec<Attribute>,
}

/// A field of life: entities that occur together.
#[derive(Clone, Debug, PartialEq)]
pub struct Domain {
    /// Its name.
    pub name: String,
    /// Its entities.
    pub entities: Vec<Entity>,
}

/// How people speak of a quantity without naming it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Adjective {
    /// `oldest`, `youngest`.
    pub extremes: Option<(String, String)>,
    /// `older than`, `younger than`.
    pub comparatives: Option<(String, String)>,
    /// `How old is`, and what follows the thing.
    pub how: Option<(String, String)>,
}

/// Everything the generator can say.
#[derive(Clone, Debug)]
pub struct Lexicon {
    /// Domains of training.
    pub train: Vec<Domain>,
    /// Held-out domains.
    pub test: Vec<Domain>,
    /// Adjectives by attribute.
    pub adjectives: BTreeMap<String, Adjective>,
    /// First and last names of training and of the held-out split.
    pub people: [[Vec<String>; 2]; 2],
    /// Common words without those of the held-out split.
    pub words: Vec<String>,
    /// Content words of the held-out split.
    pub test_words: BTreeSet<String>,
}

impl Lexicon {
    /// Reads the files compiled into the program.
    ///
    /// # Errors
    /// When a line does not follow the format given at the head of `domains-train.txt`.
    pub fn load() -> Result<Self> {
        let mut lists = BTreeMap::new();
        for line in include_str!("lexicon/values.txt").lines() {
            if let Some((key, values)) = line.split_once(' ') {
                lists.insert(key, values.split('/').map(str::to_owned).collect::<Vec<_>>());
            }
        }
        let train = domains("domains-train.txt", include_str!("lexicon/domains-train.txt"), &lists)?;
        let test = domains("domains-test.txt", include_str!("lexicon/domains-test.txt"), &lists)?;
        let mut people: [[Vec<String>; 2]; 2] = Default::default();
        let mut shared = BTreeSet::new();
        for line in include_str!("lexicon/people.txt").lines() {
            let Some((key, values)) = line.split_once(' ') else { continue };
            let values: Vec<String> = values.split('/').map(str::to_owned).collect();
            match key {
                "train-first" => people[0][0] = values,
                "train-last" => people[0][1] = values,
                "test-first" => people[1][0] = values,
                "test-last" => people[1][1] = values,
                _ => shared.extend(values),
            }
        }
        let mut test_words = content_words(&test);
        for name in people[1].iter().flatten() {
            test_words.insert(name.to_lowercase());
        }
        test_words.retain(|w| !shared.contains(w) && w.len() > 2);
        let words = include_str!("lexicon/words.txt")
            .lines()
            .filter(|w| !test_words.contains(*w) && !test_words.contains(&plural(w)))
            .map(str::to_owned)
            .collect();
        Ok(Self { train, test, adjectives: adjectives(), people, words, test_words })
    }

    /// The domains of a split.
    pub fn domains(&self, split: Split) -> &[Domain] {
        match split {
            Split::Train => &self.train,
            Split::Test => &self.test,
        }
    }

    /// First and last names of a split.
    pub fn people(&self, split: Split) -> &[Vec<String>; 2] {
        &self.people[usize::from(split == Split::Test)]
    }
}

/// The lower-case words of all names, synonyms, phrases and values of some domains.
pub fn content_words(domains: &[Domain]) -> BTreeSet<String> {
    let mut out = BTreeSet::new();
    let mut add = |text: &str| {
        for w in text.split(|c: char| !c.is_alphabetic()).filter(|w| !w.is_empty()) {
            out.insert(w.to_lowercase());
        }
    };
    for e in domains.iter().flat_map(|d| &d.entities) {
        add(&e.one);
        add(&e.many);
        e.synonyms.iter().for_each(|s| {
            add(s);
            add(&plural(s));
        });
        for a in &e.attributes {
            match &a.kind {
                AttributeKind::Link(_, phrase) => add(phrase),
                kind => {
                    add(&a.words);
                    a.synonyms.iter().for_each(|s| add(s));
                    if let AttributeKind::Category(values) = kind {
                        values.iter().for_each(|v| add(v));
                    }
                }
            }
        }
    }
    out
}

fn domains(file: &'static str, text: &str, lists: &BTreeMap<&str, Vec<String>>) -> Result<Vec<Domain>> {
    let mut out: Vec<Domain> = Vec::new();
    for (i, line) in text.lines().enumerate() {
        let bad = |why: String| Error::Lexicon { file, line: i + 1, why };
        if line.starts_with('#') || line.trim().is_empty() {
            continue;
        }
        if let Some(name) = line.strip_prefix("* ") {
            out.push(Domain { name: name.to_owned(), entities: Vec::new() });
            continue;
        }
        let (head, attributes) = line.split_once(" : ").ok_or_else(|| bad("no ` : `".into()))?;
        let domain = out.last_mut().ok_or_else(|| bad("an entity before the first domain".into()))?;
        domain.entities.push(entity(head, attributes, lists).map_err(bad)?);
    }
    Ok(out)
}

fn entity(
    head: &str,
    attributes: &str,
    lists: &BTreeMap<&str, Vec<String>>,
) -> std::result::Result<Entity, String> {
    // Flags are single letters at the end of the head.
    let mut words: Vec<&str> = head.split(' ').collect();
    let mut flags = String::new();
    while words.last().is_some_and(|w| w.len() == 1 && "pxtc".contains(*w)) {
        flags.push_str(words.pop().unwrap_or_default());
    }
    let head = words.join(" ");
    let (noun, synonyms) = head.split_once(" = ").unwrap_or((&head, ""));
    let (one, many) = noun.split_once('/').map_or_else(
        || (noun.trim().to_owned(), plural(noun.trim())),
        |(a, b)| (a.trim().to_owned(), b.trim().to_owned()),
    );
    let attributes = split_outside(attributes, ',')
        .iter()
        .map(|a| attribute(a.trim(), lists))
        .collect::<std::result::Result<_, _>>()?;
    Ok(Entity {
        one,
        many,
        synonyms: synonyms.split(',').map(str::trim).filter(|s| !s.is_empty()).map(str::to_owned).collect(),
        person: flags.contains('p'),
        nameless: flags.contains('x'),
        titled: flags.contains('t'),
        coded: flags.contains('c'),
        attributes,
    })
}

fn split_outside(text: &str, at: char) -> Vec<&str> {
    let (mut depth, mut from, mut out) = (0i32, 0, Vec::new());
    for (i, c) in text.char_indices() {
        match c {
            '(' => depth += 1,
            ')' => depth -= 1,
            _ if c == at && depth == 0 => {
                out.push(&text[from..i]);
                from = i + c.len_utf8();
            }
            _ => {}
        }
    }
    out.push(&text[from..]);
    out
}

fn attribute(text: &str, lists: &BTreeMap<&str, Vec<String>>) -> std::result::Result<Attribute, String> {
    if let Some(link) = text.strip_prefix('>') {
        let (target, phrase) = link.split_once('(').ok_or_else(|| format!("no phrase in `{text}`"))?;
        let phrase = phrase.trim_end_matches(')').to_owned();
        let kind = AttributeKind::Link(target.trim().to_owned(), phrase);
        return Ok(Attribute { words: target.trim().to_owned(), synonyms: Vec::new(), kind });
    }
    let at = text.find(['#', '~', '@', '^', '!', '$']).ok_or_else(|| format!("no kind in `{text}`"))?;
    let (name, rest) = text.split_at(at);
    let (mark, rest) = rest.split_at(1);
    let (words, synonyms) = match name.split_once('(') {
        Some((w, s)) => {
            (w, s.trim_end_matches(')').split(';').map(|s| s.trim().to_owned()).collect::<Vec<_>>())
        }
        None => (name, Vec::new()),
    };
    let bounds = || -> std::result::Result<(f64, f64), String> {
        let (a, b) = rest.split_once('-').ok_or_else(|| format!("no range in `{text}`"))?;
        let number = |x: &str| x.parse::<f64>().map_err(|e| format!("{e} in `{text}`"));
        Ok((number(a)?, number(b)?))
    };
    let kind = match mark {
        "#" => bounds().map(|(a, b)| AttributeKind::Integer(a as i64, b as i64))?,
        "~" => bounds().map(|(a, b)| AttributeKind::Real(a, b))?,
        "^" => bounds().map(|(a, b)| AttributeKind::Date(a as i64, b as i64))?,
        "!" => AttributeKind::Flag,
        "$" => AttributeKind::Text,
        _ => AttributeKind::Category(match rest.strip_prefix('=') {
            Some(list) => lists.get(list).ok_or_else(|| format!("no list `{list}`"))?.clone(),
            None => rest.split('/').map(str::to_owned).collect(),
        }),
    };
    Ok(Attribute { words: words.trim().to_owned(), synonyms, kind })
}

fn adjectives() -> BTreeMap<String, Adjective> {
    let pair = |s: &str| s.split_once(',').map(|(a, b)| (a.trim().to_owned(), b.trim().to_owned()));
    let mut out = BTreeMap::new();
    for line in include_str!("lexicon/adjectives.txt").lines().filter(|l| !l.starts_with('#')) {
        let fields: Vec<&str> = line.split('|').collect();
        let first = fields[0].trim();
        // The attribute is a prefix of the first field; the extremes follow its last plain word before a comma pair.
        let (words, extremes) = split_extremes(first);
        let how = fields
            .get(2)
            .map(|s| s.trim())
            .filter(|s| !s.is_empty())
            .map(|s| (s.to_owned(), fields.get(3).map_or_else(String::new, |t| t.trim().to_owned())));
        out.insert(
            words.to_owned(),
            Adjective { extremes, comparatives: fields.get(1).and_then(|s| pair(s)), how },
        );
    }
    out
}

/// `max speed fastest,slowest` → (`max speed`, (`fastest`, `slowest`)); the known two-word extremes are listed here.
fn split_extremes(text: &str) -> (&str, Option<(String, String)>) {
    let Some(comma) = text.find(',') else { return (text, None) };
    let high_start = ["most ", "best ", "worst ", "longest "]
        .iter()
        .filter_map(|lead| text[..comma].rfind(lead))
        .min()
        .or_else(|| text[..comma].rfind(' ').map(|i| i + 1))
        .unwrap_or(0);
    (
        text[..high_start].trim(),
        Some((text[high_start..comma].trim().to_owned(), text[comma + 1..].trim().to_owned())),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_parse() {
        let lexicon = Lexicon::load().unwrap();
        assert!(lexicon.train.len() >= 20 && lexicon.test.len() >= 6);
        let flight = lexicon.train[0].entities.iter().find(|e| e.one == "flight").unwrap();
        assert!(flight.coded && flight.nameless);
        assert!(flight.attributes.iter().any(|a| a.synonyms.contains(&"fare".to_owned())));
        assert_eq!(lexicon.adjectives["age"].extremes, Some(("oldest".into(), "youngest".into())));
        assert_eq!(
            lexicon.adjectives["unit price"].extremes,
            Some(("most expensive".into(), "cheapest".into()))
        );
        assert_eq!(lexicon.adjectives["max speed"].extremes, Some(("fastest".into(), "slowest".into())));
        assert!(lexicon.words.len() > 8000);
    }

    #[test]
    fn every_link_has_its_entity() {
        let lexicon = Lexicon::load().unwrap();
        for d in lexicon.train.iter().chain(&lexicon.test) {
            for e in &d.entities {
                for a in &e.attributes {
                    if let AttributeKind::Link(to, _) = &a.kind {
                        assert!(d.entities.iter().any(|x| x.one == *to), "{}: {} -> {to}", d.name, e.one);
                    }
                }
            }
        }
    }

    #[test]
    fn held_out_words_do_not_occur_in_training() {
        let lexicon = Lexicon::load().unwrap();
        let mut train = content_words(&lexicon.train);
        train.extend(lexicon.words.iter().cloned());
        train.extend(lexicon.people[0].iter().flatten().map(|w| w.to_lowercase()));
        let both: Vec<&String> = lexicon.test_words.intersection(&train).collect();
        assert!(both.is_empty(), "{both:?}");
    }
}
