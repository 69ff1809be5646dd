//! `glowworm tokenize`: how a model reads a text.

use std::path::Path;

use glowworm_model::Tokenizer;
use serde_json::{Value, json};

use crate::args::TokenizeArgs;
use crate::error::{Error, Result};
use crate::input;
use crate::model::locate;
use crate::terminal::{print, printable};

/// Runs the command.
///
/// # Errors
/// A file without a tokenizer, or text that is not UTF-8.
pub fn run(args: &TokenizeArgs) -> Result<()> {
    let (_, header) = locate(&args.model.model)?.header()?;
    let tokenizer = Tokenizer::from_gguf(&header.metadata)?;
    if let Some(ids) = &args.decode {
        if let Some(id) = ids.iter().find(|id| !tokenizer.has_token(**id)) {
            return Err(Error::Usage(format!(
                "there is no token {id}; the vocabulary has {}",
                tokenizer.len()
            )));
        }
        let text = tokenizer.decode(ids, false);
        return if args.json { print(&json!({ "text": text }).to_string()) } else { print(&text) };
    }
    let text = match &args.text {
        Some(text) => text.clone(),
        None => input::text(std::io::stdin(), Path::new("standard input"))?,
    };
    let ids = if args.markup { tokenizer.encode_template(&text)? } else { tokenizer.encode_text(&text)? };
    if args.json {
        let token = |id: &u32| json!(String::from_utf8_lossy(tokenizer.token_bytes(*id)));
        let tokens: Value = ids.iter().map(token).collect();
        return print(&json!({ "ids": ids, "tokens": tokens }).to_string());
    }
    for id in &ids {
        let token = String::from_utf8_lossy(tokenizer.token_bytes(*id));
        let mark = if tokenizer.is_markup(*id) { "  markup" } else { "" };
        print(&format!("{id:>7}  {}{mark}", printable(&token, false)))?;
    }
    Ok(())
}
