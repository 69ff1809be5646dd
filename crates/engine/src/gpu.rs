//! The device: asking for an adapter, its limits, its errors, and reading results back.

use std::sync::{Arc, Mutex};

use crate::error::{Error, Result};

/// Largest storage binding that every adapter has to offer, the limit of plain WebGPU, in bytes. Keys and values stay
/// within it.
pub const BASE_BINDING: u64 = 128 << 20;

/// How to choose the device.
#[derive(Debug, Clone, Default)]
pub struct GpuOptions {
    /// Only adapters whose name contains this text, in any case (for example `llvmpipe`). Native only.
    pub adapter: Option<String>,
}

/// An open device with its queue. Cloning shares it.
#[derive(Clone)]
pub struct Gpu {
    pub(crate) device: wgpu::Device,
    pub(crate) queue: wgpu::Queue,
    info: wgpu::AdapterInfo,
    fault: Arc<Mutex<Option<String>>>,
}

impl Gpu {
    /// Opens the most powerful adapter, or a software one where there is no other.
    ///
    /// # Errors
    /// [`Error::NoAdapter`], [`Error::Limit`] and [`Error::Device`].
    pub async fn open(options: &GpuOptions) -> Result<Self> {
        let instance = wgpu::Instance::new(wgpu::InstanceDescriptor {
            backends: wgpu::Backends::PRIMARY,
            ..wgpu::InstanceDescriptor::new_without_display_handle()
        });
        let adapter = choose_adapter(&instance, options).await?;
        let mut info = adapter.get_info();
        if info.name.is_empty() {
            // Browsers may tell none. It reads well after "the adapter".
            "without a name".clone_into(&mut info.name);
        }
        let offered = adapter.limits();
        let base = wgpu::Limits::default();
        let check = |limit, offered: u64, needed: u64| {
            if offered >= needed {
                Ok(())
            } else {
                Err(Error::Limit { adapter: info.name.clone(), limit, offered, needed })
            }
        };
        check("maxStorageBufferBindingSize", offered.max_storage_buffer_binding_size, BASE_BINDING)?;
        check("maxStorageBuffersPerShaderStage", offered.max_storage_buffers_per_shader_stage.into(), 8)?;
        check(
            "maxComputeInvocationsPerWorkgroup",
            offered.max_compute_invocations_per_workgroup.into(),
            256,
        )?;
        check("maxComputeWorkgroupStorageSize", offered.max_compute_workgroup_storage_size.into(), 16_384)?;
        let limits = wgpu::Limits {
            // The kernels stay within plain WebGPU; only buffers may be larger where the adapter allows it, so that a
            // matrix need not be split.
            max_buffer_size: offered.max_buffer_size.max(base.max_buffer_size),
            max_storage_buffer_binding_size: offered.max_storage_buffer_binding_size,
            ..base.clone()
        };
        let (device, queue) = adapter
            .request_device(&wgpu::DeviceDescriptor {
                label: Some("glowworm"),
                required_limits: limits,
                memory_hints: wgpu::MemoryHints::Performance,
                ..Default::default()
            })
            .await
            .map_err(|error| Error::Device { adapter: info.name.clone(), reason: error.to_string() })?;

        let fault = Arc::new(Mutex::new(None));
        let record = fault.clone();
        device.on_uncaptured_error(Arc::new(move |error: wgpu::Error| note(&record, error.to_string())));
        let record = fault.clone();
        device.set_device_lost_callback(move |reason, message| {
            if reason != wgpu::DeviceLostReason::Destroyed || !message.is_empty() {
                note(&record, format!("device lost ({reason:?}) {message}"));
            }
        });
        Ok(Self { device, queue, info, fault })
    }

    /// Name, backend and kind of the adapter, for people.
    pub fn description(&self) -> String {
        let kind = match self.info.device_type {
            wgpu::DeviceType::Cpu => ", software",
            _ => "",
        };
        format!("{} ({:?}{kind})", self.info.name, self.info.backend)
    }

    /// Whether the adapter computes on the processor.
    pub fn is_software(&self) -> bool {
        self.info.device_type == wgpu::DeviceType::Cpu
    }

    /// The largest storage binding of this device, in bytes. A larger matrix is split into tiles of rows.
    pub(crate) fn largest_binding(&self) -> u64 {
        let limits = self.device.limits();
        limits.max_storage_buffer_binding_size.min(limits.max_buffer_size)
    }

    /// The first error that the device reported outside of any call, if it did: all later results are void.
    ///
    /// # Errors
    /// [`Error::DeviceLost`].
    pub fn check(&self) -> Result<()> {
        let fault = self.fault.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        match fault.as_ref() {
            Some(reason) => Err(Error::DeviceLost { reason: reason.clone() }),
            None => Ok(()),
        }
    }

    /// A buffer of `bytes` (rounded up to 16), not yet checked for success: see [`Gpu::guarded`].
    pub(crate) fn buffer(&self, label: &str, bytes: u64, usage: wgpu::BufferUsages) -> wgpu::Buffer {
        self.device.create_buffer(&wgpu::BufferDescriptor {
            label: Some(label),
            size: bytes.max(16).next_multiple_of(16),
            usage,
            mapped_at_creation: false,
        })
    }

    /// Runs `build`, which allocates `what`, and turns running out of memory into an error.
    pub(crate) async fn guarded<T>(&self, what: &str, build: impl FnOnce() -> T) -> Result<T> {
        let scope = self.device.push_error_scope(wgpu::ErrorFilter::OutOfMemory);
        let built = build();
        match scope.pop().await {
            None => Ok(built),
            Some(error) => Err(Error::OutOfMemory { what: what.to_owned(), reason: error.to_string() }),
        }
    }

    /// Waits until everything that was submitted is done.
    pub(crate) async fn wait(&self) -> Result<()> {
        let (sender, receiver) = futures_channel::oneshot::channel();
        self.queue.on_submitted_work_done(move || {
            // The receiver is gone only when this future was dropped: nobody waits any more.
            let _ = sender.send(());
        });
        self.poll();
        // A callback that was dropped unheard says the same: there is nothing left to wait for.
        let _ = receiver.await;
        self.check()
    }

    /// Natively, callbacks are called while the device is polled; in the browser, by the browser.
    fn poll(&self) {
        if let Err(error) = self.device.poll(wgpu::PollType::wait_indefinitely()) {
            note(&self.fault, error.to_string());
        }
    }

    /// Maps `range` of a readback buffer and copies it out.
    ///
    /// # Errors
    /// [`Error::DeviceLost`] when the mapping fails, as it does after any fault of the device.
    pub(crate) async fn read(&self, buffer: &wgpu::Buffer, range: std::ops::Range<u64>) -> Result<Vec<u8>> {
        let (sender, receiver) = futures_channel::oneshot::channel();
        let slice = buffer.slice(range);
        slice.map_async(wgpu::MapMode::Read, move |result| {
            // The receiver is gone only when this future was dropped: nobody waits for the result.
            let _ = sender.send(result);
        });
        self.poll();
        let lost = |reason: String| Error::DeviceLost { reason };
        match receiver.await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => return self.check().and(Err(lost(error.to_string()))),
            Err(_) => return self.check().and(Err(lost("a buffer mapping never completed".to_owned()))),
        }
        let bytes = slice.get_mapped_range().map_err(|error| lost(error.to_string()))?.to_vec();
        buffer.unmap();
        self.check()?;
        Ok(bytes)
    }
}

impl std::fmt::Debug for Gpu {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Gpu").field("adapter", &self.description()).finish()
    }
}

/// Keeps the first fault: what follows is mostly its consequence.
fn note(fault: &Mutex<Option<String>>, reason: String) {
    fault.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).get_or_insert(reason);
}

async fn choose_adapter(instance: &wgpu::Instance, options: &GpuOptions) -> Result<wgpu::Adapter> {
    #[cfg(not(target_arch = "wasm32"))]
    if let Some(wanted) = &options.adapter {
        let adapters = instance.enumerate_adapters(wgpu::Backends::PRIMARY).await;
        let names: Vec<_> = adapters.iter().map(|adapter| adapter.get_info().name).collect();
        return adapters
            .into_iter()
            .find(|adapter| adapter.get_info().name.to_lowercase().contains(&wanted.to_lowercase()))
            .ok_or_else(|| Error::NoAdapter { reason: format!("none of {names:?} is called {wanted:?}") });
    }
    let _ = options;
    instance
        .request_adapter(&wgpu::RequestAdapterOptions {
            power_preference: wgpu::PowerPreference::HighPerformance,
            ..Default::default()
        })
        .await
        .map_err(|error| Error::NoAdapter { reason: error.to_string() })
}
