//! Muon for matrices, AdamW for the rest, both Burn's own, and their state by the names of the parameters.

use crate::error::{Error, Result};
use burn::module::{Module, ModuleMapper, ModuleVisitor, Param, ParamId};
use burn::optim::decay::WeightDecayConfig;
use burn::optim::momentum::MomentumConfig;
use burn::optim::{
    AdamW, AdamWConfig, AdamWState, GradientsParams, Muon, MuonConfig, MuonState, Optimizer, RecordState,
    StateSink, StateSource,
};
use burn::tensor::{Device, Tensor, TensorData};
use glowworm_model::reference::Model;
use std::collections::BTreeMap;

/// Muon's weight decay. AdamW has none: embeddings of rare words would fade.
const DECAY: f32 = 0.01;
/// The most that the gradients of AdamW's parameters may measure together.
const LONGEST_GRADIENT: f64 = 1.0;
/// How much longer than usual the gradient of one of Muon's matrices may be. Muon's steps are all of the same size, but its
/// momentum is not: a gradient that outweighs all others in it moves the matrix one way for a hundred steps.
const LONGEST_OF_USUAL: f64 = 4.0;
/// The share that a gradient has in what is usual for its matrix.
const USUAL_SHARE: f64 = 0.02;
/// Narrower matrices (the convolution's taps, the gates of the heads) are AdamW's: there is little to orthogonalise.
const NARROW: usize = 8;

/// Learning rates.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rates {
    /// For matrices.
    pub muon: f64,
    /// For embeddings, vectors and narrow matrices.
    pub adam: f64,
}

impl Rates {
    /// Both, times a factor.
    pub fn times(self, factor: f64) -> Self {
        Self { muon: self.muon * factor, adam: self.adam * factor }
    }
}

/// Which parameters Muon gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Division {
    /// Muon takes the matrices: for training from scratch.
    MuonAndAdam,
    /// AdamW takes all: for small steps from a trained model, where Muon's steps of equal size in all directions would
    /// move what the reward says nothing about.
    AdamAlone,
}

/// Gradients by the names of the parameters, each as a matrix `[rows, columns]`; a vector is one row.
pub struct Gradients {
    of: BTreeMap<String, Tensor<2>>,
    /// What their sum is divided by.
    sets: usize,
}

impl Gradients {
    /// None yet. Those that are added are divided by `sets`, to the mean of so many losses.
    pub fn new(sets: usize) -> Self {
        Self { of: BTreeMap::new(), sets }
    }

    /// Adds the gradients of one loss, or of a part of one.
    pub fn add(&mut self, model: &Model, names: &Names, gradients: GradientsParams) {
        let mut collect = Collect { names, gradients, into: &mut self.of };
        model.visit(&mut collect);
    }

    /// Their mean over the sets.
    fn mean(self) -> BTreeMap<String, Tensor<2>> {
        let scale = 1.0 / self.sets.max(1) as f64;
        self.of.into_iter().map(|(name, g)| (name, if self.sets > 1 { g * scale } else { g })).collect()
    }
}

/// The names of a model's parameters by their identities, which differ from run to run.
#[derive(Clone, Debug)]
pub struct Names(BTreeMap<ParamId, String>);

impl Names {
    /// The names of a model.
    pub fn of(model: &Model) -> Self {
        Self(model.parameters().into_iter().map(|p| (p.id, p.name)).collect())
    }
}

struct Collect<'a> {
    names: &'a Names,
    gradients: GradientsParams,
    into: &'a mut BTreeMap<String, Tensor<2>>,
}

impl ModuleVisitor for Collect<'_> {
    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
        let Some(name) = self.names.0.get(&param.id) else { return };
        if let Some(gradient) = self.gradients.remove::<D>(param.id) {
            let gradient = as_matrix(gradient);
            let sum = match self.into.remove(name) {
                Some(before) => before + gradient,
                None => gradient,
            };
            self.into.insert(name.clone(), sum);
        }
    }
}

fn as_matrix<const D: usize>(x: Tensor<D>) -> Tensor<2> {
    let dims = x.dims();
    let columns = dims[D - 1];
    x.reshape([dims.iter().product::<usize>() / columns.max(1), columns])
}

#[allow(clippy::large_enum_variant, reason = "one a parameter, beside its numbers")]
enum State {
    /// With the length that the gradient usually has, `[1, 1]`.
    Muon(MuonState<2>, Tensor<2>),
    Adam(AdamWState<2>),
}

/// Both optimisers with their states.
pub struct Optimiser {
    muon: Muon,
    adam: AdamW,
    division: Division,
    states: BTreeMap<String, State>,
}

impl Optimiser {
    /// Without any state.
    pub fn new(division: Division) -> Self {
        let momentum = MomentumConfig { momentum: 0.95, dampening: 0.0, nesterov: true };
        let decay = WeightDecayConfig::new(DECAY);
        // A large epsilon: rare tokens get tiny gradients through the softmax alone, which Adam would blow up.
        let adam =
            AdamWConfig::new().with_beta_1(0.9).with_beta_2(0.98).with_epsilon(1e-5).with_weight_decay(0.0);
        Self {
            muon: MuonConfig::new().with_momentum(momentum).with_weight_decay(Some(decay)).build(),
            adam: adam.build(),
            division,
            states: BTreeMap::new(),
        }
    }

    fn is_muon(&self, name: &str, [rows, columns]: [usize; 2]) -> bool {
        self.division == Division::MuonAndAdam && !name.starts_with("embed") && rows.min(columns) > NARROW
    }

    /// Moves a model against the mean of some gradients; gives back how long AdamW's part of them was before it was cut.
    ///
    /// # Errors
    /// When the device cannot be read.
    pub fn step(
        &mut self,
        model: Model,
        names: &Names,
        gradients: Gradients,
        rates: Rates,
    ) -> Result<(Model, f64)> {
        let mut gradients = gradients.mean();
        let mut squares = Vec::new();
        for (name, gradient) in &gradients {
            if !self.is_muon(name, gradient.dims()) {
                squares.push(gradient.clone().square().sum());
            }
        }
        let length = match squares.is_empty() {
            true => 0.0,
            false => f64::from(Tensor::cat(squares, 0).sum().into_scalar::<f32>()).sqrt(),
        };
        if length > LONGEST_GRADIENT {
            let scale = LONGEST_GRADIENT / (length + 1e-6);
            for (name, gradient) in &mut gradients {
                if !self.is_muon(name, gradient.dims()) {
                    *gradient = gradient.clone() * scale;
                }
            }
        }
        let model = model.map(&mut Update { optimiser: self, names, gradients, rates });
        Ok((model, length))
    }

    fn update(&mut self, name: &str, weight: Tensor<2>, gradient: Tensor<2>, rates: Rates) -> Tensor<2> {
        let (weight, state) = if self.is_muon(name, weight.dims()) {
            let (state, usual) = match self.states.remove(name) {
                Some(State::Muon(state, usual)) => (Some(state), Some(usual)),
                _ => (None, None),
            };
            let length = gradient.clone().square().sum().sqrt().reshape([1, 1]);
            let usual = usual.unwrap_or_else(|| length.clone());
            let kept = length.clone().min_pair(usual.clone() * LONGEST_OF_USUAL);
            let gradient = gradient * (kept.clone() / (length + 1e-12));
            let usual = usual * (1.0 - USUAL_SHARE) + kept * USUAL_SHARE;
            let (weight, state) = self.muon.step(rates.muon, weight, gradient, state);
            (weight, state.map(|state| State::Muon(state, usual)))
        } else {
            let state = match self.states.remove(name) {
                Some(State::Adam(state)) => Some(state),
                _ => None,
            };
            let (weight, state) = self.adam.step(rates.adam, weight, gradient, state);
            (weight, state.map(State::Adam))
        };
        if let Some(state) = state {
            self.states.insert(name.to_owned(), state);
        }
        weight
    }

    /// The states as named tensors, and as named counts.
    pub fn record(&self) -> (Vec<(String, TensorData)>, BTreeMap<String, u64>) {
        let mut sink = StateSink::default();
        for (name, state) in &self.states {
            match state {
                State::Muon(state, usual) => {
                    state.state_flatten(name, &mut sink);
                    sink.tensors.push((usual_name(name), usual.to_data()));
                }
                State::Adam(state) => state.state_flatten(name, &mut sink),
            }
        }
        let counts =
            sink.scalars.into_iter().filter_map(|(name, value)| Some((name, value.try_into().ok()?)));
        (sink.tensors, counts.collect())
    }

    /// Takes the states of [`Optimiser::record`] back, for the parameters of `model`.
    ///
    /// # Errors
    /// When the state of a parameter is missing.
    pub fn restore(
        &mut self,
        model: &Model,
        tensors: Vec<(String, TensorData)>,
        counts: BTreeMap<String, u64>,
        device: &Device,
    ) -> Result<()> {
        let mut source = StateSource::new(counts.into_iter().map(|(name, n)| (name, n.into())).collect());
        let mut usual: BTreeMap<String, TensorData> = BTreeMap::new();
        for (name, data) in tensors {
            if name.ends_with(USUAL) {
                usual.insert(name, data);
            } else {
                source.insert_tensor(name, data);
            }
        }
        for parameter in model.parameters() {
            let columns = parameter.shape.last().copied().unwrap_or(1);
            let rows = parameter.shape.iter().product::<usize>() / columns.max(1);
            let state = if self.is_muon(&parameter.name, [rows, columns]) {
                MuonState::state_unflatten(&parameter.name, &mut source, device)
                    .zip(usual.remove(&usual_name(&parameter.name)))
                    .map(|(state, usual)| State::Muon(state, Tensor::from_data(usual, device)))
            } else {
                AdamWState::state_unflatten(&parameter.name, &mut source, device).map(State::Adam)
            };
            let state = state.ok_or_else(|| Error::Broken {
                path: "the checkpoint".into(),
                problem: format!("it has no optimiser state of {}", parameter.name),
            })?;
            self.states.insert(parameter.name, state);
        }
        Ok(())
    }
}

/// Ends the name of what is usual for a matrix.
const USUAL: &str = ".usual_length";

fn usual_name(parameter: &str) -> String {
    format!("{parameter}{USUAL}")
}

struct Update<'a> {
    optimiser: &'a mut Optimiser,
    names: &'a Names,
    gradients: BTreeMap<String, Tensor<2>>,
    rates: Rates,
}

impl ModuleMapper for Update<'_> {
    fn map_float<const D: usize>(&mut self, param: Param<Tensor<D>>) -> Param<Tensor<D>> {
        let found = self.names.0.get(&param.id).and_then(|name| Some((name, self.gradients.remove(name)?)));
        let Some((name, gradient)) = found else { return param };
        param.map(|weight| {
            let shape = weight.dims();
            let weight = self.optimiser.update(name, as_matrix(weight.inner()), gradient, self.rates);
            Tensor::from_inner(weight.reshape(shape)).require_grad()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use burn::tensor::Distribution;

    #[test]
    fn one_gradient_that_outweighs_all_others_does_not_decide_the_steps_after_it() {
        let device = Device::flex();
        device.seed(1);
        let draw = || Tensor::<2>::random([24, 16], Distribution::Normal(0.0, 1.0), &device);
        let (usual, strange) = (draw(), draw());
        let rates = Rates { muon: 1.0, adam: 1.0 };
        let mut optimiser = Optimiser::new(Division::MuonAndAdam);
        let mut weight = Tensor::<2>::zeros([24, 16], &device);
        let mut before = weight.clone();
        for step in 0..40 {
            if step == 20 {
                before = weight.clone();
            }
            let gradient = if step == 10 { strange.clone() * 1e6 } else { usual.clone() };
            weight = optimiser.update("layers.0.mlp.up.weight", weight, gradient, rates);
        }
        let moved = before - weight;
        let length = |x: &Tensor<2>| x.clone().square().sum().sqrt();
        let cosine = (moved.clone() * usual.clone()).sum() / (length(&moved) * length(&usual));
        assert!(cosine.into_scalar::<f32>() > 0.7);
    }
}
