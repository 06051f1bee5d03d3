//! Phases of a call, finer than its status, and the deadline of each.

use std::time::Duration;

use super::ending::Ending;
use super::status::Status;
use crate::Timestamp;

/// How long a call may stay in each phase.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timing {
    /// The longest wait for a dialler, counted from the moment the call may be dialled.
    pub queue: Duration,
    /// How long the call may ring; the carrier gets the same limit.
    pub ring_timeout: Duration,
    /// How much longer than `ring_timeout` to wait for the carrier to accept the dial and to report that it was not answered.
    pub ring_grace: Duration,
    /// The longest time from the answer to the first audio; then the call is `no_media`.
    pub media_timeout: Duration,
    /// The longest conversation. The talk ends at this limit.
    pub max_duration: Duration,
    /// How much later than `max_duration` the call is ended even if the talk has not ended.
    pub max_duration_grace: Duration,
    /// How long to wait for the carrier's report once the end is decided, so that `carrier.hangup` comes before the terminal event.
    pub carrier_report: Duration,
    /// How much of that to wait before looking up the carrier's record of the call, if nothing was reported.
    pub report_grace: Duration,
    /// How long the talk has to write its transcript and summary once stopped.
    pub wrap_up: Duration,
    /// How long to look up the outcome of a dead node's dial. Together with the lease that must expire first (15 s) and `carrier_report`, it stays
    /// under the 30 s after which such a call must be over.
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

/// The phase of a call. Every phase but the last has a deadline, so no call stays in one forever.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Accepted, not dialled.
    Queued {
        /// The time by which it must be dialled; after that it is not dialled at all.
        deadline: Timestamp,
    },
    /// The dial is about to be requested, requested or ringing; or an inbound call is not answered yet.
    Dialing {
        /// The time by which it must be answered.
        deadline: Timestamp,
        /// Whether the node that dialled is dead, so that only the carrier knows the outcome.
        abandoned: bool,
    },
    /// Answered, no audio yet. The status is still `dialing`.
    Answered {
        /// The time by which audio must flow.
        deadline: Timestamp,
    },
    /// Audio flows, the conversation is live.
    InProgress {
        /// A fallback limit; the talk normally ends first.
        deadline: Timestamp,
    },
    /// The end is decided; the carrier's report or the talk's wrap-up is awaited for a moment.
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

    pub(super) fn postpone(&mut self, by: Duration) {
        match self {
            Self::Dialing { deadline, .. } | Self::Answered { deadline } | Self::InProgress { deadline } => {
                *deadline = *deadline + by;
            }
            Self::Closing(closing) => closing.postpone(by),
            Self::Queued { .. } | Self::Ended(_) => {}
        }
    }
}

/// A call whose end is decided but not yet reported.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Closing {
    /// The end of the call.
    pub ending: Ending,
    /// The status to show until then.
    pub status: Status,
    /// When the leg ended: as reported by the carrier, or before that, when the end was decided or the stream ended.
    pub ended_at: Timestamp,
    /// How long the conversation lasted, where the carrier's record says so.
    pub duration_seconds: Option<u32>,
    /// Whether the carrier was asked to hang up. It is not when the stream ended first: usually the caller has left.
    pub hung_up: bool,
    /// How long to wait for the carrier's report; empty once it came or if there is no leg.
    pub report_by: Option<Timestamp>,
    /// When to look up the carrier's record; empty once done or if there is nothing to look up.
    pub look_up_at: Option<Timestamp>,
    /// How long the talk may wrap up; empty once it has or if there was no talk.
    pub wrap_up_by: Option<Timestamp>,
}

impl Closing {
    fn deadline(&self) -> Option<Timestamp> {
        self.look_up_at.or(self.report_by.max(self.wrap_up_by))
    }

    fn postpone(&mut self, by: Duration) {
        for deadline in [&mut self.report_by, &mut self.look_up_at, &mut self.wrap_up_by].into_iter().flatten() {
            *deadline = *deadline + by;
        }
    }

    /// Stops waiting for the carrier's report: it came, or none will.
    pub(super) fn no_report(&mut self) {
        (self.report_by, self.look_up_at) = (None, None);
    }

    /// Stops waiting for everything overdue. Returns whether the carrier's report is.
    pub(super) fn give_up_waiting(&mut self, now: Timestamp) -> bool {
        let overdue = |by: &mut Timestamp| *by <= now;
        self.wrap_up_by.take_if(overdue);
        self.report_by.take_if(overdue).is_some()
    }
}
