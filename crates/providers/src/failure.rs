//! Classifies failed requests for all kinds of providers, with the provider's own message. Never contains the key.

use std::time::Duration;

use reqwest::header::HeaderMap;
use serde_json::{Map, Value};
use switchhook_core::private::Private;
use switchhook_net::lenient_json;
use switchhook_net::outbound::SendError;
use switchhook_net::outbound::ws::{CloseFrame, OpenError};
use switchhook_runtime::clock::Clock;
use url::Url;

use self::too_long::{OVERSIZED, RATE_LIMIT, RATE_LIMIT_CODES, TOO_LONG};
use super::ProviderError;

pub(crate) mod pause;
mod too_long;
pub(crate) mod unexpected;

/// The longest message reported, in characters.
const LONGEST: usize = 300;
/// The longest `Retry-After` that is honoured; a longer one fails the request.
const LONGEST_PAUSE: Duration = Duration::from_secs(2);
/// Headers by which a provider identifies the request.
const REQUEST_IDS: [&str; 3] = ["dg-request-id", "x-request-id", "request-id"];

/// Parts of error codes for an account without credit: it looks like a rate limit, but waiting does not help.
const NO_MONEY: [&str; 4] = ["insufficient_", "billing", "payment", "quota_exceeded"];
/// Parts of error codes for a refusal of this conversation; another one may be accepted.
const UNWILLING: [&str; 6] = [
    "content_filter",
    "content_policy",
    "content_moderation",
    "data_inspection_failed",
    "responsibleaipolicyviolation",
    "prohibited_content",
];
/// The same in sentences, where the code does not say it.
const UNWILLING_WORDS: [&str; 6] = [
    "violates usage guidelines",
    "content management policy",
    "content filtering policy",
    "content exists risk",
    "flagged as potentially violating",
    "input was flagged",
];
/// Texts about model output that the provider cannot use. The settings are not to blame, and a retry produces other output.
const OUTPUT: [&str; 13] = [
    "tool_use_failed",
    "failed_generation",
    "json_validate_failed",
    "output_parse_failed",
    "malformed_function_call",
    "malformed_tool_call",
    "invalid_tool_generation",
    "invalid tool generation",
    "invalid_model_output",
    "produced invalid content",
    "failed to parse tool",
    "error parsing tool call",
    "tool call validation failed",
];
/// Parts of permanent error codes, for errors without a status: the connection or the agent must change.
const OURS: [&str; 14] = [
    "api key",
    "api_key",
    "authentication",
    "invalid_argument",
    "invalid_request",
    "invalid_uid",
    "_not_found",
    "forbidden",
    "not authorized",
    "not_found_",
    "output_format",
    "permission",
    "unauthorized",
    "voice_id_does_not_exist",
];
/// Parts of transient error codes.
const BUSY: [&str; 8] =
    ["rate_limit", "overloaded", "api_error", "server_error", "resource_exhausted", "unavailable", "internal", "net-0"];
/// Parts of sentences about transient errors, for errors without a code.
const BUSY_WORDS: [&str; 8] =
    ["try again", "retry", "busy", "overloaded", "temporar", "unavailable", "rate limit", "too many requests"];
/// Parts of sentences about a limit of sessions at a time, which some providers call a refusal of the connection. It passes.
const CROWDED: [&str; 6] = [
    "too many concurrent",
    "too many simultaneous",
    "maximum simultaneous",
    "maximum concurrent",
    "number of concurrent",
    "concurrency limit",
];
/// A key of at least this length that is not a word cannot be in a sentence by chance.
const SURE_KEY: usize = 8;

/// The class of a failure.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum FailureClass {
    /// Credentials or settings, or the account behind them.
    Configuration,
    /// The provider is at fault.
    Provider,
    /// The provider reports that it took too long.
    Timeout,
    /// The conversation is longer than the model can read.
    ContextTooLong,
    /// The provider refuses this conversation.
    ContentRefused,
}

/// A classified failure.
#[derive(Debug)]
pub(crate) struct Classified {
    pub(crate) class: FailureClass,
    pub(crate) words: ErrorMessage,
    /// The pause before a retry; `None` when a retry would not help, or only much later.
    pub(crate) retry_after: Option<Duration>,
    /// The pause that the provider requests, if it is longer than a request may wait.
    pub(crate) busy: Option<Duration>,
}

impl Classified {
    /// Applies the pause that the provider requests.
    fn after(self, requested: Option<Duration>) -> Self {
        let requested = requested.unwrap_or_default();
        let long = requested > LONGEST_PAUSE;
        Self {
            busy: Some(requested).filter(|_| long && self.class == FailureClass::Provider),
            retry_after: self.retry_after.filter(|_| !long).map(|least| least.max(requested)),
            ..self
        }
    }

    /// Adds the address if the server found nothing there, or says that it is elsewhere.
    pub(crate) fn at_url(self, url: &Url) -> Self {
        Self { words: self.words.at_url(url), ..self }
    }
}

/// The message of a provider's refusal.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ErrorMessage {
    reason: String,
    /// Its error code, the status and the request's id, where available.
    details: String,
    /// Whether it is the response of a server to an unknown address.
    missed: bool,
    /// Where the response redirects to.
    moved: Option<String>,
}

impl ErrorMessage {
    /// Creates a message of our own.
    pub(crate) fn new(reason: impl Into<String>) -> Self {
        Self { reason: reason.into(), details: String::new(), missed: false, moved: None }
    }

    /// Returns whether its sentence contains one of these, in lower case.
    pub(crate) fn mentions(&self, signs: &[&str]) -> bool {
        let reason = self.reason.to_lowercase();
        signs.iter().any(|sign| reason.contains(sign))
    }

    /// Returns its sentence.
    pub(crate) fn reason(&self) -> &str {
        &self.reason
    }

    /// Creates a message of our own about the requested address, without its query.
    pub(crate) fn about(reason: String, url: &Url) -> Self {
        let details = format!("at {}{}", url.origin().ascii_serialization(), url.path());
        Self { reason, details, missed: false, moved: None }
    }

    /// Adds the address where nothing was found, or to which the server redirects, without its query, which may contain secrets.
    pub(crate) fn at_url(mut self, url: &Url) -> Self {
        if let Some(target) = self.moved.take() {
            self.reason = redirected(url, &target);
        }
        if self.missed {
            let path = url.path();
            self.details = format!("{}, at {}{path}", self.details, url.origin().ascii_serialization());
        }
        self
    }

    /// Returns the whole message without the key, in case the provider repeats it.
    pub(crate) fn without_key(self, key: Option<&Private<String>>) -> String {
        let reason: String = without_key(self.reason, key).chars().take(LONGEST).collect();
        let details: String = without_key(self.details, key).chars().take(LONGEST).collect();
        if details.is_empty() { reason } else { format!("{reason} ({details})") }
    }
}

/// Classifies an HTTP response with an error status.
pub(crate) fn classify_response(status: u16, headers: &HeaderMap, body: &str) -> Classified {
    let parsed = lenient_json::from_str::<Value>(body);
    let mut error_body = match &parsed {
        Ok(body) => ErrorBody::read(body),
        Err(_) if body.trim_start().starts_with('<') => ErrorBody::default(),
        Err(_) => ErrorBody::text(body),
    };
    if let Some(reason) = header(headers, "dg-error") {
        error_body.message = Some(reason.to_owned());
    }
    let requested = pause::in_headers(status, headers, Clock::system().now())
        .or_else(|| parsed.as_ref().ok().and_then(pause::in_body))
        .or_else(|| error_body.message.as_deref().and_then(pause::in_words));
    let id = REQUEST_IDS.iter().find_map(|name| header(headers, name));
    let mut classified = error_body.classify(status, id).after(requested);
    classified.words.moved = header(headers, "location").filter(|_| (300..400).contains(&status)).map(str::to_owned);
    if header(headers, "x-should-retry") == Some("false") {
        return Classified { retry_after: None, ..classified };
    }
    classified
}

/// Classifies an error inside a response, or on a websocket, that began successfully.
pub(crate) fn classify_message(message: &Value) -> Classified {
    let error_body = ErrorBody::read(message);
    let status = error_body.number.filter(|number| (400..600).contains(number));
    let requested = pause::in_body(message).or_else(|| error_body.message.as_deref().and_then(pause::in_words));
    error_body.classify(status.unwrap_or(0), None).after(requested)
}

/// Classifies the body of an error response whose status was a success. Unless the body says otherwise, the address or the settings
/// are to blame, and a retry would fail too.
pub(crate) fn classify_body(body: &Value) -> Classified {
    let classified = classify_message(body);
    let error_body = ErrorBody::read(body);
    if classified.class != FailureClass::Provider || error_body.is_transient() || error_body.says(&OUTPUT) {
        return classified;
    }
    Classified { class: FailureClass::Configuration, retry_after: None, busy: None, ..classified }
}

/// Returns whether an error in a session is about a request that waits for its response, not about another message.
pub(crate) fn is_about_request(message: &Value) -> bool {
    let error_body = ErrorBody::read(message);
    let class = error_body.class(0);
    error_body.is_transient()
        || error_body.says(&NO_MONEY)
        || matches!(class, FailureClass::ContextTooLong | FailureClass::ContentRefused)
}

/// Returns whether an error message that ends a stream blames the request, which it does unless it says otherwise.
pub(crate) fn is_configuration_error(message: &Value) -> bool {
    !ErrorBody::read(message).blames_provider()
}

/// Returns whether an event of a response is an error, in any of the forms that LLM servers use.
pub(crate) fn is_error(event: &Value) -> bool {
    let event = event.as_array().and_then(|list| list.first()).unwrap_or(event);
    let error = event.get("error").is_some_and(|error| !error.is_null());
    error
        || event.get("object").is_some_and(|kind| kind == "error")
        || event.get("detail").is_some_and(Value::is_string)
}

/// Returns whether the code of a close frame is a refusal: some providers use HTTP statuses plus 4000.
pub(crate) fn is_refusal(close_code: u16) -> bool {
    matches!(close_code, 4400..=4499) && !matches!(close_code, 4408 | 4409 | 4425 | 4429 | 4498 | 4499)
}

/// Returns whether the reason of a close frame blames the key or the settings, and not a condition that passes.
pub(crate) fn blames_settings(reason: &str) -> bool {
    let error_body = ErrorBody::text(reason);
    error_body.class(0) == FailureClass::Configuration && !error_body.is_transient()
}

/// Removes the key from a message, in case the provider repeats it.
pub(crate) fn without_key(words: String, key: Option<&Private<String>>) -> String {
    match key {
        Some(key) => without_secret(&words, key.reveal()),
        None => words,
    }
}

/// Removes a secret from a message. A short secret is kept where it is part of a longer word or number.
pub fn without_secret(words: &str, secret: &str) -> String {
    if secret.is_empty() {
        return words.to_owned();
    }
    let sure = secret.chars().count() >= SURE_KEY && !secret.chars().all(char::is_alphabetic);
    let joins = |neighbour: Option<char>| neighbour.is_some_and(char::is_alphanumeric);
    let mut redacted = String::with_capacity(words.len());
    let mut rest = words;
    while let Some((before, behind)) = rest.split_once(secret) {
        let within = joins(before.chars().next_back().or(redacted.chars().next_back())) || joins(behind.chars().next());
        redacted.push_str(before);
        redacted.push_str(if sure || !within { "••••" } else { secret });
        rest = behind;
    }
    redacted + rest
}

/// An error as a provider describes it.
#[derive(Debug, Default)]
struct ErrorBody {
    message: Option<String>,
    /// Its codes and types, the most specific first.
    codes: Vec<String>,
    number: Option<u16>,
}

impl ErrorBody {
    /// Parses the forms used by providers and by the frameworks they are built with.
    fn read(body: &Value) -> Self {
        match body {
            Value::String(words) => Self::text(words),
            Value::Array(items) => items.first().map(Self::read).unwrap_or_default(),
            Value::Object(fields) => {
                let mut within = ["error", "detail"].iter().filter_map(|name| fields.get(*name));
                match within.find(|inner| inner.is_object() || inner.is_array()) {
                    Some(inner) => Self::read(inner),
                    None => Self::object(fields),
                }
            }
            _ => Self::default(),
        }
    }

    fn text(words: &str) -> Self {
        let words = Some(words.trim()).filter(|words| !words.is_empty());
        Self { message: words.map(str::to_owned), ..Self::default() }
    }

    fn object(error: &Map<String, Value>) -> Self {
        let text = |name: &&str| error.get(*name).and_then(Value::as_str).filter(|text| !text.is_empty());
        let sentences = ["message", "err_msg", "msg", "description", "detail", "reason", "title", "error"];
        let sentence = sentences.iter().find_map(text);
        let codes = ["code", "err_code", "error_code", "variant", "type", "status", "error"];
        let codes = codes.iter().filter_map(text).filter(|code| Some(*code) != sentence);
        // OpenRouter's copy of what the provider behind it said, as text.
        let copied = error.get("metadata").and_then(|metadata| metadata.get("raw")).and_then(Value::as_str);
        let copied =
            copied.map(|raw| lenient_json::from_str(raw).map_or_else(|_| Self::text(raw), |raw| Self::read(&raw)));
        let Self { message, codes: of_copied, .. } = copied.unwrap_or_default();
        // Azure's specific code.
        let inner = error.get("innererror").and_then(|inner| inner.get("code")).and_then(Value::as_str);
        Self {
            codes: codes
                .filter(|code| !code.eq_ignore_ascii_case("error"))
                .chain(inner)
                .chain(error.contains_key("failed_generation").then_some("failed_generation"))
                .map(str::to_owned)
                .chain(of_copied)
                .collect(),
            number: error.get("code").and_then(number),
            message: message.or_else(|| sentence.and_then(|sentence| Self::text(sentence).message)),
        }
    }

    /// Classifies the error. `status` is 0 inside a response that began successfully.
    fn classify(&self, status: u16, request: Option<&str>) -> Classified {
        let class = self.class(status);
        let retry_after = matches!(class, FailureClass::Provider | FailureClass::Timeout).then_some(Duration::ZERO);
        Classified { class, words: self.words(status, request), retry_after, busy: None }
    }

    /// Returns whether its codes say that the provider is at fault.
    fn blames_provider(&self) -> bool {
        let codes = self.codes.join(" ").to_lowercase();
        let late = ["timeout", "deadline_exceeded"].iter().any(|sign| codes.contains(sign));
        let number = self.number.is_some_and(|number| matches!(number, 408 | 429 | 500..));
        late || number || BUSY.iter().any(|sign| codes.contains(sign))
    }

    /// Returns whether it passes, as far as its codes or its sentence say.
    fn is_transient(&self) -> bool {
        self.blames_provider() || [&BUSY_WORDS[..], &RATE_LIMIT, &CROWDED].iter().any(|signs| self.says(signs))
    }

    /// Returns whether its codes or its sentence contain one of these, in lower case.
    fn says(&self, signs: &[&str]) -> bool {
        let words = format!("{} {}", self.message.as_deref().unwrap_or_default(), self.codes.join(" ")).to_lowercase();
        signs.iter().any(|sign| words.contains(sign))
    }

    fn class(&self, status: u16) -> FailureClass {
        let codes = self.codes.join(" ").to_lowercase();
        let words = format!("{} {codes}", self.message.as_deref().unwrap_or_default().to_lowercase());
        let is = |signs: &[&str], text: &str| signs.iter().any(|sign| text.contains(sign));
        let limited =
            status == 429 || self.number == Some(429) || is(&RATE_LIMIT, &words) || is(&RATE_LIMIT_CODES, &codes);
        if status == 413 || is(&OVERSIZED, &words) || (is(&TOO_LONG, &words) && !limited) {
            return FailureClass::ContextTooLong;
        }
        if status == 402 || is(&NO_MONEY, &codes) {
            return FailureClass::Configuration;
        }
        if is(&UNWILLING, &codes) || is(&UNWILLING_WORDS, &words) {
            return FailureClass::ContentRefused;
        }
        if is(&OUTPUT, &words) {
            return FailureClass::Provider;
        }
        if matches!(status, 408 | 504) || is(&["timeout_error", "deadline_exceeded"], &codes) {
            return FailureClass::Timeout;
        }
        match status {
            409 | 425 | 429 | 498 | 499 | 500..=599 => FailureClass::Provider,
            0 if is(&BUSY, &codes) => FailureClass::Provider,
            0 | 400 if limited && !is(&NO_MONEY, &words) => FailureClass::Provider,
            0 | 400 | 403 if is(&CROWDED, &words) => FailureClass::Provider,
            // The close frame of a websocket has only a sentence.
            0 if is(&OURS, &words) || is(&NO_MONEY, &words) => FailureClass::Configuration,
            0 => FailureClass::Provider,
            _ => FailureClass::Configuration,
        }
    }

    fn words(&self, status: u16, request: Option<&str>) -> ErrorMessage {
        let (reason, code) = match (&self.message, self.codes.first()) {
            (Some(message), code) => (message.clone(), code.filter(|code| !message.contains(code.as_str())).cloned()),
            (None, Some(code)) => (format!("it returned the error {code}"), None),
            (None, None) if status > 0 => ("it refused".to_owned(), None),
            (None, None) => ("it failed without saying why".to_owned(), None),
        };
        let rate = if status == 429 { "provider rate limit: " } else { "" };
        let status_words = (status > 0).then(|| format!("status {status}"));
        let request = request.map(|id| format!("request {id}"));
        let details: Vec<String> = [code, status_words, request].into_iter().flatten().collect();
        let nameless = self.codes.is_empty() || reason.trim_end_matches('.').eq_ignore_ascii_case("not found");
        let missed = matches!(status, 404 | 405) && nameless;
        ErrorMessage { reason: format!("{rate}{reason}"), details: details.join(", "), missed, moved: None }
    }
}

/// Reads a status, which some proxies send as text.
fn number(code: &Value) -> Option<u16> {
    match code {
        Value::String(text) => text.trim().parse().ok(),
        code => code.as_u64().and_then(|code| u16::try_from(code).ok()),
    }
}

/// Says where a server redirects a request to, without the query.
fn redirected(from: &Url, target: &str) -> String {
    let Ok(to) = from.join(target) else { return "the server redirects to no address".to_owned() };
    let (origin, path) = (to.origin().ascii_serialization(), to.path());
    format!("the server redirects to {origin}{path}: change settings.base_url so that requests are sent there")
}

fn header<'h>(headers: &'h HeaderMap, name: &str) -> Option<&'h str> {
    headers.get(name)?.to_str().ok().map(str::trim)
}

/// A failed attempt, and when it may be retried.
#[derive(Clone, Debug)]
pub(crate) struct AttemptError {
    pub(crate) error: ProviderError,
    /// The pause before a retry; `None` when a retry would not help, or only much later.
    pub(crate) retry_after: Option<Duration>,
}

impl AttemptError {
    /// The provider cannot be used with its configuration.
    pub(crate) fn config(provider: &'static str, message: String) -> Self {
        Self { error: ProviderError::Config { provider, message }, retry_after: None }
    }

    /// The attempt failed; another may succeed.
    pub(crate) fn failed(provider: &'static str, message: String) -> Self {
        Self { error: ProviderError::Failed { provider, message }, retry_after: Some(Duration::ZERO) }
    }

    /// The provider sent something unusable, and would do so again.
    pub(crate) fn unusable(provider: &'static str, words: impl Into<String>) -> Self {
        Self { retry_after: None, ..Self::failed(provider, words.into()) }
    }

    /// Nothing arrived in time; another attempt may succeed.
    pub(crate) fn timeout(provider: &'static str, waited: Duration) -> Self {
        Self { error: ProviderError::timeout(provider, waited), retry_after: Some(Duration::ZERO) }
    }

    /// A websocket could not be opened. `waited` is for a server that itself reports that it took too long.
    pub(crate) fn connecting(
        provider: &'static str,
        error: OpenError,
        url: &Url,
        key: Option<&Private<String>>,
        waited: Duration,
    ) -> Self {
        match error {
            OpenError::Refused(refused) => {
                let answer = &refused.answer;
                let classified = classify_response(answer.status, &refused.headers, &answer.excerpt).at_url(url);
                Self::from_classified(provider, classified, key, waited)
            }
            OpenError::NoAnswer(error) => Self::unanswered(provider, error),
            error @ OpenError::NotWebSocket(_) => Self::failed(provider, error.to_string()),
        }
    }

    /// The provider did not respond.
    pub(crate) fn unanswered(provider: &'static str, error: SendError) -> Self {
        match error {
            SendError::Timeout(waited) => Self::timeout(provider, waited),
            error @ (SendError::Url(_) | SendError::Refused(_)) => Self::config(provider, error.to_string()),
            error => Self::failed(provider, error.to_string()),
        }
    }

    /// The provider closed a websocket (RFC 6455 section 7.4).
    pub(crate) fn closed(provider: &'static str, frame: Option<&CloseFrame>, key: Option<&Private<String>>) -> Self {
        let Some(frame) = frame else { return Self::failed(provider, "it closed the connection".to_owned()) };
        let code = u16::from(frame.code);
        if frame.reason.is_empty() {
            let words = format!("it closed the connection with code {code}");
            return if is_refusal(code) { Self::config(provider, words) } else { Self::failed(provider, words) };
        }
        let error_body = ErrorBody::text(frame.reason.as_str());
        let is_crowded = error_body.says(&CROWDED);
        let mut classified = error_body.classify(0, None);
        // 1011 to 1013: the server is at fault, restarts or is busy.
        if matches!(code, 1011..=1013) && classified.class == FailureClass::Configuration && error_body.is_transient() {
            (classified.class, classified.retry_after) = (FailureClass::Provider, Some(Duration::ZERO));
        }
        let classified = classified.after(pause::in_words(frame.reason.as_str()));
        let words = ErrorMessage { details: format!("code {code}"), ..classified.words };
        let classified = if is_refusal(code) && !is_crowded {
            Classified { class: FailureClass::Configuration, words, retry_after: None, busy: None }
        } else {
            Classified { words, ..classified }
        };
        let failure = Self::from_classified(provider, classified, key, Duration::ZERO);
        // 1007 and 1008: our message is at fault, and would be again. A socket that has too many sessions is not the only one.
        if matches!(code, 1007 | 1008) && !is_crowded { Self { retry_after: None, ..failure } } else { failure }
    }

    /// An error message inside a stream that began successfully.
    pub(crate) fn from_message(provider: &'static str, message: &Value, key: Option<&Private<String>>) -> Self {
        Self::from_classified(provider, classify_message(message), key, Duration::ZERO)
    }

    /// The provider refused. `waited` is as for [`AttemptError::connecting`].
    pub(crate) fn from_classified(
        provider: &'static str,
        classified: Classified,
        key: Option<&Private<String>>,
        waited: Duration,
    ) -> Self {
        let Classified { class, words, retry_after, busy } = classified;
        let message = words.without_key(key);
        if let Some(pause) = busy {
            return Self { error: ProviderError::busy(provider, message, pause), retry_after };
        }
        let error = match class {
            FailureClass::Configuration | FailureClass::ContextTooLong => ProviderError::Config { provider, message },
            FailureClass::Provider | FailureClass::ContentRefused => ProviderError::Failed { provider, message },
            FailureClass::Timeout => ProviderError::timeout(provider, waited),
        };
        Self { error, retry_after }
    }
}

#[cfg(test)]
pub(crate) const FUZZED: switchhook_fuzz::Target = switchhook_fuzz::Target {
    file: file!(),
    seeds: || {
        switchhook_fuzz::each_alone(&[
            r##"{"error":{"message":"Incorrect API key","type":"invalid_request_error","param":null,"code":"invalid_api_key"}}"##,
            r##"{"error":{"code":429,"message":"Quota","status":"RESOURCE_EXHAUSTED","details":[{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"34.07s"}]}}"##,
            r##"{"detail":{"status":"quota_exceeded","message":"This request exceeds your quota."},"retry_after":2.5}"##,
            r##"{"err_code":"INVALID_AUTH","err_msg":"Invalid credentials.","request_id":"r"}"##,
            r##"{"detail":[{"loc":["body","model"],"msg":"field required","type":"value_error"}]}"##,
            r##"{"message":"No.","errors":["one"],"code":"x","type":"error"}"##,
            r##"<html>Bad gateway</html>"##,
            r##"Too many requests. Try again in 3s."##,
            r##"3"##,
            r##"Wed, 21 Oct 2026 07:28:00 GMT"##,
            r##"120ms"##,
        ])
    },
    read: |messages| {
        switchhook_fuzz::Read::each_text(messages, |body| {
            // Anything in a body can also be in a header.
            let value = reqwest::header::HeaderValue::from_str(body.trim()).ok();
            let names = ["retry-after", "retry-after-ms", "x-should-retry", "dg-error", "x-request-id"];
            let headers = value
                .into_iter()
                .flat_map(|value| names.map(|name| (reqwest::header::HeaderName::from_static(name), value.clone())));
            let classified = classify_response(429, &headers.collect(), body);
            let words = classified.words.without_key(None).len();
            let said =
                serde_json::from_str::<Value>(body).map(|body| classify_message(&body).words.without_key(None).len());
            Ok::<_, ()>(words + said.unwrap_or(0))
        })
    },
};

#[cfg(test)]
mod tests;
