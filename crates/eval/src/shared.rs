//! Several workers on one engine.
//!
//! While one worker's tool runs, another may use the engine. But an engine holds the state of one episode, and an
//! episode that comes back after another has to be read again from its beginning. So the engine is not handed over at
//! every tool call, most of which take a millisecond: it stays with its episode until that has left it idle for
//! [`PATIENCE`], or waits for nobody.

use std::ops::ControlFlow;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use glowworm_session::{Decoded, Decoder, GenerateOptions};

/// How long the engine may be idle before another episode takes it. Reading a long context again costs about as much.
pub const PATIENCE: Duration = Duration::from_millis(500);

struct State<D> {
    decoder: Option<D>,
    /// The worker whose episode the decoder holds.
    holder: Option<usize>,
    idle_since: Instant,
}

struct Shared<D> {
    state: Mutex<State<D>>,
    changed: Condvar,
}

/// One worker's access to a decoder that several have.
pub struct SharedDecoder<D> {
    shared: Arc<Shared<D>>,
    worker: usize,
    prefix: Vec<u32>,
}

impl<D> std::fmt::Debug for SharedDecoder<D> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SharedDecoder").field("worker", &self.worker).finish_non_exhaustive()
    }
}

impl<D> SharedDecoder<D> {
    /// Access to a decoder for so many workers.
    pub fn new(decoder: D, workers: usize) -> Vec<Self> {
        let state = State { decoder: Some(decoder), holder: None, idle_since: Instant::now() };
        let shared = Arc::new(Shared { state: Mutex::new(state), changed: Condvar::new() });
        (0..workers).map(|worker| Self { shared: Arc::clone(&shared), worker, prefix: Vec::new() }).collect()
    }

    fn lock(&self) -> MutexGuard<'_, State<D>> {
        self.shared.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for the decoder and takes it out.
    fn take(&self) -> Taken<'_, D> {
        let mut state = self.lock();
        loop {
            let patience = PATIENCE.saturating_sub(state.idle_since.elapsed());
            let mine = state.holder.is_none_or(|holder| holder == self.worker) || patience.is_zero();
            if mine && let Some(decoder) = state.decoder.take() {
                state.holder = Some(self.worker);
                return Taken { of: self, decoder: Some(decoder) };
            }
            let wait = if state.decoder.is_some() { patience } else { PATIENCE };
            let waited = self.shared.changed.wait_timeout(state, wait.max(Duration::from_millis(1)));
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

/// The decoder while it is out. It goes back even when decoding panics, or the other workers would wait for ever.
struct Taken<'s, D> {
    of: &'s SharedDecoder<D>,
    decoder: Option<D>,
}

impl<D> Drop for Taken<'_, D> {
    fn drop(&mut self) {
        let mut state = self.of.lock();
        state.decoder = self.decoder.take();
        state.idle_since = Instant::now();
        drop(state);
        self.of.shared.changed.notify_all();
    }
}

/// A worker that is done no longer keeps the others waiting.
impl<D> Drop for SharedDecoder<D> {
    fn drop(&mut self) {
        let mut state = self.lock();
        if state.holder == Some(self.worker) {
            state.holder = None;
        }
        drop(state);
        self.shared.changed.notify_all();
    }
}

impl<D: Decoder> Decoder for SharedDecoder<D> {
    fn share_prefix(&mut self, prefix: &[u32]) {
        self.prefix = prefix.to_vec();
    }

    async fn decode(
        &mut self,
        context: &[u32],
        options: &GenerateOptions<'_>,
        on_tokens: &mut dyn FnMut(&[u32]) -> ControlFlow<()>,
    ) -> glowworm_session::Result<Decoded> {
        let mut taken = self.take();
        let Some(decoder) = &mut taken.decoder else {
            return Err(glowworm_session::Error::Decoder { reason: "the shared engine is gone".into() });
        };
        decoder.share_prefix(&self.prefix);
        decoder.decode(context, options, on_tokens).await
    }
}

#[cfg(test)]
mod tests {
    use glowworm_session::Sampling;
    use pollster::block_on;

    use super::*;

    /// Notes who asked: the first token of the context says it.
    struct Notes(Arc<Mutex<Vec<u32>>>);

    impl Decoder for Notes {
        fn share_prefix(&mut self, _prefix: &[u32]) {}

        async fn decode(
            &mut self,
            context: &[u32],
            _options: &GenerateOptions<'_>,
            _on_tokens: &mut dyn FnMut(&[u32]) -> ControlFlow<()>,
        ) -> glowworm_session::Result<Decoded> {
            self.0.lock().unwrap().push(context[0]);
            std::thread::sleep(Duration::from_millis(5));
            Ok(Decoded { tokens: vec![1], stop: glowworm_engine::Stop::Token, reused: 0 })
        }
    }

    #[test]
    fn an_episode_keeps_the_engine_through_short_pauses() {
        let notes = Arc::new(Mutex::new(Vec::new()));
        let workers = SharedDecoder::new(Notes(Arc::clone(&notes)), 2);
        std::thread::scope(|scope| {
            for (worker, mut decoder) in workers.into_iter().enumerate() {
                scope.spawn(move || {
                    let options = GenerateOptions {
                        max_tokens: 1,
                        sampling: Sampling::default(),
                        stop_tokens: &[],
                        drafts: false,
                    };
                    for _ in 0..4 {
                        let mut ignore = |_: &[u32]| ControlFlow::Continue(());
                        block_on(decoder.decode(&[worker as u32], &options, &mut ignore)).unwrap();
                        std::thread::sleep(Duration::from_millis(10));
                    }
                });
            }
        });
        let notes = notes.lock().unwrap();
        let changes = notes.windows(2).filter(|pair| pair[0] != pair[1]).count();
        assert_eq!((notes.len(), changes), (8, 1), "{notes:?}");
    }

    #[test]
    fn a_long_pause_lets_the_other_in() {
        let notes = Arc::new(Mutex::new(Vec::new()));
        let mut workers = SharedDecoder::new(Notes(Arc::clone(&notes)), 2);
        let options =
            GenerateOptions { max_tokens: 1, sampling: Sampling::default(), stop_tokens: &[], drafts: false };
        let mut ignore = |_: &[u32]| ControlFlow::Continue(());
        let begun = Instant::now();
        block_on(workers[0].decode(&[0], &options, &mut ignore)).unwrap();
        block_on(workers[1].decode(&[1], &options, &mut ignore)).unwrap();
        assert!(begun.elapsed() >= PATIENCE, "the first still had its episode");
        block_on(workers[0].decode(&[0], &options, &mut ignore)).unwrap();
        assert_eq!(*notes.lock().unwrap(), [0, 1, 0]);
    }
}
