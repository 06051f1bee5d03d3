//! Where a language model is served, and what is peculiar to asking there: what a connection's settings say.

use std::time::Duration;

use serde_json::{Map, Value};
use switchhook_core::private::Private;

use super::Refusal;
use crate::providers::LlmRequest;
use crate::providers::connect::versioned;
use crate::providers::extras::{Extras, object};
pub(super) use crate::providers::registry::CONNECT;

/// What is asked is not for settings to say.
const OWN_FIELDS: [&str; 7] = ["contents", "messages", "model", "stream", "system", "systemInstruction", "tools"];

/// Until the headers of an answer.
pub(super) const FIRST_BYTE: Duration = Duration::from_secs(5);
/// What a customer may set instead, in milliseconds. The turn engine waits for ten seconds at most.
const PATIENCE: std::ops::RangeInclusive<u64> = 50..=10_000;

/// How long each step of an answer may take.
#[derive(Clone, Copy)]
pub(super) struct Patience {
    /// Until the headers of an answer.
    pub(super) first_byte: Duration,
    /// Until its first words.
    pub(super) first_word: Duration,
    /// Between two pieces of it, comments included.
    pub(super) gap: Duration,
}

impl Patience {
    fn read(settings: &Map<String, Value>) -> Result<Self, String> {
        let set = object(settings, "timeouts_ms")?;
        let ms = |name: &str, usual: Duration| match set.and_then(|set| set.get(name)) {
            None => Ok(usual),
            Some(value) => {
                value.as_u64().filter(|ms| PATIENCE.contains(ms)).map(Duration::from_millis).ok_or_else(|| {
                    format!("settings.timeouts_ms.{name} must be from {} to {}.", PATIENCE.start(), PATIENCE.end())
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

/// One connection's model server.
pub(crate) struct Server {
    http: reqwest::Client,
    base: String,
    key: Option<Private<String>>,
    model: Option<String>,
    extras: Extras,
    fields: Map<String, Value>,
    patience: Patience,
}

impl Server {
    /// As the settings say: `model`; of every request further `headers`, `query` parameters, and fields (`request`, a
    /// merge patch: `null` takes a field out); and `timeouts_ms`: `first_byte`, `first_word` and `gap`.
    ///
    /// # Errors
    /// What is wrong with which setting, in a sentence.
    pub(crate) fn new(
        http: reqwest::Client,
        base_url: &str,
        key: Option<Private<String>>,
        settings: &Map<String, Value>,
    ) -> Result<Self, String> {
        let model = settings.get("model").and_then(Value::as_str).filter(|model| !model.is_empty());
        let fields = object(settings, "request")?.cloned().unwrap_or_default();
        if let Some(own) = OWN_FIELDS.iter().find(|own| fields.contains_key(**own)) {
            return Err(format!("settings.request must not contain {own}."));
        }
        Ok(Self {
            http,
            base: base_url.trim_end_matches('/').to_owned(),
            key,
            model: model.map(str::to_owned),
            extras: Extras::read(settings)?,
            fields,
            patience: Patience::read(settings)?,
        })
    }

    /// The base address, with `/` and `version` behind it where it has no path of its own.
    pub(crate) fn versioned(&self, version: &str) -> String {
        versioned(&self.base, version)
    }

    /// The agent's model, the connection's, or the provider's usual one.
    pub(crate) fn model<'a>(&'a self, request: &'a LlmRequest, usual: &'a str) -> &'a str {
        request.model.as_deref().or(self.model.as_deref()).unwrap_or(usual)
    }

    pub(super) fn patience(&self) -> Patience {
        self.patience
    }

    /// The secret, if the connection has one.
    pub(crate) fn key(&self) -> Option<&Private<String>> {
        self.key.as_ref()
    }

    /// A request to `url`, changed as the settings say.
    pub(crate) fn post(&self, url: &str, mut body: Value) -> reqwest::RequestBuilder {
        merge(&mut body, &self.fields);
        self.extras.post(&self.http, url).json(&body)
    }

    /// Sends a request; the answer's status is a success.
    pub(super) async fn send(&self, request: reqwest::RequestBuilder) -> Result<reqwest::Response, Refusal> {
        let response = request.send().await.map_err(Refusal::broken)?;
        if response.status().is_success() { Ok(response) } else { Err(Refusal::read(response).await) }
    }
}

/// JSON Merge Patch (RFC 7396).
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

    use super::*;

    fn with(settings: Value) -> Result<Server, String> {
        crate::lifecycle::install_tls();
        let settings = settings.as_object().cloned().unwrap_or_default();
        Server::new(reqwest::Client::new(), "https://models.example.com/", None, &settings)
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
        assert_eq!(request.headers()["x-title"], "Harbor");
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
            (json!({ "request": [] }), "settings.request must be an object"),
            (json!({ "request": { "stream": false } }), "must not contain stream"),
            (json!({ "timeouts_ms": { "gap": 60_000 } }), "settings.timeouts_ms.gap must be from"),
        ] {
            let refused = with(settings).err().expect("of no use");
            assert!(refused.contains(words), "{refused}");
        }
    }
}
