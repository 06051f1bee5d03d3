//! What STT and LLM report, and the requests to the LLM.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::conversation::failure::Failure;
use crate::conversation::history::Message;
use crate::conversation::tool_call::ToolCall;

/// One thing that STT or LLM reports. Its `Debug` names the event and its numbers, never what was said.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CascadeInput {
    /// What the STT makes of the segment being spoken, so far. Replaces the partial before it.
    TranscriptPartial {
        /// The words.
        text: String,
    },
    /// The STT's words for one segment. A second one for the same segment replaces the first.
    TranscriptFinal {
        /// The number of the `SpeechStopped` that ends (or will end) this segment.
        segment: u32,
        /// The words; empty when there were none.
        text: String,
    },
    /// An STT that judges turns itself says that the caller has finished.
    EndOfTurn,
    /// The caller can no longer be understood; fallbacks have been tried.
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
        /// What it calls.
        call: ToolCall,
        /// Said while it runs, unless the LLM has said something itself.
        filler: Option<String>,
    },
    /// The LLM's response is complete.
    LlmDone {
        /// The number of the [`CascadeEffect::RequestCompletion`].
        turn: u32,
    },
    /// The LLM could not respond; fallbacks have been tried.
    LlmFailed {
        /// The number of the [`CascadeEffect::RequestCompletion`].
        turn: u32,
        /// What went wrong.
        failure: Failure,
    },
}

/// A request to the LLM, or its cancellation.
#[derive(Clone, PartialEq)]
pub enum CascadeEffect {
    /// Request a completion. It comes back with this turn number.
    RequestCompletion {
        /// Numbers the requests of this conversation, rising.
        turn: u32,
        /// Everything the LLM is to know: the instructions, then what was said and heard.
        messages: Vec<Message>,
        /// Whether the caller may yet go on, and the response be thrown away.
        speculative: bool,
    },
    /// Synthesize the first sentence of a speculative completion. It is said once the turn is over, or never.
    PrepareSpeech {
        /// The number of the [`CascadeEffect::RequestCompletion`]; its cancellation cancels this as well.
        turn: u32,
        /// The text of the [`Effect::Speak`](crate::conversation::Effect::Speak) that may follow.
        text: String,
    },
    /// The completion of this turn is no longer wanted. Unknown and finished turns may be named.
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
