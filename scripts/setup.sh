#!/usr/bin/env bash
# Installs what the build and the tests need and the machine lacks. Usage: scripts/setup.sh native|node|page|browser
#   native:  a Vulkan loader and Mesa's software adapter, so that the shaders run on any machine
#   node:    nothing; it only says if Node is missing or too old for the page
#   page:    the npm packages, in the versions of package-lock.json
#   browser: Chromium for the page's tests
# The Rust toolchain and its wasm target come from rust-toolchain.toml through rustup; a toolchain that is there already may
# lack the target, so `native` adds it.
set -euo pipefail
cd "$(dirname "$0")/.."

packages() {
    local missing=()
    for package in "$@"; do
        dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q 'install ok installed' || missing+=("$package")
    done
    [ ${#missing[@]} -eq 0 ] && return
    local root=()
    [ "$(id -u)" -eq 0 ] || root=(sudo)
    echo "installing ${missing[*]}"
    "${root[@]}" apt-get update -qq
    DEBIAN_FRONTEND=noninteractive "${root[@]}" apt-get install -y -qq --no-install-recommends "${missing[@]}"
}

if [ "${1:-}" = page ] || [ "${1:-}" = node ]; then
    # Debian 12 has Node 18, which Vite no longer runs on, so it is not installed from there.
    if ! node --eval 'process.exit(Number(process.versions.node.split(".")[0]) >= 20 ? 0 : 1)' 2>/dev/null; then
        echo "The page needs Node 20 or later (found: $(node --version 2>/dev/null || echo none); see nodejs.org)." >&2
        exit 1
    fi
    [ "$1" = page ] || exit 0
    exec npm ci --no-audit --no-fund
fi
if ! command -v dpkg-query >/dev/null; then
    echo "This is no Debian: please see to a Vulkan driver (Mesa's lavapipe is enough) and, for the page's tests, Chromium." >&2
    exit 0
fi
case "${1:-native}" in
native)
    packages libvulkan1 mesa-vulkan-drivers
    if command -v rustup >/dev/null && ! rustup target list --installed | grep -qx wasm32-unknown-unknown; then
        rustup target add wasm32-unknown-unknown ||
            echo "the target wasm32-unknown-unknown could not be added; the page needs it" >&2
    fi
    ;;
browser) packages chromium ;;
*)
    echo "usage: scripts/setup.sh native|node|page|browser" >&2
    exit 2
    ;;
esac
