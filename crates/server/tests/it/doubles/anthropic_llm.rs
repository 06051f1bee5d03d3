//! A server of Anthropic's Messages.

use std::sync::Arc;

use axum::http::{HeaderMap, Uri};
use serde_json::{Value, json};
use switchhook_providers::adapter_config::AdapterConfig;
use switchhook_providers::{Llm, anthropic};

use super::model::{KEY, Piece, Protocol, header};

#[derive(Clone, Copy)]
pub(crate) struct Anthropic;

/// Returns one event of a stream.
pub(crate) fn event(data: &Value) -> String {
    let name = data["type"].as_str().unwrap_or_default();
    format!("event: {name}\ndata: {data}\n\n")
}

fn start() -> String {
    let usage = json!({ "input_tokens": 5, "cache_creation_input_tokens": 3, "cache_read_input_tokens": 4, "output_tokens": 1 });
    let message = json!({ "id": "msg_1", "type": "message", "role": "assistant", "content": [], "stop_reason": null, "usage": usage });
    event(&json!({ "type": "message_start", "message": message }))
}

impl Protocol for Anthropic {
    fn complaints(self, uri: &Uri, headers: &HeaderMap, body: &Value) -> Vec<String> {
        let mut complaints = Vec::new();
        let mut that = |holds: bool, words: &str| {
            if !holds {
                complaints.push(format!("{words}: {body}"));
            }
        };
        that(uri.path() == "/v1/messages", "not_found_error");
        that(header(headers, "x-api-key") == KEY, "authentication_error");
        that(header(headers, "anthropic-version") == "2023-06-01", "anthropic-version: header is required");
        that(body["max_tokens"].as_u64().is_some_and(|most| most > 0), "max_tokens: field required");
        that(body["model"].is_string() && body["stream"] == true, "model: field required");
        that(body["temperature"].as_f64().is_none_or(|hot| (0.0..=1.0).contains(&hot)), "temperature: range: 0..1");
        let messages = body["messages"].as_array().cloned().unwrap_or_default();
        that(
            messages.first().is_some_and(|first| first["role"] == "user"),
            "messages: first message must use the user role",
        );
        that(messages.last().is_some_and(|last| last["role"] == "user"), "this model does not support prefill");
        let mut open: Vec<Value> = Vec::new();
        let mut used: Vec<Value> = Vec::new();
        for (at, message) in messages.iter().enumerate() {
            let role = message["role"].as_str().unwrap_or_default();
            that(["user", "assistant"].contains(&role), "messages: there is no such role");
            that(at == 0 || messages[at - 1]["role"] != role, "messages: roles alternate");
            let blocks = message["content"].as_array().cloned().unwrap_or_default();
            that(!blocks.is_empty(), "messages: content is needed");
            let mut results = Vec::new();
            let mut text_before = false;
            for block in &blocks {
                match block["type"].as_str() {
                    Some("text") => {
                        that(
                            block["text"].as_str().is_some_and(|text| !text.trim().is_empty()),
                            "text must be non-empty",
                        );
                        text_before = true;
                    }
                    Some("tool_use") => {
                        that(block["input"].is_object() && role == "assistant", "tool_use: an input of the assistant");
                        that(!used.contains(&block["id"]), "`tool_use` ids must be unique");
                        let id = block["id"].as_str().unwrap_or_default();
                        let plain = id.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte));
                        that(!id.is_empty() && plain, "tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'");
                        used.push(block["id"].clone());
                    }
                    Some("tool_result") => {
                        that(role == "user" && !text_before, "tool_result blocks come first");
                        results.push(block["tool_use_id"].clone());
                    }
                    other => that(false, &format!("unknown block {other:?}")),
                }
            }
            that(open == results, "each tool_use must have a tool_result in the next message");
            open = blocks.iter().filter(|block| block["type"] == "tool_use").map(|block| block["id"].clone()).collect();
        }
        let marks = body.to_string().matches("cache_control").count();
        that(marks <= 4, "a maximum of 4 blocks with cache_control");
        for tool in body["tools"].as_array().into_iter().flatten() {
            that(tool["name"].is_string() && tool["input_schema"].is_object(), "tools: input_schema: field required");
        }
        complaints
    }

    fn answer(self, pieces: &[Piece]) -> Vec<String> {
        let mut sent = vec![start(), event(&json!({ "type": "ping" }))];
        let mut reason = "end_turn";
        for (index, piece) in pieces.iter().enumerate() {
            let start =
                |block: Value| event(&json!({ "type": "content_block_start", "index": index, "content_block": block }));
            let delta = |delta: Value| event(&json!({ "type": "content_block_delta", "index": index, "delta": delta }));
            match piece {
                Piece::Text(text) => {
                    sent.push(start(json!({ "type": "text", "text": "" })));
                    sent.extend(
                        text.split_inclusive(' ').map(|word| delta(json!({ "type": "text_delta", "text": word }))),
                    );
                }
                Piece::Tool { id, name, arguments } => {
                    reason = "tool_use";
                    sent.push(start(json!({ "type": "tool_use", "id": id, "name": name, "input": {} })));
                    let text = arguments.to_string();
                    let (first, second) = text.split_at(text.len() / 2);
                    for part in ["", first, second] {
                        sent.push(delta(json!({ "type": "input_json_delta", "partial_json": part })));
                    }
                }
            }
            sent.push(event(&json!({ "type": "content_block_stop", "index": index })));
        }
        let delta = json!({ "stop_reason": reason, "stop_sequence": null });
        sent.push(event(&json!({ "type": "message_delta", "delta": delta, "usage": { "output_tokens": 7 } })));
        sent.push(event(&json!({ "type": "message_stop" })));
        sent
    }

    fn reasoning(self) -> Vec<String> {
        let block = json!({ "type": "thinking", "thinking": "" });
        let thought = json!({ "type": "thinking_delta", "thinking": "They want" });
        let end = json!({ "stop_reason": "max_tokens", "stop_sequence": null });
        vec![
            start(),
            event(&json!({ "type": "content_block_start", "index": 0, "content_block": block })),
            event(&json!({ "type": "content_block_delta", "index": 0, "delta": thought })),
            event(&json!({ "type": "content_block_stop", "index": 0 })),
            event(&json!({ "type": "message_delta", "delta": end, "usage": { "output_tokens": 7 } })),
            event(&json!({ "type": "message_stop" })),
        ]
    }

    fn limit(self, body: &Value) -> Option<u64> {
        body["max_tokens"].as_u64()
    }

    fn error(self, status: u16, words: &str) -> Value {
        let kind = match status {
            401 => "authentication_error",
            429 => "rate_limit_error",
            400 => "invalid_request_error",
            529 => "overloaded_error",
            _ => "api_error",
        };
        let words = if status == 400 { format!("prompt is too long: {words}") } else { words.to_owned() };
        json!({ "type": "error", "error": { "type": kind, "message": words }, "request_id": "req_1" })
    }

    fn error_event(self, words: &str) -> String {
        event(&json!({ "type": "error", "error": { "type": "overloaded_error", "message": words } }))
    }

    fn make(self, connect: &AdapterConfig<'_>) -> Result<Arc<dyn Llm>, String> {
        anthropic::connect(connect)
    }

    fn conversation(self, body: &Value) -> Vec<(&'static str, String)> {
        let mut said = Vec::new();
        for message in body["messages"].as_array().into_iter().flatten() {
            let by = if message["role"] == "assistant" { "model" } else { "caller" };
            for block in message["content"].as_array().into_iter().flatten() {
                let text = |name: &str| block[name].as_str().unwrap_or_default().to_owned();
                said.push((
                    by,
                    match block["type"].as_str() {
                        Some("tool_use") => format!("call {} {}", text("name"), block["input"]),
                        Some("tool_result") => format!("result {}", text("content")),
                        _ => text("text"),
                    },
                ));
            }
        }
        said
    }
}
