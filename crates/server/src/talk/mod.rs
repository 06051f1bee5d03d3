//! The conversation of one call: connects media, providers and the core's conversation.
//!
//! The [`driver`] is the call's only task: it feeds [`switchhook_core::conversation::Conversation`] and performs its effects. The
//! `media_session` is the connection to the carrier; [`stt`] or a session of [`realtime`] transcribes the caller; [`playback`] holds the
//! agent's queued speech; [`pipeline`] runs requests to LLM and TTS; [`phrase_cache`] caches phrases that recur; [`recorder`] writes the
//! recording; [`audience`] streams the call to people who listen in; [`latency`] measures how long callers wait; [`tools`] are the
//! functions that the model may call. [`prepared`] connects to providers while the phone rings. Nothing here knows the database:
//! everything to be stored leaves as [`Note`]s and, at the end, as a [`Report`].

pub mod audience;
mod connecting;
pub mod driver;
mod in_flight;
pub mod latency;
mod lead;
mod machine;
mod media_session;
pub mod phrase_cache;
pub mod pipeline;
pub mod playback;
pub mod prepared;
pub mod provider_health;
pub mod realtime;
pub mod recorder;
pub(crate) mod strip_nul;
pub mod stt;
pub mod tools;
pub mod voice;

use serde_json::Value;
use switchhook_carriers::Media;
use switchhook_core::Timestamp;
use switchhook_core::agent::AgentConfig;
use switchhook_core::conversation::{Decision, End, Failure, FailureCode, Message, ResponseStages, ToolCall};
use switchhook_core::histogram::Histogram;
use switchhook_core::replay::InputLogWriter;
use switchhook_media::format::AudioFormat;
use switchhook_providers::Usage;
use tokio::sync::{mpsc, oneshot};

use self::audience::Audience;
use crate::recordings::Recording;

/// Settings of a conversation, fixed before it begins.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The agent, with its variables filled in.
    pub agent: AgentConfig,
    /// The recording to write, if the call is recorded.
    pub recording: Option<Recording>,
    /// The people who listen in during the call.
    pub audience: Audience,
    /// The format of the audio inside the call.
    pub format: AudioFormat,
    /// Whether to log the conversation's inputs for a replay.
    pub log_inputs: bool,
}

/// Receives a conversation's notes. Unbounded, since no line of the transcript may be lost and none may delay audio. The longest duration
/// of a call limits how many there are.
pub type Notes = mpsc::UnboundedSender<Note>;

/// Commands to a conversation, which reads them within a frame. Unbounded, since a command taken from the database must not be lost. The
/// rate limit of the API limits how many there are.
pub type Commands = mpsc::UnboundedReceiver<Command>;

/// A command to a running conversation. No `Debug`: it would print what is spoken.
pub enum Command {
    /// Stop speaking and end the call.
    HangUp,
    /// Speak this text next, or at once.
    Say {
        /// The text.
        text: String,
        /// Whether to interrupt the current speech.
        interrupt: bool,
    },
    /// Send DTMF tones for these keys; `w` is a pause.
    Dtmf(String),
    /// The carrier reports an answering machine.
    Machine {
        /// Whether its greeting is over, so that a message can be left.
        greeting_ended: bool,
    },
    /// The carrier reports that a person answered.
    Human,
    /// Stop speaking: the carrier has been asked to transfer the caller.
    TransferStarted,
    /// The transfer failed: continue the conversation.
    TransferFailed,
    /// The carrier has opened the line again, in place of one that ended with a transfer. Boxed: most commands are small.
    LineReturned(Box<Media>),
}

/// Something to store, sent as it happens. No `Debug`: it would print what is spoken.
pub enum Note {
    /// The caller or the agent has said something. Boxed, as tool calls are: the channel allocates room for many notes.
    Transcript(Box<TranscriptLine>),
    /// A tool call is about to send a request to a service; its end follows. The sender is used once this is stored, and dropped if it will
    /// not be.
    ToolRequested(Box<ToolCallNote>, oneshot::Sender<()>),
    /// A tool call has ended, or has requested a transfer, or the conversation has ended while the carrier was asked for that.
    ToolCall(Box<ToolCallNote>),
    /// The agent requests something from the carrier.
    CarrierRequest(CarrierRequest),
    /// The line has ended while the carrier is asked to transfer the caller. Another one may follow.
    LineGone,
}

/// A tool call. No `Debug`: it would print what is spoken.
#[derive(Clone)]
pub struct ToolCallNote {
    /// The call that the model made.
    pub call: ToolCall,
    /// The result for the model; `None` for a request to a service, and for a transfer as long as it has not failed.
    pub result: Option<Value>,
    /// When it began, in milliseconds since the start of the conversation.
    pub start_ms: i64,
    /// Its duration in milliseconds.
    pub duration_ms: i64,
}

/// A request by the agent to the carrier. No `Debug`: it would print numbers.
#[derive(Clone)]
pub enum CarrierRequest {
    /// Transfer the caller to this number.
    Transfer(String),
    /// Send DTMF tones for these keys; `w` is a pause.
    SendDtmf(String),
}

/// A line of the transcript.
#[derive(Clone)]
pub struct TranscriptLine {
    /// Whether the agent said it, not the caller.
    pub by_agent: bool,
    /// The text; for the agent, only as far as the caller heard it.
    pub text: String,
    /// Milliseconds since the start of the conversation.
    pub start_ms: i64,
    /// Milliseconds since the start of the conversation.
    pub end_ms: i64,
    /// Whether the caller interrupted it.
    pub interrupted: bool,
    /// How long the caller waited for this response, in milliseconds, from the end of their speech to the first audio.
    pub latency_ms: Option<i64>,
    /// The stages of that wait.
    pub stages: Option<ResponseStages>,
}

/// The result of a conversation.
#[derive(Debug)]
pub struct Report {
    /// Why it ended.
    pub end: Ended,
    /// The number of the caller's turns that got a response.
    pub turns: u32,
    /// The history with the instructions, for the post-call analysis.
    pub history: Vec<Message>,
    /// How long the caller waited for responses.
    pub latency: latency::Summary,
    /// The distribution of those waits.
    pub responses: Histogram,
    /// The usage to be charged.
    pub usage: Usage,
    /// Whether a recording was written.
    pub recorded: bool,
    /// The decisions about turns.
    pub decisions: Vec<Decision>,
    /// The log of the conversation's inputs, if enabled.
    pub inputs: Option<InputLogWriter>,
    /// When it ended, counted from its start.
    pub ended: Timestamp,
}

/// Returns the end of a conversation in which something panicked.
fn panicked() -> Ended {
    let words = "A part of the conversation stopped unexpectedly. The service's log has the reason.";
    Ended::By(End::Failed(Failure::new(FailureCode::Pipeline, words)))
}

/// Why a conversation ended.
#[derive(Debug)]
pub enum Ended {
    /// The agent's side ended it.
    By(End),
    /// The connection to the carrier was lost.
    MediaLost,
}
