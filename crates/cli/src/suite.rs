//! The question sets that come with the program, for `eval --suite` and `score --suite`.

use std::fmt::Write as _;
use std::path::Path;

use clap::ValueEnum;
use glowworm_train::lexicon::{Lexicon, Split};
use glowworm_train::sample::sample;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::error::{Error, Result};

/// A set that comes with the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Suite {
    /// Made-up databases and questions, from the part of the generator that is kept out of training
    HeldOut,
    /// 100 questions written by hand about ten databases
    Hand,
}

/// Questions of the held-out suite where no limit is given.
pub const HELD_OUT: usize = 512;

/// The files of the hand-written suite.
macro_rules! hand {
    ($($name:literal),*) => {
        [$(($name, include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/suites/hand/", $name)))),*]
    };
}

const HAND: [(&str, &str); 11] = hand![
    "questions.json",
    "bikes.sql",
    "chessclub.sql",
    "choir.sql",
    "clinic.sql",
    "courier.sql",
    "evening_school.sql",
    "greenhouse.sql",
    "karting.sql",
    "observatory_shop.sql",
    "tearoom.sql"
];

impl Suite {
    /// Writes the questions and their databases to a temporary folder of the suite's name, in the plain format. The
    /// held-out suite has `count` questions, always the same ones; its categories are the kinds of question.
    ///
    /// # Errors
    /// If they cannot be written.
    pub fn write(self, count: usize) -> Result<TempDir> {
        let folder = tempfile::Builder::new()
            .prefix("glowworm-suite-")
            .tempdir()
            .map_err(Error::writing(&std::env::temp_dir()))?;
        let place = folder.path().join(self.name());
        std::fs::create_dir(&place).map_err(Error::writing(&place))?;
        match self {
            Suite::HeldOut => write_held_out(&place, count)?,
            Suite::Hand => {
                for (name, text) in HAND {
                    write(&place.join(name), text.as_bytes())?;
                }
            }
        }
        Ok(folder)
    }

    /// Its name at the command line, and of its folder.
    pub fn name(self) -> &'static str {
        match self {
            Suite::HeldOut => "held-out",
            Suite::Hand => "hand",
        }
    }
}

fn write_held_out(folder: &Path, count: usize) -> Result<()> {
    let lexicon = Lexicon::load()?;
    let mut questions = String::new();
    for seed in 0..count as u64 {
        let made = sample(&lexicon, Split::Test, seed)?;
        let db_id = format!("made-{seed}");
        write(&folder.join(format!("{db_id}.sqlite")), &made.world.image)?;
        let question: Value = json!({
            "id": seed.to_string(),
            "db_id": db_id,
            "question": made.question.text,
            "category": made.question.kind,
            "SQL": made.question.sql,
        });
        let _ = writeln!(questions, "{question}"); // writing to a string cannot fail
    }
    write(&folder.join("questions.jsonl"), questions.as_bytes())
}

fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    std::fs::write(path, bytes).map_err(Error::writing(path))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)] // a panic is the report

    use super::*;
    use glowworm_eval::Databases;
    use glowworm_eval::sets::{Selection, read};

    #[test]
    fn a_suites_golds_run_on_its_databases() {
        for (suite, count) in [(Suite::HeldOut, 40), (Suite::Hand, 100)] {
            let folder = suite.write(count).unwrap();
            let place = folder.path().join(suite.name());
            let set = read(&place, &Selection::default()).unwrap();
            assert_eq!((set.questions.len(), set.name.as_str()), (count, suite.name()));
            let databases = Databases::new(&place).unwrap();
            for question in &set.questions {
                let path = databases.path(&question.db_id).unwrap();
                let connection = rusqlite::Connection::open(path).unwrap();
                for sql in question.queries() {
                    let mut statement = connection.prepare(sql).unwrap();
                    assert!(statement.query([]).unwrap().next().is_ok(), "{sql}");
                }
            }
        }
    }

    #[test]
    fn the_held_out_suite_is_always_the_same() {
        let text = |count| {
            let folder = Suite::HeldOut.write(count).unwrap();
            std::fs::read_to_string(folder.path().join("held-out/questions.jsonl")).unwrap()
        };
        let (short, long) = (text(5), text(8));
        assert!(long.starts_with(&short));
        assert!(short.contains("\"category\""), "{short}");
    }
}
