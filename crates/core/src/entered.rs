//! Text that people paste: it brings blanks, line breaks and invisible marks along.

/// Returns the text without blanks, line breaks and invisible marks around it.
#[must_use]
pub fn trimmed(text: &str) -> &str {
    text.trim_matches(is_blank)
}

/// Returns whether this is a blank, a line break, a control character or an invisible mark.
#[must_use]
pub fn is_blank(c: char) -> bool {
    c.is_whitespace()
        || c.is_control()
        || matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}' | '\u{feff}')
}
