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

/// The value in place of a number for a conversation in a browser.
const WEB: &str = "web";

impl PhoneNumber {
    /// Returns the value for a conversation in a browser. Parsing never yields it; accept it as a callee with [`PhoneNumber::parse_or_web`].
    #[must_use]
    pub fn web() -> Self {
        Self(WEB.to_owned())
    }

    /// Returns whether this is [`PhoneNumber::web`].
    #[must_use]
    pub fn is_web(&self) -> bool {
        self.0 == WEB
    }

    /// Parses a number, or the value for a browser.
    ///
    /// # Errors
    /// Fails if it is neither.
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
        let digits = self.sip_parts()?.0?.strip_prefix('+')?.replace(['-', '.', '(', ')'], "");
        is_e164_digits(&digits).then(|| format!("+{digits}"))
    }

    /// Returns the called party, the same for all spellings of a SIP address: its E.164 number, else `sip:user@host` in lower case
    /// after the `@`, without password, port, parameters and headers. Coarser than the comparison of RFC 3261 section 19.1.4: the same
    /// telephone may ring for all of them.
    #[must_use]
    pub fn called_party(&self) -> String {
        if let Some(number) = self.e164() {
            return number;
        }
        match self.sip_parts() {
            Some((Some(user), host)) => format!("sip:{user}@{host}"),
            Some((None, host)) => format!("sip:{host}"),
            None => self.0.clone(),
        }
    }

    /// Returns the user, unescaped, and the host of a SIP address.
    fn sip_parts(&self) -> Option<(Option<String>, String)> {
        let (_scheme, rest) = self.0.split_once(':').filter(|_| !self.is_e164())?;
        let (user, host) = rest.split_once('@').map_or((None, rest), |(user, host)| (Some(user), host));
        let user = user.map(|user| unescaped(user.split([';', ':']).next().unwrap_or(user)));
        let end = match host.strip_prefix('[') {
            Some(address) => address.find(']').map_or(host.len(), |at| at + 2),
            None => host.find([':', ';', '?']).unwrap_or(host.len()),
        };
        Some((user, host[..end].trim_end_matches('.').to_ascii_lowercase()))
    }

    /// Returns whether this is an E.164 number, not a SIP address.
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

/// Decodes escapes of characters that need none, and of `+`. Others, such as `%40`, separate parts of an address and stay.
fn unescaped(user: &str) -> String {
    let mut decoded = String::with_capacity(user.len());
    let mut rest = user;
    while let Some((before, after)) = rest.split_once('%') {
        decoded.push_str(before);
        let byte = after.get(..2).and_then(|hex| u8::from_str_radix(hex, 16).ok());
        rest = match byte.map(char::from).filter(|c| c.is_ascii_alphanumeric() || "-_.!~*'()+".contains(*c)) {
            Some(character) => {
                decoded.push(character);
                &after[2..]
            }
            None => {
                decoded.push('%');
                after
            }
        };
    }
    decoded + rest
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
            ("sip:+%31900%35550100@10.0.0.1", Some("+19005550100")),
            ("sip:bob@example.com", None),
            ("sip:example.com", None),
        ] {
            let parsed: PhoneNumber = text.parse().expect("valid");
            assert_eq!(parsed.e164().as_deref(), number, "{text}");
        }
    }

    #[test]
    fn all_spellings_of_an_address_call_the_same_party() {
        for (text, party) in [
            ("+12025550100", "+12025550100"),
            ("sip:+1-202-555-0100@gateway.example.com;a=1", "+12025550100"),
            ("sip:bob@example.com", "sip:bob@example.com"),
            ("sips:bob:secret@EXAMPLE.com.:5061;transport=tls?subject=x", "sip:bob@example.com"),
            ("sip:%62ob;x=1@example.com", "sip:bob@example.com"),
            ("sip:bob%40bank.example@example.com", "sip:bob%40bank.example@example.com"),
            ("sip:100%@example.com", "sip:100%@example.com"),
            ("sip:example.com;maddr=10.0.0.1", "sip:example.com"),
            ("sip:bob@[2001:DB8::1]:5060", "sip:bob@[2001:db8::1]"),
            ("sip:bob@[2001:db8::1", "sip:bob@[2001:db8::1"),
        ] {
            let parsed: PhoneNumber = text.parse().expect("valid");
            assert_eq!(parsed.called_party(), party, "{text}");
        }
        assert_eq!(PhoneNumber::web().called_party(), "web");
    }

    #[test]
    fn debug_hides_all_but_two_digits() {
        let number: PhoneNumber = "+12025550123".parse().expect("valid");
        assert_eq!(format!("{number:?}"), "…23");
    }
}
