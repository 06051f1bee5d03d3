//! How long the caller waits: a response is requested from a model that does not begin on its own, fillers cover the wait, and eventually it is given
//! up. A turn that the model does not end is ended here.

use std::time::Duration;

use super::{Instructions, Realtime, RealtimeCommand, RealtimeEffect};
use crate::Timestamp;
use crate::conversation::dialogue::Dialogue;
use crate::conversation::failure::{Failure, FailureCode};
use crate::conversation::phrases;
use crate::conversation::playback::Kind;
use crate::conversation::response_deadline::ResponseDeadline;

/// A model that responds on its own has begun by then; otherwise a response is requested.
const PROMPT_AFTER: Duration = Duration::from_secs(1);
/// How long the model may take to respond, once nothing else is awaited.
pub(super) const RESPONSE_TIMEOUT: Duration = Duration::from_secs(8);
/// The time between two fillers.
const FILLER_INTERVAL: Duration = Duration::from_millis(2_400);
/// How long the model may hear a caller speak after our own VAD no longer does, and if it never did.
const SPEECH_END_TIMEOUT: Duration = Duration::from_millis(2_700);
const UNHEARD_SPEECH_TIMEOUT: Duration = Duration::from_secs(8);
/// Speech that our own VAD hears at most this long before the model does is the same speech.
pub(super) const SAME_SPEECH_WINDOW: Duration = Duration::from_secs(1);
/// How long audio may stall in the middle of a sentence.
const STALLED_AUDIO_TIMEOUT: Duration = Duration::from_secs(8);

impl Realtime {
    /// Returns when a turn that the model does not end, or has not noticed at all, is over anyway.
    pub(super) fn overdue_at(&self, d: &Dialogue) -> Option<Timestamp> {
        if self.caller.is_voiced || d.phase.is_closing() {
            return None;
        }
        let longest = Duration::from_millis(d.agent.turn_taking.max_silence_ms.into());
        let Some(since) = self.caller.speaking else {
            return Some(self.caller.missed? + SPEECH_END_TIMEOUT.max(longest));
        };
        let heard = self.caller.ended.filter(|ended| *ended + SAME_SPEECH_WINDOW >= since);
        Some(match heard {
            Some(ended) => ended.max(since) + SPEECH_END_TIMEOUT.max(longest),
            None => since + UNHEARD_SPEECH_TIMEOUT.max(longest),
        })
    }

    /// Ends a turn that the model does not end. A model that hears the caller without end, or not at all, never responds.
    pub(super) fn end_overdue_turn(&mut self, d: &mut Dialogue) -> bool {
        let due = d.is_due(self.overdue_at(d));
        if due && let Some(since) = self.caller.speaking.take().or(self.caller.missed) {
            (self.caller.missed, self.tools.rounds) = (None, 0);
            let ended = self.caller.ended.map_or(since, |ended| ended.max(since));
            self.response_deadline = Some(ResponseDeadline::after_turn(ended, ended));
            d.emit(RealtimeCommand::EndTurn);
        }
        due
    }

    /// Starts a response deadline if the caller hears nothing while tools run or while the model is about to continue.
    pub(super) fn wait_in_silence(&mut self, d: &mut Dialogue) -> bool {
        let silent = d.playback.is_idle()
            && self.caller.speaking.is_none()
            && self.response_deadline.is_none()
            && d.pending_transfer.is_none();
        let due = silent && d.phase.is_open() && self.is_awaited();
        if due {
            self.response_deadline = Some(ResponseDeadline::without_turn(d.now));
        }
        due
    }

    /// Records that the caller hears the agent.
    pub(super) fn response_is_heard(&mut self, d: &mut Dialogue) {
        if let Some(mut deadline) = self.response_deadline.take() {
            deadline.heard(d, d.turns + 1);
        }
    }

    /// Returns the response that the caller waits for in silence.
    fn waited_for(&self, d: &Dialogue) -> Option<&ResponseDeadline> {
        let talks = self.caller.speaking.is_some() || !d.playback.is_idle() || d.dtmf_sending;
        self.response_deadline.as_ref().filter(|_| !talks && d.phase.is_open())
    }

    pub(super) fn prompt_response_at(&self, d: &Dialogue) -> Option<Timestamp> {
        let idle = !self.is_responding() && !self.tools.is_running() && !self.session.is_lost();
        let deadline = self.waited_for(d).filter(|deadline| idle && !deadline.prompted)?;
        Some(deadline.provider_since.unwrap_or(deadline.since) + PROMPT_AFTER)
    }

    /// Requests a response that the model does not begin on its own. A model that understands nothing is replaced.
    pub(super) fn prompt_response(&mut self, d: &mut Dialogue) -> bool {
        let due = d.is_due(self.prompt_response_at(d));
        if due && self.session_understands_nothing() {
            self.session_lost(d);
            d.emit(RealtimeEffect::ReplaceSession);
        } else if due {
            self.request_response(Kind::Response, Instructions::Freely);
            if let Some(deadline) = &mut self.response_deadline {
                deadline.prompted = true;
            }
        }
        due
    }

    pub(super) fn filler_at(&self, d: &Dialogue) -> Option<Timestamp> {
        let deadline = self.waited_for(d)?;
        let wait = if deadline.fillers == 0 { d.timings.filler } else { FILLER_INTERVAL };
        let silent_since = deadline.since.max(d.silence.anybody());
        Some(deadline.filled_at.map_or(silent_since, |at| at.max(silent_since)) + wait)
    }

    pub(super) fn fill_wait(&mut self, d: &mut Dialogue) -> bool {
        let due = d.is_due(self.filler_at(d));
        if due && let Some(deadline) = &mut self.response_deadline {
            deadline.filled(d.now);
            let words = d.language.phrases;
            let text = match deadline.fillers {
                1 => phrases::usual(words.fillers),
                2 => phrases::usual(words.retrying),
                _ => phrases::vary(words.still_here, d.now, "").unwrap_or_default(),
            };
            self.speak_filler(d, Kind::Filler, text);
        }
        due
    }

    pub(super) fn response_timeout_at(&self, d: &Dialogue) -> Option<Timestamp> {
        // A filler is not a response.
        let over = !d.phase.is_open();
        let elsewhere = self.tools.is_running()
            || self.session.is_lost()
            || self.caller.speaking.is_some()
            || d.dtmf_sending
            || over;
        let deadline =
            self.response_deadline.as_ref().filter(|deadline| !elsewhere && deadline.first_audio.is_none())?;
        Some(deadline.provider_since.unwrap_or(deadline.since) + RESPONSE_TIMEOUT)
    }

    pub(super) fn time_out_response(&mut self, d: &mut Dialogue) -> bool {
        let due = d.is_due(self.response_timeout_at(d));
        if due {
            self.give_up(d, too_late());
        }
        due
    }

    pub(super) fn audio_timeout_at(&self, d: &Dialogue) -> Option<Timestamp> {
        let stuck = !d.playback.is_idle() && d.playback.is_starved() && !d.dtmf_sending && !self.session.is_lost();
        d.playback.progress().filter(|_| stuck && !d.phase.is_closing()).map(|at| at + STALLED_AUDIO_TIMEOUT)
    }

    /// Gives up a sentence whose audio does not continue. A filler is skipped.
    pub(super) fn time_out_audio(&mut self, d: &mut Dialogue) -> bool {
        let due = d.is_due(self.audio_timeout_at(d));
        if due && d.playback.contains_only(Kind::Filler) {
            d.cut();
        } else if due {
            self.give_up(d, too_late());
        }
        due
    }
}

pub(super) fn too_late() -> Failure {
    Failure::new(
        FailureCode::ProviderTimeout,
        "The speech-to-speech model did not respond in time; check its connection or choose a faster model.",
    )
}
