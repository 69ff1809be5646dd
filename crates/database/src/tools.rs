//! The eight tools, their arguments, and the text of their answers.

use std::time::Duration;

use serde_json::{Map, Value as Json};

use crate::join;
use crate::names::{nearest, quote};
use crate::show::{cut_text, lines_text, one_line, rows_text};
use crate::{Catalog, Database, Error, Limits, Rows, Statement, Table, TableKind};

/// The names of the tools.
pub const TOOL_NAMES: [&str; 8] = [
    "list_tables",
    "describe_table",
    "foreign_keys",
    "join_path",
    "sample_rows",
    "distinct_values",
    "run_query",
    "submit_sql",
];

/// What the tools show at most. The defaults are those that models were trained with, where that is known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolOptions {
    /// Rows that `run_query` and `submit_sql` show. 5 in training.
    pub query_rows: usize,
    /// Rows that `sample_rows` shows when no `limit` is given.
    pub sample_rows: usize,
    /// Values that `distinct_values` shows when no `limit` is given.
    pub distinct_values: usize,
    /// The largest `limit` that is taken; a larger one is lowered to it.
    pub largest_limit: usize,
    /// Bytes of one answer, about: a larger one has its longest values cut, with a mark. In training nothing was cut,
    /// as far as is known, but one cell of 20 MB would fill any context. 16 KiB is some 4,000 to 5,000 tokens.
    pub result_bytes: usize,
    /// Seconds a statement may run.
    pub time: Duration,
    /// Whether `list_tables` names the views, after the tables.
    pub list_views: bool,
}

impl Default for ToolOptions {
    fn default() -> Self {
        ToolOptions {
            query_rows: 5,
            sample_rows: 5,
            distinct_values: 20,
            largest_limit: 1_000,
            result_bytes: 16 << 10,
            time: Duration::from_secs(5),
            list_views: true,
        }
    }
}

/// The answer to one call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolOutput {
    /// The text for the model. It begins with `Error: ` where `is_error` is set.
    pub text: String,
    /// The call failed. An answer that finds nothing (no keys, no rows) is no error.
    pub is_error: bool,
}

impl ToolOutput {
    fn error(error: &dyn std::fmt::Display) -> Self {
        ToolOutput { text: format!("Error: {error}"), is_error: true }
    }
}

/// The tools over one open database.
///
/// The catalog is read once, when the tools are made: the database does not change while it is open.
#[derive(Debug)]
pub struct Tools<D> {
    database: D,
    catalog: Catalog,
    options: ToolOptions,
}

impl<D: Database> Tools<D> {
    /// Reads the catalog of `database` and makes the tools over it, with the default options.
    ///
    /// # Errors
    ///
    /// When the schema cannot be read.
    pub fn new(database: D) -> Result<Self, Error> {
        Tools::with_options(database, ToolOptions::default())
    }

    /// As [`Tools::new`], with options.
    ///
    /// # Errors
    ///
    /// When the schema cannot be read.
    pub fn with_options(mut database: D, options: ToolOptions) -> Result<Self, Error> {
        let catalog = database.catalog()?;
        Ok(Tools { database, catalog, options })
    }

    /// The catalog, for a human's eyes and for a prompt that shows the schema.
    pub fn catalog(&self) -> &Catalog {
        &self.catalog
    }

    /// The options.
    pub fn options(&self) -> &ToolOptions {
        &self.options
    }

    /// The database under the tools.
    pub fn database(&mut self) -> &mut D {
        &mut self.database
    }

    /// The database, the tools given up.
    pub fn into_database(self) -> D {
        self.database
    }

    /// Runs the tool `name` with `arguments`. Always gives an answer; what goes wrong is told in its text.
    ///
    /// Arguments that a tool does not know are ignored. A number may come as a string of digits.
    pub fn call(&mut self, name: &str, arguments: &Map<String, Json>) -> ToolOutput {
        match self.answer(name, &Arguments { tool: name, map: arguments }) {
            Ok(text) => ToolOutput { text, is_error: false },
            Err(failure) => ToolOutput::error(&failure),
        }
    }

    /// Runs SQL for a person: checked and limited as the model's, the rows returned as values.
    ///
    /// # Errors
    ///
    /// A refusal, SQLite's own message, or a limit.
    pub fn query(&mut self, sql: &str, limits: &Limits) -> Result<Rows, Error> {
        let statement = Statement::check(sql)?;
        self.database.run(&statement, limits)
    }

    /// The number of rows of a table or view.
    ///
    /// # Errors
    ///
    /// When there is no such table, it cannot be read, or counting takes longer than `time`.
    pub fn count_rows(&mut self, table: &str, time: Duration) -> Result<u64, Error> {
        let sql = format!("SELECT count(*) FROM {}", quote(table));
        let limits = Limits { rows: 1, time, ..Limits::default() };
        let rows = self.database.run(&Statement::own(&sql), &limits)?;
        match rows.rows.first().and_then(|row| row.first()) {
            Some(crate::Value::Integer(count)) => Ok(u64::try_from(*count).unwrap_or(0)),
            _ => Ok(0),
        }
    }

    fn answer(&mut self, name: &str, arguments: &Arguments<'_>) -> Result<String, Failure> {
        let text = match name {
            "list_tables" => self.list_tables(),
            "describe_table" => one_line(&self.table(&arguments.text("table_name")?)?.sql),
            "foreign_keys" => self.foreign_keys(arguments.optional_text("table_name")?.as_deref())?,
            "join_path" => self.join_path(&arguments.text("table_a")?, &arguments.text("table_b")?)?,
            "sample_rows" => return self.sample_rows(arguments),
            "distinct_values" => return self.distinct_values(arguments),
            "run_query" | "submit_sql" => return self.run_query(&arguments.text("sql")?),
            _ => return Err(Failure::UnknownTool { name: name.to_owned() }),
        };
        Ok(cut_text(text, self.options.result_bytes, self.options.result_bytes))
    }

    /// Every table, one a line, in the order of `sqlite_master`; then the views. A database without views gives the
    /// bytes that models were trained on; one with views has them where a model can find them, since people ask about
    /// views as they ask about tables.
    fn list_tables(&self) -> String {
        let is_view = |table: &&Table| table.kind == TableKind::View;
        let tables = self.catalog.tables.iter().filter(|table| !is_view(table));
        let views = self.catalog.tables.iter().filter(|table| self.options.list_views && is_view(table));
        tables.chain(views).map(|table| table.name.as_str()).collect::<Vec<_>>().join("\n")
    }

    /// `child.column -> parent.column`, one a line; `None` where no key is declared.
    fn foreign_keys(&self, name: Option<&str>) -> Result<String, Failure> {
        let tables = match name {
            Some(name) => std::slice::from_ref(self.table(name)?),
            None => self.catalog.tables.as_slice(),
        };
        let mut lines = Vec::new();
        for table in tables {
            for key in &table.foreign_keys {
                for (i, column) in key.columns.iter().enumerate() {
                    lines.push(match key.parent_columns.get(i) {
                        Some(parent) => format!("{}.{column} -> {}.{parent}", table.name, key.parent),
                        None => format!("{}.{column} -> {}", table.name, key.parent),
                    });
                }
            }
        }
        Ok(if lines.is_empty() { "None".to_owned() } else { lines.join("\n") })
    }

    /// `a -> b -> c`, then a line for each step with its join condition. Where several keys join the same two tables
    /// each is a line of its own after an `or`.
    fn join_path(&self, a: &str, b: &str) -> Result<String, Failure> {
        let (a, b) = (self.table_index(a)?, self.table_index(b)?);
        let name = |index: usize| self.catalog.tables[index].name.as_str();
        let Some(steps) = join::path(&self.catalog, a, b) else {
            return Ok(format!("No chain of declared foreign keys joins {} and {}", name(a), name(b)));
        };
        let mut chain = name(a).to_owned();
        let mut conditions = String::new();
        for step in &steps {
            chain.push_str(" -> ");
            chain.push_str(name(step.to));
            for (i, condition) in step.conditions.iter().enumerate() {
                conditions.push_str(if i == 0 { "\n" } else { "\nor " });
                conditions.push_str(condition);
            }
        }
        Ok(chain + &conditions)
    }

    fn sample_rows(&mut self, arguments: &Arguments<'_>) -> Result<String, Failure> {
        let name = arguments.text("table_name")?;
        let limit = arguments.limit(self.options.sample_rows, self.options.largest_limit)?;
        let sql = format!("SELECT * FROM {} LIMIT {limit}", quote(&self.table(&name)?.name));
        let rows = self.database.run(&Statement::own(&sql), &self.limits(limit))?;
        Ok(rows_text(&rows, limit, self.options.result_bytes))
    }

    /// The distinct values, one a line without a header, `...` where there are more.
    fn distinct_values(&mut self, arguments: &Arguments<'_>) -> Result<String, Failure> {
        let (table, column) = (arguments.text("table_name")?, arguments.text("column_name")?);
        let limit = arguments.limit(self.options.distinct_values, self.options.largest_limit)?;
        let table = self.table(&table)?;
        let Some(found) = table.column(&column) else {
            let names = table.columns.iter().map(|column| column.name.as_str());
            return Err(Failure::no_such("column", &column, nearest(names, &column)));
        };
        // The column is one of the table's: a name in double quotes that is none would be a string to SQLite.
        let sql =
            format!("SELECT DISTINCT {} FROM {} LIMIT {}", quote(&found.name), quote(&table.name), limit + 1);
        let rows = self.database.run(&Statement::own(&sql), &self.limits(limit))?;
        let mut text = lines_text(rows.rows.iter().flatten(), self.options.result_bytes);
        if rows.more {
            text.push_str("\n...");
        }
        Ok(text)
    }

    fn run_query(&mut self, sql: &str) -> Result<String, Failure> {
        let shown = self.options.query_rows;
        let statement = Statement::check(sql).map_err(Error::from)?;
        let rows = self.database.run(&statement, &self.limits(shown))?;
        let mut text = rows_text(&rows, shown, self.options.result_bytes);
        if rows.more {
            let count = rows.rows.len();
            let plural = if count == 1 { "" } else { "s" };
            text.push_str(&format!("\n... (showing first {count} row{plural}; more rows exist)"));
        }
        Ok(text)
    }

    /// Limits for a call that shows `rows` rows. The byte limit is far above what is shown: it only keeps a handful of
    /// huge values from being read into memory at once.
    fn limits(&self, rows: usize) -> Limits {
        Limits { rows, bytes: 64 << 20, time: self.options.time }
    }

    fn table_index(&self, name: &str) -> Result<usize, Failure> {
        self.catalog.index(name).ok_or_else(|| {
            let names = self.catalog.tables.iter().map(|table| table.name.as_str());
            Failure::no_such("table", name, nearest(names, name))
        })
    }

    fn table(&self, name: &str) -> Result<&Table, Failure> {
        Ok(&self.catalog.tables[self.table_index(name)?])
    }
}

/// Why a call has no result, in words for the model.
#[derive(Debug, thiserror::Error)]
enum Failure {
    #[error(transparent)]
    Database(#[from] Error),
    #[error("unknown tool: {name}. The tools are: {}", TOOL_NAMES.join(", "))]
    UnknownTool { name: String },
    #[error("{tool} needs the argument \"{argument}\"")]
    Missing { tool: String, argument: &'static str },
    #[error("the argument \"{argument}\" of {tool} must be {expected}, not {found}")]
    Type { tool: String, argument: &'static str, expected: &'static str, found: String },
    #[error("no such {what}: {name}{hint}")]
    NoSuch { what: &'static str, name: String, hint: String },
}

impl Failure {
    /// The first line is SQLite's wording; names that may have been meant follow on a second.
    fn no_such(what: &'static str, name: &str, near: Vec<&str>) -> Failure {
        let hint =
            if near.is_empty() { String::new() } else { format!("\nSimilar names: {}", near.join(", ")) };
        Failure::NoSuch { what, name: name.to_owned(), hint }
    }
}

/// The arguments of one call.
struct Arguments<'a> {
    tool: &'a str,
    map: &'a Map<String, Json>,
}

impl Arguments<'_> {
    fn text(&self, argument: &'static str) -> Result<String, Failure> {
        self.optional_text(argument)?.ok_or_else(|| Failure::Missing { tool: self.tool.to_owned(), argument })
    }

    /// A string; absent and null are the same. A number stands for its digits, since a table may be named `2024`.
    fn optional_text(&self, argument: &'static str) -> Result<Option<String>, Failure> {
        match self.map.get(argument) {
            None | Some(Json::Null) => Ok(None),
            Some(Json::String(text)) => Ok(Some(text.clone())),
            Some(Json::Number(number)) => Ok(Some(number.to_string())),
            Some(other) => Err(self.wrong_type(argument, "a string", other)),
        }
    }

    /// `limit`, at least 1 and at most `largest`.
    fn limit(&self, default: usize, largest: usize) -> Result<usize, Failure> {
        let expected = "a whole number of at least 1";
        let number = match self.map.get("limit") {
            None | Some(Json::Null) => return Ok(default.clamp(1, largest)),
            Some(Json::Number(number)) => {
                number.as_i64().or_else(|| number.as_f64().map(|number| number as i64))
            }
            Some(Json::String(text)) => text.trim().parse().ok(),
            Some(_) => None,
        };
        match number.and_then(|number| usize::try_from(number).ok()) {
            Some(number) if number > 0 => Ok(number.min(largest)),
            _ => {
                let found = self.map.get("limit").unwrap_or(&Json::Null);
                Err(self.wrong_type("limit", expected, found))
            }
        }
    }

    fn wrong_type(&self, argument: &'static str, expected: &'static str, found: &Json) -> Failure {
        let mut found: String = found.to_string().chars().take(60).collect();
        if found.len() >= 60 {
            found.push_str("...");
        }
        Failure::Type { tool: self.tool.to_owned(), argument, expected, found }
    }
}
