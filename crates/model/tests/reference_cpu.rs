//! The reference model on Burn's CPU backend against transformers and llama.cpp.

mod reference_support;

use glowworm_model::reference::cpu;
use reference_support as check;

#[test]
fn logits_equal_those_of_transformers() {
    check::logits_equal_those_of_transformers(&cpu());
}

#[test]
fn greedy_tokens_equal_those_of_transformers() {
    check::greedy_tokens_equal_those_of_transformers(&cpu());
}

#[test]
fn activations_equal_those_of_transformers() {
    check::activations_equal_those_of_transformers(&cpu());
}

#[test]
fn states_equal_those_of_transformers() {
    check::states_equal_those_of_transformers(&cpu());
}

#[test]
fn gguf_files_equal_llama_cpp() {
    check::gguf_files_equal_llama_cpp(&cpu());
}

#[test]
fn pieces_agree_with_one_go() {
    check::pieces_agree_with_one_go(&cpu());
}

#[test]
fn a_snapshot_brings_a_prefix_back() {
    check::a_snapshot_brings_a_prefix_back(&cpu());
}

#[test]
fn the_order_of_value_heads_matters() {
    check::the_order_of_value_heads_matters(&cpu());
}
