//! Anthropic's Messages API (`POST {base}/v1/messages`), streamed.
//!
//! | setting | meaning |
//! |---|---|
//! | `base_url` | with or without `/v1` at its end, with any path |
//! | `model` | when the agent names none |
//! | `prompt_caching` | whether instructions, tools and the conversation so far are marked for the provider's cache; `true` by default |
//! | `headers`, `query`, `request`, `timeouts_ms` | see `LlmServer::read` |

pub(crate) mod wire;

use std::sync::Arc;

use reqwest::RequestBuilder;
use reqwest::header::HeaderName;
use serde_json::json;

use self::wire::MessagesResponse;
use super::adapter_config::AdapterConfig;
use super::entry::{Build, DefaultModels, Provider, ProviderEntry, ProviderKind};
use super::llm::turns::turns;
use super::llm::{LLM_SETTINGS, LlmAdapter, LlmClient, LlmServer, MAX_TOKENS};
use super::{Llm, LlmRequest};

/// Anthropic's own server.
pub const ANTHROPIC_URL: &str = "https://api.anthropic.com";
/// The model when neither the agent nor the connection names one.
pub(crate) const DEFAULT_MODEL: &str = "claude-haiku-4-5";
/// The API version; required in every request.
const VERSION: &str = "2023-06-01";
/// The highest temperature. Agents may set up to 2.
const MAX_TEMPERATURE: f32 = 1.0;

/// This provider in the registry.
pub const ENTRY: ProviderEntry = ProviderEntry {
    name: "anthropic",
    kinds: &[ProviderKind::Llm],
    build: Build::Adapter(build),
    settings: &[LLM_SETTINGS, &["prompt_caching"]],
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
    let server = LlmServer::read(config, ANTHROPIC_URL, Some(HeaderName::from_static("x-api-key")))?;
    let caching = config.flag("prompt_caching")?.unwrap_or(true);
    let base = server.with_version("v1");
    let (url, models) = (format!("{base}/messages"), format!("{base}/models?limit=1"));
    Ok(Arc::new(LlmClient::new(Messages { url, models, caching }, server)))
}

struct Messages {
    url: String,
    /// The URL that lists its models.
    models: String,
    caching: bool,
}

impl LlmAdapter for Messages {
    type LlmResponse = MessagesResponse;

    fn name(&self) -> &'static str {
        "anthropic"
    }

    fn warmup_request(&self, server: &LlmServer) -> RequestBuilder {
        versioned(server.get(&self.models))
    }

    fn request(&self, server: &LlmServer, request: &LlmRequest) -> RequestBuilder {
        let (system, turns) = turns(&request.messages);
        let mut body = json!({
            "model": server.model(request, DEFAULT_MODEL),
            "max_tokens": request.max_tokens.unwrap_or(MAX_TOKENS),
            "stream": true,
            "messages": wire::messages(&turns),
        });
        if !system.trim().is_empty() {
            body["system"] = json!([{ "type": "text", "text": system }]);
        }
        if let Some(temperature) = request.temperature {
            body["temperature"] = json!(temperature.min(MAX_TEMPERATURE));
        }
        if !request.tools.is_empty() {
            body["tools"] = request.tools.iter().map(wire::tool).collect();
        }
        if self.caching {
            wire::mark_for_cache(&mut body);
        }
        versioned(server.post(&self.url, body))
    }
}

fn versioned(request: RequestBuilder) -> RequestBuilder {
    request.header("anthropic-version", VERSION)
}
