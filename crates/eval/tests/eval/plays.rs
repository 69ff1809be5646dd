//! Scripted players, whose scores are known, and runs that are stopped and gone on with.

use std::sync::atomic::{AtomicUsize, Ordering};

use glowworm_agent::SchemaMode;
use glowworm_eval::scripted::{Script, Scripted};
use glowworm_eval::{Error, Evaluation, Metric, Run, RunConfig, Stop, Summary, TableMode, compare, run};
use glowworm_session::LanguageModel;

use crate::support::{config, evaluation, play, small_set};

fn played(script: Script, change: impl FnOnce(&mut RunConfig)) -> (Summary, Run, tempfile::TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let (set, databases) = small_set(folder.path());
    let mut config = config(&set, script.name());
    change(&mut config);
    let summary = play(&set, &databases, config, script, &folder.path().join("run"));
    let run = Run::read(&folder.path().join("run")).unwrap();
    assert_eq!(run.episodes.len() as u64, summary.episodes);
    (summary, run, folder)
}

#[test]
fn the_oracle_is_always_right() {
    let (summary, run, _folder) = played(Script::Oracle, |_| {});
    let strict = &summary.accuracy[&Metric::Strict];
    assert_eq!((summary.episodes, summary.gold_fails), (10, 1));
    assert_eq!((strict.count, strict.of), (9, 9));
    assert_eq!((summary.gold_ambiguous.count, summary.gold_ambiguous.of), (1, 1));
    assert_eq!(summary.accuracy_sound[&Metric::Bird].of, 8);
    let behaviour = &summary.behaviour;
    assert_eq!((behaviour.submitted.count, behaviour.turns.mean), (10, 2.0));
    assert_eq!(behaviour.ended_by.get("submit_sql"), Some(&10));
    // list_tables, describe_table of each gold table, submit_sql. The gold that fails names one too.
    assert_eq!(behaviour.calls.median, 3.0);
    assert!((behaviour.calls.mean - 3.1).abs() < 1e-9, "{}", behaviour.calls.mean);
    // It looks at every table of each query; that of the failing gold is not known.
    assert_eq!((behaviour.opened_all.count, behaviour.opened_all.of), (9, 9));
    assert_eq!((behaviour.budget_hits.count, behaviour.invalid_calls.count), (0, 0));
    // 'pen' and 'fox' are in no question, and nothing but CREATE statements was read.
    assert_eq!((behaviour.literals_seen.count, behaviour.literals_seen.of), (0, 2));
    assert_eq!(behaviour.hidden_literals_seen.of, 2);
    let tokens = behaviour.tokens.mean;
    assert!((behaviour.tflops.unwrap() - 4e9 * tokens / 1e12).abs() < 1e-12);
    assert!(behaviour.tflops_without_cache > behaviour.tflops, "two turns read the prompt twice");
    let difficulty: Vec<(&str, u64)> =
        summary.by_difficulty.iter().map(|group| (group.name.as_str(), group.accuracy.of)).collect();
    assert_eq!(difficulty, [("hard", 3), ("simple", 6)]);
    let databases: Vec<(&str, u64)> =
        summary.by_database.iter().map(|group| (group.name.as_str(), group.accuracy.of)).collect();
    assert_eq!(databases, [("shop", 4), ("zoo", 5)]);
    assert_eq!(summary.by_tables.len(), 1);
    run.for_each_trace(|_, trace| glowworm_agent::replay::verify(trace).unwrap()).unwrap();
}

#[test]
fn always_wrong_and_never_answering_score_nothing() {
    let (summary, ..) = played(Script::AlwaysWrong, |_| {});
    assert!(summary.accuracy.values().all(|share| share.count == 0 && share.of == 9));
    assert_eq!(summary.behaviour.submitted.count, 10);
    assert_eq!(summary.behaviour.opened_all.count, 0);

    let (summary, run, _folder) = played(Script::NeverSubmits, |_| {});
    assert!(summary.accuracy.values().all(|share| share.count == 0 && share.of == 9));
    assert_eq!(summary.behaviour.submitted.count, 0);
    assert_eq!((summary.behaviour.turns.mean, summary.behaviour.calls.mean), (7.0, 6.0));
    assert!(run.episodes.iter().all(|episode| episode.sql.is_none() && episode.judgement.result.is_none()));
}

#[test]
fn thinking_without_end_hits_the_budget() {
    let (summary, ..) = played(Script::OverBudget, |_| {});
    assert_eq!(summary.behaviour.budget_hits.share, 1.0);
    assert_eq!(summary.accuracy[&Metric::Strict].count, 0);
    assert!(summary.behaviour.tokens.mean <= 2048.0 && summary.behaviour.tokens.mean > 1800.0);
}

#[test]
fn the_schema_is_shown_or_withheld() {
    let (summary, ..) = played(Script::NeedsSchema, |_| {});
    assert_eq!(summary.accuracy[&Metric::Strict].count, 0);
    let (summary, ..) = played(Script::NeedsSchema, |config| config.schema = SchemaMode::Shown);
    assert_eq!(summary.accuracy[&Metric::Strict].count, 9);
}

#[test]
fn fewer_tables_are_shown_and_the_answer_is_scored_on_all() {
    let (summary, run, _folder) = played(Script::Oracle, |config| config.tables = TableMode::GoldOnly);
    assert_eq!(summary.accuracy[&Metric::Strict].count, 9);
    let of = |id: &str| run.episodes.iter().find(|episode| episode.id == id).unwrap().tables;
    assert_eq!((of("s0"), of("s2"), of("z0")), (1, 2, 1));
    assert_eq!(of("s4"), 2, "what the failing gold needs is not known, so all tables stay");
    run.for_each_trace(|record, trace| {
        let listed = &trace.turns[0].calls[0].result.as_ref().unwrap().text;
        assert_eq!(listed.lines().count(), record.tables, "{listed}");
    })
    .unwrap();
}

#[test]
fn several_samples_vote_and_pass() {
    let (summary, run, _folder) = played(Script::EveryOther, |config| config.samples = 3);
    // Two of three are right.
    assert_eq!((summary.episodes, summary.questions), (30, 10));
    let strict = &summary.accuracy[&Metric::Strict];
    assert_eq!((strict.count, strict.of), (18, 27));
    assert!((summary.pass_at[&1] - 2.0 / 3.0).abs() < 1e-12);
    assert_eq!((summary.pass_at[&2], summary.pass_at[&3]), (1.0, 1.0));
    assert_eq!(summary.majority.as_ref().unwrap().count, 9);
    let seeds: std::collections::HashSet<u64> = run.episodes.iter().map(|episode| episode.seed).collect();
    assert_eq!(seeds.len(), 30, "every episode has a seed of its own");
}

/// A summary without what depends on the clock.
fn timeless(summary: &Summary) -> Summary {
    let none = glowworm_eval::Middle { mean: 0.0, median: 0.0 };
    let time = glowworm_eval::Time { episode: none, generating: none, tools: none, tokens_per_second: 0.0 };
    Summary { time, ..summary.clone() }
}

#[test]
fn a_stopped_run_goes_on_and_ends_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let (set, databases) = small_set(folder.path());
    let mut config = config(&set, "oracle");
    config.samples = 2;
    let whole = play(&set, &databases, config.clone(), Script::Oracle, &folder.path().join("whole"));

    let path = folder.path().join("stopped");
    let stop = Stop::default();
    let evaluation = evaluation(&set, &databases, config.clone(), &stop);
    let watch = |progress: glowworm_eval::Progress| {
        if progress.done >= 7 {
            stop.request();
        }
    };
    let part = run(&evaluation, &path, vec![Scripted::new(Script::Oracle)], &watch).unwrap();
    assert_eq!(part.episodes, 7);

    // The program ended in the middle of a line.
    let file = path.join("episodes.jsonl");
    let text = std::fs::read_to_string(&file).unwrap();
    let cut = text.trim_end().len() - 40;
    std::fs::write(&file, &text[..cut]).unwrap();
    assert_eq!(Run::read(&path).unwrap().episodes.len(), 6);

    let played = AtomicUsize::new(0);
    let resumed = AtomicUsize::new(usize::MAX);
    let stop = Stop::default();
    let evaluation = Evaluation { stop: &stop, ..evaluation };
    let watch = |progress: glowworm_eval::Progress| {
        resumed.store(progress.resumed, Ordering::SeqCst);
        played.fetch_max(progress.done - progress.resumed, Ordering::SeqCst);
    };
    let players = vec![Scripted::new(Script::Oracle), Scripted::new(Script::Oracle)];
    let rest = run(&evaluation, &path, players, &watch).unwrap();
    assert_eq!((resumed.into_inner(), played.into_inner()), (6, 14));
    assert_eq!(timeless(&rest), timeless(&whole));

    // A third time there is nothing to do.
    let again = run(&evaluation, &path, vec![Scripted::new(Script::AlwaysWrong)], &|_| {}).unwrap();
    assert_eq!(again, rest);

    // Other settings are another run.
    let other = Evaluation { config: RunConfig { seed: 2, ..config }, ..evaluation };
    let error = run(&other, &path, vec![Scripted::new(Script::Oracle)], &|_| {}).unwrap_err();
    assert!(
        matches!(&error, Error::OtherRun { what, .. } if what == "seed is 1 there and 2 here"),
        "{error}"
    );
}

#[test]
fn a_running_gold_query_is_interrupted() {
    let folder = tempfile::tempdir().unwrap();
    let (mut set, databases) = small_set(folder.path());
    let endless = "WITH RECURSIVE r(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM r) SELECT count(*) FROM r";
    set.questions.truncate(1);
    set.questions[0].golds = vec![glowworm_eval::Gold::Sql(endless.to_owned())];
    let stop = Stop::default();
    let evaluation = evaluation(&set, &databases, config(&set, "m"), &stop);
    let path = folder.path().join("run");
    let begun = std::time::Instant::now();
    let summary = std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(std::time::Duration::from_millis(500));
            assert!(!stop.request());
        });
        run(&evaluation, &path, vec![Scripted::new(Script::AlwaysWrong)], &|_| {}).unwrap()
    });
    // The query itself would take until its limit of half a minute.
    assert!(begun.elapsed() < glowworm_eval::TIME_LIMIT / 2, "{:?}", begun.elapsed());
    assert_eq!(summary.episodes, 0, "an episode whose queries were interrupted is not kept");
    // Requested before anything was read, it is no error either.
    let summary = run(&evaluation, &path, vec![Scripted::new(Script::AlwaysWrong)], &|_| {}).unwrap();
    assert_eq!(summary.episodes, 0);
}

#[test]
fn two_programs_are_not_at_one_run() {
    let folder = tempfile::tempdir().unwrap();
    let (set, databases) = small_set(folder.path());
    let stop = Stop::default();
    let evaluation = evaluation(&set, &databases, config(&set, "m"), &stop);
    let path = folder.path().join("run");
    let watch = |progress: glowworm_eval::Progress| {
        if progress.done == 1 {
            let error = run(&evaluation, &path, vec![Scripted::new(Script::Oracle)], &|_| {}).unwrap_err();
            assert!(error.to_string().contains("another program"), "{error}");
        }
    };
    let summary = run(&evaluation, &path, vec![Scripted::new(Script::Oracle)], &watch).unwrap();
    assert_eq!(summary.episodes, set.questions.len() as u64);
    assert_eq!(Run::read(&path).unwrap().episodes.len(), set.questions.len());

    // A folder of something else is refused and left as it was; one in which a run did not get far can be used.
    let other = folder.path().join("other");
    std::fs::create_dir(&other).unwrap();
    std::fs::write(other.join("letter.txt"), "mine").unwrap();
    let play = |path: &std::path::Path| run(&evaluation, path, vec![Scripted::new(Script::Oracle)], &|_| {});
    let error = play(&other).unwrap_err();
    assert!(error.to_string().contains("holds no run"), "{error}");
    assert_eq!(std::fs::read_dir(&other).unwrap().count(), 1);
    let begun = folder.path().join("begun");
    std::fs::create_dir(&begun).unwrap();
    std::fs::write(begun.join(".lock"), "").unwrap();
    play(&begun).unwrap();
}

/// A model whose server is down.
struct Down;

impl LanguageModel for Down {
    type Error = &'static str;

    fn begin(&mut self) {}

    fn measure(&mut self, _append: &[glowworm_agent::Segment]) -> Result<u64, Self::Error> {
        Err("nobody answers")
    }

    async fn generate(
        &mut self,
        _request: &glowworm_agent::GenerateRequest,
        _on_text: &mut dyn FnMut(&str) -> std::ops::ControlFlow<()>,
    ) -> Result<glowworm_session::Generated, Self::Error> {
        Err("nobody answers")
    }
}

impl glowworm_eval::Player for Down {
    fn assign(&mut self, _assignment: glowworm_eval::Assignment<'_>) {}
}

#[test]
fn a_model_that_always_fails_ends_the_run_and_its_episodes_are_played_again() {
    let folder = tempfile::tempdir().unwrap();
    let (set, databases) = small_set(folder.path());
    let stop = Stop::default();
    let evaluation = evaluation(&set, &databases, config(&set, "m"), &stop);
    let path = folder.path().join("run");
    let error = run(&evaluation, &path, vec![Down], &|_| {}).unwrap_err().to_string();
    assert!(error.contains("8 episodes in a row") && error.contains("nobody answers"), "{error}");
    let summary = run(&evaluation, &path, vec![Scripted::new(Script::Oracle)], &|_| {}).unwrap();
    assert_eq!((summary.episodes, summary.accuracy[&Metric::Strict].count), (10, 9));
    assert_eq!(Run::read(&path).unwrap().episodes.len(), 10);
}

#[test]
fn a_missing_database_is_told_before_anything_is_played() {
    let folder = tempfile::tempdir().unwrap();
    let (mut set, databases) = small_set(folder.path());
    set.questions[9].db_id = "gone".into();
    let stop = Stop::default();
    let evaluation = evaluation(&set, &databases, config(&set, "m"), &stop);
    let path = folder.path().join("run");
    let error = run(&evaluation, &path, vec![Scripted::new(Script::Oracle)], &|_| {}).unwrap_err();
    assert!(matches!(error, Error::NoDatabase { .. }), "{error}");
    assert!(!path.exists());
}

#[test]
fn two_runs_are_compared_in_pairs() {
    let (_, oracle, _a) = played(Script::Oracle, |_| {});
    let (_, wrong, _b) = played(Script::AlwaysWrong, |config| config.schema = SchemaMode::Shown);
    let paired = compare(&wrong, &oracle, Metric::Strict).unwrap();
    assert_eq!((paired.questions, paired.unpaired), (9, 0));
    assert_eq!((paired.discordant.only_first, paired.discordant.only_second), (0, 9));
    assert!((paired.discordant.p - 2.0 / 512.0).abs() < 1e-12);
    assert_eq!((paired.paired.difference, paired.paired.by_question), (1.0, (1.0, 1.0)));
    assert_eq!(paired.paired.databases, 2);
    assert!(paired.changes.iter().all(|change| change.gained));
    assert_eq!(paired.settings, ["schema: \"shown\" → \"withheld\""]);
    assert!(compare(&wrong, &oracle, Metric::Spider2).is_err(), "not scored by it");
}
