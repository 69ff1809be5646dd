//! Validates every shader while the crate is built: with naga, which native wgpu and Firefox compile with, and with
//! tint, Chrome's compiler, where it is installed.

use std::io::Write;
use std::process::{Command, Stdio};

#[allow(missing_docs)]
mod shaders {
    include!("src/shaders.rs");
}

fn main() {
    println!("cargo::rerun-if-changed=../../shaders");
    println!("cargo::rerun-if-changed=src/shaders.rs");
    println!("cargo::rerun-if-env-changed=PATH");
    let has_tint =
        Command::new("tint").arg("--help").stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok();
    let mut faults = Vec::new();
    for (name, text) in shaders::all() {
        if let Err(fault) = check_with_naga(&text) {
            faults.push(format!("{name}: naga: {fault}"));
        }
        if has_tint && let Err(fault) = check_with_tint(&text) {
            faults.push(format!("{name}: tint: {fault}"));
        }
    }
    if !faults.is_empty() {
        panic!("invalid shaders:\n{}", faults.join("\n"));
    }
}

fn check_with_naga(text: &str) -> Result<(), String> {
    let module = naga::front::wgsl::parse_str(text).map_err(|error| error.emit_to_string(text))?;
    // Plain WebGPU: nothing but unpack2x16float and its like, which naga counts as a capability of its own.
    let capabilities = naga::valid::Capabilities::SHADER_FLOAT16_IN_FLOAT32;
    let mut validator = naga::valid::Validator::new(naga::valid::ValidationFlags::all(), capabilities);
    validator.validate(&module).map(|_| ()).map_err(|error| error.emit_to_string(text))
}

fn check_with_tint(text: &str) -> Result<(), String> {
    let path =
        std::path::Path::new(&std::env::var("OUT_DIR").map_err(|error| error.to_string())?).join("tint.wgsl");
    std::fs::File::create(&path)
        .and_then(|mut file| file.write_all(text.as_bytes()))
        .map_err(|error| error.to_string())?;
    let run = Command::new("tint").args(["--format", "wgsl", "-o", "/dev/null"]).arg(&path).output();
    let output = run.map_err(|error| error.to_string())?;
    if output.status.success() { Ok(()) } else { Err(String::from_utf8_lossy(&output.stderr).into_owned()) }
}
