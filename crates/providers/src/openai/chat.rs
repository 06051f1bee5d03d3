//! Language models behind `POST {base}/chat/completions`, streamed as server-sent events: OpenAI, Azure, and compatible servers
//! such as vLLM, llama.cpp, Ollama, Groq and OpenRouter.
//!
//! The servers differ in many ways. [`super::wire`] parses the union of what they send; settings say what they expect:
//!
//! | setting | meaning |
//! |---|---|
//! | `base_url` | up to `/chat/completions`; without a path, `/v1` is added |
//! | `model` | when the agent names none |
//! | `max_tokens_field` | `max_tokens`, or `max_completion_tokens`, which OpenAI's newer models require (the default there) |
//! | `key_header` | the header of the key where it is not a bearer token: `api-key` on Azure |
//! | `headers`, `query`, `request`, `timeouts_ms` | see `LlmServer::read` |

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};

use serde_json::json;

use super::OPENAI_URL;
use super::server::key_header;
use super::wire::{self, ChatResponse, Template};
use crate::adapter_config::AdapterConfig;
use crate::llm::{LlmAdapter, LlmClient, LlmFailure, LlmServer, MAX_TOKENS};
use crate::{Llm, LlmRequest};

/// The model when neither the agent nor the connection names one.
pub(crate) const DEFAULT_MODEL: &str = "gpt-6-luna";
/// OpenAI's small models reason before they respond unless reasoning is disabled: callers would wait, and with tools the request is
/// rejected.
const CAN_ANSWER_AT_ONCE: &str = "-luna";
/// The field that limits the response: the one of most servers, and OpenAI's, whose newer models reject the older name.
const LIMITS: [&str; 2] = ["max_tokens", "max_completion_tokens"];
const OPENAI_HOST: &str = "://api.openai.com";
/// Error texts of servers whose template does not accept a conversation as it is.
const TEMPLATE: [&str; 16] = [
    "only supports single tool-calls",
    "either content or tool_calls",
    "must alternate",
    "system role",
    "role system",
    "role 'system'",
    "role \"system\"",
    "system message",
    "unexpected role",
    "invalid role",
    "unknown role",
    "unsupported role",
    "expected last role",
    "last message",
    "first message",
    "roles are supported",
];

/// Error texts of servers or models that take no tools.
const NO_TOOLS: [&str; 4] =
    ["does not support tools", "does not support tool", "does not support function", "tool choice requires"];

/// Creates the language model of a connection.
///
/// # Errors
/// A sentence that says what is wrong with its settings.
pub fn connect(config: &AdapterConfig<'_>) -> Result<Arc<dyn Llm>, String> {
    let server = LlmServer::read(config, OPENAI_URL, key_header(config.settings)?)?;
    let base = server.versioned("v1");
    let limit = config.choice("max_tokens_field", &LIMITS.map(|field| (field, field)))?;
    let limit = limit.unwrap_or(LIMITS[usize::from(base.contains(OPENAI_HOST))]);
    let (url, models) = (format!("{base}/chat/completions"), format!("{base}/models"));
    Ok(Arc::new(LlmClient::new(
        Chat { url, models, limit, template: AtomicU8::default(), without_tools: AtomicBool::default() },
        server,
    )))
}

struct Chat {
    url: String,
    /// The URL that lists its models.
    models: String,
    /// The field that limits the response.
    limit: &'static str,
    /// How many times its template turned out to be stricter.
    template: AtomicU8,
    /// Whether the server refused tools.
    without_tools: AtomicBool,
}

impl Chat {
    fn template(&self) -> Template {
        match self.template.load(Ordering::Relaxed) {
            0 => Template::Usual,
            1 => Template::Strict,
            _ => Template::Plain,
        }
    }
}

impl LlmAdapter for Chat {
    type LlmResponse = ChatResponse;

    fn name(&self) -> &'static str {
        "openai"
    }

    fn warmup_request(&self, server: &LlmServer) -> reqwest::RequestBuilder {
        server.get(&self.models)
    }

    /// Learns what the server's template accepts, which only its refusals show. The connection remembers it.
    fn learn(&self, failure: &LlmFailure, times: u8) -> bool {
        if failure.mentions(&NO_TOOLS) && !self.without_tools.swap(true, Ordering::Relaxed) {
            tracing::warn!("LLM server takes no tools: agents talk without theirs");
            self.template.store(2, Ordering::Relaxed);
            return true;
        }
        let stricter = times < 2 && failure.mentions(&TEMPLATE);
        if stricter {
            self.template.fetch_max(times + 1, Ordering::Relaxed);
        }
        stricter
    }

    fn request(&self, server: &LlmServer, request: &LlmRequest) -> reqwest::RequestBuilder {
        let model = server.model(request, DEFAULT_MODEL);
        let mut body = json!({
            "model": model,
            "messages": wire::messages(&request.messages, self.template()),
            "stream": true,
            "stream_options": { "include_usage": true },
        });
        body[self.limit] = json!(request.max_tokens.unwrap_or(MAX_TOKENS));
        if let Some(temperature) = request.temperature {
            body["temperature"] = json!(temperature);
        }
        if model.ends_with(CAN_ANSWER_AT_ONCE) {
            body["reasoning_effort"] = json!("none");
        }
        if !request.tools.is_empty() && !self.without_tools.load(Ordering::Relaxed) {
            body["tools"] = request.tools.iter().map(|tool| json!({ "type": "function", "function": tool })).collect();
        }
        server.post(&self.url, body)
    }
}
