//! The Messages protocol: turns out, events in.

use serde_json::{Value, json};
use switchhook_core::conversation::ToolCall;

use crate::llm::finish_reason::FinishReason;
use crate::llm::turns::{Part, Turn, arguments, object};
use crate::llm::{LlmFailure, LlmResponse, StreamStep};
use crate::{ToolSpec, Usage};

/// Converts turns to messages. The results of all tools of a turn are in one message, before any text.
pub(super) fn messages(turns: &[Turn<'_>]) -> Value {
    let message = |turn: &Turn<'_>| {
        let role = if turn.by_model { "assistant" } else { "user" };
        json!({ "role": role, "content": turn.parts.iter().map(block).collect::<Vec<_>>() })
    };
    turns.iter().map(message).collect()
}

fn block(part: &Part<'_>) -> Value {
    match part {
        Part::Text(text) => json!({ "type": "text", "text": text.trim_end() }),
        Part::Call { id, call } => {
            json!({ "type": "tool_use", "id": id, "name": call.name, "input": object(&call.arguments) })
        }
        Part::Result { id, text, .. } => json!({ "type": "tool_result", "tool_use_id": id, "content": text }),
    }
}

pub(super) fn tool(tool: &ToolSpec) -> Value {
    json!({ "name": tool.name, "description": tool.description, "input_schema": tool.parameters })
}

/// Marks the stable prefix for caching: the last tool, the instructions, and the conversation so far, which the next turn repeats.
pub(super) fn mark_for_cache(body: &mut Value) {
    let last = |list: &Value| list.as_array().map_or(0, Vec::len).checked_sub(1);
    let mark = |list: &mut Value| {
        if let Some(at) = last(list) {
            list[at]["cache_control"] = json!({ "type": "ephemeral" });
        }
    };
    for name in ["tools", "system"] {
        if let Some(list) = body.get_mut(name) {
            mark(list);
        }
    }
    if let Some(at) = last(&body["messages"]) {
        mark(&mut body["messages"][at]["content"]);
    }
}

/// Parses a streamed response.
#[derive(Default)]
pub(super) struct MessagesResponse {
    tools: Vec<OpenCall>,
    read: Tokens,
    reason: Option<String>,
}

struct OpenCall {
    index: u64,
    id: String,
    name: String,
    arguments: String,
}

/// Token counts; later values replace earlier ones.
#[derive(Default)]
struct Tokens {
    input: Option<u64>,
    cache_write: u64,
    cache_read: u64,
    output: u64,
}

impl Tokens {
    fn take(&mut self, usage: Option<&Value>) {
        let Some(usage) = usage else { return };
        let tokens = |name: &str| usage.get(name).and_then(Value::as_u64);
        self.input = tokens("input_tokens").or(self.input);
        self.cache_write = tokens("cache_creation_input_tokens").unwrap_or(self.cache_write);
        self.cache_read = tokens("cache_read_input_tokens").unwrap_or(self.cache_read);
        self.output = tokens("output_tokens").unwrap_or(self.output);
    }
}

impl LlmResponse for MessagesResponse {
    fn take(&mut self, event: &Value) -> Result<StreamStep, LlmFailure> {
        if let Some(failure) = LlmFailure::in_response(event) {
            return Err(failure);
        }
        let index = event.get("index").and_then(Value::as_u64).unwrap_or(0);
        // New types of events, blocks and deltas may be added at any time, and must be ignored.
        Ok(match event.get("type").and_then(Value::as_str).unwrap_or_default() {
            "message_start" => {
                self.read.take(event.pointer("/message/usage"));
                StreamStep::Nothing
            }
            "content_block_start" => self.block_starts(index, &event["content_block"]),
            "content_block_delta" => self.block_goes_on(index, &event["delta"]),
            "message_delta" => {
                self.read.take(event.get("usage"));
                self.reason = event.pointer("/delta/stop_reason").and_then(Value::as_str).map(str::to_owned);
                StreamStep::Nothing
            }
            "message_stop" => StreamStep::Over,
            _ => StreamStep::Nothing,
        })
    }

    fn finish(&mut self, _done: bool) -> Result<Vec<ToolCall>, LlmFailure> {
        match self.reason.as_deref() {
            None => Err(LlmFailure::cut_off()),
            Some("refusal") => Err(LlmFailure::content_refused("the model refused to respond (refusal)")),
            Some("model_context_window_exceeded") => Err(LlmFailure::too_long()),
            Some(reason) => {
                let cut = FinishReason::read(reason) == FinishReason::Length;
                Ok(std::mem::take(&mut self.tools).into_iter().map(|call| call.finish(cut)).collect())
            }
        }
    }

    /// Returns the usage. The API's input tokens exclude those read from or written to the cache.
    fn usage(&self) -> Option<Usage> {
        let Tokens { input, cache_write, cache_read, output } = self.read;
        Some(Usage {
            llm_input_tokens: input?.saturating_add(cache_write).saturating_add(cache_read),
            llm_cached_tokens: cache_read,
            llm_cache_write_tokens: cache_write,
            llm_output_tokens: output,
            ..Usage::default()
        })
    }

    fn is_cut(&self) -> bool {
        self.reason.as_deref().is_some_and(|reason| FinishReason::read(reason) == FinishReason::Length)
    }
}

impl MessagesResponse {
    fn block_starts(&mut self, index: u64, block: &Value) -> StreamStep {
        let text = |name: &str| block.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
        match block.get("type").and_then(Value::as_str) {
            // The input in this block is a placeholder.
            Some("tool_use") => {
                self.tools.push(OpenCall { index, id: text("id"), name: text("name"), arguments: String::new() });
                StreamStep::Tool
            }
            Some("text") => spoken(text("text")),
            _ => StreamStep::Nothing,
        }
    }

    fn block_goes_on(&mut self, index: u64, delta: &Value) -> StreamStep {
        let text = |name: &str| delta.get(name).and_then(Value::as_str).unwrap_or_default();
        match delta.get("type").and_then(Value::as_str) {
            Some("text_delta") => spoken(text("text").to_owned()),
            Some("input_json_delta") => {
                if let Some(call) = self.tools.iter_mut().find(|call| call.index == index) {
                    call.arguments.push_str(text("partial_json"));
                }
                StreamStep::Tool
            }
            _ => StreamStep::Nothing,
        }
    }
}

fn spoken(text: String) -> StreamStep {
    if text.is_empty() { StreamStep::Nothing } else { StreamStep::Text(text) }
}

impl OpenCall {
    fn finish(self, cut: bool) -> ToolCall {
        let arguments = arguments(&self.arguments, cut);
        ToolCall { id: self.id, name: self.name, arguments, signature: None }
    }
}

#[cfg(test)]
pub(crate) const FUZZED: switchhook_fuzz::Target = switchhook_fuzz::Target {
    file: file!(),
    seeds: || {
        switchhook_fuzz::texts(&[
            &[
                r##"{"type":"message_start","message":{"usage":{"input_tokens":9,"cache_creation_input_tokens":3,"cache_read_input_tokens":2,"output_tokens":1}}}"##,
                r##"{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}"##,
                r##"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Yes"}}"##,
                r##"{"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"t1","name":"book","input":{}}}"##,
                r##"{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"{\"people\":4}"}}"##,
                r##"{"type":"message_delta","delta":{"stop_reason":"tool_use"},"usage":{"output_tokens":15}}"##,
                r##"{"type":"message_stop"}"##,
            ],
            &[
                r##"{"type":"message_start","message":{}}"##,
                r##"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"##,
            ],
        ])
    },
    read: crate::fuzz::llm::<MessagesResponse>,
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thinking_alone_may_reach_the_limit() {
        for (reason, cut) in [("max_tokens", true), ("end_turn", false)] {
            let mut response = MessagesResponse::default();
            for event in [
                json!({ "type": "content_block_start", "index": 0, "content_block": { "type": "thinking", "thinking": "" } }),
                json!({ "type": "content_block_delta", "index": 0, "delta": { "type": "thinking_delta", "thinking": "Hm." } }),
                json!({ "type": "message_delta", "delta": { "stop_reason": reason } }),
            ] {
                assert!(matches!(response.take(&event), Ok(StreamStep::Nothing)), "{event}");
            }
            assert!(response.finish(false).is_ok_and(|calls| calls.is_empty()));
            assert_eq!(response.is_cut(), cut, "{reason}");
        }
    }
}
