//! The decoder of whichever device was chosen.

use std::ops::ControlFlow;

use glowworm_session::{Decoded, Decoder, EngineDecoder, GenerateOptions, Result};

/// A decoder on one of the devices.
#[derive(Debug)]
pub enum AnyDecoder {
    /// On a GPU.
    Gpu(Box<EngineDecoder>),
    /// On the processor.
    #[cfg(feature = "reference")]
    Cpu(Box<glowworm_session::ReferenceDecoder>),
}

impl Decoder for AnyDecoder {
    fn share_prefix(&mut self, prefix: &[u32]) {
        match self {
            Self::Gpu(decoder) => decoder.share_prefix(prefix),
            #[cfg(feature = "reference")]
            Self::Cpu(decoder) => decoder.share_prefix(prefix),
        }
    }

    async fn decode(
        &mut self,
        context: &[u32],
        options: &GenerateOptions<'_>,
        on_tokens: &mut dyn FnMut(&[u32]) -> ControlFlow<()>,
    ) -> Result<Decoded> {
        match self {
            Self::Gpu(decoder) => decoder.decode(context, options, on_tokens).await,
            #[cfg(feature = "reference")]
            Self::Cpu(decoder) => decoder.decode(context, options, on_tokens).await,
        }
    }
}
