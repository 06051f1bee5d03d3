//! Why a language model did not answer, in its own words, and whether asking again can help.

use std::time::Duration;

use futures_util::StreamExt as _;
use serde_json::Value;

use super::Server;
use super::server::FIRST_BYTE;
use crate::outbound::LookupError;
use crate::providers::ProviderError;
use crate::providers::refusal::{Judged, Verdict, Words, answered, is_error, said};

/// How much of a refusal's body is read.
const BODY: usize = 16 * 1024;
/// How long it may take.
const BODY_TIME: Duration = Duration::from_secs(2);

/// Why there is no answer. Its words may be shown to the customer, and are not for the log: they may quote the caller.
#[derive(Clone, PartialEq)]
pub(crate) struct Refusal {
    pub(super) remedy: Remedy,
    fault: Fault,
    words: Words,
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
    /// It has no room for so long.
    Busy(Duration),
    Late(Duration),
}

const AT_ONCE: Remedy = Remedy::Again { after: Duration::ZERO };

impl Refusal {
    fn theirs(remedy: Remedy, words: impl Into<String>) -> Self {
        Self { remedy, fault: Fault::Theirs, words: Words::new(words) }
    }

    /// It waits no longer for something that takes longer than `waited`. The turn engine knows better than to wait again.
    pub(super) fn late(waited: Duration) -> Self {
        Self { remedy: Remedy::None, fault: Fault::Late(waited), words: Words::new("") }
    }

    /// The connection broke, or none came about.
    pub(super) fn broken(error: reqwest::Error) -> Self {
        if let Some(refused) = LookupError::in_chain(&error) {
            return Self {
                remedy: Remedy::None,
                fault: Fault::Ours,
                words: Words::new(format!("the host of settings.base_url: {refused}")),
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

    /// The model answered, and said and did nothing.
    pub(super) fn silent() -> Self {
        Self::useless("it answered with nothing")
    }

    /// The conversation is longer than the model can read.
    pub(crate) fn too_long() -> Self {
        Self::theirs(Remedy::Shorter, "the conversation is too long for the model")
    }

    /// An error that stands in an answer whose status was 200, if there is one.
    pub(crate) fn in_answer(event: &Value) -> Option<Self> {
        is_error(event).then(|| Self::judged(said(event)))
    }

    /// A refusal by status.
    pub(super) async fn read(response: reqwest::Response) -> Self {
        let (status, headers, url) = (response.status().as_u16(), response.headers().clone(), response.url().clone());
        let body = tokio::time::timeout(BODY_TIME, beginning(response)).await.unwrap_or_default();
        Self::judged(answered(status, &headers, &String::from_utf8_lossy(&body)).asked_at(&url))
    }

    /// The answer to a request that every key may make, if it says that the key is wrong. A key that may not list models, which
    /// OpenAI calls a missing scope, may yet be good for answers.
    pub(super) async fn of_key(response: reqwest::Response) -> Option<Self> {
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        if !matches!(status, 400 | 401) {
            return None;
        }
        let body = tokio::time::timeout(BODY_TIME, beginning(response)).await.unwrap_or_default();
        let body = String::from_utf8_lossy(&body);
        let wrong = if status == 401 { !body.contains("scope") } else { body.contains("API_KEY_INVALID") };
        wrong.then(|| Self::judged(answered(status, &headers, &body)))
    }

    fn judged(judged: Judged) -> Self {
        let Judged { verdict, words, again, busy } = judged;
        let again = again.map_or(Remedy::None, |after| Remedy::Again { after });
        let (fault, remedy) = match verdict {
            Verdict::Ours => (Fault::Ours, again),
            Verdict::Theirs => (busy.map_or(Fault::Theirs, Fault::Busy), again),
            Verdict::Late => (Fault::Late(FIRST_BYTE), again),
            Verdict::TooLong => (Fault::Theirs, Remedy::Shorter),
            Verdict::Unwilling => (Fault::Theirs, Remedy::None),
        };
        Self { remedy, fault, words }
    }

    /// A word for the log.
    pub(super) fn kind(&self) -> &'static str {
        match (self.fault, self.remedy) {
            (Fault::Late(_), _) => "it was late",
            (_, Remedy::Shorter) => "the conversation is too long",
            (Fault::Ours, _) => "it refuses the settings",
            (Fault::Theirs | Fault::Busy(_), _) => "it failed",
        }
    }

    pub(super) fn into_error(self, provider: &'static str, server: &Server) -> ProviderError {
        let words = self.words.without_key(server.key());
        match self.fault {
            Fault::Ours => ProviderError::Config { provider, words },
            Fault::Theirs => ProviderError::Failed { provider, words },
            Fault::Busy(retry_after) => ProviderError::busy(provider, words, retry_after),
            Fault::Late(waited) => ProviderError::timeout(provider, waited),
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
