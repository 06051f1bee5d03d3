//! The trait of a streaming TTS adapter.

use std::time::Duration;

use switchhook_core::private::Private;
use switchhook_media::format::AudioFormat;
use switchhook_media::g711::Law;
use switchhook_net::outbound::ws::Message;

use super::timing::WordTiming;
use crate::TtsRequest;
use crate::failure::AttemptError;
use crate::websocket::Handshake;

/// Translates between requests and messages. Stateless: what belongs to an utterance is found by its context.
pub(crate) trait TtsProtocol: Send + Sync + 'static {
    /// Returns the name in errors.
    fn provider(&self) -> &'static str;

    /// Returns the connection's key, which is removed from error messages.
    fn key(&self) -> Option<&Private<String>>;

    /// Returns the limits of one socket.
    fn limits(&self) -> SocketLimits;

    /// Returns the request that opens a socket for `request`. Requests with the same URL share sockets.
    ///
    /// # Errors
    /// A sentence when the settings, the voice or the model do not form a valid URL.
    fn handshake(&self, request: &TtsRequest) -> Result<Handshake, String>;

    /// Returns what is not supported of such a request, as [`crate::Tts::unsupported_options`] does.
    fn unsupported_options(&self, _like: &TtsRequest) -> Option<String> {
        None
    }

    /// Returns the messages that synthesize `request` and end the context.
    fn begin(&self, context: &str, request: &TtsRequest) -> Vec<String>;

    /// Returns the messages that stop a context, so that it causes no further cost.
    fn stop(&self, context: &str) -> Vec<String>;

    /// Returns the last message before the socket closes.
    fn close_message(&self) -> Option<String> {
        None
    }

    /// Parses a text or binary message. Returns nothing for unknown messages.
    ///
    /// # Errors
    /// A sentence when the message does not belong to this protocol.
    fn read(&self, message: &Message) -> Result<Vec<TtsMessage>, String>;
}

/// Limits of one socket.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SocketLimits {
    /// Contexts at a time.
    pub(crate) contexts: usize,
    /// Contexts begun in any 60 seconds.
    pub(crate) begun_per_minute: usize,
    /// The message that ends a stopped context.
    pub(crate) cancel_confirmation: CancelConfirmation,
}

/// The message that ends a stopped context. Until it arrives, the context occupies a slot on its socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CancelConfirmation {
    /// None: late audio is recognised by its context.
    None,
    /// The regular end of a context.
    Done,
    /// A special message.
    Cancelled,
}

/// A parsed server message.
pub(crate) struct TtsMessage {
    /// Its context; `None` means the only one on the socket.
    pub(crate) context: Option<String>,
    pub(crate) event: TtsEvent,
}

/// The contents of a message.
pub(crate) enum TtsEvent {
    /// Audio, and when its words are spoken.
    Audio(AudioChunk),
    /// The context has been spoken completely.
    Done,
    /// The context was stopped.
    Cancelled,
    /// A failure of one context, or of all.
    Failed(AttemptError),
}

/// The encoding requested of a provider: G.711 for telephone calls, or PCM at the rate of a wideband call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TtsEncoding {
    /// G.711 µ-law, 8 kHz.
    Mulaw8k,
    /// 16-bit little-endian PCM, 16 kHz.
    Linear16k,
}

impl TtsEncoding {
    /// Returns the encoding for a request.
    pub(crate) fn of(request: &TtsRequest) -> Self {
        match request.format {
            AudioFormat::Narrowband => Self::Mulaw8k,
            AudioFormat::Wideband => Self::Linear16k,
        }
    }

    /// Decodes a piece of an utterance; `half` is the first byte of a sample that was split.
    pub(super) fn decode(self, bytes: Vec<u8>, half: &mut Option<u8>) -> Vec<i16> {
        match self {
            Self::Mulaw8k => bytes.into_iter().map(|byte| Law::Mu.decode(byte)).collect(),
            Self::Linear16k => {
                let bytes: Vec<u8> = half.take().into_iter().chain(bytes).collect();
                let pairs = bytes.chunks_exact(2);
                *half = pairs.remainder().first().copied();
                pairs.map(|pair| i16::from_le_bytes([pair[0], pair[1]])).collect()
            }
        }
    }
}

/// A piece of speech.
#[derive(Default)]
pub(crate) struct AudioChunk {
    /// In the [`TtsEncoding`] of its request.
    pub(crate) audio: Vec<u8>,
    pub(crate) timing: WordTiming,
}

impl AudioChunk {
    /// Returns its size in a queue, in bytes.
    pub(super) fn bytes(&self) -> usize {
        self.audio.len() + self.timing.bytes()
    }
}

/// The window in which new contexts are counted.
pub(crate) const MINUTE: Duration = Duration::from_secs(60);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn audio_is_decoded_however_it_is_cut() {
        let mut half = None;
        let linear = TtsEncoding::Linear16k;
        assert_eq!(linear.decode(vec![1], &mut half), Vec::<i16>::new());
        assert_eq!(linear.decode(vec![2, 0xff, 0xff, 7], &mut half), [0x0201, -1]);
        assert_eq!((linear.decode(vec![0], &mut half), half), (vec![7], None));
        assert_eq!(TtsEncoding::Mulaw8k.decode(vec![0xff], &mut half), [0]);
    }
}
