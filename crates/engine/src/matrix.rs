//! Weight matrices in GPU memory: repacked, merged where they share an input, split where a binding would be too
//! large.

use std::ops::Range;

use glowworm_gguf::repack::{self, Layout};
use glowworm_gguf::{Header, TensorInfo, TensorType, blocks};

use crate::error::{Error, Result};
use crate::gpu::Gpu;
use crate::source::ByteSource;

/// Bytes read from the source, repacked and handed to the GPU at a time.
const STAGING: usize = 1 << 20;

/// Bytes that may wait for the GPU before the loader waits for it: bounds the copies that wgpu keeps.
const IN_FLIGHT: usize = 4 * STAGING;

/// Bindings must start at multiples of this many bytes (the largest value WebGPU allows for the limit).
const BINDING_ALIGNMENT: u64 = 256;

/// Some rows of a matrix in one buffer: the main stream, then the scales of formats that keep them apart.
#[derive(Debug)]
pub(crate) struct Tile {
    /// Row of the whole matrix that comes first.
    pub(crate) row_first: u32,
    pub(crate) rows: u32,
    buffer: wgpu::Buffer,
    main_bytes: u64,
    scale_bytes: u64,
}

impl Tile {
    /// The main stream.
    pub(crate) fn main(&self) -> wgpu::BindingResource<'_> {
        binding(&self.buffer, 0..self.main_bytes)
    }

    /// The scales; for formats without any, some bytes that the shader does not read.
    pub(crate) fn scales(&self) -> wgpu::BindingResource<'_> {
        let first = self.main_bytes.next_multiple_of(BINDING_ALIGNMENT);
        if self.scale_bytes == 0 {
            binding(&self.buffer, 0..16)
        } else {
            binding(&self.buffer, first..first + self.scale_bytes.next_multiple_of(4))
        }
    }

    /// Bytes that a kernel reading every weight once reads.
    pub(crate) fn bytes(&self) -> u64 {
        self.main_bytes + self.scale_bytes
    }
}

/// A range of a buffer as a binding.
pub(crate) fn binding(buffer: &wgpu::Buffer, range: Range<u64>) -> wgpu::BindingResource<'_> {
    wgpu::BindingResource::Buffer(wgpu::BufferBinding {
        buffer,
        offset: range.start,
        size: wgpu::BufferSize::new(range.end - range.start),
    })
}

/// A matrix [rows, K] of one type; K is the length of its input.
#[derive(Debug)]
pub(crate) struct Matrix {
    pub(crate) kind: TensorType,
    /// K / 32.
    pub(crate) items: u32,
    pub(crate) rows: u32,
    /// Where its first row's result goes in the output it shares with other matrices.
    pub(crate) first: u32,
    pub(crate) tiles: Vec<Tile>,
}

/// Reads a model's tensors from its source and puts them into GPU memory.
pub(crate) struct Loader<'a, S> {
    pub(crate) gpu: &'a Gpu,
    source: &'a mut S,
    header: &'a Header,
    /// Bytes of a tile at most, unless a single row has more.
    pub(crate) tile_bytes: u64,
    in_flight: usize,
    /// Bytes of the source read so far.
    pub(crate) read: u64,
    raw: Vec<u8>,
    repacked: Vec<u8>,
    progress: &'a mut dyn FnMut(u64),
}

impl<'a, S: ByteSource> Loader<'a, S> {
    pub(crate) fn new(
        gpu: &'a Gpu,
        source: &'a mut S,
        header: &'a Header,
        progress: &'a mut dyn FnMut(u64),
    ) -> Self {
        Self {
            gpu,
            source,
            header,
            tile_bytes: gpu.largest_binding(),
            in_flight: 0,
            read: 0,
            raw: Vec::new(),
            repacked: Vec::new(),
            progress,
        }
    }

    /// The tensor called `name`.
    fn tensor(&self, name: &str) -> Result<&'a TensorInfo> {
        // The list of a model's tensors is checked before loading starts, so this is a name of our own.
        self.header
            .tensor(name)
            .ok_or(Error::Usage("a tensor of the checked list is missing from the header"))
    }

    /// A small tensor as f32 numbers, whatever its type.
    pub(crate) async fn vector(&mut self, name: &str) -> Result<Vec<f32>> {
        let tensor = self.tensor(name)?;
        tensor.require_supported()?;
        let mut bytes = vec![0; tensor.byte_len() as usize];
        self.source.read(self.header.data_range(tensor).start, &mut bytes).await?;
        let mut values = vec![0.0; tensor.elements() as usize];
        blocks::dequantize(tensor.kind, &bytes, &mut values)?;
        self.advance(bytes.len());
        Ok(values)
    }

    /// Tensors that share an input and whose results stand side by side, in this order: neighbours of one type
    /// become one matrix.
    pub(crate) async fn merged(&mut self, names: &[String]) -> Result<Vec<Matrix>> {
        let mut groups: Vec<Vec<&TensorInfo>> = Vec::new();
        for name in names {
            let tensor = self.tensor(name)?;
            match groups.last_mut() {
                Some(group) if group[0].kind == tensor.kind => group.push(tensor),
                _ => groups.push(vec![tensor]),
            }
        }
        let mut matrices = Vec::new();
        let mut first = 0;
        for group in groups {
            let matrix = self.matrix(&group, first).await?;
            first += matrix.rows;
            matrices.push(matrix);
        }
        Ok(matrices)
    }

    /// The rows of `tensors`, all of one type and width, one after the other.
    async fn matrix(&mut self, tensors: &[&TensorInfo], first: u32) -> Result<Matrix> {
        let kind = tensors[0].kind;
        let k = tensors[0].k();
        tensors.iter().try_for_each(|tensor| tensor.require_supported())?;
        if !k.is_multiple_of(32) {
            return Err(Error::Shape {
                what: "the width of a weight matrix",
                value: k as usize,
                needed: "a multiple of 32",
            });
        }
        let rows: u64 = tensors.iter().map(|tensor| tensor.rows()).sum();
        let layout = Layout::of(kind)?;
        let row_blocks = k / layout.block_weights as u64;
        let main_row = row_blocks * layout.main_bytes_per_block as u64;
        let row_bytes = main_row + row_blocks * layout.scale_bytes_per_block as u64;
        let tile_rows = (self.tile_bytes.saturating_sub(BINDING_ALIGNMENT) / row_bytes).clamp(1, rows);
        let mut tiles = Vec::new();
        let mut first_row = 0;
        while first_row < rows {
            let end = (first_row + tile_rows).min(rows);
            tiles.push(self.tile(tensors, first_row..end, &layout).await?);
            first_row = end;
        }
        Ok(Matrix { kind, items: (k / 32) as u32, rows: rows as u32, first, tiles })
    }

    /// Rows `range` of the stacked `tensors`.
    async fn tile(&mut self, tensors: &[&TensorInfo], range: Range<u64>, layout: &Layout) -> Result<Tile> {
        let row_blocks = tensors[0].k() / layout.block_weights as u64;
        let blocks = (range.end - range.start) * row_blocks;
        let main_bytes = blocks * layout.main_bytes_per_block as u64;
        let scale_bytes = blocks * layout.scale_bytes_per_block as u64;
        let scale_first = main_bytes.next_multiple_of(BINDING_ALIGNMENT);
        let usage = wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::COPY_DST;
        let what = format!("the weights of {}", tensors[0].name);
        let bytes = scale_first + scale_bytes;
        let buffer = self.gpu.guarded(&what, || self.gpu.buffer(&tensors[0].name, bytes, usage)).await?;

        let mut scales = Vec::with_capacity(scale_bytes.next_multiple_of(4) as usize);
        let mut main_written = 0;
        let mut tensor_first = 0;
        for tensor in tensors {
            let here = range.start.max(tensor_first)..range.end.min(tensor_first + tensor.rows());
            let row_bytes = tensor.row_bytes();
            let data = self.header.data_range(tensor).start;
            let step = (STAGING as u64 / row_bytes).max(1);
            let mut row = here.start;
            while row < here.end {
                let end = (row + step).min(here.end);
                let offset = data + (row - tensor_first) * row_bytes;
                self.raw.resize(((end - row) * row_bytes) as usize, 0);
                self.source.read(offset, &mut self.raw).await?;
                let count = ((end - row) * row_blocks) as usize;
                self.repacked.resize(count * layout.main_bytes_per_block, 0);
                let scales_before = scales.len();
                scales.resize(scales_before + count * layout.scale_bytes_per_block, 0);
                repack::repack(tensor.kind, &self.raw, &mut self.repacked, &mut scales[scales_before..])?;
                self.gpu.queue.write_buffer(&buffer, main_written, &self.repacked);
                main_written += self.repacked.len() as u64;
                self.advance(self.raw.len());
                self.bound_uploads(self.repacked.len()).await?;
                row = end;
            }
            tensor_first += tensor.rows();
        }
        if !scales.is_empty() {
            scales.resize(scales.len().next_multiple_of(4), 0);
            self.gpu.queue.write_buffer(&buffer, scale_first, &scales);
            self.bound_uploads(scales.len()).await?;
        }
        let rows = (range.end - range.start) as u32;
        Ok(Tile { row_first: range.start as u32, rows, buffer, main_bytes, scale_bytes })
    }

    fn advance(&mut self, bytes: usize) {
        self.read += bytes as u64;
        (self.progress)(self.read);
    }

    /// Hands what was written to the GPU, and waits for it when much is under way.
    async fn bound_uploads(&mut self, bytes: usize) -> Result<()> {
        self.in_flight += bytes;
        self.gpu.queue.submit([]);
        if self.in_flight >= IN_FLIGHT {
            self.in_flight = 0;
            self.gpu.wait().await?;
        }
        Ok(())
    }
}
