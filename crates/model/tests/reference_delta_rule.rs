//! The two forms of the delta rule compute the same.

#![allow(clippy::expect_used, clippy::unwrap_used, reason = "a panic is how a test reports")]

use burn::tensor::{Distribution, Tensor};
use glowworm_model::reference::delta_rule::{chunked, token_by_token};
use glowworm_model::reference::{Device, cpu};

/// Inputs of the delta rule, and a state to start from.
#[derive(Clone)]
struct Inputs {
    q: Tensor<4>,
    k: Tensor<4>,
    v: Tensor<4>,
    g: Tensor<3>,
    beta: Tensor<3>,
    state: Tensor<4>,
}

const HEADS: usize = 3;
const KEY: usize = 8;
const VALUE: usize = 5;

fn random(tokens: usize, device: &Device) -> Inputs {
    let normal = Distribution::Normal(0.0, 1.0);
    let unit = |x: Tensor<4>| x.clone() / x.square().sum_dim(3).sqrt();
    Inputs {
        q: unit(Tensor::random([2, HEADS, tokens, KEY], normal, device)),
        k: unit(Tensor::random([2, HEADS, tokens, KEY], normal, device)),
        v: Tensor::random([2, HEADS, tokens, VALUE], normal, device),
        g: Tensor::random([2, HEADS, tokens], Distribution::Uniform(-3.0, 0.0), device),
        beta: Tensor::random([2, HEADS, tokens], Distribution::Uniform(0.0, 1.0), device),
        state: Tensor::random([2, HEADS, KEY, VALUE], normal, device),
    }
}

fn largest<const N: usize>(x: Tensor<N>) -> f32 {
    x.abs().max().into_scalar()
}

/// Largest differences of the outputs and of the final states, and the largest output.
fn compare(inputs: Inputs, chunk: usize) -> (f32, f32, f32) {
    let Inputs { q, k, v, g, beta, state } = inputs.clone();
    let (expected, expected_state) = token_by_token(q, k, v, g, beta, state);
    let Inputs { q, k, v, g, beta, state } = inputs;
    let (o, state) = chunked(q, k, v, g, beta, state, chunk);
    assert_eq!(o.dims(), expected.dims());
    let size = largest(expected.clone());
    (largest(o - expected), largest(state - expected_state), size)
}

#[test]
fn chunks_of_every_size_agree_with_the_recurrence() {
    let device = cpu();
    device.seed(1);
    for tokens in [1, 2, 5, 63, 64, 65, 130] {
        for chunk in [1, 2, 4, 16, 64] {
            let (output, state, _) = compare(random(tokens, &device), chunk);
            assert!(output < 1e-5 && state < 1e-5, "{tokens} tokens by {chunk}: {output:.1e}, {state:.1e}");
        }
    }
}

/// The hard case of the triangular system: one key over and over, nothing forgotten, every token overwriting the last.
/// Here the powers of `A` reach 10¹⁷.
#[test]
fn repeated_keys_lose_no_accuracy() {
    let device = cpu();
    device.seed(2);
    let tokens = 128;
    let mut inputs = random(tokens, &device);
    inputs.k = inputs.k.narrow(2, 0, 1).repeat_dim(2, tokens);
    inputs.g = inputs.g.zeros_like();
    inputs.beta = inputs.beta.ones_like();
    let (output, state, size) = compare(inputs, 64);
    assert!(size > 1.0 && output < 1e-5 && state < 1e-5, "{output:.1e}, {state:.1e}");
}

/// A decay of e^-100 a token: sums of g reach -6400, and their differences must not turn into infinities.
#[test]
fn strong_decay_stays_finite() {
    let device = cpu();
    device.seed(3);
    let mut inputs = random(64, &device);
    inputs.g = inputs.g.zeros_like() - 100.0;
    let (output, state, size) = compare(inputs, 64);
    assert!(size.is_finite() && output < 1e-5 && state < 1e-5, "{output:.1e}, {state:.1e}");
}

/// By hand: one head, keys and values of width 1, so that S is a number.
#[test]
fn recurrence_by_hand() {
    let device = cpu();
    let row = |values: [f32; 3]| Tensor::<1>::from_floats(values, &device).reshape([1, 1, 3, 1]);
    let numbers = |values: [f32; 3]| Tensor::<1>::from_floats(values, &device).reshape([1, 1, 3]);
    let half = 0.5f32.ln();
    // t = 0: S = 0, δ = ½ (2 − 0) = 1, S = 1.
    // t = 1: S = ½, δ = 1 (3 − ½) = 2½, S = 3.
    // t = 2: S = 1½, k = 0: S stays; o = 2 · 1½.
    let (o, state) = token_by_token(
        row([1.0, 1.0, 2.0]),
        row([1.0, 1.0, 0.0]),
        row([2.0, 3.0, 9.0]),
        numbers([0.0, half, half]),
        numbers([0.5, 1.0, 1.0]),
        Tensor::zeros([1, 1, 1, 1], &device),
    );
    assert_eq!(o.try_into_vec_as::<f32>().unwrap(), [1.0, 3.0, 3.0]);
    assert_eq!(state.try_into_vec_as::<f32>().unwrap(), [1.5]);
}
