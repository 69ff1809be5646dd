//! The whole model.

use burn::module::{Module, Param};
use burn::tensor::module::{embedding, linear};
use burn::tensor::{Device, Int, Tensor, TensorData};

use super::{Capture, DecoderLayer, Mixer, MixerState, Projection, RmsNorm, Rotary};
use crate::Config;

/// A Qwen3.5 text model: `h = E[ids]`, the layers, and `logits = norm(h) Eᵀ`.
///
/// ```no_run
/// use glowworm_model::reference::{Capture, Model, cpu};
/// # fn main() -> glowworm_model::Result<()> {
/// let model = Model::from_gguf_file("model-Q8_0.gguf".as_ref(), &cpu())?;
/// let mut state = model.start(1);
/// let logits = model.forward(model.ids(&[1, 2, 3]), &mut state, &mut Capture::off());
/// assert_eq!(logits.dims(), [1, 3, model.config().vocab_size]);
/// # Ok(())
/// # }
/// ```
#[derive(Module, Debug)]
pub struct Model {
    /// `E`, `[vocab, d]`.
    pub embed_tokens: Param<Tensor<2>>,
    /// The trunk.
    pub layers: Vec<DecoderLayer>,
    /// Before the head.
    pub norm: RmsNorm,
    /// The head, `[vocab, d]`, where it is not `E`.
    pub lm_head: Option<Projection>,
    #[module(skip)]
    pub(super) config: Config,
}

/// All that the model keeps of the tokens so far: position, recurrent and convolution states, KV caches. Cloning it is
/// cheap (tensors are shared until one side writes) and is how a prefix is kept for later.
#[derive(Debug, Clone)]
pub struct State {
    /// Tokens read.
    pub position: usize,
    /// One a layer.
    pub layers: Vec<MixerState>,
}

impl State {
    /// The state of some of the sequences, in the order of `rows`, `[B']`.
    pub fn rows(&self, rows: &Tensor<1, Int>) -> Self {
        Self { position: self.position, layers: self.layers.iter().map(|layer| layer.rows(rows)).collect() }
    }
}

impl Model {
    /// The shape of the model.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// Where the weights are.
    pub fn device(&self) -> Device {
        self.embed_tokens.val().device()
    }

    /// The state before the first token, for `batch` sequences of the same length.
    pub fn start(&self, batch: usize) -> State {
        let device = self.device();
        let layers = self.layers.iter().map(|layer| layer.mixer.start(batch, &device)).collect();
        State { position: 0, layers }
    }

    /// Token ids as a tensor on the model's device.
    ///
    /// # Shapes
    /// - output: `[1, T]`
    pub fn ids(&self, ids: &[u32]) -> Tensor<2, Int> {
        let ids: Vec<i32> = ids.iter().map(|&id| id as i32).collect();
        let shape = [1, ids.len()];
        Tensor::from_data(TensorData::new(ids, shape), &self.device())
    }

    /// Logits for the token after each of the given ones, which follow those in `state`.
    ///
    /// # Shapes
    /// - ids: `[B, T]`, each below `vocab_size`
    /// - output: `[B, T, vocab]`
    pub fn forward(&self, ids: Tensor<2, Int>, state: &mut State, capture: &mut Capture) -> Tensor<3> {
        self.logits(self.hidden(ids, Some(state), capture))
    }

    /// What the head reads: the stream after the last layer, normed. Without a state the sequences start here and
    /// nothing is kept, which is how to train.
    ///
    /// # Shapes
    /// - ids: `[B, T]`
    /// - output: `[B, T, d]`
    pub fn hidden(
        &self,
        ids: Tensor<2, Int>,
        mut state: Option<&mut State>,
        capture: &mut Capture,
    ) -> Tensor<3> {
        let tokens = ids.dims()[1];
        let position = state.as_ref().map_or(0, |state| state.position);
        let (rope_dim, theta) = (self.config.rope_dim, self.config.rope_theta);
        let rotary = Rotary::new(position, tokens, rope_dim, theta, &ids.device());

        let mut h = embedding(self.embed_tokens.val(), ids);
        capture.outside("embed", &h);
        for (index, layer) in self.layers.iter().enumerate() {
            capture.enter_layer(index);
            let state = state.as_mut().map(|state| &mut state.layers[index]);
            h = layer.forward(h, &rotary, state, capture);
        }
        if let Some(state) = state {
            state.position += tokens;
        }
        let h = self.norm.forward(h);
        capture.outside("final_norm", &h);
        h
    }

    /// The head. Where only some positions matter, select them first: the vocabulary is the widest matrix by far.
    ///
    /// # Shapes
    /// - h: `[..., d]`
    /// - output: `[..., vocab]`
    pub fn logits<const N: usize>(&self, h: Tensor<N>) -> Tensor<N> {
        match &self.lm_head {
            Some(head) => head.forward(h),
            None => linear(h, self.embed_tokens.val().transpose(), None),
        }
    }

    /// The same model with the delta rule in chunks of `chunk` tokens, a power of two; 1 goes token by token.
    ///
    /// # Panics
    /// If `chunk` is no power of two.
    pub fn with_chunk(mut self, chunk: usize) -> Self {
        assert!(chunk.is_power_of_two(), "chunks of {chunk} tokens: not a power of two");
        for layer in &mut self.layers {
            if let Mixer::Linear(net) = &mut layer.mixer {
                net.chunk = chunk;
            }
        }
        self
    }
}
