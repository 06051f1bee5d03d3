//! What happens when a number is dialled. Tests say it for each number that they dial.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Notify;

/// One number's fate. What is not said: it is answered soon, by somebody who says nothing, and everything is told.
#[derive(Clone, Debug)]
pub(crate) struct Script {
    pub(crate) answer: Answer,
    pub(crate) fate: Fate,
    pub(crate) rings_for: Duration,
    pub(crate) delivery: Delivery,
    pub(crate) media: MediaFate,
    pub(crate) far_end: FarEnd,
    /// What the carrier finds out about machines.
    pub(crate) answered_by: &'static str,
    /// When it finds that out, if not at once.
    pub(crate) finds_out: Option<Arc<Notify>>,
    /// How long after it was placed the call is in lists.
    pub(crate) listed_after: Duration,
}

impl Default for Script {
    fn default() -> Self {
        Self {
            answer: Answer::Accepts,
            fate: Fate::Answered,
            rings_for: Duration::from_millis(200),
            delivery: Delivery::Faithful,
            media: MediaFate::Flows,
            far_end: FarEnd::Silent,
            answered_by: "human",
            finds_out: None,
            listed_after: Duration::ZERO,
        }
    }
}

impl Script {
    pub(crate) fn ending(status: &'static str, sip: Option<u16>) -> Self {
        Self { fate: Fate::Ends { status, sip, error: None }, ..Self::default() }
    }

    pub(crate) fn answering(answer: Answer) -> Self {
        Self { answer, ..Self::default() }
    }

    pub(crate) fn with_media(media: MediaFate) -> Self {
        Self { media, ..Self::default() }
    }

    pub(crate) fn with(far_end: FarEnd) -> Self {
        Self { far_end, ..Self::default() }
    }
}

/// What the request that places the call is answered.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Answer {
    Accepts,
    /// With this status and code; nobody is rung.
    Refuses(u16, u32),
    /// 429 so often, then it is accepted.
    TooMany(u32),
    /// It is accepted, with the id of the call that was placed before; nobody is rung.
    RepeatsAnId,
    /// 500; nobody is rung.
    Fails,
    /// 500, though the call is placed.
    FailsAfterwards,
    /// The call is placed, and the answer breaks off.
    BreaksOff,
    /// The call is placed, and the answer never comes.
    NeverComes,
}

/// What becomes of the call after it rang.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Fate {
    Answered,
    /// It rings until it is withdrawn, or for as long as was asked for.
    RingsOn,
    /// It ends with this status, unanswered.
    Ends {
        status: &'static str,
        sip: Option<u16>,
        error: Option<u32>,
    },
}

/// How status callbacks are delivered. Documents are requested in any case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Delivery {
    Faithful,
    /// Each report twice, neighbours in the wrong order, and all of them once more after the end.
    Chaotic,
    /// As [`Delivery::Faithful`], and every request with JSON in place of a form.
    Json,
    /// Not at all.
    Nothing,
    /// All but the end.
    WithoutEnd,
}

/// What becomes of the audio once the call is answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MediaFate {
    Flows,
    /// As when an account may not use streams: the document is not followed.
    Never,
    /// It flows once, and no stream is opened after it.
    NeverAgain,
    /// The handshake is signed with another key.
    SignedWrongly,
    /// The handshake is not signed.
    Unsigned,
    /// It says that it is of another call.
    OtherCall,
    /// It repeats another token.
    OtherToken,
    /// It never says of which call it is.
    NeverStarts,
    /// It breaks off after so many frames, without another word.
    BreaksOff(u32),
    /// After so many frames another stream is started on the same websocket, and somebody speaks on it.
    Intruded(u64),
}

/// Who is at the other end.
#[derive(Clone, Copy, Debug)]
pub(crate) enum FarEnd {
    /// Says nothing and holds the line.
    Silent,
    /// Somebody who asked for a table and is called back: recorded speech.
    Diner,
    /// Presses these keys once the agent has spoken.
    Presses(&'static str),
    /// Hangs up when the agent has spoken for so long.
    HangsUpAfter(Duration),
}
