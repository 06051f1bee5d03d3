//! Silences of the agent while it owes the caller something. A filler covers the wait for the model; for a voice that does not
//! come, a phrase whose sound is kept is played in front of what is stuck. In the end the voice is given up.

use super::Conversation;
use super::effect::Effect;
use super::input::{Failure, FailureCode};
use super::mouth::Kind;
use crate::Timestamp;

/// How often in a row a voice is covered up for.
const MAX_COVERS: u32 = 2;

/// The caller waits to hear the agent.
#[derive(Clone, Copy)]
pub(super) struct Debt {
    /// The sound of the caller, or the event, that is owed an answer.
    since: Timestamp,
    /// Since when a voice has been asked to speak.
    asked: Option<Timestamp>,
}

impl Conversation {
    /// What happened at this time wants an answer.
    pub(super) fn owe(&mut self, since: Timestamp) {
        self.owed = Some(Debt { since, asked: None });
    }

    /// A voice was asked to speak.
    pub(super) fn voice_asked(&mut self) {
        let (now, heard) = (self.now, self.heard_at);
        let debt = self.owed.get_or_insert(Debt { since: now, asked: None });
        // One that has failed leaves no more time to the next.
        if debt.asked.is_none_or(|asked| Some(asked) <= heard) {
            debt.asked = Some(now);
        }
    }

    /// There was a reason to be silent until then.
    pub(super) fn excuse_silence(&mut self, until: Timestamp) {
        if let Some(debt) = &mut self.owed {
            debt.since = debt.since.max(until);
        }
    }

    /// The caller hears the agent.
    pub(super) fn agent_heard(&mut self, kind: Option<Kind>, utterance: u32) {
        if kind.is_some() {
            self.heard_at = Some(self.now);
            if self.mouth.ready_kind(utterance).is_none() {
                self.covers = 0;
            }
        }
        self.note_sound_heard(kind, utterance);
    }

    /// Forgets the debt once the agent neither speaks nor is about to.
    pub(super) fn settle_debt(&mut self) {
        if self.mouth.is_silent() && !self.is_thinking() {
            self.owed = None;
        }
    }

    /// Since when there has been no sound, while the agent owes one.
    pub(super) fn silent_since(&self) -> Option<Timestamp> {
        let debt = self.owed?;
        [Some(debt.since), self.heard_at, self.media, self.caller.ended()].into_iter().flatten().max()
    }

    /// When a silence is to be broken by a voice that is yet to be asked.
    pub(super) fn silence_too_long_at(&self) -> Option<Timestamp> {
        Some(self.silent_since()? + self.timings.dead_air.saturating_sub(self.timings.voice_start))
    }

    /// When the voice that is waited for is to be covered up for.
    pub(super) fn voice_late_at(&self) -> Option<Timestamp> {
        let listening = self.overlap.is_some() || self.caller.speaking().is_some();
        // A machine does not wonder where the voice is.
        if listening || self.machine.is_some() || self.keys_on_line || !self.mouth.lacks_sound() {
            return None;
        }
        let uncovered = self.closing.as_ref().is_some_and(|closing| closing.uncovered);
        let patience = if uncovered { self.timings.goodbye_silence } else { self.timings.dead_air };
        let (silent_since, asked) = (self.silent_since()?, self.owed?.asked);
        if self.language.phrases.fillers.is_empty() {
            // The wait for the model was not covered either: it leaves the voice no less time.
            return Some(silent_since.max(asked.unwrap_or(silent_since)) + patience);
        }
        let due = silent_since + patience;
        let latest = due + self.timings.voice_start / 2;
        let begun = asked.map(|asked| asked + self.timings.voice_start);
        Some(begun.map_or(due, |begun| begun.clamp(due, latest)))
    }

    pub(super) fn cover_voice(&mut self) -> bool {
        if !self.is_due(self.voice_late_at()) {
            return false;
        }
        if self.covers >= MAX_COVERS || self.is_late_goodbye() {
            self.end_without_voice(late());
        } else {
            self.covers += 1;
            let phrases = self.language.phrases;
            let fresh = phrases.covers().find(|phrase| *phrase != self.last_said);
            match fresh.or(phrases.covers().next()) {
                Some(phrase) => self.say_ready(Kind::Filler, phrase),
                None => self.go_uncovered(),
            }
        }
        true
    }

    /// Whether what is late is a goodbye that one of the phrases can stand in for, or was waited for without a phrase.
    fn is_late_goodbye(&self) -> bool {
        let phrase = self.mouth.current() == Some(Kind::Goodbye);
        self.closing.as_ref().is_some_and(|closing| closing.uncovered || phrase)
    }

    /// Says a phrase before everything else, if its sound is there.
    pub(super) fn say_ready(&mut self, kind: Kind, text: &str) {
        let utterance = self.mouth.put_first(kind, text, self.now);
        self.effects.push(Effect::Speak { utterance, text: text.to_owned(), last_of_turn: true, ready_only: true });
    }
}

/// The voice has been waited for in vain.
pub(super) fn late() -> Failure {
    Failure::new(
        FailureCode::ProviderTimeout,
        "The voice did not speak in time; check its connection or choose another voice.",
    )
}
