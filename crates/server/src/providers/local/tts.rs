//! hibari as a provider.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use switchhook_core::conversation::SpokenWord;
use switchhook_media::resample::Resampler;
use switchhook_media::{frame, level};
use switchhook_speech::hibari::{self, Hibari, Speech};
use switchhook_speech::{Cancel, Job, SpeechError};
use tokio::sync::mpsc;

use super::shared::{LocalSpeech, check_language, english_only, failed};
use crate::providers::{ProviderError, Tts, TtsAudio, TtsRequest, Usage, is_english};

/// Samples sent at once: one second.
const PIECE: usize = frame::SAMPLE_RATE as usize;
/// The cache limit, in samples: about twelve minutes in 12 MB.
const MAX_CACHED_SAMPLES: usize = 6_000_000;
/// Samples in a millisecond.
const PER_MS: usize = frame::SAMPLE_RATE as usize / 1_000;
/// Silence is looked for in pieces of 5 ms.
const LOOK: usize = 5 * PER_MS;
/// Quieter pieces at the ends are silence.
const SILENT_DBFS: f32 = -55.0;
/// Silence that is kept in front, for soft onsets, and behind, as the pause after a sentence.
const LEAD: usize = 30 * PER_MS;
const TAIL: usize = 200 * PER_MS;
/// The same words audio the same each time.
const SEED: u64 = 1;

/// Text to speech on this machine.
pub struct LocalTts {
    shared: Arc<LocalSpeech>,
}

impl LocalTts {
    /// Text to speech on the shared models.
    #[must_use]
    pub fn new(shared: Arc<LocalSpeech>) -> Self {
        Self { shared }
    }

    async fn synthesize(&self, text: &str, speed: f32) -> Result<Arc<Utterance>, ProviderError> {
        if let Some(utterance) = self.shared.phrases.find(text, speed) {
            return Ok(utterance);
        }
        let voice = self.shared.hibari().await?;
        let core = self.shared.cores.wait().await;
        let cancel = Cancel::default();
        let job = core.job().with_cancel(cancel.clone());
        let _ends_with_us = cancel.on_drop();
        let owned = text.to_owned();
        let utterance = tokio::task::spawn_blocking(move || {
            let utterance = synthesize_telephone(&voice, &owned, speed, &job);
            drop(core);
            utterance
        });
        let utterance =
            utterance.await.unwrap_or_else(|_| Err(SpeechError::run("text to speech")("it stopped unexpectedly")));
        let utterance = Arc::new(utterance.map_err(|error| failed(&error))?);
        self.shared.phrases.keep(text, speed, &utterance);
        Ok(utterance)
    }
}

#[async_trait]
impl Tts for LocalTts {
    async fn speak(&self, request: TtsRequest, audio: mpsc::Sender<TtsAudio>) -> Result<Usage, ProviderError> {
        check_language(&request.language)?;
        let utterance = self.synthesize(&request.text, request.speed).await?;
        let usage = Usage { tts_characters: request.text.chars().count() as u64, ..Usage::default() };
        // All word times are known at once: they go with the first piece.
        let mut words = utterance.words.clone();
        for samples in utterance.samples.chunks(PIECE) {
            let piece = TtsAudio { samples: samples.to_vec(), words: std::mem::take(&mut words) };
            if audio.send(piece).await.is_err() {
                break; // The receiver is closed.
            }
        }
        Ok(usage)
    }

    fn not_taken(&self, like: &TtsRequest) -> Option<String> {
        (!is_english(&like.language)).then(|| english_only(&like.language))
    }

    /// Loads the model. Whether it cannot be shows when something is spoken.
    async fn warm(&self, _like: &TtsRequest) -> Result<(), ProviderError> {
        let _ = self.shared.hibari().await;
        Ok(())
    }
}

/// A phrase as it goes onto the line.
struct Utterance {
    samples: Vec<i16>,
    words: Vec<SpokenWord>,
}

fn synthesize_telephone(voice: &Hibari, text: &str, speed: f32, job: &Job) -> Result<Utterance, SpeechError> {
    let Speech { samples, words } = voice.synthesize(text, speed, SEED, job)?;
    let mut telephone = Vec::new();
    let mut resampler =
        Resampler::new(hibari::SAMPLE_RATE as u32, frame::SAMPLE_RATE).map_err(SpeechError::run("text to speech"))?;
    resampler.process_f32(&samples, &mut telephone);
    resampler.flush_f32(&mut telephone);
    let samples: Vec<i16> = telephone.into_iter().map(|sample| (sample.clamp(-1.0, 1.0) * 32_767.0) as i16).collect();
    let kept = without_silence(&samples);
    let cut_ms = (kept.start / PER_MS) as u64;
    let length_ms = (kept.len() / PER_MS) as u64;
    let at = |ms: u32| u64::from(ms).saturating_sub(cut_ms).min(length_ms);
    let spoken =
        |word: hibari::TimedWord| SpokenWord { text: word.text, start_ms: at(word.start_ms), end_ms: at(word.end_ms) };
    Ok(Utterance { samples: samples[kept].to_vec(), words: words.into_iter().map(spoken).collect() })
}

/// The part to play: the model puts some 300 ms of silence before what it says and 400 ms behind it, which callers would hear
/// as a delay before an answer and as a gap between its sentences.
fn without_silence(samples: &[i16]) -> Range<usize> {
    let audible: Vec<bool> = samples.chunks(LOOK).map(|piece| level::rms_dbfs(piece) > SILENT_DBFS).collect();
    let (Some(first), Some(last)) = (audible.iter().position(|is| *is), audible.iter().rposition(|is| *is)) else {
        return 0..0;
    };
    (first * LOOK).saturating_sub(LEAD)..((last + 1) * LOOK + TAIL).min(samples.len())
}

/// Recently synthesized phrases: greetings, questions and prompts are the same in every call.
#[derive(Default)]
pub(super) struct PhraseCache(Mutex<CachedPhrases>);

#[derive(Default)]
struct CachedPhrases {
    /// Least lately used first.
    phrases: VecDeque<Phrase>,
    samples: usize,
}

struct Phrase {
    text: String,
    speed: u32,
    utterance: Arc<Utterance>,
}

impl PhraseCache {
    fn find(&self, text: &str, speed: f32) -> Option<Arc<Utterance>> {
        let mut cache = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let index = cache.phrases.iter().position(|phrase| phrase.text == text && phrase.speed == speed.to_bits())?;
        let phrase = cache.phrases.remove(index)?;
        let utterance = Arc::clone(&phrase.utterance);
        cache.phrases.push_back(phrase);
        Some(utterance)
    }

    fn keep(&self, text: &str, speed: f32, utterance: &Arc<Utterance>) {
        let mut cache = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        cache.samples += utterance.samples.len();
        cache.phrases.push_back(Phrase {
            text: text.to_owned(),
            speed: speed.to_bits(),
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
    fn silence_is_cut_off_the_ends_and_nowhere_else() {
        let mut samples = vec![3; 4_000];
        samples.extend(switchhook_media::tone::sine(300.0, 8_000, 0.3, 800));
        samples.extend([0; 4_000]);
        samples.extend(switchhook_media::tone::sine(300.0, 8_000, 0.3, 800));
        samples.extend([0; 4_000]);
        assert_eq!(without_silence(&samples), 4_000 - LEAD..9_600 + TAIL);
        assert_eq!(without_silence(&[0; 500]), 0..0);
    }

    #[test]
    fn what_was_not_said_for_longest_is_forgotten_first() {
        let phrases = PhraseCache::default();
        let third = Arc::new(Utterance { samples: vec![0; MAX_CACHED_SAMPLES / 3], words: Vec::new() });
        for text in ["one", "two", "three"] {
            phrases.keep(text, 1.0, &third);
        }
        assert!(phrases.find("one", 1.0).is_some());
        phrases.keep("four", 1.0, &third);
        assert!(phrases.find("two", 1.0).is_none());
        assert!(phrases.find("one", 1.0).is_some() && phrases.find("four", 1.0).is_some());
        assert!(phrases.find("one", 1.5).is_none(), "another speed is another phrase");
    }
}
