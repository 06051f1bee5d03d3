//! The meaning of Telnyx's codes, for refused requests and for calls that have ended.
//!
//! Refusals have numeric codes (Telnyx, "API errors") or those of its SIP network, such as `D13`, which also occur in the SIP
//! cause of `call.hangup`. An unlisted code is a carrier error, never a panic.

use switchhook_core::call::{CarrierCause, EndedBy, ErrorCode, Hangup};

use crate::sip_status;

/// The meaning of a refused request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RefusalKind {
    /// The key is missing, wrong, revoked or not allowed to do this.
    Unauthorized,
    /// The number to call is invalid.
    InvalidNumber,
    /// The caller id is not allowed.
    CallerId,
    /// There is no capacity at the moment; nothing was done.
    Later,
    /// The request may have been carried out anyway.
    Uncertain,
    /// Anything else; nothing was done.
    Error,
}

/// Returns the meaning of a refusal with this HTTP status and code. `pointer` is the field that it refers to, such as `/to`; `text` is
/// its message, which may contain a code of the SIP network.
pub(super) fn of_refusal(status: u16, code: &str, pointer: Option<&str>, text: &str) -> RefusalKind {
    match (status, code) {
        (408 | 500.., _) => return RefusalKind::Uncertain,
        (429, _) => return RefusalKind::Later,
        (401, _) => return RefusalKind::Unauthorized,
        _ => {}
    }
    match code {
        "10011" | "90041" | "90042" | "90043" => RefusalKind::Later,
        "10009" | "20001" | "20002" | "20003" | "20006" | "20008" => RefusalKind::Unauthorized,
        // Also the response to a request without a key. If it names a field, it refers to the connection.
        "10005" if pointer.is_none() => RefusalKind::Unauthorized,
        "10016" | "10002" | "10001" if pointer == Some("/from") => RefusalKind::CallerId,
        "10016" | "10002" | "10001" if pointer.is_none() || pointer == Some("/to") => RefusalKind::InvalidNumber,
        _ => network_code(code).or_else(|| network_code(text)).map_or(RefusalKind::Error, of_network_code),
    }
}

fn of_network_code(code: &str) -> RefusalKind {
    match code {
        // Limits of the account, profile or connection, and rates.
        "D1" | "D2" | "D3" | "D5" | "D9" | "D22" | "D24" | "D56" => RefusalKind::Later,
        "D25" | "D26" | "D27" | "D28" | "D29" | "R14" | "R15" | "R16" | "R17" | "R18" => RefusalKind::Unauthorized,
        "D35" | "D36" | "D51" | "D52" | "D53" | "D54" => RefusalKind::CallerId,
        _ => RefusalKind::Error,
    }
}

/// Returns the first code of the SIP network in a text.
fn network_code(text: &str) -> Option<&str> {
    text.split(|c: char| !c.is_ascii_alphanumeric()).find(|word| is_network_code(word))
}

fn is_network_code(word: &str) -> bool {
    let numbered = |prefix: &str, longest: usize| {
        word.strip_prefix(prefix)
            .is_some_and(|rest| (1..=longest).contains(&rest.len()) && rest.bytes().all(|byte| byte.is_ascii_digit()))
    };
    matches!(word, "B3" | "RG1" | "TM1" | "TV1") || numbered("D", 2) || numbered("PE", 1) || numbered("R", 2)
}

/// Returns the meaning of `call.hangup`. For calls that we dialled the far end is the callee, for others the caller.
pub(super) fn of_hangup(cause: &str, sip: Option<&str>, source: Option<&str>, dialled: bool) -> Hangup {
    let sip = sip.unwrap_or_default();
    let sip_code = sip.split(|c: char| !c.is_ascii_digit()).find_map(final_response);
    let network_code = network_code(sip);
    let (cause_of, error_code) = match network_code {
        Some(code) if !talked(cause) => of_refused_call(code),
        _ => of_cause(cause, sip_code),
    };
    let far_end = if dialled { "callee" } else { "caller" };
    let hung_up_by = match (cause, source) {
        ("time_limit", _) => Some(EndedBy::Carrier),
        (_, Some(source)) if source == far_end => Some(EndedBy::Caller),
        _ => None,
    };
    let carrier_code = network_code.or(Some(cause)).filter(|word| !word.is_empty()).map(ToOwned::to_owned);
    Hangup { sip_code, carrier_code, hung_up_by, error_code, ..Hangup::new(cause_of) }
}

/// Returns whether this cause means that the call was answered.
fn talked(cause: &str) -> bool {
    matches!(cause, "normal_clearing" | "time_limit")
}

/// Parses a response that ends the attempt to call (RFC 3261 section 21): three digits, from 300.
fn final_response(digits: &str) -> Option<u16> {
    digits.parse().ok().filter(|code| digits.len() == 3 && (300..700).contains(code))
}

/// Returns the cause of a call that Telnyx's own network refused.
fn of_refused_call(code: &str) -> (CarrierCause, Option<ErrorCode>) {
    let unauthorized = of_network_code(code) == RefusalKind::Unauthorized;
    (CarrierCause::Failed, unauthorized.then_some(ErrorCode::CarrierUnauthorized))
}

fn of_cause(cause: &str, sip_code: Option<u16>) -> (CarrierCause, Option<ErrorCode>) {
    let cause = match (cause, sip_code) {
        ("normal_clearing" | "time_limit", _) => CarrierCause::Normal,
        ("originator_cancel", _) => CarrierCause::Canceled,
        // Telnyx's ring timer, which cancels the call.
        ("timeout", _) => CarrierCause::NoAnswer,
        (word, sip_code) => match sip_code.and_then(sip_status::cause) {
            Some(cause) => cause,
            None => return by_word(word, sip_code),
        },
    };
    (cause, None)
}

/// Returns the meaning of the word where the SIP status code alone does not decide.
fn by_word(word: &str, sip_code: Option<u16>) -> (CarrierCause, Option<ErrorCode>) {
    let cause = match (word, sip_code) {
        ("no_answer", _) => CarrierCause::NoAnswer,
        ("user_busy", _) => CarrierCause::Busy,
        ("call_rejected", Some(401 | 407 | 500..=599)) => CarrierCause::Failed,
        ("call_rejected", _) => CarrierCause::Rejected,
        ("not_found", _) => CarrierCause::InvalidNumber,
        (_, Some(480)) => CarrierCause::NoAnswer,
        // Only Telnyx's ring timer cancels a call that we did not.
        (_, Some(487)) => CarrierCause::Canceled,
        (_, Some(403)) => CarrierCause::Rejected,
        (_, Some(_)) => CarrierCause::Failed,
        (_, None) => return (CarrierCause::Failed, Some(ErrorCode::UnknownError)),
    };
    (cause, None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_refusal_means_what_the_documentation_says() {
        use RefusalKind::{CallerId, Error, InvalidNumber, Later, Unauthorized, Uncertain};
        let table: &[(u16, &[&str], Option<&str>, RefusalKind)] = &[
            (401, &["10009", "20001", "20002", "20003", "20006", "20008", ""], None, Unauthorized),
            (403, &["10009", "20003"], None, Unauthorized),
            (404, &["10005"], None, Unauthorized),
            (403, &["10010", "20012", "20013", "20014", "20015", "20016", "20017", "10038", "10039"], None, Error),
            (402, &["20100"], None, Error),
            (422, &["10016", "10002", "10001"], Some("/to"), InvalidNumber),
            (422, &["10016", "10002", "10001"], None, InvalidNumber),
            (422, &["10016", "10002", "10001"], Some("/from"), CallerId),
            (403, &["D35", "D36", "D51", "D52", "D53", "D54"], None, CallerId),
            (422, &["10017", "10005", "10002"], Some("/connection_id"), Error),
            (400, &["10000", "10015", "10004"], None, Error),
            (422, &["10027", "10032", "10033", "90002", "90015", "90017", "90029", "90045"], None, Error),
            (422, &["90041", "90042", "90043"], None, Later),
            (403, &["90041", "D1", "D2", "D3", "D9", "D22", "D24"], None, Later),
            (429, &["10011", "", "what is this"], None, Later),
            (403, &["D13", "D41", "D38", "D40", "D7", "TM1", "D10", "D30"], None, Error),
            (403, &["D25", "D26", "D27", "D28", "D29", "R14", "R15", "R16", "R17", "R18"], None, Unauthorized),
            (408, &["10008"], None, Uncertain),
            (500, &["10007", ""], None, Uncertain),
            (503, &["10037", "10011"], None, Uncertain),
            (418, &["", "99999"], None, Error),
        ];
        for (status, codes, pointer, meaning) in table {
            for code in *codes {
                assert_eq!(of_refusal(*status, code, *pointer, ""), *meaning, "{status} {code} {pointer:?}");
            }
        }
        assert_eq!(of_refusal(403, "10010", None, "Invalid caller ID D35"), CallerId, "a code in the words");
    }

    #[test]
    fn each_end_of_a_call_has_its_cause() {
        use CarrierCause::{Busy, Canceled, Failed, InvalidNumber, NoAnswer, Normal, Rejected};
        let table: &[(&str, &[&str], CarrierCause, Option<ErrorCode>)] = &[
            ("normal_clearing", &["200", "unspecified", ""], Normal, None),
            ("time_limit", &["unspecified"], Normal, None),
            ("timeout", &["487", "unspecified"], NoAnswer, None),
            ("no_answer", &["480", "408"], NoAnswer, None),
            ("originator_cancel", &["487", "unspecified"], Canceled, None),
            ("no_answer", &["603"], Rejected, None),
            ("user_busy", &["486", "600", "unspecified"], Busy, None),
            ("user_busy", &["603", "607", "608"], Rejected, None),
            ("user_busy", &["486 D5", "486 D56"], Failed, None),
            ("call_rejected", &["603", "607", "608", "403", "unspecified"], Rejected, None),
            ("call_rejected", &["486"], Busy, None),
            ("call_rejected", &["404"], InvalidNumber, None),
            ("call_rejected", &["403 D13", "403 D35", "403 D1", "403 TM1"], Failed, None),
            ("call_rejected", &["403 D25", "407 R14", "401 D29"], Failed, Some(ErrorCode::CarrierUnauthorized)),
            // The core maps these two to carrier_unauthorized.
            ("call_rejected", &["401", "407"], Failed, None),
            ("call_rejected", &["500", "503", "503 PE1"], Failed, None),
            ("not_found", &["404", "unspecified"], InvalidNumber, None),
            ("not_found", &["404 D18", "404 D19", "404 D40"], Failed, None),
            ("unspecified", &["404", "410", "484", "485", "604"], InvalidNumber, None),
            ("unspecified", &["486", "600"], Busy, None),
            ("unspecified", &["480"], NoAnswer, None),
            ("unspecified", &["487"], Canceled, None),
            ("unspecified", &["403", "603", "607", "608"], Rejected, None),
            ("unspecified", &["400", "401", "402", "407", "408", "488", "500", "503", "606", "302"], Failed, None),
            ("unspecified", &["unspecified", "", "200", "12345"], Failed, Some(ErrorCode::UnknownError)),
            ("no_route_destination", &["unspecified"], Failed, Some(ErrorCode::UnknownError)),
            ("no_route_destination", &["404"], InvalidNumber, None),
            ("", &[""], Failed, Some(ErrorCode::UnknownError)),
        ];
        for (cause, sips, expected, error_code) in table {
            for sip in *sips {
                let hangup = of_hangup(cause, Some(sip), None, true);
                assert_eq!((hangup.cause, hangup.error_code), (*expected, *error_code), "{cause} {sip}");
            }
        }
    }

    #[test]
    fn the_report_keeps_the_codes_and_says_who_hung_up() {
        let refused = of_hangup("call_rejected", Some("403 D13"), Some("unknown"), true);
        assert_eq!((refused.sip_code, refused.carrier_code.as_deref()), (Some(403), Some("D13")));
        let busy = of_hangup("user_busy", Some("486"), Some("callee"), true);
        assert_eq!((busy.sip_code, busy.carrier_code.as_deref()), (Some(486), Some("user_busy")));
        let by = |source, dialled| of_hangup("normal_clearing", None, Some(source), dialled).hung_up_by;
        assert_eq!((by("callee", true), by("caller", false)), (Some(EndedBy::Caller), Some(EndedBy::Caller)));
        assert_eq!((by("caller", true), by("callee", false), by("unknown", true)), (None, None, None));
        assert_eq!(of_hangup("time_limit", None, Some("callee"), true).hung_up_by, Some(EndedBy::Carrier));
    }
}
