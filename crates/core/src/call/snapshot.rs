//! Restores a call from its row.

use super::ending::Ending;
use super::phase::{Closing, Phase, Timing};
use super::status::{Direction, EndReason, EndedBy, ErrorCode, Status};
use super::{Call, LegState};
use crate::Timestamp;
use crate::private::Private;

/// The state of a call in its row: the columns that [`Change`](super::Change) writes.
#[derive(Clone, Debug)]
pub struct Snapshot {
    /// Direction of the call.
    pub direction: Direction,
    /// Column `status`.
    pub status: Status,
    /// Column `deadline`. A live call without one is due at once.
    pub deadline: Option<Timestamp>,
    /// Column `dialing_at`.
    pub dialing_at: Option<Timestamp>,
    /// Column `ringing_at`.
    pub ringing_at: Option<Timestamp>,
    /// Column `answered_at`.
    pub answered_at: Option<Timestamp>,
    /// Column `ended_at`.
    pub ended_at: Option<Timestamp>,
    /// Whether the carrier's id of the call is known.
    pub carrier_call_id_known: bool,
    /// Whether the carrier has reported the end of the call.
    pub hangup_reported: bool,
    /// The decided end, if there is one.
    pub ending: Option<Ending>,
}

impl Snapshot {
    pub(super) fn restore(self, timing: Timing) -> Call {
        let leg = self.leg();
        let deadline = self.deadline.unwrap_or(Timestamp::from_micros(0));
        let phase = match (self.status, self.ending) {
            (Status::Completed | Status::Failed, _) => Phase::Ended(self.status),
            (status, Some(ending)) => Phase::Closing(Closing {
                ending,
                status,
                ended_at: self.ended_at.unwrap_or(deadline),
                duration_seconds: None,
                hung_up: true,
                report_by: (leg.may_exist()).then_some(deadline),
                look_up_at: None,
                wrap_up_by: Some(deadline),
            }),
            (Status::Queued, None) => Phase::Queued { deadline },
            (Status::InProgress, None) => Phase::InProgress { deadline },
            (Status::Dialing, None) if self.answered_at.is_some() => Phase::Answered { deadline },
            (Status::Dialing, None) => Phase::Dialing { deadline, abandoned: false },
        };
        Call {
            direction: self.direction,
            timing,
            phase,
            leg,
            ringing: self.ringing_at.is_some(),
            looked_up: false,
            answered_at: self.answered_at,
        }
    }

    fn leg(&self) -> LegState {
        let transferred = self.ending.as_ref().and_then(Ending::reason) == Some(EndReason::Transferred);
        if self.hangup_reported || transferred {
            LegState::Over
        } else if self.carrier_call_id_known {
            LegState::Known
        } else if self.dialing_at.is_some() {
            LegState::Requested
        } else {
            LegState::None
        }
    }
}

impl Ending {
    /// Creates an ending from the columns `end_reason`, `ended_by`, `error_code` and `error`; `None` if no end was decided.
    #[must_use]
    pub fn from_columns(
        reason: Option<EndReason>,
        by: Option<EndedBy>,
        code: Option<ErrorCode>,
        error: Option<Private<String>>,
    ) -> Option<Self> {
        let by = by.unwrap_or(EndedBy::System);
        match (code, reason) {
            (Some(code), _) => Some(Self::Failed { code, by, error: error.unwrap_or_default() }),
            (None, Some(reason)) => Some(Self::Completed { reason, by }),
            (None, None) => None,
        }
    }
}
