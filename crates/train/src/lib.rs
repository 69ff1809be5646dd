//! The small model's training data: generated databases, questions in many phrasings, ideal episodes, a tokenizer.
//!
//! A sample is drawn from a seed in four steps: [`schema`] makes a database out of a [`lexicon`] and really fills it in
//! SQLite, [`question`] asks something about it with gold SQL, [`oracle`] plays the episode of a [`policy`] that sees only
//! what the tools return, and [`tokenizer`] turns it into ids with a mark on what is to be learnt. [`machine`] drives the
//! agent and the tools that the program uses, so the bytes of training are those of inference.
//!
//! With the feature `trainer` the crate also trains: [`training`] on shards, then [`grpo`] on rewards.

pub mod align;
pub mod condition;
pub mod error;
pub mod frames;
#[cfg(feature = "trainer")]
pub mod grpo;
pub mod judge;
pub mod lexicon;
pub mod machine;
pub mod oracle;
pub mod policy;
pub mod question;
pub mod rng;
pub mod sample;
pub mod schema;
pub mod serve;
pub mod shards;
pub mod text;
pub mod tokenizer;
pub mod tools;
#[cfg(feature = "trainer")]
pub mod training;
pub mod wording;
