//! Where a token's time goes: each dispatch of decoding by itself, then whole tokens and a prompt.
//!
//! ```text
//! cargo run --release -p glowworm-engine --example profile -- MODEL.gguf [ADAPTER]
//! ```

use std::collections::BTreeMap;
use std::error::Error;
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use glowworm_engine::source::read_header;
use glowworm_engine::{Engine, FileSource, GenerateOptions, Gpu, GpuOptions, LoadOptions, Sampling};
use glowworm_model::Config;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let path = arguments.next().ok_or("give the path of a GGUF file")?;
    let adapter = arguments.next();
    pollster::block_on(run(path.as_ref(), adapter))
}

async fn run(path: &std::path::Path, adapter: Option<String>) -> Result<(), Box<dyn Error>> {
    let gpu = Gpu::open(&GpuOptions { adapter }).await?;
    println!("{}", gpu.description());
    let mut source = FileSource::open(path)?;
    let header = read_header(&mut source).await?;
    let config = Config::from_gguf(&header)?;
    let options = LoadOptions { context: 1024, ..LoadOptions::default() };
    let started = Instant::now();
    let mut engine = Engine::load(&gpu, &mut source, &header, &config, options, &mut |_| {}).await?;
    println!("loaded in {:.2?}", started.elapsed());

    let times = engine.profile_decode(3).await?;
    let plan = engine.decode_plan(1);
    let mut groups: BTreeMap<String, (u32, Duration, u64)> = BTreeMap::new();
    for (step, time) in plan.iter().zip(&times) {
        let what = step.label.trim_start_matches(|c: char| !c.is_whitespace()).trim_start();
        let what = what.trim_start_matches(|c: char| c.is_ascii_digit()).trim_start();
        let group = groups.entry(format!("{:18} {what}", step.kernel)).or_default();
        group.0 += 1;
        group.1 += *time;
        group.2 += step.reads.weights;
    }
    let total: Duration = times.iter().sum();
    for (what, (count, time, bytes)) in groups {
        let rate = bytes as f64 / time.as_secs_f64() / 1e9;
        let share = 100.0 * time.as_secs_f64() / total.as_secs_f64();
        println!("{what:40} × {count:3}  {time:10.2?}  {share:5.1} %  {rate:6.2} GB/s");
    }
    println!("{} dispatches, {total:.2?} by themselves", plan.len());

    let prompt: Vec<u32> =
        (0..128).map(|i| 1000 + i * 37 % 5000).map(|t| t % config.vocab_size as u32).collect();
    let started = Instant::now();
    engine.append(&prompt).await?;
    engine.logits().await?;
    println!("prompt of {}: {:.2?}", prompt.len(), started.elapsed());
    let options =
        GenerateOptions { max_tokens: 6, sampling: Sampling::GREEDY, stop_tokens: &[], drafts: false };
    let started = Instant::now();
    let generated = engine.generate(&options, |_| ControlFlow::Continue(())).await?;
    println!("{} tokens: {:.2?}", generated.tokens.len(), started.elapsed());
    Ok(())
}
