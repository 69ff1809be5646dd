//! What a share is worth: intervals, paired tests, and the estimators over several samples.

mod bootstrap;
mod mcnemar;
mod samples;
mod wilson;

pub use bootstrap::{Paired, bootstrap};
pub use mcnemar::{Discordant, mcnemar};
pub use samples::{majority, mean, median, pass_at_k};
pub use wilson::{Share, wilson};

/// The standard normal quantile of a two-sided 95% interval.
pub const Z95: f64 = 1.959_963_984_540_054;
