//! Reading files of unknown origin.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use crate::error::{Error, Result};

/// Bytes of the largest question or prediction file that is read. BIRD's has one megabyte.
pub(crate) const MOST: u64 = 1 << 30;

/// The text of a file of at most [`MOST`] bytes. What a file says of its length is not believed: a device has none.
pub(crate) fn read_text(path: &Path) -> Result<String> {
    let mut text = String::new();
    let file = File::open(path).map_err(Error::reading(path))?;
    match file.take(MOST + 1).read_to_string(&mut text) {
        Ok(_) if text.len() as u64 > MOST => {
            Err(Error::format(path, None, format!("it has more than {} MiB; give a text file", MOST >> 20)))
        }
        Ok(_) => Ok(text),
        Err(error) if error.kind() == std::io::ErrorKind::InvalidData => {
            Err(Error::format(path, None, "it is not UTF-8 text".to_owned()))
        }
        Err(error) => Err(Error::reading(path)(error)),
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn bytes_without_an_end_are_no_text() {
        let error = read_text(Path::new("/dev/urandom")).unwrap_err();
        assert!(error.to_string().contains("not UTF-8"), "{error}");
    }
}
