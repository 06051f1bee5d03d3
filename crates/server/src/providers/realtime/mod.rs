//! Speech to speech: one model that takes the caller's audio, responds in audio and does its own endpointing.
//!
//! A provider is a `protocol::RealtimeAdapter`: a handshake, and a protocol without a socket. The shared part is here: the
//! trait that a call is held with, and the task that owns the socket.

mod output_limit;
pub(crate) mod protocol;
mod session;

use async_trait::async_trait;
use serde_json::Value;
pub use switchhook_core::conversation::realtime::Direction;
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
    /// When the provider cannot be outbound_access or refuses.
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
    /// Silence that ends a turn which audios finished, in milliseconds.
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
    /// Something to do, in the order of the orders.
    fn order(&mut self, order: Order);
    /// Find out soon whether anybody is still there: the caller has said something.
    fn probe(&mut self);
}

/// Commands of a session. `Debug` would print spoken words, so there is none.
#[derive(Clone, PartialEq)]
pub enum Order {
    /// Have the model speak now. It must not be speaking already.
    Respond {
        /// Comes back with [`RealtimeEvent::ResponseStarted`].
        wish: u32,
        /// What about.
        direction: Direction,
    },
    /// Stop a response that is under way.
    Cancel {
        /// The response.
        response: String,
    },
    /// The caller heard only that much of an item: the model is to forget the rest of it.
    Truncate {
        /// The item.
        item: String,
        /// How much, in milliseconds; never more than was received.
        heard_ms: u64,
    },
    /// What a tool answered. The model does not speak of it before it is told to.
    ToolOutput {
        /// [`ToolCall::id`].
        id: String,
        /// The answer.
        result: Value,
    },
    /// Something that the caller did other than speaking.
    Tell {
        /// The words for it.
        text: String,
    },
    /// Take what was received of the caller as their turn. The model does not answer it before it is told to.
    EndTurn,
}

/// Events of a session. `Debug` would print spoken words, so there is none.
#[derive(Clone, PartialEq)]
pub enum RealtimeEvent {
    /// The caller speaks; where callers interrupt, the response that is under way has been stopped.
    SpeechStarted,
    /// The caller has stopped.
    SpeechStopped,
    /// What the caller said is an item of the conversation; its words follow.
    TurnTaken {
        /// The item.
        item: String,
    },
    /// The words of a caller's item, complete; often after the answer to it has begun.
    CallerSaid {
        /// The item.
        item: String,
        /// The words; empty when there were none or transcription failed.
        text: String,
        /// What writing them down used.
        usage: Usage,
    },
    /// The model begins to respond.
    ResponseStarted {
        /// The response.
        response: String,
        /// The [`Order::Respond`] that it follows; nothing when the provider decided it.
        wish: Option<u32>,
    },
    /// An [`Order::Respond`] came while the model was speaking; it may be repeated.
    Busy {
        /// Which.
        wish: u32,
    },
    /// More of the model's audio.
    Sound {
        /// The response that it belongs to.
        response: String,
        /// The item that it belongs to.
        item: String,
        /// 8 kHz, 16 bit, mono; any length.
        samples: Vec<i16>,
    },
    /// More of the words of an item.
    Words {
        /// The response that it belongs to.
        response: String,
        /// The item.
        item: String,
        /// The new text only.
        text: String,
    },
    /// An item has all its audio.
    SoundDone {
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
        /// What it used.
        usage: Usage,
    },
    /// The session is gone.
    Lost(ProviderError),
}
