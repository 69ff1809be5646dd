//! Whether an adapter computes what it should, found out with the engine's own kernels.
//!
//! Some drivers give wrong numbers without any error. So before somebody downloads a gigabyte for an adapter, the
//! kernels that read weights run on a small matrix of each common format: rows are looked up, and multiplied with the
//! matrix both ways, one token and several at a time. The processor computes the same from the same bytes.

use glowworm_gguf::write::Declaration;
use glowworm_gguf::{Header, Metadata, TensorType, Writer, blocks};
use glowworm_model::{Config, ValueHeadOrder};

use crate::activations::{Activations, Control};
use crate::engine::encode;
use crate::error::{Error, Result};
use crate::gpu::Gpu;
use crate::kernels::Pipelines;
use crate::layers::values_buffer;
use crate::matrix::Loader;
use crate::plan::{Planner, Product, Step, Tuning};
use crate::source::MemorySource;

/// The formats of published conversions.
const FORMATS: [TensorType; 6] =
    [TensorType::F16, TensorType::Q8_0, TensorType::Q4_0, TensorType::Q4K, TensorType::Q5K, TensorType::Q6K];

const ROWS: usize = 48;
/// Length of a row.
const WIDTH: usize = 512;
/// Rows that are looked up: the input of the products. The last one is that of the matrix-vector product.
const IDS: [u32; 3] = [5, 47, 30];

/// How far a sum may be off, as a share of the sum of its terms' sizes.
const TOLERANCE: f32 = 1e-5;

/// Lets `gpu` compute numbers that are known. Gives back the names of the weight formats that came out right.
///
/// # Errors
/// [`Error::WrongNumbers`] for the first that did not; what opening or running the kernels may say.
pub async fn self_test(gpu: &Gpu) -> Result<Vec<&'static str>> {
    self_test_of(gpu, &FORMATS, Tuning::Auto).await
}

/// The same for these formats, with the kernels laid out as `tuning` says.
///
/// # Errors
/// As [`self_test`], and for a format that no shader reads.
pub async fn self_test_of(gpu: &Gpu, formats: &[TensorType], tuning: Tuning) -> Result<Vec<&'static str>> {
    let raw: Vec<Vec<u8>> = formats.iter().map(|kind| bytes(*kind)).collect::<Result<_>>()?;
    let declarations = formats.iter().map(|&kind| Declaration {
        name: kind.name().to_owned(),
        dims: vec![WIDTH as u64, ROWS as u64],
        kind,
    });
    let mut writer = Writer::new(Vec::new(), &Metadata::new(), declarations.collect())?;
    raw.iter().try_for_each(|bytes| writer.write(bytes))?;
    let file = writer.finish()?;
    let header = Header::read_from(&mut file.as_slice(), file.len() as u64)?;

    let config = config();
    let buffers = Activations::new(gpu, &config, IDS.len(), 1, 1).await?;
    gpu.queue.write_buffer(&buffers.ids, 0, bytemuck::cast_slice(&IDS));
    let control = Control { count: IDS.len() as u32, ..Control::default() };
    gpu.queue.write_buffer(&buffers.control, 0, bytemuck::bytes_of(&control));
    let norm_weights: Vec<f32> = (0..WIDTH).map(|i| 0.5 + (i % 7) as f32 / 8.0).collect();
    let norm = values_buffer(gpu, "norm", &norm_weights);

    let mut source = MemorySource::new("self-test", file);
    let mut ignored = |_| {};
    let mut loader = Loader::new(gpu, &mut source, &header, &mut ignored);
    let mut pipelines = Pipelines::new(gpu);
    let tuning = tuning.for_gpu(gpu);
    let mut planner =
        Planner { gpu, pipelines: &mut pipelines, buffers: &buffers, tuning, eps: config.norm_eps };
    for (&kind, raw) in formats.iter().zip(&raw) {
        let mut weights = vec![0.0; ROWS * WIDTH];
        blocks::dequantize(kind, raw, &mut weights)?;
        let rows = |row: usize| &weights[row * WIDTH..][..WIDTH];
        let matrices = loader.merged(&[kind.name().to_owned()]).await?;
        for matrix in &matrices {
            let mut steps = planner.embed(matrix)?;
            let one = Product { last_token: true, ..Product::store(&buffers.hidden, &buffers.logits, ROWS) };
            steps.extend(planner.matvecs("one", std::slice::from_ref(matrix), &one.normed(&norm), 1)?);
            let many = Product::store(&buffers.hidden, &buffers.gate_up, ROWS);
            steps.extend(planner.matmul("many", matrix, &many)?);
            let found = run(gpu, &steps, &buffers).await?;

            let compare = |kernel, expected: f32, size: f32, found: f32| {
                // Written so that a result that is no number fails.
                if (found - expected).abs() <= TOLERANCE * size.max(1.0) {
                    return Ok(());
                }
                let adapter = gpu.description();
                Err(Error::WrongNumbers { adapter, kernel, format: kind.name(), expected, found })
            };
            for (token, id) in IDS.into_iter().enumerate() {
                let input = rows(id as usize);
                for (at, value) in input.iter().enumerate() {
                    compare("embed", *value, value.abs(), found.hidden[token * WIDTH + at])?;
                }
                for row in 0..ROWS {
                    let (sum, size) = dot(rows(row), input.iter().copied());
                    compare("matmul", sum, size, found.products[token * ROWS + row])?;
                }
            }
            let input = rows(IDS[IDS.len() - 1] as usize);
            let mean = input.iter().map(|x| f64::from(x * x)).sum::<f64>() / WIDTH as f64;
            let root = (1.0 / (mean + f64::from(config.norm_eps)).sqrt()) as f32;
            for row in 0..ROWS {
                let normed = input.iter().zip(&norm_weights).map(|(x, weight)| x * weight * root);
                let (sum, size) = dot(rows(row), normed);
                compare("matvec", sum, size, found.product[row])?;
            }
        }
    }
    Ok(formats.iter().map(|kind| kind.name()).collect())
}

/// A sum of products, and the sum of their sizes.
fn dot(row: &[f32], input: impl Iterator<Item = f32>) -> (f32, f32) {
    let terms = row.iter().zip(input).map(|(weight, x)| f64::from(weight * x));
    let (sum, size) = terms.fold((0.0, 0.0), |(sum, size), term| (sum + term, size + term.abs()));
    (sum as f32, size as f32)
}

/// What the kernels wrote.
struct Found {
    hidden: Vec<f32>,
    product: Vec<f32>,
    products: Vec<f32>,
}

async fn run(gpu: &Gpu, steps: &[Step], buffers: &Activations) -> Result<Found> {
    let parts =
        [(&buffers.hidden, IDS.len() * WIDTH), (&buffers.logits, ROWS), (&buffers.gate_up, IDS.len() * ROWS)];
    let total: usize = parts.iter().map(|(_, length)| length).sum();
    let usage = wgpu::BufferUsages::MAP_READ | wgpu::BufferUsages::COPY_DST;
    let readback = gpu.buffer("self-test", 4 * total as u64, usage);
    let mut encoder = gpu.device.create_command_encoder(&Default::default());
    encode(&mut encoder, steps, IDS.len() as u32, IDS.len() as u32);
    let mut offset = 0;
    for (buffer, length) in parts {
        let bytes = 4 * length as u64;
        encoder.copy_buffer_to_buffer(buffer, 0, &readback, offset, bytes);
        offset += bytes;
    }
    gpu.queue.submit([encoder.finish()]);
    let values: Vec<f32> = bytemuck::pod_collect_to_vec(&gpu.read(&readback, 0..offset).await?);
    let (hidden, rest) = values.split_at(IDS.len() * WIDTH);
    let (product, products) = rest.split_at(ROWS);
    Ok(Found { hidden: hidden.to_vec(), product: product.to_vec(), products: products.to_vec() })
}

/// The bytes of a matrix: numbers without a pattern in the blocks of `kind`.
fn bytes(kind: TensorType) -> Result<Vec<u8>> {
    let mut state = 1u32;
    let mut next = || {
        // The constants of Numerical Recipes; the high bits are good enough.
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        state >> 16
    };
    let mut raw = Vec::new();
    // Where a block has its scales and what they may be. Of these types any bytes are a block once its scales are
    // small.
    let scales: &[(usize, f32)] = match kind {
        TensorType::Q4_1 => &[(0, 0.13), (2, -1.0)],
        TensorType::Q5_0 => &[(0, 0.06)],
        TensorType::Q5_1 => &[(0, 0.06), (2, -1.0)],
        TensorType::IQ4_NL => &[(0, 0.008)],
        TensorType::IQ4_XS => &[(0, 0.0003)],
        TensorType::Q2K => &[(80, 0.04), (82, 0.06)],
        TensorType::Q3K => &[(108, 0.008)],
        TensorType::Q5K => &[(0, 0.002), (2, 0.03)],
        _ => &[],
    };
    if !scales.is_empty() {
        let block = kind.block_bytes() as usize;
        raw.resize_with(ROWS * WIDTH / kind.block_weights() as usize * block, || next() as u8);
        for block in raw.chunks_mut(block) {
            for &(place, scale) in scales {
                block[place..place + 2].copy_from_slice(&half::f16::from_f32(scale).to_le_bytes());
            }
        }
        return Ok(raw);
    }
    let weights: Vec<f32> = (0..ROWS * WIDTH).map(|_| next() as f32 / 32_768.0 - 1.0).collect();
    blocks::quantize(kind, &weights, &mut raw)?;
    Ok(raw)
}

/// As much of a model as the buffers ask for.
pub(crate) fn config() -> Config {
    Config {
        hidden: WIDTH,
        intermediate: ROWS,
        layers: Vec::new(),
        heads: 1,
        kv_heads: 1,
        head_dim: 4,
        linear_key_heads: 1,
        linear_value_heads: 1,
        linear_key_dim: 4,
        linear_value_dim: 4,
        conv_kernel: 4,
        rope_dim: 4,
        rope_theta: 1e4,
        norm_eps: 1e-6,
        vocab_size: ROWS,
        context_length: 1,
        tied: true,
        value_heads_order: ValueHeadOrder::Tiled,
        mtp_layers: 0,
    }
}
