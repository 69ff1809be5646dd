//! A Jinja environment that behaves as the one of `transformers`, in whose terms chat templates are written.

use minijinja::syntax::SyntaxConfig;
use minijinja::value::{Kwargs, StringInput, ValueKind};
use minijinja::{AutoEscape, Environment, Error, ErrorKind, State, Value};

use crate::python::{self, JsonStyle};

/// What one rendering may cost: instructions run, and 64 bytes made, count one each. The published template takes
/// a few thousand for a long conversation; this much ends a hostile one within a second and 32 MB.
const FUEL: u64 = 500_000;
/// Nesting of macros and includes.
const RECURSION: usize = 64;

pub(super) fn environment() -> Result<Environment<'static>, Error> {
    let mut environment = Environment::new();
    environment.set_fuel(Some(FUEL));
    environment.set_recursion_limit(RECURSION);
    environment.set_syntax(SyntaxConfig::builder().trim_blocks(true).lstrip_blocks(true).build()?);
    environment.set_auto_escape_callback(|_| AutoEscape::None);
    environment.set_unknown_method_callback(minijinja_contrib::pycompat::unknown_method_callback);
    environment.set_formatter(|out, state, value| match python_text(value) {
        Some(text) => out.write_str(&text).map_err(Error::from),
        None => minijinja::escape_formatter(out, state, value),
    });
    environment.add_function("raise_exception", raise_exception);
    environment.add_filter("trim", trim);
    environment.add_filter("string", string);
    environment.add_filter("tojson", tojson);
    Ok(environment)
}

fn raise_exception(message: &str) -> Result<String, Error> {
    Err(Error::new(ErrorKind::InvalidOperation, message.to_owned()))
}

fn trim(text: StringInput<'_>, letters: Option<&str>) -> String {
    let text = text.as_str();
    match letters {
        Some(letters) => text.trim_matches(|letter| letters.contains(letter)).to_owned(),
        None => python::strip(text).to_owned(),
    }
}

/// What Python's `str` gives for a value where minijinja would write something else.
fn python_text(value: &Value) -> Option<String> {
    match value.kind() {
        ValueKind::None => Some("None".into()),
        ValueKind::Bool => Some(if value.is_true() { "True" } else { "False" }.into()),
        ValueKind::Number if !value.is_integer() => f64::try_from(value.clone()).ok().map(python::float),
        _ => None,
    }
}

fn string(value: &Value) -> Value {
    match (value.as_str(), python_text(value)) {
        (Some(_), _) => value.clone(),
        (None, Some(text)) => text.into(),
        (None, None) => value.to_string().into(),
    }
}

/// `tojson` of transformers: `json.dumps` with `ensure_ascii=False`, and not made safe for HTML as Jinja's own.
fn tojson(state: &State<'_, '_>, value: &Value, arguments: Kwargs) -> Result<String, Error> {
    let mut style = JsonStyle::default();
    if let Some(ensure_ascii) = arguments.get("ensure_ascii")? {
        style.ensure_ascii = ensure_ascii;
    }
    if let Some(sort_keys) = arguments.get("sort_keys")? {
        style.sort_keys = sort_keys;
    }
    style.indent = arguments.get("indent")?;
    if style.indent.is_some() {
        if style.indent > Some(16) {
            return Err(Error::new(ErrorKind::InvalidOperation, "tojson: indent is above 16"));
        }
        // Python leaves out the space at the end of a line.
        style.item_separator = ",".into();
    }
    let separators: Option<Vec<String>> = arguments.get("separators")?;
    match separators.as_deref() {
        None => {}
        Some([item, key]) => {
            style.item_separator = item.clone();
            style.key_separator = key.clone();
        }
        Some(_) => {
            return Err(Error::new(ErrorKind::InvalidOperation, "tojson: separators must be two texts"));
        }
    }
    arguments.assert_all_used()?;
    let value = serde_json::to_value(value)
        .map_err(|error| Error::new(ErrorKind::InvalidOperation, format!("tojson: {error}")))?;
    let text = style.write(&value);
    state.consume_fuel(text.len() as u64 / 64)?;
    Ok(text)
}
