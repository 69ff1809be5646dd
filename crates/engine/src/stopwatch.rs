//! How long this thread's own work took.

use std::time::Duration;

/// Measures the processor time of the calling thread on Unix, where the threads of a software adapter run on the same
/// cores; elsewhere the clock.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Stopwatch {
    #[cfg(unix)]
    started: Duration,
    #[cfg(not(unix))]
    started: web_time::Instant,
}

#[cfg(unix)]
impl Stopwatch {
    pub(crate) fn start() -> Self {
        Self { started: thread_time() }
    }

    /// Time since the start; to be asked on the thread that started it.
    pub(crate) fn elapsed(self) -> Duration {
        thread_time().saturating_sub(self.started)
    }
}

#[cfg(unix)]
fn thread_time() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    // Both parts are positive, and the second below a billion.
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

#[cfg(not(unix))]
impl Stopwatch {
    pub(crate) fn start() -> Self {
        Self { started: web_time::Instant::now() }
    }

    /// Time since the start.
    pub(crate) fn elapsed(self) -> Duration {
        self.started.elapsed()
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn waiting_is_not_work() {
        let watch = Stopwatch::start();
        std::thread::sleep(Duration::from_millis(200));
        assert!(watch.elapsed() < Duration::from_millis(100), "{:?}", watch.elapsed());
        let mut sum = 0_u64;
        while watch.elapsed() < Duration::from_millis(5) {
            sum = std::hint::black_box(sum + 1);
        }
    }
}
