//! The layouts that the shaders read: the same bits as in the file, in 16-byte units.
//!
//! # Why
//! A block of Q8_0 has 34 bytes, one of Q4_0 18, one of Q6_K 210. A shader reads `vec4<u32>`, 16 bytes at a time, and
//! must not spend its time on shifting bytes across words. So each matrix becomes a *main* stream of whole 16-byte units
//! for each block, and the block scales that do not fit move to a second stream of half floats, one a block, in the same
//! order. Nothing is lost: [`unpack`] gives back the bytes of the file.
//!
//! | type | weights | main bytes a block | scale bytes |
//! |---|---|---|---|
//! | F32, F16, BF16 | 1 | the value | 0 |
//! | Q8_0 | 32 | 32: the quants | 2: `d` |
//! | Q4_0 | 32 | 16: the quants, low halves weights 0 to 15, high halves 16 to 31 | 2: `d` |
//! | Q4_K | 256 | 144: as in the file (`d`, `dmin`, 12 scale bytes, quants) | 0 |
//! | Q5_K | 256 | 176: as in the file (`d`, `dmin`, 12 scale bytes, fifth bits, quants) | 0 |
//! | Q6_K | 256 | 208: low bits 128, high bits 64, group scales 16; see below | 2: `d` |
//!
//! # Q6_K
//! The low bits are put in the order of Q4_K, so that both share their shader code: byte `32 j + l` (`j` < 4, `l` < 32) has
//! weight `64 j + l` in its low half and weight `64 j + 32 + l` in its high half.
//!
//! The high bits are 16 little-endian words. A thread works on an *item* of 32 weights, `item = 2 j + h` with `h` < 2: the
//! weights `64 j + 16 h + i` (half 0) and `64 j + 32 + 16 h + i` (half 1), `i` < 16. Word `2 item + half` has the two high
//! bits of weight `i = 4 g + b` at bit `8 b + 2 g`: masking with `0x03030303` after shifting by `2 g` gives four weights in
//! the four bytes, aligned with the four low halves of a word of low bits.
//!
//! The group scales stay as they are: index = weight / 16.

use crate::blocks::weights_in;
use crate::error::Error;
use crate::types::TensorType;

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
            TensorType::Q4_0 => (16, 2),
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
        TensorType::Q8_0 => split_scale::<34, 32>(raw, main, scales),
        TensorType::Q4_0 => split_scale::<18, 16>(raw, main, scales),
        TensorType::Q6K => {
            let blocks = raw.as_chunks::<210>().0.iter();
            let streams = main.as_chunks_mut::<208>().0.iter_mut().zip(scales.as_chunks_mut::<2>().0);
            for (block, (main, scale)) in blocks.zip(streams) {
                repack_q6_k(block, main);
                scale.copy_from_slice(&block[208..]);
            }
        }
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
        TensorType::Q8_0 => join_scale::<34, 32>(main, scales, raw),
        TensorType::Q4_0 => join_scale::<18, 16>(main, scales, raw),
        TensorType::Q6K => {
            let streams = main.as_chunks::<208>().0.iter().zip(scales.as_chunks::<2>().0);
            for (block, (main, scale)) in raw.as_chunks_mut::<210>().0.iter_mut().zip(streams) {
                unpack_q6_k(main, block);
                block[208..].copy_from_slice(scale);
            }
        }
        _ => raw.copy_from_slice(main),
    }
    Ok(())
}

/// Blocks that start with a half-precision scale: the scale to one stream, the rest to the other.
fn split_scale<const RAW: usize, const MAIN: usize>(raw: &[u8], main: &mut [u8], scales: &mut [u8]) {
    let streams = main.as_chunks_mut::<MAIN>().0.iter_mut().zip(scales.as_chunks_mut::<2>().0);
    for (block, (main, scale)) in raw.as_chunks::<RAW>().0.iter().zip(streams) {
        scale.copy_from_slice(&block[..2]);
        main.copy_from_slice(&block[2..]);
    }
}

fn join_scale<const RAW: usize, const MAIN: usize>(main: &[u8], scales: &[u8], raw: &mut [u8]) {
    let streams = main.as_chunks::<MAIN>().0.iter().zip(scales.as_chunks::<2>().0);
    for (block, (main, scale)) in raw.as_chunks_mut::<RAW>().0.iter_mut().zip(streams) {
        block[..2].copy_from_slice(scale);
        block[2..].copy_from_slice(main);
    }
}

/// Two bits out of each byte of a word.
const PAIRS: u32 = 0x0303_0303;

fn word(bytes: &[u8], index: usize) -> u32 {
    let at = 4 * index;
    u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

/// In the file, chunk `j = 2 n + c` of 64 weights has its low bits in the half `c` of 64 bytes, and its high bits at bit
/// `4 c` (half 0) and `4 c + 2` (half 1) of 32 bytes.
fn repack_q6_k(block: &[u8; 210], main: &mut [u8; 208]) {
    let (low, rest) = block.split_at(128);
    let (high, scales) = rest.split_at(64);
    for j in 0..4 {
        let (n, c) = (j / 2, j % 2);
        let from = &low[64 * n..64 * n + 64];
        let to = &mut main[32 * j..32 * j + 32];
        for l in 0..32 {
            to[l] = from[l] >> (4 * c) & 15 | (from[32 + l] >> (4 * c) & 15) << 4;
        }
        for h in 0..2 {
            for half in 0..2 {
                let mut packed = 0;
                for g in 0..4 {
                    packed |= (word(high, 8 * n + 4 * h + g) >> (4 * c + 2 * half) & PAIRS) << (2 * g);
                }
                let at = 128 + 4 * (2 * (2 * j + h) + half);
                main[at..at + 4].copy_from_slice(&packed.to_le_bytes());
            }
        }
    }
    main[192..].copy_from_slice(&scales[..16]);
}

fn unpack_q6_k(main: &[u8; 208], block: &mut [u8; 210]) {
    let (low, rest) = main.split_at(128);
    let (high, scales) = rest.split_at(64);
    for n in 0..2 {
        let (first, second) = (&low[64 * n..64 * n + 32], &low[64 * n + 32..64 * n + 64]);
        for l in 0..32 {
            block[64 * n + l] = first[l] & 15 | (second[l] & 15) << 4;
            block[64 * n + 32 + l] = first[l] >> 4 | second[l] >> 4 << 4;
        }
        for h in 0..2 {
            for g in 0..4 {
                let mut packed = 0;
                for c in 0..2 {
                    for half in 0..2 {
                        let from = word(high, 2 * (2 * (2 * n + c) + h) + half);
                        packed |= (from >> (2 * g) & PAIRS) << (4 * c + 2 * half);
                    }
                }
                let at = 128 + 4 * (8 * n + 4 * h + g);
                block[at..at + 4].copy_from_slice(&packed.to_le_bytes());
            }
        }
    }
    block[192..208].copy_from_slice(scales);
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::blocks::dequantize;

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
            repack(kind, raw, &mut main, &mut scales).unwrap();
            let mut back = vec![0xaa; raw.len()];
            unpack(kind, &main, &scales, &mut back).unwrap();
            prop_assert_eq!(raw, &back);
        }

        /// Reads the repacked Q6_K as its documentation says and compares with the dequantiser.
        #[test]
        fn q6_k_is_laid_out_as_documented(bytes in prop::collection::vec(any::<u8>(), 210)) {
            let mut block = bytes;
            block[208..].copy_from_slice(&[0x00, 0x3c]); // d = 1
            let (mut main, mut scales) = ([0; 208], [0; 2]);
            repack(TensorType::Q6K, &block, &mut main, &mut scales).unwrap();
            let mut expected = [0.0; 256];
            dequantize(TensorType::Q6K, &block, &mut expected).unwrap();
            for j in 0..4 {
                for half in 0..2 {
                    for l in 0..32 {
                        let weight = 64 * j + 32 * half + l;
                        let low = main[32 * j + l] >> (4 * half) & 15;
                        let (h, i) = (l / 16, l % 16);
                        let (g, b) = (i / 4, i % 4);
                        let high = word(&main[128..192], 2 * (2 * j + h) + half) >> (8 * b + 2 * g) & 3;
                        let q = i32::from(low) + 16 * high as i32 - 32;
                        let scale = i32::from(main[192 + weight / 16] as i8);
                        prop_assert_eq!((scale * q) as f32, expected[weight]);
                    }
                }
            }
        }
    }

    #[test]
    fn wrong_lengths_and_types_are_errors() {
        assert!(repack(TensorType::Q8_0, &[0; 34], &mut [0; 32], &mut []).is_err());
        assert!(repack(TensorType::Q8_0, &[0; 34], &mut [0; 16], &mut [0; 2]).is_err());
        assert!(repack(TensorType::Q8_0, &[0; 35], &mut [0; 32], &mut [0; 2]).is_err());
        assert!(Layout::of(TensorType::Q2K).unwrap_err().to_string().contains("Q2_K"));
    }
}
