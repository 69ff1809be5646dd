//! Reading standard input and small files: never more than is sensible.

use std::io::{BufRead, Read};
use std::path::Path;

use crate::error::{Error, Result};

/// Bytes of the longest text that is read.
const MOST: u64 = 64 << 20;

/// The text of a reader that is called `name`.
///
/// # Errors
/// What cannot be read, is not UTF-8, or goes on and on.
pub fn text(reader: impl Read, name: &Path) -> Result<String> {
    let mut text = String::new();
    reader.take(MOST + 1).read_to_string(&mut text).map_err(Error::reading(name))?;
    checked(text, name)
}

/// The next line of a reader that is called `name`; empty at its end.
///
/// # Errors
/// As [`text`].
pub fn line(reader: impl BufRead, name: &Path) -> Result<String> {
    let mut line = String::new();
    reader.take(MOST + 1).read_line(&mut line).map_err(Error::reading(name))?;
    checked(line, name)
}

fn checked(text: String, name: &Path) -> Result<String> {
    if text.len() as u64 > MOST {
        let name = name.display();
        return Err(Error::Usage(format!("reading {name}: it has more than {} MiB of text", MOST >> 20)));
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)] // a panic is the report

    use super::*;

    #[test]
    fn text_without_an_end_is_refused() {
        let name = Path::new("standard input");
        let endless = || std::io::BufReader::new(std::io::repeat(b'x'));
        assert!(text(endless(), name).unwrap_err().to_string().contains("more than 64 MiB"));
        assert!(line(endless(), name).is_err());
        assert_eq!(line(&b"one\ntwo"[..], name).unwrap(), "one\n");
        assert_eq!(line(&b""[..], name).unwrap(), "");
    }
}
