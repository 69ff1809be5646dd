//! The values of assignments.

use std::collections::HashMap;

use super::lexer::{Kind, Token};
use super::{Fault, MAX_BYTES, literal};
use crate::python;

pub(super) type Values = HashMap<String, Result<String, Fault>>;

/// What every top-level `name = value` and `name: type = value` comes to, the last one of a name counting.
pub(super) fn assignments(statements: &[Vec<Token<'_>>]) -> Values {
    let mut values = Values::new();
    // Of all texts made, so that constants that double one another end in an error and not in all memory.
    let mut left = MAX_BYTES;
    for tokens in statements {
        for (name, line) in imports(tokens) {
            let problem = "it is imported from another file; give that file instead";
            values.insert(name.to_owned(), Err(Fault::new(line, problem)));
        }
        let Some((names, value)) = assignment(tokens) else { continue };
        let line = tokens.first().map_or(0, |token| token.line);
        let mut parser = Parser { tokens: value, values: &values, left, line };
        let result = parser.whole();
        left = parser.left;
        for name in names {
            values.insert(name.to_owned(), result.clone());
        }
    }
    values
}

/// The names that `from module import name, name` brings.
fn imports<'s>(tokens: &[Token<'s>]) -> impl Iterator<Item = (&'s str, usize)> {
    let begins = matches!(tokens.first(), Some(Token { kind: Kind::Name("from"), .. }));
    let names = tokens.iter().filter(move |_| begins).filter_map(|token| match token.kind {
        Kind::Name(name) => Some((name, token.line)),
        _ => None,
    });
    names.skip_while(|(name, _)| *name != "import").skip(1)
}

/// The names and the value of an assignment; none for another statement.
fn assignment<'t, 's>(tokens: &'t [Token<'s>]) -> Option<(Vec<&'s str>, &'t [Token<'s>])> {
    let mut names = Vec::new();
    let mut rest = tokens;
    while let [Token { kind: Kind::Name(name), .. }, after @ ..] = rest {
        let signs = (sign(after, 0), sign(after, 1));
        let value = match signs {
            // A comparison.
            (Some('='), Some('=')) => break,
            (Some('='), _) => after.get(1..)?,
            // `name: type = value`; a type has `=` in brackets only.
            (Some(':'), _) if names.is_empty() => {
                let annotated = after.get(1..)?;
                annotated.get(equals(annotated)? + 1..)?
            }
            // `name += value` and its like: the operator stays with the value, where it is an error.
            (Some('+' | '-' | '*' | '/' | '%' | '&' | '|' | '^' | '@'), Some('=')) if names.is_empty() => {
                after
            }
            _ => break,
        };
        names.push(*name);
        rest = value;
    }
    if names.is_empty() { None } else { Some((names, rest)) }
}

fn sign(tokens: &[Token<'_>], at: usize) -> Option<char> {
    match tokens.get(at)?.kind {
        Kind::Sign(sign) => Some(sign),
        _ => None,
    }
}

/// Where the first `=` outside brackets is.
fn equals(tokens: &[Token<'_>]) -> Option<usize> {
    let mut depth = 0usize;
    tokens.iter().position(|token| {
        match token.kind {
            Kind::Sign('(' | '[' | '{') => depth += 1,
            Kind::Sign(')' | ']' | '}') => depth = depth.saturating_sub(1),
            _ => {}
        }
        depth == 0 && token.kind == Kind::Sign('=')
    })
}

struct Parser<'t, 's> {
    tokens: &'t [Token<'s>],
    values: &'t Values,
    /// Bytes of text that may still be made.
    left: usize,
    /// Line of the last token taken.
    line: usize,
}

impl<'s> Parser<'_, 's> {
    fn whole(&mut self) -> Result<String, Fault> {
        let value = self.sum()?;
        if self.tokens.is_empty() { Ok(value) } else { Err(self.unexpected()) }
    }

    fn peek(&self) -> Option<Kind<'s>> {
        self.tokens.first().map(|token| token.kind)
    }

    fn take(&mut self) -> Option<Kind<'s>> {
        let (token, rest) = self.tokens.split_first()?;
        self.tokens = rest;
        self.line = token.line;
        Some(token.kind)
    }

    fn take_sign(&mut self, sign: char) -> bool {
        let found = self.peek() == Some(Kind::Sign(sign));
        if found {
            self.take();
        }
        found
    }

    fn unexpected(&mut self) -> Fault {
        /// Names in messages are cut: the file chooses them.
        const SHOWN: usize = 40;
        let cut = |text: &str| text.chars().take(SHOWN).collect::<String>();
        let problem = match self.take() {
            Some(Kind::Name(name)) => format!("`{}` is not a text that can be read here", cut(name)),
            Some(Kind::Number(number)) => format!("`{}` is not a text", cut(number)),
            Some(Kind::Sign(sign)) => format!("`{sign}` cannot be read here"),
            Some(Kind::String { .. }) => "a string stands where none is expected".into(),
            None => "the value is not complete".into(),
        };
        Fault::new(self.line, problem)
    }

    fn charge(&mut self, bytes: usize) -> Result<(), Fault> {
        self.left = self.left.checked_sub(bytes).ok_or_else(|| {
            Fault::new(self.line, format!("the constants of the file come to more than {MAX_BYTES} bytes"))
        })?;
        Ok(())
    }

    /// `part + part + …`
    fn sum(&mut self) -> Result<String, Fault> {
        let mut value = self.part()?;
        while self.take_sign('+') {
            value.push_str(&self.part()?);
        }
        Ok(value)
    }

    /// Literals, a name, a bracketed sum or a call of `dedent`, and the methods behind it.
    fn part(&mut self) -> Result<String, Fault> {
        let mut value = match self.peek() {
            Some(Kind::String { .. }) => self.literals()?,
            Some(Kind::Sign('(')) => {
                self.take();
                self.bracketed()?
            }
            Some(Kind::Name(_)) => match self.dedent_call() {
                Some(tokens) => {
                    for _ in 0..tokens {
                        self.take();
                    }
                    let text = self.bracketed()?;
                    dedent(&text)
                }
                None => self.constant()?,
            },
            _ => return Err(self.unexpected()),
        };
        while self.take_sign('.') {
            value = self.method(&value)?;
        }
        Ok(value)
    }

    /// The value of a constant that is assigned further up.
    fn constant(&mut self) -> Result<String, Fault> {
        let values = self.values;
        let Some(Kind::Name(name)) = self.peek() else { return Err(self.unexpected()) };
        match values.get(name) {
            Some(Ok(value)) => {
                self.take();
                self.charge(value.len())?;
                Ok(value.clone())
            }
            // What is wrong with it is what is wrong here.
            Some(Err(fault)) => Err(fault.clone()),
            None => Err(self.unexpected()),
        }
    }

    /// The number of tokens of `dedent(` or `textwrap.dedent(`, if that is next.
    fn dedent_call(&self) -> Option<usize> {
        let kind = |n: usize| self.tokens.get(n).map(|token| token.kind);
        let name = match kind(0)? {
            Kind::Name("textwrap") if kind(1) == Some(Kind::Sign('.')) => 2,
            _ => 0,
        };
        let calls = kind(name) == Some(Kind::Name("dedent")) && kind(name + 1) == Some(Kind::Sign('('));
        calls.then_some(name + 2)
    }

    /// What follows an opening parenthesis, the closing one included. The lexer bounds how deep these nest.
    fn bracketed(&mut self) -> Result<String, Fault> {
        let value = self.sum()?;
        if self.take_sign(')') { Ok(value) } else { Err(self.unexpected()) }
    }

    /// Neighbouring literals, which Python joins.
    fn literals(&mut self) -> Result<String, Fault> {
        let mut value = String::new();
        while let Some(Kind::String { prefix, body }) = self.peek() {
            self.take();
            self.charge(body.len())?;
            literal::value(self.line, prefix, body, &mut value)?;
        }
        Ok(value)
    }

    /// `strip()` and its like, behind the dot.
    fn method(&mut self, value: &str) -> Result<String, Fault> {
        let Some(Kind::Name(name @ ("strip" | "lstrip" | "rstrip"))) = self.peek() else {
            return Err(self.unexpected());
        };
        self.take();
        if !self.take_sign('(') {
            return Err(self.unexpected());
        }
        let letters = if self.take_sign(')') {
            None
        } else {
            let letters = self.sum()?;
            self.take_sign(',');
            if !self.take_sign(')') {
                return Err(self.unexpected());
            }
            Some(letters)
        };
        let strips = |letter: char| match &letters {
            Some(letters) => letters.contains(letter),
            None => python::is_space(letter),
        };
        let stripped = match name {
            "strip" => value.trim_matches(strips),
            "lstrip" => value.trim_start_matches(strips),
            _ => value.trim_end_matches(strips),
        };
        Ok(stripped.to_owned())
    }
}

/// `textwrap.dedent`: takes off the blanks that all lines begin with. Lines of blanks only become empty and do not
/// count.
fn dedent(text: &str) -> String {
    let is_blank = |letter: char| letter == ' ' || letter == '\t';
    let lines =
        || text.split('\n').map(|line| if line.trim_matches(is_blank).is_empty() { "" } else { line });
    let indents = lines().filter(|line| !line.is_empty()).map(|line| {
        let length = line.len() - line.trim_start_matches(is_blank).len();
        line.get(..length).unwrap_or_default()
    });
    let margin = indents.reduce(|margin, indent| {
        let common = margin.bytes().zip(indent.bytes()).take_while(|(a, b)| a == b).count();
        margin.get(..common).unwrap_or_default()
    });
    let margin = margin.unwrap_or_default();
    let lines: Vec<&str> = lines().map(|line| line.strip_prefix(margin).unwrap_or(line)).collect();
    lines.join("\n")
}
