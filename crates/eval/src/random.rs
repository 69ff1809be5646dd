//! A small generator of random numbers whose sequence never changes.
//!
//! Which questions and tables are drawn, and the bounds of a bootstrap, must be the same in every version of the
//! program, or two runs could not be compared. So it is written out here: SplitMix64 (Steele, Lea and Flood, "Fast
//! Splittable Pseudorandom Number Generators", 2014).

/// A sequence of random numbers.
#[derive(Debug, Clone)]
pub struct Random(u64);

impl Random {
    /// The sequence of a seed.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The sequence of a seed for one purpose, which no other purpose shares.
    pub fn for_purpose(seed: u64, purpose: &str) -> Self {
        Self(seed ^ fingerprint(purpose.as_bytes()))
    }

    /// The next 64 bits.
    pub fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `end`, which must not be 0. The high bits of a product: the bias is below 2^-32 for any
    /// `end` that a list can have.
    pub fn below(&mut self, end: usize) -> usize {
        ((u128::from(self.next_u64()) * end as u128) >> 64) as usize
    }

    /// Puts a list into a random order (Fisher and Yates).
    pub fn shuffle<T>(&mut self, list: &mut [T]) {
        for last in (1..list.len()).rev() {
            list.swap(last, self.below(last + 1));
        }
    }

    /// `count` different positions of a list of `length`, in rising order.
    pub fn positions(&mut self, length: usize, count: usize) -> Vec<usize> {
        let mut all: Vec<usize> = (0..length).collect();
        self.shuffle(&mut all);
        all.truncate(count);
        all.sort_unstable();
        all
    }
}

/// FNV-1a, 64 bits: tells texts apart, and is no protection against someone who wants them confused.
pub fn fingerprint(bytes: &[u8]) -> u64 {
    bytes
        .iter()
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_published_sequences() {
        // The reference implementation of SplitMix64 for seed 1234567, and FNV-1a's test values.
        let mut random = Random::new(1_234_567);
        assert_eq!(
            [random.next_u64(), random.next_u64()],
            [6_457_827_717_110_365_317, 3_203_168_211_198_807_973]
        );
        assert_eq!(fingerprint(b""), 0xcbf2_9ce4_8422_2325);
        assert_eq!(fingerprint(b"foobar"), 0x8594_4171_f739_67e8);
    }

    #[test]
    fn draws_are_in_range_and_even() {
        let mut random = Random::new(7);
        let mut counts = [0; 5];
        for _ in 0..10_000 {
            counts[random.below(5)] += 1;
        }
        assert!(counts.iter().all(|count| (1_850..2_150).contains(count)), "{counts:?}");
        let drawn = random.positions(100, 10);
        assert_eq!(drawn.len(), 10);
        assert!(drawn.windows(2).all(|pair| pair[0] < pair[1]));
        assert_eq!(random.positions(3, 10), [0, 1, 2]);
    }
}
