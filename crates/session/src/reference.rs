//! The reference forward pass as a decoder: exact and slow, for machines without a GPU.

use std::ops::ControlFlow;

use glowworm_engine::{GenerateOptions, Sampling, Stop};
use glowworm_model::reference::{CpuModel, Snapshot};

use crate::decoder::{Decoded, Decoder, Start, start};
use crate::{Error, Result};

/// A [`CpuModel`] that recomputes only what is new, as [`crate::EngineDecoder`] does.
#[derive(Debug)]
pub struct ReferenceDecoder {
    model: CpuModel,
    /// Ids from here on have no token and are never chosen.
    vocabulary: usize,
    held: Vec<u32>,
    prefix: Vec<u32>,
    kept: Option<(Vec<u32>, Snapshot)>,
}

impl ReferenceDecoder {
    /// A decoder on a model. `vocabulary` is the number of ids that have a token.
    pub fn new(mut model: CpuModel, vocabulary: usize) -> Self {
        model.clear();
        Self { model, vocabulary, held: Vec::new(), prefix: Vec::new(), kept: None }
    }

    /// The model.
    pub fn model(&mut self) -> &mut CpuModel {
        &mut self.model
    }

    fn append(&mut self, tokens: &[u32]) -> Result<Vec<f32>> {
        let logits = self.model.append(tokens)?;
        self.held.extend_from_slice(tokens);
        Ok(logits)
    }

    /// Lets the model read `context`. Gives back how much was there already, and the logits after it.
    fn read(&mut self, context: &[u32]) -> Result<(usize, Vec<f32>)> {
        match (start(&self.held, self.kept.as_ref().map(|(tokens, _)| &**tokens), context), &self.kept) {
            (Start::Continue, _) => {}
            (Start::Restore, Some((tokens, snapshot))) => {
                self.model.restore(snapshot);
                self.held.clone_from(tokens);
            }
            _ => {
                self.model.clear();
                self.held.clear();
            }
        }
        let reused = self.held.len();
        let prefix = self.prefix.len();
        if reused < prefix && prefix < context.len() && context.starts_with(&self.prefix) {
            self.append(&context[reused..prefix])?;
            self.kept = Some((self.held.clone(), self.model.snapshot()));
        }
        let logits = self.append(&context[self.held.len()..])?;
        Ok((reused, logits))
    }
}

impl Decoder for ReferenceDecoder {
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
        let mut draw = Draw::new(&options.sampling, context.len());
        let (reused, mut logits) = self.read(context)?;
        let mut tokens = Vec::new();
        let mut stop = Stop::Length;
        while tokens.len() < options.max_tokens {
            logits.truncate(self.vocabulary);
            let token = draw.choose(&logits);
            tokens.push(token);
            let flow = on_tokens(&[token]);
            if options.stop_tokens.contains(&token) {
                stop = Stop::Token;
                break;
            }
            if flow.is_break() {
                stop = Stop::Cancelled;
                break;
            }
            if tokens.len() < options.max_tokens {
                logits = self.append(&[token])?;
            }
        }
        Ok(Decoded { tokens, stop, reused })
    }
}

/// Chooses tokens: temperature, top-k, top-p, in this order, as the engine's sampler does; with other random numbers.
#[derive(Debug, Clone)]
pub struct Draw {
    sampling: Sampling,
    state: u64,
}

impl Draw {
    /// Draws for a turn that begins at `position`, which enters the seed, so that every turn draws its own numbers.
    pub fn new(sampling: &Sampling, position: usize) -> Self {
        let state = sampling.seed ^ (position as u64 + 1).wrapping_mul(0xd134_2543_de82_ef95);
        Self { sampling: *sampling, state }
    }

    /// SplitMix64, its upper 53 bits as a number of 0..1.
    fn random(&mut self) -> f64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut word = self.state;
        word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((word ^ (word >> 31)) >> 11) as f64 / (1u64 << 53) as f64
    }

    /// The next token, out of the logits of all that there are.
    pub fn choose(&mut self, logits: &[f32]) -> u32 {
        let mut order: Vec<u32> = (0..logits.len() as u32).collect();
        let by_logit = |a: &u32, b: &u32| logits[*b as usize].total_cmp(&logits[*a as usize]).then(a.cmp(b));
        let Some(best) = order.iter().copied().min_by(by_logit) else { return 0 };
        if self.sampling.temperature <= 0.0 {
            return best;
        }
        // Where no token is left out, their order says nothing.
        if self.sampling.top_k > 0 || self.sampling.top_p < 1.0 {
            order.sort_unstable_by(by_logit);
        }
        if self.sampling.top_k > 0 {
            // Tokens tied with the last one kept are kept too.
            if let Some(&last) = order.get(self.sampling.top_k as usize - 1) {
                order.retain(|&token| logits[token as usize] >= logits[last as usize]);
            }
        }
        let weight = |token: u32| {
            f64::from((logits[token as usize] - logits[best as usize]) / self.sampling.temperature).exp()
        };
        let total: f64 = order.iter().map(|&token| weight(token)).sum();
        let mut kept = 0.0;
        let nucleus = order.iter().take_while(|&&token| {
            let before = kept;
            kept += weight(token);
            before < f64::from(self.sampling.top_p) * total
        });
        let nucleus: Vec<(u32, f64)> = nucleus.map(|&token| (token, weight(token))).collect();
        let mut left = self.random() * nucleus.iter().map(|(_, weight)| weight).sum::<f64>();
        for (token, weight) in &nucleus {
            left -= weight;
            if left < 0.0 {
                return *token;
            }
        }
        nucleus.last().map_or(best, |(token, _)| *token)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn draws_keep_to_the_settings() {
        let logits = [0.0, 2.0, 2.0, 1.0, -1.0];
        let mut greedy = Draw::new(&Sampling::GREEDY, 3);
        assert_eq!(greedy.choose(&logits), 1);
        let mut counts = [0u32; 5];
        let sampling = Sampling { temperature: 1.0, top_k: 3, top_p: 1.0, seed: 5 };
        let mut draw = Draw::new(&sampling, 3);
        for _ in 0..3000 {
            counts[draw.choose(&logits) as usize] += 1;
        }
        assert_eq!((counts[0], counts[4]), (0, 0));
        // e² : e² : e¹ of 3,000.
        for (token, share) in [(1, 0.4223), (2, 0.4223), (3, 0.1554)] {
            let expected = share * 3000.0;
            assert!((f64::from(counts[token]) - expected).abs() < 150.0, "{counts:?}");
        }
        let narrow = Sampling { temperature: 1.0, top_k: 0, top_p: 0.3, seed: 5 };
        let mut draw = Draw::new(&narrow, 3);
        assert!((0..50).all(|_| draw.choose(&logits) == 1));
    }
}
