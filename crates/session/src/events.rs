//! What happens in an episode, as it happens.

use glowworm_agent::{GenerateRequest, Outcome, SqlCheck, ToolCall, ToolOutcome, Turn};

/// Something that happened. In the order of the protocol: for each turn `TurnBegins`, its text as it comes,
/// `TurnEnds`, then `ToolBegins` and `ToolEnds` for each call that is run; in the end `Ends`.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub enum Event<'a> {
    /// The model is about to read what is new and to write.
    TurnBegins {
        /// What it is asked.
        request: &'a GenerateRequest,
        /// Tokens in the context before that.
        context_tokens: u64,
    },
    /// The next piece of the turn's think block.
    Think(&'a str),
    /// The next piece of what comes after it: calls, or the final answer.
    Text(&'a str),
    /// A call is complete in what was written so far. The turn goes on, and nothing is checked or run yet.
    CallWritten {
        /// Its place among the calls of the turn, from 0.
        index: usize,
        /// The call.
        call: &'a ToolCall,
    },
    /// The turn is over and its calls are known; those that cannot be run have their answers.
    TurnEnds {
        /// The turn as the trace has it.
        turn: &'a Turn,
        /// Tokens of the context that did not have to be computed again.
        reused: u64,
    },
    /// A call is about to be run.
    ToolBegins {
        /// Its place among the calls of the turn, from 0.
        index: usize,
        /// The call.
        call: &'a ToolCall,
    },
    /// A call was run.
    ToolEnds {
        /// Its place among the calls of the turn, from 0.
        index: usize,
        /// The call.
        call: &'a ToolCall,
        /// Its result.
        outcome: &'a ToolOutcome,
    },
    /// The final answer was run to see whether it runs.
    Checked {
        /// The query.
        sql: &'a str,
        /// Whether it ran.
        check: &'a SqlCheck,
    },
    /// The episode is over.
    Ends {
        /// How it ended.
        outcome: &'a Outcome,
    },
}

/// Watches an episode, and can stop it.
pub trait Observer {
    /// Takes note of an event.
    fn event(&mut self, event: Event<'_>);

    /// Whether the episode is to be stopped. Asked after each group of tokens and each call; a call that is running
    /// is for the tools' own means to stop.
    fn cancelled(&mut self) -> bool {
        false
    }
}

/// Nobody watches.
impl Observer for () {
    fn event(&mut self, _event: Event<'_>) {}
}

impl<O: Observer> Observer for &mut O {
    fn event(&mut self, event: Event<'_>) {
        (**self).event(event);
    }

    fn cancelled(&mut self) -> bool {
        (**self).cancelled()
    }
}
