//! What the conversation wants done.

use std::fmt;

use super::history::Message;
use super::input::{Failure, ToolCall};
use super::transcript::Entry;
use crate::Timestamp;

/// One thing to do. Effects are performed in the order they are returned. `Debug` never shows what was said.
#[derive(Clone, PartialEq)]
pub enum Effect {
    /// Ask the model. Its answer comes back with this turn number.
    Ask {
        /// Numbers the questions of this conversation, rising.
        turn: u32,
        /// Everything the model is to know: the instructions, then what was said and heard.
        messages: Vec<Message>,
        /// Whether the caller may yet go on, and the answer be thrown away.
        speculative: bool,
    },
    /// The answer to this turn is no longer wanted. Unknown and finished turns may be named.
    CancelModel {
        /// The number of the [`Effect::Ask`].
        turn: u32,
    },
    /// Make speech of this text and play it after everything already queued; if it is to be `ready_only`, before that.
    Speak {
        /// Numbers the utterances of this conversation, rising.
        utterance: u32,
        /// Plain text, ready to be spoken.
        text: String,
        /// Whether it is known that nothing follows: a hint to flush a streaming voice.
        last_of_turn: bool,
        /// Whether only sound that is kept will do, since a voice is late or has failed: it is wanted at once and before
        /// everything queued, also what is already being played. Without it, answer [`super::Input::SpeechFailed`] at once.
        ready_only: bool,
    },
    /// Stop the sound on the line at once and forget everything queued. Also ends a [`Effect::Pause`].
    ClearPlayback,
    /// Hold the sound at the very sample. Nothing is played, later utterances included, until the next
    /// [`Effect::Resume`] or [`Effect::ClearPlayback`].
    Pause,
    /// Go on from the sample at which [`Effect::Pause`] stopped.
    Resume,
    /// Run a tool and send [`super::Input::ToolResult`]. `end_call` never gets here.
    RunTool {
        /// To be repeated with the result.
        turn: u32,
        /// What to run.
        call: ToolCall,
    },
    /// A line of the transcript. It is final: nothing will change it.
    Transcript(Entry),
    /// When the steps of a turn happened; sent once the answer's first sound was heard.
    Turn(TurnTimes),
    /// End the call. The last effect there is.
    HangUp {
        /// Why.
        reason: End,
    },
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
    /// Somebody asked for it.
    Requested,
}

/// When the steps of one answered turn happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TurnTimes {
    /// The number of the [`Effect::Ask`].
    pub turn: u32,
    /// The caller's last sound, or last key.
    pub speech_ended: Timestamp,
    /// The turn was judged to be over.
    pub turn_ended: Timestamp,
    /// The model's first text. May be before `turn_ended` when the model was asked early.
    pub first_token: Timestamp,
    /// The first sound of the answer was made.
    pub first_audio_ready: Timestamp,
    /// The first sound of the answer was heard on the line.
    pub first_audio_played: Timestamp,
}

impl fmt::Debug for Effect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ask { turn, messages, speculative } => {
                write!(f, "Ask(turn {turn}, messages {}, speculative {speculative})", messages.len())
            }
            Self::CancelModel { turn } => write!(f, "CancelModel(turn {turn})"),
            Self::Speak { utterance, ready_only, .. } => {
                write!(f, "Speak(utterance {utterance}, ready only {ready_only})")
            }
            Self::ClearPlayback => f.write_str("ClearPlayback"),
            Self::Pause => f.write_str("Pause"),
            Self::Resume => f.write_str("Resume"),
            Self::RunTool { turn, call } => write!(f, "RunTool(turn {turn}, {call:?})"),
            Self::Transcript(entry) => write!(f, "Transcript({entry:?})"),
            Self::Turn(times) => write!(f, "{times:?}"),
            Self::HangUp { reason } => write!(f, "HangUp({reason:?})"),
        }
    }
}
