//! The value of one string literal.

use super::Fault;

/// Appends the value of a literal that begins on `line`.
pub(super) fn value(line: usize, prefix: &str, body: &str, out: &mut String) -> Result<(), Fault> {
    let has = |letter: char| prefix.chars().any(|c| c.eq_ignore_ascii_case(&letter));
    if has('b') {
        return Err(Fault::new(line, "a bytes literal is no text; write it without the b"));
    }
    if has('t') {
        return Err(Fault::new(line, "a template string is no text; write it without the t"));
    }
    let (raw, filled) = (has('r'), has('f'));
    let mut line = line;
    let mut rest = body;
    while let Some(letter) = rest.chars().next() {
        line += usize::from(letter == '\n');
        let after = rest.get(letter.len_utf8()..).unwrap_or_default();
        match letter {
            '\\' if !raw => {
                line += usize::from(after.starts_with('\n'));
                rest = escape(line, after, filled, out)?;
            }
            '{' | '}' if filled => {
                rest = after.strip_prefix(letter).ok_or_else(|| {
                    Fault::new(
                        line,
                        "an f-string with something to fill in cannot be read without running the file; put the \
                         finished text there",
                    )
                })?;
                out.push(letter);
            }
            _ => {
                out.push(letter);
                rest = after;
            }
        }
    }
    Ok(())
}

/// Appends what a backslash and the beginning of `rest` stand for; gives what follows.
fn escape<'s>(line: usize, rest: &'s str, filled: bool, out: &mut String) -> Result<&'s str, Fault> {
    let Some(letter) = rest.chars().next() else {
        return Err(Fault::new(line, "a backslash ends the string"));
    };
    let after = rest.get(letter.len_utf8()..).unwrap_or_default();
    let plain = match letter {
        '\n' => return Ok(after),
        '\\' | '\'' | '"' => letter,
        'a' => '\u{7}',
        'b' => '\u{8}',
        'f' => '\u{c}',
        'n' => '\n',
        'r' => '\r',
        't' => '\t',
        'v' => '\u{b}',
        '0'..='7' => return octal(line, rest, out),
        'x' => return hex(line, 'x', 2, after, out),
        'u' => return hex(line, 'u', 4, after, out),
        'U' => return hex(line, 'U', 8, after, out),
        'N' => {
            return Err(Fault::new(
                line,
                "a character given by its name (\\N{…}) is not read; write the character itself",
            ));
        }
        // The brace still means what it means without the backslash.
        '{' | '}' if filled => {
            out.push('\\');
            return Ok(rest);
        }
        // Python keeps the backslash of an escape that it does not know.
        _ => {
            out.push('\\');
            letter
        }
    };
    out.push(plain);
    Ok(after)
}

/// Up to three octal digits.
fn octal<'s>(line: usize, rest: &'s str, out: &mut String) -> Result<&'s str, Fault> {
    let length = rest.bytes().take(3).take_while(|byte| (b'0'..=b'7').contains(byte)).count();
    let (digits, after) = rest.split_at(length);
    push_code(line, u32::from_str_radix(digits, 8).ok(), out)?;
    Ok(after)
}

/// Exactly `count` hexadecimal digits.
fn hex<'s>(line: usize, kind: char, count: usize, rest: &'s str, out: &mut String) -> Result<&'s str, Fault> {
    let digits = rest.get(..count).filter(|digits| digits.bytes().all(|byte| byte.is_ascii_hexdigit()));
    let Some(digits) = digits else {
        return Err(Fault::new(line, format!("\\{kind} needs {count} hexadecimal digits")));
    };
    push_code(line, u32::from_str_radix(digits, 16).ok(), out)?;
    Ok(rest.get(count..).unwrap_or_default())
}

fn push_code(line: usize, code: Option<u32>, out: &mut String) -> Result<(), Fault> {
    // Python's strings may hold halves of surrogate pairs, text cannot.
    let letter = code.and_then(char::from_u32).ok_or_else(|| {
        Fault::new(line, "an escape stands for no character (half a surrogate pair, or above U+10FFFF)")
    })?;
    out.push(letter);
    Ok(())
}
