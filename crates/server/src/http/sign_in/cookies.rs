//! The cookies of the dashboard. The prefix `__Host-` has browsers refuse them from any other host or over plain HTTP.

use std::time::Duration;

use axum::http::header::COOKIE;
use axum::http::{HeaderMap, HeaderValue};

/// The session.
const SESSION: &str = "__Host-session";
/// Binds a sign-in to the browser that began it.
const SIGN_IN: &str = "__Host-sign-in";

/// Returns the value of the session's cookie.
pub(in crate::http) fn session(headers: &HeaderMap) -> Option<String> {
    read(headers, SESSION)
}

/// Returns the value of the cookie that a sign-in is bound to.
pub(super) fn sign_in(headers: &HeaderMap) -> Option<String> {
    read(headers, SIGN_IN)
}

/// The header that sets the session's cookie.
pub(super) fn set_session(value: &str, max_age: Duration) -> HeaderValue {
    set(SESSION, value, max_age)
}

/// The header that deletes the session's cookie.
pub(super) fn delete_session() -> HeaderValue {
    set(SESSION, "", Duration::ZERO)
}

/// The header that sets the cookie that a sign-in is bound to.
pub(super) fn set_sign_in(value: &str, max_age: Duration) -> HeaderValue {
    set(SIGN_IN, value, max_age)
}

fn set(name: &str, value: &str, max_age: Duration) -> HeaderValue {
    let text = format!("{name}={value}; Path=/; Secure; HttpOnly; SameSite=Lax; Max-Age={}", max_age.as_secs());
    HeaderValue::try_from(text).expect("values are base64 that we made")
}

/// Returns the value of a cookie (RFC 6265 section 4.2.1). An empty one counts as none.
fn read(headers: &HeaderMap, name: &str) -> Option<String> {
    let lines = headers.get_all(COOKIE).iter().map(|line| line.as_bytes());
    let pairs =
        lines.flat_map(|line| line.split(|byte| *byte == b';')).filter_map(|pair| std::str::from_utf8(pair).ok());
    let mut pairs = pairs.filter_map(|pair| pair.trim().split_once('='));
    pairs.find(|(found, value)| *found == name && !value.is_empty()).map(|(_, value)| value.to_owned())
}

#[cfg(test)]
pub(crate) const FUZZED: switchhook_fuzz::Target = switchhook_fuzz::Target {
    file: file!(),
    seeds: || switchhook_fuzz::each_alone(&["a=1; __Host-session=one=1;x", "__Host-sign-in=b; __Host-session=c"]),
    read: |messages| {
        switchhook_fuzz::Read::each(messages, |line| {
            let mut headers = HeaderMap::new();
            headers.append(COOKIE, HeaderValue::from_bytes(line).map_err(|_| "it is no header")?);
            let value = session(&headers).or_else(|| sign_in(&headers)).ok_or("there is no such cookie")?;
            assert!(!value.is_empty() && !value.contains(';'), "{value}");
            Ok::<_, &str>(value.len())
        })
    },
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cookie_is_found_among_others() {
        let mut headers = HeaderMap::new();
        headers.append(COOKIE, HeaderValue::from_bytes(b"a=\xff; __Host-session=one=1;x").expect("a value"));
        headers.append(COOKIE, HeaderValue::from_static("__Host-sign-in="));
        assert_eq!(session(&headers).as_deref(), Some("one=1"));
        assert_eq!(sign_in(&headers), None);
    }
}
