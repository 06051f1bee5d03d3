//! Phrases of agents whose sound is kept in this process: they are heard at once, also while the voice is late or fails.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use super::pipeline::{Rendered, TtsSettings};
use crate::providers::{Tts, TtsRequest};

/// What is kept at most, in bytes: an hour of speech.
const MOST_BYTES: usize = 64 << 20;

/// A provider's voice, and how it speaks.
pub type Voice = (Arc<dyn Tts>, TtsSettings);

/// What was said by which voice.
#[derive(Default)]
pub struct Phrases(Mutex<Kept>);

#[derive(Default)]
struct Kept {
    /// Least lately used first.
    phrases: VecDeque<(Key, Arc<Rendered>)>,
    bytes: usize,
    making: Vec<Key>,
}

#[derive(Clone)]
struct Key {
    /// A connection that is changed becomes another provider. As long as this is held, no other has its address.
    provider: Weak<dyn Tts>,
    request: TtsRequest,
}

impl Key {
    fn new((provider, settings): &Voice, text: &str) -> Self {
        Self { provider: Arc::downgrade(provider), request: settings.request(text) }
    }

    fn is(&self, (provider, settings): &Voice, text: &str) -> bool {
        self.request.text == text
            && std::ptr::addr_eq(self.provider.as_ptr(), Arc::as_ptr(provider))
            && self.request == settings.request(text)
    }
}

/// A phrase is being spoken into memory. Dropping this lets others try.
pub struct Making<'p> {
    phrases: &'p Phrases,
    voice: &'p Voice,
    text: &'p str,
}

impl Phrases {
    /// What this voice has said.
    #[must_use]
    pub fn find(&self, voice: &Voice, text: &str) -> Option<Arc<Rendered>> {
        let mut kept = self.lock();
        let at = kept.phrases.iter().position(|(key, _)| key.is(voice, text))?;
        let phrase = kept.phrases.remove(at)?;
        let said = phrase.1.clone();
        kept.phrases.push_back(phrase);
        Some(said)
    }

    /// Begins to make what is not there and not being made.
    #[must_use]
    pub fn make<'p>(&'p self, voice: &'p Voice, text: &'p str) -> Option<Making<'p>> {
        let mut kept = self.lock();
        let known = kept.phrases.iter().map(|(key, _)| key).chain(&kept.making).any(|key| key.is(voice, text));
        if known {
            return None;
        }
        kept.making.push(Key::new(voice, text));
        Some(Making { phrases: self, voice, text })
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Kept> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Making<'_> {
    /// Keeps what was said.
    pub fn keep(self, said: Rendered) {
        let key = Key::new(self.voice, self.text);
        let mut kept = self.phrases.lock();
        kept.bytes += bytes(&said);
        kept.phrases.push_back((key, Arc::new(said)));
        // Nobody speaks by a provider again that is gone.
        kept.phrases.retain(|(key, _)| key.provider.strong_count() > 0);
        kept.bytes = kept.phrases.iter().map(|(_, said)| bytes(said)).sum();
        while kept.bytes > MOST_BYTES
            && let Some((_, oldest)) = kept.phrases.pop_front()
        {
            kept.bytes -= bytes(&oldest);
        }
    }
}

impl Drop for Making<'_> {
    fn drop(&mut self) {
        self.phrases.lock().making.retain(|key| !key.is(self.voice, self.text));
    }
}

fn bytes(said: &Rendered) -> usize {
    said.samples.len() * size_of::<i16>()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::providers::scripted::ScriptedTts;
    use crate::talk::pipeline::Proven;

    fn voice(speed: f32) -> Voice {
        let (language, proven) = ("en-US".to_owned(), Proven::default());
        (Arc::new(ScriptedTts), TtsSettings { voice: None, model: None, speed, language, proven })
    }

    fn said(bytes: usize) -> Rendered {
        Rendered { samples: vec![0; bytes / 2], words: Vec::new() }
    }

    #[test]
    fn a_phrase_is_made_once_for_each_voice() {
        let (phrases, ava) = (Phrases::default(), voice(1.0));
        let making = phrases.make(&ava, "One moment.").expect("nobody has said it");
        assert!(phrases.make(&ava, "One moment.").is_none(), "it is being made");
        drop(making);
        phrases.make(&ava, "One moment.").expect("it was given up").keep(said(2));
        assert!(phrases.make(&ava, "One moment.").is_none() && phrases.find(&ava, "One moment.").is_some());
        let faster = (ava.0.clone(), voice(1.5).1);
        for other in [faster, voice(1.0)] {
            assert!(phrases.find(&other, "One moment.").is_none(), "another speed, another connection");
        }
    }

    #[test]
    fn what_was_not_used_for_longest_is_forgotten_first_and_what_belongs_to_nobody_at_once() {
        let (phrases, ava) = (Phrases::default(), voice(1.0));
        let keep = |voice: &Voice, text| phrases.make(voice, text).expect("new").keep(said(MOST_BYTES / 3));
        for text in ["one", "two", "three"] {
            keep(&ava, text);
        }
        assert!(phrases.find(&ava, "one").is_some());
        keep(&ava, "four");
        assert!(phrases.find(&ava, "two").is_none());
        assert!(phrases.find(&ava, "one").is_some() && phrases.find(&ava, "four").is_some());
        drop(ava);
        keep(&voice(1.0), "five");
        assert_eq!(phrases.lock().phrases.len(), 1);
    }
}
