//! What the real vocabulary costs, counted by the allocator: a browser tab and the host side of an engine both have
//! budgets that the tokenizer must not eat.

#![allow(clippy::unwrap_used)] // A panic is the report.

use std::alloc::{GlobalAlloc, Layout, System};
use std::io::Read;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use glowworm_gguf::{Metadata, Strings};
use glowworm_model::Tokenizer;

static HELD: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

struct Counting;

// SAFETY: every call is passed to the system's allocator as it came.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let held = HELD.fetch_add(layout.size(), Ordering::Relaxed) + layout.size();
        PEAK.fetch_max(held, Ordering::Relaxed);
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        HELD.fetch_sub(layout.size(), Ordering::Relaxed);
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Vocabulary and merges of Qwen3.5 as the metadata of a GGUF file, without its added tokens.
fn real_metadata() -> Metadata {
    let path = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../../shared/fixtures/qwen35-tokenizer/vocab_merges.json.gz"
    );
    let packed = std::fs::read(path).unwrap_or_else(|error| panic!("{path} is needed by this test: {error}"));
    let mut json = Vec::new();
    flate2::read::GzDecoder::new(packed.as_slice()).read_to_end(&mut json).unwrap();
    let json: serde_json::Value = serde_json::from_slice(&json).unwrap();
    let mut tokens: Vec<(u64, &str)> = json["vocab"]
        .as_object()
        .unwrap()
        .iter()
        .map(|(text, id)| (id.as_u64().unwrap(), text.as_str()))
        .collect();
    tokens.sort();
    let merges = json["merges"].as_array().unwrap().iter();
    let merges = merges.map(|pair| format!("{} {}", pair[0].as_str().unwrap(), pair[1].as_str().unwrap()));

    let mut metadata = Metadata::new();
    metadata.set("tokenizer.ggml.model", "gpt2");
    metadata.set("tokenizer.ggml.pre", "qwen35");
    metadata.set("tokenizer.ggml.token_type", vec![1; tokens.len()]);
    metadata.set("tokenizer.ggml.tokens", Strings::collect(tokens.iter().map(|(_, text)| text)).unwrap());
    metadata.set("tokenizer.ggml.merges", Strings::collect(merges).unwrap());
    metadata
}

#[test]
fn the_real_vocabulary_costs_a_few_megabytes() {
    let metadata = real_metadata();
    let before = HELD.load(Ordering::Relaxed);
    PEAK.store(before, Ordering::Relaxed);
    let start = Instant::now();
    let tokenizer = Tokenizer::from_gguf(&metadata).unwrap();
    let built = start.elapsed();
    let held = HELD.load(Ordering::Relaxed) - before;
    let peak = PEAK.load(Ordering::Relaxed) - before;
    println!("built in {built:?}: {held} bytes held, {peak} at the peak");
    assert!(tokenizer.heap_bytes() <= held);
    assert!(held < 9 << 20, "{held} bytes held");
    assert!(peak < 16 << 20, "{peak} bytes at the peak");

    // Encoding keeps nothing, and needs some 180 bytes for each byte of text while it lasts.
    let text = "SELECT name, COUNT(*) FROM \"planet\" WHERE id = 12345 GROUP BY 1;\n".repeat(200);
    let held = HELD.load(Ordering::Relaxed);
    PEAK.store(held, Ordering::Relaxed);
    let ids = tokenizer.encode_text(&text).unwrap();
    let peak = PEAK.load(Ordering::Relaxed) - held;
    println!("{} bytes to {} tokens: {peak} bytes at the peak", text.len(), ids.len());
    assert!(peak < 300 * text.len(), "{peak} bytes for {} of text", text.len());
}
