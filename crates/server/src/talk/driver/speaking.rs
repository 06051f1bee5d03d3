//! What the agent says: made by a voice little by little, or from memory.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use switchhook_core::conversation::{Failure, FailureCode, Input};
use switchhook_media::frame::SAMPLE_RATE;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::{Driver, Inputs, failure};
use crate::providers::TtsAudio;
use crate::talk::pipeline::{Request, Signal};
use crate::talk::playback::Playback;

/// How much a call asks of a voice at a time. Plans of providers begin at two, and a server of one's own speaks one after the other.
const AT_A_TIME: usize = 2;
/// With more sound than this in front of it, in samples, a sentence is not begun: interrupted callers hear none of it, and it
/// would be paid for.
const ENOUGH: u64 = 4 * SAMPLE_RATE as u64;

/// Utterances on their way to the caller.
pub(super) struct Speech {
    waiting: Waiting,
    making: HashMap<u32, Making>,
    pub(super) places: Arc<Semaphore>,
}

/// An utterance in the making.
struct Making {
    saying: Request,
    /// Its place at the voice; a greeting may have had none.
    _place: Option<OwnedSemaphorePermit>,
}

impl Speech {
    pub(super) fn new() -> Self {
        let (waiting, making) = (Waiting::default(), HashMap::new());
        Self { waiting, making, places: Arc::new(Semaphore::new(AT_A_TIME)) }
    }
}

/// What is to be said and was not begun, in order.
#[derive(Default)]
struct Waiting {
    texts: VecDeque<(u32, String)>,
    /// Something before it cannot be said: it will be cleared.
    in_vain: bool,
}

impl Waiting {
    fn push(&mut self, utterance: u32, text: String) {
        self.texts.push_back((utterance, text));
    }

    /// Whether the next is to be begun.
    fn is_due(&self, playback: &Playback) -> bool {
        let next = self.texts.front().filter(|_| !self.in_vain);
        next.is_some_and(|(utterance, _)| playback.ahead_of(*utterance) <= ENOUGH)
    }

    fn take(&mut self) -> Option<(u32, String)> {
        self.texts.pop_front()
    }

    /// Nothing that waits or will wait is heard, until all is cleared.
    fn give_up(&mut self) {
        self.in_vain = true;
    }

    fn clear(&mut self) {
        *self = Self::default();
    }
}

impl Driver {
    /// Has something said; what the engine is to be told at once comes back.
    pub(super) fn speak(&mut self, utterance: u32, text: String, ready_only: bool) -> Option<Input> {
        if let Some(said) = self.pipeline.kept(&text) {
            let playback = &mut self.handset.playback;
            if ready_only {
                playback.announce_first(utterance);
            } else {
                playback.announce(utterance);
            }
            playback.push(utterance, &said.samples);
            let samples = playback.complete(utterance);
            return Some(Input::SpeechReady { utterance, samples, words: said.words.clone(), complete: true });
        }
        if ready_only {
            let failure = Failure::new(FailureCode::ProviderTimeout, "This was never said before.");
            return Some(Input::SpeechFailed { utterance, failure });
        }
        self.handset.playback.announce(utterance);
        match self.greeting.take_if(|greeting| greeting.text == text) {
            Some(greeting) => {
                let saying = greeting.say(utterance, self.signals.0.clone());
                let place = self.speech.places.clone().try_acquire_owned().ok();
                self.speech.making.insert(utterance, Making { saying, _place: place });
            }
            None => self.speech.waiting.push(utterance, text),
        }
        None
    }

    /// Begins what is to be heard soon.
    pub(super) fn begin_speaking(&mut self) {
        while self.speech.waiting.is_due(&self.handset.playback)
            && let Ok(place) = self.speech.places.clone().try_acquire_owned()
            && let Some((utterance, text)) = self.speech.waiting.take()
        {
            let saying = self.pipeline.speak(utterance, text, self.signals.0.clone());
            self.speech.making.insert(utterance, Making { saying, _place: Some(place) });
        }
    }

    pub(super) fn spoken(&mut self, utterance: u32, signal: Signal<TtsAudio>) -> Inputs {
        if !self.speech.making.contains_key(&utterance) {
            return Inputs::new(); // It was cleared while this was on its way.
        }
        vec![match signal {
            Signal::Piece(audio) => {
                let samples = self.handset.playback.push(utterance, &audio.samples);
                Input::SpeechReady { utterance, samples, words: audio.words, complete: false }
            }
            Signal::Done(usage) => {
                self.add(usage);
                self.speech.making.remove(&utterance);
                let samples = self.handset.playback.complete(utterance);
                Input::SpeechReady { utterance, samples, words: Vec::new(), complete: true }
            }
            Signal::Failed(error) => {
                if let Some(failed) = self.speech.making.remove(&utterance) {
                    self.add(failed.saying.cost(0));
                }
                self.speech.waiting.give_up();
                self.handset.playback.withhold(utterance);
                Input::SpeechFailed { utterance, failure: failure(&error) }
            }
        }]
    }

    /// Nothing of what is being made is wanted any more. It was sent and is charged all the same.
    pub(super) fn stop_speaking(&mut self) {
        self.speech.waiting.clear();
        let making: Vec<Making> = self.speech.making.drain().map(|(_, making)| making).collect();
        for stopped in making {
            self.add(stopped.saying.cost(0));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Begins what is due, and tells which.
    fn begun(waiting: &mut Waiting, playback: &Playback) -> Vec<u32> {
        let mut begun = Vec::new();
        while waiting.is_due(playback)
            && let Some((utterance, _)) = waiting.take()
        {
            begun.push(utterance);
        }
        begun
    }

    fn seconds(seconds: u32) -> Vec<i16> {
        vec![0; (seconds * SAMPLE_RATE) as usize]
    }

    #[test]
    fn no_sentence_is_begun_while_there_is_enough_to_hear_before_it() {
        let (mut waiting, mut playback) = (Waiting::default(), Playback::default());
        for utterance in 1..=4 {
            playback.announce(utterance);
            waiting.push(utterance, "We are open until nine.".to_owned());
        }
        playback.push(1, &seconds(5));
        assert_eq!(waiting.take().map(|(first, _)| first), Some(1));
        assert!(begun(&mut waiting, &playback).is_empty());
        for _ in 0..50 {
            playback.next_frame();
        }
        assert_eq!(waiting.take().map(|(second, _)| second), Some(2), "four seconds are left");
        playback.push(2, &seconds(1));
        assert!(begun(&mut waiting, &playback).is_empty());
        playback.clear();
        assert_eq!(begun(&mut waiting, &playback), [3, 4], "nothing is heard before them");
    }

    #[test]
    fn nothing_is_begun_behind_what_cannot_be_said_until_all_is_cleared() {
        let (mut waiting, playback) = (Waiting::default(), Playback::default());
        waiting.give_up();
        waiting.push(1, "We are open until nine.".to_owned());
        assert!(begun(&mut waiting, &playback).is_empty());
        waiting.clear();
        waiting.push(2, "Sorry.".to_owned());
        assert_eq!(begun(&mut waiting, &playback), [2]);
    }
}
