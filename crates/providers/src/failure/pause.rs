//! The pause that a provider requests, from headers, body or message.

use std::time::Duration;

use reqwest::header::HeaderMap;
use serde_json::Value;
use switchhook_core::Timestamp;
use switchhook_core::retry_after::retry_after;

use super::header;

/// The beginnings of headers with the state of one limit, such as `requests` or `tokens-minute`.
const LIMIT_LEFT: &str = "x-ratelimit-remaining-";
const LIMIT_RESET: &str = "x-ratelimit-reset-";
/// A number above the first is a time in seconds since 1970, above the second in milliseconds.
const EPOCH_SECONDS: f64 = 1e9;
const EPOCH_MS: f64 = 1e12;
/// Texts before a pause in a sentence.
const BEFORE: [&str; 4] = ["try again in ", "retry in ", "retry after ", "try again after "];

/// Reads `retry-after-ms`, `retry-after` in seconds, as a date or as a time since 1970, and, for a rate limit, when it resets.
pub(super) fn in_headers(status: u16, headers: &HeaderMap, now: Timestamp) -> Option<Duration> {
    if let Some(ms) = header(headers, "retry-after-ms").and_then(|text| text.parse().ok()) {
        return seconds(ms).map(|ms| ms / 1_000);
    }
    if let Some(text) = header(headers, "retry-after") {
        return reset(text, now);
    }
    (status == 429).then(|| limit_resets(headers, now)).flatten()
}

/// Returns when the exhausted limit resets; if no header says which one that is, when the first limit resets.
fn limit_resets(headers: &HeaderMap, now: Timestamp) -> Option<Duration> {
    let reset = |name: &str| reset(header(headers, name)?, now);
    let limits = || headers.keys().filter_map(|name| name.as_str().strip_prefix(LIMIT_RESET));
    let left = |of: &str| header(headers, &format!("{LIMIT_LEFT}{of}"))?.parse::<f64>().ok();
    let used_up = limits().filter(|&of| left(of).is_some_and(|left| left <= 0.0));
    let longest = used_up.filter_map(|of| reset(&format!("{LIMIT_RESET}{of}"))).max();
    let any = || limits().filter_map(|of| reset(&format!("{LIMIT_RESET}{of}"))).min();
    longest.or_else(any).or_else(|| reset("x-ratelimit-reset")).or_else(|| reset("ratelimit-reset"))
}

/// Parses `1s`, `6m0s`, seconds, a time since 1970, or a date.
fn reset(text: &str, now: Timestamp) -> Option<Duration> {
    if let Ok(number) = text.parse::<f64>() {
        if number < EPOCH_SECONDS {
            return seconds(number);
        }
        let ms = if number < EPOCH_MS { number * 1_000.0 } else { number };
        let since_1970 = Duration::try_from_secs_f64(ms / 1_000.0).ok()?;
        return Some(Timestamp::from_millis(i64::try_from(since_1970.as_millis()).ok()?).since(now));
    }
    let date = || Timestamp::parse(text).ok().map(|date| date.since(now));
    duration(text).or_else(date).or_else(|| retry_after(text, now))
}

/// Reads Google's `RetryInfo` (`"retryDelay": "12s"`), `retry_after_ms`, or `retry_after` in seconds.
pub(super) fn in_body(body: &Value) -> Option<Duration> {
    let body = body.as_array().and_then(|list| list.first()).unwrap_or(body);
    let details = body.pointer("/error/details").and_then(Value::as_array);
    let mut delays = details.into_iter().flatten().filter_map(|detail| detail.get("retryDelay"));
    let delay = delays.find_map(|delay| given(delay, 1.0));
    let places = || [body.get("error"), body.get("detail"), Some(body)].into_iter().flatten();
    let field = |name: &str, unit| places().find_map(|at| given(at.get(name)?, unit));
    delay.or_else(|| field("retry_after_ms", 0.001)).or_else(|| field("retry_after", 1.0))
}

/// Reads a pause as a number or as text, in this many seconds unless the text has a unit, or as an object with `seconds` and `nanos`.
fn given(pause: &Value, unit: f64) -> Option<Duration> {
    match pause {
        Value::Number(number) => seconds(number.as_f64()? * unit),
        Value::String(text) => match text.trim().parse::<f64>() {
            Ok(number) if number.is_finite() => seconds(number * unit),
            _ => duration(text),
        },
        Value::Object(fields) => {
            let part = |name: &str, unit| fields.get(name).and_then(|part| given(part, unit));
            match (part("seconds", 1.0), part("nanos", 1e-9)) {
                (None, None) => None,
                (seconds, nanos) => Some(seconds.unwrap_or_default() + nanos.unwrap_or_default()),
            }
        }
        _ => None,
    }
}

/// Reads a sentence such as `Please try again in 1.2s.`
pub(super) fn in_words(words: &str) -> Option<Duration> {
    let words = words.to_lowercase();
    BEFORE.iter().find_map(|before| duration(words.split_once(before)?.1))
}

/// Parses the duration at the beginning of a text: numbers with units, such as `1m0.5s`, `120ms` or `20 seconds`.
fn duration(text: &str) -> Option<Duration> {
    let mut total = None;
    let mut rest = text.trim_start();
    loop {
        let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
        let (number, behind) = rest.split_at(digits);
        let behind = behind.trim_start();
        let letters = behind.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(behind.len());
        let (unit, behind) = behind.split_at(letters);
        let unit = match unit {
            "ms" | "millisecond" | "milliseconds" => 0.001,
            "s" | "sec" | "secs" | "second" | "seconds" => 1.0,
            "m" | "min" | "mins" | "minute" | "minutes" => 60.0,
            "h" | "hour" | "hours" => 3_600.0,
            _ => return total,
        };
        let Ok(number) = number.parse::<f64>() else { return total };
        total = Some(total.unwrap_or_default() + seconds(number * unit)?);
        rest = behind.trim_start();
    }
}

fn seconds(seconds: f64) -> Option<Duration> {
    Duration::try_from_secs_f64(seconds.min(86_400_000.0)).ok()
}

/// A pause in a header of any name, in a body, and in a sentence.
#[cfg(test)]
pub(crate) const FUZZED: switchhook_fuzz::Target = switchhook_fuzz::Target {
    file: file!(),
    seeds: || {
        switchhook_fuzz::each_alone(&[
            "1.5",
            "6m0s",
            "1700000012",
            "Wed, 25 Nov 2026 10:00:02 GMT",
            r#"{"error":{"details":[{"retryDelay":"12s"}],"retry_after":3}}"#,
            r#"{"error":{"details":[{"retryDelay":{"seconds":"34","nanos":5}}]},"retry_after_ms":"250"}"#,
            "Please try again in 1.2s.",
        ])
    },
    read: |messages| {
        let now = Timestamp::from_millis(1_700_000_000_000);
        switchhook_fuzz::Read::each_text(messages, |text| {
            let in_header =
                ["retry-after", "retry-after-ms", "x-ratelimit-reset-tokens", "ratelimit-reset"].map(|name| {
                    let mut headers = HeaderMap::new();
                    headers.insert(name, text.parse().ok()?);
                    in_headers(429, &headers, now)
                });
            let body = serde_json::from_str(text).ok().and_then(|body| in_body(&body));
            let pause = in_header.into_iter().flatten().chain(body).chain(in_words(text)).max();
            pause.map(|_| 1).ok_or("it says nothing of a pause")
        })
    },
};

#[cfg(test)]
mod tests {
    use reqwest::header::{HeaderName, HeaderValue};
    use serde_json::json;

    use super::*;

    fn ms(duration: Option<Duration>) -> Option<u128> {
        duration.map(|duration| duration.as_millis())
    }

    fn headers(given: &[(&'static str, &'static str)]) -> HeaderMap {
        let header = |&(name, value)| (HeaderName::from_static(name), HeaderValue::from_static(value));
        given.iter().map(header).collect()
    }

    #[test]
    fn headers_say_it_in_milliseconds_seconds_dates_or_resets() {
        let now = Timestamp::parse("2026-11-25T10:00:00.500Z").expect("a date");
        for (given, expected) in [
            (&[("retry-after-ms", "250"), ("retry-after", "30")][..], Some(250)),
            (&[("retry-after", "0.9")], Some(900)),
            (&[("retry-after", "Wed, 25 Nov 2026 10:00:02 GMT")], Some(1_500)),
            (&[("retry-after", "Wednesday, 25-Nov-26 10:00:02 GMT")], Some(1_500)),
            (&[("retry-after", "Wed Nov 25 10:00:02 2026")], Some(1_500)),
            (&[("retry-after", "Wed, 25 Nov 2026 09:00:00 GMT")], Some(0)),
            (&[("retry-after", "soon")], None),
            (&[("x-ratelimit-reset-requests", "1s"), ("x-ratelimit-reset-tokens", "6m0s")], Some(1_000)),
            (
                &[
                    ("x-ratelimit-reset-requests", "120ms"),
                    ("x-ratelimit-reset-tokens", "6m0s"),
                    ("x-ratelimit-remaining-tokens", "0"),
                ],
                Some(360_000),
            ),
            (
                &[
                    ("x-ratelimit-reset-requests-day", "33011.5"),
                    ("x-ratelimit-reset-tokens-minute", "11.5"),
                    ("x-ratelimit-remaining-requests-day", "12"),
                    ("x-ratelimit-remaining-tokens-minute", "0"),
                ],
                Some(11_500),
            ),
            (
                &[
                    ("x-ratelimit-reset-requests-day", "33011.5"),
                    ("x-ratelimit-reset-tokens-minute", "11.5"),
                    ("x-ratelimit-remaining-requests-day", "0"),
                ],
                Some(33_011_500),
            ),
            (&[("x-ratelimit-reset-input-images", "2s"), ("x-ratelimit-reset", "3")], Some(2_000)),
            (&[("x-ratelimit-reset", "3")], Some(3_000)),
            (&[("x-ratelimit-reset", "1795600801500")], Some(1_000)),
            (&[("x-ratelimit-reset", "2026-11-25T10:00:01Z")], Some(500)),
        ] {
            assert_eq!(ms(in_headers(429, &headers(given), now)), expected, "{given:?}");
        }
        let reset = headers(&[("x-ratelimit-reset-requests", "9s")]);
        assert_eq!(in_headers(500, &reset, now), None, "no limit was reached");
    }

    #[test]
    fn bodies_and_sentences_say_it_too() {
        let google = json!([{ "error": { "details": [{ "@type": "x" }, { "retryDelay": "34.07s" }] } }]);
        assert_eq!(ms(in_body(&google)), Some(34_070));
        let google = |delay: Value| json!({ "error": { "details": [{ "retryDelay": delay }] } });
        for (body, expected) in [
            (json!({ "error": "x", "retry_after": 2.5 }), Some(2_500)),
            (json!({ "error": { "retry_after": "2" } }), Some(2_000)),
            (json!({ "retry_after": "2s" }), Some(2_000)),
            (json!({ "detail": { "retry_after": "1m2s" } }), Some(62_000)),
            (json!({ "error": { "retry_after_ms": 250, "retry_after": 1 } }), Some(250)),
            (json!({ "retry_after_ms": "250" }), Some(250)),
            (json!({ "retry_after_ms": "1.5s" }), Some(1_500)),
            (google(json!({ "seconds": 34, "nanos": 500_000_000 })), Some(34_500)),
            (google(json!({ "seconds": "34" })), Some(34_000)),
            (google(json!(34)), Some(34_000)),
            (google(json!({})), None),
            (json!({ "retry_after": "soon" }), None),
            (json!({ "retry_after": "nan" }), None),
            (json!({ "retry_after": -1 }), None),
            (json!({ "retry_after": null }), None),
        ] {
            assert_eq!(ms(in_body(&body)), expected, "{body}");
        }
        for (words, expected) in [
            ("Rate limit reached. Please try again in 1.2s. Visit us.", Some(1_200)),
            ("Please try again in 20ms.", Some(20)),
            ("Please try again in 1m2.5s", Some(62_500)),
            ("Please retry after 20 seconds.", Some(20_000)),
            ("Try again in a while.", None),
            ("Nothing.", None),
        ] {
            assert_eq!(ms(in_words(words)), expected, "{words}");
        }
    }
}
