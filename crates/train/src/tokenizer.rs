//! The small model's tokenizer: byte-level BPE under the `qwen35` split, made so that names can be copied.
//!
//! The split glues one non-letter to the word after it (`_number`, `.number`, ` number`). Ordinary BPE would learn a
//! token for each of those, and a name would be written with other tokens in a question, in DDL and in SQL. Here merges
//! are learnt on runs of letters alone, cut where lower case meets upper case, and with flattened counts; the letter
//! before a word stays a token of its own, except before words of grammar and SQL, whose merges come last and so never
//! change how the word itself is cut. The cost is a token for each space before a content word.
//!
//! A question says `prescriptions` where the schema has `Prescriptions` or `PRESCRIPTIONS`. So merges are learnt in lower
//! case and each stands three times, as `scri`, `Scri` and `SCRI`: a word is cut at the same places in every case.

use crate::error::{Error, Result};
use crate::lexicon::{Lexicon, Split as Words};
use crate::oracle::{Piece, Source};
use crate::rng::Rng;
use crate::sample::sample;
use crate::text::capitalised;
use serde_json::{Map, Value as Json, json};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use tokenizers::pre_tokenizers::split::{Split, SplitPattern};
use tokenizers::tokenizer::{OffsetReferential, OffsetType, PreTokenizedString, PreTokenizer};
use tokenizers::{SplitDelimiterBehavior, Tokenizer};

/// The split of Qwen3.5, as its tokenizer.json has it.
pub const SPLIT: &str = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+";

/// Chat markup, with whether it is special (skipped in decoded text).
pub const SPECIAL: [(&str, bool); 5] = [
    ("<|endoftext|>", true),
    ("<|im_start|>", true),
    ("<|im_end|>", true),
    ("<think>", false),
    ("</think>", false),
];

/// Fixed strings of tool calls, a token each: they only occur in what the model writes.
pub const MACROS: [&str; 11] = [
    r#"{"tool": "list_tables"}"#,
    r#"{"tool": "describe_table", "args": {"table_name": ""#,
    r#"{"tool": "foreign_keys", "args": {"table_name": ""#,
    r#"{"tool": "join_path", "args": {"table_a": ""#,
    r#"{"tool": "sample_rows", "args": {"table_name": ""#,
    r#"{"tool": "distinct_values", "args": {"table_name": ""#,
    r#"{"tool": "run_query", "args": {"sql": ""#,
    r#"{"tool": "submit_sql", "args": {"sql": ""#,
    r#"", "column_name": ""#,
    r#"", "table_b": ""#,
    r#""}}"#,
];

/// Words that may carry the space before them: grammar and SQL, never a name. Words that many others begin with (`in`,
/// `per`, `for`) are not among them: ` inlet` would be ` in` + `let` and no longer the `inlet` of `"inlet"`.
const GRAMMAR: &str = "the of are is with whose that have has each every and how many what which all their its there than more less \
least most not any from does did by on it they my our you who where when if was were show list find give \
return tell count get please need want like know between above below before after since different distinct \
unique average mean total maximum minimum highest lowest largest smallest greatest fewest sorted ordered order \
ascending descending without having named called contains containing starts starting begins ends ending word \
letter missing null unknown both also only exactly equal greater lower higher larger smaller fewer tool turns \
turn left must answer SELECT FROM WHERE AND JOIN ON GROUP BY ORDER LIMIT DESC ASC COUNT AVG SUM MAX MIN \
DISTINCT NOT NULL IS LIKE BETWEEN HAVING TABLE INTEGER TEXT REAL INT VARCHAR DATE PRIMARY KEY FOREIGN \
REFERENCES FLOAT NUMERIC BOOLEAN DOUBLE BIGINT DEFAULT DECIMAL rows exist showing first";

/// Words that must be one token wherever they stand (fixed strings of the protocol), without the space.
const WHOLE: &str = "system user assistant Error such column table should be You answer questions about SQLite database calling tools Tool result \
CREATE List tables Submit integer text varchar primary key references real name title label id code number date year type status between Wrong spelling \
in be over per me do under an no for up or we can at as to What How Which Show Find Give Please Could Can Count Tell Return For The Who Name reached exploration limit generate final SQL query Your executed error that";

/// Seed of the first sample that a vocabulary is learnt from.
const FIRST_SAMPLE: u64 = 10_000_000;

/// The longest token, in bytes.
const LONGEST: usize = 12;

fn wrap<E: std::fmt::Display>(e: E) -> Error {
    Error::Tokenizer(e.to_string())
}

/// The visible stand-in of a byte in byte-level BPE.
fn byte_char(b: u8) -> char {
    let printable = matches!(b, b'!'..=b'~' | 0xa1..=0xac | 0xae..=0xff);
    if printable {
        char::from(b)
    } else {
        let before = (0..b).filter(|b| !matches!(b, b'!'..=b'~' | 0xa1..=0xac | 0xae..=0xff)).count();
        char::from_u32(256 + before as u32).unwrap_or(' ')
    }
}

fn visible(text: &str) -> String {
    text.bytes().map(byte_char).collect()
}

/// Learns a vocabulary of `size` tokens from episodes and returns the text of a `tokenizer.json`.
///
/// # Errors
/// When the `tokenizers` crate refuses the input (never seen on generated text).
pub fn train<'a>(texts: impl Iterator<Item = &'a str>, size: usize) -> Result<String> {
    let split = Split::new(SplitPattern::Regex(SPLIT.to_owned()), SplitDelimiterBehavior::Isolated, false)
        .map_err(wrap)?;
    let (mut words, mut marks) = (BTreeMap::<String, u64>::new(), BTreeMap::<String, u64>::new());
    for text in texts {
        let mut parts = PreTokenizedString::from(text);
        split.pre_tokenize(&mut parts).map_err(wrap)?;
        for (chunk, _, _) in parts.get_splits(OffsetReferential::Original, OffsetType::Byte) {
            let letters = chunk.trim_start_matches(|c: char| !c.is_alphabetic());
            if letters.is_empty() {
                *marks.entry(chunk.to_owned()).or_default() += 1;
            } else {
                for run in case_runs(letters) {
                    *words.entry(run.to_ascii_lowercase()).or_default() += 1;
                }
            }
        }
    }
    let grammar: BTreeSet<&str> = GRAMMAR.split_whitespace().collect();
    for word in &grammar {
        // Grammar must end up whole.
        *words.entry(word.to_ascii_lowercase()).or_default() += 100_000;
    }
    let fixed = SPECIAL.len() + MACROS.len() + 256 + 2 * grammar.len();
    for word in WHOLE.split_whitespace() {
        *words.entry(word.to_ascii_lowercase()).or_default() += 20_000;
    }
    let mark_merges = 48;
    let word_merges = size.saturating_sub(fixed + mark_merges) / 3;
    // Square roots: a word that is ten thousand times as frequent is not ten thousand times as important.
    let flat = |counts: &BTreeMap<String, u64>| -> BTreeMap<String, u64> {
        counts.iter().map(|(w, &n)| (w.clone(), ((n as f64).sqrt().ceil() as u64).max(1))).collect()
    };
    let inner = merges(&flat(&words), word_merges).into_iter().flat_map(in_three_cases).collect::<Vec<_>>();
    let outer = merges(&flat(&marks), mark_merges);

    let mut tokens: Vec<String> = (0..=255u8).map(|b| byte_char(b).to_string()).collect();
    let mut pairs: Vec<(String, String)> = Vec::new();
    let mut known: BTreeSet<String> = tokens.iter().cloned().collect();
    let mut add = |a: &str, b: &str, tokens: &mut Vec<String>, pairs: &mut Vec<(String, String)>| {
        if known.contains(a) && known.contains(b) && known.insert(format!("{a}{b}")) {
            tokens.push(format!("{a}{b}"));
            pairs.push((a.to_owned(), b.to_owned()));
        }
    };
    for (a, b) in inner.iter().chain(&outer) {
        add(a, b, &mut tokens, &mut pairs);
    }
    // Words of grammar are made whole (`is`, `has`: the rule about `s` kept them apart), then take their space in.
    for word in &grammar {
        let ranks: HashMap<(String, String), usize> = pairs.iter().cloned().zip(0..).collect();
        let parts = cut(word, &ranks);
        let mut left = parts[0].clone();
        for right in &parts[1..] {
            add(&left, right, &mut tokens, &mut pairs);
            left += right;
        }
        add("\u{120}", word, &mut tokens, &mut pairs);
    }
    let mut vocab = Map::new();
    for (i, t) in tokens.iter().enumerate() {
        vocab.insert(t.clone(), json!(i));
    }
    let mut added = Vec::new();
    let all = SPECIAL.iter().copied().chain(MACROS.iter().map(|m| (*m, false)));
    for (i, (content, special)) in all.enumerate() {
        added.push(json!({"id": tokens.len() + i, "content": content, "single_word": false, "lstrip": false, "rstrip": false, "normalized": false, "special": special}));
    }
    let byte_level =
        json!({"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": false, "use_regex": false});
    let out = json!({
        "version": "1.0", "truncation": null, "padding": null, "added_tokens": added, "normalizer": {"type": "NFC"},
        "pre_tokenizer": {"type": "Sequence", "pretokenizers": [
            {"type": "Split", "pattern": {"Regex": SPLIT}, "behavior": "Isolated", "invert": false}, byte_level]},
        "post_processor": null, "decoder": byte_level,
        "model": {"type": "BPE", "dropout": null, "unk_token": null, "continuing_subword_prefix": null, "end_of_word_suffix": null,
            "fuse_unk": false, "byte_fallback": false, "ignore_merges": false, "vocab": vocab,
            "merges": pairs.iter().map(|(a, b)| json!([a, b])).collect::<Vec<_>>()},
    });
    serde_json::to_string_pretty(&out).map_err(wrap)
}

/// Learns a vocabulary of `size` tokens from so many samples of the training split, fixed strings left out: they are
/// tokens by themselves.
///
/// # Errors
/// As [`train`], and when a sample cannot be made.
pub fn train_on_samples(lexicon: &Lexicon, size: usize, samples: u64) -> Result<String> {
    let mut texts = Vec::new();
    for seed in 0..samples {
        let s = sample(lexicon, Words::Train, FIRST_SAMPLE + seed)?;
        texts.extend(s.pieces.into_iter().filter(|Piece(source, _)| *source != Source::Markup).map(|p| {
            MACROS
                .iter()
                .fold(p.1, |t, m| t.replace(m, "\n"))
                .replace("<|im_end|>", "")
                .replace("</think>", "")
        }));
    }
    train(texts.iter().map(String::as_str), size)
}

/// `flightNumber` → `flight`, `Number`: a merge never crosses from lower to upper case.
fn case_runs(letters: &str) -> Vec<&str> {
    let mut out = Vec::new();
    let (mut from, mut lower) = (0, false);
    for (i, c) in letters.char_indices() {
        if c.is_uppercase() && lower {
            out.push(&letters[from..i]);
            from = i;
        }
        lower = c.is_lowercase();
    }
    out.push(&letters[from..]);
    out
}

/// A merge of lower-case letters, then the same at the head of a capitalised word and in capitals.
fn in_three_cases((a, b): (String, String)) -> [(String, String); 3] {
    let (head, capitals) = (capitalised(&a), (a.to_ascii_uppercase(), b.to_ascii_uppercase()));
    [(a, b.clone()), (head, b), capitals]
}

/// The first `n` merges of byte-pair encoding over words with their counts.
///
/// The trainer of the `tokenizers` crate would do, but for one rule: no merge may end in a lone `s`. With it `names` is
/// `name` + `s` wherever it stands; without it `es` and `ers` are among the first merges, and `names` becomes `nam` + `es`,
/// which shares nothing with `name`. Ties go to the pair that comes first in the alphabet, so the result is fixed.
fn merges(words: &BTreeMap<String, u64>, n: usize) -> Vec<(String, String)> {
    let mut texts: Vec<String> = Vec::new();
    let mut id_of: BTreeMap<String, usize> = BTreeMap::new();
    let mut id = |t: &str, texts: &mut Vec<String>| {
        *id_of.entry(t.to_owned()).or_insert_with(|| {
            texts.push(t.to_owned());
            texts.len() - 1
        })
    };
    let mut list: Vec<(Vec<usize>, i64)> = words
        .iter()
        .map(|(w, &c)| (visible(w).chars().map(|c| id(&c.to_string(), &mut texts)).collect(), c as i64))
        .collect();
    let mut counts: HashMap<(usize, usize), i64> = HashMap::new();
    for (w, c) in &list {
        for p in w.windows(2) {
            *counts.entry((p[0], p[1])).or_default() += c;
        }
    }
    let mut out = Vec::new();
    while out.len() < n {
        let fits = |&(a, b): &(usize, usize)| texts[b] != "s" && texts[a].len() + texts[b].len() <= LONGEST;
        let best = counts.iter().filter(|(p, c)| **c >= 2 && fits(p)).max_by(|(p, c), (q, d)| {
            c.cmp(d).then_with(|| (&texts[q.0], &texts[q.1]).cmp(&(&texts[p.0], &texts[p.1])))
        });
        let Some((&pair, _)) = best else { break };
        let merged = format!("{}{}", texts[pair.0], texts[pair.1]);
        out.push((texts[pair.0].clone(), texts[pair.1].clone()));
        let new = id(&merged, &mut texts);
        for (w, c) in &mut list {
            if !w.windows(2).any(|p| (p[0], p[1]) == pair) {
                continue;
            }
            for p in w.windows(2) {
                *counts.entry((p[0], p[1])).or_default() -= *c;
            }
            let mut i = 0;
            while i + 1 < w.len() {
                if (w[i], w[i + 1]) == pair {
                    w[i] = new;
                    w.remove(i + 1);
                }
                i += 1;
            }
            for p in w.windows(2) {
                *counts.entry((p[0], p[1])).or_default() += *c;
            }
        }
    }
    out
}

/// How merges, in their order, cut a word.
fn cut(word: &str, ranks: &HashMap<(String, String), usize>) -> Vec<String> {
    let mut parts: Vec<String> = visible(word).chars().map(|c| c.to_string()).collect();
    loop {
        let best = (0..parts.len().saturating_sub(1))
            .filter_map(|i| ranks.get(&(parts[i].clone(), parts[i + 1].clone())).map(|r| (*r, i)))
            .min();
        let Some((_, i)) = best else { return parts };
        let right = parts.remove(i + 1);
        parts[i] += &right;
    }
}

/// The tokenizer without a part of its merges, drawn by `seed`: words that it knows whole come out in pieces, as unknown words do,
/// and every time in the same pieces. Words of grammar and SQL stay whole, and so do the three cases of a merge together.
///
/// # Errors
/// When the text is no tokenizer.
pub fn thinned(json: &str, seed: u64) -> Result<String> {
    let mut value: Json = serde_json::from_str(json).map_err(wrap)?;
    let mut rng = Rng::new(seed);
    let share = rng.range(4, 30) as f64 / 100.0;
    let grammar = GRAMMAR.to_lowercase();
    let mut dropped: HashMap<String, bool> = HashMap::new();
    if let Some(merges) = value.pointer_mut("/model/merges").and_then(Json::as_array_mut) {
        merges.retain(|merge| {
            let made = match merge {
                Json::String(pair) => pair.replace(' ', ""),
                Json::Array(pair) => pair.iter().filter_map(Json::as_str).collect(),
                _ => String::new(),
            };
            let made = made.to_lowercase();
            let of_words = made.len() > 2 && made.chars().all(|c| c.is_ascii_alphabetic());
            let kept = !of_words || grammar.contains(&made);
            kept || !*dropped.entry(made).or_insert_with(|| rng.chance(share))
        });
    }
    Ok(value.to_string())
}

/// Encodes episodes: added tokens are recognised in markup and in the model's own turns only.
pub struct Encoder {
    full: Tokenizer,
    plain: Tokenizer,
}

impl Encoder {
    /// Reads a `tokenizer.json`.
    ///
    /// # Errors
    /// When the text is no tokenizer.
    pub fn new(json: &str) -> Result<Self> {
        let mut value: Json = serde_json::from_str(json).map_err(wrap)?;
        let full = json.parse::<Tokenizer>().map_err(wrap)?;
        value["added_tokens"] = json!([]);
        let plain = value.to_string().parse::<Tokenizer>().map_err(wrap)?;
        Ok(Self { full, plain })
    }

    /// Token ids, and for each whether it is to be learnt.
    ///
    /// # Errors
    /// When the tokenizer fails (it does not on UTF-8).
    pub fn encode(&self, pieces: &[Piece]) -> Result<(Vec<u16>, Vec<u8>)> {
        let (mut ids, mut mask) = (Vec::new(), Vec::new());
        for Piece(source, text) in pieces {
            let by = if *source == Source::Text { &self.plain } else { &self.full };
            let encoded = by.encode_fast(text.as_str(), false).map_err(wrap)?;
            let mark = match source {
                Source::Assistant => 1,
                Source::Text => 0,
                Source::Markup | Source::Mistake => 2,
            };
            for &id in encoded.get_ids() {
                ids.push(id as u16);
                mask.push(mark);
            }
        }
        Ok((ids, mask))
    }

    /// Number of tokens.
    pub fn size(&self) -> usize {
        self.full.get_vocab_size(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_have_the_usual_stand_ins() {
        assert_eq!(visible(" a\n"), "\u{120}a\u{10a}");
        assert_eq!((0..=255).map(byte_char).collect::<BTreeSet<_>>().len(), 256);
    }

    #[test]
    fn runs_are_cut_where_case_rises() {
        assert_eq!(case_runs("flightNumberID"), ["flight", "Number", "ID"]);
    }

    #[test]
    fn names_are_cut_alike_wherever_they_stand() {
        let texts = [
            "the flight number of each flight",
            "flight_number",
            "SELECT flight.flight_number FROM flight WHERE",
        ];
        let json = train(texts.iter().cycle().take(300).copied(), 2600).unwrap();
        let e = Encoder::new(&json).unwrap();
        let ids = |t: &str| e.encode(&[Piece(Source::Text, t.into())]).unwrap().0;
        let number = ids("number");
        for t in ["_number", ".number", " number", "(number"] {
            assert_eq!(ids(t)[1..], number[..], "{t}");
        }
        assert_eq!(ids(" FROM").len(), 1);
        // The plural is the singular and an `s`.
        assert_eq!(ids("numbers"), [ids("number"), ids("s")].concat());
        // Every case is cut at the same places.
        for word in ["flight", "number", "numbers", "flights", "light", "berth"] {
            let pieces = |t: &str| e.full.encode(t, false).unwrap().get_tokens().to_vec();
            let lower = pieces(word);
            for other in [capitalised(word), word.to_uppercase()] {
                assert_eq!(
                    pieces(&other).iter().map(|t| t.to_lowercase()).collect::<Vec<_>>(),
                    lower,
                    "{other}"
                );
            }
        }
        // With fewer merges a word is cut finer, everywhere and in every case alike, and grammar stays whole.
        let thin: Vec<Encoder> =
            (0..12).map(|seed| Encoder::new(&thinned(&json, seed).unwrap()).unwrap()).collect();
        let cut = |e: &Encoder, t: &str| e.full.encode(t, false).unwrap().get_tokens().to_vec();
        assert!(thin.iter().any(|t| cut(t, "flight").len() > cut(&e, "flight").len()));
        for t in &thin {
            let lower = cut(t, "flight");
            assert_eq!(cut(t, "_flight")[1..], lower[..]);
            assert_eq!(cut(t, "FLIGHT").iter().map(|t| t.to_lowercase()).collect::<Vec<_>>(), lower);
            assert_eq!(cut(t, " FROM").len(), 1);
            assert_eq!(t.size(), e.size());
        }
        // Special strings in text stay text; in markup they are one token.
        assert!(ids("<|im_end|>").len() > 1);
        assert_eq!(e.encode(&[Piece(Source::Markup, "<|im_end|>".into())]).unwrap().0.len(), 1);
        let round = e
            .full
            .decode(&ids("O'Brien: naïve 42").iter().map(|&i| u32::from(i)).collect::<Vec<_>>(), false)
            .unwrap();
        assert_eq!(round, "O'Brien: naïve 42");
    }
}
