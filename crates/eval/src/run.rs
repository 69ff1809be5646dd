//! Playing the episodes of a set.

use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use glowworm_agent::{EndedBy, EpisodeConfig, SchemaMode, Trace};
use glowworm_database::{ToolOptions, Tools};
use glowworm_session::{DatabaseTools, Event, Observer, schema_text};
use pollster::block_on;

use crate::behaviour::Behaviour;
use crate::databases::Databases;
use crate::error::{Error, Result};
use crate::player::{Assignment, Player};
use crate::question::Question;
use crate::random::Random;
use crate::score::Scorer;
use crate::sets::QuestionSet;
use crate::stop::Stop;
use crate::store::{EpisodeRecord, RunConfig, Writer};
use crate::summary::Summary;
use crate::tables::Stage;

/// Episodes in a row that may end by an error of the host before the run is given up: the server is down, the GPU lost.
const MOST_ERRORS: usize = 8;

/// Makes the opening of an episode: prompt, markup and limits.
pub type Opening<'a> = dyn Fn(&glowworm_session::Question<'_>) -> Result<EpisodeConfig, String> + Sync + 'a;

/// What is to be evaluated.
pub struct Evaluation<'a> {
    /// The questions.
    pub set: &'a QuestionSet,
    /// Their databases.
    pub databases: &'a Databases,
    /// The settings, as they are kept with the run.
    pub config: RunConfig,
    /// How an episode begins.
    pub opening: &'a Opening<'a>,
    /// What the tools show.
    pub tools: ToolOptions,
    /// Ends the run when it is set: episodes under way are dropped, and the folder can be gone on with.
    pub stop: &'a Stop,
}

/// How far a run is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Progress {
    /// Finished episodes, those of an earlier start included.
    pub done: usize,
    /// All episodes.
    pub total: usize,
    /// Those that were finished before this start.
    pub resumed: usize,
    /// Right answers so far, by the first metric.
    pub right: usize,
    /// Finished episodes that could be scored.
    pub scored: usize,
    /// Time since this start.
    pub elapsed: Duration,
}

/// Plays all episodes that the folder does not have yet, each player in a thread of its own, and writes the summary.
/// `watch` is called after every episode.
///
/// # Errors
///
/// A database that is missing (before anything is played), a folder with another run, a disk that is full, or a model
/// that fails again and again. What was finished is kept.
pub fn run<P: Player + Send>(
    evaluation: &Evaluation<'_>,
    folder: &Path,
    players: Vec<P>,
    watch: &(dyn Fn(Progress) + Sync),
) -> Result<Summary> {
    let config = &evaluation.config;
    if config.samples == 0 || players.is_empty() {
        return Err(Error::Options("there must be at least one sample and one player".to_owned()));
    }
    let names: HashSet<&str> =
        evaluation.set.questions.iter().map(|question| question.db_id.as_str()).collect();
    for name in names {
        evaluation.databases.path(name)?;
    }
    let (writer, finished) = Writer::open(folder, config)?;
    let keys: HashSet<(String, u32)> = finished.iter().map(EpisodeRecord::key).collect();
    let tasks: Vec<(&Question, u32)> = evaluation
        .set
        .questions
        .iter()
        .flat_map(|question| (0..config.samples).map(move |sample| (question, sample)))
        .filter(|(question, sample)| !keys.contains(&(question.id.clone(), *sample)))
        .collect();
    let total = tasks.len() + finished.len();
    let board = Board {
        evaluation,
        tasks: &tasks,
        next: AtomicUsize::new(0),
        begun: Instant::now(),
        total,
        resumed: finished.len(),
        sheet: Mutex::new(Sheet { writer, episodes: finished, errors_in_a_row: 0, failure: None }),
        watch,
    };
    watch(board.progress(&board.lock()));
    std::thread::scope(|scope| {
        for player in players {
            let board = &board;
            scope.spawn(move || board.work(player));
        }
    });
    let mut sheet = board.sheet.into_inner().unwrap_or_else(PoisonError::into_inner);
    if let Some(failure) = sheet.failure {
        return Err(failure);
    }
    put_in_order(&mut sheet.episodes, &evaluation.set.questions);
    let summary = Summary::new(config, &sheet.episodes);
    sheet.writer.finish(&summary)?;
    Ok(summary)
}

/// Sorts episodes by the order of questions and by sample.
fn put_in_order(episodes: &mut [EpisodeRecord], questions: &[Question]) {
    let places: HashMap<&str, usize> =
        questions.iter().enumerate().map(|(index, question)| (question.id.as_str(), index)).collect();
    episodes.sort_by_key(|episode| (places.get(episode.id.as_str()).copied(), episode.sample));
}

/// What the threads share.
struct Board<'a> {
    evaluation: &'a Evaluation<'a>,
    tasks: &'a [(&'a Question, u32)],
    next: AtomicUsize,
    begun: Instant,
    total: usize,
    resumed: usize,
    sheet: Mutex<Sheet>,
    watch: &'a (dyn Fn(Progress) + Sync),
}

/// What only one thread writes at a time.
struct Sheet {
    writer: Writer,
    episodes: Vec<EpisodeRecord>,
    errors_in_a_row: usize,
    failure: Option<Error>,
}

impl Board<'_> {
    fn lock(&self) -> std::sync::MutexGuard<'_, Sheet> {
        self.sheet.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn work<P: Player>(&self, mut player: P) {
        let config = &self.evaluation.config;
        let time = Duration::from_secs(config.time_limit);
        let mut scorer = Scorer::new(self.evaluation.databases, &config.metrics)
            .with_time(time)
            .ended_by(self.evaluation.stop);
        let mut stage: Option<(String, Stage)> = None;
        while !self.evaluation.stop.requested() && self.lock().failure.is_none() {
            let Some((question, sample)) = self.tasks.get(self.next.fetch_add(1, Ordering::SeqCst)) else {
                return;
            };
            match self.play(&mut player, &mut scorer, &mut stage, question, *sample) {
                Ok(Some((record, trace))) => self.keep(record, &trace),
                // Stopped on the way, perhaps while a database was read.
                Ok(None) => return,
                Err(_) if self.evaluation.stop.requested() => return,
                Err(error) => {
                    self.lock().failure.get_or_insert(error);
                    return;
                }
            }
        }
    }

    /// Plays one episode and scores its answer; none where it was stopped.
    fn play<P: Player>(
        &self,
        player: &mut P,
        scorer: &mut Scorer<'_>,
        stage: &mut Option<(String, Stage)>,
        question: &Question,
        sample: u32,
    ) -> Result<Option<(EpisodeRecord, Trace)>> {
        let evaluation = self.evaluation;
        let config = &evaluation.config;
        // All samples of a question play on one stage.
        if stage.as_ref().is_none_or(|(id, _)| *id != question.id) {
            *stage = None;
            let fresh = Stage::new(evaluation.databases, question, config.tables, config.seed)?;
            *stage = Some((question.id.clone(), fresh));
        }
        let Some((_, stage)) = stage else { return Ok(None) };
        let problem = |problem: String| Error::Episode { question: question.id.clone(), problem };
        let database = stage.open(&question.db_id)?;
        let _watched = evaluation.stop.watch(database.cancel_handle());
        let tools = Tools::with_options(database, evaluation.tools.clone())
            .map_err(|error| problem(error.to_string()))?;
        let schema = (config.schema == SchemaMode::Shown).then(|| schema_text(tools.catalog()));
        let mut episode = (evaluation.opening)(&glowworm_session::Question {
            text: &question.text,
            evidence: question.evidence.as_deref(),
            schema: schema.as_deref(),
        })
        .map_err(problem)?;
        let seed = Random::for_purpose(config.seed, &format!("{}/{sample}", question.id)).next_u64();
        episode.run.model.clone_from(&config.model);
        episode.run.database.clone_from(&question.db_id);
        episode.run.sampling.clone_from(&config.sampling);
        episode.run.sampling.insert("seed".to_owned(), seed.into());
        episode.run.notes.insert("question".to_owned(), question.id.clone().into());
        episode.run.notes.insert("sample".to_owned(), sample.into());
        player.assign(Assignment { question, sample, seed });
        let mut host = DatabaseTools::new(tools);
        let begun = Instant::now();
        let mut ending = Ending(evaluation.stop);
        let trace = block_on(glowworm_session::run(episode, player, &mut host, &mut ending))
            .map_err(|error| problem(error.to_string()))?;
        let wall_ms = u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX);
        let outcome = trace.outcome.as_ref();
        let ended_by = outcome.map_or(EndedBy::Error, |outcome| outcome.ended_by);
        if ended_by == EndedBy::Cancelled {
            return Ok(None);
        }
        // After an error the query is only what was tried last.
        let sql = outcome.and_then(|outcome| outcome.sql.clone()).filter(|_| ended_by != EndedBy::Error);
        let judgement = scorer.judge(question, sql.as_deref())?;
        if evaluation.stop.requested() {
            // Its queries may have been interrupted: that says nothing of the answer.
            return Ok(None);
        }
        let record = EpisodeRecord {
            id: question.id.clone(),
            sample,
            db_id: question.db_id.clone(),
            difficulty: question.difficulty.clone(),
            phrasing: question.phrasing.clone(),
            seed,
            tables: stage.tables(),
            gold: question.queries().map(str::to_owned).collect(),
            sql,
            judgement,
            behaviour: Behaviour::of(&trace, question, stage),
            wall_ms,
        };
        Ok(Some((record, trace)))
    }

    fn keep(&self, record: EpisodeRecord, trace: &Trace) {
        let mut sheet = self.lock();
        let failed = record.behaviour.ended_by == EndedBy::Error;
        sheet.errors_in_a_row = if failed { sheet.errors_in_a_row + 1 } else { 0 };
        if sheet.errors_in_a_row >= MOST_ERRORS {
            let last = trace.outcome.as_ref().and_then(|outcome| outcome.message.clone()).unwrap_or_default();
            sheet.failure.get_or_insert(Error::Options(format!(
                "{MOST_ERRORS} episodes in a row ended by an error, the last one: {last}; what was finished is kept, and \
                 the same command goes on with it"
            )));
        }
        if let Err(error) = sheet.writer.append(&record, trace) {
            sheet.failure.get_or_insert(error);
        }
        sheet.episodes.push(record);
        let progress = self.progress(&sheet);
        drop(sheet);
        (self.watch)(progress);
    }

    fn progress(&self, sheet: &Sheet) -> Progress {
        let metric = self.evaluation.config.metric();
        let scored = sheet.episodes.iter().filter(|episode| episode.is_scored());
        Progress {
            done: sheet.episodes.len(),
            total: self.total,
            resumed: self.resumed,
            right: scored.clone().filter(|episode| episode.is_right(metric)).count(),
            scored: scored.count(),
            elapsed: self.begun.elapsed(),
        }
    }
}

/// Ends an episode when the run is to end.
struct Ending<'a>(&'a Stop);

impl Observer for Ending<'_> {
    fn event(&mut self, _event: Event<'_>) {}

    fn cancelled(&mut self) -> bool {
        self.0.requested()
    }
}
