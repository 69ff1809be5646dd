//! SQLite behind one small trait, and the tools that a model calls to explore a database it has never seen.
//!
//! The same tools run natively, over SQLite compiled into the program ([`NativeDatabase`]), and in a browser, over
//! sql.js. What differs between the two is small: how to open a file and how to run one statement. That is the
//! [`Database`] trait. Everything a model can see is written once, above it: which statements are let through
//! ([`Statement`]), the list of tables and keys ([`Catalog`]), and the text of each tool's answer ([`Tools`]).
//!
//! ```text
//!   Tools            list_tables, describe_table, foreign_keys, join_path, sample_rows, … → text
//!   Catalog          tables, columns, keys          Statement   "may this be run at all?"
//!   Database         run one checked statement within limits → Rows
//!   NativeDatabase   rusqlite                        (sql.js: in the crate that owns the browser's bindings)
//! ```
//!
//! # Nothing is ever written
//!
//! There are three locks, and each would do alone. A [`Statement`] can only be made from text that begins a reading
//! query; this is the only lock that sql.js has, which knows no authorizer. The native connection opens the file
//! immutable and read-only, and asks an authorizer about every action of every statement. And the tools never paste a
//! name into SQL without quoting it.
//!
//! # Where the two engines differ
//!
//! The same release of SQLite with the same functions is compiled into both, and their messages are the same. What is
//! left: sql.js has no FTS5 and no R-tree (the catalog then says so in [`Table::problem`]); it keeps SQLite's own limits,
//! where the native engine lowers them (expression depth 500, 200 terms of a compound SELECT, 128 MiB a value); and it
//! looks at the clock only between rows, so a runaway query is ended from outside.
//!
//! # What the model reads is fixed
//!
//! Models are trained on exact bytes: a NULL is `None`, a REAL keeps Python's `repr`, five rows are followed by
//! `... (showing first 5 rows; more rows exist)`. [`python`] and [`Tools`] hold those bytes and their tests pin them.

mod catalog;
mod database;
mod error;
mod file;
mod guard;
mod join;
mod names;
pub mod python;
mod show;
mod token;
mod tools;
mod value;
pub mod wal;

#[cfg(not(target_arch = "wasm32"))]
mod native;

pub use catalog::{Catalog, Column, ColumnKind, ForeignKey, Table, TableKind};
pub use database::{Database, Limits};
pub use error::{Error, Refusal};
pub use file::{Compression, FileHeader, FileProblem, HEAD_BYTES, inspect};
pub use guard::{ALLOWED_PRAGMAS, MAX_SQL_BYTES, Statement};
pub use names::{nearest, quote};
#[cfg(not(target_arch = "wasm32"))]
pub use native::{CancelHandle, NativeDatabase, NativeOptions, Notice};
pub use show::{one_line, rows_text};
pub use tools::{TOOL_NAMES, ToolOptions, ToolOutput, Tools};
pub use value::{Rows, Value};
