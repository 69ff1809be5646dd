//! Small text tools: plurals, identifier styles, sentence frames.

use crate::rng::Rng;

/// The plural of a noun phrase (its last word is inflected).
pub fn plural(words: &str) -> String {
    let (head, last) = match words.rsplit_once(' ') {
        Some((h, l)) => (format!("{h} "), l),
        None => (String::new(), words),
    };
    let lower = last.to_lowercase();
    let vowel_before_y = lower.ends_with("ay") || lower.ends_with("ey") || lower.ends_with("oy");
    let inflected = match lower.as_str() {
        "person" => "people".to_owned(),
        "child" => "children".to_owned(),
        "staff" | "series" | "species" | "aircraft" | "equipment" => last.to_owned(),
        _ if lower.ends_with('y') && !vowel_before_y && last.len() > 1 => {
            format!("{}ies", &last[..last.len() - 1])
        }
        _ if lower.ends_with('s')
            || lower.ends_with('x')
            || lower.ends_with("ch")
            || lower.ends_with("sh")
            || lower.ends_with('z') =>
        {
            format!("{last}es")
        }
        _ => format!("{last}s"),
    };
    head + &inflected
}

/// A word with its first letter upper case.
pub fn capitalised(word: &str) -> String {
    let mut chars = word.chars();
    chars.next().map_or_else(String::new, |c| c.to_uppercase().collect::<String>() + chars.as_str())
}

/// A text with its first letter lower case.
pub fn uncapitalised(text: &str) -> String {
    let mut chars = text.chars();
    let first = chars.next().map(|c| c.to_lowercase().collect::<String>()).unwrap_or_default();
    first + chars.as_str()
}

/// How identifiers are written in one database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    /// `flight_number`
    Snake,
    /// `Flight_Number`
    CapSnake,
    /// `flightNumber`
    Camel,
    /// `FlightNumber`
    Pascal,
    /// `flightnumber`
    Squashed,
    /// `FLIGHT_NUMBER`
    Upper,
    /// `flight number`, which must be quoted
    Spaced,
}

impl Style {
    /// Draws a style: snake case most often, the ones that hide word boundaries seldom.
    pub fn draw(rng: &mut Rng) -> Self {
        use Style::{Camel, CapSnake, Pascal, Snake, Spaced, Squashed, Upper};
        [Snake, CapSnake, Camel, Pascal, Squashed, Upper, Spaced][rng.weighted(&[58, 9, 10, 12, 4, 4, 3])]
    }

    /// Writes space-separated words in this style.
    pub fn write(self, words: &str) -> String {
        let parts: Vec<&str> = words.split([' ', '-', '\'', '/']).filter(|w| !w.is_empty()).collect();
        let cap = |w: &&str| capitalised(w);
        match self {
            Self::Snake => parts.join("_"),
            Self::CapSnake => parts.iter().map(cap).collect::<Vec<_>>().join("_"),
            Self::Camel => {
                let mut out = parts.first().map_or_else(String::new, |w| (*w).to_owned());
                out.extend(parts.iter().skip(1).map(cap));
                out
            }
            Self::Pascal => parts.iter().map(cap).collect(),
            Self::Squashed => parts.concat(),
            Self::Upper => parts.join("_").to_uppercase(),
            Self::Spaced => parts.join(" "),
        }
    }
}

/// Expands a sentence frame: `[a|b|c]` is one of the alternatives (they may nest), `{key}` is a value.
///
/// Keys are filled after the alternatives are chosen, so a value may hold brackets of its own.
pub fn expand(rng: &mut Rng, frame: &str, values: &[(&str, &str)]) -> String {
    let mut chosen = String::with_capacity(frame.len());
    choose(rng, frame, &mut chosen);
    let mut out = String::with_capacity(chosen.len() + 32);
    let mut rest = chosen.as_str();
    while let Some(at) = rest.find('{') {
        out.push_str(&rest[..at]);
        let end = rest[at..].find('}').map_or(rest.len() - 1, |e| at + e);
        let key = &rest[at + 1..end];
        match values.iter().find(|(k, _)| *k == key) {
            Some((_, v)) => out.push_str(v),
            None => out.push_str(&rest[at..=end]),
        }
        rest = &rest[end + 1..];
    }
    out.push_str(rest);
    out
}

fn choose(rng: &mut Rng, frame: &str, out: &mut String) {
    let mut rest = frame;
    while let Some(open) = rest.find('[') {
        out.push_str(&rest[..open]);
        let (mut depth, mut from, mut close) = (0usize, open + 1, rest.len());
        let mut parts = Vec::new();
        for (i, c) in rest[open..].char_indices() {
            let i = open + i;
            match c {
                '[' => depth += 1,
                '|' if depth == 1 => {
                    parts.push(&rest[from..i]);
                    from = i + 1;
                }
                ']' => {
                    depth -= 1;
                    if depth == 0 {
                        parts.push(&rest[from..i]);
                        close = i;
                        break;
                    }
                }
                _ => {}
            }
        }
        let part = if parts.is_empty() { "" } else { *rng.pick(&parts) };
        choose(rng, part, out);
        rest = rest.get(close + 1..).unwrap_or("");
    }
    out.push_str(rest);
}

/// Joins phrases as English does: `a`, `a and b`, `a, b and c`.
pub fn list_of(parts: &[String]) -> String {
    match parts {
        [] => String::new(),
        [one] => one.clone(),
        [head @ .., last] => format!("{} and {last}", head.join(", ")),
    }
}

/// Small whole numbers as words, for questions.
pub fn number_word(n: i64) -> Option<&'static str> {
    const WORDS: [&str; 13] = [
        "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven",
        "twelve",
    ];
    usize::try_from(n).ok().and_then(|i| WORDS.get(i).copied())
}

/// A string as an SQL literal.
pub fn literal(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plurals() {
        for (one, many) in [
            ("city", "cities"),
            ("bus", "buses"),
            ("day", "days"),
            ("staff member", "staff members"),
            ("match", "matches"),
            ("person", "people"),
        ] {
            assert_eq!(plural(one), many);
        }
    }

    #[test]
    fn styles() {
        assert_eq!(Style::Pascal.write("flight number"), "FlightNumber");
        assert_eq!(Style::Camel.write("flight number"), "flightNumber");
        assert_eq!(Style::CapSnake.write("flight number"), "Flight_Number");
        assert_eq!(Style::Snake.write("check-in date"), "check_in_date");
    }

    #[test]
    fn frames_nest_and_fill() {
        let mut rng = Rng::new(3);
        for _ in 0..50 {
            let s = expand(&mut rng, "[List|Show [all|the]] {E}{W}.", &[("E", "cats"), ("W", " [x]")]);
            assert!(
                ["List cats [x].", "Show all cats [x].", "Show the cats [x]."].contains(&s.as_str()),
                "{s}"
            );
        }
    }

    #[test]
    fn lists_and_literals() {
        assert_eq!(list_of(&["a".into(), "b".into(), "c".into()]), "a, b and c");
        assert_eq!(literal("O'Brien"), "'O''Brien'");
    }
}
