//! Every sentence of ours that a model reads, in one place.
//!
//! The models were trained on their own strings, so bytes matter here. What is known is written as it is
//! known; what could not be found in any public text is marked *(unknown)* below, has a default, and can
//! be replaced without touching code: [`Texts`] is part of the configuration (and of every trace), and a
//! JSON object with some of its fields replaces just those.
//!
//! In a text, `{name}` stands for a value; each field's documentation says which names it knows. A name
//! that it does not know, and any other brace, is left as it is.

use serde::{Deserialize, Serialize};

/// System turn of the reconstruction: used only when the verbatim prompt of the model is not to be had.
pub const SYSTEM_PROMPT: &str = r#"You answer questions about a SQLite database. You explore it with tools, then you submit one SQL query whose result answers the question.

Tools:
- list_tables: the names of all tables. No arguments.
- describe_table: the CREATE TABLE statement of a table. Arguments: table_name.
- foreign_keys: the declared foreign keys of a table, or of all tables. Arguments: table_name (optional).
- join_path: the shortest chain of foreign keys that joins two tables. Arguments: table_a, table_b.
- sample_rows: some rows of a table. Arguments: table_name, limit.
- distinct_values: the distinct values of a column. Arguments: table_name, column_name, limit.
- run_query: runs a query and shows its first 5 rows. Arguments: sql.
- submit_sql: gives the final answer and ends the task. Arguments: sql.

Think first. Then write one or more tool calls, each a JSON object, and nothing else:
{"tool": "<name>", "args": {...}}
All calls of a turn are run in order, and their results come back together with the number of tool turns that you have left.

Plan:
1. List the tables and find those that the question is about.
2. Describe them, and find out how they join.
3. Look at values before you compare a column with a text from the question.
4. Run your query, look at the rows, and correct it until they answer the question.
5. Submit the query that you have run."#;

/// User turn of the reconstruction, schema withheld. Knows `{question}`.
pub const USER_TEMPLATE: &str =
    "The database schema is not shown. Use the tools to explore it.\n\nQuestion: {question}";

/// User turn of the reconstruction, schema shown. Knows `{schema}` and `{question}`.
pub const USER_TEMPLATE_WITH_SCHEMA: &str = "Database schema:\n\n{schema}\n\nQuestion: {question}";

/// A question with its evidence note, for a template that has no place of its own for the note.
/// Knows `{question}` and `{evidence}`. *(unknown)*
pub const QUESTION_WITH_EVIDENCE: &str = "{question}\nEvidence: {evidence}";

/// The sentences of an episode.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Texts {
    /// Line above the result of a turn's only call.
    pub result_label: String,
    /// Line above each result where a turn has several calls. Knows `{index}`, 1-based, and `{total}`.
    /// *(unknown: the models themselves speak of "result (10/12)")*
    pub result_label_of_many: String,
    /// Between two results, and between the last one and the budget line. *(unknown)*
    pub between_results: String,
    /// Last line of a result turn. Knows `{left}`. Also for none left. *(unknown for none left)*
    pub turns_left: String,
    /// The same for one turn left.
    pub one_turn_left: String,
    /// The final user turn.
    pub final_turn: String,
    /// What is added to it where a query has run without error. Knows `{sql}`.
    pub final_turn_last_query: String,
    /// Between those two. *(unknown)*
    pub final_turn_between: String,
    /// Whether the final text closes the user turn with the last results, instead of being a user turn of
    /// its own. *(unknown)*
    pub final_turn_joins_results: bool,
    /// Between the last results and the final text where it joins them. *(unknown)*
    pub final_turn_after_results: String,

    /// Answer to a turn without any call. *(unknown, like all that follow)*
    pub no_call: String,
    /// Answer to a turn that never left its think block.
    pub unclosed_think: String,
    /// Answer to a call that cannot be read. Knows `{reason}`.
    pub unreadable_call: String,
    /// Answer to a call of a tool that does not exist. Knows `{tool}` and `{tools}`.
    pub unknown_tool: String,
    /// Answer to wrong arguments. Knows `{tool}`, `{reason}` and `{usage}`.
    pub bad_arguments: String,
    /// In place of a result that does not fit into the context. Knows `{bytes}`.
    pub result_withheld: String,
    /// Answer of a closed submit gate (training only).
    pub submit_refused: String,
}

impl Default for Texts {
    fn default() -> Self {
        Self {
            result_label: "Tool result:\n".into(),
            result_label_of_many: "Tool result ({index}/{total}):\n".into(),
            between_results: "\n\n".into(),
            turns_left: "[{left} tool turns left before you must answer]".into(),
            one_turn_left: "[1 tool turn left before you must answer]".into(),
            final_turn: "You have reached the exploration limit. Now generate the final SQL query to answer \
                         the question. Return only the SQL query."
                .into(),
            final_turn_last_query: "Your last query that executed without error was:\n{sql}\nIf you are not \
                                    sure of an improvement, return that query."
                .into(),
            final_turn_between: "\n\n".into(),
            final_turn_joins_results: false,
            final_turn_after_results: "\n\n".into(),
            no_call: r#"Error: no tool call found. Write one or more calls, each {"tool": "<name>", "args": {...}}; to answer, {"tool": "submit_sql", "args": {"sql": "..."}}."#
                .into(),
            unclosed_think: r#"Error: the thinking did not end, so no tool call was read. Think briefly, end it, then write {"tool": "<name>", "args": {...}}."#
                .into(),
            unreadable_call: r#"Error: this tool call cannot be read: {reason}. Write {"tool": "<name>", "args": {...}}."#
                .into(),
            unknown_tool: "Error: unknown tool: {tool}. The tools are {tools}.".into(),
            bad_arguments: "Error: {tool} {reason}. Write {usage}.".into(),
            result_withheld: "Error: the result is too long to show ({bytes} bytes). Ask for less.".into(),
            submit_refused: "Error: run this query with run_query before you submit it.".into(),
        }
    }
}

/// Puts values in the place of `{name}`. One pass: a value that contains `{name}` is not looked into.
pub fn fill(template: &str, values: &[(&str, &str)]) -> String {
    let mut out = String::with_capacity(template.len());
    let mut rest = template;
    while let Some(open) = rest.find('{') {
        out.push_str(&rest[..open]);
        let inner = &rest[open + 1..];
        let value = inner.find('}').and_then(|close| {
            let name = &inner[..close];
            values.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value, close))
        });
        match value {
            Some((value, close)) => {
                out.push_str(value);
                rest = &inner[close + 1..];
            }
            None => {
                out.push('{');
                rest = inner;
            }
        }
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tools::TOOLS;

    #[test]
    fn fill_replaces_known_names_once_and_leaves_other_braces() {
        assert_eq!(fill("a {x} {y} {\"tool\": {x}}", &[("x", "{y}"), ("y", "2")]), "a {y} 2 {\"tool\": {y}}");
        assert_eq!(fill("{", &[("x", "1")]), "{");
        assert_eq!(fill("{z} {x", &[("x", "1")]), "{z} {x");
        assert_eq!(fill("{{x}}", &[("x", "1")]), "{1}");
    }

    #[test]
    fn one_text_can_be_replaced_alone() {
        let texts: Texts = serde_json::from_str(r#"{"result_label": "Result:\n"}"#).unwrap();
        assert_eq!(texts.result_label, "Result:\n");
        assert_eq!(texts.final_turn, Texts::default().final_turn);
    }

    #[test]
    fn a_misspelt_text_is_an_error_and_not_ignored() {
        assert!(serde_json::from_str::<Texts>(r#"{"result_lable": "x"}"#).is_err());
    }

    #[test]
    fn the_reconstruction_names_every_tool_with_its_arguments() {
        for tool in TOOLS {
            let line = SYSTEM_PROMPT
                .lines()
                .find(|line| line.starts_with(&format!("- {}:", tool.name)))
                .unwrap_or_else(|| panic!("{} is missing", tool.name));
            for arg in tool.args {
                assert!(line.contains(arg.name), "{line}");
            }
        }
        assert_eq!(SYSTEM_PROMPT.lines().filter(|line| line.starts_with("- ")).count(), TOOLS.len());
    }
}
