//! The folder of a run.
//!
//! ```text
//! config.json      what was asked of whom: a run is gone on with only under the same settings
//! episodes.jsonl   one episode a line: its verdicts, its figures and its whole trace
//! summary.json     what the lines add up to
//! ```
//!
//! A line is written at once and whole, so a run that was stopped anywhere loses at most the episodes that were under
//! way. The half line that a crash may leave is cut off when the run goes on.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};

use glowworm_agent::{EndedBy, SchemaMode, Trace};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json};

use crate::behaviour::Behaviour;
use crate::error::{Error, Result};
use crate::metric::Metric;
use crate::score::{GoldState, Judgement};
use crate::sets::Format;
use crate::summary::Summary;
use crate::tables::TableMode;

const CONFIG: &str = "config.json";
const EPISODES: &str = "episodes.jsonl";
const SUMMARY: &str = "summary.json";
const LOCK: &str = ".lock";

/// The settings of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunConfig {
    /// Version of the program that began it.
    pub glowworm: String,
    /// Name of the question set.
    pub set: String,
    /// Its layout.
    pub format: Format,
    /// Number of questions.
    pub questions: usize,
    /// Tells the questions and golds from others.
    pub fingerprint: String,
    /// Name of the model.
    pub model: String,
    /// What it runs on: a device, or an address.
    pub device: String,
    /// Its number of parameters, where that is known.
    pub parameters: Option<u64>,
    /// Whether the prompt shows the schema.
    pub schema: SchemaMode,
    /// Which tables are shown.
    pub tables: TableMode,
    /// Samples of each question.
    pub samples: u32,
    /// Seed of what is drawn: questions, tables, and the samples' own seeds.
    pub seed: u64,
    /// Metrics; the first is the one that figures are broken down by.
    pub metrics: Vec<Metric>,
    /// Token budget of an episode.
    pub token_budget: u64,
    /// Temperature and the like, as far as they are known.
    pub sampling: Map<String, Json>,
    /// Seconds a query may take when it is scored.
    pub time_limit: u64,
}

impl RunConfig {
    /// The first metric.
    pub fn metric(&self) -> Metric {
        self.metrics.first().copied().unwrap_or(Metric::Bird)
    }

    /// The first setting in which another run differs. Versions may differ: what matters of them is in the rest.
    fn difference(&self, other: &Self) -> Option<String> {
        let other = Self { glowworm: self.glowworm.clone(), ..other.clone() };
        let (Ok(Json::Object(mine)), Ok(Json::Object(theirs))) =
            (serde_json::to_value(self), serde_json::to_value(&other))
        else {
            return None;
        };
        let name = mine.keys().find(|name| mine.get(*name) != theirs.get(*name))?;
        let show = |map: &Map<String, Json>| map.get(name).map(Json::to_string).unwrap_or_default();
        Some(format!("{name} is {} there and {} here", show(&theirs), show(&mine)))
    }
}

/// One finished episode, without its trace.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EpisodeRecord {
    /// The question's id.
    pub id: String,
    /// Which sample of it, from 0.
    pub sample: u32,
    /// The database.
    pub db_id: String,
    /// The question's difficulty.
    pub difficulty: Option<String>,
    /// The style of its wording.
    pub phrasing: Option<String>,
    /// The episode's own seed.
    pub seed: u64,
    /// Tables that could be seen.
    pub tables: usize,
    /// The gold queries.
    pub gold: Vec<String>,
    /// The answer.
    pub sql: Option<String>,
    /// What the metrics say of it.
    pub judgement: Judgement,
    /// What the episode did.
    pub behaviour: Behaviour,
    /// Milliseconds from its beginning to its end, scoring not counted.
    pub wall_ms: u64,
}

impl EpisodeRecord {
    /// Whether the answer is right by a metric.
    pub fn is_right(&self, metric: Metric) -> bool {
        self.judgement.is_right(metric)
    }

    /// Whether its question's gold runs, so that it can be scored at all.
    pub fn is_scored(&self) -> bool {
        self.judgement.gold != GoldState::Fails
    }

    pub(crate) fn key(&self) -> (String, u32) {
        (self.id.clone(), self.sample)
    }
}

/// A line of `episodes.jsonl`.
#[derive(Serialize)]
struct Line<'a> {
    #[serde(flatten)]
    record: &'a EpisodeRecord,
    trace: &'a Trace,
}

/// The trace of a line alone.
#[derive(Deserialize)]
struct OnlyTrace {
    trace: Trace,
}

/// A run that is being written.
#[derive(Debug)]
pub(crate) struct Writer {
    folder: PathBuf,
    episodes: File,
    /// Locked as long as this lives: two programs at one run would each undo what the other writes.
    _lock: File,
}

impl Writer {
    /// Begins a run, or goes on with the one that the folder holds; gives back its finished episodes. An episode that
    /// ended by an error of the host (a server that was down) is not finished: its line goes.
    pub(crate) fn open(folder: &Path, config: &RunConfig) -> Result<(Self, Vec<EpisodeRecord>)> {
        std::fs::create_dir_all(folder).map_err(Error::writing(folder))?;
        let (config_path, episodes_path) = (folder.join(CONFIG), folder.join(EPISODES));
        if !config_path.is_file() && holds_anything(folder)? {
            return Err(Error::Options(format!(
                "{} is not empty and holds no run; give a new or empty folder",
                folder.display()
            )));
        }
        let lock_path = folder.join(LOCK);
        let lock = File::create(&lock_path).map_err(Error::writing(&lock_path))?;
        if matches!(lock.try_lock(), Err(TryLockError::WouldBlock)) {
            return Err(Error::Options(format!(
                "another program is at the run in {}; wait for it, or give another folder",
                folder.display()
            )));
        }
        let mut kept = Vec::new();
        if config_path.is_file() {
            let there: RunConfig = read_json(&config_path)?;
            if let Some(what) = config.difference(&there) {
                return Err(Error::OtherRun { folder: folder.to_owned(), what });
            }
            kept = keep_finished(&episodes_path)?;
        } else {
            write_json(&config_path, config)?;
        }
        let episodes = OpenOptions::new()
            .create(true)
            .append(true)
            .open(&episodes_path)
            .map_err(Error::writing(&episodes_path))?;
        Ok((Self { folder: folder.to_owned(), episodes, _lock: lock }, kept))
    }

    pub(crate) fn append(&mut self, record: &EpisodeRecord, trace: &Trace) -> Result<()> {
        let path = self.folder.join(EPISODES);
        let mut line = serde_json::to_string(&Line { record, trace })
            .map_err(|error| Error::format(&path, None, error.to_string()))?;
        line.push('\n');
        self.episodes.write_all(line.as_bytes()).map_err(Error::writing(&path))
    }

    pub(crate) fn finish(&self, summary: &Summary) -> Result<()> {
        write_json(&self.folder.join(SUMMARY), summary)
    }
}

/// Whether there is anything in a folder but the lock of a run that was not begun.
fn holds_anything(folder: &Path) -> Result<bool> {
    let mut entries = std::fs::read_dir(folder).map_err(Error::reading(folder))?;
    Ok(entries.any(|entry| entry.is_ok_and(|entry| entry.file_name() != LOCK)))
}

/// Reads the finished episodes of a file that is to be gone on with, and takes everything else out of it.
fn keep_finished(path: &Path) -> Result<Vec<EpisodeRecord>> {
    let Ok(file) = File::open(path) else { return Ok(Vec::new()) };
    let fresh_path = path.with_extension("jsonl.new");
    let mut fresh = File::create(&fresh_path).map_err(Error::writing(&fresh_path))?;
    let mut kept: Vec<EpisodeRecord> = Vec::new();
    let mut line = Vec::new();
    let mut reader = BufReader::new(file);
    let mut number = 0;
    while {
        line.clear();
        reader.read_until(b'\n', &mut line).map_err(Error::reading(path))? > 0
    } {
        number += 1;
        let is_whole = line.last() == Some(&b'\n');
        match serde_json::from_slice::<EpisodeRecord>(&line) {
            Ok(record) if is_whole => {
                if record.behaviour.ended_by != EndedBy::Error {
                    fresh.write_all(&line).map_err(Error::writing(&fresh_path))?;
                    kept.push(record);
                }
            }
            Err(error) if is_whole => return Err(Error::format(path, Some(number), error.to_string())),
            // The line that was being written when the program ended.
            Ok(_) | Err(_) => {}
        }
    }
    drop(fresh);
    std::fs::rename(&fresh_path, path).map_err(Error::writing(path))?;
    Ok(kept)
}

/// A run as it was kept.
#[derive(Debug, Clone)]
pub struct Run {
    /// Its folder.
    pub folder: PathBuf,
    /// Its settings.
    pub config: RunConfig,
    /// Its episodes, by question in the order of the set and then by sample, as far as they are finished.
    pub episodes: Vec<EpisodeRecord>,
}

impl Run {
    /// Reads a run, finished or not.
    ///
    /// # Errors
    ///
    /// When the folder holds none, or a line cannot be read.
    pub fn read(folder: &Path) -> Result<Self> {
        let config = read_json(&folder.join(CONFIG))?;
        let mut episodes = Vec::new();
        for_each_line(&folder.join(EPISODES), |number, line| {
            let record = serde_json::from_slice(line).map_err(|error| (number, error))?;
            episodes.push(record);
            Ok(())
        })?;
        Ok(Self { folder: folder.to_owned(), config, episodes })
    }

    /// What the episodes add up to.
    pub fn summary(&self) -> Summary {
        Summary::new(&self.config, &self.episodes)
    }

    /// Calls `each` with every episode and its trace, one at a time: traces are large.
    ///
    /// # Errors
    ///
    /// When a line cannot be read.
    pub fn for_each_trace(&self, mut each: impl FnMut(&EpisodeRecord, &Trace)) -> Result<()> {
        for_each_line(&self.folder.join(EPISODES), |number, line| {
            let record: EpisodeRecord = serde_json::from_slice(line).map_err(|error| (number, error))?;
            let OnlyTrace { trace } = serde_json::from_slice(line).map_err(|error| (number, error))?;
            each(&record, &trace);
            Ok(())
        })
    }

    /// The name for tables and plots: the model's, and the folder's where it says more.
    pub fn name(&self) -> String {
        let folder = self.folder.canonicalize().unwrap_or_else(|_| self.folder.clone());
        let folder = folder.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        format!("{} ({folder})", self.config.model)
    }
}

/// Calls `each` with every whole line and its number.
fn for_each_line(
    path: &Path,
    mut each: impl FnMut(usize, &[u8]) -> Result<(), (usize, serde_json::Error)>,
) -> Result<()> {
    let mut reader = BufReader::new(File::open(path).map_err(Error::reading(path))?);
    let mut line = Vec::new();
    let mut number = 0;
    while reader.read_until(b'\n', &mut line).map_err(Error::reading(path))? > 0 {
        number += 1;
        if line.last() == Some(&b'\n') {
            each(number, &line)
                .map_err(|(number, error)| Error::format(path, Some(number), error.to_string()))?;
        }
        line.clear();
    }
    Ok(())
}

fn read_json<T: serde::de::DeserializeOwned>(path: &Path) -> Result<T> {
    let text = std::fs::read_to_string(path).map_err(Error::reading(path))?;
    serde_json::from_str(&text).map_err(|error| Error::format(path, None, error.to_string()))
}

/// Writes a file as a whole: under another name first, so that no reader finds half of it.
fn write_json(path: &Path, value: &impl Serialize) -> Result<()> {
    let text =
        serde_json::to_string_pretty(value).map_err(|error| Error::format(path, None, error.to_string()))?;
    let fresh = path.with_extension("json.new");
    std::fs::write(&fresh, text + "\n").map_err(Error::writing(&fresh))?;
    std::fs::rename(&fresh, path).map_err(Error::writing(path))
}
