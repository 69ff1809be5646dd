//! The write-ahead log (`-wal`) of a database, replayed.
//!
//! A database in WAL mode keeps its latest rows in a second file until a checkpoint moves them. Opening the first file
//! alone would silently show old rows. SQLite replays the log itself, but to do so it must write next to the user's
//! file, and the browser's build cannot do it at all. The format is small, so it is read here, once for both.
//!
//! ```text
//!   header, 32 bytes    magic | version | page size | checkpoint number | salt 1 | salt 2 | checksum (2)
//!   frame, 24 + page    page number | database size in pages if this ends a transaction, else 0 | salts | checksum (2)
//!   frame …
//! ```
//! All numbers are big-endian; whether the checksum reads its words as big or little-endian is the last bit of the
//! magic. The log ends at the first frame whose salts or checksum do not fit: what follows is left from an earlier use
//! of the file, or half written. Of the frames before, those after the last end of a transaction do not count.
//! (SQLite's description of its file format, section 4.)

use std::collections::BTreeMap;

/// The committed pages of a log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wal<'a> {
    log: &'a [u8],
    page_size: usize,
    /// Pages of the database after the last transaction.
    pages: u32,
    /// The latest committed frame of each page: where its content begins in the log.
    frames: BTreeMap<u32, usize>,
}

const HEADER: usize = 32;
const FRAME_HEADER: usize = 24;

impl<'a> Wal<'a> {
    /// Reads a log. `None` means that it holds no committed transaction: the database is complete without it.
    ///
    /// # Errors
    ///
    /// A sentence about what is wrong: not a log, or of a page size other than the database's.
    pub fn read(log: &'a [u8], page_size: u32) -> Result<Option<Self>, String> {
        if log.is_empty() {
            return Ok(None);
        }
        let word = |at: usize| -> u32 {
            match log.get(at..at + 4) {
                Some(bytes) => u32::from_be_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]),
                None => 0,
            }
        };
        let magic = word(0);
        if magic & !1 != 0x377f_0682 {
            // A log is zeroed at its start when it is put out of use.
            return if log.iter().take(HEADER).all(|&byte| byte == 0) {
                Ok(None)
            } else {
                Err("it does not begin as a write-ahead log does".to_owned())
            };
        }
        let big_endian = magic & 1 == 1;
        let Some(header) = log.get(..HEADER) else { return Ok(None) };
        let mut sum = checksum(big_endian, [0, 0], &header[..24]);
        if sum != [word(24), word(28)] {
            // SQLite takes a log with a bad header for an unfinished one, and ignores it.
            return Ok(None);
        }
        if word(4) != 3_007_000 {
            return Err(format!("it is of version {}, and only 3007000 is known", word(4)));
        }
        if word(8) != page_size {
            return Err(format!(
                "its page size is {}, that of the database {page_size}: it belongs to another file",
                word(8)
            ));
        }
        let salts = [word(16), word(20)];
        let page_size = page_size as usize;
        let mut wal = Wal { log, page_size, pages: 0, frames: BTreeMap::new() };
        let mut transaction = Vec::new();
        let mut at = HEADER;
        while let Some(frame) = log.get(at..at + FRAME_HEADER + page_size) {
            let (page, size) = (word(at), word(at + 4));
            if page == 0 || [word(at + 8), word(at + 12)] != salts {
                break;
            }
            sum = checksum(big_endian, sum, &frame[..8]);
            sum = checksum(big_endian, sum, &frame[FRAME_HEADER..]);
            if sum != [word(at + 16), word(at + 20)] {
                break;
            }
            transaction.push((page, at + FRAME_HEADER));
            if size > 0 {
                wal.frames.extend(transaction.drain(..));
                wal.pages = size;
            }
            at += frame.len();
        }
        // A later transaction may have shortened the database.
        let pages = wal.pages;
        wal.frames.retain(|&page, _| page <= pages);
        Ok((wal.pages > 0).then_some(wal))
    }

    /// Bytes of the database after the replay.
    pub fn database_bytes(&self) -> u64 {
        self.page_size as u64 * u64::from(self.pages)
    }

    /// The pages to write over the database: the offset in the database, and the page.
    pub fn pages(&self) -> impl Iterator<Item = (u64, &'a [u8])> + '_ {
        let log = self.log;
        self.frames.iter().map(move |(&page, &start)| {
            let offset = (u64::from(page) - 1) * self.page_size as u64;
            (offset, &log[start..start + self.page_size])
        })
    }

    /// Writes the pages over a database in memory and takes it out of WAL mode (see [`leave_wal_mode`]).
    ///
    /// # Errors
    ///
    /// When the log says that the database is far larger than the two files together: a damaged log must not make the
    /// program ask for terabytes.
    pub fn apply(&self, database: &mut Vec<u8>) -> Result<(), String> {
        // Every page that a log adds has a frame in it, but for pages that were freed again at once.
        let plausible = (database.len() + self.log.len()) as u64 + (64 << 20);
        let bytes = self.database_bytes();
        if bytes > plausible {
            return Err(format!("it says that the database is {bytes} bytes long, which cannot be"));
        }
        database.resize(usize::try_from(bytes).map_err(|_| "the database is too large".to_owned())?, 0);
        for (offset, page) in self.pages() {
            let offset = usize::try_from(offset).unwrap_or(usize::MAX);
            if let Some(place) = database.get_mut(offset..offset.saturating_add(page.len())) {
                place.copy_from_slice(page);
            }
        }
        leave_wal_mode(database);
        Ok(())
    }
}

/// Marks a database in memory as not in WAL mode. SQLite refuses to open a WAL-mode database that is no file on a disk.
/// Does nothing to content.
pub fn leave_wal_mode(database: &mut [u8]) {
    if let Some(versions) = database.get_mut(18..20)
        && versions.contains(&2)
    {
        versions.copy_from_slice(&[1, 1]);
    }
}

/// SQLite's running checksum over pairs of 32-bit words.
fn checksum(big_endian: bool, mut sum: [u32; 2], bytes: &[u8]) -> [u32; 2] {
    let read = |four: &[u8]| {
        let four = [four[0], four[1], four[2], four[3]];
        if big_endian { u32::from_be_bytes(four) } else { u32::from_le_bytes(four) }
    };
    for pair in bytes.chunks_exact(8) {
        sum[0] = sum[0].wrapping_add(read(&pair[..4])).wrapping_add(sum[1]);
        sum[1] = sum[1].wrapping_add(read(&pair[4..])).wrapping_add(sum[0]);
    }
    sum
}
