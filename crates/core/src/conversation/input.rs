//! What the conversation is told.

use std::fmt;

use serde_json::Value;

/// One thing that happened. Its `Debug` names the event and its numbers, never what was said.
#[derive(Clone, PartialEq)]
pub enum Input {
    /// Sound flows in both directions: the greeting may start.
    MediaStarted,
    /// The caller began to speak: voice was found for [`super::Timings::vad_onset`].
    SpeechStarted,
    /// The caller stopped speaking [`super::Timings::vad_hangover`] ago.
    SpeechStopped {
        /// Counts the stops of this call from 0. The recogniser is given the same number.
        segment: u32,
    },
    /// What the recogniser makes of the segment being spoken, so far. Replaces the partial before it.
    Partial {
        /// The words.
        text: String,
    },
    /// The recogniser's words for one segment. A second one for the same segment replaces the first.
    Final {
        /// The number of the [`Input::SpeechStopped`] that ends (or will end) this segment.
        segment: u32,
        /// The words; empty when there were none.
        text: String,
    },
    /// A recogniser that judges turns itself says that the caller has finished.
    TurnJudged,
    /// More of the model's answer.
    ModelDelta {
        /// The number of the [`super::Effect::Ask`].
        turn: u32,
        /// The new text only.
        text: String,
    },
    /// The model calls a tool.
    ModelToolCall {
        /// The number of the [`super::Effect::Ask`].
        turn: u32,
        /// What it calls.
        call: ToolCall,
        /// Said while it runs, unless the model has said something itself.
        filler: Option<String>,
    },
    /// The model's answer is complete.
    ModelDone {
        /// The number of the [`super::Effect::Ask`].
        turn: u32,
    },
    /// The model could not answer; fallbacks have been tried.
    ModelFailed {
        /// The number of the [`super::Effect::Ask`].
        turn: u32,
        /// What went wrong.
        failure: Failure,
    },
    /// Sound of an utterance was made. May come several times while it streams.
    SpeechReady {
        /// The number of the [`super::Effect::Speak`].
        utterance: u32,
        /// 8 kHz samples made so far, counted from the start of the utterance.
        samples: u64,
        /// The words whose times became known since the last time; empty when the voice tells no times.
        words: Vec<SpokenWord>,
        /// Whether all of it is made.
        complete: bool,
    },
    /// An utterance could not be made; fallbacks have been tried. It will not be played further.
    SpeechFailed {
        /// The number of the [`super::Effect::Speak`].
        utterance: u32,
        /// What went wrong.
        failure: Failure,
    },
    /// That much of an utterance was heard on the line.
    Played {
        /// The number of the [`super::Effect::Speak`].
        utterance: u32,
        /// 8 kHz samples heard so far, counted from the start of the utterance.
        samples: u64,
    },
    /// All of an utterance was heard on the line.
    PlaybackFinished {
        /// The number of the [`super::Effect::Speak`].
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
        /// Whether it is said instead of what the agent is saying or thinking about.
        interrupt: bool,
    },
    /// The tones of keys go out on the line. The agent's sound waits until [`Input::KeysSent`].
    KeysStarted,
    /// The last tone is out.
    KeysSent,
    /// The carrier is asked to pass the caller on. When it does, the conversation is ended from outside.
    TransferStarted,
    /// The carrier did not pass the caller on.
    TransferRefused,
    /// Say nothing more and end. Also the way to close the transcript when the line is already gone: the entries
    /// that come back hold what was heard, and the reason is then yours.
    HangUpRequested,
    /// An answering machine was recognised.
    MachineDetected {
        /// Whether its beep was heard; sent a second time when the beep comes later.
        beep: bool,
    },
    /// What a tool answered.
    ToolResult {
        /// The turn of its [`super::Effect::RunTool`].
        turn: u32,
        /// [`ToolCall::id`].
        id: String,
        /// What the model is to be told.
        result: Value,
    },
    /// The caller can no longer be understood; fallbacks have been tried.
    RecogniserFailed(Failure),
    /// Time has passed.
    Tick,
}

/// A word with its place in an utterance.
#[derive(Clone, PartialEq, Eq)]
pub struct SpokenWord {
    /// The word as written in the utterance's text.
    pub text: String,
    /// Milliseconds from the start of the utterance.
    pub start_ms: u64,
    /// Milliseconds from the start of the utterance.
    pub end_ms: u64,
}

/// A tool called by the model.
#[derive(Clone, PartialEq)]
pub struct ToolCall {
    /// The provider's id of the call, repeated with the result.
    pub id: String,
    /// The tool's name.
    pub name: String,
    /// A JSON object.
    pub arguments: Value,
    /// What the provider wants back unchanged whenever it is shown this call again.
    pub signature: Option<String>,
}

/// What kind of failure a provider had: what the call ends with if it cannot go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailureCode {
    /// It did not answer in time.
    ProviderTimeout,
    /// It refuses our settings or credentials: trying again is useless.
    Config,
    /// It refuses what it took earlier in the call: trying again is useless, too, but nothing was wrong when the call began.
    Refused,
    /// Anything else.
    Pipeline,
}

impl FailureCode {
    /// Whether trying again is useless.
    #[must_use]
    pub fn is_final(self) -> bool {
        matches!(self, Self::Config | Self::Refused)
    }
}

/// A failure of a provider.
#[derive(Clone, PartialEq, Eq)]
pub struct Failure {
    /// Its kind.
    pub code: FailureCode,
    /// One sentence for the call's `error` field.
    pub words: String,
}

impl Failure {
    /// A failure with its sentence.
    #[must_use]
    pub fn new(code: FailureCode, words: impl Into<String>) -> Self {
        Self { code, words: words.into() }
    }
}

impl fmt::Debug for Input {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::MediaStarted => f.write_str("MediaStarted"),
            Self::SpeechStarted => f.write_str("SpeechStarted"),
            Self::SpeechStopped { segment } => write!(f, "SpeechStopped(segment {segment})"),
            Self::Partial { .. } => f.write_str("Partial"),
            Self::Final { segment, text } => write!(f, "Final(segment {segment}, empty {})", text.trim().is_empty()),
            Self::TurnJudged => f.write_str("TurnJudged"),
            Self::ModelDelta { turn, .. } => write!(f, "ModelDelta(turn {turn})"),
            Self::ModelToolCall { turn, call, .. } => write!(f, "ModelToolCall(turn {turn}, {call:?})"),
            Self::ModelDone { turn } => write!(f, "ModelDone(turn {turn})"),
            Self::ModelFailed { turn, failure } => write!(f, "ModelFailed(turn {turn}, {failure:?})"),
            Self::SpeechReady { utterance, samples, complete, .. } => {
                write!(f, "SpeechReady(utterance {utterance}, samples {samples}, complete {complete})")
            }
            Self::SpeechFailed { utterance, failure } => write!(f, "SpeechFailed(utterance {utterance}, {failure:?})"),
            Self::Played { utterance, samples } => write!(f, "Played(utterance {utterance}, samples {samples})"),
            Self::PlaybackFinished { utterance } => write!(f, "PlaybackFinished(utterance {utterance})"),
            Self::Dtmf { .. } => f.write_str("Dtmf"),
            Self::Say { interrupt, .. } => write!(f, "Say(interrupt {interrupt})"),
            Self::KeysStarted => f.write_str("KeysStarted"),
            Self::KeysSent => f.write_str("KeysSent"),
            Self::TransferStarted => f.write_str("TransferStarted"),
            Self::TransferRefused => f.write_str("TransferRefused"),
            Self::HangUpRequested => f.write_str("HangUpRequested"),
            Self::MachineDetected { beep } => write!(f, "MachineDetected(beep {beep})"),
            Self::ToolResult { turn, .. } => write!(f, "ToolResult(turn {turn})"),
            Self::RecogniserFailed(failure) => write!(f, "RecogniserFailed({failure:?})"),
            Self::Tick => f.write_str("Tick"),
        }
    }
}

impl fmt::Debug for SpokenWord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SpokenWord({} to {} ms)", self.start_ms, self.end_ms)
    }
}

impl fmt::Debug for ToolCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ToolCall({})", self.name)
    }
}

impl fmt::Debug for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Failure({:?})", self.code)
    }
}
