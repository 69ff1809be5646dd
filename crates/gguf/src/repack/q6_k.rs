//! Q6_K: low and high bits in the order in which the shaders take them.
//!
//! The low bits are put in the order of Q4_K, so that both share their shader code: byte `32 j + l` (`j` < 4, `l` < 32) has
//! weight `64 j + l` in its low half and weight `64 j + 32 + l` in its high half.
//!
//! The high bits are 16 little-endian words. A thread works on an *item* of 32 weights, `item = 2 j + h` with `h` < 2: the
//! weights `64 j + 16 h + i` (half 0) and `64 j + 32 + 16 h + i` (half 1), `i` < 16. Word `2 item + half` has the two high
//! bits of weight `i = 4 g + b` at bit `8 b + 2 g`: masking with `0x03030303` after shifting by `2 g` gives four weights in
//! the four bytes, aligned with the four low halves of a word of low bits.
//!
//! The group scales stay as they are: index = weight / 16.

/// Two bits out of each byte of a word.
const PAIRS: u32 = 0x0303_0303;

fn word(bytes: &[u8], index: usize) -> u32 {
    let at = 4 * index;
    u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

/// In the file, chunk `j = 2 n + c` of 64 weights has its low bits in the half `c` of 64 bytes, and its high bits at bit
/// `4 c` (half 0) and `4 c + 2` (half 1) of 32 bytes.
pub(super) fn repack(block: &[u8; 210], main: &mut [u8; 208], scale: &mut [u8; 2]) {
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
    scale.copy_from_slice(&scales[16..]);
}

pub(super) fn unpack(main: &[u8; 208], scale: &[u8; 2], block: &mut [u8; 210]) {
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
    block[208..].copy_from_slice(scale);
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::blocks::dequantize;
    use crate::types::TensorType;

    proptest! {
        /// Reads the repacked Q6_K as its documentation says and compares with the dequantiser.
        #[test]
        fn q6_k_is_laid_out_as_documented(bytes in prop::collection::vec(any::<u8>(), 210)) {
            let mut block = bytes;
            block[208..].copy_from_slice(&[0x00, 0x3c]); // d = 1
            let (mut main, mut scales) = ([0; 208], [0; 2]);
            repack(block.as_slice().try_into().unwrap(), &mut main, &mut scales);
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
}
