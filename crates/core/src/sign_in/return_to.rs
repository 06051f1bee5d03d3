//! The path to return to after a sign-in.

/// Returns `path` if a browser sent there stays on this service: it starts with one `/`, contains nothing that a browser drops or reads as another
/// host, and is not the sign-in itself.
#[must_use]
pub fn local_path(path: &str) -> Option<&str> {
    let rest = path.strip_prefix('/')?;
    let clean = path.len() <= 2_000 && path.chars().all(|c| c.is_ascii_graphic() && c != '\\');
    let sign_in = rest == "auth" || ["auth/", "auth?", "auth#"].iter().any(|start| rest.starts_with(start));
    (clean && !rest.starts_with('/') && !sign_in).then_some(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_paths_of_this_service_are_returned_to() {
        for path in ["/", "/calls", "/calls/7?t=1#turn-3", "/authors", "/a//b"] {
            assert_eq!(local_path(path), Some(path));
        }
        for other in [
            "",
            "calls",
            "//evil.test",
            "/\\evil.test",
            "/a\\b",
            "https://evil.test/",
            "javascript:alert(1)",
            "/\t/evil.test",
            "/\n/evil.test",
            "/ä",
            "/a b",
            "/auth/login",
            "/auth",
            "/auth?x",
        ] {
            assert_eq!(local_path(other), None, "{other:?}");
        }
    }
}
