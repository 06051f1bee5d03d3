//! Effects of a conversation: what its driver must do.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::cascade::messages::CascadeEffect;
use super::decision::Decision;
use super::failure::Failure;
use super::realtime::messages::{RealtimeCommand, RealtimeEffect};
use super::tool_call::ToolCall;
use super::transcript::Entry;
use crate::Timestamp;

/// One action. Perform effects in the order in which they are returned. `Debug` never shows what was said.
#[derive(Clone, PartialEq)]
pub enum Effect {
    /// Synthesize this text and play it after everything already queued.
    Speak {
        /// Number of the utterance; increases within a conversation.
        utterance: u32,
        /// Plain text, ready to be spoken.
        text: String,
        /// Whether nothing is known to follow: a hint to flush a streaming TTS.
        last_of_turn: bool,
        /// Where its audio comes from.
        source: SpeechSource,
    },
    /// Stop playback at once and drop everything queued. Also ends an [`Effect::PausePlayback`].
    ClearPlayback,
    /// Pause playback at the current sample. Play nothing, including later utterances, until the next [`Effect::ResumePlayback`] or
    /// [`Effect::ClearPlayback`].
    PausePlayback,
    /// Resume from the sample at which [`Effect::PausePlayback`] stopped.
    ResumePlayback,
    /// Run a tool and send [`super::Input::ToolResult`] or [`super::Input::TransferRequested`]. `end_call` is never run.
    RunTool {
        /// Repeat this number with the result.
        turn: u32,
        /// The tool call.
        call: ToolCall,
    },
    /// Have the carrier transfer the caller.
    Transfer {
        /// The destination.
        number: String,
    },
    /// Report that a transfer which a tool requested did not happen.
    NotTransferred {
        /// The id of its tool call.
        id: String,
        /// The reason, which the model gets as the tool's error.
        error: String,
    },
    /// Append a line to the transcript. It is final.
    Transcript(Entry),
    /// Report the times of a turn's stages; sent once the first audio of the response was heard.
    Turn(TurnTimes),
    /// Report a decision about a turn, with its reasons.
    Decision(Box<Decision>),
    /// A request to the LLM or its cancellation.
    Cascade(CascadeEffect),
    /// An action for the session of a speech-to-speech model.
    Realtime(RealtimeEffect),
    /// End the call. Always the last effect.
    HangUp {
        /// The reason.
        reason: End,
    },
}

/// Where the audio of an utterance comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SpeechSource {
    /// From the cache or the TTS.
    Any,
    /// From the cache only, because a TTS is late or has failed: play it at once, before everything queued and even what is already being played. If
    /// it is not cached, return [`super::Input::SynthesisFailed`] at once.
    Cached,
    /// From the TTS, with its first audio within this time; a tone replaces it otherwise.
    Within(Duration),
}

impl From<CascadeEffect> for Effect {
    fn from(effect: CascadeEffect) -> Self {
        Self::Cascade(effect)
    }
}

impl From<RealtimeCommand> for Effect {
    fn from(command: RealtimeCommand) -> Self {
        Self::Realtime(RealtimeEffect::Send(command))
    }
}

impl From<RealtimeEffect> for Effect {
    fn from(effect: RealtimeEffect) -> Self {
        Self::Realtime(effect)
    }
}

/// Why the agent's side ended the conversation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum End {
    /// The model ended it with `end_call`, after the goodbye was heard.
    AgentHungUp,
    /// The caller was silent for too long.
    Silence,
    /// The maximum duration was reached.
    MaxDuration,
    /// A machine answered and the agent is set to hang up on machines.
    VoicemailHungUp,
    /// A machine answered and heard the message.
    VoicemailMessageLeft,
    /// A provider failed permanently.
    Failed(Failure),
    /// A hang-up was requested.
    Requested,
}

/// Times of the stages of the response to one turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TurnTimes {
    /// The number of the [`CascadeEffect::RequestCompletion`].
    pub turn: u32,
    /// When the caller's last audio or last key ended.
    pub speech_ended: Timestamp,
    /// When the turn was decided to be over.
    pub turn_ended: Timestamp,
    /// When the model's first text came. May be before `turn_ended` if the request was sent early.
    pub first_token: Timestamp,
    /// When the first audio of the response was synthesized.
    pub first_audio_ready: Timestamp,
    /// When the first audio of the response was heard by the caller.
    pub first_audio_played: Timestamp,
}

/// When a response reached each stage, in milliseconds since the conversation began.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ResponseStages {
    /// The caller's last audio, or last key.
    pub end_of_speech_ms: i64,
    /// End-of-turn decision.
    pub end_of_turn_ms: i64,
    /// First text from the model; `null` for speech-to-speech. Can precede `end_of_turn_ms` if the model was asked early.
    pub first_token_ms: Option<i64>,
    /// First audio generated.
    pub first_audio_ms: Option<i64>,
    /// First audio heard.
    pub heard_ms: i64,
}

impl ResponseStages {
    /// Returns how long the caller waited, in milliseconds: the difference of the stages as they are shown.
    #[must_use]
    pub fn latency_ms(&self) -> i64 {
        self.heard_ms - self.end_of_speech_ms
    }
}

impl TurnTimes {
    /// Returns the stages, for a conversation that began at time zero. A speech-to-speech model has no first text.
    #[must_use]
    pub fn stages(&self, has_text: bool) -> ResponseStages {
        ResponseStages {
            end_of_speech_ms: self.speech_ended.as_millis(),
            end_of_turn_ms: self.turn_ended.as_millis(),
            first_token_ms: has_text.then(|| self.first_token.as_millis()),
            first_audio_ms: Some(self.first_audio_ready.as_millis()),
            heard_ms: self.first_audio_played.as_millis(),
        }
    }
}

impl fmt::Debug for Effect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Speak { utterance, source, .. } => write!(f, "Speak(utterance {utterance}, {source:?})"),
            Self::ClearPlayback => f.write_str("ClearPlayback"),
            Self::PausePlayback => f.write_str("PausePlayback"),
            Self::ResumePlayback => f.write_str("ResumePlayback"),
            Self::RunTool { turn, call } => write!(f, "RunTool(turn {turn}, {call:?})"),
            Self::Transfer { .. } => f.write_str("Transfer"),
            Self::NotTransferred { .. } => f.write_str("NotTransferred"),
            Self::Transcript(entry) => write!(f, "Transcript({entry:?})"),
            Self::Turn(times) => write!(f, "{times:?}"),
            Self::Decision(decision) => write!(f, "{decision:?}"),
            Self::Cascade(effect) => write!(f, "{effect:?}"),
            Self::Realtime(effect) => write!(f, "{effect:?}"),
            Self::HangUp { reason } => write!(f, "HangUp({reason:?})"),
        }
    }
}
