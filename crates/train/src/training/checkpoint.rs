//! A training run on disk: `state.safetensors` has the weights, the optimiser's state and where the run stands.

use super::batches::Position;
use super::optimiser::{Division, Optimiser};
use super::shape::Shape;
use crate::error::{Error, Result};
use burn::tensor::TensorData;
use glowworm_model::checkpoint::Checkpoint;
use glowworm_model::reference::{Device, Model, Weights, cpu};
use safetensors::tensor::TensorView;
use safetensors::{Dtype, SafeTensors};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};

/// Name of the file in a run's folder.
pub const FILE: &str = "state.safetensors";
/// Key of [`Standing`] in the file's own metadata.
const STANDING: &str = "glowworm.training";
const WEIGHTS: &str = "weights.";
const OPTIMISER: &str = "optimiser.";

/// Where a run stands.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Standing {
    /// Steps done.
    pub step: u64,
    /// Tokens seen, padding not counted.
    pub tokens: u64,
    /// Where each rank's stream stands.
    pub positions: Vec<Position>,
    /// The folder of the shards; in another one the positions mean nothing.
    pub data: PathBuf,
    /// Seed of the start and of the order.
    pub seed: u64,
    /// The model's sizes.
    pub shape: Shape,
    /// Running means of loss and accuracy, for the log.
    pub means: Option<(f64, f64)>,
    /// Commits of the program that trained, and the hashes of the data that was read, in the order of the stages.
    #[serde(default)]
    pub stages: Vec<Stage>,
    /// Counts of the optimiser.
    counts: BTreeMap<String, u64>,
}

/// A stretch of a run on one set of data.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stage {
    /// SHA-256 over the shards, or what else was trained on.
    pub data: String,
    /// Commit of the program; empty where it is not known.
    pub commit: String,
    /// The step at which it began.
    pub from: u64,
}

impl Standing {
    /// The beginning of a run.
    pub fn new(data: &Path, seed: u64, shape: Shape, ranks: usize) -> Self {
        let positions = vec![Position::default(); ranks];
        let (data, counts) = (data.to_owned(), BTreeMap::new());
        Self { step: 0, tokens: 0, positions, data, seed, shape, means: None, stages: Vec::new(), counts }
    }
}

/// Bytes of numbers, little endian as safetensors has them.
pub(super) fn bytes(values: &[f32]) -> Vec<u8> {
    values.iter().flat_map(|x| x.to_le_bytes()).collect()
}

/// Writes a safetensors file of f32 tensors, under its name only when it is whole.
pub(super) fn write(
    path: &Path,
    tensors: &[(String, Vec<usize>, Vec<u8>)],
    metadata: HashMap<String, String>,
) -> Result<()> {
    let broken = |problem: String| Error::Broken { path: path.display().to_string(), problem };
    let mut views = Vec::with_capacity(tensors.len());
    for (name, shape, data) in tensors {
        let view = TensorView::new(Dtype::F32, shape.clone(), data);
        views.push((name.as_str(), view.map_err(|e| broken(e.to_string()))?));
    }
    let whole = safetensors::serialize(views, Some(metadata)).map_err(|e| broken(e.to_string()))?;
    let part = path.with_extension("part");
    std::fs::write(&part, whole).map_err(Error::file(&part))?;
    std::fs::rename(&part, path).map_err(Error::file(path))
}

/// Saves a run.
///
/// # Errors
/// When the file cannot be written, or the device not be read.
pub fn save(run: &Path, model: &Model, optimiser: &Optimiser, standing: &Standing) -> Result<()> {
    let path = run.join(FILE);
    let mut tensors: Vec<(String, Vec<usize>, Vec<u8>)> = Vec::new();
    for (name, (shape, values)) in model.weights()?.tensors {
        tensors.push((format!("{WEIGHTS}{name}"), shape, bytes(&values)));
    }
    let (states, counts) = optimiser.record();
    for (name, data) in states {
        let shape: Vec<usize> = data.shape().iter().copied().collect();
        let values = data.try_to_vec::<f32>().map_err(|e| Error::Broken {
            path: path.display().to_string(),
            problem: format!("the optimiser's state of {name} cannot be read: {e:?}"),
        })?;
        tensors.push((format!("{OPTIMISER}{name}"), shape, bytes(&values)));
    }
    let standing = Standing { counts, ..standing.clone() };
    let text = serde_json::to_string(&standing).map_err(|e| Error::Settings(e.to_string()))?;
    write(&path, &tensors, HashMap::from([(STANDING.to_owned(), text)]))
}

/// Begins a run with the weights of a folder as transformers reads it: `config.json` and `.safetensors` files. The optimiser
/// starts anew.
///
/// # Errors
/// When a file is missing or broken, the model is not of the kind that is trained here, or the run cannot be written.
pub fn adopt(run: &Path, folder: &Path, seed: u64) -> Result<()> {
    let path = folder.join("config.json");
    let text = std::fs::read_to_string(&path).map_err(Error::file(&path))?;
    let shape = Shape::from_config_json(&text)?;
    let model = Model::from_source(shape.config()?, &mut Checkpoint::open(folder)?, &cpu())?;
    let standing = Standing::new(Path::new(""), seed, shape, 0);
    std::fs::create_dir_all(run).map_err(Error::file(run))?;
    save(run, &model, &Optimiser::new(Division::MuonAndAdam), &standing)
}

/// What was saved.
pub struct Saved {
    /// Where the run stood.
    pub standing: Standing,
    weights: Weights,
    states: Vec<(String, TensorData)>,
}

impl Saved {
    /// The model on a device, and its optimiser.
    ///
    /// # Errors
    /// When the file has not all that they need.
    pub fn build(
        mut self,
        mut optimiser: Optimiser,
        device: &Device,
    ) -> Result<(Model, Optimiser, Standing)> {
        let model = Model::from_source(self.standing.shape.config()?, &mut self.weights, device)?;
        let counts = std::mem::take(&mut self.standing.counts);
        // Weights that a run began with come without.
        if self.standing.step > 0 || !self.states.is_empty() {
            optimiser.restore(&model, self.states, counts, &device.clone().without_autodiff())?;
        }
        Ok((model, optimiser, self.standing))
    }

    /// The model alone.
    ///
    /// # Errors
    /// When the file has not all that it needs.
    pub fn model(mut self, device: &Device) -> Result<(Model, Standing)> {
        Ok((Model::from_source(self.standing.shape.config()?, &mut self.weights, device)?, self.standing))
    }
}

/// Reads what was saved in the folder of a run; nothing where nothing was.
///
/// # Errors
/// When the file is broken.
pub fn load(run: &Path) -> Result<Option<Saved>> {
    let path = run.join(FILE);
    let file = match std::fs::read(&path) {
        Ok(file) => file,
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(e) => return Err(Error::file(&path)(e)),
    };
    let broken = |problem: String| Error::Broken {
        path: path.display().to_string(),
        problem: format!("{problem}; take another checkpoint, or begin anew in another folder"),
    };
    let (_, header) = SafeTensors::read_metadata(&file).map_err(|e| broken(e.to_string()))?;
    let standing = header.metadata().as_ref().and_then(|m| m.get(STANDING));
    let standing = standing.ok_or_else(|| broken("it is no checkpoint of a training run".into()))?;
    let standing: Standing = serde_json::from_str(standing).map_err(|e| broken(e.to_string()))?;
    let tensors = SafeTensors::deserialize(&file).map_err(|e| broken(e.to_string()))?;
    let (mut weights, mut states) = (Weights::default(), Vec::new());
    for (name, tensor) in tensors.tensors() {
        if tensor.dtype() != Dtype::F32 {
            return Err(broken(format!("{name} is not F32")));
        }
        let values: Vec<f32> =
            tensor.data().chunks_exact(4).map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect();
        let shape = tensor.shape().to_vec();
        if let Some(name) = name.strip_prefix(WEIGHTS) {
            weights.tensors.insert(name.to_owned(), (shape, values));
        } else if let Some(name) = name.strip_prefix(OPTIMISER) {
            states.push((name.to_owned(), TensorData::new(values, shape)));
        }
    }
    Ok(Some(Saved { standing, weights, states }))
}
