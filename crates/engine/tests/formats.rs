//! The kernels that read weights, over every type of weights: a row looked up, a matrix-vector and a matrix-matrix product
//! equal those of the dequantised weights.
#![allow(clippy::expect_used)] // in tests a panic is the report

mod common;

use glowworm_engine::{Tuning, self_test_of};
use glowworm_gguf::TensorType;

#[test]
fn every_type_is_read_as_its_dequantiser_reads_it() {
    let gpu = common::gpu();
    let kinds: Vec<_> = TensorType::all().filter(|kind| kind.is_supported()).collect();
    for tuning in [Tuning::Software, Tuning::Hardware] {
        let right = pollster::block_on(self_test_of(&gpu, &kinds, tuning))
            .unwrap_or_else(|error| panic!("{tuning:?}: {error}"));
        assert_eq!(right, kinds.iter().map(|kind| kind.name()).collect::<Vec<_>>());
    }
}

#[test]
fn a_type_that_no_shader_reads_is_refused_by_name() {
    let refused = pollster::block_on(self_test_of(&common::gpu(), &[TensorType::IQ3_S], Tuning::Auto));
    let message = refused.expect_err("there is no shader for it").to_string();
    assert!(message.contains("IQ3_S"), "{message}");
}
