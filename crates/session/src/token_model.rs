//! A language model out of a tokenizer and a decoder.

use std::ops::ControlFlow;

use glowworm_agent::{GenerateRequest, Segment, Stop, TokenCounts};
use glowworm_engine::{GenerateOptions, Sampling};
use glowworm_model::{StreamDecoder, Tokenizer};

use crate::decoder::Decoder;
use crate::run::{Generated, LanguageModel};
use crate::{Error, Result};

/// A tokenizer, a decoder, and the tokens of the present episode.
///
/// A turn that ends with a stop token leaves it out of the context, as the protocol asks: the next append closes the
/// turn, always in the same way. Mostly that is the very token that the model wrote, and a decoder that holds it
/// finds that it goes on as wanted.
///
/// `max_tokens` is also the most that the decoder is asked for, its stop token counted. So a turn that would have
/// ended with a stop token just after `max_tokens` others is reported as cut off by length.
#[derive(Debug)]
pub struct TokenModel<D> {
    decoder: D,
    tokenizer: Tokenizer,
    sampling: Sampling,
    context: Vec<u32>,
    /// The segments that were measured last, and their tokens.
    measured: Option<(Vec<Segment>, Vec<u32>)>,
}

impl<D: Decoder> TokenModel<D> {
    /// A model with an empty context.
    pub fn new(decoder: D, tokenizer: Tokenizer, sampling: Sampling) -> Self {
        Self { decoder, tokenizer, sampling, context: Vec::new(), measured: None }
    }

    /// How tokens are chosen from here on.
    pub fn set_sampling(&mut self, sampling: Sampling) {
        self.sampling = sampling;
    }

    /// How tokens are chosen.
    pub fn sampling(&self) -> Sampling {
        self.sampling
    }

    /// The decoder.
    pub fn decoder(&self) -> &D {
        &self.decoder
    }

    /// The tokenizer.
    pub fn tokenizer(&self) -> &Tokenizer {
        &self.tokenizer
    }

    /// Decoder and tokenizer, the context given up.
    pub fn into_parts(self) -> (D, Tokenizer) {
        (self.decoder, self.tokenizer)
    }

    /// Tokens of the present episode, in order.
    pub fn context(&self) -> &[u32] {
        &self.context
    }

    fn encode(&self, segments: &[Segment]) -> Result<Vec<u32>> {
        let segments: Vec<_> = segments
            .iter()
            .map(|segment| match segment {
                Segment::Markup(text) => glowworm_model::Segment::Markup(text),
                Segment::Text(text) => glowworm_model::Segment::Text(text),
            })
            .collect();
        Ok(self.tokenizer.encode_segments(&segments)?)
    }

    /// How many of the first tokens of an opening do not depend on its last text, the question. The last token before
    /// it may have merged with it, so tokens are compared and not counted.
    fn shared_prefix(&self, opening: &[Segment], tokens: &[u32]) -> Result<usize> {
        let last = opening.iter().rposition(|segment| matches!(segment, Segment::Text(_))).unwrap_or(0);
        let before = self.encode(&opening[..last])?;
        let same = before.iter().zip(tokens).take_while(|(a, b)| a == b).count();
        Ok(same.min(tokens.len().saturating_sub(1)))
    }
}

impl<D: Decoder> LanguageModel for TokenModel<D> {
    type Error = Error;

    fn begin(&mut self) {
        self.context.clear();
        self.measured = None;
    }

    fn measure(&mut self, append: &[Segment]) -> Result<u64> {
        let tokens = self.encode(append)?;
        let count = tokens.len() as u64;
        self.measured = Some((append.to_vec(), tokens));
        Ok(count)
    }

    async fn generate(
        &mut self,
        request: &GenerateRequest,
        on_text: &mut dyn FnMut(&str) -> ControlFlow<()>,
    ) -> Result<Generated> {
        let tokens = match self.measured.take() {
            Some((segments, tokens)) if segments == request.append => tokens,
            _ => self.encode(&request.append)?,
        };
        if self.context.is_empty() {
            let shared = self.shared_prefix(&request.append, &tokens)?;
            self.decoder.share_prefix(&tokens[..shared]);
        }
        let appended = tokens.len() as u64;
        self.context.extend(tokens);

        // Reserved words of the template are part of what the protocol reads (`</think>`): none are skipped.
        let mut stream = StreamDecoder::new(false);
        let mut text = String::new();
        let tokenizer = &self.tokenizer;
        let stops = tokenizer.stop_tokens();
        let mut on_tokens = |tokens: &[u32]| {
            let first = text.len();
            for token in tokens.iter().filter(|token| !stops.contains(token)) {
                text.push_str(&stream.push(tokenizer, *token));
            }
            if text.len() > first { on_text(&text[first..]) } else { on_text("") }
        };
        let options = GenerateOptions {
            max_tokens: usize::try_from(request.max_tokens).unwrap_or(usize::MAX),
            sampling: self.sampling,
            stop_tokens: stops,
            drafts: true,
        };
        let mut decoded = self.decoder.decode(&self.context, &options, &mut on_tokens).await?;
        let rest = stream.finish();
        if !rest.is_empty() {
            text.push_str(&rest);
            // The turn is over: there is nothing left to break off.
            let _ = on_text(&rest);
        }
        let stop = match decoded.stop {
            glowworm_engine::Stop::Token => {
                decoded.tokens.pop();
                Stop::EndOfTurn
            }
            glowworm_engine::Stop::Length => Stop::Length,
            glowworm_engine::Stop::Cancelled => Stop::Cancelled,
        };
        self.context.extend_from_slice(&decoded.tokens);
        let tokens = TokenCounts { appended, generated: decoded.tokens.len() as u64 };
        Ok(Generated { text, tokens, stop, reused: decoded.reused as u64 })
    }
}
