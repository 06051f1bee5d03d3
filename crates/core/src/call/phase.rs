//! Where a call stands, more finely than its status, and by when it must have moved on.

use std::time::Duration;

use super::ending::Ending;
use super::status::Status;
use crate::Timestamp;

/// How long a call may stay in each phase.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timing {
    /// Longest wait for a dialler, counted from the moment the call may be dialled.
    pub queue: Duration,
    /// How long it may ring; the carrier is given the same.
    pub ring_timeout: Duration,
    /// How much longer than `ring_timeout` the carrier has to say that nobody answered, and to take the dial itself.
    pub ring_grace: Duration,
    /// From the answer to the first audio; then the call is `no_media`.
    pub media_timeout: Duration,
    /// Longest conversation. The talk ends itself by then.
    pub max_duration: Duration,
    /// How much later than `max_duration` the call is ended even if the talk did not end itself.
    pub max_duration_grace: Duration,
    /// How long the carrier's report is awaited once the end is decided, so that `carrier.hangup` comes before the
    /// terminal event.
    pub carrier_report: Duration,
    /// How long into that its record of the call is looked up, if it has reported nothing.
    pub report_grace: Duration,
    /// How long the talk has to write its transcript and summary once it was stopped.
    pub wrap_up: Duration,
    /// How long the fate of a dead node's dial is looked into. With the lease that has to run out first (15 s) and
    /// `carrier_report`, it stays under the 30 s after which such a call must be over.
    pub look_up: Duration,
}

impl Default for Timing {
    fn default() -> Self {
        Self {
            queue: Duration::from_secs(300),
            ring_timeout: Duration::from_secs(30),
            ring_grace: Duration::from_secs(10),
            media_timeout: Duration::from_secs(30),
            max_duration: Duration::from_secs(3600),
            max_duration_grace: Duration::from_secs(15),
            carrier_report: Duration::from_secs(4),
            report_grace: Duration::from_secs(1),
            wrap_up: Duration::from_secs(12),
            look_up: Duration::from_secs(6),
        }
    }
}

/// Where a call stands. Every phase but the last has a deadline: no call hangs in a state for ever.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Accepted, not dialled; afterwards nobody will dial it any more.
    Queued {
        /// Until it must have been dialled.
        deadline: Timestamp,
    },
    /// The dial is intended, requested or ringing; or an inbound call is not answered yet.
    Dialing {
        /// Until it must have been answered.
        deadline: Timestamp,
        /// Whether the node that dialled is dead, so that only the carrier knows what became of it.
        abandoned: bool,
    },
    /// Answered, no audio yet. The status is still `dialing`.
    Answered {
        /// Until audio must flow.
        deadline: Timestamp,
    },
    /// Audio flows, the conversation is live.
    InProgress {
        /// A net under the talk, which ends itself first.
        deadline: Timestamp,
    },
    /// The end is decided; the carrier's report or the talk's last words are awaited for a moment.
    Closing(Closing),
    /// Over.
    Ended(Status),
}

impl Phase {
    pub(super) fn status(&self) -> Status {
        match self {
            Self::Queued { .. } => Status::Queued,
            Self::Dialing { .. } | Self::Answered { .. } => Status::Dialing,
            Self::InProgress { .. } => Status::InProgress,
            Self::Closing(closing) => closing.status,
            Self::Ended(status) => *status,
        }
    }

    pub(super) fn deadline(&self) -> Option<Timestamp> {
        match self {
            Self::Queued { deadline }
            | Self::Dialing { deadline, .. }
            | Self::Answered { deadline }
            | Self::InProgress { deadline } => Some(*deadline),
            Self::Closing(closing) => closing.deadline(),
            Self::Ended(_) => None,
        }
    }
}

/// A call whose end is decided but not yet reported.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Closing {
    /// How the call will have ended.
    pub ending: Ending,
    /// The status it keeps until then.
    pub status: Status,
    /// When the leg ended: the carrier's report, and before that our decision or the end of the stream.
    pub ended_at: Timestamp,
    /// How long the conversation lasted, where the carrier's record says so.
    pub duration_seconds: Option<u32>,
    /// Whether the carrier was asked to hang up. Not when the stream ended first: mostly the caller has left.
    pub hung_up: bool,
    /// Until when the carrier's report is awaited; empty once it came or if there is no leg.
    pub report_by: Option<Timestamp>,
    /// When the carrier's record is to be looked up; empty once it was, or when there is nothing to look up.
    pub look_up_at: Option<Timestamp>,
    /// Until when the talk may wrap up; empty once it did or if there was no talk.
    pub wrap_up_by: Option<Timestamp>,
}

impl Closing {
    fn deadline(&self) -> Option<Timestamp> {
        self.look_up_at.or(self.report_by.max(self.wrap_up_by))
    }

    /// The carrier will not report, or has.
    pub(super) fn no_report(&mut self) {
        (self.report_by, self.look_up_at) = (None, None);
    }

    /// Stops waiting for what is overdue; whether the carrier's report is.
    pub(super) fn give_up_waiting(&mut self, now: Timestamp) -> bool {
        let overdue = |by: &mut Timestamp| *by <= now;
        self.wrap_up_by.take_if(overdue);
        self.report_by.take_if(overdue).is_some()
    }
}
