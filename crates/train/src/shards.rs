//! Shards: token ids and marks of many episodes in one file, for a trainer that maps it.
//!
//! Layout, little endian: `GLWSHRD1`, u32 number of episodes, u32 number of tokens, then for each episode its length in
//! tokens (u32), then all token ids (u16), then a mark for each (u8: 1 learn, 0 question or tool text, 2 markup or a
//! mistake, never learnt).

use crate::error::{Error, Result};
use crate::lexicon::{Lexicon, Split};
use crate::sample::sample;
use crate::tokenizer::Encoder;
use std::path::Path;

/// Writes the shard of seeds `first..first + count` into the folder `out`; returns a line of figures.
///
/// The file is written under another name first and then renamed, so that a trainer never sees half of one.
///
/// # Errors
/// When the file cannot be written, or a seed gives no sample.
pub fn write(
    lexicon: &Lexicon,
    encoder: &Encoder,
    out: &Path,
    first: u64,
    count: u64,
    longest: usize,
) -> Result<String> {
    let (mut lengths, mut ids, mut marks) = (Vec::new(), Vec::new(), Vec::new());
    let mut dropped = 0;
    for seed in first..first + count {
        let (i, m) = encoder.encode(&sample(lexicon, Split::Train, seed)?.pieces)?;
        if i.len() > longest {
            dropped += 1;
            continue;
        }
        lengths.push(i.len() as u32);
        ids.extend(i);
        marks.extend(m);
    }
    let mut bytes = b"GLWSHRD1".to_vec();
    bytes.extend((lengths.len() as u32).to_le_bytes());
    bytes.extend((ids.len() as u32).to_le_bytes());
    bytes.extend(lengths.iter().flat_map(|n| n.to_le_bytes()));
    bytes.extend(ids.iter().flat_map(|n| n.to_le_bytes()));
    bytes.extend(&marks);
    let path = out.join(format!("{first:012}.shard"));
    let part = out.join(format!("{first:012}.part"));
    let fail = |source| Error::File { path: path.display().to_string(), source };
    std::fs::create_dir_all(out).map_err(fail)?;
    std::fs::write(&part, bytes).map_err(fail)?;
    std::fs::rename(&part, &path).map_err(fail)?;
    let learnt = marks.iter().filter(|&&m| m == 1).count();
    Ok(format!(
        "{}: {} episodes, {} tokens ({:.0} each), {:.3} learnt, {dropped} too long",
        path.display(),
        lengths.len(),
        ids.len(),
        ids.len() as f64 / lengths.len().max(1) as f64,
        learnt as f64 / ids.len().max(1) as f64
    ))
}
