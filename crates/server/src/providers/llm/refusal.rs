//! Why a language model did not answer, in its own words, and whether asking again can help.

use std::time::Duration;

use futures_util::StreamExt as _;
use reqwest::header::HeaderMap;
use serde_json::Value;

use super::Server;
use crate::outbound::LookupError;
use crate::providers::ProviderError;

/// How much of a refusal's body is read.
const BODY: usize = 16 * 1024;
/// How long it may take.
const BODY_TIME: Duration = Duration::from_secs(2);
/// How much of a provider's words is kept, in characters.
const WORDS: usize = 300;

/// What providers call a conversation that is too long, in their codes and, where these say nothing, in their sentences.
const TOO_LONG: [&str; 6] = [
    "context_length_exceeded",
    "exceed_context_size_error",
    "request_too_large",
    "maximum context length",
    "prompt is too long",
    "exceeds the maximum number of tokens",
];
/// What they call an account without money: it looks like a rate limit, and waiting does not help.
const NO_MONEY: [&str; 5] = [
    "insufficient_quota",
    "billing_error",
    "billing_hard_limit_reached",
    "insufficient_balance",
    "insufficient_credits",
];
/// What will not go away by itself, where no status says so.
const OURS: [&str; 8] = [
    "authentication_error",
    "invalid_api_key",
    "permission_error",
    "not_found_error",
    "model_not_found",
    "invalid_request_error",
    "PERMISSION_DENIED",
    "INVALID_ARGUMENT",
];
/// What will.
const BUSY: [&str; 8] = [
    "rate_limit_error",
    "rate_limit_exceeded",
    "overloaded_error",
    "api_error",
    "server_error",
    "RESOURCE_EXHAUSTED",
    "UNAVAILABLE",
    "INTERNAL",
];

/// Why there is no answer. Its words may be shown to the customer, and are not for the log: they may quote the caller.
#[derive(Clone, PartialEq)]
pub(crate) struct Refusal {
    pub(super) remedy: Remedy,
    fault: Fault,
    words: String,
}

/// What could help.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Remedy {
    /// Nothing.
    None,
    /// The same once more, after at least this long.
    Again {
        /// As the server asks.
        after: Duration,
    },
    /// A shorter conversation.
    Shorter,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Fault {
    /// Credentials or settings.
    Ours,
    Theirs,
    Late(Duration),
}

const AT_ONCE: Remedy = Remedy::Again { after: Duration::ZERO };

impl Refusal {
    fn theirs(remedy: Remedy, words: impl Into<String>) -> Self {
        Self { remedy, fault: Fault::Theirs, words: words.into() }
    }

    /// It waits no longer for something that takes longer than `waited`. The turn engine knows better than to wait again.
    pub(super) fn late(waited: Duration) -> Self {
        Self { remedy: Remedy::None, fault: Fault::Late(waited), words: String::new() }
    }

    /// The connection broke, or none came about.
    pub(super) fn broken(error: reqwest::Error) -> Self {
        if let Some(refused) = LookupError::in_chain(&error) {
            return Self {
                remedy: Remedy::None,
                fault: Fault::Ours,
                words: format!("the host of settings.base_url: {refused}"),
            };
        }
        if error.is_timeout() {
            return Self { fault: Fault::Late(super::server::CONNECT), ..Self::theirs(AT_ONCE, "") };
        }
        Self::theirs(AT_ONCE, without_url(error))
    }

    pub(super) fn endless() -> Self {
        Self::theirs(Remedy::None, "its answer does not end")
    }

    pub(super) fn unreadable() -> Self {
        Self::theirs(AT_ONCE, "it sent a piece that is not JSON")
    }

    /// Some servers answer so when the conversation is longer than their model can read.
    pub(super) fn empty() -> Self {
        Self::theirs(Remedy::Shorter, "it sent an empty answer; the conversation may be too long for the model")
    }

    /// The stream ended before the answer did.
    pub(crate) fn cut_off() -> Self {
        Self::theirs(AT_ONCE, "its answer was cut off")
    }

    /// The model answered with something that is of no use; another try may give something else.
    pub(crate) fn useless(words: impl Into<String>) -> Self {
        Self::theirs(AT_ONCE, words)
    }

    /// The model, or a filter before it, does not want to answer this.
    pub(crate) fn unwilling(words: impl Into<String>) -> Self {
        Self::theirs(Remedy::None, words)
    }

    /// The conversation is longer than the model can read.
    pub(crate) fn too_long() -> Self {
        Self::theirs(Remedy::Shorter, "the conversation is too long for the model")
    }

    /// An error that stands in an answer whose status was 200, if there is one.
    pub(crate) fn in_answer(event: &Value) -> Option<Self> {
        let error = Described::read(event)?;
        let status = error.number.filter(|number| (400..600).contains(number));
        Some(error.judge(status.unwrap_or(0), Duration::ZERO))
    }

    /// A refusal by status.
    pub(super) async fn read(response: reqwest::Response) -> Self {
        let status = response.status().as_u16();
        let after = asked_to_wait(response.headers());
        let stubborn = header(response.headers(), "x-should-retry").is_some_and(|retry| retry == "false");
        let body = tokio::time::timeout(BODY_TIME, beginning(response)).await.unwrap_or_default();
        let body = serde_json::from_slice(&body).unwrap_or(Value::Null);
        let error = Described::read(&body).unwrap_or_default();
        let after = after.or_else(|| asked_in_body(&body)).unwrap_or_default();
        let refusal = error.judge(status, after);
        if stubborn && matches!(refusal.remedy, Remedy::Again { .. }) {
            return Self { remedy: Remedy::None, ..refusal };
        }
        refusal
    }

    /// A word for the log.
    pub(super) fn kind(&self) -> &'static str {
        match (self.fault, self.remedy) {
            (Fault::Late(_), _) => "it was late",
            (_, Remedy::Shorter) => "the conversation is too long",
            (Fault::Ours, _) => "it refuses the settings",
            (Fault::Theirs, _) => "it failed",
        }
    }

    pub(super) fn into_error(self, provider: &'static str, server: &Server) -> ProviderError {
        // Whoever refuses a key may quote it.
        let words: String = server.without_key(self.words).chars().take(WORDS).collect();
        match self.fault {
            Fault::Ours => ProviderError::Config { provider, words },
            Fault::Theirs => ProviderError::Failed { provider, words },
            Fault::Late(waited) => {
                ProviderError::Timeout { provider, waited_ms: u64::try_from(waited.as_millis()).unwrap_or(u64::MAX) }
            }
        }
    }
}

/// An error as a server describes it, in any of the shapes that servers use.
#[derive(Default)]
struct Described {
    message: Option<String>,
    /// Its codes and types.
    codes: Vec<String>,
    number: Option<u16>,
}

impl Described {
    fn read(body: &Value) -> Option<Self> {
        // Gemini sends a list where nobody asked it for a stream.
        let body = body.as_array().and_then(|list| list.first()).unwrap_or(body);
        match body.get("error").filter(|error| !error.is_null()) {
            Some(Value::String(words)) => Some(Self::said(words)),
            Some(error) => Some(Self::object(error)),
            None if body.get("object").and_then(Value::as_str) == Some("error") => Some(Self::object(body)),
            None => body.get("detail").and_then(Value::as_str).map(Self::said),
        }
    }

    fn said(words: &str) -> Self {
        Self { message: Some(words.to_owned()), ..Self::default() }
    }

    fn object(error: &Value) -> Self {
        let text = |name: &str| error.get(name).and_then(Value::as_str).filter(|text| !text.is_empty());
        Self {
            message: text("message").map(str::to_owned),
            codes: ["code", "type", "status"].iter().filter_map(|name| text(name).map(str::to_owned)).collect(),
            number: error.get("code").and_then(Value::as_u64).and_then(|code| u16::try_from(code).ok()),
        }
    }

    fn is_one_of(&self, known: &[&str]) -> bool {
        self.codes.iter().any(|code| known.contains(&code.as_str()))
    }

    /// The provider's own words and, if they do not name it, its code.
    fn words(&self, status: u16) -> String {
        let code = self.codes.first();
        match (&self.message, code) {
            (Some(message), Some(code)) if !message.contains(code.as_str()) => format!("{message} ({code})"),
            (Some(message), _) => message.clone(),
            (None, Some(code)) => format!("it answered with the error {code}"),
            (None, None) if status > 0 => format!("it answered with status {status}"),
            (None, None) => "it failed without saying why".to_owned(),
        }
    }

    /// What to make of it. `status` is 0 inside an answer that began well.
    fn judge(&self, status: u16, after: Duration) -> Refusal {
        let words = self.words(status);
        let message = self.message.as_deref().unwrap_or_default();
        if status == 413 || self.is_one_of(&TOO_LONG) || TOO_LONG.iter().any(|sign| message.contains(sign)) {
            return Refusal::theirs(Remedy::Shorter, words);
        }
        let ours = |words| Refusal { remedy: Remedy::None, fault: Fault::Ours, words };
        let again = Remedy::Again { after };
        if status == 402 || self.is_one_of(&NO_MONEY) {
            return ours(words);
        }
        if matches!(status, 408 | 504) || self.is_one_of(&["timeout_error", "DEADLINE_EXCEEDED"]) {
            return Refusal { fault: Fault::Late(super::server::FIRST_BYTE), ..Refusal::theirs(again, words) };
        }
        match status {
            409 | 425 | 429 | 498 | 499 | 500..=599 => Refusal::theirs(again, words),
            0 if self.is_one_of(&OURS) && !self.is_one_of(&BUSY) => ours(words),
            0 => Refusal::theirs(again, words),
            _ => ours(words),
        }
    }
}

fn header<'h>(headers: &'h HeaderMap, name: &str) -> Option<&'h str> {
    headers.get(name)?.to_str().ok().map(str::trim)
}

/// `retry-after-ms`, or `retry-after` in seconds. A date is as good as none: whoever gives one means minutes.
fn asked_to_wait(headers: &HeaderMap) -> Option<Duration> {
    if let Some(ms) = header(headers, "retry-after-ms").and_then(|text| text.parse().ok()) {
        return seconds(ms).map(|ms| ms / 1_000);
    }
    let text = header(headers, "retry-after")?;
    text.parse().ok().map_or(Some(Duration::from_secs(3_600)), seconds)
}

/// Gemini's `RetryInfo`: `"retryDelay": "12s"`.
fn asked_in_body(body: &Value) -> Option<Duration> {
    let details = body.pointer("/error/details")?.as_array()?;
    let delay = details.iter().find_map(|detail| detail.get("retryDelay")?.as_str())?;
    seconds(delay.strip_suffix('s')?.parse().ok()?)
}

fn seconds(seconds: f64) -> Option<Duration> {
    Duration::try_from_secs_f64(seconds.min(86_400_000.0)).ok()
}

/// The beginning of a body.
async fn beginning(response: reqwest::Response) -> Vec<u8> {
    let mut body = Vec::new();
    let mut pieces = response.bytes_stream();
    while let Some(Ok(piece)) = pieces.next().await {
        body.extend_from_slice(&piece);
        if body.len() >= BODY {
            break;
        }
    }
    body
}

/// An address may hold secrets; the sentence says enough without it.
fn without_url(error: reqwest::Error) -> String {
    let error = error.without_url();
    let mut words = error.to_string();
    let mut source = std::error::Error::source(&error);
    while let Some(cause) = source {
        words = format!("{words}: {cause}");
        source = cause.source();
    }
    words
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn judged(status: u16, body: &Value) -> Refusal {
        Described::read(body).unwrap_or_default().judge(status, Duration::ZERO)
    }

    /// Bodies as the servers send them.
    #[test]
    fn every_shape_of_error_is_read_and_judged() {
        let openai = |message: &str, code: &str| json!({ "error": { "message": message, "type": "x", "code": code } });
        let anthropic = |kind: &str| json!({ "type": "error", "error": { "type": kind, "message": "No." } });
        let gemini = |code: u16, status: &str| json!({ "error": { "code": code, "status": status, "message": "No." } });
        let (ours, theirs) = (Fault::Ours, Fault::Theirs);
        let late = Fault::Late(super::super::server::FIRST_BYTE);
        for (status, body, fault, remedy, words) in [
            (401, openai("Wrong key.", "invalid_api_key"), ours, Remedy::None, "Wrong key. (invalid_api_key)"),
            (429, openai("Slow down.", "rate_limit_exceeded"), theirs, AT_ONCE, "Slow down. (rate_limit_exceeded)"),
            (429, openai("Pay.", "insufficient_quota"), ours, Remedy::None, "Pay. (insufficient_quota)"),
            (
                400,
                openai("Long.", "context_length_exceeded"),
                theirs,
                Remedy::Shorter,
                "Long. (context_length_exceeded)",
            ),
            (503, json!({ "error": { "code": 503, "message": "Loading model" } }), theirs, AT_ONCE, "Loading model"),
            (401, json!({ "detail": "Invalid API key" }), ours, Remedy::None, "Invalid API key"),
            (404, json!({ "error": "model 'x' not found" }), ours, Remedy::None, "model 'x' not found"),
            (400, json!({ "object": "error", "message": "Bad." }), ours, Remedy::None, "Bad."),
            (529, anthropic("overloaded_error"), theirs, AT_ONCE, "No. (overloaded_error)"),
            (0, anthropic("overloaded_error"), theirs, AT_ONCE, "No. (overloaded_error)"),
            (0, anthropic("authentication_error"), ours, Remedy::None, "No. (authentication_error)"),
            (504, anthropic("timeout_error"), late, AT_ONCE, "No. (timeout_error)"),
            (400, gemini(400, "INVALID_ARGUMENT"), ours, Remedy::None, "No. (INVALID_ARGUMENT)"),
            (503, json!([gemini(503, "UNAVAILABLE")]), theirs, AT_ONCE, "No. (UNAVAILABLE)"),
            (413, Value::Null, theirs, Remedy::Shorter, "it answered with status 413"),
            (402, Value::Null, ours, Remedy::None, "it answered with status 402"),
        ] {
            let refusal = judged(status, &body);
            assert_eq!(
                (refusal.fault, refusal.remedy, refusal.words.as_str()),
                (fault, remedy, words),
                "{status} {body}"
            );
        }
        assert!(Refusal::in_answer(&json!({ "choices": [], "error": null })).is_none());
        let numbered =
            Refusal::in_answer(&json!({ "error": { "code": 401, "message": "No auth." } })).expect("an error");
        assert_eq!(numbered.fault, Fault::Ours, "the number is a status");
    }

    #[test]
    fn pauses_are_read_wherever_they_stand() {
        let headers = |name: &'static str, value: &'static str| {
            let mut headers = HeaderMap::new();
            headers.insert(name, value.parse().expect("a value"));
            asked_to_wait(&headers)
        };
        assert_eq!(headers("retry-after-ms", "250"), Some(Duration::from_millis(250)));
        assert_eq!(headers("retry-after", "2"), Some(Duration::from_secs(2)));
        assert_eq!(headers("retry-after", "Wed, 21 Oct 2026 07:28:00 GMT"), Some(Duration::from_secs(3_600)));
        assert_eq!(headers("retry-after", "-1"), None);
        assert_eq!(asked_to_wait(&HeaderMap::new()), None);
        let details = json!({ "error": { "details": [{ "@type": "x" }, { "retryDelay": "1.5s" }] } });
        assert_eq!(asked_in_body(&details), Some(Duration::from_millis(1_500)));
    }
}
