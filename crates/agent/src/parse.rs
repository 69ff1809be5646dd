//! Finding tool calls in what a model wrote.
//!
//! The models write one or more bare JSON objects after `</think>`. Smaller or less trained ones wrap
//! them in fences, prose or `<tool_call>` tags, call the fields `name` and `arguments`, or lose a brace.
//! The rule is that of a strict but literate reader: what can be understood in only one way is
//! understood; what was clearly meant as a call but cannot be read is reported as such, so that the model
//! is told; everything else is prose and is passed over.
//!
//! What counts as a call, outside of think blocks:
//!
//! - an object with `tool` (or `name`, where it has arguments too or names a tool), and `args` (or
//!   `arguments`, `parameters`; an object, or a string that holds one; absent and `null` are empty);
//!   alone, in an array, or inside another object that is no call itself (`{"tool_calls": […]}`);
//! - `<function=NAME><parameter=KEY>VALUE</parameter>…</function>`, the form of Qwen's own template.
//!
//! **Inside `<think>` nothing is a call**, and a block that is never closed reaches to the end of the
//! text: the model ran out of tokens, or forgot that it was thinking. A call in there may be one that it
//! was about to reject.

use serde_json::{Map, Value};

use crate::json;
use crate::step::ToolCall;
use crate::tools;

const THINK: &str = "<think>";
const THINK_END: &str = "</think>";
const WRAPPER: &str = "<tool_call>";
const WRAPPER_END: &str = "</tool_call>";
const FUNCTION: &str = "<function=";
const FUNCTION_END: &str = "</function>";
const PARAMETER: &str = "<parameter=";
const PARAMETER_END: &str = "</parameter>";

/// A model's turn, taken apart.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ParsedTurn {
    /// What stands in the leading think block.
    pub think: String,
    /// Calls, and what was meant as one, in order.
    pub found: Vec<Found>,
    /// Whether the text ends inside a think block.
    pub unclosed_think: bool,
}

/// Something that is a call or was meant as one.
#[derive(Debug, Clone, PartialEq)]
pub enum Found {
    /// A call. Neither its name nor its arguments are checked yet (see [`tools::validate`]).
    Call(ToolCall),
    /// A call that cannot be read.
    Unreadable {
        /// The text of it, as far as it can be told.
        raw: String,
        /// Why it cannot be read, to follow "this tool call cannot be read:".
        reason: String,
    },
}

/// A text split at the end of its leading think block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ThinkSplit<'a> {
    /// Inside the block, without its tags.
    pub think: &'a str,
    /// After the block; the whole text where there is none.
    pub rest: &'a str,
    /// Whether there is a block, and its end is missing.
    pub unclosed: bool,
}

/// Splits off the leading think block. `think_open` says that the generation prompt has opened it
/// ([`TurnMarkup::opens_think`](crate::TurnMarkup::opens_think)). Also of use on a text that is still
/// being written.
pub fn split_think(text: &str, think_open: bool) -> ThinkSplit<'_> {
    let opened = text.trim_start().strip_prefix(THINK);
    let inside = match opened {
        Some(inside) => inside,
        None if think_open => text,
        None => return ThinkSplit { think: "", rest: text, unclosed: false },
    };
    match inside.split_once(THINK_END) {
        Some((think, rest)) => ThinkSplit { think, rest, unclosed: false },
        None => ThinkSplit { think: inside, rest: "", unclosed: true },
    }
}

/// Finds all calls of a turn.
pub fn parse_turn(text: &str, think_open: bool) -> ParsedTurn {
    let split = split_think(text, think_open);
    let mut scan = Scan { text: split.rest, at: 0, found: Vec::new(), wrapper: None, unclosed_think: false };
    scan.run();
    ParsedTurn {
        think: split.think.trim().to_owned(),
        found: scan.found,
        unclosed_think: split.unclosed || scan.unclosed_think,
    }
}

struct Scan<'a> {
    text: &'a str,
    at: usize,
    found: Vec<Found>,
    /// An open `<tool_call>`: where it begins, and how much had been found before it.
    wrapper: Option<(usize, usize)>,
    unclosed_think: bool,
}

impl<'a> Scan<'a> {
    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn run(&mut self) {
        while let Some(next) = self.rest().find(['{', '<']) {
            self.at += next;
            let rest = self.rest();
            if rest.starts_with('{') {
                self.object();
            } else if rest.starts_with(FUNCTION) {
                self.function();
            } else if rest.starts_with(WRAPPER) {
                self.close_wrapper(self.at);
                self.wrapper = Some((self.at, self.found.len()));
                self.at += WRAPPER.len();
            } else if rest.starts_with(WRAPPER_END) {
                self.at += WRAPPER_END.len();
                self.close_wrapper(self.at);
            } else if let Some(inside) = rest.strip_prefix(THINK) {
                let Some(len) = inside.find(THINK_END) else {
                    self.unclosed_think = true;
                    break;
                };
                self.at += THINK.len() + len + THINK_END.len();
            } else {
                self.at += 1;
            }
        }
        self.close_wrapper(self.text.len());
    }

    fn unreadable(&mut self, start: usize, end: usize, reason: impl Into<String>) {
        let raw = self.text[start..end].trim_end().to_owned();
        self.found.push(Found::Unreadable { raw, reason: reason.into() });
    }

    /// A wrapper in which nothing was found held a call that we do not know how to read.
    fn close_wrapper(&mut self, end: usize) {
        if let Some((start, found)) = self.wrapper.take()
            && found == self.found.len()
        {
            self.unreadable(start, end, "there is no JSON call in it");
        }
    }

    /// At a `{`.
    fn object(&mut self) {
        let start = self.at;
        match json::object(self.text, start) {
            Ok(object) => {
                let end = object.end;
                match recognise(&object.map) {
                    Recognised::Call { name, args } => {
                        let raw = self.text[start..end].to_owned();
                        self.found.push(Found::Call(ToolCall { name, args, raw }));
                        self.at = end;
                    }
                    Recognised::Bad(reason) => {
                        self.unreadable(start, end, reason);
                        self.at = end;
                    }
                    // Prose in braces. A brace that was left open did not open anything.
                    Recognised::NoCall if object.unclosed => self.at += 1,
                    Recognised::NoCall => {
                        self.nested_calls(&object.nested);
                        self.at = end;
                    }
                }
            }
            Err(fault) if begins_like_a_call(self.rest()) => {
                let end = self.next_call_after(start);
                let at = self.text[start..fault.at].chars().count() + 1;
                self.unreadable(start, end, format!("{} (character {at})", fault.what));
                self.at = end;
            }
            Err(_) => self.at += 1,
        }
    }

    /// Calls inside an object that is none, such as `{"tool_calls": [{…}, {…}]}`.
    fn nested_calls(&mut self, nested: &[std::ops::Range<usize>]) {
        let mut done = 0;
        for range in nested.iter().filter(|range| !range.is_empty()) {
            if range.start < done {
                continue;
            }
            let Ok(object) = json::object(self.text, range.start) else { continue };
            match recognise(&object.map) {
                Recognised::Call { name, args } => {
                    let raw = self.text[range.clone()].to_owned();
                    self.found.push(Found::Call(ToolCall { name, args, raw }));
                    done = range.end;
                }
                Recognised::Bad(reason) => {
                    self.unreadable(range.start, range.end, reason);
                    done = range.end;
                }
                Recognised::NoCall => {}
            }
        }
    }

    /// Where reading goes on after a call that cannot be read: at the next thing that begins like one.
    fn next_call_after(&self, start: usize) -> usize {
        let text = self.text;
        text[start + 1..]
            .match_indices(['{', '<'])
            .map(|(at, _)| start + 1 + at)
            .find(|at| {
                let rest = &text[*at..];
                begins_like_a_call(rest)
                    || [FUNCTION, WRAPPER, WRAPPER_END, THINK].iter().any(|tag| rest.starts_with(tag))
            })
            .unwrap_or(text.len())
    }

    /// At `<function=`.
    fn function(&mut self) {
        let start = self.at;
        match function(self.rest()) {
            Ok((name, args, len)) => {
                self.at += len;
                let raw = self.text[start..self.at].to_owned();
                self.found.push(Found::Call(ToolCall { name, args, raw }));
            }
            Err(reason) => {
                let rest = self.rest();
                let end = rest.find(FUNCTION_END).map(|at| at + FUNCTION_END.len());
                self.at += end.unwrap_or(rest.len());
                self.unreadable(start, self.at, reason);
            }
        }
    }
}

/// `<function=NAME><parameter=KEY>\nVALUE\n</parameter></function>`. The last tag may be missing where the
/// text or the wrapper ends. Returns the length as well.
fn function(text: &str) -> Result<(String, Map<String, Value>, usize), &'static str> {
    let body = &text[FUNCTION.len()..];
    let (name, mut rest) = body.split_once('>').ok_or("a > is missing after the function's name")?;
    let mut args = Map::new();
    loop {
        rest = rest.trim_start();
        if let Some(after) = rest.strip_prefix(FUNCTION_END) {
            rest = after;
            break;
        }
        if rest.is_empty() || rest.starts_with(WRAPPER_END) {
            break;
        }
        let parameter = rest.strip_prefix(PARAMETER).ok_or("a <parameter=...> or </function> is missing")?;
        let (key, after) = parameter.split_once('>').ok_or("a > is missing after a parameter's name")?;
        let (value, after) = after.split_once(PARAMETER_END).ok_or("a </parameter> is missing")?;
        // The template puts the value on lines of its own.
        let value = value.strip_prefix('\n').unwrap_or(value);
        let value = Value::from(value.strip_suffix('\n').unwrap_or(value));
        match args.get(key) {
            Some(other) if *other != value => return Err("a parameter is given twice"),
            _ => args.insert(key.trim().to_owned(), value),
        };
        rest = after;
    }
    Ok((name.trim().to_owned(), args, text.len() - rest.len()))
}

enum Recognised {
    Call { name: String, args: Map<String, Value> },
    Bad(&'static str),
    NoCall,
}

fn recognise(map: &Map<String, Value>) -> Recognised {
    let args = ["args", "arguments", "parameters"].iter().filter_map(|key| map.get(*key));
    let mut args = args.filter(|args| !args.is_null()).collect::<Vec<_>>();
    args.dedup();
    let name = match (map.get("tool"), map.get("name")) {
        (Some(Value::String(name)), _) => name,
        (Some(_), _) => return Recognised::Bad("\"tool\" is not a text"),
        (None, Some(Value::String(name))) if !args.is_empty() || tools::find(name).is_some() => name,
        (None, Some(_)) => return Recognised::NoCall,
        (None, None) if map.contains_key("args") => return Recognised::Bad("it names no tool"),
        (None, None) => return Recognised::NoCall,
    };
    let args = match args[..] {
        [] => Map::new(),
        [Value::Object(args)] => args.clone(),
        [Value::String(text)] => match whole_object(text) {
            Some(args) => args,
            None => return Recognised::Bad("\"args\" is not an object"),
        },
        [_] => return Recognised::Bad("\"args\" is not an object"),
        _ => return Recognised::Bad("it has arguments under two names"),
    };
    Recognised::Call { name: name.trim().to_owned(), args }
}

/// An object in a string, as other tool protocols send arguments.
fn whole_object(text: &str) -> Option<Map<String, Value>> {
    let text = text.trim();
    let object = text.starts_with('{').then(|| json::object(text, 0).ok())??;
    (object.end == text.len() && !object.unclosed).then_some(object.map)
}

/// Whether a text that begins with `{` goes on like a call: with one of its keys.
fn begins_like_a_call(text: &str) -> bool {
    let Some(inside) = text.strip_prefix('{') else { return false };
    let inside = inside.trim_start();
    let inside = inside.strip_prefix(['"', '\'']).unwrap_or(inside);
    ["tool", "name", "args", "arguments", "parameters"].iter().any(|key| {
        inside.strip_prefix(key).is_some_and(|after| {
            let after = after.strip_prefix(['"', '\'']).unwrap_or(after).trim_start();
            after.starts_with(':')
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Calls as `name{args}`, unreadable ones as `! reason`.
    fn calls(text: &str) -> Vec<String> {
        parse_turn(text, false).found.iter().map(show).collect()
    }

    fn show(found: &Found) -> String {
        match found {
            Found::Call(call) => format!("{}{}", call.name, Value::Object(call.args.clone())),
            Found::Unreadable { reason, .. } => format!("! {reason}"),
        }
    }

    const DESCRIBE: &str = r#"describe_table{"table_name":"users"}"#;

    #[test]
    fn the_trained_form() {
        let turn = parse_turn(
            "I should look.\n</think>\n\n{\"tool\": \"list_tables\"}\n{\"tool\": \"describe_table\", \"args\": \
             {\"table_name\": \"users\"}}\n{\"tool\": \"list_tables\", \"args\": {}}",
            true,
        );
        assert_eq!(turn.think, "I should look.");
        assert!(!turn.unclosed_think);
        let shown: Vec<String> = turn.found.iter().map(show).collect();
        assert_eq!(shown, ["list_tables{}", DESCRIBE, "list_tables{}"]);
        let Found::Call(call) = &turn.found[1] else { panic!() };
        assert_eq!(call.raw, r#"{"tool": "describe_table", "args": {"table_name": "users"}}"#);
    }

    #[test]
    fn wrappings_are_seen_through() {
        for text in [
            r#"{"tool": "describe_table", "args": {"table_name": "users"}}"#,
            r#"{"args": {"table_name": "users"}, "tool": "describe_table"}"#,
            r#"{"name": "describe_table", "arguments": {"table_name": "users"}}"#,
            r#"{"name": "describe_table", "parameters": {"table_name": "users"}}"#,
            r#"{"tool": "describe_table", "name": "x", "args": {"table_name": "users"}}"#,
            r#"{"tool": "describe_table", "thought": {"a": 1}, "args": {"table_name": "users"}}"#,
            r#"{"tool": "describe_table", "args": {"table_name": "users"}, "arguments": null}"#,
            "```json\n{\"tool\": \"describe_table\", \"args\": {\"table_name\": \"users\"}}\n```",
            "```json\n{\"tool\": \"describe_table\", \"args\": {\"table_name\": \"users\"}\n```",
            "Let me look {here}: {\"tool\": \"describe_table\", \"args\": {\"table_name\": \"users\"}} and see.",
            "{'tool': 'describe_table', 'args': {'table_name': 'users',},}",
            "{\"tool\": \"describe_table\", \"args\": {\"table_name\": \"users\"}",
            "{\"tool\": \"describe_table\", \"args\": {\"table_name\": \"users\"}}}}",
            "{{\"tool\": \"describe_table\", \"args\": {\"table_name\": \"users\"}}}",
            "[{\"tool\": \"describe_table\", \"args\": {\"table_name\": \"users\"}}]",
            "{\"tool_calls\": [{\"tool\": \"describe_table\", \"args\": {\"table_name\": \"users\"}}]}",
            r#"{"type": "function", "function": {"name": "describe_table", "arguments": "{\"table_name\": \"users\"}"}}"#,
            "<tool_call>\n{\"name\": \"describe_table\", \"arguments\": {\"table_name\": \"users\"}}\n</tool_call>",
            "<tool_call>\n{\"name\": \"describe_table\", \"arguments\": {\"table_name\": \"users\"}\n</tool_call>",
            "<tool_call>\n<function=describe_table>\n<parameter=table_name>\nusers\n</parameter>\n</function>\n</tool_call>",
            "<tool_call>\n<function=describe_table>\n<parameter=table_name>\nusers\n</parameter>\n</tool_call>",
            "<function=describe_table><parameter=table_name>users</parameter></function>",
            "<function=describe_table><parameter=table_name>users</parameter>",
            "<think>{\"tool\": \"list_tables\"}</think>{\"tool\": \"describe_table\", \"args\": {\"table_name\": \"users\"}}",
            "</think></think>{\"tool\": \"describe_table\", \"args\": {\"table_name\": \"users\"}}<|im_end|>",
        ] {
            assert_eq!(calls(text), [DESCRIBE], "{text}");
        }
    }

    #[test]
    fn several_calls_keep_their_order_and_their_number() {
        let one = r#"{"tool": "list_tables"}"#;
        for text in [
            [one, one, one].concat(),
            [one, one, one].join("\n"),
            format!("[{one}, {one}, {one}]"),
            format!("1. {one}\n2. {one}\n3. {one}\nDone."),
            format!("<tool_call>{one}</tool_call>\n<tool_call>{one}{one}</tool_call>"),
            format!("{one}<function=list_tables></function>{{\"calls\": [{one}]}}"),
            format!("{{\"tool\": \"list_tables\"\n{one}\n{{\"tool\": \"list_tables\""),
        ] {
            assert_eq!(calls(&text), ["list_tables{}"; 3], "{text}");
        }
    }

    #[test]
    fn thinking_is_never_a_call() {
        let call = r#"{"tool": "list_tables"}"#;
        for (text, open, unclosed) in [
            (format!("I could {call}"), true, true),
            (format!("<think>I could {call}"), false, true),
            (format!(" \n<think>\nI could {call}\n</think> no."), true, false),
            (format!("I could {call}\n</think>\nno."), true, false),
            (format!("Well.</think>Hm. <think>{call}"), true, true),
            (format!("Well.</think>Hm. <think>{call}</think>."), true, false),
        ] {
            let turn = parse_turn(&text, open);
            assert_eq!((turn.found.len(), turn.unclosed_think), (0, unclosed), "{text}");
        }
    }

    #[test]
    fn a_tag_inside_a_text_is_a_text() {
        let text = r#"{"tool": "run_query", "args": {"sql": "SELECT '<think>', '</tool_call>{'"}}"#;
        assert_eq!(calls(text), [r#"run_query{"sql":"SELECT '<think>', '</tool_call>{'"}"#]);
        // … and a call quoted in a text is no call.
        assert_eq!(calls(r#"{"note": "try {'tool': 'list_tables'}"}"#), Vec::<String>::new());
    }

    #[test]
    fn prose_is_no_call() {
        for text in [
            "",
            "I do not know.",
            "SELECT 1",
            "```sql\nSELECT 1\n```",
            "run_query(sql=\"SELECT 1\")",
            "{}",
            r#"{"sql": "SELECT 1"}"#,
            r#"{"name": "Bob", "age": 3}"#,
            r#"{"name": 7}"#,
            "a < b and {c",
            "{\"open\": 1\n",
            "<b>bold</b>",
        ] {
            assert_eq!(calls(text), Vec::<String>::new(), "{text}");
        }
    }

    #[test]
    fn a_broken_call_is_reported_and_the_next_one_found() {
        let good = r#"{"tool": "list_tables"}"#;
        for (broken, reason) in [
            (
                r#"{"tool": "run_query", "args": {"sql": "SELECT "a" FROM t"}}"#,
                "a , or a } is missing after a value (character 48)",
            ),
            (r#"{"tool": "run_query", "args": {"sql": "SELECT 1}}"#, "a text is not closed"),
            (
                r#"{"tool": "run_query", "args": {"sql": "é", x}}"#,
                "a quoted key or a } is missing (character 44)",
            ),
            (r#"{tool: "run_query"}"#, "a quoted key or a } is missing (character 2)"),
            (r#"{"tool": 5, "args": {}}"#, "\"tool\" is not a text"),
            (r#"{"tool": "a", "tool": "b"}"#, "a key is given twice"),
            (r#"{"args": {"sql": "SELECT 1"}}"#, "it names no tool"),
            (r#"{"tool": "run_query", "args": ["SELECT 1"]}"#, "\"args\" is not an object"),
            (r#"{"tool": "run_query", "args": "SELECT 1"}"#, "\"args\" is not an object"),
            (
                r#"{"tool": "run_query", "args": {"sql": "a"}, "arguments": {"sql": "b"}}"#,
                "it has arguments under two names",
            ),
            ("<tool_call>list_tables()</tool_call>", "there is no JSON call in it"),
            ("<tool_call>list_tables()", "there is no JSON call in it"),
            ("<function=run_query><parameter=sql>SELECT 1</function>", "a </parameter> is missing"),
            ("<function=run_query>SELECT 1</function>", "a <parameter=...> or </function> is missing"),
            (
                "<function=f><parameter=a>1</parameter><parameter=a>2</parameter></function>",
                "a parameter is given twice",
            ),
        ] {
            let shown = calls(broken);
            assert_eq!(shown.len(), 1, "{broken}: {shown:?}");
            assert!(shown[0].starts_with(&format!("! {reason}")), "{broken}: {shown:?}");
            // A quote that is not closed may swallow what follows on its line; anything else must not.
            let both = calls(&format!("{broken}\n<tool_call>{good}</tool_call>"));
            assert_eq!(both.last().map(String::as_str), Some("list_tables{}"), "{broken}: {both:?}");
            assert_eq!(both.len(), 2, "{broken}: {both:?}");
        }
    }

    #[test]
    fn what_could_not_be_read_is_kept() {
        let turn = parse_turn("x {\"tool\": \"a\" \"b\"} \n{\"tool\": \"list_tables\"}", false);
        let Found::Unreadable { raw, .. } = &turn.found[0] else { panic!("{turn:?}") };
        assert_eq!(raw, "{\"tool\": \"a\" \"b\"}");
    }

    #[test]
    fn a_text_being_written_can_be_split() {
        let split = split_think("still thin", true);
        assert_eq!((split.think, split.rest, split.unclosed), ("still thin", "", true));
        let split = split_think("done</think>\n{\"to", true);
        assert_eq!((split.think, split.rest, split.unclosed), ("done", "\n{\"to", false));
        let split = split_think("{\"to", false);
        assert_eq!((split.think, split.rest, split.unclosed), ("", "{\"to", false));
    }

    #[test]
    fn a_long_text_of_openings_takes_linear_time() {
        for piece in [
            "{",
            "{\"a\":",
            "{\"tool\":",
            "{'a':[",
            "<",
            "<think>",
            "<function=",
            "<tool_call>",
            "{\"tool\": \"x",
        ] {
            let text = piece.repeat(200_000 / piece.len());
            let turn = parse_turn(&text, false);
            assert!(turn.found.len() <= text.len());
        }
    }
}
