//! A conversation: who speaks when, and about what.
//!
//! [`Conversation`] is a state machine without a clock or sockets. Give it one [`Input`], perform every [`Effect`] in order, then wait for the next
//! input or for [`Conversation::next_deadline`], whichever comes first; at the deadline send [`Input::Tick`]. After [`Effect::HangUp`] it is over and
//! returns no more effects.
//!
//! The `phase` is its state: connecting, greeting, conversing, transferring, voicemail, closing, ended. What all calls share is here and in
//! `dialogue`: the greeting, keys (`dtmf`), `silence`, requests from the API and tools (`control`), the answering machine (`voicemail`), limits and
//! goodbye (`closing`), the `playback` ledger with what was `heard`, `transcript` and `history`. A [`strategy`] has the agent speak and decides when
//! a turn is over: [`cascade`] with STT, LLM and TTS, or [`realtime`] with a speech-to-speech model. Both run the `tools` of the model and keep the
//! `response_deadline`.
//!
//! After each input, rules are applied in order until none applies. A rule depends on the state and the time only; [`Conversation::next_deadline`]
//! includes every time at which time alone makes a rule apply.

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

pub use decision::{Decision, DecisionKind, TurnEndedBy};
pub use effect::{Effect, End, ResponseStages, SpeechSource, TurnTimes};
pub use failure::{Failure, FailureCode};
pub use heard::SpokenWord;
pub use history::{Message, Role, WITHHELD_WORDS};
pub use input::{Input, MachineEvidence, StrategyInput};
pub use timings::Timings;
pub use tool_call::ToolCall;
pub use transcript::{Entry, Speaker};

use self::cascade::Cascade;
use self::cascade::markdown::named_keys;
use self::dialogue::Dialogue;
use self::phase::Phase;
use self::realtime::Realtime;
use self::silence::SilenceTimer;
use self::strategy::Strategy;
use crate::Timestamp;
use crate::agent::{AgentConfig, GreetingMode};
use crate::language::Language;

/// The maximum number of rules applied after one input. Real conversations need a few; reaching this limit means an endless loop.
const MAX_RULES: usize = 1_000;

/// One conversation. `Debug` shows its state, not what was said.
pub struct Conversation {
    dialogue: Dialogue,
    strategy: Box<dyn Strategy>,
}

impl Conversation {
    /// Creates a conversation by STT, LLM and TTS with this agent, whose texts are already filled in.
    #[must_use]
    pub fn cascade(agent: &AgentConfig, now: Timestamp) -> Self {
        Self::new(agent, now, Box::new(Cascade::default()))
    }

    /// Creates a conversation by a speech-to-speech model. If the agent speaks first, [`realtime::greeting`] must already have been sent to the model
    /// as request 1.
    #[must_use]
    pub fn realtime(agent: &AgentConfig, now: Timestamp) -> Self {
        Self::new(agent, now, Box::new(Realtime::new(agent, now)))
    }

    fn new(agent: &AgentConfig, now: Timestamp, strategy: Box<dyn Strategy>) -> Self {
        Self { dialogue: Dialogue::new(agent, Timings::default(), now), strategy }
    }

    /// Returns what a cascade says first, so that it can be synthesized while the phone rings.
    #[must_use]
    pub fn greeting(agent: &AgentConfig) -> Option<String> {
        let text = agent.greeting.text.trim();
        (agent.greeting.mode == GreetingMode::Speak && !text.is_empty()).then(|| named_keys(text, &agent.language))
    }

    /// Returns texts that may be said in any conversation of this agent, starting with those needed most when its TTS is late or fails. Their audio
    /// can be synthesized in advance and cached.
    #[must_use]
    pub fn phrases(agent: &AgentConfig) -> Vec<String> {
        let own = agent.tools.iter().filter_map(|tool| tool.filler.as_deref()).map(|text| text.trim().to_owned());
        let language = Language::of(&agent.language);
        let urgent = phrases::urgent(language).map(str::to_owned);
        let all = urgent.chain(own).chain(phrases::others(language).map(str::to_owned));
        let mut known = HashSet::new();
        all.filter(|text| !text.is_empty() && known.insert(text.clone())).collect()
    }

    /// Applies an input and returns the effects to perform, in order. Performs nothing here.
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

    /// Returns when to call `handle(_, Tick)` next; `None` once the conversation is over.
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

    /// Ends the conversation because the connection is gone. Returns what still belongs in the transcript; the caller of this method knows the
    /// reason.
    pub fn finish(&mut self, now: Timestamp) -> Vec<Effect> {
        if !self.dialogue.phase.is_ended() {
            self.dialogue.now = self.dialogue.now.max(now);
            self.strategy.finish(&mut self.dialogue);
            self.dialogue.flush();
        }
        self.dialogue.take_effects()
    }

    /// Returns the number of the caller's turns to which some of a response was heard.
    #[must_use]
    pub fn turns(&self) -> u32 {
        self.dialogue.turns
    }

    /// Returns what was said and heard so far, after the instructions.
    #[must_use]
    pub fn history(&self) -> Vec<Message> {
        self.dialogue.transcript.history.messages()
    }

    /// Returns the history with what is queued for the caller: the context of a replacement session.
    #[must_use]
    pub fn history_with_queued(&self) -> Vec<Message> {
        let mut history = self.dialogue.transcript.history_for_session();
        for text in self.dialogue.playback.remembered() {
            history.agent_was_heard(text, false);
        }
        history.messages()
    }

    /// Returns the time since which the caller's audio must be replayed to a replacement session before anything else.
    #[must_use]
    pub fn unheard_since(&self) -> Timestamp {
        self.strategy.unheard_since(&self.dialogue)
    }

    /// Returns whether the carrier has been asked to transfer the caller.
    #[must_use]
    pub fn is_transferring(&self) -> bool {
        self.dialogue.phase.is_transferring()
    }

    /// Returns whether the model should get the caller's audio. It does not while nothing that the caller says can change anything: a model cannot
    /// ignore what it has already heard.
    #[must_use]
    pub fn listens(&self) -> bool {
        self.strategy.listens(&self.dialogue)
    }

    /// Applies rules in order, starting over from the first whenever one applied.
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

    /// Records responses that were heard in full.
    fn record_played(&mut self) -> bool {
        let Some(played) = self.dialogue.playback.take_finished() else { return false };
        self.strategy.played(&mut self.dialogue, played.kind);
        self.dialogue.record(played);
        true
    }

    /// Writes the transcript without words that have been missing for too long.
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
