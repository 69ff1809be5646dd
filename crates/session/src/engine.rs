//! The GPU engine as a decoder.

use std::ops::ControlFlow;

use glowworm_engine::{Engine, GenerateOptions, Snapshot};

use crate::decoder::{Decoded, Decoder, Start, start};
use crate::{Error, Result};

/// An [`Engine`] that recomputes only what is new.
///
/// Within an episode the context only grows, so a turn costs its new tokens. The state after the shared prefix, a few
/// MiB to some 20 MiB of GPU memory, is kept from the first question on; a second question goes back to it.
#[derive(Debug)]
pub struct EngineDecoder {
    engine: Engine,
    /// What the engine holds, the token that it sampled last included.
    held: Vec<u32>,
    prefix: Vec<u32>,
    kept: Option<Snapshot>,
}

impl EngineDecoder {
    /// A decoder on a loaded engine, whose sequence is forgotten.
    pub fn new(mut engine: Engine) -> Self {
        engine.reset();
        Self { engine, held: Vec::new(), prefix: Vec::new(), kept: None }
    }

    /// The engine, for its description and its counters.
    pub fn engine(&self) -> &Engine {
        &self.engine
    }

    /// The engine, the decoder given up.
    pub fn into_engine(self) -> Engine {
        self.engine
    }

    /// Lets the engine read `context`. Gives back how many of its tokens were there already.
    async fn read(&mut self, context: &[u32]) -> Result<usize> {
        let kept = self.kept.as_ref().map(Snapshot::tokens);
        match start(&self.held, kept, context) {
            Start::Continue => {}
            Start::Restore if self.restore() => {}
            Start::Restore | Start::Reset => {
                self.engine.reset();
                self.held.clear();
            }
        }
        let reused = self.held.len();
        let prefix = self.prefix.len();
        if reused < prefix && prefix < context.len() && context.starts_with(&self.prefix) {
            self.append(&context[reused..prefix]).await?;
            self.kept = Some(self.engine.snapshot().await?);
        }
        self.append(&context[self.held.len()..]).await?;
        Ok(reused)
    }

    fn restore(&mut self) -> bool {
        let Some(snapshot) = &self.kept else { return false };
        if !self.engine.restore(snapshot) {
            return false;
        }
        self.held.clear();
        self.held.extend_from_slice(snapshot.tokens());
        true
    }

    async fn append(&mut self, tokens: &[u32]) -> Result<()> {
        self.engine.append(tokens).await?;
        self.held.extend_from_slice(tokens);
        Ok(())
    }
}

impl Decoder for EngineDecoder {
    fn share_prefix(&mut self, prefix: &[u32]) {
        if self.prefix != prefix {
            self.prefix = prefix.to_vec();
        }
    }

    async fn decode(
        &mut self,
        context: &[u32],
        options: &GenerateOptions<'_>,
        on_tokens: &mut dyn FnMut(&[u32]) -> ControlFlow<()>,
    ) -> Result<Decoded> {
        if context.is_empty() {
            return Err(Error::Decoder { reason: "there is nothing to continue".into() });
        }
        let result = async {
            let reused = self.read(context).await?;
            Ok::<_, Error>((reused, self.engine.generate(options, on_tokens).await?))
        }
        .await;
        match result {
            Ok((reused, generated)) => {
                self.held.extend_from_slice(&generated.tokens);
                Ok(Decoded { tokens: generated.tokens, stop: generated.stop, reused })
            }
            Err(error) => {
                // What the engine holds now is not known: begin anew next time.
                self.held.clear();
                Err(error)
            }
        }
    }
}
