//! Looking inside a forward pass.

use std::collections::BTreeMap;

use burn::tensor::Tensor;

/// Collects activations by name on the way through the model, or ignores them.
///
/// Names: `embed`, `final_norm`, and for layer N `lN.input_norm`, `lN.qkv_preconv` (linear layers), `lN.q_proj`
/// (attention layers: queries and gates), `lN.mixer_out`, `lN.mlp_out`, `lN.out`. When a kernel disagrees with the
/// reference, the first of these that differs says where to look.
#[derive(Debug, Default)]
pub struct Capture {
    seen: Option<BTreeMap<String, Tensor<3>>>,
    layer: usize,
}

impl Capture {
    /// Ignores everything.
    pub fn off() -> Self {
        Self::default()
    }

    /// Collects everything.
    pub fn on() -> Self {
        Self { seen: Some(BTreeMap::new()), layer: 0 }
    }

    /// What was collected, by name; empty for [`Capture::off`].
    ///
    /// # Shapes
    /// - each: `[B, T, width]`
    pub fn into_activations(self) -> BTreeMap<String, Tensor<3>> {
        self.seen.unwrap_or_default()
    }

    pub(super) fn enter_layer(&mut self, layer: usize) {
        self.layer = layer;
    }

    /// An activation of the layer entered last.
    pub(super) fn in_layer(&mut self, name: &str, x: &Tensor<3>) {
        let layer = self.layer;
        self.note(|| format!("l{layer}.{name}"), x);
    }

    /// An activation outside the layers.
    pub(super) fn outside(&mut self, name: &str, x: &Tensor<3>) {
        self.note(|| name.to_owned(), x);
    }

    fn note(&mut self, name: impl FnOnce() -> String, x: &Tensor<3>) {
        if let Some(seen) = &mut self.seen {
            seen.insert(name(), x.clone());
        }
    }
}
