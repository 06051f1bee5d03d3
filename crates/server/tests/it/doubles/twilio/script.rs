//! Script of a dialled number. Tests set one for each number that they dial.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::{sleep, timeout};

/// Script of one number. Default: answered soon by a silent person, with all reports sent.
#[derive(Clone, Debug)]
pub(crate) struct Script {
    pub(crate) answer: Answer,
    pub(crate) outcome: DialOutcome,
    pub(crate) rings_for: Duration,
    /// When it stops ringing, if not after that time.
    pub(crate) rings_until: Option<Arc<Notify>>,
    pub(crate) delivery: Delivery,
    pub(crate) media: MediaBehaviour,
    pub(crate) far_end: FarEnd,
    /// Verdict of the carrier's machine detection.
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
            outcome: DialOutcome::Answered,
            rings_for: Duration::from_millis(200),
            rings_until: None,
            delivery: Delivery::Faithful,
            media: MediaBehaviour::Flows,
            far_end: FarEnd::Silent,
            answered_by: "human",
            finds_out: None,
            listed_after: Duration::ZERO,
        }
    }
}

impl Script {
    pub(crate) fn ending(status: &'static str, sip: Option<u16>) -> Self {
        Self { outcome: DialOutcome::Ends { status, sip, error: None }, ..Self::default() }
    }

    pub(crate) fn answering(answer: Answer) -> Self {
        Self { answer, ..Self::default() }
    }

    pub(crate) fn with_media(media: MediaBehaviour) -> Self {
        Self { media, ..Self::default() }
    }

    pub(crate) fn with(far_end: FarEnd) -> Self {
        Self { far_end, ..Self::default() }
    }

    /// Waits as long as it rings, at most for `longest`.
    pub(super) async fn ring(&self, longest: Duration) {
        let rings = if let DialOutcome::RingsOn = self.outcome { longest } else { self.rings_for.min(longest) };
        match &self.rings_until {
            // Whether it was stopped or the time is over makes no difference.
            Some(stopped) => drop(timeout(longest, stopped.notified()).await),
            None => sleep(rings).await,
        }
    }
}

/// Response to the request that places the call.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Answer {
    Accepts,
    /// This status and code; no phone rings.
    Refuses(u16, u32),
    /// 429 so often, then it is accepted.
    TooMany(u32),
    /// It is accepted, with the id of the call that was placed before; no phone rings.
    RepeatsAnId,
    /// 500; no phone rings.
    Fails,
    /// 500, though the call is placed.
    FailsAfterwards,
    /// The call is placed, and the answer breaks off.
    BreaksOff,
    /// The call is placed, and the answer never comes.
    NeverComes,
}

/// Outcome of the call after ringing.
#[derive(Clone, Copy, Debug)]
pub(crate) enum DialOutcome {
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
    /// Each report twice, neighbours in the wrong order, and all of them again after the end.
    Chaotic,
    /// As [`Delivery::Faithful`], and every request with JSON in place of a form.
    Json,
    /// Not at all.
    Nothing,
    /// All but the end.
    WithoutEnd,
}

/// Behaviour of the audio once the call is answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MediaBehaviour {
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
    /// After so many frames another stream is started on the same websocket, with speech on it.
    Intruded(u64),
}

/// The far end.
#[derive(Clone, Copy, Debug)]
pub(crate) enum FarEnd {
    /// Says nothing and holds the line.
    Silent,
    /// A person who asked for a table and is called back: recorded speech.
    Diner,
    /// Presses these keys once the agent has spoken.
    Presses(&'static str),
    /// Hangs up when the agent has spoken for so long.
    HangsUpAfter(Duration),
}
