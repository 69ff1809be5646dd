//! Reading the SQL out of a final answer.
//!
//! The final turn asks for nothing but the query, and mostly gets it: as bare text over several lines.
//! But a model that has called tools for six turns may also call `submit_sql` once more, or explain
//! itself around a fence. In order, the answer is:
//!
//! 1. the query of the first readable `submit_sql` call, else of the last `run_query` call, else of a
//!    bare `{"sql": …}` object;
//! 2. the last fenced block that begins like a query;
//! 3. the text from the first line that begins like a query, else from where a query begins inside a
//!    line (`The query is: SELECT …`).
//!
//! Of 2 and 3 the first statement counts, without its semicolon. Of 3 the part ends at a blank line when
//! what follows does not go on like SQL. What stands inside `<think>` is no answer.

use serde_json::Value;

use crate::json;
use crate::parse::{Found, parse_turn, split_think};
use crate::tools::{RUN_QUERY, SUBMIT_SQL, is_blank};

/// The SQL of a final answer; none where there is nothing that could be a query.
pub fn final_sql(text: &str, think_open: bool) -> Option<String> {
    let rest = without_think(split_think(text, think_open).rest);
    let rest = rest.trim().trim_end_matches("<|im_end|>").trim_end_matches("<|endoftext|>").trim();
    called(rest)
        .or_else(|| fenced(rest))
        .or_else(|| bare(rest).map(str::to_owned))
        .filter(|sql| !is_blank(sql))
}

/// Removes later think blocks; one that is not closed reaches to the end.
fn without_think(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, inside)) = rest.split_once("<think>") {
        out.push_str(before);
        rest = inside.split_once("</think>").map_or("", |(_, after)| after);
    }
    out.push_str(rest);
    out
}

/// The query in a call, or in an object with nothing but a query.
fn called(text: &str) -> Option<String> {
    let calls: Vec<_> = parse_turn(text, false)
        .found
        .into_iter()
        .filter_map(|found| match found {
            Found::Call(call) => Some(call),
            Found::Unreadable { .. } => None,
        })
        .collect();
    let query_of = |name: &str| {
        calls
            .iter()
            .filter(|call| call.name == name)
            .filter_map(|call| call.text("sql").filter(|sql| !is_blank(sql)))
            .collect::<Vec<_>>()
    };
    let submitted = query_of(SUBMIT_SQL).first().copied().map(str::to_owned);
    submitted.or_else(|| query_of(RUN_QUERY).last().copied().map(str::to_owned)).or_else(|| {
        let object = json::object(text, text.find('{')?).ok()?;
        let only = object.map.len() == 1 && calls.is_empty();
        let sql = ["sql", "query"].iter().find_map(|key| object.map.get(*key)).and_then(Value::as_str);
        sql.filter(|_| only).map(str::to_owned)
    })
}

/// The last fenced block that begins like a query. A fence that is not closed reaches to the end.
fn fenced(text: &str) -> Option<String> {
    let mut blocks = text.split("```").skip(1).step_by(2).collect::<Vec<_>>();
    blocks.reverse();
    blocks.into_iter().find_map(|block| {
        // The first line may name the language, also where the query follows on the same line.
        let code = block.trim_start();
        let word = code.len() - code.trim_start_matches(|c: char| c.is_ascii_alphanumeric()).len();
        let code = match code[..word].to_ascii_lowercase().as_str() {
            "sql" | "sqlite" | "sqlite3" => &code[word..],
            _ => code,
        };
        begins_like_a_query(code).then(|| first_statement(code).to_owned())
    })
}

/// A query with or without prose around it.
fn bare(text: &str) -> Option<&str> {
    let text = text.split("```").find(|part| !part.trim().is_empty())?;
    let start = line_start(text, true).or_else(|| line_start(text, false)).or_else(|| inline_start(text))?;
    let sql = &text[start..];
    // In `…`, "…" or **…** the closing mark is not part of the query.
    let sql = match text[..start].chars().next_back().filter(|c| matches!(c, '`' | '"' | '\'' | '*')) {
        Some(mark) => {
            let inner = sql.trim_end().trim_end_matches(['.', ';']);
            inner.strip_suffix(mark).map_or(sql, |inner| inner.trim_end_matches(mark))
        }
        None => sql,
    };
    Some(first_statement(before_prose(sql)))
}

fn line_start(text: &str, upper: bool) -> Option<usize> {
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let code = line.trim_start_matches(|c: char| c.is_whitespace() || matches!(c, '`' | '*' | '"' | '>'));
        let start = at + line.len() - code.len();
        let word = query_word(&text[start..]);
        if word.is_some_and(|word| !upper || word.chars().all(|c| c.is_ascii_uppercase())) {
            return Some(start);
        }
        at += line.len();
    }
    None
}

/// The first place inside a line where a query begins: in capitals anywhere, otherwise after a colon.
fn inline_start(text: &str) -> Option<usize> {
    let capitals = ["SELECT", "WITH", "VALUES"].iter().flat_map(|word| text.match_indices(word)).filter_map(
        |(at, _)| {
            let apart = text[..at].chars().next_back().is_none_or(|c| !c.is_alphanumeric() && c != '_');
            (apart && begins_like_a_query(&text[at..])).then_some(at)
        },
    );
    capitals.min().or_else(|| {
        text.match_indices(':').find_map(|(at, _)| {
            let after = text[at + 1..].trim_start_matches([' ', '`', '"', '*']);
            begins_like_a_query(after).then(|| text.len() - after.len())
        })
    })
}

/// Whether a text begins with a statement that returns rows, comments passed over.
fn begins_like_a_query(text: &str) -> bool {
    query_word(text).is_some()
}

/// The word with which it does.
fn query_word(text: &str) -> Option<&str> {
    let mut rest = text.trim_start();
    loop {
        rest = if let Some(comment) = rest.strip_prefix("--") {
            comment.split_once('\n').map_or("", |(_, after)| after)
        } else if let Some(comment) = rest.strip_prefix("/*") {
            comment.split_once("*/").map_or("", |(_, after)| after)
        } else {
            break;
        }
        .trim_start();
    }
    let (word, after) = first_word(rest);
    let query = match word.to_ascii_lowercase().as_str() {
        "select" => after.starts_with(|c: char| !c.is_alphanumeric() && c != ':'),
        "values" => after.trim_start().starts_with('('),
        "with" => begins_like_a_table_expression(after),
        _ => false,
    };
    query.then_some(word)
}

/// `[RECURSIVE] name [(columns)] AS …`, which tells the SQL word "with" from the English one.
fn begins_like_a_table_expression(text: &str) -> bool {
    let mut rest = text.trim_start();
    let (word, after) = first_word(rest);
    if word.eq_ignore_ascii_case("recursive") {
        rest = after.trim_start();
    }
    let after_name = match rest.chars().next() {
        Some(quote @ ('"' | '`')) => rest[1..].split_once(quote).map(|(_, after)| after),
        Some('[') => rest.split_once(']').map(|(_, after)| after),
        _ => Some(first_word(rest)).filter(|(word, _)| !word.is_empty()).map(|(_, after)| after),
    };
    let Some(mut rest) = after_name.map(str::trim_start) else { return false };
    if let Some(columns) = rest.strip_prefix('(') {
        let Some((_, after)) = columns.split_once(')') else { return false };
        rest = after.trim_start();
    }
    first_word(rest).0.eq_ignore_ascii_case("as")
}

fn first_word(text: &str) -> (&str, &str) {
    let end = text.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(text.len());
    text.split_at(end)
}

/// Up to the first semicolon that is not inside quotes, brackets or a comment.
fn first_statement(sql: &str) -> &str {
    let bytes = sql.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        let closing = match bytes[at] {
            b';' => return sql[..at].trim(),
            quote @ (b'\'' | b'"' | b'`') => Some((quote as char).to_string()),
            b'[' => Some("]".to_owned()),
            b'-' if bytes.get(at + 1) == Some(&b'-') => Some("\n".to_owned()),
            b'/' if bytes.get(at + 1) == Some(&b'*') => Some("*/".to_owned()),
            _ => None,
        };
        at += 1;
        if let Some(closing) = closing {
            match sql[at..].find(&closing) {
                Some(len) => at += len + closing.len(),
                // A quote that is never closed hides no semicolon: it is an apostrophe, or a mistake.
                None => continue,
            }
        }
    }
    sql.trim()
}

/// Up to the first blank line after which the text does not go on like SQL.
fn before_prose(sql: &str) -> &str {
    let mut at = 0;
    let mut blank_from = None;
    for line in sql.split_inclusive('\n') {
        if line.trim().is_empty() {
            blank_from = blank_from.or(Some(at));
        } else if let Some(end) = blank_from.take()
            && !continues(&sql[..end], line)
        {
            return &sql[..end];
        }
        at += line.len();
    }
    sql
}

fn continues(before: &str, line: &str) -> bool {
    const WORDS: [&str; 36] = [
        "AND",
        "AS",
        "CASE",
        "CROSS",
        "ELSE",
        "END",
        "EXCEPT",
        "FROM",
        "FULL",
        "GROUP",
        "HAVING",
        "IN",
        "INNER",
        "INTERSECT",
        "IS",
        "JOIN",
        "LEFT",
        "LIKE",
        "LIMIT",
        "NATURAL",
        "NOT",
        "OFFSET",
        "ON",
        "OR",
        "ORDER",
        "OUTER",
        "OVER",
        "RIGHT",
        "SELECT",
        "THEN",
        "UNION",
        "USING",
        "VALUES",
        "WHEN",
        "WHERE",
        "WINDOW",
    ];
    let open = before.matches('(').count() > before.matches(')').count();
    let unfinished = before.trim_end().ends_with([',', '(', '=', '<', '>', '+', '-', '/', '|']);
    let line = line.trim_start();
    let (word, _) = first_word(line);
    // Prose begins with one capital; SQL is written in capitals, or without any.
    let keyword = WORDS.iter().any(|known| word == *known || word == known.to_ascii_lowercase());
    open || unfinished || keyword || line.starts_with(['(', ')', ',', ';']) || line.starts_with("--")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sql(text: &str) -> Option<String> {
        final_sql(text, false)
    }

    #[test]
    fn every_way_to_say_one_query() {
        for text in [
            "SELECT a FROM t",
            "SELECT a FROM t;",
            "  SELECT a FROM t ;\n\n",
            "```sql\nSELECT a FROM t;\n```",
            "```\nSELECT a FROM t\n```",
            "```sql SELECT a FROM t```",
            "```sql\nSELECT a FROM t",
            "SELECT a FROM t\n```",
            "Here it is:\n```SQL\nSELECT a FROM t;\n```\nIt reads a.",
            "First I tried\n```sql\nSELECT b FROM t\n```\nbut better is\n```sql\nSELECT a FROM t\n```",
            "The query is: SELECT a FROM t",
            "The query is `SELECT a FROM t`.",
            "The query is \"SELECT a FROM t\"",
            "**SELECT a FROM t**",
            "Select the rows like this:\nSELECT a FROM t",
            "SELECT a FROM t\n\nThis reads a; it doesn't count.",
            "With this query, all is well:\n\nSELECT a FROM t;\n\nIt's done.",
            "SELECT a FROM t<|im_end|>",
            "<think>SELECT b</think>SELECT a FROM t",
            "so <think>SELECT b</think>\nSELECT a FROM t",
            r#"{"tool": "submit_sql", "args": {"sql": "SELECT a FROM t"}}"#,
            r#"```json
{"tool": "submit_sql", "args": {"sql": "SELECT a FROM t"}}
```"#,
            r#"{"tool": "run_query", "args": {"sql": "SELECT b"}} {"tool": "submit_sql", "args": {"sql": "SELECT a FROM t"}}"#,
            r#"{"tool": "run_query", "args": {"sql": "SELECT b"}} {"tool": "run_query", "args": {"sql": "SELECT a FROM t"}}"#,
            r#"{"tool": "submit_sql", "args": {"sql": ""}}
SELECT a FROM t"#,
            r#"{"sql": "SELECT a FROM t"}"#,
            "SELECT a FROM t; SELECT b FROM t;",
        ] {
            assert_eq!(sql(text).as_deref(), Some("SELECT a FROM t"), "{text}");
        }
    }

    #[test]
    fn a_query_is_taken_whole() {
        for text in [
            "SELECT d.name,\n       COUNT(*) AS n\nFROM devices d\nJOIN logs l ON l.device_id = d.id\nGROUP BY d.name",
            "WITH x AS (SELECT 1 AS a)\nSELECT a FROM x",
            "with recursive x(n) as (select 1 union all select n + 1 from x limit 3)\nselect n from x",
            "WITH \"a b\" AS (SELECT 1),\n\ny AS (\n\nSELECT 2)\n\nSELECT * FROM y",
            "SELECT 'a;b', \"c;d\", [e;f], `g;h` -- one; two\n, 1 /* ; */ FROM t",
            "SELECT a\n\nFROM t\n\nWHERE b = 'it''s; fine'\n\nORDER BY a",
            "-- the answer\nSELECT a FROM t",
            "VALUES (1), (2)",
            "SELECT'x'",
            "SELECT*FROM t",
        ] {
            assert_eq!(sql(text).as_deref(), Some(text), "{text}");
            assert_eq!(sql(&format!("```sql\n{text};\n```")).as_deref(), Some(text), "{text}");
        }
    }

    #[test]
    fn no_query_is_no_answer() {
        for text in [
            "",
            "I cannot answer that.",
            ";;;",
            "```sql\n```",
            "With that, the values are selected.",
            "<think>SELECT 1",
            "<think>SELECT 1</think>",
            "DROP TABLE t",
            r#"{"tool": "list_tables"}"#,
            r#"{"tool": "submit_sql", "args": {}}"#,
        ] {
            assert_eq!(sql(text), None, "{text}");
        }
        assert_eq!(final_sql("SELECT 1 is what I think", true), None);
        assert_eq!(final_sql("hm</think>SELECT 1", true).as_deref(), Some("SELECT 1"));
    }

    #[test]
    fn a_failing_query_is_still_the_answer() {
        // Whether it runs is found out by running it; here it only has to be found.
        assert_eq!(sql("SELECT FROM WHERE").as_deref(), Some("SELECT FROM WHERE"));
        assert_eq!(sql("SELECT 'never closed; and on").as_deref(), Some("SELECT 'never closed"));
    }
}
