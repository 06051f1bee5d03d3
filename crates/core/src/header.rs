//! HTTP headers that customers cannot set.

/// Headers that route a request, delimit it, or control its connection (RFC 9110 sections 7 and 10, RFC 9112 sections 6 and 9).
/// One that contradicts the request could smuggle a second request onto the connection.
const FRAMING: [&str; 9] =
    ["connection", "content-length", "expect", "host", "keep-alive", "te", "trailer", "transfer-encoding", "upgrade"];
/// Prefix of headers for proxies.
const PROXY: &str = "proxy-";

/// Returns whether a header frames or routes a request, in any case.
#[must_use]
pub fn is_framing(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    name.starts_with(PROXY) || FRAMING.contains(&name.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn framing_is_recognised_in_any_case_and_nothing_else_is() {
        for name in ["Host", "content-length", "Transfer-Encoding", "TE", "Proxy-Authorization", "keep-alive", "Expect"]
        {
            assert!(is_framing(name), "{name}");
        }
        for name in ["authorization", "content-type", "x-host", "hosts", "x-proxy-id", ""] {
            assert!(!is_framing(name), "{name}");
        }
    }
}
