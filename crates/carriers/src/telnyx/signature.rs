//! Signatures of Telnyx's webhooks: Ed25519 over `timestamp|body`, in the headers `Telnyx-Signature-Ed25519` and
//! `Telnyx-Timestamp`.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use ring::signature::{ED25519, UnparsedPublicKey};

use crate::callback::{CallbackError, CallbackRequest};

const SIGNATURE: &str = "telnyx-signature-ed25519";
const TIMESTAMP: &str = "telnyx-timestamp";
/// The maximum difference between a signature's time and ours, in seconds.
const TOLERANCE: u64 = 300;
/// The length of a public key, in bytes.
const KEY: usize = 32;

/// The account's public key.
pub(super) struct PublicKey(UnparsedPublicKey<Vec<u8>>);

impl PublicKey {
    /// Parses base64 as shown in Telnyx's portal.
    ///
    /// # Errors
    /// When it is not a valid key.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        match BASE64_STANDARD.decode(text.trim()) {
            Ok(key) if key.len() == KEY => Ok(Self(UnparsedPublicKey::new(&ED25519, key))),
            _ => Err(
                "credentials.public_key must be the account's public key as Telnyx's portal shows it: base64 of 32 \
                      bytes."
                    .to_owned(),
            ),
        }
    }

    /// Checks that Telnyx signed this request recently.
    ///
    /// # Errors
    /// A sentence for the operator.
    pub(super) fn check(&self, request: &CallbackRequest<'_>) -> Result<(), CallbackError> {
        let refused = |words: &str| CallbackError::Signature(words.to_owned());
        let (Some(signature), Some(timestamp)) = (request.header(SIGNATURE), request.header(TIMESTAMP)) else {
            return Err(refused("Telnyx's signature is missing."));
        };
        let signed_at: i64 = timestamp.parse().map_err(|_| refused("Telnyx's timestamp is no number."))?;
        if signed_at.abs_diff(request.now) > TOLERANCE {
            return Err(refused("Telnyx's signature is too old. If it is not, check this machine's clock."));
        }
        let signature = BASE64_STANDARD.decode(signature).map_err(|_| refused("Telnyx's signature is no base64."))?;
        let signed = [timestamp.as_bytes(), b"|", request.body].concat();
        self.0.verify(&signed, &signature).map_err(|_| {
            refused("Telnyx's signature is wrong. Check that credentials.public_key is this account's key.")
        })
    }
}

#[cfg(test)]
pub(crate) const FUZZED: switchhook_fuzz::Target = switchhook_fuzz::Target {
    file: file!(),
    seeds: || {
        vec![vec![
        b"A2nVScNNHtE3C4OarinjcaUZw2wOrM1PffIP/zY9OtLh9G9ZZ/aa097U9SHoISO3A9xEdMkd9oaknZCv9hKuAg==".to_vec(),
        b"1700000000".to_vec(),
        br#"{"data":{"record_type":"event","event_type":"call.hangup","id":"x","payload":{"hangup_cause":"user_busy","sip_hangup_cause":"486"}}}"#.to_vec(),
    ]]
    },
    read: |messages| {
        let key = PublicKey::parse("iojj3XQJ8ZX9UtstPLpdcspnCb8dlBIb83SIAbQPb1w=").expect("a key");
        let header = |at: usize| messages.get(at).and_then(|value| axum::http::HeaderValue::from_bytes(value).ok());
        let headers = [(SIGNATURE, header(0)), (TIMESTAMP, header(1))].into_iter();
        let headers = headers.filter_map(|(name, value)| Some((axum::http::HeaderName::from_static(name), value?)));
        let request = CallbackRequest {
            method: &axum::http::Method::POST,
            url: "https://voice.example.com/carrier/telnyx/calls/x/events",
            headers: &headers.collect(),
            body: messages.get(2).map_or(&[], Vec::as_slice),
            topic: "events",
            now: 1_700_000_000,
        };
        let mut read = switchhook_fuzz::Read::default();
        read.count(key.check(&request).map(|()| 1));
        read
    },
};

#[cfg(test)]
mod tests {
    use axum::http::{HeaderMap, HeaderValue, Method};

    use super::*;

    const KEY: &str = "iojj3XQJ8ZX9UtstPLpdcspnCb8dlBIb83SIAbQPb1w=";
    const BODY: &[u8] = br#"{"data":{"record_type":"event","event_type":"call.hangup","id":"x","payload":{"hangup_cause":"user_busy","sip_hangup_cause":"486"}}}"#;
    const GOOD: &str = "A2nVScNNHtE3C4OarinjcaUZw2wOrM1PffIP/zY9OtLh9G9ZZ/aa097U9SHoISO3A9xEdMkd9oaknZCv9hKuAg==";
    const AT: i64 = 1_700_000_000;

    fn checked(signature: Option<&str>, timestamp: Option<&str>, body: &[u8], now: i64) -> bool {
        checked_by(KEY, signature, timestamp, body, now)
    }

    fn checked_by(key: &str, signature: Option<&str>, timestamp: Option<&str>, body: &[u8], now: i64) -> bool {
        let mut headers = HeaderMap::new();
        for (name, value) in [(SIGNATURE, signature), (TIMESTAMP, timestamp)] {
            if let Some(value) = value {
                headers.insert(name, HeaderValue::from_str(value).expect("a header"));
            }
        }
        let url = "https://voice.example.com/carrier/telnyx/calls/x/events";
        let request = CallbackRequest { method: &Method::POST, url, headers: &headers, body, topic: "events", now };
        PublicKey::parse(key).expect("a key").check(&request).is_ok()
    }

    #[test]
    fn what_telnyx_signed_is_recognised_for_five_minutes() {
        let time = AT.to_string();
        let signed = |now| checked(Some(GOOD), Some(&time), BODY, now);
        assert!(signed(AT) && signed(AT + 300) && signed(AT - 300));
        assert!(!signed(AT + 301) && !signed(AT - 301));
    }

    /// The vector is one that the SDK accepts: `telnyx` 4.189.0 (Python) and 7.24.0 (Node.js).
    #[test]
    fn letters_escapes_and_line_breaks_of_a_body_are_verified_as_they_came() {
        let key = "A6EHv/POEL4dcN0Y50vAmWfk1jCbpQ1fHdyGZBJVMbg=";
        let good = "vZT3SFpM48MK79Hc3hW/jlFdqB0rSro+CZhZphv5hY7LxlyjsPbQLpgdn4nhU5U4UI4ZiGGszfNwW+xRQn6YDQ==";
        let fields = r#""call_control_id":"v3:x","from":"Café 🐙","to":"\u002b12025550199""#;
        let body = format!("{{\"data\":{{\"event_type\":\"call.hangup\",\"payload\":{{{fields}}}}}}}\n");
        let genuine = |body: &str| checked_by(key, Some(good), Some("1700000000"), body.as_bytes(), AT);
        assert!(genuine(&body));
        for other in [body.trim_end().to_owned(), body.replace("\\u002b", "+"), body.replace('é', "e\u{301}")] {
            assert!(!genuine(&other), "{other}");
        }
        for altered in [good.trim_end_matches('=').to_owned(), good.replace('+', "-").replace('/', "_")] {
            let genuine = checked_by(key, Some(&altered), Some("1700000000"), body.as_bytes(), AT);
            assert!(!genuine, "the SDKs refuse this base64, too: {altered}");
        }
    }

    #[test]
    fn nothing_else_is() {
        let time = AT.to_string();
        assert!(!checked(None, Some(&time), BODY, AT));
        assert!(!checked(Some(GOOD), None, BODY, AT));
        assert!(!checked(Some(GOOD), Some("now"), BODY, AT));
        assert!(!checked(Some(GOOD), Some(&(AT + 1).to_string()), BODY, AT), "the time is signed too");
        assert!(!checked(Some(GOOD), Some(&time), &[BODY, b" "].concat(), AT), "the body is signed byte for byte");
        assert!(!checked(Some(&GOOD[..40]), Some(&time), BODY, AT));
        assert!(!checked(Some("ä"), Some(&time), BODY, AT));
        for wrong in ["", "x", "aGVsbG8=", &KEY[1..]] {
            assert!(PublicKey::parse(wrong).is_err(), "{wrong}");
        }
    }
}
