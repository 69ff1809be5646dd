//! The loss of the episodes of a group, or of a part of them.
//!
//! With `l_t`, `o_t` and `f_t` the logarithms of the probabilities of token `t` under the policy, the policy that played and
//! the reference, and over the tokens that the model wrote:
//!
//! ```text
//! s_i  = exp( mean over the tokens of episode i of (l_t − o_t) )         one ratio for the whole sequence
//! g_i  = min( s_i A_i, clip(s_i, 1 − 0.2, 1 + 0.28) A_i )
//! k_t  = exp(f_t − l_t) − (f_t − l_t) − 1                                Schulman's k3, never below 0
//! loss = (1/G) Σ_i Σ_{t of i} ( β k_t − g_i ) / 1024
//! ```
//!
//! Every token counts alike: the sum is divided by a constant and not by the length of its episode, which would make the
//! tokens of long wrong answers count less.

use burn::tensor::{Device, Tensor, TensorData};

/// How far below 1 a ratio may fall before its gradient ends.
pub const CLIP_LOW: f64 = 0.2;
/// How far above 1 it may rise. More than below: what was unlikely can then become likely.
pub const CLIP_HIGH: f64 = 0.28;
/// What the sum over the tokens is divided by.
pub const AGGREGATION: f64 = 1024.0;

/// Which tokens belong to which episode, and what the episodes were worth. They need not be of one group, nor all of it: a
/// loss is a sum over episodes.
#[derive(Clone, Debug)]
pub struct Episodes {
    /// The episode of each token, ascending.
    pub tokens: Vec<usize>,
    /// The advantage of each episode.
    pub advantages: Vec<f64>,
    /// The share of each episode in its group: `1/G`.
    pub shares: Vec<f64>,
}

/// What a loss is made of, for the log.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Parts {
    /// Mean of k3 over the tokens.
    pub divergence: f64,
    /// Share of the episodes whose ratio was clipped.
    pub clipped: f64,
}

/// The loss of some episodes. `now` has gradients; the others are constants.
///
/// # Shapes
/// - now, played, reference: `[n]`, one number for each token in `of.tokens`
/// - output: `[1]`
pub fn loss(
    now: Tensor<1>,
    played: &[f32],
    reference: &[f32],
    of: &Episodes,
    beta: f64,
) -> (Tensor<1>, Parts) {
    let device = now.device();
    let (n, episodes) = (of.tokens.len(), of.advantages.len());
    let mut lengths = vec![0usize; episodes];
    of.tokens.iter().for_each(|e| lengths[*e] += 1);

    // [G, n]: averages over the tokens of each episode.
    let mut average = vec![0f32; episodes * n];
    for (token, episode) in of.tokens.iter().enumerate() {
        average[episode * n + token] = 1.0 / lengths[*episode] as f32;
    }
    let average: Tensor<2> = constant(average, [episodes, n], &device);
    let column = |values: &[f32]| -> Tensor<2> { constant(values.to_vec(), [n, 1], &device) };
    let now: Tensor<2> = now.unsqueeze_dim(1);

    let ratio = average.matmul(now.clone() - column(played)).exp();
    let clipped = ratio.clone().clamp(1.0 - CLIP_LOW, 1.0 + CLIP_HIGH);
    let advantage: Vec<f32> = of.advantages.iter().map(|a| *a as f32).collect();
    let advantage: Tensor<2> = constant(advantage, [episodes, 1], &device);
    let (free, held) = (ratio.clone() * advantage.clone(), clipped * advantage);
    let is_held = held.clone().lower(free.clone());
    let gain = free.mask_where(is_held, held);
    let weights: Vec<f32> =
        lengths.iter().zip(&of.shares).map(|(n, share)| (*n as f64 * share) as f32).collect();
    let weights: Tensor<2> = constant(weights, [episodes, 1], &device);
    let shares: Vec<f32> = of.tokens.iter().map(|episode| of.shares[*episode] as f32).collect();

    let apart = column(reference) - now;
    let divergence = apart.clone().exp() - apart - 1.0;
    let total = (divergence.clone() * column(&shares)).sum() * beta - (gain * weights).sum();

    let ratios = ratio.inner().try_into_vec_as::<f32>().unwrap_or_default();
    let is_clipped = |(ratio, a): (&f32, &f64)| {
        let ratio = f64::from(*ratio);
        (*a > 0.0 && ratio > 1.0 + CLIP_HIGH) || (*a < 0.0 && ratio < 1.0 - CLIP_LOW)
    };
    let clipped = ratios.iter().zip(&of.advantages).filter(|pair| is_clipped(*pair)).count();
    let parts = Parts {
        divergence: f64::from(divergence.inner().mean().into_scalar::<f32>()),
        clipped: clipped as f64 / episodes.max(1) as f64,
    };
    (total / AGGREGATION, parts)
}

fn constant<const D: usize>(values: Vec<f32>, shape: [usize; D], device: &Device) -> Tensor<D> {
    Tensor::from_data(TensorData::new(values, shape), device)
}

#[cfg(test)]
mod tests {
    use super::*;
    use glowworm_model::reference::cpu;

    /// Loss and gradient of `now`.
    fn value(
        now: &[f32],
        played: &[f32],
        reference: &[f32],
        of: &Episodes,
        beta: f64,
    ) -> (f64, Vec<f32>, Parts) {
        let device = cpu().autodiff();
        let now: Tensor<1> = constant(now.to_vec(), [now.len()], &device).require_grad();
        let (loss, parts) = loss(now.clone(), played, reference, of, beta);
        let gradients = loss.backward();
        let gradient = now.grad(&gradients).unwrap().try_into_vec_as::<f32>().unwrap();
        (f64::from(loss.into_scalar::<f32>()), gradient, parts)
    }

    /// A whole group.
    fn group(tokens: &[usize], advantages: &[f64]) -> Episodes {
        let shares = vec![1.0 / advantages.len() as f64; advantages.len()];
        Episodes { tokens: tokens.to_vec(), advantages: advantages.to_vec(), shares }
    }

    fn near(a: f64, b: f64) -> bool {
        (a - b).abs() <= 1e-6 * b.abs().max(1e-3)
    }

    #[test]
    fn before_any_step_the_gradient_is_the_advantage() {
        let group = group(&[0, 0, 1], &[1.5, -0.5]);
        let same = [-1.0, -2.0, -0.5];
        let (loss, gradient, parts) = value(&same, &same, &same, &group, 0.1);
        // Ratios are 1 and k3 is 0: −(2·1.5 − 1·0.5)/(2·1024).
        assert!(near(loss, -2.5 / 2048.0), "{loss}");
        // Of the ratio of episode 0 each token has half, times its two tokens.
        for (found, advantage) in gradient.iter().zip([1.5, 1.5, -0.5]) {
            assert!(near(f64::from(*found), -advantage / 2048.0));
        }
        assert_eq!(parts, Parts { divergence: 0.0, clipped: 0.0 });
    }

    #[test]
    fn one_ratio_a_sequence_and_its_clips() {
        // Episode 0: mean of (0.4, 0.2) is 0.3, ratio 1.34986 > 1.28: held where the advantage is above 0.
        // Episode 1: −0.3, ratio 0.74082 < 0.8: held where it is below 0.
        let (now, played) = ([-0.6, -0.8, -1.3], [-1.0, -1.0, -1.0]);
        let with = |a: f64, b: f64| {
            let group = group(&[0, 0, 1], &[a, b]);
            value(&now, &played, &now, &group, 0.0)
        };
        let (loss, gradient, parts) = with(1.0, -1.0);
        assert!(near(loss, -(2.0 * 1.28 - 0.8) / 2048.0), "{loss}");
        assert!(gradient.iter().all(|g| *g == 0.0) && parts.clipped == 1.0);
        // With the signs the other way round neither clip helps, and nothing is held.
        let (loss, gradient, parts) = with(-1.0, 1.0);
        let (up, down) = (0.3f64.exp(), (-0.3f64).exp());
        assert!(near(loss, -(-2.0 * up + down) / 2048.0), "{loss}");
        for (found, expected) in gradient.iter().zip([up / 2048.0, up / 2048.0, -down / 2048.0]) {
            assert!(near(f64::from(*found), expected));
        }
        assert_eq!(parts.clipped, 0.0);
    }

    #[test]
    fn k3_of_tokens() {
        // f − l is 0.5 and −1: e^0.5 − 0.5 − 1 = 0.148721, e^−1 + 1 − 1 = 0.367879.
        let group = group(&[0, 0], &[0.0]);
        let (now, reference) = ([-1.0, -1.0], [-0.5, -2.0]);
        let (loss, gradient, parts) = value(&now, &now, &reference, &group, 0.04);
        assert!(near(loss, 0.04 * (0.148_721_27 + 0.367_879_44) / 1024.0), "{loss}");
        assert!(near(parts.divergence, (0.148_721_27 + 0.367_879_44) / 2.0));
        // d k3 / d l = 1 − e^(f − l).
        for (found, apart) in gradient.iter().zip([0.5f64, -1.0]) {
            assert!(near(f64::from(*found), 0.04 * (1.0 - apart.exp()) / 1024.0));
        }
    }

    #[test]
    fn the_losses_of_the_parts_of_a_group_add_up() {
        let (now, played, reference) =
            ([-0.6, -0.8, -1.3, -0.2], [-1.0, -0.7, -1.2, -0.3], [-0.5, -1.0, -1.1, -0.9]);
        let (whole, gradient, _) =
            value(&now, &played, &reference, &group(&[0, 0, 1, 1], &[0.7, -0.7]), 0.04);
        let part = |at: std::ops::Range<usize>, advantage: f64| {
            let half = Episodes { tokens: vec![0, 0], advantages: vec![advantage], shares: vec![0.5] };
            value(&now[at.clone()], &played[at.clone()], &reference[at], &half, 0.04)
        };
        let (first, second) = (part(0..2, 0.7), part(2..4, -0.7));
        assert!(near(first.0 + second.0, whole));
        for (found, expected) in first.1.iter().chain(&second.1).zip(gradient) {
            assert!(near(f64::from(*found), f64::from(expected)));
        }
    }
}
