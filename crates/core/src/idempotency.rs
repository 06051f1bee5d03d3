//! `Idempotency-Key`: valid keys, and the comparison of requests.

use std::fmt;

use serde_json::Value;
use sha2::{Digest, Sha256};

const MAX_LENGTH: usize = 255;

/// A client's idempotency key: 1 to 255 visible ASCII characters.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct IdempotencyKey(String);

impl IdempotencyKey {
    /// Parses the key from all values of a request's `Idempotency-Key` header; `None` without the header.
    ///
    /// # Errors
    /// If there are several values or an invalid one. Both are a 422.
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

    /// Returns the key.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Why an `Idempotency-Key` is rejected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum IdempotencyKeyError {
    /// More than one header line.
    #[error("must be sent once")]
    Repeated,
    /// Empty, too long, or with spaces or other invisible or non-ASCII characters.
    #[error("must have 1 to 255 visible ASCII characters and no spaces")]
    Malformed,
}

/// The body is not JSON, or nested too deeply.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("The body is not valid JSON, or is nested too deeply.")]
pub struct NotJson;

/// Identifies a request: the SHA-256 of method, path and canonical body.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Fingerprint([u8; 32]);

impl Fingerprint {
    /// Returns the fingerprint of a request with this JSON body. Whitespace, key order and the spelling of strings and numbers do not
    /// matter (RFC 8785).
    ///
    /// # Errors
    /// If `body` is not JSON, or nested too deeply.
    pub fn of(method: &str, path: &str, body: &str) -> Result<Self, NotJson> {
        let value: Value = serde_json::from_str(body).map_err(|_| NotJson)?;
        let canonical = serde_json_canonicalizer::to_string(&value).map_err(|_| NotJson)?;
        let mut hash = Sha256::new_with_prefix(format!("{method}\n{path}\n{canonical}"));
        for number in long_numbers(body) {
            hash.update(format!("\n{number}"));
        }
        Ok(Self(hash.finalize().into()))
    }

    /// Creates a fingerprint from its row.
    #[must_use]
    pub const fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// Returns the bytes to store.
    #[must_use]
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

/// Returns the numbers of a JSON text with more digits than a double distinguishes, sorted. RFC 8785 writes every number as a double.
fn long_numbers(json: &str) -> Vec<&str> {
    let (mut numbers, mut rest) = (Vec::new(), json);
    while let Some(start) = rest.find(|c: char| c == '"' || c.is_ascii_digit()) {
        rest = &rest[start..];
        if rest.starts_with('"') {
            rest = &rest[string_length(rest)..];
            continue;
        }
        let end = rest.find(|c: char| !matches!(c, '0'..='9' | '.' | '+' | '-' | 'e' | 'E')).unwrap_or(rest.len());
        let (number, after) = rest.split_at(end);
        if number.bytes().filter(u8::is_ascii_digit).count() > f64::DIGITS as usize {
            numbers.push(number);
        }
        rest = after;
    }
    numbers.sort_unstable();
    numbers
}

/// Returns the length of the string literal at the start of `json`, in bytes.
fn string_length(json: &str) -> usize {
    let mut escaped = false;
    let closing = json.bytes().skip(1).position(|byte| {
        let closes = byte == b'"' && !escaped;
        escaped = byte == b'\\' && !escaped;
        closes
    });
    closing.map_or(json.len(), |position| position + 2)
}

impl fmt::Debug for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Fingerprint(")?;
        self.0[..4].iter().try_for_each(|byte| write!(f, "{byte:02x}"))?;
        f.write_str("…)")
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
        Fingerprint::of(method, path, body).expect("JSON")
    }

    #[test]
    fn the_same_request_written_differently_is_the_same() {
        let first = fingerprint("POST", "/v1/calls", r#"{"to":"+1","metadata":{"b":[1,{"y":2,"x":1}],"a":null}}"#);
        let again =
            fingerprint("POST", "/v1/calls", r#" {"metadata" : {"a":null, "b":[1, {"x":1,"y":2}]}, "t\u006f":"+1"} "#);
        assert_eq!(first, again);
    }

    #[test]
    fn the_spelling_of_a_number_does_not_matter_and_its_digits_do() {
        let of = |number: &str| fingerprint("POST", "/v1/calls", &format!(r#"{{"1\"2":{number},"n":"{number}"}}"#));
        let number = |number: &str| fingerprint("POST", "/v1/calls", &format!(r#"{{"metadata":{{"n":{number}}}}}"#));
        assert_eq!(number("100"), number("1.00e2"));
        assert_ne!(of("100"), of("1.00e2"), "in a string it does");
        for (one, another) in [
            ("9007199254740992", "9007199254740993"),
            ("-9007199254740992", "-9007199254740993"),
            ("18446744073709551617", "18446744073709551618"),
            ("0.1", "0.1000000000000000055"),
        ] {
            assert_ne!(number(one), number(another), "{one} and {another} are one double");
        }
    }

    #[test]
    fn a_body_that_is_not_json_has_no_fingerprint() {
        let deep = format!("{}{}", "[".repeat(200), "]".repeat(200));
        for bad in ["", "{", "[1,]", r#"{"a"}"#, "nul", "01", r#""\ud800""#, "1 2", &deep] {
            assert_eq!(Fingerprint::of("POST", "/v1/calls", bad), Err(NotJson), "{bad:.20}");
        }
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
}
