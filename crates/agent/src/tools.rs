//! The eight tools: their names, their arguments, and what is wrong with a call.
//!
//! The table is checked here and not where the tools run, so that every host answers a wrong call in the
//! same words, and a tool can rely on its arguments.

use serde_json::{Map, Value};

use crate::step::ToolCall;
use crate::texts::{Texts, fill};

/// Lists the tables.
pub const LIST_TABLES: &str = "list_tables";
/// Shows a table's `CREATE TABLE` statement.
pub const DESCRIBE_TABLE: &str = "describe_table";
/// Lists declared foreign keys.
pub const FOREIGN_KEYS: &str = "foreign_keys";
/// Finds the shortest chain of foreign keys between two tables.
pub const JOIN_PATH: &str = "join_path";
/// Shows some rows.
pub const SAMPLE_ROWS: &str = "sample_rows";
/// Shows a column's distinct values.
pub const DISTINCT_VALUES: &str = "distinct_values";
/// Runs a query.
pub const RUN_QUERY: &str = "run_query";
/// Answers, and ends the episode.
pub const SUBMIT_SQL: &str = "submit_sql";

/// What an argument must be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ArgKind {
    /// A JSON string, of any length. (SQLite permits a table whose name is empty.)
    Text,
    /// A whole number of at least 1, also where it is written `5.0` or `"5"`.
    Count,
}

/// An argument of a tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ArgSpec {
    /// Its name.
    pub name: &'static str,
    /// Its type.
    pub kind: ArgKind,
    /// Whether a call without it is an error. A `null` counts as absent.
    pub required: bool,
}

/// A tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ToolSpec {
    /// Its name.
    pub name: &'static str,
    /// All arguments that it takes.
    pub args: &'static [ArgSpec],
}

const fn text(name: &'static str) -> ArgSpec {
    ArgSpec { name, kind: ArgKind::Text, required: true }
}

/// `limit` may be left out: the models usually give it, the built-in one never does, and what is meant
/// without it is clear enough for the tool to have a default.
const LIMIT: ArgSpec = ArgSpec { name: "limit", kind: ArgKind::Count, required: false };

/// All tools.
pub const TOOLS: [ToolSpec; 8] = [
    ToolSpec { name: LIST_TABLES, args: &[] },
    ToolSpec { name: DESCRIBE_TABLE, args: &[text("table_name")] },
    ToolSpec { name: FOREIGN_KEYS, args: &[ArgSpec { required: false, ..text("table_name") }] },
    ToolSpec { name: JOIN_PATH, args: &[text("table_a"), text("table_b")] },
    ToolSpec { name: SAMPLE_ROWS, args: &[text("table_name"), LIMIT] },
    ToolSpec { name: DISTINCT_VALUES, args: &[text("table_name"), text("column_name"), LIMIT] },
    ToolSpec { name: RUN_QUERY, args: &[text("sql")] },
    ToolSpec { name: SUBMIT_SQL, args: &[text("sql")] },
];

/// Finds a tool by its exact name.
pub fn find(name: &str) -> Option<&'static ToolSpec> {
    TOOLS.iter().find(|tool| tool.name == name)
}

impl ToolSpec {
    /// A call of this tool as it should be written, with `...` for texts.
    pub fn usage(&self) -> String {
        let args: Vec<String> = self
            .args
            .iter()
            .map(|arg| match arg.kind {
                ArgKind::Text => format!("\"{}\": \"...\"", arg.name),
                ArgKind::Count => format!("\"{}\": 5", arg.name),
            })
            .collect();
        if args.is_empty() {
            format!("{{\"tool\": \"{}\"}}", self.name)
        } else {
            format!("{{\"tool\": \"{}\", \"args\": {{{}}}}}", self.name, args.join(", "))
        }
    }

    /// Checks arguments and brings them into canonical form, in the order of the table.
    fn check(&self, args: &Map<String, Value>) -> Result<Map<String, Value>, String> {
        if let Some(extra) = args.keys().find(|key| self.args.iter().all(|arg| arg.name != key.as_str())) {
            return Err(if self.args.is_empty() {
                format!("takes no arguments, but {extra:?} is given")
            } else {
                format!("does not take {extra:?}")
            });
        }
        let mut canonical = Map::new();
        for arg in self.args {
            match args.get(arg.name).filter(|value| !value.is_null()) {
                Some(value) => {
                    canonical.insert(arg.name.into(), arg.check(value)?);
                }
                None if arg.required => return Err(format!("needs {:?}", arg.name)),
                None => {}
            }
        }
        if self.name == SUBMIT_SQL && canonical.get("sql").and_then(Value::as_str).is_some_and(is_blank) {
            return Err("needs a query in \"sql\", which is empty".into());
        }
        Ok(canonical)
    }
}

impl ArgSpec {
    fn check(&self, value: &Value) -> Result<Value, String> {
        match self.kind {
            ArgKind::Text if value.is_string() => Ok(value.clone()),
            ArgKind::Text => Err(format!("needs text in {:?}", self.name)),
            ArgKind::Count => count(value)
                .filter(|count| *count >= 1)
                .map(Value::from)
                .ok_or_else(|| format!("needs a whole number of at least 1 in {:?}", self.name)),
        }
    }
}

/// 5, 5.0 and "5" as 5.
fn count(value: &Value) -> Option<u64> {
    match value {
        // Above 2^53 a float no longer says which whole number is meant.
        Value::Number(number) => number.as_u64().or_else(|| {
            number
                .as_f64()
                .filter(|float| float.fract() == 0.0 && (0.0..9.0e15).contains(float))
                .map(|float| float as u64)
        }),
        Value::String(text) => text.trim().parse().ok(),
        _ => None,
    }
}

/// Whether an answer says nothing: white space and semicolons only.
pub(crate) fn is_blank(sql: &str) -> bool {
    sql.chars().all(|c| c.is_whitespace() || c == ';')
}

/// The call with checked arguments, or the text that tells the model what is wrong with it.
pub fn validate(call: &ToolCall, texts: &Texts) -> Result<ToolCall, String> {
    let Some(tool) = find(&call.name) else {
        let names: Vec<&str> = TOOLS.iter().map(|tool| tool.name).collect();
        return Err(fill(&texts.unknown_tool, &[("tool", &call.name), ("tools", &names.join(", "))]));
    };
    match tool.check(&call.args) {
        Ok(args) => Ok(ToolCall { name: call.name.clone(), args, raw: call.raw.clone() }),
        Err(reason) => Err(fill(
            &texts.bad_arguments,
            &[("tool", tool.name), ("reason", &reason), ("usage", &tool.usage())],
        )),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(name: &str, args: Value) -> Result<Value, String> {
        let args = args.as_object().unwrap().clone();
        let call = ToolCall { name: name.into(), args, raw: "{…}".into() };
        validate(&call, &Texts::default()).map(|call| Value::Object(call.args))
    }

    #[test]
    fn each_tool_accepts_its_arguments() {
        let good = [
            (LIST_TABLES, json!({})),
            (DESCRIBE_TABLE, json!({"table_name": "users"})),
            (DESCRIBE_TABLE, json!({"table_name": ""})),
            (FOREIGN_KEYS, json!({})),
            (FOREIGN_KEYS, json!({"table_name": "users"})),
            (JOIN_PATH, json!({"table_a": "a", "table_b": "b"})),
            (SAMPLE_ROWS, json!({"table_name": "users", "limit": 3})),
            (SAMPLE_ROWS, json!({"table_name": "users"})),
            (DISTINCT_VALUES, json!({"table_name": "t", "column_name": "c", "limit": 20})),
            (RUN_QUERY, json!({"sql": ""})),
            (SUBMIT_SQL, json!({"sql": "SELECT 1"})),
        ];
        for (name, args) in good {
            assert_eq!(check(name, args.clone()), Ok(args), "{name}");
        }
    }

    #[test]
    fn a_limit_is_a_whole_number_however_it_is_written() {
        for limit in [json!(5), json!(5.0), json!("5"), json!(" 5 ")] {
            let args = check(SAMPLE_ROWS, json!({"table_name": "t", "limit": limit})).unwrap();
            assert_eq!(args, json!({"table_name": "t", "limit": 5}));
        }
        let wrong = [
            json!(0),
            json!(-1),
            json!(1.5),
            json!("five"),
            json!(true),
            json!([5]),
            json!(1e300),
            json!(""),
        ];
        for limit in wrong {
            let text = check(SAMPLE_ROWS, json!({"table_name": "t", "limit": limit})).unwrap_err();
            assert!(text.contains("whole number of at least 1 in \"limit\""), "{limit}: {text}");
        }
    }

    #[test]
    fn null_is_absent() {
        assert_eq!(check(FOREIGN_KEYS, json!({"table_name": null})), Ok(json!({})));
        assert!(
            check(DESCRIBE_TABLE, json!({"table_name": null})).unwrap_err().contains("needs \"table_name\"")
        );
    }

    #[test]
    fn wrong_calls_are_told_what_is_allowed() {
        let wrong = [
            (
                "drop_table",
                json!({}),
                "Error: unknown tool: drop_table. The tools are list_tables, describe_table, foreign_keys, \
                 join_path, sample_rows, distinct_values, run_query, submit_sql.",
            ),
            (
                DESCRIBE_TABLE,
                json!({}),
                r#"Error: describe_table needs "table_name". Write {"tool": "describe_table", "args": {"table_name": "..."}}."#,
            ),
            (
                DESCRIBE_TABLE,
                json!({"table": "users"}),
                r#"Error: describe_table does not take "table". Write {"tool": "describe_table", "args": {"table_name": "..."}}."#,
            ),
            (
                DESCRIBE_TABLE,
                json!({"table_name": ["a", "b"]}),
                r#"Error: describe_table needs text in "table_name". Write {"tool": "describe_table", "args": {"table_name": "..."}}."#,
            ),
            (
                LIST_TABLES,
                json!({"schema": "main"}),
                r#"Error: list_tables takes no arguments, but "schema" is given. Write {"tool": "list_tables"}."#,
            ),
            (
                JOIN_PATH,
                json!({"table_a": "a"}),
                r#"Error: join_path needs "table_b". Write {"tool": "join_path", "args": {"table_a": "...", "table_b": "..."}}."#,
            ),
            (
                DISTINCT_VALUES,
                json!({"table_name": "t", "column_name": 5}),
                r#"Error: distinct_values needs text in "column_name". Write {"tool": "distinct_values", "args": {"table_name": "...", "column_name": "...", "limit": 5}}."#,
            ),
            (
                SUBMIT_SQL,
                json!({"sql": " ;\n"}),
                r#"Error: submit_sql needs a query in "sql", which is empty. Write {"tool": "submit_sql", "args": {"sql": "..."}}."#,
            ),
        ];
        for (name, args, expected) in wrong {
            assert_eq!(check(name, args), Err(expected.to_owned()));
        }
    }
}
