//! What a client accepts, by RFC 9110, section 12.5.1.

use axum::http::HeaderMap;
use axum::http::header::ACCEPT;

const JSON: &str = "application/json";

/// Returns whether the client asks for a stream: one that names JSON too gets it only if it prefers it.
pub(super) fn prefers_stream(headers: &HeaderMap) -> bool {
    let stream = quality(headers, "text/event-stream");
    stream > 0.0 && stream > quality(headers, JSON)
}

/// Returns whether the client accepts a page: HTML by name, or anything where `or_anything`. JSON must not be preferred to it.
pub(super) fn accepts_page(headers: &HeaderMap, or_anything: bool) -> bool {
    if !headers.contains_key(ACCEPT) {
        return or_anything;
    }
    let anything = if or_anything { quality(headers, "*/*") } else { 0.0 };
    let html = quality(headers, "text/html").max(anything);
    html > 0.0 && html >= quality(headers, JSON)
}

/// Returns the quality that the client gives to this media range, from 0 to 1; 0 where it does not name it.
fn quality(headers: &HeaderMap, range: &str) -> f32 {
    let values = headers.get_all(ACCEPT).iter().filter_map(|value| value.to_str().ok());
    let ranges = values.flat_map(|value| value.split(','));
    let qualities = ranges.filter_map(|entry| {
        let mut parts = entry.split(';').map(str::trim);
        let named = parts.next().is_some_and(|name| name.eq_ignore_ascii_case(range));
        let weight = parts.filter_map(|part| part.split_once('=')).find(|(name, _)| name.eq_ignore_ascii_case("q"));
        named.then(|| weight.map_or(1.0, |(_, weight)| weight.parse().unwrap_or(1.0)))
    });
    qualities.fold(0.0, f32::max)
}

#[cfg(test)]
pub(crate) const FUZZED: switchhook_fuzz::Target = switchhook_fuzz::Target {
    file: file!(),
    seeds: || {
        switchhook_fuzz::each_alone(&[
            "text/event-stream, application/json;q=0.9",
            "application/json;Q=0.1, Text/HTML;level=1;q=0.8, */*;q=0.1",
        ])
    },
    read: |messages| {
        switchhook_fuzz::Read::each(messages, |line| {
            let mut headers = HeaderMap::new();
            headers.append(ACCEPT, axum::http::HeaderValue::from_bytes(line).map_err(|_| "it is no header")?);
            let html = accepts_page(&headers, false);
            assert!(!html || accepts_page(&headers, true), "who accepts HTML accepts a page");
            (html || prefers_stream(&headers)).then_some(1).ok_or("it prefers JSON")
        })
    },
};

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    fn headers(values: &[&'static str]) -> HeaderMap {
        values.iter().map(|value| (ACCEPT, HeaderValue::from_static(value))).collect()
    }

    #[test]
    fn a_stream_is_for_clients_that_prefer_it_to_json() {
        for stream in [
            "text/event-stream",
            "TEXT/EVENT-STREAM; charset=utf-8",
            "text/event-stream, */*;q=0.8",
            "application/json;q=0.9, text/event-stream",
        ] {
            assert!(prefers_stream(&headers(&[stream])), "{stream}");
        }
        for json in [
            "application/json",
            "*/*",
            "text/event-stream;q=0",
            "application/json, text/event-stream",
            "application/json, text/event-stream;q=0.5",
            "text/event-streams",
        ] {
            assert!(!prefers_stream(&headers(&[json])), "{json}");
        }
        assert!(!prefers_stream(&HeaderMap::new()));
        assert!(
            !prefers_stream(&headers(&["application/json", "text/event-stream;q=0.1"])),
            "two headers are one list"
        );
    }

    #[test]
    fn a_page_is_for_clients_that_accept_html_or_ask_for_a_page() {
        for html in ["text/html", "application/xml;q=0.9, Text/HTML;q=0.8,*/*", "application/json;q=0.1, text/html"] {
            assert!(accepts_page(&headers(&[html]), false) && accepts_page(&headers(&[html]), true), "{html}");
        }
        for other in [
            "application/json",
            "text/html;q=0",
            "text/htmlx",
            "*/*;q=0",
            "text/*",
            "application/json, text/html;q=0.1",
        ] {
            assert!(!accepts_page(&headers(&[other]), false) && !accepts_page(&headers(&[other]), true), "{other}");
        }
        assert!(!accepts_page(&headers(&["*/*"]), false) && accepts_page(&headers(&["*/*"]), true));
        assert!(!accepts_page(&HeaderMap::new(), false) && accepts_page(&HeaderMap::new(), true));
    }
}
