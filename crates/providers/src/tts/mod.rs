//! What TTS providers share: timeouts, retries, the output channel, and a pool of websockets.
//!
//! [`pool`] speaks for every provider with a websocket; such a provider implements [`protocol::TtsProtocol`]. A *socket* is one
//! connection with a task of its own, a *context* is one utterance on it, and a *group* is all sockets with the same URL, which can
//! speak the same utterances (voice and model too, where they belong to the URL).

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

/// Attempts at one utterance, the first included.
const TRIES: usize = 3;
/// Pauses before retries: a pooled connection that has died is replaced at once.
const PAUSES: [Duration; TRIES - 1] = [Duration::ZERO, Duration::from_millis(500)];
/// Longer audio is cut off: no utterance takes ten minutes.
const LONGEST: Duration = Duration::from_secs(600);

/// Timeouts of TTS requests and pooled sockets.
#[derive(Clone, Copy, Debug)]
pub struct TtsTimeouts {
    /// Until a connection is open.
    pub connect: Duration,
    /// From the request to its first audio.
    pub first_audio: Duration,
    /// Between two pieces of audio.
    pub gap: Duration,
    /// Until a provider that confirms that it stopped speaking has done so; then the socket is given up.
    pub stop: Duration,
    /// A socket on which nothing was spoken for so long is closed.
    pub idle: Duration,
    /// Interval of pings on an open socket; one without a pong by the next ping is given up.
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

/// The settings of every voice in the cloud.
pub(crate) const TTS_SETTINGS: &[&str] = &["tts_voice", "tts_model", "tts_parameters"];

/// The voice and the model of a connection, for agents that name none. Both are the provider's own words.
#[derive(Clone, Debug, Default)]
pub(crate) struct TtsDefaults {
    voice: String,
    model: String,
}

impl TtsDefaults {
    /// What `settings.tts_voice` and `settings.tts_model` say, else these.
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

/// Whether there is anything to speak: for bare punctuation providers send nothing at all, not even an end.
pub(crate) fn is_speakable(text: &str) -> bool {
    text.contains(char::is_alphanumeric)
}

/// The usage of `text`. Providers bill what they are sent, played or not.
pub fn cost(text: &str) -> Usage {
    Usage { tts_characters: text.chars().count() as u64, ..Usage::default() }
}

/// `en` of `en-US`.
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
    /// When none may: another would fail too or come too late, or some audio was played already.
    pub(crate) async fn again(&mut self, failure: AttemptError, output: &mut TtsOutput) -> Result<(), ProviderError> {
        output.pending_words.clear();
        let least = PAUSES.get(self.failed).copied();
        self.failed += 1;
        let late = matches!(failure.error, ProviderError::Timeout { .. });
        let requested = failure.retry_after.filter(|_| !late && !output.has_audio());
        let (Some(least), Some(requested)) = (least, requested) else { return Err(failure.error) };
        // Its words may quote what was to be spoken.
        tracing::warn!(code = failure.error.code().as_str(), attempt = self.failed, "TTS request failed; retrying");
        tokio::time::sleep(least.max(requested)).await;
        Ok(())
    }
}

/// The output of one utterance.
pub(crate) struct TtsOutput {
    format: AudioFormat,
    audio: mpsc::Sender<TtsAudio>,
    /// Samples so far.
    given: u64,
    /// Words that came before any audio. They are no sign that there will be any, and come again with the next attempt.
    pending_words: Vec<SpokenWord>,
}

/// The receiver is closed.
pub(crate) struct ReceiverClosed;

impl TtsOutput {
    pub(crate) fn new(format: AudioFormat, audio: mpsc::Sender<TtsAudio>) -> Self {
        Self { format, audio, given: 0, pending_words: Vec::new() }
    }

    /// How much was given, in milliseconds.
    pub(crate) fn given_ms(&self) -> u64 {
        u64::try_from(self.format.duration(self.given).as_millis()).unwrap_or(u64::MAX)
    }

    /// Whether there was any audio.
    pub(crate) fn has_audio(&self) -> bool {
        self.given > 0
    }

    /// Whether this is more than anybody says at once.
    pub(crate) fn exceeds_limit(&self) -> bool {
        self.format.duration(self.given) > LONGEST
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
