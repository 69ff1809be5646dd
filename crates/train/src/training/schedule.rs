//! How the learning rate goes with the steps.

use serde::{Deserialize, Serialize};

/// Warm-up, constant, linear decay.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Schedule {
    /// The step at which training ends.
    pub steps: u64,
    /// Steps over which the rate rises.
    pub warmup: u64,
    /// How many of the last steps bring it down; 0 for none.
    pub decay: u64,
    /// The step at which it begins to rise anew, where a decayed run goes on; 0 if it was never decayed.
    pub rewarm: u64,
}

/// What is left of the rate at the end of a decay.
const LEAST: f64 = 0.01;

impl Schedule {
    /// The share of the full rate in a step, counted from 0.
    pub fn factor(&self, step: u64) -> f64 {
        let since = if step >= self.rewarm { step - self.rewarm } else { step };
        let up = ((since + 1) as f64 / self.warmup.max(1) as f64).min(1.0);
        let left = self.steps.saturating_sub(step);
        let down = if self.decay == 0 { 1.0 } else { (left as f64 / self.decay as f64).min(1.0) };
        up * down.max(LEAST)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn up_along_and_down() {
        let s = Schedule { steps: 1000, warmup: 100, decay: 200, rewarm: 0 };
        let at = |step| s.factor(step);
        assert_eq!((at(0), at(49), at(99), at(500), at(800)), (0.01, 0.5, 1.0, 1.0, 1.0));
        assert_eq!((at(900), at(999), at(1000)), (0.5, 0.01, 0.01));
        let again = Schedule { steps: 2000, rewarm: 1000, ..s };
        assert_eq!((again.factor(999), again.factor(1000), again.factor(1099)), (1.0, 0.01, 1.0));
        assert_eq!(Schedule { decay: 0, ..s }.factor(999), 1.0);
    }
}
