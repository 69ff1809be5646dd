//! The chat template: how a conversation is written for a model.
//!
//! A model file brings its own template, in Jinja, and it is that one which is rendered; nothing of its text is
//! repeated here. The first prompt is a rendering. From then on a conversation only grows: the agent appends what
//! the model wrote and the next user turn to the bytes that are there, because rendering again would drop earlier
//! thoughts. What stands around an appended turn is found out from the template as well ([`TurnMarkup`]).

mod environment;

use glowworm_gguf::Metadata;
use minijinja::Environment;
use minijinja::value::Serde;
use serde_json::{Value, json};

use crate::error::{Error, Result};
use crate::python;
use crate::tokenizer::Segment;

/// Written for models that bring no template: ChatML with thinking on.
const DEFAULT: &str = include_str!("template/default.jinja");
/// Largest template read; published ones have 8 KB.
const MAX_BYTES: usize = 1 << 20;
const NAME: &str = "chat template";

/// A chat template, parsed.
#[derive(Debug)]
pub struct ChatTemplate {
    environment: Environment<'static>,
    source: String,
    default: bool,
}

impl ChatTemplate {
    /// Parses a template.
    ///
    /// # Errors
    /// It is no valid Jinja, or larger than a mebibyte.
    pub fn new(source: &str) -> Result<Self> {
        if source.len() > MAX_BYTES {
            let problem = format!("it is {} bytes long, more than {MAX_BYTES}", source.len());
            return Err(Error::Template { problem });
        }
        let mut environment = environment::environment().map_err(template_error)?;
        environment.add_template_owned(NAME, source.to_owned()).map_err(template_error)?;
        Ok(Self { environment, source: source.to_owned(), default: false })
    }

    /// The template of a GGUF file, `tokenizer.chat_template`; ChatML where there is none
    /// ([`ChatTemplate::is_default`]).
    ///
    /// # Errors
    /// As [`ChatTemplate::new`].
    pub fn from_gguf(metadata: &Metadata) -> Result<Self> {
        match metadata.opt_str("tokenizer.chat_template")? {
            Some(source) => Self::new(source),
            None => Ok(Self { default: true, ..Self::new(DEFAULT)? }),
        }
    }

    /// Whether the file brought no template and ChatML stands in for it.
    pub fn is_default(&self) -> bool {
        self.default
    }

    /// The template's text.
    pub fn source(&self) -> &str {
        &self.source
    }

    /// Renders the template with the variables of `context`, an object: `messages`, `tools`,
    /// `add_generation_prompt`, `enable_thinking` and what else the template may ask for.
    ///
    /// # Errors
    /// What the template raises, what Jinja finds wrong with it, or a rendering that costs too much.
    pub fn render(&self, context: &Value) -> Result<String> {
        let template = self.environment.get_template(NAME).map_err(template_error)?;
        template.render(Serde(context)).map_err(template_error)
    }

    fn render_messages(&self, messages: &[(&str, &str)], generate: bool) -> Result<String> {
        let messages: Vec<Value> =
            messages.iter().map(|(role, content)| json!({"role": role, "content": content})).collect();
        self.render(&json!({
            "messages": messages,
            "add_generation_prompt": generate,
            "enable_thinking": true,
        }))
    }

    /// A system and a user turn, up to where the model writes, with thinking on.
    ///
    /// The contents are never given to the template: it is rendered with placeholders, which are then replaced. So
    /// contents may hold anything, template syntax and special tokens too, and stay text. Where the template trims
    /// contents, so does this.
    ///
    /// # Errors
    /// As [`ChatTemplate::render`]; or a template that does not show each content once and as it is.
    pub fn prompt(&self, system: &str, user: &str) -> Result<Rendered> {
        let [first, second] = self.placeholders();
        let plain = self.render_messages(&[("system", &first), ("user", &second)], true)?;
        let [before, between, after] = self.around(&plain, [&first, &second])?;
        // The same with white space around the placeholders shows what the template takes off.
        let padded = |placeholder: &str| format!("{PADDING}{placeholder}{PADDING}");
        let spaced =
            self.render_messages(&[("system", &padded(&first)), ("user", &padded(&second))], true)?;
        let [before_spaced, between_spaced, after_spaced] = self.around(&spaced, [&first, &second])?;

        let start = kept_after(before, before_spaced)?;
        let (system_end, user_start) = kept_around(between, between_spaced)?;
        let end = kept_before(after, after_spaced)?;
        let trim = |text: &str, keep_start: bool, keep_end: bool| {
            let text = if keep_start { text } else { text.trim_start_matches(python::is_space) };
            let text = if keep_end { text } else { text.trim_end_matches(python::is_space) };
            text.to_owned()
        };
        Ok(Rendered {
            before: before.to_owned(),
            system: trim(system, start, system_end),
            between: between.to_owned(),
            user: trim(user, user_start, end),
            after: after.to_owned(),
        })
    }

    /// What stands around a user turn that is appended after the model has written: found by rendering short
    /// conversations. A template of which that cannot be found out gets ChatML's ([`TurnMarkup::derived`] is false).
    pub fn turn_markup(&self) -> TurnMarkup {
        self.derive_turn_markup().ok().flatten().unwrap_or_else(TurnMarkup::chatml)
    }

    fn derive_turn_markup(&self) -> Result<Option<TurnMarkup>> {
        let [first, second] = self.placeholders();
        let answered = [("user", "question"), ("assistant", &*first)];
        let closed = self.render_messages(&answered, false)?;
        let asked = [answered[0], answered[1], ("user", &*second)];
        let open = self.render_messages(&asked, true)?;

        let Some((_, end)) = closed.split_once(&first) else { return Ok(None) };
        let [_, between, after] = self.around(&open, [&first, &second])?;
        // `<|im_end|>` and what follows it.
        let Some(token) = end.find("|>").map(|at| at + 2).filter(|_| end.starts_with("<|")) else {
            return Ok(None);
        };
        let (turn_end, separator) = end.split_at(token);
        let parts = (between.strip_prefix(end), after.strip_prefix(end));
        let (Some(user_open), Some(generation_prompt)) = parts else { return Ok(None) };
        Ok(Some(TurnMarkup {
            turn_end: turn_end.to_owned(),
            separator: separator.to_owned(),
            user_open: user_open.to_owned(),
            generation_prompt: generation_prompt.to_owned(),
            derived: true,
        }))
    }

    /// Two words that occur nowhere in the template, so that where they stand in its output is where it put them.
    fn placeholders(&self) -> [String; 2] {
        let mut number = 0u32;
        while self.source.contains(&format!("Placeholder{number}X")) {
            number += 1;
        }
        // Of both cases, so that a template that changes the case does not go unnoticed.
        [format!("Placeholder{number}Xa"), format!("Placeholder{number}Xb")]
    }

    /// The texts before, between and after two placeholders.
    fn around<'t>(&self, rendered: &'t str, placeholders: [&str; 2]) -> Result<[&'t str; 3]> {
        let [first, second] = placeholders;
        let parts = rendered.split_once(first).and_then(|(before, rest)| {
            let (between, after) = rest.split_once(second)?;
            Some([before, between, after])
        });
        let again = |part: &&str| {
            let part = part.to_ascii_lowercase();
            part.contains(&first.to_ascii_lowercase()) || part.contains(&second.to_ascii_lowercase())
        };
        parts.filter(|parts| !parts.iter().any(again)).ok_or_else(|| Error::Template {
            problem: "it does not show a system and a user message once each, in that order".into(),
        })
    }
}

/// White space of several kinds, so that taking off one kind only is noticed.
const PADDING: &str = "\n \t\n";

fn altered() -> Error {
    Error::Template {
        problem: "it alters the messages by more than taking white space off their ends".into(),
    }
}

/// Whether padding survived behind a text.
fn kept_after(plain: &str, padded: &str) -> Result<bool> {
    match padded.strip_prefix(plain) {
        Some("") => Ok(false),
        Some(PADDING) => Ok(true),
        _ => Err(altered()),
    }
}

/// Whether padding survived before a text.
fn kept_before(plain: &str, padded: &str) -> Result<bool> {
    match padded.strip_suffix(plain) {
        Some("") => Ok(false),
        Some(PADDING) => Ok(true),
        _ => Err(altered()),
    }
}

/// Whether padding survived before and behind a text.
fn kept_around(plain: &str, padded: &str) -> Result<(bool, bool)> {
    [(false, false), (true, false), (false, true), (true, true)]
        .into_iter()
        .find(|(before, behind)| {
            let left = if *before { PADDING } else { "" };
            let right = if *behind { PADDING } else { "" };
            padded.strip_prefix(left).and_then(|rest| rest.strip_suffix(right)) == Some(plain)
        })
        .ok_or_else(altered)
}

/// A prompt, its markup and its contents kept apart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rendered {
    before: String,
    system: String,
    between: String,
    user: String,
    after: String,
}

impl Rendered {
    /// The parts in order, for [`Tokenizer::encode_segments`](crate::Tokenizer::encode_segments).
    pub fn segments(&self) -> [Segment<'_>; 5] {
        [
            Segment::Markup(&self.before),
            Segment::Text(&self.system),
            Segment::Markup(&self.between),
            Segment::Text(&self.user),
            Segment::Markup(&self.after),
        ]
    }

    /// The whole text, for people to read.
    pub fn text(&self) -> String {
        [&*self.before, &self.system, &self.between, &self.user, &self.after].concat()
    }
}

/// What stands between the model's text and the next user text, and from there to where the model writes again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TurnMarkup {
    /// Ends a turn: `<|im_end|>`. The model writes it itself at the end of its own.
    pub turn_end: String,
    /// Follows the end of a turn: a line end.
    pub separator: String,
    /// Opens a user turn: `<|im_start|>user` and a line end.
    pub user_open: String,
    /// Opens the model's turn, with thinking on: `<|im_start|>assistant`, `<think>`, each with a line end.
    pub generation_prompt: String,
    /// Whether these come from the template, rather than being ChatML's for want of better.
    pub derived: bool,
}

impl TurnMarkup {
    fn chatml() -> Self {
        Self {
            turn_end: "<|im_end|>".into(),
            separator: "\n".into(),
            user_open: "<|im_start|>user\n".into(),
            generation_prompt: "<|im_start|>assistant\n<think>\n".into(),
            derived: false,
        }
    }

    /// What is appended after the model's turn to put `text` to it, up to where it writes again. With `ended`, the
    /// model has written [`TurnMarkup::turn_end`] itself; without, its turn was cut off and is ended here.
    pub fn user_turn<'a>(&'a self, text: &'a str, ended: bool) -> [Segment<'a>; 7] {
        [
            Segment::Markup(if ended { "" } else { &self.turn_end }),
            Segment::Markup(&self.separator),
            Segment::Markup(&self.user_open),
            Segment::Text(text),
            Segment::Markup(&self.turn_end),
            Segment::Markup(&self.separator),
            Segment::Markup(&self.generation_prompt),
        ]
    }
}

/// minijinja's error with the line and its causes, in one line.
fn template_error(error: minijinja::Error) -> Error {
    use std::error::Error as _;
    let mut problem = error.to_string();
    let mut cause = error.source();
    while let Some(inner) = cause {
        problem.push_str(": ");
        problem.push_str(&inner.to_string());
        cause = inner.source();
    }
    Error::Template { problem }
}

#[cfg(test)]
mod tests;
