//! Whole episodes, played by a script. One binary, so that the crate is linked once.

// A panic is how a test reports; the lint's exemption for tests does not reach helper functions.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod properties;
mod real_episodes;
mod replay;
mod rules;
mod support;
