//! Headers that are cut, mutated or absurd: always an error that says what is wrong, never a panic.

// A panic in a helper of a test is the report, as it is in the test itself.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::io::Read;

use glowworm_gguf::write::Declaration;
use glowworm_gguf::{Error, Header, HeaderParser, Metadata, Progress, Strings, TensorType, Value, Writer};
use proptest::prelude::*;

/// A file with every kind of value and a few tensors.
fn sample() -> Vec<u8> {
    let mut metadata = Metadata::new();
    metadata.set("general.architecture", "qwen35");
    metadata.set("general.alignment", 64u32);
    let scalars: [(&str, Value); 11] = [
        ("u8", 1u8.into()),
        ("i8", (-1i8).into()),
        ("u16", 2u16.into()),
        ("i16", (-2i16).into()),
        ("u32", 3u32.into()),
        ("i32", (-3i32).into()),
        ("f32", 0.5f32.into()),
        ("bool", true.into()),
        ("u64", u64::MAX.into()),
        ("i64", i64::MIN.into()),
        ("f64", 0.25f64.into()),
    ];
    scalars.into_iter().for_each(|(key, value)| metadata.set(key, value));
    let lists: [(&str, Value); 12] = [
        ("u8s", vec![1u8, 2].into()),
        ("i8s", vec![-1i8].into()),
        ("u16s", vec![2u16; 3].into()),
        ("i16s", vec![-2i16].into()),
        ("u32s", Vec::<u32>::new().into()),
        ("i32s", vec![11i32, 11, 10, 0].into()),
        ("f32s", vec![0.5f32].into()),
        ("bools", vec![true, false, true].into()),
        ("u64s", vec![u64::MAX].into()),
        ("i64s", vec![i64::MIN, 1].into()),
        ("f64s", vec![0.25f64].into()),
        ("strings", Strings::collect(["", "Ġthe", "", "\u{2028}x", "a b"]).unwrap().into()),
    ];
    lists.into_iter().for_each(|(key, value)| metadata.set(key, value));
    let tensor = |name: &str, dims: &[u64], kind| Declaration { name: name.into(), dims: dims.into(), kind };
    let declarations = vec![
        tensor("token_embd.weight", &[64, 3], TensorType::Q8_0),
        tensor("blk.0.attn_norm.weight", &[64], TensorType::F32),
        tensor("blk.0.ffn_up.weight", &[256, 2], TensorType::Q4K),
        tensor("blk.1.skipped", &[256], TensorType::IQ3_XXS),
    ];
    let mut writer = Writer::new(Vec::new(), &metadata, declarations).unwrap();
    while let Some(tensor) = writer.current() {
        let data = vec![7; tensor.byte_len() as usize];
        writer.write(&data).unwrap();
    }
    writer.finish().unwrap()
}

fn parse(file: &[u8]) -> Result<Header, Error> {
    Header::read_from(&mut &*file, file.len() as u64)
}

/// Parses without knowing the length of the file.
fn parse_blind(file: &[u8]) -> Result<Header, Error> {
    let mut parser = HeaderParser::new();
    parser.push(file)?;
    parser.finish()
}

/// Header bytes with hand-made parts: counts, then whatever follows.
fn raw(tensors: u64, entries: u64, rest: &[&[u8]]) -> Vec<u8> {
    let counts = [&b"GGUF"[..], &3u32.to_le_bytes(), &tensors.to_le_bytes(), &entries.to_le_bytes()].concat();
    [counts, rest.concat()].concat()
}

fn text(text: &str) -> Vec<u8> {
    [&(text.len() as u64).to_le_bytes(), text.as_bytes()].concat()
}

/// A directory entry.
fn entry(name: &str, dims: &[u64], kind: u32, offset: u64) -> Vec<u8> {
    let mut bytes = [text(name), (dims.len() as u32).to_le_bytes().to_vec()].concat();
    dims.iter().for_each(|dim| bytes.extend_from_slice(&dim.to_le_bytes()));
    [bytes, kind.to_le_bytes().to_vec(), offset.to_le_bytes().to_vec()].concat()
}

/// Both ways of parsing fail, and the message contains all of `needles`.
#[track_caller]
fn refused(file: &[u8], needles: &[&str]) {
    // Long enough for what the tests call a file, so that the length of the file is not what refuses it.
    for (way, result) in [
        ("blind", parse_blind(file)),
        ("known length", Header::read_from(&mut file.chain(std::io::repeat(0)), u64::MAX)),
    ] {
        let message = match result {
            Ok(_) => panic!("accepted ({way})"),
            Err(error) => error.to_string(),
        };
        // What is past any limit may also be past the end of any file.
        let past_end = way == "known length" && message.contains("past the end");
        for needle in needles.iter().take(if past_end { 1 } else { needles.len() }) {
            assert!(message.contains(needle), "{way}: `{message}` does not say `{needle}`");
        }
    }
}

#[test]
fn what_was_written_is_read() {
    let file = sample();
    let header = parse(&file).unwrap();
    assert_eq!((header.version, header.alignment), (3, 64));
    assert_eq!(header.metadata.len(), 25);
    assert_eq!(header.metadata.get("i64s"), Some(&Value::from(vec![i64::MIN, 1])));
    let strings = header.metadata.strings("strings").unwrap();
    assert_eq!(strings.iter().collect::<Vec<_>>(), ["", "Ġthe", "", "\u{2028}x", "a b"]);
    let tensor = header.tensor("blk.0.ffn_up.weight").unwrap();
    assert_eq!((tensor.k(), tensor.rows(), tensor.byte_len()), (256, 2, 288));
    let range = header.data_range(tensor);
    assert!(file[range.start as usize..range.end as usize].iter().all(|byte| *byte == 7));
    assert_eq!(range.start % 64, 0);
    // A type that cannot be computed with is only refused by whoever uses the tensor.
    let message = header.tensor("blk.1.skipped").unwrap().require_supported().unwrap_err().to_string();
    assert!(message.contains("blk.1.skipped") && message.contains("IQ3_XXS"), "{message}");
}

#[test]
fn version_2_is_read_and_others_are_named() {
    let mut file = sample();
    file[4] = 2;
    assert_eq!(parse(&file).unwrap().version, 2);
    file[4] = 1;
    refused(&file, &["version 1"]);
    file[4..8].copy_from_slice(&3u32.to_be_bytes());
    refused(&file, &["big endian"]);
    refused(b"PK\x03\x04 is a zip file, not GGUF", &["not a GGUF file"]);
}

#[test]
fn a_header_cut_at_any_byte_is_refused() {
    let file = sample();
    let header_len = {
        let mut parser = HeaderParser::new();
        parser.push(&file).unwrap();
        parser.consumed() as usize
    };
    for cut in 0..file.len() {
        let known = parse(&file[..cut]);
        if cut < header_len {
            assert!(
                matches!(known, Err(Error::Truncated { .. } | Error::PastEnd { .. })),
                "{cut}: {known:?}"
            );
            let blind = parse_blind(&file[..cut]);
            let Err(Error::Truncated { missing, .. }) = blind else { panic!("{cut}: {blind:?}") };
            assert!(missing >= 1 && missing <= (header_len - cut) as u64, "{cut}: {missing}");
        } else if cut < file.len() - 64 {
            // The header is whole, the data is not: the tensor that misses some is named.
            assert!(matches!(known, Err(Error::PastEnd { .. })), "{cut}: {known:?}");
        }
    }
}

#[test]
fn asking_for_no_more_than_needed_ends_exactly_at_the_end() {
    let file = sample();
    let mut parser = HeaderParser::new();
    let (mut given, mut rounds) = (0, 0);
    let mut progress = parser.push(&[]).unwrap();
    while let Progress::Need(bytes) = progress {
        let bytes = bytes as usize;
        progress = parser.push(&file[given..given + bytes]).unwrap();
        given += bytes;
        rounds += 1;
    }
    assert_eq!(given as u64, parser.consumed());
    assert_eq!(parser.finish().unwrap(), parse(&file).unwrap());
    // The lower bound counts what is known to follow, so that few round trips are enough.
    assert!(rounds < 70, "{rounds}");
}

#[test]
fn absurd_counts_and_lengths_are_refused() {
    let huge = u64::MAX.to_le_bytes();
    refused(&raw(u64::MAX, 0, &[]), &["tensor count"]);
    refused(&raw(0, 1 << 40, &[]), &["metadata count"]);
    refused(&raw(0, 1, &[&huge]), &["metadata entry 0", "key length"]);
    refused(&raw(0, 1, &[&0u64.to_le_bytes()]), &["metadata entry 0", "empty"]);
    refused(&raw(0, 1, &[&text("k"), &8u32.to_le_bytes(), &huge]), &["`k`", "string length"]);
    for kind in [0u32, 1, 2, 3, 4, 5, 6, 7, 8, 10, 11, 12] {
        for count in [u64::MAX, u64::MAX / 8, 1 << 61, 1 << 32, 1 << 26] {
            let list =
                [&text("list")[..], &9u32.to_le_bytes(), &kind.to_le_bytes(), &count.to_le_bytes()].concat();
            refused(&raw(0, 1, &[&list]), &["`list`", "list length"]);
        }
    }
    let nested = [&text("list")[..], &9u32.to_le_bytes(), &9u32.to_le_bytes(), &1u64.to_le_bytes()].concat();
    refused(&raw(0, 1, &[&nested]), &["`list`", "lists of lists"]);
    refused(&raw(1, 0, &[&huge]), &["tensor 0", "name length"]);
    refused(&raw(1, 0, &[&text("t"), &u32::MAX.to_le_bytes()]), &["`t`", "dimensions"]);
}

#[test]
fn wrong_values_name_their_key() {
    let bad_text = [&text("k")[..], &8u32.to_le_bytes(), &1u64.to_le_bytes(), &[0xff]].concat();
    refused(&raw(0, 1, &[&bad_text]), &["`k`", "UTF-8"]);
    refused(&raw(0, 1, &[&1u64.to_le_bytes(), &[0xff]]), &["metadata entry 0", "UTF-8"]);
    refused(&raw(0, 1, &[&text("k"), &13u32.to_le_bytes()]), &["`k`", "value type 13"]);
    refused(&raw(0, 1, &[&text("k"), &7u32.to_le_bytes(), &[2]]), &["`k`", "boolean"]);
    // The parts of one character in two strings: the list as a whole would be valid.
    let split = [
        &text("list")[..],
        &9u32.to_le_bytes(),
        &8u32.to_le_bytes(),
        &2u64.to_le_bytes(),
        &1u64.to_le_bytes(),
        &[0xc4],
        &1u64.to_le_bytes(),
        &[0xa0],
    ];
    refused(&raw(0, 1, &[&split.concat()]), &["`list`", "UTF-8"]);
    let one = [&text("k")[..], &0u32.to_le_bytes(), &[1]].concat();
    refused(&raw(0, 2, &[&one, &one]), &["`k`", "twice"]);
    for alignment in [0u32, 3, 1 << 31] {
        let entry = [&text("general.alignment")[..], &4u32.to_le_bytes(), &alignment.to_le_bytes()].concat();
        refused(&raw(0, 1, &[&entry]), &["general.alignment", "power of two"]);
    }
    // A key that would garble a terminal or fill the screen.
    let ugly = format!("\u{1b}[2J{}", "x".repeat(60_000));
    let message = parse_blind(&raw(0, 1, &[&text(&ugly), &99u32.to_le_bytes()])).unwrap_err().to_string();
    assert!(message.len() < 400 && !message.contains('\u{1b}'), "{message}");
}

#[test]
fn wrong_tensors_are_named() {
    let f32s = TensorType::F32.id();
    refused(&raw(1, 0, &[&entry("t", &[4], 4, 0)]), &["`t`", "tensor type 4"]);
    refused(&raw(1, 0, &[&entry("t", &[4, 0], f32s, 0)]), &["`t`", "zero"]);
    refused(&raw(1, 0, &[&entry("t", &[48], TensorType::Q8_0.id(), 0)]), &["`t`", "Q8_0"]);
    refused(&raw(1, 0, &[&entry("t", &[1 << 32, 1 << 32], f32s, 0)]), &["`t`", "overflow"]);
    refused(&raw(1, 0, &[&entry("t", &[1 << 62], f32s, 0)]), &["`t`", "overflow"]);
    refused(&raw(1, 0, &[&entry("t", &[4], f32s, 16)]), &["`t`", "alignment"]);
    refused(&raw(1, 0, &[&entry("t", &[4], f32s, u64::MAX - 31)]), &["`t`", "overflow"]);
    refused(&raw(2, 0, &[&entry("t", &[4], f32s, 0), &entry("t", &[4], f32s, 32)]), &["`t`", "twice"]);
    refused(
        &raw(2, 0, &[&entry("t", &[16], f32s, 0), &entry("u", &[4], f32s, 32)]),
        &["`t`", "`u`", "overlap"],
    );
    refused(&raw(2, 0, &[&entry("t", &[4], f32s, 64), &entry("u", &[32], f32s, 0)]), &["`u`", "overlap"]);
    // Past the end of the file, when its length is known.
    let file = [raw(1, 0, &[&entry("t", &[8], f32s, 32)]), vec![0; 64]].concat();
    let message = parse(&file).unwrap_err().to_string();
    assert!(message.contains("`t`") && message.contains("past the end"), "{message}");
    assert!(parse(&[file, vec![0; 64]].concat()).is_ok());
}

#[test]
fn a_parser_that_failed_stays_failed() {
    let mut parser = HeaderParser::new();
    assert!(parser.push(b"nonsense that is not a model").is_err());
    assert!(matches!(parser.push(&sample()), Err(Error::AlreadyFailed)));
    assert!(matches!(parser.finish(), Err(Error::AlreadyFailed)));
}

/// Whatever the file says, its ranges can be computed and lie in the file.
fn check_ranges(header: &Header, file_len: u64) {
    for tensor in &header.tensors {
        let range = header.data_range(tensor);
        assert!(range.start <= range.end && range.end <= file_len, "{tensor:?}");
        assert_eq!(range.start % header.alignment, 0);
        assert!(header.tensor(&tensor.name).is_some());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn mutated_headers_never_panic(
        edits in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
        words in prop::collection::vec((any::<prop::sample::Index>(), any::<u64>(), 0u32..64), 0..3),
    ) {
        let mut file = sample();
        let header_len = parse(&file).unwrap().data_offset as usize;
        for (place, byte) in edits {
            file[place.index(header_len)] = byte;
        }
        for (place, word, shift) in words {
            // Numbers of all magnitudes, where lengths and offsets could be.
            let at = place.index(header_len - 8);
            file[at..at + 8].copy_from_slice(&(word >> shift).to_le_bytes());
        }
        if let Ok(header) = parse(&file) {
            check_ranges(&header, file.len() as u64);
        }
        let _ = parse_blind(&file);
    }

    #[test]
    fn random_bytes_after_the_counts_never_panic(
        bytes in prop::collection::vec(any::<u8>(), 0..600),
        tensors in 0u64..4,
        entries in 0u64..4,
    ) {
        let file = raw(tensors, entries, &[&bytes]);
        if let Ok(header) = parse(&file) {
            check_ranges(&header, file.len() as u64);
        }
    }

    #[test]
    fn pieces_of_any_size_give_the_same_header(sizes in prop::collection::vec(1usize..40, 1..80)) {
        let file = sample();
        let mut parser = HeaderParser::new();
        let mut rest = &file[..];
        let mut sizes = sizes.iter().cycle();
        let mut last = u64::MAX;
        loop {
            let (piece, after) = rest.split_at((*sizes.next().unwrap()).min(rest.len()));
            rest = after;
            match parser.push(piece).unwrap() {
                Progress::Need(bytes) => {
                    prop_assert!(bytes > 0);
                    last = bytes;
                }
                Progress::Done => break,
            }
        }
        prop_assert!(last < u64::MAX);
        prop_assert_eq!(parser.finish().unwrap(), parse(&file).unwrap());
    }
}
