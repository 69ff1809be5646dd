//! The header parser on arbitrary bytes: in one piece and in pieces, with and without the length of the file.
#![no_main]

use glowworm_gguf::{Header, HeaderParser, Progress};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|file: &[u8]| {
    let known = Header::read_from(&mut &*file, file.len() as u64);
    if let Ok(header) = &known {
        for tensor in &header.tensors {
            let range = header.data_range(tensor);
            assert!(range.start <= range.end && range.end <= file.len() as u64);
        }
    }
    // The last byte decides the size of the pieces: it is data, not header, in any file that gets far.
    let piece = 1 + usize::from(file.last().copied().unwrap_or(0));
    let mut parser = HeaderParser::new();
    for bytes in file.chunks(piece) {
        match parser.push(bytes) {
            Ok(Progress::Need(more)) => assert!(more > 0),
            Ok(Progress::Done) => break,
            Err(_) => return assert!(known.is_err()),
        }
    }
    // Whatever is accepted with the length of the file is accepted without it. (Metadata may hold NaN: not compared.)
    if let Ok(known) = known {
        let blind = parser.finish().map(|header| (header.data_offset, header.tensors));
        assert_eq!(blind.ok(), Some((known.data_offset, known.tensors)));
    }
});
