//! Why an LLM request failed, in the provider's words, and whether a retry can help.

use std::time::Duration;

use futures_util::StreamExt as _;
use serde_json::Value;
use switchhook_core::private::Private;
use switchhook_net::outbound::LookupError;
use switchhook_net::text::{content_type, text};
use url::Url;

use super::FIRST_BYTE;
use crate::failure::{
    Classified, ErrorMessage, FailureClass, classify_body, classify_message, classify_response, is_error,
};
use crate::{CONNECT_TIMEOUT, ProviderError};

/// How much of an error body is read.
const BODY: usize = 16 * 1024;
/// How long it may take.
const BODY_TIME: Duration = Duration::from_secs(2);

/// Why there is no response. Its words may be shown to the customer, and are not for the log: they may quote the caller.
#[derive(Clone, PartialEq)]
pub(crate) struct LlmFailure {
    pub(super) retry: Retry,
    kind: FailureKind,
    words: ErrorMessage,
}

/// Whether and how to retry.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Retry {
    /// Nothing.
    None,
    /// The same once more, after at least this long.
    Same {
        /// As the server asks.
        after: Duration,
    },
    /// A shorter conversation.
    Shortened,
    /// The conversation without what the caller said last.
    Withheld,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum FailureKind {
    /// Credentials or settings.
    Configuration,
    Provider,
    /// It has no room for so long.
    Busy(Duration),
    Timeout(Duration),
}

const AT_ONCE: Retry = Retry::Same { after: Duration::ZERO };

impl LlmFailure {
    fn provider(retry: Retry, words: impl Into<String>) -> Self {
        Self { retry, kind: FailureKind::Provider, words: ErrorMessage::new(words) }
    }

    /// It waits no longer for something that takes longer than `waited`. The turn engine knows better than to wait again.
    pub(super) fn timeout(waited: Duration) -> Self {
        Self { retry: Retry::None, kind: FailureKind::Timeout(waited), words: ErrorMessage::new("") }
    }

    /// The connection broke, or none came about.
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

    /// Some servers do so when the conversation is longer than their model can read.
    pub(super) fn empty() -> Self {
        Self::provider(Retry::Shortened, "it sent an empty response; the conversation may be too long for the model")
    }

    /// The stream ended before the response did.
    pub(crate) fn cut_off() -> Self {
        Self::provider(AT_ONCE, "its response was cut off")
    }

    /// The model returned something that is of no use; another try may give something else.
    pub(crate) fn unusable(words: impl Into<String>) -> Self {
        Self::provider(AT_ONCE, words)
    }

    /// The model, or a filter before it, refuses to respond to this.
    pub(crate) fn content_refused(words: impl Into<String>) -> Self {
        Self::provider(Retry::Withheld, words)
    }

    /// The model responded, and said and did nothing.
    pub(super) fn empty_response() -> Self {
        Self::unusable("its response was empty")
    }

    /// The conversation is longer than the model can read.
    pub(crate) fn too_long() -> Self {
        Self::provider(Retry::Shortened, "the conversation is too long for the model")
    }

    /// An error inside a response whose status was 200, if there is one.
    pub(crate) fn in_response(event: &Value) -> Option<Self> {
        is_error(event).then(|| Self::classified(classify_message(event)))
    }

    /// A whole body that is an error though its status was a success.
    pub(super) fn in_body(body: &Value, url: &Url) -> Self {
        let failure = Self::classified(classify_body(body));
        Self { words: ErrorMessage::about(failure.words.clone().without_key(None), url), ..failure }
    }

    /// A body that is no response of any interface: something else listens there.
    pub(super) fn no_response(words: String, url: &Url) -> Self {
        Self { retry: Retry::None, kind: FailureKind::Configuration, words: ErrorMessage::about(words, url) }
    }

    /// Whether credentials or settings are to blame.
    pub(super) fn blames_settings(&self) -> bool {
        self.kind == FailureKind::Configuration
    }

    /// The server's sentence.
    pub(super) fn reason(&self) -> &str {
        self.words.reason()
    }

    /// Whether the server's words hold one of these, in lower case.
    pub(crate) fn mentions(&self, signs: &[&str]) -> bool {
        self.words.mentions(signs)
    }

    /// A failure by status.
    pub(super) async fn read(response: reqwest::Response) -> Self {
        let (status, headers, url) = (response.status().as_u16(), response.headers().clone(), response.url().clone());
        let body = tokio::time::timeout(BODY_TIME, beginning(response)).await.unwrap_or_default();
        Self::classified(classify_response(status, &headers, &text(content_type(&headers), &body)).at_url(&url))
    }

    /// The response to a request that every key may make, if it says that the key is wrong. A key that may not list models, which
    /// OpenAI calls a missing scope, may yet be good for completions.
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

    /// A word for the log.
    pub(super) fn kind(&self) -> &'static str {
        match (self.kind, self.retry) {
            (FailureKind::Timeout(_), _) => "it was timeout",
            (_, Retry::Shortened) => "the conversation is too long",
            (_, Retry::Withheld) => "it refuses the conversation",
            (FailureKind::Configuration, _) => "it refuses the settings",
            (FailureKind::Provider | FailureKind::Busy(_), _) => "it failed",
        }
    }

    pub(super) fn into_error(self, provider: &'static str, key: Option<&Private<String>>) -> ProviderError {
        let words = self.words.without_key(key);
        match self.kind {
            FailureKind::Configuration => ProviderError::Config { provider, words },
            FailureKind::Provider => ProviderError::Failed { provider, words },
            FailureKind::Busy(retry_after) => ProviderError::busy(provider, words, retry_after),
            FailureKind::Timeout(waited) => ProviderError::timeout(provider, waited),
        }
    }
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
