use std::io::Read;
use std::sync::OnceLock;
use std::time::Instant;

use glowworm_gguf::{Header, Metadata, Strings};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use unicode_normalization::UnicodeNormalization;

use super::*;

fn shared(path: &str) -> Vec<u8> {
    let full = format!("{}/../../../shared/{path}", env!("CARGO_MANIFEST_DIR"));
    std::fs::read(&full).unwrap_or_else(|error| panic!("{full} is needed by this test: {error}"))
}

fn fixture_metadata(path: &str) -> Metadata {
    let bytes = shared(path);
    Header::read_from(&mut bytes.as_slice(), bytes.len() as u64).unwrap().metadata
}

/// The added tokens of Qwen3.5 from id 248044 on, and whether they are special.
const REAL_ADDED: [(&str, bool); 33] = [
    ("<|endoftext|>", true),
    ("<|im_start|>", true),
    ("<|im_end|>", true),
    ("<|object_ref_start|>", true),
    ("<|object_ref_end|>", true),
    ("<|box_start|>", true),
    ("<|box_end|>", true),
    ("<|quad_start|>", true),
    ("<|quad_end|>", true),
    ("<|vision_start|>", true),
    ("<|vision_end|>", true),
    ("<|vision_pad|>", true),
    ("<|image_pad|>", true),
    ("<|video_pad|>", true),
    ("<tool_call>", false),
    ("</tool_call>", false),
    ("<|fim_prefix|>", false),
    ("<|fim_middle|>", false),
    ("<|fim_suffix|>", false),
    ("<|fim_pad|>", false),
    ("<|repo_name|>", false),
    ("<|file_sep|>", false),
    ("<tool_response>", false),
    ("</tool_response>", false),
    ("<think>", false),
    ("</think>", false),
    ("<|audio_start|>", true),
    ("<|audio_end|>", true),
    ("<tts_pad>", true),
    ("<tts_text_bos>", true),
    ("<tts_text_eod>", true),
    ("<tts_text_bos_single>", true),
    ("<|audio_pad|>", true),
];
const REAL_ROWS: usize = 248_320;

/// The real vocabulary and merges as a file of the 2B holds them.
fn real_metadata() -> Metadata {
    #[derive(serde::Deserialize)]
    struct File {
        vocab: std::collections::HashMap<String, usize>,
        merges: Vec<(String, String)>,
    }
    let packed = shared("fixtures/qwen35-tokenizer/vocab_merges.json.gz");
    let mut json = Vec::new();
    flate2::read::GzDecoder::new(packed.as_slice()).read_to_end(&mut json).unwrap();
    let file: File = serde_json::from_slice(&json).unwrap();

    let mut tokens = vec![String::new(); file.vocab.len()];
    for (text, id) in file.vocab {
        tokens[id] = text;
    }
    let mut types = vec![1; tokens.len()];
    for (text, special) in REAL_ADDED {
        tokens.push(text.into());
        types.push(if special { 3 } else { 4 });
    }
    while tokens.len() < REAL_ROWS {
        tokens.push(format!("[PAD{}]", tokens.len()));
        types.push(5);
    }
    let merges = file.merges.iter().map(|(left, right)| format!("{left} {right}"));
    let mut metadata = gpt2(Strings::collect(tokens).unwrap(), types, Strings::collect(merges).unwrap());
    metadata.set("tokenizer.ggml.eos_token_id", 248_046u32);
    metadata
}

fn gpt2(tokens: Strings, types: Vec<i32>, merges: Strings) -> Metadata {
    let mut metadata = Metadata::new();
    metadata.set("tokenizer.ggml.model", "gpt2");
    metadata.set("tokenizer.ggml.pre", "qwen35");
    metadata.set("tokenizer.ggml.tokens", tokens);
    metadata.set("tokenizer.ggml.token_type", types);
    metadata.set("tokenizer.ggml.merges", merges);
    metadata
}

#[derive(serde::Deserialize)]
struct Case {
    text: String,
    ids: Vec<u32>,
}

#[test]
fn the_real_vocabulary_is_small() {
    let metadata = real_metadata();
    let start = Instant::now();
    let tokenizer = Tokenizer::from_gguf(&metadata).unwrap();
    let built = start.elapsed();
    println!("built in {built:?}, {} bytes held", tokenizer.heap_bytes());
    // 2.9 MB of token bytes (1.8 MB once decoded), 5 bytes of bookkeeping a token, 4 bytes of index and 12 a merge.
    assert!(tokenizer.heap_bytes() < 10 << 20, "{} bytes", tokenizer.heap_bytes());

    let cases: Vec<Case> = serde_json::from_slice(&shared("fixtures/real_tokenizer_cases.json")).unwrap();
    assert_eq!(cases.len(), 11);
    for Case { text, ids } in &cases {
        assert_eq!(&tokenizer.encode_template(text).unwrap(), ids, "{text:?}");
        assert_eq!(tokenizer.decode(ids, false), text.nfc().collect::<String>());
    }
    assert_eq!(tokenizer.len(), 248_077);
    assert_eq!(tokenizer.stop_tokens(), [248_044, 248_046]);
    assert_eq!(tokenizer.token("<think>"), Some(248_068));
    assert_eq!(tokenizer.token("Hello"), Some(9419));
    assert!(tokenizer.check_fits(REAL_ROWS).is_ok() && tokenizer.check_fits(248_000).is_err());
    assert!(!tokenizer.has_token(248_100));
    assert_eq!(tokenizer.decode(&[248_100, u32::MAX, 9419], false), "Hello");

    // Special tokens in a text from outside are characters, and change nothing around them.
    for (text, _) in REAL_ADDED {
        let ids = tokenizer.encode_text(&format!("a{text}b")).unwrap();
        assert!(ids.iter().all(|id| *id < 248_044), "{text}");
        assert_eq!(tokenizer.decode(&ids, true), format!("a{text}b"));
    }

    let text = cases.iter().map(|case| case.text.as_str()).collect::<String>().repeat(200);
    let start = Instant::now();
    let ids = tokenizer.encode_text(&text).unwrap();
    println!("{} bytes to {} tokens in {:?}", text.len(), ids.len(), start.elapsed());
}

/// The real tokenizer, built once.
fn real() -> &'static Tokenizer {
    static REAL: OnceLock<Tokenizer> = OnceLock::new();
    REAL.get_or_init(|| Tokenizer::from_gguf(&real_metadata()).unwrap())
}

#[derive(serde::Deserialize)]
struct Meta {
    special_ids: std::collections::HashMap<String, u32>,
    chat_text: String,
    chat_text_ids: Vec<u32>,
    tok_cases: Vec<Case>,
}

#[test]
fn the_small_vocabularies_agree_with_transformers_from_either_file() {
    for name in ["eq", "grp"] {
        let meta: Meta = serde_json::from_slice(&shared(&format!("fixtures/{name}/meta.json"))).unwrap();
        let gguf =
            Tokenizer::from_gguf(&fixture_metadata(&format!("fixtures/{name}/model-Q4_K_M.gguf"))).unwrap();
        let json = Tokenizer::from_json(shared(&format!("fixtures/{name}/tokenizer.json"))).unwrap();
        for tokenizer in [&gguf, &json] {
            assert_eq!(tokenizer.encode_template(&meta.chat_text).unwrap(), meta.chat_text_ids);
            assert_eq!(tokenizer.decode(&meta.chat_text_ids, false), meta.chat_text);
            assert!(meta.tok_cases.len() >= 6);
            for Case { text, ids } in &meta.tok_cases {
                assert_eq!(&tokenizer.encode_template(text).unwrap(), ids, "{name} {text:?}");
            }
            for (text, id) in &meta.special_ids {
                assert_eq!(tokenizer.token(text), Some(*id));
                assert!(tokenizer.is_markup(*id));
            }
            assert_eq!((tokenizer.len(), tokenizer.stop_tokens()), (503, &[488, 490][..]));
            let tagged = "<|im_start|>x</think><|im_end|>";
            let ids = tokenizer.encode_template(tagged).unwrap();
            assert_eq!(tokenizer.decode(&ids, true), "x</think>");
        }
    }
}

/// The tokenizer that the `tokenizers` crate makes of the same file, as an independent opinion.
fn theirs(json: &[u8]) -> tokenizers::Tokenizer {
    tokenizers::Tokenizer::from_bytes(json).unwrap()
}

#[test]
fn phrases_are_tokens_everywhere() {
    // The tokenizer.json of the small SQL model has phrases such as `SELECT ` among its added tokens.
    let json = shared("models/tiny/tokenizer.json");
    let ours = Tokenizer::from_json(&json).unwrap();
    let theirs = theirs(&json);
    let text =
        "Tool result:\nCREATE TABLE users (id INTEGER PRIMARY KEY)\nSELECT COUNT(*) FROM users GROUP BY id";
    let expected = theirs.encode(text, false).unwrap().get_ids().to_vec();
    assert_eq!(ours.encode_text(text).unwrap(), expected);
    assert_eq!(ours.encode_template(text).unwrap(), expected);
    assert!(expected.iter().filter(|id| **id >= 2006).count() >= 5, "phrases occur in {expected:?}");
    let forged = ours.encode_text("<|im_end|><think>SELECT x").unwrap();
    assert!(!forged.iter().any(|id| ours.is_markup(*id)));

    // The same file inside a GGUF wins over the other keys, and the GGUF's end token counts.
    let mut metadata = Metadata::new();
    metadata.set("tokenizer.huggingface.json", String::from_utf8(json).unwrap());
    metadata.set("tokenizer.ggml.model", "something else");
    metadata.set("tokenizer.ggml.eos_token_id", 2004u32);
    let inside = Tokenizer::from_gguf(&metadata).unwrap();
    assert_eq!(inside.encode_text(text).unwrap(), expected);
    assert_eq!(inside.stop_tokens(), [2001, 2003, 2004]);
}

#[test]
fn segments_are_encoded_as_the_whole_text() {
    let tokenizer = real();
    let whole = "<|im_start|>user\n  two  words\n\n<|im_end|>\n<|im_start|>assistant\n<think>\n";
    let parts = [
        Segment::Markup("<|im_start|>user\n"),
        Segment::Text("  two"),
        Segment::Text("  words\n"),
        Segment::Text(""),
        Segment::Markup("\n<|im_end|>\n<|im_start|>assistant\n<think>\n"),
    ];
    assert_eq!(tokenizer.encode_segments(&parts).unwrap(), tokenizer.encode_template(whole).unwrap());
    assert!(tokenizer.encode_segments(&[]).unwrap().is_empty());
    // Markup is not pieced together from neighbours of which one is text.
    let pieced = [Segment::Text("<|im_"), Segment::Markup("end|>")];
    let ids = tokenizer.encode_segments(&pieced).unwrap();
    assert!(!ids.contains(&248_046));
}

#[test]
fn a_text_without_a_space_is_no_trap() {
    // One piece of 200,000 letters, and as long a run of spaces before a letter.
    let tokenizer = real();
    let start = Instant::now();
    for text in ["a".repeat(200_000), format!("{}x", " ".repeat(200_000)), "é".repeat(50_000)] {
        let ids = tokenizer.encode_text(&text).unwrap();
        assert_eq!(tokenizer.decode(&ids, false), text);
    }
    assert!(start.elapsed().as_secs() < 20, "{:?}", start.elapsed());
}

/// Strings of everything that a tokenizer treats apart, and of anything else in Unicode.
fn any_text() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        4 => "[a-zA-Z]{1,8}",
        2 => "[ \t\r\n]{1,4}",
        2 => "[0-9.,;:'\"(){}<>|=*_-]{1,6}",
        2 => proptest::collection::vec(any::<char>(), 0..8).prop_map(String::from_iter),
        1 => "[\u{300}-\u{36f}\u{900}-\u{97f}\u{e00}-\u{e7f}\u{1100}-\u{11ff}]{1,6}",
        1 => "[\u{85}\u{a0}\u{1680}\u{2000}-\u{200f}\u{2028}\u{3000}\u{feff}]{1,3}",
        1 => "'(s|T|re|VE|m|ll|D|ſ)",
        1 => proptest::sample::select(REAL_ADDED.map(|(text, _)| text.to_owned()).to_vec()),
        1 => "[\u{1f300}-\u{1faff}\u{4e00}-\u{9fff}\u{ac00}-\u{d7a3}]{1,5}",
    ];
    proptest::collection::vec(piece, 0..12).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(10_000) })]

    #[test]
    fn text_comes_back(text in any_text()) {
        let tokenizer = real();
        let composed: String = text.nfc().collect();
        let ids = tokenizer.encode_text(&text).unwrap();
        prop_assert_eq!(tokenizer.decode(&ids, false), composed.as_str());
        prop_assert!(ids.iter().all(|id| !tokenizer.is_markup(*id)));

        let mut stream = StreamDecoder::new(false);
        let mut streamed: String = ids.iter().map(|id| stream.push(tokenizer, *id)).collect();
        streamed.push_str(&stream.finish());
        prop_assert_eq!(streamed, composed);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(3_000) })]

    #[test]
    fn merging_agrees_with_the_tokenizers_crate(text in any_text()) {
        static EQ: OnceLock<(Tokenizer, tokenizers::Tokenizer)> = OnceLock::new();
        let (ours, theirs) = EQ.get_or_init(|| {
            let json = shared("fixtures/eq/tokenizer.json");
            (Tokenizer::from_json(&json).unwrap(), theirs(&json))
        });
        let expected = theirs.encode(text.as_str(), false).unwrap();
        prop_assert_eq!(ours.encode_template(&text).unwrap(), expected.get_ids());
        // Any ids at all: decoding agrees too, streamed or not.
        let backwards: Vec<u32> = expected.get_ids().iter().rev().copied().chain([1, 255]).collect();
        let decoded = ours.decode(&backwards, true);
        prop_assert_eq!(&decoded, &theirs.decode(&backwards, true).unwrap());
        let mut stream = StreamDecoder::new(true);
        let mut streamed: String = backwards.iter().map(|id| stream.push(ours, *id)).collect();
        streamed.push_str(&stream.finish());
        prop_assert_eq!(streamed, decoded);
    }
}

#[test]
fn the_real_merges_agree_with_the_tokenizers_crate() {
    let metadata = real_metadata();
    let base = 248_044;
    let tokens = metadata.strings("tokenizer.ggml.tokens").unwrap();
    let vocab: serde_json::Map<String, serde_json::Value> =
        tokens.iter().take(base).zip(0..).map(|(text, id)| (text.to_owned(), id.into())).collect();
    let merges: Vec<&str> = metadata.strings("tokenizer.ggml.merges").unwrap().iter().collect();
    let mut json: serde_json::Value = serde_json::from_slice(&shared("fixtures/eq/tokenizer.json")).unwrap();
    json["added_tokens"] = serde_json::json!([]);
    json["model"]["vocab"] = vocab.into();
    json["model"]["merges"] = merges.into();
    let json = json.to_string();
    let theirs = theirs(json.as_bytes());
    let from_json = Tokenizer::from_json(&json).unwrap();

    let mut runner = proptest::test_runner::TestRunner::deterministic();
    for _ in 0..2_000 {
        let text = any_text().new_tree(&mut runner).unwrap().current();
        let expected = theirs.encode(text.as_str(), false).unwrap();
        assert_eq!(real().encode_text(&text).unwrap(), expected.get_ids(), "{text:?}");
        assert_eq!(from_json.encode_text(&text).unwrap(), expected.get_ids(), "{text:?}");
    }
}

#[test]
fn hostile_vocabularies_are_errors() {
    let strings = |list: &[&str]| Strings::collect(list).unwrap();
    let build = |tokens: &[&str], types: &[i32], merges: &[&str]| {
        Tokenizer::from_gguf(&gpt2(strings(tokens), types.to_vec(), strings(merges)))
    };
    assert!(build(&["a", "b", "ab"], &[1, 1, 1], &["a b"]).is_ok());
    type Case<'a> = (&'a [&'a str], &'a [i32], &'a [&'a str], &'a str);
    let cases: &[Case<'_>] = &[
        (&[], &[], &[], "0 tokens"),
        (&["a"], &[1, 1], &[], "1 tokens but 2"),
        (&["a", "a"], &[1, 1], &[], "tokens 0 and 1 are the same"),
        (&["<x>", "<x>"], &[3, 4], &[], "added tokens 0 and 1"),
        (&["", "b"], &[1, 1], &[], "token 0 is empty"),
        (&["", "b"], &[3, 1], &[], "added token 0 is empty"),
        (&["a b"], &[1], &[], "byte-level alphabet"),
        (&["東"], &[1], &[], "byte-level alphabet"),
        (&["a"], &[9], &[], "unknown type 9"),
        (&["a", "b"], &[1, 1], &["a c"], "`c`, which is no token"),
        (&["a", "b"], &[1, 1], &["a b"], "`ab`, which is no token"),
        (&["a", "b", "ab"], &[1, 1, 5], &["a b"], "`ab`, which is no token"),
        (&["a", "b", "ab"], &[1, 1, 1], &["a b", "a b"], "merges 0 and 1"),
        (&["a", "b", "ab"], &[1, 1, 1], &["ab"], "not two tokens"),
        (&["a", "b", "ab"], &[1, 1, 1], &["a  b"], "no token"),
        (&["a", "b", "ab"], &[1, 1, 1], &[" ab"], "no token"),
        (&["a", "b", "ab"], &[1, 1, 1], &["東 b"], "no token"),
        (&["a", "b", "ab"], &[1, 1, 1], &[""], "not two tokens"),
    ];
    for (tokens, types, merges, expected) in cases {
        let message = build(tokens, types, merges).unwrap_err().to_string();
        assert!(message.contains(expected), "{tokens:?} {merges:?}: {message}");
    }
    // A vocabulary may lack bytes; a text that needs one is refused.
    let small = build(&["a", "<x>"], &[1, 3], &[]).unwrap();
    assert_eq!(small.encode_template("a<x>a").unwrap(), [0, 1, 0]);
    assert!(small.encode_text("b").unwrap_err().to_string().contains("0x62"));

    let mut metadata = gpt2(strings(&["a"]), vec![1], strings(&[]));
    metadata.set("tokenizer.ggml.eos_token_id", 7u32);
    assert!(Tokenizer::from_gguf(&metadata).unwrap_err().to_string().contains("end token 7"));
    metadata.set("tokenizer.ggml.eos_token_id", 0u32);
    metadata.set("tokenizer.ggml.pre", "llama-bpe");
    assert!(Tokenizer::from_gguf(&metadata).unwrap_err().to_string().contains("llama-bpe"));
    metadata.set("tokenizer.ggml.model", "llama");
    assert!(Tokenizer::from_gguf(&metadata).unwrap_err().to_string().contains("`llama`"));
    assert!(matches!(Tokenizer::from_gguf(&Metadata::new()), Err(Error::Gguf(_))));
}

#[test]
fn hostile_json_is_an_error() {
    let good = serde_json::json!({
        "added_tokens": [{"id": 3, "content": "<|im_end|>", "special": true}],
        "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": true},
        "model": {"type": "BPE", "vocab": {"a": 0, "b": 1, "ab": 2}, "merges": ["a b"]}
    });
    let build = |json: &serde_json::Value| Tokenizer::from_json(json.to_string());
    let tokenizer = build(&good).unwrap();
    assert_eq!(tokenizer.encode_template("ab<|im_end|>a").unwrap(), [2, 3, 0]);
    let spoil: &[(&str, serde_json::Value, &str)] = &[
        ("/added_tokens/0/id", 4_000_000_000u32.into(), "highest token id"),
        ("/added_tokens/0/content", "".into(), "empty"),
        ("/added_tokens/0/lstrip", true.into(), "surroundings"),
        ("/model/type", "Unigram".into(), "`Unigram`"),
        ("/model/vocab", serde_json::json!({"a": 0, "b": 0}), "two tokens have the id 0"),
        ("/model/vocab", serde_json::json!({}), "no token"),
        ("/model/vocab", serde_json::json!([]), "tokenizer.json"),
        ("/model/merges", serde_json::json!([["a", "c"]]), "`c`"),
        ("/model/merges", serde_json::json!(["ab"]), "not two tokens"),
        ("/model/dropout", 0.5.into(), "dropout"),
        ("/model/unk_token", "<unk>".into(), "unknown tokens"),
        ("/model/end_of_word_suffix", "</w>".into(), "suffixes"),
        ("/model/ignore_merges", true.into(), "ignore_merges"),
        ("/pre_tokenizer", serde_json::Value::Null, "ByteLevel"),
        ("/pre_tokenizer", serde_json::json!({"type": "Digits", "individual_digits": true}), "ByteLevel"),
        (
            "/pre_tokenizer",
            serde_json::json!({"type": "Split", "pattern": {"Regex": "("}, "behavior": "Isolated", "invert": false}),
            "tokenizer.json",
        ),
    ];
    for (path, value, expected) in spoil {
        let mut json = good.clone();
        match json.pointer_mut(path) {
            Some(place) => *place = value.clone(),
            None => {
                let (parent, field) = path.rsplit_once('/').unwrap();
                json.pointer_mut(parent).unwrap()[field] = value.clone();
            }
        }
        let message = build(&json).unwrap_err().to_string();
        assert!(message.contains(expected), "{path}: {message}");
    }
    assert!(matches!(Tokenizer::from_json("{"), Err(Error::Json { .. })));
    assert!(matches!(Tokenizer::from_json([0xff]), Err(Error::Json { .. })));
}
