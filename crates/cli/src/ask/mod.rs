//! `glowworm ask`: questions, one episode each, on one loaded model.

mod answer;
mod display;
mod questions;
mod when;

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;
use std::process::ExitCode;

use glowworm_agent::{EpisodeConfig, SchemaMode, Trace};
use glowworm_database::{NativeDatabase, NativeOptions, Tools};
use glowworm_session::{DatabaseTools, Question, run as run_episode, schema_text};
use pollster::block_on;
use serde_json::json;

use crate::args::{AskArgs, Schema};
use crate::cancel;
use crate::error::{Error, Result};
use crate::model::{Loaded, Settings, load, locate};
use crate::numbers::{shortest, time};
use crate::{outputs, terminal};
use answer::Answer;
use display::Display;
use questions::{Asked, Questions};

/// Runs the command.
///
/// # Errors
/// Whatever keeps all questions from being asked. A question without an answer is none, but exit code 1.
pub fn run(args: &AskArgs) -> Result<ExitCode> {
    let mut questions = Questions::new(&args.questions, &args.evidence)?;
    let settings = Settings::new(&args.episode, args.seed)?;
    if let Some(path) = &args.save_trace {
        let mut inputs = outputs::of_database(&args.db);
        inputs.push(args.model.model.clone().into());
        inputs.extend(args.episode.prompt_file.clone());
        outputs::check(path, &inputs)?;
    }
    let located = locate(&args.model.model)?;
    let database = NativeDatabase::open(&args.db, NativeOptions::default())?;
    for notice in database.notices() {
        terminal::notice(&format!("{}: {notice}", args.db.display()));
    }
    cancel::install(database.cancel_handle());
    let mut tools = DatabaseTools::new(Tools::new(database)?);
    let mut traces = args.save_trace.as_deref().map(Traces::create).transpose()?;

    let mut loaded = load(&located, &settings)?;
    let schema = (args.episode.schema == Schema::Shown).then(|| schema_text(tools.catalog()));
    let mode = if schema.is_some() { SchemaMode::Shown } else { SchemaMode::Withheld };
    let notices = loaded.opening.notices(mode);
    for notice in &notices {
        terminal::notice(notice);
    }
    if !args.quiet && !args.json {
        let text = format!("{} on {}, loaded in {}", loaded.name, loaded.device, time(loaded.time));
        terminal::note(&terminal::style().dim().apply_to(text).to_string());
    }

    let mut all_answered = true;
    let mut asked_any = false;
    let stamp = || std::fs::metadata(&args.db).ok().map(|file| (file.len(), file.modified().ok()));
    let opened = stamp();
    while let Some(asked) = questions.next(args.quiet)? {
        if stamp() != opened {
            let db = args.db.display();
            terminal::notice(&format!(
                "{db} has changed since it was opened; start again to ask about what is in it now"
            ));
        }
        asked_any = true;
        let config = episode_config(args, &loaded, &notices, &asked, schema.as_deref())?;
        let (trace, display, cancelled) = ask(args, &mut loaded, &mut tools, config, questions.several())?;
        let answer = Answer::new(args, &loaded, &trace, tools.tools());
        all_answered &= answer.is_answered();
        if let Some(traces) = &mut traces {
            traces.write(&trace)?;
        }
        if args.json {
            terminal::print(&answer.json(&trace, args.trace, &notices)?)?;
        } else {
            answer.show(questions.several(), display.width())?;
            display.ended(&trace, answer.problem());
        }
        if cancelled {
            break;
        }
    }
    if !asked_any {
        return Err(Error::Usage(
            "there is no question; give one as an argument, or one a line on standard input".into(),
        ));
    }
    Ok(if all_answered { ExitCode::SUCCESS } else { ExitCode::from(1) })
}

/// Everything that the trace says about the run, around the model's own opening of the question.
fn episode_config(
    args: &AskArgs,
    loaded: &Loaded,
    notices: &[String],
    asked: &Asked,
    schema: Option<&str>,
) -> Result<EpisodeConfig> {
    let question = Question { text: &asked.question, evidence: asked.evidence.as_deref(), schema };
    let mut config = loaded.opening.config(&question)?;
    config.limits = loaded.limits.clone();
    config.run.model = loaded.name.clone();
    config.run.database = args.db.display().to_string();
    config.run.started_at = when::now();
    let sampling = loaded.model.sampling();
    for (name, value) in [
        ("temperature", json!(shortest(sampling.temperature))),
        ("top_k", json!(sampling.top_k)),
        ("top_p", json!(shortest(sampling.top_p))),
        ("seed", json!(sampling.seed)),
    ] {
        config.run.sampling.insert(name.to_owned(), value);
    }
    config.run.notes.insert("device".to_owned(), json!(loaded.device));
    if !notices.is_empty() {
        config.run.notes.insert("notices".to_owned(), json!(notices));
    }
    Ok(config)
}

/// One episode, shown as it goes. The last of the three says whether the user stopped it.
fn ask(
    args: &AskArgs,
    loaded: &mut Loaded,
    tools: &mut DatabaseTools<NativeDatabase>,
    config: EpisodeConfig,
    several: bool,
) -> Result<(Trace, Display, bool)> {
    let mut display = Display::new(!args.quiet && !args.json, args.trace, &config.limits);
    if several {
        display.question(&config.question);
    }
    cancel::begin();
    let trace = block_on(run_episode(config, &mut loaded.model, tools, &mut display));
    let cancelled = cancel::end();
    Ok((trace?, display, cancelled))
}

/// The file of traces.
struct Traces<'a> {
    path: &'a Path,
    file: BufWriter<File>,
}

impl<'a> Traces<'a> {
    fn create(path: &'a Path) -> Result<Self> {
        let file = File::create(path).map_err(Error::writing(path))?;
        Ok(Self { path, file: BufWriter::new(file) })
    }

    /// Writes a trace as a line, at once: what happens later must not lose it.
    fn write(&mut self, trace: &Trace) -> Result<()> {
        let json = trace.to_json()?;
        writeln!(self.file, "{json}").and_then(|()| self.file.flush()).map_err(Error::writing(self.path))
    }
}
