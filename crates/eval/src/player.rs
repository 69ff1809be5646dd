//! Who plays the episodes.

use glowworm_session::{Decoder, LanguageModel, Sampling, TokenModel};

use crate::question::Question;

/// One episode's task, as far as the one who plays it may know.
#[derive(Debug, Clone, Copy)]
pub struct Assignment<'a> {
    /// The question. A model is only told of it through its prompt; a script may look.
    pub question: &'a Question,
    /// Which sample of the question, from 0.
    pub sample: u32,
    /// Seed of this episode's random choices.
    pub seed: u64,
}

/// A language model that can be told which episode is next.
pub trait Player: LanguageModel {
    /// Called before an episode.
    fn assign(&mut self, assignment: Assignment<'_>);
}

impl<D: Decoder> Player for TokenModel<D> {
    /// Each episode has its own seed, so that it goes the same way whichever episodes went before it.
    fn assign(&mut self, assignment: Assignment<'_>) {
        let sampling = Sampling { seed: assignment.seed, ..self.sampling() };
        self.set_sampling(sampling);
    }
}
