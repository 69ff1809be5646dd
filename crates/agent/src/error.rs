//! The one error type of this crate.

/// What can go wrong between a host and an episode, or in reading a trace.
///
/// A model's mistakes are not here: those are answered in the conversation. An error from a reply method
/// leaves the episode as it was, so a host may reply again, or give up with
/// [`Episode::fail`](crate::Episode::fail).
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A limit or another setting that no episode can run with.
    #[error("starting an episode: {what}")]
    Config {
        /// Which setting, and what it must be.
        what: String,
    },
    /// A reply to a step that the episode is not at.
    #[error("replying to an episode: it waits for {expected}, not for {got}; ask step() what it needs")]
    UnexpectedReply {
        /// The reply that the episode waits for.
        expected: &'static str,
        /// The reply that came.
        got: &'static str,
    },
    /// Not one outcome for each call.
    #[error(
        "replying with tool results: {got} came for {expected} calls; give one for each, in the same order"
    )]
    ResultCount {
        /// Number of calls asked for.
        expected: usize,
        /// Number of outcomes given.
        got: usize,
    },
    /// A completion that used more tokens than it was allowed: the context is no longer what the episode
    /// thinks it is.
    #[error(
        "replying with a completion: it counts {got} {what} tokens where at most {allowed} were agreed; \
         count with the tokenizer that the model runs on, and stop at max_tokens"
    )]
    TooManyTokens {
        /// `"appended"` or `"generated"`.
        what: &'static str,
        /// The number agreed on.
        allowed: u64,
        /// The number reported.
        got: u64,
    },
    /// A user template that cannot be filled.
    #[error("filling the user template: {what}")]
    Template {
        /// What is missing or unknown, and what to do.
        what: String,
    },
    /// Text that is not a trace.
    #[error("reading a trace: {what}")]
    NotATrace {
        /// What was found in place of a trace.
        what: String,
    },
    /// A trace of a version that this program does not know.
    #[error(
        "reading a trace: it is of version {found}, and this program reads version {known}; \
         use the program that wrote it (glowworm {glowworm})"
    )]
    TraceVersion {
        /// Version in the file.
        found: u64,
        /// Version that this crate writes and reads.
        known: u32,
        /// Version of the program that wrote it, or `unknown`.
        glowworm: String,
    },
    /// JSON that could not be read or written.
    #[error("{doing} a trace as JSON: {source}")]
    Json {
        /// `"reading"` or `"writing"`.
        doing: &'static str,
        /// What serde_json says.
        source: serde_json::Error,
    },
    /// A replay in which the episode asked for something else than it did when it was recorded.
    #[error("replaying a trace, turn {turn}: {what} differs.\nrecorded: {recorded}\nreplayed: {replayed}")]
    Divergence {
        /// Number of the turn, 1-based; 0 before the first.
        turn: u32,
        /// What differs.
        what: &'static str,
        /// What the trace says.
        recorded: String,
        /// What the episode did now.
        replayed: String,
    },
}
