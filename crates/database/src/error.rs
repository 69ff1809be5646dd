//! What can go wrong, in sentences for the person at the screen and, after `Error: `, for the model.

use std::time::Duration;

use crate::FileProblem;

/// Every error of this crate.
///
/// Errors of a statement are also what a model reads, so [`Error::Sql`] is SQLite's own message and nothing else: that
/// is the form models were trained on.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A file could not be read from the disk.
    #[error("cannot read {path}: {source}")]
    Io {
        /// The file as the user named it.
        path: String,
        /// What the operating system said.
        source: std::io::Error,
    },
    /// There is no such file.
    #[error("there is no file {path}; check the spelling, or give the full path")]
    NotFound {
        /// The file as the user named it.
        path: String,
    },
    /// The path is a folder or a device.
    #[error("{path} is not a file but {what}; give the path of a SQLite database file")]
    NotAFile {
        /// The path as the user named it.
        path: String,
        /// `a folder`, or `not an ordinary file`.
        what: &'static str,
    },
    /// The content is not a SQLite database that can be opened.
    #[error("{name}: {problem}")]
    File {
        /// The file's name.
        name: String,
        /// What it is instead, or what is wrong with it.
        problem: FileProblem,
    },
    /// The header looks right, yet SQLite refuses the file.
    #[error(
        "{name}: SQLite cannot read this database ({message}); the file is damaged, try a copy or a backup"
    )]
    Damaged {
        /// The file's name.
        name: String,
        /// SQLite's own message.
        message: String,
    },
    /// A write-ahead log or a journal lies beside the file and could not be applied.
    #[error(
        "{name}: {what} lies beside the file, and its rows cannot be read ({reason}); open the database once in the program that wrote it and close that program, then try again"
    )]
    Sidecar {
        /// The file's name.
        name: String,
        /// The kind of file: `a write-ahead log (-wal)` or `a rollback journal (-journal)`.
        what: &'static str,
        /// Why it could not be used.
        reason: String,
    },
    /// The statement was refused before SQLite saw it.
    #[error("{0}")]
    Refused(#[from] Refusal),
    /// SQLite's own message for a statement that does not compile or fails while running.
    #[error("{message}")]
    Sql {
        /// The message, as SQLite writes it.
        message: String,
    },
    /// The statement ran for too long.
    #[error(
        "interrupted: the query ran longer than {} s; make it cheaper with a WHERE clause, a join condition or a LIMIT",
        .0.as_secs_f64()
    )]
    TimeLimit(
        /// The limit that it passed.
        Duration,
    ),
    /// The statement needed too much memory.
    #[error(
        "interrupted: the query needs more than {} MiB of memory; select fewer rows or shorter values",
        .0 >> 20
    )]
    MemoryLimit(
        /// The limit that it passed, in bytes.
        u64,
    ),
    /// A single row is larger than the byte limit of the call.
    #[error(
        "one row of the result holds {bytes} bytes, more than the limit of {limit}; select fewer columns, or use substr() or length()"
    )]
    RowTooLarge {
        /// Bytes of the row up to the value that passed the limit.
        bytes: usize,
        /// The limit of the call.
        limit: usize,
    },
    /// The caller cancelled the statement.
    #[error("interrupted: the query was cancelled")]
    Cancelled,
    /// The file changed while it was open or being copied.
    #[error(
        "{name}: another program is writing this database at the moment; wait for it or close it, then try again"
    )]
    BeingWritten {
        /// The file's name.
        name: String,
    },
}

/// Why a statement was refused without being run. Both engines refuse the same statements with these words.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Refusal {
    /// Nothing but white space, comments and semicolons.
    #[error("there is no SQL statement here; write one SELECT query")]
    Empty,
    /// More text after the first statement. The words are those of Python's `sqlite3`, which models have seen.
    #[error("You can only execute one statement at a time.")]
    Several,
    /// The text holds a NUL character, which would hide the rest from SQLite.
    #[error("the SQL contains a NUL character; write it without")]
    Nul,
    /// The text is longer than [`crate::MAX_SQL_BYTES`].
    #[error("the SQL is {bytes} bytes long, more than the limit of {}", crate::MAX_SQL_BYTES)]
    TooLong {
        /// Its length in bytes.
        bytes: usize,
    },
    /// The text begins with a Markdown fence.
    #[error("the SQL begins with a Markdown fence; write the query alone")]
    Fence,
    /// A statement that writes, or that changes the connection.
    #[error("the database is read-only: {verb} is not allowed, only a SELECT query")]
    ReadOnly {
        /// The word that says what the statement would do, in capitals.
        verb: String,
    },
    /// A pragma that is not one of [`crate::ALLOWED_PRAGMAS`].
    #[error("PRAGMA {name} is not allowed; use one of: {}", crate::ALLOWED_PRAGMAS.join(", "))]
    Pragma {
        /// The pragma's name, in lower case.
        name: String,
    },
    /// A function that reaches outside the query.
    #[error("not authorized to use function: {name}")]
    Function {
        /// The function's name, in lower case.
        name: String,
    },
    /// A placeholder such as `?` or `:name`, which has no value here.
    #[error("{text} is a placeholder without a value; write the value itself")]
    Placeholder {
        /// The placeholder as written.
        text: String,
    },
    /// The text does not begin like any statement of SQL. The words are SQLite's.
    #[error("near \"{near}\": syntax error")]
    Syntax {
        /// The word that cannot stand there.
        near: String,
    },
    /// The text ends before the statement does. The word is SQLite's.
    #[error("incomplete input")]
    Incomplete,
}
