//! State that both turn strategies share: the phase, the playback ledger, the transcript, and how something is said.

use std::collections::VecDeque;
use std::time::Duration;

use super::decision::{Decision, DecisionKind};
use super::dtmf::DtmfCollector;
use super::effect::{Effect, End, SpeechSource};
use super::history::History;
use super::phase::{Closing, GoodbyeFiller, Phase};
use super::playback::{Kind, PlaybackLedger, Played, Truncated};
use super::silence::SilenceTimer;
use super::timings::Timings;
use super::transcript::{CallerWords, Transcript};
use crate::Timestamp;
use crate::agent::AgentConfig;
use crate::language::Language;

/// The result of a transfer that was still announced when the call ended.
pub(super) const ENDED_BEFORE_TRANSFER: &str = "The call ended before the caller was transferred.";

/// A transfer that a tool requested, pending until the caller has heard the announcement.
pub(super) struct PendingTransfer {
    pub(super) tool_call: String,
    pub(super) number: String,
}

/// The state of a conversation, independent of its turn strategy.
pub(super) struct Dialogue {
    pub(super) agent: AgentConfig,
    pub(super) language: &'static Language,
    pub(super) timings: Timings,
    pub(super) now: Timestamp,
    pub(super) began: Timestamp,
    /// When media began to flow.
    pub(super) media: Option<Timestamp>,
    pub(super) phase: Phase,
    pub(super) playback: PlaybackLedger,
    pub(super) transcript: Transcript,
    pub(super) silence: SilenceTimer,
    pub(super) dtmf: DtmfCollector,
    /// Whether DTMF tones are being sent, during which the agent waits.
    pub(super) dtmf_sending: bool,
    /// Texts from the API that wait for the end of a response.
    pub(super) say_queue: VecDeque<String>,
    pub(super) pending_transfer: Option<PendingTransfer>,
    /// Whether a hang-up was already cancelled because the caller spoke during the goodbye.
    pub(super) goodbye_cancelled: bool,
    /// The last text that the agent said.
    pub(super) last_said: String,
    /// The number of the caller's turns that had a response.
    pub(super) turns: u32,
    /// When the response to the first of them was heard.
    pub(super) answered_at: Option<Timestamp>,
    /// Whether the carrier's last verdict is that a person answered.
    pub(super) is_human: bool,
    effects: Vec<Effect>,
}

impl Dialogue {
    pub(super) fn new(agent: &AgentConfig, timings: Timings, now: Timestamp) -> Self {
        Self {
            agent: agent.clone(),
            language: Language::of(&agent.language),
            timings,
            now,
            began: now,
            media: None,
            phase: Phase::Connecting,
            playback: PlaybackLedger::default(),
            transcript: Transcript::new(History::new(&agent.instructions)),
            silence: SilenceTimer::since(now),
            dtmf: DtmfCollector::default(),
            dtmf_sending: false,
            say_queue: VecDeque::new(),
            pending_transfer: None,
            goodbye_cancelled: false,
            last_said: String::new(),
            turns: 0,
            answered_at: None,
            is_human: false,
            effects: Vec::new(),
        }
    }

    pub(super) fn emit(&mut self, effect: impl Into<Effect>) {
        self.effects.push(effect.into());
    }

    /// Reports a decision.
    pub(super) fn decided(&mut self, kind: DecisionKind) {
        self.emit(Effect::Decision(Box::new(Decision::new(self.now, kind))));
    }

    /// Drops the transfer that waits for its announcement, for this reason.
    pub(super) fn drop_transfer(&mut self, reason: &str) -> Option<PendingTransfer> {
        let transfer = self.pending_transfer.take()?;
        self.not_transferred(&transfer.tool_call, reason);
        Some(transfer)
    }

    /// Reports that a transfer did not happen.
    pub(super) fn not_transferred(&mut self, tool_call: &str, reason: &str) {
        self.emit(Effect::NotTransferred { id: tool_call.to_owned(), error: reason.to_owned() });
    }

    pub(super) fn take_effects(&mut self) -> Vec<Effect> {
        std::mem::take(&mut self.effects)
    }

    pub(super) fn is_due(&self, at: Option<Timestamp>) -> bool {
        at.is_some_and(|at| at <= self.now)
    }

    /// Returns whether nothing is being said, typed or requested.
    pub(super) fn is_idle(&self) -> bool {
        let quiet = self.playback.is_idle() && self.dtmf.is_empty() && !self.dtmf_sending;
        quiet && self.phase.is_open() && self.say_queue.is_empty()
    }

    /// Handles speech or a key from the caller: the agent no longer has to greet first.
    pub(super) fn caller_active(&mut self) {
        if let Phase::Greeting { at } = &mut self.phase {
            *at = None;
        }
        self.silence.caller_active(self.now);
    }

    /// Queues an utterance, and returns its number. More may follow until [`PlaybackLedger::close`].
    pub(super) fn speak(&mut self, kind: Kind, text: &str, last_of_turn: bool) -> u32 {
        let utterance = self.playback.add(kind, text, self.now);
        let source = SpeechSource::Any;
        self.emit(Effect::Speak { utterance, text: text.to_owned(), last_of_turn, source });
        utterance
    }

    /// Says a cached phrase before everything queued.
    pub(super) fn speak_cached(&mut self, kind: Kind, text: &str) {
        let utterance = self.playback.add_cached(kind, text, self.now);
        let source = SpeechSource::Cached;
        self.emit(Effect::Speak { utterance, text: text.to_owned(), last_of_turn: true, source });
    }

    /// Says one utterance whose first audio is due within `deadline`.
    pub(super) fn speak_within(&mut self, kind: Kind, text: &str, deadline: Duration) {
        let utterance = self.playback.add(kind, text, self.now);
        self.playback.close();
        self.playback.touch(self.now);
        let source = SpeechSource::Within(deadline);
        self.emit(Effect::Speak { utterance, text: text.to_owned(), last_of_turn: true, source });
    }

    /// Stops playback at once and records what was heard. Returns whether there was anything to stop.
    pub(super) fn cut(&mut self) -> bool {
        let stopped = !self.playback.is_idle();
        let (played, truncated) = self.playback.cut();
        for Truncated { item, heard } in truncated {
            self.emit(super::realtime::messages::RealtimeCommand::Truncate { item, heard });
        }
        if stopped {
            self.emit(Effect::ClearPlayback);
        }
        for played in played {
            self.record(played);
        }
        stopped
    }

    /// Records what was heard of a finished or interrupted response.
    pub(super) fn record(&mut self, played: Played) {
        self.silence.agent_finished(played.kind, self.now);
        if played.kind == Kind::Greeting && matches!(self.phase, Phase::Greeting { .. }) {
            self.phase = Phase::Conversing;
        }
        if !played.text.is_empty() {
            self.last_said.clone_from(&played.text);
            self.transcript.add_agent(played);
            self.write_transcript();
        }
    }

    pub(super) fn record_caller(&mut self, words: CallerWords) {
        self.transcript.add_caller(words);
        self.write_transcript();
    }

    /// Writes the transcript entries that are complete and in order.
    pub(super) fn write_transcript(&mut self) {
        let entries = self.transcript.write(self.now);
        self.effects.extend(entries.into_iter().map(Effect::Transcript));
    }

    /// Ends the call once the utterances under way were heard.
    pub(super) fn close_with(&mut self, reason: End, tool_call: Option<String>) {
        let limit = self.now + self.timings.goodbye_limit;
        let filler = GoodbyeFiller::None;
        self.phase = Phase::Closing(Closing { reason, tool_call, since: self.now, limit, filler });
    }

    /// Ends the call. The strategy must have handed over what was said.
    pub(super) fn end(&mut self, reason: End) {
        self.flush();
        self.emit(Effect::HangUp { reason });
    }

    /// Records what was said and is not yet written.
    pub(super) fn flush(&mut self) {
        let _ = self.drop_transfer(ENDED_BEFORE_TRANSFER);
        self.cut();
        let entries = self.transcript.write_all();
        self.effects.extend(entries.into_iter().map(Effect::Transcript));
        self.phase = Phase::Ended;
    }

    /// Returns when the maximum duration is reached.
    pub(super) fn longest_at(&self) -> Timestamp {
        self.media.unwrap_or(self.began) + Duration::from_secs(self.agent.limits.max_duration_seconds.into())
    }

    /// Returns whether the agent is saying goodbye because its model ends the call.
    pub(super) fn is_ended_by_agent(&self) -> bool {
        self.phase.closing().is_some_and(|closing| closing.reason == End::AgentHungUp)
    }

    /// Returns whether the goodbye may be cancelled: only a hang-up by the agent, and only once, so that the call ends eventually.
    pub(super) fn may_cancel_goodbye(&self) -> bool {
        self.is_ended_by_agent() && !self.goodbye_cancelled && self.now < self.longest_at()
    }

    /// Cancels the goodbye because the caller continues. Returns the tool call that was to end the call.
    pub(super) fn cancel_goodbye(&mut self) -> Option<String> {
        self.goodbye_cancelled = true;
        match std::mem::replace(&mut self.phase, Phase::Conversing) {
            Phase::Closing(closing) => closing.tool_call,
            _ => None,
        }
    }
}
