//! What a provider's refusal means, in its own words. None of this ever holds the key.

use std::time::Duration;

use reqwest::header::HeaderMap;
use serde_json::Value;
use switchhook_core::private::Private;

use super::ProviderError;
use crate::outbound::SendError;
use crate::outbound::ws::OpenError;

/// The longest words that are passed on, in characters.
const LONGEST: usize = 300;
/// The longest pause a provider may ask for; whoever asks for more is given up.
const LONGEST_PAUSE: Duration = Duration::from_secs(2);
/// Headers by which a provider finds the request again.
const REQUEST_IDS: [&str; 3] = ["dg-request-id", "x-request-id", "request-id"];

/// Something that did not work, and after how long it may be tried again.
#[derive(Clone, Debug)]
pub(crate) struct Trouble {
    pub(crate) error: ProviderError,
    /// Nothing when trying again would not help, or only much later.
    pub(crate) again: Option<Duration>,
}

impl Trouble {
    /// The provider cannot be used as it is set up.
    pub(crate) fn config(provider: &'static str, words: String) -> Self {
        Self { error: ProviderError::Config { provider, words }, again: None }
    }

    /// Another try may do better.
    pub(crate) fn failed(provider: &'static str, words: String) -> Self {
        Self { error: ProviderError::Failed { provider, words }, again: Some(Duration::ZERO) }
    }

    /// Nothing came in time; another try may do better.
    pub(crate) fn timeout(provider: &'static str, waited: Duration) -> Self {
        let waited_ms = u64::try_from(waited.as_millis()).unwrap_or(u64::MAX);
        Self { error: ProviderError::Timeout { provider, waited_ms }, again: Some(Duration::ZERO) }
    }

    /// A websocket that did not open. `waited` is for a server that says itself that it took too long.
    pub(crate) fn opening(
        provider: &'static str,
        error: OpenError,
        key: Option<&Private<String>>,
        waited: Duration,
    ) -> Self {
        match error {
            OpenError::Refused(refused) => {
                let (answer, headers) = (&refused.answer, &refused.headers);
                Self::answered(provider, answer.status, headers, &answer.excerpt, key, waited)
            }
            OpenError::NoAnswer(SendError::Timeout(waited)) => Self::timeout(provider, waited),
            OpenError::NoAnswer(error @ (SendError::Url(_) | SendError::Refused(_))) => {
                Self::config(provider, error.to_string())
            }
            error => Self::failed(provider, error.to_string()),
        }
    }

    /// An HTTP answer that is a refusal.
    pub(crate) fn answered(
        provider: &'static str,
        status: u16,
        headers: &HeaderMap,
        body: &str,
        key: Option<&Private<String>>,
        waited: Duration,
    ) -> Self {
        let words = without_key(sentence(status, headers, body), key);
        let asked = retry_after(headers).unwrap_or(Duration::ZERO);
        let again = (asked <= LONGEST_PAUSE).then_some(asked);
        match status {
            408 | 504 => Self { again, ..Self::timeout(provider, waited) },
            // Waiting does not fill an account.
            429 if body.contains("insufficient_quota") => Self::config(provider, words),
            429 | 500..=599 => Self { again, ..Self::failed(provider, words) },
            _ => Self::config(provider, words),
        }
    }
}

/// Words without the key, should the provider repeat it.
pub(crate) fn without_key(words: String, key: Option<&Private<String>>) -> String {
    match key.map(|key| key.reveal().as_str()) {
        Some(key) if !key.is_empty() => words.replace(key, "…"),
        _ => words,
    }
}

fn sentence(status: u16, headers: &HeaderMap, body: &str) -> String {
    let header = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    let reason = header("dg-error").map(str::to_owned).or_else(|| words(body));
    let id = REQUEST_IDS.iter().find_map(|name| header(name));
    let rate = if status == 429 { "provider rate limit: " } else { "" };
    let reason = reason.unwrap_or_else(|| "it refused".to_owned());
    match id {
        Some(id) => format!("{rate}{reason} (status {status}, request {id})"),
        None => format!("{rate}{reason} (status {status})"),
    }
}

/// The words in the body of a refusal: the shapes that providers and their frameworks use, or plain text.
fn words(body: &str) -> Option<String> {
    let found = match serde_json::from_str::<Value>(body) {
        Ok(body) => in_json(&body),
        Err(_) if body.trim_start().starts_with('<') => None,
        Err(_) => Some(body.trim().to_owned()),
    };
    found.filter(|words| !words.is_empty()).map(|words| words.chars().take(LONGEST).collect())
}

fn in_json(body: &Value) -> Option<String> {
    match body {
        Value::String(words) => Some(words.clone()),
        Value::Array(items) => items.first().and_then(in_json),
        Value::Object(fields) => {
            let names = ["message", "err_msg", "msg", "error", "detail", "reason", "title"];
            names.iter().filter_map(|name| fields.get(*name)).find_map(in_json)
        }
        _ => None,
    }
}

/// How long the server asks us to wait, in seconds.
fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let seconds: f64 = headers.get("retry-after")?.to_str().ok()?.trim().parse().ok()?;
    (seconds.is_finite() && seconds >= 0.0).then(|| Duration::from_secs_f64(seconds.min(3_600.0)))
}

#[cfg(test)]
mod tests {
    use super::*;

    const WAITED: Duration = Duration::from_secs(3);

    fn trouble(status: u16, headers: &[(&'static str, &'static str)], body: &str) -> Trouble {
        let headers = headers.iter().map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap())).collect();
        Trouble::answered("deepgram", status, &headers, body, Some(&Private::new("s3cret".to_owned())), WAITED)
    }

    #[test]
    fn the_providers_own_words_are_found_in_whatever_shape() {
        for (headers, body, words) in [
            (vec![], r#"{"error":{"message":"No such model","code":"x"}}"#, "No such model (status 400)"),
            (vec![], r#"{"detail":[{"msg":"field required"}]}"#, "field required (status 400)"),
            (vec![], r#"{"detail":{"status":"x","message":"Bad key s3cret"}}"#, "Bad key … (status 400)"),
            (vec![("dg-error", "Bad encoding"), ("dg-request-id", "r1")], "", "Bad encoding (status 400, request r1)"),
            (vec![("x-request-id", "r2")], "plain", "plain (status 400, request r2)"),
            (vec![], "<html>", "it refused (status 400)"),
            (vec![], "{}", "it refused (status 400)"),
        ] {
            let error = trouble(400, &headers, body).error;
            assert!(matches!(&error, ProviderError::Config { words: found, .. } if found == words), "{error}");
        }
    }

    #[test]
    fn what_may_be_tried_again_and_when_follows_from_the_status() {
        let secs = Duration::from_secs;
        for (status, retry_after, code, again) in [
            (401, "1", "config_error", None),
            (402, "", "config_error", None),
            (404, "", "config_error", None),
            (429, "1", "pipeline_error", Some(secs(1))),
            (429, "30", "pipeline_error", None),
            (503, "", "pipeline_error", Some(secs(0))),
            (504, "", "provider_timeout", Some(secs(0))),
        ] {
            let headers: &[_] = if retry_after.is_empty() { &[] } else { &[("retry-after", retry_after)] };
            let trouble = trouble(status, headers, "no");
            let found = serde_json::to_value(trouble.error.code()).expect("a word");
            assert_eq!((found.as_str(), trouble.again), (Some(code), again), "{status}");
        }
        let poor = trouble(429, &[], r#"{"error":{"message":"Pay.","code":"insufficient_quota"}}"#);
        assert!(matches!(poor.error, ProviderError::Config { .. }) && poor.again.is_none(), "waiting does not help");
    }
}
