//! Language models behind `POST {base}/chat/completions`, streamed as server-sent events: OpenAI, Azure, and the servers
//! that offer the same, such as vLLM, llama.cpp, Ollama, Groq and OpenRouter.
//!
//! The servers differ in much. What they send, [`super::wire`] reads as the union of all; what they want is said by settings:
//!
//! | setting | meaning |
//! |---|---|
//! | `base_url` | up to `/chat/completions`; without a path, `/v1` is added |
//! | `model` | when the agent names none |
//! | `max_tokens_field` | `max_tokens`, or `max_completion_tokens` as OpenAI's newer models want it (the default there) |
//! | `key_header` | the header of the key where it is not a bearer token: `api-key` on Azure |
//! | `headers`, `query`, `request`, `timeouts_ms` | see `Server::new` |

use std::sync::Arc;

use serde_json::{Map, Value, json};
use switchhook_core::private::Private;

use super::server::{key_header, signed};
use super::wire::{self, ChatAnswer};
use crate::providers::llm::{Dialect, MAX_TOKENS, Models, Server};
use crate::providers::{Llm, LlmRequest};

/// The model when neither the agent nor the connection names one.
pub(crate) const USUAL_MODEL: &str = "gpt-4o-mini";
/// Knows the newer name of the limit, and its newer models refuse the older one.
const OPENAI_HOST: &str = "://api.openai.com";

/// The language model of a connection.
///
/// # Errors
/// What is wrong with its settings, in a sentence.
pub fn connect(
    http: reqwest::Client,
    base_url: &str,
    key: Option<Private<String>>,
    settings: &Map<String, Value>,
) -> Result<Arc<dyn Llm>, String> {
    let server = Server::new(http, base_url, key, settings)?;
    let usual_limit = if base_url.contains(OPENAI_HOST) { "max_completion_tokens" } else { "max_tokens" };
    let limit = match settings.get("max_tokens_field").and_then(Value::as_str) {
        None => usual_limit,
        Some("max_tokens") => "max_tokens",
        Some("max_completion_tokens") => "max_completion_tokens",
        Some(_) => return Err("settings.max_tokens_field must be max_tokens or max_completion_tokens.".to_owned()),
    };
    let key_header = key_header(settings)?;
    let url = format!("{}/chat/completions", server.versioned("v1"));
    Ok(Arc::new(Models::new(Chat { url, limit, key_header }, server)))
}

struct Chat {
    url: String,
    /// The field of the longest answer.
    limit: &'static str,
    key_header: Option<reqwest::header::HeaderName>,
}

impl Dialect for Chat {
    type Answer = ChatAnswer;

    fn name(&self) -> &'static str {
        "openai"
    }

    fn request(&self, server: &Server, request: &LlmRequest) -> reqwest::RequestBuilder {
        let mut body = json!({
            "model": server.model(request, USUAL_MODEL),
            "messages": wire::messages(&request.messages),
            "stream": true,
            "stream_options": { "include_usage": true },
        });
        body[self.limit] = json!(request.max_tokens.unwrap_or(MAX_TOKENS));
        if let Some(temperature) = request.temperature {
            body["temperature"] = json!(temperature);
        }
        if !request.tools.is_empty() {
            body["tools"] = request.tools.iter().map(|tool| json!({ "type": "function", "function": tool })).collect();
        }
        let post = server.post(&self.url, body);
        signed(post, server.key(), self.key_header.as_ref())
    }
}
