//! Pipelines: compiled once for each kernel, weight format and set of constants, and their bindings.

use std::collections::HashMap;

use glowworm_gguf::TensorType;

use crate::error::Result;
use crate::gpu::Gpu;
use crate::shaders;

/// How a shader sees a buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Binding {
    Read,
    Write,
    Uniform,
}

use Binding::{Read, Uniform, Write};

/// A kernel: a file of `shaders/`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Kernel {
    Embed,
    Matvec,
    MatvecRows,
    Matmul,
    MatmulRows,
    RmsNorm,
    Swiglu,
    DeltaNet,
    AttentionPrepare,
    Attention,
    AttentionHeads,
    AttentionJoin,
    Sample,
    Draft,
}

impl Kernel {
    /// Name of the shader file.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Kernel::Embed => "embed",
            Kernel::Matvec => "matvec",
            Kernel::MatvecRows => "matvec_rows",
            Kernel::Matmul => "matmul",
            Kernel::MatmulRows => "matmul_rows",
            Kernel::RmsNorm => "rms_norm",
            Kernel::Swiglu => "swiglu",
            Kernel::DeltaNet => "delta_net",
            Kernel::AttentionPrepare => "attention_prepare",
            Kernel::Attention => "attention",
            Kernel::AttentionHeads => "attention_heads",
            Kernel::AttentionJoin => "attention_join",
            Kernel::Sample => "sample",
            Kernel::Draft => "draft",
        }
    }

    /// The bindings in the order of the shader file.
    fn bindings(self) -> &'static [Binding] {
        match self {
            Kernel::Embed => &[Read, Read, Read, Write, Uniform, Uniform],
            Kernel::Matvec | Kernel::MatvecRows => &[Read, Read, Read, Read, Write, Uniform, Uniform],
            Kernel::Matmul | Kernel::MatmulRows => &[Read, Read, Read, Write, Uniform, Uniform],
            Kernel::RmsNorm => &[Read, Read, Write, Uniform],
            Kernel::Swiglu => &[Read, Write, Uniform],
            Kernel::DeltaNet => &[Read, Read, Read, Write, Write, Write, Uniform, Uniform],
            Kernel::AttentionPrepare => &[Read, Read, Read, Write, Write, Write, Uniform, Uniform],
            Kernel::Attention | Kernel::AttentionHeads => &[Read, Read, Read, Read, Write, Uniform, Uniform],
            Kernel::AttentionJoin => &[Read, Read, Write, Uniform, Uniform],
            Kernel::Sample => &[Read, Write, Write, Write, Uniform],
            Kernel::Draft => &[Read, Write, Write],
        }
    }
}

/// Constants of a pipeline (WGSL `override`s) by name.
pub(crate) type Constants = Vec<(&'static str, u32)>;

/// A compiled kernel.
#[derive(Debug, Clone)]
pub(crate) struct Pipeline {
    pub(crate) kernel: Kernel,
    pub(crate) pipeline: wgpu::ComputePipeline,
    layout: wgpu::BindGroupLayout,
}

impl Pipeline {
    /// Binds `resources`, in the order of the shader file.
    pub(crate) fn bind(&self, gpu: &Gpu, resources: &[wgpu::BindingResource<'_>]) -> wgpu::BindGroup {
        let entries: Vec<_> = resources
            .iter()
            .zip(0..)
            .map(|(resource, binding)| wgpu::BindGroupEntry { binding, resource: resource.clone() })
            .collect();
        gpu.device.create_bind_group(&wgpu::BindGroupDescriptor {
            label: Some(self.kernel.name()),
            layout: &self.layout,
            entries: &entries,
        })
    }
}

/// What tells one pipeline from another.
type Key = (Kernel, Vec<TensorType>, Constants);

/// The bindings of a second matrix, after all others.
const SECOND: [Binding; 2] = [Read, Read];

/// All pipelines of an engine, compiled when first asked for.
pub(crate) struct Pipelines {
    gpu: Gpu,
    compiled: HashMap<Key, Pipeline>,
    /// By kernel, and whether there is a second matrix.
    layouts: HashMap<(Kernel, bool), wgpu::BindGroupLayout>,
}

impl Pipelines {
    pub(crate) fn new(gpu: &Gpu) -> Self {
        Self { gpu: gpu.clone(), compiled: HashMap::new(), layouts: HashMap::new() }
    }

    /// The pipeline of `kernel` with `constants` over weights of the types `formats`: none for kernels that read no weights, two
    /// for a pair of matrices.
    ///
    /// # Errors
    /// A weight format that no shader reads, by name.
    pub(crate) fn get(
        &mut self,
        kernel: Kernel,
        formats: &[TensorType],
        constants: &[(&'static str, u32)],
    ) -> Result<Pipeline> {
        let key = (kernel, formats.to_vec(), constants.to_vec());
        if let Some(known) = self.compiled.get(&key) {
            return Ok(known.clone());
        }
        let names: Vec<_> = formats.iter().map(|format| format.name()).collect();
        let source = shaders::source(kernel.name(), &names).ok_or(crate::Error::Usage(
            "a weight matrix has a type that no shader reads: take F32, F16, BF16, Q8_0, Q4_0, Q4_1, Q5_0, Q5_1, IQ4_NL, \
             IQ4_XS or Q2_K to Q6_K",
        ))?;
        let label = [&[kernel.name()], &names[..]].concat().join(" ");
        let layout = self.layout(kernel, formats.len() > 1);
        let device = &self.gpu.device;
        let module = device.create_shader_module(wgpu::ShaderModuleDescriptor {
            label: Some(&label),
            source: wgpu::ShaderSource::Wgsl(source.into()),
        });
        let pipeline_layout = device.create_pipeline_layout(&wgpu::PipelineLayoutDescriptor {
            label: Some(&label),
            bind_group_layouts: &[Some(&layout)],
            immediate_size: 0,
        });
        let values: Vec<_> = constants.iter().map(|&(name, value)| (name, f64::from(value))).collect();
        let pipeline = device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
            label: Some(&label),
            layout: Some(&pipeline_layout),
            module: &module,
            entry_point: Some("main"),
            compilation_options: wgpu::PipelineCompilationOptions {
                constants: &values,
                // Every kernel writes its workgroup memory before reading it.
                zero_initialize_workgroup_memory: false,
            },
            cache: None,
        });
        let pipeline = Pipeline { kernel, pipeline, layout };
        self.compiled.insert(key, pipeline.clone());
        Ok(pipeline)
    }

    fn layout(&mut self, kernel: Kernel, pair: bool) -> wgpu::BindGroupLayout {
        let device = &self.gpu.device;
        self.layouts
            .entry((kernel, pair))
            .or_insert_with(|| {
                let entries: Vec<_> = kernel
                    .bindings()
                    .iter()
                    .chain(SECOND.iter().filter(|_| pair))
                    .zip(0..)
                    .map(|(kind, binding)| wgpu::BindGroupLayoutEntry {
                        binding,
                        visibility: wgpu::ShaderStages::COMPUTE,
                        ty: wgpu::BindingType::Buffer {
                            ty: match kind {
                                Read => wgpu::BufferBindingType::Storage { read_only: true },
                                Write => wgpu::BufferBindingType::Storage { read_only: false },
                                Uniform => wgpu::BufferBindingType::Uniform,
                            },
                            has_dynamic_offset: false,
                            min_binding_size: None,
                        },
                        count: None,
                    })
                    .collect();
                device.create_bind_group_layout(&wgpu::BindGroupLayoutDescriptor {
                    label: Some(kernel.name()),
                    entries: &entries,
                })
            })
            .clone()
    }
}
