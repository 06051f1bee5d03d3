//! The trait of a streaming STT adapter. No sockets, no clock.

use std::time::Duration;

use switchhook_net::outbound::ws::Message;

use super::encoder::Encoding;
use super::settings::SttSettings;
use crate::websocket::{Handshake, StreamError};
use crate::{SttOptions, failure};

/// A streaming STT provider, configured by a connection.
pub(crate) trait SttAdapter: Send + Sync {
    /// Returns the request that opens a stream for these options.
    ///
    /// # Errors
    /// A sentence when the settings do not form a valid URL.
    fn handshake(&self, options: &SttOptions) -> Result<Handshake, String>;
    /// Creates the protocol of a new connection.
    fn protocol(&self, options: &SttOptions) -> Box<dyn SttProtocol>;
    /// Returns the configuration that all its connections share.
    fn stream_config(&self, options: &SttOptions) -> SttStreamConfig;
    /// Returns the unsupported options, as [`crate::Stt::unsupported_options`] does.
    fn unsupported_options(&self, options: &SttOptions) -> Vec<String>;
}

/// The configuration of a provider's stream.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SttStreamConfig {
    /// The name in errors.
    pub(crate) name: &'static str,
    pub(crate) encoding: Encoding,
    /// Samples per second.
    pub(crate) sample_rate: u32,
    /// Frames of 20 ms in one message.
    pub(crate) chunk: usize,
    /// Whether every message must have the full length.
    pub(crate) full_chunks_only: bool,
    /// Whether it gets the caller's speech only, without the silence in between.
    pub(crate) speech_only: bool,
    /// The separator between two final texts.
    pub(crate) separator: &'static str,
    /// How long to wait for the final words of a segment.
    pub(crate) finalize_timeout: Duration,
    /// The same when no word is outstanding: some providers send no response then.
    pub(crate) finalize_timeout_without_words: Duration,
    /// Whether every [`SttProtocol::finalize`] with words is followed by a [`SttMessage::Finalized`]; otherwise the provider ends speech on
    /// its own.
    pub(crate) confirms_finalize: bool,
    /// Whether a finalize without words is confirmed too, so that a missing confirmation is a failure.
    pub(crate) always_confirms_finalize: bool,
}

impl SttStreamConfig {
    /// Creates the configuration that suits most providers; `finalizes` if they finalize when our VAD ends speech.
    pub(crate) fn of(name: &'static str, settings: &SttSettings, finalizes: bool) -> Self {
        Self {
            name,
            encoding: settings.encoding,
            sample_rate: settings.sample_rate,
            chunk: settings.chunk,
            full_chunks_only: false,
            speech_only: false,
            separator: " ",
            finalize_timeout: settings.finalize_timeout,
            finalize_timeout_without_words: settings
                .finalize_timeout_without_words
                .filter(|_| finalizes)
                .unwrap_or(settings.finalize_timeout),
            confirms_finalize: finalizes,
            always_confirms_finalize: finalizes && settings.always_confirms_finalize,
        }
    }
}

/// One connection's protocol.
pub(crate) trait SttProtocol: Send + Sync {
    /// Returns whether the server reports that the session has begun; nothing is sent before that.
    fn sends_ready(&self) -> bool {
        true
    }
    /// Returns the message for a piece of audio.
    fn audio(&mut self, audio: Vec<u8>) -> Message {
        Message::binary(audio)
    }
    /// Returns the message that requests the final words of the audio sent so far.
    fn finalize(&mut self) -> Option<Message>;
    /// Returns how to keep the connection alive while no audio is sent.
    fn keep_alive(&self) -> KeepAlive;
    /// Returns the last message before the connection closes.
    fn close_message(&self) -> Option<Message>;
    /// Parses a message.
    ///
    /// # Errors
    /// When the message ends the stream or cannot be understood.
    fn read(&mut self, message: &str) -> Result<Vec<SttMessage>, StreamError>;
    /// Classifies the server's close frame.
    fn classify_close(&self, code: u16, reason: &str) -> StreamError {
        classify_close_code(code, reason)
    }
}

/// How a connection is kept alive without audio.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum KeepAlive {
    /// Websocket pings are enough.
    Pings,
    /// A special message, after this long without audio.
    Message(Duration, &'static str),
    /// A chunk of silence, after this long without audio.
    Silence(Duration),
}

/// A parsed server message. It can hold spoken words, so it is not `Debug`.
#[derive(Clone, PartialEq)]
pub(crate) enum SttMessage {
    /// The session has begun.
    Ready,
    /// Preliminary text since the last [`SttMessage::Final`]; replaces the previous partial.
    Partial(String),
    /// Final text since the last [`SttMessage::Final`].
    Final(String),
    /// Everything before our [`SttProtocol::finalize`] is transcribed.
    Finalized,
    /// The same, but without words because the provider failed.
    Failed(StreamError),
    /// The provider's own endpointing ended the turn.
    EndOfTurn,
    /// A message to send back.
    Reply(Message),
}

/// Describes a close frame.
pub(crate) fn close_description(code: u16, reason: &str) -> String {
    match reason {
        "" => format!("it closed the connection with code {code}"),
        reason => format!("{reason} (close code {code})"),
    }
}

/// Classifies a close frame of a provider that defines no codes: they are HTTP statuses plus 4000. Gateways accept a session and close it
/// with 1008 when they do not accept the key.
pub(crate) fn classify_close_code(code: u16, reason: &str) -> StreamError {
    let words = close_description(code, reason);
    match code {
        _ if failure::is_refusal(code) => StreamError::Permanent(words),
        1008 if failure::blames_settings(reason) => StreamError::Permanent(words),
        _ => StreamError::Retryable(words),
    }
}

/// Classifies an error message whose text is `words`.
pub(crate) fn classify_error(message: &serde_json::Value, words: String) -> StreamError {
    if failure::is_configuration_error(message) { StreamError::Permanent(words) } else { StreamError::Retryable(words) }
}
