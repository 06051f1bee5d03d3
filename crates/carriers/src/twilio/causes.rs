//! Meaning of the carrier's codes and statuses: one table for refused requests and for ends of calls.
//!
//! The most specific signal wins: the carrier's code, then the SIP status code, then the word.

use std::ops::RangeInclusive;

use switchhook_core::call::{CarrierCause, EndedBy, ErrorCode, Hangup};

use super::Flavour;
use super::problem::Problem;
use crate::rest::RestResponse;
use crate::{CarrierError, CarrierEvent, DialError, TransferError, sip_status};

/// Meaning of a code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CodeMeaning {
    /// The credentials, or what they permit.
    Unauthorized,
    /// The state of the account.
    Account,
    /// The number cannot be called.
    InvalidNumber,
    /// The carrier does not allow calls to this destination.
    Destination,
    /// The caller ID is refused.
    CallerId,
    /// Trial accounts may not do this.
    Trial,
    /// We asked for something that makes no sense.
    OurRequest,
    /// Too much at once.
    Later,
    /// The network blocked the call or did not let it ring long enough.
    Rejected,
    /// The network or a webhook failed.
    Failed,
    /// The media stream failed.
    Stream,
    /// The call lasted as long as it may.
    LastedTooLong,
}

/// Codes of Twilio's error dictionary. The first row that fits counts.
const CODES: &[(RangeInclusive<u32>, CodeMeaning)] = &[
    (20_003..=20_003, CodeMeaning::Unauthorized),
    (20_006..=20_006, CodeMeaning::Unauthorized),
    (70_051..=70_051, CodeMeaning::Unauthorized),
    (10_001..=10_002, CodeMeaning::Account),
    (10_004..=10_004, CodeMeaning::Later),
    (10_005..=10_005, CodeMeaning::Account),
    (20_005..=20_005, CodeMeaning::Account),
    (20_008..=20_008, CodeMeaning::Account),
    (20_010..=20_010, CodeMeaning::Account),
    (20_429..=20_429, CodeMeaning::Later),
    (21_201..=21_201, CodeMeaning::InvalidNumber),
    (21_202..=21_203, CodeMeaning::Destination),
    (21_205..=21_206, CodeMeaning::OurRequest),
    (21_208..=21_209, CodeMeaning::OurRequest),
    (21_210..=21_210, CodeMeaning::CallerId),
    (21_211..=21_211, CodeMeaning::InvalidNumber),
    (21_212..=21_213, CodeMeaning::CallerId),
    (21_214..=21_214, CodeMeaning::InvalidNumber),
    (21_215..=21_216, CodeMeaning::Destination),
    (21_217..=21_217, CodeMeaning::InvalidNumber),
    (21_218..=21_218, CodeMeaning::OurRequest),
    (21_219..=21_219, CodeMeaning::Trial),
    (21_234..=21_234, CodeMeaning::OurRequest),
    (21_609..=21_609, CodeMeaning::OurRequest),
    (21_626..=21_626, CodeMeaning::OurRequest),
    (11_200..=12_400, CodeMeaning::Failed),
    (13_223..=13_224, CodeMeaning::InvalidNumber),
    (13_225..=13_225, CodeMeaning::Destination),
    (13_226..=13_226, CodeMeaning::InvalidNumber),
    (13_227..=13_227, CodeMeaning::Destination),
    (13_247..=13_247, CodeMeaning::CallerId),
    (13_805..=13_805, CodeMeaning::LastedTooLong),
    (31_900..=31_999, CodeMeaning::Stream),
    (32_014..=32_014, CodeMeaning::Failed),
    (32_015..=32_015, CodeMeaning::LastedTooLong),
    (32_016..=32_016, CodeMeaning::Failed),
    (32_017..=32_017, CodeMeaning::Rejected),
    (32_100..=32_100, CodeMeaning::Trial),
    (32_203..=32_203, CodeMeaning::Destination),
    (32_204..=32_204, CodeMeaning::CallerId),
    (32_205..=32_205, CodeMeaning::Destination),
    (32_206..=32_206, CodeMeaning::CallerId),
];

/// SignalWire numbers its own errors from here; the rest are Twilio's.
const SIGNALWIRES_OWN: RangeInclusive<u32> = 1..=19_999;
/// Of SignalWire: an argument is invalid. Also what a call that has ended is answered with.
const INVALID_ARGUMENT: &str = "10000";

fn meaning(flavour: Flavour, code: Option<&str>) -> Option<CodeMeaning> {
    let code: u32 = code?.parse().ok()?;
    if flavour == Flavour::SignalWire && SIGNALWIRES_OWN.contains(&code) {
        return None;
    }
    CODES.iter().find(|(codes, _)| codes.contains(&code)).map(|&(_, meaning)| meaning)
}

/// Returns the meaning of a refused request.
fn judge(flavour: Flavour, status: u16, problem: &Problem) -> Option<CodeMeaning> {
    if status == 401 {
        return Some(CodeMeaning::Unauthorized);
    }
    if flavour == Flavour::SignalWire && problem.code.as_deref() == Some(INVALID_ARGUMENT) && problem.is_about("to") {
        return Some(CodeMeaning::InvalidNumber);
    }
    if problem.message.to_ascii_lowercase().contains("limited parameter access") {
        return Some(CodeMeaning::Trial);
    }
    meaning(flavour, problem.code.as_deref())
}

/// Returns the error of a dial for an unsuccessful response.
pub(super) fn dial_error(flavour: Flavour, answer: &RestResponse) -> DialError {
    let problem = Problem::of(answer);
    let message = problem.words(flavour, answer.status);
    if may_ring(answer) {
        return DialError::Unknown { message: without_numbers(&message) };
    }
    let meaning = judge(flavour, answer.status, &problem);
    if answer.status == 429 || meaning == Some(CodeMeaning::Later) {
        return DialError::Later { message, retry_after: answer.retry_after };
    }
    let (code, hint) = match meaning {
        Some(CodeMeaning::Unauthorized) => (ErrorCode::CarrierUnauthorized, ""),
        Some(CodeMeaning::InvalidNumber) => (ErrorCode::InvalidNumber, ""),
        Some(CodeMeaning::CallerId) => {
            (ErrorCode::CarrierError, " The caller ID must be a number of the account, or one that it has verified.")
        }
        Some(CodeMeaning::Trial) => (ErrorCode::CarrierError, " Trial accounts can call verified numbers only."),
        Some(CodeMeaning::OurRequest) => {
            tracing::error!(code = problem.code, "the carrier says that a request of this service is wrong: a bug");
            (ErrorCode::CarrierError, "")
        }
        _ => (ErrorCode::CarrierError, ""),
    };
    DialError::Refused { code, message: format!("{message}{hint}") }
}

/// Returns the error of any other request for an unsuccessful response. Its message goes to logs, so it has no phone numbers.
pub(super) fn carrier_error(flavour: Flavour, answer: &RestResponse) -> CarrierError {
    let problem = Problem::of(answer);
    let unauthorized = judge(flavour, answer.status, &problem) == Some(CodeMeaning::Unauthorized);
    CarrierError {
        code: if unauthorized { ErrorCode::CarrierUnauthorized } else { ErrorCode::CarrierError },
        message: without_numbers(&problem.words(flavour, answer.status)),
    }
}

/// Returns whether the number may ring despite the error: the carrier failed or gave up waiting.
fn may_ring(answer: &RestResponse) -> bool {
    matches!(answer.status, 408 | 500..)
}

/// Returns the error of a transfer for an unsuccessful response.
pub(super) fn transfer_error(flavour: Flavour, answer: &RestResponse) -> TransferError {
    let refused = carrier_error(flavour, answer);
    if may_ring(answer) {
        return TransferError::Unknown { message: refused.message };
    }
    refused.into()
}

/// Returns whether the response to a request to end a call says that it has ended.
pub(super) fn has_ended_already(flavour: Flavour, answer: &RestResponse) -> bool {
    let code = Problem::of(answer).code;
    match code.as_deref() {
        Some("21220" | "20404") => true,
        Some(INVALID_ARGUMENT) => flavour == Flavour::SignalWire,
        _ => answer.status == 404,
    }
}

/// The report about a call that has ended.
pub(super) struct CallEnd<'a> {
    /// The word for it.
    pub(super) status: &'a str,
    /// The SIP status code.
    pub(super) sip_code: Option<u16>,
    /// The carrier's own code.
    pub(super) code: Option<&'a str>,
}

/// Whether a call with this status has ended.
pub(super) fn is_terminal(status: &str) -> bool {
    matches!(status, "completed" | "busy" | "failed" | "no-answer" | "canceled")
}

impl CallEnd<'_> {
    /// The events it implies: also `NoMedia`, which counts only where no audio flowed.
    pub(super) fn events(&self, flavour: Flavour) -> Vec<CarrierEvent> {
        let stream = (meaning(flavour, self.code) == Some(CodeMeaning::Stream)).then_some(self.code).flatten();
        let no_media = stream.map(|code| no_media(flavour, code));
        no_media.into_iter().chain([CarrierEvent::Hangup(self.hangup(flavour))]).collect()
    }

    /// The report of the call's end.
    pub(super) fn hangup(&self, flavour: Flavour) -> Hangup {
        let sip_code = self.sip_code.filter(|code| (100..700).contains(code));
        let meaning = meaning(flavour, self.code);
        let cause = match (self.status, meaning) {
            ("completed", _) | (_, Some(CodeMeaning::LastedTooLong)) => CarrierCause::Normal,
            ("canceled", _) => CarrierCause::Canceled,
            (_, Some(CodeMeaning::InvalidNumber)) => CarrierCause::InvalidNumber,
            (_, Some(CodeMeaning::Rejected)) => CarrierCause::Rejected,
            // Other codes concern the account or of webhooks, also where the call itself was busy.
            ("failed", Some(_)) => CarrierCause::Failed,
            _ => sip_code.and_then(sip_status::cause).unwrap_or_else(|| by_word(self.status, sip_code)),
        };
        let ended_by_carrier = matches!(meaning, Some(CodeMeaning::LastedTooLong | CodeMeaning::Stream));
        Hangup {
            sip_code,
            carrier_code: Some(short(self.code.unwrap_or(self.status))),
            hung_up_by: ended_by_carrier.then_some(EndedBy::Carrier),
            error_code: (!is_terminal(self.status)).then_some(ErrorCode::UnknownError),
            ..Hangup::new(cause)
        }
    }
}

/// Returns the cause for a status that neither a code of the carrier nor a SIP status code explains.
fn by_word(status: &str, sip_code: Option<u16>) -> CarrierCause {
    match (status, sip_code) {
        // Of calls that failed, it is the carrier that forbids them.
        ("busy" | "no-answer", Some(403)) => CarrierCause::Rejected,
        ("busy", _) => CarrierCause::Busy,
        ("no-answer", _) | (_, Some(480 | 408 | 487)) => CarrierCause::NoAnswer,
        _ => CarrierCause::Failed,
    }
}

/// The carrier could not open the media stream; `why` is its reason.
pub(super) fn no_media(flavour: Flavour, why: &str) -> CarrierEvent {
    CarrierEvent::NoMedia(format!("{} could not open the media stream: {}.", flavour.name(), short(why)))
}

/// A code or word of the carrier, truncated to what is stored.
fn short(word: &str) -> String {
    word.chars().filter(|char| !char.is_control()).take(100).collect()
}

/// The text without what may be telephone numbers: logs do not hold them.
fn without_numbers(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find(|char: char| char.is_ascii_digit()) {
        let digits = rest[start..].find(|char: char| !char.is_ascii_digit()).unwrap_or(rest.len() - start);
        let number = &rest[start..start + digits];
        out.push_str(&rest[..start]);
        out.push_str(if digits < 7 { number } else { "…" });
        rest = &rest[start + digits..];
    }
    out + rest
}

#[cfg(test)]
mod tests;
