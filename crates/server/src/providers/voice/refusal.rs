//! A refusal: the error that a call ends with, in the provider's own words, and whether asking again may help.

use std::time::Duration;

use serde_json::Value;
use switchhook_core::private::Private;

use crate::outbound::SendError;
use crate::outbound::ws::{CloseFrame, OpenError};
use crate::providers::ProviderError;

/// As much of a provider's words as is kept, in characters.
const LONGEST_WORDS: usize = 300;
/// Parts of error codes that say that somebody has to change the connection, the agent or the account.
const FOR_THE_CUSTOMER: [&str; 13] = [
    "api_key",
    "unauthorized",
    "authentication",
    "permission",
    "quota_exceeded",
    "insufficient_quota",
    "billing",
    "payment",
    "voice_not_found",
    "voice_id_does_not_exist",
    "invalid_uid",
    "model_not_found",
    "output_format",
];

/// Why an attempt to speak came to nothing.
#[derive(Clone, Debug)]
pub(crate) struct Refusal {
    /// What the call fails with when no other attempt is made.
    error: ProviderError,
    /// After how long it may be tried again; never when absent.
    pub(crate) again: Option<Duration>,
}

impl Refusal {
    /// Asking again would not help.
    pub(crate) fn last(error: ProviderError) -> Self {
        Self { error, again: None }
    }

    /// What was waited for did not come.
    pub(crate) fn late(provider: &'static str, waited: Duration) -> Self {
        let waited_ms = u64::try_from(waited.as_millis()).unwrap_or(u64::MAX);
        Self::last(ProviderError::Timeout { provider, waited_ms })
    }

    /// The provider sent something that cannot be used.
    pub(crate) fn nonsense(provider: &'static str, words: impl Into<String>) -> Self {
        Self::last(ProviderError::Failed { provider, words: words.into() })
    }

    /// The connection is gone.
    pub(crate) fn lost(provider: &'static str, words: impl Into<String>) -> Self {
        Self { error: ProviderError::Failed { provider, words: words.into() }, again: Some(Duration::ZERO) }
    }

    /// What a provider says went wrong, where only its words tell whose doing it is.
    pub(crate) fn said(provider: &'static str, words: String) -> Self {
        if FOR_THE_CUSTOMER.iter().any(|part| words.contains(part)) {
            return Self::last(ProviderError::Config { provider, words });
        }
        Self::lost(provider, words)
    }

    /// An HTTP status, or the like of one inside a message.
    pub(crate) fn status(
        provider: &'static str,
        status: u16,
        retry_after: Option<&str>,
        words: Option<String>,
    ) -> Self {
        let words = words.unwrap_or_else(|| format!("it answered with status {status}"));
        let seconds = retry_after.and_then(|seconds| seconds.trim().parse::<f64>().ok());
        let asked = seconds.filter(|seconds| (0.0..3_600.0).contains(seconds)).map(Duration::from_secs_f64);
        match status {
            429 if words.contains("insufficient_quota") || words.contains("billing") => {
                Self::last(ProviderError::Config { provider, words })
            }
            408 | 409 | 429 | 500..=599 => {
                Self { again: asked.or(Some(Duration::ZERO)), ..Self::lost(provider, words) }
            }
            _ => Self::last(ProviderError::Config { provider, words }),
        }
    }

    /// The error code of a call that ends by this.
    pub(crate) fn code(&self) -> &'static str {
        self.error.code().as_str()
    }

    /// No websocket came about.
    pub(crate) fn opening(provider: &'static str, error: &OpenError) -> Self {
        match error {
            OpenError::Refused(refused) => {
                let header = || refused.headers.get("dg-error")?.to_str().ok().map(shortened);
                let words = words_of(refused.answer.excerpt.as_bytes()).or_else(header);
                Self::status(provider, refused.answer.status, refused.answer.retry_after.as_deref(), words)
            }
            OpenError::NoAnswer(error) => Self::no_answer(provider, error),
            OpenError::NotWebSocket(_) => Self::last(ProviderError::Config { provider, words: error.to_string() }),
        }
    }

    /// Nothing came back.
    pub(crate) fn no_answer(provider: &'static str, error: &SendError) -> Self {
        match error {
            SendError::Timeout(waited) => Self::late(provider, *waited),
            SendError::Url(_) | SendError::Refused(_) => {
                Self::last(ProviderError::Config { provider, words: error.to_string() })
            }
            SendError::Unknown | SendError::Connect(_) | SendError::Broken(_) => {
                Self::lost(provider, error.to_string())
            }
        }
    }

    /// The error without the key, which whoever refuses it may quote.
    pub(crate) fn into_error(self, key: Option<&Private<String>>) -> ProviderError {
        let Some(key) = key.map(Private::reveal).filter(|key| !key.is_empty()) else { return self.error };
        let clean = |words: String| words.replace(key.as_str(), "••••");
        match self.error {
            ProviderError::Config { provider, words } => ProviderError::Config { provider, words: clean(words) },
            ProviderError::Failed { provider, words } => ProviderError::Failed { provider, words: clean(words) },
            late @ ProviderError::Timeout { .. } => late,
        }
    }

    /// The provider closed the websocket (RFC 6455 section 7.4).
    pub(crate) fn closed(provider: &'static str, frame: Option<&CloseFrame>) -> Self {
        let Some(frame) = frame else { return Self::lost(provider, "it closed the connection") };
        let code = u16::from(frame.code);
        if frame.reason.is_empty() {
            return Self::lost(provider, format!("it closed the connection with code {code}"));
        }
        let refusal = Self::said(provider, format!("{} (code {code})", shortened(frame.reason.as_str())));
        // 1007 and 1008: what was sent is at fault, and would be again.
        if matches!(code, 1007 | 1008) { Self::last(refusal.error) } else { refusal }
    }
}

/// The words in a body, if it is an error in any of the shapes that providers use.
pub(crate) fn words_of(body: &[u8]) -> Option<String> {
    words_in(&serde_json::from_slice(body).ok()?)
}

/// The same for a message.
pub(crate) fn words_in(body: &Value) -> Option<String> {
    let text = |value: &Value, names: &[&str]| {
        let mut found = names.iter().filter_map(|name| value.get(*name)?.as_str());
        found.find(|text| !text.is_empty()).map(str::to_owned)
    };
    // Some put the error into `error` or `detail`, some into the body itself; a list holds one per invalid field.
    let within = [body.get("error"), body.get("detail"), body.pointer("/detail/0")];
    let inner = within.into_iter().flatten().find(|inner| inner.is_object()).unwrap_or(body);
    let message = text(inner, &["message", "msg", "err_msg", "description", "title", "detail", "error"])?;
    let code = text(inner, &["code", "status", "error_code", "err_code", "error"]).filter(|code| *code != message);
    Some(shortened(&match code {
        Some(code) => format!("{message} ({code})"),
        None => message,
    }))
}

fn shortened(words: &str) -> String {
    words.chars().take(LONGEST_WORDS).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn every_providers_words_are_found() {
        for (body, words) in [
            (json!({ "error": { "message": "no such voice", "code": "voice" } }), "no such voice (voice)"),
            (json!({ "error": "Model is loading" }), "Model is loading"),
            (json!({ "detail": { "status": "invalid_uid", "message": "An id." } }), "An id. (invalid_uid)"),
            (json!({ "detail": [{ "loc": ["body"], "msg": "field required" }] }), "field required"),
            (json!({ "detail": "Not found" }), "Not found"),
            (json!({ "error": "max_active", "message": "Too many", "code": 1008 }), "Too many (max_active)"),
            (
                json!({ "title": "No", "message": "Bad model", "error_code": "model_not_found" }),
                "Bad model (model_not_found)",
            ),
            (
                json!({ "err_code": "INVALID_AUTH", "err_msg": "Invalid credentials." }),
                "Invalid credentials. (INVALID_AUTH)",
            ),
        ] {
            assert_eq!(words_in(&body).as_deref(), Some(words), "{body}");
        }
        assert_eq!(words_of(b"<html>"), None);
    }

    #[test]
    fn the_status_says_whose_doing_it_is_and_whether_to_ask_again() {
        let verdict = |status, retry_after, words: &str| {
            let refusal = Refusal::status("double", status, retry_after, Some(words.to_owned()));
            (refusal.code(), refusal.again.map(|again| again.as_millis()))
        };
        for status in [400, 401, 402, 403, 404, 422] {
            assert_eq!(verdict(status, None, ""), ("config_error", None), "{status}");
        }
        assert_eq!(verdict(429, Some("1.5"), ""), ("pipeline_error", Some(1_500)));
        assert_eq!(verdict(429, None, "insufficient_quota"), ("config_error", None));
        assert_eq!(verdict(503, Some("never"), ""), ("pipeline_error", Some(0)));
    }
}
