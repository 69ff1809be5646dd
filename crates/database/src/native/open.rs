//! Opening: from a path, with whatever lies beside the file, and from bytes.

use std::ffi::OsString;
use std::fs::{self, File, Metadata};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use rusqlite::{Connection, MAIN_DB, OpenFlags};
use tempfile::TempDir;

use crate::file::{FileHeader, HEAD_BYTES, inspect};
use crate::names::quote;
use crate::native::heap::HeapShare;
use crate::native::watch::{STEPS, Watch};
use crate::native::{NativeDatabase, NativeOptions, Notice, policy};
use crate::wal::{Wal, leave_wal_mode};
use crate::{Database, Error, Limits, Statement};

/// How often a copy is tried again when the files changed meanwhile.
const COPY_TRIES: usize = 3;

pub(super) fn file(path: &Path, options: NativeOptions) -> Result<NativeDatabase, Error> {
    let shown = path.display().to_string();
    let io_error = |source: io::Error| match source.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => Error::NotFound { path: shown.clone() },
        _ => Error::Io { path: shown.clone(), source },
    };
    // SQLite looks for the log beside the file that a link points at.
    let real = fs::canonicalize(path).map_err(io_error)?;
    let metadata = fs::metadata(&real).map_err(io_error)?;
    if metadata.is_dir() {
        return Err(Error::NotAFile { path: shown, what: "a folder" });
    }
    if !metadata.is_file() {
        return Err(Error::NotAFile { path: shown, what: "not an ordinary file" });
    }
    let name = path.file_name().map_or_else(|| shown.clone(), |name| name.to_string_lossy().into_owned());
    let mut head = Vec::with_capacity(HEAD_BYTES);
    let file = File::open(&real).map_err(io_error)?;
    file.take(HEAD_BYTES as u64).read_to_end(&mut head).map_err(io_error)?;
    let header = inspect(&head, metadata.len(), None)
        .map_err(|problem| Error::File { name: name.clone(), problem })?;

    let mut notices = Vec::new();
    let copy = beside(&real, &header, &name, &mut notices)?;
    let opened = copy.as_ref().map_or(real, |folder| folder.path().join(COPY_NAME));
    let uri = file_uri(&opened);
    let flags =
        OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(&uri, flags).map_err(|error| damaged(&name, &error))?;
    let heap = HeapShare::new(options.memory, 0);
    finish(connection, options, name, notices, copy, heap)
}

pub(super) fn bytes(
    mut bytes: Vec<u8>,
    log: Option<&[u8]>,
    name: &str,
    options: NativeOptions,
) -> Result<NativeDatabase, Error> {
    let head = &bytes[..bytes.len().min(HEAD_BYTES)];
    let header = inspect(head, bytes.len() as u64, None)
        .map_err(|problem| Error::File { name: name.to_owned(), problem })?;
    let mut notices = Vec::new();
    let sidecar = |reason| Error::Sidecar { name: name.to_owned(), what: LOG, reason };
    match log.map(|log| Wal::read(log, header.page_size)).transpose().map_err(sidecar)?.flatten() {
        Some(wal) => {
            wal.apply(&mut bytes).map_err(sidecar)?;
            notices.push(Notice::LogReplayed { pages: wal.pages().count() });
        }
        None => {
            if header.wal_mode && log.is_none() {
                notices.push(Notice::LogMissing);
            }
            leave_wal_mode(&mut bytes);
        }
    }
    let heap = HeapShare::new(options.memory, bytes.len() as u64);
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let mut connection =
        Connection::open_in_memory_with_flags(flags).map_err(|error| damaged(name, &error))?;
    let length = bytes.len();
    connection
        .deserialize_read_exact(MAIN_DB, bytes.as_slice(), length, true)
        .map_err(|error| damaged(name, &error))?;
    drop(bytes);
    finish(connection, options, name.to_owned(), notices, None, heap)
}

/// Sets the connection up, looks at the schema, and locks it.
fn finish(
    mut connection: Connection,
    options: NativeOptions,
    name: String,
    notices: Vec<Notice>,
    copy: Option<TempDir>,
    heap: HeapShare,
) -> Result<NativeDatabase, Error> {
    let watch = Arc::new(Watch::new());
    let seen = Arc::clone(&watch);
    connection
        .progress_handler(STEPS, Some(move || seen.must_end()))
        .and_then(|()| policy::configure(&connection))
        .map_err(|error| damaged(&name, &error))?;
    let mut database = NativeDatabase { connection, watch, options, name, notices, _copy: copy, _heap: heap };

    // The first look at the schema: here SQLite says whether it can read the file at all. Virtual tables are connected
    // before the lock falls, since an R-tree prepares the statements it would write with as soon as it is connected.
    let limits = Limits { rows: 1_000_000, bytes: 1 << 30, time: Duration::from_secs(60) };
    let sql = "SELECT name FROM sqlite_master WHERE type = 'table' AND sql LIKE 'CREATE VIRTUAL TABLE%'";
    let virtual_tables = database.run(&Statement::own(sql), &limits).map_err(|error| match error {
        Error::Sql { message } => Error::Damaged { name: database.name.clone(), message },
        other => other,
    })?;
    for table in virtual_tables.rows.iter().flatten() {
        let sql = format!("PRAGMA main.table_info({})", quote(&table.as_text()));
        // One that cannot be connected is told of in the catalog, and in every query that uses it.
        let _ = database.run(&Statement::own(&sql), &limits);
    }
    policy::lock(&database.connection);
    Ok(database)
}

fn damaged(name: &str, error: &rusqlite::Error) -> Error {
    let message = match error {
        rusqlite::Error::SqliteFailure(_, Some(message)) => message.clone(),
        other => other.to_string(),
    };
    Error::Damaged { name: name.to_owned(), message }
}

const LOG: &str = "a write-ahead log (-wal)";
const JOURNAL: &str = "a rollback journal (-journal)";
const COPY_NAME: &str = "copy.sqlite";

/// Looks at what lies beside the file. Where it must be applied, returns a folder with a copy of the database, complete.
fn beside(
    path: &Path,
    header: &FileHeader,
    name: &str,
    notices: &mut Vec<Notice>,
) -> Result<Option<TempDir>, Error> {
    let io_error = |source| Error::Io { path: path.display().to_string(), source };
    let (log_path, journal_path) = (with_ending(path, "-wal"), with_ending(path, "-journal"));
    if is_hot_journal(&journal_path).map_err(io_error)? {
        let folder = private_folder().map_err(io_error)?;
        let target = folder.path().join(COPY_NAME);
        unchanged_meanwhile(&[path, &journal_path], name, || {
            copy_content(&journal_path, &with_ending(&target, "-journal"))?;
            copy_content(path, &target)
        })?;
        roll_back(&target).map_err(|error| {
            let reason = damaged(name, &error).to_string();
            Error::Sidecar { name: name.to_owned(), what: JOURNAL, reason }
        })?;
        notices.push(Notice::JournalRolledBack);
        return Ok(Some(folder));
    }
    if !log_path.is_file() {
        if header.wal_mode {
            notices.push(Notice::LogMissing);
        }
        return Ok(None);
    }
    let sidecar = |reason| Error::Sidecar { name: name.to_owned(), what: LOG, reason };
    let log = fs::read(&log_path).map_err(io_error)?;
    let Some(wal) = Wal::read(&log, header.page_size).map_err(sidecar)? else { return Ok(None) };
    drop(wal);
    let folder = private_folder().map_err(io_error)?;
    let target = folder.path().join(COPY_NAME);
    let mut log = Vec::new();
    unchanged_meanwhile(&[path, &log_path], name, || {
        log = fs::read(&log_path)?;
        copy_content(path, &target)
    })?;
    // Read again: it is the log that fits the copy.
    if let Some(wal) = Wal::read(&log, header.page_size).map_err(sidecar)? {
        write_pages(&target, &wal).map_err(io_error)?;
        notices.push(Notice::LogReplayed { pages: wal.pages().count() });
    }
    Ok(Some(folder))
}

/// Puts the log's pages into the copy and takes it out of WAL mode.
fn write_pages(target: &Path, wal: &Wal<'_>) -> io::Result<()> {
    let mut file = File::options().read(true).write(true).open(target)?;
    file.set_len(wal.database_bytes())?;
    for (offset, page) in wal.pages() {
        file.seek(SeekFrom::Start(offset))?;
        file.write_all(page)?;
    }
    let mut head = [0; 20];
    file.seek(SeekFrom::Start(0))?;
    file.read_exact(&mut head)?;
    leave_wal_mode(&mut head);
    file.seek(SeekFrom::Start(0))?;
    file.write_all(&head)?;
    file.sync_data()
}

/// Lets SQLite roll the interrupted transaction back, in the copy.
fn roll_back(target: &Path) -> rusqlite::Result<()> {
    let connection = Connection::open(target)?;
    policy::configure(&connection)?;
    connection.execute_batch("PRAGMA query_only = 0")?;
    // Any read rolls a hot journal back first.
    connection.query_row("SELECT count(*) FROM sqlite_master", [], |_| Ok(()))?;
    connection.close().map_err(|(_, error)| error)
}

/// Whether a journal holds an unfinished transaction: a finished one is deleted, emptied, or has its header zeroed.
fn is_hot_journal(path: &Path) -> io::Result<bool> {
    let mut magic = [0; 8];
    match File::open(path).and_then(|mut file| file.read_exact(&mut magic)) {
        Ok(()) => Ok(magic == [0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7]),
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::UnexpectedEof) => {
            Ok(false)
        }
        Err(error) => Err(error),
    }
}

/// Runs `copy` until the files are the same before and after it.
fn unchanged_meanwhile(
    files: &[&Path],
    name: &str,
    mut copy: impl FnMut() -> io::Result<()>,
) -> Result<(), Error> {
    let state = || -> io::Result<Vec<(u64, Option<std::time::SystemTime>)>> {
        let fact = |metadata: Metadata| (metadata.len(), metadata.modified().ok());
        files.iter().map(|path| fs::metadata(path).map(fact)).collect()
    };
    for _ in 0..COPY_TRIES {
        let io_error = |source| Error::Io { path: name.to_owned(), source };
        let before = state().map_err(io_error)?;
        copy().map_err(io_error)?;
        if state().is_ok_and(|after| after == before) {
            return Ok(());
        }
    }
    Err(Error::BeingWritten { name: name.to_owned() })
}

/// Copies content, not permissions: the copy must be writable where the file is not.
fn copy_content(from: &Path, to: &Path) -> io::Result<()> {
    io::copy(&mut File::open(from)?, &mut File::create(to)?).map(|_| ())
}

/// A folder that only this user can look into, removed when dropped.
fn private_folder() -> io::Result<TempDir> {
    tempfile::Builder::new().prefix("glowworm-").tempdir()
}

fn with_ending(path: &Path, ending: &str) -> PathBuf {
    let mut text = OsString::from(path);
    text.push(ending);
    PathBuf::from(text)
}

/// The path as a URI that asks SQLite for an immutable, read-only database. Every byte that could mean something in a
/// URI is escaped, so a file named `a?mode=rw#b` is opened as just that.
fn file_uri(path: &Path) -> String {
    use std::fmt::Write;

    #[cfg(unix)]
    let bytes = {
        use std::os::unix::ffi::OsStrExt;
        path.as_os_str().as_bytes().to_vec()
    };
    #[cfg(not(unix))]
    let bytes = {
        // `\\?\C:\folder` as `/C:/folder`.
        let text = path.to_string_lossy();
        let text = text.strip_prefix(r"\\?\").unwrap_or(&text).replace('\\', "/");
        if text.starts_with('/') { text.into_bytes() } else { format!("/{text}").into_bytes() }
    };
    let mut uri = String::from("file://");
    for byte in bytes {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'-' | b'_' | b'.' | b'~' | b':' => {
                uri.push(char::from(byte));
            }
            // Writing to a String cannot fail.
            _ => drop(write!(uri, "%{byte:02X}")),
        }
    }
    uri.push_str("?immutable=1&mode=ro");
    uri
}
