//! Shards as batches of episodes of like length, in an order that a seed fixes and a position can return to.

use crate::error::{Error, Result};
use crate::rng::Rng;
use crate::shards::{self, LEARN, Tokens};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// Episodes that are sorted by length together. Sorting all would put the long ones into the same steps of every pass.
const GROUP: usize = 1024;
/// Rows are padded to a multiple of this, so that few shapes occur and the delta rule's chunks come out whole.
const ALIGN: usize = 16;

/// Sequences of one padded length.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Batch {
    /// Sequences.
    pub rows: usize,
    /// Tokens of each, the padding at its end included.
    pub width: usize,
    /// Token ids, row by row; 0 where padded.
    pub ids: Vec<i32>,
    /// Whether a token is to be learnt: its loss counts where it is predicted.
    pub learn: Vec<bool>,
    /// Tokens without the padding.
    pub tokens: usize,
}

impl Batch {
    /// Pads sequences to one length. Padding is at the end, where causal layers cannot see it.
    pub fn new<'a>(sequences: impl IntoIterator<Item = (&'a [u32], &'a [bool])>) -> Self {
        let sequences: Vec<_> = sequences.into_iter().collect();
        let longest = sequences.iter().map(|(ids, _)| ids.len()).max().unwrap_or(0);
        let (rows, width) = (sequences.len(), longest.next_multiple_of(ALIGN));
        let mut batch =
            Self { rows, width, ids: vec![0; rows * width], learn: vec![false; rows * width], tokens: 0 };
        for (row, (ids, learn)) in sequences.into_iter().enumerate() {
            for (column, (&id, &learn)) in ids.iter().zip(learn).enumerate() {
                batch.ids[row * width + column] = id as i32;
                batch.learn[row * width + column] = learn;
            }
            batch.tokens += ids.len();
        }
        batch
    }

    /// The places after which a token to learn comes: their sequence and their column, in order.
    pub fn places(&self) -> impl Iterator<Item = (usize, usize)> + '_ {
        let places =
            (0..self.rows).flat_map(|row| (0..self.width.saturating_sub(1)).map(move |at| (row, at)));
        places.filter(|(row, at)| self.learn[row * self.width + at + 1])
    }

    fn of(episodes: &[&Tokens]) -> Self {
        let wide: Vec<(Vec<u32>, Vec<bool>)> = episodes
            .iter()
            .map(|e| {
                (
                    e.ids.iter().map(|&id| u32::from(id)).collect(),
                    e.marks.iter().map(|&m| m == LEARN).collect(),
                )
            })
            .collect();
        Self::new(wide.iter().map(|(ids, learn)| (&ids[..], &learn[..])))
    }
}

/// The batches of one shard.
///
/// # Errors
/// When the shard cannot be read.
pub fn of_shard(path: &Path, budget: usize, longest: usize, seed: &str) -> Result<Vec<Batch>> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let mut rng = Rng::new(hash(&format!("{seed} {name}")));
    let mut episodes = shards::read(path)?;
    episodes.retain(|e| e.ids.len() <= longest && e.ids.len() > 1);
    rng.shuffle(&mut episodes);
    let mut batches: Vec<Vec<&Tokens>> = Vec::new();
    for group in episodes.chunks_mut(GROUP) {
        // A stable sort: episodes of equal length stay in the order of the shuffle.
        group.sort_by_key(|e| e.ids.len());
        let mut current: Vec<&Tokens> = Vec::new();
        for episode in group.iter() {
            let width = episode.ids.len().next_multiple_of(ALIGN);
            if !current.is_empty() && width * (current.len() + 1) > budget {
                batches.push(std::mem::take(&mut current));
            }
            current.push(episode);
        }
        if !current.is_empty() {
            batches.push(current);
        }
    }
    rng.shuffle(&mut batches);
    Ok(batches.iter().map(|episodes| Batch::of(episodes)).collect())
}

/// FNV-1a, which stays what it is.
fn hash(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |h, b| (h ^ u64::from(b)).wrapping_mul(0x0100_0000_01b3))
}

/// Where a [`Stream`] stands: all there is to resume from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Position {
    /// Shards that are read; past the last they are counted on, and read again in another order.
    pub shard: usize,
    /// Batches of the present shard that are read.
    pub batch: usize,
}

/// What a [`Stream`] reads.
#[derive(Clone, Debug)]
pub struct Reading {
    /// Folder of the shards, which are read in the order of their names; new ones are found as they come.
    pub folder: PathBuf,
    /// This stream reads every `ranks`-th shard, from the `rank`-th on.
    pub rank: usize,
    /// See `rank`.
    pub ranks: usize,
    /// The most tokens of a batch, padding included; a longer episode is a batch of its own.
    pub budget: usize,
    /// Longer episodes are left out.
    pub longest: usize,
    /// Seed of the order.
    pub seed: u64,
}

/// Batches without end.
#[derive(Debug)]
pub struct Stream {
    reading: Reading,
    position: Position,
    /// Those of the present shard that are left, last first.
    left: Option<Vec<Batch>>,
}

impl Stream {
    /// A stream from a position on.
    pub fn new(reading: Reading, position: Position) -> Self {
        Self { reading, position, left: None }
    }

    /// Where it stands.
    pub fn position(&self) -> Position {
        self.position
    }

    /// The next batch.
    ///
    /// # Errors
    /// When a shard cannot be read, or there is no episode in any of them.
    pub fn take(&mut self) -> Result<Batch> {
        let mut empty = 0;
        loop {
            if self.left.is_none() {
                let shards = self.shards()?;
                if empty > shards.len() {
                    return Err(self.broken("no shard has an episode that is short enough; raise --longest"));
                }
                let (path, pass) = (self.position.shard % shards.len(), self.position.shard / shards.len());
                let seed = format!("{} {pass}", self.reading.seed);
                let Reading { budget, longest, .. } = self.reading;
                let mut batches = of_shard(&shards[path], budget, longest, &seed)?;
                batches.drain(..self.position.batch.min(batches.len()));
                batches.reverse();
                self.left = Some(batches);
            }
            if let Some(batch) = self.left.as_mut().and_then(Vec::pop) {
                self.position.batch += 1;
                return Ok(batch);
            }
            empty += 1;
            self.left = None;
            self.position = Position { shard: self.position.shard + 1, batch: 0 };
        }
    }

    fn shards(&self) -> Result<Vec<PathBuf>> {
        let all = list(&self.reading.folder)?;
        let mine: Vec<PathBuf> =
            all.into_iter().skip(self.reading.rank).step_by(self.reading.ranks).collect();
        match mine.is_empty() {
            true => {
                Err(self.broken("there are fewer shards than ranks; write more with `glowworm-data shards`"))
            }
            false => Ok(mine),
        }
    }

    fn broken(&self, problem: &str) -> Error {
        Error::Broken { path: self.reading.folder.display().to_string(), problem: problem.into() }
    }
}

/// The shards of a folder in the order of their names.
///
/// # Errors
/// When the folder cannot be read.
pub fn list(folder: &Path) -> Result<Vec<PathBuf>> {
    let entries = std::fs::read_dir(folder).map_err(Error::file(folder))?;
    let mut shards = Vec::new();
    for entry in entries {
        let path = entry.map_err(Error::file(folder))?.path();
        if path.extension().is_some_and(|extension| extension == "shard") {
            shards.push(path);
        }
    }
    shards.sort();
    Ok(shards)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A shard of episodes of the given lengths; ids count on through the file.
    fn write(path: &Path, lengths: &[u32]) {
        let tokens: u32 = lengths.iter().sum();
        let mut bytes = b"GLWSHRD1".to_vec();
        for n in [lengths.len() as u32, tokens].iter().chain(lengths) {
            bytes.extend(n.to_le_bytes());
        }
        bytes.extend((0..tokens as u16).flat_map(u16::to_le_bytes));
        bytes.extend((0..tokens).map(|i| (i % 3) as u8));
        std::fs::write(path, bytes).unwrap();
    }

    fn folder() -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        let lengths: Vec<u32> = (0..100).map(|i| 5 + i * 37 % 60).collect();
        write(&folder.path().join("a.shard"), &lengths);
        write(&folder.path().join("b.shard"), &lengths[..40]);
        folder
    }

    fn reading(folder: &Path) -> Reading {
        Reading { folder: folder.to_owned(), rank: 0, ranks: 1, budget: 128, longest: 60, seed: 1 }
    }

    #[test]
    fn every_episode_that_is_short_enough_comes_once_a_pass() {
        let folder = folder();
        let batches = of_shard(&folder.path().join("a.shard"), 128, 60, "1").unwrap();
        let expected: usize = (0..100).map(|i| 5 + i * 37 % 60).filter(|n| *n <= 60).sum();
        assert_eq!(batches.iter().map(|b| b.tokens).sum::<usize>(), expected);
        for b in &batches {
            assert!(b.rows * b.width <= 128 && b.width % 16 == 0);
            assert_eq!((b.ids.len(), b.learn.len()), (b.rows * b.width, b.rows * b.width));
        }
        // Marks go round by thirds, and 1 is learnt.
        let learnt: usize = batches.iter().flat_map(|b| &b.learn).filter(|l| **l).count();
        assert!(learnt.abs_diff(expected / 3) < 40);
        let widths: Vec<usize> = batches.iter().map(|b| b.width).collect();
        assert!(!widths.is_sorted(), "batches are shuffled");
    }

    #[test]
    fn a_position_brings_the_rest_back() {
        let folder = folder();
        let mut whole = Stream::new(reading(folder.path()), Position::default());
        let mut positions = Vec::new();
        let all: Vec<Batch> = (0..150)
            .map(|_| {
                positions.push(whole.position());
                whole.take().unwrap()
            })
            .collect();
        assert!(positions.last().unwrap().shard >= 3, "the shards are read more than once");
        for from in [1, 40, 120] {
            let mut rest = Stream::new(reading(folder.path()), positions[from]);
            for batch in &all[from..] {
                assert_eq!(rest.take().unwrap(), *batch);
            }
        }
        let mut other = Stream::new(Reading { seed: 2, ..reading(folder.path()) }, Position::default());
        assert_ne!(other.take().unwrap(), all[0]);
    }

    #[test]
    fn ranks_share_the_shards() {
        let folder = folder();
        let of =
            |rank| Stream::new(Reading { rank, ranks: 2, ..reading(folder.path()) }, Position::default());
        let tokens = |mut stream: Stream| {
            let mut sum = 0;
            while stream.position().shard == 0 {
                let batch = stream.take().unwrap();
                if stream.position().shard == 0 {
                    sum += batch.tokens;
                }
            }
            sum
        };
        assert!(tokens(of(0)) > tokens(of(1)));
        let mut none =
            Stream::new(Reading { rank: 2, ranks: 3, ..reading(folder.path()) }, Position::default());
        assert!(none.take().is_err());
        let mut short = Stream::new(Reading { longest: 3, ..reading(folder.path()) }, Position::default());
        assert!(short.take().is_err());
    }
}
