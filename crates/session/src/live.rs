//! A turn while it is being written: think text and the rest apart, calls as they are complete.

use glowworm_agent::parse::{Found, parse_turn, split_think};

use crate::events::{Event, Observer};

/// The tags that a piece of text may end inside of.
const THINK: &str = "<think>";
const THINK_END: &str = "</think>";

/// Follows the text of one turn.
pub(crate) struct Live {
    text: String,
    /// Whether the generation prompt has opened the think block.
    think_open: bool,
    /// Bytes of the think block and of the rest that were told.
    think_told: usize,
    rest_told: usize,
    calls_told: usize,
}

impl Live {
    pub(crate) fn new(think_open: bool) -> Self {
        Self { text: String::new(), think_open, think_told: 0, rest_told: 0, calls_told: 0 }
    }

    /// Takes the next piece of text and tells what it adds.
    pub(crate) fn push(&mut self, piece: &str, observer: &mut impl Observer) {
        if piece.is_empty() {
            return;
        }
        self.text.push_str(piece);
        let begun = self.text.trim_start();
        if !self.think_open && begun.len() < THINK.len() && THINK.starts_with(begun) {
            return; // it may become a think block
        }
        let split = split_think(&self.text, self.think_open);
        let think = match split.unclosed {
            true => &split.think[..split.think.len() - open_tag(split.think)],
            false => split.think,
        };
        if let Some(new) = think.get(self.think_told..).filter(|new| !new.is_empty()) {
            observer.event(Event::Think(new));
            self.think_told = think.len();
        }
        if let Some(new) = split.rest.get(self.rest_told..).filter(|new| !new.is_empty()) {
            observer.event(Event::Text(new));
            self.rest_told = split.rest.len();
            // Only these can end a call.
            if new.contains(['}', '>']) {
                let found = parse_turn(split.rest, false).found;
                let calls = found.iter().map_while(|found| match found {
                    Found::Call(call) => Some(call),
                    Found::Unreadable { .. } => None,
                });
                for (index, call) in calls.enumerate().skip(self.calls_told) {
                    observer.event(Event::CallWritten { index, call });
                    self.calls_told = index + 1;
                }
            }
        }
    }
}

/// Bytes at the end of `text` that may be the beginning of the end tag.
fn open_tag(text: &str) -> usize {
    (1..THINK_END.len()).rev().find(|length| text.ends_with(&THINK_END[..*length])).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Default)]
    struct Notes {
        think: String,
        text: String,
        calls: Vec<String>,
    }

    impl Observer for Notes {
        fn event(&mut self, event: Event<'_>) {
            match event {
                Event::Think(piece) => self.think.push_str(piece),
                Event::Text(piece) => self.text.push_str(piece),
                Event::CallWritten { index, call } => {
                    assert_eq!(index, self.calls.len());
                    self.calls.push(call.name.clone());
                }
                other => panic!("{other:?}"),
            }
        }
    }

    fn in_pieces(text: &str, size: usize, think_open: bool) -> Notes {
        let mut live = Live::new(think_open);
        let mut notes = Notes::default();
        let letters: Vec<char> = text.chars().collect();
        for piece in letters.chunks(size) {
            live.push(&piece.iter().collect::<String>(), &mut notes);
        }
        notes
    }

    #[test]
    fn however_a_turn_is_cut_the_same_is_told() {
        let turn = "<think>\nLook <b>\u{e9}</b>.\n</think>\n\n{\"tool\": \"list_tables\"}\n\
                    {\"tool\": \"run_query\", \"args\": {\"sql\": \"SELECT '}' AS a\"}}";
        for size in [1, 2, 3, 7, 1000] {
            let notes = in_pieces(turn, size, false);
            assert_eq!(notes.think, "\nLook <b>\u{e9}</b>.\n", "pieces of {size}");
            assert_eq!(notes.text, turn.split_once("</think>").unwrap().1);
            assert_eq!(notes.calls, ["list_tables", "run_query"]);
            let notes = in_pieces(turn.strip_prefix("<think>").unwrap(), size, true);
            assert_eq!(notes.think, "\nLook <b>\u{e9}</b>.\n");
            assert_eq!(notes.calls, ["list_tables", "run_query"]);
        }
    }

    #[test]
    fn a_turn_without_thinking_is_text() {
        let notes = in_pieces("<SELECT 1", 1, false);
        assert_eq!((notes.think.as_str(), notes.text.as_str()), ("", "<SELECT 1"));
    }

    #[test]
    fn a_call_inside_thinking_is_none() {
        let notes = in_pieces("{\"tool\": \"list_tables\"}", 4, true);
        assert_eq!(notes.calls.len(), 0);
        assert_eq!(notes.think, "{\"tool\": \"list_tables\"}");
    }
}
