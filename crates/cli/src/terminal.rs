//! Writing for people: colour where there is a terminal that wants it, and never a control character from outside.

use std::borrow::Cow;
use std::io::Write;

use console::Style;

use crate::error::{Error, Result};

/// How things look on standard error.
pub fn style() -> Style {
    Style::new().for_stderr()
}

/// Writes to standard error. When nobody can see it any more the work goes on.
pub fn note(text: &str) {
    let _ = writeln!(std::io::stderr(), "{text}");
}

/// Writes a notice: something that the user should know and that stops nothing.
pub fn notice(text: &str) {
    note(&format!("{} {text}", style().yellow().apply_to("note:")));
}

/// Writes an error.
pub fn error(text: &str) {
    note(&format!("{} {text}", style().red().bold().apply_to("error:")));
}

/// Writes a line of the result.
///
/// # Errors
/// When standard output is closed.
pub fn print(text: &str) -> Result<()> {
    writeln!(std::io::stdout(), "{text}").map_err(Error::Output)
}

/// Text from a model or a database with everything made visible that a terminal would act upon: control characters,
/// the escapes of colours and titles among them, and the marks that turn the direction of writing. Line breaks and tabs
/// are kept where `lines` is set.
pub fn printable(text: &str, lines: bool) -> Cow<'_, str> {
    let kept = |letter: char| lines && matches!(letter, '\n' | '\t');
    if text.chars().all(|letter| kept(letter) || !is_active(letter)) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 8);
    for letter in text.chars() {
        match letter {
            _ if kept(letter) || !is_active(letter) => shown.push(letter),
            // Unicode has pictures of these.
            '\0'..='\u{1f}' => shown.push(char::from_u32(0x2400 + u32::from(letter)).unwrap_or('\u{fffd}')),
            '\u{7f}' => shown.push('\u{2421}'),
            _ => shown.push_str(&format!("\\u{{{:x}}}", u32::from(letter))),
        }
    }
    Cow::Owned(shown)
}

fn is_active(letter: char) -> bool {
    letter.is_control()
        || matches!(letter, '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_reaches_a_terminal_that_it_would_act_upon() {
        assert_eq!(printable("caf\u{e9} \u{4e2d}", false), "caf\u{e9} \u{4e2d}");
        assert_eq!(
            printable("\u{1b}[31mred\u{1b}]0;title\u{7}", false),
            "\u{241b}[31mred\u{241b}]0;title\u{2407}"
        );
        assert_eq!(printable("a\nb\tc\r", true), "a\nb\tc\u{240d}");
        assert_eq!(printable("a\nb", false), "a\u{240a}b");
        assert_eq!(printable("\u{9b}31m\u{202e}x\u{7f}", false), "\\u{9b}31m\\u{202e}x\u{2421}");
    }
}
