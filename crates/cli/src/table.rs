//! A result as a table for people: aligned, wide cells cut, NULL apart from every text.

use console::{measure_text_width, truncate_str};
use glowworm_database::{Rows, Value, python};

use crate::terminal::printable;

/// Narrowest that a column is cut to.
const NARROWEST: usize = 8;
/// Widest that a column is, whatever room there is.
const WIDEST: usize = 60;
/// Between two columns.
const GAP: &str = "  ";

struct Cell {
    text: String,
    null: bool,
}

/// The table, a line each, no wider than `width` where the columns allow it. `null` is how NULL is shown.
pub fn table(rows: &Rows, width: usize, null: &str) -> Vec<String> {
    let names: Vec<String> = rows.columns.iter().map(|name| printable(name, false).into_owned()).collect();
    let cells: Vec<Vec<Cell>> =
        rows.rows.iter().map(|row| row.iter().map(|value| cell(value, null)).collect()).collect();
    let widths = widths(&names, &cells, width);
    let right: Vec<bool> = (0..names.len()).map(|column| is_number(rows, column)).collect();

    let line = |texts: &mut dyn Iterator<Item = &str>| {
        let mut line = String::new();
        for (column, text) in texts.enumerate() {
            let Some(&width) = widths.get(column) else { break };
            let text = truncate_str(text, width, "…");
            let pad = " ".repeat(width.saturating_sub(measure_text_width(&text)));
            if column > 0 {
                line.push_str(GAP);
            }
            if right.get(column).copied().unwrap_or(false) {
                line.push_str(&pad);
                line.push_str(&text);
            } else {
                line.push_str(&text);
                line.push_str(&pad);
            }
        }
        line.truncate(line.trim_end().len());
        line
    };
    let mut lines = vec![line(&mut names.iter().map(String::as_str))];
    lines.push(widths.iter().map(|width| "─".repeat(*width)).collect::<Vec<_>>().join(GAP));
    for row in &cells {
        lines.push(line(&mut row.iter().map(|cell| cell.text.as_str())));
    }
    lines
}

/// A value as it is shown: NULL in words of its own, and the texts that could be taken for it, or for nothing, in quotes.
fn cell(value: &Value, null: &str) -> Cell {
    let text = match value {
        Value::Null => return Cell { text: null.to_owned(), null: true },
        Value::Text(text) if text.is_empty() || text.eq_ignore_ascii_case("null") => format!("'{text}'"),
        Value::Text(text) => printable(text, false).into_owned(),
        Value::Blob(bytes) => {
            let start: String = bytes.iter().take(8).map(|byte| format!("{byte:02x}")).collect();
            let more = if bytes.len() > 8 { "…" } else { "" };
            format!("x'{start}{more}' ({} bytes)", bytes.len())
        }
        number => python::str(number),
    };
    Cell { text, null: false }
}

fn is_number(rows: &Rows, column: usize) -> bool {
    let mut values =
        rows.rows.iter().filter_map(|row| row.get(column)).filter(|value| **value != Value::Null);
    let number = |value: &Value| matches!(value, Value::Integer(_) | Value::Real(_));
    values.next().is_some_and(number) && values.all(number)
}

/// Widths of the columns: each as wide as its widest cell, the widest ones cut until the table fits.
fn widths(names: &[String], cells: &[Vec<Cell>], width: usize) -> Vec<usize> {
    let mut widths: Vec<usize> = names
        .iter()
        .enumerate()
        .map(|(column, name)| {
            let texts = cells.iter().filter_map(|row| row.get(column));
            let widest = texts.map(|cell| if cell.null { 4 } else { measure_text_width(&cell.text) });
            widest.max().unwrap_or(0).max(measure_text_width(name)).clamp(1, WIDEST)
        })
        .collect();
    let gaps = GAP.len() * widths.len().saturating_sub(1);
    while widths.iter().sum::<usize>() + gaps > width {
        match widths.iter_mut().max().filter(|widest| **widest > NARROWEST) {
            Some(widest) => *widest -= 1,
            None => break,
        }
    }
    widths
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(columns: &[&str], rows: Vec<Vec<Value>>) -> Rows {
        Rows { columns: columns.iter().map(|name| (*name).to_owned()).collect(), rows, more: false }
    }

    #[test]
    fn numbers_stand_right_and_null_is_no_text() {
        let rows = rows(
            &["Name", "n"],
            vec![
                vec![Value::Text("Queen".into()), Value::Integer(7)],
                vec![Value::Null, Value::Real(12.5)],
                vec![Value::Text("NULL".into()), Value::Null],
                vec![Value::Text(String::new()), Value::Integer(-1)],
            ],
        );
        let shown = table(&rows, 80, "NULL");
        assert_eq!(
            shown,
            ["Name       n", "──────  ────", "Queen      7", "NULL    12.5", "'NULL'  NULL", "''        -1"]
        );
    }

    #[test]
    fn wide_cells_are_cut_and_control_characters_shown() {
        let long = "x".repeat(200);
        let rows = rows(
            &["a", "b"],
            vec![
                vec![Value::Text(long), Value::Text("\u{1b}[2J中文\n".into())],
                vec![Value::Blob(vec![137, 80]), Value::Integer(1)],
            ],
        );
        let shown = table(&rows, 30, "NULL");
        assert!(shown.iter().all(|line| measure_text_width(line) <= 30), "{shown:#?}");
        assert!(shown[2].contains("␛[2J中文␊") && shown[2].contains('…'), "{}", shown[2]);
        assert!(shown[3].starts_with("x'8950' (2 bytes)"), "{}", shown[3]);
    }

    #[test]
    fn no_rows_and_many_columns() {
        assert_eq!(table(&rows(&["a"], vec![]), 80, "NULL"), ["a", "─"]);
        let many: Vec<String> = (0..50).map(|i| format!("column_{i}")).collect();
        let names: Vec<&str> = many.iter().map(String::as_str).collect();
        let wide = table(&rows(&names, vec![vec![Value::Integer(1); 50]]), 80, "NULL");
        assert!(wide[0].contains("colu") && wide.len() == 3);
    }
}
