//! The layouts that the shaders read: the same bits as in the file, in 16-byte units.
//!
//! # Why
//! A block of Q8_0 has 34 bytes, one of Q4_0 18, one of Q6_K 210. A shader reads `vec4<u32>`, 16 bytes at a time, and
//! must not spend its time on shifting bytes across words. So each matrix becomes a *main* stream of whole 16-byte units
//! for each block, and the block scales that do not fit move to a second stream in the same order. Nothing is lost:
//! [`unpack`] gives back the bytes of the file. No type is turned into a wider one either: decoding is as fast as the
//! weights are read.
//!
//! | type | weights | main bytes a block | scale bytes |
//! |---|---|---|---|
//! | F32, F16, BF16 | 1 | the value | 0 |
//! | Q8_0 | 32 | 32: the quants | 2: `d` |
//! | Q4_0, IQ4_NL | 32 | 16: the quants, low halves weights 0 to 15, high halves 16 to 31 | 2: `d` |
//! | Q4_1 | 32 | 16: as Q4_0 | 4: `d`, `m` |
//! | Q5_0 | 32 | 16: low bits, as Q4_0 | 6: `d`, fifth bits reordered (see `q5.rs`) |
//! | Q5_1 | 32 | 16: low bits, as Q4_0 | 8: `d`, `m`, fifth bits reordered (see `q5.rs`) |
//! | IQ4_XS | 256 | 128: the quants, 16 bytes for each 32 weights, as Q4_0 | 8: `d`, group scales |
//! | Q2_K | 256 | 80: as in the file (16 group scales and minimums, quants) | 4: `d`, `dmin` |
//! | Q3_K | 256 | 112: as in the file (third bits 32, low bits 64, group scales 12, `d`) and 2 zeros | 0 |
//! | Q4_K | 256 | 144: as in the file (`d`, `dmin`, 12 scale bytes, quants) | 0 |
//! | Q5_K | 256 | 176: as in the file (`d`, `dmin`, 12 scale bytes, fifth bits, quants) | 0 |
//! | Q6_K | 256 | 208: low bits 128 and high bits 64, reordered (see `q6_k.rs`), group scales 16 | 2: `d` |
//!
//! The zeros of Q3_K are two bytes in 112: less than a second stream of 14-byte pieces would cost the shader.

mod q5;
mod q6_k;
mod split;

use crate::blocks::weights_in;
use crate::error::Error;
use crate::types::TensorType;
use split::{each, each_back, head, head_back, tail, tail_back};

/// Sizes of a repacked type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Layout {
    /// Weights in a block.
    pub block_weights: usize,
    /// Bytes of a block in the main stream.
    pub main_bytes_per_block: usize,
    /// Bytes of a block in the scale stream; 0 when the type has none.
    pub scale_bytes_per_block: usize,
}

impl Layout {
    /// The layout of a type.
    ///
    /// # Errors
    /// [`Error::UnsupportedType`].
    pub fn of(kind: TensorType) -> Result<Layout, Error> {
        let (main_bytes_per_block, scale_bytes_per_block) = match kind {
            TensorType::F32 => (4, 0),
            TensorType::F16 | TensorType::BF16 => (2, 0),
            TensorType::Q8_0 => (32, 2),
            TensorType::Q4_0 | TensorType::IQ4_NL => (16, 2),
            TensorType::Q4_1 => (16, 4),
            TensorType::Q5_0 => (16, 6),
            TensorType::Q5_1 => (16, 8),
            TensorType::IQ4_XS => (128, 8),
            TensorType::Q2K => (80, 4),
            TensorType::Q3K => (112, 0),
            TensorType::Q4K => (144, 0),
            TensorType::Q5K => (176, 0),
            TensorType::Q6K => (208, 2),
            other => {
                let what = "data to lay out for the shaders".to_owned();
                return Err(Error::UnsupportedType { what, kind: other.name() });
            }
        };
        let block_weights = kind.block_weights() as usize;
        Ok(Layout { block_weights, main_bytes_per_block, scale_bytes_per_block })
    }

    /// Bytes of main and scale stream for so many weights, which must be whole blocks.
    pub fn bytes(&self, weights: usize) -> (usize, usize) {
        let blocks = weights / self.block_weights;
        (blocks * self.main_bytes_per_block, blocks * self.scale_bytes_per_block)
    }
}

/// Checks that the three buffers hold the same whole number of blocks.
fn check(kind: TensorType, raw: &[u8], main: &[u8], scales: &[u8]) -> Result<(), Error> {
    let (main_bytes, scale_bytes) = Layout::of(kind)?.bytes(weights_in(kind, raw)?);
    for (what, found, expected) in
        [("main stream", main.len(), main_bytes), ("scale stream", scales.len(), scale_bytes)]
    {
        if found != expected {
            return Err(Error::Length { what, kind: kind.name(), found, expected: expected.to_string() });
        }
    }
    Ok(())
}

/// Repacks any whole number of blocks: `raw` as in the file, `main` and `scales` exactly as long as [`Layout::bytes`] says.
///
/// # Errors
/// [`Error::UnsupportedType`], [`Error::Length`].
pub fn repack(kind: TensorType, raw: &[u8], main: &mut [u8], scales: &mut [u8]) -> Result<(), Error> {
    check(kind, raw, main, scales)?;
    match kind {
        TensorType::Q8_0 => each::<34, 32, 2>(raw, main, scales, head),
        TensorType::Q4_0 | TensorType::IQ4_NL => each::<18, 16, 2>(raw, main, scales, head),
        TensorType::Q4_1 => each::<20, 16, 4>(raw, main, scales, head),
        TensorType::Q5_0 => each::<22, 16, 6>(raw, main, scales, q5::repack),
        TensorType::Q5_1 => each::<24, 16, 8>(raw, main, scales, q5::repack),
        TensorType::IQ4_XS => each::<136, 128, 8>(raw, main, scales, head),
        TensorType::Q2K => each::<84, 80, 4>(raw, main, scales, tail),
        TensorType::Q3K => {
            for (block, main) in raw.as_chunks::<110>().0.iter().zip(main.as_chunks_mut::<112>().0) {
                main[..110].copy_from_slice(block);
                main[110..].fill(0);
            }
        }
        TensorType::Q6K => each(raw, main, scales, q6_k::repack),
        _ => main.copy_from_slice(raw),
    }
    Ok(())
}

/// The inverse of [`repack`].
///
/// # Errors
/// [`Error::UnsupportedType`], [`Error::Length`].
pub fn unpack(kind: TensorType, main: &[u8], scales: &[u8], raw: &mut [u8]) -> Result<(), Error> {
    check(kind, raw, main, scales)?;
    match kind {
        TensorType::Q8_0 => each_back::<34, 32, 2>(main, scales, raw, head_back),
        TensorType::Q4_0 | TensorType::IQ4_NL => each_back::<18, 16, 2>(main, scales, raw, head_back),
        TensorType::Q4_1 => each_back::<20, 16, 4>(main, scales, raw, head_back),
        TensorType::Q5_0 => each_back::<22, 16, 6>(main, scales, raw, q5::unpack),
        TensorType::Q5_1 => each_back::<24, 16, 8>(main, scales, raw, q5::unpack),
        TensorType::IQ4_XS => each_back::<136, 128, 8>(main, scales, raw, head_back),
        TensorType::Q2K => each_back::<84, 80, 4>(main, scales, raw, tail_back),
        TensorType::Q3K => {
            for (block, main) in raw.as_chunks_mut::<110>().0.iter_mut().zip(main.as_chunks::<112>().0) {
                block.copy_from_slice(&main[..110]);
            }
        }
        TensorType::Q6K => each_back(main, scales, raw, q6_k::unpack),
        _ => raw.copy_from_slice(main),
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn supported() -> impl Strategy<Value = TensorType> {
        prop::sample::select(TensorType::all().filter(|kind| kind.is_supported()).collect::<Vec<_>>())
    }

    proptest! {
        #[test]
        fn unpack_gives_back_random_blocks(kind in supported(), bytes in prop::collection::vec(any::<u8>(), 0..2100)) {
            let block = kind.block_bytes() as usize;
            let raw = &bytes[..bytes.len() / block * block];
            let (main, scale) = Layout::of(kind).unwrap().bytes(weights_in(kind, raw).unwrap());
            let (mut main, mut scales) = (vec![0; main], vec![0; scale]);
            prop_assert!(kind.block_weights() == 1 || main.len() % 16 == 0);
            repack(kind, raw, &mut main, &mut scales).unwrap();
            let mut back = vec![0xaa; raw.len()];
            unpack(kind, &main, &scales, &mut back).unwrap();
            prop_assert_eq!(raw, &back);
        }
    }

    #[test]
    fn wrong_lengths_and_types_are_errors() {
        assert!(repack(TensorType::Q8_0, &[0; 34], &mut [0; 32], &mut []).is_err());
        assert!(repack(TensorType::Q8_0, &[0; 34], &mut [0; 16], &mut [0; 2]).is_err());
        assert!(repack(TensorType::Q8_0, &[0; 35], &mut [0; 32], &mut [0; 2]).is_err());
        assert!(Layout::of(TensorType::IQ2_S).unwrap_err().to_string().contains("IQ2_S"));
    }
}
