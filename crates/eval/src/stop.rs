//! Ending a run from outside: at once, though a query may be running.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use glowworm_database::CancelHandle;

/// Ends a run. Episodes under way are dropped, statements that run are interrupted.
#[derive(Debug, Default)]
pub struct Stop {
    requested: AtomicBool,
    /// The databases in use, each under a number of its own.
    watched: Mutex<Watches>,
}

#[derive(Debug, Default)]
struct Watches {
    next: u64,
    handles: Vec<(u64, CancelHandle)>,
}

impl Stop {
    /// Asks for the end. Gives back whether that had been done before.
    pub fn request(&self) -> bool {
        let before = self.requested.swap(true, Ordering::SeqCst);
        self.lock().handles.iter().for_each(|(_, handle)| handle.cancel());
        before
    }

    /// Whether the run is to end.
    pub fn requested(&self) -> bool {
        self.requested.load(Ordering::SeqCst)
    }

    /// As long as the result is kept, [`Stop::request`] interrupts the statements of the handle's database.
    pub(crate) fn watch(&self, handle: CancelHandle) -> Watched<'_> {
        let mut watches = self.lock();
        let number = watches.next;
        watches.next += 1;
        // The request may have come just before: whoever asked did not see this handle.
        if self.requested() {
            handle.cancel();
        }
        watches.handles.push((number, handle));
        Watched { stop: self, number }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Watches> {
        self.watched.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// See [`Stop::watch`].
pub(crate) struct Watched<'a> {
    stop: &'a Stop,
    number: u64,
}

impl Drop for Watched<'_> {
    fn drop(&mut self) {
        self.stop.lock().handles.retain(|(number, _)| *number != self.number);
    }
}
