//! What a connection may do: its limits, its switches, and the authorizer.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::ptr;

use rusqlite::config::DbConfig;
use rusqlite::limits::Limit;
use rusqlite::{Connection, ffi};

use crate::guard::{ALLOWED_PRAGMAS, MAX_SQL_BYTES, REFUSED_FUNCTIONS};

/// SQLite's own limits, lowered to well above what a question about data needs.
const LIMITS: [(Limit, i32); 10] = [
    // The largest text, BLOB or row. A database may hold larger ones; only a query that touches them fails.
    (Limit::SQLITE_LIMIT_LENGTH, 128 << 20),
    (Limit::SQLITE_LIMIT_SQL_LENGTH, MAX_SQL_BYTES as i32),
    (Limit::SQLITE_LIMIT_EXPR_DEPTH, 500),
    (Limit::SQLITE_LIMIT_COMPOUND_SELECT, 200),
    (Limit::SQLITE_LIMIT_VDBE_OP, 1_000_000),
    (Limit::SQLITE_LIMIT_FUNCTION_ARG, 127),
    (Limit::SQLITE_LIMIT_ATTACHED, 0),
    (Limit::SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 10_000),
    (Limit::SQLITE_LIMIT_TRIGGER_DEPTH, 1),
    (Limit::SQLITE_LIMIT_WORKER_THREADS, 0),
];

/// Switches, on or off. Double-quoted strings (`DQS`) stay as SQLite has them: sql.js cannot turn them off, and a query
/// must mean the same in both.
const SWITCHES: [(DbConfig, bool); 7] = [
    (DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true),
    (DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false),
    (DbConfig::SQLITE_DBCONFIG_WRITABLE_SCHEMA, false),
    (DbConfig::SQLITE_DBCONFIG_ENABLE_TRIGGER, false),
    (DbConfig::SQLITE_DBCONFIG_ENABLE_FTS3_TOKENIZER, false),
    (DbConfig::SQLITE_DBCONFIG_ENABLE_ATTACH_CREATE, false),
    (DbConfig::SQLITE_DBCONFIG_ENABLE_ATTACH_WRITE, false),
];

/// Sets limits and switches. The authorizer comes later ([`lock`]): connecting a virtual table may need more.
///
/// Temporary files are left as SQLite has them: a sort that is larger than the page cache goes to an unnamed file in
/// the system's folder for them. Kept in memory it could not be interrupted.
pub(super) fn configure(connection: &Connection) -> rusqlite::Result<()> {
    for (limit, value) in LIMITS {
        connection.set_limit(limit, value)?;
    }
    for (switch, on) in SWITCHES {
        connection.set_db_config(switch, on)?;
    }
    // 16 MiB of page cache. cell_size_check finds a damaged page before its content is used.
    connection.execute_batch(
        "PRAGMA query_only = 1; PRAGMA trusted_schema = 0; PRAGMA cell_size_check = 1; PRAGMA cache_size = -16384;",
    )
}

/// From here on every action of every statement is put to [`authorize`].
pub(super) fn lock(connection: &Connection) {
    // SAFETY: the handle is open, and the function needs no state that could go away.
    unsafe { ffi::sqlite3_set_authorizer(connection.handle(), Some(authorize), ptr::null_mut()) };
}

/// Allows to select, to read columns, to recurse, to call functions but a few, and to use a few pragmas that report on
/// the schema. Everything else, known to this SQLite or not, is denied.
unsafe extern "C" fn authorize(
    _state: *mut c_void,
    action: c_int,
    first: *const c_char,
    second: *const c_char,
    _database: *const c_char,
    _accessor: *const c_char,
) -> c_int {
    let lower = |text: *const c_char| {
        if text.is_null() {
            return String::new();
        }
        // SAFETY: SQLite passes NUL-terminated strings that live for this call.
        unsafe { CStr::from_ptr(text) }.to_string_lossy().to_ascii_lowercase()
    };
    let allowed = match action {
        ffi::SQLITE_SELECT | ffi::SQLITE_READ | ffi::SQLITE_RECURSIVE => true,
        ffi::SQLITE_FUNCTION => !REFUSED_FUNCTIONS.contains(&lower(second).as_str()),
        ffi::SQLITE_PRAGMA => {
            let name = lower(first);
            // The last two are read by full-text tables themselves while they are queried.
            ALLOWED_PRAGMAS.contains(&name.as_str())
                || (second.is_null() && matches!(name.as_str(), "data_version" | "page_size"))
        }
        _ => false,
    };
    if allowed { ffi::SQLITE_OK } else { ffi::SQLITE_DENY }
}
