//! The turn engine.

mod effect;
mod history;
mod input;
mod timings;
mod transcript;

pub use effect::{Effect, End, TurnTimes};
pub use history::{Message, Role};
pub use input::{Failure, FailureCode, Input, SpokenWord, ToolCall};
pub use timings::Timings;
pub use transcript::{Entry, Speaker};

use crate::Timestamp;
use crate::agent::{AgentConfig, GreetingMode};

/// A conversation: one input, then perform every effect in order, then wait for the next deadline and send `Tick`.
#[derive(Debug)]
pub struct Conversation {
    agent: AgentConfig,
    history: history::History,
    utterance: u32,
    turn: u32,
    answer: crate::private::Private<String>,
    ends: Timestamp,
    ended: bool,
}

impl Conversation {
    /// A conversation of this agent, its texts filled in.
    #[must_use]
    pub fn new(agent: &AgentConfig, now: Timestamp) -> Self {
        Self {
            agent: agent.clone(),
            history: history::History::new(&agent.instructions),
            utterance: 0,
            turn: 0,
            answer: crate::private::Private::default(),
            ends: now + std::time::Duration::from_secs(agent.limits.max_duration_seconds.into()),
            ended: false,
        }
    }

    /// What will be said first and can be made while the phone rings.
    #[must_use]
    pub fn opening(agent: &AgentConfig) -> Option<String> {
        let text = agent.greeting.text.trim();
        (agent.greeting.mode == GreetingMode::Speak && !text.is_empty()).then(|| text.to_owned())
    }

    /// Moves the conversation on.
    pub fn handle(&mut self, now: Timestamp, input: Input) -> Vec<Effect> {
        if self.ended {
            return Vec::new();
        }
        match input {
            Input::MediaStarted => Self::opening(&self.agent).map_or_else(Vec::new, |text| vec![self.speak(text)]),
            Input::Final { text, .. } if !text.trim().is_empty() => {
                self.history.caller_said(text.trim());
                self.turn += 1;
                let entry = Entry { speaker: Speaker::Caller, text, start: now, end: now, interrupted: false };
                let ask = Effect::Ask { turn: self.turn, messages: self.history.messages(), speculative: false };
                vec![Effect::Transcript(entry), ask]
            }
            Input::ModelDelta { turn, text } if turn == self.turn => {
                self.answer = (self.answer.reveal().clone() + &text).into();
                Vec::new()
            }
            Input::ModelDone { turn } if turn == self.turn => {
                let text = std::mem::take(&mut self.answer).into_inner();
                vec![self.speak(text)]
            }
            Input::HangUpRequested => self.end(End::Requested),
            Input::Tick if now >= self.ends => self.end(End::MaxDuration),
            _ => Vec::new(),
        }
    }

    /// When `handle(_, Tick)` is next worth calling; nothing once it is over.
    #[must_use]
    pub fn next_deadline(&self) -> Option<Timestamp> {
        (!self.ended).then_some(self.ends)
    }

    /// The line is gone: gives the transcript of what was heard and is not yet told.
    pub fn finish(&mut self, now: Timestamp) -> Vec<Effect> {
        self.handle(now, Input::HangUpRequested)
    }

    /// The caller's turns that the agent answered.
    #[must_use]
    pub fn turns(&self) -> u32 {
        self.turn
    }

    /// What was said and heard so far, the instructions in front.
    #[must_use]
    pub fn history(&self) -> Vec<Message> {
        self.history.messages()
    }

    fn speak(&mut self, text: String) -> Effect {
        self.utterance += 1;
        Effect::Speak { utterance: self.utterance, text, last_of_turn: true }
    }

    fn end(&mut self, reason: End) -> Vec<Effect> {
        self.ended = true;
        vec![Effect::ClearPlayback, Effect::HangUp { reason }]
    }
}
