//! What SIP says, whichever carrier repeats it.

use switchhook_core::call::CarrierCause;

/// What a final response to a call that nobody answered says by itself, whatever word the carrier gives with it: the response
/// comes from the far end, and carriers fold several of them into one word.
///
/// Nothing for responses that depend on who gave them, such as 403, and for failures of the network.
#[must_use]
pub fn cause(code: u16) -> Option<CarrierCause> {
    match code {
        404 | 410 | 484 | 485 | 604 => Some(CarrierCause::InvalidNumber),
        486 | 600 => Some(CarrierCause::Busy),
        603 | 607 | 608 => Some(CarrierCause::Rejected),
        _ => None,
    }
}
