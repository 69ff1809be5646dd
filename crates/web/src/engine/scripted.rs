//! A model that says what it is told: for tests of what happens around an episode.

use std::convert::Infallible;
use std::ops::ControlFlow;

use glowworm_agent::{GenerateRequest, Segment, Stop, TokenCounts};
use glowworm_session::{Generated, LanguageModel};

/// Gives one reply a turn, and empty ones when there are no more. A byte counts as a token.
pub(super) struct Scripted {
    replies: std::vec::IntoIter<String>,
}

impl Scripted {
    pub(super) fn new(replies: Vec<String>) -> Self {
        Self { replies: replies.into_iter() }
    }
}

fn length(segments: &[Segment]) -> u64 {
    let texts = segments.iter().map(|segment| match segment {
        Segment::Markup(text) | Segment::Text(text) => text.len() as u64,
    });
    texts.sum()
}

impl LanguageModel for Scripted {
    type Error = Infallible;

    fn begin(&mut self) {}

    fn measure(&mut self, append: &[Segment]) -> Result<u64, Infallible> {
        Ok(length(append))
    }

    async fn generate(
        &mut self,
        request: &GenerateRequest,
        on_text: &mut dyn FnMut(&str) -> ControlFlow<()>,
    ) -> Result<Generated, Infallible> {
        let text = self.replies.next().unwrap_or_default();
        let stop = match on_text(&text) {
            ControlFlow::Continue(()) => Stop::EndOfTurn,
            ControlFlow::Break(()) => Stop::Cancelled,
        };
        let tokens = TokenCounts { appended: length(&request.append), generated: text.len() as u64 };
        Ok(Generated { text, tokens, stop, reused: 0 })
    }
}
