//! `cargo run -p xtask -- wasm [--release]`: builds `crates/web` for the page, into `web/generated/`.
//!
//! The crate is built once for each worker, with the feature that it needs, and the glue between wasm and JavaScript is
//! made by wasm-bindgen, called as a library: a separately installed `wasm-bindgen` would have to be of the very same
//! version.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use wasm_bindgen_cli_support::Bindgen;

/// The features of `crates/web`, each a wasm file.
const PARTS: [&str; 2] = ["database", "engine"];

/// Cargo profiles of the wasm, given on the command line since nothing else uses them: one that is soon built, for
/// tests, and one that makes a small file.
const PROFILES: [&str; 8] = [
    "profile.web.inherits='release'",
    "profile.web.lto='off'",
    "profile.web.opt-level=2",
    "profile.web.codegen-units=16",
    "profile.web-release.inherits='release'",
    "profile.web-release.lto='fat'",
    "profile.web-release.opt-level='s'",
    "profile.web-release.codegen-units=1",
];

fn main() -> Result<()> {
    let mut arguments: Vec<String> = std::env::args().skip(1).collect();
    if arguments.first().map(String::as_str) != Some("wasm") {
        bail!("usage: cargo run -p xtask -- wasm [--release] [{}]", PARTS.join("|"));
    }
    arguments.remove(0);
    let release = arguments.iter().any(|argument| argument == "--release");
    let named: Vec<&str> =
        PARTS.into_iter().filter(|part| arguments.iter().any(|argument| argument == part)).collect();
    let parts = if named.is_empty() { PARTS.to_vec() } else { named };

    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let output = root.join("web/generated");
    for part in parts {
        let wasm = build(&root, part, release)?;
        bindgen(&wasm, part, &output)?;
    }
    Ok(())
}

/// Compiles one part and returns where its wasm lies.
fn build(root: &Path, part: &str, release: bool) -> Result<PathBuf> {
    let profile = if release { "web-release" } else { "web" };
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from);
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let status = Command::new(cargo)
        .current_dir(root)
        .args(["build", "--package", "glowworm-web", "--lib", "--target", "wasm32-unknown-unknown"])
        .args(["--no-default-features", "--features", part, "--profile", profile])
        .args(PROFILES.iter().flat_map(|setting| ["--config", setting]))
        .status()
        .context("starting cargo")?;
    if !status.success() {
        bail!("building glowworm-web with the feature {part} failed; cargo's messages are above");
    }
    Ok(target.join("wasm32-unknown-unknown").join(profile).join("glowworm_web.wasm"))
}

/// Writes `<part>.js`, `<part>.d.ts` and `<part>_bg.wasm`.
fn bindgen(wasm: &Path, part: &str, output: &Path) -> Result<()> {
    Bindgen::new()
        .input_path(wasm)
        .out_name(part)
        .web(true)
        .and_then(|bindgen| {
            bindgen.typescript(true).remove_name_section(true).remove_producers_section(true).generate(output)
        })
        .with_context(|| format!("wasm-bindgen on {}", wasm.display()))?;
    let bytes =
        std::fs::metadata(output.join(format!("{part}_bg.wasm"))).map_or(0, |metadata| metadata.len());
    println!("web/generated/{part}_bg.wasm  {:.0} kB", bytes as f64 / 1000.0);
    Ok(())
}
