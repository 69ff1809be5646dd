//! A `Blob` as a source of a model's bytes: a file that was dropped, one in the browser's private file system, or the
//! built-in model. Whatever its size, only the range that is asked for is in memory.

use glowworm_engine::{ByteSource, Error, Result};
use js_sys::{ArrayBuffer, Uint8Array};
use wasm_bindgen::{JsCast, JsValue};
use wasm_bindgen_futures::JsFuture;
use web_sys::Blob;

pub(super) struct BlobSource {
    name: String,
    blob: Blob,
}

impl BlobSource {
    pub(super) fn new(name: &str, blob: Blob) -> Self {
        Self { name: name.to_owned(), blob }
    }

    async fn range(&self, offset: u64, length: usize) -> Result<Uint8Array, JsValue> {
        let end = offset as f64 + length as f64;
        let slice = self.blob.slice_with_f64_and_f64(offset as f64, end)?;
        let bytes: ArrayBuffer = JsFuture::from(slice.array_buffer()).await?.unchecked_into();
        Ok(Uint8Array::new(&bytes))
    }
}

impl ByteSource for BlobSource {
    fn name(&self) -> &str {
        &self.name
    }

    fn len(&self) -> u64 {
        self.blob.size() as u64
    }

    async fn read(&mut self, offset: u64, buffer: &mut [u8]) -> Result<()> {
        let failed = |reason: String| Error::Source {
            source_name: self.name.clone(),
            offset,
            length: buffer.len() as u64,
            reason,
        };
        let bytes = match self.range(offset, buffer.len()).await {
            Ok(bytes) => bytes,
            Err(error) => {
                let said =
                    js_sys::Reflect::get(&error, &"message".into()).ok().and_then(|text| text.as_string());
                let said = said.unwrap_or_else(|| "the browser gave no reason".to_owned());
                return Err(failed(format!("{said}; the file was moved or changed, choose it again")));
            }
        };
        if bytes.length() as usize != buffer.len() {
            return Err(failed("the file ends before that".to_owned()));
        }
        bytes.copy_to(buffer);
        Ok(())
    }
}
