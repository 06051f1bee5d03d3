//! Reports from STT and LLM, and requests to the LLM.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::conversation::failure::Failure;
use crate::conversation::history::Message;
use crate::conversation::tool_call::ToolCall;

/// One report from STT or LLM. Its `Debug` names the event and its numbers, never what was said.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CascadeInput {
    /// The STT's text so far for the segment being spoken. Replaces the previous partial.
    TranscriptPartial {
        /// The text.
        text: String,
    },
    /// The STT's text for one segment. A second one for the same segment replaces the first.
    TranscriptFinal {
        /// The number of the `SpeechStopped` that ends (or will end) this segment.
        segment: u32,
        /// The text; empty if nothing was recognised.
        text: String,
    },
    /// The end of turn as detected by an STT that does its own endpointing.
    EndOfTurn,
    /// STT failed, including its fallbacks; the caller can no longer be understood.
    SttFailed(Failure),
    /// More of the LLM's response.
    LlmText {
        /// The number of the [`CascadeEffect::RequestCompletion`].
        turn: u32,
        /// The new text only.
        text: String,
    },
    /// The LLM calls a tool.
    LlmToolCall {
        /// The number of the [`CascadeEffect::RequestCompletion`].
        turn: u32,
        /// The tool call.
        call: ToolCall,
        /// Text to say while it runs, unless the LLM has said something itself.
        filler: Option<String>,
    },
    /// The LLM's response is complete.
    LlmDone {
        /// The number of the [`CascadeEffect::RequestCompletion`].
        turn: u32,
    },
    /// The LLM and its fallbacks failed to respond.
    LlmFailed {
        /// The number of the [`CascadeEffect::RequestCompletion`].
        turn: u32,
        /// Kind of failure.
        failure: Failure,
    },
}

/// A request to the LLM, or its cancellation.
#[derive(Clone, PartialEq)]
pub enum CascadeEffect {
    /// Request a completion. Its response carries this number.
    RequestCompletion {
        /// Number of the request; increases within a conversation.
        turn: u32,
        /// The context for the LLM: the instructions, then what was said and heard.
        messages: Vec<Message>,
        /// Whether the caller may still continue, so that the response may be discarded.
        speculative: bool,
    },
    /// Synthesize the first sentence of a speculative completion. It is said once the turn is over, or never.
    PrepareSpeech {
        /// The number of the [`CascadeEffect::RequestCompletion`]; cancelling that cancels this, too.
        turn: u32,
        /// The text of the [`Effect::Speak`](crate::conversation::Effect::Speak) that may follow.
        text: String,
    },
    /// Cancel the completion of this turn. The turn may be unknown or finished.
    CancelCompletion {
        /// The number of the [`CascadeEffect::RequestCompletion`].
        turn: u32,
    },
}

impl fmt::Debug for CascadeInput {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TranscriptPartial { .. } => f.write_str("TranscriptPartial"),
            Self::TranscriptFinal { segment, text } => {
                write!(f, "TranscriptFinal(segment {segment}, empty {})", text.trim().is_empty())
            }
            Self::EndOfTurn => f.write_str("EndOfTurn"),
            Self::SttFailed(failure) => write!(f, "SttFailed({failure:?})"),
            Self::LlmText { turn, .. } => write!(f, "LlmText(turn {turn})"),
            Self::LlmToolCall { turn, call, .. } => write!(f, "LlmToolCall(turn {turn}, {call:?})"),
            Self::LlmDone { turn } => write!(f, "LlmDone(turn {turn})"),
            Self::LlmFailed { turn, failure } => write!(f, "LlmFailed(turn {turn}, {failure:?})"),
        }
    }
}

impl fmt::Debug for CascadeEffect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::RequestCompletion { turn, messages, speculative } => {
                write!(f, "RequestCompletion(turn {turn}, messages {}, speculative {speculative})", messages.len())
            }
            Self::PrepareSpeech { turn, .. } => write!(f, "PrepareSpeech(turn {turn})"),
            Self::CancelCompletion { turn } => write!(f, "CancelCompletion(turn {turn})"),
        }
    }
}
