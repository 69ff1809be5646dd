//! Opens the software adapter and loads fixture models onto it.
#![allow(dead_code)] // each test file uses a part

use std::path::Path;

use glowworm_engine::source::read_header;
use glowworm_engine::{Engine, FileSource, Gpu, GpuOptions, LoadOptions, Tuning};
use glowworm_model::Config;

/// A device on lavapipe: the tests mean the same on every machine.
pub fn gpu() -> Gpu {
    pollster::block_on(Gpu::open(&GpuOptions { adapter: Some("llvmpipe".to_owned()) }))
        .expect("these tests need Mesa's lavapipe: install mesa-vulkan-drivers")
}

/// Loads a GGUF file.
pub fn load(gpu: &Gpu, path: &Path, options: LoadOptions) -> Engine {
    pollster::block_on(async {
        let mut source = FileSource::open(path)?;
        let header = read_header(&mut source).await?;
        let config = Config::from_gguf(&header)?;
        Engine::load(gpu, &mut source, &header, &config, options, &mut |_| {}).await
    })
    .unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Options for the fixtures' short prompts.
pub fn short() -> LoadOptions {
    LoadOptions { context: 320, drafts: Some(false), ..LoadOptions::default() }
}

/// Both layouts of the kernels, with the options for each: on a software adapter, both can run.
pub fn tunings() -> [(Tuning, LoadOptions); 2] {
    [Tuning::Software, Tuning::Hardware].map(|tuning| (tuning, LoadOptions { tuning, ..short() }))
}
