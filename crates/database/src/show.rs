//! Rows and `CREATE` statements as text for the model, within a size.

use crate::{Rows, Value, python};

/// Rows as the tools show them: a line of column names, then a line for each of the first `shown` rows, names and
/// values joined with ` | `, values as Python's `str` writes them. No line break at the end.
///
/// A text of at most `limit` bytes is returned whole, whatever its values are. A larger one has its longest values cut,
/// all at the same length, each with a mark that tells how long it is; should there be too many values even so, the
/// text ends with a line that says where it was cut.
pub fn rows_text(rows: &Rows, shown: usize, limit: usize) -> String {
    let mut table: Vec<Vec<Cell>> = Vec::with_capacity(1 + shown.min(rows.rows.len()));
    table.push(rows.columns.iter().map(|name| Cell::text(name, limit)).collect());
    for row in rows.rows.iter().take(shown) {
        table.push(row.iter().map(|value| Cell::new(value, limit)).collect());
    }
    table_text(table, limit)
}

/// Values one a line, within a size as [`rows_text`].
pub(crate) fn lines_text<'v>(values: impl Iterator<Item = &'v Value>, limit: usize) -> String {
    table_text(values.map(|value| vec![Cell::new(value, limit)]).collect(), limit)
}

fn table_text(mut table: Vec<Vec<Cell>>, limit: usize) -> String {
    // Separators, and the bytes of the cells.
    let separators: usize = table.iter().map(|row| 3 * row.len().saturating_sub(1) + 1).sum();
    let total: usize = separators + table.iter().flatten().map(|cell| cell.text.len()).sum::<usize>();
    let whole = table.iter().flatten().all(|cell| cell.full == cell.text.len());
    if total <= limit + 1 && whole {
        return join(&table);
    }
    let cap = common_cap(&table, limit.saturating_sub(separators));
    for cell in table.iter_mut().flatten() {
        cell.cut(cap);
    }
    cut_text(join(&table), limit, limit)
}

/// `text` if it is at most `limit` bytes long; else its beginning, `keep` bytes at most, and a line that says so.
pub(crate) fn cut_text(mut text: String, limit: usize, keep: usize) -> String {
    let full = text.len();
    // Marks add a little to each cut cell: those are not cut again.
    if full <= limit + limit / 8 + 64 {
        return text;
    }
    text.truncate(floor_boundary(&text, keep));
    text.push_str(&format!("\n... (result cut at {} of {full} bytes)", text.len()));
    text
}

/// A `CREATE` statement on one line: runs of white space become one space, none after `(` or before `)`.
pub fn one_line(sql: &str) -> String {
    let mut line = String::with_capacity(sql.len());
    for c in sql.chars() {
        if python::is_space(c) {
            if !line.ends_with([' ', '(']) {
                line.push(' ');
            }
        } else {
            if c == ')' && line.ends_with(' ') {
                line.pop();
            }
            line.push(c);
        }
    }
    line
}

/// One cell's text: the whole, or the beginning of a value that is longer than any text could show.
struct Cell {
    text: String,
    /// Bytes of the whole text.
    full: usize,
    /// How long the value is, in words, for the mark.
    measure: String,
}

impl Cell {
    fn text(text: &str, limit: usize) -> Cell {
        let end = floor_boundary(text, limit);
        let measure = if end < text.len() || text.len() > 64 {
            format!("{} characters", text.chars().count())
        } else {
            String::new()
        };
        Cell { text: text[..end].to_owned(), full: text.len(), measure }
    }

    fn new(value: &Value, limit: usize) -> Cell {
        match value {
            Value::Text(text) => Cell::text(text, limit),
            Value::Blob(bytes) => {
                // A byte is at least one character of the text, so this much of it fills any result.
                let text = python::bytes_repr(&bytes[..bytes.len().min(limit)]);
                let full = if bytes.len() > limit { usize::MAX } else { text.len() };
                Cell { text, full, measure: format!("{} bytes", bytes.len()) }
            }
            other => {
                let text = python::str(other);
                Cell { full: text.len(), text, measure: String::new() }
            }
        }
    }

    fn cut(&mut self, cap: usize) {
        if self.full <= cap {
            return;
        }
        self.text.truncate(floor_boundary(&self.text, cap));
        self.text.push_str(&format!("... [cut, {} in all]", self.measure));
    }
}

/// The length to cut all cells at so that together they take up about `room` bytes: short cells leave what they do
/// not need to the long ones. Never under 64 bytes, or the beginning of a value could not be recognised.
fn common_cap(table: &[Vec<Cell>], room: usize) -> usize {
    let mut lengths: Vec<usize> = table.iter().flatten().map(|cell| cell.full).collect();
    lengths.sort_unstable();
    let mut left = room;
    for (i, &length) in lengths.iter().enumerate() {
        let share = left / (lengths.len() - i);
        if length > share {
            return share.max(64);
        }
        left -= length;
    }
    usize::MAX
}

fn join(table: &[Vec<Cell>]) -> String {
    let lines: Vec<String> = table
        .iter()
        .map(|row| row.iter().map(|cell| cell.text.as_str()).collect::<Vec<_>>().join(" | "))
        .collect();
    lines.join("\n")
}

/// The largest length up to `limit` at which `text` can be cut without splitting a character.
fn floor_boundary(text: &str, limit: usize) -> usize {
    let mut end = limit.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    end
}
