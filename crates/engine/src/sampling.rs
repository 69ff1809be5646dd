//! How the next token is chosen.

use bytemuck::{Pod, Zeroable};

use crate::error::{Error, Result};

/// The sampler's settings. Order of operations: temperature, top-k, top-p, draw.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sampling {
    /// Divides the logits. 0 takes the most likely token.
    pub temperature: f32,
    /// Keep so many of the most likely tokens; 0 keeps all. Tokens tied with the last one kept are kept too.
    pub top_k: u32,
    /// Of these keep the most likely ones that hold this share of the probability; 1 keeps all.
    pub top_p: f32,
    /// The same seed, prompt and settings give the same tokens on one adapter.
    pub seed: u64,
}

impl Sampling {
    /// Always the most likely token.
    pub const GREEDY: Sampling = Sampling { temperature: 0.0, top_k: 0, top_p: 1.0, seed: 0 };
}

impl Default for Sampling {
    /// The settings that the agents were trained with: temperature 0.6, top-p 0.95, top-k 20.
    fn default() -> Self {
        Self { temperature: 0.6, top_k: 20, top_p: 0.95, seed: 1 }
    }
}

/// Stop tokens that the sampler can look for.
const MOST_STOPS: usize = 8;

/// The uniform of `sample.wgsl`.
#[derive(Debug, Clone, Copy, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct SamplingUniform {
    vocab: u32,
    top_k: u32,
    temperature: f32,
    top_p: f32,
    seed: u32,
    stop_count: u32,
    reserved: u32,
    stride: u32,
    stops: [u32; MOST_STOPS],
}

impl SamplingUniform {
    /// The settings for one generation that starts at `position`: the position enters the seed, so that every turn
    /// of a conversation draws its own numbers. Ids from `vocab` on are never sampled; a row of logits has `stride`.
    pub(crate) fn new(
        sampling: &Sampling,
        vocab: usize,
        stride: usize,
        stop_tokens: &[u32],
        position: usize,
    ) -> Result<Self> {
        if !(sampling.temperature >= 0.0 && sampling.temperature.is_finite()) {
            return Err(Error::Usage("the temperature must be 0 or more"));
        }
        if !(sampling.top_p > 0.0 && sampling.top_p <= 1.0) {
            return Err(Error::Usage("top-p must be above 0 and at most 1"));
        }
        let mut stops = [0; MOST_STOPS];
        let Some(used) = stops.get_mut(..stop_tokens.len()) else {
            return Err(Error::Usage("at most eight stop tokens"));
        };
        used.copy_from_slice(stop_tokens);
        Ok(Self {
            vocab: vocab as u32,
            top_k: sampling.top_k,
            temperature: sampling.temperature,
            top_p: sampling.top_p,
            seed: fold(sampling.seed, position as u64),
            stop_count: stop_tokens.len() as u32,
            reserved: 0,
            stride: stride as u32,
            stops,
        })
    }
}

/// Mixes two words into 32 bits (the finaliser of SplitMix64).
fn fold(seed: u64, position: u64) -> u32 {
    let mut word = seed.wrapping_add(position.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    (word ^ (word >> 31)) as u32
}
