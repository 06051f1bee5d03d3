//! The chat completions protocol: messages out, chunks in, as the union of what compatible servers send.

use std::collections::HashMap;

use serde::de::IgnoredAny;
use serde_json::{Value, json};
use switchhook_core::conversation::{Message, ToolCall};

use crate::Usage;
use crate::llm::finish_reason::FinishReason;
use crate::llm::tool_names::without_namespace;
use crate::llm::turns::{Part, Turn, arguments, object, turns};
use crate::llm::{LlmFailure, LlmResponse, StreamStep};

/// How strict the server's conversation template is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Template {
    /// Accepts instructions, tools and tool results as they are.
    #[default]
    Usual,
    /// Has no separate instructions, and requires text from the model between a tool result and the caller's turn.
    Strict,
    /// Supports only the caller and the model.
    Plain,
}

/// Stands for the model's text after a tool result.
const PAUSE: &str = "\u{2026}";

/// Converts messages: the instructions, then alternating turns, of which the first and the last are the caller's. Every tool call is
/// followed by its result, or servers refuse the request: a missing result is sent as cancelled.
pub(super) fn messages(messages: &[Message], template: Template) -> Vec<Value> {
    let (system, turns) = turns(messages);
    let mut sent = Vec::with_capacity(turns.len() + 1);
    let mut instructions = Some(system).filter(|system| !system.trim().is_empty());
    if let Some(system) = instructions.take_if(|_| template == Template::Usual) {
        sent.push(json!({ "role": "system", "content": system }));
    }
    let mut ids = CallIds::default();
    for turn in &turns {
        match template {
            Template::Plain => sent.push(plain(turn)),
            _ if turn.by_model => sent.push(by_model(turn, &mut ids, template)),
            _ => by_caller(turn, &ids, template, &mut sent),
        }
    }
    let first = sent.iter_mut().find(|message| message["role"] == "user");
    if let Some((system, first)) = instructions.zip(first) {
        first["content"] = json!(format!("{system}\n\n{}", first["content"].as_str().unwrap_or_default()));
    }
    sent
}

/// The tool call ids shown to the model, in the order of the conversation: Mistral's models accept only nine letters and digits,
/// also for calls that another model made.
#[derive(Default)]
struct CallIds(HashMap<String, String>);

impl CallIds {
    fn give(&mut self, id: &str) -> String {
        let number = self.0.len();
        self.0.entry(id.to_owned()).or_insert_with(|| format!("call{number:05}")).clone()
    }

    fn of(&self, id: &str) -> Option<&str> {
        self.0.get(id).map(String::as_str)
    }
}

/// Returns the text of a turn.
fn words(turn: &Turn<'_>) -> String {
    let said = turn.parts.iter().filter_map(|part| if let Part::Text(text) = part { Some(*text) } else { None });
    said.collect::<Vec<_>>().join("\n")
}

fn by_model(turn: &Turn<'_>, ids: &mut CallIds, template: Template) -> Value {
    let calls = turn.parts.iter().filter_map(|part| match part {
        Part::Call { id, name, call } => Some(json!({
            "id": ids.give(id), "type": "function",
            "function": { "name": name, "arguments": object(&call.arguments).to_string() },
        })),
        _ => None,
    });
    let calls: Vec<Value> = calls.collect();
    let words = words(turn);
    if calls.is_empty() {
        return json!({ "role": "assistant", "content": words });
    }
    // Strict templates concatenate it with other text.
    let content = if words.is_empty() && template == Template::Usual { Value::Null } else { json!(words) };
    json!({ "role": "assistant", "content": content, "tool_calls": calls })
}

fn by_caller(turn: &Turn<'_>, ids: &CallIds, template: Template, sent: &mut Vec<Value>) {
    let mut results = false;
    for part in &turn.parts {
        if let Part::Result { id, text, .. } = part {
            sent.push(json!({ "role": "tool", "tool_call_id": ids.of(id), "content": text }));
            results = true;
        }
    }
    let words = words(turn);
    if words.is_empty() {
        return;
    }
    if results && template == Template::Strict {
        sent.push(json!({ "role": "assistant", "content": PAUSE }));
    }
    sent.push(json!({ "role": "user", "content": words }));
}

/// Converts a turn to text, with its tool calls and results in brackets.
fn plain(turn: &Turn<'_>) -> Value {
    let said = turn.parts.iter().map(|part| match part {
        Part::Text(text) => (*text).to_owned(),
        Part::Call { name, call, .. } => format!("(Called {name} with {}.)", object(&call.arguments)),
        Part::Result { name, text, .. } => format!("(Result of {name}: {text})"),
    });
    let role = if turn.by_model { "assistant" } else { "user" };
    json!({ "role": role, "content": said.collect::<Vec<_>>().join("\n") })
}

/// Parses a streamed response.
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
        // Servers that do not stream send one complete message.
        let delta = choice.get("delta").or_else(|| choice.get("message")).unwrap_or(&Value::Null);
        let mut step = StreamStep::Nothing;
        let mut together = Vec::new();
        for piece in &pieces(delta) {
            let at = self.take_tool_call(piece, &together);
            together.push(at);
            step = StreamStep::Tool;
        }
        let text = [delta.get("content"), delta.get("refusal")].into_iter().flatten().map(spoken);
        Ok(text.into_iter().find(|text| !text.is_empty()).map_or(step, |text| {
            self.written = true;
            StreamStep::Text(text)
        }))
    }

    /// Ends the response. Tool calls are more reliable than the reason: servers send `stop` with calls, or no reason at all.
    fn finish(&mut self, done: bool) -> Result<Vec<ToolCall>, LlmFailure> {
        let mut tools: Vec<OpenCall> = Vec::new();
        for call in std::mem::take(&mut self.tools) {
            if !tools.iter().any(|before| call.is_rest_of(before)) {
                tools.push(call);
            }
        }
        let reason = match self.reason.as_deref() {
            // Some servers send no reason; then the end marker is enough.
            None if !done => return Err(LlmFailure::cut_off()),
            Some("error") => return Err(LlmFailure::cut_off()),
            reason => reason.unwrap_or_default(),
        };
        let finished = FinishReason::read(reason);
        match finished {
            FinishReason::MalformedCall if !self.written && tools.is_empty() => Err(LlmFailure::malformed_call(reason)),
            FinishReason::Refused if !self.written && tools.is_empty() => {
                Err(LlmFailure::content_refused(format!("its content filter withheld the response ({reason})")))
            }
            _ => {
                let cut = !FinishReason::is_complete(reason);
                Ok(tools.into_iter().enumerate().map(|(position, call)| call.finish(position, cut)).collect())
            }
        }
    }

    fn usage(&self) -> Option<Usage> {
        self.usage
    }

    fn is_cut(&self) -> bool {
        self.reason.as_deref().is_some_and(|reason| FinishReason::read(reason) == FinishReason::Length)
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
            // From OpenRouter, in US dollars.
            cost_usd: usage.get("cost").and_then(Value::as_f64).filter(|cost| *cost > 0.0).unwrap_or(0.0),
            ..Usage::default()
        });
    }

    /// Takes a piece of a tool call and returns the call's position; `together` are those of the pieces before it in the same list.
    ///
    /// Servers identify a call by index, by id, or by neither, in which case it is the last one. Some repeat id and name in every
    /// piece, some invent a new id for every piece, and some give all calls the same index, or the same index and id: a different id is a
    /// different call only if a name comes with it, so is a different name, and a name without an id begins another call if it cannot belong
    /// to the known one.
    fn take_tool_call(&mut self, piece: &Value, together: &[usize]) -> usize {
        let index = piece.get("index").and_then(Value::as_u64);
        let function = piece.get("function").filter(|function| function.is_object()).unwrap_or(piece);
        let name = nonempty(function.get("name"));
        let id = nonempty(piece.get("id")).filter(|_| name.is_some());
        let known = self.tools.iter().rposition(|call| match (index, id) {
            (Some(index), Some(id)) => call.index == Some(index) && (call.id.is_empty() || call.id == id),
            (Some(index), None) => call.index == Some(index),
            (None, Some(id)) => call.id == id,
            (None, None) => true,
        });
        let known = known.filter(|at| match (name, id) {
            (Some(name), None) => !together.contains(at) && self.tools[*at].may_repeat(name),
            // Some give several calls one index and one id.
            (Some(name), Some(_)) => [name, ""].contains(&self.tools[*at].name.as_str()),
            (None, _) => true,
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
        at
    }
}

impl OpenCall {
    /// Returns whether a piece with this name may continue the call: its name is the same or was missing, and its arguments are not
    /// complete.
    fn may_repeat(&self, name: &str) -> bool {
        self.name.is_empty() || (self.name == name && serde_json::from_str::<IgnoredAny>(&self.arguments).is_err())
    }

    /// Returns whether this is only the end of `before`, whose server repeats the name, or the whole call, in a later piece.
    fn is_rest_of(&self, before: &Self) -> bool {
        let repeats = self.arguments.trim().is_empty() || self.arguments == before.arguments;
        self.id.is_empty() && self.index == before.index && self.name == before.name && repeats
    }

    fn finish(self, position: usize, cut: bool) -> ToolCall {
        let id = if self.id.is_empty() { format!("call_{position}") } else { self.id };
        // Some templates put their own marks around a name.
        let name = without_namespace(&self.name);
        let name = name.split("<|").next().unwrap_or_default().to_owned();
        ToolCall { id, name, arguments: arguments(&self.arguments, cut), signature: None }
    }
}

/// Returns the pieces of tool calls in a message: a list, a single one, or the one function of OpenAI's first API for tools.
fn pieces(delta: &Value) -> Vec<Value> {
    match (delta.get("tool_calls"), delta.get("function_call")) {
        (Some(Value::Array(list)), _) if !list.is_empty() => list.clone(),
        (Some(one @ Value::Object(_)), _) => vec![one.clone()],
        (_, Some(function @ Value::Object(_))) => vec![json!({ "index": 0, "function": function })],
        _ => Vec::new(),
    }
}

/// Returns the part of a message's content that is for the caller: the text or, in a list of parts, the text parts without reasoning.
fn spoken(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(parts) => parts.iter().map(spoken).collect(),
        Value::Object(part) => match part.get("type").and_then(Value::as_str) {
            None | Some("text" | "output_text") => nonempty(part.get("text")).unwrap_or_default().to_owned(),
            Some("refusal") => nonempty(part.get("refusal")).unwrap_or_default().to_owned(),
            Some(_) => String::new(),
        },
        _ => String::new(),
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
    use switchhook_core::conversation::Role;

    use super::*;

    #[test]
    fn the_words_of_a_refusal_are_said() {
        let chunk = json!({ "choices": [{ "delta": { "content": null, "refusal": "I cannot help with that." } }] });
        let step = ChatResponse::default().take(&chunk);
        assert!(matches!(step, Ok(StreamStep::Text(text)) if text == "I cannot help with that."));
    }

    #[test]
    fn of_content_in_parts_only_the_text_is_said() {
        let said = |content: Value| match ChatResponse::default()
            .take(&json!({ "choices": [{ "delta": { "content": content } }] }))
        {
            Ok(StreamStep::Text(text)) => text,
            _ => String::new(),
        };
        let thinking = json!({ "type": "thinking", "thinking": [{ "type": "text", "text": "Hm." }], "closed": true });
        let text = |text: &str| json!({ "type": "text", "text": text });
        assert_eq!(said(json!([thinking])), "");
        assert_eq!(said(json!([thinking, text("At "), text("seven.")])), "At seven.");
        assert_eq!(said(json!([{ "type": "reasoning", "text": "Hm." }, "At seven."])), "At seven.");
        assert_eq!(said(text("At seven.")), "At seven.");
        assert_eq!(said(json!([{ "type": "image_url", "image_url": { "url": "x" } }, 7, null])), "");
    }

    #[test]
    fn reasons_of_other_apis_refuse_or_are_malformed_too() {
        let failure = |delta: Value, reason: &str| {
            let mut response = ChatResponse::default();
            assert!(response.take(&json!({ "choices": [{ "delta": delta, "finish_reason": reason }] })).is_ok());
            response.finish(true).err()
        };
        for reason in ["content_filter", "SAFETY", "PROHIBITED_CONTENT", "content_filter: RECITATION"] {
            let words = format!("its content filter withheld the response ({reason})");
            assert!(failure(json!({}), reason) == Some(LlmFailure::content_refused(words)), "{reason}");
            assert!(failure(json!({ "content": "Yes." }), reason).is_none(), "{reason} after the answer");
        }
        for reason in ["MALFORMED_FUNCTION_CALL", "function_call_filter: MALFORMED_FUNCTION_CALL"] {
            assert!(failure(json!({}), reason) == Some(LlmFailure::malformed_call(reason)), "{reason}");
        }
        for reason in ["stop", "OTHER", "eos"] {
            assert!(failure(json!({}), reason).is_none(), "{reason}: an empty response is asked for again");
        }
    }

    #[test]
    fn reasoning_alone_may_reach_the_limit() {
        for (reason, cut) in [("length", true), ("MAX_TOKENS", true), ("stop", false)] {
            let mut response = ChatResponse::default();
            let delta = json!({ "reasoning_content": "Hm.", "content": "" });
            let chunk = json!({ "choices": [{ "delta": delta, "finish_reason": reason }] });
            assert!(matches!(response.take(&chunk), Ok(StreamStep::Nothing)));
            assert!(response.finish(true).is_ok_and(|calls| calls.is_empty()));
            assert_eq!(response.is_cut(), cut, "{reason}");
        }
    }

    /// Returns the calls of a response whose chunks contain these lists, by name and arguments.
    fn calls(lists: &[Value]) -> Vec<(String, Value)> {
        let mut response = ChatResponse::default();
        for list in lists {
            assert!(response.take(&json!({ "choices": [{ "delta": { "tool_calls": list } }] })).is_ok());
        }
        let calls = response.finish(true).unwrap_or_default();
        calls.into_iter().map(|call| (call.name, call.arguments)).collect()
    }

    #[test]
    fn a_name_without_an_id_begins_a_call_unless_it_repeats_the_name_of_an_unfinished_one() {
        let piece = |index: Option<u8>, name: &str, arguments: Value| {
            let mut piece = json!({ "function": { "name": name, "arguments": arguments } });
            if let Some(index) = index {
                piece["index"] = json!(index);
            }
            piece
        };
        let both = [("tables".to_owned(), json!({ "day": 1 })), ("hours".to_owned(), json!({}))];
        for index in [None, Some(0)] {
            for arguments in [json!("{\"day\":1}"), json!({ "day": 1 })] {
                let first = piece(index, "tables", arguments);
                for second in [piece(index, "hours", json!("{}")), piece(index, "hours", json!(""))] {
                    assert_eq!(calls(&[json!([first]), json!([second])]), both, "{first} {second}");
                    assert_eq!(calls(&[json!([first, second])]), both, "{first} {second} in one list");
                }
            }
            let none = piece(index, "hours", json!(""));
            let days = [1, 2].map(|day| piece(index, "tables", json!(format!("{{\"day\":{day}}}"))));
            let expected = [1, 2].map(|day| ("tables".to_owned(), json!({ "day": day })));
            assert_eq!(calls(&[json!([days[0]]), json!([days[1]])]), expected);
            assert_eq!(calls(&[json!(days)]), expected, "in one list");
            let after = calls(&[json!([none]), json!([days[0]])]);
            assert_eq!(after, [both[1].clone(), both[0].clone()], "a call without arguments is never complete");
            let repeated = ["", "{\"day\":", "1}", ""].map(|text| json!([piece(index, "tables", json!(text))]));
            assert_eq!(calls(&repeated), both[..1], "a server that repeats the name in every piece");
            let mut unnamed = piece(index, "", json!("1}"));
            unnamed["function"].as_object_mut().expect("a function").remove("name");
            let second = [json!([days[1]]), json!([piece(index, "tables", json!("{\"day\":"))]), json!([unnamed])];
            assert_eq!(calls(&second), [expected[1].clone(), expected[0].clone()], "the second one in pieces");
        }
    }

    #[test]
    fn only_a_call_that_the_model_completed_has_no_arguments() {
        let arguments = |reason: Value| {
            let mut response = ChatResponse::default();
            let delta = json!({ "tool_calls": [{ "id": "a", "function": { "name": "cancel", "arguments": "" } }] });
            assert!(response.take(&json!({ "choices": [{ "delta": delta, "finish_reason": reason }] })).is_ok());
            response.finish(true).unwrap_or_default().pop().map(|call| call.arguments)
        };
        for complete in [json!("stop"), json!("tool_calls"), Value::Null] {
            assert_eq!(arguments(complete.clone()), Some(json!({})), "{complete}");
        }
        for cut in ["length", "content_filter", "abort"] {
            assert_eq!(arguments(json!(cut)), Some(json!("")), "{cut}: the tool refuses it");
        }
    }

    #[test]
    fn calls_come_in_other_forms_and_with_marks_around_their_names() {
        let made = |delta: Value| {
            let mut response = ChatResponse::default();
            assert!(response.take(&json!({ "choices": [{ "delta": delta, "finish_reason": "stop" }] })).is_ok());
            response.finish(true).unwrap_or_default().pop().map(|call| (call.name, call.arguments))
        };
        let function = json!({ "name": "book", "arguments": "{\"day\":1}" });
        let expected = Some(("book".to_owned(), json!({ "day": 1 })));
        for delta in [
            json!({ "function_call": function }),
            json!({ "tool_calls": { "id": "a", "function": function } }),
            json!({ "tool_calls": [{ "name": "book", "arguments": { "day": 1 } }] }),
            json!({ "tool_calls": [{ "function": { "name": "functions.book", "arguments": "{\"day\":1}" } }] }),
            json!({ "tool_calls": [{ "function": { "name": "default_api.book", "arguments": "{\"day\":1}" } }] }),
            json!({ "tool_calls": [{ "function": { "name": "book<|channel|>commentary", "arguments": "{\"day\":1}" } }] }),
        ] {
            assert_eq!(made(delta.clone()), expected, "{delta}");
        }
        let mut pieces = ChatResponse::default();
        for function in [
            json!({ "name": "book", "arguments": "" }),
            json!({ "arguments": "{\"day\":" }),
            json!({ "arguments": "1}" }),
        ] {
            assert!(pieces.take(&json!({ "choices": [{ "delta": { "function_call": function } }] })).is_ok());
        }
        let calls = pieces.finish(true).unwrap_or_default();
        assert_eq!(calls.into_iter().map(|call| (call.name, call.arguments)).next_back(), expected, "in pieces");
    }

    #[test]
    fn calls_with_one_index_and_one_id_are_told_apart_by_their_names() {
        let piece =
            |name: &str| json!([{ "index": 0, "id": "call_1", "function": { "name": name, "arguments": "{}" } }]);
        let made = calls(&[piece("end_call"), piece("book")]);
        assert_eq!(made, [("end_call".to_owned(), json!({})), ("book".to_owned(), json!({}))]);
        let rest = json!([{ "index": 0, "id": "call_1", "function": { "name": "book", "arguments": "1}" } }]);
        let begun = json!([{ "index": 0, "id": "call_1", "function": { "name": "book", "arguments": "{\"day\":" } }]);
        assert_eq!(calls(&[begun, rest]), [("book".to_owned(), json!({ "day": 1 }))], "repeated in every piece");
    }

    fn call(id: &str, arguments: Value) -> ToolCall {
        ToolCall { id: id.to_owned(), name: "tables".to_owned(), arguments, signature: None }
    }

    fn conversation() -> Vec<Message> {
        let called =
            Message { tool_calls: vec![call("a", json!("{\"day\":\"Fri"))], ..Message::new(Role::Assistant, "") };
        vec![
            Message::new(Role::System, "Be brief."),
            Message::new(Role::Assistant, "Hello?"),
            Message::new(Role::Assistant, "Are you there?"),
            Message::new(Role::User, "Yes."),
            Message::new(Role::User, "A table."),
            Message::new(Role::Assistant, "Let me look."),
            called,
            Message { tool_call_id: Some("a".to_owned()), ..Message::new(Role::Tool, "7") },
            Message::new(Role::User, "Hurry."),
        ]
    }

    #[test]
    fn a_name_that_the_model_made_up_is_sent_in_a_form_that_is_accepted() {
        let made_up = ToolCall { name: "crm.tables".to_owned(), ..call("a", json!({})) };
        let called = Message { tool_calls: vec![made_up], ..Message::new(Role::Assistant, "") };
        let conversation = [Message::new(Role::User, "A table."), called];
        let sent = messages(&conversation, Template::Usual);
        assert_eq!(sent[1]["tool_calls"][0]["function"]["name"], "crm_tables");
        let plain = shown(&messages(&conversation, Template::Plain));
        assert_eq!(plain[1..], ["assistant: (Called crm_tables with {}.)", "user: (Result of crm_tables: cancelled)"]);
    }

    fn shown(sent: &[Value]) -> Vec<String> {
        let text = |message: &Value| message["content"].as_str().unwrap_or("null").to_owned();
        sent.iter()
            .map(|message| format!("{}: {}", message["role"].as_str().unwrap_or_default(), text(message)))
            .collect()
    }

    #[test]
    fn turns_alternate_and_begin_and_end_with_the_caller() {
        let sent = messages(&conversation(), Template::Usual);
        let expected = [
            "system: Be brief.",
            "user: (The call is connected.)",
            "assistant: Hello?\nAre you there?",
            "user: Yes.\nA table.",
            "assistant: Let me look.",
            "tool: 7",
            "user: Hurry.",
        ];
        assert_eq!(shown(&sent), expected);
        assert_eq!(sent[4]["tool_calls"][0]["function"]["arguments"], "{}", "servers parse them");
        let last = messages(&conversation()[..3], Template::Usual).pop().expect("a message");
        assert_eq!(last["role"], "user", "the last message is never the model's");
    }

    #[test]
    fn strict_templates_get_no_instructions_of_their_own_and_plain_ones_no_tools() {
        let strict = shown(&messages(&conversation(), Template::Strict));
        assert_eq!(strict[0], "user: Be brief.\n\n(The call is connected.)");
        assert_eq!(strict[3..], ["assistant: Let me look.", "tool: 7", "assistant: \u{2026}", "user: Hurry."]);
        let plain = messages(&conversation(), Template::Plain);
        assert!(plain.iter().all(|message| message.get("tool_calls").is_none()));
        let expected = ["assistant: Let me look.\n(Called tables with {}.)", "user: (Result of tables: 7)\nHurry."];
        assert_eq!(shown(&plain)[3..], expected);
    }
}
