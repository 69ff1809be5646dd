//! Helpers for tests that compare a model with the answers of other implementations.
//!
//! The fixtures are tiny random Qwen3.5 models with the logits of transformers (f32) and of llama.cpp (f32, on the
//! dequantised file). They live outside the repository; a test that needs them fails, with the path, where they are
//! missing. The helpers depend on nothing of the program, so any crate's tests can use them; only the random blocks,
//! which are behind the feature `random-model`, know the formats of weights.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use safetensors::{Dtype, SafeTensors};

#[cfg(feature = "random-model")]
pub mod random_blocks;

/// Largest difference of a logit that counts as agreement. The two implementations themselves differ by 1e-4.
pub const LOGIT_TOLERANCE: f32 = 1e-3;

/// Every GGUF file of the fixtures: fixture, type in the file's name.
pub const GGUF_FILES: [(&str, &str); 6] =
    [("eq", "Q8_0"), ("eq", "Q4_0"), ("eq", "Q4_K_M"), ("eq", "Q5_K_M"), ("eq", "Q6_K"), ("grp", "Q4_K_M")];

/// The prompts of the fixtures, by their length in tokens.
pub const PROMPTS: [usize; 4] = [1, 7, 70, 200];

/// A path in the folder of shared fixtures and data.
///
/// # Panics
/// If it does not exist.
pub fn shared(path: &str) -> PathBuf {
    let full = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../shared")).join(path);
    assert!(full.exists(), "this test needs {}, which does not exist", full.display());
    full
}

/// One fixture folder.
#[derive(Debug, Clone)]
pub struct Fixture {
    folder: PathBuf,
}

impl Fixture {
    /// `eq` (as many value heads as key heads) or `grp` (twice as many, and a multi-token-prediction block).
    ///
    /// # Panics
    /// If it is missing.
    pub fn open(name: &str) -> Self {
        Self { folder: shared(&format!("fixtures/{name}")) }
    }

    /// The folder, a Hugging Face checkpoint.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The GGUF file of a type as in [`GGUF_FILES`].
    pub fn gguf(&self, kind: &str) -> PathBuf {
        self.folder.join(format!("model-{kind}.gguf"))
    }

    /// What transformers computes in f32 from the checkpoint.
    ///
    /// # Panics
    /// If the file is missing or broken.
    pub fn reference(&self) -> Tensors {
        Tensors::read(&self.folder.join("reference.safetensors"))
    }

    /// What llama.cpp computes from the GGUF files: `{TYPE}.deq.*` in f32 on dequantised weights.
    ///
    /// # Panics
    /// If the file is missing or broken.
    pub fn llama_cpp(&self) -> Tensors {
        Tensors::read(&self.folder.join("llamacpp.safetensors"))
    }

    /// A prompt by its length, as in [`PROMPTS`].
    ///
    /// # Panics
    /// If there is none of that length.
    pub fn prompt(&self, len: usize) -> Vec<u32> {
        self.reference().ids(&format!("ids_{len}"))
    }
}

/// A safetensors file in memory: f32 and i32 tensors by name.
#[derive(Debug, Clone, Default)]
pub struct Tensors {
    floats: BTreeMap<String, Matrix>,
    integers: BTreeMap<String, Vec<i32>>,
}

/// Numbers in rows. Of a tensor of more axes, the last is the row.
#[derive(Debug, Clone, PartialEq)]
pub struct Matrix {
    /// The tensor's shape.
    pub shape: Vec<usize>,
    /// Row-major.
    pub values: Vec<f32>,
}

impl Tensors {
    /// # Panics
    /// If the file is missing or broken.
    pub fn read(path: &Path) -> Self {
        let bytes =
            std::fs::read(path).unwrap_or_else(|error| panic!("this test needs {}: {error}", path.display()));
        let file = SafeTensors::deserialize(&bytes)
            .unwrap_or_else(|error| panic!("{} is broken: {error}", path.display()));
        let mut tensors = Self::default();
        for (name, view) in file.tensors() {
            let words = view.data().as_chunks::<4>().0;
            match view.dtype() {
                Dtype::F32 => {
                    let values = words.iter().map(|word| f32::from_le_bytes(*word)).collect();
                    tensors.floats.insert(name, Matrix { shape: view.shape().to_vec(), values });
                }
                Dtype::I32 => {
                    let values = words.iter().map(|word| i32::from_le_bytes(*word)).collect();
                    tensors.integers.insert(name, values);
                }
                other => panic!("{}: {name} is {other:?}", path.display()),
            }
        }
        tensors
    }

    /// A tensor of floats.
    ///
    /// # Panics
    /// If there is none of that name.
    pub fn floats(&self, name: &str) -> &Matrix {
        self.floats.get(name).unwrap_or_else(|| panic!("no tensor of floats `{name}`"))
    }

    /// A tensor of token ids.
    ///
    /// # Panics
    /// If there is none of that name.
    pub fn ids(&self, name: &str) -> Vec<u32> {
        let ids = self.integers.get(name).unwrap_or_else(|| panic!("no tensor of ids `{name}`"));
        ids.iter().map(|&id| u32::try_from(id).unwrap_or_else(|_| panic!("{name} has the id {id}"))).collect()
    }

    /// Names of the float tensors that start with `prefix`.
    pub fn names<'a>(&'a self, prefix: &'a str) -> impl Iterator<Item = &'a str> {
        self.floats.keys().map(String::as_str).filter(move |name| name.starts_with(prefix))
    }
}

impl Matrix {
    /// Numbers in a row.
    pub fn width(&self) -> usize {
        self.shape.last().copied().unwrap_or(1)
    }

    /// Rows.
    pub fn rows(&self) -> usize {
        self.values.len() / self.width()
    }
}

/// How two sets of logits (or activations) compare.
#[derive(Debug, Clone, Copy)]
pub struct Agreement {
    /// Largest absolute difference; NaN counts as infinite.
    pub max_difference: f32,
    /// Rows whose largest number is at the same place.
    pub same_argmax: usize,
    /// Rows compared.
    pub rows: usize,
}

/// Compares the expected rows with the last as many rows of what was computed, in the same width.
///
/// # Panics
/// If there are fewer computed rows than expected ones.
pub fn compare(expected: &Matrix, computed: &[f32]) -> Agreement {
    let width = expected.width();
    assert!(
        computed.len() >= expected.values.len() && computed.len().is_multiple_of(width),
        "{} numbers computed, {} rows of {width} expected",
        computed.len(),
        expected.rows(),
    );
    let computed = &computed[computed.len() - expected.values.len()..];
    let pairs = expected.values.iter().zip(computed);
    let max_difference = pairs.map(|(a, b)| (a - b).abs()).fold(0.0, |max: f32, difference| {
        if difference.is_nan() { f32::INFINITY } else { max.max(difference) }
    });
    let rows = expected.values.chunks_exact(width).zip(computed.chunks_exact(width));
    let same_argmax = rows.filter(|(a, b)| argmax(a) == argmax(b)).count();
    Agreement { max_difference, same_argmax, rows: expected.rows() }
}

impl Agreement {
    /// # Panics
    /// Unless every number is within the tolerance and every argmax the same.
    pub fn assert_logits(self, what: &str) {
        assert!(
            self.max_difference <= LOGIT_TOLERANCE && self.same_argmax == self.rows,
            "{what}: largest difference {:.2e}, {} of {} argmaxes the same",
            self.max_difference,
            self.same_argmax,
            self.rows,
        );
    }
}

/// Where the largest number is; the first of several.
pub fn argmax(row: &[f32]) -> u32 {
    let mut best = 0;
    for (index, value) in row.iter().enumerate() {
        if *value > row[best] {
            best = index;
        }
    }
    best as u32
}

/// Generates greedily from the logits after a prompt, feeding `step` one id at a time, and checks the ids against those
/// expected. Where the computed logits of the two ids are within twice the tolerance the choice is undecided, and what
/// follows is another sequence: the comparison ends there. Gives back how many ids were compared.
///
/// # Panics
/// At the first id that differs and was decided.
pub fn assert_greedy(
    what: &str,
    expected: &[u32],
    after_prompt: Vec<f32>,
    mut step: impl FnMut(u32) -> Vec<f32>,
) -> usize {
    let mut logits = after_prompt;
    for (index, &id) in expected.iter().enumerate() {
        let chosen = argmax(&logits);
        let margin = logits[chosen as usize] - logits[id as usize];
        if chosen != id && margin <= 2.0 * LOGIT_TOLERANCE {
            return index;
        }
        assert_eq!(chosen, id, "{what}: token {index} of greedy generation, by a margin of {margin}");
        if index + 1 < expected.len() {
            logits = step(id);
        }
    }
    expected.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comparison_takes_the_last_rows_and_counts_argmaxes() {
        let expected = Matrix { shape: vec![2, 2], values: vec![1.0, 2.0, 4.0, 3.0] };
        let agreement = compare(&expected, &[9.0, 9.0, 1.0, 2.5, 3.0, 4.0]);
        assert_eq!((agreement.rows, agreement.same_argmax), (2, 1));
        assert_eq!(agreement.max_difference, 1.0);
        let nan = compare(&expected, &[1.0, f32::NAN, 4.0, 3.0]);
        assert_eq!(nan.max_difference, f32::INFINITY);
    }

    #[test]
    fn greedy_comparison_ends_where_the_choice_is_undecided() {
        let clear = vec![0.0, 1.0, 0.0];
        assert_eq!(assert_greedy("same", &[1, 1], clear.clone(), |_| clear.clone()), 2);
        assert_eq!(assert_greedy("tie", &[1, 2], clear, |_| vec![0.0, 1.001, 1.0]), 1);
    }

    #[test]
    #[should_panic(expected = "token 1 of greedy")]
    fn a_decided_difference_is_an_error() {
        assert_greedy("differs", &[1, 2], vec![0.0, 1.0, 0.0], |_| vec![0.0, 1.0, 0.0]);
    }
}
