//! What a streaming TTS adapter implements.

use std::time::Duration;

use switchhook_core::private::Private;
use switchhook_net::outbound::ws::Message;

use super::timing::WordTiming;
use crate::providers::TtsRequest;
use crate::providers::failure::AttemptError;
use crate::providers::websocket::Handshake;

/// A protocol: messages out, messages in. It keeps no state; what belongs to an utterance is found by its context.
pub(crate) trait TtsProtocol: Send + Sync + 'static {
    /// The name in errors.
    fn provider(&self) -> &'static str;

    /// The connection's key, which is removed from error messages.
    fn key(&self) -> Option<&Private<String>>;

    /// Limits of one socket.
    fn limits(&self) -> SocketLimits;

    /// The request that opens a socket for `request`. Requests with the same URL share sockets.
    ///
    /// # Errors
    /// A sentence when the settings, the voice or the model make no address.
    fn handshake(&self, request: &TtsRequest) -> Result<Handshake, String>;

    /// What of a request like this it cannot take, as [`crate::providers::Tts::not_taken`] says it.
    fn not_taken(&self, _like: &TtsRequest) -> Option<String> {
        None
    }

    /// The messages that synthesize `request` and end the context.
    fn begin(&self, context: &str, request: &TtsRequest) -> Vec<String>;

    /// The messages that stop a context, so that it costs nothing more.
    fn stop(&self, context: &str) -> Vec<String>;

    /// The last message before the socket closes.
    fn close_message(&self) -> Option<String> {
        None
    }

    /// Parses a text or binary message. Unknown messages yield nothing.
    ///
    /// # Errors
    /// A sentence when it cannot be a message of this protocol.
    fn read(&self, message: &Message) -> Result<Vec<TtsMessage>, String>;
}

/// Limits of one socket.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SocketLimits {
    /// Contexts at a time.
    pub(crate) contexts: usize,
    /// Contexts begun in any 60 seconds.
    pub(crate) begun_per_minute: usize,
    /// What ends a context that was stopped.
    pub(crate) cancel_confirmation: CancelConfirmation,
}

/// What ends a context that was stopped. Until then it takes a slot on its socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CancelConfirmation {
    /// Nothing: late audio is recognised by its context.
    None,
    /// The regular end of a context.
    Done,
    /// A message of its own.
    Cancelled,
}

/// A parsed server message.
pub(crate) struct TtsMessage {
    /// Of which context; of the only one on the socket when absent.
    pub(crate) context: Option<String>,
    pub(crate) event: TtsEvent,
}

/// What a message contains.
pub(crate) enum TtsEvent {
    /// Audio, and when its words are spoken.
    Audio(AudioChunk),
    /// The context has said everything.
    Done,
    /// The context was stopped.
    Cancelled,
    /// Something went wrong, with one context or with all.
    Failed(AttemptError),
}

/// A piece of speech.
#[derive(Default)]
pub(crate) struct AudioChunk {
    /// µ-law, 8 kHz.
    pub(crate) audio: Vec<u8>,
    pub(crate) timing: WordTiming,
}

impl AudioChunk {
    /// Bytes while queued.
    pub(super) fn bytes(&self) -> usize {
        self.audio.len() + self.timing.bytes()
    }
}

/// Sixty seconds, over which contexts are counted.
pub(crate) const MINUTE: Duration = Duration::from_secs(60);
