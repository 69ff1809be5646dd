//! SQLite compiled into the program, through rusqlite.

mod heap;
mod open;
mod policy;
mod statement;
#[cfg(test)]
mod tests;
mod watch;

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use rusqlite::Connection;

use crate::{Database, Error, Limits, Rows, Statement};
use heap::HeapShare;
use watch::Watch;

/// How a database is opened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NativeOptions {
    /// Bytes of memory that one statement may take up, besides its result. SQLite counts memory for the whole process,
    /// so statements that run at the same time on other databases count towards each other.
    pub memory: u64,
}

impl Default for NativeOptions {
    /// 1 GiB.
    fn default() -> Self {
        NativeOptions { memory: 1 << 30 }
    }
}

/// What the user should know about a database that was opened.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Notice {
    /// Rows from the write-ahead log beside the file are included. The file and the log were copied to a temporary
    /// folder for it; nothing beside the user's file was written.
    LogReplayed {
        /// Pages that the log held.
        pages: usize,
    },
    /// The file is in WAL mode and no log came with it.
    LogMissing,
    /// An interrupted transaction was rolled back, in a temporary copy.
    JournalRolledBack,
}

impl fmt::Display for Notice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Notice::LogReplayed { pages } => write!(
                f,
                "the write-ahead log (-wal) beside the file was read too: {pages} pages with the latest rows come from it"
            ),
            Notice::LogMissing => f.write_str(
                "this database is in WAL mode and no -wal file lies beside it; if it was copied without that file, its latest rows are missing",
            ),
            Notice::JournalRolledBack => f.write_str(
                "a program was interrupted while it wrote this database; the unfinished change was undone in a temporary copy, the file itself is untouched",
            ),
        }
    }
}

/// A SQLite database that is read and never written.
///
/// The file is opened `immutable`: SQLite takes no locks and writes nothing, neither to the file nor beside it. Every
/// action of every statement is put to an authorizer that knows only reading. SQLite's own limits are lowered, a
/// progress handler ends a statement that takes too long or too much memory, and extensions, ATTACH and temporary
/// tables are off.
///
/// One thing cannot be interrupted: a single call of a built-in function. `instr` and `replace` compare naively, so
/// looking for half a million characters in several million of nearly the same takes minutes. No query over ordinary
/// data comes near it; a program that runs the queries of strangers should do so in a process that it can end.
pub struct NativeDatabase {
    // Fields are dropped in order: the connection before the files and the heap share it lives on.
    connection: Connection,
    watch: Arc<Watch>,
    options: NativeOptions,
    name: String,
    notices: Vec<Notice>,
    _copy: Option<tempfile::TempDir>,
    _heap: HeapShare,
}

impl fmt::Debug for NativeDatabase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NativeDatabase").field("name", &self.name).field("notices", &self.notices).finish()
    }
}

impl NativeDatabase {
    /// Opens a file.
    ///
    /// Where a write-ahead log with committed rows lies beside it (`-wal`), or the journal of an interrupted
    /// transaction (`-journal`), file and log are copied to a private temporary folder and put together there, so that
    /// the rows are the current ones and the user's folder stays as it is. [`NativeDatabase::notices`] says so.
    ///
    /// # Errors
    ///
    /// An error that says what the file is instead of a database, or what is wrong with it.
    pub fn open(path: impl AsRef<Path>, options: NativeOptions) -> Result<Self, Error> {
        open::file(path.as_ref(), options)
    }

    /// Opens a database that lies in memory, with the content of its write-ahead log if there is one. `name` is for
    /// messages.
    ///
    /// # Errors
    ///
    /// As [`NativeDatabase::open`].
    pub fn from_bytes(
        bytes: Vec<u8>,
        log: Option<&[u8]>,
        name: &str,
        options: NativeOptions,
    ) -> Result<Self, Error> {
        open::bytes(bytes, log, name, options)
    }

    /// The file's name without its folder, or the name given with the bytes.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What the user should know about how the database was opened.
    pub fn notices(&self) -> &[Notice] {
        &self.notices
    }

    /// A handle that stops statements from another thread.
    pub fn cancel_handle(&self) -> CancelHandle {
        CancelHandle { watch: Arc::clone(&self.watch) }
    }
}

impl Database for NativeDatabase {
    fn run(&mut self, statement: &Statement<'_>, limits: &Limits) -> Result<Rows, Error> {
        statement::run(&self.connection, &self.watch, self.options.memory, statement.sql(), limits)
    }
}

/// Stops the statements of one [`NativeDatabase`], from any thread.
#[derive(Debug, Clone)]
pub struct CancelHandle {
    watch: Arc<Watch>,
}

impl CancelHandle {
    /// Ends the running statement within milliseconds with [`Error::Cancelled`], and every later one too until
    /// [`CancelHandle::reset`]: so a statement that is just about to start cannot slip through.
    pub fn cancel(&self) {
        self.watch.cancel();
    }

    /// Lets statements run again.
    pub fn reset(&self) {
        self.watch.reset();
    }
}
