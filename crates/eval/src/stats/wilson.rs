//! Wilson's interval for a share.

use serde::{Deserialize, Serialize};

use super::Z95;

/// A count of a count, with its 95% interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Share {
    /// How many.
    pub count: u64,
    /// Of how many.
    pub of: u64,
    /// `count / of`; 0 where there is nothing.
    pub share: f64,
    /// Lower bound of Wilson's 95% interval.
    pub low: f64,
    /// Upper bound.
    pub high: f64,
}

impl Share {
    /// The share of a count.
    pub fn new(count: u64, of: u64) -> Self {
        let (low, high) = wilson(count, of, Z95);
        let share = if of == 0 { 0.0 } else { count as f64 / of as f64 };
        Self { count, of, share, low, high }
    }

    /// The share of those for which something holds.
    pub fn of(all: impl IntoIterator<Item = bool>) -> Self {
        let (mut count, mut of) = (0, 0);
        for one in all {
            of += 1;
            count += u64::from(one);
        }
        Self::new(count, of)
    }
}

/// Wilson's score interval for `count` of `of` at the normal quantile `z`; (0, 1) where there is nothing. (Wilson 1927;
/// Brown, Cai and DasGupta 2001 recommend it for any sample size.)
///
/// ```text
/// (p + z²/2n ± z √(p(1−p)/n + z²/4n²)) / (1 + z²/n)
/// ```
pub fn wilson(count: u64, of: u64, z: f64) -> (f64, f64) {
    if of == 0 {
        return (0.0, 1.0);
    }
    let (n, p) = (of as f64, count as f64 / of as f64);
    let scale = 1.0 + z * z / n;
    let middle = p + z * z / (2.0 * n);
    let half = z * (p * (1.0 - p) / n + z * z / (4.0 * n * n)).sqrt();
    // At the ends the bound is exact; rounding must not put it past them.
    let low = if count == 0 { 0.0 } else { (middle - half) / scale };
    let high = if count == of { 1.0 } else { (middle + half) / scale };
    (low, high)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn published_intervals() {
        // Newcombe, "Two-sided confidence intervals for the single proportion" (1998), table I, method 3.
        for (count, of, low, high) in [
            (81, 263, 0.2553, 0.3662),
            (15, 148, 0.0624, 0.1605),
            (0, 20, 0.0, 0.1611),
            (1, 29, 0.0061, 0.1718),
        ] {
            let found = wilson(count, of, Z95);
            assert!((found.0 - low).abs() < 5e-5 && (found.1 - high).abs() < 5e-5, "{count}/{of}: {found:?}");
        }
    }

    #[test]
    fn the_ends() {
        assert_eq!(wilson(0, 0, Z95), (0.0, 1.0));
        assert_eq!(wilson(10, 10, Z95).1, 1.0);
        let share = Share::of([true, false, true, true]);
        assert_eq!((share.count, share.of, share.share), (3, 4, 0.75));
    }
}
