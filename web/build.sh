#!/usr/bin/env bash
# Builds the page: `web/build.sh wasm` the two wasm files, `web/build.sh page` dist/ from them, `web/build.sh all` both.
# With RELEASE=1 the wasm is made small, by rustc and then by binaryen: minutes, for what is published.
set -euo pipefail
cd "$(dirname "$0")/.."
what=${1:-all}

# npm keeps what it installed in node_modules/.package-lock.json: older than the lock file means out of date.
[ node_modules/.package-lock.json -nt package-lock.json ] || npm ci --no-audit --no-fund

if [ "$what" = wasm ] || [ "$what" = all ]; then
  if [ "${RELEASE:-}" = 1 ]; then
    cargo run --quiet --package xtask -- wasm --release
    # Not Debian's wasm-opt: version 108 ends without an error and breaks the file.
    for part in database engine; do
      npx --yes --package binaryen@132.0.0 wasm-opt -Os --enable-bulk-memory --enable-nontrapping-float-to-int \
        --enable-sign-ext --enable-mutable-globals --enable-reference-types --enable-multivalue \
        "web/generated/${part}_bg.wasm" -o "web/generated/${part}_bg.wasm"
    done
  else
    cargo run --quiet --package xtask -- wasm
  fi
fi

if [ "$what" = page ] || [ "$what" = all ]; then
  npx tsc -p tsconfig.json
  npx vite build
  node web/sizes.mjs
fi
