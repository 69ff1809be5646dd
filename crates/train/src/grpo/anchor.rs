//! The reference that the policy is held near, and when it is anchored anew.

use crate::error::Result;
use crate::training::trainer::CHUNK;
use glowworm_model::reference::Model;

/// A frozen copy of the policy. A fixed one would hold a long run back at its start; so every so many steps the policy
/// itself becomes the reference.
pub struct Anchor {
    model: Model,
    every: u64,
}

impl Anchor {
    /// Anchors at a policy, to be anchored anew every `every` steps; 0 for never.
    ///
    /// # Errors
    /// When the device cannot be read.
    pub fn new(policy: &Model, every: u64) -> Result<Self> {
        Ok(Self { model: frozen(policy)?, every })
    }

    /// The reference.
    pub fn model(&self) -> &Model {
        &self.model
    }

    /// Anchors anew, if the number of steps done asks for it; gives back whether it did.
    ///
    /// # Errors
    /// When the device cannot be read.
    pub fn after(&mut self, steps: u64, policy: &Model) -> Result<bool> {
        let due = is_due(steps, self.every);
        if due {
            self.model = frozen(policy)?;
        }
        Ok(due)
    }
}

fn is_due(steps: u64, every: u64) -> bool {
    every > 0 && steps > 0 && steps.is_multiple_of(every)
}

/// A copy without gradients, on the same device.
fn frozen(policy: &Model) -> Result<Model> {
    let device = policy.device().without_autodiff();
    let mut weights = policy.weights()?;
    Ok(Model::from_source(policy.config().clone(), &mut weights, &device)?.with_chunk(CHUNK))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn anchors_every_so_many_steps() {
        let due: Vec<u64> = (0..=9).filter(|s| is_due(*s, 3)).collect();
        assert_eq!(due, [3, 6, 9]);
        assert!((0..9).all(|s| !is_due(s, 0)));
    }
}
