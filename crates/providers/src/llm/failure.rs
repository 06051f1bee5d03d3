//! Why an LLM request failed, with the provider's message, and whether a retry can help.

use std::time::Duration;

use futures_util::StreamExt as _;
use serde_json::Value;
use switchhook_core::private::Private;
use switchhook_net::outbound::{LookupError, innermost};
use switchhook_net::text::{content_type, text};
use url::Url;

use super::FIRST_BYTE;
use super::token_limits::TokenLimit;
use crate::failure::{
    Classified, ErrorMessage, FailureClass, classify_body, classify_message, classify_response, is_error,
};
use crate::{CONNECT_TIMEOUT, ProviderError};

/// How many bytes of an error body are read.
const BODY: usize = 16 * 1024;
/// How long reading an error body may take.
const BODY_TIME: Duration = Duration::from_secs(2);

/// Why there is no response. Its message may be shown to the customer but must not be logged: it may quote the caller.
#[derive(Clone, PartialEq)]
pub(crate) struct LlmFailure {
    pub(super) retry: Retry,
    kind: FailureKind,
    words: ErrorMessage,
}

/// Whether and how to retry.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Retry {
    /// Do not retry.
    None,
    /// Send the same request again, after at least this long.
    Same {
        /// The pause that the server requests.
        after: Duration,
    },
    /// Send the same request with a higher token limit.
    Longer {
        /// The limit that the model used up.
        used: u32,
    },
    /// Send a shorter conversation.
    Shortened,
    /// Send the conversation without the caller's last messages.
    Withheld,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum FailureKind {
    /// Credentials or settings.
    Configuration,
    Provider,
    /// It has no capacity for this long.
    Busy(Duration),
    Timeout(Duration),
}

const AT_ONCE: Retry = Retry::Same { after: Duration::ZERO };

impl LlmFailure {
    fn provider(retry: Retry, words: impl Into<String>) -> Self {
        Self { retry, kind: FailureKind::Provider, words: ErrorMessage::new(words) }
    }

    /// Something took longer than `waited`. Not retried: whether to wait again is up to the turn engine.
    pub(super) fn timeout(waited: Duration) -> Self {
        Self { retry: Retry::None, kind: FailureKind::Timeout(waited), words: ErrorMessage::new("") }
    }

    /// The connection broke or could not be opened.
    pub(super) fn broken(error: reqwest::Error) -> Self {
        if let Some(refused) = LookupError::in_chain(&error) {
            return Self {
                retry: Retry::None,
                kind: FailureKind::Configuration,
                words: ErrorMessage::new(format!("the host of settings.base_url: {refused}")),
            };
        }
        if error.is_timeout() {
            return Self { kind: FailureKind::Timeout(CONNECT_TIMEOUT), ..Self::provider(AT_ONCE, "") };
        }
        Self::provider(AT_ONCE, without_url(error))
    }

    pub(super) fn too_large() -> Self {
        Self::provider(Retry::None, "its response does not end")
    }

    pub(super) fn unreadable() -> Self {
        Self::provider(AT_ONCE, "it sent a piece that is not JSON")
    }

    /// An empty response, which some servers send when the conversation is longer than their model can read.
    pub(super) fn empty() -> Self {
        Self::provider(Retry::Shortened, "it sent an empty response; the conversation may be too long for the model")
    }

    /// The stream ended before the response did.
    pub(crate) fn cut_off() -> Self {
        Self::provider(AT_ONCE, "its response was cut off")
    }

    /// The model returned something unusable; another attempt may return something else.
    pub(crate) fn unusable(words: impl Into<String>) -> Self {
        Self::provider(AT_ONCE, words)
    }

    /// The model called tools in a way that its server cannot read.
    pub(crate) fn malformed_call(reason: &str) -> Self {
        Self::unusable(format!("it called tools in a way that cannot be understood ({reason})"))
    }

    /// The model, or a filter in front of it, refuses to respond to this conversation.
    pub(crate) fn content_refused(words: impl Into<String>) -> Self {
        Self::provider(Retry::Withheld, words)
    }

    /// The model's response contained neither text nor tool calls.
    pub(super) fn empty_response() -> Self {
        Self::unusable("its response was empty")
    }

    /// The model used up its token limit before its first word.
    pub(super) fn used_up(limit: TokenLimit) -> Self {
        let (retry, tokens, advice) = match limit {
            TokenLimit::Raisable(used) => (Retry::Longer { used }, format!("{used} "), "raise llm.max_tokens"),
            TokenLimit::Settings(used) => {
                let tokens = used.map(|used| format!("{used} ")).unwrap_or_default();
                (Retry::None, tokens, "raise the limit in settings.request")
            }
        };
        Self::provider(
            retry,
            format!("it used all {tokens}tokens before its first word: {advice} or turn reasoning down"),
        )
    }

    /// The conversation is longer than the model can read.
    pub(crate) fn too_long() -> Self {
        Self::provider(Retry::Shortened, "the conversation is too long for the model")
    }

    /// Returns the error in a response whose status was 200, if there is one.
    pub(crate) fn in_response(event: &Value) -> Option<Self> {
        is_error(event).then(|| Self::classified(classify_message(event)))
    }

    /// Classifies a complete body that is an error despite its success status.
    pub(super) fn in_body(body: &Value, url: &Url) -> Self {
        let failure = Self::classified(classify_body(body));
        Self { words: ErrorMessage::about(failure.words.clone().without_key(None), url), ..failure }
    }

    /// A body that is not a response of any known API: the address is that of another service.
    pub(super) fn no_response(words: String, url: &Url) -> Self {
        Self { retry: Retry::None, kind: FailureKind::Configuration, words: ErrorMessage::about(words, url) }
    }

    /// Returns whether credentials or settings are to blame.
    pub(super) fn blames_settings(&self) -> bool {
        self.kind == FailureKind::Configuration
    }

    /// Returns the server's sentence.
    pub(super) fn reason(&self) -> &str {
        self.words.reason()
    }

    /// Returns the whole message, shortened and without the key.
    pub(super) fn message(&self, key: Option<&Private<String>>) -> String {
        self.words.clone().without_key(key)
    }

    /// Returns whether the server's message contains one of these, in lower case.
    pub(crate) fn mentions(&self, signs: &[&str]) -> bool {
        self.words.mentions(signs)
    }

    /// Classifies a response with an error status.
    pub(super) async fn read(response: reqwest::Response) -> Self {
        let (status, headers, url) = (response.status().as_u16(), response.headers().clone(), response.url().clone());
        let body = tokio::time::timeout(BODY_TIME, beginning(response)).await.unwrap_or_default();
        Self::classified(classify_response(status, &headers, &text(content_type(&headers), &body)).at_url(&url))
    }

    /// Returns the failure if the response to a request that any key may make says that the key is wrong. A key that may not list models,
    /// which OpenAI calls a missing scope, may still work for completions.
    pub(super) async fn of_key(response: reqwest::Response) -> Option<Self> {
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        if !matches!(status, 400 | 401) {
            return None;
        }
        let body = tokio::time::timeout(BODY_TIME, beginning(response)).await.unwrap_or_default();
        let body = text(content_type(&headers), &body);
        let wrong = if status == 401 { !body.contains("scope") } else { body.contains("API_KEY_INVALID") };
        wrong.then(|| Self::classified(classify_response(status, &headers, &body)))
    }

    fn classified(classified: Classified) -> Self {
        let Classified { class, words, retry_after, busy } = classified;
        let retry = retry_after.map_or(Retry::None, |after| Retry::Same { after });
        let (kind, retry) = match class {
            FailureClass::Configuration => (FailureKind::Configuration, retry),
            FailureClass::Provider => (busy.map_or(FailureKind::Provider, FailureKind::Busy), retry),
            FailureClass::Timeout => (FailureKind::Timeout(FIRST_BYTE), retry),
            FailureClass::ContextTooLong => (FailureKind::Provider, Retry::Shortened),
            FailureClass::ContentRefused => (FailureKind::Provider, Retry::Withheld),
        };
        Self { retry, kind, words }
    }

    /// Returns a short description for the log.
    pub(super) fn kind(&self) -> &'static str {
        match (self.kind, self.retry) {
            (FailureKind::Timeout(_), _) => "it was timeout",
            (_, Retry::Longer { .. }) => "it used up its token limit",
            (_, Retry::Shortened) => "the conversation is too long",
            (_, Retry::Withheld) => "it refuses the conversation",
            (FailureKind::Configuration, _) => "it refuses the settings",
            (FailureKind::Provider | FailureKind::Busy(_), _) => "it failed",
        }
    }

    pub(super) fn into_error(self, provider: &'static str, key: Option<&Private<String>>) -> ProviderError {
        let message = self.words.without_key(key);
        match self.kind {
            FailureKind::Configuration => ProviderError::Config { provider, message },
            FailureKind::Provider => ProviderError::Failed { provider, message },
            FailureKind::Busy(retry_after) => ProviderError::busy(provider, message, retry_after),
            FailureKind::Timeout(waited) => ProviderError::timeout(provider, waited),
        }
    }
}

/// Reads the beginning of a body.
async fn beginning(response: reqwest::Response) -> Vec<u8> {
    let mut body = Vec::new();
    let mut pieces = response.bytes_stream();
    while let Some(piece) = pieces.next().await {
        match piece {
            Ok(piece) => body.extend_from_slice(&piece),
            // Says why there is nothing else to say.
            Err(error) if body.is_empty() => {
                return format!("its error cannot be read: {}", innermost(&error)).into_bytes();
            }
            Err(_) => break,
        }
        if body.len() >= BODY {
            break;
        }
    }
    body
}

/// Removes the URL, which may contain secrets; the message says enough without it.
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
