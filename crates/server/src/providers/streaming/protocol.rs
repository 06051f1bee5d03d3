//! What differs between recognisers that listen to a websocket. Everything here is without a socket and without a clock.

use std::time::Duration;

use reqwest::header::HeaderMap;
use url::Url;

use super::settings::Tuning;
use super::sound::Encoding;
use crate::outbound::ws::Message;
use crate::providers::{SttOptions, refusal};

/// One provider's way of recognising, as a connection's settings have it.
pub(crate) trait Dialect: Send + Sync {
    /// Where a stream is opened for these options, and with which headers.
    ///
    /// # Errors
    /// A sentence when the settings make no address.
    fn target(&self, options: &SttOptions) -> Result<Target, String>;
    /// The protocol of one new connection.
    fn protocol(&self, options: &SttOptions) -> Box<dyn Protocol>;
    /// What its connections have in common.
    fn style(&self, options: &SttOptions) -> Style;
    /// What of the options it cannot take, as [`crate::providers::Stt::not_taken`] says it.
    fn not_taken(&self, options: &SttOptions) -> Vec<String>;
}

/// Where a stream is opened.
pub(crate) struct Target {
    pub(crate) url: Url,
    pub(crate) headers: HeaderMap,
}

/// How a provider wants to be treated.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Style {
    /// The name in errors.
    pub(crate) name: &'static str,
    pub(crate) encoding: Encoding,
    /// Samples per second.
    pub(crate) sample_rate: u32,
    /// Frames of 20 ms in one message.
    pub(crate) chunk: usize,
    /// Whether every message must have the full length.
    pub(crate) only_whole_chunks: bool,
    /// Whether it gets the caller's speech only, and not the silence in between.
    pub(crate) only_speech: bool,
    /// What stands between two final texts.
    pub(crate) joiner: &'static str,
    /// How long the final words of a segment are awaited.
    pub(crate) patience: Duration,
    /// The same when no word is outstanding: some have nothing to answer then, and do not.
    pub(crate) patience_without_words: Duration,
    /// Whether every [`Protocol::finalize`] with words is answered by a [`Heard::Flushed`]; otherwise the provider ends speech by itself.
    pub(crate) answers_finalize: bool,
    /// Whether those without words are answered as well, so that no answer is a failure.
    pub(crate) answers_all: bool,
}

impl Style {
    /// How most want to be treated; `finalizes` where our ears say when speech ends.
    pub(crate) fn of(name: &'static str, tuning: &Tuning, finalizes: bool) -> Self {
        Self {
            name,
            encoding: tuning.encoding,
            sample_rate: tuning.sample_rate,
            chunk: tuning.chunk,
            only_whole_chunks: false,
            only_speech: false,
            joiner: " ",
            patience: tuning.patience,
            patience_without_words: tuning.patience_without_words.filter(|_| finalizes).unwrap_or(tuning.patience),
            answers_finalize: finalizes,
            answers_all: finalizes && tuning.answers_all,
        }
    }
}

/// One connection's protocol.
pub(crate) trait Protocol: Send + Sync {
    /// Whether the server says by itself that the session has begun; nothing is sent before.
    fn greets(&self) -> bool {
        true
    }
    /// A piece of sound.
    fn audio(&mut self, sound: Vec<u8>) -> Message {
        Message::binary(sound)
    }
    /// Asks for the final words of what was sent so far.
    fn finalize(&mut self) -> Option<Message>;
    /// What is sent while no sound is.
    fn keep_alive(&self) -> KeepAlive;
    /// The last message.
    fn goodbye(&self) -> Option<Message>;
    /// Reads a message.
    ///
    /// # Errors
    /// When it says that the stream is over, or makes no sense.
    fn read(&mut self, message: &str) -> Result<Vec<Heard>, Broken>;
    /// What it means that the server closed the connection.
    fn closed(&self, code: u16, reason: &str) -> Broken {
        closed_by(code, reason)
    }
}

/// How a connection is kept without sound.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum KeepAlive {
    /// Websocket pings are enough.
    Pings,
    /// A message of its own, after so long without sound.
    Message(Duration, Message),
    /// Silence, a chunk of it after so long without sound.
    Silence(Duration),
}

/// What a message says. It can hold spoken words, so there is no `Debug`.
#[derive(Clone, PartialEq)]
pub(crate) enum Heard {
    /// The session has begun.
    Ready,
    /// What may have been said since the last [`Heard::Words`]; replaces the partial before it.
    Partial(String),
    /// What was said since the last one.
    Words(String),
    /// Everything before our [`Protocol::finalize`] is told.
    Flushed,
    /// The same, but there are no words because the provider failed.
    Failed(Broken),
    /// The provider judges that the caller's turn is over.
    TurnOver,
    /// Wants this answered.
    Answer(Message),
}

/// Why a stream is over; the provider's own words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Broken {
    /// The key, the model or a setting is refused: trying again would not help.
    Refused(String),
    /// The connection or the server failed: another connection may do better.
    Lost(String),
}

/// Words for a close frame.
pub(crate) fn close_words(code: u16, reason: &str) -> String {
    match reason {
        "" => format!("it closed the connection with code {code}"),
        reason => format!("{reason} (close code {code})"),
    }
}

/// What a close frame means where a provider has no codes of its own: the statuses of HTTP stand in it 4000 higher.
pub(crate) fn closed_by(code: u16, reason: &str) -> Broken {
    let words = close_words(code, reason);
    match code {
        4408 | 4429 => Broken::Lost(words),
        4400..=4499 => Broken::Refused(words),
        _ => Broken::Lost(words),
    }
}

/// What an error message means, of which these are the words.
pub(crate) fn broken_by(message: &serde_json::Value, words: String) -> Broken {
    if refusal::is_our_fault(message) { Broken::Refused(words) } else { Broken::Lost(words) }
}

/// A message as JSON.
///
/// # Errors
/// When it is none.
pub(crate) fn json(message: &str) -> Result<serde_json::Value, Broken> {
    serde_json::from_str(message).map_err(|_| Broken::Lost("it sent a message that is not JSON".to_owned()))
}

/// A text field; empty when it is missing.
pub(crate) fn field<'a>(message: &'a serde_json::Value, name: &str) -> &'a str {
    message.get(name).and_then(serde_json::Value::as_str).unwrap_or_default()
}
