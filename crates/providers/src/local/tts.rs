//! hibari as a provider.

use std::ops::Range;
use std::sync::Arc;

use async_trait::async_trait;
use switchhook_core::conversation::SpokenWord;
use switchhook_media::format::AudioFormat;
use switchhook_media::level;
use switchhook_media::resample::Resampler;

use switchhook_speech::hibari::{self, Hibari, Speech};
use switchhook_speech::{Cancel, Job, SpeechError};
use tokio::sync::mpsc;

use super::phrase_cache::Utterance;
use super::shared::{LocalSpeech, check_language, english_only, failed};
use crate::{ProviderError, Tts, TtsAudio, TtsRequest, Usage, is_english};

/// The length of the audio chunks sent.
const PIECE_MS: usize = 1_000;
/// Silence is detected in pieces of this length.
const LOOK_MS: usize = 5;
/// Quieter pieces at either end are silence.
const SILENT_DBFS: f32 = -55.0;
/// Silence kept at the start, for soft onsets, and at the end, as the pause after a sentence.
const LEAD_MS: usize = 30;
const TAIL_MS: usize = 200;
/// A fixed seed: the same text always produces the same audio.
const SEED: u64 = 1;

/// Text to speech on this machine.
pub struct LocalTts {
    shared: Arc<LocalSpeech>,
}

impl LocalTts {
    /// Creates text to speech with the shared models.
    #[must_use]
    pub fn new(shared: Arc<LocalSpeech>) -> Self {
        Self { shared }
    }

    async fn synthesize(&self, request: &TtsRequest) -> Result<Arc<Utterance>, ProviderError> {
        if let Some(utterance) = self.shared.phrases.find(request) {
            return Ok(utterance);
        }
        let voice = self.shared.hibari().await?;
        let core = self.shared.cores.wait().await;
        let cancel = Cancel::default();
        let job = core.job().with_cancel(cancel.clone());
        let _ends_with_us = cancel.on_drop();
        let (text, speed, format) = (request.text.clone(), request.speed, request.format);
        let utterance = tokio::task::spawn_blocking(move || {
            let utterance = synthesize_for_call(&voice, &text, speed, format, &job);
            drop(core);
            utterance
        });
        let utterance =
            utterance.await.unwrap_or_else(|_| Err(SpeechError::run("text to speech")("it stopped unexpectedly")));
        let utterance = Arc::new(utterance.map_err(|error| failed(&error))?);
        self.shared.phrases.keep(request, &utterance);
        Ok(utterance)
    }
}

#[async_trait]
impl Tts for LocalTts {
    async fn speak(&self, request: TtsRequest, audio: mpsc::Sender<TtsAudio>) -> Result<Usage, ProviderError> {
        check_language(&request.language)?;
        let utterance = self.synthesize(&request).await?;
        let usage = Usage { tts_characters: request.text.chars().count() as u64, ..Usage::default() };
        // All word times are known from the start and go with the first chunk.
        let mut words = utterance.words.clone();
        for samples in utterance.samples.chunks(request.format.samples_in_ms(PIECE_MS)) {
            let piece = TtsAudio { samples: samples.to_vec(), words: std::mem::take(&mut words) };
            if audio.send(piece).await.is_err() {
                break; // The receiver is closed.
            }
        }
        Ok(usage)
    }

    fn unsupported_options(&self, like: &TtsRequest) -> Option<String> {
        (!is_english(&like.language)).then(|| english_only(&like.language))
    }

    /// Loads the model. Errors are ignored: they are reported when something is spoken.
    async fn warm(&self, _like: &TtsRequest) -> Result<(), ProviderError> {
        let _ = self.shared.hibari().await;
        Ok(())
    }
}

fn synthesize_for_call(
    voice: &Hibari,
    text: &str,
    speed: f32,
    format: AudioFormat,
    job: &Job,
) -> Result<Utterance, SpeechError> {
    let Speech { samples, words } = voice.synthesize(text, speed, SEED, job)?;
    let mut audio = Vec::new();
    let mut resampler =
        Resampler::new(hibari::SAMPLE_RATE as u32, format.sample_rate()).map_err(SpeechError::run("text to speech"))?;
    resampler.process_f32(&samples, &mut audio);
    resampler.flush_f32(&mut audio);
    let samples: Vec<i16> = audio.into_iter().map(|sample| (sample.clamp(-1.0, 1.0) * 32_767.0) as i16).collect();
    let kept = without_silence(format, &samples);
    let ms = |samples: usize| (samples / format.samples_in_ms(1)) as u64;
    let (cut_ms, length_ms) = (ms(kept.start), ms(kept.len()));
    let at = |ms: u32| u64::from(ms).saturating_sub(cut_ms).min(length_ms);
    let spoken =
        |word: hibari::TimedWord| SpokenWord { text: word.text, start_ms: at(word.start_ms), end_ms: at(word.end_ms) };
    Ok(Utterance { samples: samples[kept].to_vec(), words: words.into_iter().map(spoken).collect() })
}

/// Returns the part to play. The model adds some 300 ms of silence before the speech and 400 ms after it, which callers would hear as
/// a delay before a response and as a gap between its sentences.
fn without_silence(format: AudioFormat, samples: &[i16]) -> Range<usize> {
    let [look, lead, tail] = [LOOK_MS, LEAD_MS, TAIL_MS].map(|ms| format.samples_in_ms(ms));
    let audible: Vec<bool> = samples.chunks(look).map(|piece| level::rms_dbfs(piece) > SILENT_DBFS).collect();
    let (Some(first), Some(last)) = (audible.iter().position(|is| *is), audible.iter().rposition(|is| *is)) else {
        return 0..0;
    };
    (first * look).saturating_sub(lead)..((last + 1) * look + tail).min(samples.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn silence_is_cut_off_the_ends_and_nowhere_else() {
        for format in AudioFormat::ALL {
            let ms = |ms| format.samples_in_ms(ms);
            let tone = switchhook_media::tone::sine(300.0, format.sample_rate(), 0.3, ms(100));
            let samples = [vec![3; ms(500)], tone.clone(), vec![0; ms(500)], tone, vec![0; ms(500)]].concat();
            assert_eq!(without_silence(format, &samples), ms(500 - LEAD_MS)..ms(1_200 + TAIL_MS));
            assert_eq!(without_silence(format, &[0; 500]), 0..0);
        }
    }
}
