//! How each tensor type stores its weights.
//!
//! One file a format: the block as it lies in a GGUF file, its dequantiser, and a quantiser where the converter or the
//! tests need one. The dequantisers are scalar and meant to be read: they are what the shaders are checked against.
//! All blocks are made of bytes only, so that any slice of a file can be seen as blocks whatever its alignment.

mod float;
mod iq4_nl;
mod iq4_xs;
mod k;
mod q2_k;
mod q3_k;
mod q4_0;
mod q4_1;
mod q4_k;
mod q5_0;
mod q5_1;
mod q5_k;
mod q6_k;
mod q8_0;

pub use iq4_nl::{BlockIQ4NL, CODEBOOK};
pub use iq4_xs::BlockIQ4XS;
pub use q2_k::BlockQ2K;
pub use q3_k::BlockQ3K;
pub use q4_0::BlockQ4_0;
pub use q4_1::BlockQ4_1;
pub use q4_k::BlockQ4K;
pub use q5_0::BlockQ5_0;
pub use q5_1::BlockQ5_1;
pub use q5_k::BlockQ5K;
pub use q6_k::BlockQ6K;
pub use q8_0::BlockQ8_0;

use crate::error::Error;
use crate::types::TensorType;

/// A float of half precision as it lies in a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(transparent)]
pub struct Half([u8; 2]);

impl Half {
    /// Rounded to nearest, ties to even.
    pub fn from_f32(value: f32) -> Self {
        Half(half::f16::from_f32(value).to_le_bytes())
    }

    /// As it lies in a file.
    pub fn to_bytes(self) -> [u8; 2] {
        self.0
    }

    /// Exact.
    pub fn to_f32(self) -> f32 {
        half::f16::from_le_bytes(self.0).to_f32()
    }
}

/// A block format: `N` weights each.
trait Block<const N: usize>: bytemuck::Pod {
    fn dequantize(&self, out: &mut [f32; N]);
}

/// A block format that can be made from weights.
trait Quantize<const N: usize>: Block<N> {
    fn quantize(weights: &[f32; N]) -> Self;
}

fn dequantize_blocks<const N: usize, B: Block<N>>(raw: &[u8], out: &mut [f32]) {
    let blocks: &[B] = bytemuck::cast_slice(raw);
    for (block, out) in blocks.iter().zip(out.as_chunks_mut::<N>().0) {
        block.dequantize(out);
    }
}

fn quantize_blocks<const N: usize, B: Quantize<N>>(weights: &[f32], raw: &mut Vec<u8>) {
    for weights in weights.as_chunks::<N>().0 {
        raw.extend_from_slice(bytemuck::bytes_of(&B::quantize(weights)));
    }
}

/// Number of weights that `raw` holds, which must be whole blocks of `kind`.
///
/// # Errors
/// [`Error::Length`].
pub fn weights_in(kind: TensorType, raw: &[u8]) -> Result<usize, Error> {
    let bytes = kind.block_bytes() as usize;
    if !raw.len().is_multiple_of(bytes) {
        return Err(Error::Length {
            what: "raw bytes",
            kind: kind.name(),
            found: raw.len(),
            expected: format!("a multiple of {bytes}"),
        });
    }
    Ok(raw.len() / bytes * kind.block_weights() as usize)
}

/// Dequantises whole blocks: `raw` as in the file, `out` with exactly one place for each weight.
///
/// # Errors
/// [`Error::UnsupportedType`], [`Error::Length`].
pub fn dequantize(kind: TensorType, raw: &[u8], out: &mut [f32]) -> Result<(), Error> {
    if !kind.is_supported() {
        return Err(Error::UnsupportedType { what: "data to dequantise".to_owned(), kind: kind.name() });
    }
    let weights = weights_in(kind, raw)?;
    if out.len() != weights {
        return Err(Error::Length {
            what: "room for dequantised weights",
            kind: kind.name(),
            found: out.len(),
            expected: weights.to_string(),
        });
    }
    match kind {
        TensorType::F32 => float::from_f32(raw, out),
        TensorType::F16 => float::from_f16(raw, out),
        TensorType::BF16 => float::from_bf16(raw, out),
        TensorType::Q8_0 => dequantize_blocks::<32, BlockQ8_0>(raw, out),
        TensorType::Q4_0 => dequantize_blocks::<32, BlockQ4_0>(raw, out),
        TensorType::Q4_1 => dequantize_blocks::<32, BlockQ4_1>(raw, out),
        TensorType::Q5_0 => dequantize_blocks::<32, BlockQ5_0>(raw, out),
        TensorType::Q5_1 => dequantize_blocks::<32, BlockQ5_1>(raw, out),
        TensorType::IQ4_NL => dequantize_blocks::<32, BlockIQ4NL>(raw, out),
        TensorType::IQ4_XS => dequantize_blocks::<256, BlockIQ4XS>(raw, out),
        TensorType::Q2K => dequantize_blocks::<256, BlockQ2K>(raw, out),
        TensorType::Q3K => dequantize_blocks::<256, BlockQ3K>(raw, out),
        TensorType::Q4K => dequantize_blocks::<256, BlockQ4K>(raw, out),
        TensorType::Q5K => dequantize_blocks::<256, BlockQ5K>(raw, out),
        TensorType::Q6K => dequantize_blocks::<256, BlockQ6K>(raw, out),
        other => return Err(Error::UnsupportedType { what: "data".to_owned(), kind: other.name() }),
    }
    Ok(())
}

/// Quantises whole blocks of weights and appends them to `raw`.
///
/// F16, BF16, Q8_0 and Q4_0 round as llama.cpp's reference quantisers do, bit for bit. Q4_K and Q6_K are good enough to
/// make test models, but search less than llama.cpp; there are no others.
///
/// # Errors
/// [`Error::UnsupportedType`] for a type without quantiser, [`Error::Length`] for a part of a block.
pub fn quantize(kind: TensorType, weights: &[f32], raw: &mut Vec<u8>) -> Result<(), Error> {
    if !weights.len().is_multiple_of(kind.block_weights() as usize) {
        return Err(Error::Length {
            what: "weights to quantise",
            kind: kind.name(),
            found: weights.len(),
            expected: format!("a multiple of {}", kind.block_weights()),
        });
    }
    raw.reserve(weights.len() / kind.block_weights() as usize * kind.block_bytes() as usize);
    match kind {
        TensorType::F32 => weights.iter().for_each(|weight| raw.extend_from_slice(&weight.to_le_bytes())),
        TensorType::F16 => float::to_f16(weights, raw),
        TensorType::BF16 => float::to_bf16(weights, raw),
        TensorType::Q8_0 => quantize_blocks::<32, BlockQ8_0>(weights, raw),
        TensorType::Q4_0 => quantize_blocks::<32, BlockQ4_0>(weights, raw),
        TensorType::Q4K => quantize_blocks::<256, BlockQ4K>(weights, raw),
        TensorType::Q6K => quantize_blocks::<256, BlockQ6K>(weights, raw),
        other => {
            return Err(Error::UnsupportedType { what: "data to quantise".to_owned(), kind: other.name() });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Weights with a few blocks of very different size, like a real matrix.
    fn weights(count: usize) -> Vec<f32> {
        let mut state = 1u32;
        (0..count)
            .map(|index| {
                state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                let unit = (state >> 8) as f32 / (1 << 24) as f32 - 0.5;
                unit * [0.02, 1.0, 0.0, 30.0][index / 256 % 4]
            })
            .collect()
    }

    #[test]
    fn quantised_weights_come_back_within_their_step() {
        let original = weights(2048);
        // Root mean square error over root mean square of the weights: a uniform distribution over 2^b steps has 2^-b.
        let limits = [
            (TensorType::F32, 0.0),
            (TensorType::F16, 5e-4),
            (TensorType::BF16, 4e-3),
            (TensorType::Q8_0, 8e-3),
            (TensorType::Q4_0, 0.08),
            (TensorType::Q4K, 0.075),
            (TensorType::Q6K, 0.02),
        ];
        for (kind, limit) in limits {
            let mut raw = Vec::new();
            quantize(kind, &original, &mut raw).unwrap();
            let mut back = vec![0.0; original.len()];
            dequantize(kind, &raw, &mut back).unwrap();
            for (original, back) in original.chunks(256).zip(back.chunks(256)) {
                let error: f32 = original.iter().zip(back).map(|(a, b)| (a - b) * (a - b)).sum();
                let power: f32 = original.iter().map(|a| a * a).sum();
                assert!(error.sqrt() <= limit * power.sqrt(), "{kind}: {} of {}", error.sqrt(), power.sqrt());
            }
        }
    }

    #[test]
    fn wrong_lengths_and_types_are_errors() {
        let mut out = [0.0; 32];
        assert!(dequantize(TensorType::Q8_0, &[0; 33], &mut out).is_err());
        assert!(dequantize(TensorType::Q8_0, &[0; 68], &mut out).is_err());
        let message = dequantize(TensorType::IQ3_S, &[0; 110], &mut out).unwrap_err().to_string();
        assert!(message.contains("IQ3_S") && message.contains("IQ4_XS"), "{message}");
        assert!(quantize(TensorType::Q4_0, &[0.0; 31], &mut Vec::new()).is_err());
        assert!(quantize(TensorType::Q5K, &[0.0; 256], &mut Vec::new()).is_err());
    }
}
