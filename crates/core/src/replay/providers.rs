//! The speed and the results of a call's providers.

use std::time::Duration;

use serde_json::{Value, json};

use super::log::InputLog;
use super::rerun::rerun;
use crate::Timestamp;
use crate::conversation::cascade::{CascadeEffect, CascadeInput};
use crate::conversation::{Effect, Input, StrategyInput};

/// Duration of a character if nothing better is known: 15 characters a second.
const PER_CHARACTER: Duration = Duration::from_micros(66_625);

/// A response of the LLM.
pub(super) struct Completion {
    requested: Timestamp,
    turn: u32,
    /// The parts of the response, and how long after the request each came.
    parts: Vec<(Duration, CascadeInput)>,
    done: bool,
}

/// An utterance of the TTS.
struct Utterance {
    number: u32,
    text: String,
    requested: Timestamp,
    /// How long the first audio took.
    delay: Option<Duration>,
    audio: Duration,
}

/// A tool that has returned.
struct ToolRun {
    id: String,
    name: String,
    started: Timestamp,
    returned: Option<(Duration, Value)>,
}

/// The results of the providers in a call.
#[derive(Default)]
pub(super) struct Providers {
    completions: Vec<Completion>,
    utterances: Vec<Utterance>,
    tools: Vec<ToolRun>,
}

impl Providers {
    /// Collects those of the call with this log.
    pub(super) fn of(log: &InputLog) -> Self {
        let mut providers = Self::default();
        for (at, effect) in rerun(log).effects {
            providers.requested(at, effect);
        }
        for (at, input) in &log.inputs {
            providers.answered(*at, input);
        }
        providers
    }

    fn requested(&mut self, requested: Timestamp, effect: Effect) {
        match effect {
            Effect::Cascade(CascadeEffect::RequestCompletion { turn, .. }) => {
                self.completions.push(Completion { requested, turn, parts: Vec::new(), done: false });
            }
            Effect::Speak { utterance: number, text, .. } => {
                self.utterances.push(Utterance { number, text, requested, delay: None, audio: Duration::ZERO });
            }
            Effect::RunTool { call, .. } => {
                self.tools.push(ToolRun { id: call.id, name: call.name, started: requested, returned: None });
            }
            _ => {}
        }
    }

    fn answered(&mut self, at: Timestamp, input: &Input) {
        match input {
            Input::Strategy(StrategyInput::Cascade(part)) => self.completed(at, part),
            Input::SpeechSynthesized { utterance, audio, .. } if !audio.is_zero() => {
                if let Some(spoken) = self.utterances.iter_mut().find(|spoken| spoken.number == *utterance) {
                    spoken.delay.get_or_insert(at.since(spoken.requested));
                    spoken.audio = *audio;
                }
            }
            Input::ToolResult { id, result, .. } => {
                if let Some(run) = self.tools.iter_mut().find(|run| run.id == *id) {
                    run.returned = Some((at.since(run.started), result.clone()));
                }
            }
            _ => {}
        }
    }

    fn completed(&mut self, at: Timestamp, part: &CascadeInput) {
        let Some(turn) = turn_of(part) else { return };
        if let Some(completion) = self.completions.iter_mut().find(|completion| completion.turn == turn) {
            completion.done |= matches!(part, CascadeInput::LlmDone { .. });
            completion.parts.push((at.since(completion.requested), part.clone()));
        }
    }

    /// Returns the response to a request at this time: that to the request nearest in time which was allowed to finish.
    pub(super) fn completion(&self, at: Timestamp, turn: u32) -> Vec<(Duration, CascadeInput)> {
        let distance = |other: Timestamp| other.since(at).max(at.since(other));
        let nearest = self.completions.iter().min_by_key(|it| (!it.done, it.parts.is_empty(), distance(it.requested)));
        let mut parts = nearest.map_or_else(Vec::new, |completion| completion.parts.clone());
        for (_, part) in &mut parts {
            set_turn(part, turn);
        }
        if nearest.is_none_or(|completion| !completion.done) {
            let last = parts.last().map_or(Duration::ZERO, |(delay, _)| *delay);
            parts.push((last, CascadeInput::LlmDone { turn }));
        }
        parts
    }

    /// Returns how long the audio of a text takes to begin, and its length.
    pub(super) fn speech(&self, text: &str) -> (Duration, Duration) {
        let known = self.utterances.iter().find(|spoken| spoken.text == text && !spoken.audio.is_zero());
        let mut delays: Vec<Duration> = self.utterances.iter().filter_map(|spoken| spoken.delay).collect();
        delays.sort_unstable();
        let usual = delays.get(delays.len() / 2).copied().unwrap_or_default();
        let characters = u32::try_from(text.chars().count()).unwrap_or(u32::MAX);
        known.map_or((usual, PER_CHARACTER.saturating_mul(characters)), |spoken| {
            (spoken.delay.unwrap_or(usual), spoken.audio)
        })
    }

    /// Returns how long a tool takes, and its result.
    pub(super) fn tool(&self, name: &str) -> (Duration, Value) {
        let runs = self.tools.iter().filter(|run| run.name == name);
        runs.filter_map(|run| run.returned.clone()).next_back().unwrap_or((Duration::ZERO, json!({})))
    }
}

fn turn_of(part: &CascadeInput) -> Option<u32> {
    match part {
        CascadeInput::LlmText { turn, .. }
        | CascadeInput::LlmToolCall { turn, .. }
        | CascadeInput::LlmDone { turn }
        | CascadeInput::LlmFailed { turn, .. } => Some(*turn),
        _ => None,
    }
}

fn set_turn(part: &mut CascadeInput, to: u32) {
    match part {
        CascadeInput::LlmText { turn, .. }
        | CascadeInput::LlmToolCall { turn, .. }
        | CascadeInput::LlmDone { turn }
        | CascadeInput::LlmFailed { turn, .. } => *turn = to,
        _ => {}
    }
}
