//! What continues a sequence of tokens, and how it finds out where to begin.

use std::future::Future;
use std::ops::ControlFlow;

use glowworm_engine::{GenerateOptions, Stop};

use crate::Result;

/// A model that continues tokens.
///
/// It is asked with the whole context every time. So nobody else needs to know what it holds: after a restored
/// snapshot, an abandoned turn or a lost device the next question is asked in the same way. An implementation
/// recomputes as little as it can, and says how little that was.
pub trait Decoder {
    /// Says that the contexts of coming episodes begin with these tokens, so that their state is worth keeping.
    fn share_prefix(&mut self, prefix: &[u32]);

    /// Generates after `context`, which is not empty. `on_tokens` sees the tokens in small groups as they come; when
    /// it breaks off, the result holds what it has seen.
    ///
    /// # Errors
    ///
    /// A context that does not fit, ids outside the vocabulary, settings that make no sense, a lost device.
    fn decode(
        &mut self,
        context: &[u32],
        options: &GenerateOptions<'_>,
        on_tokens: &mut dyn FnMut(&[u32]) -> ControlFlow<()>,
    ) -> impl Future<Output = Result<Decoded>>;
}

/// What a [`Decoder`] generated.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decoded {
    /// The tokens, a final stop token included.
    pub tokens: Vec<u32>,
    /// Why it ended.
    pub stop: Stop,
    /// Tokens of the context that did not have to be computed.
    pub reused: usize,
}

/// Where to begin for a context.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Start {
    /// With what is there.
    Continue,
    /// With the kept state.
    Restore,
    /// With nothing.
    Reset,
}

/// Chooses where to begin for `wanted`, of which at least one token must remain to be computed: the decoder holds
/// `held`, and a state after `kept` where there is one.
pub(crate) fn start(held: &[u32], kept: Option<&[u32]>, wanted: &[u32]) -> Start {
    let begins = |tokens: &[u32]| tokens.len() < wanted.len() && wanted.starts_with(tokens);
    if !held.is_empty() && begins(held) {
        Start::Continue
    } else if kept.is_some_and(begins) {
        Start::Restore
    } else {
        Start::Reset
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_held_goes_on_as_long_as_it_is_the_beginning() {
        assert_eq!(start(&[1, 2], None, &[1, 2, 3]), Start::Continue);
        assert_eq!(start(&[1, 2, 9], Some(&[1, 2]), &[1, 2, 3]), Start::Restore);
        assert_eq!(start(&[1, 9], Some(&[1, 8]), &[1, 2, 3]), Start::Reset);
        assert_eq!(start(&[], Some(&[1]), &[1, 2, 3]), Start::Restore);
        assert_eq!(start(&[], None, &[1]), Start::Reset);
    }

    #[test]
    fn something_is_always_left_to_compute() {
        assert_eq!(start(&[1, 2], Some(&[1, 2]), &[1, 2]), Start::Reset);
        assert_eq!(start(&[1, 2], Some(&[1]), &[1, 2]), Start::Restore);
    }
}
