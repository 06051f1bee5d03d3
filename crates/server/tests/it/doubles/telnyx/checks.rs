//! Checks of request bodies by Telnyx's rules.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde_json::Value;

use super::super::complaints::Complaints;

/// The allowed values of a field.
pub(super) enum Is {
    Text(usize),
    Number(u64, u64),
    OneOf(&'static [&'static str]),
    OneOfNumbers(&'static [u64]),
    /// E.164 with its `+`, or a SIP URI.
    Callee,
    Base64,
    Flag,
    /// An absolute address with one of these schemes.
    Url(&'static [&'static str]),
    /// `0-9A-D*#` and pauses.
    Keys,
}

/// A field: its name, whether it is required, and its allowed values.
pub(super) type Field = (&'static str, bool, Is);

const CODECS: &[&str] = &["PCMU", "PCMA", "G722", "OPUS", "AMR-WB", "L16"];
const STREAM_CODECS: &[&str] = &["PCMU", "PCMA", "G722", "OPUS", "AMR-WB", "L16", "default"];
const DETECTIONS: &[&str] = &[
    "premium",
    "premium_ios_call_screening_detection",
    "detect",
    "detect_beep",
    "detect_words",
    "greeting_end",
    "disabled",
];

/// The fields that request a media stream with a dial, or on an answered call.
fn stream() -> Vec<Field> {
    vec![
        ("stream_url", true, Is::Url(&["ws://", "wss://"])),
        ("stream_track", false, Is::OneOf(&["inbound_track", "outbound_track", "both_tracks"])),
        ("stream_codec", false, Is::OneOf(STREAM_CODECS)),
        // Of the two allowed values, `mp3` would make our audio inaudible.
        ("stream_bidirectional_mode", true, Is::OneOf(&["rtp"])),
        ("stream_bidirectional_codec", false, Is::OneOf(CODECS)),
        ("stream_bidirectional_sampling_rate", false, Is::OneOfNumbers(&[8_000, 16_000, 22_050, 24_000, 48_000])),
        ("stream_bidirectional_target_legs", false, Is::OneOf(&["both", "self", "opposite"])),
        ("stream_auth_token", false, Is::Text(4_000)),
        ("client_state", false, Is::Base64),
        ("command_id", false, Is::Text(255)),
    ]
}

/// `POST /v2/calls`.
pub(super) fn dial() -> Vec<Field> {
    let mut fields = stream();
    fields.extend([
        ("connection_id", true, Is::Text(64)),
        ("to", true, Is::Callee),
        ("from", true, Is::Callee),
        ("timeout_secs", false, Is::Number(5, 600)),
        ("time_limit_secs", false, Is::Number(30, 14_400)),
        ("webhook_url", false, Is::Url(&["http://", "https://"])),
        ("answering_machine_detection", false, Is::OneOf(DETECTIONS)),
        ("send_silence_when_idle", false, Is::Flag),
    ]);
    fields
}

/// `answer`, which accepts fewer fields of a stream.
fn answer() -> Vec<Field> {
    const NOT_HERE: [&str; 2] = ["stream_bidirectional_sampling_rate", "stream_auth_token"];
    let mut fields = stream();
    fields.retain(|(name, ..)| !NOT_HERE.contains(name));
    // All of them are optional in an answer.
    fields.iter_mut().for_each(|(_, required, _)| *required = false);
    fields.push(("send_silence_when_idle", false, Is::Flag));
    fields
}

/// Returns the fields of a command; `None` for an unknown command.
pub(super) fn command(name: &str) -> Option<Vec<Field>> {
    Some(match name {
        "answer" => answer(),
        "streaming_start" => stream(),
        "hangup" => vec![],
        "reject" => vec![("cause", true, Is::OneOf(&["CALL_REJECTED", "USER_BUSY"]))],
        "transfer" => vec![
            ("to", true, Is::Callee),
            ("from", false, Is::Callee),
            ("timeout_secs", false, Is::Number(5, 600)),
            ("webhook_url", false, Is::Url(&["http://", "https://"])),
            ("target_leg_client_state", false, Is::Base64),
        ],
        "send_dtmf" => vec![("digits", true, Is::Keys)],
        _ => return None,
    })
}

/// `PATCH /v2/call_control_applications/{id}`.
pub(super) fn application() -> Vec<Field> {
    vec![
        ("application_name", true, Is::Text(255)),
        ("webhook_event_url", true, Is::Url(&["http://", "https://"])),
        ("webhook_api_version", false, Is::OneOf(&["1", "2"])),
    ]
}

/// `PATCH /v2/phone_numbers/{id}`.
pub(super) fn number() -> Vec<Field> {
    vec![("connection_id", false, Is::Text(64))]
}

/// Checks `body` against `fields`. Complains about every difference.
pub(super) fn check(what: &str, body: &Value, fields: &[Field], complaints: &Complaints) -> bool {
    let Some(object) = body.as_object() else {
        complaints.add(format!("{what}: the body is no object"));
        return false;
    };
    let unknown = object.keys().filter(|name| !fields.iter().any(|(known, ..)| known == name));
    let mut wrong: Vec<String> = unknown.map(|name| format!("{what}: there is no field {name}")).collect();
    for (name, required, is) in fields {
        match object.get(*name) {
            Some(value) if !is.allows(value) => wrong.push(format!("{what}: {name} must not be {value}")),
            None if *required => wrong.push(format!("{what}: {name} is missing")),
            _ => {}
        }
    }
    let fine = wrong.is_empty();
    wrong.into_iter().for_each(|words| complaints.add(words));
    fine
}

impl Is {
    fn allows(&self, value: &Value) -> bool {
        let text = value.as_str();
        match self {
            Self::Text(longest) => text.is_some_and(|text| !text.is_empty() && text.len() <= *longest),
            Self::Number(least, most) => value.as_u64().is_some_and(|number| (*least..=*most).contains(&number)),
            Self::OneOf(words) => text.is_some_and(|text| words.contains(&text)),
            Self::OneOfNumbers(numbers) => value.as_u64().is_some_and(|number| numbers.contains(&number)),
            Self::Callee => text.is_some_and(|text| text.starts_with("sip:") || is_e164(text)),
            Self::Base64 => text.is_some_and(|text| BASE64_STANDARD.decode(text).is_ok()),
            Self::Flag => value.is_boolean(),
            Self::Url(schemes) => text.is_some_and(|text| schemes.iter().any(|scheme| text.starts_with(scheme))),
            Self::Keys => {
                text.is_some_and(|text| !text.is_empty() && text.chars().all(|key| "0123456789ABCD*#wW".contains(key)))
            }
        }
    }
}

fn is_e164(text: &str) -> bool {
    text.strip_prefix('+')
        .is_some_and(|digits| (7..=15).contains(&digits.len()) && digits.bytes().all(|byte| byte.is_ascii_digit()))
}

#[test]
fn what_telnyx_would_refuse_is_complained_about() {
    use serde_json::json;

    let good = json!({
        "connection_id": "1", "to": "+12025550100", "from": "+12025550199", "stream_url": "wss://example.com/x",
        "stream_bidirectional_mode": "rtp", "stream_bidirectional_codec": "PCMU", "client_state": "eA==",
    });
    let complaints = Complaints::default();
    assert!(check("dial", &good, &dial(), &complaints));
    assert_eq!(complaints.take(), Vec::<String>::new());
    for (field, bad) in [
        ("stream_bidirectional_mode", json!("mp3")),
        ("stream_bidirectional_mode", Value::Null),
        ("stream_bidirectional_codec", json!("pcmu")),
        ("client_state", json!("not base64")),
        ("to", json!("12025550100")),
        ("timeout_secs", json!(4)),
        ("timeout_secs", json!("30")),
        ("answering_machine_detection", json!("on")),
        ("stream_bidirectional_sampling_rate", json!(11_025)),
        ("colour", json!("red")),
    ] {
        let mut body = good.clone();
        body[field] = bad;
        assert!(!check("dial", &body, &dial(), &complaints));
        assert_eq!(complaints.take().len(), 1, "{field} {}", body[field]);
    }
    for (field, value) in [("stream_auth_token", json!("abc")), ("stream_bidirectional_sampling_rate", json!(8_000))] {
        let mut body = json!({ "stream_url": "wss://example.com/x", "stream_bidirectional_mode": "rtp" });
        body[field] = value;
        assert!(check("streaming_start", &body, &stream(), &complaints));
        assert!(!check("answer", &body, &answer(), &complaints), "answer knows no {field}");
        assert_eq!(complaints.take().len(), 1, "{field}");
    }
}
