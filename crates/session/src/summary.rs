//! A tool's answer in a few words, for a line of a terminal or a page.

use glowworm_agent::tools::{
    DESCRIBE_TABLE, DISTINCT_VALUES, FOREIGN_KEYS, JOIN_PATH, LIST_TABLES, RUN_QUERY, SAMPLE_ROWS,
};
use glowworm_agent::{ToolCall, ToolOutcome};

/// Longest summary, in characters.
const MOST: usize = 120;

/// What a call gave, in a few words: `11 names`, `3 columns`, `5 rows of more`, or the first line of an error.
///
/// It is told from the text that the model reads, so it works wherever a trace does. A cell that holds line breaks makes
/// the number of rows a guess.
pub fn summary(call: &ToolCall, outcome: &ToolOutcome) -> String {
    let text = outcome.text.as_str();
    // A result that was too long ends by saying so, in the middle of whatever it was.
    let (text, cut) = match text.rsplit_once('\n') {
        Some((shown, note)) if note.starts_with("... (result cut at ") => (shown, " of more"),
        _ => (text, ""),
    };
    let lines = if text.is_empty() { 0 } else { text.lines().count() };
    let short = match call.name.as_str() {
        _ if outcome.is_error => text.lines().next().unwrap_or("Error").to_owned(),
        LIST_TABLES => count(lines, "name", cut),
        DESCRIBE_TABLE => match columns(text) {
            Some(columns) => count(columns, "column", cut),
            None => "a definition".to_owned(),
        },
        FOREIGN_KEYS if text == "None" => "no keys".to_owned(),
        FOREIGN_KEYS => count(lines, "key", cut),
        JOIN_PATH => text.lines().next().unwrap_or_default().to_owned(),
        DISTINCT_VALUES => match text.strip_suffix("\n...") {
            Some(shown) => count(shown.lines().count(), "value", " of more"),
            None => count(lines, "value", cut),
        },
        SAMPLE_ROWS | RUN_QUERY => rows(text, cut),
        _ => count(text.len(), "byte", ""),
    };
    let shown: String = short.chars().take(MOST).collect();
    if shown.len() < short.len() { shown + "…" } else { shown }
}

fn count(number: usize, noun: &str, more: &str) -> String {
    match number {
        0 => format!("no {noun}s"),
        1 => format!("1 {noun}{more}"),
        _ => format!("{number} {noun}s{more}"),
    }
}

/// Rows under a header; a single value is shown itself.
fn rows(text: &str, cut: &str) -> String {
    let (shown, more) = match text.rsplit_once('\n') {
        Some((shown, note)) if note.starts_with("... (showing first ") => (shown, " of more"),
        _ => (text, cut),
    };
    let number = shown.lines().count().saturating_sub(1);
    match shown.lines().nth(1) {
        Some(value) if number == 1 && !shown.contains(" | ") => format!("1 row: {value}"),
        _ => count(number, "row", more),
    }
}

/// Columns of a `CREATE TABLE` statement: its parts between the outermost commas that are no constraints.
fn columns(sql: &str) -> Option<usize> {
    let (_, body) = sql.split_once('(')?;
    let mut depth = 0usize;
    let mut quote = None;
    let mut parts = vec![String::new()];
    for letter in body.chars() {
        if let Some(end) = quote {
            quote = (letter != end).then_some(end);
        } else {
            match letter {
                '\'' | '"' | '`' => quote = Some(letter),
                '[' => quote = Some(']'),
                '(' => depth += 1,
                ')' if depth == 0 => break,
                ')' => depth -= 1,
                ',' if depth == 0 => {
                    parts.push(String::new());
                    continue;
                }
                _ => {}
            }
        }
        parts.last_mut()?.push(letter);
    }
    const CONSTRAINTS: [&str; 5] = ["PRIMARY", "FOREIGN", "UNIQUE", "CHECK", "CONSTRAINT"];
    let is_column = |part: &&String| {
        let word = part.split(|c: char| !(c.is_alphanumeric() || c == '_')).find(|word| !word.is_empty());
        let quoted = part.trim_start().starts_with(['"', '`', '[', '\'']);
        !part.trim().is_empty()
            && (quoted || !word.is_some_and(|word| CONSTRAINTS.iter().any(|c| c.eq_ignore_ascii_case(word))))
    };
    Some(parts.iter().filter(is_column).count())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(name: &str, text: &str) -> String {
        let call = ToolCall { name: name.into(), args: Default::default(), raw: String::new() };
        summary(&call, &ToolOutcome::ok(text))
    }

    #[test]
    fn counts_in_words() {
        assert_eq!(of(LIST_TABLES, "Album\nArtist"), "2 names");
        assert_eq!(of(LIST_TABLES, ""), "no names");
        assert_eq!(of(FOREIGN_KEYS, "None"), "no keys");
        assert_eq!(of(FOREIGN_KEYS, "a.b -> c.d"), "1 key");
        assert_eq!(of(DISTINCT_VALUES, "a\nb\n..."), "2 values of more");
        assert_eq!(of(JOIN_PATH, "a -> b\na.x = b.y"), "a -> b");
        assert_eq!(of(LIST_TABLES, "a\nb\n... (result cut at 3 of 30 bytes)"), "2 names of more");
    }

    #[test]
    fn rows_and_a_single_value() {
        assert_eq!(of(RUN_QUERY, "COUNT(*)\n347"), "1 row: 347");
        assert_eq!(of(RUN_QUERY, "a | b\n1 | 2"), "1 row");
        assert_eq!(of(RUN_QUERY, "a | b"), "no rows");
        assert_eq!(
            of(RUN_QUERY, "a\n1\n2\n3\n4\n5\n... (showing first 5 rows; more rows exist)"),
            "5 rows of more"
        );
    }

    #[test]
    fn columns_of_odd_statements() {
        let table = |body: &str| of(DESCRIBE_TABLE, &format!("CREATE TABLE t ({body})"));
        assert_eq!(table("a INTEGER PRIMARY KEY, b NUMERIC(10,2), c TEXT DEFAULT ','"), "3 columns");
        assert_eq!(
            table("a, \"x,(y\" TEXT, [b,c], PRIMARY KEY (a), FOREIGN KEY (a) REFERENCES t(b)"),
            "3 columns"
        );
        assert_eq!(table("\"primary\" INT, check_date TEXT, CHECK (a > 1)"), "2 columns");
        assert_eq!(of(DESCRIBE_TABLE, "CREATE VIEW v AS SELECT 1"), "a definition");
    }

    #[test]
    fn an_error_is_its_first_line_cut() {
        let call = ToolCall { name: RUN_QUERY.into(), args: Default::default(), raw: String::new() };
        assert_eq!(
            summary(&call, &ToolOutcome::error("Error: no such table: x\nSimilar names: y")),
            "Error: no such table: x"
        );
        assert_eq!(summary(&call, &ToolOutcome::error("é".repeat(500))).chars().count(), MOST + 1);
    }
}
