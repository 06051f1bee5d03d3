//! A call's media between a carrier and the conversation, whatever transports it.

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
    /// To the carrier. A carrier that cannot keep up is gone: 4 s of frames, then the driver ends the call.
    pub outgoing: mpsc::Sender<ToCarrier>,
    /// Whether the carrier queues what it is sent, plays it in real time and throws it away at [`ToCarrier::Clear`]: then audio may
    /// be sent ahead of its time.
    pub buffered: bool,
    /// Whether a gap in the caller's audio is silence, as with phones that suppress silence. Elsewhere the transport sends
    /// silence itself, and a gap is a line that may come back.
    pub gaps_are_silence: bool,
    /// Whether the far end is shown what happens in the conversation: then [`ToCarrier::Info`] is sent.
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
    /// The media transport failed by a fault of ours; nothing more comes.
    Broken,
}

/// Media to the carrier.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ToCarrier {
    /// 20 ms of audio.
    Audio(AgentAudio),
    /// Answered by [`FromCarrier::MarkPlayed`] once everything before it has been played, or was cleared.
    Mark(u64),
    /// Throw away what has not been played.
    Clear,
    /// What happens in the conversation.
    Info(CallInfo),
}

/// What happens in a conversation, for those who see it beside hearing it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CallInfo {
    /// Somebody says something.
    Said {
        /// Whether the agent does.
        by_agent: bool,
        /// The words; of the agent, what was heard.
        text: Private<String>,
        /// Whether they change no more.
        is_final: bool,
    },
    /// The caller's turn is over.
    TurnEnded,
    /// The agent has responded.
    Responded(ResponseTiming),
}

/// When the parts of a response happened, since the conversation began.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ResponseTiming {
    /// The caller's last audio.
    pub end_of_speech: Duration,
    /// The turn was judged to be over.
    pub end_of_turn: Duration,
    /// The model's first text.
    pub first_token: Duration,
    /// The first audio of the response was made.
    pub first_audio: Duration,
    /// It was heard.
    pub heard: Duration,
}
