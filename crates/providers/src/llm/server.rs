//! An LLM server: its address, its key, and the request options of a connection's settings.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use reqwest::Method;
use reqwest::header::{ACCEPT_ENCODING, HeaderName};
use serde_json::{Map, Value};
use switchhook_core::private::Private;
use switchhook_net::outbound::unpacked;
use tokio::time::Instant;

use super::{FIRST_BYTE, LlmFailure};
use crate::LlmRequest;
use crate::adapter_config::{AdapterConfig, signed, versioned, with_version};
use crate::extras::{Extras, object};

/// Body fields that settings must not override.
const OWN_FIELDS: [&str; 7] = ["contents", "messages", "model", "stream", "system", "systemInstruction", "tools"];

/// How long most servers, and our client, keep an idle connection open.
const IDLE_CONNECTION_LIFETIME: Duration = Duration::from_secs(45);
/// The range of customers' timeouts, in milliseconds. The turn engine waits for ten seconds at most.
const TIMEOUT_RANGE_MS: std::ops::RangeInclusive<u64> = 50..=10_000;

/// Timeouts of each step of a response.
#[derive(Clone, Copy)]
pub(super) struct LlmTimeouts {
    /// For the headers of a response.
    pub(super) first_byte: Duration,
    /// For its first words.
    pub(super) first_word: Duration,
    /// Between two pieces of it, including comments.
    pub(super) gap: Duration,
}

impl LlmTimeouts {
    fn read(settings: &Map<String, Value>) -> Result<Self, String> {
        let set = object(settings, "timeouts_ms")?;
        let ms = |name: &str, default: Duration| match set.and_then(|set| set.get(name)) {
            None => Ok(default),
            Some(value) => {
                value.as_u64().filter(|ms| TIMEOUT_RANGE_MS.contains(ms)).map(Duration::from_millis).ok_or_else(|| {
                    format!(
                        "settings.timeouts_ms.{name} must be from {} to {}.",
                        TIMEOUT_RANGE_MS.start(),
                        TIMEOUT_RANGE_MS.end()
                    )
                })
            }
        };
        Ok(Self {
            first_byte: ms("first_byte", FIRST_BYTE)?,
            first_word: ms("first_word", Duration::from_secs(8))?,
            gap: ms("gap", Duration::from_secs(8))?,
        })
    }
}

/// The settings that [`LlmServer::read`] reads besides `base_url`.
pub(crate) const LLM_SETTINGS: &[&str] = &["model", "headers", "query", "request", "timeouts_ms"];

/// One connection's model server.
pub(crate) struct LlmServer {
    http: reqwest::Client,
    base: String,
    key: Option<Private<String>>,
    /// The header of the key; `None` means a bearer token.
    key_header: Option<HeaderName>,
    model: Option<String>,
    extras: Extras,
    fields: Map<String, Value>,
    timeouts: LlmTimeouts,
    /// When the server last responded.
    responded: Mutex<Option<Instant>>,
}

impl LlmServer {
    /// Reads `base_url`, `model`, the extra `headers`, `query` parameters and body fields of every request (`request`, a merge patch:
    /// `null` removes a field), and `timeouts_ms` with `first_byte`, `first_word` and `gap`.
    ///
    /// # Errors
    /// A sentence that names the setting and says what is wrong with it.
    pub(crate) fn read(
        config: &AdapterConfig<'_>,
        usual_url: &str,
        key_header: Option<HeaderName>,
    ) -> Result<Self, String> {
        let settings = config.settings;
        let fields = object(settings, "request")?.cloned().unwrap_or_default();
        if let Some(own) = OWN_FIELDS.iter().find(|own| fields.contains_key(**own)) {
            return Err(format!("settings.request must not contain {own}."));
        }
        Ok(Self {
            http: config.http.clone(),
            base: config.base_url(usual_url)?,
            key: config.key.clone(),
            key_header,
            model: config.text("model")?.map(str::to_owned),
            extras: Extras::read(settings)?,
            fields,
            timeouts: LlmTimeouts::read(settings)?,
            responded: Mutex::default(),
        })
    }

    /// Returns the base URL, with `/` and `version` appended if it has no path.
    pub(crate) fn versioned(&self, version: &str) -> String {
        versioned(&self.base, version)
    }

    /// Returns the base URL, with `/` and `version` appended unless its path contains a version.
    pub(crate) fn with_version(&self, version: &str) -> String {
        with_version(&self.base, version)
    }

    /// Returns the agent's model, the connection's, or the provider's default.
    pub(crate) fn model<'a>(&'a self, request: &'a LlmRequest, default: &'a str) -> &'a str {
        request.model.as_deref().or(self.model.as_deref()).unwrap_or(default)
    }

    /// Returns the token limit that the settings put in place of a request's, if they do; `null` removes it.
    pub(super) fn token_limit(&self) -> Option<&Value> {
        let nested = self.fields.get("generationConfig").and_then(|config| config.get("maxOutputTokens"));
        let set = [self.fields.get("max_tokens"), self.fields.get("max_completion_tokens"), nested];
        let mut set = set.into_iter().flatten();
        let first = set.next()?;
        Some(std::iter::once(first).chain(set).find(|limit| limit.is_u64()).unwrap_or(first))
    }

    pub(super) fn timeouts(&self) -> LlmTimeouts {
        self.timeouts
    }

    /// Returns the key, if the connection has one.
    pub(crate) fn key(&self) -> Option<&Private<String>> {
        self.key.as_ref()
    }

    /// Builds a GET request to `url` with the key and the connection's settings.
    pub(crate) fn get(&self, url: &str) -> reqwest::RequestBuilder {
        self.request(Method::GET, url)
    }

    /// Builds a POST request to `url` with the key and the connection's settings.
    pub(crate) fn post(&self, url: &str, mut body: Value) -> reqwest::RequestBuilder {
        merge(&mut body, &self.fields);
        // Servers and proxies that compress a stream buffer it.
        self.request(Method::POST, url).header(ACCEPT_ENCODING, "identity").json(&body)
    }

    fn request(&self, method: Method, url: &str) -> reqwest::RequestBuilder {
        signed(self.extras.request(&self.http, method, url), self.key(), self.key_header.as_ref())
    }

    /// Sends a request. Fails unless the response's status is a success.
    pub(super) async fn send(&self, request: reqwest::RequestBuilder) -> Result<reqwest::Response, LlmFailure> {
        let response = request.send().await.map(unpacked).map_err(LlmFailure::broken)?;
        if !response.status().is_success() {
            return Err(LlmFailure::read(response).await);
        }
        self.warmed();
        Ok(response)
    }

    /// Returns whether a connection to the server is probably still open.
    pub(super) fn is_warm(&self) -> bool {
        let responded = *self.responded.lock().unwrap_or_else(PoisonError::into_inner);
        responded.is_some_and(|at| at.elapsed() < IDLE_CONNECTION_LIFETIME)
    }

    pub(super) fn warmed(&self) {
        *self.responded.lock().unwrap_or_else(PoisonError::into_inner) = Some(Instant::now());
    }
}

/// Applies a JSON Merge Patch (RFC 7396).
fn merge(target: &mut Value, patch: &Map<String, Value>) {
    if !target.is_object() {
        *target = Value::Object(Map::new());
    }
    let Some(fields) = target.as_object_mut() else { return };
    for (name, value) in patch {
        match value {
            Value::Null => drop(fields.remove(name)),
            Value::Object(inner) => merge(fields.entry(name.clone()).or_insert(Value::Null), inner),
            value => drop(fields.insert(name.clone(), value.clone())),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use switchhook_core::webhook::AddressPolicy;
    use switchhook_net::outbound::NetworkSettings;
    use switchhook_net::outbound::ws::WebSockets;

    use super::*;

    fn with(settings: Value) -> Result<LlmServer, String> {
        switchhook_net::install_tls();
        let addresses = AddressPolicy::default();
        let config = AdapterConfig {
            http: &reqwest::Client::new(),
            websockets: &WebSockets::new(&NetworkSettings::default(), &addresses).expect("a client"),
            addresses: &addresses,
            settings: settings.as_object().expect("an object"),
            key: Some(Private::new("s3cret".to_owned())),
        };
        LlmServer::read(&config, "https://models.example.com/", Some(HeaderName::from_static("x-api-key")))
    }

    #[test]
    fn settings_shape_every_request() {
        let server = with(json!({
            "headers": { "X-Title": "Harbor" }, "query": { "api-version": "2026-01-01" },
            "request": { "temperature": null, "reasoning": { "effort": "low" } },
        }));
        let server = server.expect("good settings");
        let body = json!({ "temperature": 0.5, "reasoning": { "summary": "no" }, "n": 1 });
        let request = server.post(&format!("{}/x", server.versioned("v1")), body).build().expect("a request");
        assert_eq!(request.url().as_str(), "https://models.example.com/v1/x?api-version=2026-01-01");
        assert_eq!(
            (&request.headers()["x-title"], &request.headers()["x-api-key"]),
            (&"Harbor".parse().unwrap(), &"s3cret".parse().unwrap())
        );
        let sent: Value =
            serde_json::from_slice(request.body().and_then(|b| b.as_bytes()).expect("bytes")).expect("JSON");
        assert_eq!(sent, json!({ "reasoning": { "summary": "no", "effort": "low" }, "n": 1 }));
    }

    #[test]
    fn settings_of_no_use_are_named() {
        for (settings, words) in [
            (json!({ "headers": { "Authorization": "Bearer x" } }), "credentials.api_key"),
            (json!({ "headers": { "a b": "x" } }), "settings.headers.a b"),
            (json!({ "query": { "v": 1 } }), "settings.query.v"),
            (json!({ "model": 7 }), "settings.model must be text"),
            (json!({ "base_url": "http://10.0.0.1" }), "settings.base_url"),
            (json!({ "request": [] }), "settings.request must be an object"),
            (json!({ "request": { "stream": false } }), "must not contain stream"),
            (json!({ "timeouts_ms": { "gap": 60_000 } }), "settings.timeouts_ms.gap must be from"),
        ] {
            let refused = with(settings).err().expect("of no use");
            assert!(refused.contains(words), "{refused}");
        }
    }
}
