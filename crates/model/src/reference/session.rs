//! The reference model as a device: tokens in, logits out.

use std::path::Path;

use burn::tensor::Tensor;

use super::{Capture, Model, State, cpu};
use crate::{Error, Result};

/// Tokens of a prompt that are read at a time, to bound memory.
const PIECE: usize = 512;

/// A model and one growing sequence.
///
/// Appending one token costs the same however many came before, but for the attention to them.
#[derive(Debug, Clone)]
pub struct CpuModel {
    model: Model,
    state: State,
}

/// The sequence of a [`CpuModel`] at one position. Holds no weights.
#[derive(Debug, Clone)]
pub struct Snapshot(State);

impl CpuModel {
    /// An empty sequence for a model, on whatever device it is.
    pub fn new(model: Model) -> Self {
        let state = model.start(1);
        Self { model, state }
    }

    /// Reads a GGUF file on the CPU.
    ///
    /// # Errors
    /// As [`Model::from_gguf_file`].
    pub fn from_gguf_file(path: &Path) -> Result<Self> {
        Ok(Self::new(Model::from_gguf_file(path, &cpu())?))
    }

    /// The model.
    pub fn model(&self) -> &Model {
        &self.model
    }

    /// Tokens in the sequence.
    pub fn position(&self) -> usize {
        self.state.position
    }

    /// Appends tokens and gives back the logits for the one after the last, `vocab_size` of them.
    ///
    /// # Errors
    /// If there are no tokens, or one lies outside the vocabulary. The sequence is then as it was.
    pub fn append(&mut self, ids: &[u32]) -> Result<Vec<f32>> {
        self.check(ids)?;
        let mut last = None;
        for piece in ids.chunks(PIECE) {
            let h = self.model.hidden(self.model.ids(piece), Some(&mut self.state), &mut Capture::off());
            last = Some(h.narrow(1, piece.len() - 1, 1));
        }
        let h = last.ok_or_else(|| problem("no tokens to append"))?;
        values(self.model.logits(h))
    }

    /// Appends tokens and gives back the logits after each of them, `[T, vocab_size]` row-major.
    ///
    /// # Errors
    /// As [`CpuModel::append`].
    pub fn append_all(&mut self, ids: &[u32]) -> Result<Vec<f32>> {
        self.check(ids)?;
        let mut all = Vec::with_capacity(ids.len() * self.model.config().vocab_size);
        for piece in ids.chunks(PIECE) {
            let logits = self.model.forward(self.model.ids(piece), &mut self.state, &mut Capture::off());
            all.extend(values(logits)?);
        }
        Ok(all)
    }

    /// The sequence as it is now, to come back to.
    pub fn snapshot(&self) -> Snapshot {
        Snapshot(self.state.clone())
    }

    /// Goes back (or forward) to a snapshot of the same model.
    pub fn restore(&mut self, snapshot: &Snapshot) {
        self.state = snapshot.0.clone();
    }

    /// Starts over with an empty sequence.
    pub fn clear(&mut self) {
        self.state = self.model.start(1);
    }

    fn check(&self, ids: &[u32]) -> Result<()> {
        let tokens = self.model.config().vocab_size;
        if ids.is_empty() {
            return Err(problem("no tokens to append"));
        }
        match ids.iter().find(|id| **id as usize >= tokens) {
            Some(id) => Err(problem(&format!("there is no token {id} in a vocabulary of {tokens}"))),
            None => Ok(()),
        }
    }
}

fn problem(text: &str) -> Error {
    Error::Reference { problem: text.into() }
}

fn values(logits: Tensor<3>) -> Result<Vec<f32>> {
    logits
        .try_into_vec_as::<f32>()
        .map_err(|error| problem(&format!("reading the logits from the device: {error}")))
}
