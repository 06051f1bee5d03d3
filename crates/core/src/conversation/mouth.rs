//! What the agent says: utterances gathered into acts, played in order, each knowing how much of it was heard.

use std::collections::VecDeque;
use std::time::Duration;

use super::heard::{Sound, heard};
use super::input::{Failure, SpokenWord};
use crate::Timestamp;

/// Samples that are played at a time: 20 ms.
const FRAME: u64 = 160;
/// Samples in a second of telephone sound.
const SAMPLES_PER_SECOND: u64 = 8_000;

/// Why something is said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// The opening.
    Greeting,
    /// The model's answer.
    Answer,
    /// Something the API asked for.
    Said,
    /// "Are you still there?"
    Reprompt,
    /// "Sorry, I did not catch that."
    Unclear,
    /// "One moment.", while the model thinks.
    Filler,
    /// A word about a failure.
    Apology,
    /// The last words.
    Goodbye,
    /// The message left on a machine.
    Voicemail,
}

impl Kind {
    /// Whether the model should know that it was said.
    pub(super) fn is_remembered(self) -> bool {
        !matches!(self, Self::Filler | Self::Apology)
    }
}

struct Utterance {
    number: u32,
    text: String,
    sound: Sound,
    played: u64,
    finished: bool,
    /// Why no more of it will be made.
    failed: Option<Failure>,
}

impl Utterance {
    fn heard(&self) -> &str {
        if self.finished && !self.sound.is_empty() { &self.text } else { heard(&self.text, &self.sound, self.played) }
    }
}

struct Act {
    kind: Kind,
    utterances: Vec<Utterance>,
    /// Whether it is a phrase whose sound is kept, and came before what was queued.
    ready: bool,
    /// Whether more utterances may follow.
    open: bool,
    began: Option<Timestamp>,
    ended: Timestamp,
}

/// An act that is over.
pub(super) struct Spoken {
    pub(super) kind: Kind,
    /// What was heard of it.
    pub(super) heard: String,
    pub(super) began: Timestamp,
    pub(super) ended: Timestamp,
    /// Whether some of it was not heard.
    pub(super) cut: bool,
}

/// The queue of acts. Utterances are numbered from 1.
#[derive(Default)]
pub(super) struct Mouth {
    acts: VecDeque<Act>,
    last_number: u32,
    /// When something last moved; meaningful while there is something to say.
    progress: Option<Timestamp>,
}

impl Mouth {
    /// Queues an utterance, in the act that is open or in a new one, and gives its number.
    pub(super) fn add(&mut self, kind: Kind, text: &str, now: Timestamp) -> u32 {
        if self.waiting().is_none() {
            self.progress = Some(now);
        }
        let utterance = self.utterance(text);
        match self.acts.back_mut().filter(|act| act.open && act.kind == kind) {
            Some(act) => act.utterances.push(utterance),
            None => {
                self.acts.push_back(act(kind, utterance, now));
            }
        }
        self.last_number
    }

    /// Puts a phrase whose sound is kept before everything else, and gives the number of its utterance.
    pub(super) fn put_first(&mut self, kind: Kind, text: &str, now: Timestamp) -> u32 {
        if self.waiting().is_none() {
            self.progress = Some(now);
        }
        let utterance = self.utterance(text);
        self.acts.push_front(Act { ready: true, open: false, ..act(kind, utterance, now) });
        self.last_number
    }

    fn utterance(&mut self, text: &str) -> Utterance {
        self.last_number += 1;
        Utterance {
            number: self.last_number,
            text: text.to_owned(),
            sound: Sound::default(),
            played: 0,
            finished: false,
            failed: None,
        }
    }

    /// Nothing more will be added to what was last said.
    pub(super) fn close(&mut self) {
        if let Some(act) = self.acts.back_mut() {
            act.open = false;
        }
    }

    /// Whether nothing is being said and nothing waits to be.
    pub(super) fn is_idle(&self) -> bool {
        self.acts.is_empty()
    }

    /// Whether there is nothing to hear, though more may be added to what was said.
    pub(super) fn is_silent(&self) -> bool {
        self.waiting().is_none()
    }

    /// What is being said, whatever may stand in front of it.
    pub(super) fn current(&self) -> Option<Kind> {
        self.said().map(|act| act.kind)
    }

    fn said(&self) -> Option<&Act> {
        self.acts.iter().find(|act| !act.ready).or(self.acts.front())
    }

    /// Whether everything that was made of what is to be said has been heard, and there should be more.
    pub(super) fn lacks_sound(&self) -> bool {
        let waits = |utterance: &Utterance| {
            !utterance.sound.complete && utterance.sound.made < utterance.played.saturating_add(FRAME)
        };
        let waiting = self.acts.iter().find(|act| act.utterances.iter().any(|utterance| !utterance.finished));
        waiting.is_some_and(|act| !act.ready) && self.waiting().is_some_and(waits)
    }

    /// Why a phrase whose sound is kept is said; nothing for any other utterance.
    pub(super) fn ready_kind(&self, number: u32) -> Option<Kind> {
        let holds = |act: &&Act| act.utterances.iter().any(|utterance| utterance.number == number);
        self.acts.iter().filter(|act| act.ready).find(holds).map(|act| act.kind)
    }

    /// Whether a phrase whose sound is kept is queued or played for this reason.
    pub(super) fn holds_ready(&self, kind: Kind) -> bool {
        self.acts.iter().any(|act| act.ready && act.kind == kind)
    }

    /// Whether one act of this kind is being heard, with all its sound made and nothing behind it.
    pub(super) fn says_only(&self, kind: Kind) -> bool {
        let Some(act) = self.acts.front().filter(|_| self.acts.len() == 1) else { return false };
        let made = act.utterances.iter().all(|utterance| utterance.sound.complete);
        act.kind == kind && !act.open && act.began.is_some() && made
    }

    /// Forgets an act of one utterance that will not be played.
    pub(super) fn forget(&mut self, number: u32) {
        self.acts.retain(|act| !matches!(act.utterances.as_slice(), [only] if only.number == number));
    }

    /// The utterance that is played or waited for.
    fn waiting(&self) -> Option<&Utterance> {
        self.acts.iter().flat_map(|act| &act.utterances).find(|utterance| !utterance.finished)
    }

    /// No more will be made of an utterance. That matters once everything before it was heard.
    pub(super) fn failed(&mut self, number: u32, failure: Failure) {
        if let Some((act, at)) = self.find(number) {
            act.utterances[at].failed = Some(failure);
        }
    }

    /// Why what is to be heard now will not be.
    pub(super) fn take_failure(&mut self) -> Option<Failure> {
        let mut utterances = self.acts.iter_mut().flat_map(|act| &mut act.utterances);
        utterances.find(|utterance| !utterance.finished)?.failed.take()
    }

    /// Whether any of what is being said was heard.
    pub(super) fn was_heard(&self) -> bool {
        self.said().is_some_and(|act| act.began.is_some())
    }

    /// Since when there is no progress, when there should be.
    pub(super) fn stuck_since(&self) -> Option<Timestamp> {
        self.waiting().and(self.progress)
    }

    /// Counts as progress: waiting was wanted until now.
    pub(super) fn go_on(&mut self, now: Timestamp) {
        self.progress = Some(now);
    }

    /// How long it will take to say the rest; nothing while that is not known.
    pub(super) fn remaining(&self) -> Option<Duration> {
        let samples = self.acts.iter().try_fold(0_u64, |sum, act| {
            let rest: Option<u64> = act
                .utterances
                .iter()
                .filter(|utterance| !utterance.finished)
                .map(|utterance| {
                    utterance.sound.complete.then(|| utterance.sound.made.saturating_sub(utterance.played))
                })
                .sum();
            if act.open { None } else { rest.map(|rest| sum.saturating_add(rest)) }
        })?;
        Some(Duration::from_micros(samples.saturating_mul(1_000_000) / SAMPLES_PER_SECOND))
    }

    fn find(&mut self, number: u32) -> Option<(&mut Act, usize)> {
        self.acts.iter_mut().find_map(|act| {
            let at = act.utterances.iter().position(|utterance| utterance.number == number)?;
            Some((act, at))
        })
    }

    /// Sound was made. Says whether it is of something still to be said.
    pub(super) fn made(
        &mut self,
        number: u32,
        samples: u64,
        words: Vec<SpokenWord>,
        complete: bool,
        now: Timestamp,
    ) -> bool {
        let Some((act, at)) = self.find(number) else { return false };
        let sound = &mut act.utterances[at].sound;
        sound.made = sound.made.max(samples);
        sound.complete |= complete;
        sound.words.extend(words);
        self.progress = Some(now);
        true
    }

    /// Sound was heard. Gives the kind of the act when there was something to hear.
    pub(super) fn played(&mut self, number: u32, samples: u64, now: Timestamp) -> Option<Kind> {
        let (act, at) = self.find(number)?;
        let utterance = &mut act.utterances[at];
        if utterance.finished || samples <= utterance.played {
            return None;
        }
        utterance.played = samples;
        act.began.get_or_insert(now);
        act.ended = now;
        let kind = act.kind;
        self.progress = Some(now);
        Some(kind)
    }

    /// All of an utterance was heard, and so was everything before it. Gives the kind of its act.
    pub(super) fn finished(&mut self, number: u32, now: Timestamp) -> Option<Kind> {
        self.find(number)?;
        self.progress = Some(now);
        for act in &mut self.acts {
            for utterance in &mut act.utterances {
                if !std::mem::replace(&mut utterance.finished, true) {
                    act.began.get_or_insert(now);
                    act.ended = now;
                }
                if utterance.number == number {
                    return Some(act.kind);
                }
            }
        }
        None
    }

    /// The next act of which everything was heard.
    pub(super) fn take_finished(&mut self) -> Option<Spoken> {
        let done = self.acts.front().is_some_and(|act| !act.open && act.utterances.iter().all(|u| u.finished));
        if done { self.acts.pop_front().map(|act| over(&act)) } else { None }
    }

    /// Forgets everything that was not heard; gives what was.
    pub(super) fn cut(&mut self) -> Vec<Spoken> {
        self.acts.drain(..).map(|act| over(&act)).collect()
    }
}

fn act(kind: Kind, utterance: Utterance, now: Timestamp) -> Act {
    Act { kind, utterances: vec![utterance], ready: false, open: true, began: None, ended: now }
}

fn over(act: &Act) -> Spoken {
    let heard: Vec<&str> = act.utterances.iter().map(Utterance::heard).filter(|text| !text.is_empty()).collect();
    Spoken {
        kind: act.kind,
        heard: heard.join(" "),
        began: act.began.unwrap_or(act.ended),
        ended: act.ended,
        cut: act.open || act.utterances.iter().any(|utterance| !utterance.finished),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_act_is_over_when_it_is_closed_and_heard() {
        let now = Timestamp::from_millis(0);
        let mut mouth = Mouth::default();
        let first = mouth.add(Kind::Answer, "Yes.", now);
        let second = mouth.add(Kind::Answer, "From ten to four.", now);
        assert!(second > first);
        mouth.made(first, 4_000, Vec::new(), true, now);
        mouth.finished(first, now);
        assert!(mouth.take_finished().is_none());
        mouth.close();
        mouth.made(second, 8_000, Vec::new(), true, now);
        mouth.played(second, 6_000, now);
        assert_eq!(mouth.remaining(), Some(Duration::from_millis(250)));
        let cut = mouth.cut().remove(0);
        assert_eq!((cut.heard.as_str(), cut.cut), ("Yes. From ten to", true)); // 6000 of 8000: 12 of 17 characters.
        assert!(mouth.is_idle() && mouth.played(second, 7_000, now).is_none(), "late marks fall away");
    }
}
