//! McNemar's exact test.

use serde::{Deserialize, Serialize};

/// Questions on which two runs differ, and the probability of a difference as large by chance.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Discordant {
    /// Right in the first run alone.
    pub only_first: u64,
    /// Right in the second run alone.
    pub only_second: u64,
    /// Two-sided p of the exact test.
    pub p: f64,
}

impl Discordant {
    /// Tests the two counts.
    pub fn new(only_first: u64, only_second: u64) -> Self {
        Self { only_first, only_second, p: mcnemar(only_first, only_second) }
    }
}

/// The two-sided exact p for `b` and `c` discordant pairs: `min(1, 2 Σ_{k ≤ min(b,c)} C(n,k) / 2^n)` with `n = b + c`.
/// Terms are summed as logarithms, so that no `n` overflows.
pub fn mcnemar(b: u64, c: u64) -> f64 {
    let n = b + c;
    // ln C(n, k), from one k to the next.
    let mut term = -(n as f64) * std::f64::consts::LN_2;
    let mut sum = term.exp();
    for k in 1..=b.min(c) {
        term += ((n - k + 1) as f64 / k as f64).ln();
        sum += term.exp();
    }
    (2.0 * sum).min(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_values() {
        // The first three from the design's table; the last two computed with exact fractions.
        for (b, c, p) in [
            (6, 0, 0.031_25),
            (10, 3, 0.092_285_156_25),
            (25, 10, 0.016_673_7),
            (0, 0, 1.0),
            (5, 5, 1.0),
            (1, 0, 1.0),
            (59, 6, 4.964_65e-12),
        ] {
            let found = mcnemar(b, c);
            assert!((found - p).abs() <= 1e-5 * p, "({b}, {c}): {found}, not {p}");
            assert_eq!(found, mcnemar(c, b));
        }
    }

    #[test]
    fn many_pairs_do_not_overflow() {
        let p = mcnemar(10_000, 10_300);
        assert!((0.03..0.04).contains(&p), "{p}");
    }
}
