//! A start that copies names already.
//!
//! With an ordinary start a small model needs millions of tokens until it finds out that a name in the SQL is the name
//! in the question. Here this is built in, and training only has to keep it:
//!
//! - Embeddings fill the first dimensions of the stream; dimension 0 is constant, to make thresholds of.
//! - Two heads of the first delta net pass on `P x` of the token before, and of the one before that, into two *slots*,
//!   the last dimensions of the stream. `P` is a random projection with orthogonal rows.
//! - Attention heads look for the place where the same two tokens were read last (query: `P x` now and the first slot;
//!   key: both slots) and give what is there. In later layers half of them look for the same token instead.
//! - Dimensions of heads that are rotated by position stay out of it.

use super::shape::Shape;
use crate::error::{Error, Result};
use crate::rng::Rng;
use burn::tensor::module::embedding;
use burn::tensor::{Int, Tensor, TensorData};
use glowworm_model::reference::{Capture, Device, Mixer, Model, Rotary, Weights, cpu};
use std::collections::BTreeMap;

/// What dimension 0 of the stream holds.
const CONSTANT: f32 = 4.0;
/// Added to the values of the first delta net, to keep their activation on its straight part.
const OFFSET: f32 = 1.5;
/// How much of what a head found goes into the stream.
const GAIN: f32 = 3.0;
/// What is left of a random matrix under what is written into it.
const NOISE: f32 = 0.1;
/// Decay rates `exp(A_log)` of a delta net's heads, first and last.
const RATES: (f64, f64) = (1.0, 8.0);
/// Step sizes `softplus(dt_bias)`, first and last: with the rates, memories of some ten to a thousand tokens.
const STEPS: (f64, f64) = (1e-3, 1e-1);

/// A matrix under construction.
#[derive(Clone)]
struct Matrix {
    columns: usize,
    data: Vec<f32>,
}

impl Matrix {
    fn zeros(rows: usize, columns: usize) -> Self {
        Self { columns, data: vec![0.0; rows * columns] }
    }

    fn random(rng: &mut Rng, rows: usize, columns: usize, scale: f32) -> Self {
        Self { columns, data: (0..rows * columns).map(|_| normal(rng) * scale).collect() }
    }

    fn at(&mut self, row: usize, column: usize) -> &mut f32 {
        &mut self.data[row * self.columns + column]
    }

    fn row(&mut self, row: usize) -> &mut [f32] {
        &mut self.data[row * self.columns..(row + 1) * self.columns]
    }

    /// Adds rows of another matrix from `row` on.
    fn add_rows(&mut self, row: usize, other: &Matrix, count: usize) {
        let start = row * self.columns;
        for (a, b) in self.data[start..].iter_mut().zip(&other.data[..count * other.columns]) {
            *a += b;
        }
    }

    /// Adds `value` along a diagonal.
    fn add_diagonal(&mut self, row: usize, column: usize, count: usize, value: f32) {
        (0..count).for_each(|i| *self.at(row + i, column + i) += value);
    }

    fn scale(&mut self, rows: std::ops::Range<usize>, columns: std::ops::Range<usize>, factor: f32) {
        for row in rows {
            self.row(row)[columns.clone()].iter_mut().for_each(|w| *w *= factor);
        }
    }

    fn rows(&self) -> usize {
        self.data.len() / self.columns
    }
}

/// A normal number, by Box and Muller.
fn normal(rng: &mut Rng) -> f32 {
    let unit = |rng: &mut Rng| ((rng.bits() >> 11) as f64 + 0.5) / (1u64 << 53) as f64;
    let (a, b) = (unit(rng), unit(rng));
    ((-2.0 * a.ln()).sqrt() * (std::f64::consts::TAU * b).cos()) as f32
}

/// `n` rows, orthogonal and of length 1, that read the dimensions `1..e` of `width`.
fn projection(rng: &mut Rng, n: usize, e: usize, width: usize) -> Matrix {
    let mut rows: Vec<Vec<f64>> = Vec::with_capacity(n);
    while rows.len() < n {
        let mut row: Vec<f64> = (1..e).map(|_| f64::from(normal(rng))).collect();
        // Gram and Schmidt, twice: once leaves rounding errors that grow with the number of rows.
        for _ in 0..2 {
            for other in &rows {
                let along: f64 = row.iter().zip(other).map(|(a, b)| a * b).sum();
                row.iter_mut().zip(other).for_each(|(a, b)| *a -= along * b);
            }
        }
        let length = row.iter().map(|x| x * x).sum::<f64>().sqrt();
        row.iter_mut().for_each(|x| *x /= length);
        rows.push(row);
    }
    let mut out = Matrix::zeros(n, width);
    for (i, row) in rows.iter().enumerate() {
        row.iter().enumerate().for_each(|(j, &x)| *out.at(i, j + 1) = x as f32);
    }
    out
}

/// `count` numbers from `first` to `last`, evenly.
fn evenly((first, last): (f64, f64), count: usize) -> impl Iterator<Item = f64> {
    (0..count).map(move |i| first + (last - first) * i as f64 / (count.max(2) - 1) as f64)
}

/// Tensors under construction, by their names in a checkpoint.
struct Draft {
    matrices: BTreeMap<String, Matrix>,
    vectors: BTreeMap<String, Vec<f32>>,
}

impl Draft {
    fn matrix(&mut self, name: &str) -> &mut Matrix {
        self.matrices.entry(name.to_owned()).or_insert_with(|| Matrix::zeros(1, 1))
    }

    fn weights(&self) -> Weights {
        let matrices =
            self.matrices.iter().map(|(name, m)| (name.clone(), (vec![m.rows(), m.columns], m.data.clone())));
        let vectors = self.vectors.iter().map(|(name, v)| (name.clone(), (vec![v.len()], v.clone())));
        Weights { tensors: matrices.chain(vectors).collect() }
    }
}

/// A model of a shape with this start, on a device. The same seed always gives the same numbers.
///
/// # Errors
/// When the sizes do not fit together, or leave no room for the slots.
pub fn initialise(shape: &Shape, seed: u64, device: &Device) -> Result<Model> {
    check(shape)?;
    let mut rng = Rng::new(seed);
    let mut draft = draft(shape, &mut rng);
    centre(shape, &mut draft, &mut rng)?;
    Ok(Model::from_source(shape.config()?, &mut draft.weights(), device)?)
}

fn check(c: &Shape) -> Result<()> {
    let slot = c.linear_value_head_dim;
    let unrotated = c.head_dim.saturating_sub(c.rotated());
    let embedded = c.hidden_size.saturating_sub(2 * slot);
    let problem = if c.is_attention(0) || c.linear_num_value_heads < 2 {
        "the first layer must be a delta net of two heads or more"
    } else if c.linear_conv_kernel_dim < 3 {
        "the convolution must see three tokens or more"
    } else if embedded <= slot.max(unrotated) + 1 {
        "hidden_size must be well above twice linear_value_head_dim, and above head_dim"
    } else if unrotated / 2 > slot {
        "half of what is not rotated of head_dim must not be more than linear_value_head_dim"
    } else {
        return Ok(());
    };
    Err(Error::Settings(format!("{problem}; change --config")))
}

/// All tensors, but for what [`centre`] does to them.
fn draft(c: &Shape, rng: &mut Rng) -> Draft {
    let (d, slot) = (c.hidden_size, c.linear_value_head_dim);
    let e = d - 2 * slot;
    let mut draft = Draft { matrices: BTreeMap::new(), vectors: BTreeMap::new() };

    let mut embedding = Matrix::random(rng, c.vocab_size, d, 1.0);
    for row in 0..c.vocab_size {
        embedding.row(row)[e..].iter_mut().for_each(|x| *x *= 0.1);
        *embedding.at(row, 0) = CONSTANT;
    }
    draft.matrices.insert("embed_tokens.weight".into(), embedding);
    // Large embeddings, and still moderate logits: the norm's factor is a tenth.
    draft.vectors.insert("norm.weight".into(), vec![0.1 - 1.0; d]);

    let p = projection(rng, slot, e, d);
    let mut attentions = 0;
    for layer in 0..c.num_hidden_layers {
        let at = format!("layers.{layer}");
        for norm in ["input_layernorm", "post_attention_layernorm"] {
            draft.vectors.insert(format!("{at}.{norm}.weight"), vec![0.0; d]);
        }
        feed_forward(c, rng, &mut draft, &at);
        if c.is_attention(layer) {
            attention(c, rng, &mut draft, &at, &p, attentions);
            attentions += 1;
        } else {
            delta_net(c, rng, &mut draft, &at, &p, layer == 0);
        }
    }
    draft
}

/// A random matrix that reads the stream, or (`out`) adds to it.
fn dense(rng: &mut Rng, rows: usize, columns: usize, out: bool) -> Matrix {
    Matrix::random(rng, rows, columns, (columns as f32).powf(-0.5) * if out { 0.3 } else { 0.8 })
}

fn feed_forward(c: &Shape, rng: &mut Rng, draft: &mut Draft, at: &str) {
    let (d, inner) = (c.hidden_size, c.intermediate_size);
    let mut down = dense(rng, d, inner, true);
    down.scale(0..d, 0..inner, 0.3);
    draft.matrices.insert(format!("{at}.mlp.gate_proj.weight"), dense(rng, inner, d, false));
    draft.matrices.insert(format!("{at}.mlp.up_proj.weight"), dense(rng, inner, d, false));
    draft.matrices.insert(format!("{at}.mlp.down_proj.weight"), down);
}

fn delta_net(c: &Shape, rng: &mut Rng, draft: &mut Draft, at: &str, p: &Matrix, first: bool) {
    let (d, slot, taps) = (c.hidden_size, c.linear_value_head_dim, c.linear_conv_kernel_dim);
    let e = d - 2 * slot;
    let keys = c.linear_num_key_heads * c.linear_key_head_dim;
    let (heads, values) = (c.linear_num_value_heads, c.linear_num_value_heads * slot);
    let channels = 2 * keys + values;

    let mut qkv = dense(rng, channels, d, false);
    // Keys are queries: what is asked for is what was stored.
    qkv.data.copy_within(..keys * d, keys * d);
    let mut z = dense(rng, values, d, false);
    let (mut a, mut b) = (dense(rng, heads, d, false), dense(rng, heads, d, false));
    let mut out = dense(rng, d, values, true);
    let mut conv = Matrix::zeros(channels, taps);
    (0..channels).for_each(|channel| *conv.at(channel, taps - 1) = 1.0);
    let mut dt_bias: Vec<f32> = evenly((STEPS.0.ln(), STEPS.1.ln()), heads)
        .map(|log| {
            let step = log.exp();
            (step + (-(-step).exp_m1()).ln()) as f32
        })
        .collect();
    let mut a_log: Vec<f32> = evenly(RATES, heads).map(|rate| rate.ln() as f32).collect();

    if first {
        for head in 0..2 {
            let (value, low) = (2 * keys + head * slot, head * slot);
            for i in 0..slot {
                qkv.row(value + i).copy_from_slice(&p.data[i * d..(i + 1) * d]);
                *qkv.at(value + i, 0) = OFFSET / CONSTANT;
                conv.row(value + i).fill(0.0);
                *conv.at(value + i, taps - 2 - head) = 1.0;
                z.row(low + i).fill(0.0);
                // silu(1.3) is about 1: an open gate.
                *z.at(low + i, 0) = 1.3 / CONSTANT;
            }
            out.scale(0..d, low..low + slot, 0.0);
            out.add_diagonal(e + low, low, slot, 1.0);
            a.row(head).fill(0.0);
            b.row(head).fill(0.0);
            // No memory beyond the token itself.
            (dt_bias[head], a_log[head]) = (3.0, 8f32.ln());
        }
    } else {
        for channel in keys..2 * keys {
            conv.row(channel).fill(0.0);
            *conv.at(channel, taps - 2) = 1.0;
        }
    }
    conv.data.iter_mut().for_each(|w| *w += 0.02 * normal(rng));

    let name = |part: &str| format!("{at}.linear_attn.{part}");
    for (part, matrix) in [
        ("in_proj_qkv.weight", qkv),
        ("in_proj_z.weight", z),
        ("in_proj_a.weight", a),
        ("in_proj_b.weight", b),
        ("out_proj.weight", out),
        ("conv1d.weight", conv),
    ] {
        draft.matrices.insert(name(part), matrix);
    }
    draft.vectors.insert(name("dt_bias"), dt_bias);
    draft.vectors.insert(name("A_log"), a_log);
    draft.vectors.insert(name("norm.weight"), vec![1.0; slot]);
}

fn attention(c: &Shape, rng: &mut Rng, draft: &mut Draft, at: &str, p: &Matrix, number: usize) {
    let (d, slot, h) = (c.hidden_size, c.linear_value_head_dim, c.head_dim);
    let e = d - 2 * slot;
    let (heads, groups) = (c.num_attention_heads, c.num_key_value_heads);
    let readers = heads / groups;
    let half = (h - c.rotated()) / 2;
    let rotated = h - 2 * half;

    let mut q = dense(rng, heads * 2 * h, d, false);
    let mut k = dense(rng, groups * h, d, false);
    let mut v = dense(rng, groups * h, d, false);
    let mut o = dense(rng, d, heads * h, true);
    let all = k.rows();
    k.scale(0..all, 0..d, NOISE);
    v.scale(0..all, 0..d, NOISE);
    for group in 0..groups {
        let low = group * h;
        let same = (number > 0 && group % 2 == 1).then(|| projection(rng, 2 * half, e, d));
        match &same {
            Some(same) => k.add_rows(low + rotated, same, 2 * half),
            None => {
                k.add_diagonal(low + rotated, e, half, 1.0);
                k.add_diagonal(low + rotated + half, e + slot, half, 1.0);
            }
        }
        let width = h.min(e.saturating_sub(low));
        v.add_diagonal(low, low, width, 1.0);
        if low == 0 {
            // The constant is not to be copied.
            *v.at(0, 0) = 0.0;
        }
        for head in group * readers..(group + 1) * readers {
            // Of each head's rows the first half is the query, the second the gate.
            let row = head * 2 * h;
            q.scale(row..row + h, 0..d, NOISE);
            match &same {
                Some(same) => q.add_rows(row + rotated, same, 2 * half),
                None => {
                    q.add_rows(row + rotated, p, half);
                    q.add_diagonal(row + rotated + half, e, half, 1.0);
                }
            }
            o.scale(0..d, head * h..(head + 1) * h, NOISE);
            let gain = GAIN * if number == 0 { 2.0 } else { 0.5 } / readers as f32;
            o.add_diagonal(low, head * h, width, gain);
        }
    }
    let name = |part: &str| format!("{at}.self_attn.{part}.weight");
    for (part, matrix) in [("q_proj", q), ("k_proj", k), ("v_proj", v), ("o_proj", o)] {
        draft.matrices.insert(name(part), matrix);
    }
    // Norms that double: sharp attention.
    draft.vectors.insert(name("q_norm"), vec![1.0; h]);
    draft.vectors.insert(name("k_norm"), vec![1.0; h]);
}

/// Takes the slots' mean over random tokens out of queries and keys, through the constant dimension.
fn centre(c: &Shape, draft: &mut Draft, rng: &mut Rng) -> Result<()> {
    const ROWS: usize = 8;
    const TOKENS: usize = 64;
    let device = cpu();
    let model = Model::from_source(c.config()?, &mut draft.weights(), &device)?;
    let ids: Vec<i32> = (0..ROWS * TOKENS).map(|_| rng.below(c.vocab_size) as i32).collect();
    let ids: Tensor<2, Int> = Tensor::from_data(TensorData::new(ids, [ROWS, TOKENS]), &device);
    let rotary = Rotary::new(0, TOKENS, c.rotated(), c.rope_theta as f32, &device);
    let x = embedding(model.embed_tokens.val(), ids);
    let x = model.layers[0].forward(x, &rotary, None, &mut Capture::off());

    let (d, e) = (c.hidden_size, c.hidden_size - 2 * c.linear_value_head_dim);
    for (number, layer) in model.layers.iter().enumerate() {
        if !matches!(layer.mixer, Mixer::Full(_)) {
            continue;
        }
        let normed = layer.input_layernorm.forward(x.clone()).reshape([ROWS * TOKENS, d]);
        let mean = normed.mean_dim(0).try_into_vec_as::<f32>();
        let mean = mean.map_err(|e| Error::Settings(format!("the start cannot be computed: {e}")))?;
        for part in ["k_proj", "q_proj"] {
            let matrix = draft.matrix(&format!("layers.{number}.self_attn.{part}.weight"));
            for row in 0..matrix.rows() {
                let row = matrix.row(row);
                let slots: f32 = row[e..].iter().zip(&mean[e..]).map(|(w, m)| w * m).sum();
                row[0] -= slots / mean[0];
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn projections_are_orthogonal_and_read_the_embedding_alone() {
        let mut rng = Rng::new(3);
        let p = projection(&mut rng, 20, 40, 64);
        for i in 0..20 {
            let row = &p.data[i * 64..(i + 1) * 64];
            assert!(row[0] == 0.0 && row[40..].iter().all(|x| *x == 0.0));
            for j in 0..=i {
                let product: f32 = row.iter().zip(&p.data[j * 64..]).map(|(a, b)| a * b).sum();
                assert!((product - f32::from(u8::from(i == j))).abs() < 1e-5);
            }
        }
    }

    /// Names of six tokens of 40 stand in a text of others; then each is begun with its first two tokens, and the other
    /// four must follow. By chance one in 512 does.
    #[test]
    fn the_start_copies_names_before_any_training() {
        let shape = Shape { vocab_size: 512, ..Shape::default() };
        let model = initialise(&shape, 1, &cpu()).unwrap();
        let (mut right, mut all) = (0, 0);
        for seed in 0..4 {
            let mut rng = Rng::new(seed);
            let names: Vec<Vec<u32>> =
                (0..8).map(|_| (0..6).map(|_| 100 + rng.below(40) as u32).collect()).collect();
            let mut ids = Vec::new();
            for name in &names {
                ids.extend((0..6).map(|_| 200 + rng.below(300) as u32));
                ids.extend(name);
            }
            let mut places = Vec::new();
            for name in &names {
                ids.extend((0..3).map(|_| 200 + rng.below(300) as u32));
                for (i, id) in name.iter().enumerate() {
                    if i >= 2 {
                        places.push((ids.len() - 1, *id));
                    }
                    ids.push(*id);
                }
            }
            let logits = model.forward(model.ids(&ids), &mut model.start(1), &mut Capture::off());
            let best = logits.argmax(2).try_into_vec_as::<i32>().unwrap();
            right += places.iter().filter(|(at, id)| best[*at] == *id as i32).count();
            all += places.len();
        }
        assert!(right * 100 >= all * 85, "{right} of {all}");
    }

    #[test]
    fn shapes_without_room_are_refused() {
        for shape in [
            Shape { hidden_size: 96, ..Shape::default() },
            Shape { linear_num_value_heads: 1, linear_num_key_heads: 1, ..Shape::default() },
            Shape { full_attention_interval: 1, ..Shape::default() },
        ] {
            assert!(initialise(&shape, 0, &cpu()).is_err());
        }
    }
}
