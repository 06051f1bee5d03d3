//! One conversation: who speaks when, and what about.
//!
//! [`Conversation`] is a machine without clock and without sockets. Give it one [`Input`], perform every [`Effect`] in order, wait
//! for the next input or for [`Conversation::next_deadline`], whichever is first; at the deadline send [`Input::Tick`]. After
//! [`Effect::HangUp`] it is over and says nothing more.
//!
//! Its `phase` says where it stands: connecting, greeting, conversing, transferring, voicemail, closing, ended. What every call has is
//! here and in `dialogue`: the greeting, keys (`dtmf`), `silence`, what the API and tools ask for (`control`), the answering machine
//! (`voicemail`), limits and goodbye (`closing`), the `playback` ledger with what was `heard`, `transcript` and `history`. Who has the
//! agent speak, and when a turn is over, is a [`strategy`]: [`cascade`] with STT, LLM and TTS, or [`realtime`] with a speech-to-speech
//! model. Both have the `tools` of the model run and keep the `response_deadline`.
//!
//! After each input, rules are applied in order until none applies any more. A rule looks at the state and the time only; when time
//! alone makes one apply is in [`Conversation::next_deadline`].

pub mod cascade;
mod closing;
mod control;
mod decision;
mod dialogue;
mod dtmf;
mod effect;
mod failure;
mod greeting;
mod heard;
mod history;
mod input;
mod phase;
mod phrases;
mod playback;
pub mod realtime;
mod response_deadline;
mod silence;
mod strategy;
mod timings;
mod tool_call;
mod tools;
mod transcript;
mod voicemail;

#[cfg(test)]
mod tests;

use std::collections::HashSet;
use std::fmt;

pub use decision::{Decision, DecisionKind};
pub use effect::{Effect, End, ResponseStages, SpeechSource, TurnTimes};
pub use failure::{Failure, FailureCode};
pub use heard::SpokenWord;
pub use history::{Message, Role};
pub use input::{Input, MachineEvidence, StrategyInput};
pub use timings::Timings;
pub use tool_call::ToolCall;
pub use transcript::{Entry, Speaker};

use self::cascade::Cascade;
use self::dialogue::Dialogue;
use self::phase::Phase;
use self::realtime::Realtime;
use self::silence::SilenceTimer;
use self::strategy::Strategy;
use crate::Timestamp;
use crate::agent::{AgentConfig, GreetingMode};
use crate::language::Language;

/// How many rules one input may make apply. No story needs more than a few; one that needs this many would never end.
const MAX_RULES: usize = 1_000;

/// One conversation. `Debug` shows where it stands, not what was said.
pub struct Conversation {
    dialogue: Dialogue,
    strategy: Box<dyn Strategy>,
}

impl Conversation {
    /// A conversation by STT, LLM and TTS, held by this agent, whose texts are already filled in.
    #[must_use]
    pub fn cascade(agent: &AgentConfig, now: Timestamp) -> Self {
        Self::new(agent, now, Box::new(Cascade::default()))
    }

    /// A conversation held by a speech-to-speech model. Where the agent speaks first, the model has been asked to already, with
    /// [`realtime::greeting`] as request 1.
    #[must_use]
    pub fn realtime(agent: &AgentConfig, now: Timestamp) -> Self {
        Self::new(agent, now, Box::new(Realtime::new(agent, now)))
    }

    fn new(agent: &AgentConfig, now: Timestamp, strategy: Box<dyn Strategy>) -> Self {
        Self { dialogue: Dialogue::new(agent, Timings::default(), now), strategy }
    }

    /// What a cascade says first: it can be synthesized while the phone rings.
    #[must_use]
    pub fn greeting(agent: &AgentConfig) -> Option<String> {
        let text = agent.greeting.text.trim();
        (agent.greeting.mode == GreetingMode::Speak && !text.is_empty()).then(|| text.to_owned())
    }

    /// Texts that may be said in any conversation of this agent, those first that are needed most when its voice is late or
    /// fails. Their audio can be made in advance and cached.
    #[must_use]
    pub fn phrases(agent: &AgentConfig) -> Vec<String> {
        let own = agent.tools.iter().filter_map(|tool| tool.filler.as_deref()).map(|text| text.trim().to_owned());
        let language = Language::of(&agent.language);
        let urgent = phrases::urgent(language).map(str::to_owned);
        let all = urgent.chain(own).chain(phrases::others(language).map(str::to_owned));
        let mut known = HashSet::new();
        all.filter(|text| !text.is_empty() && known.insert(text.clone())).collect()
    }

    /// Moves the conversation on. Nothing is done here: perform the effects, in order.
    pub fn handle(&mut self, now: Timestamp, input: Input) -> Vec<Effect> {
        if self.dialogue.phase.is_ended() {
            return Vec::new();
        }
        self.dialogue.now = self.dialogue.now.max(now);
        self.apply(input);
        self.settle();
        self.strategy.settled(&mut self.dialogue);
        self.dialogue.take_effects()
    }

    /// When `handle(_, Tick)` is next worth calling; nothing once the conversation is over.
    #[must_use]
    pub fn next_deadline(&self) -> Option<Timestamp> {
        if self.dialogue.phase.is_ended() {
            return None;
        }
        let in_talk = [
            self.dialogue.transcript.due_at(),
            self.beep_at(),
            self.closing_at(),
            self.greet_at(),
            self.hang_up_on_silence_at(),
            self.reprompt_at(),
            self.strategy.next_deadline(&self.dialogue),
        ];
        let in_talk = in_talk.into_iter().filter(|_| self.dialogue.media.is_some());
        [self.maximum_at()].into_iter().chain(in_talk).flatten().min()
    }

    /// The line is gone: gives what belongs into the transcript and is not yet there. The reason is yours to know.
    pub fn finish(&mut self, now: Timestamp) -> Vec<Effect> {
        if !self.dialogue.phase.is_ended() {
            self.dialogue.now = self.dialogue.now.max(now);
            self.strategy.finish(&mut self.dialogue);
            self.dialogue.flush();
        }
        self.dialogue.take_effects()
    }

    /// The caller's turns that the agent answered: some of the answer was heard.
    #[must_use]
    pub fn turns(&self) -> u32 {
        self.dialogue.turns
    }

    /// What was said and heard so far, the instructions in front.
    #[must_use]
    pub fn history(&self) -> Vec<Message> {
        self.dialogue.transcript.history.messages()
    }

    /// The same, and what the caller is about to have heard: what another session is to know.
    #[must_use]
    pub fn history_with_queued(&self) -> Vec<Message> {
        let mut history = self.dialogue.transcript.history.clone();
        for text in self.dialogue.playback.remembered() {
            history.agent_was_heard(text, false);
        }
        history.messages()
    }

    /// What the caller said since then another session is to hear before anything else.
    #[must_use]
    pub fn unheard_since(&self) -> Timestamp {
        self.strategy.unheard_since(&self.dialogue)
    }

    /// Whether the carrier is asked to transfer the caller.
    #[must_use]
    pub fn is_transferring(&self) -> bool {
        self.dialogue.phase.is_transferring()
    }

    /// Whether the model is to hear the caller. It does not while nothing that the caller says may change anything: a model cannot
    /// be told not to listen to what it has heard.
    #[must_use]
    pub fn listens(&self) -> bool {
        self.strategy.listens(&self.dialogue)
    }

    /// Applies rules in order, from the first one again whenever one applied.
    fn settle(&mut self) {
        const IN_TALK: &[fn(&mut Conversation) -> bool] = &[
            Conversation::record_played,
            Conversation::write_late_transcript,
            Conversation::leave_message,
            |it| it.strategy.settle_playback(&mut it.dialogue),
            Conversation::finish_closing,
            |it| it.strategy.settle_turn(&mut it.dialogue),
            Conversation::say_queued,
            Conversation::start_transfer,
            Conversation::greet_late,
            Conversation::hang_up_on_silence,
            Conversation::reprompt,
        ];
        for _ in 0..MAX_RULES {
            let rules = if self.dialogue.media.is_some() { IN_TALK } else { &[] };
            let ended = self.dialogue.phase.is_ended();
            if ended || !(self.reach_maximum() || rules.iter().any(|rule| rule(self))) {
                return;
            }
        }
        let words = "The conversation did not settle. This is a bug; report it with the service's log.";
        self.end(End::Failed(Failure::new(FailureCode::Pipeline, words)));
    }

    fn apply(&mut self, input: Input) {
        let d = &mut self.dialogue;
        match input {
            Input::MediaStarted => self.start(),
            Input::SpeechPending { pending } => self.strategy.speech_pending(d, pending),
            Input::SpeechStarted => self.strategy.speech_started(d),
            Input::SpeechStopped { segment } => self.strategy.speech_stopped(d, segment),
            Input::SpeechSynthesized { utterance, audio, words, complete } => {
                if d.playback.made(utterance, audio, words, complete, d.now) && !audio.is_zero() {
                    self.strategy.synthesized(d, utterance);
                }
            }
            Input::SynthesisFailed { utterance, failure } => self.strategy.synthesis_failed(d, utterance, failure),
            Input::ReplacedByTone { utterance, audio } => {
                if d.playback.replaced_by_tone(utterance, audio, d.now) {
                    self.strategy.tts_failed();
                }
            }
            Input::PlaybackProgress { utterance, audio } => {
                if let Some((kind, first)) = d.playback.played(utterance, audio, d.now) {
                    self.strategy.heard(d, utterance, kind, first);
                }
            }
            Input::PlaybackFinished { utterance } => {
                if let Some((kind, first)) = d.playback.finished(utterance, d.now) {
                    self.strategy.heard(d, utterance, kind, first);
                }
            }
            Input::Dtmf { digit } => self.key_pressed(digit),
            Input::Say { text, interrupt } => self.say_requested(text, interrupt),
            Input::DtmfSendStarted => d.dtmf_sending = true,
            Input::DtmfSent => self.dtmf_sent(),
            Input::ToolResult { turn, id, result } => self.strategy.tool_result(d, turn, id, result),
            Input::TransferRequested { id, number } => self.transfer_requested(id, number),
            Input::TransferStarted => self.transfer_started(),
            Input::TransferFailed => self.transfer_failed(),
            Input::MachineDetected { beep, by } => self.machine_detected(beep, by),
            Input::HumanDetected => d.is_human = true,
            Input::HangUpRequested => self.end(End::Requested),
            Input::Strategy(input) => self.strategy.input(d, input),
            Input::Tick => {}
        }
    }

    fn start(&mut self) {
        let d = &mut self.dialogue;
        if d.media.is_some() {
            return;
        }
        d.media = Some(d.now);
        d.silence = SilenceTimer::since(d.now);
        d.playback.touch(d.now);
        if matches!(d.phase, Phase::Connecting) {
            self.greet();
        }
    }

    /// Records what was heard to its end.
    fn record_played(&mut self) -> bool {
        let Some(played) = self.dialogue.playback.take_finished() else { return false };
        self.strategy.played(&mut self.dialogue, played.kind);
        self.dialogue.record(played);
        true
    }

    /// Words that are missing for too long hold up nothing.
    fn write_late_transcript(&mut self) -> bool {
        let due = self.dialogue.is_due(self.dialogue.transcript.due_at());
        if due {
            self.dialogue.write_transcript();
        }
        due
    }
}

impl fmt::Debug for Conversation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Conversation")
            .field("now", &self.dialogue.now)
            .field("phase", &self.dialogue.phase)
            .field("turns", &self.dialogue.turns)
            .field("saying", &self.dialogue.playback.current())
            .finish_non_exhaustive()
    }
}
