//! How much memory a header can take: counted by an allocator around the system's.
//!
//! One test in the file, because the count is of the whole process.

// A panic in a helper of a test is the report, as it is in the test itself.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::io::Read;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use glowworm_gguf::{Error, Header, HeaderParser, Metadata, Progress, Strings, Writer};

struct Counting;

static LIVE: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

// SAFETY: every call goes to the system's allocator unchanged; only sizes are counted. `realloc` is left to the default,
// which allocates, copies and frees: the worst case of what a real one may do.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let live = LIVE.fetch_add(layout.size(), Relaxed) + layout.size();
        PEAK.fetch_max(live, Relaxed);
        // SAFETY: the caller's layout, unchanged.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        LIVE.fetch_sub(layout.size(), Relaxed);
        // SAFETY: `memory` came from `alloc` above with this layout.
        unsafe { System.dealloc(memory, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

const MIB: usize = 1 << 20;

/// The most memory that was held at once beyond what was held before, and the result.
fn peak<T>(work: impl FnOnce() -> T) -> (usize, T) {
    let before = LIVE.load(Relaxed);
    PEAK.store(before, Relaxed);
    let result = work();
    (PEAK.load(Relaxed) - before, result)
}

/// Feeds a header that goes on for as long as the parser wants it.
fn endless(start: &[u8], pattern: &[u8]) -> Result<Header, Error> {
    let mut parser = HeaderParser::new();
    parser.push(start)?;
    let mut fed = 0usize;
    while let Progress::Need(_) = parser.push(pattern)? {
        fed += pattern.len();
        assert!(fed < 2048 * MIB, "the parser never ends");
    }
    parser.finish()
}

fn start(tensors: u64, entries: u64) -> Vec<u8> {
    [&b"GGUF"[..], &3u32.to_le_bytes(), &tensors.to_le_bytes(), &entries.to_le_bytes()].concat()
}

fn text(text: &str) -> Vec<u8> {
    [&(text.len() as u64).to_le_bytes(), text.as_bytes()].concat()
}

/// The start of a list in an entry of the key `k`.
fn list(kind: u32, count: u64) -> Vec<u8> {
    [&text("k")[..], &9u32.to_le_bytes(), &kind.to_le_bytes(), &count.to_le_bytes()].concat()
}

/// A header like the real one's: 248,320 tokens and 247,587 merges of the usual lengths, types, a template.
fn vocabulary() -> Vec<u8> {
    let mut metadata = Metadata::new();
    let token = |id: usize| format!("Ġ{:.*}", 2 + id % 9, format!("{:09}", id * 7919 % 999_983));
    metadata.set("tokenizer.ggml.tokens", Strings::collect((0..248_320).map(token)).unwrap());
    metadata.set("tokenizer.ggml.token_type", vec![1i32; 248_320]);
    let merge = |id: usize| format!("{} {}", token(id), token(id / 3));
    metadata.set("tokenizer.ggml.merges", Strings::collect((0..247_587).map(merge)).unwrap());
    metadata.set("tokenizer.chat_template", "x".repeat(8000));
    Writer::new(Vec::new(), &metadata, Vec::new()).unwrap().finish().unwrap()
}

#[test]
fn headers_stay_within_their_memory() {
    let (used, file) = peak(vocabulary);
    assert!(used > file.len(), "the allocator counts");
    assert!(file.len() > 9 * MIB, "{}", file.len());
    let (used, header) = peak(|| Header::read_from(&mut &*file, file.len() as u64));
    let header = header.unwrap();
    assert_eq!(header.metadata.strings("tokenizer.ggml.merges").unwrap().len(), 247_587);
    assert!(used <= 20 * MIB, "a real vocabulary took {used} bytes");
    drop((header, file));

    // Each of these says that it is enormous, or goes on for ever.
    let filler = vec![b'a'; MIB];
    // Strings of 8 zero bytes as length: empty ones; and of 0x61 bytes each.
    let zeros = vec![0u8; MIB];
    let letters: Vec<u8> = text(&"a".repeat(97)).repeat(5000);
    let megabytes = text(&"a".repeat(5 * MIB));
    let entries: Vec<u8> = (0..70_000)
        .flat_map(|index| [&text(&format!("k{index}"))[..], &4u32.to_le_bytes(), &[0; 4]].concat())
        .collect();
    let tensors: Vec<u8> = (0..70_000)
        .flat_map(|index| {
            let name = text(&format!("{index:0240}"));
            [&name[..], &4u32.to_le_bytes(), &[1, 0, 0, 0, 0, 0, 0, 0].repeat(4), &[0; 12]].concat()
        })
        .collect();
    let long_text = |length: u64| [&text("k")[..], &8u32.to_le_bytes(), &length.to_le_bytes()].concat();
    let one = |entry: Vec<u8>| [start(0, 1), entry].concat();
    let cases: Vec<(&str, Vec<u8>, &[u8])> = vec![
        ("a string of the whole budget", one(long_text(27 * MIB as u64)), &filler),
        ("a string of 2^60", one(long_text(1 << 60)), &filler),
        ("bytes of the whole budget", one(list(0, 27 * MIB as u64)), &filler),
        ("floats of the whole budget", one(list(12, (27 * MIB / 8) as u64)), &filler),
        ("a list of 2^60", one(list(8, 1 << 60)), &filler),
        ("six million empty strings", one(list(8, 6 << 20)), &zeros),
        ("short strings for ever", one(list(8, 1 << 20)), &letters),
        ("long strings for ever", one(list(8, 100)), &megabytes),
        ("entries for ever", start(0, 65_536), &entries),
        ("tensors for ever", start(65_536, 0), &tensors),
    ];
    for (name, start, pattern) in cases {
        let (used, result) = peak(|| endless(&start, pattern).map(drop));
        println!("{name}: {used} bytes, {result:?}");
        assert!(used <= 64 * MIB, "{name} took {used} bytes");
    }

    // A stream that claims a long file and gives zeros.
    let (used, _) =
        peak(|| Header::read_from(&mut start(3, 3).chain(std::io::repeat(0)), u64::MAX).map(drop));
    assert!(used <= MIB, "{used}");
}
