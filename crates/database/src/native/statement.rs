//! One statement, run.
//!
//! This goes to SQLite's C interface directly. rusqlite's own statement panics on a column whose name is not UTF-8 and
//! on a text that memory does not suffice for; here both come from files of unknown origin and must be answers.

use std::ffi::{CStr, c_char, c_int};
use std::marker::PhantomData;
use std::{ptr, slice};

use rusqlite::{Connection, ffi};

use crate::native::watch::Watch;
use crate::token::{Kind, tokens};
use crate::{Error, Limits, Refusal, Rows, Value};

/// Runs `sql` within `limits`.
pub(super) fn run(
    connection: &Connection,
    watch: &Watch,
    memory: u64,
    sql: &str,
    limits: &Limits,
) -> Result<Rows, Error> {
    watch.start(limits.time, memory);
    let failed = |code: c_int| match code & 0xff {
        ffi::SQLITE_INTERRUPT => {
            watch.reason(limits.time, memory).unwrap_or_else(|| sql_error(connection, code))
        }
        ffi::SQLITE_NOMEM => Error::MemoryLimit(memory),
        _ => sql_error(connection, code),
    };
    // A cancel that came between two statements counts for this one.
    if watch.must_end() {
        return Err(failed(ffi::SQLITE_INTERRUPT));
    }
    let statement = Prepared::new(connection, sql).map_err(|failure| match failure {
        PrepareError::Code(code) => failed(code),
        PrepareError::Refused(refusal) => refusal.into(),
    })?;
    let mut result = Rows { columns: statement.column_names(), ..Rows::default() };
    let mut bytes = 0usize;
    loop {
        match statement.step() {
            ffi::SQLITE_ROW => {}
            ffi::SQLITE_DONE => return Ok(result),
            code => return Err(failed(code)),
        }
        // The progress handler looks between steps of the virtual machine; this looks at what the last of them made.
        if watch.must_end() {
            return Err(failed(ffi::SQLITE_INTERRUPT));
        }
        if result.rows.len() == limits.rows {
            result.more = true;
            return Ok(result);
        }
        let size = statement.row_bytes();
        if bytes.saturating_add(size) > limits.bytes {
            if result.rows.is_empty() {
                return Err(Error::RowTooLarge { bytes: size, limit: limits.bytes });
            }
            result.more = true;
            return Ok(result);
        }
        bytes += size;
        let row = statement.row().ok_or(Error::MemoryLimit(memory))?;
        result.rows.push(row);
    }
}

/// SQLite's message for the last failure.
pub(super) fn sql_error(connection: &Connection, code: c_int) -> Error {
    // SAFETY: the handle is open; SQLite returns a NUL-terminated string that is copied before anything else is called.
    let message = unsafe {
        let mut text = ffi::sqlite3_errmsg(connection.handle());
        if text.is_null() {
            text = ffi::sqlite3_errstr(code);
        }
        string(text)
    };
    Error::Sql { message: message.unwrap_or_else(|| format!("SQLite error {code}")) }
}

enum PrepareError {
    Code(c_int),
    Refused(Refusal),
}

/// A prepared statement, finalized when dropped.
struct Prepared<'c> {
    raw: *mut ffi::sqlite3_stmt,
    columns: c_int,
    connection: PhantomData<&'c Connection>,
}

impl<'c> Prepared<'c> {
    fn new(connection: &'c Connection, sql: &str) -> Result<Self, PrepareError> {
        let length = c_int::try_from(sql.len()).map_err(|_| PrepareError::Code(ffi::SQLITE_TOOBIG))?;
        let mut raw = ptr::null_mut();
        let mut tail: *const c_char = ptr::null();
        let start = sql.as_ptr().cast::<c_char>();
        // SAFETY: the handle is open, `start` points at `length` bytes, and the out pointers are valid.
        let code = unsafe {
            ffi::sqlite3_prepare_v2(connection.handle(), start, length, &raw mut raw, &raw mut tail)
        };
        if code != ffi::SQLITE_OK {
            return Err(PrepareError::Code(code));
        }
        if raw.is_null() {
            return Err(PrepareError::Refused(Refusal::Empty));
        }
        let mut statement = Prepared { raw, columns: 0, connection: PhantomData };
        // SAFETY: `raw` is a prepared statement.
        let read_only = unsafe {
            statement.columns = ffi::sqlite3_column_count(raw);
            ffi::sqlite3_stmt_readonly(raw) != 0
        };
        // Two more locks on doors that the guard and the authorizer have shut.
        if !read_only {
            let verb = sql.split_whitespace().next().unwrap_or("").to_ascii_uppercase();
            return Err(PrepareError::Refused(Refusal::ReadOnly { verb }));
        }
        // SAFETY: on success SQLite sets `tail` to a place within the text, or its end.
        let used = usize::try_from(unsafe { tail.offset_from(start) }).unwrap_or(sql.len());
        let blank = |kind: Kind| matches!(kind, Kind::Space | Kind::Semicolon);
        if !sql.get(used..).is_some_and(|rest| tokens(rest).all(|token| blank(token.kind))) {
            return Err(PrepareError::Refused(Refusal::Several));
        }
        Ok(statement)
    }

    fn column_names(&self) -> Vec<String> {
        // SAFETY: the index is below the column count; the string is copied at once.
        (0..self.columns)
            .map(|i| unsafe { string(ffi::sqlite3_column_name(self.raw, i)) }.unwrap_or_default())
            .collect()
    }

    fn step(&self) -> c_int {
        // SAFETY: `raw` is a prepared statement that nothing else uses.
        unsafe { ffi::sqlite3_step(self.raw) }
    }

    /// Bytes of the current row's values, before any is copied.
    fn row_bytes(&self) -> usize {
        let size = |i| {
            // SAFETY: the index is below the column count, and `step` has just returned a row.
            let bytes = unsafe {
                match ffi::sqlite3_column_type(self.raw, i) {
                    ffi::SQLITE_NULL => 1,
                    ffi::SQLITE_INTEGER | ffi::SQLITE_FLOAT => 8,
                    _ => ffi::sqlite3_column_bytes(self.raw, i),
                }
            };
            usize::try_from(bytes).unwrap_or(0)
        };
        (0..self.columns).map(size).sum()
    }

    /// The values of the current row; `None` where memory did not suffice to convert one.
    fn row(&self) -> Option<Vec<Value>> {
        (0..self.columns).map(|i| self.value(i)).collect()
    }

    fn value(&self, i: c_int) -> Option<Value> {
        // SAFETY: the index is below the column count, and `step` has just returned a row. Text and BLOB pointers are
        // asked for before their length, as SQLite wants it, and copied before anything else is called.
        unsafe {
            let copy = |start: *const u8| {
                let length = usize::try_from(ffi::sqlite3_column_bytes(self.raw, i)).unwrap_or(0);
                if length == 0 { &[][..] } else { slice::from_raw_parts(start, length) }
            };
            Some(match ffi::sqlite3_column_type(self.raw, i) {
                ffi::SQLITE_NULL => Value::Null,
                ffi::SQLITE_INTEGER => Value::Integer(ffi::sqlite3_column_int64(self.raw, i)),
                ffi::SQLITE_FLOAT => Value::Real(ffi::sqlite3_column_double(self.raw, i)),
                ffi::SQLITE_TEXT => {
                    let start = ffi::sqlite3_column_text(self.raw, i);
                    if start.is_null() {
                        return None;
                    }
                    Value::text_lossy(copy(start))
                }
                _ => {
                    let start = ffi::sqlite3_column_blob(self.raw, i).cast::<u8>();
                    // SQLite gives no pointer for an empty BLOB, and none when memory ran out.
                    if start.is_null() && ffi::sqlite3_column_bytes(self.raw, i) > 0 {
                        return None;
                    }
                    Value::Blob(copy(start).to_vec())
                }
            })
        }
    }
}

impl Drop for Prepared<'_> {
    fn drop(&mut self) {
        // SAFETY: `raw` was prepared and is not used after this.
        unsafe { ffi::sqlite3_finalize(self.raw) };
    }
}

/// A copy of a C string, invalid UTF-8 replaced.
///
/// # Safety
///
/// `text` is null or NUL-terminated.
unsafe fn string(text: *const c_char) -> Option<String> {
    if text.is_null() {
        return None;
    }
    // SAFETY: by the caller's promise.
    Some(unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned())
}
