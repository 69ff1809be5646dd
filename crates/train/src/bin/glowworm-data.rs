//! Makes the small model's data: shows samples, trains the tokenizer, writes shards, serves databases to an evaluator.

use clap::{Parser, Subcommand, ValueEnum};
use glowworm_train::error::{Error, Result};
use glowworm_train::lexicon::{Lexicon, Split};
use glowworm_train::sample::sample;
use glowworm_train::serve;
use glowworm_train::shards::{self, Kept};
use glowworm_train::tokenizer::{Encoder, train_on_samples};
use std::path::PathBuf;

#[derive(Parser)]
#[command(about = "Generated databases, questions and ideal episodes for the small model")]
struct Options {
    #[command(subcommand)]
    command: Command,
}

#[derive(Clone, Copy, ValueEnum)]
enum SplitName {
    Train,
    Test,
}

impl From<SplitName> for Split {
    fn from(s: SplitName) -> Self {
        match s {
            SplitName::Train => Self::Train,
            SplitName::Test => Self::Test,
        }
    }
}

#[derive(Subcommand)]
enum Command {
    /// Prints samples: whole episodes, or a line each (kind, question, SQL).
    Show {
        #[arg(long, default_value = "train")]
        split: SplitName,
        #[arg(long, default_value_t = 0)]
        from: u64,
        #[arg(long, default_value_t = 10)]
        count: u64,
        /// Only kind, question and SQL.
        #[arg(long)]
        brief: bool,
    },
    /// Trains the tokenizer on episodes of the training split.
    Tokenizer {
        #[arg(long, default_value_t = 2048)]
        size: usize,
        #[arg(long, default_value_t = 20_000)]
        samples: u64,
        /// Where the tokenizer.json goes.
        #[arg(long)]
        out: PathBuf,
    },
    /// Writes shards of token ids and marks.
    Shards {
        #[arg(long)]
        tokenizer: PathBuf,
        #[arg(long)]
        out: PathBuf,
        /// Seed of the first sample; sample i of shard k has seed `from + k * per_shard + i`.
        #[arg(long, default_value_t = 1_000_000)]
        from: u64,
        #[arg(long, default_value_t = 4000)]
        per_shard: u64,
        #[arg(long, default_value_t = 1)]
        shards: u64,
        /// Longer episodes are left out.
        #[arg(long, default_value_t = 1024)]
        longest: usize,
        /// Share of the samples with rare or made-up words in the place of a database's own that are kept: less than 1 for the end of a training.
        #[arg(long, default_value_t = 1.0)]
        odd: f64,
        /// Share of the samples whose words are cut into smaller pieces than the tokenizer's, as unknown words are.
        #[arg(long, default_value_t = 0.0)]
        cut: f64,
    },
    /// Answers tool calls and scores answers for an evaluator, one JSON line each way.
    Serve,
}

fn main() {
    if let Err(e) = run(Options::parse().command) {
        eprintln!("error: {e}");
        std::process::exit(1);
    }
}

fn run(command: Command) -> Result<()> {
    let lexicon = Lexicon::load()?;
    match command {
        Command::Show { split, from, count, brief } => {
            for seed in from..from + count {
                let s = sample(&lexicon, split.into(), seed)?;
                if brief {
                    println!("{}\t{}\t{}", s.question.kind, s.question.text, s.question.sql);
                } else {
                    let text: String = s.pieces.iter().map(|p| p.1.as_str()).collect();
                    println!("=== {seed} {}\n{text}", s.question.kind);
                }
            }
        }
        Command::Tokenizer { size, samples, out } => {
            let json = train_on_samples(&lexicon, size, samples)?;
            let e = Encoder::new(&json)?;
            println!("{} tokens", e.size());
            std::fs::write(&out, json)
                .map_err(|source| Error::File { path: out.display().to_string(), source })?;
        }
        Command::Shards { tokenizer, out, from, per_shard, shards, longest, odd, cut } => {
            let json = std::fs::read_to_string(&tokenizer)
                .map_err(|source| Error::File { path: tokenizer.display().to_string(), source })?;
            for k in 0..shards {
                let first = from + k * per_shard;
                let figures =
                    shards::write(&lexicon, &json, &out, first, per_shard, Kept { longest, odd, cut })?;
                println!("{figures}");
            }
        }
        Command::Serve => serve::serve(&lexicon, std::io::stdin().lock(), std::io::stdout().lock())?,
    }
    Ok(())
}
