//! [`DatabaseHost`]: one open database with its tools.

use std::collections::BTreeMap;
use std::time::Duration;

use glowworm_database::{
    Catalog, ColumnKind, Error, HEAD_BYTES, Limits, Table, TableKind, ToolOptions, Tools, inspect, wal::Wal,
};
use js_sys::{Date, Uint8Array};
use serde_json::{Map, Value as Json, json};
use wasm_bindgen::prelude::*;

use super::results::{Results, object};
use super::sqljs::{SqlJs, SqlJsDatabase};
use crate::thrown;

/// The largest file that is opened: sql.js gives offsets as signed 32-bit numbers in places.
const LARGEST_FILE: u64 = (2 << 30) - (64 << 10);

/// Rows of a result that are kept at most.
const MOST_ROWS: usize = 1_000_000;

/// An open database.
#[wasm_bindgen]
#[derive(Debug)]
pub struct DatabaseHost {
    tools: Tools<SqlJsDatabase>,
    notices: Vec<String>,
    results: BTreeMap<u32, Results>,
    next_result: u32,
}

/// Tells from the beginning of a file and its length whether it is worth reading at all, so that a file of the wrong
/// kind, or one that is too large, gets its sentence without being read.
///
/// # Errors
///
/// What the file is instead of a database.
#[wasm_bindgen(js_name = inspectFile)]
pub fn inspect_file(name: &str, head: &[u8], bytes: f64) -> Result<(), JsValue> {
    match inspect(head, bytes as u64, Some(LARGEST_FILE)) {
        Ok(_) => Ok(()),
        Err(problem) => Err(thrown(&Error::File { name: name.to_owned(), problem })),
    }
}

/// How many bytes of a file [`inspect_file`] wants to see.
#[wasm_bindgen(js_name = headBytes)]
pub fn head_bytes() -> usize {
    HEAD_BYTES
}

#[wasm_bindgen]
impl DatabaseHost {
    /// Opens a database from its bytes, which are changed in place where a write-ahead log is given or the file is in
    /// WAL mode. `seconds` is how long a statement may run.
    ///
    /// # Errors
    ///
    /// A sentence about what is wrong with the file.
    pub fn open(
        module: &SqlJs,
        name: &str,
        bytes: Uint8Array,
        log: Option<Vec<u8>>,
        seconds: f64,
    ) -> Result<DatabaseHost, JsValue> {
        Self::try_open(module, name, bytes, log.as_deref(), seconds).map_err(|error| thrown(&error))
    }

    fn try_open(
        module: &SqlJs,
        name: &str,
        bytes: Uint8Array,
        log: Option<&[u8]>,
        seconds: f64,
    ) -> Result<Self, Error> {
        let length = bytes.length();
        let head = bytes.subarray(0, length.min(HEAD_BYTES as u32)).to_vec();
        let header = inspect(&head, length.into(), Some(LARGEST_FILE))
            .map_err(|problem| Error::File { name: name.to_owned(), problem })?;
        let mut notices = Vec::new();
        let sidecar =
            |reason| Error::Sidecar { name: name.to_owned(), what: "a write-ahead log (-wal)", reason };
        let wal = log.map(|log| Wal::read(log, header.page_size)).transpose().map_err(sidecar)?.flatten();
        let mut bytes = bytes;
        if let Some(wal) = &wal {
            let target = u32::try_from(wal.database_bytes())
                .ok()
                .filter(|&target| u64::from(target) <= LARGEST_FILE.min(plausible(length, log)))
                .ok_or_else(|| {
                    sidecar(format!("it says that the database is {} bytes long", wal.database_bytes()))
                })?;
            if target > length {
                let longer = Uint8Array::new_with_length(target);
                longer.set(&bytes, 0);
                bytes = longer;
            } else {
                bytes = bytes.subarray(0, target);
            }
            let mut pages = 0;
            for (offset, page) in wal.pages() {
                // Within `target`, which is below 2^31.
                bytes.subarray(offset as u32, offset as u32 + page.len() as u32).copy_from(page);
                pages += 1;
            }
            let come = if pages == 1 {
                "page with the latest rows comes"
            } else {
                "pages with the latest rows come"
            };
            notices.push(format!(
                "the write-ahead log (-wal) beside the file was read too: {pages} {come} from it"
            ));
        } else if header.wal_mode && log.is_none() {
            // The file alone does not tell: where the log was written back and removed, everything is in it.
            notices.push(
                "this database keeps its latest rows in a -wal file while a program uses it, and no -wal file came with \
                 it. If one lies beside the file, drop both together; if none does, nothing is missing"
                    .to_owned(),
            );
        }
        if header.wal_mode {
            // SQLite refuses to open a WAL-mode database that is no file on a disk.
            bytes.set_index(18, 1);
            bytes.set_index(19, 1);
        }
        let database = SqlJsDatabase::open(module, &bytes, name)?;
        let options = ToolOptions { time: Duration::from_secs_f64(seconds), ..ToolOptions::default() };
        let tools = Tools::with_options(database, options).map_err(|error| match error {
            Error::Sql { message } => Error::Damaged { name: name.to_owned(), message },
            other => other,
        })?;
        Ok(Self { tools, notices, results: BTreeMap::new(), next_result: 1 })
    }

    /// The tables with their columns and keys, and what the person should know of how the file was opened, as JSON.
    pub fn catalog(&self) -> String {
        let catalog = self.tools.catalog();
        let tables: Vec<Json> = catalog.tables.iter().map(table_json).collect();
        // The page says this where it ends a query by ending the worker, so it must have it before.
        let too_long = Error::TimeLimit(self.tools.options().time).to_string();
        json!({ "tables": tables, "notices": self.notices, "tooLong": too_long }).to_string()
    }

    /// The `CREATE` statements of all tables, for a prompt that shows the schema.
    pub fn schema(&self) -> String {
        schema_text(self.tools.catalog())
    }

    /// Number of rows of a table.
    ///
    /// # Errors
    ///
    /// SQLite's message, for a table that cannot be read.
    #[wasm_bindgen(js_name = countRows)]
    pub fn count_rows(&mut self, table: &str) -> Result<f64, JsValue> {
        let count = self.tools.count_rows(table, Duration::from_secs(60)).map_err(|error| thrown(&error))?;
        Ok(count as f64)
    }

    /// Runs a tool for the model: `arguments` is a JSON object. Returns the outcome as JSON: `text`, `is_error`,
    /// `elapsed_ms`.
    ///
    /// # Errors
    ///
    /// When `arguments` is not a JSON object.
    pub fn call(&mut self, tool: &str, arguments: &str) -> Result<String, JsValue> {
        let arguments: Map<String, Json> = serde_json::from_str(arguments).map_err(|error| thrown(&error))?;
        let started = Date::now();
        let output = self.tools.call(tool, &arguments);
        let elapsed = (Date::now() - started).max(0.0) as u64;
        Ok(json!({ "text": output.text, "is_error": output.is_error, "elapsed_ms": elapsed }).to_string())
    }

    /// Finds out whether a query runs, as `run_query` would run it: why it does not, or nothing.
    pub fn check(&mut self, sql: &str) -> Option<String> {
        let options = self.tools.options();
        let limits = Limits { rows: options.query_rows, time: options.time, ..Limits::default() };
        self.tools.query(sql, &limits).err().map(|error| error.to_string())
    }

    /// Runs SQL for a person. Returns `{id, columns, rows, more}`: the number that the result is kept under, the names
    /// of its columns, how many rows it has, and whether there were more than are kept.
    ///
    /// # Errors
    ///
    /// A refusal, SQLite's message, or a limit.
    pub fn query(&mut self, sql: &str) -> Result<JsValue, JsValue> {
        let limits = Limits { rows: MOST_ROWS, time: self.tools.options().time, ..Limits::default() };
        let rows = self.tools.query(sql, &limits).map_err(|error| thrown(&error))?;
        let id = self.next_result;
        self.next_result += 1;
        let results = Results::new(rows);
        let rows = results.rows();
        let columns: js_sys::Array = rows.columns.iter().map(|name| JsValue::from(name.as_str())).collect();
        let summary = object(&[
            ("id", id.into()),
            ("columns", columns.into()),
            ("rows", (rows.rows.len() as f64).into()),
            ("more", rows.more.into()),
        ]);
        self.results.insert(id, results);
        Ok(summary)
    }

    /// Rows of a result, in the order shown: an array of arrays of cells.
    ///
    /// # Errors
    ///
    /// When there is no such result.
    pub fn window(&self, id: u32, first: usize, count: usize) -> Result<js_sys::Array, JsValue> {
        Ok(self.result(id)?.window(first, count))
    }

    /// Sorts a result by a column; without one it takes the query's own order again.
    ///
    /// # Errors
    ///
    /// When there is no such result.
    pub fn sort(&mut self, id: u32, column: Option<usize>, descending: bool) -> Result<(), JsValue> {
        let results = self.results.get_mut(&id).ok_or_else(|| thrown(&GONE))?;
        results.sort(column, descending);
        Ok(())
    }

    /// One value in full.
    ///
    /// # Errors
    ///
    /// When there is no such result.
    pub fn value(&self, id: u32, row: usize, column: usize) -> Result<JsValue, JsValue> {
        Ok(self.result(id)?.value(row, column))
    }

    /// A result as CSV.
    ///
    /// # Errors
    ///
    /// When there is no such result.
    pub fn csv(&self, id: u32) -> Result<String, JsValue> {
        Ok(self.result(id)?.csv())
    }

    /// The first rows of a result with tabs between the values, for the clipboard.
    ///
    /// # Errors
    ///
    /// When there is no such result.
    pub fn tabbed(&self, id: u32, rows: usize) -> Result<String, JsValue> {
        Ok(self.result(id)?.tabbed(rows))
    }

    /// Forgets a result.
    pub fn forget(&mut self, id: u32) {
        self.results.remove(&id);
    }

    fn result(&self, id: u32) -> Result<&Results, JsValue> {
        self.results.get(&id).ok_or_else(|| thrown(&GONE))
    }
}

const GONE: &str = "this result is no longer there; run the query again";

/// The largest size that a write-ahead log may make of a database: a damaged log must not make the page ask for
/// gigabytes.
fn plausible(length: u32, log: Option<&[u8]>) -> u64 {
    u64::from(length) + log.map_or(0, <[u8]>::len) as u64 + (64 << 20)
}

fn table_json(table: &Table) -> Json {
    let columns: Vec<Json> = table
        .columns
        .iter()
        .filter(|column| column.kind != ColumnKind::Hidden)
        .map(|column| {
            json!({
                "name": column.name,
                "type": column.declared_type,
                "notNull": column.not_null,
                "key": column.key,
                "generated": column.kind == ColumnKind::Generated,
            })
        })
        .collect();
    let keys: Vec<Json> = table
        .foreign_keys
        .iter()
        .map(|key| json!({ "columns": key.columns, "parent": key.parent, "parentColumns": key.parent_columns }))
        .collect();
    let kind = match table.kind {
        TableKind::Table => "table",
        TableKind::View => "view",
        TableKind::Virtual => "virtual",
    };
    json!({
        "name": table.name,
        "kind": kind,
        "sql": table.sql,
        "columns": columns,
        "keys": keys,
        "problem": table.problem,
    })
}

/// The statements of all tables as they are stored, a blank line between two. Views are left out, as they were in
/// training.
fn schema_text(catalog: &Catalog) -> String {
    let tables = catalog.tables.iter().filter(|table| table.kind != TableKind::View);
    tables.map(|table| table.sql.trim()).collect::<Vec<_>>().join("\n\n")
}
