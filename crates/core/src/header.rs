//! Headers of HTTP requests that are not for customers to name.

/// Headers that say where a request goes, where it ends, or what becomes of its connection (RFC 9110 sections 7 and 10, RFC 9112
/// sections 6 and 9). One that contradicts the request would have its rest read as the next one on the connection.
const FRAMING: [&str; 9] =
    ["connection", "content-length", "expect", "host", "keep-alive", "te", "trailer", "transfer-encoding", "upgrade"];
/// The beginning of those that speak to proxies.
const PROXY: &str = "proxy-";

/// Whether a header frames or routes a request. Its name may be in upper or lower case.
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
