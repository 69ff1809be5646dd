//! The gated delta net: a causal convolution and a recurrent state in place of attention.

use burn::module::{Module, Param};
use burn::tensor::activation::{sigmoid, silu, softplus};
use burn::tensor::{Device, Int, Tensor};

use super::delta_rule::{chunked, token_by_token};
use super::norm::{l2, rms};
use super::{Capture, Projection};
use crate::ValueHeadOrder;

/// Gated delta net with `n` key heads of width `K` and `H` value heads of width `V`.
///
/// ```text
/// u = silu(conv(x Wqkv))                     causal, one filter a channel, no bias
/// q, k, v = u split;  q ← q/|q| / √K;  k ← k/|k|
/// β = sigmoid(x Wb);  g = −exp(A) · softplus(x Wa + dt)
/// o = gated delta rule of q, k, v, g, β
/// y = (norm(o) ⊙ silu(x Wz)) Woutᵀ           norm over each head, before the gate
/// ```
#[derive(Module, Debug)]
pub struct GatedDeltaNet {
    /// `[C, d]`, channels `C = 2·n·K + H·V`: all queries, all keys, all values, each head by head.
    pub in_proj_qkv: Projection,
    /// `[H·V, d]`.
    pub in_proj_z: Projection,
    /// `[H, d]`.
    pub in_proj_b: Projection,
    /// `[H, d]`.
    pub in_proj_a: Projection,
    /// `[C, taps]`; the last tap is the current token's.
    pub conv1d: Param<Tensor<2>>,
    /// Logarithm of the decay rate, `[H]`. GGUF files hold `−exp(A_log)`.
    pub a_log: Param<Tensor<1>>,
    /// `[H]`.
    pub dt_bias: Param<Tensor<1>>,
    /// `[V]`, one for all heads. A plain factor, not zero-centred, in GGUF and elsewhere.
    pub norm: Param<Tensor<1>>,
    /// `[d, H·V]`.
    pub out_proj: Projection,
    /// `n`.
    pub key_heads: usize,
    /// `H`, a multiple of `n`.
    pub value_heads: usize,
    /// `K`.
    pub key_dim: usize,
    /// `V`.
    pub value_dim: usize,
    /// `ε` of the norm.
    pub eps: f64,
    /// Tokens a chunk of the delta rule, a power of two; 1 goes token by token.
    pub chunk: usize,
    /// Which key head a value head reads.
    #[module(skip)]
    pub order: ValueHeadOrder,
}

/// What a delta net keeps of the tokens so far. Its size does not depend on how many they were, and it cannot be
/// wound back: to return to a position, keep a copy of it.
#[derive(Debug, Clone)]
pub struct DeltaState {
    /// The last `taps − 1` columns before the convolution, `[B, taps − 1, C]`.
    pub conv: Tensor<3>,
    /// `S`, `[B, H, K, V]`.
    pub recurrent: Tensor<4>,
}

impl DeltaState {
    /// The state of some of the sequences, in this order.
    pub(super) fn rows(&self, rows: &Tensor<1, Int>) -> Self {
        Self {
            conv: self.conv.clone().select(0, rows.clone()),
            recurrent: self.recurrent.clone().select(0, rows.clone()),
        }
    }
}

impl GatedDeltaNet {
    /// Reads the tokens after those in `state`, and adds them to it. Without a state the sequence starts here and
    /// nothing is kept.
    ///
    /// # Shapes
    /// - x: `[B, T, d]`
    /// - output: `[B, T, d]`
    pub fn forward(&self, x: Tensor<3>, state: Option<&mut DeltaState>, capture: &mut Capture) -> Tensor<3> {
        let [batch, tokens, _] = x.dims();

        let qkv = self.in_proj_qkv.forward(x.clone());
        capture.in_layer("qkv_preconv", &qkv);
        let z = self.in_proj_z.forward(x.clone());
        let beta = sigmoid(self.in_proj_b.forward(x.clone()));
        let step = softplus(self.in_proj_a.forward(x) + self.dt_bias.val().unsqueeze(), 1.0);
        let g = step * self.a_log.val().exp().neg().unsqueeze();

        let before = match &state {
            Some(state) => (**state).clone(),
            None => self.start(batch, &qkv.device()),
        };
        let (u, conv) = self.convolve(qkv, before.conv);
        let (q, k, v) = self.split(silu(u));
        let q = l2(q) * (self.key_dim as f64).powf(-0.5);
        let k = l2(k);

        // [B, T, H, ·] to [B, H, T, ·].
        let (q, k, v) = (q.swap_dims(1, 2), k.swap_dims(1, 2), v.swap_dims(1, 2));
        let (g, beta) = (g.swap_dims(1, 2), beta.swap_dims(1, 2));
        let chunk = self.chunk.min(tokens.next_power_of_two());
        let (o, recurrent) = if chunk == 1 {
            token_by_token(q, k, v, g, beta, before.recurrent)
        } else {
            chunked(q, k, v, g, beta, before.recurrent, chunk)
        };
        if let Some(state) = state {
            *state = DeltaState { conv, recurrent };
        }

        let o = rms(o.swap_dims(1, 2), self.eps) * self.norm.val().unsqueeze();
        let z = z.reshape([batch, tokens, self.value_heads, self.value_dim]);
        let y = (o * silu(z)).reshape([batch, tokens, self.value_heads * self.value_dim]);
        self.out_proj.forward(y)
    }

    /// The state before the first token: zeros.
    pub fn start(&self, batch: usize, device: &Device) -> DeltaState {
        let [channels, taps] = self.conv1d.dims();
        DeltaState {
            conv: Tensor::zeros([batch, taps - 1, channels], device),
            recurrent: Tensor::zeros([batch, self.value_heads, self.key_dim, self.value_dim], device),
        }
    }

    /// `u_t[c] = Σ_j w[c, j] · x_{t−(taps−1)+j}[c]`, and the last `taps − 1` columns of x.
    ///
    /// # Shapes
    /// - x: `[B, T, C]`
    /// - before: `[B, taps − 1, C]`, the columns before x
    /// - outputs: `[B, T, C]`, `[B, taps − 1, C]`
    fn convolve(&self, x: Tensor<3>, before: Tensor<3>) -> (Tensor<3>, Tensor<3>) {
        let tokens = x.dims()[1];
        let [channels, taps] = self.conv1d.dims();
        let columns = Tensor::cat(vec![before, x], 1);
        // [taps, 1, 1, C]: each tap is one number a channel, times the columns shifted by it.
        let weight = self.conv1d.val().transpose().reshape([taps, 1, 1, channels]);
        let tap = |j: usize| {
            let weight = weight.clone().narrow(0, j, 1).squeeze_dim::<3>(0);
            columns.clone().narrow(1, j, tokens) * weight
        };
        let u = (1..taps).fold(tap(0), |sum, j| sum + tap(j));
        (u, columns.narrow(1, tokens, taps - 1))
    }

    /// Splits the channels into heads, each query and key head repeated for the value heads that read it.
    ///
    /// # Shapes
    /// - u: `[B, T, C]`
    /// - outputs: q, k `[B, T, H, K]`, v `[B, T, H, V]`
    fn split(&self, u: Tensor<3>) -> (Tensor<4>, Tensor<4>, Tensor<4>) {
        let [batch, tokens, _] = u.dims();
        let (keys, values) = (self.key_heads * self.key_dim, self.value_heads * self.value_dim);
        let q = u.clone().narrow(2, 0, keys).reshape([batch, tokens, self.key_heads, self.key_dim]);
        let k = u.clone().narrow(2, keys, keys).reshape([batch, tokens, self.key_heads, self.key_dim]);
        let v = u.narrow(2, 2 * keys, values);
        let v = v.reshape([batch, tokens, self.value_heads, self.value_dim]);
        (self.for_value_heads(q), self.for_value_heads(k), v)
    }

    /// # Shapes
    /// - x: `[B, T, n, K]`
    /// - output: `[B, T, H, K]`
    fn for_value_heads(&self, x: Tensor<4>) -> Tensor<4> {
        let [batch, tokens, heads, width] = x.dims();
        let readers = self.value_heads / heads;
        if readers == 1 {
            return x;
        }
        let shape = [batch, tokens, self.value_heads, width];
        match self.order {
            // Value head h reads key head h / readers: the repetitions are neighbours.
            ValueHeadOrder::Grouped => x.unsqueeze_dim::<5>(3).repeat_dim(3, readers).reshape(shape),
            // Value head h reads key head h mod n: all key heads, over and over.
            ValueHeadOrder::Tiled => x.unsqueeze_dim::<5>(2).repeat_dim(2, readers).reshape(shape),
        }
    }
}
