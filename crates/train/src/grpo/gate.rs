//! The submit gate: for a while `submit_sql` is refused until the same query was run and worked.
//!
//! It teaches to look at a result before submitting it. The cards say that it decays from 1.0 to 0; here that is the share
//! of episodes that are played behind it, which falls linearly.

use crate::rng::Rng;
use glowworm_agent::SubmitGate;

/// The share of gated episodes in a step: 1 in step 0, 0 from `steps` on.
pub fn strength(step: u64, steps: u64) -> f64 {
    match steps {
        0 => 0.0,
        _ => (1.0 - step as f64 / steps as f64).max(0.0),
    }
}

/// Draws the gate of an episode.
pub fn draw(strength: f64, rng: &mut Rng) -> SubmitGate {
    if rng.chance(strength) { SubmitGate::AfterSameQuery } else { SubmitGate::Open }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn falls_linearly_to_nothing() {
        assert_eq!(
            (strength(0, 40), strength(10, 40), strength(40, 40), strength(90, 40)),
            (1.0, 0.75, 0.0, 0.0)
        );
        assert_eq!(strength(0, 0), 0.0);
    }

    #[test]
    fn at_the_ends_all_episodes_have_the_same_gate() {
        let mut rng = Rng::new(1);
        assert!((0..100).all(|_| draw(1.0, &mut rng) == SubmitGate::AfterSameQuery));
        assert!((0..100).all(|_| draw(0.0, &mut rng) == SubmitGate::Open));
        let gated = (0..1000).filter(|_| draw(0.25, &mut rng) == SubmitGate::AfterSameQuery).count();
        assert!((200..300).contains(&gated));
    }
}
