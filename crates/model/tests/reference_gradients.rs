//! Gradients through the reference model.

#![allow(clippy::expect_used, clippy::unwrap_used, reason = "a panic is how a test reports")]

mod reference_support;

use burn::tensor::{Distribution, Tensor};
use glowworm_model::reference::delta_rule::{chunked, token_by_token};
use glowworm_model::reference::{Capture, Device, Model, cpu};
use glowworm_tests::Fixture;
use reference_support::{checkpoint, distance, values};

/// Gradients of a random weighting of outputs and final state, with regard to each of the six inputs.
fn delta_rule_gradients(chunk: usize, device: &Device) -> Vec<Vec<f32>> {
    device.seed(7);
    let (heads, tokens, width) = (2, 70, 8);
    let normal = Distribution::Normal(0.0, 1.0);
    let unit = |x: Tensor<4>| x.clone() / x.square().sum_dim(3).sqrt();
    let wide = || Tensor::<4>::random([1, heads, tokens, width], normal, device);
    let numbers = |low, high| {
        Tensor::<3>::random([1, heads, tokens], Distribution::Uniform(low, high), device).require_grad()
    };
    let q = unit(wide()).detach().require_grad();
    let k = unit(wide()).detach().require_grad();
    let v = wide().require_grad();
    let (g, beta) = (numbers(-1.0, 0.0), numbers(0.0, 1.0));
    let state = Tensor::<4>::random([1, heads, width, width], normal, device).require_grad();
    let (output_weight, state_weight) = (wide(), state.clone().detach());

    let inputs = (q.clone(), k.clone(), v.clone(), g.clone(), beta.clone(), state.clone());
    let (o, last) = match chunk {
        1 => token_by_token(inputs.0, inputs.1, inputs.2, inputs.3, inputs.4, inputs.5),
        _ => chunked(inputs.0, inputs.1, inputs.2, inputs.3, inputs.4, inputs.5, chunk),
    };
    let loss = (o * output_weight).sum() + (last * state_weight).sum();
    let gradients = loss.backward();
    [q, k, v, state]
        .iter()
        .map(|x| values(x.grad(&gradients).expect("every input has a gradient")))
        .chain([g, beta].iter().map(|x| values(x.grad(&gradients).expect("every input has a gradient"))))
        .collect()
}

#[test]
fn chunked_delta_rule_has_the_gradients_of_the_recurrence() {
    let device = cpu().autodiff();
    let expected = delta_rule_gradients(1, &device);
    for chunk in [16, 64] {
        let gradients = delta_rule_gradients(chunk, &device);
        for (index, (a, b)) in expected.iter().zip(&gradients).enumerate() {
            let size = a.iter().fold(0.0f32, |max, x| max.max(x.abs()));
            let difference = distance(a, b);
            assert!(difference < 1e-4 * size.max(1.0), "chunk {chunk}, input {index}: {difference:.1e}");
        }
    }
}

/// Mean loss of each token of a fixture's prompt given those before it, and no state kept.
fn loss(model: &Model, ids: &[u32]) -> Tensor<1> {
    let tokens = ids.len() - 1;
    let h = model.hidden(model.ids(&ids[..tokens]), None, &mut Capture::off());
    let log_odds = burn::tensor::activation::log_softmax(model.logits(h), 2);
    let next = model.ids(&ids[1..]).reshape([1, tokens, 1]);
    log_odds.gather(2, next).mean().neg()
}

/// Each parameter is moved a little along its gradient: the loss must fall by the gradient's square times that little.
#[test]
fn every_parameter_has_the_gradient_that_the_loss_shows() {
    let ids = Fixture::open("grp").prompt(70);
    let plain = checkpoint("grp", &cpu());
    let base = f64::from(loss(&plain, &ids).into_scalar::<f32>());

    let model = checkpoint("grp", &cpu().autodiff());
    let gradients = loss(&model, &ids).backward();
    let gradients = model.gradients(&gradients).expect("the CPU answers");
    let parameters = model.parameters();
    assert_eq!(parameters.len(), gradients.tensors.len());

    let weights = plain.weights().expect("the CPU answers");
    for parameter in parameters {
        let (_, gradient) = &gradients.tensors[&parameter.name];
        let square: f64 = gradient.iter().map(|x| f64::from(*x).powi(2)).sum();
        assert!(square > 0.0, "{} has no gradient", parameter.name);
        // A step that moves the loss by about 1e-3, both ways, so that the curvature cancels.
        let step = 1e-3 / square;
        let at = |sign: f64| {
            let mut moved = weights.clone();
            let (_, values) = moved.tensors.get_mut(&parameter.name).expect("same names");
            for (value, slope) in values.iter_mut().zip(gradient) {
                *value += (sign * step * f64::from(*slope)) as f32;
            }
            let model = Model::from_source(plain.config().clone(), &mut moved, &cpu()).expect("same shapes");
            f64::from(loss(&model, &ids).into_scalar::<f32>())
        };
        let (up, down) = (at(1.0), at(-1.0));
        let measured = (up - down) / 2e-3;
        assert!(
            (measured - 1.0).abs() < 0.05,
            "{}: the loss of {base:.4} moves to {up:.5} and {down:.5}, {measured:.3} of what the gradient says",
            parameter.name,
        );
    }
}
