//! hibari as a provider.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use switchhook_core::conversation::SpokenWord;
use switchhook_media::resample::Resampler;
use switchhook_media::{frame, level};
use tokio::sync::mpsc;

use super::hibari::{self, Hibari, Speech};
use super::job::Cancel;
use super::shared::{LocalSpeech, check_language, english_only, failed};
use super::{Job, SpeechError};
use crate::providers::{ProviderError, Tts, TtsAudio, TtsRequest, Usage, is_english};

/// Samples sent at once: one second.
const PIECE: usize = frame::SAMPLE_RATE as usize;
/// What is kept of what was said, in samples: about twelve minutes in 12 MB.
const KEPT_SAMPLES: usize = 6_000_000;
/// Samples in a millisecond.
const PER_MS: usize = frame::SAMPLE_RATE as usize / 1_000;
/// Silence is looked for in pieces of 5 ms.
const LOOK: usize = 5 * PER_MS;
/// Quieter pieces at the ends are silence.
const SILENT_DBFS: f32 = -55.0;
/// Silence that is kept in front, for soft first sounds, and behind, as the pause after a sentence.
const LEAD: usize = 30 * PER_MS;
const TAIL: usize = 200 * PER_MS;
/// The same words sound the same each time.
const SEED: u64 = 1;

/// Text to speech on this machine.
pub struct LocalTts {
    shared: Arc<LocalSpeech>,
}

impl LocalTts {
    /// A voice on the shared models.
    #[must_use]
    pub fn new(shared: Arc<LocalSpeech>) -> Self {
        Self { shared }
    }

    async fn say(&self, text: &str, speed: f32) -> Result<Arc<Said>, ProviderError> {
        if let Some(said) = self.shared.phrases.find(text, speed) {
            return Ok(said);
        }
        let voice = self.shared.hibari().await?;
        let core = self.shared.cores.wait().await;
        let cancel = Cancel::default();
        let job = core.job().with_cancel(cancel.clone());
        let _ends_with_us = cancel.on_drop();
        let owned = text.to_owned();
        let said = tokio::task::spawn_blocking(move || {
            let said = say_on_telephone(&voice, &owned, speed, &job);
            drop(core);
            said
        });
        let said = said.await.unwrap_or_else(|_| Err(SpeechError::run("text to speech")("it stopped unexpectedly")));
        let said = Arc::new(said.map_err(|error| failed(&error))?);
        self.shared.phrases.keep(text, speed, &said);
        Ok(said)
    }
}

#[async_trait]
impl Tts for LocalTts {
    async fn speak(&self, request: TtsRequest, audio: mpsc::Sender<TtsAudio>) -> Result<Usage, ProviderError> {
        check_language(&request.language)?;
        let said = self.say(&request.text, request.speed).await?;
        let usage = Usage { tts_characters: request.text.chars().count() as u64, ..Usage::default() };
        // All word times are known at once: they go with the first piece.
        let mut words = said.words.clone();
        for samples in said.samples.chunks(PIECE) {
            let piece = TtsAudio { samples: samples.to_vec(), words: std::mem::take(&mut words) };
            if audio.send(piece).await.is_err() {
                break; // Nobody listens any more.
            }
        }
        Ok(usage)
    }

    fn not_taken(&self, like: &TtsRequest) -> Option<String> {
        (!is_english(&like.language)).then(|| english_only(&like.language))
    }

    /// Loads the model. Whether it cannot be is told when something is said.
    async fn warm(&self, _like: &TtsRequest) -> Result<(), ProviderError> {
        let _ = self.shared.hibari().await;
        Ok(())
    }
}

/// A phrase as it goes onto the line.
struct Said {
    samples: Vec<i16>,
    words: Vec<SpokenWord>,
}

fn say_on_telephone(voice: &Hibari, text: &str, speed: f32, job: &Job) -> Result<Said, SpeechError> {
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
    Ok(Said { samples: samples[kept].to_vec(), words: words.into_iter().map(spoken).collect() })
}

/// The part to play: the model puts some 300 ms of silence before what it says and 400 ms behind it, which would be heard
/// as a delay before an answer and as a gap between its sentences.
fn without_silence(samples: &[i16]) -> Range<usize> {
    let audible: Vec<bool> = samples.chunks(LOOK).map(|piece| level::rms_dbfs(piece) > SILENT_DBFS).collect();
    let (Some(first), Some(last)) = (audible.iter().position(|is| *is), audible.iter().rposition(|is| *is)) else {
        return 0..0;
    };
    (first * LOOK).saturating_sub(LEAD)..((last + 1) * LOOK + TAIL).min(samples.len())
}

/// What was said lately: greetings, questions and prompts are the same in every call.
#[derive(Default)]
pub(super) struct Phrases(Mutex<Kept>);

#[derive(Default)]
struct Kept {
    /// Least lately used first.
    phrases: VecDeque<Phrase>,
    samples: usize,
}

struct Phrase {
    text: String,
    speed: u32,
    said: Arc<Said>,
}

impl Phrases {
    fn find(&self, text: &str, speed: f32) -> Option<Arc<Said>> {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let index = kept.phrases.iter().position(|phrase| phrase.text == text && phrase.speed == speed.to_bits())?;
        let phrase = kept.phrases.remove(index)?;
        let said = Arc::clone(&phrase.said);
        kept.phrases.push_back(phrase);
        Some(said)
    }

    fn keep(&self, text: &str, speed: f32, said: &Arc<Said>) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.samples += said.samples.len();
        kept.phrases.push_back(Phrase { text: text.to_owned(), speed: speed.to_bits(), said: Arc::clone(said) });
        while kept.samples > KEPT_SAMPLES
            && let Some(oldest) = kept.phrases.pop_front()
        {
            kept.samples -= oldest.said.samples.len();
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
        let phrases = Phrases::default();
        let third = Arc::new(Said { samples: vec![0; KEPT_SAMPLES / 3], words: Vec::new() });
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
