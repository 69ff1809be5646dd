//! `glowworm inspect`: what is in a model file, whether it can be run, and what memory it needs.

use std::collections::BTreeMap;

use glowworm_engine::{ByteSource, LoadOptions};
use glowworm_gguf::{Array, Header, TensorInfo, Value as Entry};
use glowworm_model::LayerKind;
use glowworm_session::{Memory, ModelFile, longest_context};
use serde_json::{Map, Value, json};

use crate::args::InspectArgs;
use crate::error::Result;
use crate::model::locate;
use crate::numbers::{grouped, shortest, size};
use crate::terminal::{print, printable};

/// Longest text of the metadata that is shown, in characters.
const MOST_TEXT: usize = 100;
/// Longest list whose values are shown.
const MOST_VALUES: usize = 16;

/// Runs the command. A file that can be read but not run is no error.
///
/// # Errors
/// No GGUF file.
pub fn run(args: &InspectArgs) -> Result<()> {
    let located = locate(&args.model)?;
    let (source, header) = located.header()?;
    let report = report(args, &located.name, source.len(), header);
    if args.json { print(&report.to_string()) } else { show(&report) }
}

fn report(args: &InspectArgs, name: &str, bytes: u64, header: Header) -> Value {
    let tensors: Vec<Value> = match args.tensors {
        true => header.tensors.iter().map(tensor).collect(),
        false => Vec::new(),
    };
    let mut report = json!({
        "file": name,
        "bytes": bytes,
        "gguf_version": header.version,
        "metadata": header.metadata.iter().map(|(key, entry)| (key.to_owned(), value(entry))).collect::<Map<_, _>>(),
        "types": types(&header),
    });
    if args.tensors {
        report["tensors"] = tensors.into();
    }
    match ModelFile::from_header(header) {
        Err(error) => {
            report["runs"] = json!(false);
            report["problem"] = json!(error.to_string());
        }
        Ok(file) => {
            report["runs"] = json!(true);
            report["model"] = model(&file);
            report["memory"] = memory(&file, args.context);
        }
    }
    report
}

fn model(file: &ModelFile) -> Value {
    let config = &file.config;
    let full = config.layers.iter().filter(|kind| **kind == LayerKind::Full).count();
    let sampling = file.sampling();
    json!({
        "name": file.name(),
        "made_from": file.base_repository(),
        "parameters": config.parameters(),
        "layers": config.layers.len(),
        "attention_layers": full,
        "hidden": config.hidden,
        "vocabulary": config.vocab_size,
        "tokens": file.tokenizer.len(),
        "tied_head": config.tied,
        "context": config.context_length,
        "longest_context": longest_context(config),
        "has_prompt": file.prompt.is_some(),
        "has_chat_template": !file.template.is_default(),
        "sampling": {
            "temperature": shortest(sampling.temperature),
            "top_k": sampling.top_k,
            "top_p": shortest(sampling.top_p),
        },
    })
}

fn memory(file: &ModelFile, context: Option<usize>) -> Value {
    let options = LoadOptions::default();
    let context = context.unwrap_or(options.context).min(longest_context(&file.config));
    let memory = Memory::of(&file.header, &file.config, context, options.batch.min(context));
    json!({
        "context": context,
        "weights": memory.weights,
        "kv_cache": memory.sequence.kv,
        "kv_cache_per_token": memory.sequence.kv_per_token,
        "states": memory.sequence.recurrent + memory.sequence.conv,
        "activations": memory.activations,
        "total": memory.total(),
    })
}

/// Tensors, weights and bytes of each type.
fn types(header: &Header) -> Value {
    let mut types: BTreeMap<&str, (u64, u64, u64, bool)> = BTreeMap::new();
    for tensor in &header.tensors {
        let sums = types.entry(tensor.kind.name()).or_insert((0, 0, 0, tensor.kind.is_supported()));
        sums.0 += 1;
        sums.1 += tensor.elements();
        sums.2 += tensor.byte_len();
    }
    types
        .into_iter()
        .map(|(kind, (tensors, weights, bytes, supported))| {
            json!({ "type": kind, "tensors": tensors, "weights": weights, "bytes": bytes, "supported": supported })
        })
        .collect()
}

fn tensor(tensor: &TensorInfo) -> Value {
    json!({
        "name": tensor.name, "type": tensor.kind.name(), "dims": tensor.dims, "bytes": tensor.byte_len(),
    })
}

/// A value as JSON. Long lists (vocabularies) are described and not repeated.
fn value(entry: &Entry) -> Value {
    match entry {
        Entry::U8(number) => json!(number),
        Entry::I8(number) => json!(number),
        Entry::U16(number) => json!(number),
        Entry::I16(number) => json!(number),
        Entry::U32(number) => json!(number),
        Entry::I32(number) => json!(number),
        Entry::F32(number) => json!(shortest(*number)),
        Entry::U64(number) => json!(number),
        Entry::I64(number) => json!(number),
        Entry::F64(number) => json!(number),
        Entry::Bool(flag) => json!(flag),
        Entry::String(text) => json!(text),
        Entry::Array(list) if list.len() > MOST_VALUES => json!({ "list": entry.describe() }),
        Entry::Array(Array::Strings(list)) => list.iter().map(|text| json!(text)).collect(),
        Entry::Array(Array::Bool(list)) => json!(list),
        Entry::Array(Array::F32(list)) => list.iter().map(|number| json!(shortest(*number))).collect(),
        Entry::Array(Array::F64(list)) => json!(list),
        Entry::Array(list) => match list.integers() {
            Some(numbers) => json!(numbers),
            None => json!({ "list": entry.describe() }),
        },
    }
}

/// The report in words.
fn show(report: &Value) -> Result<()> {
    let number = |value: &Value| value.as_u64().unwrap_or(0);
    let text = |value: &Value| printable(value.as_str().unwrap_or("-"), false).into_owned();
    print(&format!(
        "{}  {}, GGUF v{}",
        text(&report["file"]),
        size(number(&report["bytes"])),
        report["gguf_version"]
    ))?;
    if let Some(problem) = report["problem"].as_str() {
        print(&format!("cannot be run: {}", printable(problem, false)))?;
    }
    if let Some(model) = report["model"].as_object() {
        let attention = number(&model["attention_layers"]);
        let layers = number(&model["layers"]);
        print(&format!(
            "{}: {} parameters, {layers} layers ({attention} attention, {} delta net), hidden {}, {} tokens, context {}",
            text(&model["name"]),
            grouped(number(&model["parameters"])),
            layers.saturating_sub(attention),
            number(&model["hidden"]),
            grouped(number(&model["tokens"])),
            grouped(number(&model["context"])),
        ))?;
        let has = |key: &str| if model[key] == json!(true) { "its own" } else { "none" };
        print(&format!("prompt: {}; chat template: {}", has("has_prompt"), has("has_chat_template")))?;
    }
    if let Some(memory) = report["memory"].as_object() {
        let bytes = |key: &str| size(number(&memory[key]));
        print(&format!("\nGPU memory with {} tokens of context", grouped(number(&memory["context"]))))?;
        let lines = [
            ("weights", bytes("weights")),
            ("KV cache", format!("{} ({} a token)", bytes("kv_cache"), bytes("kv_cache_per_token"))),
            ("states", bytes("states")),
            ("activations", bytes("activations")),
            ("in all", bytes("total")),
        ];
        for (name, value) in lines {
            print(&format!("  {name:<12} {value}"))?;
        }
    }
    print("\ntensors")?;
    for kind in report["types"].as_array().into_iter().flatten() {
        let note = if kind["supported"] == json!(true) { "" } else { "  not supported" };
        print(&format!(
            "  {:<8} {:>5}  {:>15} weights  {:>10}{note}",
            text(&kind["type"]),
            number(&kind["tensors"]),
            grouped(number(&kind["weights"])),
            size(number(&kind["bytes"])),
        ))?;
    }
    for tensor in report["tensors"].as_array().into_iter().flatten() {
        print(&format!("  {:<40} {:<6} {}", text(&tensor["name"]), text(&tensor["type"]), tensor["dims"]))?;
    }
    print("\nmetadata")?;
    for (key, value) in report["metadata"].as_object().into_iter().flatten() {
        let shown = match (value, value.get("list")) {
            (_, Some(description)) => text(description),
            (Value::String(long), _) if long.chars().count() > MOST_TEXT => {
                let start: String = long.chars().take(MOST_TEXT).collect();
                format!("{}… ({} bytes)", printable(&start, false), grouped(long.len() as u64))
            }
            (Value::String(short), _) => printable(short, false).into_owned(),
            (other, _) => other.to_string(),
        };
        print(&format!("  {}  {shown}", printable(key, false)))?;
    }
    Ok(())
}
