//! What the scores and the figures of behaviour need to know of a query's text.
//!
//! SQLite itself parses the queries; this only finds strings, brackets and words, in SQLite's way of quoting.

use std::collections::BTreeSet;

/// A piece of a query.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Token<'a> {
    /// A bare word or number.
    Word(&'a str),
    /// What stands in `'…'`, doubled quotes as written.
    Text(&'a str),
    /// What stands in `"…"`, doubled quotes as written: a name, or a string where no such name exists.
    Quoted(&'a str),
    /// What stands in backquotes or square brackets: always a name.
    Name(&'a str),
    /// `(`
    Open,
    /// `)`
    Close,
    /// Any other sign.
    Sign(char),
}

/// The tokens of a query with the place where each begins, white space and comments left out.
pub(crate) fn tokens(sql: &str) -> Vec<(usize, Token<'_>)> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(letter) = sql[at..].chars().next() {
        let rest = &sql[at..];
        let begin = at;
        match letter {
            _ if letter.is_whitespace() => at += letter.len_utf8(),
            '-' if rest.starts_with("--") => at += rest.find('\n').unwrap_or(rest.len()),
            '/' if rest.starts_with("/*") => {
                at += rest[2..].find("*/").map_or(rest.len(), |end| end + 4);
            }
            '\'' | '"' | '`' | '[' => {
                let inner = inner(rest, if letter == '[' { ']' } else { letter });
                at += (1 + inner.len() + 1).min(rest.len());
                let token = match letter {
                    '\'' => Token::Text(inner),
                    '"' => Token::Quoted(inner),
                    _ => Token::Name(inner),
                };
                found.push((begin, token));
            }
            _ if is_word(letter) => {
                let end = rest.find(|c| !is_word(c)).unwrap_or(rest.len());
                at += end;
                found.push((begin, Token::Word(&rest[..end])));
            }
            _ => {
                at += letter.len_utf8();
                found.push((
                    begin,
                    match letter {
                        '(' => Token::Open,
                        ')' => Token::Close,
                        other => Token::Sign(other),
                    },
                ));
            }
        }
    }
    found
}

fn is_word(letter: char) -> bool {
    letter.is_alphanumeric() || letter == '_' || letter == '$'
}

/// The inside of a quoted piece at the start of `text`, up to the quote that is not doubled, or to the end.
fn inner(text: &str, quote: char) -> &str {
    let body = &text[1..];
    let mut from = 0;
    while let Some(found) = body[from..].find(quote) {
        let end = from + found;
        if quote != ']' && body[end + 1..].starts_with(quote) {
            from = end + 2;
        } else {
            return &body[..end];
        }
    }
    body
}

/// The clauses of the outermost query that decide which rows come in which order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Tail {
    /// The outermost query has an ORDER BY.
    pub ordered: bool,
    /// Where its LIMIT begins.
    pub limit: Option<usize>,
    /// Where the query ends: before a closing semicolon.
    pub end: usize,
}

/// Finds the tail of a query. Common tables and subqueries stand in brackets, so what is outside of all brackets
/// belongs to the outermost query.
pub(crate) fn tail(sql: &str) -> Tail {
    let mut tail = Tail { ordered: false, limit: None, end: sql.trim_end().len() };
    let mut depth = 0usize;
    let mut order = false;
    for (at, token) in tokens(sql) {
        match token {
            Token::Open => depth += 1,
            Token::Close => depth = depth.saturating_sub(1),
            Token::Sign(';') if depth == 0 => {
                tail.end = at;
                return tail;
            }
            Token::Word(word) if depth == 0 => {
                if order && word.eq_ignore_ascii_case("by") {
                    tail.ordered = true;
                } else if word.eq_ignore_ascii_case("limit") {
                    tail.limit = Some(at);
                }
                order = word.eq_ignore_ascii_case("order");
                continue;
            }
            _ => {}
        }
        order = false;
    }
    tail
}

/// The query with all its output columns as further terms of its ORDER BY, rising or falling.
///
/// Rows that the query's own terms do not tell apart come in opposite orders in the two. So two equal results mean that
/// the order, and with a LIMIT the choice of rows, depends on nothing but the query. Positions stand for the columns:
/// they are allowed in every form of SELECT.
pub(crate) fn with_ties_broken(sql: &str, columns: usize, falling: bool) -> String {
    let tail = tail(sql);
    let at = tail.limit.unwrap_or(tail.end);
    let direction = if falling { " DESC" } else { "" };
    let terms: Vec<String> = (1..=columns).map(|column| format!("{column}{direction}")).collect();
    let lead = if tail.ordered { ", " } else { " ORDER BY " };
    // A line break before it ends a comment that may stand at the end.
    format!("{}\n{lead}{} {}", &sql[..at], terms.join(", "), &sql[at..tail.end])
}

/// Every word of a query that may be a name, in lower case and without quotes.
pub(crate) fn names(sql: &str) -> BTreeSet<String> {
    let name = |token: Token<'_>| match token {
        Token::Word(word) | Token::Name(word) => Some(word.to_lowercase()),
        Token::Quoted(word) => Some(word.replace("\"\"", "\"").to_lowercase()),
        // SQLite takes a string for a name where only a name can stand.
        Token::Text(word) => Some(word.replace("''", "'").to_lowercase()),
        Token::Open | Token::Close | Token::Sign(_) => None,
    };
    tokens(sql).into_iter().filter_map(|(_, token)| name(token)).collect()
}

/// The string literals of a query, without empty ones and without the format of `strftime`, which is no value.
/// `is_name` says whether a piece in double quotes is a name of the database; else SQLite takes it for a string.
/// The `%` at the ends of a LIKE pattern are taken off.
pub(crate) fn literals(sql: &str, is_name: impl Fn(&str) -> bool) -> Vec<String> {
    let tokens = tokens(sql);
    let mut found: Vec<String> = Vec::new();
    for (index, (_, token)) in tokens.iter().enumerate() {
        let (text, quote) = match token {
            Token::Text(text) => (*text, '\''),
            Token::Quoted(text) if !is_name(text) && !is_alias(&tokens, index) => (*text, '"'),
            _ => continue,
        };
        let is_format = index >= 2
            && tokens[index - 1].1 == Token::Open
            && matches!(tokens[index - 2].1, Token::Word(word) if word.eq_ignore_ascii_case("strftime"));
        let text = text.replace(&format!("{quote}{quote}"), &quote.to_string());
        let text = text.trim_matches('%');
        if !is_format && !text.trim().is_empty() && !found.iter().any(|other| other == text) {
            found.push(text.to_owned());
        }
    }
    found
}

/// Whether a quoted piece gives a name to what stands before it, or is the first part of a dotted name.
fn is_alias(tokens: &[(usize, Token<'_>)], index: usize) -> bool {
    let is_dot = |index: usize| matches!(tokens.get(index), Some((_, Token::Sign('.'))));
    let after_as =
        index > 0 && matches!(tokens[index - 1].1, Token::Word(word) if word.eq_ignore_ascii_case("as"));
    after_as || is_dot(index + 1) || (index > 0 && is_dot(index - 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_outermost_order_counts() {
        let ordered = |sql: &str| tail(sql).ordered;
        assert!(ordered("SELECT a FROM t ORDER BY a"));
        assert!(ordered("WITH x AS (SELECT 1) SELECT * FROM x order\n by 1 LIMIT 3;"));
        assert!(!ordered("SELECT * FROM (SELECT a FROM t ORDER BY a)"));
        assert!(!ordered("SELECT rank() OVER (ORDER BY a) FROM t"));
        assert!(!ordered("SELECT 'ORDER BY' FROM t -- ORDER BY a"));
        assert!(!ordered("SELECT \"order\", by FROM t"));
        assert!(ordered("SELECT a FROM t UNION SELECT b FROM u ORDER BY 1"));
        assert_eq!(tail("SELECT a FROM t LIMIT 3 ; ").limit, Some(16));
        assert_eq!(tail("SELECT a FROM (SELECT 1 LIMIT 2)").limit, None);
    }

    #[test]
    fn ties_are_broken_before_the_limit() {
        assert_eq!(
            with_ties_broken("SELECT a FROM t ORDER BY a LIMIT 3;", 1, true),
            "SELECT a FROM t ORDER BY a \n, 1 DESC LIMIT 3"
        );
        assert_eq!(
            with_ties_broken("SELECT a, b FROM t -- end", 2, false),
            "SELECT a, b FROM t -- end\n ORDER BY 1, 2 "
        );
    }

    #[test]
    fn literals_are_values_and_not_names() {
        let names = |name: &str| name == "city";
        assert_eq!(
            literals(
                "SELECT \"city\", x AS \"label\" FROM t WHERE n = 'O''Hare' AND m LIKE '%firm%' OR k = \"France\" OR e = ''",
                names
            ),
            ["O'Hare", "firm", "France"]
        );
        assert_eq!(
            literals("SELECT strftime('%Y', d) FROM t WHERE d > '2020' OR c = '2020'", names),
            ["2020"]
        );
        assert_eq!(literals("SELECT \"t\".\"a\" FROM t", names), Vec::<String>::new());
        assert_eq!(literals("SELECT 'open", names), ["open"]);
    }

    #[test]
    fn any_text_can_be_split() {
        for sql in ["'", "\"", "[", "/*", "--", "é'ü", "(((", "`a``b`", "\u{feff}SELECT"] {
            let _ = (tokens(sql), tail(sql), with_ties_broken(sql, 1, false));
        }
    }
}
