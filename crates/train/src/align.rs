//! Where a question says the phrases that its reasoning links to tables and columns.
//!
//! An ideal episode reasons `phrase = column` for each thing that the question names. Which comes first is not arbitrary:
//! phrases are copied as the question has them, in its order, so that the reasoning is one walk through the sentence,
//! whatever the sentence's build. (In the order of the SQL, four fifths of a small model's loss went into
//! guessing which phrase would be next.)

use crate::text::plural;
use std::ops::Range;

/// The phrases of `links` as `text` writes them, in the order of `text`; what it does not say keeps its words and
/// comes last.
pub fn in_order<T: Clone + PartialEq>(text: &str, links: &[(String, T)]) -> Vec<(String, T)> {
    // Longer phrases choose first: `name` must not take its place inside `dentist name`.
    let mut order: Vec<usize> = (0..links.len()).collect();
    order.sort_by_key(|&i| std::cmp::Reverse(links[i].0.len()));
    let mut found: Vec<Option<Range<usize>>> = vec![None; links.len()];
    for i in order {
        let taken: Vec<Range<usize>> = found.iter().flatten().cloned().collect();
        found[i] = spellings(&links[i].0).iter().find_map(|s| place(text, s, &taken));
    }
    let mut out: Vec<(usize, (String, T))> = links
        .iter()
        .zip(&found)
        .map(|((said, to), at)| match at {
            Some(r) => (r.start, (text[r.clone()].to_owned(), to.clone())),
            None => (usize::MAX, (said.clone(), to.clone())),
        })
        .collect();
    out.sort_by_key(|x| x.0);
    let mut links: Vec<(String, T)> = Vec::new();
    for (_, link) in out {
        if !links.contains(&link) {
            links.push(link);
        }
    }
    links
}

/// Whether `text` says `phrase` in some form.
pub fn says(text: &str, phrase: &str) -> bool {
    spellings(phrase).iter().any(|s| place(text, s, &[]).is_some())
}

/// The phrase, its plural and singular, then the same without its first words (`app name` in `the name of the app`).
fn spellings(phrase: &str) -> Vec<String> {
    let mut out = Vec::new();
    let mut rest = phrase;
    loop {
        out.push(rest.to_owned());
        out.push(plural(rest));
        out.extend(singulars(rest));
        match rest.split_once(' ') {
            Some((_, tail)) => rest = tail,
            None => return out,
        }
    }
}

fn singulars(phrase: &str) -> Vec<String> {
    let mut out = Vec::new();
    if let Some(stem) = phrase.strip_suffix("people") {
        out.push(format!("{stem}person"));
    } else if let Some(stem) = phrase.strip_suffix("children") {
        out.push(format!("{stem}child"));
    }
    for (end, instead) in [("ies", "y"), ("es", ""), ("s", "")] {
        if let Some(stem) = phrase.strip_suffix(end) {
            let one = format!("{stem}{instead}");
            if plural(&one) == phrase {
                out.push(one);
            }
        }
    }
    out
}

/// The first place of `phrase` between word boundaries, in either case, that overlaps none of `taken`; else the first of
/// all. Places in the text's own case are preferred.
fn place(text: &str, phrase: &str, taken: &[Range<usize>]) -> Option<Range<usize>> {
    if phrase.is_empty() {
        return None;
    }
    let all: Vec<Range<usize>> =
        [(text.to_owned(), phrase.to_owned()), (text.to_ascii_lowercase(), phrase.to_ascii_lowercase())]
            .iter()
            .flat_map(|(t, p)| t.match_indices(p.as_str()).map(|(i, m)| i..i + m.len()).collect::<Vec<_>>())
            .filter(|r| {
                let word = |c: Option<char>| c.is_some_and(char::is_alphanumeric);
                !word(text[..r.start].chars().next_back()) && !word(text[r.end..].chars().next())
            })
            .collect();
    let free = |r: &&Range<usize>| taken.iter().all(|t| r.end <= t.start || t.end <= r.start);
    all.iter().find(free).or_else(|| all.first()).cloned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn aligned(text: &str, links: &[(&str, &str)]) -> Vec<String> {
        let links: Vec<(String, String)> = links.iter().map(|(a, b)| ((*a).into(), (*b).into())).collect();
        in_order(text, &links).into_iter().map(|(a, b)| format!("{a} = {b}")).collect()
    }

    #[test]
    fn phrases_come_as_the_question_says_them_and_in_its_order() {
        assert_eq!(
            aligned(
                "The Winemakers whose royalty is 7 have how many dialects?",
                &[("dialects", "d"), ("royalty", "r"), ("winemakers", "w")]
            ),
            ["Winemakers = w", "royalty = r", "dialects = d"]
        );
        assert_eq!(
            aligned("book with the most branches", &[("books", "b"), ("branch", "br")]),
            ["book = b", "branches = br"]
        );
        assert_eq!(
            aligned("all people in New York", &[("person", "p"), ("new york", "c")]),
            ["people = p", "New York = c"]
        );
    }

    #[test]
    fn a_phrase_inside_another_waits_for_its_own_place() {
        assert_eq!(
            aligned("dentist name and name", &[("name", "n"), ("dentist name", "dn")]),
            ["dentist name = dn", "name = n"]
        );
        assert_eq!(aligned("those named Ann by name", &[("name", "n")]), ["name = n"]);
        assert_eq!(aligned("the name of the app", &[("app name", "a")]), ["name = a"]);
    }

    #[test]
    fn what_is_not_said_comes_last_with_its_own_words_and_nothing_comes_twice() {
        assert_eq!(
            aligned("how many?", &[("between", "b"), ("x", "c"), ("x", "c")]),
            ["between = b", "x = c"]
        );
        assert_eq!(aligned("ÄRA über 7, name", &[("name", "n"), ("ära", "g")]), ["name = n", "ära = g"]);
    }
}
