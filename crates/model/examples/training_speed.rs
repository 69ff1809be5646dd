//! How fast the reference model learns on the CPU: forward and backward passes of random sequences, timed.
//!
//! ```text
//! cargo run --release -p glowworm-model --features train --example training_speed -- FOLDER [steps] [chunk]
//! ```
//! FOLDER holds a checkpoint. `training_speed.py` beside this file measures the same in PyTorch; pin both to one core
//! (`taskset -c 0`, `RAYON_NUM_THREADS=1`) and run them in turn. On a busy machine compare processor time, the second
//! figure, which other programs disturb less than the clock on the wall.

use std::path::PathBuf;
use std::time::Instant;

use burn::tensor::activation::log_softmax;
use burn::tensor::{Device, Int, Tensor, TensorData};
use glowworm_model::reference::{Capture, Model, cpu};

/// A batch: as many tokens a step as the trainer takes.
const SEQUENCES: usize = 2;
const TOKENS: usize = 1536;
/// Of every so many tokens, one bears loss; about the share that an assistant writes in an episode.
const LOSS_EVERY: usize = 3;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let folder = PathBuf::from(arguments.next().ok_or("which folder holds the checkpoint?")?);
    let steps: usize = arguments.next().map_or(Ok(5), |n| n.parse())?;
    let chunk: usize = arguments.next().map_or(Ok(64), |n| n.parse())?;

    let device = cpu().autodiff();
    let model = Model::from_checkpoint(&folder, &device)?.with_chunk(chunk);
    let batch = Batch::random(model.config().vocab_size, &device);

    let (mut wall, mut processor) = (f64::INFINITY, f64::INFINITY);
    for step in 0..=steps {
        let (start, busy) = (Instant::now(), processor_seconds()?);
        let loss = batch.loss(&model);
        let forward = processor_seconds()? - busy;
        let gradients = loss.backward();
        let (elapsed, busy) = (start.elapsed().as_secs_f64(), processor_seconds()? - busy);
        drop(gradients);
        if step == 0 {
            println!("loss {:.6}", loss.into_scalar::<f32>());
            continue; // The first step also pays for fresh memory.
        }
        (wall, processor) = (wall.min(elapsed), processor.min(busy));
        println!("forward {forward:.2} s, backward {:.2} s of processor time", busy - forward);
    }
    let rate = |seconds: f64| (SEQUENCES * TOKENS) as f64 / seconds;
    println!(
        "best of {steps}: {:.0} tokens/s by the wall, {:.0} by the processor",
        rate(wall),
        rate(processor)
    );
    Ok(())
}

/// Processor time of the process so far, user and system, in seconds (Linux: hundredths, `proc(5)`).
fn processor_seconds() -> Result<f64, Box<dyn std::error::Error>> {
    let stat = std::fs::read_to_string("/proc/self/stat")?;
    let after_name = stat.rsplit(')').next().ok_or("no name in /proc/self/stat")?;
    let ticks = after_name.split_whitespace().skip(11).take(2).map(str::parse::<u64>);
    Ok(ticks.sum::<Result<u64, _>>()? as f64 / 100.0)
}

struct Batch {
    /// `[B, T]`.
    ids: Tensor<2, Int>,
    /// Rows of the flattened `[B·T]` whose next token bears loss.
    places: Tensor<1, Int>,
    /// That next token, `[n, 1]`.
    targets: Tensor<2, Int>,
}

impl Batch {
    fn random(vocab: usize, device: &Device) -> Self {
        // A fixed sequence that Python can repeat, so that both losses can be compared.
        let count = SEQUENCES * TOKENS;
        let ids: Vec<i32> = (0..count).map(|i| ((i * i * 7 + i * 13) % 1000 % vocab) as i32).collect();
        let places: Vec<i32> = (0..count as i32)
            .filter(|i| *i as usize % TOKENS != TOKENS - 1 && (*i as usize).is_multiple_of(LOSS_EVERY))
            .collect();
        let targets: Vec<i32> = places.iter().map(|&i| ids[i as usize + 1]).collect();
        let n = places.len();
        Self {
            ids: Tensor::from_data(TensorData::new(ids, [SEQUENCES, TOKENS]), device),
            places: Tensor::from_data(TensorData::new(places, [n]), device),
            targets: Tensor::from_data(TensorData::new(targets, [n, 1]), device),
        }
    }

    fn loss(&self, model: &Model) -> Tensor<1> {
        let h = model.hidden(self.ids.clone(), None, &mut Capture::off());
        let h: Tensor<2> = h.flatten(0, 1);
        let logits = model.logits(h.select(0, self.places.clone()));
        log_softmax(logits, 1).gather(1, self.targets.clone()).mean().neg()
    }
}
