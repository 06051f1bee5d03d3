//! What a conversation wants done.

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

/// One thing to do. Effects are performed in the order they are returned. `Debug` never shows what was said.
#[derive(Clone, PartialEq)]
pub enum Effect {
    /// Synthesize this text and play it after everything already queued.
    Speak {
        /// Numbers the utterances of this conversation, rising.
        utterance: u32,
        /// Plain text, ready to be spoken.
        text: String,
        /// Whether it is known that nothing follows: a hint to flush a streaming TTS.
        last_of_turn: bool,
        /// Where its audio comes from.
        source: SpeechSource,
    },
    /// Stop playback at once and forget everything queued. Also ends a [`Effect::PausePlayback`].
    ClearPlayback,
    /// Hold playback at the very sample. Nothing is played, later utterances included, until the next
    /// [`Effect::ResumePlayback`] or [`Effect::ClearPlayback`].
    PausePlayback,
    /// Go on from the sample at which [`Effect::PausePlayback`] stopped.
    ResumePlayback,
    /// Run a tool and send [`super::Input::ToolResult`] or [`super::Input::TransferRequested`]. `end_call` never gets here.
    RunTool {
        /// To be repeated with the result.
        turn: u32,
        /// What to run.
        call: ToolCall,
    },
    /// Have the carrier transfer the caller.
    Transfer {
        /// To whom.
        number: String,
    },
    /// A line of the transcript. It is final: nothing will change it.
    Transcript(Entry),
    /// When the steps of a turn happened; sent once the first audio of the response was heard.
    Turn(TurnTimes),
    /// What was decided about a turn, and why.
    Decision(Box<Decision>),
    /// Something for the LLM.
    Cascade(CascadeEffect),
    /// Something for the session of a speech-to-speech model.
    Realtime(RealtimeEffect),
    /// End the call. The last effect there is.
    HangUp {
        /// Why.
        reason: End,
    },
}

/// Where the audio of an utterance comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SpeechSource {
    /// From the cache or the TTS.
    Any,
    /// From the cache only, since a TTS is late or has failed: it is wanted at once and before everything queued, also what is
    /// already being played. Without it, return [`super::Input::SynthesisFailed`] at once.
    Cached,
    /// From the TTS, and its first audio within this time; a tone stands in for it.
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
    /// The model ended it with `end_call`, and the goodbye was heard.
    AgentHungUp,
    /// The caller was silent for too long.
    Silence,
    /// The longest duration was reached.
    MaxDuration,
    /// A machine answered and was not to be talked to.
    VoicemailHungUp,
    /// A machine answered and heard the message.
    VoicemailMessageLeft,
    /// A provider failed for good.
    Failed(Failure),
    /// It was requested.
    Requested,
}

/// When the steps of the response to one turn happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TurnTimes {
    /// The number of the [`CascadeEffect::RequestCompletion`].
    pub turn: u32,
    /// The caller's last audio, or last key.
    pub speech_ended: Timestamp,
    /// The turn was judged to be over.
    pub turn_ended: Timestamp,
    /// The model's first text. May be before `turn_ended` when the request was sent early.
    pub first_token: Timestamp,
    /// The first audio of the response was synthesized.
    pub first_audio_ready: Timestamp,
    /// The first audio of the response was heard on the line.
    pub first_audio_played: Timestamp,
}

/// When a response reached which stage, in milliseconds since the conversation began. What lies between two stages was spent on: the
/// end of the turn, the model, the voice, the line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ResponseStages {
    /// The caller's last audio, or last key.
    pub end_of_speech_ms: i64,
    /// The turn was judged to be over.
    pub end_of_turn_ms: i64,
    /// The model's first text; `null` for a speech-to-speech model. May be before `end_of_turn_ms` when the model was asked early.
    pub first_token_ms: Option<i64>,
    /// The first audio was made.
    pub first_audio_ms: Option<i64>,
    /// The first audio was heard.
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
            Self::Transcript(entry) => write!(f, "Transcript({entry:?})"),
            Self::Turn(times) => write!(f, "{times:?}"),
            Self::Decision(decision) => write!(f, "{decision:?}"),
            Self::Cascade(effect) => write!(f, "{effect:?}"),
            Self::Realtime(effect) => write!(f, "{effect:?}"),
            Self::HangUp { reason } => write!(f, "HangUp({reason:?})"),
        }
    }
}
