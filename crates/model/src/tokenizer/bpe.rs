//! Byte-pair merging, from a table of a few megabytes.
//!
//! The `tokenizers` crate's own model keeps each token as a `String` in two hash maps and the merges in a third: with
//! a vocabulary of 248 thousand tokens that is 49 MB, and 66 MB to build, most of what a whole run may take beside the
//! weights. The same merges fit in 4 MB of sorted arrays, and nothing else is needed: a byte has an id, two ids have a
//! merge or not. That the results are those of the crate is what the tests compare.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::vocabulary::{Index, Vocabulary, decode_into};
use crate::error::{Error, Result};

/// No token.
const NONE: u32 = u32::MAX;

/// A merge whose left part is known from where it lies in the table.
#[derive(Debug, Clone, Copy)]
struct Merge {
    right: u32,
    /// Place in the file's list: lower merges first.
    rank: u32,
    result: u32,
}

/// All merges, and the ids of the 256 bytes.
#[derive(Debug)]
pub(super) struct Bpe {
    byte_ids: [u32; 256],
    /// Merges of left token `l`, ordered by right token: `merges[starts[l]..starts[l + 1]]`.
    starts: Vec<u32>,
    merges: Vec<Merge>,
}

impl Bpe {
    /// Reads the merges: pairs of token texts in the byte-level alphabet, first to merge first.
    pub fn new<'m>(
        vocabulary: &Vocabulary,
        pairs: impl ExactSizeIterator<Item = Result<(&'m str, &'m str)>>,
    ) -> Result<Self> {
        let index = vocabulary.index()?;
        let mut byte_ids = [NONE; 256];
        for (byte, id) in byte_ids.iter_mut().enumerate() {
            *id = index.find(&[byte as u8]).unwrap_or(NONE);
        }

        if pairs.len() > super::vocabulary::MAX_TOKENS {
            return Err(Error::vocabulary(format!("there are {} merges", pairs.len())));
        }
        let mut sorted: Vec<(u32, Merge)> = Vec::with_capacity(pairs.len());
        let mut text = Vec::new();
        for (rank, pair) in pairs.enumerate() {
            let (left, right) = pair?;
            text.clear();
            let left_id = token(&index, left, &mut text, 0, rank)?;
            let border = text.len();
            let right_id = token(&index, right, &mut text, border, rank)?;
            let result = index.find(&text).ok_or_else(|| {
                Error::vocabulary(format!("merge {rank} makes `{left}{right}`, which is no token"))
            })?;
            sorted.push((left_id, Merge { right: right_id, rank: rank as u32, result }));
        }
        drop(index);
        sorted.sort_unstable_by_key(|(left, merge)| (*left, merge.right));
        let twins = sorted.windows(2).find(|pair| match pair {
            [a, b] => (a.0, a.1.right) == (b.0, b.1.right),
            _ => false,
        });
        if let Some([(_, a), (_, b)]) = twins {
            return Err(Error::vocabulary(format!("merges {} and {} are the same", a.rank, b.rank)));
        }

        let mut starts = Vec::with_capacity(vocabulary.len() + 1);
        let mut next = 0;
        for left in 0..=vocabulary.len() as u32 {
            while sorted.get(next).is_some_and(|(other, _)| *other < left) {
                next += 1;
            }
            starts.push(next as u32);
        }
        let merges = sorted.into_iter().map(|(_, merge)| merge).collect();
        Ok(Self { byte_ids, starts, merges })
    }

    fn merge_of(&self, left: u32, right: u32) -> Option<Merge> {
        let start = *self.starts.get(left as usize)? as usize;
        let end = *self.starts.get(left as usize + 1)? as usize;
        let candidates = self.merges.get(start..end)?;
        let found = candidates.binary_search_by_key(&right, |merge| merge.right).ok()?;
        candidates.get(found).copied()
    }

    /// Appends the tokens of one piece of text, as the splitter cut it.
    ///
    /// Of all neighbours that can merge, the pair of the lowest rank does, the leftmost first, until none is left.
    /// A heap finds it in logarithmic time: one piece may be a whole text without a space.
    pub fn encode(&self, piece: &[u8], out: &mut Vec<u32>) -> Result<()> {
        let mut symbols: Vec<Symbol> = Vec::with_capacity(piece.len());
        for (place, byte) in piece.iter().enumerate() {
            let id = self.byte_ids[usize::from(*byte)];
            if id == NONE {
                return Err(Error::Encode {
                    problem: format!("the vocabulary has no token for byte {byte:#04x}"),
                });
            }
            symbols.push(Symbol { id, previous: place.wrapping_sub(1) as u32, next: place as u32 + 1 });
        }
        let count = symbols.len() as u32;

        let mut queue = BinaryHeap::new();
        let offer = |queue: &mut BinaryHeap<_>, symbols: &[Symbol], left: u32, right: u32| {
            let (Some(a), Some(b)) = (symbols.get(left as usize), symbols.get(right as usize)) else {
                return;
            };
            if let Some(merge) = self.merge_of(a.id, b.id) {
                queue.push(Reverse((merge.rank, left, a.id, b.id, merge.result)));
            }
        };
        for left in 1..count {
            offer(&mut queue, &symbols, left - 1, left);
        }
        while let Some(Reverse((_, left, left_id, right_id, result))) = queue.pop() {
            // An entry is stale when either side has merged with something else since.
            let Some(&Symbol { id, previous, next: right }) = symbols.get(left as usize) else { continue };
            let Some(&Symbol { id: other, next: after, .. }) = symbols.get(right as usize) else { continue };
            if (id, other) != (left_id, right_id) {
                continue;
            }
            symbols[left as usize] = Symbol { id: result, previous, next: after };
            symbols[right as usize].id = NONE;
            if let Some(symbol) = symbols.get_mut(after as usize) {
                symbol.previous = left;
            }
            offer(&mut queue, &symbols, previous, left);
            offer(&mut queue, &symbols, left, after);
        }
        out.extend(symbols.iter().map(|symbol| symbol.id).filter(|id| *id != NONE));
        Ok(())
    }

    /// Bytes held, for the record.
    pub fn heap_bytes(&self) -> usize {
        self.starts.capacity() * size_of::<u32>() + self.merges.capacity() * size_of::<Merge>()
    }
}

/// A token of the piece and its living neighbours; past either end lies no symbol.
#[derive(Debug, Clone, Copy)]
struct Symbol {
    id: u32,
    previous: u32,
    next: u32,
}

/// Appends the bytes of `part` to `text` and finds the token that `text[border..]` is.
fn token(index: &Index<'_>, part: &str, text: &mut Vec<u8>, border: usize, rank: usize) -> Result<u32> {
    let odd = decode_into(part, text);
    let found = text.get(border..).and_then(|bytes| index.find(bytes));
    match (odd, found) {
        (None, Some(id)) => Ok(id),
        _ => Err(Error::vocabulary(format!("merge {rank} names `{part}`, which is no token"))),
    }
}
