//! A server of OpenAI's chat completions.

use std::sync::Arc;

use axum::http::{HeaderMap, Uri};
use serde_json::{Value, json};
use switchhook_providers::Llm;
use switchhook_providers::adapter_config::AdapterConfig;
use switchhook_providers::openai::chat;

use super::model::{KEY, Piece, Protocol, data, header};

#[derive(Clone, Copy)]
pub(crate) struct OpenAi;

/// Returns one chunk of a stream.
pub(crate) fn chunk(delta: &Value, finish: Option<&str>) -> String {
    let choice = json!({ "index": 0, "delta": delta, "logprobs": null, "finish_reason": finish });
    data(&json!({ "id": "chatcmpl-1", "object": "chat.completion.chunk", "choices": [choice], "usage": null }))
}

pub(crate) fn done() -> String {
    "data: [DONE]\n\n".to_owned()
}

fn usage() -> Value {
    let read = json!({ "cached_tokens": 4, "audio_tokens": 0 });
    let usage =
        json!({ "prompt_tokens": 12, "completion_tokens": 7, "total_tokens": 19, "prompt_tokens_details": read });
    json!({ "choices": [], "usage": usage })
}

impl Protocol for OpenAi {
    fn complaints(self, uri: &Uri, headers: &HeaderMap, body: &Value) -> Vec<String> {
        let mut complaints = Vec::new();
        let mut that = |holds: bool, words: &str| {
            if !holds {
                complaints.push(format!("{words}: {body}"));
            }
        };
        that(uri.path().ends_with("/chat/completions"), "404");
        let bearer = header(headers, "authorization") == format!("Bearer {KEY}");
        that(bearer || header(headers, "api-key") == KEY, "401");
        that(body["model"].is_string() && body["stream"] == true, "model and stream are needed");
        let messages = body["messages"].as_array().cloned().unwrap_or_default();
        that(!messages.is_empty(), "messages are needed");
        for (at, message) in messages.iter().enumerate() {
            let calls = message["tool_calls"].as_array().cloned().unwrap_or_default();
            let after: Vec<&Value> = messages[at + 1..].iter().take_while(|next| next["role"] == "tool").collect();
            let answered = calls.iter().all(|call| after.iter().any(|answer| answer["tool_call_id"] == call["id"]));
            that(answered, "an assistant message with tool_calls must be followed by their answers");
            let texts =
                calls.iter().all(|call| call["function"]["arguments"].is_string() && call["type"] == "function");
            that(texts, "arguments are JSON in a text");
            let role = message["role"].as_str().unwrap_or_default();
            that(["system", "user", "assistant", "tool"].contains(&role), "there is no such role");
            that(message["content"].is_string() || !calls.is_empty(), "content is needed");
            if role == "tool" {
                let id = &message["tool_call_id"];
                let before = messages[..at].iter().rev().find(|earlier| earlier["role"] == "assistant");
                let known = before.and_then(|earlier| earlier["tool_calls"].as_array());
                that(
                    known.is_some_and(|calls| calls.iter().any(|call| call["id"] == *id)),
                    "an answer without its call",
                );
            }
        }
        for tool in body["tools"].as_array().into_iter().flatten() {
            that(
                tool["type"] == "function" && tool["function"]["name"].is_string(),
                "a tool is a function with a name",
            );
        }
        complaints
    }

    fn answer(self, pieces: &[Piece]) -> Vec<String> {
        let mut sent = vec![chunk(&json!({ "role": "assistant", "content": "", "refusal": null }), None)];
        let mut index = 0;
        let mut reason = "stop";
        for piece in pieces {
            match piece {
                Piece::Text(text) => {
                    sent.extend(text.split_inclusive(' ').map(|word| chunk(&json!({ "content": word }), None)));
                }
                Piece::Tool { id, name, arguments } => {
                    reason = "tool_calls";
                    let call = |call: Value| chunk(&json!({ "tool_calls": [call] }), None);
                    let function = json!({ "name": name, "arguments": "" });
                    sent.push(call(json!({ "index": index, "id": id, "type": "function", "function": function })));
                    let text = arguments.to_string();
                    let (first, second) = text.split_at(text.len() / 2);
                    for part in [first, second] {
                        sent.push(call(json!({ "index": index, "function": { "arguments": part } })));
                    }
                    index += 1;
                }
            }
        }
        sent.extend([chunk(&json!({}), Some(reason)), data(&usage()), done()]);
        sent
    }

    fn reasoning(self) -> Vec<String> {
        let thought = chunk(&json!({ "role": "assistant", "content": "\n", "reasoning_content": "They want" }), None);
        vec![thought, chunk(&json!({}), Some("length")), data(&usage()), done()]
    }

    fn limit(self, body: &Value) -> Option<u64> {
        body["max_tokens"].as_u64()
    }

    fn error(self, status: u16, words: &str) -> Value {
        let code = match status {
            401 => "invalid_api_key",
            429 => "rate_limit_exceeded",
            400 => "context_length_exceeded",
            _ => "server_error",
        };
        json!({ "error": { "message": words, "type": "an_error", "param": null, "code": code } })
    }

    fn error_event(self, words: &str) -> String {
        data(&json!({ "error": { "message": words, "type": "server_error", "code": null } }))
    }

    fn make(self, connect: &AdapterConfig<'_>) -> Result<Arc<dyn Llm>, String> {
        chat::connect(connect)
    }

    fn conversation(self, body: &Value) -> Vec<(&'static str, String)> {
        let mut said = Vec::new();
        for message in body["messages"].as_array().into_iter().flatten() {
            let by = match message["role"].as_str() {
                Some("assistant") => "model",
                Some("user" | "tool") => "caller",
                _ => continue,
            };
            let content = message["content"].as_str().unwrap_or_default();
            if message["role"] == "tool" {
                said.push((by, format!("result {content}")));
            } else if !content.is_empty() {
                said.push((by, content.to_owned()));
            }
            for call in message["tool_calls"].as_array().into_iter().flatten() {
                let function = &call["function"];
                let text = |name: &str| function[name].as_str().unwrap_or_default().to_owned();
                said.push((by, format!("call {} {}", text("name"), text("arguments"))));
            }
        }
        said
    }
}
