//! Where the numbers come from.
//!
//! The model has one set of names and conventions for its tensors, those of Hugging Face checkpoints: names without
//! the prefix of the text model (`layers.0.linear_attn.in_proj_qkv.weight`), matrices `[out, in]`, norm weights
//! zero-centred, `A_log`, the convolution as `[channels, taps]`. A [`Source`] hands them out one at a time, so that no
//! second copy of a large model is ever in memory: [`gguf`] undoes what the conversion to GGUF did, [`Checkpoint`]
//! reads safetensors, and [`Weights`] is a map in memory.

pub mod gguf;

use std::collections::BTreeMap;
use std::path::Path;

use burn::module::{Module, ModuleVisitor, Param, ParamId};
use burn::tensor::{Device, Tensor, TensorData};

use super::{DecoderLayer, FullAttention, GatedDeltaNet, Mixer, Mlp, Model, Projection, RmsNorm, delta_rule};
use crate::checkpoint::Checkpoint;
use crate::{Config, Error, LayerKind, Result};

/// Hands out tensors by name.
pub trait Source {
    /// The numbers of a tensor, row-major. Each tensor is asked for once.
    ///
    /// # Errors
    /// If it is missing, has another shape, or cannot be read.
    fn take(&mut self, name: &str, shape: &[usize]) -> Result<Vec<f32>>;
}

/// Tensors in memory, by name.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Weights {
    /// Shape and numbers, row-major.
    pub tensors: BTreeMap<String, (Vec<usize>, Vec<f32>)>,
}

impl Source for Weights {
    fn take(&mut self, name: &str, shape: &[usize]) -> Result<Vec<f32>> {
        let (found, values) = self.tensors.remove(name).ok_or_else(|| missing(name))?;
        same_shape(name, &found, shape)?;
        Ok(values)
    }
}

impl Source for Checkpoint {
    fn take(&mut self, name: &str, shape: &[usize]) -> Result<Vec<f32>> {
        let stored = self.find(name)?.clone();
        let mut found: Vec<usize> = stored.shape.iter().map(|&n| n as usize).collect();
        // A depthwise convolution has an axis of length one in the middle.
        if let [_, 1, _] = found[..] {
            found.remove(1);
        }
        same_shape(name, &found, shape)?;
        let mut values = Vec::new();
        self.read(&stored, 0, found.iter().product(), &mut values)?;
        Ok(values)
    }
}

impl Model {
    /// Builds the model that `config` describes from the tensors of `source`.
    ///
    /// # Errors
    /// A tensor that is missing, has another shape, or cannot be read.
    pub fn from_source(config: Config, source: &mut dyn Source, device: &Device) -> Result<Self> {
        let mut load = Loader { source, device };
        let embed_tokens = load.matrix("embed_tokens.weight", config.vocab_size, config.hidden)?;
        let layers = (0..config.layers.len()).map(|n| load.layer(&config, n)).collect::<Result<_>>()?;
        let norm = load.norm("norm.weight", config.hidden, &config)?;
        let lm_head = match config.tied {
            true => None,
            false => Some(load.projection("lm_head.weight", config.vocab_size, config.hidden)?),
        };
        Ok(Self { embed_tokens, layers, norm, lm_head, config })
    }

    /// Reads a GGUF file, dequantising it.
    ///
    /// # Errors
    /// A file that cannot be read, is not a Qwen3.5 text model, or holds a tensor type that is not supported.
    pub fn from_gguf_file(path: &Path, device: &Device) -> Result<Self> {
        let mut source = gguf::GgufFile::open(path)?;
        let config = Config::from_gguf(source.header())?;
        Self::from_source(config, &mut source, device)
    }

    /// Reads a folder with `config.json` and `model.safetensors`, or several safetensors files and their index.
    ///
    /// # Errors
    /// A file that is missing or broken, or another architecture.
    pub fn from_checkpoint(folder: &Path, device: &Device) -> Result<Self> {
        let path = folder.join("config.json");
        let json =
            std::fs::read_to_string(&path).map_err(|source| Error::Io { doing: "reading", path, source })?;
        let config = Config::from_hf_json(&json)?;
        Self::from_source(config, &mut Checkpoint::open(folder)?, device)
    }

    /// All parameters by name, with the identity under which optimisers and gradients know them.
    pub fn parameters(&self) -> Vec<Parameter> {
        let mut list = List::default();
        self.visit(&mut list);
        list.found
    }

    /// A copy of all parameters, in memory.
    ///
    /// # Errors
    /// If the device cannot be read.
    pub fn weights(&self) -> Result<Weights> {
        let mut copy = Copy::default();
        self.visit(&mut copy);
        copy.finish()
    }

    /// A copy of the gradients of all parameters that have one, under the parameters' names, in memory.
    ///
    /// # Errors
    /// If the device cannot be read.
    #[cfg(feature = "train")]
    pub fn gradients(&self, gradients: &burn::tensor::Gradients) -> Result<Weights> {
        let mut copy = CopyGradients { path: NamePath::default(), gradients, copy: Copy::default() };
        self.visit(&mut copy);
        copy.copy.finish()
    }
}

/// One parameter of a model.
#[derive(Debug, Clone)]
pub struct Parameter {
    /// Its name, as in a [`Source`].
    pub name: String,
    /// Its identity within the module.
    pub id: ParamId,
    /// Its shape.
    pub shape: Vec<usize>,
}

fn missing(name: &str) -> Error {
    Error::Tensor { name: name.into(), problem: "is missing".into() }
}

fn same_shape(name: &str, found: &[usize], wanted: &[usize]) -> Result<()> {
    if found == wanted {
        return Ok(());
    }
    let problem = format!("has the shape {found:?} where the configuration implies {wanted:?}");
    Err(Error::Tensor { name: name.into(), problem })
}

/// Builds modules out of a source.
struct Loader<'a> {
    source: &'a mut dyn Source,
    device: &'a Device,
}

impl Loader<'_> {
    fn layer(&mut self, config: &Config, index: usize) -> Result<DecoderLayer> {
        let at = format!("layers.{index}");
        let mixer = match config.layers[index] {
            LayerKind::Linear => Mixer::Linear(self.delta_net(config, &at)?),
            LayerKind::Full => Mixer::Full(self.attention(config, &at)?),
        };
        let (hidden, inner) = (config.hidden, config.intermediate);
        Ok(DecoderLayer {
            input_layernorm: self.norm(&format!("{at}.input_layernorm.weight"), hidden, config)?,
            mixer,
            post_attention_layernorm: self.norm(
                &format!("{at}.post_attention_layernorm.weight"),
                hidden,
                config,
            )?,
            mlp: Mlp {
                gate_proj: self.projection(&format!("{at}.mlp.gate_proj.weight"), inner, hidden)?,
                up_proj: self.projection(&format!("{at}.mlp.up_proj.weight"), inner, hidden)?,
                down_proj: self.projection(&format!("{at}.mlp.down_proj.weight"), hidden, inner)?,
            },
        })
    }

    fn delta_net(&mut self, config: &Config, at: &str) -> Result<GatedDeltaNet> {
        let name = |part: &str| format!("{at}.linear_attn.{part}");
        let (hidden, values) = (config.hidden, config.linear_value_width());
        let (channels, heads) = (config.conv_channels(), config.linear_value_heads);
        Ok(GatedDeltaNet {
            in_proj_qkv: self.projection(&name("in_proj_qkv.weight"), channels, hidden)?,
            in_proj_z: self.projection(&name("in_proj_z.weight"), values, hidden)?,
            in_proj_b: self.projection(&name("in_proj_b.weight"), heads, hidden)?,
            in_proj_a: self.projection(&name("in_proj_a.weight"), heads, hidden)?,
            conv1d: self.matrix(&name("conv1d.weight"), channels, config.conv_kernel)?,
            a_log: self.vector(&name("A_log"), heads)?,
            dt_bias: self.vector(&name("dt_bias"), heads)?,
            norm: self.vector(&name("norm.weight"), config.linear_value_dim)?,
            out_proj: self.projection(&name("out_proj.weight"), hidden, values)?,
            key_heads: config.linear_key_heads,
            value_heads: heads,
            key_dim: config.linear_key_dim,
            value_dim: config.linear_value_dim,
            eps: f64::from(config.norm_eps),
            chunk: delta_rule::CHUNK,
            order: config.value_heads_order,
        })
    }

    fn attention(&mut self, config: &Config, at: &str) -> Result<FullAttention> {
        let name = |part: &str| format!("{at}.self_attn.{part}");
        let (hidden, head) = (config.hidden, config.head_dim);
        let (queries, keys) = (config.query_width(), config.kv_width());
        Ok(FullAttention {
            q_proj: self.projection(&name("q_proj.weight"), 2 * queries, hidden)?,
            k_proj: self.projection(&name("k_proj.weight"), keys, hidden)?,
            v_proj: self.projection(&name("v_proj.weight"), keys, hidden)?,
            o_proj: self.projection(&name("o_proj.weight"), hidden, queries)?,
            q_norm: self.norm(&name("q_norm.weight"), head, config)?,
            k_norm: self.norm(&name("k_norm.weight"), head, config)?,
            heads: config.heads,
            kv_heads: config.kv_heads,
            head_dim: head,
        })
    }

    fn norm(&mut self, name: &str, width: usize, config: &Config) -> Result<RmsNorm> {
        Ok(RmsNorm { weight: self.vector(name, width)?, eps: f64::from(config.norm_eps) })
    }

    fn projection(&mut self, name: &str, outputs: usize, inputs: usize) -> Result<Projection> {
        Ok(Projection { weight: self.matrix(name, outputs, inputs)? })
    }

    fn matrix(&mut self, name: &str, rows: usize, columns: usize) -> Result<Param<Tensor<2>>> {
        let values = self.source.take(name, &[rows, columns])?;
        Ok(Param::from_data(TensorData::new(values, [rows, columns]), self.device))
    }

    fn vector(&mut self, name: &str, len: usize) -> Result<Param<Tensor<1>>> {
        let values = self.source.take(name, &[len])?;
        Ok(Param::from_data(TensorData::new(values, [len]), self.device))
    }
}

/// Turns the path of module fields on the way to a parameter into its name.
#[derive(Default)]
struct NamePath(Vec<String>);

impl NamePath {
    fn enter(&mut self, field: &str) {
        self.0.push(field.to_owned());
    }

    fn exit(&mut self) {
        self.0.pop();
    }

    fn name(&self) -> String {
        let mut parts = Vec::with_capacity(self.0.len());
        for (depth, field) in self.0.iter().enumerate() {
            parts.push(match field.as_str() {
                // The kind of mixer, the next step, says how it is called.
                "mixer" => continue,
                "Linear" => "linear_attn",
                "Full" => "self_attn",
                "a_log" => "A_log",
                field => field,
            });
            let last = depth + 1 == self.0.len();
            if last && !matches!(field.as_str(), "weight" | "a_log" | "dt_bias") {
                parts.push("weight");
            }
        }
        parts.join(".")
    }
}

#[derive(Default)]
struct List {
    path: NamePath,
    found: Vec<Parameter>,
}

impl ModuleVisitor for List {
    fn enter_module(&mut self, name: &str, _container: &str) {
        self.path.enter(name);
    }

    fn exit_module(&mut self, _name: &str, _container: &str) {
        self.path.exit();
    }

    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
        let (name, shape) = (self.path.name(), param.dims().to_vec());
        self.found.push(Parameter { name, id: param.id, shape });
    }
}

#[derive(Default)]
struct Copy {
    path: NamePath,
    weights: Weights,
    failed: Option<String>,
}

impl Copy {
    fn insert<const D: usize>(&mut self, name: String, tensor: Tensor<D>) {
        let shape = tensor.dims().to_vec();
        match tensor.try_into_vec_as::<f32>() {
            Ok(values) => {
                self.weights.tensors.insert(name, (shape, values));
            }
            Err(error) => self.failed = Some(format!("copying {name} from the device: {error}")),
        }
    }

    fn finish(self) -> Result<Weights> {
        match self.failed {
            Some(problem) => Err(Error::Reference { problem }),
            None => Ok(self.weights),
        }
    }
}

impl ModuleVisitor for Copy {
    fn enter_module(&mut self, name: &str, _container: &str) {
        self.path.enter(name);
    }

    fn exit_module(&mut self, _name: &str, _container: &str) {
        self.path.exit();
    }

    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
        self.insert(self.path.name(), param.val());
    }
}

#[cfg(feature = "train")]
struct CopyGradients<'a> {
    path: NamePath,
    gradients: &'a burn::tensor::Gradients,
    copy: Copy,
}

#[cfg(feature = "train")]
impl ModuleVisitor for CopyGradients<'_> {
    fn enter_module(&mut self, name: &str, _container: &str) {
        self.path.enter(name);
    }

    fn exit_module(&mut self, _name: &str, _container: &str) {
        self.path.exit();
    }

    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
        if let Some(gradient) = param.val().grad(self.gradients) {
            self.copy.insert(self.path.name(), gradient);
        }
    }
}
