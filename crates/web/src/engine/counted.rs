//! A decoder that tells how many tokens it has generated, while it generates them: for the speed on the screen.

use std::cell::Cell;
use std::ops::ControlFlow;
use std::rc::Rc;

use glowworm_engine::Counters;
use glowworm_session::{Decoded, Decoder, EngineDecoder, GenerateOptions, Result};

#[derive(Debug)]
pub(super) struct Counted {
    inner: EngineDecoder,
    /// Tokens of the present turn.
    tokens: Rc<Cell<u32>>,
}

impl Counted {
    pub(super) fn new(inner: EngineDecoder) -> Self {
        Self { inner, tokens: Rc::default() }
    }

    pub(super) fn tokens(&self) -> Rc<Cell<u32>> {
        Rc::clone(&self.tokens)
    }

    pub(super) fn counters(&self) -> Counters {
        self.inner.engine().counters()
    }

    pub(super) fn into_inner(self) -> EngineDecoder {
        self.inner
    }
}

impl Decoder for Counted {
    fn share_prefix(&mut self, prefix: &[u32]) {
        self.inner.share_prefix(prefix);
    }

    async fn decode(
        &mut self,
        context: &[u32],
        options: &GenerateOptions<'_>,
        on_tokens: &mut dyn FnMut(&[u32]) -> ControlFlow<()>,
    ) -> Result<Decoded> {
        let count = &self.tokens;
        count.set(0);
        let mut counting = |tokens: &[u32]| {
            count.set(count.get() + tokens.len() as u32);
            on_tokens(tokens)
        };
        self.inner.decode(context, options, &mut counting).await
    }
}
