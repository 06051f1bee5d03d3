//! Speech to speech: one model that takes the caller's audio, responds in audio and does its own endpointing.
//!
//! A provider is a `protocol::RealtimeAdapter`: a handshake, and a protocol without a socket. The shared part is here: the
//! trait that a call is held with, and the task that owns the socket.

mod output_limit;
pub(crate) mod protocol;
mod session;

use std::time::Duration;

use async_trait::async_trait;
pub use switchhook_core::conversation::realtime::{Instructions, RealtimeCommand};
use switchhook_core::conversation::{Message, ToolCall};
use switchhook_media::format::AudioFormat;
use switchhook_media::frame::CallerAudio;
use tokio::sync::mpsc;

pub(crate) use self::session::RealtimeClient;

use super::{ProviderError, ToolSpec, Usage};

/// Speech to speech.
#[async_trait]
pub trait Realtime: Send + Sync {
    /// Whether [`RealtimeOptions::pcm`] makes a difference.
    fn can_use_pcm(&self) -> bool {
        false
    }

    /// Opens a session for one call. What comes of it arrives in `events` until the session is dropped; the last event of one
    /// that is lost is [`RealtimeEvent::Lost`].
    ///
    /// # Errors
    /// When the provider cannot be reached or refuses.
    async fn open(
        &self,
        options: RealtimeOptions,
        events: mpsc::Sender<RealtimeEvent>,
    ) -> Result<Box<dyn RealtimeSession>, ProviderError>;
}

/// What a session is like.
#[derive(Clone, Debug)]
pub struct RealtimeOptions {
    /// The provider's model name; its default when absent.
    pub model: Option<String>,
    /// The provider's voice name; its default when absent.
    pub voice: Option<String>,
    /// BCP 47 tag.
    pub language: String,
    /// What was said so far, oldest first, the instructions in front.
    pub messages: Vec<Message>,
    /// The tools that the model may call.
    pub tools: Vec<ToolSpec>,
    /// Whether callers who speak interrupt the model.
    pub interruptible: bool,
    /// Silence that ends a turn that seems complete, in milliseconds.
    pub min_silence_ms: u32,
    /// Silence that ends any turn, in milliseconds.
    pub max_silence_ms: u32,
    /// Whether audio is PCM, whatever the connection's settings say.
    pub pcm: bool,
    /// The format of the audio on both sides of the session.
    pub format: AudioFormat,
}

/// One call's session. Nothing here may block: audio is due every 20 ms.
pub trait RealtimeSession: Send + Sync {
    /// The next 20 ms of the caller, silence included.
    fn audio(&mut self, frame: &CallerAudio);
    /// Sends a command; commands are executed in this order.
    fn send(&mut self, command: RealtimeCommand);
    /// Checks soon whether the connection is alive: the caller has said something.
    fn probe(&mut self);
}

/// Events of a session. `Debug` would print spoken words, so there is none.
#[derive(Clone, PartialEq)]
pub enum RealtimeEvent {
    /// The caller speaks; where callers interrupt, the response that is under way has been stopped.
    SpeechStarted,
    /// The caller has stopped.
    SpeechStopped,
    /// The caller's turn is an item of the conversation; its words follow.
    TurnCommitted {
        /// The item.
        item: String,
    },
    /// The words of a caller's item, complete; often after the response to it has begun.
    TurnTranscribed {
        /// The item.
        item: String,
        /// The words; empty when there were none or transcription failed.
        text: String,
        /// What the transcription used.
        usage: Usage,
    },
    /// The model begins to respond.
    ResponseStarted {
        /// The response.
        response: String,
        /// The [`RealtimeCommand::Respond`] that it follows; nothing when the provider decided it.
        request: Option<u32>,
    },
    /// A [`RealtimeCommand::Respond`] came while the model was speaking; it may be repeated.
    Busy {
        /// Which.
        request: u32,
    },
    /// More of the model's audio.
    Audio {
        /// The response that it belongs to.
        response: String,
        /// The item that it belongs to.
        item: String,
        /// 16 bit, mono, at the rate of the call; any length.
        samples: Vec<i16>,
    },
    /// More of the words of an item.
    Text {
        /// The response that it belongs to.
        response: String,
        /// The item.
        item: String,
        /// The new text only.
        text: String,
    },
    /// An item has all its audio.
    AudioDone {
        /// The item.
        item: String,
    },
    /// The model calls a tool.
    ToolCall {
        /// The response that it belongs to.
        response: String,
        /// What it calls.
        call: ToolCall,
    },
    /// A response is over.
    ResponseDone {
        /// The response.
        response: String,
        /// What went wrong, in the provider's words. A response that was stopped did not go wrong.
        failed: Option<String>,
        /// How long the provider asks to wait before the next response is requested; nothing where that may not help.
        retry_after: Option<Duration>,
        /// What it used.
        usage: Usage,
    },
    /// The session is gone.
    Lost(ProviderError),
}
