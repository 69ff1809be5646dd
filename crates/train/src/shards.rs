//! Shards: token ids and marks of many episodes in one file, for a trainer that maps it.
//!
//! Layout, little endian: `GLWSHRD1`, u32 number of episodes, u32 number of tokens, then for each episode its length in
//! tokens (u32), then all token ids (u16), then a mark for each (u8: 1 learn, 0 question or tool text, 2 markup or a
//! mistake, never learnt).

use crate::error::{Error, Result};
use crate::lexicon::{Lexicon, Split};
use crate::sample::sample;
use crate::tokenizer::{Encoder, thinned};
use std::path::{Path, PathBuf};

const MAGIC: &[u8; 8] = b"GLWSHRD1";

/// The mark of a token that is to be learnt.
pub const LEARN: u8 = 1;

/// A tokenised episode.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tokens {
    /// Its token ids.
    pub ids: Vec<u16>,
    /// A mark for each: [`LEARN`], or not to be learnt.
    pub marks: Vec<u8>,
}

/// Which samples a shard keeps.
#[derive(Clone, Copy, Debug)]
pub struct Kept {
    /// Tokens of the longest episode.
    pub longest: usize,
    /// Share of the samples over an odd database ([`World::odd`](crate::schema::World::odd)) that are kept. They teach
    /// to copy any name; the end of a training is better spent on databases as people make them.
    pub odd: f64,
    /// Share of the samples whose words are cut finer than the tokenizer cuts them ([`thinned`]), as words that it does not
    /// know are.
    pub cut: f64,
}

/// Samples in a row that are cut alike.
const CUT_TOGETHER: u64 = 16;

impl Kept {
    /// Whether an odd sample of this seed is among those kept.
    fn odd(self, seed: u64) -> bool {
        number(seed) <= self.odd
    }

    /// Whether the samples of this seed's row are cut finer.
    fn cut(self, seed: u64) -> bool {
        number(seed / CUT_TOGETHER) < self.cut
    }
}

/// A number in 0..1 that the seed decides.
fn number(seed: u64) -> f64 {
    (seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 11) as f64 / (1u64 << 53) as f64
}

/// Reads a shard.
///
/// # Errors
/// When the file cannot be read or is no shard.
pub fn read(path: &Path) -> Result<Vec<Tokens>> {
    let bytes = std::fs::read(path).map_err(Error::file(path))?;
    parse(&bytes).ok_or_else(|| Error::Broken {
        path: path.display().to_string(),
        problem: "it is no shard, or half of one; write it again with `glowworm-data shards`".into(),
    })
}

/// The file of the shard whose first sample has the seed `first`.
pub fn path(folder: &Path, first: u64) -> PathBuf {
    folder.join(format!("{first:012}.shard"))
}

fn parse(bytes: &[u8]) -> Option<Vec<Tokens>> {
    let rest = bytes.strip_prefix(MAGIC)?;
    let number = |at: usize| Some(u32::from_le_bytes(rest.get(at..at + 4)?.try_into().ok()?) as usize);
    let (episodes, tokens) = (number(0)?, number(4)?);
    let body = rest.get(8..)?;
    let (lengths, body) = body.split_at_checked(episodes.checked_mul(4)?)?;
    let (ids, marks) = body.split_at_checked(tokens.checked_mul(2)?)?;
    if marks.len() != tokens {
        return None;
    }
    let mut out = Vec::with_capacity(episodes);
    let mut at = 0;
    for length in lengths.chunks_exact(4) {
        let end = at + u32::from_le_bytes(length.try_into().ok()?) as usize;
        let ids = ids.get(2 * at..2 * end)?.chunks_exact(2).map(|b| u16::from_le_bytes([b[0], b[1]]));
        out.push(Tokens { ids: ids.collect(), marks: marks.get(at..end)?.to_vec() });
        at = end;
    }
    (at == tokens).then_some(out)
}

/// Writes the shard of seeds `first..first + count` into the folder `out`; returns a line of figures.
///
/// The file is written under another name first and then renamed, so that a trainer never sees half of one.
///
/// # Errors
/// When the file cannot be written, or a seed gives no sample.
pub fn write(
    lexicon: &Lexicon,
    tokenizer: &str,
    out: &Path,
    first: u64,
    count: u64,
    kept: Kept,
) -> Result<String> {
    let (mut lengths, mut ids, mut marks) = (Vec::new(), Vec::new(), Vec::new());
    let mut dropped = 0;
    let whole = Encoder::new(tokenizer)?;
    let mut finer: Option<(u64, Encoder)> = None;
    for seed in first..first + count {
        let sample = sample(lexicon, Split::Train, seed)?;
        if sample.world.odd && !kept.odd(seed) {
            continue;
        }
        let row = kept.cut(seed).then_some(seed / CUT_TOGETHER);
        if let Some(row) = row
            && finer.as_ref().is_none_or(|(of, _)| *of != row)
        {
            finer = Some((row, Encoder::new(&thinned(tokenizer, row)?)?));
        }
        let encoder = row.and(finer.as_ref()).map_or(&whole, |(_, encoder)| encoder);
        let (i, m) = encoder.encode(&sample.pieces)?;
        if i.len() > kept.longest {
            dropped += 1;
            continue;
        }
        lengths.push(i.len() as u32);
        ids.extend(i);
        marks.extend(m);
    }
    let mut bytes = MAGIC.to_vec();
    bytes.extend((lengths.len() as u32).to_le_bytes());
    bytes.extend((ids.len() as u32).to_le_bytes());
    bytes.extend(lengths.iter().flat_map(|n| n.to_le_bytes()));
    bytes.extend(ids.iter().flat_map(|n| n.to_le_bytes()));
    bytes.extend(&marks);
    let path = path(out, first);
    let part = out.join(format!("{first:012}.part"));
    std::fs::create_dir_all(out).map_err(Error::file(&path))?;
    std::fs::write(&part, bytes).map_err(Error::file(&path))?;
    std::fs::rename(&part, &path).map_err(Error::file(&path))?;
    let learnt = marks.iter().filter(|&&m| m == 1).count();
    Ok(format!(
        "{}: {} episodes, {} tokens ({:.0} each), {:.3} learnt, {dropped} too long",
        path.display(),
        lengths.len(),
        ids.len(),
        ids.len() as f64 / lengths.len().max(1) as f64,
        learnt as f64 / ids.len().max(1) as f64
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two episodes, of two tokens and of one.
    fn shard() -> Vec<u8> {
        let mut bytes = MAGIC.to_vec();
        for n in [2u32, 3, 2, 1] {
            bytes.extend(n.to_le_bytes());
        }
        for id in [7u16, 300, 9] {
            bytes.extend(id.to_le_bytes());
        }
        bytes.extend([0, 1, 2]);
        bytes
    }

    #[test]
    fn a_shard_is_read_as_it_is_laid_out() {
        let episodes = parse(&shard()).unwrap();
        assert_eq!(episodes[0], Tokens { ids: vec![7, 300], marks: vec![0, 1] });
        assert_eq!(episodes[1], Tokens { ids: vec![9], marks: vec![2] });
    }

    #[test]
    fn samples_are_kept_and_cut_in_the_shares_asked_for() {
        for odd in [0.0, 0.25, 1.0] {
            let kept = Kept { longest: 800, odd, cut: odd };
            let share = (0..4000).filter(|&seed| kept.odd(3_744_000 + seed)).count() as f64 / 4000.0;
            assert!((share - odd).abs() < 0.03, "{share} for {odd}");
            let share = (0..16_000).filter(|&seed| kept.cut(3_744_000 + seed)).count() as f64 / 16_000.0;
            assert!((share - odd).abs() < 0.06, "{share} for {odd}");
        }
    }

    #[test]
    fn half_a_shard_is_none() {
        let whole = shard();
        for end in 0..whole.len() {
            assert!(parse(&whole[..end]).is_none(), "{end}");
        }
        let mut longer = whole;
        longer.push(0);
        assert!(parse(&longer).is_none());
    }
}
