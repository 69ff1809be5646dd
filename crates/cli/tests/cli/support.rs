//! Running the program, and small files for it.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;
use tempfile::TempDir;

/// What a run left.
pub struct Ran {
    pub code: i32,
    pub out: String,
    pub err: String,
}

impl Ran {
    /// Standard output as JSON, a value a line.
    pub fn json(&self) -> Vec<Value> {
        self.out.lines().map(|line| serde_json::from_str(line).expect(line)).collect()
    }

    /// # Panics
    /// Unless the program ended with `code` and did not panic.
    pub fn expect(self, code: i32) -> Self {
        assert!(!self.err.contains("panicked"), "{}", self.err);
        assert_eq!(self.code, code, "stdout:\n{}\nstderr:\n{}", self.out, self.err);
        self
    }
}

/// The program with arguments, not yet run: alone on its machine, whatever the caller's environment says.
pub fn command<S: AsRef<std::ffi::OsStr>>(arguments: impl IntoIterator<Item = S>) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_glowworm"));
    command.args(arguments);
    for name in [
        "XDG_RUNTIME_DIR",
        "HF_HOME",
        "HF_HUB_CACHE",
        "HF_TOKEN",
        "NO_COLOR",
        "CLICOLOR_FORCE",
        "RUST_BACKTRACE",
    ] {
        command.env_remove(name);
    }
    // Nobody listens there.
    command.env("HF_ENDPOINT", "http://127.0.0.1:9");
    command.env("HF_HOME", "/nonexistent/cache");
    command
}

/// Runs the program with nothing on standard input.
pub fn glowworm<S: AsRef<std::ffi::OsStr>>(arguments: impl IntoIterator<Item = S>) -> Ran {
    run(command(arguments), "")
}

/// Runs a command with a text on standard input.
pub fn run(mut command: Command, input: &str) -> Ran {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    // A program that does not read its input may be gone before it is written.
    let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
    let Output { status, stdout, stderr } = child.wait_with_output().unwrap();
    Ran {
        code: status.code().expect("the program was killed"),
        out: String::from_utf8(stdout).unwrap(),
        err: String::from_utf8(stderr).unwrap(),
    }
}

/// `ask` over a database on the software GPU.
pub fn ask(db: &Path, more: &[&str]) -> Ran {
    run(ask_command(db, more), "")
}

pub fn ask_command(db: &Path, more: &[&str]) -> Command {
    let mut command = command(["ask", "--adapter", "llvmpipe", "--db"]);
    command.arg(db).args(more);
    command
}

/// A file of the repository.
pub fn repository(path: &str) -> PathBuf {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../..")).join(path)
}

pub fn chinook() -> PathBuf {
    repository("examples/chinook.sqlite")
}

/// A folder that goes with the test, and a file in it.
pub fn folder() -> TempDir {
    tempfile::tempdir().unwrap()
}

pub fn file(folder: &TempDir, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
    let path = folder.path().join(name);
    std::fs::write(&path, content).unwrap();
    path
}

/// A small database.
pub fn database(folder: &TempDir, sql: &str) -> PathBuf {
    let path = folder.path().join("small.sqlite");
    rusqlite::Connection::open(&path).unwrap().execute_batch(sql).unwrap();
    path
}

pub fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}
