//! Python's tokens, as far as statements and string literals need them.

use super::Fault;

/// One token and the line it begins on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Token<'s> {
    pub line: usize,
    pub kind: Kind<'s>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind<'s> {
    Name(&'s str),
    /// A string literal: its prefix, and what stands between the quotes, as it is written.
    String {
        prefix: &'s str,
        body: &'s str,
    },
    /// A number, of which no constant is made.
    Number(&'s str),
    /// One character of punctuation.
    Sign(char),
}

/// Deepest nesting of brackets, which bounds the recursion of whoever reads them.
const MAX_DEPTH: usize = 100;

/// The statements that begin in the first column, each as its tokens. Statements separated by `;` are apart.
pub(super) fn statements(source: &str) -> Result<Vec<Vec<Token<'_>>>, Fault> {
    let mut lexer = Lexer { source, at: 0, line: 1 };
    let mut statements = Vec::new();
    let mut current: Vec<Token<'_>> = Vec::new();
    let mut brackets: Vec<(char, usize)> = Vec::new();
    // Whether the statement's first line begins in the first column.
    let mut top = !source.starts_with([' ', '\t']);
    loop {
        lexer.pass_blanks();
        let line = lexer.line;
        let Some(letter) = lexer.rest().chars().next() else { break };
        match letter {
            '\n' => {
                lexer.step(letter);
                if brackets.is_empty() {
                    finish(&mut statements, &mut current, top);
                    top = !lexer.rest().starts_with([' ', '\t']);
                }
                continue;
            }
            ';' if brackets.is_empty() => {
                lexer.step(letter);
                finish(&mut statements, &mut current, top);
                continue;
            }
            '(' | '[' | '{' => {
                if brackets.len() >= MAX_DEPTH {
                    return Err(Fault::new(line, format!("brackets are nested more than {MAX_DEPTH} deep")));
                }
                brackets.push((letter, line));
            }
            ')' | ']' | '}' => {
                let open = match letter {
                    ')' => '(',
                    ']' => '[',
                    _ => '{',
                };
                if brackets.pop().map(|(bracket, _)| bracket) != Some(open) {
                    return Err(Fault::new(
                        line,
                        format!("`{letter}` closes nothing: is this a Python file?"),
                    ));
                }
            }
            _ => {}
        }
        let kind = lexer.token(letter)?;
        current.push(Token { line, kind });
    }
    if let Some((bracket, line)) = brackets.pop() {
        return Err(Fault::new(line, format!("`{bracket}` is never closed: is the file whole?")));
    }
    finish(&mut statements, &mut current, top);
    Ok(statements)
}

fn finish<'s>(statements: &mut Vec<Vec<Token<'s>>>, current: &mut Vec<Token<'s>>, top: bool) {
    if top && !current.is_empty() {
        statements.push(std::mem::take(current));
    }
    current.clear();
}

struct Lexer<'s> {
    source: &'s str,
    at: usize,
    line: usize,
}

impl<'s> Lexer<'s> {
    fn rest(&self) -> &'s str {
        self.source.get(self.at..).unwrap_or_default()
    }

    fn step(&mut self, letter: char) {
        self.at += letter.len_utf8();
        self.line += usize::from(letter == '\n');
    }

    /// Passes white space, comments and line continuations.
    fn pass_blanks(&mut self) {
        loop {
            let rest = self.rest();
            if rest.starts_with([' ', '\t', '\u{c}']) {
                self.at += 1;
            } else if rest.starts_with("\\\n") {
                self.at += 2;
                self.line += 1;
            } else if rest.starts_with('#') {
                self.at += rest.find('\n').unwrap_or(rest.len());
            } else {
                return;
            }
        }
    }

    /// The token that begins with `letter`, where the lexer stands.
    fn token(&mut self, letter: char) -> Result<Kind<'s>, Fault> {
        let rest = self.rest();
        if letter == '"' || letter == '\'' {
            return self.string("", letter);
        }
        let word_end = |stop: fn(char) -> bool| rest.find(stop).unwrap_or(rest.len());
        if letter == '_' || letter.is_alphabetic() {
            let (name, after) = rest.split_at(word_end(|c| c != '_' && !c.is_alphanumeric()));
            self.at += name.len();
            return match after.chars().next() {
                Some(quote @ ('"' | '\'')) if is_prefix(name) => self.string(name, quote),
                _ => Ok(Kind::Name(name)),
            };
        }
        if letter.is_ascii_digit() {
            let (number, _) = rest.split_at(word_end(|c| c != '_' && c != '.' && !c.is_alphanumeric()));
            self.at += number.len();
            return Ok(Kind::Number(number));
        }
        self.step(letter);
        Ok(Kind::Sign(letter))
    }

    /// The string literal whose quotes begin here.
    fn string(&mut self, prefix: &'s str, quote: char) -> Result<Kind<'s>, Fault> {
        let triple = quotes_at(self.rest(), quote, true);
        let quotes = if triple { 3 } else { 1 };
        let start = self.at + quotes;
        let body = self.source.get(start..).unwrap_or_default();
        let length = if prefix.contains(['f', 'F', 't', 'T']) {
            filled_length(body, quote, triple, 0)
        } else {
            plain_length(body, quote, triple)
        };
        let Some(body) = length.and_then(|length| body.get(..length)) else {
            return Err(Fault::new(self.line, "a string that begins here has no end: is the file whole?"));
        };
        self.at = start + body.len() + quotes;
        self.line += body.matches('\n').count();
        Ok(Kind::String { prefix, body })
    }
}

/// Whether a name right before quotes is a prefix of the literal.
fn is_prefix(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    matches!(name.as_str(), "r" | "u" | "b" | "f" | "t" | "br" | "rb" | "fr" | "rf" | "tr" | "rt")
}

/// Whether one or three quotes stand here.
fn quotes_at(rest: &str, quote: char, triple: bool) -> bool {
    let mut letters = rest.chars();
    (0..if triple { 3 } else { 1 }).all(|_| letters.next() == Some(quote))
}

/// Length of a literal's body up to its closing quotes.
fn plain_length(body: &str, quote: char, triple: bool) -> Option<usize> {
    let mut letters = body.char_indices();
    while let Some((at, letter)) = letters.next() {
        match letter {
            // Raw literals too: a backslash keeps a quote from ending them.
            '\\' => {
                letters.next();
            }
            '\n' if !triple => return None,
            _ if letter == quote && quotes_at(body.get(at..)?, quote, triple) => return Some(at),
            _ => {}
        }
    }
    None
}

/// Deepest nesting of literals in f-strings.
const MAX_FILLED: usize = 8;

/// The same for an f-string, in whose replacement fields other literals may stand; since Python 3.12 with the same
/// quotes.
fn filled_length(body: &str, quote: char, triple: bool, depth: usize) -> Option<usize> {
    let mut at = 0;
    loop {
        let rest = body.get(at..)?;
        let letter = rest.chars().next()?;
        if letter == '\\' {
            // A brace means what it means behind a backslash too.
            let next = rest.get(1..)?.chars().next()?;
            at += if matches!(next, '{' | '}') { 1 } else { 1 + next.len_utf8() };
        } else if letter == '\n' && !triple {
            return None;
        } else if quotes_at(rest, quote, triple) {
            return Some(at);
        } else if rest.starts_with("{{") {
            at += 2;
        } else if letter == '{' {
            at += 1;
            at += field_length(body.get(at..)?, quote, triple, depth + 1)?;
        } else {
            at += letter.len_utf8();
        }
    }
}

/// Length of a replacement field behind its opening brace, the closing one included.
fn field_length(field: &str, quote: char, triple: bool, depth: usize) -> Option<usize> {
    if depth > MAX_FILLED {
        return None;
    }
    let mut at = 0;
    let mut brackets = 0usize;
    // Behind a colon stands a format, which is text that may have fields of its own.
    let mut format = false;
    loop {
        let rest = field.get(at..)?;
        let letter = rest.chars().next()?;
        match letter {
            '}' if brackets == 0 => return Some(at + 1),
            '{' if format => {
                at += 1;
                at += field_length(field.get(at..)?, quote, triple, depth + 1)?;
                continue;
            }
            _ if format && quotes_at(rest, quote, triple) => return None,
            _ if format => {}
            '\'' | '"' => {
                let inner_triple = quotes_at(rest, letter, true);
                let quotes = if inner_triple { 3 } else { 1 };
                let before = field.get(..at)?;
                let name = before.trim_end_matches(|c: char| c.is_ascii_alphabetic());
                let prefix = before.get(name.len()..)?;
                let inner = field.get(at + quotes..)?;
                let length = if is_prefix(prefix) && prefix.contains(['f', 'F', 't', 'T']) {
                    filled_length(inner, letter, inner_triple, depth + 1)?
                } else {
                    plain_length(inner, letter, inner_triple)?
                };
                at += 2 * quotes + length;
                continue;
            }
            '(' | '[' | '{' => brackets += 1,
            ')' | ']' | '}' => brackets = brackets.checked_sub(1)?,
            ':' if brackets == 0 => format = true,
            _ => {}
        }
        at += letter.len_utf8();
    }
}
