# Glowworm. `make demo` answers a question and then serves the page, `make test` checks everything. Both install what
# they lack (see scripts/setup.sh), which on Debian needs root; nothing is kept outside this folder but those packages.

SHELL := /bin/bash
export XDG_RUNTIME_DIR ?= /tmp
CARGO ?= cargo
# The optional parts, which the tests cover too: the CPU device, the trainer, and the writer of large random models.
FEATURES := --features glowworm/train,glowworm-tests/random-model

.PHONY: demo ask page serve test lint test-rust test-wasm test-page test-large setup clean

# One after the other, also under `make -j`: the answer first, then the address of the page, served until Ctrl+C.
demo: target/node-checked ask
	@$(MAKE) --no-print-directory serve

# One question about the sample database, with the embedded model.
ask: target/setup-native
	$(CARGO) run --release --package glowworm -- ask --db examples/chinook.sqlite "What is the name of the artist with the highest number of albums?"

# The page, a folder of static files in dist/, and a server for it on http://localhost:8080/ (or another free port).
page: target/setup-page
	npm run --silent build

serve: page
	npm run --silent serve

test: lint test-rust test-wasm test-page

lint: target/setup-native
	$(CARGO) fmt --all --check
	$(CARGO) clippy --workspace --all-targets $(FEATURES) -- -D warnings

# The software adapter is always there, so no test is ever skipped for want of a GPU.
test-rust: target/setup-native
	$(CARGO) test --workspace $(FEATURES)

# What the page runs must compile for it.
test-wasm: target/setup-native
	$(CARGO) clippy --target wasm32-unknown-unknown -p glowworm-gguf -p glowworm-model -p glowworm-engine \
		-p glowworm-agent -p glowworm-database -p glowworm-session -p glowworm-web -- -D warnings

# The page in Chromium on its software adapter; compares with the native program, which is the one that the other
# tests build.
test-page: target/setup-native page
	scripts/setup.sh browser
	$(CARGO) test --workspace $(FEATURES) --no-run
	npm run --silent test:browser

# By hand, minutes long: a model of the full 2B shape with random weights. See docs/benchmarks.md.
test-large: target/setup-native
	scripts/test-large.sh

setup: target/setup-native

target/setup-native: scripts/setup.sh rust-toolchain.toml
	scripts/setup.sh native
	@mkdir -p target && touch $@

# Before minutes of compiling and not after them.
target/node-checked: scripts/setup.sh
	scripts/setup.sh node
	@mkdir -p target && touch $@

target/setup-page: scripts/setup.sh package-lock.json
	scripts/setup.sh page
	@mkdir -p target && touch $@

clean:
	$(CARGO) clean
