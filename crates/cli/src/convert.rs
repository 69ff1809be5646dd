//! `glowworm convert`: a Hugging Face checkpoint as a GGUF file.

use std::fs;
use std::path::Path;

use glowworm_gguf::{TensorType, Value};
use glowworm_model::convert::{Options, convert};

use crate::args::ConvertArgs;
use crate::error::{Error, Result};
use crate::numbers::{count, size};
use crate::progress::Bar;
use crate::{outputs, terminal};

/// Types that can be written.
const TYPES: [TensorType; 5] =
    [TensorType::F32, TensorType::F16, TensorType::BF16, TensorType::Q8_0, TensorType::Q4_0];

/// The type of a GGUF file's matrices that is called `name`, in upper or lower case.
///
/// # Errors
/// One that cannot be written.
pub fn type_called(name: &str) -> Result<TensorType> {
    TYPES.into_iter().find(|kind| kind.name().eq_ignore_ascii_case(name)).ok_or_else(|| {
        let names = TYPES.map(|kind| kind.name().to_lowercase());
        Error::Usage(format!("{name:?} is no type to convert to; choose one of {}", names.join(", ")))
    })
}

/// An entry of the metadata from `KEY=VALUE`; whole numbers become numbers.
fn metadata_entry(entry: &str) -> Result<(String, Value)> {
    let parts = entry.split_once('=').filter(|(key, _)| {
        let name = key.strip_prefix("general.").or_else(|| key.strip_prefix("glowworm."));
        name.is_some_and(|name| !name.is_empty() && !name.contains(char::is_whitespace))
    });
    let Some((key, value)) = parts else {
        return Err(Error::Usage(format!(
            "--metadata {entry:?}: write general.KEY=VALUE or glowworm.KEY=VALUE"
        )));
    };
    let value = value.parse::<u64>().map_or_else(|_| Value::from(value.to_owned()), Value::from);
    Ok((key.to_owned(), value))
}

/// Runs the command.
///
/// # Errors
/// A checkpoint that cannot be converted, or a file that is there already.
pub fn run(args: &ConvertArgs) -> Result<()> {
    let kind = type_called(&args.kind)?;
    if args.out.exists() && !args.force {
        let out = args.out.display();
        return Err(Error::Usage(format!(
            "{out} exists already; give another name, or --force to replace it"
        )));
    }
    let entries = fs::read_dir(&args.folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let inputs: Vec<_> =
        entries.filter(|path| path.extension().is_none_or(|ending| ending != "gguf")).collect();
    outputs::check_inputs(&args.out, &inputs)?;
    let mut options = Options::new(kind);
    options.name.clone_from(&args.name);
    // An editor ends a file with a line break; a prompt has none.
    let read = |path: &Path| -> Result<String> {
        let text = fs::read_to_string(path).map_err(Error::reading(path))?;
        Ok(text.strip_suffix('\n').map_or(text.clone(), str::to_owned))
    };
    options.system_prompt = args.system_prompt.as_deref().map(read).transpose()?;
    options.user_template = args.user_template.as_deref().map(read).transpose()?;
    options.chat_template = args.chat_template.as_deref().map(read).transpose()?;
    options.metadata = args.metadata.iter().map(|entry| metadata_entry(entry)).collect::<Result<_>>()?;

    let mut bar = Bar::new("converting", 0);
    let summary = convert(&args.folder, &args.out, &options, |step| bar.set(step.written, step.total))?;
    drop(bar);
    for tensor in &summary.fallbacks {
        terminal::notice(&format!("{tensor}: its rows are not whole blocks of {kind}; written as F16"));
    }
    let tensors = count(summary.tensors as u64, "tensor");
    terminal::print(&format!("{}: {tensors}, {} of weights", args.out.display(), size(summary.bytes)))
}
