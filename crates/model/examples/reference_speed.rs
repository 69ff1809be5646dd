//! How fast the reference model reads and writes on the CPU.
//!
//! ```text
//! cargo run --release -p glowworm-model --features reference --example reference_speed -- MODEL [prompt] [tokens]
//! ```
//! MODEL is a GGUF file or a folder with a checkpoint.

use std::path::PathBuf;
use std::time::Instant;

use glowworm_model::reference::{CpuModel, Model, cpu};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let path = PathBuf::from(arguments.next().ok_or("which model?")?);
    let prompt: usize = arguments.next().map_or(Ok(512), |n| n.parse())?;
    let tokens: usize = arguments.next().map_or(Ok(256), |n| n.parse())?;

    let model = match path.is_dir() {
        true => Model::from_checkpoint(&path, &cpu())?,
        false => Model::from_gguf_file(&path, &cpu())?,
    };
    let vocab = model.config().vocab_size;
    let mut model = CpuModel::new(model);
    let ids: Vec<u32> = (0..prompt).map(|i| (i * i * 7 + i * 13) as u32 % vocab.min(1000) as u32).collect();

    model.append(&ids)?; // Also pays for fresh memory.
    model.clear();
    let start = Instant::now();
    let mut logits = model.append(&ids)?;
    println!("read {prompt} tokens: {:.0} tokens/s", prompt as f64 / start.elapsed().as_secs_f64());

    let start = Instant::now();
    for _ in 0..tokens {
        let best = (0..vocab).max_by(|&a, &b| logits[a].total_cmp(&logits[b])).unwrap_or(0);
        logits = model.append(&[best as u32])?;
    }
    println!("wrote {tokens} tokens: {:.0} tokens/s", tokens as f64 / start.elapsed().as_secs_f64());
    Ok(())
}
