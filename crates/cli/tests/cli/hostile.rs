//! Wrong usage and wrong input: exit code 2, one sentence that says what to do, and nothing worse.

use crate::support::{Ran, ask, chinook, command, database, file, folder, glowworm, repository, run, text};

/// Exit code 2 and a message with these words, on standard error alone.
fn refused(ran: Ran, words: &str) {
    let ran = ran.expect(2);
    assert!(ran.err.contains(words), "{words:?} in\n{}", ran.err);
    assert_eq!(ran.out, "", "nothing was answered");
}

#[test]
fn databases_that_are_none() {
    let folder = folder();
    let empty = file(&folder, "empty.sqlite", "");
    let sql = file(&folder, "dump.db", "CREATE TABLE t (a);\nINSERT INTO t VALUES (1);\n");
    let half = std::fs::read(chinook()).unwrap();
    let half = file(&folder, "half.sqlite", &half[..half.len() / 2]);
    refused(ask(&folder.path().join("no.sqlite"), &["x"]), "there is no file");
    refused(ask(folder.path(), &["x"]), "a folder");
    refused(ask(&empty, &["x"]), "the file is empty");
    refused(ask(&sql, &["x"]), "SQL text");
    refused(ask(&half, &["x"]), "half.sqlite");
    refused(ask(&repository("models/builtin.gguf"), &["x"]), "builtin.gguf");
}

#[test]
fn models_that_are_none() {
    let folder = folder();
    let with = |model: &std::path::Path| ask(&chinook(), &["--model", text(model), "x"]);
    let empty = file(&folder, "empty.gguf", "");
    let noise = file(&folder, "noise.gguf", [0xa5; 5000]);
    let bytes = std::fs::read(repository("models/builtin.gguf")).unwrap();
    refused(with(&folder.path().join("no.gguf")), "there is no such file");
    refused(with(&chinook()), "not a GGUF file");
    refused(with(&empty), "empty.gguf");
    refused(with(&noise), "not a GGUF file");
    for length in [5, 100, 5000, 200_000, bytes.len() - 1] {
        let cut = file(&folder, "cut.gguf", &bytes[..length]);
        with(&cut).expect(2);
    }
    let place = crate::support::folder();
    refused(with(place.path()), "no config.json");
    file(&place, "a.gguf", &bytes);
    refused(with(place.path()), "a.gguf");
    file(&place, "config.json", "{");
    with(place.path()).expect(2);
    refused(ask(&chinook(), &["--model", "owner/name", "x"]), "hf:owner/name");
}

#[test]
fn questions_and_numbers_that_make_no_sense() {
    let folder = folder();
    let db = database(&folder, "CREATE TABLE t (a)");
    refused(ask(&db, &[""]), "the question is empty");
    refused(ask(&db, &["a", " \n"]), "the question is empty");
    refused(run(crate::support::ask_command(&db, &[]), ""), "there is no question");
    refused(run(crate::support::ask_command(&db, &[]), "\n  \n"), "there is no question");
    refused(ask(&db, &["--temperature", "-1", "x"]), "temperature");
    refused(ask(&db, &["--temperature=nan", "x"]), "--temperature");
    refused(ask(&db, &["--top-p", "0", "x"]), "--top-p");
    refused(ask(&db, &["--max-tokens", "0", "x"]), "--max-tokens");
    refused(ask(&db, &["--evidence", "a", "--evidence", "b", "x", "y", "z"]), "--evidence");
}

/// What the machine lacks is no fault of the user's: exit code 1.
#[test]
fn a_gpu_that_is_not_there() {
    let db = chinook();
    let arguments = ["ask", "--db", text(&db), "--adapter", "no such adapter", "--device", "gpu", "x"];
    let ran = glowworm(arguments).expect(1);
    assert!(ran.err.contains("no such adapter"), "{}", ran.err);
}

#[test]
fn a_huge_budget_is_lowered_to_what_the_model_can_hold() {
    let ran =
        ask(&chinook(), &["--max-tokens", "18446744073709551615", "--quiet", "How many artists are there?"]);
    let ran = ran.expect(0);
    assert!(ran.err.contains("the token budget is 4,096"), "{}", ran.err);
    assert!(ran.out.starts_with("SELECT COUNT(*) FROM Artist"), "{}", ran.out);
}

#[test]
fn prompt_files_that_are_none() {
    let folder = folder();
    let db = database(&folder, "CREATE TABLE t (a)");
    let with = |path: &std::path::Path| ask(&db, &["--prompt-file", text(path), "x"]);
    refused(with(&folder.path().join("no.py")), "no.py");
    refused(with(&file(&folder, "a.py", "SYSTEM_PROMPT = open('x').read()\n")), "line 1");
    refused(with(&file(&folder, "b.py", "X = 'y'\n")), "SYSTEM_PROMPT");
    refused(with(&file(&folder, "c.py", [0xff, 0xfe, 0x00])), "UTF-8");
    refused(with(&file(&folder, "d.py", "SYSTEM_PROMPT = 's'\nUSER_TEMPLATE = 'none'\n")), "{question}");
}

#[test]
fn files_that_cannot_be_written() {
    let nowhere = "/nonexistent/folder/out";
    refused(ask(&chinook(), &["--save-trace", nowhere, "x"]), nowhere);
    glowworm(["logits", "--ids", "1", "--output", nowhere, "--adapter", "llvmpipe"]).expect(2);
    glowworm(["logits", "--ids", "999999", "--output", nowhere]).expect(2);
    glowworm(["logits", "--ids", "1,x", "--output", nowhere]).expect(2);
}

#[test]
fn usage_is_exit_code_2_and_help_is_0() {
    glowworm::<&str>([]).expect(2);
    glowworm(["fly"]).expect(2);
    glowworm(["ask", "x"]).expect(2);
    glowworm(["ask", "--db", "x", "--device", "tpu", "x"]).expect(2);
    glowworm(["bench", "--repeat", "0"]).expect(2);
    glowworm(["bench", "--context", "10"]).expect(2);
    let help = glowworm(["ask", "--help"]).expect(0).out;
    assert!(help.contains("--save-trace") && help.contains("--prompt-file"), "{help}");
    glowworm(["--version"]).expect(0);
}

#[test]
fn a_reader_that_leaves_early_is_no_error() {
    // `tokenize` writes many lines; the pipe's reader is closed at once.
    let mut command = command(["tokenize", &"one two three ".repeat(4_000)]);
    command
        .stdin(std::process::Stdio::null())
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped());
    let mut child = command.spawn().unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn nothing_is_written_over_what_is_read() {
    let folder = folder();
    let db = database(&folder, "CREATE TABLE t (a); INSERT INTO t VALUES (1)");
    let bytes = std::fs::read(repository("models/builtin.gguf")).unwrap();
    let model = file(&folder, "model.gguf", &bytes);
    let database_bytes = std::fs::read(&db).unwrap();
    let other = file(&folder, "other.db", &database_bytes);
    let link = folder.path().join("link");
    std::fs::hard_link(&db, &link).unwrap();
    let wal = folder.path().join("small.sqlite-wal");
    for out in [&db, &link, &other, &model, &wal] {
        let ran = ask(&db, &["--model", text(&model), "--save-trace", text(out), "how many?"]);
        refused(ran, "would be lost");
    }
    for out in [&db, &model] {
        let ran = glowworm(["logits", "--model", text(&model), "--ids", "1,2", "--output", text(out)]);
        refused(ran, "would be lost");
    }
    assert_eq!(std::fs::read(&db).unwrap(), database_bytes);
    assert_eq!(std::fs::read(&other).unwrap(), database_bytes);
    assert_eq!(std::fs::read(&model).unwrap(), bytes);
    assert!(!wal.exists());

    let run = folder.path().join("run");
    glowworm(["eval", "--suite", "hand", "--limit", "2", "--script", "oracle", "--out", text(&run)])
        .expect(0);
    let episodes = run.join("episodes.jsonl");
    let before = std::fs::read(&episodes).unwrap();
    refused(glowworm(["report", text(&run), "--output", text(&episodes)]), "would be lost");
    assert_eq!(std::fs::read(&episodes).unwrap(), before);
}

#[cfg(unix)]
#[test]
fn files_without_an_end_are_refused() {
    let zero = "/dev/zero";
    refused(ask(&chinook(), &["--prompt-file", zero, "x"]), "goes on beyond");
    let mut endless = command(["tokenize"]);
    endless.stdin(std::fs::File::open(zero).unwrap());
    let output = endless.output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("more than 64 MiB"));
}

#[test]
fn numbers_of_an_evaluation_stay_sensible() {
    let folder = folder();
    let out = folder.path().join("run");
    for option in ["--workers", "--samples"] {
        for number in ["0", "99999999"] {
            let eval = ["eval", "--suite", "hand", "--script", "oracle", "--out", text(&out), option, number];
            refused(glowworm(eval), option);
        }
    }
}
