//! Random weights in the blocks of any type, made as bytes and never quantised from floats.

use glowworm_gguf::TensorType;
use glowworm_gguf::blocks::Half;

/// Splitmix64: eight random bytes from a counter.
#[derive(Debug)]
pub struct Random(u64);

impl Random {
    /// A stream of its own for each name, so that it does not matter in what order tensors are written.
    pub fn new(seed: u64, name: &str) -> Self {
        // FNV-1a of the name.
        let hash = name.bytes().fold(0xcbf2_9ce4_8422_2325u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3)
        });
        Random(seed ^ hash)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// Uniform from 0 to 1.
    pub fn unit(&mut self) -> f32 {
        (self.next() >> 40) as f32 / (1u64 << 24) as f32
    }

    fn fill(&mut self, bytes: &mut [u8]) {
        for chunk in bytes.chunks_mut(8) {
            chunk.copy_from_slice(&self.next().to_le_bytes()[..chunk.len()]);
        }
    }
}

/// Root mean square of the codebook of IQ4_NL.
const CODEBOOK_DEVIATION: f32 = 67.4;

/// Random blocks whose weights have mean 0 and about the deviation asked for. Types without blocks are left as random
/// bytes.
pub fn fill_blocks(kind: TensorType, random: &mut Random, deviation: f32, raw: &mut [u8]) {
    random.fill(raw);
    // Uniform quants over n steps deviate by n / √12 of a step.
    let deviation_of = |steps: f32| steps / 12f32.sqrt();
    let half = |value: f32| Half::from_f32(value).to_bytes();
    // Group scales of the K formats are between half of their range and all of it: 48 of 63 on average.
    let middle = 48.0;
    for block in raw.chunks_exact_mut(kind.block_bytes() as usize) {
        match kind {
            TensorType::Q8_0 => {
                block[..2].copy_from_slice(&half(deviation / deviation_of(255.0)));
                // −128 does not occur in files.
                block[2..].iter_mut().filter(|quant| **quant == 0x80).for_each(|quant| *quant = 0);
            }
            TensorType::Q4_0 | TensorType::Q5_0 | TensorType::IQ4_NL => {
                // Quants reach further below zero than above: a scale of either sign brings the mean to 0.
                let d = match kind {
                    TensorType::Q4_0 => deviation / deviation_of(16.0),
                    TensorType::Q5_0 => deviation / deviation_of(32.0),
                    _ => deviation / CODEBOOK_DEVIATION,
                };
                let sign = if block[0] & 1 == 0 { 1.0 } else { -1.0 };
                block[..2].copy_from_slice(&half(sign * d));
            }
            TensorType::Q4_1 | TensorType::Q5_1 => {
                let steps = if kind == TensorType::Q4_1 { 16.0 } else { 32.0 };
                let d = deviation / deviation_of(steps);
                block[..2].copy_from_slice(&half(d));
                block[2..4].copy_from_slice(&half(d * (1.0 - steps) / 2.0));
            }
            TensorType::IQ4_XS => {
                // Group scales are from −32 to 31.
                block[..2].copy_from_slice(&half(deviation / CODEBOOK_DEVIATION / deviation_of(64.0)));
            }
            TensorType::Q2K => {
                for scale in &mut block[..16] {
                    // From 8 to 15, with the minimum of a group equal to its scale, as for Q4_K.
                    *scale = (8 | *scale & 7) * 0x11;
                }
                let d = deviation / deviation_of(4.0) / 11.7;
                block[80..82].copy_from_slice(&half(d));
                block[82..].copy_from_slice(&half(d * 1.5));
            }
            TensorType::Q3K => {
                // Group scales are from −32 to 31.
                block[108..].copy_from_slice(&half(deviation / deviation_of(8.0) / deviation_of(64.0)));
            }
            TensorType::Q4K | TensorType::Q5K => {
                let steps = if kind == TensorType::Q4K { 16.0 } else { 32.0 };
                let d = deviation / deviation_of(steps) / middle;
                block[..2].copy_from_slice(&half(d));
                // With the minimum of a group equal to its scale, quants are centred by half their range.
                block[2..4].copy_from_slice(&half(d * (steps - 1.0) / 2.0));
                for group in 0..4 {
                    let (first, second) = (32 | block[4 + group] & 31, 32 | block[8 + group] & 31);
                    block[4 + group] = first | second >> 4 << 6;
                    block[8 + group] = first | second >> 4 << 6;
                    block[12 + group] = second & 15 | second << 4;
                }
            }
            TensorType::Q6K => {
                for scale in &mut block[192..208] {
                    // From ±64 to ±127.
                    let magnitude = 64 | *scale & 63;
                    *scale = if *scale & 64 == 0 { magnitude } else { magnitude.wrapping_neg() };
                }
                block[208..].copy_from_slice(&half(deviation / deviation_of(64.0) / 96.0));
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use glowworm_gguf::blocks;

    use super::*;

    #[test]
    fn blocks_have_the_deviation_asked_for() {
        for kind in TensorType::all().filter(|kind| kind.is_supported() && kind.block_weights() > 1) {
            let mut raw = vec![0; 200 * kind.block_bytes() as usize];
            fill_blocks(kind, &mut Random::new(1, "x"), 0.02, &mut raw);
            let mut weights = vec![0.0; 200 * kind.block_weights() as usize];
            blocks::dequantize(kind, &raw, &mut weights).unwrap();
            let count = weights.len() as f32;
            let mean = weights.iter().sum::<f32>() / count;
            let deviation = (weights.iter().map(|w| w * w).sum::<f32>() / count).sqrt();
            assert!(mean.abs() < 1.2e-3, "{kind}: mean {mean}");
            assert!((deviation / 0.02 - 1.0).abs() < 0.1, "{kind}: deviation {deviation}");
        }
    }
}
