//! The playback ledger: what was queued for the caller, how much of it was synthesized, played and heard.

mod items;
#[cfg(test)]
mod tests;

use std::collections::VecDeque;
use std::time::Duration;

use super::failure::Failure;
use super::heard::SpokenWord;
use super::heard::{Audio, heard};
use crate::Timestamp;

/// The length of the frames in which audio is played.
pub(super) const FRAME: Duration = Duration::from_millis(20);

/// Why something is said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// The greeting at the start of the call.
    Greeting,
    /// The model's response to the caller.
    Response,
    /// Requested through the API.
    Said,
    /// "Are you still there?"
    Reprompt,
    /// "Sorry, I did not catch that."
    Unclear,
    /// "One moment.", while the caller waits.
    Filler,
    /// An apology for a failure.
    Apology,
    /// The goodbye.
    Goodbye,
    /// The message left on an answering machine.
    Voicemail,
}

impl Kind {
    /// Returns whether it belongs in the history that the model sees.
    pub(super) fn is_remembered(self) -> bool {
        !matches!(self, Self::Filler | Self::Apology)
    }
}

struct Utterance {
    number: u32,
    text: String,
    audio: Audio,
    played: Duration,
    finished: bool,
    /// Why the rest of it will not be synthesized.
    failed: Option<Failure>,
}

impl Utterance {
    fn new(number: u32, text: &str) -> Self {
        let (audio, played) = (Audio::default(), Duration::ZERO);
        Self { number, text: text.to_owned(), audio, played, finished: false, failed: None }
    }

    fn heard(&self) -> &str {
        let text = self.text.trim();
        if self.finished && !self.audio.is_empty() { text } else { heard(text, &self.audio, self.played) }
    }

    /// Returns whether all of it was heard.
    fn is_whole(&self) -> bool {
        self.finished || (self.audio.complete && self.played >= self.audio.made)
    }

    fn remaining(&self) -> Duration {
        self.audio.made.saturating_sub(self.played)
    }
}

/// An item of a speech-to-speech session.
struct Item {
    /// Its id; `None` once the session that knows it is gone.
    id: Option<String>,
    response: String,
}

/// Utterances that form one line of the transcript.
struct Response {
    kind: Kind,
    utterances: Vec<Utterance>,
    item: Option<Item>,
    /// Whether it is a cached phrase that was put at the head of the queue.
    cached: bool,
    /// Whether more utterances may be added.
    open: bool,
    began: Option<Timestamp>,
    ended: Timestamp,
}

impl Response {
    fn new(kind: Kind, utterance: Utterance, now: Timestamp) -> Self {
        Self { kind, utterances: vec![utterance], item: None, cached: false, open: true, began: None, ended: now }
    }

    fn holds(&self, number: u32) -> bool {
        self.utterances.iter().any(|utterance| utterance.number == number)
    }

    fn is_finished(&self) -> bool {
        self.utterances.iter().all(|utterance| utterance.finished)
    }

    fn into_played(self) -> Played {
        let heard: Vec<&str> = self.utterances.iter().map(Utterance::heard).filter(|text| !text.is_empty()).collect();
        let whole = |utterance: &Utterance| utterance.finished || utterance.heard() == utterance.text.trim();
        Played {
            kind: self.kind,
            text: heard.join(" "),
            began: self.began.unwrap_or(self.ended),
            ended: self.ended,
            interrupted: (self.open && self.item.is_none()) || !self.utterances.iter().all(whole),
        }
    }
}

/// The part of a finished response that the caller heard.
pub(super) struct Played {
    pub(super) kind: Kind,
    pub(super) text: String,
    pub(super) began: Timestamp,
    pub(super) ended: Timestamp,
    /// Whether some of it was not heard.
    pub(super) interrupted: bool,
}

/// An item of a session of which the caller heard only the first part.
pub(super) struct Truncated {
    pub(super) item: String,
    pub(super) heard: Duration,
}

/// The playback queue. Utterances are numbered from 1.
#[derive(Default)]
pub(super) struct PlaybackLedger {
    queue: VecDeque<Response>,
    last_number: u32,
    /// When anything last progressed; meaningful while something is queued.
    progress: Option<Timestamp>,
}

impl PlaybackLedger {
    /// Queues an utterance, in the open response of its kind or in a new one, and returns its number.
    pub(super) fn add(&mut self, kind: Kind, text: &str, now: Timestamp) -> u32 {
        let utterance = self.utterance(text, now);
        match self.queue.back_mut().filter(|last| last.open && last.item.is_none() && last.kind == kind) {
            Some(response) => response.utterances.push(utterance),
            None => self.queue.push_back(Response::new(kind, utterance, now)),
        }
        self.last_number
    }

    /// Puts a cached phrase at the head of the queue, and returns the number of its utterance.
    pub(super) fn add_cached(&mut self, kind: Kind, text: &str, now: Timestamp) -> u32 {
        let utterance = self.utterance(text, now);
        self.queue.push_front(Response { cached: true, open: false, ..Response::new(kind, utterance, now) });
        self.last_number
    }

    /// Queues an item of a speech-to-speech session, whose text follows, and returns the number of its utterance.
    pub(super) fn add_item(&mut self, kind: Kind, response: &str, id: &str, now: Timestamp) -> u32 {
        let utterance = self.utterance("", now);
        let item = Item { id: Some(id.to_owned()), response: response.to_owned() };
        self.queue.push_back(Response { item: Some(item), ..Response::new(kind, utterance, now) });
        self.last_number
    }

    fn utterance(&mut self, text: &str, now: Timestamp) -> Utterance {
        if self.waiting().is_none() {
            self.progress = Some(now);
        }
        self.last_number += 1;
        Utterance::new(self.last_number, text)
    }

    /// Closes the last response: nothing more is added to it.
    pub(super) fn close(&mut self) {
        if let Some(response) = self.queue.back_mut() {
            response.open = false;
        }
    }

    /// Returns the number of the last utterance.
    #[cfg(test)]
    pub(super) fn last(&self) -> u32 {
        self.last_number
    }

    /// Returns whether nothing is queued.
    pub(super) fn is_idle(&self) -> bool {
        self.queue.is_empty()
    }

    /// Returns whether everything queued was heard, though more may be added to it.
    pub(super) fn is_silent(&self) -> bool {
        self.waiting().is_none()
    }

    /// Returns whether nothing can be heard now: nothing is queued, or its audio has not arrived.
    pub(super) fn is_starved(&self) -> bool {
        let starved = |utterance: &Utterance| !utterance.audio.complete && utterance.remaining().is_zero();
        self.queue.front().is_none_or(|head| head.utterances.iter().find(|next| !next.finished).is_some_and(starved))
    }

    /// Returns whether playback has used up the audio of the current utterance and more is due.
    pub(super) fn lacks_audio(&self) -> bool {
        let lacks = |utterance: &Utterance| {
            !utterance.audio.complete && utterance.audio.made < utterance.played.saturating_add(FRAME)
        };
        let next = self.queue.iter().find(|response| !response.is_finished());
        next.is_some_and(|response| !response.cached) && self.waiting().is_some_and(lacks)
    }

    /// Returns the kind of what is being said, skipping a cached phrase before it.
    pub(super) fn current(&self) -> Option<Kind> {
        self.said().map(|response| response.kind)
    }

    fn said(&self) -> Option<&Response> {
        self.queue.iter().find(|response| !response.cached).or(self.queue.front())
    }

    /// Returns whether any of what is being said was heard.
    pub(super) fn was_heard(&self) -> bool {
        self.said().is_some_and(|response| response.began.is_some())
    }

    /// Returns whether something of this kind is queued.
    pub(super) fn contains(&self, kind: Kind) -> bool {
        self.queue.iter().any(|response| response.kind == kind)
    }

    /// Returns whether nothing but this kind is queued.
    pub(super) fn contains_only(&self, kind: Kind) -> bool {
        self.queue.iter().all(|response| response.kind == kind)
    }

    /// Returns whether one response of this kind is being heard, with all its audio available and nothing queued after it.
    pub(super) fn is_playing_only(&self, kind: Kind) -> bool {
        let Some(head) = self.queue.front().filter(|_| self.queue.len() == 1) else { return false };
        let complete = head.utterances.iter().all(|utterance| utterance.audio.complete);
        head.kind == kind && !head.open && head.began.is_some() && complete
    }

    /// Returns the kind of a cached phrase; `None` for any other utterance.
    pub(super) fn cached_kind(&self, number: u32) -> Option<Kind> {
        self.queue.iter().find(|response| response.cached && response.holds(number)).map(|response| response.kind)
    }

    /// Returns whether a cached phrase of this kind is queued.
    pub(super) fn contains_cached(&self, kind: Kind) -> bool {
        self.queue.iter().any(|response| response.cached && response.kind == kind)
    }

    /// Returns the queued texts that belong in the history.
    pub(super) fn remembered(&self) -> impl Iterator<Item = &str> {
        let remembered = self.queue.iter().filter(|response| response.kind.is_remembered());
        remembered.flat_map(|response| &response.utterances).map(|utterance| utterance.text.trim())
    }

    /// Drops a response of one utterance that will not be played.
    pub(super) fn forget(&mut self, number: u32) {
        self.queue.retain(|response| !matches!(response.utterances.as_slice(), [only] if only.number == number));
    }

    /// Drops unheard fillers if nothing else is queued. Returns whether there were any.
    pub(super) fn drop_unheard_fillers(&mut self) -> bool {
        let unheard = |response: &Response| response.kind == Kind::Filler && response.began.is_none();
        let drop = !self.queue.is_empty() && self.queue.iter().all(unheard);
        if drop {
            self.queue.clear();
        }
        drop
    }

    /// Returns the utterance that is being played or awaited.
    fn waiting(&self) -> Option<&Utterance> {
        self.queue.iter().flat_map(|response| &response.utterances).find(|utterance| !utterance.finished)
    }

    fn find(&mut self, number: u32) -> Option<(&mut Response, usize)> {
        self.queue.iter_mut().find_map(|response| {
            let at = response.utterances.iter().position(|utterance| utterance.number == number)?;
            Some((response, at))
        })
    }

    /// Records that the rest of an utterance will not be synthesized. This matters once everything before it was heard.
    pub(super) fn failed(&mut self, number: u32, failure: Failure) {
        if let Some((response, at)) = self.find(number) {
            response.utterances[at].failed = Some(failure);
        }
    }

    /// Takes the failure of the utterance that should be heard now.
    pub(super) fn take_failure(&mut self) -> Option<Failure> {
        let mut utterances = self.queue.iter_mut().flat_map(|response| &mut response.utterances);
        utterances.find(|utterance| !utterance.finished)?.failed.take()
    }

    /// Returns since when nothing has progressed that should have.
    pub(super) fn stuck_since(&self) -> Option<Timestamp> {
        self.waiting().and(self.progress)
    }

    /// Returns when anything last progressed.
    pub(super) fn progress(&self) -> Option<Timestamp> {
        self.progress
    }

    /// Counts as progress: the wait until now was intended.
    pub(super) fn touch(&mut self, now: Timestamp) {
        self.progress = Some(now);
    }

    /// Returns how long the rest takes to play; `None` while unknown.
    pub(super) fn remaining(&self) -> Option<Duration> {
        self.queue.iter().try_fold(Duration::ZERO, |sum, response| {
            let unfinished = response.utterances.iter().filter(|utterance| !utterance.finished);
            let rest: Option<Duration> =
                unfinished.map(|utterance| utterance.audio.complete.then(|| utterance.remaining())).sum();
            if response.open { None } else { rest.map(|rest| sum.saturating_add(rest)) }
        })
    }

    /// Returns how much audio is queued.
    pub(super) fn queued(&self) -> Duration {
        self.queue.iter().flat_map(|response| &response.utterances).map(Utterance::remaining).sum()
    }

    /// Records how much of an utterance was synthesized in total. Returns whether the utterance is still queued.
    pub(super) fn made(
        &mut self,
        number: u32,
        audio: Duration,
        words: Vec<SpokenWord>,
        complete: bool,
        now: Timestamp,
    ) -> bool {
        let Some((response, at)) = self.find(number) else { return false };
        let known = &mut response.utterances[at].audio;
        known.made = known.made.max(audio);
        known.complete |= complete;
        known.words.extend(words);
        self.progress = Some(now);
        true
    }

    /// Replaces an utterance by a tone, so that its text is not heard. Returns whether it had any text, or is no longer queued.
    pub(super) fn replaced_by_tone(&mut self, number: u32, audio: Duration, now: Timestamp) -> bool {
        let Some((response, at)) = self.find(number) else { return true };
        let utterance = &mut response.utterances[at];
        let words = !std::mem::take(&mut utterance.text).is_empty();
        utterance.audio = Audio { made: audio, complete: true, words: Vec::new() };
        self.progress = Some(now);
        words
    }

    /// Records how much of an utterance was heard. If that is progress, returns the kind and whether it was the first audio of its response.
    pub(super) fn played(&mut self, number: u32, audio: Duration, now: Timestamp) -> Option<(Kind, bool)> {
        let (response, at) = self.find(number)?;
        let utterance = &mut response.utterances[at];
        if utterance.finished || audio <= utterance.played {
            return None;
        }
        utterance.played = audio;
        let first = response.began.is_none();
        response.began.get_or_insert(now);
        response.ended = now;
        let kind = response.kind;
        self.progress = Some(now);
        Some((kind, first))
    }

    /// Records that all of an utterance was heard, and everything before it. Returns the kind, and whether that was the first audio of its response.
    pub(super) fn finished(&mut self, number: u32, now: Timestamp) -> Option<(Kind, bool)> {
        self.find(number)?;
        self.progress = Some(now);
        for response in &mut self.queue {
            let first = response.began.is_none();
            for utterance in &mut response.utterances {
                if !std::mem::replace(&mut utterance.finished, true) {
                    response.began.get_or_insert(now);
                    response.ended = now;
                }
                if utterance.number == number {
                    return Some((response.kind, first && !utterance.audio.is_empty()));
                }
            }
        }
        None
    }

    /// Takes the next response that was heard in full.
    pub(super) fn take_finished(&mut self) -> Option<Played> {
        let done = |head: &mut Response| !head.open && head.is_finished();
        self.queue.pop_front_if(done).map(Response::into_played)
    }

    /// Drops everything that was not heard. Returns what was heard, and the items that were not heard in full.
    pub(super) fn cut(&mut self) -> (Vec<Played>, Vec<Truncated>) {
        let mut truncated = Vec::new();
        let mut played = Vec::new();
        for response in self.queue.drain(..) {
            let id = response.item.as_ref().and_then(|item| item.id.clone());
            if let (Some(item), [utterance]) = (id, response.utterances.as_slice())
                && !utterance.is_whole()
            {
                // Truncating beyond the end of an item would be refused.
                truncated.push(Truncated { item, heard: utterance.played.min(utterance.audio.made) });
            }
            played.push(response.into_played());
        }
        (played, truncated)
    }
}
