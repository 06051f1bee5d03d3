//! A TTS stand-in: one tone for each word, its pitch chosen by the word, as long as speaking it would take.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use async_trait::async_trait;
use switchhook_core::conversation::SpokenWord;
use switchhook_media::format::AudioFormat;
use switchhook_media::tone;
use tokio::sync::mpsc;

use crate::{ProviderError, Tts, TtsAudio, TtsRequest, Usage};

/// The base duration of a word; every character adds to it.
const WORD_MS: u64 = 120;
const CHARACTER_MS: u64 = 45;
/// The gap between two words.
const GAP_MS: u64 = 50;
/// Amplitude relative to full scale: about as loud as speech on the phone.
const LOUDNESS: f64 = 0.25;
/// An overtone of 5 kHz that only wideband calls carry, as loud as sibilants in speech.
const OVERTONE_HZ: f64 = 5_000.0;
const OVERTONE_LOUDNESS: f64 = 0.05;

/// Converts text to tones.
pub struct ScriptedTts;

#[async_trait]
impl Tts for ScriptedTts {
    async fn speak(&self, request: TtsRequest, audio: mpsc::Sender<TtsAudio>) -> Result<Usage, ProviderError> {
        let mut at = 0;
        for word in request.text.split_whitespace() {
            let length = word_ms(word, request.speed);
            let samples = hum(request.format, word, length);
            let words = vec![SpokenWord { text: word.to_owned(), start_ms: at, end_ms: at + length }];
            at += length + GAP_MS;
            if audio.send(TtsAudio { samples, words }).await.is_err() {
                break; // The receiver is closed.
            }
        }
        Ok(Usage { tts_characters: request.text.chars().count() as u64, ..Usage::default() })
    }

    /// Returns false: a cache would not be faster.
    fn keeps_phrases(&self) -> bool {
        false
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "a second or two"
)]
fn word_ms(word: &str, speed: f32) -> u64 {
    let length = WORD_MS + CHARACTER_MS * word.chars().count() as u64;
    (length as f32 / speed.clamp(0.25, 4.0)) as u64
}

/// Generates a tone with soft ends, and the gap after it.
fn hum(format: AudioFormat, word: &str, length_ms: u64) -> Vec<i16> {
    let mut hasher = DefaultHasher::new();
    word.hash(&mut hasher);
    let pitch = 180.0 + f64::from(u32::try_from(hasher.finish() % 12).unwrap_or(0)) * 15.0;
    let count = |ms: u64| format.samples_in_ms(usize::try_from(ms).unwrap_or(0));
    let sine = |hz, loudness| tone::sine(hz, format.sample_rate(), loudness, count(length_ms));
    let mut samples = sine(pitch, LOUDNESS);
    if format == AudioFormat::Wideband {
        let overtone = sine(OVERTONE_HZ, OVERTONE_LOUDNESS);
        samples.iter_mut().zip(overtone).for_each(|(sample, more)| *sample += more);
    }
    let fade = count(10).min(samples.len() / 2);
    let last = samples.len();
    for at in 0..fade {
        let scale = |sample: i16| {
            i16::try_from(i64::from(sample) * i64::try_from(at).unwrap_or(0) / i64::try_from(fade).unwrap_or(1))
                .unwrap_or(0)
        };
        samples[at] = scale(samples[at]);
        samples[last - 1 - at] = scale(samples[last - 1 - at]);
    }
    samples.resize(last + count(GAP_MS), 0);
    samples
}
