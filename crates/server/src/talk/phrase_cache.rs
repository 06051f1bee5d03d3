//! Cached audio of agents' phrases, for this process: it plays at once, even while the TTS is late or fails.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use switchhook_providers::{Tts, TtsRequest};

use super::voice::{ConfiguredVoice, Rendered};

/// The maximum size of the cache in bytes: an hour of speech.
const MOST_BYTES: usize = 64 << 20;

/// Phrases by the voice that spoke them.
#[derive(Default)]
pub struct PhraseCache(Mutex<Cached>);

#[derive(Default)]
struct Cached {
    /// Least recently used first.
    phrases: VecDeque<(Key, Arc<Rendered>)>,
    bytes: usize,
    making: Vec<Key>,
}

#[derive(Clone)]
struct Key {
    /// A connection that is changed becomes another provider. While this is held, no other has its address.
    provider: Weak<dyn Tts>,
    request: TtsRequest,
}

impl Key {
    fn new((provider, settings): &ConfiguredVoice, text: &str) -> Self {
        Self { provider: Arc::downgrade(provider), request: settings.request(text) }
    }

    fn is(&self, (provider, settings): &ConfiguredVoice, text: &str) -> bool {
        self.request.text == text
            && std::ptr::addr_eq(self.provider.as_ptr(), Arc::as_ptr(provider))
            && self.request == settings.request(text)
    }
}

/// The permit to synthesize a phrase. Dropping it lets others try.
pub struct Making<'p> {
    phrases: &'p PhraseCache,
    voice: &'p ConfiguredVoice,
    text: &'p str,
}

impl PhraseCache {
    /// Returns a cached phrase of this voice.
    #[must_use]
    pub fn find(&self, voice: &ConfiguredVoice, text: &str) -> Option<Arc<Rendered>> {
        let mut cached = self.lock();
        let at = cached.phrases.iter().position(|(key, _)| key.is(voice, text))?;
        let phrase = cached.phrases.remove(at)?;
        let said = phrase.1.clone();
        cached.phrases.push_back(phrase);
        Some(said)
    }

    /// Returns a permit to synthesize a phrase, unless it is cached or being synthesized.
    #[must_use]
    pub fn make<'p>(&'p self, voice: &'p ConfiguredVoice, text: &'p str) -> Option<Making<'p>> {
        let mut cached = self.lock();
        let known = cached.phrases.iter().map(|(key, _)| key).chain(&cached.making).any(|key| key.is(voice, text));
        if known {
            return None;
        }
        cached.making.push(Key::new(voice, text));
        Some(Making { phrases: self, voice, text })
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Cached> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Making<'_> {
    /// Stores the phrase.
    pub fn store(self, said: Rendered) {
        let key = Key::new(self.voice, self.text);
        let mut cached = self.phrases.lock();
        cached.bytes += bytes(&said);
        cached.phrases.push_back((key, Arc::new(said)));
        // A provider that is gone is never used again.
        cached.phrases.retain(|(key, _)| key.provider.strong_count() > 0);
        cached.bytes = cached.phrases.iter().map(|(_, said)| bytes(said)).sum();
        while cached.bytes > MOST_BYTES
            && let Some((_, oldest)) = cached.phrases.pop_front()
        {
            cached.bytes -= bytes(&oldest);
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
    use crate::talk::provider_health::ProviderHealth;
    use crate::talk::voice::TtsSettings;
    use switchhook_media::format::AudioFormat;
    use switchhook_providers::scripted::ScriptedTts;

    fn voice(speed: f32) -> ConfiguredVoice {
        let (language, health) = ("en-US".to_owned(), ProviderHealth::default());
        (
            Arc::new(ScriptedTts),
            TtsSettings { voice: None, model: None, speed, language, format: AudioFormat::Narrowband, health },
        )
    }

    fn said(bytes: usize) -> Rendered {
        Rendered { samples: vec![0; bytes / 2], words: Vec::new() }
    }

    #[test]
    fn a_phrase_is_made_once_for_each_voice() {
        let (phrases, ava) = (PhraseCache::default(), voice(1.0));
        let making = phrases.make(&ava, "One moment.").expect("nobody has said it");
        assert!(phrases.make(&ava, "One moment.").is_none(), "it is being made");
        drop(making);
        phrases.make(&ava, "One moment.").expect("it was given up").store(said(2));
        assert!(phrases.make(&ava, "One moment.").is_none() && phrases.find(&ava, "One moment.").is_some());
        let faster = (ava.0.clone(), voice(1.5).1);
        for other in [faster, voice(1.0)] {
            assert!(phrases.find(&other, "One moment.").is_none(), "another speed, another connection");
        }
    }

    #[test]
    fn least_recently_used_phrases_and_those_of_dropped_voices_are_evicted() {
        let (phrases, ava) = (PhraseCache::default(), voice(1.0));
        let store = |voice: &ConfiguredVoice, text| phrases.make(voice, text).expect("new").store(said(MOST_BYTES / 3));
        for text in ["one", "two", "three"] {
            store(&ava, text);
        }
        assert!(phrases.find(&ava, "one").is_some());
        store(&ava, "four");
        assert!(phrases.find(&ava, "two").is_none());
        assert!(phrases.find(&ava, "one").is_some() && phrases.find(&ava, "four").is_some());
        drop(ava);
        store(&voice(1.0), "five");
        assert_eq!(phrases.lock().phrases.len(), 1);
    }
}
