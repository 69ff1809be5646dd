//! A ceiling on the memory of SQLite as a whole.
//!
//! The watch on a running statement looks at its memory between steps. A single step can still allocate a lot (a row of
//! a hundred `randomblob(1e8)`), so SQLite's own hard limit stands behind it. That limit is one for the process; each
//! open database adds its share to it, and takes it away when it is closed.

use std::sync::Mutex;

use rusqlite::ffi;

/// For a database's page cache, schema and prepared statements.
const BASE: u64 = 256 << 20;

static TOTAL: Mutex<u64> = Mutex::new(0);

/// One database's part of the ceiling.
#[derive(Debug)]
pub(super) struct HeapShare(u64);

impl HeapShare {
    /// Raises the ceiling for one database: `statement` bytes for a running statement, `content` bytes for a database
    /// that lies in memory.
    pub(super) fn new(statement: u64, content: u64) -> Self {
        let share = BASE.saturating_add(statement).saturating_add(content);
        change(|total| total.saturating_add(share));
        HeapShare(share)
    }
}

impl Drop for HeapShare {
    fn drop(&mut self) {
        change(|total| total.saturating_sub(self.0));
    }
}

fn change(new: impl FnOnce(u64) -> u64) {
    let mut total = match TOTAL.lock() {
        Ok(total) => total,
        Err(poisoned) => poisoned.into_inner(),
    };
    *total = new(*total);
    let limit = i64::try_from(*total).unwrap_or(i64::MAX);
    // SAFETY: sets a number under SQLite's own mutex; 0 means no limit.
    unsafe { ffi::sqlite3_hard_heap_limit64(limit) };
}
