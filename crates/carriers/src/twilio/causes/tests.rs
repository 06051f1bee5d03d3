//! A row for each of the carriers' signals.

use super::*;

fn answer(status: u16, body: &str) -> RestResponse {
    RestResponse { status, retry_after: None, body: body.as_bytes().to_vec() }
}

fn coded(status: u16, code: u32) -> RestResponse {
    answer(status, &format!(r#"{{"code":{code},"message":"It says why.","status":{status}}}"#))
}

/// Outcome of a dial.
#[derive(Debug, PartialEq, Eq)]
enum Outcome {
    Refused(ErrorCode),
    Later,
    Unknown,
}

use ErrorCode::{CarrierError as Errs, CarrierUnauthorized, InvalidNumber};
use Outcome::{Later, Refused, Unknown};

fn fate(flavour: Flavour, answer: &RestResponse) -> Outcome {
    match dial_error(flavour, answer) {
        DialError::Refused { code, .. } => Refused(code),
        DialError::Later { .. } => Later,
        DialError::Unknown { .. } => Unknown,
    }
}

#[test]
fn each_code_of_a_refused_dial_has_its_error_code() {
    let table: &[(u16, &[u32], Outcome)] = &[
        (401, &[20003, 70051, 1], Refused(CarrierUnauthorized)),
        (403, &[20003, 20006, 70051], Refused(CarrierUnauthorized)),
        (403, &[20005, 10001, 10002, 10005, 20008, 20010], Refused(Errs)),
        (400, &[20005, 10001, 10002, 10005, 20008, 20010], Refused(Errs)),
        (400, &[21211, 21214, 21217, 21201, 13223, 13224, 13226], Refused(InvalidNumber)),
        (400, &[21202, 21203, 21215, 21216, 13225, 13227, 32203, 32205], Refused(Errs)),
        (400, &[21210, 21212, 21213, 13247, 32204, 32206], Refused(Errs)),
        (400, &[21219, 32100], Refused(Errs)),
        (400, &[21205, 21206, 21208, 21209, 21218, 21234, 21609, 21626], Refused(Errs)),
        (429, &[20429, 10004, 1], Later),
        (400, &[10004], Later),
        (404, &[20404], Refused(Errs)),
        (500, &[20500, 21211], Unknown),
        (503, &[20503], Unknown),
        (408, &[1], Unknown),
        (400, &[99_999], Refused(Errs)),
    ];
    for (status, codes, expected) in table {
        for &code in *codes {
            assert_eq!(fate(Flavour::Twilio, &coded(*status, code)), *expected, "HTTP {status}, code {code}");
        }
    }
}

#[test]
fn dial_errors_say_what_to_do() {
    let message = |answer: &RestResponse| match dial_error(Flavour::Twilio, answer) {
        DialError::Refused { message, .. } => message,
        other => panic!("{other:?}"),
    };
    assert_eq!(message(&coded(400, 21211)), "Twilio 21211: It says why.");
    assert!(message(&coded(400, 21210)).contains("caller ID"));
    assert!(message(&coded(400, 21219)).contains("Trial"));
    let limited = answer(400, r#"{"code":20001,"message":"Your account has Limited Parameter Access"}"#);
    assert!(message(&limited).contains("Trial"));
    assert_eq!(message(&answer(404, "<html>")), "Twilio returned HTTP status 404.");
}

#[test]
fn signalwire_has_codes_of_its_own_as_numbers_or_words() {
    let fate = |status, body| fate(Flavour::SignalWire, &answer(status, body));
    assert_eq!(fate(401, ""), Refused(CarrierUnauthorized));
    assert_eq!(
        fate(422, r#"{"errors":[{"code":"10000","message":"is invalid","attribute":"To"}]}"#),
        Refused(InvalidNumber)
    );
    assert_eq!(fate(400, r#"{"code":"10000","message":"To is not a valid number"}"#), Refused(InvalidNumber));
    assert_eq!(fate(422, r#"{"errors":[{"code":"10000","message":"is invalid","attribute":"From"}]}"#), Refused(Errs));
    assert_eq!(
        fate(400, r#"{"code":10000,"message":"The url goes to nowhere"}"#),
        Refused(Errs),
        "no field of that name"
    );
    assert_eq!(fate(403, r#"{"code":10004,"message":"its own"}"#), Refused(Errs), "not Twilio's 10004");
    assert_eq!(fate(403, r#"{"code":10003,"message":"token permissions"}"#), Refused(Errs));
    assert_eq!(fate(400, r#"{"code":"21211","message":"as Twilio"}"#), Refused(InvalidNumber));
    assert_eq!(fate(429, ""), Later);
    assert_eq!(fate(502, "<html>"), Unknown);
}

/// A status, SIP codes that come with it, a code, and what they mean.
type EndRow = (&'static str, &'static [Option<u16>], Option<&'static str>, CarrierCause);

#[test]
fn each_end_of_a_call_has_its_cause() {
    use CarrierCause::{Busy, Canceled, Failed, InvalidNumber, NoAnswer, Normal, Rejected};
    let table: &[EndRow] = &[
        ("completed", &[Some(200), None], None, Normal),
        ("completed", &[Some(200)], Some("11200"), Normal),
        ("completed", &[None], Some("13805"), Normal),
        ("completed", &[None], Some("32015"), Normal),
        ("completed", &[None], Some("31921"), Normal),
        ("busy", &[Some(486), Some(600), None, Some(503)], None, Busy),
        ("busy", &[Some(603), Some(607), Some(608), Some(403)], None, Rejected),
        ("busy", &[Some(404), Some(604)], None, InvalidNumber),
        ("busy", &[None, Some(486)], Some("11200"), Busy),
        ("no-answer", &[Some(603), Some(607), Some(608), Some(403)], None, Rejected),
        ("no-answer", &[Some(486), Some(600)], None, Busy),
        ("no-answer", &[Some(404)], None, InvalidNumber),
        ("no-answer", &[Some(487)], Some("32017"), Rejected),
        ("no-answer", &[Some(487), Some(480), Some(408), None], None, NoAnswer),
        ("failed", &[Some(404), Some(410), Some(484), Some(485), Some(604)], None, InvalidNumber),
        ("failed", &[None, Some(480)], Some("13224"), InvalidNumber),
        ("failed", &[Some(480), Some(408), Some(487)], None, NoAnswer),
        ("failed", &[Some(486), Some(600)], None, Busy),
        ("failed", &[Some(603), Some(607), Some(608)], None, Rejected),
        ("failed", &[None, Some(404)], Some("32017"), Rejected),
        ("failed", &[Some(401), Some(407)], None, Failed),
        ("failed", &[Some(403), Some(500), Some(503), None], None, Failed),
        ("failed", &[None, Some(404)], Some("32014"), Failed),
        ("failed", &[None], Some("32016"), Failed),
        ("failed", &[None], Some("11200"), Failed),
        ("failed", &[None], Some("12400"), Failed),
        ("failed", &[None], Some("99999"), Failed),
        ("failed", &[Some(486)], Some("word"), Busy),
        ("canceled", &[Some(487), None], None, Canceled),
        ("evaporated", &[None], None, Failed),
    ];
    for (status, sip_codes, code, cause) in table {
        for &sip_code in *sip_codes {
            let hangup = CallEnd { status, sip_code, code: *code }.hangup(Flavour::Twilio);
            assert_eq!((hangup.cause, hangup.sip_code), (*cause, sip_code), "{status} {sip_code:?} {code:?}");
        }
    }
}

#[test]
fn the_report_of_an_end_keeps_what_the_carrier_said() {
    let end = |status, code| CallEnd { status, sip_code: Some(999), code }.hangup(Flavour::Twilio);
    let code = |text: &str| Some(text.to_owned());
    let failed = Hangup { carrier_code: code("13224"), ..Hangup::new(CarrierCause::InvalidNumber) };
    assert_eq!(end("failed", Some("13224")), failed, "999 is no SIP code");
    assert_eq!(end("evaporated", None).carrier_code, code("evaporated"));
    let limit =
        Hangup { carrier_code: code("13805"), hung_up_by: Some(EndedBy::Carrier), ..Hangup::new(CarrierCause::Normal) };
    assert_eq!(end("completed", Some("13805")), limit);
}

#[test]
fn an_end_because_of_the_stream_says_that_there_was_no_audio() {
    let events = |code| CallEnd { status: "completed", sip_code: None, code }.events(Flavour::Twilio);
    for code in ["31901", "31920", "31941", "31953"] {
        assert!(
            matches!(&events(Some(code))[..], [CarrierEvent::NoMedia(words), CarrierEvent::Hangup(_)] if words.contains(code))
        );
    }
    assert!(matches!(&events(Some("11200"))[..], [CarrierEvent::Hangup(_)]));
    assert!(matches!(&events(None)[..], [CarrierEvent::Hangup(_)]));
}

#[test]
fn ending_what_has_ended_is_fine() {
    for ended in [coded(400, 21220), coded(404, 20404), answer(404, "")] {
        assert!(has_ended_already(Flavour::Twilio, &ended));
        assert!(has_ended_already(Flavour::SignalWire, &ended));
    }
    let invalid = answer(400, r#"{"code":"10000","message":"invalid"}"#);
    assert!(has_ended_already(Flavour::SignalWire, &invalid));
    assert!(!has_ended_already(Flavour::Twilio, &invalid));
    assert!(!has_ended_already(Flavour::Twilio, &coded(401, 20003)));
}

#[test]
fn logs_hold_no_numbers() {
    let refused = answer(400, r#"{"code":21214,"message":"+12025550100 and 4930123456 cannot be reached"}"#);
    let error = carrier_error(Flavour::Twilio, &refused);
    assert_eq!(error.message, "Twilio 21214: +… and … cannot be reached.");
    assert_eq!(error.code, Errs);
    assert_eq!(carrier_error(Flavour::Twilio, &coded(401, 20003)).code, CarrierUnauthorized);
}
