//! How probable a model finds what it is to learn.

use super::batches::Batch;
use burn::tensor::activation::log_softmax;
use burn::tensor::{Device, Int, Tensor, TensorData};
use glowworm_model::reference::{Capture, Model};

/// The tokens of a batch that are to be learnt, and where they are predicted.
pub struct Targets {
    /// All tokens, `[B, T]`.
    ids: Tensor<2, Int>,
    /// Rows of the flattened `[B·T]` after which a token to learn comes, `[n]`.
    places: Tensor<1, Int>,
    /// That token, `[n, 1]`.
    targets: Tensor<2, Int>,
}

impl Targets {
    /// The targets of a batch on a device.
    pub fn new(batch: &Batch, device: &Device) -> Self {
        let at: Vec<usize> = batch.places().map(|(row, at)| row * batch.width + at).collect();
        let places: Vec<i32> = at.iter().map(|at| *at as i32).collect();
        let targets: Vec<i32> = at.iter().map(|at| batch.ids[at + 1]).collect();
        let n = places.len();
        Self {
            ids: Tensor::from_data(TensorData::new(batch.ids.clone(), [batch.rows, batch.width]), device),
            places: Tensor::from_data(TensorData::new(places, [n]), device),
            targets: Tensor::from_data(TensorData::new(targets, [n, 1]), device),
        }
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.places.dims()[0]
    }

    /// Whether there is nothing to learn.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Logits where the targets are predicted. The head is by far the widest matrix, so it sees these places only.
    ///
    /// # Shapes
    /// - output: `[n, vocab]`
    fn logits(&self, model: &Model) -> Tensor<2> {
        let h = model.hidden(self.ids.clone(), None, &mut Capture::off());
        let h: Tensor<2> = h.flatten(0, 1);
        model.logits(h.select(0, self.places.clone()))
    }

    /// The logarithm of each target's probability.
    ///
    /// # Shapes
    /// - output: `[n]`
    pub fn log_probabilities(&self, model: &Model) -> Tensor<1> {
        log_softmax(self.logits(model), 1).gather(1, self.targets.clone()).squeeze_dim(1)
    }

    /// The mean loss, and the share of targets that are the likeliest token, `[1]` each; the second has no gradient.
    pub fn loss(&self, model: &Model) -> (Tensor<1>, Tensor<1>) {
        let logits = self.logits(model);
        let best = logits.clone().inner().argmax(1);
        let right = best.equal(self.targets.clone().inner()).float().mean();
        let loss = log_softmax(logits, 1).gather(1, self.targets.clone()).mean().neg();
        (loss, right)
    }
}
