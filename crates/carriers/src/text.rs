//! Sanitises carriers' text for storage and logs: bounded, and on one line.
//!
//! Tenants choose the key that verifies their carrier's requests, and the address that a carrier responds from, so this text is
//! untrusted. PostgreSQL does not store U+0000.

/// Longest call id, in characters; Telnyx's have about 60, and SIP Call-IDs may be longer.
const MAX_ID: usize = 255;
/// Longest number or name of a caller, in characters.
const MAX_CALLER: usize = 255;
/// Longest code or word, in characters.
const MAX_CODE: usize = 64;
/// Longest message, in characters.
const MAX_MESSAGE: usize = 500;

/// Returns whether a text can be the carrier's id of a call.
#[must_use]
pub fn is_id(text: &str) -> bool {
    !text.is_empty() && text.chars().count() <= MAX_ID && !text.chars().any(char::is_control)
}

/// Sanitises the number or name of a caller.
#[must_use]
pub fn caller(text: &str) -> String {
    line(text, MAX_CALLER)
}

/// Sanitises a code or name.
#[must_use]
pub fn code(text: &str) -> String {
    line(text, MAX_CODE)
}

/// Sanitises a carrier's message.
#[must_use]
pub fn message(text: &str) -> String {
    line(text, MAX_MESSAGE)
}

fn line(text: &str, most: usize) -> String {
    text.trim().chars().filter(|char| !char.is_control()).take(most).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_short_and_on_one_line() {
        assert_eq!(message(" No\u{0} \u{1b}[2J\r\nroute.\u{9b} "), "No [2Jroute.");
        assert_eq!(message(&"x".repeat(1 << 20)).len(), MAX_MESSAGE);
        assert_eq!(caller("+12025550123"), "+12025550123");
        assert_eq!(code("user_busy"), "user_busy");
        assert!(is_id("v3:aB-_=") && is_id(&"ü".repeat(MAX_ID)));
        for wrong in ["", "CA\u{0}", "CA\n1", &"x".repeat(MAX_ID + 1)] {
            assert!(!is_id(wrong), "{wrong:?}");
        }
    }
}
