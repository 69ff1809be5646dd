//! Writes GGUF version 3, tensor after tensor, with nothing in memory but the header.
//!
//! The directory comes before the data, so all tensors are declared first; their data then follows in the same order, in
//! pieces of any size.

use std::io::Write;

use crate::error::Error;
use crate::header::{TensorInfo, check_directory};
use crate::metadata::{Array, Metadata, Strings, Value};
use crate::types::TensorType;

/// A tensor that will be written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Declaration {
    /// Its name.
    pub name: String,
    /// Dimensions in ggml's order, `dims[0]` contiguous.
    pub dims: Vec<u64>,
    /// How its weights are stored.
    pub kind: TensorType,
}

/// Writes a file. The header is written at once, then the data is awaited in the order of the declarations.
///
/// ```
/// # use glowworm_gguf::{Header, Metadata, TensorType, Writer, write::Declaration};
/// let mut metadata = Metadata::new();
/// metadata.set("general.architecture", "qwen35");
/// let norm = Declaration { name: "output_norm.weight".into(), dims: vec![2], kind: TensorType::F32 };
/// let mut writer = Writer::new(Vec::new(), &metadata, vec![norm])?;
/// writer.write(&1f32.to_le_bytes())?;
/// writer.write(&2f32.to_le_bytes())?;
/// let file = writer.finish()?;
/// let header = Header::read_from(&mut file.as_slice(), file.len() as u64)?;
/// assert_eq!(header.tensor("output_norm.weight").map(|norm| norm.k()), Some(2));
/// # Ok::<(), glowworm_gguf::Error>(())
/// ```
#[derive(Debug)]
pub struct Writer<W> {
    out: W,
    tensors: Vec<TensorInfo>,
    alignment: u64,
    /// Tensor that is being written, and bytes of it that were.
    current: usize,
    written: u64,
}

impl<W: Write> Writer<W> {
    /// Writes the header. `general.alignment` is respected if the metadata has it.
    ///
    /// # Errors
    /// [`Error::Duplicate`], [`Error::Invalid`] for declarations that cannot be, [`Error::Io`].
    pub fn new(mut out: W, metadata: &Metadata, declarations: Vec<Declaration>) -> Result<Self, Error> {
        let alignment = match metadata.opt_u32("general.alignment")? {
            None => 32,
            Some(alignment) if alignment.is_power_of_two() => u64::from(alignment),
            Some(alignment) => {
                let reason = format!("general.alignment {alignment} is not a power of two");
                return Err(Error::Write { reason });
            }
        };
        let mut tensors = Vec::with_capacity(declarations.len());
        let mut offset = 0u64;
        for Declaration { name, dims, kind } in declarations {
            let tensor = TensorInfo { name, dims, kind, offset };
            tensor.check()?;
            offset = offset
                .checked_add(tensor.byte_len())
                .and_then(|end| end.checked_next_multiple_of(alignment))
                .ok_or_else(|| Error::Write { reason: "the tensors overflow".to_owned() })?;
            tensors.push(tensor);
        }
        let header = header_bytes(metadata, &tensors);
        check_directory(&tensors, header.len() as u64, alignment, None)?;
        out.write_all(&header)?;
        pad(&mut out, header.len() as u64, alignment)?;
        Ok(Writer { out, tensors, alignment, current: 0, written: 0 })
    }

    /// The tensors in the order in which their data is awaited.
    pub fn tensors(&self) -> &[TensorInfo] {
        &self.tensors
    }

    /// The tensor whose data comes next; `None` when all are written.
    pub fn current(&self) -> Option<&TensorInfo> {
        self.tensors.get(self.current)
    }

    /// Writes the next bytes of the current tensor, which ends when its length is reached.
    ///
    /// # Errors
    /// [`Error::Write`] when `bytes` reach past the end of the tensor, [`Error::Io`].
    pub fn write(&mut self, bytes: &[u8]) -> Result<(), Error> {
        if bytes.is_empty() {
            return Ok(());
        }
        let Some(tensor) = self.tensors.get(self.current) else {
            return Err(Error::Write { reason: format!("{} bytes after the last tensor", bytes.len()) });
        };
        let left = tensor.byte_len() - self.written;
        if bytes.len() as u64 > left {
            let reason =
                format!("tensor `{}` awaits {left} bytes and was given {}", tensor.name, bytes.len());
            return Err(Error::Write { reason });
        }
        self.out.write_all(bytes)?;
        self.written += bytes.len() as u64;
        if self.written == tensor.byte_len() {
            pad(&mut self.out, self.written, self.alignment)?;
            (self.current, self.written) = (self.current + 1, 0);
        }
        Ok(())
    }

    /// Ends the file and gives back what it was written to, flushed.
    ///
    /// # Errors
    /// [`Error::Write`] when data is missing, [`Error::Io`].
    pub fn finish(mut self) -> Result<W, Error> {
        if let Some(tensor) = self.current() {
            let reason =
                format!("tensor `{}` has {} of {} bytes", tensor.name, self.written, tensor.byte_len());
            return Err(Error::Write { reason });
        }
        self.out.flush()?;
        Ok(self.out)
    }
}

/// Zeros from `length` to the next multiple of `alignment`.
fn pad(out: &mut impl Write, length: u64, alignment: u64) -> Result<(), Error> {
    let padding = (length.next_multiple_of(alignment) - length) as usize;
    out.write_all(&vec![0; padding])?;
    Ok(())
}

fn header_bytes(metadata: &Metadata, tensors: &[TensorInfo]) -> Vec<u8> {
    let mut bytes = b"GGUF".to_vec();
    bytes.extend_from_slice(&3u32.to_le_bytes());
    bytes.extend_from_slice(&(tensors.len() as u64).to_le_bytes());
    bytes.extend_from_slice(&(metadata.len() as u64).to_le_bytes());
    for (key, value) in metadata.iter() {
        put_string(&mut bytes, key);
        put_value(&mut bytes, value);
    }
    for tensor in tensors {
        put_string(&mut bytes, &tensor.name);
        bytes.extend_from_slice(&(tensor.dims.len() as u32).to_le_bytes());
        for dim in &tensor.dims {
            bytes.extend_from_slice(&dim.to_le_bytes());
        }
        bytes.extend_from_slice(&tensor.kind.id().to_le_bytes());
        bytes.extend_from_slice(&tensor.offset.to_le_bytes());
    }
    bytes
}

fn put_string(bytes: &mut Vec<u8>, text: &str) {
    bytes.extend_from_slice(&(text.len() as u64).to_le_bytes());
    bytes.extend_from_slice(text.as_bytes());
}

/// Identifier of the type, then the value.
fn put_value(bytes: &mut Vec<u8>, value: &Value) {
    let mut put = |id: u32, value: &[u8]| {
        bytes.extend_from_slice(&id.to_le_bytes());
        bytes.extend_from_slice(value);
    };
    match value {
        Value::U8(value) => put(0, &value.to_le_bytes()),
        Value::I8(value) => put(1, &value.to_le_bytes()),
        Value::U16(value) => put(2, &value.to_le_bytes()),
        Value::I16(value) => put(3, &value.to_le_bytes()),
        Value::U32(value) => put(4, &value.to_le_bytes()),
        Value::I32(value) => put(5, &value.to_le_bytes()),
        Value::F32(value) => put(6, &value.to_le_bytes()),
        Value::Bool(value) => put(7, &[u8::from(*value)]),
        Value::String(text) => {
            put(8, &[]);
            put_string(bytes, text);
        }
        Value::Array(array) => {
            put(9, &[]);
            put_array(bytes, array);
        }
        Value::U64(value) => put(10, &value.to_le_bytes()),
        Value::I64(value) => put(11, &value.to_le_bytes()),
        Value::F64(value) => put(12, &value.to_le_bytes()),
    }
}

fn put_array(bytes: &mut Vec<u8>, array: &Array) {
    fn numbers<const N: usize, T: Copy>(
        bytes: &mut Vec<u8>,
        id: u32,
        list: &[T],
        raw: impl Fn(T) -> [u8; N],
    ) {
        bytes.extend_from_slice(&id.to_le_bytes());
        bytes.extend_from_slice(&(list.len() as u64).to_le_bytes());
        list.iter().for_each(|value| bytes.extend_from_slice(&raw(*value)));
    }
    fn strings(bytes: &mut Vec<u8>, list: &Strings) {
        bytes.extend_from_slice(&8u32.to_le_bytes());
        bytes.extend_from_slice(&(list.len() as u64).to_le_bytes());
        list.iter().for_each(|text| put_string(bytes, text));
    }
    match array {
        Array::U8(list) => numbers(bytes, 0, list, u8::to_le_bytes),
        Array::I8(list) => numbers(bytes, 1, list, i8::to_le_bytes),
        Array::U16(list) => numbers(bytes, 2, list, u16::to_le_bytes),
        Array::I16(list) => numbers(bytes, 3, list, i16::to_le_bytes),
        Array::U32(list) => numbers(bytes, 4, list, u32::to_le_bytes),
        Array::I32(list) => numbers(bytes, 5, list, i32::to_le_bytes),
        Array::F32(list) => numbers(bytes, 6, list, f32::to_le_bytes),
        Array::Bool(list) => numbers(bytes, 7, list, |value| [u8::from(value)]),
        Array::Strings(list) => strings(bytes, list),
        Array::U64(list) => numbers(bytes, 10, list, u64::to_le_bytes),
        Array::I64(list) => numbers(bytes, 11, list, i64::to_le_bytes),
        Array::F64(list) => numbers(bytes, 12, list, f64::to_le_bytes),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_that_does_not_fit_is_refused() {
        let declaration =
            |name: &str| Declaration { name: name.to_owned(), dims: vec![3], kind: TensorType::F32 };
        let metadata = Metadata::new();
        assert!(Writer::new(Vec::new(), &metadata, vec![declaration("a"), declaration("a")]).is_err());
        let mut writer =
            Writer::new(Vec::new(), &metadata, vec![declaration("a"), declaration("b")]).unwrap();
        assert!(writer.write(&[0; 13]).is_err());
        writer.write(&[0; 12]).unwrap();
        assert_eq!(writer.current().unwrap().name, "b");
        writer.write(&[0; 4]).unwrap();
        assert!(writer.finish().unwrap_err().to_string().contains("`b` has 4 of 12"));
    }
}
