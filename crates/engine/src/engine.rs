//! The engine: a loaded model and the sequence it has read, which grows by appending and by generating (see
//! [`generate`](crate::generate)).

use glowworm_gguf::Header;
use glowworm_model::Config;
use web_time::{Duration, Instant};

use crate::activations::{Activations, Control};
use crate::error::{Error, Result};
use crate::gpu::Gpu;
use crate::kernels::{Kernel, Pipelines};
use crate::layers::{self, LayerBuilder, LinearState, Passes};
use crate::matrix::{Loader, Matrix};
use crate::plan::{Groups, Planner, Product, Reads, Step, Tuning, VERIFY_TOKENS};
use crate::sampling::SamplingUniform;
use crate::source::ByteSource;

/// How to load a model.
#[derive(Debug, Clone)]
pub struct LoadOptions {
    /// Tokens that the sequence may grow to; the KV cache is allocated for them.
    pub context: usize,
    /// Most tokens of one prefill pass; a software adapter takes 128 at most.
    pub batch: usize,
    /// Ids from here on are never sampled: rows of the head that have no token. `None`: all rows have one.
    pub vocabulary: Option<usize>,
    /// For what kind of adapter the kernels are laid out.
    pub tuning: Tuning,
    /// Prepare for [`GenerateOptions::drafts`](crate::GenerateOptions::drafts): a few MiB, and twice as many pipelines.
    /// `None`: where they pay. A GPU waits for memory and does four tokens' arithmetic meanwhile; a software adapter does
    /// not, and would need nearly every draft to be right.
    pub drafts: Option<bool>,
    /// Positions that a workgroup of attention takes when a token is decoded, a multiple of 64. `None`: 512 on a GPU, which
    /// needs more workgroups than a token has heads, and all on a software adapter.
    pub span: Option<u32>,
    /// Bytes of a matrix that one dispatch reads at most; a larger one is split into tiles of rows. `None`: as many as the
    /// adapter can bind.
    pub tile_bytes: Option<u64>,
}

impl Default for LoadOptions {
    fn default() -> Self {
        Self {
            context: 12_288,
            batch: 256,
            vocabulary: None,
            tuning: Tuning::Auto,
            drafts: None,
            span: None,
            tile_bytes: None,
        }
    }
}

/// Most tokens of a prefill pass on a software adapter. Mesa's llvmpipe silently ends the loops of an invocation after 65,535
/// rounds of all of them together (LP_MAX_TGSI_LOOP_ITERATIONS), and a delta net takes up to 420 rounds a token.
const SOFTWARE_BATCH: usize = 128;

/// Most positions on a software adapter, for the same reason: attention takes three rounds a position.
const SOFTWARE_CONTEXT: usize = 20_480;

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
    /// Nanoseconds that the generating thread spent on recording and submitting passes: its processor time on Unix, else by
    /// the clock.
    pub encode_nanos: u64,
    /// Decode passes that checked drafted tokens.
    pub draft_passes: u64,
    /// Drafted tokens that turned out right in them: tokens that cost no pass of their own.
    pub accepted: u64,
}

/// One dispatch of a decode token, for the account of bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlannedStep {
    /// What it computes.
    pub label: String,
    /// Which shader does it.
    pub kernel: &'static str,
    /// Bytes that it reads.
    pub reads: Reads,
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
    pub(crate) gpu: Gpu,
    pub(crate) config: Config,
    pub(crate) options: LoadOptions,
    pub(crate) buffers: Activations,
    states: Vec<LinearState>,
    pub(crate) passes: Passes,
    /// Final norm and head of the last token, into `buffers.logits`.
    pub(crate) head: Vec<Step>,
    /// The same for every token of a verify pass; empty without drafts.
    pub(crate) verify_head: Vec<Step>,
    /// Chooses among a verify pass's tokens and drafts the next ones; empty without drafts.
    pub(crate) sample_and_draft: Vec<Step>,
    /// The same for every token of a pass, made when first needed.
    all_logits: Option<AllLogits>,
    head_matrix: Vec<Matrix>,
    final_norm: wgpu::Buffer,
    pipelines: Pipelines,
    pub(crate) tuning: Tuning,
    pub(crate) sample: Step,
    pub(crate) sampling: wgpu::Buffer,
    pub(crate) readback: wgpu::Buffer,
    /// Tokens whose keys and values are in the cache. The first `position` are the sequence; what follows is left
    /// over from before a return to a snapshot.
    cached: Vec<u32>,
    position: usize,
    /// The last token sampled: part of the sequence, but not yet read by the model.
    pub(crate) pending: Option<u32>,
    /// Tokens of the last pass, whose hidden states are still there; 0: none.
    pub(crate) fresh: u32,
    pub(crate) flip: u32,
    /// Passes to queue before reading back, following the measured speed.
    pub(crate) stride: usize,
    pub(crate) counters: Counters,
}

struct AllLogits {
    steps: Vec<Step>,
    buffer: wgpu::Buffer,
    readback: wgpu::Buffer,
    rows: usize,
}

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
        if options.span.is_some_and(|span| span == 0 || span % 64 != 0) {
            return Err(Error::Usage("a span of attention must be a multiple of 64"));
        }
        let mut options = LoadOptions { batch: options.batch.min(options.context), ..options };
        if gpu.is_software() {
            options.batch = options.batch.min(SOFTWARE_BATCH);
            if options.context > SOFTWARE_CONTEXT {
                return Err(Error::Shape {
                    what: "the context",
                    value: options.context,
                    needed: "at most 20,480 tokens on a software adapter",
                });
            }
        }
        let kv_bytes = 4 * (options.context * config.kv_width()) as u64;
        if kv_bytes > crate::gpu::BASE_BINDING {
            return Err(Error::Shape {
                what: "the context",
                value: options.context,
                needed: "at most 128 MiB of keys a layer",
            });
        }
        let tuning = options.tuning.for_gpu(gpu);
        let drafts = options.drafts.unwrap_or(tuning == Tuning::Hardware);
        let span = options.span.or(tuning.attention_span());
        let (rows, logit_rows) = match drafts {
            true => (options.batch.max(VERIFY_TOKENS), VERIFY_TOKENS),
            false => (options.batch, 1),
        };
        let buffers = Activations::new(gpu, config, rows, options.context, logit_rows).await?;
        let mut pipelines = Pipelines::new(gpu);
        let rotation = layers::values_buffer(gpu, "rotation", &rotation_table(config, options.context));
        let mut loader = Loader::new(gpu, source, header, progress);
        loader.tile_bytes =
            options.tile_bytes.map_or(loader.tile_bytes, |bytes| bytes.min(loader.tile_bytes));
        let mut planner =
            Planner { gpu, pipelines: &mut pipelines, buffers: &buffers, tuning, eps: config.norm_eps };

        let mut passes = Passes::default();
        let embedding = loader.merged(&["token_embd.weight".to_owned()]).await?;
        for matrix in &embedding {
            let steps = planner.embed(matrix)?;
            passes.decode.extend_from_slice(&steps);
            if drafts {
                passes.verify.extend_from_slice(&steps);
            }
            passes.prefill.extend(steps);
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
                drafts,
                span,
            };
            states.extend(builder.build().await?);
        }
        let final_norm = layers::upload(&mut loader, "output_norm.weight").await?;
        let head_matrix = match config.tied {
            true => embedding,
            false => loader.merged(&["output.weight".to_owned()]).await?,
        };
        let usage = wgpu::BufferUsages::UNIFORM | wgpu::BufferUsages::COPY_DST;
        let sampling = gpu.buffer("sampling", size_of::<SamplingUniform>() as u64, usage);
        let sample = planner.sampler(&sampling, config.vocab_size, false)?;
        let (mut verify_head, mut sample_and_draft) = (Vec::new(), Vec::new());
        let all = Product::store(&buffers.hidden, &buffers.logits, config.vocab_size).normed(&final_norm);
        let head = planner.matvecs("head", &head_matrix, &Product { last_token: true, ..all }, 1)?;
        if drafts {
            verify_head.extend(planner.matvecs("head", &head_matrix, &all, VERIFY_TOKENS)?);
            sample_and_draft
                .extend([planner.sampler(&sampling, config.vocab_size, true)?, planner.drafter()?]);
        }
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
            verify_head,
            sample_and_draft,
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

    /// Every dispatch of the decode token that makes the sequence `positions` long, in order.
    pub fn decode_plan(&self, positions: usize) -> Vec<PlannedStep> {
        self.decode_steps(positions as u32)
            .map(|step| PlannedStep { label: step.label.clone(), kernel: step.kernel(), reads: step.reads })
            .collect()
    }

    fn decode_steps(&self, positions: u32) -> impl Iterator<Item = &Step> {
        let steps = self.passes.decode.iter().chain(&self.head).chain(std::iter::once(&self.sample));
        steps.filter(move |step| step.runs_at(positions))
    }

    /// Runs each dispatch of a decode token `repeats` times by itself and returns its mean time, in the order of
    /// [`Engine::decode_plan`] at one position. On a GPU the cost of submitting and waiting is part of each time, so compare steps
    /// with each other, not with a token. The sequence is forgotten.
    ///
    /// # Errors
    /// A lost device.
    pub async fn profile_decode(&mut self, repeats: u32) -> Result<Vec<Duration>> {
        self.reset();
        self.write_control(Control { count: 1, limit: u32::MAX, ..self.control() });
        let mut times = Vec::new();
        for step in self.decode_steps(1) {
            self.gpu.wait().await?;
            let started = Instant::now();
            let mut encoder = self.gpu.device.create_command_encoder(&Default::default());
            {
                let mut pass = encoder.begin_compute_pass(&Default::default());
                (0..repeats).for_each(|_| step.encode(&mut pass, 1, 1));
            }
            self.gpu.queue.submit([encoder.finish()]);
            self.gpu.wait().await?;
            times.push(started.elapsed() / repeats.max(1));
        }
        self.reset();
        Ok(times)
    }

    /// Makes the sequence `positions` tokens long without reading any: its keys, values and states are whatever the buffers
    /// hold. What is generated then has no meaning, but takes as long as after a prompt of that length.
    ///
    /// # Errors
    /// [`Error::ContextFull`].
    pub fn pretend(&mut self, positions: usize) -> Result<()> {
        if positions > self.capacity() {
            return Err(Error::ContextFull { capacity: self.capacity(), used: 0, wanted: positions });
        }
        self.reset();
        let tokens = vec![0; positions];
        self.gpu.queue.write_buffer(&self.buffers.sequence, 0, bytemuck::cast_slice(&tokens));
        self.advance(&tokens);
        Ok(())
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
            encode(&mut encoder, &all.steps, piece.len() as u32, self.position as u32);
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
        encode(&mut encoder, &self.head, 1, self.position as u32);
        encoder.copy_buffer_to_buffer(&self.buffers.logits, 0, &self.readback, 0, bytes);
        self.gpu.queue.submit([encoder.finish()]);
        let bytes = self.gpu.read(&self.readback, 0..bytes).await?;
        Ok(bytemuck::pod_collect_to_vec(&bytes))
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
    pub(crate) fn refresh(&mut self) -> Result<()> {
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
        let bytes = bytemuck::cast_slice(tokens);
        self.gpu.queue.write_buffer(&self.buffers.ids, 0, bytes);
        self.gpu.queue.write_buffer(&self.buffers.sequence, 4 * self.position as u64, bytes);
        self.write_control(Control { count, ..self.control() });
        let steps = if count == 1 { &self.passes.decode } else { &self.passes.prefill };
        let mut encoder = self.gpu.device.create_command_encoder(&Default::default());
        let dispatches = encode(&mut encoder, steps, count, self.position as u32 + count);
        self.gpu.queue.submit([encoder.finish()]);
        self.counters.tokens += u64::from(count);
        self.counters.dispatches += dispatches;
        self.counters.passes += 1;
        self.counters.submits += 1;
        self.advance(tokens);
        self.flip ^= 1;
        self.fresh = count;
    }

    /// Notes that the model has read `tokens`.
    pub(crate) fn advance(&mut self, tokens: &[u32]) {
        self.cached.truncate(self.position);
        self.cached.extend_from_slice(tokens);
        self.position += tokens.len();
    }

    pub(crate) fn control(&self) -> Control {
        Control { position: self.position as u32, flip: self.flip, ..Control::default() }
    }

    pub(crate) fn write_control(&self, control: Control) {
        self.gpu.queue.write_buffer(&self.buffers.control, 0, bytemuck::bytes_of(&control));
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
            Reads::numbers(2 * self.config.hidden),
        )?];
        for matrix in &self.head_matrix {
            let product = Product::store(&self.buffers.normed, &buffer, vocab);
            steps.extend(planner.matmul("head", matrix, &product)?);
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

/// Adds one pass over `tokens` tokens that see up to `positions` positions. Returns how many dispatches that are.
pub(crate) fn encode(encoder: &mut wgpu::CommandEncoder, steps: &[Step], tokens: u32, positions: u32) -> u64 {
    let mut pass = encoder.begin_compute_pass(&Default::default());
    let steps = steps.iter().filter(|step| step.runs_at(positions));
    steps.map(|step| step.encode(&mut pass, tokens, positions)).count() as u64
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
