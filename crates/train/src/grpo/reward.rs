//! What an answer earns.

use crate::judge::{Likeness, Verdict};

/// For gold's result.
pub const EQUAL: f64 = 3.0;
/// For any query that runs.
pub const RUNS: f64 = 1.0;
/// For the F1 of its cells, at most.
pub const LIKENESS: f64 = 0.9;
/// For the shape of its result, at most: half for as many columns as gold, half for as many rows. The cards say only that
/// there is a bonus of up to 0.2; this division is ours.
pub const BONUS: f64 = 0.2;
/// For a query that can be parsed.
pub const PARSES: f64 = 0.5;

/// The tiers: 3.0 for an equal result; `1.0 + 0.9·F1 + bonus` for one that runs, and thus never more than 2.1; 0.5 for a
/// query that can be parsed; else 0.
pub fn reward(verdict: Verdict) -> f64 {
    match verdict {
        Verdict::Equal => EQUAL,
        Verdict::Runs(Likeness { f1, columns, rows }) => {
            let bonus = BONUS / 2.0 * (f64::from(u8::from(columns)) + f64::from(u8::from(rows)));
            RUNS + LIKENESS * f1 + bonus
        }
        Verdict::Parses => PARSES,
        Verdict::Unreadable => 0.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tiers() {
        let runs = |f1, columns, rows| reward(Verdict::Runs(Likeness { f1, columns, rows }));
        assert_eq!(reward(Verdict::Equal), 3.0);
        assert_eq!(reward(Verdict::Parses), 0.5);
        assert_eq!(reward(Verdict::Unreadable), 0.0);
        assert_eq!(runs(0.0, false, false), 1.0);
        assert!((runs(0.0, true, false) - 1.1).abs() < 1e-12);
        assert!((runs(0.5, true, true) - 1.65).abs() < 1e-12);
        // All the right cells in another order: less than being right.
        assert!((runs(1.0, true, true) - 2.1).abs() < 1e-12);
    }
}
