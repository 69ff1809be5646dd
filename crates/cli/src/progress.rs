//! Progress bars on standard error; nothing where that is no terminal.

use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// What is done sooner than this needs no bar.
const PATIENCE: Duration = Duration::from_millis(300);

/// A bar over bytes, shown when they take long.
pub struct Bar {
    bar: ProgressBar,
    since: Instant,
    shown: bool,
}

impl Bar {
    /// A bar that says `what` is going on.
    pub fn new(what: &str, total: u64) -> Self {
        let bar = ProgressBar::with_draw_target(Some(total), ProgressDrawTarget::hidden());
        let template = "{msg} {wide_bar:.dim} {binary_bytes} of {binary_total_bytes}, {binary_bytes_per_sec}, {eta} left";
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style.progress_chars("━━─"));
        }
        bar.set_message(what.to_owned());
        Self { bar, since: Instant::now(), shown: false }
    }

    /// So many bytes are done, of so many.
    pub fn set(&mut self, done: u64, total: u64) {
        self.bar.set_length(total);
        self.bar.set_position(done);
        if !self.shown && self.since.elapsed() > PATIENCE {
            self.shown = true;
            self.bar.set_draw_target(ProgressDrawTarget::stderr());
        }
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

/// A download as hf-hub reports it.
pub struct Download {
    bar: Bar,
    done: u64,
    total: u64,
}

impl Download {
    /// A bar for a file, its size not yet known.
    pub fn new(file: &str) -> Self {
        Self { bar: Bar::new(file, 0), done: 0, total: 0 }
    }
}

impl hf_hub::api::Progress for Download {
    fn init(&mut self, size: usize, _filename: &str) {
        // Called again when a download is resumed.
        self.total = size as u64;
        self.done = 0;
    }

    fn update(&mut self, size: usize) {
        self.done += size as u64;
        self.bar.set(self.done, self.total);
    }

    fn finish(&mut self) {}
}
