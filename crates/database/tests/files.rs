//! Every kind of file that people take for a database, and every state a real one can be in.

#![allow(clippy::unwrap_used, clippy::expect_used)]

mod common;

use std::fs;
use std::path::{Path, PathBuf};

use common::{make, query, shared};
use glowworm_database::{
    Database, Error, FileProblem, NativeDatabase, NativeOptions, Notice, Value, inspect, wal,
};
use proptest::prelude::*;

/// What opening a file of these bytes says, by path and from memory, which must be the same.
fn problem(bytes: &[u8]) -> String {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file.db");
    fs::write(&path, bytes).unwrap();
    let by_path = NativeDatabase::open(&path, NativeOptions::default()).unwrap_err().to_string();
    let by_bytes = NativeDatabase::from_bytes(bytes.to_vec(), None, "file.db", NativeOptions::default())
        .unwrap_err()
        .to_string();
    assert_eq!(by_path, by_bytes);
    assert!(by_path.starts_with("file.db: "), "{by_path}");
    by_path["file.db: ".len()..].to_owned()
}

fn chinook() -> Vec<u8> {
    fs::read(shared("chinook.sqlite")).unwrap()
}

/// Bytes without a pattern.
fn noise(length: usize) -> Vec<u8> {
    let mut state = 0x2545_f491_4f6c_dd1d_u64;
    let next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state.to_le_bytes()[3]
    };
    std::iter::repeat_with(next).take(length).collect()
}

#[test]
fn each_file_that_is_no_database_has_its_own_sentence() {
    let page = b"<!DOCTYPE html>\n<html><title>404</title></html>";
    let cases: [(&[u8], &str); 19] = [
        (b"", "the file is empty (0 bytes)"),
        (b"PRAGMA foreign_keys=OFF;\nBEGIN TRANSACTION;\nCREATE TABLE t(x);\n", "this is SQL text"),
        (b"-- MySQL dump 10.13\n--\n/*!40101 SET NAMES utf8 */;\nDROP TABLE t;\n", "this is SQL text"),
        ("\u{feff}create table t (x int);".as_bytes(), "this is SQL text"),
        (b"#header\ncreate table t (x);", "this is SQL text"),
        (page, "this is a web page"),
        (b"id,name\n1,Anna\n", "this is a text file"),
        (b"SQLite format", "the file has only 13 bytes:"),
        (b"S", "the file has only 1 byte:"),
        (&[0x1f, 0x8b, 8, 0, 0, 0, 0, 0], "the file is compressed (gzip)"),
        (b"PK\x03\x04\x14\0\0\0", "the file is compressed (zip)"),
        (b"\x28\xb5\x2f\xfd\0\0", "the file is compressed (Zstandard)"),
        (b"\x37\x7f\x06\x82\0\0\0\0", "this is the write-ahead log (-wal)"),
        (b"\xd9\xd5\x05\xf9\x20\xa1\x63\xd7\0", "this is the rollback journal"),
        (b"** This file contains an SQLite 2.1 database **\0", "this is a database of SQLite 2"),
        (b"\0\x01\0\0Standard Jet DB\0", "this is a Microsoft Access file"),
        (b"\x01\x02\x03\x04\x05\x06\x07\x08DUCK\x40\0\0\0", "this is a DuckDB file"),
        (b"hello\0world", "this is not a SQLite database, or it is encrypted or damaged"),
        (b"\xff\xfe\xfd", "this is not a SQLite database, or it is encrypted or damaged"),
    ];
    for (bytes, expected) in cases {
        let said = problem(bytes);
        assert!(said.starts_with(expected), "{bytes:?}: {said}");
    }
    // 8 KiB of noise looks as an encrypted database does.
    let said = problem(&noise(8192));
    assert!(said.starts_with("this is not a SQLite database, or it is encrypted or damaged"), "{said}");
    // Text that a character was cut off from where the look ends.
    let long = "é".repeat(4000);
    assert!(problem(&long.as_bytes()[..4097]).starts_with("this is a text file"));
}

#[test]
fn databases_that_are_cut_or_damaged_in_the_header() {
    let whole = chinook();
    let starts = |bytes: &[u8], expected: &str| {
        let said = problem(bytes);
        assert!(said.starts_with(expected), "{said}");
    };
    starts(&whole[..100], "the file has only 100 bytes: it begins as a SQLite database does");
    starts(&whole[..60], "the file has only 60 bytes");
    starts(&whole[..500], "the database is incomplete: 500 of 1007616 bytes are there");
    starts(
        &whole[..whole.len() / 2],
        &format!("the database is incomplete: {} of 1007616 bytes are there", whole.len() / 2),
    );
    let changed = |at: usize, byte: u8| {
        let mut bytes = whole.clone();
        bytes[at] = byte;
        bytes
    };
    starts(
        &changed(19, 9),
        "the database needs a newer SQLite (file format version 9, 2 is the highest known)",
    );
    starts(
        &changed(16, 0x0b),
        "the file begins as a SQLite database does, but its header is damaged (the page size",
    );
    starts(
        &changed(21, 63),
        "the file begins as a SQLite database does, but its header is damaged (the payload",
    );
    starts(
        &changed(59, 7),
        "the file begins as a SQLite database does, but its header is damaged (the text encoding",
    );
    // A newer write version alone means that this program may read and not write.
    let mut database =
        NativeDatabase::from_bytes(changed(18, 9), None, "x", NativeOptions::default()).unwrap();
    assert_eq!(query(&mut database, "SELECT count(*) FROM Artist").unwrap().rows, [[Value::Integer(275)]]);
}

#[test]
fn a_page_overwritten() {
    let mut bytes = chinook();
    // The schema itself.
    let mut schema = bytes.clone();
    schema[100..4096].fill(0x5a);
    let said = problem(&schema);
    assert!(said.starts_with("SQLite cannot read this database ("), "{said}");
    assert!(said.ends_with("the file is damaged, try a copy or a backup"), "{said}");
    // Pages in the middle: the rest can still be asked.
    let middle = 50 * 4096..90 * 4096;
    bytes[middle].fill(0x5a);
    let mut database = NativeDatabase::from_bytes(bytes, None, "x", NativeOptions::default()).unwrap();
    let failures: Vec<String> = database
        .catalog()
        .unwrap()
        .tables
        .iter()
        .filter_map(|table| {
            let sql = format!("SELECT * FROM {}", glowworm_database::quote(&table.name));
            query(&mut database, &sql).err().map(|error| error.to_string())
        })
        .collect();
    assert!(!failures.is_empty() && failures.len() < 11, "{failures:?}");
    assert!(failures.iter().all(|message| message == "database disk image is malformed"), "{failures:?}");
}

#[test]
fn damage_anywhere_is_an_error_and_no_crash() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("small.sqlite");
    make(
        &path,
        "CREATE TABLE p (id INTEGER PRIMARY KEY, name TEXT); CREATE TABLE c (p REFERENCES p, v REAL, b BLOB);
         CREATE INDEX i ON c (v); CREATE VIEW w AS SELECT * FROM p JOIN c ON c.p = p.id;
         INSERT INTO p VALUES (1, 'one'), (2, 'two'); INSERT INTO c VALUES (1, 1.5, x'00'), (2, NULL, zeroblob(9000));",
    );
    let whole = fs::read(&path).unwrap();
    let noise = noise(3 * 600);
    for damage in noise.chunks_exact(3) {
        let mut bytes = whole.clone();
        // Half of them in the schema page.
        let reach = if damage[0] & 1 == 0 { 4096 } else { bytes.len() };
        let at = (usize::from(damage[0]) << 8 | usize::from(damage[1])) * 7919 % reach;
        bytes[at] ^= damage[2] | 1;
        let Ok(mut database) = NativeDatabase::from_bytes(bytes, None, "x", NativeOptions::default()) else {
            continue;
        };
        let Ok(catalog) = database.catalog() else { continue };
        for table in &catalog.tables {
            let sql = format!("SELECT * FROM {} ORDER BY 1", glowworm_database::quote(&table.name));
            let _ = query(&mut database, &sql);
        }
    }
}

#[test]
fn paths_that_are_no_file() {
    let folder = tempfile::tempdir().unwrap();
    let open = |path: &Path| NativeDatabase::open(path, NativeOptions::default()).unwrap_err();
    let missing = folder.path().join("missing.sqlite");
    assert!(matches!(open(&missing), Error::NotFound { .. }));
    assert!(open(&missing).to_string().starts_with("there is no file "));
    assert!(!missing.exists(), "opening creates nothing");
    assert!(matches!(open(folder.path()), Error::NotAFile { what: "a folder", .. }));
    assert!(matches!(open(&folder.path().join("a.sqlite/b.sqlite")), Error::NotFound { .. }));
    #[cfg(unix)]
    assert!(matches!(open(Path::new("/dev/null")), Error::NotAFile { what: "not an ordinary file", .. }));
}

#[test]
fn names_of_files_that_mean_something_in_a_uri() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["a?mode=rwc#b%20c.sqlite", "sp ace & ünïcode 日本.db", "-wal", "'quo\"te", ":memory:"] {
        let path = folder.path().join(name);
        fs::copy(shared("chinook.sqlite"), &path).unwrap();
        let mut database = NativeDatabase::open(&path, NativeOptions::default()).unwrap();
        assert_eq!(database.name(), name);
        assert_eq!(database.catalog().unwrap().tables.len(), 11, "{name}");
    }
    #[cfg(unix)]
    {
        use std::os::unix::ffi::OsStrExt;
        let path = folder.path().join(std::ffi::OsStr::from_bytes(b"not-\xff-utf8.db"));
        fs::copy(shared("chinook.sqlite"), &path).unwrap();
        let mut database = NativeDatabase::open(&path, NativeOptions::default()).unwrap();
        assert_eq!(database.catalog().unwrap().tables.len(), 11);
    }
}

/// A database in WAL mode with 1 row in the file and 99 more in the log; both files as they are while the program that
/// wrote them is still running, copied to `folder`.
fn with_log(folder: &Path) -> PathBuf {
    let source = folder.join("source.sqlite");
    let connection = rusqlite::Connection::open(&source).unwrap();
    connection
        .execute_batch(
            "PRAGMA journal_mode = WAL; CREATE TABLE t (n INTEGER, note TEXT); INSERT INTO t VALUES (0, 'in the file');
             PRAGMA wal_checkpoint(TRUNCATE); PRAGMA wal_autocheckpoint = 0;",
        )
        .unwrap();
    for n in 1..100 {
        connection.execute("INSERT INTO t VALUES (?1, printf('%.*c', 200, 'x'))", [n]).unwrap();
    }
    let target = folder.join("target.sqlite");
    fs::copy(&source, &target).unwrap();
    fs::copy(folder.join("source.sqlite-wal"), folder.join("target.sqlite-wal")).unwrap();
    drop(connection);
    target
}

fn count(database: &mut NativeDatabase) -> i64 {
    match query(database, "SELECT count(*) FROM t").unwrap().rows[0][0] {
        Value::Integer(count) => count,
        _ => panic!("a count"),
    }
}

fn listing(folder: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut files: Vec<_> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .map(|path| (path.clone(), fs::read(path).unwrap()))
        .collect();
    files.sort();
    files
}

#[test]
fn a_log_beside_the_file_is_replayed_and_nothing_is_written_there() {
    let folder = tempfile::tempdir().unwrap();
    let path = with_log(folder.path());
    let before = listing(folder.path());
    let mut database = NativeDatabase::open(&path, NativeOptions::default()).unwrap();
    assert_eq!(count(&mut database), 100);
    assert!(matches!(database.notices(), [Notice::LogReplayed { pages }] if *pages >= 1));
    assert_eq!(listing(folder.path()), before);
    drop(database);
    assert_eq!(listing(folder.path()), before);

    // The same from memory.
    let (bytes, log) = (fs::read(&path).unwrap(), fs::read(folder.path().join("target.sqlite-wal")).unwrap());
    let options = NativeOptions::default;
    let mut database = NativeDatabase::from_bytes(bytes.clone(), Some(&log), "x", options()).unwrap();
    assert_eq!(count(&mut database), 100);
    // And read-only files in a read-only folder.
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        for (file, _) in &before {
            fs::set_permissions(file, fs::Permissions::from_mode(0o444)).unwrap();
        }
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o555)).unwrap();
        assert_eq!(count(&mut NativeDatabase::open(&path, options()).unwrap()), 100);
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
    }

    // Without its log the database opens, and says so.
    fs::remove_file(folder.path().join("target.sqlite-wal")).unwrap();
    let mut database = NativeDatabase::open(&path, options()).unwrap();
    assert_eq!((count(&mut database), database.notices()), (1, &[Notice::LogMissing][..]));
    let mut database = NativeDatabase::from_bytes(bytes.clone(), None, "x", options()).unwrap();
    assert_eq!((count(&mut database), database.notices()), (1, &[Notice::LogMissing][..]));

    // An emptied log is that of a database that was closed properly.
    let database = NativeDatabase::from_bytes(bytes, Some(b""), "x", options()).unwrap();
    assert_eq!(database.notices(), []);
}

/// What SQLite itself makes of the two files.
fn recovered(database: &[u8], log: &[u8]) -> Result<i64, String> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("oracle.sqlite");
    fs::write(&path, database).unwrap();
    fs::write(folder.path().join("oracle.sqlite-wal"), log).unwrap();
    let connection = rusqlite::Connection::open(&path).unwrap();
    connection.query_row("SELECT count(*) FROM t", [], |row| row.get(0)).map_err(|error| error.to_string())
}

#[test]
fn a_log_that_is_cut_or_damaged_counts_as_far_as_sqlite_counts_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = with_log(folder.path());
    let bytes = fs::read(&path).unwrap();
    let log = fs::read(folder.path().join("target.sqlite-wal")).unwrap();
    let ours = |log: &[u8]| {
        NativeDatabase::from_bytes(bytes.clone(), Some(log), "x", NativeOptions::default())
            .map_err(|error| error.to_string())
            .map(|mut database| count(&mut database))
    };
    assert_eq!(ours(&log), Ok(100));
    let mut counts = std::collections::BTreeSet::new();
    for length in (0..log.len()).step_by(4703).chain([16, 31, 32, 33, 56, 4151, 4152, 4153]) {
        let cut = &log[..length];
        assert_eq!(ours(cut), recovered(&bytes, cut), "cut at {length}");
        counts.insert(ours(cut).unwrap());
    }
    assert!(counts.len() > 40, "{counts:?}");
    for at in (0..log.len()).step_by(4001).chain([0, 3, 12, 16, 24, 40, 50]) {
        let mut damaged = log.clone();
        damaged[at] ^= 0x10;
        match (ours(&damaged), recovered(&bytes, &damaged)) {
            // What SQLite silently ignores because it is no log at all is told here.
            (Err(message), _) if at < 4 => assert!(message.contains("does not begin as"), "{message}"),
            (ours, theirs) => assert_eq!(ours, theirs, "damaged at {at}"),
        }
    }
    // A log of another database.
    let said = NativeDatabase::from_bytes(
        fs::read(shared("chinook.sqlite")).unwrap(),
        Some(&{
            let mut other = log.clone();
            other[8..12].copy_from_slice(&1024u32.to_be_bytes());
            other
        }),
        "x",
        NativeOptions::default(),
    );
    // Its header's checksum no longer fits, so it does not count; SQLite does the same.
    assert_eq!(said.unwrap().notices(), []);
    let error = wal::Wal::read(&log, 1024).unwrap_err();
    assert!(error.contains("belongs to another file"), "{error}");
}

#[test]
fn a_log_that_lies_about_the_size() {
    // One frame with a right checksum that says the database has four billion pages.
    let mut log = Vec::new();
    for word in [0x377f_0683u32, 3_007_000, 512, 0, 1, 2] {
        log.extend_from_slice(&word.to_be_bytes());
    }
    let add = |mut sum: [u32; 2], bytes: &[u8]| {
        for pair in bytes.chunks_exact(8) {
            let word = |at: usize| u32::from_be_bytes(pair[at..at + 4].try_into().unwrap());
            sum[0] = sum[0].wrapping_add(word(0)).wrapping_add(sum[1]);
            sum[1] = sum[1].wrapping_add(word(4)).wrapping_add(sum[0]);
        }
        sum
    };
    let mut sum = add([0, 0], &log[..24]);
    log.extend(sum.iter().flat_map(|word| word.to_be_bytes()));
    let frame: Vec<u8> = [u32::MAX, u32::MAX, 1, 2].iter().flat_map(|word| word.to_be_bytes()).collect();
    let page = [0u8; 512];
    sum = add(add(sum, &frame[..8]), &page);
    log.extend(&frame);
    log.extend(sum.iter().flat_map(|word| word.to_be_bytes()));
    log.extend(page);
    let wal = wal::Wal::read(&log, 512).unwrap().unwrap();
    assert_eq!(wal.database_bytes(), 512 * u64::from(u32::MAX));
    let mut bytes = vec![0; 1024];
    assert!(wal.apply(&mut bytes).unwrap_err().contains("which cannot be"));
}

#[test]
fn an_interrupted_transaction_is_rolled_back_in_a_copy() {
    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join("source.sqlite");
    let mut connection = rusqlite::Connection::open(&source).unwrap();
    connection
        .execute_batch(
            "CREATE TABLE t (n, pad); INSERT INTO t VALUES (1, zeroblob(3000)), (2, zeroblob(3000))",
        )
        .unwrap();
    // A tiny cache, so that the unfinished transaction reaches the file.
    connection.execute_batch("PRAGMA cache_size = 1; PRAGMA cache_spill = 1").unwrap();
    let transaction = connection.transaction().unwrap();
    transaction
        .execute_batch(
            "UPDATE t SET n = n + 1000, pad = randomblob(3000);
             WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c WHERE x < 200)
             INSERT INTO t SELECT x, randomblob(3000) FROM c",
        )
        .unwrap();
    let path = folder.path().join("copied.sqlite");
    let journal = folder.path().join("copied.sqlite-journal");
    fs::copy(&source, &path).unwrap();
    fs::copy(folder.path().join("source.sqlite-journal"), &journal).unwrap();
    drop(transaction);
    drop(connection);
    assert!(fs::metadata(&path).unwrap().len() > 100_000, "the transaction reached the file");

    let before = listing(folder.path());
    let mut database = NativeDatabase::open(&path, NativeOptions::default()).unwrap();
    assert_eq!(database.notices(), [Notice::JournalRolledBack]);
    let rows = query(&mut database, "SELECT n FROM t ORDER BY n").unwrap().rows;
    assert_eq!(rows, [[Value::Integer(1)], [Value::Integer(2)]]);
    assert_eq!(listing(folder.path()), before);

    // A journal that is no longer valid changes nothing.
    fs::write(&journal, [0; 512]).unwrap();
    fs::copy(shared("chinook.sqlite"), &path).unwrap();
    assert_eq!(NativeDatabase::open(&path, NativeOptions::default()).unwrap().notices(), []);
}

#[test]
fn encodings_and_page_sizes() {
    let folder = tempfile::tempdir().unwrap();
    for encoding in ["UTF-8", "UTF-16le", "UTF-16be"] {
        for page_size in [512, 4096, 65_536] {
            let path = folder.path().join(format!("{encoding}-{page_size}"));
            make(
                &path,
                &format!(
                    "PRAGMA encoding = '{encoding}'; PRAGMA page_size = {page_size};
                     CREATE TABLE \"größe\" (\"näme\" TEXT); INSERT INTO \"größe\" VALUES ('日本 🐛 é'), (NULL);"
                ),
            );
            let head = fs::read(&path).unwrap();
            let header = inspect(&head, head.len() as u64, None).unwrap();
            assert_eq!(
                (header.page_size, header.utf16, header.wal_mode),
                (page_size, encoding != "UTF-8", false)
            );
            let mut database = NativeDatabase::open(&path, NativeOptions::default()).unwrap();
            let rows = query(&mut database, "SELECT * FROM größe").unwrap();
            assert_eq!(rows.columns, ["näme"]);
            assert_eq!(rows.rows, [[Value::Text("日本 🐛 é".to_owned())], [Value::Null]]);
        }
    }
}

#[test]
fn sizes_around_two_gigabytes() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("large.sqlite");
    fs::copy(shared("chinook.sqlite"), &path).unwrap();
    for size in [1_900_000_000u64, 2_100_000_000, 5_000_000_000] {
        // The file is sparse: it takes no room on the disk.
        fs::File::options().write(true).open(&path).unwrap().set_len(size).unwrap();
        let mut database = NativeDatabase::open(&path, NativeOptions::default()).unwrap();
        assert_eq!(
            query(&mut database, "SELECT count(*) FROM Artist").unwrap().rows,
            [[Value::Integer(275)]]
        );
        // Where it must lie in memory, as in a browser, there is an end.
        let head = chinook();
        let held = inspect(&head[..4096], size, Some(2_000_000_000));
        match size {
            1_900_000_000 => assert!(held.is_ok()),
            _ => {
                let problem = held.unwrap_err();
                assert_eq!(problem, FileProblem::TooLarge { bytes: size, limit: 2_000_000_000 });
                assert!(problem.to_string().starts_with("the database is too large to open here: "));
            }
        }
    }
}

#[test]
fn a_database_without_tables() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("bare.sqlite");
    make(&path, "CREATE TABLE t (x); DROP TABLE t;");
    let mut database = NativeDatabase::open(&path, NativeOptions::default()).unwrap();
    assert!(database.catalog().unwrap().tables.is_empty());
    let mut tools = glowworm_database::Tools::new(database).unwrap();
    assert_eq!(common::text(&mut tools, "list_tables", serde_json::json!({})), "");
    assert_eq!(common::text(&mut tools, "foreign_keys", serde_json::json!({})), "None");
}

proptest! {
    /// Nothing in a file's first bytes makes the look at it panic, and a look at fewer bytes of it does neither.
    #[test]
    fn inspecting_any_bytes(
        magic in any::<bool>(), mut bytes in prop::collection::vec(any::<u8>(), 0..300), length in any::<u64>(),
    ) {
        if magic {
            bytes.splice(..0, *b"SQLite format 3\0");
        }
        let _ = inspect(&bytes, length, Some(1 << 31)).map_err(|problem| problem.to_string());
        let _ = inspect(&bytes, bytes.len() as u64, None);
    }

    /// Nor does anything in a log, behind a header that is right.
    #[test]
    fn reading_any_log(bytes in prop::collection::vec(any::<u8>(), 0..2000), header in any::<bool>()) {
        let mut log = Vec::new();
        if header {
            // Magic, version, page size 512, checkpoint, salts, and the checksum of these.
            let words: [u32; 6] = [0x377f_0683, 3_007_000, 512, 0, 0, 0];
            let mut sum = [0u32; 2];
            for pair in words.chunks_exact(2) {
                sum[0] = sum[0].wrapping_add(pair[0]).wrapping_add(sum[1]);
                sum[1] = sum[1].wrapping_add(pair[1]).wrapping_add(sum[0]);
            }
            log.extend(words.iter().chain(&sum).flat_map(|word| word.to_be_bytes()));
        }
        log.extend(bytes);
        if let Ok(Some(wal)) = wal::Wal::read(&log, 512) {
            let _ = wal.apply(&mut vec![0; 1024]);
        }
    }
}
