//! The caller's speech and keys: from our own VAD, from the model's, and from transcripts that the session sends later.

use super::responses::output;
use super::sessions::SessionState;
use super::waits::SAME_SPEECH_WINDOW;
use super::{Instructions, Realtime, RealtimeCommand};
use crate::Timestamp;
use crate::conversation::dialogue::Dialogue;
use crate::conversation::playback::Kind;
use crate::conversation::response_deadline::ResponseDeadline;
use crate::conversation::tools::NOT_TRANSFERRED;
use crate::conversation::transcript::CallerWords;

/// Times of the caller's speech.
#[derive(Default)]
pub(super) struct CallerSpeech {
    /// When they last started to speak, by our own VAD.
    pub(super) began: Option<Timestamp>,
    /// The first such start since the last turn was committed.
    pub(super) turn_began: Option<Timestamp>,
    pub(super) ended: Option<Timestamp>,
    pub(super) is_voiced: bool,
    /// When they stopped speaking, if only our own VAD has heard them.
    pub(super) missed: Option<Timestamp>,
    /// Since when the model has heard them speak.
    pub(super) speaking: Option<Timestamp>,
    /// When they began to say what was transcribed last.
    pub(super) words_began: Option<Timestamp>,
}

impl Realtime {
    pub(super) fn voice_started(&mut self, d: &mut Dialogue) {
        let began = (d.now - d.timings.vad_onset).max(d.began);
        self.caller.turn_began.get_or_insert(began);
        (self.caller.is_voiced, self.caller.began) = (true, Some(began));
        d.silence.caller_active(d.now);
    }

    pub(super) fn voice_stopped(&mut self, d: &mut Dialogue) {
        let ended = (d.now - d.timings.vad_hangover).max(d.began);
        (self.caller.is_voiced, self.caller.ended) = (false, Some(ended));
        d.silence.caller_active(d.now);
        // No session hears them now; they wait for a response anyway.
        if self.session.is_lost() && self.listens_to_caller(d) {
            self.session = SessionState::Lost { hears_first: true };
            d.caller_active();
            self.response_deadline = Some(ResponseDeadline::after_turn(ended, d.now));
        } else {
            self.note_missed(d, ended);
        }
    }

    /// Notes that the caller stopped speaking at `ended`, if the model may have missed the speech: it reports no speech and has no response pending.
    fn note_missed(&mut self, d: &Dialogue, ended: Timestamp) {
        let both_are_silent = self.caller.speaking.is_none() && d.playback.is_idle() && !self.is_responding();
        let waits = self.response_deadline.is_some() || self.tools.is_running() || d.phase.is_closing();
        let spoke = self.caller.began.is_some_and(|began| ended.since(began) >= d.timings.unclear_speech);
        self.understanding.spoken |= spoke;
        if self.listens_to_caller(d) && both_are_silent && !waits && (spoke || self.caller.missed.is_some()) {
            self.caller.missed = Some(ended);
        }
    }

    pub(super) fn turn_started(&mut self, d: &mut Dialogue) {
        if !self.listens_to_caller(d) {
            return;
        }
        self.caller.speaking = Some(d.now);
        self.caller.missed = None;
        d.caller_active();
        // Earlier noise that the model did not take for a turn is not the beginning of this one.
        let before =
            self.caller.ended.is_some_and(|ended| ended + SAME_SPEECH_WINDOW < d.now) && !self.caller.is_voiced;
        if before && self.session != SessionState::CatchingUp {
            self.caller.turn_began = None;
        }
        // Speech from before this session began does not interrupt.
        let now = self.session != SessionState::CatchingUp || self.caller.is_voiced;
        if now && d.agent.interruption.enabled {
            self.interrupted(d);
        }
    }

    pub(super) fn turn_stopped(&mut self, d: &mut Dialogue) {
        let Some(since) = self.caller.speaking.take() else { return };
        d.silence.caller_active(d.now);
        self.tools.rounds = 0;
        // Our own VAD may not have heard this turn.
        let speech_ended = self.caller.ended.filter(|ended| *ended + SAME_SPEECH_WINDOW >= since).unwrap_or(d.now);
        let caught_up = self.session == SessionState::CatchingUp;
        if caught_up {
            self.set_session(d, SessionState::Ready);
        }
        match self.response_deadline.as_mut().filter(|deadline| caught_up && deadline.is_after_turn()) {
            Some(deadline) => deadline.provider_since = Some(d.now),
            None => {
                let mut deadline = ResponseDeadline::after_turn(speech_ended, d.now);
                deadline.noticed = true;
                self.response_deadline = Some(deadline);
            }
        }
    }

    /// Stops the agent because the caller speaks over it. The provider has already stopped the response.
    fn interrupted(&mut self, d: &mut Dialogue) {
        d.cut();
        self.response_was_stopped(d);
        self.response_deadline = None;
        if let Some(transfer) = d.drop_transfer(NOT_TRANSFERRED) {
            self.tools.dismiss(&transfer.tool_call);
            self.tool_failed(d, &transfer.tool_call, NOT_TRANSFERRED);
        }
        if d.is_ended_by_agent()
            && let Some(id) = d.cancel_goodbye()
        {
            d.emit(output(&id, "The caller spoke before the call ended. It goes on."));
        }
    }

    pub(super) fn turn_committed(&mut self, d: &mut Dialogue, item: String) {
        if d.transcript.adopt(&item, d.now) {
            return;
        }
        let (start, end) = self.take_turn_times(d.now);
        d.transcript.add_pending(item, start, end, d.now);
    }

    fn take_turn_times(&mut self, now: Timestamp) -> (Timestamp, Timestamp) {
        let began = self.caller.turn_began.take();
        let end = self.caller.ended.filter(|ended| began.is_some_and(|began| *ended >= began)).unwrap_or(now);
        (began.unwrap_or(end), end)
    }

    pub(super) fn turn_transcribed(&mut self, d: &mut Dialogue, item: &str, text: &str) {
        self.caller.words_began = d.transcript.began(item);
        if !text.trim().is_empty() {
            self.understood();
        }
        if !d.transcript.set_words(item, text) {
            self.turn_committed(d, item.to_owned());
            d.transcript.set_words(item, text);
        }
        d.write_transcript();
    }

    pub(super) fn is_talking(&self, d: &Dialogue) -> bool {
        !d.playback.is_idle() || self.response.as_ref().is_some_and(|response| !response.cancelled)
    }

    pub(super) fn keys_due_at(&self, d: &Dialogue) -> Option<Timestamp> {
        let waits = self.is_talking(d) || d.phase.is_closing() || d.phase.is_transferring();
        d.dtmf.over_at(&d.agent.dtmf).filter(|_| !waits)
    }

    /// Takes the caller's keys as a turn, like any other.
    pub(super) fn take_keys(&mut self, d: &mut Dialogue) -> bool {
        if !d.is_due(self.keys_due_at(d)) {
            return false;
        }
        let keys = d.dtmf.take();
        let pressed_at = keys.pressed_at().unwrap_or(d.now);
        let text = keys.text();
        self.caller.turn_began.get_or_insert(pressed_at);
        self.caller.ended = Some(pressed_at);
        d.emit(RealtimeCommand::AddContext { text: text.clone() });
        let (start, end) = self.take_turn_times(d.now);
        d.record_caller(CallerWords { text, start, end, remembered: true, item: None });
        self.response_deadline = Some(ResponseDeadline::after_turn(pressed_at, d.now));
        (self.caller.missed, self.tools.rounds) = (None, 0);
        self.request_response(Kind::Response, Instructions::Freely);
        true
    }
}
