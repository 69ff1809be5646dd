//! From a model file to a model that answers.

use std::path::Path;
use std::time::{Duration, Instant};

use glowworm_agent::Limits;
use glowworm_engine::{Engine, Gpu, GpuOptions, LoadOptions};
use glowworm_session::{EngineDecoder, ModelFile, Opening, Sampling, TokenModel, longest_context};
use pollster::block_on;

use super::decoder::AnyDecoder;
use super::locate::{Located, Source};
use super::prompt;
use crate::args::{Device, DeviceArgs, EpisodeArgs};
use crate::error::{Error, Result};
use crate::numbers::grouped;
use crate::progress::Bar;
use crate::terminal;

/// A model that is ready.
#[derive(Debug)]
pub struct Loaded {
    /// Tokenizer and decoder.
    pub model: TokenModel<AnyDecoder>,
    /// Its prompt and template.
    pub opening: Opening,
    /// What to call it.
    pub name: String,
    /// What it runs on.
    pub device: String,
    /// How long its episodes may be.
    pub limits: Limits,
    /// How long loading took.
    pub time: Duration,
}

/// What the user asks of a model.
#[derive(Debug)]
pub struct Settings<'a> {
    prompt_file: Option<&'a Path>,
    device: &'a DeviceArgs,
    max_tokens: Option<u64>,
    temperature: Option<f32>,
    top_p: Option<f32>,
    top_k: Option<u32>,
    seed: u64,
}

impl<'a> Settings<'a> {
    /// The settings that were given, checked.
    ///
    /// # Errors
    /// Numbers that no sampler can use.
    pub fn new(args: &'a EpisodeArgs, seed: u64) -> Result<Self> {
        if args.temperature.is_some_and(|value| !(value >= 0.0 && value.is_finite())) {
            return Err(Error::Usage("--temperature must be 0 or more".into()));
        }
        if args.top_p.is_some_and(|value| !(value > 0.0 && value <= 1.0)) {
            return Err(Error::Usage("--top-p must be above 0 and at most 1".into()));
        }
        if args.max_tokens == Some(0) {
            return Err(Error::Usage("--max-tokens must be at least 1".into()));
        }
        Ok(Self {
            prompt_file: args.prompt_file.as_deref(),
            device: &args.device,
            max_tokens: args.max_tokens,
            temperature: args.temperature,
            top_p: args.top_p,
            top_k: args.top_k,
            seed,
        })
    }

    /// How tokens are chosen, `own` being the model's own way.
    pub fn sampling(&self, own: Sampling) -> Sampling {
        Sampling {
            temperature: self.temperature.unwrap_or(own.temperature),
            top_k: self.top_k.unwrap_or(own.top_k),
            top_p: self.top_p.unwrap_or(own.top_p),
            seed: self.seed,
        }
    }

    /// The token budget: what was asked for, as far as the model goes.
    fn budget(&self, longest: usize) -> u64 {
        let longest = longest as u64;
        let default = Limits::default().token_budget;
        match self.max_tokens {
            None => default.min(longest),
            Some(asked) if asked <= longest => asked,
            Some(asked) => {
                terminal::notice(&format!(
                    "the token budget is {}, the model's longest context, and not {}",
                    grouped(longest),
                    grouped(asked)
                ));
                longest
            }
        }
    }
}

/// Loads a model.
///
/// # Errors
/// A file that is no model or one that the device cannot run, no device, no memory.
pub fn load(located: &Located, settings: &Settings<'_>) -> Result<Loaded> {
    let started = Instant::now();
    let (mut source, file) = located.open()?;
    let prompt = prompt::choose(settings.prompt_file, &file, located)?;
    let sampling = settings.sampling(file.sampling());
    let longest = longest_context(&file.config);
    let limits = Limits::with_token_budget(settings.budget(longest));
    let (decoder, device) = load_decoder(located, &mut source, &file, settings.device, &limits)?;
    let name = match file.name() {
        Some(name) => name.to_owned(),
        None => located.name.clone(),
    };
    let opening = Opening::new(file.template, prompt);
    let model = TokenModel::new(decoder, file.tokenizer, sampling);
    Ok(Loaded { model, opening, name, device, limits, time: started.elapsed() })
}

fn load_decoder(
    located: &Located,
    source: &mut Source,
    file: &ModelFile,
    device: &DeviceArgs,
    limits: &Limits,
) -> Result<(AnyDecoder, String)> {
    let gpu = match device.device {
        Device::Cpu => return load_reference(located, file),
        Device::Gpu => open_gpu(device.adapter.as_deref())?,
        Device::Auto => match open_gpu(device.adapter.as_deref()) {
            Ok(gpu) => gpu,
            Err(error @ Error::Engine(glowworm_engine::Error::NoAdapter { .. })) => {
                // The first error says more than that the other device is not there either.
                return load_reference(located, file).map_err(|_| error);
            }
            Err(error) => return Err(error),
        },
    };
    let options = LoadOptions {
        // Stop tokens are generated within the budget too, so this is all that is ever held.
        context: usize::try_from(limits.token_budget).unwrap_or(usize::MAX),
        vocabulary: Some(file.tokenizer.len()),
        ..LoadOptions::default()
    };
    let engine = load_engine(&gpu, source, file, options)?;
    Ok((AnyDecoder::Gpu(Box::new(EngineDecoder::new(engine))), gpu.description()))
}

/// Loads the weights onto a GPU, with a bar.
///
/// # Errors
/// A file that ends early or cannot be read, a shape that the kernels do not cover, no memory.
pub fn load_engine(gpu: &Gpu, source: &mut Source, file: &ModelFile, options: LoadOptions) -> Result<Engine> {
    let total = file.weight_bytes();
    let mut bar = Bar::new("loading", total);
    let mut progress = |read| bar.set(read, total);
    Ok(block_on(Engine::load(gpu, source, &file.header, &file.config, options, &mut progress))?)
}

#[cfg(feature = "reference")]
fn load_reference(located: &Located, file: &ModelFile) -> Result<(AnyDecoder, String)> {
    use glowworm_model::reference::CpuModel;
    let model = located.with_path(|path| Ok(CpuModel::from_gguf_file(path)?))?;
    let decoder = glowworm_session::ReferenceDecoder::new(model, file.tokenizer.len());
    Ok((AnyDecoder::Cpu(Box::new(decoder)), "CPU (reference)".into()))
}

#[cfg(not(feature = "reference"))]
fn load_reference(_: &Located, _: &ModelFile) -> Result<(AnyDecoder, String)> {
    Err(Error::NoCpuDevice)
}

/// Opens a GPU.
///
/// # Errors
/// There is none, or none of that name.
pub fn open_gpu(adapter: Option<&str>) -> Result<Gpu> {
    Ok(block_on(Gpu::open(&GpuOptions { adapter: adapter.map(str::to_owned) }))?)
}
