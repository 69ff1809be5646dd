//! Ctrl-C: ends the question that is being answered, keeping what there is; pressed again, or when there is none,
//! ends the program.

use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Mutex, PoisonError};

use glowworm_database::CancelHandle;

const IDLE: u8 = 0;
const RUNNING: u8 = 1;
const CANCELLED: u8 = 2;

static STATE: AtomicU8 = AtomicU8::new(IDLE);
static QUERIES: Mutex<Option<CancelHandle>> = Mutex::new(None);

/// Exit code of a program that Ctrl-C ended.
const INTERRUPTED: i32 = 130;

/// Takes over Ctrl-C. `queries` stops the statement that a tool may be running.
pub fn install(queries: CancelHandle) {
    *QUERIES.lock().unwrap_or_else(PoisonError::into_inner) = Some(queries);
    // A second handler, or a platform without signals: Ctrl-C then does what it always does.
    let _ = ctrlc::set_handler(|| {
        if STATE.compare_exchange(RUNNING, CANCELLED, Ordering::SeqCst, Ordering::SeqCst).is_err() {
            std::process::exit(INTERRUPTED);
        }
        if let Some(queries) = &*QUERIES.lock().unwrap_or_else(PoisonError::into_inner) {
            queries.cancel();
        }
    });
}

/// A question is being answered from here on.
pub fn begin() {
    if let Some(queries) = &*QUERIES.lock().unwrap_or_else(PoisonError::into_inner) {
        queries.reset();
    }
    STATE.store(RUNNING, Ordering::SeqCst);
}

/// It is answered. Gives back whether it was cancelled.
pub fn end() -> bool {
    let was = STATE.swap(IDLE, Ordering::SeqCst) == CANCELLED;
    if let Some(queries) = &*QUERIES.lock().unwrap_or_else(PoisonError::into_inner) {
        queries.reset();
    }
    was
}

/// Whether the question is to be given up.
pub fn requested() -> bool {
    STATE.load(Ordering::SeqCst) == CANCELLED
}
