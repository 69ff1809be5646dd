//! The user turns that an episode writes, byte for byte.

use crate::config::{Segment, TurnMarkup};
use crate::texts::{Texts, fill};

/// A result turn: each result under its label, then the turns that are left.
pub(crate) fn results(texts: &Texts, results: &[&str], left: u32) -> String {
    let total = results.len().to_string();
    let mut out = String::new();
    for (index, result) in results.iter().enumerate() {
        match results.len() {
            1 => out.push_str(&texts.result_label),
            _ => {
                let index = (index + 1).to_string();
                out.push_str(&fill(&texts.result_label_of_many, &[("index", &index), ("total", &total)]));
            }
        }
        out.push_str(result);
        out.push_str(&texts.between_results);
    }
    match left {
        1 => out.push_str(&texts.one_turn_left),
        _ => out.push_str(&fill(&texts.turns_left, &[("left", &left.to_string())])),
    }
    out
}

/// The final user turn.
pub(crate) fn final_turn(texts: &Texts, last_query: Option<&str>) -> String {
    match last_query {
        None => texts.final_turn.clone(),
        Some(sql) => {
            let last_query = fill(&texts.final_turn_last_query, &[("sql", sql)]);
            [&*texts.final_turn, &texts.final_turn_between, &last_query].concat()
        }
    }
}

/// What closes the assistant's turn, says the user turns, and opens the next assistant's turn.
pub(crate) fn user_turns(
    texts: &Texts,
    markup: &TurnMarkup,
    results: Option<String>,
    final_turn: Option<String>,
) -> Vec<Segment> {
    let turns: Vec<String> = match (results, final_turn) {
        (Some(results), Some(last)) if texts.final_turn_joins_results => {
            vec![[results, texts.final_turn_after_results.clone(), last].concat()]
        }
        (results, last) => results.into_iter().chain(last).collect(),
    };
    let open = [&*markup.turn_end, &markup.user_start].concat();
    let mut segments = Vec::with_capacity(2 * turns.len() + 1);
    for turn in turns {
        segments.push(Segment::Markup(open.clone()));
        segments.push(Segment::Text(turn));
    }
    segments.push(Segment::Markup([&*markup.turn_end, &markup.generation_prompt].concat()));
    segments
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_result_has_a_plain_label() {
        let text = results(&Texts::default(), &["Album\nArtist"], 4);
        assert_eq!(text, "Tool result:\nAlbum\nArtist\n\n[4 tool turns left before you must answer]");
    }

    #[test]
    fn several_results_are_numbered() {
        let text = results(&Texts::default(), &["a", "", "c\n"], 1);
        assert_eq!(
            text,
            "Tool result (1/3):\na\n\nTool result (2/3):\n\n\nTool result (3/3):\nc\n\n\n\
             [1 tool turn left before you must answer]"
        );
    }

    #[test]
    fn no_turns_left_is_plural() {
        assert!(
            results(&Texts::default(), &["x"], 0).ends_with("[0 tool turns left before you must answer]")
        );
    }

    #[test]
    fn a_result_that_looks_like_a_placeholder_is_left_alone() {
        let text = results(&Texts::default(), &["{left} {index}"], 2);
        assert_eq!(text, "Tool result:\n{left} {index}\n\n[2 tool turns left before you must answer]");
        assert!(final_turn(&Texts::default(), Some("SELECT '{sql}'")).contains("was:\nSELECT '{sql}'\nIf"));
    }

    #[test]
    fn the_final_turn_names_the_last_working_query() {
        assert_eq!(
            final_turn(&Texts::default(), None),
            "You have reached the exploration limit. Now generate the final SQL query to answer the \
             question. Return only the SQL query."
        );
        assert_eq!(
            final_turn(&Texts::default(), Some("SELECT 1")),
            "You have reached the exploration limit. Now generate the final SQL query to answer the \
             question. Return only the SQL query.\n\nYour last query that executed without error \
             was:\nSELECT 1\nIf you are not sure of an improvement, return that query."
        );
    }

    #[test]
    fn the_final_text_is_a_turn_of_its_own_unless_told_otherwise() {
        let markup = TurnMarkup::default();
        let mut texts = Texts::default();
        let flat = |texts: &Texts| -> String {
            user_turns(texts, &markup, Some("R".into()), Some("F".into()))
                .iter()
                .map(Segment::as_str)
                .collect()
        };
        assert_eq!(
            flat(&texts),
            "<|im_end|>\n<|im_start|>user\nR<|im_end|>\n<|im_start|>user\nF<|im_end|>\n\
             <|im_start|>assistant\n<think>\n"
        );
        texts.final_turn_joins_results = true;
        assert_eq!(
            flat(&texts),
            "<|im_end|>\n<|im_start|>user\nR\n\nF<|im_end|>\n<|im_start|>assistant\n<think>\n"
        );
    }
}
