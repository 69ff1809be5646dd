#!/usr/bin/env bash
# Installs what the build and the tests need and the machine lacks. Usage: scripts/setup.sh native|browser
#   native:  a Vulkan loader and Mesa's software adapter, so that the shaders run on any machine
#   browser: Chromium for the page's tests
# The Rust toolchain and its wasm target come from rust-toolchain.toml through rustup.
set -euo pipefail

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

if ! command -v dpkg-query >/dev/null; then
    echo "This is no Debian: please see to a Vulkan driver (Mesa's lavapipe is enough) and, for the page's tests, Chromium." >&2
    exit 0
fi
case "${1:-native}" in
native) packages libvulkan1 mesa-vulkan-drivers ;;
browser) packages chromium ;;
*)
    echo "usage: scripts/setup.sh native|browser" >&2
    exit 2
    ;;
esac
