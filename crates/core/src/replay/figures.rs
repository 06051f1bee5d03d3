//! Counts and times of a conversation's turns.

use std::time::Duration;

use crate::Timestamp;
use crate::conversation::{Decision, DecisionKind, Effect, Input, TurnTimes};

/// A caller who speaks this soon after the end of their turn continues it.
const RESUMES_WITHIN: Duration = Duration::from_millis(1_500);

/// Counts and times of one or several conversations.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Figures {
    /// The caller's turns to which some of a response was heard.
    pub turns: u32,
    /// Turns after which the caller spoke again within 1.5 s: most were not over.
    pub early: u32,
    /// Those of them in which the caller heard the agent before continuing.
    pub heard_early: u32,
    /// Interruptions of the agent.
    pub interruptions: u32,
    /// Noises and the like for which the agent paused.
    pub false_interruptions: u32,
    /// Speech over the agent that needed no response.
    pub backchannels: u32,
    /// Requests to the LLM before the turn was over.
    pub speculations: u32,
    /// Those of them that were discarded.
    pub discarded: u32,
    /// How long the caller waited for each response, in milliseconds.
    pub response_ms: Vec<i64>,
}

impl Figures {
    /// Adds the figures of another conversation.
    pub fn add(&mut self, other: &Self) {
        self.turns += other.turns;
        self.early += other.early;
        self.heard_early += other.heard_early;
        self.interruptions += other.interruptions;
        self.false_interruptions += other.false_interruptions;
        self.backchannels += other.backchannels;
        self.speculations += other.speculations;
        self.discarded += other.discarded;
        self.response_ms.extend(&other.response_ms);
    }

    /// Returns the response time that `percent` of the responses do not exceed, by the nearest-rank method; `None` without responses.
    #[must_use]
    pub fn response_percentile(&self, percent: usize) -> Option<i64> {
        let mut sorted = self.response_ms.clone();
        sorted.sort_unstable();
        sorted.get((sorted.len() * percent).div_ceil(100).saturating_sub(1)).copied()
    }
}

/// Collects figures during a conversation.
#[derive(Default)]
pub(super) struct Observer {
    decisions: Vec<Decision>,
    speech_starts: Vec<Timestamp>,
    /// When an utterance was first heard.
    heard: Vec<(u32, Timestamp)>,
    responses: Vec<TurnTimes>,
}

impl Observer {
    pub(super) fn input(&mut self, now: Timestamp, input: &Input) {
        match input {
            Input::SpeechStarted => self.speech_starts.push(now),
            Input::PlaybackProgress { utterance, .. }
                if self.heard.last().is_none_or(|(last, _)| last != utterance) =>
            {
                self.heard.push((*utterance, now));
            }
            _ => {}
        }
    }

    pub(super) fn effect(&mut self, effect: &Effect) {
        match effect {
            Effect::Decision(decision) => self.decisions.push((**decision).clone()),
            Effect::Turn(times) => self.responses.push(*times),
            _ => {}
        }
    }

    /// Returns the decisions and figures. `turns` is the conversation's own count.
    pub(super) fn finish(self, turns: u32) -> (Vec<Decision>, Figures) {
        let count = |kind| u32::try_from(self.of(kind).count()).unwrap_or(u32::MAX);
        let mut figures = Figures {
            turns,
            interruptions: count(DecisionKind::Interruption),
            false_interruptions: count(DecisionKind::FalseInterruption),
            backchannels: count(DecisionKind::Backchannel),
            speculations: count(DecisionKind::Speculation),
            discarded: count(DecisionKind::SpeculationDiscarded),
            response_ms: self.responses.iter().map(|times| times.stages(true).latency_ms()).collect(),
            ..Figures::default()
        };
        for ended in self.of(DecisionKind::TurnEnded).map(|decision| decision.at) {
            let resumed = |at: &&Timestamp| **at > ended && **at <= ended + RESUMES_WITHIN;
            let Some(resumed) = self.speech_starts.iter().find(resumed) else { continue };
            figures.early += 1;
            figures.heard_early += u32::from(self.heard.iter().any(|(_, at)| *at > ended && at < resumed));
        }
        (self.decisions, figures)
    }

    fn of(&self, kind: DecisionKind) -> impl Iterator<Item = &Decision> {
        self.decisions.iter().filter(move |decision| decision.kind == kind)
    }
}
