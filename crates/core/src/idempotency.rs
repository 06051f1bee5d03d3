//! `Idempotency-Key`: which keys are accepted, and when two requests are the same.

use std::fmt;

use serde_json::Value;
use sha2::{Digest, Sha256};

const MAX_LENGTH: usize = 255;

/// A key a client chose so that repeating a request does not repeat its effect: 1 to 255 visible ASCII characters.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct IdempotencyKey(String);

impl IdempotencyKey {
    /// Reads the key from all values of the `Idempotency-Key` header of a request; `None` if there is none.
    ///
    /// # Errors
    /// When there are several values or the one is not a key. Both are answered with 422.
    pub fn from_header_values<'a>(
        values: impl IntoIterator<Item = &'a [u8]>,
    ) -> Result<Option<Self>, IdempotencyKeyError> {
        let mut values = values.into_iter();
        let Some(value) = values.next() else { return Ok(None) };
        if values.next().is_some() {
            return Err(IdempotencyKeyError::Repeated);
        }
        let fits = (1..=MAX_LENGTH).contains(&value.len()) && value.iter().all(u8::is_ascii_graphic);
        match String::from_utf8(value.to_vec()) {
            Ok(text) if fits => Ok(Some(Self(text))),
            _ => Err(IdempotencyKeyError::Malformed),
        }
    }

    /// The key, for the database.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Why an `Idempotency-Key` is not accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum IdempotencyKeyError {
    /// More than one header line.
    #[error("Idempotency-Key must be sent once.")]
    Repeated,
    /// Empty, too long, or with spaces or other invisible or non-ASCII characters.
    #[error("Idempotency-Key must have 1 to 255 visible ASCII characters and no spaces.")]
    Malformed,
}

/// What makes two requests the same: the SHA-256 of method, path and canonical body.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Fingerprint([u8; 32]);

impl Fingerprint {
    /// The fingerprint of a request. White space and the order of keys in the body do not matter.
    #[must_use]
    pub fn of(method: &str, path: &str, body: &Value) -> Self {
        let mut canonical = String::new();
        write_canonical(body, &mut canonical);
        Self(Sha256::digest(format!("{method}\n{path}\n{canonical}")).into())
    }

    /// A fingerprint read from its row.
    #[must_use]
    pub const fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// The bytes to store.
    #[must_use]
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl fmt::Debug for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Fingerprint(")?;
        self.0[..4].iter().try_for_each(|byte| write!(f, "{byte:02x}"))?;
        f.write_str("…)")
    }
}

/// JSON without white space, keys in byte order, whatever order the map itself keeps.
fn write_canonical(value: &Value, out: &mut String) {
    match value {
        Value::Object(map) => {
            let mut entries: Vec<_> = map.iter().collect();
            entries.sort_unstable_by_key(|(key, _)| *key);
            out.push('{');
            for (position, (key, value)) in entries.into_iter().enumerate() {
                if position > 0 {
                    out.push(',');
                }
                out.push_str(&Value::from(key.as_str()).to_string());
                out.push(':');
                write_canonical(value, out);
            }
            out.push('}');
        }
        Value::Array(items) => {
            out.push('[');
            for (position, item) in items.iter().enumerate() {
                if position > 0 {
                    out.push(',');
                }
                write_canonical(item, out);
            }
            out.push(']');
        }
        leaf => out.push_str(&leaf.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(values: &[&[u8]]) -> Result<Option<String>, IdempotencyKeyError> {
        Ok(IdempotencyKey::from_header_values(values.iter().copied())?.map(|key| key.as_str().to_owned()))
    }

    #[test]
    fn a_key_is_one_header_of_visible_ascii() {
        let longest = [b'k'; 255];
        let too_long = [b'k'; 256];
        assert_eq!(read(&[]), Ok(None));
        assert_eq!(read(&[b"order-7/~!"]), Ok(Some("order-7/~!".to_owned())));
        assert!(read(&[&longest]).is_ok());
        for bad in [&b""[..], &too_long, b"a b", b"a\tb", b"a\x7f", "ä".as_bytes(), b"\xff"] {
            assert_eq!(read(&[bad]), Err(IdempotencyKeyError::Malformed), "{bad:?}");
        }
        assert_eq!(read(&[b"a", b"a"]), Err(IdempotencyKeyError::Repeated));
    }

    fn fingerprint(method: &str, path: &str, body: &str) -> Fingerprint {
        Fingerprint::of(method, path, &serde_json::from_str(body).expect("JSON"))
    }

    #[test]
    fn the_same_request_written_differently_is_the_same() {
        let first = fingerprint("POST", "/v1/calls", r#"{"to":"+1","metadata":{"b":[1,{"y":2,"x":1}],"a":null}}"#);
        let again =
            fingerprint("POST", "/v1/calls", r#" {"metadata" : {"a":null, "b":[1, {"x":1,"y":2}]}, "t\u006f":"+1"} "#);
        assert_eq!(first, again);
    }

    #[test]
    fn another_request_is_another() {
        let first = fingerprint("POST", "/v1/calls", r#"{"to":"+1","list":[1,2]}"#);
        for (method, path, body) in [
            ("PUT", "/v1/calls", r#"{"to":"+1","list":[1,2]}"#),
            ("POST", "/v1/webhooks", r#"{"to":"+1","list":[1,2]}"#),
            ("POST", "/v1/calls", r#"{"to":"+2","list":[1,2]}"#),
            ("POST", "/v1/calls", r#"{"to":"+1","list":[2,1]}"#),
            ("POST", "/v1/calls", r#"{"to":"+1","list":["1",2]}"#),
            ("POST", "/v1/calls", r#"{"to":"+1","list":[1,2],"more":null}"#),
        ] {
            assert_ne!(first, fingerprint(method, path, body), "{method} {path} {body}");
        }
    }

    #[test]
    fn the_canonical_form_is_sorted_and_dense() {
        let mut out = String::new();
        write_canonical(&serde_json::from_str(r#"{"b": [1, {"é\"": true}], "a": 1.5}"#).expect("JSON"), &mut out);
        assert_eq!(out, r#"{"a":1.5,"b":[1,{"é\"":true}]}"#);
    }
}
