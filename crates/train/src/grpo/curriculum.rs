//! From short queries to long ones.
//!
//! A question is as hard as its gold query is long. Names and literals say nothing about that, so they are masked: each
//! counts as one symbol, however long it is. Questions fall into buckets by that length. A window moves from the shortest
//! bucket to the longest in the course of training; every bucket keeps a floor of 0.15 of the draws, so that nothing is
//! forgotten and nothing comes as a surprise.

use crate::rng::Rng;

/// The least share of a bucket.
pub const FLOOR: f64 = 0.15;

/// Symbols of a query: words, numbers, strings and quoted names are one each, and so is every other character but white
/// space; of comparison signs such as `<=` both count.
pub fn masked_length(sql: &str) -> usize {
    let mut length = 0;
    let mut rest = sql.chars().peekable();
    while let Some(c) = rest.next() {
        match c {
            _ if c.is_whitespace() => continue,
            '\'' | '"' | '`' => {
                // A doubled quote is a quote in the text: the next round reads on from it, but counts it anew.
                loop {
                    while rest.next_if(|d| *d != c).is_some() {}
                    rest.next();
                    if rest.next_if_eq(&c).is_none() {
                        break;
                    }
                }
            }
            _ if is_word(c) => {
                while rest.next_if(|d| is_word(*d) || (*d == '.' && c.is_ascii_digit())).is_some() {}
            }
            _ => {}
        }
        length += 1;
    }
    length
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// Buckets of lengths, with their upper bounds.
#[derive(Clone, Debug, PartialEq)]
pub struct Curriculum {
    /// The longest length of each bucket but the last.
    bounds: Vec<usize>,
}

impl Curriculum {
    /// Buckets that hold about equally many of the given lengths; at most six, which is as many as the floor allows.
    pub fn new(lengths: &[usize], buckets: usize) -> Self {
        let buckets = buckets.clamp(1, 6);
        let mut sorted = lengths.to_vec();
        sorted.sort_unstable();
        let bound = |i: usize| sorted.get(i * sorted.len() / buckets).map(|n| n.saturating_sub(1));
        let mut bounds: Vec<usize> = (1..buckets).filter_map(bound).collect();
        bounds.dedup();
        Self { bounds }
    }

    /// Number of buckets.
    pub fn buckets(&self) -> usize {
        self.bounds.len() + 1
    }

    /// The bucket of a length.
    pub fn bucket(&self, length: usize) -> usize {
        self.bounds.iter().filter(|bound| length > **bound).count()
    }

    /// The shares of the buckets at a point of training, 0 to 1: the floor for each, and what is left over to the window, a
    /// triangle two buckets wide around its present place.
    pub fn shares(&self, progress: f64) -> Vec<f64> {
        let n = self.buckets();
        let place = progress.clamp(0.0, 1.0) * (n - 1) as f64;
        let window = (0..n).map(|i| (1.0 - (i as f64 - place).abs()).max(0.0));
        window.map(|w| FLOOR + (1.0 - FLOOR * n as f64) * w).collect()
    }

    /// Draws a bucket.
    pub fn draw(&self, progress: f64, rng: &mut Rng) -> usize {
        let weights: Vec<u32> = self.shares(progress).into_iter().map(|share| (share * 1e6) as u32).collect();
        rng.weighted(&weights)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_literals_are_one_symbol_each() {
        // SELECT COUNT ( * ) FROM t
        assert_eq!(masked_length("SELECT COUNT(*) FROM t"), 7);
        assert_eq!(masked_length("SELECT COUNT(*) FROM a_very_long_name"), 7);
        // SELECT a . b FROM a WHERE c = 'x' AND d > 1.5
        assert_eq!(masked_length("SELECT a.b FROM a WHERE c = 'x' AND d > 1.5"), 14);
        assert_eq!(masked_length("SELECT a.b FROM a WHERE c = 'It''s, a = b' AND \"d e\" > 1.5"), 14);
        assert_eq!(masked_length(" "), 0);
    }

    #[test]
    fn buckets_hold_equally_many() {
        let lengths: Vec<usize> = (1..=100).collect();
        let c = Curriculum::new(&lengths, 4);
        let mut counts = [0; 4];
        lengths.iter().for_each(|n| counts[c.bucket(*n)] += 1);
        assert_eq!(counts, [25, 25, 25, 25]);
        assert_eq!(Curriculum::new(&[7, 7, 7, 7], 4).buckets(), 2);
        assert_eq!(Curriculum::new(&[], 4).buckets(), 1);
    }

    #[test]
    fn the_window_moves_over_a_floor() {
        let c = Curriculum::new(&(1..=100).collect::<Vec<_>>(), 4);
        let near = |a: Vec<f64>, b: [f64; 4]| a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-12);
        // Four floors are 0.6; the window has 0.4.
        assert!(near(c.shares(0.0), [0.55, 0.15, 0.15, 0.15]));
        assert!(near(c.shares(0.5), [0.15, 0.35, 0.35, 0.15]));
        assert!(near(c.shares(1.0), [0.15, 0.15, 0.15, 0.55]));
        let mut rng = Rng::new(1);
        let drawn = (0..2000).filter(|_| c.draw(0.0, &mut rng) == 0).count();
        assert!((1000..1200).contains(&drawn), "{drawn}");
    }
}
