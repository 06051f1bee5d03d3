//! The deliveries that a verifier must accept and refuse, based on the test vector of the contract.

use switchhook_core::Timestamp;
use switchhook_core::webhook::SigningSecret;

pub(super) const SECRET: &str = "whsec_dGVzdC1zZWNyZXQtdGVzdC1zZWNyZXQtdGVzdC0zMjE=";
/// When the vector was signed, in Unix seconds.
pub(super) const NOW: i64 = 1_700_000_123;
pub(super) const BODY: &[u8] = br#"{"id":"dlv_test_1","event":"call.completed","created":1700000000,"data":{"call_id":"11111111-2222-4333-8444-555555555555","status":"completed","summary":"ok","duration_seconds":42,"turns":3,"error":null}}"#;
pub(super) const SIGNATURE: &str = "ce0b0e7a52477cf11a504714f00b453fffb83f34bddd35d0e984afc6d0439d84";

/// A delivery as a receiver sees it.
pub(super) struct Case {
    pub(super) name: &'static str,
    pub(super) secret: &'static str,
    pub(super) header: String,
    pub(super) body: Vec<u8>,
    pub(super) now: i64,
    pub(super) genuine: bool,
}

impl Case {
    fn new(name: &'static str, header: String, genuine: bool) -> Self {
        Self { name, secret: SECRET, header, body: BODY.to_vec(), now: NOW, genuine }
    }

    /// Creates a case signed at `at` with the secret of the vector.
    pub(super) fn signed(name: &'static str, at: i64, genuine: bool) -> Self {
        Self::new(name, signed_by(SECRET, at, BODY), genuine)
    }
}

fn signed_by(secret: &str, at: i64, body: &[u8]) -> String {
    let secret = SigningSecret::parse(secret).expect("a secret");
    SigningSecret::header(&[secret], Timestamp::from_millis(at * 1_000), body)
}

/// Another secret, unknown to the receiver.
const STRANGE: &str = "whsec_c3RyYW5nZS1zZWNyZXQtc3RyYW5nZS1zZWNyZXQtMDE=";

pub(super) fn cases() -> Vec<Case> {
    let vector = format!("t={NOW},v1={SIGNATURE}");
    let strange = signed_by(STRANGE, NOW, BODY);
    let (_, strange) = strange.split_once("v1=").expect("a signature");
    let mut cases = vec![Case::new("genuine", vector.clone(), true)];

    for (name, now, genuine) in [
        ("as old as it may be", NOW + 300, true),
        ("too old", NOW + 301, false),
        ("far too old", NOW + 86_400, false),
        ("as far ahead as it may be", NOW - 300, true),
        ("from the future", NOW - 301, false),
    ] {
        cases.push(Case { now, ..Case::new(name, vector.clone(), genuine) });
    }
    for (name, secret) in [("another secret", STRANGE), ("only a part of the secret", "whsec_dGVzdC1zZWNyZXQ=")] {
        cases.push(Case { secret, ..Case::new(name, vector.clone(), false) });
    }
    let mut changed = BODY.to_vec();
    changed[0] = b'[';
    for (name, body) in [("another body", changed), ("a longer body", [BODY, b"\n"].concat()), ("no body", Vec::new())]
    {
        cases.push(Case { body, ..Case::new(name, vector.clone(), false) });
    }
    let binary = vec![0, 0xff, b'\n', 0xc3, 0x28];
    let header = signed_by(SECRET, NOW, &binary);
    cases.push(Case { body: binary, ..Case::new("a body that is no text", header, true) });

    for (name, header, genuine) in [
        ("the new secret first", format!("t={NOW},v1={strange},v1={SIGNATURE}"), true),
        ("the new secret last", format!("t={NOW},v1={SIGNATURE},v1={strange}"), true),
        ("no signature of ours", format!("t={NOW},v1={strange},v1={strange}"), false),
        ("schemes to come", format!("t={NOW},v0=1,v1={SIGNATURE},v2=2"), true),
        ("another scheme only", format!("t={NOW},v2={SIGNATURE}"), false),
        ("another time", format!("t={},v1={SIGNATURE}", NOW + 1), false),
        ("two times", format!("t={NOW},t={},v1={SIGNATURE}", NOW + 1), false),
        ("the time twice", format!("{vector},t={NOW}"), false),
        ("no header", String::new(), false),
        ("no signature", format!("t={NOW}"), false),
        ("an empty signature", format!("t={NOW},v1="), false),
        ("no time", format!("v1={SIGNATURE}"), false),
        ("an empty time", format!("t=,v1={SIGNATURE}"), false),
        ("a word for a time", format!("t=now,v1={SIGNATURE}"), false),
        ("a negative time", format!("t=-{NOW},v1={SIGNATURE}"), false),
        ("digits of another script", format!("t=١٧٠٠٠٠٠١٢٣,v1={SIGNATURE}"), false),
        ("a time beyond all", format!("t={},v1={SIGNATURE}", "9".repeat(400)), false),
        ("a signature cut off", format!("t={NOW},v1={}", &SIGNATURE[..63]), false),
        ("a signature with more behind it", format!("{vector}00"), false),
        ("in capitals", format!("t={NOW},v1={}", SIGNATURE.to_uppercase()), false),
        ("a signature that is no hexadecimal", format!("t={NOW},v1={}", "é".repeat(32)), false),
        ("separators", ",=,=,,".to_owned(), false),
        ("garbage", "Basic dXNlcjpwYXNz".to_owned(), false),
    ] {
        cases.push(Case::new(name, header, genuine));
    }
    cases
}
