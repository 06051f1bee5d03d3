//! What goes over the wire: messages out, chunks in, the union of what compatible servers send.

use std::time::Duration;

use reqwest::header::HeaderMap;
use serde_json::{Map, Value, json};
use switchhook_core::conversation::{Message, Role};

use crate::providers::{Analysis, LlmEvent, Usage};

/// Our messages in theirs. Every tool call must be answered right after it, or servers refuse the request: one whose answer
/// is missing is answered as cancelled.
pub(super) fn messages(messages: &[Message]) -> Vec<Value> {
    let mut sent = Vec::with_capacity(messages.len());
    for (position, message) in messages.iter().enumerate() {
        match message.role {
            Role::System => sent.push(json!({ "role": "system", "content": message.text })),
            Role::User => sent.push(json!({ "role": "user", "content": message.text })),
            Role::Tool => sent.push(json!({
                "role": "tool", "tool_call_id": message.tool_call_id, "content": message.text,
            })),
            Role::Assistant if message.tool_calls.is_empty() => {
                sent.push(json!({ "role": "assistant", "content": message.text }));
            }
            Role::Assistant => {
                sent.push(with_tool_calls(message));
                let answers = messages[position + 1..].iter().take_while(|next| next.role == Role::Tool);
                let answered: Vec<&str> = answers.filter_map(|answer| answer.tool_call_id.as_deref()).collect();
                for call in message.tool_calls.iter().filter(|call| !answered.contains(&call.id.as_str())) {
                    sent.push(json!({ "role": "tool", "tool_call_id": call.id, "content": "cancelled" }));
                }
            }
        }
    }
    sent
}

fn with_tool_calls(message: &Message) -> Value {
    let calls: Vec<Value> = message
        .tool_calls
        .iter()
        .map(|call| {
            json!({
                "id": call.id, "type": "function",
                "function": { "name": call.name, "arguments": call.arguments.to_string() },
            })
        })
        .collect();
    json!({ "role": "assistant", "content": message.text, "tool_calls": calls })
}

/// Half an hour of speech: no caller listens to more.
const MOST_CHARACTERS: u64 = 20_000;
/// Tools called in one answer.
const MOST_TOOLS: usize = 16;

/// What a chunk brought.
#[derive(Debug, PartialEq)]
pub(super) enum Step {
    /// Text to speak.
    Text(String),
    /// Nothing to act on yet.
    Nothing,
}

/// An answer being read.
#[derive(Default)]
pub(super) struct Answer {
    tools: Vec<OpenCall>,
    usage: Option<Usage>,
    characters: u64,
    thinking: bool,
    finished: bool,
    over: bool,
}

#[derive(Default)]
struct OpenCall {
    index: Option<u64>,
    id: String,
    name: String,
    arguments: String,
}

impl Answer {
    /// Takes the data of one event.
    ///
    /// # Errors
    /// What the server says went wrong, in its words; also inside an answer that began well.
    pub(super) fn take(&mut self, data: &str) -> Result<Step, String> {
        if data == "[DONE]" {
            self.over = true;
            return Ok(Step::Nothing);
        }
        let chunk: Value = serde_json::from_str(data).map_err(|_| "it sent a piece that is not JSON".to_owned())?;
        if let Some(words) = error_in(&chunk) {
            return Err(words);
        }
        self.take_usage(&chunk);
        let Some(choice) = chunk.pointer("/choices/0") else { return Ok(Step::Nothing) };
        if choice.get("finish_reason").and_then(Value::as_str).is_some_and(|reason| !reason.is_empty()) {
            self.finished = true;
        }
        let delta = choice.get("delta").unwrap_or(&Value::Null);
        for call in delta.get("tool_calls").and_then(Value::as_array).into_iter().flatten() {
            self.take_tool_call(call);
        }
        let text = delta.get("content").or_else(|| delta.get("refusal")).and_then(Value::as_str).unwrap_or_default();
        self.characters += text.chars().count() as u64;
        if self.characters > MOST_CHARACTERS || self.tools.len() > MOST_TOOLS {
            return Err("its answer does not end".to_owned());
        }
        let spoken = self.without_thoughts(text);
        Ok(if spoken.is_empty() { Step::Nothing } else { Step::Text(spoken) })
    }

    /// Nothing more is to come that matters.
    pub(super) fn is_over(&self) -> bool {
        self.over
    }

    fn take_usage(&mut self, chunk: &Value) {
        let usage = chunk.get("usage").filter(|usage| usage.is_object()).or_else(|| chunk.pointer("/x_groq/usage"));
        let Some(usage) = usage else { return };
        let tokens = |name: &str| usage.get(name).and_then(Value::as_u64).unwrap_or(0);
        self.usage = Some(Usage {
            llm_input_tokens: tokens("prompt_tokens"),
            llm_output_tokens: tokens("completion_tokens"),
            ..Usage::default()
        });
    }

    /// Servers key a call by index, by id, or by neither; some repeat id and name in every piece.
    fn take_tool_call(&mut self, piece: &Value) {
        let index = piece.get("index").and_then(Value::as_u64);
        let id = piece.get("id").and_then(Value::as_str).filter(|id| !id.is_empty());
        let known = self.tools.iter().position(|call| match (index, id) {
            (Some(index), _) => call.index == Some(index),
            (None, Some(id)) => call.id == id,
            (None, None) => true,
        });
        let at = known.unwrap_or_else(|| {
            self.tools.push(OpenCall { index, ..OpenCall::default() });
            self.tools.len() - 1
        });
        let call = &mut self.tools[at];
        let function = piece.get("function").unwrap_or(&Value::Null);
        if call.id.is_empty() {
            id.unwrap_or_default().clone_into(&mut call.id);
        }
        if call.name.is_empty() {
            function.get("name").and_then(Value::as_str).unwrap_or_default().clone_into(&mut call.name);
        }
        match function.get("arguments") {
            Some(Value::String(more)) => call.arguments.push_str(more),
            Some(whole @ Value::Object(_)) => call.arguments = whole.to_string(),
            _ => {}
        }
    }

    /// Reasoning between `<think>` and `</think>` is not spoken. The marks come as pieces of their own.
    fn without_thoughts(&mut self, text: &str) -> String {
        let mut spoken = String::new();
        let mut rest = text;
        loop {
            let mark = if self.thinking { "</think>" } else { "<think>" };
            let (before, after) = rest.split_once(mark).map_or((rest, None), |(before, after)| (before, Some(after)));
            if !self.thinking {
                spoken.push_str(before);
            }
            let Some(after) = after else { return spoken };
            self.thinking = !self.thinking;
            rest = after;
        }
    }

    /// The stream has ended: the tool calls in it, whole.
    ///
    /// # Errors
    /// When it was cut off, or said nothing at all.
    pub(super) fn finish(&mut self) -> Result<Vec<LlmEvent>, String> {
        if !self.finished && self.characters == 0 && self.tools.is_empty() {
            return Err("it sent an empty answer; the conversation may be too long for the model".to_owned());
        }
        if !self.finished && !self.over {
            return Err("its answer was cut off".to_owned());
        }
        let tools = std::mem::take(&mut self.tools);
        tools.into_iter().enumerate().map(|(position, call)| call.finish(position)).collect()
    }

    /// What it cost; estimated from the text when the server does not say.
    pub(super) fn usage(&self) -> Usage {
        self.usage.unwrap_or(Usage { llm_output_tokens: self.characters.div_ceil(4), ..Usage::default() })
    }
}

impl OpenCall {
    fn finish(self, position: usize) -> Result<LlmEvent, String> {
        let text = if self.arguments.trim().is_empty() { "{}" } else { self.arguments.as_str() };
        let arguments = serde_json::from_str(text)
            .map_err(|_| format!("it called the tool {} with arguments that are not JSON", self.name))?;
        let id = if self.id.is_empty() { format!("call_{position}") } else { self.id };
        Ok(LlmEvent::ToolCall { id, name: self.name, arguments })
    }
}

/// The words of an error, in any of the shapes that servers use.
fn error_in(body: &Value) -> Option<String> {
    let error = body.get("error").filter(|error| !error.is_null());
    let words = match error {
        Some(Value::String(words)) => Some(words.clone()),
        Some(error) => {
            let message = error.get("message").and_then(Value::as_str).unwrap_or("it failed without saying why");
            Some(match error.get("code").and_then(Value::as_str) {
                Some(code) => format!("{message} ({code})"),
                None => message.to_owned(),
            })
        }
        None if body.get("object").and_then(Value::as_str) == Some("error") => {
            body.get("message").and_then(Value::as_str).map(str::to_owned)
        }
        None => None,
    };
    words.map(|words| words.chars().take(300).collect())
}

/// The words in the body of a refusal.
pub(super) fn error_words(body: &[u8]) -> Option<String> {
    let body: Value = serde_json::from_slice(body).ok()?;
    let detail = || body.get("detail").and_then(Value::as_str).map(str::to_owned);
    error_in(&body).or_else(detail)
}

/// How long the server asks us to wait: `retry-after-ms`, or `retry-after` in seconds.
pub(super) fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let number = |name: &str| {
        headers.get(name)?.to_str().ok()?.trim().parse::<f64>().ok().filter(|n| n.is_finite() && *n >= 0.0)
    };
    let seconds = number("retry-after-ms").map(|ms| ms / 1_000.0).or_else(|| number("retry-after"))?;
    Some(Duration::from_secs_f64(seconds.min(3_600.0)))
}

/// Reads what a model wrote when it was asked for JSON: fenced, with words around it, or plain.
pub(super) fn analysis(text: &str) -> Option<Analysis> {
    let object = text.get(text.find('{')?..=text.rfind('}')?)?;
    let mut object: Map<String, Value> = serde_json::from_str(object).ok()?;
    let summary = object.get("summary")?.as_str()?.to_owned();
    Some(Analysis { summary, outcome: object.remove("outcome").unwrap_or(Value::Null) })
}
