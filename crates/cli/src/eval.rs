//! `eval`, `compare`, `report` and `score`: the evaluation library at the command line.

use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::{ArgGroup, Args};
use glowworm_agent::{EndedBy, Limits, SchemaMode};
use glowworm_database::ToolOptions;
use glowworm_eval::predictions::{Predictions, score};
use glowworm_eval::remote::{Client, Counting, Endpoint, RemoteModel};
use glowworm_eval::scripted::{Script, Scripted};
use glowworm_eval::sets::{Format, QuestionSet, Selection, read};
use glowworm_eval::{
    Databases, Evaluation, Metric, Player, Progress, Run, RunConfig, SharedDecoder, Stop, TableMode, compare,
    markdown, report,
};
use glowworm_gguf::Metadata;
use glowworm_model::ChatTemplate;
use glowworm_session::{ModelFile, Opening, Sampling, TokenModel};
use indicatif::{ProgressBar, ProgressStyle};
use serde_json::{Map, json};
use tempfile::TempDir;

use crate::args::{EpisodeArgs, Schema};
use crate::error::{Error, Result};
use crate::model::{self, Settings};
use crate::outputs;
use crate::suite::{self, Suite};
use crate::terminal::{notice, print};

/// The question set.
#[derive(Debug, Args)]
#[command(group(ArgGroup::new("source").required(true)))]
pub struct SetArgs {
    /// A set that comes with the program
    #[arg(long, value_enum, group = "source", conflicts_with = "databases")]
    pub suite: Option<Suite>,
    /// The question file, or a folder with one in it
    #[arg(long, value_name = "FILE", group = "source")]
    pub questions: Option<PathBuf>,
    /// The folder with the databases [default: the folder of the questions]
    #[arg(long, value_name = "DIR")]
    pub databases: Option<PathBuf>,
    /// bird, spider, spider2, ehrsql, sqale or plain [default: told by the file's fields]
    #[arg(long, value_name = "FORMAT")]
    pub format: Option<Format>,
    /// Spider 2.0-lite's folder of golds [default: evaluation_suite/gold beside the questions]
    #[arg(long, value_name = "DIR")]
    pub gold: Option<PathBuf>,
    /// Ask so many questions, drawn by the seed
    #[arg(long, value_name = "N")]
    pub limit: Option<usize>,
    /// Seed of all that is drawn: questions, tables, and the samples of each question
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// Only questions of this difficulty; repeated, for several
    #[arg(long, value_name = "NAME")]
    pub difficulty: Vec<String>,
    /// SQaLe's phrasing, or all; repeated, for several [default: evidence_supported]
    #[arg(long, value_name = "NAME")]
    pub phrasing: Vec<String>,
    /// bird, strict, spider, spider2 or ehrsql; repeated, for several [default: the set's own, then strict and bird]
    #[arg(long, value_name = "METRIC")]
    pub metric: Vec<Metric>,
}

/// What [`SetArgs`] name.
struct Chosen {
    set: QuestionSet,
    databases: Databases,
    metrics: Vec<Metric>,
    /// Holds the suite's files while they are used.
    suite: Option<TempDir>,
}

impl SetArgs {
    fn read(&self) -> Result<Chosen> {
        let count = self.limit.unwrap_or(suite::HELD_OUT);
        let suite = self.suite.map(|suite| suite.write(count)).transpose()?;
        let questions = match (&suite, self.suite, &self.questions) {
            (Some(folder), Some(suite), _) => folder.path().join(suite.name()),
            (_, _, Some(questions)) => questions.clone(),
            _ => return Err(Error::Usage("give --suite or --questions".into())),
        };
        let selection = Selection {
            format: self.format,
            limit: self.limit,
            seed: self.seed,
            difficulties: self.difficulty.clone(),
            phrasings: self.phrasing.clone(),
            gold: self.gold.clone(),
        };
        let set = read(&questions, &selection)?;
        if set.without_phrasing > 0 {
            notice(&format!("{} questions have no usable wording in this phrasing", set.without_phrasing));
        }
        let beside = if questions.is_dir() { Some(questions.as_path()) } else { questions.parent() };
        let beside = beside.filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let databases = Databases::new(self.databases.as_deref().unwrap_or(beside))?;
        let mut metrics = self.metric.clone();
        if metrics.is_empty() {
            metrics = vec![set.format.metric(), Metric::Strict, Metric::Bird];
        }
        let mut seen = Vec::new();
        metrics.retain(|metric| {
            !seen.contains(metric) && {
                seen.push(*metric);
                true
            }
        });
        Ok(Chosen { set, databases, metrics, suite })
    }
}

/// Arguments of `eval`.
#[derive(Debug, Args)]
pub struct EvalArgs {
    #[command(flatten)]
    pub set: SetArgs,
    /// The folder of the run; one that holds a stopped run is gone on with
    #[arg(long, value_name = "DIR")]
    pub out: PathBuf,
    /// The model, as for `ask`; with --endpoint a model file whose tokenizer, template and prompt count
    /// [default: builtin]
    #[arg(long, value_name = "MODEL")]
    pub model: Option<String>,
    /// A server with the OpenAI route /v1/completions, such as vLLM or llama-server
    #[arg(long, value_name = "URL")]
    pub endpoint: Option<String>,
    /// The model's name on the server
    #[arg(long, value_name = "NAME", default_value = "default")]
    pub endpoint_model: String,
    /// Environment variable with the server's key
    #[arg(long, value_name = "NAME")]
    pub api_key_env: Option<String>,
    /// Seconds that one request may take
    #[arg(long, value_name = "SECONDS", default_value_t = 600)]
    pub timeout: u64,
    /// Parameters of the model behind the endpoint, to count operations, for example 2e9
    #[arg(long, value_name = "N")]
    pub parameters: Option<f64>,
    /// A script in place of a model, to test the evaluation: oracle, always-wrong, never-submits, over-budget,
    /// needs-schema or every-other
    #[arg(long, value_name = "NAME", conflicts_with_all = ["model", "endpoint"])]
    pub script: Option<Script>,
    /// Episodes at once [default: 16 with --endpoint, 1 on a device]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=512))]
    pub workers: Option<u16>,
    /// Which tables are shown: all, cap:64, gold, or gold+32
    #[arg(long, value_name = "TABLES", default_value = "all")]
    pub tables: TableMode,
    /// Samples of each question, for pass@k and a majority vote
    #[arg(long, value_name = "K", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub samples: u32,
    #[command(flatten)]
    pub episode: EpisodeArgs,
    /// Write the summary as JSON
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `compare`.
#[derive(Debug, Args)]
pub struct CompareArgs {
    /// The folder of the first run
    pub first: PathBuf,
    /// The folder of the second run
    pub second: PathBuf,
    /// The metric to compare by [default: the first run's own]
    #[arg(long, value_name = "METRIC")]
    pub metric: Option<Metric>,
    /// Write JSON
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `report`.
#[derive(Debug, Args)]
pub struct ReportArgs {
    /// Folders of runs; with two of them the page also says what changed
    #[arg(value_name = "RUN", required = true)]
    pub runs: Vec<PathBuf>,
    /// The HTML file to write
    #[arg(long, short, value_name = "FILE", required_unless_present = "markdown")]
    pub output: Option<PathBuf>,
    /// Write tables for a model card to standard output
    #[arg(long)]
    pub markdown: bool,
}

/// Arguments of `score`.
#[derive(Debug, Args)]
pub struct ScoreArgs {
    /// The predictions: JSON, JSON lines, a query a line, or a folder of ID.sql
    #[arg(long, value_name = "FILE")]
    pub predictions: PathBuf,
    #[command(flatten)]
    pub set: SetArgs,
    /// Write JSON, with the verdict on each question
    #[arg(long)]
    pub json: bool,
}

/// Runs `eval`.
///
/// # Errors
/// A set, a model or a folder that cannot be used.
pub fn eval(args: &EvalArgs) -> Result<()> {
    let Chosen { set, databases, metrics, suite } = args.set.read()?;
    let schema = match args.episode.schema {
        Schema::Shown => SchemaMode::Shown,
        Schema::Withheld => SchemaMode::Withheld,
    };
    let config = RunConfig {
        glowworm: env!("CARGO_PKG_VERSION").to_owned(),
        set: set.name.clone(),
        format: set.format,
        questions: set.questions.len(),
        fingerprint: set.fingerprint(),
        model: String::new(),
        device: String::new(),
        parameters: args.parameters.filter(|count| *count >= 1.0).map(|count| count as u64),
        schema,
        tables: args.tables,
        samples: args.samples,
        seed: args.set.seed,
        metrics,
        token_budget: 0,
        sampling: Map::new(),
        time_limit: glowworm_eval::TIME_LIMIT.as_secs(),
    };
    let job = Job { set, databases, config, out: args.out.clone(), json: args.json, _suite: suite };
    if let Some(script) = args.script {
        let opening = Opening::new(ChatTemplate::from_gguf(&Metadata::new())?, Opening::reconstruction());
        let players = vec![Scripted::new(script); usize::from(args.workers.unwrap_or(2))];
        let limits =
            Limits::with_token_budget(args.episode.max_tokens.unwrap_or(Limits::default().token_budget));
        return job.play(format!("script {script}"), "script".into(), &opening, &limits, None, players);
    }
    match &args.endpoint {
        Some(url) => eval_remote(args, url, job),
        None => eval_local(args, job),
    }
}

/// A run that lacks only its players.
struct Job {
    set: QuestionSet,
    databases: Databases,
    config: RunConfig,
    out: PathBuf,
    json: bool,
    _suite: Option<TempDir>,
}

fn eval_local(args: &EvalArgs, mut job: Job) -> Result<()> {
    let spec = args.model.clone().unwrap_or_else(|| "builtin".to_owned());
    let located = model::locate(&spec)?;
    let (_, file) = located.open()?;
    job.config.parameters = job.config.parameters.or(Some(file.config.parameters()));
    let loaded = model::load(&located, &Settings::new(&args.episode, args.set.seed)?)?;
    let sampling = loaded.model.sampling();
    let (decoder, _) = loaded.model.into_parts();
    let workers = usize::from(args.workers.unwrap_or(1));
    let mut players = Vec::new();
    for decoder in SharedDecoder::new(decoder, workers) {
        // Each worker splits text for itself; reading the tokenizer again is cheap next to an episode.
        let (_, file) = located.open()?;
        players.push(TokenModel::new(decoder, file.tokenizer, sampling));
    }
    job.play(loaded.name, loaded.device, &loaded.opening, &loaded.limits, Some(sampling), players)
}

fn eval_remote(args: &EvalArgs, url: &str, job: Job) -> Result<()> {
    let mut endpoint = Endpoint::new(url, &args.endpoint_model);
    endpoint.timeout = Duration::from_secs(args.timeout.max(1));
    if let Some(name) = &args.api_key_env {
        let missing = |_| Error::Usage(format!("the environment has no {name}, which --api-key-env names"));
        endpoint.api_key = Some(std::env::var(name).map_err(missing)?);
    }
    let client = Client::new(endpoint);
    let file =
        args.model.as_deref().map(|spec| Ok::<_, Error>(model::locate(spec)?.open()?.1)).transpose()?;
    let prompt = match (&args.episode.prompt_file, &file) {
        (Some(path), _) => model::read_prompt(path)?,
        (None, Some(ModelFile { prompt: Some(prompt), .. })) => prompt.clone(),
        _ => Opening::reconstruction(),
    };
    let own = file.as_ref().map(ModelFile::sampling).unwrap_or_default();
    let sampling = Settings::new(&args.episode, args.set.seed)?.sampling(own);
    let workers = args.workers.unwrap_or(16);
    let (template, players) = match file {
        Some(file) => {
            let tokenizer = std::sync::Arc::new(file.tokenizer);
            let player = || RemoteModel::with_tokenizer(client.clone(), tokenizer.clone(), sampling);
            (file.template, (0..workers).map(|_| player()).collect())
        }
        None => {
            let counting = client.counting()?;
            if counting == Counting::Bytes {
                notice(
                    "the server does not count tokens, so bytes are counted, and episodes end early; give --model",
                );
            }
            let player = || RemoteModel::new(client.clone(), counting, sampling);
            (ChatTemplate::from_gguf(&Metadata::new())?, (0..workers).map(|_| player()).collect::<Vec<_>>())
        }
    };
    let opening = Opening::new(template, prompt);
    let limits = Limits::with_token_budget(args.episode.max_tokens.unwrap_or(Limits::default().token_budget));
    job.play(args.endpoint_model.clone(), url.to_owned(), &opening, &limits, Some(sampling), players)
}

impl Job {
    fn play<P: Player + Send>(
        mut self,
        model: String,
        device: String,
        opening: &Opening,
        limits: &Limits,
        sampling: Option<Sampling>,
        players: Vec<P>,
    ) -> Result<()> {
        (self.config.model, self.config.device) = (model, device);
        self.config.token_budget = limits.token_budget;
        if let Some(sampling) = sampling {
            for (name, value) in [
                ("temperature", json!(sampling.temperature)),
                ("top_p", json!(sampling.top_p)),
                ("top_k", json!(sampling.top_k)),
            ] {
                self.config.sampling.insert(name.to_owned(), value);
            }
            opening.notices(self.config.schema).iter().for_each(|text| notice(text));
        }
        let stop: &'static Stop = Box::leak(Box::default());
        // Pressed again, Ctrl-C ends the program at once.
        let _ = ctrlc::set_handler(|| {
            if stop.request() {
                std::process::exit(130);
            }
        });
        let bar = bar(self.config.metric());
        let watch = |progress: Progress| show(&bar, progress);
        let open = |question: &glowworm_session::Question<'_>| {
            let config = opening.config(question).map_err(|error| error.to_string())?;
            Ok(glowworm_agent::EpisodeConfig { limits: limits.clone(), ..config })
        };
        let evaluation = Evaluation {
            set: &self.set,
            databases: &self.databases,
            config: self.config.clone(),
            opening: &open,
            tools: ToolOptions::default(),
            stop,
        };
        let summary = glowworm_eval::run(&evaluation, &self.out, players, &watch)?;
        bar.finish_and_clear();
        if let Some(error) = &summary.behaviour.error {
            let count = summary.behaviour.ended_by.get(EndedBy::Error.name()).copied().unwrap_or(0);
            notice(&format!(
                "{count} of {} episodes ended by an error, which says nothing of the model's answers; the first one: {error}",
                summary.episodes
            ));
        }
        if self.json {
            print(&pretty(&summary)?)?;
        } else {
            print(&markdown::runs(&[Run::read(&self.out)?]))?;
        }
        if stop.requested() {
            return Err(Error::Stopped);
        }
        Ok(())
    }
}

/// The live line: how far, how long, and the score so far.
fn bar(metric: Metric) -> ProgressBar {
    let bar = ProgressBar::new(0);
    if let Ok(style) = ProgressStyle::with_template("{pos} of {len} {wide_bar:.dim} {msg}, {eta} left") {
        bar.set_style(style.progress_chars("━━─"));
    }
    bar.set_message(metric.title());
    bar
}

fn show(bar: &ProgressBar, progress: Progress) {
    bar.set_length(progress.total as u64);
    bar.set_position(progress.done as u64);
    if progress.scored > 0 {
        let share = 100.0 * progress.right as f64 / progress.scored as f64;
        bar.set_message(format!("{share:.1}% right ({} of {})", progress.right, progress.scored));
    }
}

/// Runs `compare`.
///
/// # Errors
/// Runs that cannot be read or paired.
pub fn compare_runs(args: &CompareArgs) -> Result<()> {
    let (first, second) = (Run::read(&args.first)?, Run::read(&args.second)?);
    let paired = compare(&first, &second, args.metric.unwrap_or(first.config.metric()))?;
    if args.json { print(&pretty(&paired)?) } else { print(&markdown::comparison(&first, &second, &paired)) }
}

/// Runs `report`.
///
/// # Errors
/// Runs that cannot be read, a file that cannot be written.
pub fn write_report(args: &ReportArgs) -> Result<()> {
    let runs = args.runs.iter().map(|folder| Run::read(folder)).collect::<Result<Vec<_>, _>>()?;
    if let Some(path) = &args.output {
        let files = ["config.json", "episodes.jsonl", "summary.json"];
        let inputs: Vec<PathBuf> =
            args.runs.iter().flat_map(|run| files.map(|name| run.join(name))).collect();
        outputs::check(path, &inputs)?;
        std::fs::write(path, report::html(&runs)?).map_err(Error::writing(path))?;
    }
    if args.markdown { print(&markdown::runs(&runs)) } else { Ok(()) }
}

/// Runs `score`.
///
/// # Errors
/// A set or predictions that cannot be read.
pub fn score_file(args: &ScoreArgs) -> Result<()> {
    let Chosen { set, databases, metrics, suite: _suite } = args.set.read()?;
    let predictions = Predictions::read(&args.predictions)?;
    if predictions.is_empty() {
        return Err(Error::Usage(format!("{} has no predictions", args.predictions.display())));
    }
    let assigned = predictions.assign(&set);
    assigned.notices.iter().for_each(|text| notice(text));
    let bar = bar(metrics[0]);
    bar.set_length(set.questions.len() as u64);
    let scores =
        score(&set.questions, &assigned, &databases, &metrics, &mut |done| bar.set_position(done as u64))?;
    bar.finish_and_clear();
    if args.json {
        return print(&pretty(&scores)?);
    }
    print(&markdown::scores(&scores))
}

fn pretty(value: &impl serde::Serialize) -> Result<String> {
    serde_json::to_string_pretty(value).map_err(|error| Error::Usage(format!("writing JSON: {error}")))
}
