//! Speech to speech: one model that takes the caller's audio, responds in audio and does its own endpointing.
//!
//! A provider is a `protocol::RealtimeAdapter`: a handshake, and a protocol without a socket. The shared part is here: the
//! trait that calls use, and the task that owns the socket.

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
    /// Returns whether [`RealtimeOptions::pcm`] makes a difference.
    fn can_use_pcm(&self) -> bool {
        false
    }

    /// Opens a session for one call. Its events arrive in `events` until the session is dropped; the last event of a lost session is
    /// [`RealtimeEvent::Lost`].
    ///
    /// # Errors
    /// When the provider cannot be reached or refuses.
    async fn open(
        &self,
        options: RealtimeOptions,
        events: mpsc::Sender<RealtimeEvent>,
    ) -> Result<Box<dyn RealtimeSession>, ProviderError>;
}

/// Options of a session.
#[derive(Clone, Debug)]
pub struct RealtimeOptions {
    /// The provider's model name; its default when absent.
    pub model: Option<String>,
    /// The provider's voice name; its default when absent.
    pub voice: Option<String>,
    /// BCP 47 tag.
    pub language: String,
    /// The conversation so far, oldest first, after the instructions.
    pub messages: Vec<Message>,
    /// The tools that the model may call.
    pub tools: Vec<ToolSpec>,
    /// Whether callers who speak interrupt the model.
    pub interruptible: bool,
    /// Silence that ends a turn that seems complete, in milliseconds.
    pub min_silence_ms: u32,
    /// Silence that ends any turn, in milliseconds.
    pub max_silence_ms: u32,
    /// Whether audio is PCM, regardless of the connection's settings.
    pub pcm: bool,
    /// The format of the audio on both sides of the session.
    pub format: AudioFormat,
}

/// One call's session. Nothing here may block: audio is due every 20 ms.
pub trait RealtimeSession: Send + Sync {
    /// Sends the next 20 ms of the caller, silence included.
    fn audio(&mut self, frame: &CallerAudio);
    /// Sends a command; commands are executed in this order.
    fn send(&mut self, command: RealtimeCommand);
    /// Checks soon whether the connection is alive, because the caller has said something.
    fn probe(&mut self);
}

/// Events of a session. Not `Debug`, which would print spoken words.
#[derive(Clone, PartialEq)]
pub enum RealtimeEvent {
    /// The caller speaks; if callers interrupt, the current response has been stopped.
    SpeechStarted,
    /// The caller has stopped speaking.
    SpeechStopped,
    /// The caller's turn became an item of the conversation; its transcript follows.
    TurnCommitted {
        /// The item.
        item: String,
    },
    /// The complete transcript of a caller's item; often arrives after the response to it has begun.
    TurnTranscribed {
        /// The item.
        item: String,
        /// The transcript; empty when there were no words or transcription failed.
        text: String,
        /// Usage of the transcription.
        usage: Usage,
    },
    /// The model begins to respond.
    ResponseStarted {
        /// The response.
        response: String,
        /// The [`RealtimeCommand::Respond`] that it answers; `None` when the provider decided to respond.
        request: Option<u32>,
    },
    /// A [`RealtimeCommand::Respond`] arrived while the model was speaking; it may be repeated.
    Busy {
        /// The rejected request.
        request: u32,
    },
    /// More of the model's audio.
    Audio {
        /// The response it belongs to.
        response: String,
        /// The item it belongs to.
        item: String,
        /// 16-bit mono samples at the call's rate; any length.
        samples: Vec<i16>,
    },
    /// More of the text of an item.
    Text {
        /// The response it belongs to.
        response: String,
        /// The item.
        item: String,
        /// The new text only.
        text: String,
    },
    /// All audio of an item has arrived.
    AudioDone {
        /// The item.
        item: String,
    },
    /// The model calls a tool.
    ToolCall {
        /// The response it belongs to.
        response: String,
        /// The tool call.
        call: ToolCall,
    },
    /// A response is over.
    ResponseDone {
        /// The response.
        response: String,
        /// The provider's message if it failed. A response that was stopped has not failed.
        failed: Option<String>,
        /// How long the provider asks to wait before the next response is requested; `None` where waiting may not help.
        retry_after: Option<Duration>,
        /// Usage of the response.
        usage: Usage,
    },
    /// A response is over of which a content filter withheld everything. What the caller said before it is no longer in the conversation,
    /// as far as the provider allows that.
    ResponseRefused {
        /// The response.
        response: String,
        /// The caller's items that are no longer in it: no later session may have them either.
        left_out: Vec<String>,
        /// Usage of the response.
        usage: Usage,
    },
    /// The session is lost.
    Lost(ProviderError),
}
