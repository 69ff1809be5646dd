//! Statements: what is refused and with which words, what is let through, and when it is stopped.

#![allow(clippy::unwrap_used, clippy::expect_used)]

mod common;

use std::time::{Duration, Instant};

use common::{error, made, made_database, query, text, tools};
use glowworm_database::{
    ALLOWED_PRAGMAS, Database, Error, Limits, MAX_SQL_BYTES, NativeDatabase, NativeOptions, Refusal,
    Statement, Value,
};
use proptest::prelude::*;
use serde_json::json;

fn refusal(sql: &str) -> Refusal {
    match Statement::check(sql) {
        Err(refusal) => refusal,
        Ok(_) => panic!("let through: {sql}"),
    }
}

#[test]
fn reading_statements_pass() {
    for sql in [
        "SELECT 1",
        "select 1;",
        " ;; SELECT 1 ; ; -- done\n",
        "/* a; comment */ SELECT 1 -- ; DROP TABLE t",
        "SELECT 1 /* not closed; DELETE FROM t",
        "\u{feff}SELECT 1",
        "VALUES (1, 2), (3, 4)",
        "WITH a AS (SELECT 1), b(x, y) AS MATERIALIZED (SELECT 1, 2), c AS NOT MATERIALIZED (VALUES (1)) SELECT * FROM a, b, c",
        "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c LIMIT 3) SELECT * FROM c",
        "WITH replace AS (SELECT 1) SELECT * FROM replace",
        "WITH \"delete\" AS (SELECT ';' AS \";\") SELECT [;] FROM (SELECT 1 AS [;])",
        "EXPLAIN SELECT 1",
        "EXPLAIN QUERY PLAN WITH a AS (SELECT 1) SELECT * FROM a",
        "SELECT 'DELETE FROM t; DROP TABLE t'",
        "SELECT replace('abc', 'b', 'x'), x'3b', \"insert\" FROM (SELECT 1 AS \"insert\")",
        "SELECT * FROM pragma_table_info('t')",
        "PRAGMA table_info(t)",
        "PRAGMA main.foreign_key_list = 't';",
        "pragma TABLE_LIST",
        "SELECT date('now'), json_extract('{\"a\":1}', '$.a'), 1e3, 0x10, 1_000, .5",
        "SELECT 'it''s', \"a\"\"b\", `c``d` FROM (SELECT 1 AS \"a\"\"b\", 2 AS [c`d])",
    ] {
        assert_eq!(Statement::check(sql).map(|statement| statement.sql()), Ok(sql));
        // And they run.
        let mut database = made_database("CREATE TABLE t (x)");
        query(&mut database, sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
    }
}

#[test]
fn texts_that_are_no_statement() {
    for sql in ["", " \n\t", ";;;", "-- only a comment", "/* and */ ; -- another"] {
        assert_eq!(refusal(sql), Refusal::Empty, "{sql:?}");
    }
    for sql in
        ["SELECT 1; SELECT 2", "SELECT 1; x", "SELECT 1;; DROP TABLE t;", "SELECT 1; 'abc", "; SELECT 1; ("]
    {
        assert_eq!(refusal(sql), Refusal::Several, "{sql:?}");
    }
    assert_eq!(refusal("SELECT 1\0; DROP TABLE t"), Refusal::Nul);
    assert_eq!(refusal("```sql\nSELECT 1\n```"), Refusal::Fence);
    assert!(matches!(refusal(&"x".repeat(MAX_SQL_BYTES + 1)), Refusal::TooLong { .. }));
    for (sql, near) in [
        ("SELEC 1", "SELEC"),
        ("(SELECT 1)", "("),
        ("Here is the query: SELECT 1", "Here"),
        ("WITH SELECT 1", "1"),
        ("WITH a SELECT 1", "SELECT"),
        ("WITH a AS SELECT 1", "SELECT"),
        ("{\"tool\": 1}", "{"),
        ("'abc", "'abc"),
    ] {
        assert_eq!(refusal(sql), Refusal::Syntax { near: near.to_owned() }, "{sql}");
    }
    for sql in [
        "WITH",
        "WITH a AS (SELECT 1",
        "WITH a AS (SELECT 1)",
        "EXPLAIN",
        "EXPLAIN QUERY PLAN",
        "PRAGMA",
        "WITH a AS (SELECT 1),",
    ] {
        assert_eq!(refusal(sql), Refusal::Incomplete, "{sql}");
    }
    for (sql, text) in [
        ("SELECT ?", "?"),
        ("SELECT ?12", "?12"),
        ("SELECT :name", ":name"),
        ("SELECT @a + $b::c", "@a"),
        ("SELECT #1", "#1"),
    ] {
        assert_eq!(refusal(sql), Refusal::Placeholder { text: text.to_owned() });
    }
}

/// Statements that write or change the connection, and the word each is refused with.
const WRITES: [(&str, &str); 34] = [
    ("INSERT INTO t VALUES (1)", "INSERT"),
    ("INSERT INTO t VALUES (1) RETURNING x", "INSERT"),
    ("insert or replace into t values (1)", "INSERT"),
    ("REPLACE INTO t VALUES (1)", "REPLACE"),
    ("UPDATE t SET x = 2", "UPDATE"),
    ("DELETE FROM t", "DELETE"),
    ("WITH a AS (SELECT 1) DELETE FROM t", "DELETE"),
    ("WITH RECURSIVE a(x) AS (SELECT 1) INSERT INTO t SELECT x FROM a", "INSERT"),
    ("WITH a AS (SELECT ')'), b AS NOT MATERIALIZED (SELECT (1)) UPDATE t SET x = 2 RETURNING *", "UPDATE"),
    ("WITH a AS (SELECT 1) REPLACE INTO t SELECT * FROM a", "REPLACE"),
    ("EXPLAIN DELETE FROM t", "DELETE"),
    ("EXPLAIN QUERY PLAN INSERT INTO t VALUES (1)", "INSERT"),
    ("/**/ DROP TABLE t", "DROP"),
    ("-- x\nCREATE TABLE u (x)", "CREATE"),
    ("CREATE TEMP TABLE u AS SELECT * FROM t", "CREATE"),
    ("CREATE TEMP VIEW u AS SELECT * FROM t", "CREATE"),
    ("CREATE TRIGGER g AFTER INSERT ON t BEGIN SELECT 1; END", "several"),
    ("CREATE VIRTUAL TABLE f USING fts5(x)", "CREATE"),
    ("CREATE INDEX i ON t (x)", "CREATE"),
    ("ALTER TABLE t RENAME TO u", "ALTER"),
    ("VACUUM", "VACUUM"),
    ("VACUUM INTO 'TARGET'", "VACUUM"),
    ("ATTACH 'TARGET' AS a", "ATTACH"),
    ("ATTACH ':memory:' AS a", "ATTACH"),
    ("DETACH main", "DETACH"),
    ("REINDEX", "REINDEX"),
    ("ANALYZE", "ANALYZE"),
    ("BEGIN IMMEDIATE", "BEGIN"),
    ("COMMIT", "COMMIT"),
    ("END", "END"),
    ("ROLLBACK", "ROLLBACK"),
    ("SAVEPOINT s", "SAVEPOINT"),
    ("RELEASE s", "RELEASE"),
    ("EXPLAIN PRAGMA user_version", "PRAGMA"),
];

#[test]
fn writing_statements_are_refused_by_their_verb() {
    for (sql, verb) in WRITES {
        match verb {
            "several" => assert_eq!(refusal(sql), Refusal::Several, "{sql}"),
            verb => assert_eq!(refusal(sql), Refusal::ReadOnly { verb: verb.to_owned() }, "{sql}"),
        }
    }
    let mut tools = made("CREATE TABLE t (x); INSERT INTO t VALUES (1)");
    assert_eq!(
        error(&mut tools, "run_query", json!({ "sql": "DELETE FROM t" })),
        "Error: the database is read-only: DELETE is not allowed, only a SELECT query"
    );
    assert_eq!(
        error(&mut tools, "run_query", json!({ "sql": "SELECT 1; DELETE FROM t" })),
        "Error: You can only execute one statement at a time."
    );
    assert_eq!(text(&mut tools, "run_query", json!({ "sql": "SELECT count(*) AS n FROM t" })), "n\n1");
}

#[test]
fn pragmas_and_functions_that_reach_outside() {
    for (sql, name) in [
        ("PRAGMA query_only = 0", "query_only"),
        ("PRAGMA main.user_version = 7", "user_version"),
        ("PRAGMA \"writable_schema\"(1)", "writable_schema"),
        ("PRAGMA journal_mode = WAL", "journal_mode"),
        ("PRAGMA database_list", "database_list"),
        ("SELECT * FROM pragma_database_list", "database_list"),
        ("SELECT * FROM \"pragma_optimize\"(-1)", "optimize"),
        ("SELECT * FROM t JOIN [PRAGMA_integrity_check]", "integrity_check"),
    ] {
        assert_eq!(refusal(sql), Refusal::Pragma { name: name.to_owned() }, "{sql}");
    }
    for (sql, name) in [
        ("SELECT load_extension('/tmp/x.so')", "load_extension"),
        ("SELECT \"LOAD_EXTENSION\" ('/tmp/x.so', 'f')", "load_extension"),
        ("SELECT fts3_tokenizer('simple', x'00')", "fts3_tokenizer"),
        ("SELECT optimize(t) FROM t", "optimize"),
    ] {
        assert_eq!(refusal(sql), Refusal::Function { name: name.to_owned() }, "{sql}");
    }
    // A column may bear such a name.
    assert!(Statement::check("SELECT optimize, load_extension FROM t").is_ok());
    assert_eq!(
        refusal("PRAGMA journal_mode").to_string(),
        "PRAGMA journal_mode is not allowed; use one of: table_info, table_xinfo, table_list, foreign_key_list, index_list, index_info, index_xinfo"
    );
}

/// Every table-valued pragma of this SQLite is either allowed or refused by name: a new one must not slip in.
#[test]
fn no_pragma_is_forgotten() {
    let connection = rusqlite::Connection::open_in_memory().unwrap();
    let mut statement = connection.prepare("SELECT name FROM pragma_pragma_list").unwrap();
    let names: Vec<String> = statement.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect();
    assert!(names.len() > 50);
    for name in names {
        let is_table = connection.prepare(&format!("SELECT * FROM pragma_{name}")).is_ok();
        let sql = format!("SELECT * FROM pragma_{name}");
        let passes = Statement::check(&sql).is_ok();
        let allowed = ALLOWED_PRAGMAS.contains(&name.as_str());
        assert!(allowed || !is_table || !passes, "pragma_{name} would pass");
        assert_eq!(Statement::check(&format!("PRAGMA {name}")).is_ok(), allowed, "{name}");
    }
}

/// The functions of the browser's build, so that a query means the same in both: mathematics on, soundex off. This fails
/// where `.cargo/config.toml` was not read when SQLite was compiled.
#[test]
fn same_functions_as_sql_js() {
    let mut tools = made("CREATE TABLE t (x)");
    let sql = "SELECT log(100) AS l, ln(exp(1)) AS n, pow(2, 10) AS p, sqrt(16) AS s, ceil(1.2) AS c, mod(7, 4) AS m, pi() AS pi";
    assert_eq!(
        text(&mut tools, "run_query", json!({ "sql": sql })),
        "l | n | p | s | c | m | pi\n2.0 | 1.0 | 1024.0 | 4.0 | 2.0 | 3.0 | 3.141592653589793"
    );
    let said = error(&mut tools, "run_query", json!({ "sql": "SELECT soundex('Robert')" }));
    assert_eq!(said, "Error: no such function: soundex");
    let version =
        text(&mut tools, "run_query", json!({ "sql": "SELECT sqlite_version() AS v, 0.1 + 0.2 || '' AS f" }));
    assert_eq!(
        version, "v | f\n3.54.1 | 0.30000000000000004",
        "the release that the measurements were made with"
    );
}

/// A misspelt name in double quotes is a string to SQLite. sql.js cannot turn that off, so it stays on here too.
#[test]
fn a_misspelt_name_in_double_quotes_is_a_string() {
    let mut tools = tools("chinook.sqlite");
    let sql = "SELECT \"Nmae\" FROM Artist LIMIT 1";
    assert_eq!(text(&mut tools, "run_query", json!({ "sql": sql })), "\"Nmae\"\nNmae");
}

/// Runs `sql` on Chinook under a limit of half a second and says how it ended and after how long.
fn stopped(sql: &str, options: NativeOptions) -> (Error, Duration) {
    let mut database = NativeDatabase::open(common::shared("chinook.sqlite"), options).unwrap();
    let limits = Limits { rows: 5, time: Duration::from_millis(500), ..Limits::default() };
    let start = Instant::now();
    let error = database.run(&Statement::check(sql).unwrap(), &limits).unwrap_err();
    let took = start.elapsed();
    // The connection is as good as before.
    assert_eq!(query(&mut database, "SELECT count(*) FROM Artist").unwrap().rows, [[Value::Integer(275)]]);
    (error, took)
}

#[test]
fn runaway_statements_are_stopped_in_time() {
    for sql in [
        "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT count(*) FROM c",
        "WITH RECURSIVE c(x) AS (SELECT 1 UNION SELECT x + 1 FROM c) SELECT max(x) FROM c",
        "SELECT count(*) FROM Track a, Track b, Track c",
        "SELECT a.Name FROM Track a, Track b, Track c ORDER BY random() LIMIT 5",
        "SELECT DISTINCT a.Name || b.Name || c.Name FROM Track a, Track b, Track c ORDER BY 1 DESC",
        "SELECT sum(length(g)) FROM (SELECT group_concat(a.Name) AS g FROM Track a, Track b, Track c GROUP BY b.TrackId)",
        "SELECT count(*) FROM Track a JOIN Track b ON a.Name LIKE '%' || b.Name || '%' JOIN Track c ON c.Name > a.Name",
    ] {
        let (error, took) = stopped(sql, NativeOptions::default());
        assert!(
            matches!(error, Error::TimeLimit(limit) if limit == Duration::from_millis(500)),
            "{sql}: {error}"
        );
        assert!(took < Duration::from_secs(3), "{sql}: {took:?}");
    }
    let said = Error::TimeLimit(Duration::from_secs(5)).to_string();
    assert!(said.starts_with("interrupted: the query ran longer than 5 s;"), "{said}");
}

#[test]
fn hungry_statements_are_stopped() {
    // One text grows beyond what SQLite may hold.
    let sql = "SELECT group_concat(hex(zeroblob(4000))) FROM Track a, Track b";
    let mut database =
        NativeDatabase::open(common::shared("chinook.sqlite"), NativeOptions::default()).unwrap();
    let limits = Limits { time: Duration::from_secs(60), ..Limits::default() };
    let error = database.run(&Statement::check(sql).unwrap(), &limits).unwrap_err();
    assert_eq!(error.to_string(), "string or blob too big");
}

#[test]
fn a_statement_can_be_cancelled_from_another_thread() {
    let mut database =
        NativeDatabase::open(common::shared("chinook.sqlite"), NativeOptions::default()).unwrap();
    let handle = database.cancel_handle();
    let other = handle.clone();
    let thread = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(100));
        other.cancel();
    });
    let start = Instant::now();
    let sql = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT count(*) FROM c";
    assert!(matches!(query(&mut database, sql), Err(Error::Cancelled)));
    assert!(start.elapsed() < Duration::from_secs(1), "{:?}", start.elapsed());
    thread.join().unwrap();
    // It holds until it is taken back.
    assert!(matches!(query(&mut database, "SELECT 1"), Err(Error::Cancelled)));
    handle.reset();
    assert!(query(&mut database, "SELECT 1").is_ok());
}

#[test]
fn limits_on_rows_and_bytes() {
    let mut database = made_database(
        "CREATE TABLE t (n INTEGER, v TEXT);
         WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c WHERE x < 10)
         INSERT INTO t SELECT x, printf('%.*c', 92, 'x') FROM c;",
    );
    let mut run = |sql: &str, rows: usize, bytes: usize| {
        let limits = Limits { rows, bytes, ..Limits::default() };
        database.run(&Statement::check(sql).unwrap(), &limits).map(|rows| (rows.rows.len(), rows.more))
    };
    assert_eq!(run("SELECT * FROM t", 10, 10_000).unwrap(), (10, false));
    assert_eq!(run("SELECT * FROM t", 9, 10_000).unwrap(), (9, true));
    assert_eq!(run("SELECT * FROM t", 0, 10_000).unwrap(), (0, true));
    assert_eq!(run("SELECT * FROM t WHERE 0", 0, 0).unwrap(), (0, false));
    assert_eq!(run("SELECT * FROM t", 10, 350).unwrap(), (3, true));
    assert_eq!(run("SELECT * FROM t", 10, 1000).unwrap(), (10, false));
    let error = run("SELECT * FROM t", 10, 99).unwrap_err();
    assert!(matches!(error, Error::RowTooLarge { bytes: 100, limit: 99 }), "{error}");
}

#[test]
fn sqlites_own_limits_are_lowered() {
    let mut database = made_database("CREATE TABLE t (x)");
    let mut said =
        |sql: &str| query(&mut database, sql).map_or_else(|error| error.to_string(), |_| "fine".to_owned());
    let deep = |n: usize| format!("SELECT {}1{}", "(1 + ".repeat(n), ")".repeat(n));
    assert_eq!(said(&deep(200)), "fine");
    assert_eq!(said(&deep(20_000)), "Recursion limit");
    let chain = |n: usize| format!("SELECT {}", vec!["1"; n].join(" + "));
    assert_eq!(said(&chain(400)), "fine");
    assert_eq!(said(&chain(600)), "Expression tree is too large (maximum depth 500)");
    let union = |n: usize| vec!["SELECT 1"; n].join(" UNION ALL ");
    assert_eq!(said(&union(150)), "fine");
    assert_eq!(said(&union(300)), "too many terms in compound SELECT");
    assert_eq!(said("SELECT 'x' LIKE hex(zeroblob(6000))"), "LIKE or GLOB pattern too complex");
    assert_eq!(said("SELECT length(zeroblob(134217729))"), "string or blob too big");
    assert_eq!(
        said(&format!("SELECT max({})", vec!["1"; 200].join(", "))),
        "too many arguments on function max"
    );
}

/// Pieces that SQL is made of, those among them that a guard could trip over.
const PIECES: [&str; 66] = [
    "SELECT",
    "VALUES",
    "WITH",
    "RECURSIVE",
    "AS",
    "NOT",
    "MATERIALIZED",
    "(",
    ")",
    ",",
    ";",
    "1",
    "'a'",
    "''",
    "'",
    "\"",
    "\"t\"",
    "`t`",
    "[t]",
    "[",
    "]",
    "`",
    "t",
    "x",
    "*",
    "FROM",
    "WHERE",
    "INSERT",
    "INTO",
    "DELETE",
    "UPDATE",
    "SET",
    "=",
    "REPLACE",
    "DROP",
    "TABLE",
    "CREATE",
    "TEMP",
    "PRAGMA",
    "user_version",
    "table_info",
    ".",
    "main",
    "EXPLAIN",
    "QUERY",
    "PLAN",
    "RETURNING",
    "UNION",
    "ALL",
    "--",
    "/*",
    "*/",
    "\n",
    "x'00'",
    "x'0",
    "$a",
    "?",
    ":",
    "ATTACH",
    "VACUUM",
    "\u{feff}",
    "é",
    "BEGIN",
    "COMMIT",
    "load_extension",
    "->>",
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4000))]

    /// The oracle is SQLite itself: what the guard lets through compiles, if it compiles, to a statement that only
    /// reads, with nothing left over behind it.
    #[test]
    fn the_guard_lets_no_write_through(
        start in prop::sample::select(vec!["", "SELECT", "WITH t AS (SELECT 1)", "WITH", "EXPLAIN", "PRAGMA", ";"]),
        pieces in prop::collection::vec((prop::sample::select(PIECES.to_vec()), any::<bool>()), 0..14),
    ) {
        let mut sql = start.to_owned();
        for (piece, space) in pieces {
            if space || sql.ends_with(|c: char| c.is_alphanumeric()) {
                sql.push(' ');
            }
            sql.push_str(piece);
        }
        check_against_sqlite(&sql)?;
    }

    #[test]
    fn the_guard_takes_any_text(sql in any::<String>()) {
        let _ = Statement::check(&sql);
    }

    #[test]
    fn the_guard_takes_any_text_behind_a_select(sql in "SELECT [ -~\u{80}-\u{200}\n]{0,60}") {
        check_against_sqlite(&sql)?;
    }
}

fn check_against_sqlite(sql: &str) -> Result<(), TestCaseError> {
    if Statement::check(sql).is_err() {
        return Ok(());
    }
    thread_local! {
        static CONNECTION: rusqlite::Connection = {
            let connection = rusqlite::Connection::open_in_memory().unwrap();
            connection.execute_batch("CREATE TABLE t (x); CREATE TABLE main (x);").unwrap();
            connection
        };
    }
    CONNECTION.with(|connection| {
        // rusqlite compiles the first statement and fails where another follows it.
        match connection.prepare(sql) {
            Ok(statement) => prop_assert!(statement.readonly(), "writes: {}", sql),
            Err(rusqlite::Error::MultipleStatement) => prop_assert!(false, "several: {}", sql),
            Err(_) => {}
        }
        Ok(())
    })
}

#[test]
fn the_tools_can_move_between_threads() {
    fn movable<T: Send + 'static>() {}
    movable::<glowworm_database::Tools<NativeDatabase>>();
}
