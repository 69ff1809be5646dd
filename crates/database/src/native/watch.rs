//! What ends a running statement: the clock, the memory it takes, the user.

use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU8, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use rusqlite::ffi;

use crate::Error;

/// Steps of SQLite's virtual machine between two looks at the clock: some ten microseconds.
pub(super) const STEPS: i32 = 1_000;

/// Shared between the connection's progress handler, the call that runs a statement, and cancel handles.
#[derive(Debug)]
pub(super) struct Watch {
    epoch: Instant,
    /// Nanoseconds after `epoch`.
    deadline: AtomicU64,
    /// Bytes that SQLite may have in use in all.
    memory: AtomicI64,
    cancelled: AtomicBool,
    reason: AtomicU8,
}

const NONE: u8 = 0;
const TIME: u8 = 1;
const MEMORY: u8 = 2;
const CANCEL: u8 = 3;

impl Watch {
    pub(super) fn new() -> Self {
        Watch {
            epoch: Instant::now(),
            deadline: AtomicU64::new(u64::MAX),
            memory: AtomicI64::new(i64::MAX),
            cancelled: AtomicBool::new(false),
            reason: AtomicU8::new(NONE),
        }
    }

    pub(super) fn cancel(&self) {
        self.cancelled.store(true, Ordering::SeqCst);
    }

    pub(super) fn reset(&self) {
        self.cancelled.store(false, Ordering::SeqCst);
    }

    /// Starts the clock for one statement.
    pub(super) fn start(&self, time: Duration, memory: u64) {
        let deadline = self.epoch.elapsed().saturating_add(time).as_nanos();
        self.deadline.store(u64::try_from(deadline).unwrap_or(u64::MAX), Ordering::SeqCst);
        // SAFETY: reads a counter; may be called at any time from any thread.
        let used = unsafe { ffi::sqlite3_memory_used() };
        let memory = used.saturating_add(i64::try_from(memory).unwrap_or(i64::MAX));
        self.memory.store(memory, Ordering::SeqCst);
        self.reason.store(NONE, Ordering::SeqCst);
    }

    /// Whether the running statement must end; remembers why.
    pub(super) fn must_end(&self) -> bool {
        let reason = if self.cancelled.load(Ordering::Relaxed) {
            CANCEL
        } else if self.epoch.elapsed().as_nanos() > u128::from(self.deadline.load(Ordering::Relaxed)) {
            TIME
        // SAFETY: as in `start`.
        } else if unsafe { ffi::sqlite3_memory_used() } > self.memory.load(Ordering::Relaxed) {
            MEMORY
        } else {
            return false;
        };
        self.reason.store(reason, Ordering::SeqCst);
        true
    }

    /// The error for a statement that ended because [`Watch::must_end`] said so.
    pub(super) fn reason(&self, time: Duration, memory: u64) -> Option<Error> {
        match self.reason.load(Ordering::SeqCst) {
            TIME => Some(Error::TimeLimit(time)),
            MEMORY => Some(Error::MemoryLimit(memory)),
            CANCEL => Some(Error::Cancelled),
            _ => None,
        }
    }
}
