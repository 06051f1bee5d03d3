//! How a call ends: a table from the carrier's report to the end of the call.

use super::status::{CarrierCause, Direction, EndReason, EndedBy, ErrorCode, Hangup, Status};
use crate::private::Private;

/// The decided end of a call. The first one recorded stands, except after the end of a stream, which the carrier explains.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ending {
    /// The call will be `completed`.
    Completed {
        /// Why it ended.
        reason: EndReason,
        /// The party that ended it.
        by: EndedBy,
    },
    /// The call will be `failed`.
    Failed {
        /// Which of the eleven failures it was.
        code: ErrorCode,
        /// The party that ended it.
        by: EndedBy,
        /// The details, for the call's `error` field. They may quote a carrier or a number.
        error: Private<String>,
    },
}

impl Ending {
    /// Creates an ordinary end.
    #[must_use]
    pub const fn completed(reason: EndReason, by: EndedBy) -> Self {
        Self::Completed { reason, by }
    }

    /// Creates an end in an error. `error` says in one sentence what happened and, where it helps, what to do.
    #[must_use]
    pub fn failed(code: ErrorCode, by: EndedBy, error: impl Into<String>) -> Self {
        Self::Failed { code, by, error: Private::new(error.into()) }
    }

    /// Returns the status of a call with this end.
    #[must_use]
    pub const fn status(&self) -> Status {
        match self {
            Self::Completed { .. } => Status::Completed,
            Self::Failed { .. } => Status::Failed,
        }
    }

    /// Returns the value of the column `end_reason`: empty for a failed call.
    #[must_use]
    pub const fn reason(&self) -> Option<EndReason> {
        match self {
            Self::Completed { reason, .. } => Some(*reason),
            Self::Failed { .. } => None,
        }
    }

    /// Returns the value of the column `ended_by`.
    #[must_use]
    pub const fn ended_by(&self) -> EndedBy {
        match self {
            Self::Completed { by, .. } | Self::Failed { by, .. } => *by,
        }
    }

    /// Returns the values of the columns `error_code` and `error`: empty for a completed call.
    #[must_use]
    pub fn error(&self) -> Option<(ErrorCode, &Private<String>)> {
        match self {
            Self::Completed { .. } => None,
            Self::Failed { code, error, .. } => Some((*code, error)),
        }
    }
}

/// How far a call had come when the carrier reported its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reached {
    /// Dialled or ringing.
    Ringing,
    /// Answered, no audio yet.
    Answered,
    /// Audio flowed in both directions.
    Talking,
}

/// Maps a carrier's report to the end of a call whose end was not yet decided here.
///
/// Once audio flowed the call is completed, regardless of the cause: faults of the network are reported in `carrier.hangup`, not as a failure of the
/// call. For the same reason, an answer without audio is `no_media`.
pub(super) fn of_hangup(reached: Reached, direction: Direction, hangup: &Hangup) -> Ending {
    match reached {
        Reached::Talking => Ending::completed(EndReason::CallerHangup, who_left(hangup)),
        Reached::Answered => no_media(hangup),
        Reached::Ringing => match direction {
            Direction::Outbound | Direction::Web => unanswered(hangup),
            Direction::Inbound => gave_up_waiting(hangup),
        },
    }
}

/// Returns who ended a conversation: the caller, unless the carrier names itself or reports a fault.
fn who_left(hangup: &Hangup) -> EndedBy {
    match (hangup.hung_up_by, hangup.cause) {
        (Some(EndedBy::Caller), _) | (None, CarrierCause::Normal) => EndedBy::Caller,
        _ => EndedBy::Carrier,
    }
}

fn no_media(hangup: &Hangup) -> Ending {
    let error = with_codes("The call was answered and ended before its audio started", hangup);
    Ending::failed(ErrorCode::NoMedia, EndedBy::Carrier, error)
}

fn unanswered(hangup: &Hangup) -> Ending {
    let (code, words) = match hangup.cause {
        // A normal end implies an answer whose report is late or was lost.
        CarrierCause::Normal => return no_media(hangup),
        CarrierCause::Busy => (ErrorCode::Busy, "The line was busy"),
        CarrierCause::NoAnswer => (ErrorCode::NoAnswer, "Nobody answered"),
        CarrierCause::Rejected => (ErrorCode::Rejected, "The call was rejected"),
        CarrierCause::InvalidNumber => (ErrorCode::InvalidNumber, "The number does not exist or is not in service"),
        // The carrier's own ring timer: a cancellation from here would have decided the end already.
        CarrierCause::Canceled => (ErrorCode::NoAnswer, "Nobody answered before the carrier stopped ringing"),
        CarrierCause::Failed => match (hangup.error_code, hangup.sip_code) {
            (Some(ErrorCode::CarrierUnauthorized), _) => {
                (ErrorCode::CarrierUnauthorized, "The carrier refused the telephony credentials")
            }
            (Some(ErrorCode::UnknownError), _) => {
                (ErrorCode::UnknownError, "The carrier ended the call for a reason that is not known here")
            }
            (_, Some(401 | 407)) => (ErrorCode::CarrierUnauthorized, "The far end refused the telephony credentials"),
            _ => (ErrorCode::CarrierError, "The carrier could not connect the call"),
        },
    };
    Ending::failed(code, EndedBy::Carrier, with_codes(words, hangup))
}

/// Returns the end of an inbound call that ended before it was answered: usually the caller hung up.
fn gave_up_waiting(hangup: &Hangup) -> Ending {
    match hangup.cause {
        CarrierCause::Failed => {
            let error = with_codes("The carrier lost the incoming call before it was answered", hangup);
            Ending::failed(ErrorCode::CarrierError, EndedBy::Carrier, error)
        }
        _ => Ending::completed(EndReason::CallerHangup, EndedBy::Caller),
    }
}

fn with_codes(words: &str, hangup: &Hangup) -> String {
    match (hangup.sip_code, hangup.carrier_code.as_deref()) {
        (Some(sip), Some(code)) => format!("{words} (SIP {sip}, carrier code {code})."),
        (Some(sip), None) => format!("{words} (SIP {sip})."),
        (None, Some(code)) => format!("{words} (carrier code {code})."),
        (None, None) => format!("{words}."),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_cause_before_the_answer_has_its_error_code() {
        let table = [
            (CarrierCause::Busy, Some(486), ErrorCode::Busy),
            (CarrierCause::NoAnswer, Some(480), ErrorCode::NoAnswer),
            (CarrierCause::Rejected, Some(603), ErrorCode::Rejected),
            (CarrierCause::InvalidNumber, Some(404), ErrorCode::InvalidNumber),
            (CarrierCause::Canceled, Some(487), ErrorCode::NoAnswer),
            (CarrierCause::Failed, Some(503), ErrorCode::CarrierError),
            (CarrierCause::Failed, Some(407), ErrorCode::CarrierUnauthorized),
            (CarrierCause::Failed, None, ErrorCode::CarrierError),
            (CarrierCause::Normal, None, ErrorCode::NoMedia),
        ];
        for (cause, sip_code, expected) in table {
            let hangup = Hangup { sip_code, ..Hangup::new(cause) };
            let ending = of_hangup(Reached::Ringing, Direction::Outbound, &hangup);
            assert_eq!(ending.error().map(|(code, _)| code), Some(expected), "{cause} {sip_code:?}");
        }
    }

    #[test]
    fn a_carrier_that_knows_more_of_a_failure_than_its_cause_is_believed() {
        for code in [ErrorCode::CarrierUnauthorized, ErrorCode::UnknownError] {
            let hangup = Hangup { sip_code: Some(403), error_code: Some(code), ..Hangup::new(CarrierCause::Failed) };
            let ending = of_hangup(Reached::Ringing, Direction::Outbound, &hangup);
            assert_eq!(ending.error().map(|(code, _)| code), Some(code));
        }
    }

    #[test]
    fn an_end_between_answer_and_audio_is_no_media_whatever_the_cause() {
        for &cause in CarrierCause::ALL {
            for &direction in Direction::ALL {
                let ending = of_hangup(Reached::Answered, direction, &Hangup::new(cause));
                assert_eq!(ending.error().map(|(code, _)| code), Some(ErrorCode::NoMedia), "{cause} {direction}");
            }
        }
    }

    #[test]
    fn once_audio_flowed_every_end_is_completed() {
        let table = [
            (CarrierCause::Normal, None, EndedBy::Caller),
            (CarrierCause::Normal, Some(EndedBy::Caller), EndedBy::Caller),
            (CarrierCause::Normal, Some(EndedBy::Carrier), EndedBy::Carrier),
            (CarrierCause::Failed, None, EndedBy::Carrier),
            (CarrierCause::Failed, Some(EndedBy::Caller), EndedBy::Caller),
            (CarrierCause::Busy, None, EndedBy::Carrier),
        ];
        for (cause, hung_up_by, by) in table {
            let hangup = Hangup { hung_up_by, ..Hangup::new(cause) };
            let ending = of_hangup(Reached::Talking, Direction::Outbound, &hangup);
            assert_eq!(ending, Ending::completed(EndReason::CallerHangup, by), "{cause} {hung_up_by:?}");
        }
    }

    #[test]
    fn caller_hanging_up_while_ringing_completes_the_inbound_call() {
        for &cause in CarrierCause::ALL {
            let ending = of_hangup(Reached::Ringing, Direction::Inbound, &Hangup::new(cause));
            let failed = cause == CarrierCause::Failed;
            assert_eq!(ending.status(), if failed { Status::Failed } else { Status::Completed }, "{cause}");
        }
    }

    #[test]
    fn the_error_names_the_codes_that_documentation_is_searched_for() {
        let hangup =
            Hangup { sip_code: Some(486), carrier_code: Some("13223".to_owned()), ..Hangup::new(CarrierCause::Busy) };
        let ending = of_hangup(Reached::Ringing, Direction::Outbound, &hangup);
        let (_, error) = ending.error().expect("busy is a failure");
        assert_eq!(error.reveal(), "The line was busy (SIP 486, carrier code 13223).");
    }
}
