//! Reading string constants out of a Python file without running it.
//!
//! The file is cut into tokens as Python cuts it, so that strings, comments and brackets are never mistaken; of its
//! statements only assignments at the top level are looked at, and of their values only those made of string
//! literals:
//!
//! - literals of every form: single, double and triple quotes, the prefixes `r`, `u`, and `f` where nothing is filled
//!   in; escapes but `\N{…}`; neighbours that join by themselves, `+`, parentheses, continued lines;
//! - `.strip()`, `.lstrip()`, `.rstrip()` of one, with or without letters to strip, and `textwrap.dedent(…)` around one;
//! - the name of a constant assigned further up.
//!
//! Anything else is an error that names its line. Values are those that CPython gives: the test vectors were made by
//! it.

mod evaluate;
mod lexer;
mod literal;

use std::collections::HashMap;

use crate::error::{Error, Result};

/// Largest file read, and most text that all its constants may come to; prompts have a few kilobytes.
const MAX_BYTES: usize = 1 << 20;

/// What a fault in a value is followed by.
const ADVICE: &str = "what is read are string literals, `+`, parentheses, .strip() and its like, textwrap.dedent(…), \
                      and constants assigned further up; write the text out as one literal";

/// A fault and the line where it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Fault {
    line: usize,
    problem: String,
}

impl Fault {
    fn new(line: usize, problem: impl Into<String>) -> Self {
        Self { line, problem: problem.into() }
    }
}

/// The string constants of a file.
#[derive(Debug)]
pub struct Constants {
    file: String,
    values: HashMap<String, Result<String, Fault>>,
}

impl Constants {
    /// Reads a file. Assignments that are no string constants are no error until they are asked for.
    ///
    /// # Errors
    /// The file cannot be cut into tokens (a string without an end, brackets that do not match), or is too large.
    pub fn read(file: &str, source: &str) -> Result<Self> {
        let told = |fault: Fault| Error::PromptFile {
            file: file.to_owned(),
            line: fault.line,
            problem: fault.problem,
        };
        if source.len() > MAX_BYTES {
            let problem = format!("it is {} bytes long, more than {MAX_BYTES}", source.len());
            return Err(told(Fault::new(0, problem)));
        }
        // As Python reads files: without a byte order mark, lines ended by a line feed.
        let source =
            source.strip_prefix('\u{feff}').unwrap_or(source).replace("\r\n", "\n").replace('\r', "\n");
        let statements = lexer::statements(&source).map_err(told)?;
        Ok(Self { file: file.to_owned(), values: evaluate::assignments(&statements) })
    }

    /// The value of a constant; none where the file does not assign it at its top level. The last assignment counts.
    ///
    /// # Errors
    /// Its value is not made of string literals only.
    pub fn get(&self, name: &str) -> Result<Option<&str>> {
        match self.values.get(name) {
            None => Ok(None),
            Some(Ok(value)) => Ok(Some(value)),
            Some(Err(fault)) => Err(Error::PromptFile {
                file: self.file.clone(),
                line: fault.line,
                problem: format!("{name}: {} ({ADVICE})", fault.problem),
            }),
        }
    }
}

#[cfg(test)]
mod tests;
