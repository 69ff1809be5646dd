//! What a file is, told from its first bytes and its length.
//!
//! SQLite itself has one sentence for everything that it cannot open: "file is not a database". A person who dropped a
//! SQL dump, a gzip or half a download deserves to hear which it is. This is a pure function of content, so that the
//! browser tells the same before anything is loaded.

use std::fmt;

use crate::token::{Kind, tokens};

/// How many leading bytes [`inspect`] looks at. More does no harm, fewer tells less.
pub const HEAD_BYTES: usize = 4096;

/// The facts of a SQLite header that matter for opening the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileHeader {
    /// Bytes a page: a power of two, 512 to 65,536.
    pub page_size: u32,
    /// Pages by the header, where the header is up to date.
    pub pages: Option<u32>,
    /// The file is in WAL mode: its latest rows may lie in a `-wal` file beside it.
    pub wal_mode: bool,
    /// Text is stored as UTF-16. SQLite converts it; nothing needs to be done.
    pub utf16: bool,
}

/// How a compressed file is compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Compression {
    Gzip,
    Zip,
    Bzip2,
    Xz,
    Zstandard,
    SevenZip,
}

/// Why a file is no SQLite database that can be opened. [`fmt::Display`] gives the sentence for the user.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum FileProblem {
    /// No bytes at all.
    Empty,
    /// SQL text: a dump.
    SqlText,
    /// An HTML page, often the error page of a failed download.
    Html,
    /// Other text: CSV, JSON, notes.
    Text,
    /// A compressed file.
    Compressed(Compression),
    /// The write-ahead log of a database, without the database.
    WalAlone,
    /// The rollback journal of a database, without the database.
    JournalAlone,
    /// A database of SQLite 2, a format given up in 2004.
    Sqlite2,
    /// A database of another program.
    OtherDatabase(
        /// The program or format.
        &'static str,
    ),
    /// The header and nothing, or not even all of it.
    HeaderOnly {
        /// Bytes of the file.
        bytes: u64,
    },
    /// Fewer bytes than the header says.
    Truncated {
        /// Bytes of the file.
        bytes: u64,
        /// Bytes that the header says.
        expected: u64,
    },
    /// A header with values that SQLite never writes.
    DamagedHeader(
        /// The value that is wrong.
        &'static str,
    ),
    /// A file format version that this SQLite cannot read.
    NewerFormat {
        /// The read version, byte 19 of the header.
        version: u8,
    },
    /// Larger than this place can hold.
    TooLarge {
        /// Bytes of the file.
        bytes: u64,
        /// Bytes that can be held.
        limit: u64,
    },
    /// Nothing that can be recognised: encrypted, or damaged from the first byte.
    EncryptedOrDamaged,
}

impl fmt::Display for FileProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FileProblem::Empty => f.write_str(
                "the file is empty (0 bytes); perhaps a download or a copy did not finish, or the path is misspelt and a program created it",
            ),
            FileProblem::SqlText => f.write_str(
                "this is SQL text, not a database; make a database of it first: sqlite3 new.sqlite < dump.sql",
            ),
            FileProblem::Html => f.write_str(
                "this is a web page, not a database; the download probably saved an error or preview page, get the file itself",
            ),
            FileProblem::Text => f.write_str(
                "this is a text file, not a database; a CSV file can be imported with: sqlite3 new.sqlite \".import --csv file.csv name\"",
            ),
            FileProblem::Compressed(kind) => {
                let (name, command) = match kind {
                    Compression::Gzip => ("gzip", "gunzip"),
                    Compression::Zip => ("zip", "unzip"),
                    Compression::Bzip2 => ("bzip2", "bunzip2"),
                    Compression::Xz => ("xz", "unxz"),
                    Compression::Zstandard => ("Zstandard", "unzstd"),
                    Compression::SevenZip => ("7-Zip", "7z x"),
                };
                write!(f, "the file is compressed ({name}); unpack it first, for example with {command}")
            }
            FileProblem::WalAlone => f.write_str(
                "this is the write-ahead log (-wal) of a database; open the database file itself, with the -wal file beside it",
            ),
            FileProblem::JournalAlone => f.write_str(
                "this is the rollback journal (-journal) of a database; open the database file itself, with the journal beside it",
            ),
            FileProblem::Sqlite2 => f.write_str(
                "this is a database of SQLite 2, a format given up in 2004; convert it with: sqlite old.db .dump | sqlite3 new.sqlite",
            ),
            FileProblem::OtherDatabase(name) => {
                write!(f, "this is a {name} file, not a SQLite database; export its tables to SQLite first")
            }
            FileProblem::HeaderOnly { bytes } => write!(
                f,
                "the file has only {bytes} byte{}: it begins as a SQLite database does, but there is no data after the header; the download or copy did not finish",
                if *bytes == 1 { "" } else { "s" }
            ),
            FileProblem::Truncated { bytes, expected } => write!(
                f,
                "the database is incomplete: {bytes} of {expected} bytes are there; the download or copy did not finish, get it again"
            ),
            FileProblem::DamagedHeader(what) => write!(
                f,
                "the file begins as a SQLite database does, but its header is damaged ({what}); try a copy or a backup"
            ),
            FileProblem::NewerFormat { version } => write!(
                f,
                "the database needs a newer SQLite (file format version {version}, 2 is the highest known), or its header is damaged"
            ),
            FileProblem::TooLarge { bytes, limit } => write!(
                f,
                "the database is too large to open here: {:.2} GB, at most {:.2} GB can be held; use the command-line program, which reads it from the disk",
                *bytes as f64 / 1e9,
                *limit as f64 / 1e9
            ),
            FileProblem::EncryptedOrDamaged => f.write_str(
                "this is not a SQLite database, or it is encrypted or damaged; an encrypted one must be decrypted first by the program that made it",
            ),
        }
    }
}

/// Tells from the first bytes of a file ([`HEAD_BYTES`] of them, or all of a shorter file) and its length whether it is
/// a SQLite database, and if not, what it is. `limit` is the largest file that can be held, if there is one.
///
/// A good answer means that the file is worth opening, not that every page is sound.
///
/// # Errors
///
/// The problem, whose text is meant for the user.
pub fn inspect(head: &[u8], file_bytes: u64, limit: Option<u64>) -> Result<FileHeader, FileProblem> {
    if file_bytes == 0 {
        return Err(FileProblem::Empty);
    }
    if !head.starts_with(b"SQLite format 3\0") {
        return Err(foreign(head, file_bytes));
    }
    let Some(header) = head.get(..100) else {
        return Err(FileProblem::HeaderOnly { bytes: file_bytes });
    };
    let be32 = |at: usize| u32::from_be_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]]);

    // Offsets as in "The Database Header", section 1.3 of SQLite's description of its file format.
    let page_size = match u16::from_be_bytes([header[16], header[17]]) {
        1 => 65_536,
        size if size >= 512 && size.is_power_of_two() => u32::from(size),
        _ => return Err(FileProblem::DamagedHeader("the page size is impossible")),
    };
    let (write_version, read_version) = (header[18], header[19]);
    if read_version > 2 {
        return Err(FileProblem::NewerFormat { version: read_version });
    }
    if header[21..24] != [64, 32, 32] {
        return Err(FileProblem::DamagedHeader("the payload fractions are not 64, 32, 32"));
    }
    if u32::from(header[20]) + 480 > page_size {
        return Err(FileProblem::DamagedHeader("too much of a page is reserved"));
    }
    let encoding = be32(56);
    if encoding > 3 {
        return Err(FileProblem::DamagedHeader("the text encoding is unknown"));
    }
    // The page count is only to be trusted if the last writer knew of the field.
    let pages = Some(be32(28)).filter(|&pages| pages > 0 && be32(24) == be32(92));
    if file_bytes <= 100 {
        return Err(FileProblem::HeaderOnly { bytes: file_bytes });
    }
    let expected = u64::from(page_size) * u64::from(pages.unwrap_or(1));
    // In WAL mode the file may be shorter than its latest pages, which then lie in the log.
    let wal_mode = read_version == 2 || write_version == 2;
    if file_bytes < u64::from(page_size) || (file_bytes < expected && !wal_mode) {
        return Err(FileProblem::Truncated { bytes: file_bytes, expected });
    }
    if let Some(limit) = limit
        && file_bytes > limit
    {
        return Err(FileProblem::TooLarge { bytes: file_bytes, limit });
    }
    Ok(FileHeader { page_size, pages, wal_mode, utf16: encoding >= 2 })
}

/// What a file without SQLite's magic is.
fn foreign(head: &[u8], file_bytes: u64) -> FileProblem {
    const MAGIC: [(&[u8], FileProblem); 15] = [
        (b"\x1f\x8b", FileProblem::Compressed(Compression::Gzip)),
        (b"PK\x03\x04", FileProblem::Compressed(Compression::Zip)),
        (b"PK\x05\x06", FileProblem::Compressed(Compression::Zip)),
        (b"BZh", FileProblem::Compressed(Compression::Bzip2)),
        (b"\xfd7zXZ\0", FileProblem::Compressed(Compression::Xz)),
        (b"\x28\xb5\x2f\xfd", FileProblem::Compressed(Compression::Zstandard)),
        (b"7z\xbc\xaf\x27\x1c", FileProblem::Compressed(Compression::SevenZip)),
        (b"\x37\x7f\x06\x82", FileProblem::WalAlone),
        (b"\x37\x7f\x06\x83", FileProblem::WalAlone),
        (b"\xd9\xd5\x05\xf9\x20\xa1\x63\xd7", FileProblem::JournalAlone),
        (b"** This file contains an SQLite 2", FileProblem::Sqlite2),
        (b"\0\x01\0\0Standard Jet DB", FileProblem::OtherDatabase("Microsoft Access")),
        (b"\0\x01\0\0Standard ACE DB", FileProblem::OtherDatabase("Microsoft Access")),
        (b"PAR1", FileProblem::OtherDatabase("Parquet")),
        (b"PGDMP", FileProblem::OtherDatabase("PostgreSQL dump")),
    ];
    // A file cut inside the magic itself.
    if file_bytes < 16 && b"SQLite format 3\0".starts_with(head) {
        return FileProblem::HeaderOnly { bytes: file_bytes };
    }
    if let Some((_, problem)) = MAGIC.iter().find(|(magic, _)| head.starts_with(magic)) {
        return problem.clone();
    }
    if head.get(8..12) == Some(b"DUCK") {
        return FileProblem::OtherDatabase("DuckDB");
    }
    text(head).unwrap_or(FileProblem::EncryptedOrDamaged)
}

/// What kind of text this is, if it is text: UTF-8, perhaps cut inside its last character, without control bytes.
fn text(head: &[u8]) -> Option<FileProblem> {
    let text = match std::str::from_utf8(head) {
        Ok(text) => text,
        Err(error) if error.error_len().is_none() && error.valid_up_to() > 0 => {
            std::str::from_utf8(&head[..error.valid_up_to()]).ok()?
        }
        Err(_) => return None,
    };
    if text.chars().any(|c| c.is_control() && !matches!(c, '\t' | '\n' | '\r' | '\x0c')) {
        return None;
    }
    let start = text.trim_start_matches('\u{feff}').trim_start();
    let lower = start.get(..start.len().min(200)).unwrap_or(start).to_ascii_lowercase();
    if ["<!doctype", "<html", "<?xml", "<head"].iter().any(|tag| lower.starts_with(tag)) {
        return Some(FileProblem::Html);
    }
    let first = tokens(start).find(|token| !matches!(token.kind, Kind::Space | Kind::Semicolon));
    let is_sql = first.is_some_and(|token| {
        let words =
            ["PRAGMA", "BEGIN", "CREATE", "INSERT", "DROP", "SET", "USE", "START", "LOCK", "ALTER", "DELETE"];
        words.iter().any(|word| token.is(word))
    });
    // Dumps of other programs begin with comments and settings; the word tells.
    let has_table = text.to_ascii_uppercase().contains("CREATE TABLE");
    Some(if is_sql || has_table { FileProblem::SqlText } else { FileProblem::Text })
}
