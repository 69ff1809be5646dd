//! The trait that each SQLite engine implements, and the limits a statement runs under.

use std::time::Duration;

use crate::{Catalog, Error, Rows, Statement};

/// What one statement may cost.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// Rows to return at most. [`Rows::more`] tells whether there were others.
    pub rows: usize,
    /// Bytes of values ([`crate::Value::size`]) to return at most. A row that would pass the limit is left out and
    /// [`Rows::more`] is set; a first row that is too large by itself is [`Error::RowTooLarge`].
    pub bytes: usize,
    /// Time to run for, from the start of the call. Past it the call fails with [`Error::TimeLimit`]. An engine that
    /// cannot be interrupted (sql.js) checks between rows and is otherwise stopped from outside.
    pub time: Duration,
}

impl Default for Limits {
    /// 100,000 rows, 256 MiB, 5 seconds.
    fn default() -> Self {
        Limits { rows: 100_000, bytes: 256 << 20, time: Duration::from_secs(5) }
    }
}

/// An open SQLite database that is only ever read.
///
/// Opening is each implementation's own (a path, bytes, a file in the browser). Of the rest an implementation writes
/// one method; the catalog is read through it.
///
/// # For an implementation over sql.js
///
/// - Step with `stmt.step()` and read with `stmt.get(null, {useBigInt: true})`: a `BigInt` is an INTEGER, a `Number` a
///   REAL, a `string` TEXT, a `Uint8Array` a BLOB. Column names come from `getColumnNames()`, also for no rows.
/// - Stop stepping once `limits.rows + 1` rows were seen (that one more row sets [`Rows::more`]), once the bytes are
///   used up, or once the time has passed.
/// - Free the statement on every way out, or later statements find the database busy.
/// - An exception's message is SQLite's own text: return it as [`Error::Sql`].
pub trait Database {
    /// Runs one statement and returns its rows.
    ///
    /// A [`Statement`] has passed the checks that both engines share, so an engine that has no authorizer may run it
    /// as it is.
    ///
    /// # Errors
    ///
    /// [`Error::Sql`] with SQLite's own message for a statement that is wrong, and the errors named in [`Limits`].
    fn run(&mut self, statement: &Statement<'_>, limits: &Limits) -> Result<Rows, Error>;

    /// Reads the catalog: every table and view with its columns and keys, in the order of `sqlite_master`.
    ///
    /// # Errors
    ///
    /// When the schema cannot be read at all. An object that is broken by itself (a view on a dropped table) is listed
    /// with the reason in [`crate::Table::problem`].
    fn catalog(&mut self) -> Result<Catalog, Error> {
        Catalog::read(self)
    }
}

impl<D: Database + ?Sized> Database for &mut D {
    fn run(&mut self, statement: &Statement<'_>, limits: &Limits) -> Result<Rows, Error> {
        (**self).run(statement, limits)
    }
}

impl<D: Database + ?Sized> Database for Box<D> {
    fn run(&mut self, statement: &Statement<'_>, limits: &Limits) -> Result<Rows, Error> {
        (**self).run(statement, limits)
    }
}
