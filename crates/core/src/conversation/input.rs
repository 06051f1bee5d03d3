//! What happens to a conversation.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::cascade::messages::CascadeInput;
use super::failure::Failure;
use super::heard::SpokenWord;
use super::realtime::messages::RealtimeInput;
use crate::language::MachineWords;
use crate::time::nanoseconds;

/// One thing that happened. Its `Debug` names the event and its numbers, never what was said.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Input {
    /// Audio flows in both directions: the greeting may start.
    MediaStarted,
    /// The caller may be beginning to speak: voice was found, for less than [`super::Timings::vad_onset`]; or it was none after all.
    SpeechPending {
        /// Whether it may still become speech.
        pending: bool,
    },
    /// The caller began to speak: voice was found for [`super::Timings::vad_onset`].
    SpeechStarted,
    /// The caller stopped speaking [`super::Timings::vad_hangover`] ago.
    SpeechStopped {
        /// Counts the stops of this call from 0. The STT is given the same number.
        segment: u32,
    },
    /// Audio of an utterance was synthesized. May come several times while it streams.
    SpeechSynthesized {
        /// The number of the [`super::Effect::Speak`].
        utterance: u32,
        /// How much there is so far, from the start of the utterance.
        #[serde(with = "nanoseconds")]
        audio: Duration,
        /// The words whose times became known since the last time; empty when the TTS reports no times.
        words: Vec<SpokenWord>,
        /// Whether that is all of it.
        complete: bool,
    },
    /// An utterance could not be synthesized; fallbacks have been tried. It will not be played further.
    SynthesisFailed {
        /// The number of the [`super::Effect::Speak`].
        utterance: u32,
        /// What went wrong.
        failure: Failure,
    },
    /// An utterance could not be synthesized in time, and a tone is played in its place.
    ReplacedByTone {
        /// The number of the [`super::Effect::Speak`].
        utterance: u32,
        /// How long the tone is.
        #[serde(with = "nanoseconds")]
        audio: Duration,
    },
    /// That much of an utterance was heard on the line.
    PlaybackProgress {
        /// The utterance.
        utterance: u32,
        /// How much was heard so far, from the start of the utterance.
        #[serde(with = "nanoseconds")]
        audio: Duration,
    },
    /// All of an utterance was heard on the line.
    PlaybackFinished {
        /// The utterance.
        utterance: u32,
    },
    /// The caller pressed a key.
    Dtmf {
        /// `0` to `9`, `*`, `#`, `A` to `D`.
        digit: char,
    },
    /// The API wants this said.
    Say {
        /// What to say.
        text: String,
        /// Whether it is said instead of what the agent is saying or is about to say.
        interrupt: bool,
    },
    /// Tones of keys go out on the line. The agent's audio waits until [`Input::DtmfSent`].
    DtmfSendStarted,
    /// The last tone is out.
    DtmfSent,
    /// A tool has returned.
    ToolResult {
        /// The turn of its [`super::Effect::RunTool`].
        turn: u32,
        /// [`super::ToolCall::id`].
        id: String,
        /// What the model is given.
        result: Value,
    },
    /// A tool wants the caller transferred, once what is being said was heard.
    TransferRequested {
        /// [`super::ToolCall::id`].
        id: String,
        /// To whom.
        number: String,
    },
    /// The carrier is asked to transfer the caller. When it does, the conversation is ended from outside.
    TransferStarted,
    /// The carrier did not transfer the caller.
    TransferFailed,
    /// An answering machine was recognised.
    MachineDetected {
        /// Whether its beep was heard; sent a second time when the beep comes later.
        beep: bool,
        /// By what.
        #[serde(default)]
        by: MachineEvidence,
    },
    /// The carrier says that a person has answered.
    HumanDetected,
    /// Say nothing more and end.
    HangUpRequested,
    /// Something of the strategy's own providers.
    Strategy(StrategyInput),
    /// Time has passed.
    Tick,
}

/// By what an answering machine was recognised.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MachineEvidence {
    /// By the carrier, whose verdict may come late.
    #[default]
    Carrier,
    /// By what it said last, which people who take messages may say as well.
    Words,
    /// By what it said last, which only recordings say.
    Recording,
    /// By its beep.
    Beep,
}

impl From<MachineWords> for MachineEvidence {
    fn from(words: MachineWords) -> Self {
        match words {
            MachineWords::Voicemail => Self::Words,
            MachineWords::Recording => Self::Recording,
        }
    }
}

/// What the providers of a strategy report.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StrategyInput {
    /// STT and LLM.
    Cascade(CascadeInput),
    /// A speech-to-speech session.
    Realtime(RealtimeInput),
}

impl From<CascadeInput> for Input {
    fn from(input: CascadeInput) -> Self {
        Self::Strategy(StrategyInput::Cascade(input))
    }
}

impl From<RealtimeInput> for Input {
    fn from(input: RealtimeInput) -> Self {
        Self::Strategy(StrategyInput::Realtime(input))
    }
}

impl fmt::Debug for Input {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::MediaStarted => f.write_str("MediaStarted"),
            Self::SpeechPending { pending } => write!(f, "SpeechPending(pending {pending})"),
            Self::SpeechStarted => f.write_str("SpeechStarted"),
            Self::SpeechStopped { segment } => write!(f, "SpeechStopped(segment {segment})"),
            Self::SpeechSynthesized { utterance, audio, complete, .. } => {
                write!(f, "SpeechSynthesized(utterance {utterance}, {audio:?}, complete {complete})")
            }
            Self::SynthesisFailed { utterance, failure } => {
                write!(f, "SynthesisFailed(utterance {utterance}, {failure:?})")
            }
            Self::ReplacedByTone { utterance, .. } => write!(f, "ReplacedByTone(utterance {utterance})"),
            Self::PlaybackProgress { utterance, audio } => {
                write!(f, "PlaybackProgress(utterance {utterance}, {audio:?})")
            }
            Self::PlaybackFinished { utterance } => write!(f, "PlaybackFinished(utterance {utterance})"),
            Self::Dtmf { .. } => f.write_str("Dtmf"),
            Self::Say { interrupt, .. } => write!(f, "Say(interrupt {interrupt})"),
            Self::DtmfSendStarted => f.write_str("DtmfSendStarted"),
            Self::DtmfSent => f.write_str("DtmfSent"),
            Self::ToolResult { turn, .. } => write!(f, "ToolResult(turn {turn})"),
            Self::TransferRequested { .. } => f.write_str("TransferRequested"),
            Self::TransferStarted => f.write_str("TransferStarted"),
            Self::TransferFailed => f.write_str("TransferFailed"),
            Self::MachineDetected { beep, by } => write!(f, "MachineDetected(beep {beep}, by {by:?})"),
            Self::HumanDetected => f.write_str("HumanDetected"),
            Self::HangUpRequested => f.write_str("HangUpRequested"),
            Self::Strategy(StrategyInput::Cascade(input)) => write!(f, "{input:?}"),
            Self::Strategy(StrategyInput::Realtime(input)) => write!(f, "{input:?}"),
            Self::Tick => f.write_str("Tick"),
        }
    }
}
