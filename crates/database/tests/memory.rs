//! The ceiling on memory. It is the process's, shared by all open databases, so this test has a process to itself.
#![allow(clippy::unwrap_used)] // a panic here is the report

mod common;

use std::time::Duration;

use glowworm_database::{Database, Error, Limits, NativeDatabase, NativeOptions, Statement};

#[test]
fn many_values_together_are_stopped() {
    let limits = Limits { time: Duration::from_secs(60), ..Limits::default() };
    let options = NativeOptions { memory: 64 << 20 };
    let wide = vec!["randomblob(3000000)"; 40].join(", ");
    let mut database = NativeDatabase::open(common::shared("chinook.sqlite"), options).unwrap();
    let result = database.run(&Statement::check(&format!("SELECT {wide}")).unwrap(), &limits);
    let Err(error) = result else { panic!("120 MB came out of 64 MiB") };
    assert!(matches!(error, Error::MemoryLimit(67_108_864)), "{error}");
    assert!(error.to_string().contains("needs more than 64 MiB of memory"), "{error}");
}
