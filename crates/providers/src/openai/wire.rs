//! Chat completions over the wire: messages out, chunks in, the union of what compatible servers send.

use serde_json::{Value, json};
use switchhook_core::conversation::{Message, Role, ToolCall};

use crate::Usage;
use crate::llm::turns::CANCELLED;
use crate::llm::{LlmFailure, LlmResponse, StreamStep};

/// Converts our messages. Every tool call must be followed by its result, or servers refuse the request: a missing result is
/// sent as cancelled.
pub(super) fn messages(messages: &[Message]) -> Vec<Value> {
    let mut sent = Vec::with_capacity(messages.len());
    let mut ids = CallIds::default();
    for (position, message) in messages.iter().enumerate() {
        match message.role {
            Role::System => sent.push(json!({ "role": "system", "content": message.text })),
            Role::User => sent.push(json!({ "role": "user", "content": message.text })),
            Role::Tool => sent.push(json!({
                "role": "tool", "tool_call_id": message.tool_call_id.as_deref().map(|id| ids.of(id)), "content": message.text,
            })),
            Role::Assistant if message.tool_calls.is_empty() => {
                sent.push(json!({ "role": "assistant", "content": message.text }));
            }
            Role::Assistant => {
                ids.give(&message.tool_calls);
                sent.push(with_tool_calls(message, &ids));
                let results = messages[position + 1..].iter().take_while(|next| next.role == Role::Tool);
                let returned: Vec<&str> = results.filter_map(|result| result.tool_call_id.as_deref()).collect();
                for call in message.tool_calls.iter().filter(|call| !returned.contains(&call.id.as_str())) {
                    sent.push(json!({ "role": "tool", "tool_call_id": ids.of(&call.id), "content": CANCELLED }));
                }
            }
        }
    }
    sent
}

/// The ids by which calls are shown to the model, in the order of the conversation: some servers give none or the same one
/// twice, and Mistral's take nine letters and digits only, also for calls that another model made.
#[derive(Default)]
struct CallIds<'m> {
    given: usize,
    /// Those of the last message with calls.
    last: Vec<(&'m str, String)>,
}

impl<'m> CallIds<'m> {
    fn give(&mut self, calls: &'m [ToolCall]) {
        self.last.clear();
        for call in calls {
            self.last.push((&call.id, format!("call{:05}", self.given)));
            self.given += 1;
        }
    }

    fn of(&self, id: &str) -> String {
        let known = self.last.iter().find(|(ours, _)| *ours == id);
        known.map_or_else(|| id.to_owned(), |(_, theirs)| theirs.clone())
    }
}

fn with_tool_calls(message: &Message, ids: &CallIds<'_>) -> Value {
    let calls: Vec<Value> = message
        .tool_calls
        .iter()
        .map(|call| {
            json!({
                "id": ids.of(&call.id), "type": "function",
                "function": { "name": call.name, "arguments": call.arguments.to_string() },
            })
        })
        .collect();
    let content = if message.text.is_empty() { Value::Null } else { json!(message.text) };
    json!({ "role": "assistant", "content": content, "tool_calls": calls })
}

/// Reads a streamed response.
#[derive(Default)]
pub(super) struct ChatResponse {
    tools: Vec<OpenCall>,
    usage: Option<Usage>,
    written: bool,
    reason: Option<String>,
}

#[derive(Default)]
struct OpenCall {
    index: Option<u64>,
    id: String,
    name: String,
    arguments: String,
}

impl LlmResponse for ChatResponse {
    fn take(&mut self, chunk: &Value) -> Result<StreamStep, LlmFailure> {
        if let Some(failure) = LlmFailure::in_response(chunk) {
            return Err(failure);
        }
        self.take_usage(chunk);
        let Some(choice) = chunk.pointer("/choices/0") else { return Ok(StreamStep::Nothing) };
        if let Some(reason) = nonempty(choice.get("finish_reason")) {
            self.reason = Some(reason.to_owned());
        }
        let delta = choice.get("delta").unwrap_or(&Value::Null);
        let mut step = StreamStep::Nothing;
        for call in delta.get("tool_calls").and_then(Value::as_array).into_iter().flatten() {
            self.take_tool_call(call);
            step = StreamStep::Tool;
        }
        let text = nonempty(delta.get("content")).or_else(|| nonempty(delta.get("refusal")));
        Ok(text.map_or(step, |text| {
            self.written = true;
            StreamStep::Text(text.to_owned())
        }))
    }

    /// Whether tools were called says more than the reason: servers give `stop` with calls and leave it out altogether.
    fn finish(&mut self, done: bool) -> Result<Vec<ToolCall>, LlmFailure> {
        let tools = std::mem::take(&mut self.tools);
        match self.reason.as_deref() {
            // Some servers give no reason; then the mark of the end is one.
            None if !done => Err(LlmFailure::cut_off()),
            Some("error") => Err(LlmFailure::cut_off()),
            Some("content_filter") if !self.written && tools.is_empty() => {
                Err(LlmFailure::content_refused("its content filter withheld the response (content_filter)"))
            }
            _ => tools.into_iter().enumerate().map(|(position, call)| call.finish(position)).collect(),
        }
    }

    fn usage(&self) -> Option<Usage> {
        self.usage
    }
}

impl ChatResponse {
    fn take_usage(&mut self, chunk: &Value) {
        let usage = chunk.get("usage").filter(|usage| usage.is_object()).or_else(|| chunk.pointer("/x_groq/usage"));
        let Some(usage) = usage else { return };
        let tokens = |path: &str| usage.pointer(path).and_then(Value::as_u64);
        let cached = tokens("/prompt_tokens_details/cached_tokens").or_else(|| tokens("/prompt_cache_hit_tokens"));
        self.usage = Some(Usage {
            llm_input_tokens: tokens("/prompt_tokens").unwrap_or(0),
            llm_cached_tokens: cached.unwrap_or(0),
            llm_cache_write_tokens: tokens("/prompt_tokens_details/cache_write_tokens").unwrap_or(0),
            llm_output_tokens: tokens("/completion_tokens").unwrap_or(0),
            // OpenRouter's, in US dollars.
            cost_usd: usage.get("cost").and_then(Value::as_f64).filter(|cost| *cost > 0.0).unwrap_or(0.0),
            ..Usage::default()
        });
    }

    /// Servers key a call by index, by id, or by neither, in which case it is the last one. Some repeat id and name in every
    /// piece, some make up a new id for every piece, and some give all calls the same index: another id is another call only
    /// where there is a name as well.
    fn take_tool_call(&mut self, piece: &Value) {
        let index = piece.get("index").and_then(Value::as_u64);
        let function = piece.get("function").unwrap_or(&Value::Null);
        let name = nonempty(function.get("name"));
        let id = nonempty(piece.get("id")).filter(|_| name.is_some());
        let known = self.tools.iter().rposition(|call| match (index, id) {
            (Some(index), Some(id)) => call.index == Some(index) && (call.id.is_empty() || call.id == id),
            (Some(index), None) => call.index == Some(index),
            (None, Some(id)) => call.id == id,
            (None, None) => true,
        });
        let at = known.unwrap_or_else(|| {
            self.tools.push(OpenCall { index, ..OpenCall::default() });
            self.tools.len() - 1
        });
        let call = &mut self.tools[at];
        if call.id.is_empty() {
            nonempty(piece.get("id")).unwrap_or_default().clone_into(&mut call.id);
        }
        if call.name.is_empty() {
            name.unwrap_or_default().clone_into(&mut call.name);
        }
        match function.get("arguments") {
            Some(Value::String(more)) => call.arguments.push_str(more),
            Some(whole @ Value::Object(_)) => call.arguments = whole.to_string(),
            _ => {}
        }
    }
}

impl OpenCall {
    fn finish(self, position: usize) -> Result<ToolCall, LlmFailure> {
        let text = if self.arguments.trim().is_empty() { "{}" } else { self.arguments.as_str() };
        let arguments = serde_json::from_str(text).map_err(|_| {
            LlmFailure::unusable(format!("it called the tool {} with arguments that are not JSON", self.name))
        })?;
        let id = if self.id.is_empty() { format!("call_{position}") } else { self.id };
        Ok(ToolCall { id, name: self.name, arguments, signature: None })
    }
}

fn nonempty(value: Option<&Value>) -> Option<&str> {
    value.and_then(Value::as_str).filter(|text| !text.is_empty())
}

#[cfg(test)]
pub(crate) const FUZZED: switchhook_fuzz::Target = switchhook_fuzz::Target {
    file: file!(),
    seeds: || {
        switchhook_fuzz::texts(&[
            &[
                r##"{"id":"c","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"role":"assistant","content":"Yes"},"finish_reason":null}]}"##,
                r##"{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"call_1","type":"function","function":{"name":"book","arguments":"{\"people\":"}}]}}]}"##,
                r##"{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"4}"}}]},"finish_reason":"tool_calls"}]}"##,
                r##"{"choices":[],"usage":{"prompt_tokens":9,"completion_tokens":12,"prompt_tokens_details":{"cached_tokens":2},"cost":0.001}}"##,
            ],
            &[
                r##"{"choices":[{"delta":{"content":"Bye"},"finish_reason":"stop"}],"x_groq":{"usage":{"prompt_tokens":1}}}"##,
                r##"{"error":{"message":"No.","type":"server_error","code":500}}"##,
            ],
        ])
    },
    read: crate::fuzz::llm::<ChatResponse>,
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_of_a_refusal_are_said() {
        let chunk = json!({ "choices": [{ "delta": { "content": null, "refusal": "I cannot help with that." } }] });
        let step = ChatResponse::default().take(&chunk);
        assert!(matches!(step, Ok(StreamStep::Text(text)) if text == "I cannot help with that."));
    }
}
