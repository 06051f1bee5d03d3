//! What is being said on the line: the items of the model, and sentences of the other voice.

use std::collections::VecDeque;
use std::time::Duration;

use super::Realtime;
use super::lines::Spoken;
use super::messages::Effect;
use crate::Timestamp;
use crate::conversation::heard::{Sound, heard};
use crate::conversation::mouth::Kind;

/// Samples in a millisecond of telephone sound.
const SAMPLES_PER_MS: u64 = 8;

/// The longest silence for which the other voice is waited.
const SILENCE: Duration = Duration::from_millis(2_900);
/// How long it may take at least, and when it could not speak the last time.
const VOICE: Duration = Duration::from_millis(500);
const LOST_VOICE: Duration = Duration::from_millis(200);

/// Something that is queued or being heard.
pub(super) struct Utterance {
    number: u32,
    /// Nothing for a sentence of the other voice.
    item: Option<String>,
    response: String,
    kind: Kind,
    text: String,
    sound: Sound,
    played: u64,
    began: Option<Timestamp>,
    ended: Timestamp,
    finished: bool,
}

impl Utterance {
    fn spoken(&self, interrupted: bool) -> Option<Spoken> {
        let began = self.began?;
        // What its last words were is not known before the response is over; it was heard to its end all the same.
        let text = if self.finished { self.text.trim() } else { heard(self.text.trim(), &self.sound, self.played) };
        let interrupted = interrupted && text.len() < self.text.trim().len();
        (!text.is_empty()).then(|| Spoken {
            text: text.to_owned(),
            kind: self.kind,
            start: began,
            end: self.ended,
            interrupted,
        })
    }
}

#[derive(Default)]
pub(super) struct Mouth {
    queue: VecDeque<Utterance>,
    last: u32,
}

impl Mouth {
    pub(super) fn is_idle(&self) -> bool {
        self.queue.is_empty()
    }

    /// Whether nothing can be heard: there is nothing, or its sound has not come.
    pub(super) fn is_silent(&self) -> bool {
        let silent = |head: &Utterance| !head.finished && !head.sound.complete && head.played >= head.sound.made;
        self.queue.front().is_none_or(silent)
    }

    /// The utterance that was queued last.
    #[cfg(test)]
    pub(super) fn last(&self) -> u32 {
        self.last
    }

    /// Whether the model's own sound is queued.
    pub(super) fn holds(&self, kind: Kind) -> bool {
        self.queue.iter().any(|utterance| utterance.kind == kind)
    }

    /// Whether there is nothing but words that bridge a wait.
    pub(super) fn only_bridges(&self) -> bool {
        self.queue.iter().all(|utterance| utterance.kind == Kind::Filler)
    }

    /// Whether words that bridge a wait are being heard, with all their sound made and nothing behind them.
    pub(super) fn says_only_a_bridge(&self) -> bool {
        let head = self.queue.front().filter(|_| self.queue.len() == 1);
        head.is_some_and(|head| head.kind == Kind::Filler && head.began.is_some() && head.sound.complete)
    }

    /// How long the sound that is queued will be heard.
    fn remaining(&self) -> Duration {
        let samples = self.queue.iter().map(|utterance| utterance.sound.made.saturating_sub(utterance.played));
        Duration::from_millis(samples.sum::<u64>() / SAMPLES_PER_MS)
    }

    /// The words of what is queued and not only bridges a wait.
    pub(super) fn remembered(&self) -> impl Iterator<Item = &str> {
        self.queue.iter().filter(|utterance| utterance.kind.is_remembered()).map(|utterance| utterance.text.trim())
    }

    fn find(&mut self, number: u32) -> Option<&mut Utterance> {
        self.queue.iter_mut().find(|utterance| utterance.number == number)
    }

    fn item(&mut self, item: &str) -> Option<&mut Utterance> {
        self.queue.iter_mut().find(|utterance| utterance.item.as_deref() == Some(item))
    }

    fn push(&mut self, item: Option<String>, response: &str, kind: Kind, text: String, now: Timestamp) -> u32 {
        self.last += 1;
        self.queue.push_back(Utterance {
            number: self.last,
            item,
            response: response.to_owned(),
            kind,
            text,
            sound: Sound::default(),
            played: 0,
            began: None,
            ended: now,
            finished: false,
        });
        self.last
    }
}

impl Realtime {
    /// The utterance of an item that belongs to the response under way; nothing when nobody wants it.
    fn utterance(&mut self, response: &str, item: &str) -> Option<&mut Utterance> {
        let running = self.response.as_mut().filter(|running| running.id == response && !running.dead)?;
        running.sounded = true;
        let kind = running.kind;
        if self.mouth.item(item).is_none() {
            self.drop_unheard_cover();
            self.progress = self.now;
            let utterance = self.mouth.push(Some(item.to_owned()), response, kind, String::new(), self.now);
            self.effects.push(Effect::Announce { utterance, item: item.to_owned() });
        }
        self.mouth.item(item)
    }

    pub(super) fn sound(&mut self, response: &str, item: &str, samples: u64) {
        let now = self.now;
        if let Some(utterance) = self.utterance(response, item) {
            utterance.sound.made += samples;
            self.progress = now;
            if let Some(owed) = &mut self.owed {
                owed.first_audio.get_or_insert(now);
            }
            if self.owed.as_ref().is_some_and(|owed| owed.noticed) {
                self.understood();
            }
        }
    }

    pub(super) fn words(&mut self, response: &str, item: &str, text: &str) {
        let now = self.now;
        if let Some(utterance) = self.utterance(response, item) {
            utterance.text.push_str(text);
            if let Some(owed) = &mut self.owed {
                owed.first_token.get_or_insert(now);
            }
        }
    }

    pub(super) fn sound_done(&mut self, item: &str) {
        if let Some(utterance) = self.mouth.item(item).filter(|utterance| !utterance.sound.complete) {
            utterance.sound.complete = true;
            let utterance = utterance.number;
            self.effects.push(Effect::Complete { utterance });
        }
    }

    /// A response is over: so is the sound of its items. Of one that broke off the words may be further than the sound.
    pub(super) fn complete_items(&mut self, response: &str, broke_off: bool) {
        let mut done = Vec::new();
        for utterance in self.mouth.queue.iter_mut().filter(|utterance| utterance.response == response) {
            if utterance.item.is_some() && !utterance.sound.complete {
                if broke_off {
                    let sounded = heard(utterance.text.trim(), &utterance.sound, utterance.sound.made).to_owned();
                    utterance.text = sounded;
                }
                utterance.sound.complete = true;
                done.push(Effect::Complete { utterance: utterance.number });
            }
        }
        self.effects.extend(done);
    }

    /// No session knows the items that are queued.
    pub(super) fn disown_items(&mut self) {
        for utterance in &mut self.mouth.queue {
            utterance.item = None;
        }
    }

    /// Has the other voice speak; it gives a tone in place of an empty text.
    pub(super) fn cover(&mut self, kind: Kind, text: &str) {
        self.progress = self.now;
        let before = self.mouth.remaining();
        let utterance = self.mouth.push(None, "", kind, text.to_owned(), self.now);
        let left = (self.quiet.anybody() + SILENCE).since(self.now);
        let patience = before + if self.voiceless { LOST_VOICE } else { left.max(VOICE) };
        self.effects.push(Effect::Cover { utterance, text: text.to_owned(), patience });
    }

    pub(super) fn cover_ready(&mut self, utterance: u32, samples: u64, complete: bool) {
        if let Some(utterance) = self.mouth.find(utterance) {
            utterance.sound.made = samples;
            utterance.sound.complete |= complete;
            self.progress = self.now;
            self.voiceless = false;
        }
    }

    /// A tone says as much as that somebody is there, and is not written down.
    pub(super) fn cover_failed(&mut self, utterance: u32, samples: u64) {
        self.voiceless |= self.mouth.find(utterance).is_none_or(|utterance| !utterance.text.is_empty());
        if samples == 0 {
            self.mouth.queue.retain(|other| other.number != utterance);
        } else if let Some(utterance) = self.mouth.find(utterance) {
            utterance.text.clear();
            utterance.sound = Sound { made: samples, complete: true, ..Sound::default() };
            self.progress = self.now;
        }
    }

    /// The answer is here before the word that was to bridge the wait for it.
    fn drop_unheard_cover(&mut self) {
        let unheard = |utterance: &Utterance| utterance.kind == Kind::Filler && utterance.began.is_none();
        if !self.mouth.queue.is_empty() && self.mouth.queue.iter().all(unheard) {
            self.mouth.queue.clear();
            self.effects.push(Effect::ClearPlayback);
        }
    }

    pub(super) fn played(&mut self, number: u32, samples: u64) {
        let now = self.now;
        self.progress = now;
        let Some(utterance) = self.mouth.find(number) else { return };
        utterance.played = samples;
        utterance.ended = now;
        let (kind, first) = (utterance.kind, utterance.began.is_none());
        utterance.began.get_or_insert(now);
        if first && kind != Kind::Filler {
            self.answer_is_heard();
        }
    }

    pub(super) fn finished(&mut self, number: u32) {
        let Some(utterance) = self.mouth.find(number) else { return };
        let made = utterance.sound.made;
        utterance.finished = true;
        if made > 0 {
            self.played(number, made);
        }
    }

    /// What was heard to its end is written down, once nothing can be added to its words.
    pub(super) fn file_what_was_heard(&mut self) -> bool {
        let running = self.response.as_ref().map(|response| response.id.as_str());
        let done =
            self.mouth.queue.front().is_some_and(|head| head.finished && Some(head.response.as_str()) != running);
        let Some(utterance) = self.mouth.queue.pop_front_if(|_| done) else { return false };
        self.agent_fell_silent(utterance.kind, utterance.ended);
        if let Some(spoken) = utterance.spoken(false) {
            self.file(spoken);
        }
        true
    }

    /// Falls silent in mid-word. The model is told how much of it was heard.
    pub(super) fn cut(&mut self) {
        if self.mouth.is_idle() {
            return;
        }
        for utterance in std::mem::take(&mut self.mouth.queue) {
            if let Some(spoken) = utterance.spoken(true) {
                self.file(spoken);
            }
            let all = utterance.finished || (utterance.sound.complete && utterance.played >= utterance.sound.made);
            if let Some(item) = utterance.item.filter(|_| !all) {
                // More than was made would be refused.
                let heard_ms = utterance.played.min(utterance.sound.made) / SAMPLES_PER_MS;
                self.effects.push(Effect::Truncate { item, heard_ms });
            }
        }
        self.effects.push(Effect::ClearPlayback);
        self.agent_fell_silent(Kind::Answer, self.now);
    }
}
