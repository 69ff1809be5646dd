//! Helpers of the integration tests.
#![allow(dead_code, clippy::unwrap_used, clippy::expect_used)]

use std::path::PathBuf;

use glowworm_database::{Database, NativeDatabase, NativeOptions, Rows, Statement, ToolOutput, Tools};
use serde_json::Value as Json;

/// The folder of databases and questions that lies beside the repository. A missing one is a failure: these tests mean
/// nothing without it.
pub fn shared(path: &str) -> PathBuf {
    let folder = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/data"));
    let file = folder.join(path);
    assert!(file.exists(), "{} is missing: these tests need the shared data folder", file.display());
    file
}

/// The tools over a shared database.
pub fn tools(path: &str) -> Tools<NativeDatabase> {
    Tools::new(NativeDatabase::open(shared(path), NativeOptions::default()).unwrap()).unwrap()
}

/// The tools over a database made of SQL. It is written to a file and opened from there as a user's file is.
pub fn made(sql: &str) -> Tools<NativeDatabase> {
    Tools::new(made_database(sql)).unwrap()
}

/// A database made of SQL.
pub fn made_database(sql: &str) -> NativeDatabase {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("made.sqlite");
    make(&path, sql);
    NativeDatabase::from_bytes(std::fs::read(path).unwrap(), None, "made.sqlite", NativeOptions::default())
        .unwrap()
}

/// Writes a database made of SQL to a file.
pub fn make(path: &std::path::Path, sql: &str) {
    let connection = rusqlite::Connection::open(path).unwrap();
    connection.execute_batch(sql).unwrap();
    connection.close().unwrap();
}

/// Calls a tool; `arguments` is a JSON object.
pub fn call<D: Database>(tools: &mut Tools<D>, name: &str, arguments: Json) -> ToolOutput {
    let Json::Object(arguments) = arguments else { panic!("arguments are an object") };
    tools.call(name, &arguments)
}

/// The text of an answer that is no error.
pub fn text<D: Database>(tools: &mut Tools<D>, name: &str, arguments: Json) -> String {
    let output = call(tools, name, arguments);
    assert!(!output.is_error, "{name}: {}", output.text);
    output.text
}

/// The text of an answer that is an error.
pub fn error<D: Database>(tools: &mut Tools<D>, name: &str, arguments: Json) -> String {
    let output = call(tools, name, arguments);
    assert!(output.is_error, "{name}: {}", output.text);
    output.text
}

/// Runs SQL with the default limits.
pub fn query(database: &mut NativeDatabase, sql: &str) -> Result<Rows, glowworm_database::Error> {
    database.run(&Statement::check(sql)?, &glowworm_database::Limits::default())
}

/// FNV-1a, 64 bits.
pub fn hash(bytes: &[u8]) -> String {
    let step = |hash: u64, &byte: &u8| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
    format!("{:016x}", bytes.iter().fold(0xcbf2_9ce4_8422_2325, step))
}
