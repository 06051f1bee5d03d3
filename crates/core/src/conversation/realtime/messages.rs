//! Reports from the session of a speech-to-speech model, and commands to it.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::conversation::failure::Failure;
use crate::conversation::tool_call::ToolCall;
use crate::time::nanoseconds;

/// One report from a session. Its `Debug` names the event, never what was said.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RealtimeInput {
    /// The model hears the caller speak.
    SpeechStarted,
    /// The model detected the end of the caller's turn.
    SpeechStopped,
    /// The caller's turn is an item of the conversation; its transcript follows.
    TurnCommitted {
        /// The item.
        item: String,
    },
    /// The transcript of a caller's item.
    TurnTranscribed {
        /// The item.
        item: String,
        /// The text; empty if nothing was recognised.
        text: String,
    },
    /// The model begins to respond.
    ResponseStarted {
        /// The response.
        response: String,
        /// The [`RealtimeCommand::Respond`] that it follows; `None` if the provider started it.
        request: Option<u32>,
    },
    /// A [`RealtimeCommand::Respond`] came while the model was speaking.
    Busy {
        /// The number of the command.
        request: u32,
    },
    /// Audio from the model arrived.
    Audio {
        /// The response that it belongs to.
        response: String,
        /// The item that it belongs to.
        item: String,
        /// How much arrived now.
        #[serde(with = "nanoseconds")]
        audio: Duration,
    },
    /// Text from the model arrived.
    Text {
        /// The response that it belongs to.
        response: String,
        /// The item that it belongs to.
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
        /// The tool call.
        call: ToolCall,
        /// Text to say while it runs, unless the model has said something itself.
        filler: Option<String>,
    },
    /// A response is over.
    ResponseDone {
        /// The response.
        response: String,
        /// The provider's error message.
        failed: Option<String>,
        /// How long the provider asks to wait before the next request, in milliseconds.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        retry_after_ms: Option<u64>,
    },
    /// A response is over of which a content filter withheld everything. What the caller said before it has left the session.
    ResponseRefused {
        /// The response.
        response: String,
        /// The caller's items that have left the session.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        left_out: Vec<String>,
    },
    /// There is no session yet. The one that is being opened has the greeting.
    SessionConnecting,
    /// The session is lost, and another one is being opened. Give it `Conversation::history_with_queued`.
    SessionLost,
    /// The session is open. It hears what the caller said from `Conversation::unheard_since` on.
    SessionReady,
    /// The session failed, and no other will be opened.
    SessionFailed(Failure),
}

/// Instructions for one response.
#[derive(Clone, PartialEq, Eq)]
pub enum Instructions {
    /// None: respond as the conversation requires.
    Freely,
    /// Follow these in addition to the session's instructions.
    Directed(String),
    /// Say exactly this text.
    Exactly(String),
}

/// A command to a session. Its `Debug` names the command, never what is said.
#[derive(Clone, PartialEq)]
pub enum RealtimeCommand {
    /// Make the model respond. It is not speaking now.
    Respond {
        /// Number of the request; increases within a conversation.
        request: u32,
        /// Instructions for the response.
        instructions: Instructions,
    },
    /// Stop the response that is under way.
    Cancel {
        /// The response.
        response: String,
    },
    /// Remove what the caller did not hear of an item from the model's context.
    Truncate {
        /// The item.
        item: String,
        /// How much they heard.
        heard: Duration,
    },
    /// The result of a tool.
    ToolOutput {
        /// [`ToolCall::id`].
        id: String,
        /// The result.
        result: Value,
    },
    /// Add a text about what the caller did other than speaking.
    AddContext {
        /// The text.
        text: String,
    },
    /// End the caller's turn, which the model has not detected: the audio it has received is the turn.
    EndTurn,
}

/// An action of the driver for a speech-to-speech model.
#[derive(Clone, PartialEq)]
pub enum RealtimeEffect {
    /// Send this command to the session.
    Send(RealtimeCommand),
    /// Open another session, in another format or with another model, because the current one does not understand the caller. The current session
    /// counts as lost, as after [`RealtimeInput::SessionLost`].
    ReplaceSession,
    /// Play the audio of this item after everything already queued.
    QueueItem {
        /// Number of the utterance, in one sequence with those of `Effect::Speak`.
        utterance: u32,
        /// The item.
        item: String,
    },
    /// No more audio will come for an item.
    ItemComplete {
        /// Its utterance.
        utterance: u32,
    },
}

impl fmt::Debug for RealtimeInput {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::SpeechStarted => f.write_str("SpeechStarted"),
            Self::SpeechStopped => f.write_str("SpeechStopped"),
            Self::TurnCommitted { .. } => f.write_str("TurnCommitted"),
            Self::TurnTranscribed { text, .. } => write!(f, "TurnTranscribed(empty {})", text.trim().is_empty()),
            Self::ResponseStarted { request, .. } => write!(f, "ResponseStarted(request {request:?})"),
            Self::Busy { request } => write!(f, "Busy(request {request})"),
            Self::Audio { audio, .. } => write!(f, "Audio({audio:?})"),
            Self::Text { .. } => f.write_str("Text"),
            Self::AudioDone { .. } => f.write_str("AudioDone"),
            Self::ToolCall { call, .. } => write!(f, "{call:?}"),
            Self::ResponseDone { failed, .. } => write!(f, "ResponseDone(failed {})", failed.is_some()),
            Self::ResponseRefused { .. } => f.write_str("ResponseRefused"),
            Self::SessionConnecting => f.write_str("SessionConnecting"),
            Self::SessionLost => f.write_str("SessionLost"),
            Self::SessionReady => f.write_str("SessionReady"),
            Self::SessionFailed(failure) => write!(f, "SessionFailed({failure:?})"),
        }
    }
}

impl fmt::Debug for Instructions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Freely => "Freely",
            Self::Directed(_) => "Directed",
            Self::Exactly(_) => "Exactly",
        })
    }
}

impl fmt::Debug for RealtimeCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Respond { request, instructions } => write!(f, "Respond(request {request}, {instructions:?})"),
            Self::Cancel { .. } => f.write_str("Cancel"),
            Self::Truncate { heard, .. } => write!(f, "Truncate({heard:?})"),
            Self::ToolOutput { .. } => f.write_str("ToolOutput"),
            Self::AddContext { .. } => f.write_str("AddContext"),
            Self::EndTurn => f.write_str("EndTurn"),
        }
    }
}

impl fmt::Debug for RealtimeEffect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Send(command) => command.fmt(f),
            Self::ReplaceSession => f.write_str("ReplaceSession"),
            Self::QueueItem { utterance, .. } => write!(f, "QueueItem(utterance {utterance})"),
            Self::ItemComplete { utterance } => write!(f, "ItemComplete(utterance {utterance})"),
        }
    }
}
