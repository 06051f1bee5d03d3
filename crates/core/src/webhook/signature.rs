//! Signatures of deliveries, in our own format and in that of Standard Webhooks.
//!
//! Ours: `X-Voice-Signature: t=<unix seconds>,v1=<hex>`, where hex is the HMAC-SHA256 of `<t>.<body>` under the whole secret
//! string, including `whsec_`. During a secret rotation there is one `v1` per secret.
//!
//! Standard Webhooks: `webhook-signature: v1,<base64>`, the HMAC-SHA256 of `<id>.<t>.<body>` under the 32 bytes encoded in base64
//! after `whsec_`; several are separated by a space.

use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use data_encoding::HEXLOWER;
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

use crate::Timestamp;
use crate::private::Private;

const SECRET_PREFIX: &str = "whsec_";

/// Default maximum age of a signature.
pub const DEFAULT_TOLERANCE: Duration = Duration::from_secs(300);

/// The signing secret of an endpoint: `whsec_` and the base64 of 32 random bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SigningSecret {
    text: Private<String>,
    decoded: Private<Vec<u8>>,
}

impl SigningSecret {
    /// Creates a secret from 32 cryptographically random bytes.
    #[must_use]
    pub fn generate(random: [u8; 32]) -> Self {
        let text = format!("{SECRET_PREFIX}{}", STANDARD.encode(random));
        Self { text: Private::new(text), decoded: Private::new(random.to_vec()) }
    }

    /// Parses a secret.
    ///
    /// # Errors
    /// If it does not have the form of a secret.
    pub fn parse(text: &str) -> Result<Self, MalformedSecret> {
        let encoded = text.strip_prefix(SECRET_PREFIX).ok_or(MalformedSecret)?;
        let decoded = STANDARD.decode(encoded).ok().filter(|bytes| !bytes.is_empty()).ok_or(MalformedSecret)?;
        Ok(Self { text: Private::new(text.to_owned()), decoded: Private::new(decoded) })
    }

    /// Returns the whole string, to be shown once and sealed for storage.
    #[must_use]
    pub fn reveal(&self) -> &str {
        self.text.reveal()
    }

    /// Returns `X-Voice-Signature` for an attempt at `at`, signed with each of `secrets`, newest first.
    #[must_use]
    pub fn header(secrets: &[Self], at: Timestamp, body: &[u8]) -> String {
        let seconds = at.as_seconds().to_string();
        let mut header = format!("t={seconds}");
        for secret in secrets {
            header.push_str(",v1=");
            HEXLOWER.encode_append(&secret.own_mac(&seconds, body).finalize().into_bytes(), &mut header);
        }
        header
    }

    /// Returns `webhook-signature` for an attempt at `at` of the delivery `id` (the value of `webhook-id`);
    /// `webhook-timestamp` is `at` in whole Unix seconds.
    #[must_use]
    pub fn standard_header(secrets: &[Self], id: &str, at: Timestamp, body: &[u8]) -> String {
        let signed = |secret: &Self| {
            let mut mac = mac_under(secret.decoded.reveal());
            mac.update(format!("{id}.{}.", at.as_seconds()).as_bytes());
            mac.update(body);
            format!("v1,{}", STANDARD.encode(mac.finalize().into_bytes()))
        };
        secrets.iter().map(signed).collect::<Vec<_>>().join(" ")
    }

    /// Computes our own signature; `seconds` as in the header.
    fn own_mac(&self, seconds: &str, body: &[u8]) -> Hmac<Sha256> {
        let mut mac = mac_under(self.text.reveal().as_bytes());
        mac.update(seconds.as_bytes());
        mac.update(b".");
        mac.update(body);
        mac
    }
}

/// The text is not a signing secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a signing secret has the form whsec_<base64>")]
pub struct MalformedSecret;

/// Verifies an `X-Voice-Signature` header over the raw body, as a receiver should. This is the reference verifier.
///
/// # Errors
/// Why the delivery must be rejected.
pub fn verify(
    header: &str,
    body: &[u8],
    secret: &SigningSecret,
    now: Timestamp,
    tolerance: Duration,
) -> Result<(), VerifyError> {
    let (seconds, signatures) = read_header(header)?;
    let genuine =
        signatures.iter().filter_map(|hex| HEXLOWER.decode(hex.as_bytes()).ok()).fold(false, |genuine, signature| {
            // `verify_slice` compares in constant time; checking every one keeps the total time constant too.
            genuine | secret.own_mac(seconds, body).verify_slice(&signature).is_ok()
        });
    if !genuine {
        return Err(VerifyError::WrongSignature);
    }
    let at = Timestamp::from_millis(seconds.parse::<i64>().map_err(|_| VerifyError::Malformed)?.saturating_mul(1_000));
    if now.since(at).max(at.since(now)) > tolerance {
        return Err(VerifyError::OutsideTolerance);
    }
    Ok(())
}

/// Why a signature is rejected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum VerifyError {
    /// The header is malformed.
    #[error("the signature header does not have the form t=<unix seconds>,v1=<hex>")]
    Malformed,
    /// No signature matches this body and secret.
    #[error("no signature matches: the secret differs, or the body was changed after signing")]
    WrongSignature,
    /// The signature is genuine but too old or in the future.
    #[error("the signature is genuine but its time is outside the tolerance: a replay, or a wrong clock")]
    OutsideTolerance,
}

/// Parses the time and the `v1` signatures. Skips unknown schemes, so that a `v2` can be added later.
fn read_header(header: &str) -> Result<(&str, Vec<&str>), VerifyError> {
    let mut seconds = None;
    let mut signatures = Vec::new();
    for part in header.trim().split(',') {
        match part.split_once('=').ok_or(VerifyError::Malformed)? {
            ("t", value) if seconds.is_none() => seconds = Some(value),
            ("t", _repeated) => return Err(VerifyError::Malformed),
            ("v1", value) => signatures.push(value),
            _unknown => {}
        }
    }
    let seconds = seconds.filter(|text| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()));
    if signatures.is_empty() {
        return Err(VerifyError::Malformed);
    }
    Ok((seconds.ok_or(VerifyError::Malformed)?, signatures))
}

fn mac_under(key: &[u8]) -> Hmac<Sha256> {
    Hmac::new_from_slice(key).expect("HMAC takes keys of any length")
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECRET: &str = "whsec_dGVzdC1zZWNyZXQtdGVzdC1zZWNyZXQtdGVzdC0zMjE=";
    const BODY: &[u8] = br#"{"id":"dlv_test_1","event":"call.completed","created":1700000000,"data":{"call_id":"11111111-2222-4333-8444-555555555555","status":"completed","summary":"ok","duration_seconds":42,"turns":3,"error":null}}"#;
    const SIGNATURE: &str = "ce0b0e7a52477cf11a504714f00b453fffb83f34bddd35d0e984afc6d0439d84";

    fn secret() -> SigningSecret {
        SigningSecret::parse(SECRET).expect("a secret")
    }

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_millis(seconds * 1_000)
    }

    #[test]
    fn the_published_vector_comes_out() {
        assert_eq!(SigningSecret::header(&[secret()], at(1_700_000_123), BODY), format!("t=1700000123,v1={SIGNATURE}"));
    }

    #[test]
    fn the_vector_of_standard_webhooks_comes_out() {
        // From the reference libraries' tests; the key there is 24 bytes long.
        let secret = SigningSecret::parse("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw").expect("a secret");
        let header = SigningSecret::standard_header(
            std::slice::from_ref(&secret),
            "msg_p5jXN8AQM9LWM0D4loKWxJek",
            at(1_614_265_330),
            br#"{"test": 2432232314}"#,
        );
        assert_eq!(header, "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
    }

    #[test]
    fn a_genuine_signature_is_accepted_within_the_tolerance_only() {
        let header = format!("t=1700000123,v1={SIGNATURE}");
        let verified = |seconds| verify(&header, BODY, &secret(), at(seconds), DEFAULT_TOLERANCE);
        assert_eq!(verified(1_700_000_123 + 300), Ok(()));
        assert_eq!(verified(1_700_000_123 + 301), Err(VerifyError::OutsideTolerance));
        assert_eq!(verified(1_700_000_123 - 300), Ok(()), "clocks differ");
        assert_eq!(verified(1_700_000_123 - 301), Err(VerifyError::OutsideTolerance));
    }

    #[test]
    fn anything_that_was_changed_is_refused() {
        let header = format!("t=1700000123,v1={SIGNATURE}");
        let later = format!("t=1700000124,v1={SIGNATURE}");
        let shouted = format!("t=1700000123,v1={}", SIGNATURE.to_uppercase());
        let other = SigningSecret::generate([7; 32]);
        let longer = [BODY, b" "].concat();
        for (name, header, body, secret) in [
            ("another body", &header, longer.as_slice(), secret()),
            ("another secret", &header, BODY, other),
            ("another time", &later, BODY, secret()),
            ("not lower case", &shouted, BODY, secret()),
        ] {
            let verdict = verify(header, body, &secret, at(1_700_000_123), DEFAULT_TOLERANCE);
            assert_eq!(verdict, Err(VerifyError::WrongSignature), "{name}");
        }
    }

    #[test]
    fn while_a_secret_is_replaced_both_old_and_new_verify() {
        let new = SigningSecret::generate([9; 32]);
        let header = SigningSecret::header(&[new.clone(), secret()], at(1_700_000_123), BODY);
        assert_eq!(header.matches(",v1=").count(), 2);
        assert!(header.ends_with(SIGNATURE), "the old one comes last");
        for known in [new.clone(), secret()] {
            assert_eq!(verify(&header, BODY, &known, at(1_700_000_123), DEFAULT_TOLERANCE), Ok(()));
        }
        let standard = SigningSecret::standard_header(&[new, secret()], "id", at(1), BODY);
        assert_eq!(standard.split(' ').filter(|part| part.starts_with("v1,")).count(), 2);
    }

    #[test]
    fn a_header_that_cannot_be_read_is_malformed_and_unknown_schemes_are_skipped() {
        for bad in [
            "".to_owned(),
            "v1".to_owned(),
            format!("v1={SIGNATURE}"),
            "t=1700000123".to_owned(),
            format!("t=,v1={SIGNATURE}"),
            format!("t=-5,v1={SIGNATURE}"),
            format!("t=1700000123,t=1700000123,v1={SIGNATURE}"),
        ] {
            let verdict = verify(&bad, BODY, &secret(), at(1_700_000_123), DEFAULT_TOLERANCE);
            assert_eq!(verdict, Err(VerifyError::Malformed), "{bad}");
        }
        let with_more = format!("t=1700000123,v0=abc,v1=zz,v1={SIGNATURE},v2=x");
        assert_eq!(verify(&with_more, BODY, &secret(), at(1_700_000_123), DEFAULT_TOLERANCE), Ok(()));
    }

    #[test]
    fn a_new_secret_reads_itself_back_and_prints_nothing() {
        let secret = SigningSecret::generate([0xab; 32]);
        assert_eq!(SigningSecret::parse(secret.reveal()), Ok(secret.clone()));
        assert!(!format!("{secret:?}").contains("q6ur"), "the base64 of 0xab");
        for bad in ["", "whsec_", "whsec_***", "sec_cQ==", "cQ=="] {
            assert_eq!(SigningSecret::parse(bad), Err(MalformedSecret), "{bad}");
        }
    }
}
