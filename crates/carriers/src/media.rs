//! A call's media between a carrier and the conversation, independent of the transport.

use std::time::Duration;

use switchhook_core::private::Private;
use switchhook_media::frame::{AgentAudio, CallerAudio};
use tokio::sync::mpsc;

use super::media_queue::MediaReceiver;

/// Both directions of a call's media. Dropping it stops our side.
#[derive(Debug)]
pub struct Media {
    /// From the carrier. Closed when the stream has ended.
    pub incoming: MediaReceiver,
    /// To the carrier. A carrier that cannot keep up is considered gone: 4 s of frames, then the driver ends the call.
    pub outgoing: mpsc::Sender<ToCarrier>,
    /// Whether the carrier queues audio, plays it in real time and discards it at [`ToCarrier::Clear`]: audio may then be sent ahead of
    /// its time.
    pub buffered: bool,
    /// Whether a gap in the caller's audio is silence, as with phones that suppress silence. Otherwise the transport sends silence
    /// itself, and a gap is a lost connection that may recover.
    pub gaps_are_silence: bool,
    /// Whether the far end displays the conversation: [`ToCarrier::Info`] is then sent.
    pub shows_conversation: bool,
}

/// Media from the carrier.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FromCarrier {
    /// 20 ms of audio.
    Audio(CallerAudio),
    /// A key was pressed.
    Dtmf(char),
    /// Everything sent before this mark has been played, or was cleared.
    MarkPlayed(u64),
    /// The media transport failed through our fault; no further messages follow.
    Broken,
}

/// Media to the carrier.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ToCarrier {
    /// 20 ms of audio.
    Audio(AgentAudio),
    /// Answered by [`FromCarrier::MarkPlayed`] once everything before it has been played or cleared.
    Mark(u64),
    /// Discards audio that has not been played.
    Clear,
    /// An event of the conversation.
    Info(CallInfo),
}

/// An event of the conversation, for far ends that display it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CallInfo {
    /// The caller or the agent says something.
    Said {
        /// Whether the agent says it.
        by_agent: bool,
        /// The text; for the agent, the part that was heard.
        text: Private<String>,
        /// Whether the text is final.
        is_final: bool,
    },
    /// The caller's turn has ended.
    TurnEnded,
    /// The agent has responded.
    Responded(ResponseTiming),
}

/// When the parts of a response happened, relative to the start of the conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ResponseTiming {
    /// The end of the caller's speech.
    pub end_of_speech: Duration,
    /// The turn was considered over.
    pub end_of_turn: Duration,
    /// The model emitted its first text.
    pub first_token: Duration,
    /// The first audio of the response was produced.
    pub first_audio: Duration,
    /// The first audio was heard.
    pub heard: Duration,
}
