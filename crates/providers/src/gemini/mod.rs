//! Google's Gemini API (`POST {base}/models/{model}:streamGenerateContent?alt=sse`).
//!
//! | setting | meaning |
//! |---|---|
//! | `base_url` | up to `/models`; `/v1beta` is added if its path contains no version |
//! | `model` | when the agent names none |
//! | `headers`, `query`, `request`, `timeouts_ms` | see `LlmServer::read`; thinking, for example, is set by `request.generationConfig.thinkingConfig` |

pub(crate) mod wire;

use std::sync::Arc;

use reqwest::RequestBuilder;
use reqwest::header::HeaderName;
use serde_json::{Value, json};

use self::wire::ContentResponse;
use super::adapter_config::AdapterConfig;
use super::entry::{Build, DefaultModels, Provider, ProviderEntry, ProviderKind};
use super::llm::turns::turns;
use super::llm::{LLM_SETTINGS, LlmAdapter, LlmClient, LlmServer, MAX_TOKENS};
use super::{Llm, LlmRequest};

/// Google's own server.
pub const GEMINI_URL: &str = "https://generativelanguage.googleapis.com";
/// The model when neither the agent nor the connection names one.
pub(crate) const DEFAULT_MODEL: &str = "gemini-3.5-flash-lite";
/// These models reason before they respond unless that is disabled, and callers wait. Others reject the setting, or hardly reason anyway.
const CAN_SKIP_REASONING: &str = "gemini-2.5-flash";
/// These models do not require the signatures of tool calls.
const LENIENT: [&str; 2] = ["gemini-1", "gemini-2"];

/// This provider in the registry.
pub const ENTRY: ProviderEntry = ProviderEntry {
    name: "gemini",
    kinds: &[ProviderKind::Llm],
    build: Build::Adapter(build),
    settings: &[LLM_SETTINGS],
    unpriced: &[],
};

fn build(config: &AdapterConfig<'_>) -> Result<Provider, String> {
    Ok(Provider {
        llm: Some(connect(config)?),
        default_models: DefaultModels::of(config, "", DEFAULT_MODEL, "")?,
        ..Provider::default()
    })
}

/// Creates the language model of a connection.
///
/// # Errors
/// A sentence that says what is wrong with its settings.
pub fn connect(config: &AdapterConfig<'_>) -> Result<Arc<dyn Llm>, String> {
    // A key in the URL would end up in logs along the way.
    let server = LlmServer::read(config, GEMINI_URL, Some(HeaderName::from_static("x-goog-api-key")))?;
    let base =
        reqwest::Url::parse(&server.with_version("v1beta")).map_err(|error| format!("settings.base_url: {error}."))?;
    Ok(Arc::new(LlmClient::new(Contents { base }, server)))
}

struct Contents {
    base: reqwest::Url,
}

impl Contents {
    /// Returns the URL of a model: `gemini-…`, or a name with a collection prefix such as `tunedModels/…`.
    fn url(&self, model: &str) -> reqwest::Url {
        let mut url = self.base.clone();
        let (collection, name) = model.split_once('/').unwrap_or(("models", model));
        if let Ok(mut path) = url.path_segments_mut() {
            path.pop_if_empty().push(collection).push(&format!("{name}:streamGenerateContent"));
        }
        url.set_query(Some("alt=sse"));
        url
    }
}

impl LlmAdapter for Contents {
    type LlmResponse = ContentResponse;

    fn name(&self) -> &'static str {
        "gemini"
    }

    fn warmup_request(&self, server: &LlmServer) -> RequestBuilder {
        let mut url = self.base.clone();
        if let Ok(mut path) = url.path_segments_mut() {
            path.pop_if_empty().push("models");
        }
        url.set_query(Some("pageSize=1"));
        server.get(url.as_str())
    }

    fn request(&self, server: &LlmServer, request: &LlmRequest) -> RequestBuilder {
        let (system, turns) = turns(&request.messages);
        let model = server.model(request, DEFAULT_MODEL);
        let mut settings = json!({ "maxOutputTokens": request.max_tokens.unwrap_or(MAX_TOKENS) });
        if let Some(temperature) = request.temperature {
            settings["temperature"] = json!(temperature);
        }
        if model.contains(CAN_SKIP_REASONING) {
            settings["thinkingConfig"] = json!({ "thinkingBudget": 0 });
        }
        let strict = !LENIENT.iter().any(|lenient| model.contains(lenient));
        let mut body = json!({ "contents": wire::contents(&turns, strict), "generationConfig": settings });
        if !system.trim().is_empty() {
            body["systemInstruction"] = json!({ "parts": [{ "text": system }] });
        }
        if !request.tools.is_empty() {
            let declared: Vec<Value> = request.tools.iter().map(wire::tool).collect();
            body["tools"] = json!([{ "functionDeclarations": declared }]);
        }
        server.post(self.url(model).as_str(), body)
    }
}
