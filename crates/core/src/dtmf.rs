//! Telephone keys.

/// Returns whether this is a DTMF key.
#[must_use]
pub const fn is_key(key: char) -> bool {
    matches!(key, '0'..='9' | '*' | '#' | 'A'..='D')
}
