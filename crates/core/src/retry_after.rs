//! The `Retry-After` header (RFC 9110 section 10.2.3).

use std::time::{Duration, SystemTime};

use crate::Timestamp;

/// Returns how long to wait from `now`: whole seconds, or the time until a date in any of the three forms of HTTP; none for a date
/// that is past. `None` if it is neither.
#[must_use]
pub fn retry_after(header: &str, now: Timestamp) -> Option<Duration> {
    let header = header.trim();
    if !header.is_empty() && header.bytes().all(|byte| byte.is_ascii_digit()) {
        return header.parse().ok().map(Duration::from_secs);
    }
    let date = httpdate::parse_http_date(header).ok()?.duration_since(SystemTime::UNIX_EPOCH).ok()?;
    Some(Timestamp::from_millis(i64::try_from(date.as_millis()).ok()?).since(now))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_seconds_or_a_date_in_any_form() {
        let now = Timestamp::parse("1994-11-06T08:49:30Z").expect("a date");
        for (header, seconds) in [
            (" 120 ", Some(120)),
            ("0", Some(0)),
            ("Sun, 06 Nov 1994 08:49:37 GMT", Some(7)),
            ("Sunday, 06-Nov-94 08:49:37 GMT", Some(7)),
            ("Sun Nov  6 08:49:37 1994", Some(7)),
            ("Sun, 06 Nov 1994 08:49:29 GMT", Some(0)),
            ("Fri, 04 Nov 1994 08:49:37 GMT", Some(0)),
            ("", None),
            ("-5", None),
            ("1.5", None),
            ("soon", None),
            ("Sun, 06 Nov 1994 08:49:37 CET", None),
            ("99999999999999999999999", None),
        ] {
            assert_eq!(retry_after(header, now).map(|wait| wait.as_secs()), seconds, "{header:?}");
        }
    }
}
