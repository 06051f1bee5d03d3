//! One call's conversation: media, providers and the core's conversation, put together.
//!
//! The [`driver`] is the one task of a call: it feeds [`switchhook_core::conversation::Conversation`] and performs its effects. The
//! `media_session` is the carrier's end; [`stt`] or a session of [`realtime`] hears the caller; [`playback`] holds what the agent is
//! about to say; [`pipeline`] runs requests to LLM and TTS, and [`phrase_cache`] caches what is said again and again; [`recorder`] writes
//! the recording, [`audience`] are people who listen, [`latency`] adds up what callers had to wait, [`tools`] are what the model may call.
//! [`prepared`] is what is connected while the phone rings. Nothing here knows the database: what is worth keeping leaves as [`Note`]s and, at the end, as a [`Report`].

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

use std::path::PathBuf;

use serde_json::Value;
use switchhook_carriers::Media;
use switchhook_core::Timestamp;
use switchhook_core::agent::AgentConfig;
use switchhook_core::conversation::{Decision, End, Failure, FailureCode, Message, ResponseStages, ToolCall};
use switchhook_core::histogram::Histogram;
use switchhook_core::replay::InputLogWriter;
use switchhook_media::format::AudioFormat;
use switchhook_providers::Usage;
use tokio::sync::mpsc;

use self::audience::Audience;

/// What a conversation needs to know before it begins.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The agent, its texts filled in.
    pub agent: AgentConfig,
    /// Where the recording goes, when there is to be one.
    pub recording: Option<PathBuf>,
    /// Who listens while it goes on.
    pub audience: Audience,
    /// The format of the audio inside the call.
    pub format: AudioFormat,
    /// Whether its inputs are logged, to be replayed.
    pub log_inputs: bool,
}

/// Where a conversation leaves its notes. Unbounded, since no line of the transcript may be lost and none may hold up audio: there are
/// as many as are spoken within the longest duration of a call.
pub type Notes = mpsc::UnboundedSender<Note>;

/// The commands to a conversation, which it takes within a frame. Unbounded, since what was taken from the database must not be lost:
/// there are as many as the rate limit of the API lets through.
pub type Commands = mpsc::UnboundedReceiver<Command>;

/// A command to a running conversation. `Debug` would print spoken words, so there is none.
pub enum Command {
    /// Say no more and end.
    HangUp,
    /// Speak this next, or at once.
    Say {
        /// The words.
        text: String,
        /// Whether instead of what is being said.
        interrupt: bool,
    },
    /// Send the tones of these keys; `w` is a pause.
    Dtmf(String),
    /// The carrier says that a machine answered, and whether its greeting is over.
    Machine {
        /// Whether a message can be left now.
        greeting_ended: bool,
    },
    /// The carrier says that a person answered.
    Human,
    /// Fall silent: the carrier is asked to transfer the caller.
    TransferStarted,
    /// It did not: go on.
    TransferFailed,
    /// The carrier has opened the line again, in place of one that ended with a transfer. Boxed: most commands are small.
    LineReturned(Box<Media>),
}

/// Something worth keeping, as it happens. `Debug` would print spoken words, so there is none.
#[derive(Clone)]
pub enum Note {
    /// Somebody has said something. Boxed, as below: channels have room for many notes.
    Transcript(Box<TranscriptLine>),
    /// A tool has run.
    ToolCall(Box<ToolCallNote>),
    /// The agent requests something of the carrier.
    CarrierRequest(CarrierRequest),
    /// The line has ended while the carrier is asked to transfer the caller. Another one may follow.
    LineGone,
}

/// A tool that has run. `Debug` would print spoken words, so there is none.
#[derive(Clone)]
pub struct ToolCallNote {
    /// The model's call of it.
    pub call: ToolCall,
    /// What the model is told; nothing where that is not known yet.
    pub result: Option<Value>,
    /// When it began, in milliseconds since the conversation began.
    pub start_ms: i64,
    /// How long it took, in milliseconds.
    pub duration_ms: i64,
}

/// What an agent requests of the carrier. `Debug` would print numbers, so there is none.
#[derive(Clone)]
pub enum CarrierRequest {
    /// Transfer the caller to this number.
    Transfer(String),
    /// Send the tones of these keys; `w` is a pause.
    SendDtmf(String),
}

/// A line of the transcript.
#[derive(Clone)]
pub struct TranscriptLine {
    /// Whether the agent said it.
    pub by_agent: bool,
    /// What was said; of the agent, what was heard.
    pub text: String,
    /// Milliseconds since the conversation began.
    pub start_ms: i64,
    /// Milliseconds since the conversation began.
    pub end_ms: i64,
    /// Whether the caller cut it short.
    pub interrupted: bool,
    /// How long the caller waited for this response, in milliseconds, from the end of their speech to the first audio.
    pub latency_ms: Option<i64>,
    /// How that time was spent.
    pub stages: Option<ResponseStages>,
}

/// How a conversation went.
#[derive(Debug)]
pub struct Report {
    /// Why it ended.
    pub end: Ended,
    /// The caller's turns that had a response.
    pub turns: u32,
    /// What was said and heard, instructions in front, for the analysis.
    pub history: Vec<Message>,
    /// How long the caller waited.
    pub latency: latency::Summary,
    /// How long for each answer.
    pub responses: Histogram,
    /// What was used.
    pub usage: Usage,
    /// Whether a recording was written.
    pub recorded: bool,
    /// What was decided about turns.
    pub decisions: Vec<Decision>,
    /// What happened to the conversation, where that is logged.
    pub inputs: Option<InputLogWriter>,
    /// When it was over, from its beginning.
    pub ended: Timestamp,
}

/// The end of a conversation in which something panicked.
fn panicked() -> Ended {
    let words = "A part of the conversation stopped unexpectedly. The service's log has the reason.";
    Ended::By(End::Failed(Failure::new(FailureCode::Pipeline, words)))
}

/// Why a conversation ended.
#[derive(Debug)]
pub enum Ended {
    /// The agent's side ended it.
    By(End),
    /// The line was gone.
    MediaLost,
}
