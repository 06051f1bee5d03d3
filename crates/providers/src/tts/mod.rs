//! What TTS providers share: timeouts, retries, the output channel, and a pool of websockets.
//!
//! [`pool`] implements TTS for every provider with a websocket; such a provider implements [`protocol::TtsProtocol`]. A *socket* is
//! one connection with its own task, a *context* is one utterance on it, and a *group* is all sockets with the same URL, which can
//! speak the same utterances (voice and model too, where they are part of the URL).

pub(crate) mod decoder;
pub(crate) mod pool;
pub(crate) mod protocol;
mod socket;
pub(crate) mod timing;

use std::time::Duration;

use switchhook_core::conversation::SpokenWord;
use switchhook_media::format::AudioFormat;
use tokio::sync::mpsc;

use super::adapter_config::AdapterConfig;
use super::failure::AttemptError;
use super::{ProviderError, TtsAudio, TtsRequest, Usage};

/// Attempts at one utterance, including the first.
const TRIES: usize = 3;
/// Pauses before retries: a pooled connection that has died is replaced immediately.
const PAUSES: [Duration; TRIES - 1] = [Duration::ZERO, Duration::from_millis(500)];
/// Longer audio is cut off: no utterance takes ten minutes.
const MAX_AUDIO: Duration = Duration::from_secs(600);

/// Timeouts of TTS requests and pooled sockets.
#[derive(Clone, Copy, Debug)]
pub struct TtsTimeouts {
    /// For opening a connection.
    pub connect: Duration,
    /// From the request to its first audio.
    pub first_audio: Duration,
    /// Between two pieces of audio.
    pub gap: Duration,
    /// For a provider to confirm that it stopped speaking; after that the socket is abandoned.
    pub stop: Duration,
    /// How long a socket stays open without speaking.
    pub idle: Duration,
    /// Interval of pings on an open socket; a socket without a pong by the next ping is abandoned.
    pub ping: Duration,
}

impl Default for TtsTimeouts {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(5),
            first_audio: Duration::from_secs(5),
            gap: Duration::from_secs(5),
            stop: Duration::from_secs(1),
            // ElevenLabs closes a silent socket after the 180 s that we request, Cartesia after some minutes.
            idle: Duration::from_secs(170),
            ping: Duration::from_secs(20),
        }
    }
}

/// The settings that all cloud voices share.
pub(crate) const TTS_SETTINGS: &[&str] = &["tts_voice", "tts_model", "tts_parameters"];

/// The default voice and model of a connection, by the provider's names, for agents that name none.
#[derive(Clone, Debug, Default)]
pub(crate) struct TtsDefaults {
    voice: String,
    model: String,
}

impl TtsDefaults {
    /// Reads `settings.tts_voice` and `settings.tts_model`, with these defaults.
    pub(crate) fn read(config: &AdapterConfig<'_>, voice: &str, model: &str) -> Result<Self, String> {
        Ok(Self {
            voice: config.text("tts_voice")?.unwrap_or(voice).to_owned(),
            model: config.text("tts_model")?.unwrap_or(model).to_owned(),
        })
    }

    pub(crate) fn voice<'a>(&'a self, request: &'a TtsRequest) -> &'a str {
        request.voice.as_deref().unwrap_or(&self.voice)
    }

    pub(crate) fn model<'a>(&'a self, request: &'a TtsRequest) -> &'a str {
        request.model.as_deref().unwrap_or(&self.model)
    }
}

/// Returns whether there is anything to speak: for bare punctuation, providers send nothing at all, not even an end.
pub(crate) fn is_speakable(text: &str) -> bool {
    text.contains(char::is_alphanumeric)
}

/// Returns the usage of `text`. Providers bill what they are sent, whether it is played or not.
pub fn cost(text: &str) -> Usage {
    Usage { tts_characters: text.chars().count() as u64, ..Usage::default() }
}

/// Returns the primary language of a tag: `en` of `en-US`.
pub(crate) fn primary_language(tag: &str) -> &str {
    tag.split('-').next().unwrap_or(tag)
}

/// Retries of one utterance.
#[derive(Default)]
pub(crate) struct Retries {
    failed: usize,
}

impl Retries {
    /// Waits until the next attempt may be made.
    ///
    /// # Errors
    /// When no attempt may be made: it would fail too or come too late, or some audio was already played.
    pub(crate) async fn again(&mut self, failure: AttemptError, output: &mut TtsOutput) -> Result<(), ProviderError> {
        output.pending_words.clear();
        let least = PAUSES.get(self.failed).copied();
        self.failed += 1;
        let late = matches!(failure.error, ProviderError::Timeout { .. });
        let requested = failure.retry_after.filter(|_| !late && !output.has_audio());
        let (Some(least), Some(requested)) = (least, requested) else { return Err(failure.error) };
        // The error message may quote the text that was to be spoken.
        tracing::warn!(code = failure.error.code().as_str(), attempt = self.failed, "TTS request failed; retrying");
        tokio::time::sleep(least.max(requested)).await;
        Ok(())
    }
}

/// The output of one utterance.
pub(crate) struct TtsOutput {
    format: AudioFormat,
    audio: mpsc::Sender<TtsAudio>,
    /// Samples produced so far.
    given: u64,
    /// Words that arrived before any audio. They do not prove that audio will follow, and the next attempt sends them again.
    pending_words: Vec<SpokenWord>,
}

/// The receiver is closed.
pub(crate) struct ReceiverClosed;

impl TtsOutput {
    pub(crate) fn new(format: AudioFormat, audio: mpsc::Sender<TtsAudio>) -> Self {
        Self { format, audio, given: 0, pending_words: Vec::new() }
    }

    /// Returns how much audio was produced, in milliseconds.
    pub(crate) fn given_ms(&self) -> u64 {
        u64::try_from(self.format.duration(self.given).as_millis()).unwrap_or(u64::MAX)
    }

    /// Returns whether any audio was produced.
    pub(crate) fn has_audio(&self) -> bool {
        self.given > 0
    }

    /// Returns whether the audio is longer than any utterance.
    pub(crate) fn exceeds_limit(&self) -> bool {
        self.format.duration(self.given) > MAX_AUDIO
    }

    pub(crate) async fn give(&mut self, samples: Vec<i16>, words: Vec<SpokenWord>) -> Result<(), ReceiverClosed> {
        if samples.is_empty() && !self.has_audio() {
            self.pending_words.extend(words);
            return if self.audio.is_closed() { Err(ReceiverClosed) } else { Ok(()) };
        }
        let words: Vec<SpokenWord> = self.pending_words.drain(..).chain(words).collect();
        if samples.is_empty() && words.is_empty() {
            return Ok(());
        }
        self.given += samples.len() as u64;
        self.audio.send(TtsAudio { samples, words }).await.map_err(|_| ReceiverClosed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn word(text: &str) -> Vec<SpokenWord> {
        vec![SpokenWord { text: text.to_owned(), start_ms: 0, end_ms: 100 }]
    }

    #[tokio::test(start_paused = true)]
    async fn words_are_no_audio_and_come_once_whatever_is_tried_again() {
        let (audio, mut given) = mpsc::channel(4);
        let mut output = TtsOutput::new(AudioFormat::Narrowband, audio);
        let _ = output.give(Vec::new(), word("Yes")).await;
        assert!(given.try_recv().is_err(), "a TTS that has only sent word timings has not spoken");
        let failure = AttemptError::failed("double", "It broke.".to_owned());
        Retries::default().again(failure, &mut output).await.expect("nothing was heard");
        let _ = output.give(Vec::new(), word("Yes")).await;
        let _ = output.give(vec![1; 80], word("indeed")).await;
        let heard = given.try_recv().expect("audio");
        let words: Vec<&str> = heard.words.iter().map(|word| word.text.as_str()).collect();
        assert_eq!((heard.samples.len(), words), (80, vec!["Yes", "indeed"]));
    }
}
