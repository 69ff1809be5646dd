//! The gated delta rule, in two forms that compute the same.
//!
//! Per head, with `S` in `R^{K×V}`, for each token `t`:
//!
//! ```text
//! S ← exp(g_t) S
//! δ = β_t (v_t − Sᵀ k_t)
//! S ← S + k_t δᵀ
//! o_t = Sᵀ q_t            (the updated S)
//! ```
//!
//! [`token_by_token`] is that loop. [`chunked`] does `C` tokens at a time with matrix products, and is the one to
//! train and to read prompts with: a loop of `T` small steps would record `T` times as many operations.

use burn::tensor::{Bool, Device, Tensor, TensorData};

/// Tokens a chunk, unless said otherwise. The work within a chunk grows with its length, the number of sequential
/// steps between chunks shrinks.
pub const CHUNK: usize = 64;

/// The recurrence as it is written above.
///
/// # Shapes
/// - q, k: `[B, H, T, K]`, k of length one, q of length one and scaled
/// - v: `[B, H, T, V]`
/// - g, beta: `[B, H, T]`, `g ≤ 0`
/// - state: `[B, H, K, V]`
/// - outputs: o `[B, H, T, V]`, the state after the last token
pub fn token_by_token(
    q: Tensor<4>,
    k: Tensor<4>,
    v: Tensor<4>,
    g: Tensor<3>,
    beta: Tensor<3>,
    state: Tensor<4>,
) -> (Tensor<4>, Tensor<4>) {
    let tokens = q.dims()[2];
    let decay = g.exp().unsqueeze_dim::<4>(3);
    let beta = beta.unsqueeze_dim::<4>(3);

    let mut state = state;
    let mut outputs = Vec::with_capacity(tokens);
    for t in 0..tokens {
        let at = |x: &Tensor<4>| x.clone().narrow(2, t, 1);
        let k = at(&k);
        state = state * at(&decay);
        let delta = (at(&v) - k.clone().matmul(state.clone())) * at(&beta);
        state = state + k.swap_dims(2, 3).matmul(delta);
        outputs.push(at(&q).matmul(state.clone()));
    }
    (Tensor::cat(outputs, 2), state)
}

/// The same, `chunk` tokens at a time.
///
/// Within a chunk let `G_i = g_1 + … + g_i` and `D_ij = exp(G_i − G_j)` for `j ≤ i`, else 0. Unrolling the recurrence
/// from the state `S` at the chunk's start, the updates `δ` of its tokens (rows of `Δ`) solve a triangular system:
///
/// ```text
/// A = strictly lower part of (diag(β) K Kᵀ ⊙ D)
/// (I + A) Δ = diag(β) (V − diag(e^G) K S)
/// ```
///
/// With `M = (I + A)⁻¹`, `U = M diag(β) V`, `W = M diag(β e^G) K` (the "UT transform") and `K' = diag(e^{G_C − G}) K`,
///
/// ```text
/// Δ = U − W S
/// O = diag(e^G) Q S + (Q Kᵀ ⊙ D) Δ
/// S ← e^{G_C} S + K'ᵀ Δ = (e^{G_C} I − K'ᵀ W) S + K'ᵀ U
/// ```
///
/// All of it is done for all chunks at once, but for the last line: from chunk to chunk the state takes one product of
/// a `K×K` with a `K×V` matrix.
///
/// Every exponent is of a sum of `g` and thus at most 0: nothing overflows, however long the chunk.
///
/// # Shapes
/// As [`token_by_token`]; `chunk` is a power of two.
pub fn chunked(
    q: Tensor<4>,
    k: Tensor<4>,
    v: Tensor<4>,
    g: Tensor<3>,
    beta: Tensor<3>,
    state: Tensor<4>,
    chunk: usize,
) -> (Tensor<4>, Tensor<4>) {
    debug_assert!(chunk.is_power_of_two());
    let [batch, heads, tokens, key_dim] = q.dims();
    let value_dim = v.dims()[3];
    let chunks = tokens.div_ceil(chunk);
    let device = q.device();

    // A token of zeros leaves the state as it is (no decay, β = 0), so the last chunk may be filled up with them.
    // From here on one axis, `n`, counts heads of sequences: [n, chunks, C, width].
    let n = batch * heads;
    let vectors = |x: Tensor<4>, width: usize| pad(x, 2, chunks * chunk).reshape([n, chunks, chunk, width]);
    let numbers = |x: Tensor<3>| pad(x, 2, chunks * chunk).reshape([n, chunks, chunk, 1]);
    let (q, k, v) = (vectors(q, key_dim), vectors(k, key_dim), vectors(v, value_dim));
    let (g, beta) = (numbers(g), numbers(beta));

    let sums = g.cumsum(2);
    let last = sums.clone().narrow(2, chunk - 1, 1);
    let grown = sums.clone().exp();
    // Entries of the future are taken out before the exponential: they would be the ones to overflow.
    let pairs = sums.clone() - sums.clone().swap_dims(2, 3);
    let future = Tensor::<2, Bool>::tril_mask([chunk, chunk], 0, &device).unsqueeze();
    let decay = pairs.mask_fill(future, f32::NEG_INFINITY).exp();

    let k_beta = k.clone() * beta.clone();
    let a = k_beta.clone().matmul(k.clone().swap_dims(2, 3)) * decay.clone();
    let m = inverse_of_unit_lower(a, &device);
    let u = m.clone().matmul(v * beta);
    let w = m.matmul(k_beta * grown.clone());

    let k_left = (k.clone() * (last.clone() - sums).exp()).swap_dims(2, 3);
    let kept = Tensor::<2>::eye(key_dim, &device).unsqueeze::<4>() * last.exp();
    let transition = kept - k_left.clone().matmul(w.clone());
    let (before, state) = scan(transition, k_left.matmul(u.clone()), state.reshape([n, key_dim, value_dim]));

    let delta = u - w.matmul(before.clone());
    let scores = q.clone().matmul(k.swap_dims(2, 3)) * decay;
    let o = (q * grown).matmul(before) + scores.matmul(delta);
    let o = o.reshape([batch, heads, chunks * chunk, value_dim]).narrow(2, 0, tokens);
    (o, state.reshape([batch, heads, key_dim, value_dim]))
}

/// `S_{c+1} = A_c S_c + B_c`: the states before each step, and the one after the last.
///
/// # Shapes
/// - a: `[n, steps, K, K]`
/// - b: `[n, steps, K, V]`
/// - state: `[n, K, V]`
/// - outputs: `[n, steps, K, V]`, `[n, K, V]`
fn scan(a: Tensor<4>, b: Tensor<4>, state: Tensor<3>) -> (Tensor<4>, Tensor<3>) {
    let steps = a.dims()[1];
    let mut state = state;
    let mut before = Vec::with_capacity(steps);
    for step in 0..steps {
        let at = |x: &Tensor<4>| x.clone().narrow(1, step, 1).squeeze_dim::<3>(1);
        let next = at(&a).matmul(state.clone()) + at(&b);
        before.push(std::mem::replace(&mut state, next));
    }
    (Tensor::stack(before, 1), state)
}

/// Fills an axis up to `len` with zeros.
fn pad<const N: usize>(x: Tensor<N>, axis: usize, len: usize) -> Tensor<N> {
    let mut shape = x.dims();
    let missing = len - shape[axis];
    if missing == 0 {
        return x;
    }
    shape[axis] = missing;
    let zeros = Tensor::zeros(shape, &x.device());
    Tensor::cat(vec![x, zeros], axis)
}

/// `(I + A)⁻¹`, where `A` is the strictly lower part of the given matrices.
///
/// Two diagonal blocks and what lies below the first invert as
/// `[[P, 0], [R, Q]]⁻¹ = [[P⁻¹, 0], [−Q⁻¹ R P⁻¹, Q⁻¹]]`. So starting from blocks of one number (the identity) each
/// round joins neighbours: with `R` the matrix `A` where only those blocks are kept, `M ← M − M R M`. That is as
/// stable as substitution row by row; the shorter product `(I − A)(I + A²)(I + A⁴)…` is not, since the powers of `A`
/// grow like binomial coefficients when keys repeat.
///
/// Gradients do not pass through the rounds but through one step of Newton's iteration after them,
/// `M ← 2M − M (I + A) M`: it changes nothing, as `M` is the inverse already, and with `M` held constant its
/// derivative `−M dA M` is that of the inverse.
///
/// # Shapes
/// - lower: `[.., C, C]`, C a power of two
/// - output: `[.., C, C]`
fn inverse_of_unit_lower(lower: Tensor<4>, device: &Device) -> Tensor<4> {
    let size = lower.dims()[3];
    let identity = Tensor::<2>::eye(size, device).unsqueeze::<4>();
    let constant = lower.clone().detach();
    let mut m = constant.zeros_like() + identity.clone();
    let mut block = 1;
    while block < size {
        let r = constant.clone() * joined_blocks(size, block, device);
        // The first round in short: M is still the identity.
        m = if block == 1 { m - r } else { m.clone() - m.clone().matmul(r).matmul(m) };
        block *= 2;
    }
    if !device.is_autodiff() {
        return m;
    }
    let strictly_lower = lower.tril(-1) + identity;
    m.clone() * 2.0 - m.clone().matmul(strictly_lower).matmul(m)
}

/// One where row and column lie in the second and in the first half of one pair of blocks, else zero.
///
/// # Shapes
/// - output: `[1, 1, size, size]`
fn joined_blocks(size: usize, block: usize, device: &Device) -> Tensor<4> {
    let mut mask = vec![0.0f32; size * size];
    for row in 0..size {
        let pair = row / (2 * block);
        if row / block % 2 == 1 {
            let first = pair * 2 * block;
            mask[row * size + first..row * size + first + block].fill(1.0);
        }
    }
    Tensor::from_data(TensorData::new(mask, [1, 1, size, size]), device)
}
