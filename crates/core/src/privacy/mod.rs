//! Taking private things out of what is written down.
//!
//! [`Redactor`] replaces what it finds by marks such as `[card_number]`, which hold nothing of it. It looks at one text at a
//! time: a number of which the caller says one half now and the other in their next turn is two numbers to it.

mod digits;
mod emails;
mod keys;

#[cfg(test)]
mod tests;

use serde::{Deserialize, Serialize};
use serde_json::{Number, Value};

pub use self::keys::{KEYS_MARK, pressed_in};

/// A kind of private thing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum Redact {
    /// 13 to 19 digits whose check digit is right (Luhn).
    CardNumbers,
    /// 7 to 15 digits that stand together and are no date.
    PhoneNumbers,
    /// E-mail addresses, written or spelled with "at" and "dot".
    EmailAddresses,
    /// 4 digits and more that stand together.
    Digits,
    /// Keys that the caller pressed.
    Dtmf,
}

impl Redact {
    /// What stands in its place.
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

/// A place in a text, in bytes, and what was found there.
type Found = (std::ops::Range<usize>, Redact);

/// Takes things of some kinds out of texts. Doing it twice changes nothing more.
#[derive(Clone, Default)]
pub struct Redactor {
    kinds: Vec<Redact>,
    /// What the caller is known to have pressed.
    pressed: Vec<String>,
}

/// It may know what was typed.
impl std::fmt::Debug for Redactor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Redactor").field("kinds", &self.kinds).finish_non_exhaustive()
    }
}

impl Redactor {
    /// Takes out these kinds; none of them changes nothing.
    #[must_use]
    pub fn new(kinds: &[Redact]) -> Self {
        Self { kinds: kinds.to_vec(), pressed: Vec::new() }
    }

    /// With what the caller pressed, so that it is found too where somebody repeats it.
    #[must_use]
    pub fn knowing(mut self, pressed: impl IntoIterator<Item = String>) -> Self {
        let digits = |keys: String| keys.chars().filter(char::is_ascii_digit).collect::<String>();
        self.pressed.extend(pressed.into_iter().map(digits).filter(|digits| !digits.is_empty()));
        self
    }

    fn takes_out(&self, kind: Redact) -> bool {
        self.kinds.contains(&kind)
    }

    /// `text` with marks in place of what was found.
    #[must_use]
    pub fn text(&self, text: &str) -> String {
        let mut text = text.to_owned();
        if self.kinds.is_empty() {
            return text;
        }
        // What is left beside a mark may now stand for itself. Each round takes something out, so there is a last one.
        loop {
            let found = self.find(&text);
            if found.is_empty() {
                return text;
            }
            text = with_marks(&text, found);
        }
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

    /// The same in every string of `value`, and in its whole numbers, which become strings then. Names of fields stay.
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
