//! E.164 numbers and SIP addresses.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize};

/// A number in E.164 form (`+` and 7 to 15 digits, ITU-T E.164 section 6) or a `sip:`/`sips:` URI.
///
/// `Debug` shows only the last two characters, and there is no `Display`, so that no log line contains a number by accident.
#[derive(Clone, PartialEq, Eq, Hash, Serialize)]
#[serde(transparent)]
pub struct PhoneNumber(String);

/// What stands in place of a number where somebody talks in a browser.
const WEB: &str = "web";

impl PhoneNumber {
    /// Who talks in a browser. No text is parsed to it: whoever takes it as a callee says so.
    #[must_use]
    pub fn web() -> Self {
        Self(WEB.to_owned())
    }

    /// Whether this is [`PhoneNumber::web`].
    #[must_use]
    pub fn is_web(&self) -> bool {
        self.0 == WEB
    }

    /// Parses a number, or what stands for a browser.
    ///
    /// # Errors
    /// When it is neither.
    pub fn parse_or_web(text: &str) -> Result<Self, ParsePhoneNumberError> {
        if text == WEB { Ok(Self::web()) } else { text.parse() }
    }

    /// Returns the number as dialled.
    #[must_use]
    pub fn reveal(&self) -> &str {
        &self.0
    }

    /// Returns the E.164 number: the whole text, or the user part of a SIP address if that is one (RFC 3261 section 19.1.6),
    /// without parameters and separators.
    #[must_use]
    pub fn e164(&self) -> Option<String> {
        if self.is_e164() {
            return Some(self.0.clone());
        }
        let (_scheme, rest) = self.0.split_once(':')?;
        let (user, _host) = rest.split_once('@')?;
        let user = user.split([';', ':']).next().unwrap_or(user).replace("%2B", "+").replace("%2b", "+");
        let digits = user.strip_prefix('+')?.replace(['-', '.', '(', ')'], "");
        is_e164_digits(&digits).then(|| format!("+{digits}"))
    }

    /// Whether this is an E.164 number, not a SIP address.
    #[must_use]
    pub fn is_e164(&self) -> bool {
        self.0.starts_with('+')
    }
}

impl fmt::Debug for PhoneNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tail: String = self.0.chars().rev().take(2).collect::<Vec<_>>().into_iter().rev().collect();
        write!(f, "…{tail}")
    }
}

/// The text is neither an E.164 number nor a SIP address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("must be a phone number in E.164 form, such as +12025550100, or a sip: URI")]
pub struct ParsePhoneNumberError;

impl FromStr for PhoneNumber {
    type Err = ParsePhoneNumberError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let valid = match text.strip_prefix('+') {
            Some(digits) => is_e164_digits(digits),
            None => is_sip_uri(text),
        };
        if valid { Ok(Self(text.to_owned())) } else { Err(ParsePhoneNumberError) }
    }
}

fn is_e164_digits(digits: &str) -> bool {
    (7..=15).contains(&digits.len()) && digits.bytes().all(|b| b.is_ascii_digit()) && !digits.starts_with('0')
}

/// Checks `sip:user@host` with an optional port and parameters (RFC 3261 section 19.1.1), without whitespace or controls.
fn is_sip_uri(text: &str) -> bool {
    let Some(rest) = text.strip_prefix("sips:").or_else(|| text.strip_prefix("sip:")) else { return false };
    let host = rest.split_once('@').map_or(rest, |(_user, host)| host);
    text.len() <= 255
        && text.bytes().all(|b| b.is_ascii_graphic())
        && host.bytes().next().is_some_and(|b| b.is_ascii_alphanumeric() || b == b'[')
        && !rest.starts_with('@')
}

impl<'de> Deserialize<'de> for PhoneNumber {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accepts_what_can_be_dialled_and_nothing_else() {
        for good in [
            "+12025550100",
            "+4930123456",
            "sip:bob@example.com",
            "sips:bob@example.com:5061;transport=tls",
            "sip:[2001:db8::1]",
        ] {
            assert!(good.parse::<PhoneNumber>().is_ok(), "{good}");
        }
        for bad in [
            "",
            "+",
            "12025550100",
            "+0202555010",
            "+1202555010000000",
            "+1 202 555 0100",
            "sip:",
            "sip:@host",
            "sip:bob@",
            "tel:+1202",
            "sip:a b@c",
        ] {
            assert!(bad.parse::<PhoneNumber>().is_err(), "{bad}");
        }
    }

    #[test]
    fn a_number_hides_in_sip_addresses() {
        for (text, number) in [
            ("+12025550100", Some("+12025550100")),
            ("sip:+1-900-555.0100@gateway.example.com", Some("+19005550100")),
            ("sips:%2B12025550100;phone-context=x:secret@10.0.0.1;user=phone", Some("+12025550100")),
            ("sip:bob@example.com", None),
            ("sip:example.com", None),
        ] {
            let parsed: PhoneNumber = text.parse().expect("valid");
            assert_eq!(parsed.e164().as_deref(), number, "{text}");
        }
    }

    #[test]
    fn debug_hides_all_but_two_digits() {
        let number: PhoneNumber = "+12025550123".parse().expect("valid");
        assert_eq!(format!("{number:?}"), "…23");
    }
}
