//! The command line.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

use crate::eval::{CompareArgs, EvalArgs, ReportArgs, ScoreArgs};

/// Asks a SQLite database questions with a small language model that runs on this machine.
///
/// The model is shown the question and nothing else. It explores the database with tools in six turns, then submits a
/// SQL query, which is run. Nothing leaves the machine.
#[derive(Debug, Parser)]
#[command(name = "glowworm", version, about, long_about)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Answer questions about a database
    Ask(AskArgs),
    /// Say what a model file holds and what memory it needs
    Inspect(InspectArgs),
    /// Show the tokens of a text
    Tokenize(TokenizeArgs),
    /// Compute logits for given tokens, to compare with other programs
    Logits(LogitsArgs),
    /// Measure how fast a model runs and what it takes up
    Bench(BenchArgs),
    /// Write a Hugging Face checkpoint as a GGUF file
    Convert(ConvertArgs),
    /// Run a question set against a model and keep every episode
    Eval(Box<EvalArgs>),
    /// Compare two runs on the questions that both have
    Compare(CompareArgs),
    /// Write runs as one HTML page, or as tables for a model card
    Report(ReportArgs),
    /// Score SQL that was made elsewhere
    Score(ScoreArgs),
    /// Train a small model, with examples and with rewards
    #[cfg(feature = "train")]
    Train(Box<crate::train::TrainArgs>),
}

/// Where a model comes from.
#[derive(Debug, Args)]
pub struct ModelArg {
    /// The model: a GGUF file, a folder with a Hugging Face checkpoint, `builtin`, or a repository as
    /// hf:OWNER/NAME or hf:OWNER/NAME:TYPE (for example hf:mradermacher/qwen3.5-2b-grpo-sqale-GGUF:Q4_K_M)
    #[arg(long, value_name = "MODEL", default_value = "builtin")]
    pub model: String,
}

/// What a model runs on.
#[derive(Debug, Args)]
pub struct DeviceArgs {
    /// What the model runs on
    #[arg(long, value_enum, default_value_t = Device::Auto)]
    pub device: Device,
    /// Only a GPU whose name contains this text, for example llvmpipe for the software one
    #[arg(long, value_name = "NAME")]
    pub adapter: Option<String>,
}

/// What a model runs on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Device {
    /// A GPU; where there is none and the program has the CPU device, that one
    Auto,
    /// A GPU, hardware or software
    Gpu,
    /// The reference implementation on the processor: exact and slow
    Cpu,
}

/// Whether the model sees the schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Schema {
    /// All CREATE TABLE statements are in the prompt
    Shown,
    /// The model must find the tables
    Withheld,
}

/// How episodes are played: what `ask` and `eval` share.
#[derive(Debug, Args)]
pub struct EpisodeArgs {
    /// A Python file with the prompt that the model was trained with: sqale_agent.py or protocol.py of its repository
    #[arg(long, value_name = "FILE")]
    pub prompt_file: Option<PathBuf>,
    /// Whether the model is shown the schema
    #[arg(long, value_enum, default_value_t = Schema::Withheld)]
    pub schema: Schema,
    #[command(flatten)]
    pub device: DeviceArgs,
    /// 0 always takes the likeliest token [default: what the model file says, else 0.6]
    #[arg(long, allow_negative_numbers = true)]
    pub temperature: Option<f32>,
    /// Choose among the likeliest tokens that hold this share of the probability [default: 0.95]
    #[arg(long, allow_negative_numbers = true)]
    pub top_p: Option<f32>,
    /// Choose among so many of the likeliest tokens; 0 for all [default: 20]
    #[arg(long)]
    pub top_k: Option<u32>,
    /// Token budget of an episode, all that is read and written together [default: 12288, or the model's context
    /// where that is shorter]
    #[arg(long, value_name = "TOKENS")]
    pub max_tokens: Option<u64>,
}

/// Arguments of `ask`.
#[derive(Debug, Args)]
pub struct AskArgs {
    /// The questions, each one argument; without any, one a line from standard input
    #[arg(value_name = "QUESTION")]
    pub questions: Vec<String>,
    /// The SQLite file; it is never written to
    #[arg(long, value_name = "FILE")]
    pub db: PathBuf,
    #[command(flatten)]
    pub model: ModelArg,
    /// A note that helps with the question; repeated, one for each question
    #[arg(long, value_name = "TEXT")]
    pub evidence: Vec<String>,
    #[command(flatten)]
    pub episode: EpisodeArgs,
    /// Seed of the random choices
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// Show tool results whole; with --json, put the trace into the output
    #[arg(long)]
    pub trace: bool,
    /// Write one JSON object a question, on one line
    #[arg(long)]
    pub json: bool,
    /// Write the trace of each question to this file, one JSON object a line (docs/trace.md)
    #[arg(long, value_name = "FILE")]
    pub save_trace: Option<PathBuf>,
    /// Show the answer and not the episode
    #[arg(long, short)]
    pub quiet: bool,
    /// Rows of the answer to show at most
    #[arg(long, default_value_t = 100)]
    pub rows: usize,
}

/// Arguments of `inspect`.
#[derive(Debug, Args)]
pub struct InspectArgs {
    /// The model, as for `ask --model`
    #[arg(value_name = "MODEL")]
    pub model: String,
    /// Tokens of context to compute the memory for [default: 12288, or the model's where that is shorter]
    #[arg(long, value_name = "TOKENS")]
    pub context: Option<usize>,
    /// List every tensor
    #[arg(long)]
    pub tensors: bool,
    /// Write JSON
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `tokenize`.
#[derive(Debug, Args)]
pub struct TokenizeArgs {
    #[command(flatten)]
    pub model: ModelArg,
    /// The text; without it, standard input
    #[arg(value_name = "TEXT")]
    pub text: Option<String>,
    /// Recognise reserved words such as <|im_end|>, as in text that the chat template wrote; without this they are
    /// ordinary characters, as in a question or a database
    #[arg(long)]
    pub markup: bool,
    /// Show the text of these ids instead, separated by commas
    #[arg(long, value_name = "IDS", value_delimiter = ',', conflicts_with_all = ["text", "markup"])]
    pub decode: Option<Vec<u32>>,
    /// Write JSON
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `logits`.
#[derive(Debug, Args)]
pub struct LogitsArgs {
    #[command(flatten)]
    pub model: ModelArg,
    /// The input tokens, separated by commas
    #[arg(long, value_name = "IDS", value_delimiter = ',', required = true)]
    pub ids: Vec<u32>,
    /// Also generate so many tokens greedily after the input
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub generate: usize,
    #[command(flatten)]
    pub device: DeviceArgs,
    /// The safetensors file to write: `logits` [ids, vocabulary] f32, and `greedy` [N] i64
    #[arg(long, short, value_name = "FILE")]
    pub output: PathBuf,
}

/// Arguments of `bench`.
#[derive(Debug, Args)]
pub struct BenchArgs {
    #[command(flatten)]
    pub model: ModelArg,
    /// Only a GPU whose name contains this text
    #[arg(long, value_name = "NAME")]
    pub adapter: Option<String>,
    /// Tokens of the prompt
    #[arg(long, value_name = "N", default_value_t = 128)]
    pub prompt: usize,
    /// A text to use as the prompt, chat markup included, instead of --prompt made-up tokens
    #[arg(long, value_name = "FILE")]
    pub prompt_text: Option<PathBuf>,
    /// Tokens to generate after it
    #[arg(long, value_name = "N", default_value_t = 64)]
    pub generate: usize,
    /// Runs to take the median of
    #[arg(long, value_name = "N", default_value_t = 3)]
    pub repeat: usize,
    /// Tokens of context to load the model with [default: as many as the runs need]
    #[arg(long, value_name = "TOKENS")]
    pub context: Option<usize>,
    /// Also decode at the end of a sequence of so many tokens, in turn with one of --prompt tokens; nobody reads them, so
    /// it costs no prefill
    #[arg(long, value_name = "N")]
    pub positions: Option<usize>,
    /// List the dispatches of a decode token with the bytes that each reads
    #[arg(long)]
    pub plan: bool,
    /// Write JSON
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `convert`.
#[derive(Debug, Args)]
pub struct ConvertArgs {
    /// Folder of the checkpoint: config.json, tokenizer.json and .safetensors files
    #[arg(value_name = "DIR")]
    pub folder: PathBuf,
    /// The GGUF file to write
    #[arg(value_name = "OUT")]
    pub out: PathBuf,
    /// Type of the matrices: f32, f16, bf16, q8_0 or q4_0
    #[arg(long = "type", value_name = "TYPE")]
    pub kind: String,
    /// The model's name [default: the folder's]
    #[arg(long)]
    pub name: Option<String>,
    /// File with the system prompt that the model was trained with
    #[arg(long, value_name = "FILE")]
    pub system_prompt: Option<PathBuf>,
    /// File with the template of the user's turn, {question} in its place
    #[arg(long, value_name = "FILE")]
    pub user_template: Option<PathBuf>,
    /// File with a chat template (Jinja) in place of the checkpoint's own
    #[arg(long, value_name = "FILE")]
    pub chat_template: Option<PathBuf>,
    /// A further entry of the file's metadata, as how the model was made: general.… or glowworm.…; may be repeated
    #[arg(long, value_name = "KEY=VALUE")]
    pub metadata: Vec<String>,
    /// Replace the file if it exists
    #[arg(long)]
    pub force: bool,
}
