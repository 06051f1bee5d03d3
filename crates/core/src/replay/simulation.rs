//! Simulates a conversation with other settings.
//!
//! The caller's inputs stay as they were: no guess is made about callers who would have waited or spoken up.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use super::figures::{Figures, Observer};
use super::log::InputLog;
use super::providers::Providers;
use crate::Timestamp;
use crate::agent::AgentConfig;
use crate::conversation::cascade::{CascadeEffect, CascadeInput};
use crate::conversation::{Conversation, Decision, Effect, Failure, FailureCode, Input, SpeechSource, StrategyInput};

/// How much audio is played at a time.
const FRAME: Duration = Duration::from_millis(20);
/// The maximum number of steps; no conversation needs more.
const MAX_STEPS: usize = 10_000_000;

/// A queued utterance.
struct Queued {
    utterance: u32,
    audio: Duration,
    played: Duration,
    /// When its audio can be played.
    ready: Timestamp,
}

/// A conversation with providers and playback at their original speed.
struct Simulation {
    conversation: Conversation,
    providers: Providers,
    now: Timestamp,
    /// Inputs to come, in order; the number separates inputs at the same time.
    pending: BTreeMap<(Timestamp, u64), Input>,
    scheduled: u64,
    line: VecDeque<Queued>,
    paused: bool,
    next_frame: Timestamp,
    /// When the audio of a text that is synthesized in advance will be ready.
    prepared: Option<(u32, String, Timestamp)>,
    observer: Observer,
    ended: bool,
}

/// Runs a conversation again with an agent of other settings.
#[must_use]
pub fn simulate(log: &InputLog, agent: &AgentConfig) -> (Vec<Decision>, Figures) {
    let began = Timestamp::from_micros(0);
    let mut simulation = Simulation {
        conversation: log.conversation(agent),
        providers: Providers::of(log),
        now: began,
        pending: BTreeMap::new(),
        scheduled: 0,
        line: VecDeque::new(),
        paused: false,
        next_frame: began + FRAME,
        prepared: None,
        observer: Observer::default(),
        ended: false,
    };
    for (at, input) in log.inputs.iter().filter(|(_, input)| is_of_caller(input)) {
        simulation.schedule(*at, input.clone());
    }
    simulation.run(log.end());
    simulation.observer.finish(simulation.conversation.turns())
}

/// Returns whether an input does not depend on the agent.
fn is_of_caller(input: &Input) -> bool {
    match input {
        Input::MediaStarted
        | Input::SpeechPending { .. }
        | Input::SpeechStarted
        | Input::SpeechStopped { .. }
        | Input::Dtmf { .. }
        | Input::Say { .. }
        | Input::DtmfSendStarted
        | Input::DtmfSent
        | Input::TransferStarted
        | Input::TransferFailed
        | Input::MachineDetected { .. }
        | Input::HumanDetected
        | Input::HangUpRequested => true,
        Input::Strategy(StrategyInput::Cascade(input)) => matches!(
            input,
            CascadeInput::TranscriptPartial { .. }
                | CascadeInput::TranscriptFinal { .. }
                | CascadeInput::EndOfTurn
                | CascadeInput::SttFailed(_)
        ),
        _ => false,
    }
}

impl Simulation {
    fn schedule(&mut self, at: Timestamp, input: Input) {
        self.scheduled += 1;
        self.pending.insert((at.max(self.now), self.scheduled), input);
    }

    fn run(&mut self, end: Timestamp) {
        for _ in 0..MAX_STEPS {
            let deadline = self.conversation.next_deadline().map(|at| at.max(self.now));
            let pending = self.pending.first_key_value().map(|((at, _), _)| *at);
            let frame = Some(self.next_frame).filter(|_| !self.line.is_empty() && !self.paused);
            let Some(next) = [deadline, pending, frame].into_iter().flatten().min().filter(|at| *at <= end) else {
                break;
            };
            self.now = next;
            if pending == Some(next)
                && let Some((_, input)) = self.pending.pop_first()
            {
                self.handle(input);
            } else if frame == Some(next) {
                self.play_frame();
            } else {
                self.handle(Input::Tick);
                if self.conversation.next_deadline().is_some_and(|at| at <= next) {
                    break; // What is due is done; a deadline that stays would never let time pass.
                }
            }
            if self.ended {
                return;
            }
        }
        self.now = self.now.max(end);
        for effect in self.conversation.finish(self.now) {
            self.observer.effect(&effect);
        }
    }

    fn handle(&mut self, input: Input) {
        self.observer.input(self.now, &input);
        for effect in self.conversation.handle(self.now, input) {
            self.observer.effect(&effect);
            self.perform(effect);
        }
    }

    fn perform(&mut self, effect: Effect) {
        match effect {
            Effect::Speak { utterance, text, source, .. } => self.speak(utterance, &text, source),
            Effect::ClearPlayback => {
                self.line.clear();
                self.paused = false;
            }
            Effect::PausePlayback => self.paused = true,
            Effect::ResumePlayback => {
                self.paused = false;
                self.next_frame = self.next_frame.max(self.now);
            }
            Effect::RunTool { turn, call } => {
                let (delay, result) = self.providers.tool(&call.name);
                self.schedule(self.now + delay, Input::ToolResult { turn, id: call.id, result });
            }
            Effect::Cascade(CascadeEffect::RequestCompletion { turn, .. }) => {
                for (delay, part) in self.providers.completion(self.now, turn) {
                    self.schedule(self.now + delay, part.into());
                }
            }
            Effect::Cascade(CascadeEffect::PrepareSpeech { turn, text }) => {
                let (delay, _) = self.providers.speech(&text);
                self.prepared = Some((turn, text, self.now + delay));
            }
            Effect::Cascade(CascadeEffect::CancelCompletion { turn }) => self.cancel(turn),
            Effect::HangUp { .. } => self.ended = true,
            Effect::Transfer { .. }
            | Effect::NotTransferred { .. }
            | Effect::Transcript(_)
            | Effect::Turn(_)
            | Effect::Decision(_)
            | Effect::Realtime(_) => {}
        }
    }

    fn cancel(&mut self, cancelled: u32) {
        self.pending.retain(|_, input| {
            !matches!(input, Input::Strategy(StrategyInput::Cascade(
                CascadeInput::LlmText { turn, .. } | CascadeInput::LlmToolCall { turn, .. } | CascadeInput::LlmDone { turn }
                | CascadeInput::LlmFailed { turn, .. })) if *turn == cancelled)
        });
        self.prepared.take_if(|(turn, ..)| *turn == cancelled);
    }

    fn speak(&mut self, utterance: u32, text: &str, source: SpeechSource) {
        let (delay, audio) = self.providers.speech(text);
        let in_advance = self.prepared.take_if(|(_, prepared, _)| prepared == text).map(|(.., at)| at);
        let cached = source == SpeechSource::Cached;
        let ready = in_advance.unwrap_or(if cached { self.now } else { self.now + delay }).max(self.now);
        if audio.is_zero() {
            let failure = Failure::new(FailureCode::Pipeline, "There are no words.");
            return self.schedule(self.now, Input::SynthesisFailed { utterance, failure });
        }
        let queued = Queued { utterance, audio, played: Duration::ZERO, ready };
        if cached {
            self.line.push_front(queued);
        } else {
            self.line.push_back(queued);
        }
        self.next_frame = self.next_frame.max(self.now);
        self.schedule(ready, Input::SpeechSynthesized { utterance, audio, words: Vec::new(), complete: true });
    }

    fn play_frame(&mut self) {
        self.next_frame = self.now + FRAME;
        let Some(playing) = self.line.front_mut() else { return };
        if playing.ready > self.now {
            self.next_frame = playing.ready;
            return;
        }
        playing.played = (playing.played + FRAME).min(playing.audio);
        let (utterance, audio) = (playing.utterance, playing.played);
        let finished = playing.played == playing.audio;
        if finished {
            self.line.pop_front();
        }
        self.handle(Input::PlaybackProgress { utterance, audio });
        if finished {
            self.handle(Input::PlaybackFinished { utterance });
        }
    }
}
