//! Redaction of stored text.
//!
//! [`Redactor`] replaces private data by marks such as `[card_number]`, which reveal nothing about it. It checks one text at a
//! time, so it does not recognise a number split over two turns.

mod digits;
mod emails;
mod keys;

#[cfg(test)]
mod tests;

use serde::{Deserialize, Serialize};
use serde_json::{Number, Value};

pub use self::keys::{KEYS_MARK, pressed_in};

/// A kind of private data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum Redact {
    /// 13 to 19 digits with a valid check digit (Luhn).
    CardNumbers,
    /// 7 to 15 adjacent digits that are not a date.
    PhoneNumbers,
    /// E-mail addresses, written or spelled with "at" and "dot".
    EmailAddresses,
    /// 4 or more adjacent digits.
    Digits,
    /// Keys that the caller pressed.
    Dtmf,
}

impl Redact {
    /// Returns its mark.
    #[must_use]
    pub const fn mark(self) -> &'static str {
        match self {
            Self::CardNumbers => "[card_number]",
            Self::PhoneNumbers => "[phone_number]",
            Self::EmailAddresses => "[email_address]",
            Self::Digits => "[digits]",
            Self::Dtmf => "[dtmf]",
        }
    }
}

/// A match: its byte range and kind.
type Found = (std::ops::Range<usize>, Redact);

/// Redacts private data of some kinds from texts. It is idempotent.
#[derive(Clone, Default)]
pub struct Redactor {
    kinds: Vec<Redact>,
    /// Keys that the caller pressed.
    pressed: Vec<String>,
}

/// Hides the pressed keys.
impl std::fmt::Debug for Redactor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Redactor").field("kinds", &self.kinds).finish_non_exhaustive()
    }
}

impl Redactor {
    /// Creates a redactor of these kinds.
    #[must_use]
    pub fn new(kinds: &[Redact]) -> Self {
        Self { kinds: kinds.to_vec(), pressed: Vec::new() }
    }

    /// Adds the keys that the caller pressed, to redact them where they are repeated.
    #[must_use]
    pub fn knowing(mut self, pressed: impl IntoIterator<Item = String>) -> Self {
        let digits = |keys: String| keys.chars().filter(char::is_ascii_digit).collect::<String>();
        self.pressed.extend(pressed.into_iter().map(digits).filter(|digits| !digits.is_empty()));
        self
    }

    fn takes_out(&self, kind: Redact) -> bool {
        self.kinds.contains(&kind)
    }

    /// Returns `text` with marks in place of private data.
    #[must_use]
    pub fn text(&self, text: &str) -> String {
        let mut text = text.to_owned();
        if self.kinds.is_empty() {
            return text;
        }
        // Text beside a mark may now match. Each round removes something, so the loop ends.
        loop {
            let found = self.find(&text);
            if found.is_empty() {
                return text;
            }
            text = with_marks(&text, found);
        }
    }

    /// Returns `text` with zeros in place of all numbers, so that its words can still be counted and a number that was cut in two is
    /// hidden, too. E-mail addresses are replaced by their mark. Unchanged where nothing is redacted.
    #[must_use]
    pub fn zeroed(&self, text: &str) -> String {
        if self.kinds.is_empty() {
            return text.to_owned();
        }
        let kinds = self.kinds.iter().copied().filter(|kind| *kind == Redact::EmailAddresses).collect();
        digits::zeroed(&Self { kinds, pressed: Vec::new() }.text(text))
    }

    fn find(&self, text: &str) -> Vec<Found> {
        if self.takes_out(Redact::EmailAddresses) {
            let addresses = emails::find(text);
            if !addresses.is_empty() {
                return addresses;
            }
        }
        if self.takes_out(Redact::Dtmf) {
            let keys = keys::find(text);
            if !keys.is_empty() {
                return keys;
            }
        }
        digits::find(text, self)
    }

    /// Redacts every string and whole number of `value`; redacted numbers become strings. Field names stay.
    #[must_use]
    pub fn json(&self, value: Value) -> Value {
        match value {
            Value::String(text) => Value::String(self.text(&text)),
            Value::Number(number) => self.number(number),
            Value::Array(list) => Value::Array(list.into_iter().map(|value| self.json(value)).collect()),
            Value::Object(fields) => {
                Value::Object(fields.into_iter().map(|(name, value)| (name, self.json(value))).collect())
            }
            other => other,
        }
    }

    fn number(&self, number: Number) -> Value {
        let text = number.to_string();
        let redacted = self.text(&text);
        if redacted == text { Value::Number(number) } else { Value::String(redacted) }
    }
}

fn with_marks(text: &str, found: Vec<Found>) -> String {
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    for (place, kind) in found {
        out.push_str(&text[at..place.start]);
        out.push_str(kind.mark());
        at = place.end;
    }
    out.push_str(&text[at..]);
    out
}
