//! The locks behind the guard, each tried alone: these statements reach SQLite as they are.

use std::fs;
use std::time::Duration;

use rusqlite::Connection;

use super::{NativeDatabase, NativeOptions};
use crate::{Database, Limits, Statement};

const SCHEMA: &str = "CREATE TABLE t (x INTEGER); INSERT INTO t VALUES (1); CREATE INDEX i ON t (x);
    CREATE VIEW v AS SELECT x FROM t; CREATE TRIGGER g INSTEAD OF INSERT ON v BEGIN INSERT INTO t VALUES (new.x); END;
    CREATE VIRTUAL TABLE f USING fts5(a); INSERT INTO f VALUES ('word');
    CREATE VIRTUAL TABLE o USING fts4(a); INSERT INTO o VALUES ('word');
    CREATE VIRTUAL TABLE r USING rtree(id, x0, x1); INSERT INTO r VALUES (1, 0, 1);
    CREATE VIEW evil AS SELECT load_extension('x') AS e;";

/// Statements that must not run, whatever lets them through to here. TARGET is a file that must not appear.
const FORBIDDEN: [&str; 47] = [
    "INSERT INTO t VALUES (2)",
    "INSERT INTO t VALUES (2) RETURNING x",
    "REPLACE INTO t VALUES (2)",
    "UPDATE t SET x = 2",
    "DELETE FROM t",
    "WITH a AS (SELECT 1) DELETE FROM t",
    "INSERT INTO v VALUES (3)",
    "INSERT INTO f VALUES ('more')",
    "INSERT INTO f (f) VALUES ('optimize')",
    "INSERT INTO r VALUES (2, 0, 1)",
    "DELETE FROM r",
    "SELECT optimize(o) FROM o",
    "DROP TABLE t",
    "DROP TABLE r",
    "CREATE TABLE u (x)",
    "CREATE TEMP TABLE u (x)",
    "CREATE TEMP VIEW u AS SELECT 1",
    "CREATE TEMP TRIGGER u AFTER INSERT ON t BEGIN SELECT 1; END",
    "CREATE VIEW u AS SELECT 1",
    "CREATE VIRTUAL TABLE u USING fts5(x)",
    "CREATE VIRTUAL TABLE temp.u USING fts5vocab(main, f, 'row')",
    "ALTER TABLE t RENAME TO u",
    "VACUUM",
    "VACUUM INTO 'TARGET'",
    "ATTACH 'TARGET' AS a",
    "ATTACH ':memory:' AS a",
    "DETACH main",
    "REINDEX",
    "ANALYZE",
    "BEGIN",
    "SAVEPOINT s",
    "PRAGMA query_only = 0",
    "PRAGMA user_version = 5",
    "PRAGMA writable_schema = 1",
    "PRAGMA journal_mode = DELETE",
    "PRAGMA trusted_schema = 1",
    "PRAGMA temp_store_directory = '/tmp'",
    "PRAGMA hard_heap_limit = 1",
    "PRAGMA page_size = 512",
    "PRAGMA wal_checkpoint",
    "PRAGMA optimize",
    "PRAGMA database_list",
    "SELECT * FROM pragma_optimize(-1)",
    "SELECT load_extension('/tmp/x.so')",
    "SELECT e FROM evil",
    "SELECT fts3_tokenizer('simple')",
    "UPDATE sqlite_master SET sql = ''",
];

#[test]
fn forbidden_statements_fail_without_the_guard_too() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("database.sqlite");
    Connection::open(&path).unwrap().execute_batch(SCHEMA).unwrap();
    let before = fs::read(&path).unwrap();
    let bytes = before.clone();
    let target = folder.path().join("target");
    for mut database in [
        NativeDatabase::open(&path, NativeOptions::default()).unwrap(),
        NativeDatabase::from_bytes(bytes, None, "x", NativeOptions::default()).unwrap(),
    ] {
        for sql in FORBIDDEN {
            let sql = sql.replace("TARGET", target.to_str().unwrap());
            let result = database.run(&Statement::own(&sql), &Limits::default());
            let error = result.map(|rows| panic!("{sql} ran: {rows:?}")).unwrap_err().to_string();
            // The authorizer's words, or (VACUUM, which it is not asked about) those of the check that the compiled
            // statement only reads.
            let refused =
                ["not authorized", "unsafe use", "the database is read-only", "may not be modified"];
            assert!(refused.iter().any(|words| error.contains(words)), "{sql}: {error}");
        }
        let rows =
            database.run(&Statement::own("SELECT count(*), max(x) FROM t"), &Limits::default()).unwrap();
        assert_eq!(rows.rows, [[crate::Value::Integer(1), crate::Value::Integer(1)]]);
    }
    assert_eq!(fs::read(&path).unwrap(), before);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "nothing was written beside the file");
}

#[test]
fn the_connection_cannot_write_without_the_authorizer_either() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("database.sqlite");
    Connection::open(&path).unwrap().execute_batch(SCHEMA).unwrap();
    for database in [
        NativeDatabase::open(&path, NativeOptions::default()).unwrap(),
        NativeDatabase::from_bytes(fs::read(&path).unwrap(), None, "x", NativeOptions::default()).unwrap(),
    ] {
        // SAFETY: takes the authorizer off an open connection.
        unsafe {
            rusqlite::ffi::sqlite3_set_authorizer(database.connection.handle(), None, std::ptr::null_mut())
        };
        database.connection.execute_batch("PRAGMA query_only = 0").unwrap();
        for sql in ["INSERT INTO t VALUES (2)", "DELETE FROM t", "CREATE TABLE u (x)", "DROP TABLE t"] {
            let error = database.connection.execute_batch(sql).unwrap_err().to_string();
            assert!(error.contains("attempt to write a readonly database"), "{sql}: {error}");
        }
    }
}

#[test]
fn a_second_statement_and_an_empty_one_are_refused_here_too() {
    let mut database = opened();
    for (sql, expected) in [
        ("SELECT 1; SELECT 2", "You can only execute one statement at a time."),
        ("-- nothing", "there is no SQL statement here; write one SELECT query"),
    ] {
        let limits = Limits { time: Duration::from_secs(1), ..Limits::default() };
        let error = database.run(&Statement::own(sql), &limits).unwrap_err();
        assert_eq!(error.to_string(), expected);
    }
}

fn opened() -> NativeDatabase {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("database.sqlite");
    Connection::open(&path).unwrap().execute_batch(SCHEMA).unwrap();
    NativeDatabase::from_bytes(fs::read(&path).unwrap(), None, "x", NativeOptions::default()).unwrap()
}
