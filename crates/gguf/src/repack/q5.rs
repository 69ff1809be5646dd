//! Q5_0 and Q5_1: the fifth bits in the order in which the shaders take them.
//!
//! In the file, bit `i` of a word belongs to weight `i` of 32. A shader wants the bits of four neighbouring weights in the
//! four bytes of a word, as it has their low bits. So bit `16 h + 4 g + b` (`h` < 2, `g` < 4, `b` < 4) moves to
//! `8 b + 4 h + g`: masking with `0x01010101` after shifting by `4 h + g` gives the weights `16 h + 4 g` to `16 h + 4 g + 3`.

use super::split::{head, head_back};

/// The word as the shaders read it.
fn to_bytes_of_four(file: u32) -> u32 {
    // The product has copies of the four bits at 0, 7, 14 and 21: bit b of copy b stands at 8 b.
    (0..8).map(|group| ((((file >> (4 * group)) & 15) * 0x0020_4081) & 0x0101_0101) << group).sum()
}

/// The inverse of [`to_bytes_of_four`].
fn from_bytes_of_four(packed: u32) -> u32 {
    (0..32).map(|bit| ((packed >> (8 * (bit % 4) + bit / 4)) & 1) << bit).sum()
}

/// Rewrites the word that the last four of `scale` are.
fn reorder(scale: &mut [u8], order: fn(u32) -> u32) {
    if let Some(word) = scale.last_chunk_mut() {
        *word = order(u32::from_le_bytes(*word)).to_le_bytes();
    }
}

/// A block that starts with `SCALE` bytes of which the last four are the fifth bits.
pub(super) fn repack<const RAW: usize, const SCALE: usize>(
    block: &[u8; RAW],
    main: &mut [u8; 16],
    scale: &mut [u8; SCALE],
) {
    head(block, main, scale);
    reorder(scale, to_bytes_of_four);
}

/// The inverse of [`repack`].
pub(super) fn unpack<const RAW: usize, const SCALE: usize>(
    main: &[u8; 16],
    scale: &[u8; SCALE],
    block: &mut [u8; RAW],
) {
    let mut scale = *scale;
    reorder(&mut scale, from_bytes_of_four);
    head_back(main, &scale, block);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_bit_moves_where_the_documentation_says() {
        for bit in 0..32 {
            let (h, g, b) = (bit / 16, bit / 4 % 4, bit % 4);
            let moved = 1 << (8 * b + 4 * h + g);
            assert_eq!(to_bytes_of_four(1 << bit), moved);
            assert_eq!(to_bytes_of_four(!(1 << bit)), !moved);
            assert_eq!(from_bytes_of_four(moved), 1 << bit);
        }
    }
}
