//! Names of tools as models write them, which may be made up, and as servers accept them.

/// Namespaces that models write before the name of a tool.
pub(super) const NAMESPACES: [&str; 4] = ["functions.", "default_api.", "tools.", "api."];
/// The name of a call that has no readable one.
const UNNAMED: &str = "unknown";
/// The longest name that every server accepts in the history.
const LONGEST_NAME: usize = 64;

/// Returns the name of a tool without its namespace. The names of available tools contain no dots.
pub(crate) fn without_namespace(name: &str) -> &str {
    NAMESPACES.iter().find_map(|space| name.strip_prefix(space)).unwrap_or(name)
}

/// Returns whether every server accepts this character in a name.
pub(super) fn fits(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '-')
}

/// Returns a name in a form that every server accepts in the history. The names of available tools stay as they are.
pub(crate) fn fitting_name(name: &str) -> String {
    let mut fitting: String = name.chars().map(|c| if fits(c) { c } else { '_' }).collect();
    // Gemini wants a letter or `_` first.
    if fitting.starts_with(|first: char| first.is_ascii_digit() || first == '-') {
        fitting.insert(0, '_');
    }
    // All characters are ASCII now.
    fitting.truncate(LONGEST_NAME);
    if fitting.is_empty() { UNNAMED.to_owned() } else { fitting }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_fit_every_server() {
        let long = "a".repeat(LONGEST_NAME);
        for (name, fitting) in [
            ("book_table-2", "book_table-2"),
            ("default_api.book", "default_api_book"),
            ("book table", "book_table"),
            ("$lookup", "_lookup"),
            ("r\u{e9}server", "r_server"),
            ("2fa", "_2fa"),
            ("-book", "_-book"),
            ("", UNNAMED),
            (long.as_str(), long.as_str()),
            (format!("{long}\u{e9}").as_str(), long.as_str()),
        ] {
            assert_eq!(fitting_name(name), fitting, "{name}");
        }
    }
}
