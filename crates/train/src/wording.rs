//! What people say around a question and that means nothing to the query: other verbs, openings, closings.
//!
//! A small model takes a word that it has never seen for a name. `Write down the fares` made it look for a column
//! `down` when training knew but a dozen verbs. So in training the opening is varied without end, with rare words in the
//! place of verbs and adverbs too: what it is to learn is that a word there need not be anybody's name. Phrases of the held-out frames
//! are not among these (tested in `sample.rs` for words, here for the frames' openings).

use crate::rng::Rng;
use crate::text::{capitalised, uncapitalised};

/// Verbs that a request may open with in place of `List`, `Show` and the like.
const VERBS: [&str; 56] = [
    "enumerate",
    "produce",
    "extract",
    "pull up",
    "dig out",
    "present",
    "supply",
    "obtain",
    "collect",
    "gather",
    "identify",
    "reveal",
    "spell out",
    "read out",
    "bring up",
    "fetch me",
    "hand me",
    "send me",
    "pass me",
    "point out",
    "print out",
    "lay out",
    "set out",
    "figure out",
    "track",
    "pick out",
    "trace",
    "share",
    "output",
    "dump",
    "export",
    "query",
    "search for",
    "go through",
    "run through",
    "help me find",
    "let me have",
    "let us have",
    "try to find",
    "kindly give",
    "grab",
    "summarise",
    "outline",
    "announce",
    "mention",
    "indicate",
    "state",
    "specify",
    "deliver",
    "provide me with",
    "make a list of",
    "draw up a list of",
    "get hold of",
    "walk me through",
    "bring me",
    "put together",
];

/// The verbs that they may stand for.
const PLAIN_VERBS: [&str; 10] =
    ["List", "Show", "Find", "Give", "Return", "Get", "Display", "Report", "Print", "Provide"];

/// What may come before a question, with its space.
const OPENINGS: [&str; 34] = [
    "Hello, ",
    "Hi! ",
    "Quick question: ",
    "For my report, ",
    "If possible, ",
    "I was wondering: ",
    "My boss asks: ",
    "With this data, ",
    "According to the records, ",
    "One more thing: ",
    "Right. ",
    "Next, ",
    "As of now, ",
    "From what is stored, ",
    "Just curious: ",
    "For the meeting: ",
    "Question: ",
    "Q: ",
    "Now ",
    "OK, ",
    "In this file, ",
    "Based on the tables, ",
    "To be exact: ",
    "For the newsletter, ",
    "A colleague wants to know: ",
    "Someone asked me: ",
    "As far as we know, ",
    "Good morning. ",
    "Sorry to bother you, ",
    "It would help to know this: ",
    "Here is a simple one: ",
    "Another one: ",
    "Once more: ",
    "To settle a bet: ",
];

/// What may come before `how many`, `what`, `which` and `who`.
const ASKINGS: [&str; 14] = [
    "do you know ",
    "any idea ",
    "I wonder ",
    "let me know ",
    "explain to me ",
    "remind me ",
    "I have to know ",
    "I forgot ",
    "would you say ",
    "help me understand ",
    "we are trying to learn ",
    "say ",
    "answer this: ",
    "it is important to know ",
];

/// What may follow, after the full stop.
const CLOSINGS: [&str; 14] = [
    " Thanks.",
    " Thank you!",
    " It is urgent.",
    " I need it for a slide.",
    " No hurry.",
    " That is all.",
    " Be brief.",
    " Thanks in advance.",
    " Do it carefully.",
    " I have a deadline.",
    " It is for a friend.",
    " Cheers!",
    " Much obliged.",
    " You may take your time.",
];

/// The same question in other words around it; unchanged more often than not.
pub fn around(rng: &mut Rng, words: &[String], text: String) -> String {
    let mut text = text;
    let first = text.split(' ').next().unwrap_or_default().to_owned();
    if PLAIN_VERBS.contains(&first.as_str()) && rng.chance(0.45) {
        let rest = text[first.len()..].trim_start();
        let rest = rest.strip_prefix("me ").unwrap_or(rest).to_owned();
        let verb = if rng.chance(0.4) {
            let particle = *rng.pick(&["", "", "", " up", " out", " over", " through", " for", " me"]);
            rng.pick(words).clone() + particle
        } else {
            (*rng.pick(&VERBS)).to_owned()
        };
        text = format!("{} {rest}", capitalised(&verb));
    } else if ["How", "What", "Which", "Who"].contains(&first.as_str()) && rng.chance(0.15) {
        let asking = if rng.chance(0.2) {
            format!("{} {} ", rng.pick(words), rng.pick(&["me", "us", "whether you know", "again"]))
        } else {
            (*rng.pick(&ASKINGS)).to_owned()
        };
        text = capitalised(&asking) + &uncapitalised(&text);
    }
    if rng.chance(0.16) {
        let opening = if rng.chance(0.35) {
            let word: &String = rng.pick(words);
            format!("{}, ", capitalised(word))
        } else {
            (*rng.pick(&OPENINGS)).to_owned()
        };
        text = if opening.ends_with(". ") || opening.ends_with("! ") {
            opening + &text
        } else {
            opening + &uncapitalised(&text)
        };
    }
    if text.ends_with(['.', '?']) && rng.chance(0.08) {
        text += *rng.pick(&CLOSINGS);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frames;

    #[test]
    fn a_question_is_left_or_put_in_other_words() {
        let words = vec!["zither".to_owned()];
        let mut rng = Rng::new(1);
        let plain = "List the names of the singers.";
        let said: Vec<String> = (0..400).map(|_| around(&mut rng, &words, plain.to_owned())).collect();
        assert!(said.iter().any(|text| text == plain));
        assert!(said.iter().any(|text| text.starts_with("Zither ")));
        assert!(
            said.iter().all(|text| text.contains("he names of the singers.")),
            "the question itself stays"
        );
        let asked = (0..400).map(|_| around(&mut rng, &words, "How many cats are there?".to_owned()));
        assert!(asked.into_iter().all(|text| text.to_lowercase().contains("how many cats are there?")));
    }

    /// Two words of an opening that only the held-out split may use.
    #[test]
    fn held_out_openings_are_not_used() {
        let held_out = [&frames::COUNT, &frames::LIST, &frames::WHICH, &frames::LOOKUP, &frames::PAIRS];
        let openings: Vec<String> = held_out
            .iter()
            .flat_map(|frames| frames.1)
            .map(|frame| frame.split(' ').take(2).collect::<Vec<_>>().join(" ").to_lowercase())
            .collect();
        let ours = VERBS.iter().chain(&OPENINGS).chain(&ASKINGS).chain(&CLOSINGS);
        for phrase in ours {
            assert!(!openings.iter().any(|opening| phrase.to_lowercase().contains(opening)), "{phrase}");
        }
    }
}
