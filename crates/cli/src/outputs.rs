//! Where results are written: never over what they were made from.

use std::path::{Path, PathBuf};

use crate::error::{Error, Result};

/// Refuses to write to `out` if that is one of `inputs` (under whatever name), a database or a model. Another file that
/// is there already is replaced, as by any program with `-o`.
///
/// # Errors
/// If it must not be written.
pub fn check(out: &Path, inputs: &[impl AsRef<Path>]) -> Result<()> {
    check_inputs(out, inputs)?;
    match beginning(out) {
        Some(head) if head.starts_with(b"SQLite format 3\0") => Err(lost(out, "a SQLite database")),
        Some(head) if head.starts_with(b"GGUF") => Err(lost(out, "a model")),
        _ => Ok(()),
    }
}

/// Refuses to write to `out` if that is one of `inputs`, and nothing else.
///
/// # Errors
/// If it must not be written.
pub fn check_inputs(out: &Path, inputs: &[impl AsRef<Path>]) -> Result<()> {
    match inputs.iter().any(|input| is_same(out, input.as_ref())) {
        true => Err(lost(out, "among the files that are read")),
        false => Ok(()),
    }
}

fn lost(out: &Path, what: &str) -> Error {
    Error::Usage(format!("{} is {what} and would be lost; give another file to write to", out.display()))
}

/// The files that SQLite keeps beside a database, and the database.
pub fn of_database(db: &Path) -> Vec<PathBuf> {
    ["", "-wal", "-journal", "-shm"]
        .map(|ending| {
            let mut name = db.as_os_str().to_owned();
            name.push(ending);
            PathBuf::from(name)
        })
        .into()
}

/// Whether two paths are one file, through links too.
fn is_same(one: &Path, other: &Path) -> bool {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        if let (Ok(one), Ok(other)) = (std::fs::metadata(one), std::fs::metadata(other)) {
            return (one.dev(), one.ino()) == (other.dev(), other.ino());
        }
    }
    match (std::fs::canonicalize(one), std::fs::canonicalize(other)) {
        (Ok(one), Ok(other)) => one == other,
        // What is not there yet can only be the same by name.
        _ => one == other,
    }
}

/// The first bytes of a regular file.
fn beginning(path: &Path) -> Option<Vec<u8>> {
    use std::io::Read;
    if !std::fs::metadata(path).ok()?.is_file() {
        return None;
    }
    let mut head = Vec::new();
    std::fs::File::open(path).ok()?.take(16).read_to_end(&mut head).ok()?;
    Some(head)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)] // a panic is the report

    use super::*;

    #[test]
    fn nothing_is_written_over_an_input() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        std::fs::write(at("input"), "text").unwrap();
        std::fs::hard_link(at("input"), at("hard")).unwrap();
        std::fs::write(at("other"), "text").unwrap();
        std::fs::write(at("base"), b"SQLite format 3\0 and so on").unwrap();
        std::fs::write(at("model"), b"GGUF and so on").unwrap();
        let input = at("input");
        for refused in ["input", "hard", "base", "model"] {
            assert!(check(&at(refused), &[&input]).is_err(), "{refused}");
        }
        for fine in ["other", "new"] {
            check(&at(fine), &[&input]).unwrap();
        }
        #[cfg(unix)]
        {
            std::os::unix::fs::symlink(at("input"), at("soft")).unwrap();
            assert!(check(&at("soft"), &[&input]).is_err());
        }
        // A journal that is not there yet.
        let beside = of_database(&at("base"));
        assert!(check(&at("base-wal"), &beside).is_err());
    }
}
