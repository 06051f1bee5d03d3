//! JSON values as written, so that malformed JSON can be written too: a duplicate key, an endless number.

use serde_json::Value;

/// A value.
#[derive(Clone, Debug)]
pub(super) enum Json {
    /// Written as it stands: numbers, literals, and text that is not JSON.
    Raw(String),
    Text(String),
    List(Vec<Json>),
    Object(Vec<(String, Json)>),
}

impl Json {
    /// Parses a message; `None` if it is not a JSON object or list.
    pub(super) fn read(message: &[u8]) -> Option<Self> {
        let value: Value = serde_json::from_slice(message).ok()?;
        (value.is_object() || value.is_array()).then(|| Self::of(value))
    }

    fn of(value: Value) -> Self {
        match value {
            Value::String(text) => Self::Text(text),
            Value::Array(items) => Self::List(items.into_iter().map(Self::of).collect()),
            Value::Object(fields) => {
                Self::Object(fields.into_iter().map(|(name, value)| (name, Self::of(value))).collect())
            }
            other => Self::Raw(other.to_string()),
        }
    }

    pub(super) fn write(&self, out: &mut String) {
        match self {
            Self::Raw(text) => out.push_str(text),
            Self::Text(text) => out.push_str(&Value::String(text.clone()).to_string()),
            Self::List(items) => {
                out.push('[');
                for (at, item) in items.iter().enumerate() {
                    out.push_str(if at > 0 { "," } else { "" });
                    item.write(out);
                }
                out.push(']');
            }
            Self::Object(fields) => {
                out.push('{');
                for (at, (name, value)) in fields.iter().enumerate() {
                    out.push_str(if at > 0 { "," } else { "" });
                    out.push_str(&Value::String(name.clone()).to_string());
                    out.push(':');
                    value.write(out);
                }
                out.push('}');
            }
        }
    }

    /// Returns the number of values, including all nested ones.
    pub(super) fn count(&self) -> usize {
        1 + match self {
            Self::List(items) => items.iter().map(Self::count).sum(),
            Self::Object(fields) => fields.iter().map(|(_, value)| value.count()).sum(),
            _ => 0,
        }
    }

    /// Returns the positions of the wanted values in reading order; of all values if none is wanted.
    pub(super) fn places(&self, wanted: impl Fn(&Self) -> bool) -> Vec<usize> {
        let mut values = Vec::new();
        self.visit(&mut values);
        let found: Vec<usize> =
            values.iter().enumerate().filter(|(_, value)| wanted(value)).map(|(at, _)| at).collect();
        if found.is_empty() { (0..values.len()).collect() } else { found }
    }

    fn visit<'j>(&'j self, found: &mut Vec<&'j Self>) {
        found.push(self);
        match self {
            Self::List(items) => items.iter().for_each(|item| item.visit(found)),
            Self::Object(fields) => fields.iter().for_each(|(_, value)| value.visit(found)),
            Self::Raw(_) | Self::Text(_) => {}
        }
    }

    pub(super) fn is_number(&self) -> bool {
        matches!(self, Self::Raw(text) if text.starts_with(|c: char| c == '-' || c.is_ascii_digit()))
    }

    pub(super) fn is_text(&self) -> bool {
        matches!(self, Self::Text(_))
    }

    /// Returns the value at a position in reading order.
    pub(super) fn nth(&mut self, place: usize) -> Option<&mut Self> {
        if place == 0 {
            return Some(self);
        }
        let mut left = place - 1;
        let inside: Vec<&mut Self> = match self {
            Self::List(items) => items.iter_mut().collect(),
            Self::Object(fields) => fields.iter_mut().map(|(_, value)| value).collect(),
            _ => Vec::new(),
        };
        for value in inside {
            let count = value.count();
            if left < count {
                return value.nth(left);
            }
            left -= count;
        }
        None
    }
}
