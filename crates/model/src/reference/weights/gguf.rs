//! Weights out of a GGUF file.
//!
//! llama.cpp's converter changes some tensors (`conversion/qwen.py`): it adds 1 to the zero-centred norm weights,
//! stores `−exp(A_log)`, drops the middle axis of the convolution, and where there are more value heads than key heads
//! it reorders the former. The first two are undone here; the order stays as it is, and the configuration says so.

use std::fs::File;
use std::io::{BufReader, Read, Seek, SeekFrom};
use std::path::Path;

use glowworm_gguf::{Header, TensorInfo, blocks};

use super::{Source, missing, same_shape};
use crate::{Error, Result};

/// A GGUF file opened for its weights.
#[derive(Debug)]
pub struct GgufFile<R = BufReader<File>> {
    header: Header,
    reader: R,
}

impl GgufFile {
    /// Opens a file and reads its header.
    ///
    /// # Errors
    /// If it cannot be read or is no GGUF file.
    pub fn open(path: &Path) -> Result<Self> {
        let io = |source| Error::Io { doing: "reading", path: path.to_owned(), source };
        let file = File::open(path).map_err(io)?;
        let len = file.metadata().map_err(io)?.len();
        Self::new(BufReader::new(file), len)
    }
}

impl<R: Read + Seek> GgufFile<R> {
    /// Reads the header of a GGUF file of `len` bytes.
    ///
    /// # Errors
    /// If it cannot be read or is no GGUF file.
    pub fn new(mut reader: R, len: u64) -> Result<Self> {
        let header = Header::read_from(&mut reader, len)?;
        Ok(Self { header, reader })
    }

    /// The file's header.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// A tensor by its name in the file, dequantised.
    ///
    /// # Errors
    /// If it is missing, of another shape (outermost axis first), of a type that is not supported, or unreadable.
    pub fn read(&mut self, name: &str, shape: &[usize]) -> Result<Vec<f32>> {
        let info = self.header.tensor(name).ok_or_else(|| missing(name))?;
        same_shape(name, &shape_of(info), shape)?;
        let range = self.header.data_range(info);
        let unreadable =
            |error: std::io::Error| Error::Tensor { name: name.into(), problem: error.to_string() };
        let mut bytes = vec![0; (range.end - range.start) as usize];
        self.reader.seek(SeekFrom::Start(range.start)).map_err(unreadable)?;
        self.reader.read_exact(&mut bytes).map_err(unreadable)?;
        let mut values = vec![0.0; shape.iter().product()];
        blocks::dequantize(info.kind, &bytes, &mut values)?;
        Ok(values)
    }
}

impl<R: Read + Seek> Source for GgufFile<R> {
    fn take(&mut self, name: &str, shape: &[usize]) -> Result<Vec<f32>> {
        let (stored, undo) = stored_name(name).ok_or_else(|| missing(name))?;
        let mut values = self.read(&stored, shape)?;
        match undo {
            Undo::Nothing => {}
            Undo::PlusOne => values.iter_mut().for_each(|w| *w -= 1.0),
            Undo::MinusExp => {
                if let Some(rate) = values.iter().find(|rate| !(rate.is_finite() && **rate < 0.0)) {
                    let problem = format!("holds the decay rate {rate}, which must be below zero");
                    return Err(Error::Tensor { name: stored, problem });
                }
                values.iter_mut().for_each(|rate| *rate = (-*rate).ln());
            }
        }
        Ok(values)
    }
}

/// Outermost axis first; ggml lists the contiguous one first.
fn shape_of(info: &TensorInfo) -> Vec<usize> {
    info.dims.iter().rev().map(|&len| len as usize).collect()
}

/// What the conversion did to the numbers.
enum Undo {
    Nothing,
    PlusOne,
    MinusExp,
}

/// The name in a GGUF file, and what the conversion did.
fn stored_name(name: &str) -> Option<(String, Undo)> {
    use Undo::{MinusExp, Nothing, PlusOne};
    let outside = match name {
        "embed_tokens.weight" => Some(("token_embd.weight", Nothing)),
        "norm.weight" => Some(("output_norm.weight", PlusOne)),
        "lm_head.weight" => Some(("output.weight", Nothing)),
        _ => None,
    };
    if let Some((stored, undo)) = outside {
        return Some((stored.to_owned(), undo));
    }
    let (layer, part) = name.strip_prefix("layers.")?.split_once('.')?;
    let (stored, undo) = match part {
        "input_layernorm.weight" => ("attn_norm.weight", PlusOne),
        "post_attention_layernorm.weight" => ("post_attention_norm.weight", PlusOne),
        "mlp.gate_proj.weight" => ("ffn_gate.weight", Nothing),
        "mlp.up_proj.weight" => ("ffn_up.weight", Nothing),
        "mlp.down_proj.weight" => ("ffn_down.weight", Nothing),
        "linear_attn.in_proj_qkv.weight" => ("attn_qkv.weight", Nothing),
        "linear_attn.in_proj_z.weight" => ("attn_gate.weight", Nothing),
        "linear_attn.in_proj_a.weight" => ("ssm_alpha.weight", Nothing),
        "linear_attn.in_proj_b.weight" => ("ssm_beta.weight", Nothing),
        "linear_attn.conv1d.weight" => ("ssm_conv1d.weight", Nothing),
        "linear_attn.A_log" => ("ssm_a", MinusExp),
        "linear_attn.dt_bias" => ("ssm_dt.bias", Nothing),
        "linear_attn.norm.weight" => ("ssm_norm.weight", Nothing),
        "linear_attn.out_proj.weight" => ("ssm_out.weight", Nothing),
        "self_attn.q_proj.weight" => ("attn_q.weight", Nothing),
        "self_attn.k_proj.weight" => ("attn_k.weight", Nothing),
        "self_attn.v_proj.weight" => ("attn_v.weight", Nothing),
        "self_attn.o_proj.weight" => ("attn_output.weight", Nothing),
        "self_attn.q_norm.weight" => ("attn_q_norm.weight", PlusOne),
        "self_attn.k_norm.weight" => ("attn_k_norm.weight", PlusOne),
        _ => return None,
    };
    Some((format!("blk.{layer}.{stored}"), undo))
}
