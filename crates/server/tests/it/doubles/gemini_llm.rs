//! A server of Google's Gemini API. Its models sign the first function call of a response and require the signature in later
//! requests, or Google's documented placeholder if another model made the call.

use std::sync::Arc;

use axum::http::{HeaderMap, StatusCode, Uri};
use serde_json::{Value, json};
use switchhook_providers::adapter_config::AdapterConfig;
use switchhook_providers::{Llm, gemini};

use super::model::{KEY, Piece, Protocol, data, header};

#[derive(Clone, Copy)]
pub(crate) struct Gemini;

/// Returns one chunk of a stream.
pub(crate) fn chunk(parts: &Value, finish: Option<&str>) -> String {
    let mut candidate = json!({ "content": { "role": "model", "parts": parts }, "index": 0 });
    if let Some(reason) = finish {
        candidate["finishReason"] = json!(reason);
    }
    let usage = json!({
        "promptTokenCount": 12, "cachedContentTokenCount": 4, "candidatesTokenCount": 5, "thoughtsTokenCount": 2, "totalTokenCount": 19,
    });
    data(&json!({ "candidates": [candidate], "usageMetadata": usage, "modelVersion": "gemini", "responseId": "r1" }))
}

/// The placeholder that is not checked.
const ANY_SIGNATURE: &str = "skip_thought_signature_validator";

fn signature(name: &str) -> String {
    format!("signature of {name}")
}

impl Protocol for Gemini {
    fn complaints(self, uri: &Uri, headers: &HeaderMap, body: &Value) -> Vec<String> {
        let mut complaints = Vec::new();
        let mut that = |holds: bool, words: &str| {
            if !holds {
                complaints.push(format!("{words}: {body}"));
            }
        };
        let path =
            uri.path().strip_prefix("/v1beta/models/").and_then(|rest| rest.strip_suffix(":streamGenerateContent"));
        that(path.is_some_and(|model| !model.is_empty() && !model.contains('/')), &format!("404 {uri}"));
        that(
            uri.query() == Some("alt=sse"),
            "without alt=sse the answer is one list, and a key in the address is read by everybody",
        );
        that(header(headers, "x-goog-api-key") == KEY, "API_KEY_INVALID");
        let contents = body["contents"].as_array().cloned().unwrap_or_default();
        that(contents.first().is_some_and(|first| first["role"] == "user"), "contents begin with the user");
        let mut open = Vec::new();
        for (at, content) in contents.iter().enumerate() {
            let role = content["role"].as_str().unwrap_or_default();
            that(["user", "model"].contains(&role), "there is no such role");
            that(at == 0 || contents[at - 1]["role"] != role, "roles alternate");
            let parts = content["parts"].as_array().cloned().unwrap_or_default();
            that(!parts.is_empty(), "parts are needed");
            let calls = parts.iter().filter(|part| part["functionCall"].is_object());
            for (position, call) in calls.enumerate() {
                let name = call["functionCall"]["name"].as_str().unwrap_or_default();
                let signed = &call["thoughtSignature"];
                let good = *signed == signature(name) || *signed == ANY_SIGNATURE;
                let needed = position == 0 && path.is_none_or(|model| !model.starts_with("gemini-2"));
                that(good || (!needed && signed.is_null()), "MISSING_THOUGHT_SIGNATURE");
                that(call["functionCall"]["args"].is_object(), "args are an object");
            }
            let ids = |name: &str| -> Vec<Value> {
                parts.iter().filter_map(|part| part.get(name)).map(|call| call["id"].clone()).collect()
            };
            that(ids("functionResponse") == open, "as many function responses as function calls before them");
            let objects = parts.iter().filter_map(|part| part.get("functionResponse"));
            that(objects.into_iter().all(|answer| answer["response"].is_object()), "a response is an object");
            open = ids("functionCall");
        }
        let known = ["contents", "generationConfig", "systemInstruction", "tools", "toolConfig", "safetySettings"];
        let fields = body.as_object().into_iter().flatten();
        fields.for_each(|(name, _)| that(known.contains(&name.as_str()), &format!("Unknown name \"{name}\"")));
        for tool in body["tools"].as_array().into_iter().flatten() {
            for declared in tool["functionDeclarations"].as_array().into_iter().flatten() {
                that(declared["name"].is_string(), "a function has a name");
                let both = declared.get("parameters").is_some() && declared.get("parametersJsonSchema").is_some();
                that(!both, "parameters are described once");
            }
        }
        complaints
    }

    fn answer(self, pieces: &[Piece]) -> Vec<String> {
        let mut sent = vec![chunk(&json!([{ "text": "let me think", "thought": true }]), None)];
        let mut signed = false;
        for piece in pieces {
            match piece {
                Piece::Text(text) => {
                    sent.extend(text.split_inclusive(' ').map(|word| chunk(&json!([{ "text": word }]), None)));
                }
                Piece::Tool { id, name, arguments } => {
                    let mut part = json!({ "functionCall": { "id": id, "name": name, "args": arguments } });
                    if !std::mem::replace(&mut signed, true) {
                        part["thoughtSignature"] = json!(signature(name));
                    }
                    sent.push(chunk(&json!([part]), None));
                }
            }
        }
        sent.push(chunk(&json!([{ "text": "" }]), Some("STOP")));
        sent
    }

    fn reasoning(self) -> Vec<String> {
        let thought = json!([{ "text": "They want", "thought": true }]);
        vec![chunk(&thought, None), chunk(&json!([]), Some("MAX_TOKENS"))]
    }

    fn limit(self, body: &Value) -> Option<u64> {
        body["generationConfig"]["maxOutputTokens"].as_u64()
    }

    fn error(self, status: u16, words: &str) -> Value {
        let details = if status == 401 { json!([{ "reason": "API_KEY_INVALID" }]) } else { json!([]) };
        let (status, words) = match status {
            // A wrong key is a bad request here.
            401 => (400, words.to_owned()),
            400 => (400, format!("{words} exceeds the maximum number of tokens")),
            other => (other, words.to_owned()),
        };
        let name = match status {
            400 => "INVALID_ARGUMENT",
            429 => "RESOURCE_EXHAUSTED",
            503 => "UNAVAILABLE",
            _ => "INTERNAL",
        };
        json!({ "error": { "code": status, "status": name, "message": words, "details": details } })
    }

    fn wrong_key(self) -> StatusCode {
        StatusCode::BAD_REQUEST
    }

    fn error_event(self, words: &str) -> String {
        data(&self.error(503, words))
    }

    fn make(self, connect: &AdapterConfig<'_>) -> Result<Arc<dyn Llm>, String> {
        gemini::connect(connect)
    }

    fn conversation(self, body: &Value) -> Vec<(&'static str, String)> {
        let mut said = Vec::new();
        for content in body["contents"].as_array().into_iter().flatten() {
            let by = if content["role"] == "model" { "model" } else { "caller" };
            for part in content["parts"].as_array().into_iter().flatten() {
                let (call, answer) = (&part["functionCall"], &part["functionResponse"]);
                said.push((
                    by,
                    if call.is_object() {
                        format!("call {} {}", call["name"].as_str().unwrap_or_default(), call["args"])
                    } else if answer.is_object() {
                        format!("result {}", answer["response"])
                    } else {
                        part["text"].as_str().unwrap_or_default().to_owned()
                    },
                ));
            }
        }
        said
    }
}
