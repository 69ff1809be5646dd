#!/usr/bin/env bash
# A model of the full 2B shape, Q4_K_M, with random weights and the real vocabulary: does it load, generate, and stay
# within its memory? Minutes long on a software adapter, so it is run by hand; results are in docs/benchmarks.md.
set -euo pipefail
cd "$(dirname "$0")/.."
target=${CARGO_TARGET_DIR:-target}
model=$target/large/2b-q4_k_m.gguf

cargo build --release -p glowworm
cargo build --release -p glowworm-tests --features random-model --bin random_model
mkdir -p "$(dirname "$model")"
[ -s "$model" ] || "$target/release/random_model" "$model" --shape 2b --mix q4_k_m --seed 1
"$target/release/glowworm" inspect "$model" | tail -n 20
"$target/release/glowworm" bench --model "$model" --prompt 8 --generate 8 --repeat 1 "$@"

# The same file in Chromium: nothing of it may stay in the page's memory.
scripts/setup.sh page
scripts/setup.sh browser
npm run --silent build
GLOWWORM_LARGE=$(realpath "$model") npm run --silent test:large
