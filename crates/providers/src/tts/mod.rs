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
/// The longest pause that a provider may set in the middle of an utterance, where the caller hears a gap.
const MAX_PAUSE_IN_UTTERANCE: Duration = Duration::from_secs(1);
/// How long a retry in the middle of an utterance may take to connect, and then to its first audio.
const RESUME_TIMEOUT: Duration = Duration::from_millis(1_500);
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
    /// Failed attempts that produced audio, which providers charge for.
    charged: u64,
}

impl Retries {
    /// Waits until the next attempt may be made. It synthesizes the whole text again; `output` leaves out what was already given.
    ///
    /// # Errors
    /// When no attempt may be made: it would fail too or come too late.
    pub(crate) async fn again(&mut self, failure: AttemptError, output: &mut TtsOutput) -> Result<(), ProviderError> {
        self.charged += u64::from(output.attempt.samples > 0);
        output.restart();
        let least = PAUSES.get(self.failed).copied();
        self.failed += 1;
        let late = matches!(failure.error, ProviderError::Timeout { .. });
        let in_time = |pause: &Duration| !output.has_audio() || *pause <= MAX_PAUSE_IN_UTTERANCE;
        let requested = failure.retry_after.filter(|_| !late).filter(in_time);
        let (Some(least), Some(requested)) = (least, requested) else { return Err(failure.error) };
        // The error message may quote the text of the request.
        tracing::warn!(
            code = failure.error.code().as_str(),
            attempt = self.failed,
            given_ms = output.duration_ms(output.given.samples),
            "TTS request failed; retrying"
        );
        tokio::time::sleep(least.max(requested)).await;
        Ok(())
    }

    /// Returns the usage of `text` once an attempt has succeeded.
    pub(crate) fn cost(&self, text: &str) -> Usage {
        (0..self.charged).fold(cost(text), |sum, _| sum + cost(text))
    }
}

/// The output of an utterance so far.
#[derive(Clone, Copy, Default)]
struct Produced {
    samples: u64,
    words: usize,
}

/// The output of one utterance: the audio of its first attempt, continued by that of later ones.
pub(crate) struct TtsOutput {
    format: AudioFormat,
    audio: mpsc::Sender<TtsAudio>,
    /// The output that the receiver has.
    given: Produced,
    /// The output of the current attempt. It is given from where `given` ends.
    attempt: Produced,
    /// Words that arrived before any audio. They do not prove that audio will follow, and the next attempt sends them again.
    pending_words: Vec<SpokenWord>,
}

/// The receiver is closed.
pub(crate) struct ReceiverClosed;

impl TtsOutput {
    pub(crate) fn new(format: AudioFormat, audio: mpsc::Sender<TtsAudio>) -> Self {
        let (given, attempt) = (Produced::default(), Produced::default());
        Self { format, audio, given, attempt, pending_words: Vec::new() }
    }

    /// Returns how much audio the current attempt has produced, in milliseconds.
    pub(crate) fn attempt_ms(&self) -> u64 {
        self.duration_ms(self.attempt.samples)
    }

    /// Returns whether the current attempt has produced any audio.
    pub(crate) fn attempt_has_audio(&self) -> bool {
        self.attempt.samples > 0
    }

    /// Returns whether the audio is longer than any utterance.
    pub(crate) fn exceeds_limit(&self) -> bool {
        self.format.duration(self.attempt.samples) > MAX_AUDIO
    }

    /// Returns the timeouts of the current attempt: shorter in the middle of an utterance, where the caller hears a gap.
    pub(crate) fn timeouts(&self, timeouts: TtsTimeouts) -> TtsTimeouts {
        if !self.has_audio() {
            return timeouts;
        }
        let [connect, first_audio] = [timeouts.connect, timeouts.first_audio].map(|limit| limit.min(RESUME_TIMEOUT));
        TtsTimeouts { connect, first_audio, ..timeouts }
    }

    /// Gives what the receiver does not have yet.
    pub(crate) async fn give(&mut self, samples: Vec<i16>, words: Vec<SpokenWord>) -> Result<(), ReceiverClosed> {
        let (samples, words) = (self.new_samples(samples), self.new_words(words));
        if samples.is_empty() && !self.has_audio() {
            self.pending_words.extend(words);
            return if self.audio.is_closed() { Err(ReceiverClosed) } else { Ok(()) };
        }
        let words: Vec<SpokenWord> = self.pending_words.drain(..).chain(words).collect();
        if samples.is_empty() && words.is_empty() {
            return if self.audio.is_closed() { Err(ReceiverClosed) } else { Ok(()) };
        }
        self.given.samples += samples.len() as u64;
        self.given.words += words.len();
        self.audio.send(TtsAudio { samples, words }).await.map_err(|_| ReceiverClosed)
    }

    fn new_samples(&mut self, mut samples: Vec<i16>) -> Vec<i16> {
        let known = self.given.samples.saturating_sub(self.attempt.samples);
        self.attempt.samples += samples.len() as u64;
        samples.drain(..usize::try_from(known).map_or(samples.len(), |known| known.min(samples.len())));
        samples
    }

    fn new_words(&mut self, mut words: Vec<SpokenWord>) -> Vec<SpokenWord> {
        let known = self.given.words.saturating_sub(self.attempt.words);
        self.attempt.words += words.len();
        words.drain(..known.min(words.len()));
        words
    }

    /// Prepares for an attempt from the beginning of the text.
    fn restart(&mut self) {
        self.attempt = Produced::default();
        self.pending_words.clear();
    }

    /// Returns whether the receiver has any audio.
    fn has_audio(&self) -> bool {
        self.given.samples > 0
    }

    fn duration_ms(&self, samples: u64) -> u64 {
        u64::try_from(self.format.duration(samples).as_millis()).unwrap_or(u64::MAX)
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

    #[tokio::test(start_paused = true)]
    async fn retried_utterance_resumes_where_it_broke_off() {
        let (audio, mut given) = mpsc::channel(8);
        let mut output = TtsOutput::new(AudioFormat::Narrowband, audio);
        let mut retries = Retries::default();
        let broken = || AttemptError::failed("double", "It broke.".to_owned());
        let _ = output.give(vec![1; 100], word("Yes")).await;
        retries.again(broken(), &mut output).await.expect("there is another attempt");
        // The second attempt breaks before it reaches what is new.
        let _ = output.give(vec![2; 60], word("Yes")).await;
        retries.again(broken(), &mut output).await.expect("there is a third one");
        let _ = output.give(vec![3; 70], word("Yes")).await;
        let _ = output.give(vec![3; 70], word("indeed")).await;
        drop(output.audio);
        let (mut samples, mut words) = (Vec::new(), Vec::new());
        while let Some(piece) = given.recv().await {
            samples.extend(piece.samples);
            words.extend(piece.words.into_iter().map(|word| word.text));
        }
        assert_eq!(samples, [vec![1; 100], vec![3; 40]].concat());
        assert_eq!(words, ["Yes", "indeed"]);
        assert_eq!(retries.cost("Yes indeed").tts_characters, 3 * 10, "each attempt that spoke is charged");
    }

    #[tokio::test(start_paused = true)]
    async fn a_retry_in_the_middle_of_an_utterance_is_short_or_not_made() {
        let (audio, _given) = mpsc::channel(8);
        let mut output = TtsOutput::new(AudioFormat::Narrowband, audio);
        let busy = || AttemptError {
            retry_after: Some(Duration::from_secs(2)),
            ..AttemptError::failed("double", String::new())
        };
        assert!(Retries::default().again(busy(), &mut output).await.is_ok());
        assert_eq!(output.timeouts(TtsTimeouts::default()).first_audio, TtsTimeouts::default().first_audio);
        let _ = output.give(vec![1; 100], Vec::new()).await;
        assert!(Retries::default().again(busy(), &mut output).await.is_err());
        assert_eq!(output.timeouts(TtsTimeouts::default()).first_audio, RESUME_TIMEOUT);
    }
}
