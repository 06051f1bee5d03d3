//! The meaning of SIP responses, for all carriers that report them.

use switchhook_core::call::CarrierCause;

/// Returns the cause of a final response to an unanswered call, regardless of the word that the carrier reports with it: the
/// response comes from the far end, and carriers map several of them to one word.
///
/// Returns `None` for responses whose meaning depends on their sender, such as 403, and for failures of the network.
#[must_use]
pub fn cause(code: u16) -> Option<CarrierCause> {
    match code {
        404 | 410 | 484 | 485 | 604 => Some(CarrierCause::InvalidNumber),
        486 | 600 => Some(CarrierCause::Busy),
        603 | 607 | 608 => Some(CarrierCause::Rejected),
        _ => None,
    }
}
