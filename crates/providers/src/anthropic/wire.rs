//! The Messages protocol: turns out, events in.

use std::collections::HashSet;

use serde_json::{Value, json};
use switchhook_core::conversation::ToolCall;

use crate::llm::finish_reason::FinishReason;
use crate::llm::tool_names::without_namespace;
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
        Part::Call { id, name, call } => {
            json!({ "type": "tool_use", "id": id, "name": name, "input": object(&call.arguments) })
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
    /// The indexes of other blocks with an input, such as calls of the server's own tools.
    others: HashSet<u64>,
    read: Tokens,
    reason: Option<String>,
    /// Whether the server reported that the response is complete. Some do without a reason.
    stopped: bool,
}

struct OpenCall {
    index: u64,
    id: String,
    name: String,
    arguments: String,
    /// The input that came with the start of the block: a placeholder, or all of it where no delta follows.
    input: Value,
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
            "content_block_delta" => self.block_continues(index, &event["delta"]),
            "message_delta" => {
                self.read.take(event.get("usage"));
                self.take_reason(event.pointer("/delta/stop_reason"));
                StreamStep::Nothing
            }
            "message_stop" => {
                self.stopped = true;
                StreamStep::Over
            }
            "message" => self.whole(event),
            _ => StreamStep::Nothing,
        })
    }

    fn finish(&mut self, _done: bool) -> Result<Vec<ToolCall>, LlmFailure> {
        match self.reason.as_deref() {
            None if !self.stopped => Err(LlmFailure::cut_off()),
            Some("refusal") => Err(LlmFailure::content_refused("the model refused to respond (refusal)")),
            Some("model_context_window_exceeded") => Err(LlmFailure::too_long()),
            reason => {
                let cut = reason.is_some_and(|reason| FinishReason::read(reason) == FinishReason::Length);
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
    /// Takes a complete response, which some servers send in place of a stream.
    fn whole(&mut self, message: &Value) -> StreamStep {
        self.read.take(message.get("usage"));
        self.take_reason(message.get("stop_reason"));
        self.stopped = true;
        let (mut text, mut called) = (String::new(), false);
        for (index, block) in (0..).zip(message.get("content").and_then(Value::as_array).into_iter().flatten()) {
            match self.block_starts(index, block) {
                StreamStep::Text(more) => text.push_str(&more),
                step => called |= step == StreamStep::Tool,
            }
        }
        if called && text.is_empty() { StreamStep::Tool } else { spoken(text) }
    }

    /// Keeps the reason for which the response ended. Later events may come without it.
    fn take_reason(&mut self, reason: Option<&Value>) {
        self.reason = reason.and_then(Value::as_str).map(str::to_owned).or(self.reason.take());
    }

    fn block_starts(&mut self, index: u64, block: &Value) -> StreamStep {
        let text = |name: &str| block.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
        match block.get("type").and_then(Value::as_str) {
            Some("tool_use") => {
                let input = block.get("input").cloned().unwrap_or_default();
                self.tools.push(OpenCall {
                    index,
                    id: text("id"),
                    name: text("name"),
                    arguments: String::new(),
                    input,
                });
                StreamStep::Tool
            }
            Some("text") => spoken(text("text")),
            _ => {
                if block.get("input").is_some() {
                    self.others.insert(index);
                }
                StreamStep::Nothing
            }
        }
    }

    fn block_continues(&mut self, index: u64, delta: &Value) -> StreamStep {
        let text = |name: &str| delta.get(name).and_then(Value::as_str).unwrap_or_default();
        match delta.get("type").and_then(Value::as_str) {
            Some("text_delta") => spoken(text("text").to_owned()),
            Some("input_json_delta") => {
                if let Some(at) = self.call_at(index) {
                    self.tools[at].arguments.push_str(text("partial_json"));
                }
                StreamStep::Tool
            }
            _ => StreamStep::Nothing,
        }
    }

    /// Returns the position of the call that an input belongs to. Some servers give all calls one index, and some send inputs with an index
    /// that never started: both belong to the last call.
    fn call_at(&self, index: u64) -> Option<usize> {
        let last = || self.tools.len().checked_sub(1).filter(|_| !self.others.contains(&index));
        self.tools.iter().rposition(|call| call.index == index).or_else(last)
    }
}

fn spoken(text: String) -> StreamStep {
    if text.is_empty() { StreamStep::Nothing } else { StreamStep::Text(text) }
}

impl OpenCall {
    fn finish(self, cut: bool) -> ToolCall {
        let is_whole = self.arguments.is_empty() && self.input.as_object().is_some_and(|input| !input.is_empty());
        let arguments = if is_whole { self.input } else { arguments(&self.arguments, cut) };
        ToolCall { id: self.id, name: without_namespace(&self.name).to_owned(), arguments, signature: None }
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
    use switchhook_core::conversation::{Message, Role};

    use super::*;
    use crate::llm::turns::turns;

    fn calls(events: &[Value]) -> Result<Vec<ToolCall>, LlmFailure> {
        let mut response = MessagesResponse::default();
        for event in events {
            assert!(response.take(event).is_ok(), "{event}");
        }
        response.finish(false)
    }

    #[test]
    fn a_call_whose_input_comes_with_its_start_keeps_it() {
        let block = |input: Value| json!({ "type": "tool_use", "id": "t", "name": "book", "input": input });
        let start = |input| json!({ "type": "content_block_start", "index": 0, "content_block": block(input) });
        let delta = json!({ "type": "input_json_delta", "partial_json": "{\"day\":\"Friday\"}" });
        let delta = json!({ "type": "content_block_delta", "index": 0, "delta": delta });
        let stop = json!({ "type": "message_stop" });
        let friday = json!({ "day": "Friday" });
        for (events, arguments) in [
            (vec![start(friday.clone()), stop.clone()], &friday),
            (vec![start(json!({ "day": "" })), delta.clone(), stop.clone()], &friday),
            (vec![start(Value::Null), delta, stop.clone()], &friday),
            (vec![start(json!({})), stop], &json!({})),
        ] {
            let calls = calls(&events).unwrap_or_default();
            assert!(calls.len() == 1 && calls[0].arguments == *arguments, "{events:?}: {calls:?}");
        }
    }

    #[test]
    fn an_input_belongs_to_the_last_call_with_its_index_or_to_the_last_call() {
        let block = |index: u64, kind: &str, name: &str| {
            let block = json!({ "type": kind, "id": name, "name": name, "input": {} });
            json!({ "type": "content_block_start", "index": index, "content_block": block })
        };
        let start = |index, name| block(index, "tool_use", name);
        let delta = |index: u64, json: &str| {
            let delta = json!({ "type": "input_json_delta", "partial_json": json });
            json!({ "type": "content_block_delta", "index": index, "delta": delta })
        };
        let (one, two) = (|index| delta(index, "{\"day\":1}"), |index| delta(index, "{\"day\":2}"));
        let both = vec![("book", json!({ "day": 1 })), ("cancel", json!({ "day": 2 }))];
        for (mut events, expected) in [
            (vec![start(0, "book"), one(0), start(0, "cancel"), two(0)], both.clone()),
            (vec![start(0, "book"), start(1, "cancel"), two(1), one(0)], both.clone()),
            (vec![start(1, "book"), one(0), start(2, "cancel"), delta(7, "{\"day\":"), delta(7, "2}")], both.clone()),
            (vec![start(0, "book"), one(0), block(1, "server_tool_use", "web_search"), two(1)], both[..1].to_vec()),
            (vec![one(0), start(0, "hours")], vec![("hours", json!({}))]),
            (vec![one(0)], Vec::new()),
        ] {
            events.push(json!({ "type": "message_stop" }));
            let calls = calls(&events).unwrap_or_default();
            let made: Vec<(&str, Value)> =
                calls.iter().map(|call| (call.name.as_str(), call.arguments.clone())).collect();
            assert_eq!(made, expected, "{events:?}");
        }
    }

    #[test]
    fn a_name_loses_its_namespace_and_one_that_the_model_made_up_is_sent_in_a_form_that_is_accepted() {
        for (named, made, sent) in [("default_api.book", "book", "book"), ("crm.book", "crm.book", "crm_book")] {
            let block = json!({ "type": "tool_use", "id": "t", "name": named, "input": {} });
            let start = json!({ "type": "content_block_start", "index": 0, "content_block": block });
            let calls = calls(&[start, json!({ "type": "message_stop" })]).unwrap_or_default();
            assert!(calls.len() == 1 && calls[0].name == made, "{named}: {calls:?}");
            let called = Message { tool_calls: calls, ..Message::new(Role::Assistant, "") };
            let sent_back = messages(&turns(&[Message::new(Role::User, "A table."), called]).1);
            assert_eq!(sent_back[1]["content"][0]["name"], sent);
        }
    }

    #[test]
    fn a_response_is_complete_with_a_reason_or_with_its_stop() {
        let reason = |reason: Value| json!({ "type": "message_delta", "delta": { "stop_reason": reason } });
        let usage = json!({ "type": "message_delta", "usage": { "output_tokens": 7 } });
        let stop = json!({ "type": "message_stop" });
        for complete in [
            vec![reason(json!("end_turn")), usage.clone()],
            vec![reason(json!("end_turn")), usage.clone(), stop.clone()],
            vec![reason(Value::Null), stop],
        ] {
            assert!(calls(&complete).is_ok(), "{complete:?}");
        }
        assert!(calls(&[reason(Value::Null), usage]).is_err_and(|failure| failure == LlmFailure::cut_off()));
    }

    #[test]
    fn a_response_that_is_not_streamed_is_read() {
        let call = json!({ "type": "tool_use", "id": "t", "name": "book", "input": { "day": "Friday" } });
        let content =
            json!([{ "type": "thinking", "thinking": "Hm." }, { "type": "text", "text": "Let me see." }, call]);
        let usage = json!({ "input_tokens": 9, "output_tokens": 2 });
        let message = json!({ "type": "message", "content": content, "stop_reason": "tool_use", "usage": usage });
        let mut response = MessagesResponse::default();
        assert!(response.take(&message).is_ok_and(|step| step == StreamStep::Text("Let me see.".to_owned())));
        let calls = response.finish(true).unwrap_or_default();
        assert!(calls.len() == 1 && calls[0].arguments == json!({ "day": "Friday" }), "{calls:?}");
        assert_eq!(response.usage().map(|usage| usage.llm_input_tokens), Some(9));
    }

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
