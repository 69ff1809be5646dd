//! One layer of the trunk.

use burn::module::Module;
use burn::tensor::{Device, Int, Tensor};

use super::{AttentionState, Capture, DeltaState, FullAttention, GatedDeltaNet, Mlp, RmsNorm, Rotary};

/// `h ← h + mixer(norm(h))`, then `h ← h + mlp(norm(h))`.
#[derive(Module, Debug)]
pub struct DecoderLayer {
    /// Before the mixer.
    pub input_layernorm: RmsNorm,
    /// What lets tokens see each other.
    pub mixer: Mixer,
    /// Before the MLP.
    pub post_attention_layernorm: RmsNorm,
    /// What works on each token alone.
    pub mlp: Mlp,
}

/// What lets tokens see each other.
#[derive(Module, Debug)]
#[allow(clippy::large_enum_variant, reason = "a few dozen of them, each beside megabytes of weights")]
pub enum Mixer {
    /// Three layers of four.
    Linear(GatedDeltaNet),
    /// Every fourth layer.
    Full(FullAttention),
}

/// What a mixer keeps of the tokens so far.
#[derive(Debug, Clone)]
pub enum MixerState {
    /// Of a linear layer.
    Linear(DeltaState),
    /// Of an attention layer.
    Full(AttentionState),
}

impl MixerState {
    /// The state of some of the sequences, in this order.
    pub(super) fn rows(&self, rows: &Tensor<1, Int>) -> Self {
        match self {
            Self::Linear(state) => Self::Linear(state.rows(rows)),
            Self::Full(state) => Self::Full(state.rows(rows)),
        }
    }
}

impl DecoderLayer {
    /// # Shapes
    /// - h: `[B, T, d]`
    /// - output: `[B, T, d]`
    pub fn forward(
        &self,
        h: Tensor<3>,
        rotary: &Rotary,
        state: Option<&mut MixerState>,
        capture: &mut Capture,
    ) -> Tensor<3> {
        let x = self.input_layernorm.forward(h.clone());
        capture.in_layer("input_norm", &x);
        let mixed = self.mixer.forward(x, rotary, state, capture);
        capture.in_layer("mixer_out", &mixed);
        let h = h + mixed;

        let x = self.post_attention_layernorm.forward(h.clone());
        let x = self.mlp.forward(x);
        capture.in_layer("mlp_out", &x);
        let h = h + x;
        capture.in_layer("out", &h);
        h
    }
}

impl Mixer {
    /// # Shapes
    /// - x: `[B, T, d]`
    /// - output: `[B, T, d]`
    ///
    /// # Panics
    /// With the state of the other kind of mixer, which [`super::Model::start`] never makes.
    pub fn forward(
        &self,
        x: Tensor<3>,
        rotary: &Rotary,
        state: Option<&mut MixerState>,
        capture: &mut Capture,
    ) -> Tensor<3> {
        match (self, state) {
            (Self::Linear(net), None) => net.forward(x, None, capture),
            (Self::Linear(net), Some(MixerState::Linear(state))) => net.forward(x, Some(state), capture),
            (Self::Full(attention), None) => attention.forward(x, rotary, None, capture),
            (Self::Full(attention), Some(MixerState::Full(state))) => {
                attention.forward(x, rotary, Some(state), capture)
            }
            (Self::Linear(_), Some(MixerState::Full(_))) | (Self::Full(_), Some(MixerState::Linear(_))) => {
                panic!("a state was made for another model than the one it is used with")
            }
        }
    }

    /// The state before the first token.
    pub fn start(&self, batch: usize, device: &Device) -> MixerState {
        match self {
            Self::Linear(net) => MixerState::Linear(net.start(batch, device)),
            Self::Full(_) => MixerState::Full(AttentionState::default()),
        }
    }
}
