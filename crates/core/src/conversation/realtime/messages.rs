//! What a conversation with a speech-to-speech model is told, and what it wants done.

use std::fmt;
use std::time::Duration;

use serde_json::Value;

use crate::conversation::{End, Entry, Failure, ToolCall, TurnTimes};

/// One thing that happened. Its `Debug` names the event, never what was said.
#[derive(Clone, PartialEq)]
pub enum Input {
    /// Sound flows in both directions.
    MediaStarted,
    /// Our own voice detection hears the caller: it tells when they spoke, the model whose turn it is.
    VoiceStarted,
    /// Our own voice detection heard the caller stop [`super::super::Timings::vad_hangover`] ago.
    VoiceStopped,
    /// The model hears the caller speak.
    SpeechStarted,
    /// The model judges that the caller's turn is over.
    SpeechStopped,
    /// The caller's turn is an item of the conversation; its words follow.
    TurnTaken {
        /// The item.
        item: String,
    },
    /// The words of a caller's item.
    CallerSaid {
        /// The item.
        item: String,
        /// The words; empty when there were none.
        text: String,
    },
    /// The model begins to respond.
    ResponseStarted {
        /// The response.
        response: String,
        /// The [`Effect::Respond`] that it follows; nothing when the provider decided it.
        wish: Option<u32>,
    },
    /// An [`Effect::Respond`] came while the model was speaking.
    Busy {
        /// Which.
        wish: u32,
    },
    /// Sound of the model has come.
    Sound {
        /// The response that it belongs to.
        response: String,
        /// The item that it belongs to.
        item: String,
        /// How many 8 kHz samples came now.
        samples: u64,
    },
    /// Words of the model have come.
    Words {
        /// The response that they belong to.
        response: String,
        /// The item that they belong to.
        item: String,
        /// The new text only.
        text: String,
    },
    /// An item has all its sound.
    SoundDone {
        /// The item.
        item: String,
    },
    /// The model calls a tool.
    ToolCall {
        /// The response that it belongs to.
        response: String,
        /// What it calls.
        call: ToolCall,
        /// What is said while it runs, unless the model has said something itself.
        filler: Option<String>,
    },
    /// A response is over.
    ResponseDone {
        /// The response.
        response: String,
        /// What went wrong, in the provider's words.
        failed: Option<String>,
    },
    /// There is no session yet. The one that is being opened knows [`super::Realtime::opening`].
    Opening,
    /// The session is gone, and another one is being opened. It is to know [`super::Realtime::so_far`].
    Lost,
    /// There is a session. It hears what the caller said from [`super::Realtime::unheard_since`] on.
    Resumed,
    /// There is no session, and there will be none.
    Failed(Failure),
    /// Sound of an [`Effect::Cover`] was made.
    CoverReady {
        /// The utterance.
        utterance: u32,
        /// 8 kHz samples made so far.
        samples: u64,
        /// Whether that is all.
        complete: bool,
    },
    /// An [`Effect::Cover`] could not be made, or not in time.
    CoverFailed {
        /// The utterance.
        utterance: u32,
        /// 8 kHz samples of the tone that is heard in its place; 0 when nothing is.
        samples: u64,
    },
    /// That much of an utterance was heard on the line.
    Played {
        /// The utterance.
        utterance: u32,
        /// 8 kHz samples heard so far.
        samples: u64,
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
        /// Whether instead of what is being said.
        interrupt: bool,
    },
    /// The tones of keys go out on the line; the model's sound waits.
    KeysStarted,
    /// The last tone is out.
    KeysSent,
    /// A tool answered.
    ToolResult {
        /// [`ToolCall::id`].
        id: String,
        /// What the model is to be told.
        result: Value,
    },
    /// A tool wants the caller passed on, once what is being said was heard.
    PassOn {
        /// [`ToolCall::id`].
        id: String,
        /// To whom.
        number: String,
    },
    /// The carrier is asked to pass the caller on.
    TransferStarted,
    /// It did not.
    TransferRefused,
    /// An answering machine was recognised.
    MachineDetected {
        /// Whether its beep was heard; sent a second time when the beep comes later.
        beep: bool,
    },
    /// Say nothing more and end.
    HangUpRequested,
    /// Time has passed.
    Tick,
}

/// What the model is to speak about.
#[derive(Clone, PartialEq, Eq)]
pub enum Direction {
    /// Whatever the conversation wants.
    Freely,
    /// The same, with this in mind.
    Directed(String),
    /// Exactly these words.
    Exactly(String),
}

/// One thing to do, in the order in which they are returned. `Debug` never shows what was said.
#[derive(Clone, PartialEq)]
pub enum Effect {
    /// Have the model speak. It is not speaking now.
    Respond {
        /// Numbers the wishes of this conversation, rising.
        wish: u32,
        /// What about.
        direction: Direction,
    },
    /// Stop the response that is under way.
    Cancel {
        /// The response.
        response: String,
    },
    /// The model is to forget what the caller did not hear of an item.
    Truncate {
        /// The item.
        item: String,
        /// What they heard, in milliseconds.
        heard_ms: u64,
    },
    /// What a tool answered.
    ToolOutput {
        /// [`ToolCall::id`].
        id: String,
        /// The answer.
        result: Value,
    },
    /// What the caller did other than speaking.
    Tell {
        /// The words for it.
        text: String,
    },
    /// The caller's turn is over, though the model has not noticed: it is to take what it has received as their turn.
    EndTurn,
    /// The session understands nothing of what the caller says: open another one, in another format or of another model. Its end
    /// is known here, as after [`Input::Lost`].
    Replace,
    /// Play the sound of this item after everything already queued.
    Announce {
        /// Numbers the utterances of this conversation, rising.
        utterance: u32,
        /// The item.
        item: String,
    },
    /// No more sound will come for an utterance.
    Complete {
        /// The utterance.
        utterance: u32,
    },
    /// Speak this in another voice, since the model does not.
    Cover {
        /// Numbered with those of [`Effect::Announce`].
        utterance: u32,
        /// The words.
        text: String,
        /// How long they may take to their first sound.
        patience: Duration,
    },
    /// Stop the sound on the line at once and forget everything queued.
    ClearPlayback,
    /// Run a tool and send [`Input::ToolResult`] or [`Input::PassOn`]. `end_call` never gets here.
    RunTool {
        /// What to run.
        call: ToolCall,
    },
    /// Have the carrier pass the caller on.
    Transfer {
        /// To whom.
        number: String,
    },
    /// A line of the transcript.
    Transcript(Entry),
    /// When the steps of a turn happened.
    Turn(TurnTimes),
    /// End the call. The last effect there is.
    HangUp {
        /// Why.
        reason: End,
    },
}

impl fmt::Debug for Input {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::MediaStarted => f.write_str("MediaStarted"),
            Self::VoiceStarted => f.write_str("VoiceStarted"),
            Self::VoiceStopped => f.write_str("VoiceStopped"),
            Self::SpeechStarted => f.write_str("SpeechStarted"),
            Self::SpeechStopped => f.write_str("SpeechStopped"),
            Self::TurnTaken { .. } => f.write_str("TurnTaken"),
            Self::CallerSaid { text, .. } => write!(f, "CallerSaid(empty {})", text.trim().is_empty()),
            Self::ResponseStarted { wish, .. } => write!(f, "ResponseStarted(wish {wish:?})"),
            Self::Busy { wish } => write!(f, "Busy(wish {wish})"),
            Self::Sound { samples, .. } => write!(f, "Sound(samples {samples})"),
            Self::Words { .. } => f.write_str("Words"),
            Self::SoundDone { .. } => f.write_str("SoundDone"),
            Self::ToolCall { call, .. } => write!(f, "{call:?}"),
            Self::ResponseDone { failed, .. } => write!(f, "ResponseDone(failed {})", failed.is_some()),
            Self::Opening => f.write_str("Opening"),
            Self::Lost => f.write_str("Lost"),
            Self::Resumed => f.write_str("Resumed"),
            Self::Failed(failure) => write!(f, "Failed({failure:?})"),
            Self::CoverReady { utterance, samples, complete } => {
                write!(f, "CoverReady(utterance {utterance}, samples {samples}, complete {complete})")
            }
            Self::CoverFailed { utterance, samples } => {
                write!(f, "CoverFailed(utterance {utterance}, samples {samples})")
            }
            Self::Played { utterance, samples } => write!(f, "Played(utterance {utterance}, samples {samples})"),
            Self::PlaybackFinished { utterance } => write!(f, "PlaybackFinished(utterance {utterance})"),
            Self::Dtmf { .. } => f.write_str("Dtmf"),
            Self::Say { interrupt, .. } => write!(f, "Say(interrupt {interrupt})"),
            Self::KeysStarted => f.write_str("KeysStarted"),
            Self::KeysSent => f.write_str("KeysSent"),
            Self::ToolResult { .. } => f.write_str("ToolResult"),
            Self::PassOn { .. } => f.write_str("PassOn"),
            Self::TransferStarted => f.write_str("TransferStarted"),
            Self::TransferRefused => f.write_str("TransferRefused"),
            Self::MachineDetected { beep } => write!(f, "MachineDetected(beep {beep})"),
            Self::HangUpRequested => f.write_str("HangUpRequested"),
            Self::Tick => f.write_str("Tick"),
        }
    }
}

impl fmt::Debug for Direction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Freely => "Freely",
            Self::Directed(_) => "Directed",
            Self::Exactly(_) => "Exactly",
        })
    }
}

impl fmt::Debug for Effect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Respond { wish, direction } => write!(f, "Respond(wish {wish}, {direction:?})"),
            Self::Cancel { .. } => f.write_str("Cancel"),
            Self::Truncate { heard_ms, .. } => write!(f, "Truncate({heard_ms} ms)"),
            Self::ToolOutput { .. } => f.write_str("ToolOutput"),
            Self::Tell { .. } => f.write_str("Tell"),
            Self::EndTurn => f.write_str("EndTurn"),
            Self::Replace => f.write_str("Replace"),
            Self::Announce { utterance, .. } => write!(f, "Announce(utterance {utterance})"),
            Self::Complete { utterance } => write!(f, "Complete(utterance {utterance})"),
            Self::Cover { utterance, .. } => write!(f, "Cover(utterance {utterance})"),
            Self::ClearPlayback => f.write_str("ClearPlayback"),
            Self::RunTool { call } => write!(f, "RunTool({call:?})"),
            Self::Transfer { .. } => f.write_str("Transfer"),
            Self::Transcript(entry) => write!(f, "Transcript({entry:?})"),
            Self::Turn(times) => write!(f, "{times:?}"),
            Self::HangUp { reason } => write!(f, "HangUp({reason:?})"),
        }
    }
}
