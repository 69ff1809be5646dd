use std::io::Read;
use std::time::Instant;

use glowworm_gguf::{Header, Metadata, Strings};
use proptest::prelude::*;
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
