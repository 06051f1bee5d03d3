//! What a provider with a websocket says of its protocol.

use std::time::Duration;

use reqwest::header::HeaderMap;
use switchhook_core::private::Private;
use url::Url;

use super::words::Times;
use crate::outbound::ws::{CloseFrame, Message};
use crate::providers::refusal::Trouble;
use crate::providers::{ProviderError, TtsRequest};

/// A protocol: messages out, messages in. It keeps no state; what belongs to an utterance is found by its context.
pub(crate) trait Wire: Send + Sync + 'static {
    /// The name by which errors speak of it.
    fn provider(&self) -> &'static str;

    /// The connection's key, which is kept out of what is told.
    fn key(&self) -> Option<&Private<String>>;

    /// What a socket can bear.
    fn limits(&self) -> Limits;

    /// Where `request` can be spoken. Requests with the same address share sockets.
    ///
    /// # Errors
    /// When the voice or the model cannot be part of an address.
    fn address(&self, request: &TtsRequest) -> Result<Url, ProviderError>;

    /// What of a request like this it cannot take, as [`crate::providers::Tts::not_taken`] says it.
    fn not_taken(&self, _like: &TtsRequest) -> Option<String> {
        None
    }

    /// What the opening request needs besides, the key above all.
    fn headers(&self) -> HeaderMap;

    /// Says all of `request`, and that no more will come.
    fn begin(&self, context: &str, request: &TtsRequest) -> Vec<String>;

    /// Stops a context, so that it costs nothing more.
    fn stop(&self, context: &str) -> Vec<String>;

    /// Says that the socket will be closed.
    fn goodbye(&self) -> Option<String> {
        None
    }

    /// What a text or binary message brings. What is not known brings nothing.
    ///
    /// # Errors
    /// A sentence when it cannot be a message of this protocol.
    fn read(&self, message: &Message) -> Result<Vec<Heard>, String>;

    /// What it means that the provider closed the socket.
    fn closed(&self, frame: Option<&CloseFrame>) -> Trouble {
        Trouble::closed(self.provider(), frame, self.key())
    }
}

/// What a socket can bear.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// Contexts at a time.
    pub(crate) contexts: usize,
    /// Contexts begun in any 60 seconds.
    pub(crate) begun_per_minute: usize,
    /// What ends a context that was stopped.
    pub(crate) stopped_by: StoppedBy,
}

/// What ends a context that was stopped. Until then it takes a place on its socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StoppedBy {
    /// Our word: what still comes can be told by its context.
    Asking,
    /// The end that any context has.
    Done,
    /// An answer of its own.
    Stopped,
}

/// One thing that a message says.
pub(crate) struct Heard {
    /// Of which context; of the only one on the socket when absent.
    pub(crate) context: Option<String>,
    pub(crate) what: What,
}

/// What is said.
pub(crate) enum What {
    /// Sound, and when its words are spoken.
    Piece(Piece),
    /// The context has said everything.
    Done,
    /// The context was stopped.
    Stopped,
    /// Something went wrong, with one context or with all.
    Refused(Trouble),
}

/// A piece of speech.
#[derive(Default)]
pub(crate) struct Piece {
    /// µ-law, 8 kHz.
    pub(crate) sound: Vec<u8>,
    pub(crate) times: Times,
}

impl Piece {
    /// What it takes while it waits.
    pub(super) fn bytes(&self) -> usize {
        self.sound.len() + self.times.bytes()
    }
}

/// The headers of a request with a key: `name: prefix key`.
pub(crate) fn with_key(name: &'static str, prefix: &str, key: Option<&Private<String>>) -> HeaderMap {
    let mut headers = HeaderMap::new();
    // A key that is no header is refused by the provider like any other wrong one.
    let value = key.and_then(|key| format!("{prefix}{}", key.reveal()).parse::<reqwest::header::HeaderValue>().ok());
    if let Some(mut value) = value {
        value.set_sensitive(true);
        headers.insert(name, value);
    }
    headers
}

/// Sixty seconds, over which contexts are counted.
pub(crate) const MINUTE: Duration = Duration::from_secs(60);
