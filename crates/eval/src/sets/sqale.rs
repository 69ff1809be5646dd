//! SQaLe: each question in eight phrasings.
//!
//! The library `sqale` writes the databases (`sqale-extract --output dbs`) and gives the questions as a list, which is
//! kept with `json.dump(sqale.load_questions(split="test"), file)`. Rows of the data set itself, in this or the older
//! layout, are read as well; there some fields are JSON within JSON.

use serde_json::Value as Json;

use super::record::Record;
use crate::question::Question;

/// The styles, as the library has them.
pub const STYLES: [&str; 8] = [
    "verbose",
    "evidence_supported",
    "structured",
    "requirements_list",
    "short_ambiguous",
    "short_high_level",
    "casual",
    "spelling_grammar_mistakes",
];

/// What stands between the question and its note in the style `evidence_supported`.
const EVIDENCE: &str = ", evidence: ";

/// The questions of a record in the styles that are wanted, and how many of the styles it lacks.
pub(super) fn questions(record: &Record<'_>, wanted: &[String]) -> Result<(Vec<Question>, usize), String> {
    let styles: Vec<&str> = match wanted {
        [] => vec!["evidence_supported"],
        _ if wanted.iter().any(|style| style == "all") => STYLES.to_vec(),
        _ => wanted.iter().map(String::as_str).collect(),
    };
    if let Some(unknown) = styles.iter().find(|style| !STYLES.contains(style)) {
        return Err(format!("there is no phrasing {unknown:?}; there are {} and all", STYLES.join(", ")));
    }
    let within;
    let phrasings = match record.get(&["questions"]) {
        Some(Json::String(text)) => {
            within = serde_json::from_str::<Json>(text)
                .map_err(|error| format!("its questions are no JSON: {error}"))?;
            &within
        }
        Some(json) => json,
        None => return Err("it has no questions".to_owned()),
    };
    let id = record.text(&["question_id", "question id"]).ok_or("it has no question_id")?;
    let database = record.database()?;
    let golds = record.queries();
    if golds.is_empty() {
        return Err("it has no gold query (sql)".to_owned());
    }
    let mut found = Vec::new();
    for style in &styles {
        let text = phrasings.get(*style).or_else(|| phrasings.get(format!("{style} (original)")));
        let Some(text) = text.and_then(Json::as_str).map(str::trim).filter(|text| is_usable(text)) else {
            continue;
        };
        let (text, evidence) = match text.rsplit_once(EVIDENCE).filter(|_| *style == "evidence_supported") {
            Some((question, note)) => (question.trim(), Some(note.trim().to_owned())),
            None => (text, None),
        };
        let id = if styles.len() == 1 { id.clone() } else { format!("{id}:{style}") };
        let mut question = Question::new(id, database.clone(), text, golds.clone());
        question.evidence = evidence.filter(|note| !note.is_empty());
        question.difficulty = record.text(&["difficulty"]);
        question.phrasing = Some((*style).to_owned());
        found.push(question);
    }
    let missing = styles.len() - found.len();
    Ok((found, missing))
}

/// Whether a phrasing is more than a placeholder such as `...`, `<string>` or `**Moderate**`: the library's own rule.
fn is_usable(text: &str) -> bool {
    let dots = text.chars().all(|letter| letter.is_whitespace() || letter == '.' || letter == '…');
    let tag = text.strip_prefix('<').and_then(|rest| rest.find('>').map(|end| end + 1 == rest.len()));
    let word = text.trim_matches('*').trim().to_ascii_lowercase();
    !dots && tag != Some(true) && !["simple", "moderate", "hard"].contains(&word.as_str())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn placeholders_are_told_apart() {
        for text in ["", "...", " … ", "<string>", "**Moderate**", "hard", "* simple *"] {
            assert!(!is_usable(text), "{text:?}");
        }
        for text in ["How many?", "<b> bold <i>?", "hard drives", "Is it <5?"] {
            assert!(is_usable(text), "{text:?}");
        }
    }

    #[test]
    fn evidence_is_split_off_and_styles_are_chosen() {
        let json = json!({
            "question_id": "q1", "schema_id": "s1", "difficulty": "hard", "sql": "SELECT 1",
            "questions": {
                "verbose": "Count, please, evidence: of what?",
                "evidence_supported": "How many, in all?, evidence: Count rows.",
                "casual": "...",
            }
        });
        let record = Record::new(&json);
        let (found, missing) = questions(&record, &[]).unwrap();
        assert_eq!((found.len(), missing), (1, 0));
        assert_eq!(
            (found[0].text.as_str(), found[0].evidence.as_deref()),
            ("How many, in all?", Some("Count rows."))
        );
        assert_eq!((found[0].id.as_str(), found[0].db_id.as_str()), ("q1", "s1"));
        let (found, missing) = questions(&record, &["all".to_owned()]).unwrap();
        assert_eq!((found.len(), missing), (2, 6));
        assert_eq!(found[0].id, "q1:verbose");
        assert_eq!(found[0].text, "Count, please, evidence: of what?");
        assert!(questions(&record, &["loud".to_owned()]).unwrap_err().contains("casual"));
    }

    #[test]
    fn the_older_layout_is_read() {
        let json = json!({
            "question id": 7, "schema id": "s", "sql statament": "SELECT 1",
            "questions": "{\"verbose (original)\": \"How many?\"}"
        });
        let (found, _) = questions(&Record::new(&json), &["verbose".to_owned()]).unwrap();
        assert_eq!((found[0].id.as_str(), found[0].text.as_str()), ("7", "How many?"));
    }
}
