//! Recently synthesized phrases: greetings, questions and prompts are the same in every call.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use switchhook_core::conversation::SpokenWord;
use switchhook_media::format::AudioFormat;

use crate::TtsRequest;

/// The cache limit, in samples: about twelve minutes of telephone audio in 12 MB.
const MAX_CACHED_SAMPLES: usize = 6_000_000;

/// A synthesized phrase in the format of a call.
pub(super) struct Utterance {
    pub(super) samples: Vec<i16>,
    pub(super) words: Vec<SpokenWord>,
}

/// The phrases cached in this process.
#[derive(Default)]
pub(super) struct PhraseCache(Mutex<CachedPhrases>);

#[derive(Default)]
struct CachedPhrases {
    /// Least recently used first.
    phrases: VecDeque<Phrase>,
    samples: usize,
}

struct Phrase {
    text: String,
    speed: u32,
    format: AudioFormat,
    utterance: Arc<Utterance>,
}

impl Phrase {
    fn is(&self, request: &TtsRequest) -> bool {
        self.text == request.text && self.speed == request.speed.to_bits() && self.format == request.format
    }
}

impl PhraseCache {
    pub(super) fn find(&self, request: &TtsRequest) -> Option<Arc<Utterance>> {
        let mut cache = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let index = cache.phrases.iter().position(|phrase| phrase.is(request))?;
        let phrase = cache.phrases.remove(index)?;
        let utterance = Arc::clone(&phrase.utterance);
        cache.phrases.push_back(phrase);
        Some(utterance)
    }

    pub(super) fn keep(&self, request: &TtsRequest, utterance: &Arc<Utterance>) {
        let mut cache = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        cache.samples += utterance.samples.len();
        cache.phrases.push_back(Phrase {
            text: request.text.clone(),
            speed: request.speed.to_bits(),
            format: request.format,
            utterance: Arc::clone(utterance),
        });
        while cache.samples > MAX_CACHED_SAMPLES
            && let Some(oldest) = cache.phrases.pop_front()
        {
            cache.samples -= oldest.utterance.samples.len();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_not_said_for_longest_is_forgotten_first() {
        let phrases = PhraseCache::default();
        let third = Arc::new(Utterance { samples: vec![0; MAX_CACHED_SAMPLES / 3], words: Vec::new() });
        let request = |text: &str| TtsRequest {
            text: text.to_owned(),
            voice: None,
            model: None,
            speed: 1.0,
            language: String::new(),
            format: AudioFormat::Narrowband,
        };
        for text in ["one", "two", "three"] {
            phrases.keep(&request(text), &third);
        }
        assert!(phrases.find(&request("one")).is_some());
        phrases.keep(&request("four"), &third);
        assert!(phrases.find(&request("two")).is_none());
        assert!(phrases.find(&request("one")).is_some() && phrases.find(&request("four")).is_some());
        let faster = TtsRequest { speed: 1.5, ..request("one") };
        let wider = TtsRequest { format: AudioFormat::Wideband, ..request("one") };
        assert!(phrases.find(&faster).is_none() && phrases.find(&wider).is_none(), "others are other phrases");
    }
}
