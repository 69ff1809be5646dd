//! Group-relative policy optimisation: the model answers each question several times, and what did better than its group
//! becomes likelier.
//!
//! ```text
//! curriculum ── questions ── subgraph ── databases ┐
//! gate, rollout ── a group of episodes a question ─┤
//! reward ── advantage ─────────────────────────────┴─ objective ── one step of AdamW
//! ```
//!
//! Each piece is a module of its own with its formula; [`trainer`] ties them together. The algorithm is the one that the
//! cards of the large models describe, as far as they say: DeepSeek's GRPO (Shao et al. 2024) without the division by the
//! standard deviation and with a constant in place of the length (Liu et al. 2025, "Dr. GRPO"), with a ratio for the whole
//! sequence (Zheng et al. 2025, "GSPO") and asymmetric clipping (Yu et al. 2025, "DAPO"). Where the cards leave
//! something open, the module says what was chosen.

pub mod advantage;
pub mod anchor;
pub mod curriculum;
pub mod gate;
pub mod objective;
pub mod reward;
pub mod rollout;
pub mod subgraph;
pub mod trainer;

pub use trainer::{GrpoTrainer, Report, Settings};
