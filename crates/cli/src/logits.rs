//! `glowworm logits`: what the model computes for given tokens, in a file that other programs can compare with.

use std::path::Path;

use glowworm_engine::{GenerateOptions, LoadOptions, Sampling};
use glowworm_session::ModelFile;
use pollster::block_on;
use safetensors::tensor::{Dtype, TensorView};

use crate::args::{Device, LogitsArgs};
use crate::error::{Error, Result};
use crate::model::{Located, Source, load_engine, locate, open_gpu};
use crate::numbers::{count, grouped};
use crate::{outputs, terminal};

/// What was computed.
struct Computed {
    /// [ids, vocabulary], row-major.
    logits: Vec<f32>,
    /// Ids generated after the input.
    greedy: Vec<u32>,
}

/// Runs the command.
///
/// # Errors
/// A model that cannot be run, ids that it has not, a file that cannot be written.
pub fn run(args: &LogitsArgs) -> Result<()> {
    outputs::check(&args.output, &[Path::new(&args.model.model)])?;
    if std::fs::metadata(&args.output).is_ok_and(|found| !found.is_file()) {
        return Err(Error::Usage(format!("{} is not a file to write to", args.output.display())));
    }
    let located = locate(&args.model.model)?;
    let (mut source, file) = located.open()?;
    let vocabulary = file.config.vocab_size;
    if let Some(id) = args.ids.iter().find(|id| **id as usize >= vocabulary) {
        let vocabulary = grouped(vocabulary as u64);
        return Err(Error::Usage(format!("--ids: {id} is outside the model's vocabulary of {vocabulary}")));
    }
    let computed = match args.device.device {
        Device::Cpu => on_cpu(args, &located)?,
        Device::Auto | Device::Gpu => on_gpu(args, &mut source, &file)?,
    };
    write(&args.output, args.ids.len(), vocabulary, &computed)?;
    let rows = count(args.ids.len() as u64, "row");
    terminal::print(&format!("{}: logits of {rows}, {} ids", args.output.display(), computed.greedy.len()))
}

fn on_gpu(args: &LogitsArgs, source: &mut Source, file: &ModelFile) -> Result<Computed> {
    let gpu = open_gpu(args.device.adapter.as_deref())?;
    let context = args
        .ids
        .len()
        .checked_add(args.generate)
        .ok_or_else(|| Error::Usage("--generate: so many tokens fit no context".into()))?;
    let options = LoadOptions { context, vocabulary: Some(file.tokenizer.len()), ..LoadOptions::default() };
    let mut engine = load_engine(&gpu, source, file, options)?;
    let logits = block_on(engine.append_with_logits(&args.ids))?;
    let options = GenerateOptions {
        max_tokens: args.generate,
        sampling: Sampling::GREEDY,
        stop_tokens: &[],
        drafts: false,
    };
    let generated = block_on(engine.generate(&options, |_| std::ops::ControlFlow::Continue(())))?;
    Ok(Computed { logits, greedy: generated.tokens })
}

#[cfg(feature = "reference")]
fn on_cpu(args: &LogitsArgs, located: &Located) -> Result<Computed> {
    use glowworm_model::reference::CpuModel;
    let mut model = located.with_path(|path| Ok(CpuModel::from_gguf_file(path)?))?;
    let logits = model.append_all(&args.ids)?;
    let width = logits.len() / args.ids.len().max(1);
    let mut last = logits.get(logits.len() - width..).unwrap_or_default().to_vec();
    let mut greedy = Vec::new();
    while greedy.len() < args.generate {
        let best = last.iter().enumerate().rev().max_by(|(_, a), (_, b)| a.total_cmp(b));
        let id = best.map_or(0, |(id, _)| id as u32);
        greedy.push(id);
        if greedy.len() < args.generate {
            last = model.append(&[id])?;
        }
    }
    Ok(Computed { logits, greedy })
}

#[cfg(not(feature = "reference"))]
fn on_cpu(_: &LogitsArgs, _: &Located) -> Result<Computed> {
    Err(Error::NoCpuDevice)
}

/// Writes `logits` and, where ids were generated, `greedy`.
fn write(path: &Path, rows: usize, vocabulary: usize, computed: &Computed) -> Result<()> {
    let logits: Vec<u8> = computed.logits.iter().flat_map(|value| value.to_le_bytes()).collect();
    let greedy: Vec<u8> = computed.greedy.iter().flat_map(|id| i64::from(*id).to_le_bytes()).collect();
    let other = |error: safetensors::SafeTensorError| Error::writing(path)(std::io::Error::other(error));
    let mut tensors =
        vec![("logits", TensorView::new(Dtype::F32, vec![rows, vocabulary], &logits).map_err(other)?)];
    if !computed.greedy.is_empty() {
        let shape = vec![computed.greedy.len()];
        tensors.push(("greedy", TensorView::new(Dtype::I64, shape, &greedy).map_err(other)?));
    }
    safetensors::serialize_to_file(tensors, None, path).map_err(other)
}
