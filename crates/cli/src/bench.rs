//! `glowworm bench`: how fast a model runs, and what a token costs in dispatches, bytes and memory.
//!
//! # What is measured
//! - *load*: from opening the file to a loaded engine; the GPU's driver starts before it.
//! - *prefill*: reading a prompt into an empty sequence, until the logits after its last token are there.
//! - *decode*: generating after that prompt, greedily, nothing stopping it.
//! - *per token*: the engine's own counters over the decode run. The bytes are those that its plan reads, each once, at the
//!   position halfway through the run. *Encoding* is what recording and submitting took on the clock: a software adapter's
//!   threads compete for the processor with it.
//! - *drafts*: the decode run once more with drafted tokens. A made-up prompt says nothing of what will come, so this tells
//!   what drafts cost at worst; `--prompt-text` measures a text.
//! - *GPU memory*: computed from the shapes, since no portable call tells it.
//! - *host memory*: the most that the process ever held (`VmHWM`, Linux only), and how much of it is the program's: what
//!   it held once the driver had been opened is taken off (on lavapipe some 100 MiB, most of it a compiler), and the GPU
//!   memory too where a software adapter keeps that in the process. What the driver takes later, for compiled shaders,
//!   still counts.

use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use glowworm_engine::{Engine, GenerateOptions, LoadOptions, PlannedStep, Reads, Sampling};
use glowworm_session::{Memory, longest_context};
use pollster::block_on;
use serde::Serialize;

use crate::args::BenchArgs;
use crate::error::{Error, Result};
use crate::model::{load_engine, locate, open_gpu};
use crate::numbers::{grouped, size, speed, time};
use crate::terminal::print;

/// Everything that was measured.
#[derive(Debug, Serialize)]
struct Report {
    model: String,
    file_bytes: u64,
    device: String,
    software_device: bool,
    context: usize,
    load_seconds: f64,
    prefill: Speed,
    decode: Speed,
    #[serde(skip_serializing_if = "Option::is_none")]
    far: Option<Far>,
    drafts: Drafts,
    per_token: PerToken,
    memory: Bytes,
    #[serde(skip_serializing_if = "Option::is_none")]
    plan: Option<Vec<Dispatch>>,
}

/// The median of some runs.
#[derive(Debug, Serialize)]
struct Speed {
    tokens: usize,
    seconds: f64,
    tokens_per_second: f64,
}

/// What one decoded token costs.
#[derive(Debug, Serialize)]
struct PerToken {
    dispatches: f64,
    passes: f64,
    submits: f64,
    readbacks: f64,
    encode_milliseconds: f64,
    weight_bytes: u64,
    /// Everything that the kernels read, each byte once.
    read_bytes: u64,
    /// That by the bytes of weights, state and cache alone.
    read_ratio: f64,
}

/// Decoding far into a sequence.
#[derive(Debug, Serialize)]
struct Far {
    /// Tokens of the sequence at the end.
    positions: usize,
    decode: Speed,
    /// Its speed by that of decoding after the prompt, in runs that took turns.
    ratio: f64,
}

/// Decoding with drafted tokens.
#[derive(Debug, Serialize)]
struct Drafts {
    decode: Speed,
    /// Passes that checked drafts.
    passes: u64,
    /// Drafted tokens that were right in them.
    accepted: u64,
}

#[derive(Debug, Serialize)]
struct Bytes {
    /// By the shapes.
    gpu_bytes: u64,
    /// The most that the process held; none where the system does not say.
    host_peak_bytes: Option<u64>,
    /// Of that, what is neither the GPU's nor was there once the driver had been opened.
    host_peak_of_program_bytes: Option<u64>,
}

#[derive(Debug, Serialize)]
struct Dispatch {
    label: String,
    kernel: &'static str,
    weight_bytes: u64,
    state_bytes: u64,
    cache_bytes_per_position: u64,
    other_bytes: u64,
}

/// Runs the command.
///
/// # Errors
/// A model that cannot be run, or numbers that cannot be measured with.
pub fn run(args: &BenchArgs) -> Result<()> {
    if args.prompt == 0 || args.generate == 0 || args.repeat == 0 {
        return Err(Error::Usage("--prompt, --generate and --repeat must be at least 1".into()));
    }
    let located = locate(&args.model.model)?;
    let gpu = open_gpu(args.adapter.as_deref())?;
    let driver = host_bytes("VmRSS:");
    let started = Instant::now();
    let (mut source, file) = located.open()?;
    let prompt: Vec<u32> = match &args.prompt_text {
        Some(path) => {
            let text = std::fs::read_to_string(path).map_err(|source| Error::Io {
                doing: "reading the prompt",
                path: path.clone(),
                source,
            })?;
            file.tokenizer.encode_template(&text)?
        }
        None => {
            let vocabulary = file.tokenizer.len();
            // What the model cannot hold is refused below, and not made first.
            let tokens = args.prompt.min(longest_context(&file.config));
            (0..tokens).map(|place| (place * 7919 % vocabulary) as u32).collect()
        }
    };
    if prompt.is_empty() {
        return Err(Error::Usage("the text of --prompt-text is empty".into()));
    }
    let length = if args.prompt_text.is_some() { prompt.len() } else { args.prompt };
    // The first token comes of the prompt: so many passes give one more.
    let needed = length.saturating_add(args.generate).saturating_add(1).max(args.positions.unwrap_or(0));
    let context = args.context.unwrap_or(needed);
    if context < needed || context > longest_context(&file.config) {
        return Err(Error::Usage(format!(
            "a context of {context} tokens: the runs need {needed}, and the model has at most {}; take less of --prompt, \
             --generate or --positions, or another --context",
            longest_context(&file.config)
        )));
    }
    let options = LoadOptions {
        context,
        vocabulary: Some(file.tokenizer.len()),
        drafts: Some(true),
        ..LoadOptions::default()
    };
    let memory = Memory::of(&file.header, &file.config, context, options.batch.min(context));
    let mut engine = load_engine(&gpu, &mut source, &file, options)?;
    let load_seconds = started.elapsed().as_secs_f64();

    // The first run compiles what the driver left to it, and lets the engine find its stride.
    measure(&mut engine, &prompt, args.generate, false)?;
    let before = engine.counters();
    let alone = measure(&mut engine, &prompt, 0, false)?;
    let first = engine.counters().dispatches - before.dispatches - alone.prefilled.dispatches;
    let before = engine.counters();
    let mut runs = Vec::new();
    for _ in 0..args.repeat {
        runs.push(measure(&mut engine, &prompt, args.generate, false)?);
    }
    let after = engine.counters();
    let far = args
        .positions
        .map(|positions| Far::measure(&mut engine, args, prompt.len(), positions))
        .transpose()?;
    measure(&mut engine, &prompt, args.generate, true)?;
    let undrafted = engine.counters();
    let mut drafted = Vec::new();
    for _ in 0..args.repeat {
        drafted.push(measure(&mut engine, &prompt, args.generate, true)?);
    }
    let drafts = Drafts {
        decode: Speed::median(args.generate, drafted.iter().map(|run| run.decode)),
        passes: engine.counters().draft_passes - undrafted.draft_passes,
        accepted: engine.counters().accepted - undrafted.accepted,
    };

    let position = prompt.len() + args.generate / 2;
    let plan = engine.decode_plan(position);
    let reads: Reads = plan.iter().map(|step| step.reads).sum();
    let read_bytes = reads.at(position as u64);
    // Prefill passes are counted too, and what the first token takes: so many of each are taken off.
    let decoded = (args.repeat * args.generate) as f64;
    let prefill = runs.iter().fold(Prefilled::default(), |sum, run| sum.plus(run.prefilled));
    let per = |after: u64, before: u64, prefill: u64| (after - before - prefill) as f64 / decoded;
    let host = host_bytes("VmHWM:");
    let software = gpu.is_software();
    let report = Report {
        model: file.name().map_or_else(|| located.name.clone(), str::to_owned),
        file_bytes: glowworm_engine::ByteSource::len(&source),
        device: gpu.description(),
        software_device: software,
        context,
        load_seconds,
        prefill: Speed::median(prompt.len(), runs.iter().map(|run| run.prefill)),
        decode: Speed::median(args.generate, runs.iter().map(|run| run.decode)),
        far,
        drafts,
        per_token: PerToken {
            dispatches: per(
                after.dispatches,
                before.dispatches,
                prefill.dispatches + args.repeat as u64 * first,
            ),
            passes: per(after.passes, before.passes, prefill.passes),
            submits: per(after.submits, before.submits, prefill.submits),
            readbacks: per(after.readbacks, before.readbacks, 0),
            encode_milliseconds: per(after.encode_nanos, before.encode_nanos, 0) / 1e6,
            weight_bytes: reads.weights,
            read_bytes,
            read_ratio: read_bytes as f64 / Reads { other: 0, ..reads }.at(position as u64) as f64,
        },
        memory: Bytes {
            gpu_bytes: memory.total(),
            host_peak_bytes: host,
            host_peak_of_program_bytes: host.zip(driver).map(|(peak, driver)| {
                let gpu = if software { memory.total() } else { 0 };
                peak.saturating_sub(driver).saturating_sub(gpu)
            }),
        },
        plan: args.plan.then(|| plan.into_iter().map(Dispatch::from).collect()),
    };
    if args.json {
        let json = serde_json::to_string(&report)
            .map_err(|source| glowworm_agent::Error::Json { doing: "writing", source })?;
        return print(&json);
    }
    show(&report)
}

/// One run.
struct Run {
    prefill: Duration,
    decode: Duration,
    prefilled: Prefilled,
}

/// The engine's counters over the prefill of a run.
#[derive(Debug, Clone, Copy, Default)]
struct Prefilled {
    dispatches: u64,
    passes: u64,
    submits: u64,
}

impl Prefilled {
    fn plus(self, other: Self) -> Self {
        Self {
            dispatches: self.dispatches + other.dispatches,
            passes: self.passes + other.passes,
            submits: self.submits + other.submits,
        }
    }
}

fn measure(engine: &mut Engine, prompt: &[u32], generate: usize, drafts: bool) -> Result<Run> {
    engine.reset();
    let before = engine.counters();
    let started = Instant::now();
    block_on(engine.append(prompt))?;
    block_on(engine.logits())?;
    let prefill = started.elapsed();
    let after = engine.counters();
    let decode = self::generate(engine, generate, drafts)?;
    Ok(Run {
        prefill,
        decode,
        prefilled: Prefilled {
            dispatches: after.dispatches - before.dispatches,
            passes: after.passes - before.passes,
            submits: after.submits - before.submits,
        },
    })
}

/// Makes so many decode passes after what the engine has read, and says how long they took. The first token costs no pass
/// but only the head, so one more token is generated.
fn generate(engine: &mut Engine, tokens: usize, drafts: bool) -> Result<Duration> {
    let options =
        GenerateOptions { max_tokens: tokens + 1, sampling: Sampling::GREEDY, stop_tokens: &[], drafts };
    let started = Instant::now();
    block_on(engine.generate(&options, |_| ControlFlow::Continue(())))?;
    Ok(started.elapsed())
}

impl Far {
    /// Decodes at the end of a sequence of `positions` tokens that nobody has read, and in turn at one of `prompt` tokens.
    fn measure(engine: &mut Engine, args: &BenchArgs, prompt: usize, positions: usize) -> Result<Self> {
        let mut decode = |length: usize| -> Result<Duration> {
            engine.pretend(length)?;
            block_on(engine.append(&[0]))?;
            block_on(engine.logits())?;
            generate(engine, args.generate, false)
        };
        let short = positions
            .checked_sub(args.generate + 2)
            .ok_or_else(|| Error::Usage("--positions must be more than the tokens to generate".into()))?;
        decode(short)?;
        let mut times = Vec::new();
        for _ in 0..args.repeat {
            times.push((decode(prompt - 1)?, decode(short)?));
        }
        let near = Speed::median(args.generate, times.iter().map(|time| time.0));
        let far = Speed::median(args.generate, times.iter().map(|time| time.1));
        Ok(Self { positions, ratio: near.seconds / far.seconds, decode: far })
    }
}

impl Speed {
    fn median(tokens: usize, times: impl Iterator<Item = Duration>) -> Self {
        let mut times: Vec<f64> = times.map(|time| time.as_secs_f64()).collect();
        times.sort_by(f64::total_cmp);
        let seconds = times.get(times.len() / 2).copied().unwrap_or(f64::NAN);
        Self { tokens, seconds, tokens_per_second: tokens as f64 / seconds }
    }
}

impl From<PlannedStep> for Dispatch {
    fn from(step: PlannedStep) -> Self {
        Self {
            label: step.label,
            kernel: step.kernel,
            weight_bytes: step.reads.weights,
            state_bytes: step.reads.state,
            cache_bytes_per_position: step.reads.cache_per_position,
            other_bytes: step.reads.other,
        }
    }
}

/// Memory of the process by its name in `/proc/self/status`: `VmRSS:` that it holds, `VmHWM:` the most it ever held.
fn host_bytes(name: &str) -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix(name))?;
    let kilobytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kilobytes << 10)
}

fn show(report: &Report) -> Result<()> {
    let lines = [
        ("model", format!("{}, {}", report.model, size(report.file_bytes))),
        ("device", report.device.clone()),
        ("load", time(Duration::from_secs_f64(report.load_seconds))),
        (
            "prefill",
            format!(
                "{} tokens/s ({} tokens)",
                speed(report.prefill.tokens_per_second),
                report.prefill.tokens
            ),
        ),
        (
            "decode",
            format!("{} tokens/s ({} tokens)", speed(report.decode.tokens_per_second), report.decode.tokens),
        ),
        (
            "with drafts",
            format!(
                "{} tokens/s ({} drafted tokens right in {} passes)",
                speed(report.drafts.decode.tokens_per_second),
                report.drafts.accepted,
                report.drafts.passes
            ),
        ),
        (
            "a token",
            format!(
                "{:.1} dispatches, {:.2} passes, {:.2} submits, {:.2} readbacks, {:.2} ms to encode",
                report.per_token.dispatches,
                report.per_token.passes,
                report.per_token.submits,
                report.per_token.readbacks,
                report.per_token.encode_milliseconds
            ),
        ),
        (
            "it reads",
            format!(
                "{}, of which weights {}: {:.3} times weights, state and cache",
                size(report.per_token.read_bytes),
                size(report.per_token.weight_bytes),
                report.per_token.read_ratio
            ),
        ),
        (
            "GPU memory",
            format!(
                "{} with {} tokens of context",
                size(report.memory.gpu_bytes),
                grouped(report.context as u64)
            ),
        ),
        ("host memory", host_memory(report)),
    ];
    let far = report.far.as_ref().map(|far| {
        let speed = speed(far.decode.tokens_per_second);
        let positions = grouped(far.positions as u64);
        (
            "far on",
            format!("{speed} tokens/s at {positions} tokens, {:.2} times that after the prompt", far.ratio),
        )
    });
    for (name, value) in lines.into_iter().chain(far) {
        print(&format!("{name:<12} {value}"))?;
    }
    if let Some(plan) = &report.plan {
        let row = |name: &str, kernel: &str, cells: [&str; 4]| {
            let [weights, state, cache, other] = cells;
            print(&format!("{name:<24} {kernel:<18} {weights:>14} {state:>12} {cache:>16} {other:>12}"))
        };
        print("")?;
        row("dispatch", "kernel", ["weight bytes", "state", "cache/position", "other"])?;
        for step in plan {
            let cells =
                [step.weight_bytes, step.state_bytes, step.cache_bytes_per_position, step.other_bytes];
            let cells = cells.map(grouped);
            row(&step.label, step.kernel, cells.each_ref().map(String::as_str))?;
        }
        let total = |bytes: fn(&Dispatch) -> u64| grouped(plan.iter().map(bytes).sum());
        let cells = [
            total(|step| step.weight_bytes),
            total(|step| step.state_bytes),
            total(|step| step.cache_bytes_per_position),
            total(|step| step.other_bytes),
        ];
        row(&format!("{} dispatches", plan.len()), "", cells.each_ref().map(String::as_str))?;
    }
    Ok(())
}

fn host_memory(report: &Report) -> String {
    match (report.memory.host_peak_bytes, report.memory.host_peak_of_program_bytes) {
        (Some(peak), Some(own)) => {
            let others =
                if report.software_device { "the driver and the software GPU" } else { "the driver" };
            format!("{} at most, {} without {others}", size(peak), size(own))
        }
        _ => "not known on this system".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_the_run_in_the_middle() {
        let times = [5.0, 1.0, 2.0].map(Duration::from_secs_f64);
        let speed = Speed::median(10, times.into_iter());
        assert_eq!((speed.seconds, speed.tokens_per_second), (2.0, 5.0));
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn linux_tells_the_peak() {
        let block = vec![1u8; 64 << 20];
        assert!(host_bytes("VmHWM:").unwrap() > block.len() as u64);
    }
}
