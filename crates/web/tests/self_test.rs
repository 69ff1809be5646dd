//! The self-test's answers are those of the reference forward pass, and the engine gives them.

#![cfg(feature = "engine")]
#![allow(clippy::unwrap_used)]

use std::io::Write;

use glowworm_engine::GpuOptions;
use glowworm_model::reference::Session;
use glowworm_web::engine::self_test;

#[test]
fn the_reference_gives_the_answers() {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(&self_test::model().unwrap()).unwrap();
    let mut reference = Session::from_gguf_file(file.path()).unwrap();
    let logits = reference.append(&self_test::PROMPT).unwrap();
    let found: Vec<f32> = self_test::PROBES.iter().map(|&id| logits[id]).collect();
    assert!(self_test::difference(&logits) < 1e-4, "the reference gives {found:?}");
    // Answers near zero would be right for any kernel that does nothing.
    assert!(self_test::ANSWERS.iter().all(|answer| answer.abs() > 0.02), "{:?}", self_test::ANSWERS);
}

#[test]
fn the_software_adapter_passes() {
    let options = GpuOptions { adapter: Some("llvmpipe".to_owned()) };
    let found = pollster::block_on(self_test::run(&options)).unwrap();
    assert!(found < self_test::TOLERANCE / 4.0, "{found}");
}

#[test]
fn a_wrong_number_is_noticed() {
    let mut logits = vec![0.0; 64];
    for (&id, answer) in self_test::PROBES.iter().zip(self_test::ANSWERS) {
        logits[id] = answer;
    }
    assert!(self_test::difference(&logits) <= self_test::TOLERANCE);
    logits[self_test::PROBES[3]] += 0.01;
    assert!(self_test::difference(&logits) > self_test::TOLERANCE);
    logits[self_test::PROBES[3]] = f32::NAN;
    assert!(!(self_test::difference(&logits) <= self_test::TOLERANCE));
}
