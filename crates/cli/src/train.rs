//! `glowworm train`: the small model, from nothing to a GGUF file.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use clap::{Args, ValueEnum};
use glowworm_model::reference::{Device, Model, cpu};
use glowworm_train::grpo::{self, GrpoTrainer};
use glowworm_train::lexicon::Split;
use glowworm_train::shards::Kept;
use glowworm_train::training::checkpoint::{self, Standing};
use glowworm_train::training::data::{self, Amount};
use glowworm_train::training::evaluate::{Evaluation, Questions, evaluate};
use glowworm_train::training::{Rates, Schedule, Settings, Shape, Trainer, export};
use serde_json::{Value, json};

use crate::convert;
use crate::error::{Error, Result};
use crate::terminal::{note, print};

/// Arguments of `train`.
///
/// Without --steps, --grpo, --evaluate or --export there is nothing to do; several of them are done in this order.
#[derive(Debug, Args)]
pub struct TrainArgs {
    /// The folder of the run: checkpoint, log, tokenizer and data, where they are not given. A run that is there already is
    /// gone on with, to the same numbers as if it had not been stopped
    #[arg(long, value_name = "DIR")]
    pub run: PathBuf,
    /// Begin with the model in this folder: config.json, .safetensors files and, unless --tokenizer is given, tokenizer.json. A run
    /// that is there already goes on with its own
    #[arg(long, value_name = "DIR")]
    pub weights: Option<PathBuf>,
    /// Train up to this step
    #[arg(long, value_name = "STEP", help_heading = "Training")]
    pub steps: Option<u64>,
    /// How many of the last steps bring the rate down
    #[arg(long, value_name = "STEPS", default_value_t = 0, help_heading = "Training")]
    pub decay: u64,
    /// Steps over which the rate rises
    #[arg(long, value_name = "STEPS", default_value_t = 100, help_heading = "Training")]
    pub warmup: u64,
    /// Step at which the rate begins to rise anew, after a decay
    #[arg(long, value_name = "STEP", default_value_t = 0, help_heading = "Training")]
    pub rewarm: u64,
    /// Folder of shards from `glowworm-data shards` [default: RUN/shards, made if need be]
    #[arg(long, value_name = "DIR", help_heading = "Data")]
    pub data: Option<PathBuf>,
    /// The tokenizer [default: RUN/tokenizer.json, made if need be]
    #[arg(long, value_name = "FILE", help_heading = "Data")]
    pub tokenizer: Option<PathBuf>,
    /// Shards to make
    #[arg(long, value_name = "N", default_value_t = 40, help_heading = "Data")]
    pub shards: u64,
    /// Samples of a shard
    #[arg(long, value_name = "N", default_value_t = 4000, help_heading = "Data")]
    pub per_shard: u64,
    /// Seed of the first sample
    #[arg(long, value_name = "SEED", default_value_t = 3_000_000, help_heading = "Data")]
    pub from: u64,
    /// Tokens of a vocabulary to make, about
    #[arg(long, value_name = "N", default_value_t = 8300, help_heading = "Data")]
    pub vocabulary: usize,
    /// Samples to make a vocabulary of
    #[arg(long, value_name = "N", default_value_t = 8_000, help_heading = "Data")]
    pub vocabulary_samples: u64,
    /// Longer episodes are left out, in tokens
    #[arg(long, value_name = "N", default_value_t = 800, help_heading = "Data")]
    pub longest: usize,
    /// Share of the samples with made-up words that are kept: less than 1 for the end of a training
    #[arg(long, value_name = "SHARE", default_value_t = 1.0, help_heading = "Data")]
    pub odd: f64,
    /// Share of the samples whose words are cut into smaller pieces than the tokenizer's, as unknown words are
    #[arg(long, value_name = "SHARE", default_value_t = 0.0, help_heading = "Data")]
    pub cut: f64,
    /// Tokens of a batch, on each rank
    #[arg(long, value_name = "N", default_value_t = 1536, help_heading = "Training")]
    pub budget: usize,
    /// Batches of a step, each in a thread of its own
    #[arg(long, value_name = "N", default_value_t = 2, help_heading = "Training")]
    pub ranks: usize,
    /// Learning rate of matrices (Muon)
    #[arg(long, value_name = "RATE", default_value_t = 0.015, help_heading = "Training")]
    pub muon: f64,
    /// Learning rate of embeddings and vectors (AdamW)
    #[arg(long, value_name = "RATE", default_value_t = 2e-3, help_heading = "Training")]
    pub adam: f64,
    /// Changes to the model's sizes, for example {"hidden_size": 256}
    #[arg(long, value_name = "JSON", default_value = "{}", help_heading = "Training")]
    pub config: String,
    /// Seed of the start, of the order and of GRPO
    #[arg(long, default_value_t = 0, help_heading = "Training")]
    pub seed: u64,
    /// Minutes between checkpoints
    #[arg(long, value_name = "MINUTES", default_value_t = 10.0, help_heading = "Training")]
    pub save: f64,
    /// What to train on
    #[arg(long, value_enum, default_value_t = On::Cpu)]
    pub device: On,
    /// Train with rewards up to this step, from the trained model; its own checkpoint is in RUN/grpo
    #[arg(long, value_name = "STEP", help_heading = "GRPO")]
    pub grpo: Option<u64>,
    /// Questions of a step
    #[arg(long, value_name = "N", default_value_t = 4, help_heading = "GRPO")]
    pub questions: usize,
    /// Episodes of a question
    #[arg(long, value_name = "N", default_value_t = 8, help_heading = "GRPO")]
    pub group: usize,
    /// Moves of the weights with the episodes of a step
    #[arg(long, value_name = "N", default_value_t = 2, help_heading = "GRPO")]
    pub passes: usize,
    /// Learning rate
    #[arg(long, value_name = "RATE", default_value_t = 2e-5, help_heading = "GRPO")]
    pub rate: f64,
    /// Weight of the divergence from the reference
    #[arg(long, value_name = "BETA", default_value_t = 0.01, help_heading = "GRPO")]
    pub beta: f64,
    /// The policy becomes the reference every so many steps
    #[arg(long, value_name = "STEPS", default_value_t = 25, help_heading = "GRPO")]
    pub anchor: u64,
    /// The submit gate is open after so many steps
    #[arg(long, value_name = "STEPS", default_value_t = 50, help_heading = "GRPO")]
    pub gate: u64,
    /// Tables of a database at most, 4 to 64
    #[arg(long, value_name = "N", default_value_t = 64, help_heading = "GRPO")]
    pub tables: usize,
    /// Answer so many held-out questions in the agent loop and print what came out; after --grpo also with the model before
    /// it, as a paired comparison
    #[arg(long, value_name = "N", help_heading = "Results")]
    pub evaluate: Option<u64>,
    /// Begin no question after so many minutes
    #[arg(long, value_name = "MINUTES", help_heading = "Results")]
    pub evaluate_minutes: Option<f64>,
    /// Seed of the first held-out sample
    #[arg(long, value_name = "SEED", default_value_t = 900_000, help_heading = "Results")]
    pub evaluate_from: u64,
    /// Write the conversations of the evaluation into this file
    #[arg(long, value_name = "FILE", requires = "evaluate", help_heading = "Results")]
    pub transcripts: Option<PathBuf>,
    /// Write the model into this folder as transformers reads it, and beside that `model.gguf`
    #[arg(long, value_name = "DIR", help_heading = "Results")]
    pub export: Option<PathBuf>,
    /// Type of the GGUF file's matrices: f32, f16, bf16, q8_0 or q4_0
    #[arg(long = "type", value_name = "TYPE", default_value = "q8_0", help_heading = "Results")]
    pub kind: String,
    /// The model's name
    #[arg(long, default_value = "glowworm-small", help_heading = "Results")]
    pub name: String,
    /// Commit of this program, for the record in the GGUF file [default: what git says here]
    #[arg(long, help_heading = "Results")]
    pub commit: Option<String>,
}

/// What to train on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum On {
    /// The processor
    Cpu,
    /// A GPU, by wgpu
    #[cfg(feature = "train-wgpu")]
    Wgpu,
}

impl On {
    fn device(self) -> Device {
        match self {
            Self::Cpu => cpu(),
            #[cfg(feature = "train-wgpu")]
            Self::Wgpu => glowworm_model::reference::wgpu(),
        }
    }
}

/// Runs the command.
///
/// # Errors
/// Settings that cannot be used, data or a checkpoint that cannot be read, a loss that is no number.
pub fn run(args: &TrainArgs) -> Result<()> {
    if args.steps.is_none() && args.grpo.is_none() && args.evaluate.is_none() && args.export.is_none() {
        return Err(Error::Usage(
            "there is nothing to do; give --steps, --grpo, --evaluate or --export".into(),
        ));
    }
    let kind = convert::type_called(&args.kind)?;
    let begun = args.run.join(checkpoint::FILE).exists();
    if let (Some(folder), false) = (&args.weights, begun) {
        adopt(args, folder)?;
    } else if args.steps.is_none() && !begun {
        return Err(no_model(&args.run));
    }
    let tokenizer = args.tokenizer();
    std::fs::create_dir_all(&args.run).map_err(Error::writing(&args.run))?;
    let mut log = Log::open(&args.run.join("log.jsonl"))?;
    let words = data::tokenizer(&tokenizer, args.amount(), &|text| note(&text))?;
    if let Some(steps) = args.steps {
        supervised(args, steps, &words, &mut log)?;
    }
    if let Some(steps) = args.grpo {
        rewarded(args, steps, &words, &mut log)?;
    }
    if args.evaluate.is_some() || args.export.is_some() {
        let (model, standing) = latest(args)?;
        if let Some(count) = args.evaluate {
            results(args, count, &model, &words, &mut log)?;
        }
        if let Some(out) = &args.export {
            export::folder(out, &model, &standing.shape, &words)?;
            let file = out.join("model.gguf");
            let summary = export::gguf(out, &file, kind, &args.name, &standing)?;
            log.write(&json!({
                "exported": file.display().to_string(), "tensors": summary.tensors, "bytes": summary.bytes,
                "step": standing.step,
            }))?;
        }
    }
    Ok(())
}

/// Begins the run with the model of a folder.
fn adopt(args: &TrainArgs, folder: &Path) -> Result<()> {
    // First, so that nothing is there of a run that cannot be begun.
    let words = (args.tokenizer.is_none()).then(|| {
        let path = folder.join("tokenizer.json");
        std::fs::read(&path).map_err(Error::reading(&path))
    });
    let words = words.transpose()?;
    checkpoint::adopt(&args.run, folder, args.seed)?;
    if let Some(words) = words {
        let path = args.tokenizer();
        std::fs::write(&path, words).map_err(Error::writing(&path))?;
    }
    Ok(())
}

impl TrainArgs {
    fn tokenizer(&self) -> PathBuf {
        self.tokenizer.clone().unwrap_or_else(|| self.run.join("tokenizer.json"))
    }

    fn amount(&self) -> Amount {
        Amount {
            vocabulary: self.vocabulary,
            tokenizer_samples: self.vocabulary_samples,
            shards: self.shards,
            per_shard: self.per_shard,
            from: self.from,
            kept: Kept { longest: self.longest, odd: self.odd, cut: self.cut },
        }
    }

    fn commit(&self) -> String {
        self.commit.clone().or_else(git_commit).unwrap_or_default()
    }
}

/// The commit of the folder that the program runs in.
fn git_commit() -> Option<String> {
    let output = std::process::Command::new("git").args(["rev-parse", "HEAD"]).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| text.trim().to_owned())
}

fn supervised(args: &TrainArgs, steps: u64, words: &str, log: &mut Log) -> Result<()> {
    let shards = match &args.data {
        Some(folder) => folder.clone(),
        None => {
            let folder = args.run.join("shards");
            data::shards(&folder, words, args.amount(), &|text| note(&text))?;
            folder
        }
    };
    let vocab_size = glowworm_train::tokenizer::Encoder::new(words)?.size();
    let settings = Settings {
        data: shards,
        shape: Shape { vocab_size, ..Shape::from_json(&args.config)? },
        budget: args.budget,
        longest: args.longest,
        ranks: args.ranks,
        rates: Rates { muon: args.muon, adam: args.adam },
        schedule: Schedule { steps, warmup: args.warmup, decay: args.decay, rewarm: args.rewarm },
        seed: args.seed,
        commit: args.commit(),
    };
    let mut trainer = Trainer::start(&args.run, settings, &args.device.device())?;
    let parameters: usize =
        trainer.model().parameters().iter().map(|p| p.shape.iter().product::<usize>()).sum();
    log.write(&json!({"parameters": parameters, "step": trainer.standing().step, "until": steps}))?;
    let stop = args.run.join("STOP");
    let every = Duration::from_secs_f64((args.save * 60.0).max(0.0));
    let mut broken = None;
    let mut report = |p: glowworm_train::training::Progress| {
        let rounded = |x: f64, places: i32| (x * 10f64.powi(places)).round() / 10f64.powi(places);
        let line = json!({
            "step": p.step, "million_tokens": rounded(p.tokens as f64 / 1e6, 3), "loss": rounded(p.loss, 4),
            "accuracy": rounded(p.accuracy, 4), "tokens_per_s": p.tokens_per_second.round(),
            "seconds_left": p.seconds_left.round(), "rate": rounded(p.rate, 3), "saved": p.saved,
        });
        if let Err(error) = log.write(&line) {
            broken.get_or_insert(error);
        }
        Ok(())
    };
    trainer.train(50, every, &|| stop.exists(), &mut report)?;
    broken.map_or(Ok(()), Err)
}

fn rewarded(args: &TrainArgs, steps: u64, words: &str, log: &mut Log) -> Result<()> {
    let folder = args.run.join("grpo");
    let settings = grpo::Settings {
        steps,
        questions: args.questions,
        group: args.group,
        passes: args.passes,
        rate: args.rate,
        beta: args.beta,
        anchor: args.anchor,
        gate: args.gate,
        tables: args.tables,
        seed: args.seed,
        threads: args.ranks,
    };
    let device = args.device.device();
    let mut trainer = match GrpoTrainer::resume(&folder, words, settings.clone(), &device)? {
        Some(trainer) => trainer,
        None => {
            let (model, standing) = saved(&args.run)?;
            GrpoTrainer::new(&model, standing, words, settings, &device)?
        }
    };
    let stop = args.run.join("STOP");
    let mut since = Instant::now();
    while trainer.standing().step < steps {
        let started = Instant::now();
        let r = trainer.step()?;
        let seconds = started.elapsed().as_secs_f64();
        let step = trainer.standing().step;
        log.write(&json!({
            "grpo_step": step, "reward": r.reward, "right": r.right, "submitted": r.submitted, "taught": r.taught,
            "divergence": r.divergence, "clipped": r.clipped, "gate": r.gate, "tokens": r.tokens,
            "seconds": seconds, "seconds_left": (steps - step) as f64 * seconds,
        }))?;
        let last = step == steps || stop.exists();
        if last || since.elapsed().as_secs_f64() >= args.save * 60.0 {
            trainer.save(&folder)?;
            since = Instant::now();
        }
        if last {
            break;
        }
    }
    Ok(())
}

fn no_model(folder: &Path) -> Error {
    Error::Usage(format!(
        "there is no trained model in {}; train one with --steps, or begin with one by --weights",
        folder.display()
    ))
}

/// The checkpoint of a folder.
fn saved(folder: &Path) -> Result<(Model, Standing)> {
    let saved = checkpoint::load(folder)?.ok_or_else(|| no_model(folder))?;
    Ok(saved.model(&cpu())?)
}

/// The model after all training so far: after GRPO, where there was any.
fn latest(args: &TrainArgs) -> Result<(Model, Standing)> {
    let folder = args.run.join("grpo");
    if folder.join(checkpoint::FILE).exists() { saved(&folder) } else { saved(&args.run) }
}

fn results(args: &TrainArgs, count: u64, model: &Model, words: &str, log: &mut Log) -> Result<()> {
    let questions = Questions {
        split: Split::Test,
        seed: args.evaluate_from,
        count,
        limit: args.evaluate_minutes.map(|minutes| Duration::from_secs_f64((minutes * 60.0).max(0.0))),
        threads: args.ranks,
    };
    let evaluation = evaluate(model, words, questions, &|_| {})?;
    let mut result = json!({ "evaluation": evaluation.summary() });
    if args.grpo.is_some() {
        let (before, _) = saved(&args.run)?;
        let before = evaluate(&before, words, questions, &|_| {})?;
        result["before_grpo"] = json!(before.summary());
        result["mcnemar"] = json!(evaluation.compare(&before));
    }
    log.write(&result)?;
    if let Some(path) = &args.transcripts {
        write_transcripts(path, &evaluation)?;
    }
    Ok(())
}

fn write_transcripts(path: &Path, evaluation: &Evaluation) -> Result<()> {
    let mut file = File::create(path).map_err(Error::writing(path))?;
    for a in &evaluation.answers {
        let right = if a.right { "RIGHT" } else { "WRONG" };
        writeln!(file, "##### {right} {} {}\nGOLD {}\n{}\n", a.kind, a.ended_by.name(), a.gold, a.text)
            .map_err(Error::writing(path))?;
    }
    Ok(())
}

/// Lines of JSON, into a file and to standard output.
struct Log {
    file: File,
    path: PathBuf,
}

impl Log {
    fn open(path: &Path) -> Result<Self> {
        let file = OpenOptions::new().create(true).append(true).open(path).map_err(Error::writing(path))?;
        Ok(Self { file, path: path.to_owned() })
    }

    fn write(&mut self, line: &Value) -> Result<()> {
        writeln!(self.file, "{line}").map_err(Error::writing(&self.path))?;
        print(&line.to_string())
    }
}
