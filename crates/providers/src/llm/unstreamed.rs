//! Bodies without an event: a complete response, an error, the page of another service, or nothing.

use serde_json::Value;
use switchhook_net::lenient_json;
use url::Url;

use super::LlmFailure;
use crate::failure::is_error;
use crate::failure::unexpected::{excerpt, has_reason};

/// How many bytes of such a body are read.
pub(super) const LONGEST: usize = 64 * 1024;

/// A body that may be a complete response.
pub(super) struct Unstreamed {
    /// The events to parse.
    pub(super) events: Vec<Value>,
    /// The failure if they contain no response.
    pub(super) failure: LlmFailure,
}

/// Parses a body from `url`.
///
/// # Errors
/// When it is an error, or certainly not a response.
pub(super) fn read(body: &str, url: &Url) -> Result<Unstreamed, LlmFailure> {
    let text = body.trim();
    // Comments and blank data keep connections open.
    let blank = |line: &str| line.strip_prefix("data:").unwrap_or(line).trim().is_empty();
    if text.lines().all(|line| blank(line) || line.starts_with(':')) {
        return Err(LlmFailure::empty());
    }
    if ["data:", "event:", "id:", "retry:"].iter().any(|field| text.starts_with(field)) {
        return Err(LlmFailure::cut_off());
    }
    let Ok(parsed) = lenient_json::from_str::<Value>(text) else {
        return Err(LlmFailure::no_response(format!("it sent no response of a model: {}", excerpt(text)), url));
    };
    let failure = LlmFailure::in_body(&parsed, url);
    if is_error(&parsed) {
        return Err(failure);
    }
    let other = || LlmFailure::no_response(format!("it sent no response of a model: {}", excerpt(text)), url);
    let failure = if has_reason(&parsed) { failure } else { other() };
    let events = if let Value::Array(events) = parsed { events } else { vec![parsed] };
    Ok(Unstreamed { events, failure })
}

#[cfg(test)]
pub(crate) const FUZZED: switchhook_fuzz::Target = switchhook_fuzz::Target {
    file: file!(),
    seeds: || {
        switchhook_fuzz::each_alone(&[
            r##"{"choices":[{"message":{"content":"Yes."},"finish_reason":"stop"}]}"##,
            r##"{"choices":[{"message":{"content":"Yes. \ud83d"},"finish_reason":"stop"}]}"##,
            r##"[{"candidates":[{"content":{"parts":[{"text":"Yes."}]},"finishReason":"STOP"}]}]"##,
        ])
    },
    read: |messages| {
        let url: Url = "https://models.example.com/".parse().expect("an address");
        let failed = |failure: LlmFailure| drop(failure.into_error("double", None));
        switchhook_fuzz::Read::each_text(messages, |body| {
            let read = read(body, &url).map_err(failed)?;
            failed(read.failure);
            Ok::<_, ()>(read.events.len())
        })
    },
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ProviderError;

    fn url() -> Url {
        "https://models.example.com/v1/chat/completions?key=s3cret".parse().expect("an address")
    }

    fn error(body: &str) -> ProviderError {
        match read(body, &url()) {
            Ok(whole) => whole.failure.into_error("double", None),
            Err(failure) => failure.into_error("double", None),
        }
    }

    #[test]
    fn what_is_no_response_is_an_error_in_its_own_words_with_the_address() {
        let at = "(at https://models.example.com/v1/chat/completions)";
        for (body, words) in [
            (
                r#"{"error":"Unexpected endpoint or method. (POST /chat/completions)"}"#,
                "Unexpected endpoint or method. (POST /chat/completions)",
            ),
            (r#"{"error":{"message":"model not found","code":404}}"#, "model not found (status 404)"),
            (r#"{"message":"Not Found"}"#, "Not Found"),
            (r#"{"ok":true}"#, r#"it sent no response of a model: {"ok":true}"#),
            (
                "<!doctype html><html><head><title>Sign in</title><style>b{}</style></head><body>Welcome</body></html>",
                "it sent no response of a model: Sign in Welcome",
            ),
            ("Ollama is running", "it sent no response of a model: Ollama is running"),
        ] {
            let error = error(body);
            assert!(matches!(error, ProviderError::Config { .. }), "{error:?}");
            assert_eq!(error.to_string(), format!("double: {words} {at}"));
        }
    }

    #[test]
    fn half_a_surrogate_pair_hides_no_response() {
        let Ok(whole) = read(r#"{"choices":[{"message":{"content":"Yes. \ud83d"}}]}"#, &url()) else {
            panic!("no response")
        };
        let said = whole.events[0].pointer("/choices/0/message/content").and_then(Value::as_str);
        assert_eq!(said, Some("Yes. \u{fffd}"));
    }

    #[test]
    fn nothing_and_half_an_event_are_failures_that_may_pass() {
        for (body, words) in [
            ("", "empty response"),
            (": ping\n\n", "empty response"),
            ("data:\n\n: ping\n\ndata: \n\n", "empty response"),
            ("data: {\"choi", "cut off"),
        ] {
            let error = error(body);
            assert!(matches!(&error, ProviderError::Failed { message: said, .. } if said.contains(words)), "{error:?}");
        }
    }
}
