//! The glowworm program: asks a SQLite file questions with a small language model, and shows what it does.
//!
//! Each command is a module. What they share: [`model`] finds and loads a model, [`terminal`] and [`progress`] write
//! for people, [`error`] says what went wrong and with which exit code.
//!
//! # Exit codes
//! 0: done, and for `ask` every question was answered by a query that runs. 1: it could not be done (no answer, no
//! GPU, no network). 2: wrong usage or input.
//!
//! # Output
//! Standard output has the result and nothing else: the query and its rows, or JSON. The episode, progress and notices
//! go to standard error; without a terminal there they have no colour and nothing that moves.

mod args;
mod ask;
mod bench;
mod cancel;
mod convert;
mod error;
mod eval;
mod input;
mod inspect;
mod logits;
mod model;
mod numbers;
mod outputs;
mod progress;
mod suite;
mod table;
mod terminal;
mod tokenize;
#[cfg(feature = "train")]
mod train;

use std::process::ExitCode;

use clap::Parser;

use args::{Cli, Command};
use error::Result;

fn main() -> ExitCode {
    #[cfg(target_os = "linux")]
    give_mesa_a_folder();
    let cli = Cli::parse();
    match run(&cli.command) {
        Ok(code) => code,
        // Whoever read the output has seen enough.
        Err(error) if error.is_broken_pipe() => ExitCode::SUCCESS,
        Err(error) => {
            terminal::error(&error.to_string());
            ExitCode::from(error.exit_code())
        }
    }
}

/// Mesa's Vulkan drivers write an error on standard error, twice, where this is not set, though all is well.
#[cfg(target_os = "linux")]
fn give_mesa_a_folder() {
    if std::env::var_os("XDG_RUNTIME_DIR").is_none() {
        // SAFETY: the program has no other thread yet that could read its environment.
        unsafe { std::env::set_var("XDG_RUNTIME_DIR", std::env::temp_dir()) };
    }
}

fn run(command: &Command) -> Result<ExitCode> {
    match command {
        Command::Ask(args) => return ask::run(args),
        Command::Inspect(args) => inspect::run(args)?,
        Command::Tokenize(args) => tokenize::run(args)?,
        Command::Logits(args) => logits::run(args)?,
        Command::Bench(args) => bench::run(args)?,
        Command::Convert(args) => convert::run(args)?,
        Command::Eval(args) => eval::eval(args)?,
        Command::Compare(args) => eval::compare_runs(args)?,
        Command::Report(args) => eval::write_report(args)?,
        Command::Score(args) => eval::score_file(args)?,
        #[cfg(feature = "train")]
        Command::Train(args) => train::run(args)?,
    }
    Ok(ExitCode::SUCCESS)
}
