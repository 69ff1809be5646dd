//! SQLite compiled to wasm by sql.js, behind the [`Database`] trait.
//!
//! sql.js is JavaScript around a wasm of its own. The database's bytes lie in its memory file system, in the
//! JavaScript heap, and never in this wasm's memory.
//!
//! It cannot be interrupted. Between rows the time limit is looked at here; a query that never gives a row is ended by
//! the page, which ends the worker and opens the file again.

use glowworm_database::{Database, Error, Limits, Rows, Statement, Value};
use js_sys::{Array, BigInt, Date, Function, Object, Reflect, Uint8Array};
use wasm_bindgen::prelude::*;

#[wasm_bindgen]
extern "C" {
    /// The module that sql.js' `initSqlJs` gives, called with `{useOldExtensionFunctions: false}`: otherwise `log` is
    /// the natural logarithm.
    #[derive(Debug)]
    pub type SqlJs;

    #[wasm_bindgen(method, getter, js_name = Database)]
    fn database_class(this: &SqlJs) -> Function;

    #[derive(Debug)]
    type Connection;

    #[wasm_bindgen(method, catch)]
    fn prepare(this: &Connection, sql: &str) -> Result<Prepared, JsValue>;

    #[wasm_bindgen(method, catch)]
    fn run(this: &Connection, sql: &str) -> Result<JsValue, JsValue>;

    #[wasm_bindgen(method, catch)]
    fn close(this: &Connection) -> Result<(), JsValue>;

    type Prepared;

    #[wasm_bindgen(method, catch)]
    fn step(this: &Prepared) -> Result<bool, JsValue>;

    #[wasm_bindgen(method, catch, js_name = getColumnNames)]
    fn column_names(this: &Prepared) -> Result<Array, JsValue>;

    #[wasm_bindgen(method, catch)]
    fn get(this: &Prepared, params: &JsValue, options: &JsValue) -> Result<Array, JsValue>;

    /// The bytes of a column, a text's too.
    #[wasm_bindgen(method, catch, js_name = getBlob)]
    fn blob(this: &Prepared, column: u32) -> Result<Uint8Array, JsValue>;

    #[wasm_bindgen(method)]
    fn free(this: &Prepared) -> bool;
}

/// The most memory that SQLite's wasm may have, in bytes.
const MEMORY: u64 = 2 << 30;

/// A database in memory, opened by sql.js.
#[derive(Debug)]
pub struct SqlJsDatabase {
    connection: Connection,
    /// `{useBigInt: true}`: without it INTEGERs above 2^53 lose digits, and 1 cannot be told from 1.0.
    options: JsValue,
}

impl SqlJsDatabase {
    /// Opens a database of which the bytes are sound as far as can be told from its header. `name` is for messages.
    ///
    /// # Errors
    ///
    /// [`Error::Damaged`] with what SQLite says.
    pub fn open(module: &SqlJs, bytes: &Uint8Array, name: &str) -> Result<Self, Error> {
        let damaged = |error: JsValue| Error::Damaged { name: name.to_owned(), message: message(&error) };
        let connection: Connection = Reflect::construct(&module.database_class(), &Array::of1(bytes))
            .map_err(damaged)?
            .unchecked_into();
        let options = Object::new();
        Reflect::set(&options, &"useBigInt".into(), &JsValue::TRUE).map_err(damaged)?;
        let database = Self { connection, options: options.into() };
        // A second lock behind the check of statements. Functions and views in the schema of a file of unknown origin
        // are not trusted with more than they need.
        database.connection.run("PRAGMA query_only=1").map_err(damaged)?;
        database.connection.run("PRAGMA trusted_schema=0").map_err(damaged)?;
        Ok(database)
    }
}

impl Drop for SqlJsDatabase {
    fn drop(&mut self) {
        // Fails only when a statement is still open, and then the worker is about to end.
        let _ = self.connection.close();
    }
}

impl Database for SqlJsDatabase {
    fn run(&mut self, statement: &Statement<'_>, limits: &Limits) -> Result<Rows, Error> {
        let until = Date::now() + limits.time.as_secs_f64() * 1000.0;
        let prepared = Freed(self.connection.prepare(statement.sql()).map_err(|error| sql_error(&error))?);
        let names = prepared.0.column_names().map_err(|error| sql_error(&error))?;
        let mut rows = Rows {
            columns: names.iter().map(|name| name.as_string().unwrap_or_default()).collect(),
            ..Rows::default()
        };
        let mut bytes = 0usize;
        while prepared.0.step().map_err(|error| sql_error(&error))? {
            if rows.rows.len() == limits.rows {
                rows.more = true;
                break;
            }
            let cells = prepared.0.get(&JsValue::NULL, &self.options).map_err(|error| sql_error(&error))?;
            let row: Vec<Value> = cells.iter().map(value).collect();
            refuse_lost_texts(&prepared.0, &row, limits)?;
            let size = row.iter().map(Value::size).sum::<usize>();
            if bytes.saturating_add(size) > limits.bytes {
                if rows.rows.is_empty() {
                    return Err(Error::RowTooLarge { bytes: size, limit: limits.bytes });
                }
                rows.more = true;
                break;
            }
            bytes += size;
            rows.rows.push(row);
            // The clock is asked now and then: asking costs as much as a short row.
            if rows.rows.len().is_multiple_of(64) && Date::now() > until {
                return Err(Error::TimeLimit(limits.time));
            }
        }
        Ok(rows)
    }
}

/// A text longer than JavaScript's strings can be comes as an empty one.
fn refuse_lost_texts(prepared: &Prepared, row: &[Value], limits: &Limits) -> Result<(), Error> {
    for (cell, column) in row.iter().zip(0..) {
        if matches!(cell, Value::Text(text) if text.is_empty()) {
            let bytes = prepared.blob(column).map_err(|error| sql_error(&error))?.length() as usize;
            if bytes > 0 {
                return Err(Error::RowTooLarge { bytes, limit: limits.bytes });
            }
        }
    }
    Ok(())
}

/// A statement, freed on every way out: one that stays open keeps the database busy.
struct Freed(Prepared);

impl Drop for Freed {
    fn drop(&mut self) {
        self.0.free();
    }
}

fn value(cell: JsValue) -> Value {
    if let Some(number) = cell.as_f64() {
        return Value::Real(number);
    }
    if let Some(text) = cell.as_string() {
        return Value::Text(text);
    }
    if cell.is_bigint() {
        // All INTEGERs are within 64 bits, so the conversion cannot fail.
        return i64::try_from(cell.unchecked_into::<BigInt>()).map_or(Value::Null, Value::Integer);
    }
    match cell.dyn_into::<Uint8Array>() {
        Ok(bytes) => Value::Blob(bytes.to_vec()),
        Err(_) => Value::Null,
    }
}

fn sql_error(error: &JsValue) -> Error {
    let message = message(error);
    if message == "out of memory" {
        return Error::MemoryLimit(MEMORY);
    }
    Error::Sql { message }
}

/// The message of what JavaScript threw: an `Error`, or a bare string, which sql.js throws too.
fn message(error: &JsValue) -> String {
    if let Some(text) = error.as_string() {
        return text;
    }
    match Reflect::get(error, &"message".into()).ok().and_then(|message| message.as_string()) {
        Some(text) => text,
        None => format!("{error:?}"),
    }
}
