//! F32, F16 and BF16: little-endian values one after the other.

use half::{bf16, f16};

pub(super) fn from_f32(raw: &[u8], out: &mut [f32]) {
    for (bytes, out) in raw.as_chunks().0.iter().zip(out) {
        *out = f32::from_le_bytes(*bytes);
    }
}

pub(super) fn from_f16(raw: &[u8], out: &mut [f32]) {
    for (bytes, out) in raw.as_chunks().0.iter().zip(out) {
        *out = f16::from_le_bytes(*bytes).to_f32();
    }
}

pub(super) fn from_bf16(raw: &[u8], out: &mut [f32]) {
    for (bytes, out) in raw.as_chunks().0.iter().zip(out) {
        *out = bf16::from_le_bytes(*bytes).to_f32();
    }
}

/// Rounded to nearest, ties to even, as ggml does.
pub(super) fn to_f16(weights: &[f32], raw: &mut Vec<u8>) {
    weights.iter().for_each(|weight| raw.extend_from_slice(&f16::from_f32(*weight).to_le_bytes()));
}

/// Rounded to nearest, ties to even, as ggml does.
pub(super) fn to_bf16(weights: &[f32], raw: &mut Vec<u8>) {
    weights.iter().for_each(|weight| raw.extend_from_slice(&bf16::from_f32(*weight).to_le_bytes()));
}
