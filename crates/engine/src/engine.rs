//! The engine: a loaded model, the sequence it has read, and the two things one can do with it, append and generate.

use std::ops::ControlFlow;

use glowworm_gguf::Header;
use glowworm_model::Config;
use web_time::{Duration, Instant};

use crate::activations::{Activations, Control};
use crate::error::{Error, Result};
use crate::gpu::Gpu;
use crate::kernels::{Kernel, Pipelines};
use crate::layers::{self, LayerBuilder, LinearState, Passes};
use crate::matrix::{Loader, Matrix};
use crate::plan::{Groups, Planner, Product, Step, Tuning};
use crate::sampling::{Sampling, SamplingUniform};
use crate::source::ByteSource;

/// How to load a model.
#[derive(Debug, Clone)]
pub struct LoadOptions {
    /// Tokens that the sequence may grow to; the KV cache is allocated for them.
    pub context: usize,
    /// Most tokens of one prefill pass.
    pub batch: usize,
    /// Ids from here on are never sampled: rows of the head that have no token. `None`: all rows have one.
    pub vocabulary: Option<usize>,
    /// For what kind of adapter the kernels are laid out.
    pub tuning: Tuning,
}

impl Default for LoadOptions {
    fn default() -> Self {
        Self { context: 12_288, batch: 256, vocabulary: None, tuning: Tuning::Auto }
    }
}

/// What one generation is to do.
#[derive(Debug, Clone, Copy)]
pub struct GenerateOptions<'a> {
    /// Stop after so many tokens at the latest.
    pub max_tokens: usize,
    /// How tokens are chosen.
    pub sampling: Sampling,
    /// Tokens that end the generation; the one that did is the last of the result. At most eight.
    pub stop_tokens: &'a [u32],
}

/// Why a generation ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stop {
    /// A stop token was sampled.
    Token,
    /// `max_tokens` were generated.
    Length,
    /// The receiver of the tokens asked to stop.
    Cancelled,
}

/// What a generation gave.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Generated {
    /// The tokens, a final stop token included.
    pub tokens: Vec<u32>,
    /// Why it ended.
    pub stop: Stop,
}

/// The engine's work so far, for benchmarks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counters {
    /// Tokens that went through the prefill or decode passes.
    pub tokens: u64,
    /// Dispatches.
    pub dispatches: u64,
    /// Compute passes.
    pub passes: u64,
    /// Command buffers handed to the queue.
    pub submits: u64,
    /// Buffers read back.
    pub readbacks: u64,
}

/// One dispatch of a decode token, for the account of bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlannedStep {
    /// What it computes.
    pub label: String,
    /// Which shader does it.
    pub kernel: &'static str,
    /// Bytes of weights that it reads.
    pub weight_bytes: u64,
}

/// The recurrent state after some tokens, to go back to. See [`Engine::snapshot`].
#[derive(Debug)]
pub struct Snapshot {
    tokens: Vec<u32>,
    flip: u32,
    buffer: wgpu::Buffer,
}

impl Snapshot {
    /// The tokens after which it was taken.
    pub fn tokens(&self) -> &[u32] {
        &self.tokens
    }
}

/// A model in GPU memory with one sequence.
pub struct Engine {
    gpu: Gpu,
    config: Config,
    options: LoadOptions,
    buffers: Activations,
    states: Vec<LinearState>,
    passes: Passes,
    /// Final norm and head of the last token, into `buffers.logits`.
    head: Vec<Step>,
    /// The same for every token of a pass, made when first needed.
    all_logits: Option<AllLogits>,
    head_matrix: Vec<Matrix>,
    final_norm: wgpu::Buffer,
    pipelines: Pipelines,
    tuning: Tuning,
    sample: Step,
    sampling: wgpu::Buffer,
    readback: wgpu::Buffer,
    /// Tokens whose keys and values are in the cache. The first `position` are the sequence; what follows is left
    /// over from before a return to a snapshot.
    cached: Vec<u32>,
    position: usize,
    /// The last token sampled: part of the sequence, but not yet read by the model.
    pending: Option<u32>,
    /// Tokens of the last pass, whose hidden states are still there; 0: none.
    fresh: u32,
    flip: u32,
    /// Tokens to queue before reading back, following the measured speed.
    stride: usize,
    counters: Counters,
}

struct AllLogits {
    steps: Vec<Step>,
    buffer: wgpu::Buffer,
    readback: wgpu::Buffer,
    rows: usize,
}

/// How long one readback's worth of decoding should take: short enough for a stop button to feel immediate.
const READBACK_INTERVAL: Duration = Duration::from_millis(120);

/// Most tokens between readbacks.
const MOST_STRIDE: usize = 16;

impl Engine {
    /// Loads the model of `header` from `source` onto `gpu`. `progress` is told the bytes of weights read so far.
    ///
    /// # Errors
    /// A missing or wrong tensor, a shape that the kernels do not cover, a failed read, GPU memory at its end.
    pub async fn load<S: ByteSource>(
        gpu: &Gpu,
        source: &mut S,
        header: &Header,
        config: &Config,
        options: LoadOptions,
        progress: &mut dyn FnMut(u64),
    ) -> Result<Self> {
        layers::check_shapes(config)?;
        if options.context == 0 || options.batch == 0 {
            return Err(Error::Usage("context and batch must be at least 1"));
        }
        let options = LoadOptions { batch: options.batch.min(options.context), ..options };
        let kv_bytes = 4 * (options.context * config.kv_width()) as u64;
        if kv_bytes > crate::gpu::BASE_BINDING {
            return Err(Error::Shape {
                what: "the context",
                value: options.context,
                needed: "at most 128 MiB of keys a layer",
            });
        }
        let buffers = Activations::new(gpu, config, options.batch, options.context).await?;
        let mut pipelines = Pipelines::new(gpu);
        let tuning = options.tuning.for_gpu(gpu);
        let rotation = layers::values_buffer(gpu, "rotation", &rotation_table(config, options.context));
        let mut loader = Loader::new(gpu, source, header, progress);
        let mut planner =
            Planner { gpu, pipelines: &mut pipelines, buffers: &buffers, tuning, eps: config.norm_eps };

        let mut passes = Passes::default();
        let embedding = loader.merged(&["token_embd.weight".to_owned()]).await?;
        for matrix in &embedding {
            passes.decode.extend(planner.embed(matrix)?);
            passes.prefill.extend(planner.embed(matrix)?);
        }
        let mut states = Vec::with_capacity(config.linear_layers());
        for index in 0..config.layers.len() {
            let mut builder = LayerBuilder {
                loader: &mut loader,
                planner: &mut planner,
                passes: &mut passes,
                config,
                context: options.context,
                rotation: &rotation,
                index,
            };
            states.extend(builder.build().await?);
        }
        let final_norm = layers::upload(&mut loader, "output_norm.weight").await?;
        let head_matrix = match config.tied {
            true => embedding,
            false => loader.merged(&["output.weight".to_owned()]).await?,
        };
        let mut head = Vec::new();
        for matrix in &head_matrix {
            let product = Product { last_token: true, ..Product::store(&buffers.hidden, &buffers.logits) };
            head.extend(planner.matvec("head", matrix, &product.normed(&final_norm))?);
        }

        let usage = wgpu::BufferUsages::UNIFORM | wgpu::BufferUsages::COPY_DST;
        let sampling = gpu.buffer("sampling", size_of::<SamplingUniform>() as u64, usage);
        let sample = planner.sampler(&sampling)?;
        let read_usage = wgpu::BufferUsages::MAP_READ | wgpu::BufferUsages::COPY_DST;
        let read_bytes = 4 * config.vocab_size.max(options.context) + size_of::<Control>();
        let readback =
            gpu.guarded("readback", || gpu.buffer("readback", read_bytes as u64, read_usage)).await?;
        gpu.queue.submit([]);
        gpu.wait().await?;
        Ok(Self {
            gpu: gpu.clone(),
            config: config.clone(),
            options,
            states,
            passes,
            head,
            all_logits: None,
            head_matrix,
            final_norm,
            pipelines,
            tuning,
            sample,
            sampling,
            readback,
            buffers,
            cached: Vec::new(),
            position: 0,
            pending: None,
            fresh: 0,
            flip: 0,
            stride: 1,
            counters: Counters::default(),
        })
    }

    /// The model's configuration.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// The device it runs on.
    pub fn gpu(&self) -> &Gpu {
        &self.gpu
    }

    /// Tokens in the sequence.
    pub fn len(&self) -> usize {
        self.position + usize::from(self.pending.is_some())
    }

    /// Whether nothing was appended yet.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Tokens that the sequence may grow to.
    pub fn capacity(&self) -> usize {
        self.options.context
    }

    /// The work done so far.
    pub fn counters(&self) -> Counters {
        self.counters
    }

    /// Every dispatch of a decode token, in order.
    pub fn decode_plan(&self) -> Vec<PlannedStep> {
        let sample = std::iter::once(&self.sample);
        let steps = self.passes.decode.iter().chain(&self.head).chain(sample);
        steps
            .map(|step| PlannedStep {
                label: step.label.clone(),
                kernel: step.kernel(),
                weight_bytes: step.weight_bytes,
            })
            .collect()
    }

    /// Runs each dispatch of a decode token `repeats` times by itself and returns its mean time, in the order of
    /// [`Engine::decode_plan`]. On a GPU the cost of submitting and waiting is part of each time, so compare steps
    /// with each other, not with a token. The sequence is forgotten.
    ///
    /// # Errors
    /// A lost device.
    pub async fn profile_decode(&mut self, repeats: u32) -> Result<Vec<Duration>> {
        self.reset();
        self.write_control(Control { count: 1, limit: u32::MAX, ..self.control() });
        let steps = self.passes.decode.iter().chain(&self.head).chain(std::iter::once(&self.sample));
        let mut times = Vec::new();
        for step in steps {
            self.gpu.wait().await?;
            let started = Instant::now();
            let mut encoder = self.gpu.device.create_command_encoder(&Default::default());
            {
                let mut pass = encoder.begin_compute_pass(&Default::default());
                (0..repeats).for_each(|_| step.encode(&mut pass, 1));
            }
            self.gpu.queue.submit([encoder.finish()]);
            self.gpu.wait().await?;
            times.push(started.elapsed() / repeats.max(1));
        }
        self.reset();
        Ok(times)
    }

    /// Forgets the sequence.
    pub fn reset(&mut self) {
        self.position = 0;
        self.pending = None;
        self.fresh = 0;
        let mut encoder = self.gpu.device.create_command_encoder(&Default::default());
        for buffer in self.state_buffers() {
            encoder.clear_buffer(buffer, 0, None);
        }
        self.gpu.queue.submit([encoder.finish()]);
    }

    /// Reads `tokens` into the sequence, many at a time.
    ///
    /// # Errors
    /// A full context, an id outside the vocabulary (nothing is read then), a lost device.
    pub async fn append(&mut self, tokens: &[u32]) -> Result<()> {
        self.check_append(tokens)?;
        let pending = self.pending.take();
        let all: Vec<u32> = pending.into_iter().chain(tokens.iter().copied()).collect();
        for (index, piece) in all.chunks(self.options.batch).enumerate() {
            // Queued passes keep copies of their inputs: let the GPU catch up now and then.
            if index % 8 == 7 {
                self.gpu.wait().await?;
            }
            self.pass(piece);
        }
        self.gpu.check()
    }

    /// Reads `tokens` into the sequence and returns the logits after each: [tokens, vocabulary].
    ///
    /// # Errors
    /// As [`Engine::append`].
    pub async fn append_with_logits(&mut self, tokens: &[u32]) -> Result<Vec<f32>> {
        self.check_append(tokens)?;
        if let Some(pending) = self.pending.take() {
            self.pass(&[pending]);
        }
        let vocab = self.config.vocab_size;
        let mut logits = Vec::with_capacity(tokens.len() * vocab);
        let rows = self.all_logits().await?;
        for piece in tokens.chunks(rows.min(self.options.batch)) {
            self.pass(piece);
            if piece.len() == 1 {
                logits.extend(self.logits().await?);
                continue;
            }
            let Some(all) = &self.all_logits else {
                return Err(Error::Usage("the head's buffers are missing"));
            };
            let bytes = (4 * piece.len() * vocab) as u64;
            let mut encoder = self.gpu.device.create_command_encoder(&Default::default());
            encode(&mut encoder, &all.steps, piece.len() as u32);
            encoder.copy_buffer_to_buffer(&all.buffer, 0, &all.readback, 0, bytes);
            self.gpu.queue.submit([encoder.finish()]);
            let bytes = self.gpu.read(&all.readback, 0..bytes).await?;
            logits.extend(bytemuck::pod_collect_to_vec::<u8, f32>(&bytes));
        }
        Ok(logits)
    }

    /// The logits after the last token of the sequence: [vocabulary].
    ///
    /// # Errors
    /// [`Error::Usage`] when nothing was appended since the start or the last snapshot; a lost device.
    pub async fn logits(&mut self) -> Result<Vec<f32>> {
        self.refresh()?;
        let bytes = 4 * self.config.vocab_size as u64;
        let mut encoder = self.gpu.device.create_command_encoder(&Default::default());
        encode(&mut encoder, &self.head, 1);
        encoder.copy_buffer_to_buffer(&self.buffers.logits, 0, &self.readback, 0, bytes);
        self.gpu.queue.submit([encoder.finish()]);
        let bytes = self.gpu.read(&self.readback, 0..bytes).await?;
        Ok(bytemuck::pod_collect_to_vec(&bytes))
    }

    /// Generates tokens after the sequence. `on_tokens` sees them in small groups, as they come, and may break off.
    ///
    /// # Errors
    /// [`Error::ContextFull`] when not one more token fits, [`Error::Usage`] when nothing was appended or the
    /// settings make no sense, a lost device. The sequence is as it was before, in the first two cases.
    pub async fn generate(
        &mut self,
        options: &GenerateOptions<'_>,
        mut on_tokens: impl FnMut(&[u32]) -> ControlFlow<()>,
    ) -> Result<Generated> {
        if options.max_tokens == 0 {
            return Ok(Generated { tokens: Vec::new(), stop: Stop::Length });
        }
        let room = self.capacity().saturating_sub(self.len());
        if room == 0 {
            return Err(Error::ContextFull { capacity: self.capacity(), used: self.len(), wanted: 1 });
        }
        let vocab = self.options.vocabulary.unwrap_or(self.config.vocab_size).min(self.config.vocab_size);
        let uniform = SamplingUniform::new(&options.sampling, vocab, options.stop_tokens, self.len())?;
        self.refresh()?;
        let limit = options.max_tokens.min(room);
        self.gpu.queue.write_buffer(&self.sampling, 0, bytemuck::bytes_of(&uniform));
        self.write_control(Control { count: self.fresh, limit: limit as u32, ..self.control() });

        let mut tokens: Vec<u32> = Vec::new();
        let stop = loop {
            let first = tokens.len();
            let started = Instant::now();
            let wanted = self.stride.min(limit - first);
            let control = self.decode_and_read(first, wanted, &mut tokens).await?;
            self.adapt_stride(started.elapsed(), tokens.len() - first);
            let new = &tokens[first..];
            let flow = on_tokens(new);
            if tokens.last().is_some_and(|last| options.stop_tokens.contains(last)) {
                break Stop::Token;
            }
            if tokens.len() >= limit || control.stopped != 0 {
                break Stop::Length;
            }
            if flow.is_break() {
                break Stop::Cancelled;
            }
        };

        // The model has read every token but the last.
        if let Some((last, read)) = tokens.split_last() {
            self.advance(read);
            self.flip ^= (read.len() & 1) as u32;
            self.pending = Some(*last);
        }
        self.fresh = 0;
        Ok(Generated { tokens, stop })
    }

    /// Keeps the state after the present sequence, to come back to with [`Engine::restore`]: what a shared prompt
    /// costs is then paid once. The KV cache is not copied: its rows stay valid until other tokens overwrite them.
    ///
    /// # Errors
    /// GPU memory at its end, a lost device.
    pub async fn snapshot(&mut self) -> Result<Snapshot> {
        if let Some(pending) = self.pending.take() {
            self.pass(&[pending]);
        }
        let usage = wgpu::BufferUsages::COPY_SRC | wgpu::BufferUsages::COPY_DST;
        let bytes = self.state_buffers().map(|buffer| buffer.size()).sum();
        let buffer = self.gpu.guarded("a snapshot", || self.gpu.buffer("snapshot", bytes, usage)).await?;
        let mut encoder = self.gpu.device.create_command_encoder(&Default::default());
        let mut offset = 0;
        for state in self.state_buffers() {
            encoder.copy_buffer_to_buffer(state, 0, &buffer, offset, state.size());
            offset += state.size();
        }
        self.gpu.queue.submit([encoder.finish()]);
        self.gpu.check()?;
        Ok(Snapshot { tokens: self.cached[..self.position].to_vec(), flip: self.flip, buffer })
    }

    /// Goes back to a snapshot of this engine. Returns whether that was possible: not when the KV cache no longer
    /// holds the snapshot's tokens, because another sequence has overwritten them.
    pub fn restore(&mut self, snapshot: &Snapshot) -> bool {
        if !self.cached.starts_with(&snapshot.tokens) {
            return false;
        }
        let mut encoder = self.gpu.device.create_command_encoder(&Default::default());
        let mut offset = 0;
        for state in self.state_buffers() {
            encoder.copy_buffer_to_buffer(&snapshot.buffer, offset, state, 0, state.size());
            offset += state.size();
        }
        self.gpu.queue.submit([encoder.finish()]);
        self.position = snapshot.tokens.len();
        self.flip = snapshot.flip;
        self.pending = None;
        self.fresh = 0;
        true
    }

    fn state_buffers(&self) -> impl Iterator<Item = &wgpu::Buffer> {
        self.states.iter().flat_map(|state| [&state.conv, &state.recurrent])
    }

    fn check_append(&self, tokens: &[u32]) -> Result<()> {
        self.gpu.check()?;
        let vocabulary = self.config.vocab_size;
        if let Some(&token) = tokens.iter().find(|&&token| token as usize >= vocabulary) {
            return Err(Error::Token { token, vocabulary });
        }
        let (used, wanted) = (self.len(), tokens.len());
        if used + wanted > self.capacity() {
            return Err(Error::ContextFull { capacity: self.capacity(), used, wanted });
        }
        Ok(())
    }

    /// Makes sure that the last token's hidden state is there for the head.
    fn refresh(&mut self) -> Result<()> {
        self.gpu.check()?;
        if let Some(pending) = self.pending.take() {
            self.pass(&[pending]);
        }
        if self.fresh == 0 {
            return Err(Error::Usage("append at least one token before asking for the next"));
        }
        Ok(())
    }

    /// Queues one pass over at most `batch` tokens.
    fn pass(&mut self, tokens: &[u32]) {
        let count = tokens.len() as u32;
        self.gpu.queue.write_buffer(&self.buffers.ids, 0, bytemuck::cast_slice(tokens));
        self.write_control(Control { count, ..self.control() });
        let steps = if count == 1 { &self.passes.decode } else { &self.passes.prefill };
        let mut encoder = self.gpu.device.create_command_encoder(&Default::default());
        encode(&mut encoder, steps, count);
        self.gpu.queue.submit([encoder.finish()]);
        self.counters.tokens += u64::from(count);
        self.counters.dispatches += steps.len() as u64;
        self.counters.passes += 1;
        self.counters.submits += 1;
        self.advance(tokens);
        self.flip ^= 1;
        self.fresh = count;
    }

    /// Notes that the model has read `tokens`.
    fn advance(&mut self, tokens: &[u32]) {
        self.cached.truncate(self.position);
        self.cached.extend_from_slice(tokens);
        self.position += tokens.len();
    }

    fn control(&self) -> Control {
        Control { position: self.position as u32, flip: self.flip, ..Control::default() }
    }

    fn write_control(&self, control: Control) {
        self.gpu.queue.write_buffer(&self.buffers.control, 0, bytemuck::bytes_of(&control));
    }

    /// Queues the sampling of `wanted` tokens after `first` have been, with the passes between them, in one compute
    /// pass, and reads back what was sampled.
    async fn decode_and_read(
        &mut self,
        first: usize,
        wanted: usize,
        tokens: &mut Vec<u32>,
    ) -> Result<Control> {
        let mut encoder = self.gpu.device.create_command_encoder(&Default::default());
        let mut dispatches = 0;
        {
            let mut pass = encoder.begin_compute_pass(&Default::default());
            for index in 0..wanted {
                let decode: &[Step] = if first + index == 0 { &[] } else { &self.passes.decode };
                for step in decode.iter().chain(&self.head).chain(std::iter::once(&self.sample)) {
                    step.encode(&mut pass, 1);
                    dispatches += 1;
                }
                self.counters.tokens += u64::from(!decode.is_empty());
            }
        }
        let control_bytes = size_of::<Control>() as u64;
        let token_bytes = 4 * wanted as u64;
        encoder.copy_buffer_to_buffer(&self.buffers.control, 0, &self.readback, 0, control_bytes);
        let generated = &self.buffers.generated;
        encoder.copy_buffer_to_buffer(
            generated,
            4 * first as u64,
            &self.readback,
            control_bytes,
            token_bytes,
        );
        self.gpu.queue.submit([encoder.finish()]);
        self.counters.dispatches += dispatches;
        self.counters.passes += 1;
        self.counters.submits += 1;
        self.counters.readbacks += 1;
        let bytes = self.gpu.read(&self.readback, 0..control_bytes + token_bytes).await?;
        let (control, sampled) = bytes.split_at(size_of::<Control>());
        let control: Control = bytemuck::pod_read_unaligned(control);
        let count = (control.generated as usize).saturating_sub(first).min(wanted);
        tokens.extend(bytemuck::pod_collect_to_vec::<u8, u32>(sampled).into_iter().take(count));
        Ok(control)
    }

    /// Follows the measured speed with the number of tokens between readbacks.
    fn adapt_stride(&mut self, elapsed: Duration, tokens: usize) {
        if tokens < self.stride {
            return; // stopped early: says nothing of the speed
        }
        if elapsed < READBACK_INTERVAL / 2 {
            self.stride = (self.stride * 2).min(MOST_STRIDE);
        } else if elapsed > READBACK_INTERVAL {
            self.stride = (self.stride / 2).max(1);
        }
    }

    /// Makes the steps that compute the logits of all tokens of a pass; returns how many tokens they can take.
    async fn all_logits(&mut self) -> Result<usize> {
        if let Some(all) = &self.all_logits {
            return Ok(all.rows);
        }
        const MOST_BYTES: usize = 64 << 20;
        let vocab = self.config.vocab_size;
        let rows = (MOST_BYTES / (4 * vocab)).clamp(1, self.options.batch);
        let bytes = (4 * rows * vocab) as u64;
        let storage = wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::COPY_SRC;
        let read = wgpu::BufferUsages::MAP_READ | wgpu::BufferUsages::COPY_DST;
        let gpu = &self.gpu;
        let (buffer, readback) = gpu
            .guarded("the logits of a batch", || {
                (gpu.buffer("all logits", bytes, storage), gpu.buffer("all logits, read", bytes, read))
            })
            .await?;
        let mut planner = Planner {
            gpu,
            pipelines: &mut self.pipelines,
            buffers: &self.buffers,
            tuning: self.tuning,
            eps: self.config.norm_eps,
        };
        let words = (self.config.hidden / 4) as u32;
        let mut steps = vec![planner.step(
            "final norm".to_owned(),
            (Kernel::RmsNorm, &[]),
            &[&self.buffers.hidden, &self.final_norm, &self.buffers.normed],
            &[words, self.config.norm_eps.to_bits()],
            Groups::PerToken(1),
        )?];
        for matrix in &self.head_matrix {
            let product = Product::store(&self.buffers.normed, &buffer);
            steps.extend(planner.matmul("head", matrix, &product, vocab as u32)?);
        }
        self.all_logits = Some(AllLogits { steps, buffer, readback, rows });
        Ok(rows)
    }
}

impl std::fmt::Debug for Engine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Engine").field("gpu", &self.gpu).field("len", &self.len()).finish_non_exhaustive()
    }
}

/// Adds one pass over `tokens` tokens.
pub(crate) fn encode(encoder: &mut wgpu::CommandEncoder, steps: &[Step], tokens: u32) {
    let mut pass = encoder.begin_compute_pass(&Default::default());
    for step in steps {
        step.encode(&mut pass, tokens);
    }
}

/// Cosines and sines of the rotation: [positions, rope_dim / 2, 2], computed in f64.
fn rotation_table(config: &Config, positions: usize) -> Vec<f32> {
    let half = config.rope_dim / 2;
    let theta = f64::from(config.rope_theta);
    let frequencies: Vec<f64> =
        (0..half).map(|i| theta.powf(-2.0 * i as f64 / config.rope_dim as f64)).collect();
    let mut table = Vec::with_capacity(positions * half * 2);
    for position in 0..positions {
        for frequency in &frequencies {
            let (sin, cos) = (position as f64 * frequency).sin_cos();
            table.extend([cos as f32, sin as f32]);
        }
    }
    table
}
