//! Filling a user template.

use crate::error::Error;
use crate::texts::{QUESTION_WITH_EVIDENCE, fill};

/// The user turn: `template` with the question, its evidence note and the schema in their places.
///
/// Templates come from other people's Python files, where `{question}` may be filled by `str.format` or by
/// `str.replace`. A template whose braces all make sense to `str.format` is filled as `str.format` would
/// (`{{` becomes `{`); in any other, only the known names are replaced.
///
/// An evidence note without a place `{evidence}` joins the question, in the words of
/// [`QUESTION_WITH_EVIDENCE`].
///
/// # Errors
///
/// [`Error::Template`] where there is no place for the question, none for a schema that is given, or a
/// place for something that is not known here.
pub fn user_turn(
    template: &str,
    question: &str,
    evidence: Option<&str>,
    schema: Option<&str>,
) -> Result<String, Error> {
    let has = |name: &str| template.contains(&format!("{{{name}}}"));
    let fault = |what: String| Err(Error::Template { what });
    if !has("question") {
        return fault("it has no {question}; add one where the question belongs".into());
    }
    if schema.is_some() && !has("schema") {
        return fault(
            "the schema is to be shown, but it has no {schema}; add one, or withhold the schema".into(),
        );
    }
    let evidence = evidence.filter(|note| !note.trim().is_empty());
    let joined;
    let question = match evidence {
        Some(note) if !has("evidence") => {
            joined = fill(QUESTION_WITH_EVIDENCE, &[("question", question), ("evidence", note)]);
            &joined
        }
        _ => question,
    };
    let values =
        [("question", question), ("evidence", evidence.unwrap_or("")), ("schema", schema.unwrap_or(""))];
    match format_pieces(template) {
        None => Ok(fill(template, &values)),
        Some(pieces) => {
            let mut out = String::new();
            for piece in pieces {
                match piece {
                    Piece::Plain(text) => out.push_str(text),
                    Piece::Place(name) => match values.iter().find(|(known, _)| *known == name) {
                        Some((_, value)) => out.push_str(value),
                        None => {
                            return fault(format!(
                                "it has a place {{{name}}} that cannot be filled; known are {{question}}, \
                                 {{evidence}} and {{schema}}"
                            ));
                        }
                    },
                }
            }
            Ok(out)
        }
    }
}

enum Piece<'a> {
    Plain(&'a str),
    Place(&'a str),
}

/// The template as `str.format` reads it; none where that would be an error.
fn format_pieces(template: &str) -> Option<Vec<Piece<'_>>> {
    let mut pieces = Vec::new();
    let mut rest = template;
    while let Some(at) = rest.find(['{', '}']) {
        pieces.push(Piece::Plain(&rest[..at]));
        let brace = &rest[at..at + 1];
        let after = &rest[at + 1..];
        if let Some(after) = after.strip_prefix(brace) {
            pieces.push(Piece::Plain(brace));
            rest = after;
            continue;
        }
        let (name, after) = after.split_once('}').filter(|_| brace == "{")?;
        let identifier = name.chars().all(|c| c.is_alphanumeric() || c == '_')
            && name.starts_with(|c: char| c.is_alphabetic() || c == '_');
        if !identifier {
            return None;
        }
        pieces.push(Piece::Place(name));
        rest = after;
    }
    pieces.push(Piece::Plain(rest));
    Some(pieces)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::texts::{USER_TEMPLATE, USER_TEMPLATE_WITH_SCHEMA};

    #[test]
    fn our_own_templates() {
        assert_eq!(
            user_turn(USER_TEMPLATE, "How many {users}?", None, None).unwrap(),
            "The database schema is not shown. Use the tools to explore it.\n\nQuestion: How many {users}?"
        );
        assert_eq!(
            user_turn(USER_TEMPLATE, "How many?", Some("count rows"), None).unwrap(),
            "The database schema is not shown. Use the tools to explore it.\n\nQuestion: How many?\nEvidence: \
             count rows"
        );
        assert_eq!(
            user_turn(USER_TEMPLATE_WITH_SCHEMA, "How many?", Some(" "), Some("CREATE TABLE t (a)")).unwrap(),
            "Database schema:\n\nCREATE TABLE t (a)\n\nQuestion: How many?"
        );
    }

    #[test]
    fn both_python_ways_of_filling() {
        let format = "{{\"tool\": 1}} {question} [{evidence}]";
        assert_eq!(user_turn(format, "Q", Some("E"), None).unwrap(), "{\"tool\": 1} Q [E]");
        let replace = "{\"tool\": {\"a\": {}}} {question} [{evidence}]";
        assert_eq!(user_turn(replace, "Q", None, None).unwrap(), "{\"tool\": {\"a\": {}}} Q []");
    }

    #[test]
    fn what_cannot_be_filled_is_an_error() {
        assert!(user_turn("no place", "Q", None, None).unwrap_err().to_string().contains("{question}"));
        assert!(user_turn("{question}", "Q", None, Some("S")).unwrap_err().to_string().contains("{schema}"));
        assert!(
            user_turn("{question} {db_id}", "Q", None, None).unwrap_err().to_string().contains("{db_id}")
        );
    }

    #[test]
    fn values_are_not_looked_into() {
        assert_eq!(
            user_turn("{question} {evidence}", "{evidence}", Some("{question}"), None).unwrap(),
            "{evidence} {question}"
        );
    }
}
