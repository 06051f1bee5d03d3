//! What a streaming STT adapter implements. No sockets, no clock.

use std::time::Duration;

use switchhook_net::outbound::ws::Message;

use super::encoder::Encoding;
use super::settings::SttSettings;
use crate::websocket::{Handshake, StreamError};
use crate::{SttOptions, failure};

/// A streaming STT provider, configured by a connection.
pub(crate) trait SttAdapter: Send + Sync {
    /// The request that opens a stream for these options.
    ///
    /// # Errors
    /// A sentence when the settings make no address.
    fn handshake(&self, options: &SttOptions) -> Result<Handshake, String>;
    /// The protocol of one new connection.
    fn protocol(&self, options: &SttOptions) -> Box<dyn SttProtocol>;
    /// What its connections have in common.
    fn stream_config(&self, options: &SttOptions) -> SttStreamConfig;
    /// What of the options it cannot take, as [`crate::Stt::not_taken`] says it.
    fn not_taken(&self, options: &SttOptions) -> Vec<String>;
}

/// How a provider's stream is configured.
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
    /// Whether it gets the caller's speech only, and not the silence in between.
    pub(crate) speech_only: bool,
    /// What stands between two final texts.
    pub(crate) separator: &'static str,
    /// How long the final words of a segment are awaited.
    pub(crate) finalize_timeout: Duration,
    /// The same when no word is outstanding: some send no response then.
    pub(crate) finalize_timeout_without_words: Duration,
    /// Whether every [`SttProtocol::finalize`] with words is followed by a [`SttMessage::Finalized`]; otherwise the provider ends speech by itself.
    pub(crate) confirms_finalize: bool,
    /// Whether those without words are as well, so that silence is a failure.
    pub(crate) always_confirms_finalize: bool,
}

impl SttStreamConfig {
    /// How most want to be treated; `finalizes` when our VAD ends speech.
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
    /// Whether the server says by itself that the session has begun; nothing is sent before.
    fn sends_ready(&self) -> bool {
        true
    }
    /// A piece of audio.
    fn audio(&mut self, audio: Vec<u8>) -> Message {
        Message::binary(audio)
    }
    /// Asks for the final words of what was sent so far.
    fn finalize(&mut self) -> Option<Message>;
    /// What is sent while no audio is.
    fn keep_alive(&self) -> KeepAlive;
    /// The last message.
    fn close_message(&self) -> Option<Message>;
    /// Reads a message.
    ///
    /// # Errors
    /// When it says that the stream is over, or makes no sense.
    fn read(&mut self, message: &str) -> Result<Vec<SttMessage>, StreamError>;
    /// What it means that the server closed the connection.
    fn classify_close(&self, code: u16, reason: &str) -> StreamError {
        classify_close_code(code, reason)
    }
}

/// How a connection is kept without audio.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum KeepAlive {
    /// Websocket pings are enough.
    Pings,
    /// A message of its own, after so long without audio.
    Message(Duration, &'static str),
    /// Silence, a chunk of it after so long without audio.
    Silence(Duration),
}

/// A parsed server message. It can hold spoken words, so there is no `Debug`.
#[derive(Clone, PartialEq)]
pub(crate) enum SttMessage {
    /// The session has begun.
    Ready,
    /// What may have been said since the last [`SttMessage::Final`]; replaces the partial before it.
    Partial(String),
    /// What was said since the last one.
    Final(String),
    /// Everything before our [`SttProtocol::finalize`] is transcribed.
    Finalized,
    /// The same, but there are no words because the provider failed.
    Failed(StreamError),
    /// The provider's own endpointing ended the turn.
    EndOfTurn,
    /// A message to send back.
    Reply(Message),
}

/// Words for a close frame.
pub(crate) fn close_description(code: u16, reason: &str) -> String {
    match reason {
        "" => format!("it closed the connection with code {code}"),
        reason => format!("{reason} (close code {code})"),
    }
}

/// What a close frame means where a provider has no codes of its own: the statuses of HTTP stand in it 4000 higher.
pub(crate) fn classify_close_code(code: u16, reason: &str) -> StreamError {
    let words = close_description(code, reason);
    match code {
        4408 | 4429 => StreamError::Retryable(words),
        4400..=4499 => StreamError::Permanent(words),
        _ => StreamError::Retryable(words),
    }
}

/// What an error message means, of which these are the words.
pub(crate) fn classify_error(message: &serde_json::Value, words: String) -> StreamError {
    if failure::is_configuration_error(message) { StreamError::Permanent(words) } else { StreamError::Retryable(words) }
}
