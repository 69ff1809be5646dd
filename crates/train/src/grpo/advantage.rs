//! How much better than its group an episode was.

/// `A_i = r_i − mean(r)`. There is no division by the standard deviation: it would make a group that is nearly all right,
/// or nearly all wrong, count as much as one that is divided.
pub fn advantages(rewards: &[f64]) -> Vec<f64> {
    let mean = rewards.iter().sum::<f64>() / rewards.len().max(1) as f64;
    rewards.iter().map(|r| r - mean).collect()
}

/// Whether there is anything to learn from a group: whether its rewards differ.
pub fn teaches(advantages: &[f64]) -> bool {
    advantages.iter().any(|a| a.abs() > 1e-9)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rewards_without_their_mean() {
        assert_eq!(advantages(&[3.0, 1.0, 0.5, 0.0]), [1.875, -0.125, -0.625, -1.125]);
        // Twice the spread is twice the advantage: nothing is normalised.
        assert_eq!(advantages(&[2.0, 0.0]), [1.0, -1.0]);
        assert_eq!(advantages(&[4.0, 0.0]), [2.0, -2.0]);
        assert!(advantages(&[]).is_empty());
    }

    #[test]
    fn a_group_of_one_mind_teaches_nothing() {
        assert!(!teaches(&advantages(&[3.0, 3.0, 3.0])));
        assert!(!teaches(&advantages(&[1.1, 1.1, 1.1])));
        assert!(teaches(&advantages(&[3.0, 3.0, 2.0])));
    }
}
