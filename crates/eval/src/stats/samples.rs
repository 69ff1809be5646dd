//! Several samples of one question.

/// The unbiased estimate of the chance that at least one of `k` samples is right, when `right` of `samples` were:
/// `1 − C(n−c, k) / C(n, k)` (Chen et al., "Evaluating Large Language Models Trained on Code", 2021). None where fewer
/// than `k` samples were taken.
pub fn pass_at_k(samples: u64, right: u64, k: u64) -> Option<f64> {
    if k == 0 || k > samples || right > samples {
        return None;
    }
    let wrong = samples - right;
    if wrong < k {
        return Some(1.0);
    }
    // The product form of the ratio: no factorials.
    Some(1.0 - (wrong + 1..=samples).map(|i| 1.0 - k as f64 / i as f64).product::<f64>())
}

/// The position of the sample that a vote by result elects: the first of the largest group with the same result. Samples
/// without a result do not vote; of groups of one size the one that began first wins.
pub fn majority<R: AsRef<str>>(results: &[Option<R>]) -> Option<usize> {
    let votes =
        |result: &R| results.iter().flatten().filter(|other| other.as_ref() == result.as_ref()).count();
    let mut elected: Option<(usize, usize)> = None;
    for (index, result) in results.iter().enumerate() {
        let Some(result) = result else { continue };
        let count = votes(result);
        if elected.is_none_or(|(_, most)| count > most) {
            elected = Some((index, count));
        }
    }
    elected.map(|(index, _)| index)
}

/// The mean; 0 of nothing.
pub fn mean(values: &[f64]) -> f64 {
    if values.is_empty() { 0.0 } else { values.iter().sum::<f64>() / values.len() as f64 }
}

/// The median; 0 of nothing.
pub fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    match sorted.len() {
        0 => 0.0,
        length if length % 2 == 1 => sorted[length / 2],
        length => f64::midpoint(sorted[length / 2 - 1], sorted[length / 2]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pass_at_k_is_the_share_of_draws_with_a_right_one() {
        // Counted over all C(5, 3) = 10 draws of 3 from 5 with 2 right: only one has none.
        assert!((pass_at_k(5, 2, 3).unwrap() - 0.9).abs() < 1e-12);
        assert!((pass_at_k(10, 3, 1).unwrap() - 0.3).abs() < 1e-12);
        assert_eq!(pass_at_k(4, 0, 4), Some(0.0));
        assert_eq!(pass_at_k(4, 1, 4), Some(1.0));
        assert_eq!(pass_at_k(4, 4, 1), Some(1.0));
        assert_eq!((pass_at_k(4, 1, 5), pass_at_k(4, 1, 0)), (None, None));
    }

    #[test]
    fn the_most_frequent_result_wins() {
        assert_eq!(majority(&[Some("a"), Some("b"), None, Some("b")]), Some(1));
        assert_eq!(majority(&[Some("a"), Some("b")]), Some(0));
        assert_eq!(majority(&[None, None, Some("x")]), Some(2));
        assert_eq!(majority::<&str>(&[None]), None);
    }

    #[test]
    fn middles() {
        assert_eq!((median(&[3.0, 1.0, 2.0]), median(&[4.0, 1.0]), median(&[])), (2.0, 2.5, 0.0));
        assert_eq!((mean(&[1.0, 2.0]), mean(&[])), (1.5, 0.0));
    }
}
