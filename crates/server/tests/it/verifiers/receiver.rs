//! Verifies Switchhook's webhooks, with the crates `hmac` 0.13, `sha2` 0.11 and `subtle` 2.

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use subtle::ConstantTimeEq;

/// How far the time of a signature may be from now, in seconds.
const TOLERANCE: u64 = 300;

/// Whether a delivery is genuine. `header` is the value of `X-Voice-Signature`, `body` the raw body, `now` the Unix time
/// in seconds.
pub fn verify(secret: &str, header: &str, body: &[u8], now: u64) -> bool {
    let values = |name| header.split(',').filter_map(move |part| part.split_once('=').filter(|pair| pair.0 == name));
    let [(_, t)] = values("t").collect::<Vec<_>>()[..] else { return false };
    let Ok(at) = t.parse::<u64>() else { return false };
    let expected = sign(secret, t, body);
    let genuine = values("v1").fold(false, |found, (_, given)| found | bool::from(given.as_bytes().ct_eq(&expected)));
    genuine && now.abs_diff(at) <= TOLERANCE
}

/// The signature of a body sent at `t`, in lower-case hexadecimal.
fn sign(secret: &str, t: &str, body: &[u8]) -> Vec<u8> {
    let mut mac = Hmac::<Sha256>::new_from_slice(secret.as_bytes()).expect("HMAC takes keys of any length");
    mac.update(t.as_bytes());
    mac.update(b".");
    mac.update(body);
    mac.finalize().into_bytes().iter().flat_map(|byte| format!("{byte:02x}").into_bytes()).collect()
}
