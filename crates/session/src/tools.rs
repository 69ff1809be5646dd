//! The tools of an episode: behind a trait, and over a database.

use std::convert::Infallible;
use std::fmt::Display;
use std::future::Future;

use glowworm_agent::{SqlCheck, ToolCall, ToolOutcome};
use glowworm_database::{Catalog, Database, Limits, TableKind, Tools};

/// What runs the calls of an episode. In a browser it is another worker, and a call is a message.
pub trait ToolHost {
    /// What keeps the tools from answering at all. A call that fails is no such error, but an outcome that says so.
    type Error: Display;

    /// Runs a call. Its arguments are checked; it is never `submit_sql`.
    ///
    /// # Errors
    ///
    /// When there will be no answer; the episode ends.
    fn call(&mut self, call: &ToolCall) -> impl Future<Output = Result<ToolOutcome, Self::Error>>;

    /// Finds out whether a query runs, as `run_query` would run it.
    ///
    /// # Errors
    ///
    /// As [`ToolHost::call`].
    fn check(&mut self, sql: &str) -> impl Future<Output = Result<SqlCheck, Self::Error>>;
}

/// The tools over a database in this thread.
#[derive(Debug)]
pub struct DatabaseTools<D> {
    tools: Tools<D>,
}

impl<D: Database> DatabaseTools<D> {
    /// Wraps the tools of an open database.
    pub fn new(tools: Tools<D>) -> Self {
        Self { tools }
    }

    /// The tools, for what is no part of an episode: the catalog, a query for a person.
    pub fn tools(&mut self) -> &mut Tools<D> {
        &mut self.tools
    }

    /// The catalog.
    pub fn catalog(&self) -> &Catalog {
        self.tools.catalog()
    }
}

impl<D: Database> ToolHost for DatabaseTools<D> {
    type Error = Infallible;

    async fn call(&mut self, call: &ToolCall) -> Result<ToolOutcome, Infallible> {
        let output = self.tools.call(&call.name, &call.args);
        Ok(ToolOutcome { text: output.text, is_error: output.is_error, ..ToolOutcome::default() })
    }

    async fn check(&mut self, sql: &str) -> Result<SqlCheck, Infallible> {
        let options = self.tools.options();
        let limits = Limits { rows: options.query_rows, time: options.time, ..Limits::default() };
        let error = self.tools.query(sql, &limits).err().map(|error| error.to_string());
        Ok(SqlCheck { error, elapsed_ms: None })
    }
}

/// The schema for a prompt that shows it: the `CREATE` statements of all tables as they are stored, a blank line
/// between two. Views are left out, as they were in training.
pub fn schema_text(catalog: &Catalog) -> String {
    let tables = catalog.tables.iter().filter(|table| table.kind != TableKind::View);
    tables.map(|table| table.sql.trim()).collect::<Vec<_>>().join("\n\n")
}
