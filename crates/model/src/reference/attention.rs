//! Full attention with an output gate.

use burn::module::Module;
use burn::tensor::activation::{sigmoid, softmax};
use burn::tensor::{Bool, Device, Int, Tensor};

use super::{Capture, Projection, RmsNorm, Rotary};

/// The KV cache grows by this many positions at a time, so that appending a token does not copy all before it.
const CACHE_STEP: usize = 256;
/// Queries of a long prompt are taken this many at a time against the keys up to their end. Half of the score matrix
/// is then never computed, and what is computed fits a CPU's cache.
const QUERY_BLOCK: usize = 256;

/// Gated grouped-query attention.
///
/// Per head `h`, with the key-value head `h / (H/G)`:
/// `q = rope(norm(x Wq))`, `k = rope(norm(x Wk))`, `v = x Wv`,
/// `o = softmax(q kᵀ / √D, causal) v`, and the result is `(o ⊙ sigmoid(gate)) Woᵀ`.
#[derive(Module, Debug)]
pub struct FullAttention {
    /// `[2·H·D, d]`: the rows of each head are its query's `D`, then its gate's `D`.
    pub q_proj: Projection,
    /// `[G·D, d]`.
    pub k_proj: Projection,
    /// `[G·D, d]`.
    pub v_proj: Projection,
    /// `[d, H·D]`.
    pub o_proj: Projection,
    /// Over `D`, one weight for all heads.
    pub q_norm: RmsNorm,
    /// Over `D`, one weight for all heads.
    pub k_norm: RmsNorm,
    /// `H`.
    pub heads: usize,
    /// `G`.
    pub kv_heads: usize,
    /// `D`.
    pub head_dim: usize,
}

/// Keys and values of the tokens so far.
#[derive(Debug, Clone, Default)]
pub struct AttentionState {
    /// Keys and values, `[B, G, capacity, D]` each; rows from `len` on mean nothing.
    cache: Option<(Tensor<4>, Tensor<4>)>,
    len: usize,
}

impl FullAttention {
    /// Attends from each token to itself and to all before it, those in `state` included, and adds the tokens to it.
    /// Without a state the sequence starts here and nothing is kept.
    ///
    /// # Shapes
    /// - x: `[B, T, d]`
    /// - output: `[B, T, d]`
    pub fn forward(
        &self,
        x: Tensor<3>,
        rotary: &Rotary,
        state: Option<&mut AttentionState>,
        capture: &mut Capture,
    ) -> Tensor<3> {
        let [batch, tokens, _] = x.dims();
        let (heads, groups, width) = (self.heads, self.kv_heads, self.head_dim);

        let q_and_gate = self.q_proj.forward(x.clone());
        capture.in_layer("q_proj", &q_and_gate);
        let q_and_gate = q_and_gate.reshape([batch, tokens, heads, 2 * width]);
        let q = q_and_gate.clone().narrow(3, 0, width);
        let gate = q_and_gate.narrow(3, width, width).reshape([batch, tokens, heads * width]);
        let k = self.k_proj.forward(x.clone()).reshape([batch, tokens, groups, width]);
        let v = self.v_proj.forward(x).reshape([batch, tokens, groups, width]).swap_dims(1, 2);

        let q = rotary.apply(self.q_norm.forward(q).swap_dims(1, 2));
        let k = rotary.apply(self.k_norm.forward(k).swap_dims(1, 2));

        let (k, v) = match state {
            Some(state) => state.append(k, v),
            None => (k, v),
        };
        let o = causal_attention(q, k, v).swap_dims(1, 2).reshape([batch, tokens, heads * width]);
        self.o_proj.forward(o * sigmoid(gate))
    }
}

/// `softmax(q kᵀ / √D) v`, where the last query sees all keys, the one before it all but the last, and so on.
///
/// # Shapes
/// - q: `[B, H, T, D]`
/// - k, v: `[B, G, S, D]`, `S ≥ T`, `G` divides `H`
/// - output: `[B, H, T, D]`
fn causal_attention(q: Tensor<4>, k: Tensor<4>, v: Tensor<4>) -> Tensor<4> {
    let [_, _, tokens, width] = q.dims();
    let before = k.dims()[2] - tokens;
    let q = q * (width as f64).powf(-0.5);

    let blocks: Vec<Tensor<4>> = (0..tokens)
        .step_by(QUERY_BLOCK)
        .map(|start| {
            let len = QUERY_BLOCK.min(tokens - start);
            let seen = before + start + len;
            let q = q.clone().narrow(2, start, len);
            attend(q, k.clone().narrow(2, 0, seen), v.clone().narrow(2, 0, seen))
        })
        .collect();
    Tensor::cat(blocks, 2)
}

/// One block of queries, already scaled, against the keys up to its own last token.
///
/// # Shapes
/// - q: `[B, H, T, D]`
/// - k, v: `[B, G, S, D]`
/// - output: `[B, H, T, D]`
fn attend(q: Tensor<4>, k: Tensor<4>, v: Tensor<4>) -> Tensor<4> {
    let [batch, heads, tokens, width] = q.dims();
    let [_, groups, seen, _] = k.dims();
    // The H/G heads that share a key-value head are rows of one product.
    let rows = heads / groups * tokens;
    let q = q.reshape([batch, groups, rows, width]);

    let scores = q.matmul(k.swap_dims(2, 3));
    let scores = if tokens > 1 {
        let mask = future(tokens, seen, &scores.device());
        let by_head = scores.reshape([batch, heads, tokens, seen]);
        by_head.mask_fill(mask, f32::NEG_INFINITY).reshape([batch, groups, rows, seen])
    } else {
        scores
    };
    softmax(scores, 3).matmul(v).reshape([batch, heads, tokens, width])
}

/// True where a key lies in its query's future.
///
/// # Shapes
/// - output: `[1, 1, tokens, seen]`
fn future(tokens: usize, seen: usize, device: &Device) -> Tensor<4, Bool> {
    let offset = (seen - tokens) as i64;
    Tensor::<2, Bool>::tril_mask([tokens, seen], offset, device).unsqueeze()
}

impl AttentionState {
    /// Tokens in the cache.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether the cache is empty.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The state of some of the sequences, in this order.
    pub(super) fn rows(&self, rows: &Tensor<1, Int>) -> Self {
        let pick = |cache: &Tensor<4>| cache.clone().select(0, rows.clone());
        Self { cache: self.cache.as_ref().map(|(keys, values)| (pick(keys), pick(values))), len: self.len }
    }

    /// Adds the new tokens' keys and values and gives back those of all tokens.
    ///
    /// # Shapes
    /// - k, v: `[B, G, T, D]`
    /// - outputs: `[B, G, len, D]`
    fn append(&mut self, k: Tensor<4>, v: Tensor<4>) -> (Tensor<4>, Tensor<4>) {
        let [batch, groups, tokens, width] = k.dims();
        let end = self.len + tokens;
        let place = [0..batch, 0..groups, self.len..end, 0..width];
        let (keys, values) = self.cache.take().unzip();
        // The cache is owned alone here (a snapshot apart), so that the CPU backend writes in place.
        let keys = with_room(keys, end, &k).slice_assign(place.clone(), k);
        let values = with_room(values, end, &v).slice_assign(place, v);
        self.len = end;
        self.cache = Some((keys.clone(), values.clone()));
        (keys.narrow(2, 0, end), values.narrow(2, 0, end))
    }
}

/// The same cache with room for `needed` positions at least; `like` gives the other sizes.
fn with_room(cache: Option<Tensor<4>>, needed: usize, like: &Tensor<4>) -> Tensor<4> {
    let [batch, groups, _, width] = like.dims();
    let capacity = cache.as_ref().map_or(0, |cache| cache.dims()[2]);
    let more = needed.next_multiple_of(CACHE_STEP).saturating_sub(capacity);
    let room = || Tensor::zeros([batch, groups, more, width], &like.device());
    match cache {
        Some(cache) if capacity >= needed => cache,
        Some(cache) => Tensor::cat(vec![cache, room()], 2),
        None => room(),
    }
}
