//! The `contents` protocol: turns out, chunks in.

use serde_json::{Value, json};
use switchhook_core::conversation::ToolCall;

use crate::llm::finish_reason::FinishReason;
use crate::llm::tool_names::without_namespace;
use crate::llm::turns::{Part, Turn, object, whole_arguments};
use crate::llm::{LlmFailure, LlmResponse, StreamStep};
use crate::{ToolSpec, Usage};

/// Placeholder for the signature of a call that was not made by Gemini, as Google documents for conversations begun by another model
/// (cloud.google.com/vertex-ai/generative-ai/docs/thought-signatures).
const UNSIGNED: &str = "skip_thought_signature_validator";

/// Converts turns to contents. If the model is `strict`, the first call of each of its turns must be signed.
pub(super) fn contents(turns: &[Turn<'_>], strict: bool) -> Value {
    turns.iter().map(|turn| content(turn, strict)).collect()
}

fn content(turn: &Turn<'_>, strict: bool) -> Value {
    let mut parts: Vec<Value> = turn.parts.iter().map(part).collect();
    let first = parts.iter_mut().find(|part| part.get("functionCall").is_some());
    if let Some(unsigned) = first.filter(|first| strict && first.get("thoughtSignature").is_none()) {
        unsigned["thoughtSignature"] = json!(UNSIGNED);
    }
    json!({ "role": if turn.by_model { "model" } else { "user" }, "parts": parts })
}

fn part(part: &Part<'_>) -> Value {
    match part {
        Part::Text(text) => json!({ "text": text }),
        Part::Call { id, name, call } => {
            let mut sent = json!({ "functionCall": { "id": id, "name": name, "args": object(&call.arguments) } });
            if let Some(signature) = &call.signature {
                sent["thoughtSignature"] = json!(signature);
            }
            sent
        }
        Part::Result { id, name, text } => {
            let response = serde_json::from_str(text).unwrap_or_else(|_| json!(text));
            let response = if response.is_object() { response } else { json!({ "result": response }) };
            json!({ "functionResponse": { "id": id, "name": name, "response": response } })
        }
    }
}

pub(super) fn tool(tool: &ToolSpec) -> Value {
    json!({ "name": tool.name, "description": tool.description, "parametersJsonSchema": tool.parameters })
}

/// Parses a streamed response.
#[derive(Default)]
pub(super) struct ContentResponse {
    tools: Vec<ToolCall>,
    usage: Option<Usage>,
    written: bool,
    reason: Option<String>,
    blocked: Option<String>,
}

impl LlmResponse for ContentResponse {
    fn take(&mut self, chunk: &Value) -> Result<StreamStep, LlmFailure> {
        if let Some(failure) = LlmFailure::in_response(chunk) {
            return Err(failure);
        }
        let text = |path: &str| chunk.pointer(path).and_then(Value::as_str).map(str::to_owned);
        self.take_usage(chunk.get("usageMetadata"));
        self.blocked = text("/promptFeedback/blockReason").or(self.blocked.take());
        self.reason = text("/candidates/0/finishReason").or(self.reason.take());
        let parts = chunk.pointer("/candidates/0/content/parts").and_then(Value::as_array);
        let before = self.tools.len();
        let spoken: String = parts.into_iter().flatten().filter_map(|part| self.take_part(part)).collect();
        if !spoken.is_empty() {
            self.written = true;
            return Ok(StreamStep::Text(spoken));
        }
        Ok(if self.tools.len() > before { StreamStep::Tool } else { StreamStep::Nothing })
    }

    /// Ends the response. The reason is `STOP` for tools too.
    fn finish(&mut self, _done: bool) -> Result<Vec<ToolCall>, LlmFailure> {
        if let Some(reason) = &self.blocked {
            return Err(LlmFailure::content_refused(format!("it blocked the conversation ({reason})")));
        }
        let Some(reason) = self.reason.as_deref() else { return Err(LlmFailure::cut_off()) };
        let empty = !self.written && self.tools.is_empty();
        match FinishReason::read(reason) {
            FinishReason::MalformedCall => Err(LlmFailure::malformed_call(reason)),
            FinishReason::Refused if empty => {
                Err(LlmFailure::content_refused(format!("it refused to respond ({reason})")))
            }
            FinishReason::Other if empty && reason != "STOP" => {
                Err(LlmFailure::unusable(format!("it ended its response before the first word ({reason})")))
            }
            _ => Ok(std::mem::take(&mut self.tools)),
        }
    }

    fn usage(&self) -> Option<Usage> {
        self.usage
    }

    fn is_cut(&self) -> bool {
        self.reason.as_deref().is_some_and(|reason| FinishReason::read(reason) == FinishReason::Length)
    }
}

impl ContentResponse {
    /// Returns a part's text, if it must be spoken.
    fn take_part(&mut self, part: &Value) -> Option<String> {
        // Gateways write every field of a part, most of them null.
        if let Some(call) = part.get("functionCall").filter(|call| call.is_object()) {
            let text = |value: Option<&Value>| value.and_then(Value::as_str).map(str::to_owned);
            let position = self.tools.len();
            self.tools.push(ToolCall {
                id: text(call.get("id")).unwrap_or_else(|| format!("call_{position}")),
                name: without_namespace(call.get("name").and_then(Value::as_str).unwrap_or_default()).to_owned(),
                arguments: whole_arguments(call.get("args")),
                signature: text(part.get("thoughtSignature")),
            });
            return None;
        }
        let thought = part.get("thought").and_then(Value::as_bool).unwrap_or(false);
        part.get("text").and_then(Value::as_str).filter(|_| !thought).map(str::to_owned)
    }

    /// Reads the usage; each chunk contains the totals so far.
    fn take_usage(&mut self, usage: Option<&Value>) {
        let Some(usage) = usage else { return };
        let tokens = |name: &str| usage.get(name).and_then(Value::as_u64).unwrap_or(0);
        self.usage = Some(Usage {
            llm_input_tokens: tokens("promptTokenCount"),
            llm_cached_tokens: tokens("cachedContentTokenCount"),
            llm_output_tokens: tokens("candidatesTokenCount").saturating_add(tokens("thoughtsTokenCount")),
            ..Usage::default()
        });
    }
}

#[cfg(test)]
pub(crate) const FUZZED: switchhook_fuzz::Target = switchhook_fuzz::Target {
    file: file!(),
    seeds: || {
        switchhook_fuzz::texts(&[
            &[
                r##"{"candidates":[{"content":{"parts":[{"text":"Let me see.","thought":true},{"text":"Yes"}],"role":"model"}}],"usageMetadata":{"promptTokenCount":9,"candidatesTokenCount":3,"thoughtsTokenCount":2,"cachedContentTokenCount":1}}"##,
                r##"{"candidates":[{"content":{"parts":[{"functionCall":{"id":"f","name":"book","args":{"people":4}},"thoughtSignature":"abc"}]},"finishReason":"STOP"}]}"##,
            ],
            &[
                r##"{"candidates":[]}"##,
                r##"{"error":{"code":429,"message":"No.","status":"RESOURCE_EXHAUSTED","details":[{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"3s"}]}}"##,
            ],
            &[r##"{"promptFeedback":{"blockReason":"SAFETY"}}"##],
        ])
    },
    read: crate::fuzz::llm::<ContentResponse>,
};

#[cfg(test)]
mod tests {
    use switchhook_core::conversation::{Message, Role};

    use super::*;
    use crate::llm::turns::turns;

    /// Returns the failure of a response with these parts and this reason.
    fn failure(parts: &Value, reason: &str) -> Option<LlmFailure> {
        let mut response = ContentResponse::default();
        let candidate = json!({ "content": { "parts": parts }, "finishReason": reason });
        assert!(response.take(&json!({ "candidates": [candidate] })).is_ok());
        response.finish(false).err()
    }

    #[test]
    fn only_a_refusal_withholds_what_the_caller_said() {
        let nothing = json!([]);
        for reason in ["SAFETY", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "LANGUAGE", "RECITATION"] {
            let refused = LlmFailure::content_refused(format!("it refused to respond ({reason})"));
            assert!(failure(&nothing, reason) == Some(refused), "{reason}");
            assert!(failure(&json!([{ "text": "Yes." }]), reason).is_none(), "{reason} after the answer");
        }
        for reason in
            ["OTHER", "MALFORMED_RESPONSE", "MISSING_THOUGHT_SIGNATURE", "FINISH_REASON_UNSPECIFIED", "SOMETHING_NEW"]
        {
            let ended = format!("it ended its response before the first word ({reason})");
            assert!(failure(&nothing, reason) == Some(LlmFailure::unusable(ended)), "{reason}");
            assert!(failure(&json!([{ "text": "Yes." }]), reason).is_none(), "{reason} after the answer");
        }
        for reason in ["MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL", "TOO_MANY_TOOL_CALLS"] {
            assert!(failure(&nothing, reason) == Some(LlmFailure::malformed_call(reason)), "{reason}");
        }
        assert!(failure(&nothing, "STOP").is_none());
    }

    #[test]
    fn a_part_whose_other_fields_are_null_is_its_text() {
        let mut response = ContentResponse::default();
        let part = json!({ "text": "Yes.", "functionCall": null, "thought": null, "inlineData": null });
        let chunk = json!({ "candidates": [{ "content": { "parts": [part] }, "finishReason": "STOP" }] });
        assert!(response.take(&chunk).is_ok_and(|step| step == StreamStep::Text("Yes.".to_owned())));
        assert!(response.finish(false).is_ok_and(|calls| calls.is_empty()));
    }

    #[test]
    fn a_name_loses_its_namespace_and_one_that_the_model_made_up_is_sent_in_a_form_that_is_accepted() {
        for (named, made, sent) in [("default_api.book", "book", "book"), ("crm.book", "crm.book", "crm_book")] {
            let mut response = ContentResponse::default();
            let part = json!({ "functionCall": { "name": named, "args": {} } });
            let chunk = json!({ "candidates": [{ "content": { "parts": [part] }, "finishReason": "STOP" }] });
            assert!(response.take(&chunk).is_ok());
            let calls = response.finish(false).unwrap_or_default();
            assert!(calls.len() == 1 && calls[0].name == made, "{named}: {calls:?}");
            let called = Message { tool_calls: calls, ..Message::new(Role::Assistant, "") };
            let sent_back = contents(&turns(&[Message::new(Role::User, "A table."), called]).1, false);
            assert_eq!(sent_back[1]["parts"][0]["functionCall"]["name"], sent);
            assert_eq!(sent_back[2]["parts"][0]["functionResponse"]["name"], sent);
        }
    }

    #[test]
    fn thoughts_alone_may_reach_the_limit() {
        let thought = json!({ "parts": [{ "text": "Hm.", "thought": true }] });
        for (reason, cut) in [("MAX_TOKENS", true), ("STOP", false)] {
            let mut response = ContentResponse::default();
            let chunk = json!({ "candidates": [{ "content": thought, "finishReason": reason }] });
            assert!(matches!(response.take(&chunk), Ok(StreamStep::Nothing)));
            assert!(response.finish(false).is_ok_and(|calls| calls.is_empty()));
            assert_eq!(response.is_cut(), cut, "{reason}");
        }
    }
}
