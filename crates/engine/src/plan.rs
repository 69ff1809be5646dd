//! What is dispatched for a token or a batch of tokens: every pipeline, binding and size fixed when the model is
//! loaded, so that running a pass is a walk along a list.

use glowworm_gguf::TensorType;

use crate::activations::Activations;
use crate::error::Result;
use crate::gpu::Gpu;
use crate::kernels::{Constants, Kernel, Pipeline, Pipelines};
use crate::matrix::{Matrix, Tile};

/// How many workgroups a step takes.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Groups {
    /// So many, whatever the number of tokens.
    Fixed(u32),
    /// So many for each token.
    PerToken(u32),
    /// So many for each so many tokens.
    PerTokens(u32, u32),
    /// So many for each token and each so many positions that the sequence has by then.
    PerTokenAndSpan(u32, u32),
}

/// In which passes a step runs, by the most positions that a token of the pass may see.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum When {
    Always,
    UpTo(u32),
    Beyond(u32),
}

/// Bytes that a dispatch reads for one token, each counted once: what the kernel must get from memory. (Workgroups read
/// their input again and again, all but once from a cache.)
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Reads {
    /// Weight matrices.
    pub weights: u64,
    /// What the delta nets remember of the sequence.
    pub state: u64,
    /// Keys and values, for each position so far.
    pub cache_per_position: u64,
    /// Inputs, small weights, tables.
    pub other: u64,
}

impl Reads {
    /// All of them at `position`.
    pub fn at(&self, position: u64) -> u64 {
        self.weights + self.state + self.cache_per_position * position + self.other
    }

    /// Of `count` numbers that are neither of the named kinds.
    pub(crate) fn numbers(count: usize) -> Self {
        Self { other: 4 * count as u64, ..Self::default() }
    }
}

impl std::iter::Sum for Reads {
    fn sum<I: Iterator<Item = Self>>(all: I) -> Self {
        all.fold(Self::default(), |a, b| Self {
            weights: a.weights + b.weights,
            state: a.state + b.state,
            cache_per_position: a.cache_per_position + b.cache_per_position,
            other: a.other + b.other,
        })
    }
}

/// One dispatch.
#[derive(Debug, Clone)]
pub(crate) struct Step {
    /// What it computes, for people: `layer 3 q|k|v`.
    pub(crate) label: String,
    /// Bytes that it reads for a token.
    pub(crate) reads: Reads,
    pipeline: Pipeline,
    bindings: wgpu::BindGroup,
    groups: Groups,
    when: When,
}

impl Step {
    /// The same in some passes only.
    pub(crate) fn when(self, when: When) -> Self {
        Self { when, ..self }
    }

    /// Whether it is part of a pass whose tokens see up to `positions` positions.
    pub(crate) fn runs_at(&self, positions: u32) -> bool {
        match self.when {
            When::Always => true,
            When::UpTo(most) => positions <= most,
            When::Beyond(most) => positions > most,
        }
    }

    /// Name of the kernel.
    pub(crate) fn kernel(&self) -> &'static str {
        self.pipeline.kernel.name()
    }

    /// Adds the dispatch to a pass over `tokens` tokens that see up to `positions` positions.
    pub(crate) fn encode(&self, pass: &mut wgpu::ComputePass<'_>, tokens: u32, positions: u32) {
        let (x, y, z) = match self.groups {
            Groups::Fixed(x) => (x, 1, 1),
            Groups::PerToken(x) => (x, tokens, 1),
            Groups::PerTokens(x, tile) => (x, tokens.div_ceil(tile), 1),
            Groups::PerTokenAndSpan(x, span) => (x, tokens, positions.div_ceil(span)),
        };
        pass.set_pipeline(&self.pipeline.pipeline);
        pass.set_bind_group(0, &self.bindings, &[]);
        pass.dispatch_workgroups(x, y, z);
    }
}

/// What a matrix-vector product does with its result, as numbered in `matvec.wgsl`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Finish {
    /// Store it.
    Store = 0,
    /// Add it to the residual stream.
    Add = 1,
    /// `silu(gate) · up` of the two halves of the matrix's rows.
    SwiGlu = 2,
}

/// For what kind of adapter the matrix products are laid out. All give the same results but for rounding.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Tuning {
    /// As the adapter says of itself.
    #[default]
    Auto,
    /// A software adapter runs an invocation as a lane of a vector register and pays for every barrier, so a lane
    /// takes a whole row.
    Software,
    /// A GPU wants neighbouring lanes to read neighbouring words, and weights kept in workgroup memory for many
    /// tokens.
    Hardware,
}

impl Tuning {
    /// One of the two, by the adapter where it was left open.
    pub(crate) fn for_gpu(self, gpu: &Gpu) -> Self {
        match self {
            Tuning::Auto if gpu.is_software() => Tuning::Software,
            Tuning::Auto => Tuning::Hardware,
            chosen => chosen,
        }
    }

    /// The default of [`LoadOptions::span`](crate::LoadOptions::span).
    pub(crate) fn attention_span(self) -> Option<u32> {
        (self != Tuning::Software).then_some(512)
    }

    /// Drafted tokens that a verify pass must find right, on average, to be worth more than a plain pass: it reads the
    /// weights once too, but a software adapter is as slow as its arithmetic.
    pub(crate) fn worthwhile_drafts(self) -> f32 {
        match self {
            Tuning::Software => 2.0,
            Tuning::Auto | Tuning::Hardware => 0.3,
        }
    }

    /// The matrix-vector kernel for a matrix of `rows` rows of `items` items, its own constants, and how many rows of
    /// the result a workgroup of it computes.
    fn matvec(self, items: u32, rows: u32, finish: Finish) -> (Kernel, Constants, u32) {
        match self {
            Tuning::Software => {
                // A lane takes four rows of the matrix; a gate and its up make one row of the result.
                let rows = if finish == Finish::SwiGlu { 2 } else { 4 };
                (Kernel::MatvecRows, vec![("WORKGROUP", 32)], 32 * rows)
            }
            Tuning::Auto | Tuning::Hardware => {
                // Eight lanes read 128 bytes in a row, a cache line. Every workgroup reads the whole input, as much as
                // 4 to 14 rows of weights: so it takes 32 rows where that still makes workgroups enough for a large GPU.
                let lanes = items.next_power_of_two().min(8);
                let workgroup = if rows >= LARGE_MATRIX { 256 } else { 64 };
                (Kernel::Matvec, vec![("WORKGROUP", workgroup), ("LANES", lanes)], workgroup / lanes)
            }
        }
    }

    /// The matrix-matrix kernel, and the rows and tokens that a workgroup of it computes.
    fn matmul(self) -> (Kernel, u32, u32) {
        match self {
            Tuning::Software => (Kernel::MatmulRows, 32 * 4, 8),
            Tuning::Auto | Tuning::Hardware => (Kernel::Matmul, 32, 32),
        }
    }
}

/// Rows of a matrix that fill 256 workgroups of 32 rows.
const LARGE_MATRIX: u32 = 8192;

/// Most tokens of a verify pass: one that was sampled and the drafts that follow it. The matrix-vector kernels keep a
/// token in each component of a `vec4`.
pub const VERIFY_TOKENS: usize = 4;

/// Makes steps.
pub(crate) struct Planner<'a> {
    pub(crate) gpu: &'a Gpu,
    pub(crate) pipelines: &'a mut Pipelines,
    pub(crate) buffers: &'a Activations,
    pub(crate) tuning: Tuning,
    pub(crate) eps: f32,
}

impl Planner<'_> {
    /// A step of `kernel` with the given buffers, its shape as the words of a uniform after them, and the control
    /// buffer last where the kernel has one.
    pub(crate) fn step(
        &mut self,
        label: String,
        (kernel, constants): (Kernel, &[(&'static str, u32)]),
        buffers: &[&wgpu::Buffer],
        shape: &[u32],
        groups: Groups,
        reads: Reads,
    ) -> Result<Step> {
        let pipeline = self.pipelines.get(kernel, &[], constants)?;
        let uniform = self.uniform(shape);
        let mut resources: Vec<_> = buffers.iter().map(|buffer| buffer.as_entire_binding()).collect();
        resources.push(uniform.as_entire_binding());
        if !matches!(kernel, Kernel::RmsNorm | Kernel::Swiglu) {
            resources.push(self.buffers.control.as_entire_binding());
        }
        let bindings = pipeline.bind(self.gpu, &resources);
        Ok(Step { label, reads, pipeline, bindings, groups, when: When::Always })
    }

    /// The steps of `x · matrixᵀ` for up to `tokens` tokens, 1 or [`VERIFY_TOKENS`], and for matrices that share an input and
    /// whose results stand side by side: one for each tile, or for two neighbours of a tile each.
    pub(crate) fn matvecs(
        &mut self,
        label: &str,
        matrices: &[Matrix],
        product: &Product<'_>,
        tokens: usize,
    ) -> Result<Vec<Step>> {
        let mut steps = Vec::new();
        let mut rest = matrices;
        while let [matrix, others @ ..] = rest {
            let whole = |matrix: &Matrix| matrix.tiles.len() == 1;
            let second = others.first().filter(|second| whole(matrix) && whole(second));
            if let Some(second) = second.filter(|_| product.finish == Finish::Store) {
                let tiles = (&matrix.tiles[0], Some((second, &second.tiles[0])));
                steps.push(self.matvec_step(label.to_owned(), matrix, tiles, product, tokens)?);
                rest = &others[1..];
            } else {
                steps.extend(self.over_tiles(label, matrix, |planner, label, tile| {
                    planner.matvec_step(label, matrix, (tile, None), product, tokens)
                })?);
                rest = others;
            }
        }
        Ok(steps)
    }

    /// The product with a tile, and with one of a second matrix.
    fn matvec_step(
        &mut self,
        label: String,
        matrix: &Matrix,
        (tile, second): (&Tile, Option<(&Matrix, &Tile)>),
        product: &Product<'_>,
        tokens: usize,
    ) -> Result<Step> {
        let second_rows = second.map_or(0, |(_, tile)| tile.rows);
        let largest = matrix.rows.max(second_rows);
        let (kernel, mut constants, group_rows) = self.tuning.matvec(matrix.items, largest, product.finish);
        constants.extend([
            ("NORM", product.norm.is_some().into()),
            ("FINISH", product.finish as u32),
            ("TOKENS", tokens as u32),
            ("PAIR", second.is_some().into()),
        ]);
        let rows = if product.finish == Finish::SwiGlu { tile.rows / 2 } else { tile.rows };
        let own_groups = rows.div_ceil(group_rows);
        let shape = [
            matrix.items,
            rows,
            matrix.first + tile.row_first,
            product.last_token.into(),
            self.eps.to_bits(),
            product.stride,
            product.half,
            own_groups,
            second_rows,
        ];
        let norm = product.norm.unwrap_or(&self.buffers.unused);
        let buffers = [product.x, norm, product.y];
        let groups = Groups::Fixed(own_groups + second_rows.div_ceil(group_rows));
        let formats: Vec<_> =
            [matrix.kind].into_iter().chain(second.map(|(matrix, _)| matrix.kind)).collect();
        let tiles: Vec<_> = [tile].into_iter().chain(second.map(|(_, tile)| tile)).collect();
        let weights = (kernel, &formats[..], &constants[..]);
        let mut step = self.weight_step(label, weights, &tiles, &buffers, &shape, groups)?;
        let inputs = 1 + u64::from(product.norm.is_some());
        let before = if product.finish == Finish::Add { rows } else { 0 };
        step.reads.other = 4 * (inputs * 32 * u64::from(matrix.items) + u64::from(before));
        Ok(step)
    }

    /// The steps of `x · matrixᵀ` for many tokens, each token's results in a row of `stride` numbers.
    pub(crate) fn matmul(
        &mut self,
        label: &str,
        matrix: &Matrix,
        product: &Product<'_>,
    ) -> Result<Vec<Step>> {
        let (kernel, rows, tokens) = self.tuning.matmul();
        let constants = [("FINISH", product.finish as u32)];
        self.over_tiles(label, matrix, |planner, label, tile| {
            let shape = [matrix.items, tile.rows, matrix.first + tile.row_first, product.stride, 0, 0];
            let groups = Groups::PerTokens(tile.rows.div_ceil(rows), tokens);
            let buffers = [product.x, product.y];
            planner.weight_step(
                label,
                (kernel, &[matrix.kind], &constants),
                &[tile],
                &buffers,
                &shape,
                groups,
            )
        })
    }

    /// The steps that look up embeddings.
    pub(crate) fn embed(&mut self, matrix: &Matrix) -> Result<Vec<Step>> {
        self.over_tiles("embedding", matrix, |planner, label, tile| {
            let shape = [matrix.items, tile.row_first, tile.rows, 0];
            let groups = Groups::PerToken(matrix.items.div_ceil(64));
            let buffers = [&planner.buffers.ids, &planner.buffers.hidden];
            let mut step = planner.weight_step(
                label,
                (Kernel::Embed, &[matrix.kind], &[]),
                &[tile],
                &buffers,
                &shape,
                groups,
            )?;
            // One row, whatever the size of the table.
            step.reads.weights = tile.bytes() / u64::from(tile.rows);
            Ok(step)
        })
    }

    /// The step that chooses the next token, or after a verify pass the next tokens, with its settings in `sampling`.
    /// It reads `vocab` logits a token.
    pub(crate) fn sampler(&mut self, sampling: &wgpu::Buffer, vocab: usize, verify: bool) -> Result<Step> {
        let buffers = self.buffers;
        let operands = [&buffers.logits, &buffers.ids, &buffers.sequence, &buffers.control, sampling];
        let logits = Reads::numbers(vocab);
        self.single("sample", Kernel::Sample, &[("VERIFY", verify.into())], &operands, logits)
    }

    /// The step that drafts tokens for the next verify pass.
    pub(crate) fn drafter(&mut self) -> Result<Step> {
        let buffers = self.buffers;
        let operands = [&buffers.sequence, &buffers.ids, &buffers.control];
        let constants = [("MOST_DRAFTS", VERIFY_TOKENS as u32 - 1)];
        self.single("draft", Kernel::Draft, &constants, &operands, Reads::default())
    }

    /// A step of one workgroup that writes the control buffer and has no shape.
    fn single(
        &mut self,
        label: &str,
        kernel: Kernel,
        constants: &[(&'static str, u32)],
        operands: &[&wgpu::Buffer],
        reads: Reads,
    ) -> Result<Step> {
        let pipeline = self.pipelines.get(kernel, &[], constants)?;
        let resources: Vec<_> = operands.iter().map(|buffer| buffer.as_entire_binding()).collect();
        let bindings = pipeline.bind(self.gpu, &resources);
        let (label, groups) = (label.to_owned(), Groups::Fixed(1));
        Ok(Step { label, reads, pipeline, bindings, groups, when: When::Always })
    }

    fn over_tiles(
        &mut self,
        label: &str,
        matrix: &Matrix,
        mut step: impl FnMut(&mut Self, String, &Tile) -> Result<Step>,
    ) -> Result<Vec<Step>> {
        let number = |index: usize| match matrix.tiles.len() {
            1 => label.to_owned(),
            count => format!("{label}, tile {} of {count}", index + 1),
        };
        matrix.tiles.iter().enumerate().map(|(index, tile)| step(self, number(index), tile)).collect()
    }

    fn weight_step(
        &mut self,
        label: String,
        (kernel, formats, constants): (Kernel, &[TensorType], &[(&'static str, u32)]),
        tiles: &[&Tile],
        buffers: &[&wgpu::Buffer],
        shape: &[u32],
        groups: Groups,
    ) -> Result<Step> {
        let pipeline = self.pipelines.get(kernel, formats, constants)?;
        let uniform = self.uniform(shape);
        let mut matrices = tiles.iter().flat_map(|tile| [tile.main(), tile.scales()]);
        let mut resources: Vec<_> = matrices.by_ref().take(2).collect();
        resources.extend(buffers.iter().map(|buffer| buffer.as_entire_binding()));
        resources.push(uniform.as_entire_binding());
        resources.push(self.buffers.control.as_entire_binding());
        // A second matrix comes last: see `shaders::source`.
        resources.extend(matrices);
        let bindings = pipeline.bind(self.gpu, &resources);
        let reads = Reads { weights: tiles.iter().map(|tile| tile.bytes()).sum(), ..Reads::default() };
        Ok(Step { label, reads, pipeline, bindings, groups, when: When::Always })
    }

    fn uniform(&self, words: &[u32]) -> wgpu::Buffer {
        let usage = wgpu::BufferUsages::UNIFORM | wgpu::BufferUsages::COPY_DST;
        let bytes: &[u8] = bytemuck::cast_slice(words);
        let buffer = self.gpu.buffer("shape", bytes.len() as u64, usage);
        self.gpu.queue.write_buffer(&buffer, 0, bytes);
        buffer
    }
}

/// The operands of a matrix product.
pub(crate) struct Product<'a> {
    pub(crate) x: &'a wgpu::Buffer,
    /// Norm weights by which the input is normed first.
    pub(crate) norm: Option<&'a wgpu::Buffer>,
    pub(crate) y: &'a wgpu::Buffer,
    pub(crate) finish: Finish,
    /// The input is the row of the pass's last token, not row 0.
    pub(crate) last_token: bool,
    /// Length of a token's row of `y`.
    pub(crate) stride: u32,
    /// `y` has two halves of so many numbers, and a pass writes the one that [`Control::flip`] names; 0: it has not.
    ///
    /// [`Control::flip`]: crate::activations::Control
    pub(crate) half: u32,
}

impl<'a> Product<'a> {
    /// `y = x · Wᵀ`, where a token's row of `y` has `stride` numbers.
    pub(crate) fn store(x: &'a wgpu::Buffer, y: &'a wgpu::Buffer, stride: usize) -> Self {
        Self { x, norm: None, y, finish: Finish::Store, last_token: false, stride: stride as u32, half: 0 }
    }

    /// `y += x · Wᵀ`.
    pub(crate) fn add(x: &'a wgpu::Buffer, y: &'a wgpu::Buffer, stride: usize) -> Self {
        Self { finish: Finish::Add, ..Self::store(x, y, stride) }
    }

    /// The same with the input normed by `norm`.
    pub(crate) fn normed(self, norm: &'a wgpu::Buffer) -> Self {
        Self { norm: Some(norm), ..self }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use glowworm_gguf::write::Declaration;
    use glowworm_gguf::{Header, Metadata, Writer, blocks};
    use pollster::block_on;

    use super::*;
    use crate::activations::Control;
    use crate::engine::encode;
    use crate::gpu::GpuOptions;
    use crate::layers::values_buffer;
    use crate::matrix::Loader;
    use crate::self_test;
    use crate::source::MemorySource;

    /// Two tiles of the input and a bit.
    const WIDTH: usize = 72 * 32;

    fn noise(count: usize, seed: u32) -> Vec<f32> {
        let mut state = seed;
        (0..count)
            .map(|_| {
                state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                (state >> 8) as f32 / (1 << 24) as f32 - 0.5
            })
            .collect()
    }

    /// Products of matrices, each with its type and number of rows of [`WIDTH`], with `inputs`, a vector each, by a kernel for
    /// `tokens` of them at a time. `together` lets two matrices share a dispatch.
    fn products(
        gpu: &Gpu,
        tuning: Tuning,
        (matrices, together): (&[(TensorType, usize)], bool),
        finish: Finish,
        tokens: usize,
        inputs: &[&[f32]],
    ) -> Vec<f32> {
        let rows: usize = matrices.iter().map(|(_, rows)| rows).sum();
        let names: Vec<String> = (0..matrices.len()).map(|index| format!("matrix {index}")).collect();
        let declarations = names.iter().zip(matrices).map(|(name, &(kind, rows))| Declaration {
            name: name.clone(),
            dims: vec![WIDTH as u64, rows as u64],
            kind,
        });
        let mut writer = Writer::new(Vec::new(), &Metadata::new(), declarations.collect()).unwrap();
        for &(kind, rows) in matrices {
            let mut raw = Vec::new();
            blocks::quantize(kind, &noise(rows * WIDTH, 1), &mut raw).unwrap();
            writer.write(&raw).unwrap();
        }
        let file = writer.finish().unwrap();
        let header = Header::read_from(&mut file.as_slice(), file.len() as u64).unwrap();
        let mut source = MemorySource::new("test", file);

        let mut config = self_test::config();
        config.hidden = WIDTH;
        let buffers = block_on(Activations::new(gpu, &config, VERIFY_TOKENS, 1, 1)).unwrap();
        let norm = values_buffer(gpu, "norm", &noise(WIDTH, 2));
        let results = rows / if finish == Finish::SwiGlu { 2 } else { 1 };
        let usage = wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::COPY_SRC;
        let y = gpu.buffer("y", (4 * VERIFY_TOKENS * results) as u64, usage);
        let usage = wgpu::BufferUsages::MAP_READ | wgpu::BufferUsages::COPY_DST;
        let readback = gpu.buffer("readback", (4 * VERIFY_TOKENS * results) as u64, usage);

        let mut ignored = |_| {};
        let mut loader = Loader::new(gpu, &mut source, &header, &mut ignored);
        let matrices = block_on(loader.merged(&names)).unwrap();
        let mut pipelines = Pipelines::new(gpu);
        let mut planner =
            Planner { gpu, pipelines: &mut pipelines, buffers: &buffers, tuning, eps: config.norm_eps };
        let product = Product { finish, ..Product::store(&buffers.hidden, &y, results).normed(&norm) };
        let at_once = if together { matrices.len() } else { 1 };
        let parts = matrices.chunks(at_once);
        let steps = parts.map(|part| planner.matvecs("product", part, &product, tokens).unwrap());
        let steps: Vec<_> = steps.flatten().collect();
        assert_eq!(steps.len(), matrices.len().div_ceil(at_once));

        let mut found = Vec::new();
        for inputs in inputs.chunks(tokens) {
            for (index, input) in inputs.iter().enumerate() {
                gpu.queue.write_buffer(
                    &buffers.hidden,
                    (4 * index * WIDTH) as u64,
                    bytemuck::cast_slice(input),
                );
            }
            let control = Control { count: inputs.len() as u32, ..Control::default() };
            gpu.queue.write_buffer(&buffers.control, 0, bytemuck::bytes_of(&control));
            let mut encoder = gpu.device.create_command_encoder(&Default::default());
            encode(&mut encoder, &steps, inputs.len() as u32, 1);
            let bytes = (4 * inputs.len() * results) as u64;
            encoder.copy_buffer_to_buffer(&y, 0, &readback, 0, bytes);
            gpu.queue.submit([encoder.finish()]);
            found.extend(bytemuck::pod_collect_to_vec::<u8, f32>(
                &block_on(gpu.read(&readback, 0..bytes)).unwrap(),
            ));
        }
        found
    }

    #[test]
    fn several_tokens_give_the_bits_of_one_at_a_time() {
        let gpu = block_on(Gpu::open(&GpuOptions { adapter: Some("llvmpipe".to_owned()) })).unwrap();
        let numbers = noise(7 * WIDTH, 3);
        let inputs: Vec<&[f32]> = numbers.chunks(WIDTH).collect();
        for tuning in [Tuning::Software, Tuning::Hardware] {
            // Below and above the size at which workgroups grow; not a whole number of them.
            for rows in [74, LARGE_MATRIX as usize + 6] {
                for finish in [Finish::Store, Finish::SwiGlu] {
                    let matrix = (&[(TensorType::Q8_0, rows)][..], false);
                    let expected = products(&gpu, tuning, matrix, finish, 1, &inputs);
                    let found = products(&gpu, tuning, matrix, finish, VERIFY_TOKENS, &inputs);
                    assert!(expected.iter().any(|value| *value != 0.0));
                    let differ =
                        expected.iter().zip(&found).filter(|(a, b)| a.to_bits() != b.to_bits()).count();
                    assert_eq!(differ, 0, "{tuning:?}, {rows} rows, {finish:?}: {} numbers", expected.len());
                }
            }
        }
    }

    #[test]
    fn two_matrices_in_a_dispatch_give_the_bits_of_one_at_a_time() {
        let gpu = block_on(Gpu::open(&GpuOptions { adapter: Some("llvmpipe".to_owned()) })).unwrap();
        let numbers = noise(5 * WIDTH, 3);
        let inputs: Vec<&[f32]> = numbers.chunks(WIDTH).collect();
        let kinds = [TensorType::Q4K, TensorType::Q6K, TensorType::Q8_0, TensorType::F16, TensorType::F32];
        for tuning in [Tuning::Software, Tuning::Hardware] {
            for (first, second) in kinds.into_iter().zip(kinds.into_iter().cycle().skip(1)) {
                for tokens in [1, VERIFY_TOKENS] {
                    // Neither fills its last workgroup.
                    let pair = [(first, 74), (second, 139)];
                    let of =
                        |together| products(&gpu, tuning, (&pair, together), Finish::Store, tokens, &inputs);
                    let (apart, together) = (of(false), of(true));
                    assert!(apart.iter().all(|value| *value != 0.0));
                    let differ =
                        apart.iter().zip(&together).filter(|(a, b)| a.to_bits() != b.to_bits()).count();
                    assert_eq!(differ, 0, "{tuning:?}, {first:?} and {second:?}: {} numbers", apart.len());
                }
            }
        }
    }
}
