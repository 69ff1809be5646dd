//! Dequantisers and quantisers against the `gguf` Python package (`golden/make.py` wrote the vectors).

use glowworm_gguf::TensorType;
use glowworm_gguf::blocks::{dequantize, quantize};

fn file(name: &str) -> Vec<u8> {
    let path = format!("{}/tests/golden/{name}.bin", env!("CARGO_MANIFEST_DIR"));
    std::fs::read(&path).unwrap_or_else(|error| panic!("{path}: {error}"))
}

fn floats(bytes: &[u8]) -> Vec<f32> {
    bytes.as_chunks().0.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect()
}

#[test]
fn dequantised_blocks_equal_the_reference() {
    for kind in TensorType::all().filter(|kind| kind.is_supported() && kind.block_weights() > 1) {
        let bytes = file(&format!("dequantize_{}", kind.name().to_lowercase()));
        let (raw, expected) = bytes.split_at(4 * kind.block_bytes() as usize);
        let expected = floats(expected);
        assert_eq!(expected.len() as u64, 4 * kind.block_weights());
        let mut out = vec![f32::NAN; expected.len()];
        dequantize(kind, raw, &mut out).unwrap();
        // The products are taken in the same order: equal to the last bit.
        assert_eq!(out, expected, "{kind}");
    }
}

#[test]
fn quantised_weights_equal_the_reference() {
    for kind in [TensorType::F16, TensorType::BF16, TensorType::Q8_0, TensorType::Q4_0] {
        let bytes = file(&format!("quantize_{}", kind.name().to_lowercase()));
        let per_block = 4 * kind.block_weights() + kind.block_bytes();
        let blocks = bytes.len() as u64 / per_block;
        let (weights, expected) = bytes.split_at((4 * blocks * kind.block_weights()) as usize);
        let mut raw = Vec::new();
        quantize(kind, &floats(weights), &mut raw).unwrap();
        let differing: Vec<_> = raw.iter().zip(expected).enumerate().filter(|(_, (a, b))| a != b).collect();
        assert!(raw.len() == expected.len() && differing.is_empty(), "{kind}: {differing:?}");
    }
}
