//! Where questions come from: the arguments, or standard input a line at a time.

use std::io::{IsTerminal, Write, stdin};
use std::path::Path;

use crate::error::{Error, Result};
use crate::input;

/// A question with its note.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Asked {
    /// The question.
    pub question: String,
    /// Its evidence.
    pub evidence: Option<String>,
}

/// The questions of one run.
#[derive(Debug)]
pub enum Questions {
    /// Given as arguments.
    Given {
        /// Those left.
        left: std::vec::IntoIter<Asked>,
        /// More than one were given.
        several: bool,
    },
    /// Lines of standard input; each may have the evidence of all.
    Lines(Option<String>),
}

impl Questions {
    /// The arguments' questions, each with its note; without any, those of standard input.
    ///
    /// # Errors
    /// An empty question, or notes that cannot be told to questions.
    pub fn new(questions: &[String], evidence: &[String]) -> Result<Self> {
        if questions.iter().any(|question| question.trim().is_empty()) {
            return Err(Error::Usage("the question is empty; write one, in quotes".into()));
        }
        if questions.is_empty() {
            return match evidence {
                [] => Ok(Self::Lines(None)),
                [one] => Ok(Self::Lines(Some(one.clone()))),
                _ => Err(Error::Usage(
                    "for questions on standard input there can be one --evidence, for all".into(),
                )),
            };
        }
        let note = |index: usize| match evidence {
            [] => None,
            [one] => Some(one.clone()),
            many => many.get(index).cloned(),
        };
        if evidence.len() > 1 && evidence.len() != questions.len() {
            return Err(Error::Usage(format!(
                "{} questions have {} notes; give --evidence once for all, or once for each",
                questions.len(),
                evidence.len()
            )));
        }
        let list: Vec<Asked> = questions
            .iter()
            .enumerate()
            .map(|(index, question)| Asked { question: question.trim().to_owned(), evidence: note(index) })
            .collect();
        Ok(Self::Given { several: list.len() > 1, left: list.into_iter() })
    }

    /// Whether answers need the question beside them.
    pub fn several(&self) -> bool {
        match self {
            Self::Given { several, .. } => *several,
            Self::Lines(_) => true,
        }
    }

    /// The next question. A person at a terminal is asked for it, unless `quiet`.
    ///
    /// # Errors
    /// Standard input that cannot be read, or is not UTF-8.
    pub fn next(&mut self, quiet: bool) -> Result<Option<Asked>> {
        let evidence = match self {
            Self::Given { left, .. } => return Ok(left.next()),
            Self::Lines(evidence) => evidence.clone(),
        };
        loop {
            if stdin().is_terminal() && !quiet {
                eprint!("question: ");
                let _ = std::io::stderr().flush();
            }
            let line = input::line(stdin().lock(), Path::new("standard input"))?;
            if line.is_empty() {
                return Ok(None);
            }
            let question = line.trim();
            if !question.is_empty() {
                return Ok(Some(Asked { question: question.to_owned(), evidence }));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn strings(texts: &[&str]) -> Vec<String> {
        texts.iter().map(|text| (*text).to_owned()).collect()
    }

    #[test]
    fn notes_go_with_their_questions() {
        let mut all = Questions::new(&strings(&["a", " b "]), &strings(&["x", "y"])).unwrap();
        assert!(all.several());
        let asked = |question: &str, evidence: &str| Asked {
            question: question.into(),
            evidence: Some(evidence.into()),
        };
        assert_eq!(all.next(true).unwrap(), Some(asked("a", "x")));
        assert_eq!(all.next(true).unwrap(), Some(asked("b", "y")));
        assert_eq!(all.next(true).unwrap(), None);
        let mut one = Questions::new(&strings(&["a"]), &[]).unwrap();
        assert!(!one.several());
        assert_eq!(one.next(true).unwrap().unwrap().evidence, None);
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        assert!(Questions::new(&strings(&["a", "\t "]), &[]).is_err());
        assert!(Questions::new(&strings(&["a", "b", "c"]), &strings(&["x", "y"])).is_err());
        assert!(Questions::new(&[], &strings(&["x", "y"])).is_err());
    }
}
