//! Dead air: the silence of the agent while a response is due. A filler covers the wait for the LLM; when the TTS is late, a cached phrase is played
//! before the stalled audio. Eventually the TTS is given up.

use super::Cascade;
use crate::Timestamp;
use crate::conversation::dialogue::Dialogue;
use crate::conversation::failure::{Failure, FailureCode};
use crate::conversation::phase::GoodbyeFiller;
use crate::conversation::playback::Kind;
use crate::conversation::response_deadline::ResponseDeadline;

/// How many phrases in a row replace a late TTS.
const MAX_DEAD_AIR_FILLERS: u32 = 2;

impl Cascade {
    /// Records that synthesis was requested.
    pub(super) fn synthesis_requested(&mut self, d: &Dialogue) {
        let (now, heard) = (d.now, self.heard_at);
        let deadline = self.response_deadline.get_or_insert_with(|| ResponseDeadline::without_turn(now));
        // A failed request leaves no more time to the next one.
        if deadline.provider_since.is_none_or(|requested| Some(requested) <= heard) {
            deadline.provider_since = Some(now);
        }
    }

    /// Moves the start of the wait to `until`: silence was intended before that.
    pub(super) fn defer_response_deadline(&mut self, until: Timestamp) {
        if let Some(deadline) = &mut self.response_deadline {
            deadline.since = deadline.since.max(until);
        }
    }

    /// Records that the caller hears the agent.
    pub(super) fn agent_heard(&mut self, d: &mut Dialogue, kind: Kind, utterance: u32) {
        self.heard_at = Some(d.now);
        // A filler leaves the caller's turn as it is.
        if kind != Kind::Filler {
            self.spoke_at = Some(d.now);
        }
        if d.playback.cached_kind(utterance).is_none() {
            self.dead_air_fillers = 0;
        }
        self.note_audio_heard(d, kind, utterance);
    }

    /// Clears the deadline once the agent neither speaks nor is about to.
    pub(super) fn clear_response_deadline(&mut self, d: &Dialogue) {
        if d.playback.is_silent() && !self.llm_pending() {
            self.response_deadline = None;
        }
    }

    /// Returns since when there has been no audio while some is due.
    pub(super) fn silent_since(&self, d: &Dialogue) -> Option<Timestamp> {
        let deadline = self.response_deadline.as_ref()?;
        [Some(deadline.since), self.heard_at, d.media, self.turn.ended()].into_iter().flatten().max()
    }

    /// Returns when synthesis must be requested at the latest to end the silence in time.
    pub(super) fn silence_too_long_at(&self, d: &Dialogue) -> Option<Timestamp> {
        Some(self.silent_since(d)? + d.timings.dead_air.saturating_sub(d.timings.voice_start))
    }

    /// Returns when a phrase replaces audio that the TTS has not delivered.
    pub(super) fn dead_air_at(&self, d: &Dialogue) -> Option<Timestamp> {
        let listening = self.overlap.is_some() || self.turn.speaking().is_some();
        // A machine does not notice dead air.
        if listening || d.phase.is_voicemail() || d.dtmf_sending || !d.playback.lacks_audio() {
            return None;
        }
        let silence = if goodbye_filler_missing(d) { d.timings.goodbye_silence } else { d.timings.dead_air };
        let (silent_since, requested) = (self.silent_since(d)?, self.response_deadline.as_ref()?.provider_since);
        if d.language.phrases.fillers.is_empty() {
            // The wait for the model was not covered either; the TTS still gets its full time.
            return Some(silent_since.max(requested.unwrap_or(silent_since)) + silence);
        }
        let due = silent_since + silence;
        let latest = due + d.timings.voice_start / 2;
        let begun = requested.map(|requested| requested + d.timings.voice_start);
        Some(begun.map_or(due, |begun| begun.clamp(due, latest)))
    }

    pub(super) fn fill_dead_air(&mut self, d: &mut Dialogue) -> bool {
        if !d.is_due(self.dead_air_at(d)) {
            return false;
        }
        if self.dead_air_fillers >= MAX_DEAD_AIR_FILLERS || Self::is_late_goodbye(d) {
            self.end_without_tts(d, late());
        } else {
            self.dead_air_fillers += 1;
            let phrases = d.language.phrases;
            let fresh = phrases.covers().find(|phrase| *phrase != d.last_said);
            match fresh.or(phrases.covers().next()) {
                Some(phrase) => d.speak_cached(Kind::Filler, phrase),
                None => self.go_without_filler(d),
            }
        }
        true
    }

    /// Returns whether the late audio is a goodbye that a phrase can replace, or that was already awaited without a phrase.
    fn is_late_goodbye(d: &Dialogue) -> bool {
        d.phase.is_closing() && (goodbye_filler_missing(d) || d.playback.current() == Some(Kind::Goodbye))
    }
}

fn goodbye_filler_missing(d: &Dialogue) -> bool {
    d.phase.closing().is_some_and(|closing| closing.filler == GoodbyeFiller::Missing)
}

/// Returns the failure of a TTS that timed out.
pub(super) fn late() -> Failure {
    Failure::new(
        FailureCode::ProviderTimeout,
        "The voice did not speak in time; check its connection or choose another voice.",
    )
}
