//! The caller's waits: bridged after a while, taken up with the model, and in the end given up. And the caller who makes us wait.

use std::time::Duration;

use super::Realtime;
use super::messages::{Direction, Effect};
use crate::Timestamp;
use crate::conversation::effect::TurnTimes;
use crate::conversation::input::{Failure, FailureCode};
use crate::conversation::mouth::Kind;
use crate::conversation::{End, phrases};

/// A model that decides by itself to answer has begun by then; else it is told to.
const NUDGE: Duration = Duration::from_secs(1);
/// How long the model may take to say something, once nothing else is waited for.
pub(super) const ANSWER: Duration = Duration::from_secs(8);
/// Between a word that bridges a wait and the next one.
const AGAIN: Duration = Duration::from_millis(2_400);
/// How long the model may hear a caller speak of whom our own ears hear nothing any more, and when they never did.
const OVERDUE: Duration = Duration::from_millis(2_700);
const UNHEARD: Duration = Duration::from_secs(8);
/// What our own ears hear so long before the model does is the same.
const APART: Duration = Duration::from_secs(1);
/// How long sound may take to go on in the middle of a sentence.
const STUCK: Duration = Duration::from_secs(8);
/// Added to the instructions when the caller says nothing.
const STILL_THERE: &str =
    "The caller has said nothing for a while. Ask in one short sentence whether they are still there.";

/// The caller waits to hear something.
pub(super) struct Owed {
    speech_ended: Timestamp,
    turn_ended: Timestamp,
    /// Since when the model alone is waited for.
    pub(super) model_since: Timestamp,
    pub(super) first_token: Option<Timestamp>,
    pub(super) first_audio: Option<Timestamp>,
    /// Whether it is the answer to a turn of theirs.
    pub(super) answers: bool,
    /// Whether the model has noticed that turn by itself.
    pub(super) noticed: bool,
    nudged: bool,
    covers: u32,
    covered_at: Option<Timestamp>,
}

impl Owed {
    /// They wait without having said anything.
    pub(super) fn nothing_asked(now: Timestamp) -> Self {
        Self {
            speech_ended: now,
            turn_ended: now,
            model_since: now,
            first_token: None,
            first_audio: None,
            answers: false,
            noticed: false,
            nudged: false,
            covers: 0,
            covered_at: None,
        }
    }

    /// Another model is waited for.
    pub(super) fn by_another(&mut self, now: Timestamp) {
        (self.model_since, self.nudged) = (now, false);
    }

    /// Something has been said to bridge the wait.
    pub(super) fn covered(&mut self, now: Timestamp) {
        self.covers += 1;
        self.covered_at = Some(now);
    }

    /// They have finished a turn.
    pub(super) fn an_answer(speech_ended: Timestamp, now: Timestamp) -> Self {
        Self { speech_ended, answers: true, ..Self::nothing_asked(now) }
    }

    /// The same, when that has come out only now.
    pub(super) fn an_answer_since(ended: Timestamp) -> Self {
        Self::an_answer(ended, ended)
    }
}

impl Realtime {
    pub(super) fn speech_started(&mut self) {
        if !self.listens() {
            return;
        }
        self.speaking = Some(self.now);
        (self.greet_at, self.missed) = (None, None);
        self.quiet.sign_of_life(self.now);
        // What was said before this session began interrupts nothing.
        let now = !self.catching_up || self.voice.speaks;
        if now && self.agent.interruption.enabled {
            self.interrupted();
        }
    }

    pub(super) fn speech_stopped(&mut self) {
        if self.speaking.take().is_none() {
            return;
        }
        self.quiet.sign_of_life(self.now);
        self.rounds = 0;
        let speech_ended = self.voice.ended.unwrap_or(self.now);
        let caught_up = std::mem::take(&mut self.catching_up);
        match self.owed.as_mut().filter(|owed| caught_up && owed.answers) {
            Some(owed) => owed.model_since = self.now,
            None => self.owed = Some(Owed { noticed: true, ..Owed::an_answer(speech_ended, self.now) }),
        }
    }

    /// The caller fell silent then, after words that the model may have missed: it hears nobody and is about to say nothing.
    pub(super) fn note_missed(&mut self, ended: Timestamp) {
        let nobody_talks = self.speaking.is_none() && self.mouth.is_idle() && !self.is_responding();
        let waits = self.owed.is_some() || !self.tools.is_empty() || self.closing.is_some();
        let spoke = self.voice.began.is_some_and(|began| ended.since(began) >= self.timings.unclear_speech);
        self.understanding.spoken |= spoke;
        if self.listens() && nobody_talks && !waits && (spoke || self.missed.is_some()) {
            self.missed = Some(ended);
        }
    }

    /// When a turn that the model does not end, or has not noticed at all, is over all the same.
    pub(super) fn overdue_at(&self) -> Option<Timestamp> {
        if self.voice.speaks || self.closing.is_some() {
            return None;
        }
        let longest = Duration::from_millis(self.agent.turn_taking.max_silence_ms.into());
        let Some(since) = self.speaking else { return Some(self.missed? + OVERDUE.max(longest)) };
        let heard = self.voice.ended.filter(|ended| *ended + APART >= since);
        Some(match heard {
            Some(ended) => ended.max(since) + OVERDUE.max(longest),
            None => since + UNHEARD.max(longest),
        })
    }

    /// A model that hears the caller for ever, or never, says nothing for ever.
    pub(super) fn end_overdue_turn(&mut self) -> bool {
        let due = self.is_due(self.overdue_at());
        if due && let Some(since) = self.speaking.take().or(self.missed) {
            (self.missed, self.rounds) = (None, 0);
            let ended = self.voice.ended.map_or(since, |ended| ended.max(since));
            self.owed = Some(Owed::an_answer_since(ended));
            self.effects.push(Effect::EndTurn);
        }
        due
    }

    /// Whoever hears nothing while tools run, or while the model is to go on, waits as well.
    pub(super) fn wait_in_silence(&mut self) -> bool {
        let silent = self.mouth.is_idle() && self.speaking.is_none() && self.owed.is_none() && self.pass_on.is_none();
        let over = self.closing.is_some() || self.machine.is_some() || self.passing_on.is_some();
        let due = silent && !over && self.is_awaited();
        if due {
            self.owed = Some(Owed::nothing_asked(self.now));
        }
        due
    }

    /// The caller hears the agent.
    pub(super) fn answer_is_heard(&mut self) {
        let Some(owed) = self.owed.take() else { return };
        if !owed.answers {
            return;
        }
        self.turns += 1;
        let first_audio_ready = owed.first_audio.unwrap_or(self.now);
        self.effects.push(Effect::Turn(TurnTimes {
            turn: self.turns,
            speech_ended: owed.speech_ended,
            turn_ended: owed.turn_ended,
            first_token: owed.first_token.unwrap_or(first_audio_ready),
            first_audio_ready,
            first_audio_played: self.now,
        }));
    }

    pub(super) fn agent_fell_silent(&mut self, kind: Kind, at: Timestamp) {
        self.quiet.agent_fell_silent(kind, at.max(self.quiet.anybody()));
    }

    /// What the caller waits for in silence.
    fn waited_for(&self) -> Option<&Owed> {
        let talks = self.speaking.is_some() || !self.mouth.is_idle() || self.keys_on_line;
        let over = self.closing.is_some() || self.machine.is_some() || self.passing_on.is_some();
        self.owed.as_ref().filter(|_| !talks && !over)
    }

    pub(super) fn nudge_at(&self) -> Option<Timestamp> {
        let idle = !self.is_responding() && self.tools.is_empty() && !self.lost;
        let owed = self.waited_for().filter(|owed| idle && !owed.nudged)?;
        Some(owed.turn_ended.max(owed.model_since) + NUDGE)
    }

    /// Has the model answer when it does not do so by itself. One that understands nothing is replaced.
    pub(super) fn nudge(&mut self) -> bool {
        let due = self.is_due(self.nudge_at());
        if due && self.understands_nothing() {
            self.session_lost();
            self.effects.push(Effect::Replace);
        } else if due {
            self.want(Kind::Answer, Direction::Freely);
            if let Some(owed) = &mut self.owed {
                owed.nudged = true;
            }
        }
        due
    }

    pub(super) fn cover_at(&self) -> Option<Timestamp> {
        let owed = self.waited_for()?;
        let wait = if owed.covers == 0 { self.timings.filler } else { AGAIN };
        let silent_since = owed.turn_ended.max(self.quiet.anybody());
        Some(owed.covered_at.map_or(silent_since, |at| at.max(silent_since)) + wait)
    }

    pub(super) fn bridge(&mut self) -> bool {
        let due = self.is_due(self.cover_at());
        if due && let Some(owed) = &mut self.owed {
            owed.covered(self.now);
            let words = self.language.phrases;
            let text = match owed.covers {
                1 => phrases::usual(words.fillers),
                2 => phrases::usual(words.retrying),
                _ => phrases::vary(words.still_here, self.now, "").unwrap_or_default(),
            };
            self.cover(Kind::Filler, text);
        }
        due
    }

    pub(super) fn answer_lost_at(&self) -> Option<Timestamp> {
        // A word that bridges the wait is no answer.
        let over = self.closing.is_some() || self.machine.is_some() || self.passing_on.is_some();
        let elsewhere = !self.tools.is_empty() || self.lost || self.speaking.is_some() || self.keys_on_line || over;
        let owed = self.owed.as_ref().filter(|owed| !elsewhere && owed.first_audio.is_none())?;
        Some(owed.model_since.max(owed.turn_ended) + ANSWER)
    }

    pub(super) fn give_up_on_answer(&mut self) -> bool {
        let due = self.is_due(self.answer_lost_at());
        if due {
            self.give_up(too_late());
        }
        due
    }

    pub(super) fn stuck_at(&self) -> Option<Timestamp> {
        let stuck = !self.mouth.is_idle() && self.mouth.is_silent() && !self.keys_on_line && !self.lost;
        (stuck && self.closing.is_none()).then(|| self.progress + STUCK)
    }

    /// A sentence that does not go on. One that only bridges a wait is left out.
    pub(super) fn give_up_on_stuck(&mut self) -> bool {
        let due = self.is_due(self.stuck_at());
        if due && self.mouth.only_bridges() {
            self.cut();
        } else if due {
            self.give_up(too_late());
        }
        due
    }

    fn is_calm(&self) -> bool {
        let quiet = self.mouth.is_idle() && !self.is_responding() && self.owed.is_none() && self.tools.is_empty();
        let over = self.closing.is_some() || self.machine.is_some() || self.passing_on.is_some() || self.lost;
        quiet && !over && self.speaking.is_none() && !self.keys_on_line && self.keys.is_empty()
    }

    pub(super) fn silence_at(&self) -> Option<Timestamp> {
        let patience = self.agent.silence.hangup_after_seconds?;
        self.is_calm().then(|| self.quiet.caller() + Duration::from_secs(patience.into()))
    }

    pub(super) fn hang_up_on_silence(&mut self) -> bool {
        let due = self.is_due(self.silence_at());
        if due {
            self.end(End::Silence);
        }
        due
    }

    pub(super) fn reprompt_at(&self) -> Option<Timestamp> {
        let settings = &self.agent.silence;
        let again = self.is_calm() && self.greet_at.is_none() && self.quiet.reprompts() < settings.max_reprompts;
        again.then(|| self.quiet.anybody() + Duration::from_secs(settings.reprompt_after_seconds.into()))
    }

    pub(super) fn reprompt(&mut self) -> bool {
        let due = self.is_due(self.reprompt_at());
        if due {
            self.quiet.reprompted();
            self.want(Kind::Reprompt, Direction::Directed(STILL_THERE.to_owned()));
        }
        due
    }
}

pub(super) fn too_late() -> Failure {
    Failure::new(
        FailureCode::ProviderTimeout,
        "The speech-to-speech model did not answer in time; check its connection or choose a faster model.",
    )
}
