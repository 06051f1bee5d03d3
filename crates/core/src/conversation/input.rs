//! Inputs of a conversation.

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

/// One input. Its `Debug` names the event and its numbers, never what was said.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Input {
    /// Audio flows in both directions: the greeting may start.
    MediaStarted,
    /// The caller may be starting to speak: voice was detected for less than [`super::Timings::vad_onset`]. Or it was not speech after all.
    SpeechPending {
        /// Whether it may still become speech.
        pending: bool,
    },
    /// The caller started to speak: voice was detected for [`super::Timings::vad_onset`].
    SpeechStarted,
    /// The caller stopped speaking [`super::Timings::vad_hangover`] ago.
    SpeechStopped {
        /// Counts the stops of this call from 0. The STT gets the same number.
        segment: u32,
    },
    /// Audio of an utterance was synthesized. May come several times while it streams.
    SpeechSynthesized {
        /// The number of the [`super::Effect::Speak`].
        utterance: u32,
        /// How much there is so far, from the start of the utterance.
        #[serde(with = "nanoseconds")]
        audio: Duration,
        /// Words whose times became known since the last report; empty if the TTS reports no times.
        words: Vec<SpokenWord>,
        /// Whether that is all of it.
        complete: bool,
    },
    /// An utterance could not be synthesized, not by the fallbacks either. Its playback ends.
    SynthesisFailed {
        /// The number of the [`super::Effect::Speak`].
        utterance: u32,
        /// Kind of failure.
        failure: Failure,
    },
    /// An utterance could not be synthesized in time; a tone is played instead.
    ReplacedByTone {
        /// The number of the [`super::Effect::Speak`].
        utterance: u32,
        /// How long the tone is.
        #[serde(with = "nanoseconds")]
        audio: Duration,
    },
    /// Part of an utterance was heard by the caller.
    PlaybackProgress {
        /// The utterance.
        utterance: u32,
        /// How much was heard so far, from the start of the utterance.
        #[serde(with = "nanoseconds")]
        audio: Duration,
    },
    /// All of an utterance was heard by the caller.
    PlaybackFinished {
        /// The utterance.
        utterance: u32,
    },
    /// The caller pressed a key.
    Dtmf {
        /// `0` to `9`, `*`, `#`, `A` to `D`.
        digit: char,
    },
    /// The API requests that the agent say this.
    Say {
        /// Text to say.
        text: String,
        /// Whether it replaces what the agent is saying or is about to say.
        interrupt: bool,
    },
    /// DTMF tones are being sent. The agent's audio waits until [`Input::DtmfSent`].
    DtmfSendStarted,
    /// The last tone was sent.
    DtmfSent,
    /// A tool has returned.
    ToolResult {
        /// The turn of its [`super::Effect::RunTool`].
        turn: u32,
        /// [`super::ToolCall::id`].
        id: String,
        /// The result for the model.
        result: Value,
    },
    /// A tool requests that the caller be transferred, once the current utterances were heard.
    TransferRequested {
        /// [`super::ToolCall::id`].
        id: String,
        /// The destination.
        number: String,
    },
    /// The carrier was asked to transfer the caller. If it does, the conversation is ended from outside.
    TransferStarted,
    /// The carrier did not transfer the caller.
    TransferFailed,
    /// An answering machine was recognised.
    MachineDetected {
        /// Whether its beep was heard. Sent again if the beep comes later.
        beep: bool,
        /// How it was recognised.
        #[serde(default)]
        by: MachineEvidence,
    },
    /// The carrier reports that a person answered.
    HumanDetected,
    /// End the conversation without saying anything more.
    HangUpRequested,
    /// A report from the strategy's own providers.
    Strategy(StrategyInput),
    /// Time has passed.
    Tick,
}

/// How an answering machine was recognised.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MachineEvidence {
    /// By the carrier, which may report it late.
    #[default]
    Carrier,
    /// By a phrase that people who take messages also say.
    Words,
    /// By a phrase that only recordings say.
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

/// Reports from the providers of a strategy.
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
