//! What can go wrong between a model file and a token.

/// An error of the engine. Each message says what was being done, to what, and what can be done about it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The machine or the browser offers no adapter.
    #[error(
        "looking for a GPU: {reason}. Use the CPU device, or install a Vulkan driver (Mesa's lavapipe runs on any processor)"
    )]
    NoAdapter {
        /// What the platform said.
        reason: String,
    },
    /// The adapter lacks something that every kernel needs.
    #[error(
        "the GPU {adapter} offers {offered} of {limit}, the kernels need {needed}; use another GPU or the CPU device"
    )]
    Limit {
        /// Name of the adapter.
        adapter: String,
        /// Name of the limit.
        limit: &'static str,
        /// What the adapter offers.
        offered: u64,
        /// What is needed.
        needed: u64,
    },
    /// The device could not be opened.
    #[error("opening the GPU {adapter}: {reason}. Close other programs that use it and try again")]
    Device {
        /// Name of the adapter.
        adapter: String,
        /// What the platform said.
        reason: String,
    },
    /// The device went away, or a command failed on it. Nothing that it computed after this is used.
    #[error("the GPU stopped working: {reason}. The text so far is kept; load the model again to go on")]
    DeviceLost {
        /// What the platform said.
        reason: String,
    },
    /// An adapter computes something else than the processor does.
    #[error(
        "the GPU {adapter} computes wrong numbers: {kernel} over {format} gave {found} for {expected}. Update its driver, use another GPU, or the CPU device"
    )]
    WrongNumbers {
        /// Name of the adapter.
        adapter: String,
        /// Name of the kernel.
        kernel: &'static str,
        /// Name of the weight format.
        format: &'static str,
        /// What it had to give.
        expected: f32,
        /// What it gave.
        found: f32,
    },
    /// GPU memory ran out while the model was loaded.
    #[error("allocating GPU memory for {what} failed: {reason}. Use a smaller model or a smaller context")]
    OutOfMemory {
        /// What the memory was for.
        what: String,
        /// What the platform said.
        reason: String,
    },
    /// Reading the model failed.
    #[error("reading {length} bytes at {offset} of {source_name}: {reason}")]
    Source {
        /// Name of the source.
        source_name: String,
        /// Where in the source, in bytes.
        offset: u64,
        /// How many bytes were wanted.
        length: u64,
        /// What went wrong.
        reason: String,
    },
    /// The file's header or a tensor in it is not as it must be.
    #[error(transparent)]
    Gguf(#[from] glowworm_gguf::Error),
    /// The model's configuration or its list of tensors is not as it must be.
    #[error(transparent)]
    Model(#[from] glowworm_model::Error),
    /// A model whose shape the kernels do not cover.
    #[error("{what} is {value}, and the shaders need {needed}; run this model on the CPU device")]
    Shape {
        /// Which number.
        what: &'static str,
        /// Its value.
        value: usize,
        /// What it must be.
        needed: &'static str,
    },
    /// More tokens than the context holds.
    #[error(
        "the context holds {capacity} tokens; {used} are used and {wanted} more were to be added. Load the model with a larger context"
    )]
    ContextFull {
        /// Tokens that the context holds.
        capacity: usize,
        /// Tokens in it.
        used: usize,
        /// Tokens to be added.
        wanted: usize,
    },
    /// A token id outside the vocabulary.
    #[error("token id {token} is outside the model's vocabulary of {vocabulary}")]
    Token {
        /// The id.
        token: u32,
        /// Rows of the embedding.
        vocabulary: usize,
    },
    /// The logits are infinite or no numbers at all.
    #[error(
        "the model gives no numbers after token {position}: its file is damaged, or the adapter {adapter} computes wrongly. \
         Get the file anew, or choose another adapter"
    )]
    NoNumbers {
        /// Tokens that had been read.
        position: usize,
        /// The adapter.
        adapter: String,
    },
    /// A call that makes no sense in the present state.
    #[error("{0}")]
    Usage(&'static str),
}

/// A result of the engine.
pub type Result<T, E = Error> = std::result::Result<T, E>;
