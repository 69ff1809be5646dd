//! The prompt that a model was trained with: where to look for it, and in which order.

use std::io::Read;
use std::path::{Path, PathBuf};

use glowworm_model::Prompt;
use glowworm_session::{ModelFile, Opening};

use super::hub;
use super::locate::Located;
use crate::error::{Error, Result};
use crate::terminal;

/// Files that hold it, as the models' repositories name them.
pub const PROMPT_FILES: [&str; 2] = ["sqale_agent.py", "protocol.py"];
/// Largest that is read.
const MAX_BYTES: u64 = 4 << 20;

/// The prompt: of the file that the user gave; else the model file's own; else of a prompt file of its repository, beside
/// the file, or of the repository of the model that it was made from (from the cache, and from the network only for a
/// model that itself was asked for from there); else our reconstruction.
///
/// # Errors
/// The user's file cannot be read. One that was only found is passed over with a notice.
pub fn choose(given: Option<&Path>, file: &ModelFile, located: &Located) -> Result<Prompt> {
    if let Some(path) = given {
        return read(path);
    }
    if let Some(prompt) = &file.prompt {
        return Ok(prompt.clone());
    }
    let base = || file.base_repository().and_then(|address| hub::prompt_of(address, located.from_hub));
    if let Some(path) = located.prompt.clone().or_else(base) {
        match read(&path) {
            Ok(prompt) => return Ok(prompt),
            Err(error) => terminal::notice(&format!("passing over a prompt file: {error}")),
        }
    }
    Ok(Opening::reconstruction())
}

/// The prompt file in a folder.
pub fn in_folder(folder: &Path) -> Option<PathBuf> {
    // A file given by its name alone has the empty path for its folder.
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    PROMPT_FILES.iter().map(|name| folder.join(name)).find(|path| path.is_file())
}

/// The prompt of a file.
///
/// # Errors
/// What cannot be read, is too long, or holds no prompt.
pub fn read(path: &Path) -> Result<Prompt> {
    // What a file says of its length is not believed: a device has none.
    let mut bytes = Vec::new();
    let file = std::fs::File::open(path).map_err(Error::reading(path))?;
    file.take(MAX_BYTES + 1).read_to_end(&mut bytes).map_err(Error::reading(path))?;
    if bytes.len() as u64 > MAX_BYTES {
        return Err(Error::Usage(format!(
            "reading {}: it goes on beyond {MAX_BYTES} bytes; give sqale_agent.py or protocol.py",
            path.display()
        )));
    }
    let source = String::from_utf8(bytes)
        .map_err(|_| Error::Usage(format!("reading {}: it is not UTF-8 text", path.display())))?;
    Ok(Prompt::from_python(&path.display().to_string(), &source)?)
}
