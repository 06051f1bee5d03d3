//! Repairs responses of servers that follow the protocol loosely, before they are parsed strictly.
//!
//! A result that cannot be parsed would hide from the model that a tool has done something, and one malformed tool would take the other
//! tools of its server with it.

use std::collections::HashMap;

use rmcp::model::{ClientJsonRpcMessage, ClientRequest, ContentBlock, JsonRpcMessage, RequestId, ServerCapabilities};
use serde::Deserialize as _;
use serde_json::{Map, Value, json};

/// The code of errors without a usable one (JSON-RPC 2.0, section 5.1: internal error).
const INTERNAL_ERROR: i32 = -32_603;

/// The errors of a method: invalid params, internal error.
const OF_TOOLS: [i64; 2] = [-32_602, -32_603];
/// How servers say that they do not know the session of a request.
const UNKNOWN_SESSION: [&str; 10] = [
    "no valid session",
    "invalid session",
    "missing session",
    "unknown session",
    "session not found",
    "session expired",
    "session has expired",
    "invalid mcp-session-id",
    "missing mcp-session-id",
    "not initialized",
];
/// The version of a server that names none. Servers assume it of clients that name none (2025-11-25, "Transports").
const UNNAMED_VERSION: &str = "2025-03-26";
/// The most malformed tools remembered for the log.
const MOST_MALFORMED: usize = 100;

/// The kind of a request, which decides the form of its result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Initialize,
    ListTools,
    CallTool,
    Other,
}

/// A tool that cannot be parsed: its name, which is empty if it has none, and the reason.
pub(super) type Malformed = (String, &'static str);

/// The requests to one server in one call, which its responses are repaired for.
#[derive(Default)]
pub(super) struct Requests {
    /// By id. Servers may send a number as text, so all are text here.
    kinds: HashMap<String, Kind>,
    malformed: Vec<Malformed>,
}

impl Requests {
    /// Remembers a message if it is a request, and returns its id.
    pub(super) fn add(&mut self, message: &ClientJsonRpcMessage) -> Option<RequestId> {
        let JsonRpcMessage::Request(request) = message else { return None };
        let kind = match request.request {
            ClientRequest::InitializeRequest(_) => Kind::Initialize,
            ClientRequest::ListToolsRequest(_) => Kind::ListTools,
            ClientRequest::CallToolRequest(_) => Kind::CallTool,
            _ => Kind::Other,
        };
        self.kinds.insert(request.id.to_string(), kind);
        Some(request.id.clone())
    }

    /// Returns the response to `request` in a message with a success status: of several in a list, that one. What has no envelope is a
    /// result.
    pub(super) fn response(&mut self, message: Value, request: Option<&RequestId>) -> Value {
        let mut message = match message {
            Value::Array(messages) => self.own_response(messages, request),
            message => message,
        };
        if let Some(fields) = message.as_object_mut().filter(|fields| !fields.contains_key("method")) {
            let kind = request.and_then(|request| self.kinds.get(&request.to_string()));
            let enveloped = ["jsonrpc", "result", "error"].iter().any(|field| fields.contains_key(*field));
            if !enveloped && matches!(kind, Some(Kind::CallTool | Kind::ListTools)) {
                *fields = Map::from_iter([("result".to_owned(), Value::Object(std::mem::take(fields)))]);
            }
            if fields.contains_key("result") || fields.contains_key("error") {
                fields.insert("jsonrpc".to_owned(), json!("2.0"));
            }
        }
        self.repair(&mut message, request);
        message
    }

    /// Returns the response to `request` in a list of messages, else the first response, else the list.
    fn own_response(&self, mut messages: Vec<Value>, request: Option<&RequestId>) -> Value {
        let answers = |message: &Value| {
            let fields = message.as_object();
            fields
                .is_some_and(|it| !it.contains_key("method") && (it.contains_key("result") || it.contains_key("error")))
        };
        let id = |message: &Value| RequestId::deserialize(message.get("id")?).ok().map(|id| id.to_string());
        let own = |message: &Value| answers(message) && id(message) == request.map(ToString::to_string);
        match messages.iter().position(own).or_else(|| messages.iter().position(answers)) {
            Some(at) => messages.swap_remove(at),
            None => Value::Array(messages),
        }
    }

    /// Repairs a message if it is a response. One that names no request responds to `request`, if that is known.
    pub(super) fn repair(&mut self, message: &mut Value, request: Option<&RequestId>) {
        let Some(message) = message.as_object_mut().filter(|message| is_response(message)) else { return };
        // JSON-RPC 1.0 has both fields in every response.
        if message.get("error").is_some_and(Value::is_null) {
            message.remove("error");
        } else if message.contains_key("error") && message.get("result").is_some_and(Value::is_null) {
            message.remove("result");
        }
        if let Some(request) = request.filter(|_| self.kind(message).is_none()) {
            message.insert("id".to_owned(), request.clone().into_json_value());
        } else if let Some(number) = message.get("id").and_then(Value::as_str).and_then(|id| id.parse::<i64>().ok()) {
            message.insert("id".to_owned(), json!(number));
        }
        if let Some(error) = message.get_mut("error") {
            *error = repaired_error(error.take());
        }
        let Some((kind, result)) = self.kind(message).zip(message.get_mut("result")) else { return };
        match kind {
            Kind::Initialize => *result = initialisation(result.take()),
            Kind::CallTool => *result = tool_result(result.take()),
            Kind::ListTools => *result = self.tool_list(result.take()),
            Kind::Other => {}
        }
    }

    /// Returns the malformed tools since the last time.
    pub(super) fn take_malformed(&mut self) -> Vec<Malformed> {
        std::mem::take(&mut self.malformed)
    }

    /// Returns the kind of the request that a response names.
    fn kind(&self, response: &Map<String, Value>) -> Option<Kind> {
        let id = RequestId::deserialize(response.get("id")?).ok()?;
        self.kinds.get(&id.to_string()).copied()
    }

    fn tool_list(&mut self, result: Value) -> Value {
        let Value::Object(mut fields) = result else { return result };
        let tools = match fields.remove("tools") {
            Some(Value::Array(tools)) => tools,
            // An empty list, as some languages write it.
            Some(Value::Null) => Vec::new(),
            Some(other) => vec![other],
            None => return Value::Object(fields),
        };
        let mut usable = Vec::new();
        for tool in tools {
            match repaired_tool(tool) {
                Ok(tool) => usable.push(tool),
                Err(malformed) if self.malformed.len() < MOST_MALFORMED => self.malformed.push(malformed),
                Err(_) => {}
            }
        }
        let mut list = Map::from_iter([("tools".to_owned(), Value::Array(usable))]);
        list.extend(
            fields.remove_entry("nextCursor").filter(|(_, next)| next.as_str().is_some_and(|it| !it.is_empty())),
        );
        Value::Object(list)
    }
}

/// Returns whether a refusal says that the server does not know the session: `body` is that of a response with status 400 to `request`.
/// Servers should send 404 instead.
pub(super) fn misses_session(body: &[u8], request: Option<&RequestId>) -> bool {
    let text = String::from_utf8_lossy(body).to_ascii_lowercase();
    if !UNKNOWN_SESSION.iter().any(|words| text.contains(words)) {
        return false;
    }
    let message: Value = serde_json::from_slice(body).unwrap_or_default();
    let id = message.get("id").and_then(|id| RequestId::deserialize(id).ok());
    let is_own = id.is_some_and(|id| request.is_some_and(|request| request.to_string() == id.to_string()));
    // A tool may have its own sessions, and refuse one with its arguments (JSON-RPC 2.0, section 5.1).
    let of_tool = message.pointer("/error/code").and_then(Value::as_i64).is_some_and(|code| OF_TOOLS.contains(&code));
    !is_own || !of_tool
}

fn is_response(message: &Map<String, Value>) -> bool {
    message.contains_key("jsonrpc") && !message.contains_key("method")
}

fn repaired_error(error: Value) -> Value {
    let code = error.get("code").and_then(Value::as_i64).and_then(|code| i32::try_from(code).ok());
    let message = error.get("message").and_then(Value::as_str).map_or_else(|| text(&error), str::to_owned);
    let mut repaired = json!({ "code": code.unwrap_or(INTERNAL_ERROR), "message": message });
    if let Some(data) = error.get("data") {
        repaired["data"] = data.clone();
    }
    repaired
}

/// Returns the result of `initialize` with the fields that must be there; only the version of the protocol is used.
fn initialisation(result: Value) -> Value {
    let Value::Object(fields) = result else { return result };
    let version = fields.get("protocolVersion").and_then(Value::as_str).unwrap_or(UNNAMED_VERSION);
    let can_parse =
        |capabilities: &&Value| capabilities.is_object() && ServerCapabilities::deserialize(*capabilities).is_ok();
    let capabilities = fields.get("capabilities").filter(can_parse).cloned().unwrap_or_else(|| json!({}));
    let info = |name: &str| fields.get("serverInfo").and_then(|info| info.get(name)?.as_str()).unwrap_or_default();
    json!({
        "protocolVersion": version, "capabilities": capabilities,
        "serverInfo": { "name": info("name"), "version": info("version") },
    })
}

/// Returns the result of a tool call with the known fields only, which no other result has. One without content is content itself.
fn tool_result(result: Value) -> Value {
    let Value::Object(mut fields) = result else { return json!({ "content": blocks(result) }) };
    if matches!(fields.get("resultType").and_then(Value::as_str), Some("input_required" | "task")) {
        return Value::Object(fields);
    }
    let mut take = |name: &str| fields.remove(name).filter(|value| !value.is_null());
    let (content, structured, is_error) = (take("content"), take("structuredContent"), take("isError"));
    take("resultType");
    take("_meta");
    let content = match content {
        None if structured.is_none() && !fields.is_empty() => Value::Object(fields),
        content => content.unwrap_or_default(),
    };
    let failed = is_error.is_some_and(|flag| flag == json!(true) || flag == json!("true"));
    let mut repaired = json!({ "content": blocks(content), "isError": failed });
    if let Some(structured) = structured {
        repaired["structuredContent"] = structured;
    }
    repaired
}

/// Returns content as a list of blocks.
fn blocks(content: Value) -> Vec<Value> {
    match content {
        Value::Array(blocks) => blocks.into_iter().filter_map(block).collect(),
        one => block(one).into_iter().collect(),
    }
}

/// Returns a block that can be parsed, with everything of the original that a model can read.
fn block(block: Value) -> Option<Value> {
    if block.is_null() {
        return None;
    }
    if ContentBlock::deserialize(&block).is_ok() {
        return Some(block);
    }
    let words = match block.get("type").and_then(Value::as_str) {
        Some("image" | "audio") => return None,
        Some("text") => block.get("text"),
        Some("resource") if block.pointer("/resource/blob").is_some() => return None,
        Some("resource") => block.pointer("/resource/text"),
        _ => None,
    };
    Some(json!({ "type": "text", "text": text(words.unwrap_or(&block)) }))
}

/// Returns a tool that can be parsed, with the fields that are read.
fn repaired_tool(mut tool: Value) -> Result<Value, Malformed> {
    let mut take = |name: &str| tool.get_mut(name).map(Value::take);
    let Some(Value::String(name)) = take("name") else { return Err((String::new(), "it has no name")) };
    // PHP writes an empty object as a list.
    let schema = match take("inputSchema").filter(|schema| *schema != json!([])) {
        Some(Value::Object(schema)) if !schema.is_empty() => Value::Object(schema),
        None | Some(Value::Null | Value::Object(_)) => {
            json!({ "type": "object", "properties": {}, "additionalProperties": false })
        }
        Some(_) => return Err((name, "its inputSchema is not an object")),
    };
    let texts = ["title", "description"].map(|field| (field, take(field).filter(Value::is_string)));
    let mut repaired = json!({ "name": name, "inputSchema": schema });
    for (field, text) in texts {
        if let Some(text) = text {
            repaired[field] = text;
        }
    }
    Ok(repaired)
}

/// Returns text as it is, and other values as JSON.
fn text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

#[cfg(test)]
pub(crate) const FUZZED: switchhook_fuzz::Target = switchhook_fuzz::Target {
    file: file!(),
    seeds: || {
        switchhook_fuzz::each_alone(&[
            r##"{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"book","description":"Books.","inputSchema":null,"icons":{}},{"name":"free","inputSchema":{"type":"object"}}],"nextCursor":"x"}}"##,
            r##"{"jsonrpc":"2.0","id":2,"result":{"content":[{"type":"text","text":"Booked."},{"type":"json","json":{"booked":true}}],"isError":"true"}}"##,
            r##"{"jsonrpc":"2.0","id":2,"result":{"booked":true}}"##,
            r##"{"jsonrpc":"2.0","id":3,"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":[]},"serverInfo":{"name":"x"}}}"##,
            r##"{"jsonrpc":"2.0","id":null,"result":null,"error":{"code":"x","message":7}}"##,
        ])
    },
    read: |messages| {
        switchhook_fuzz::Read::each(messages, |body| {
            let mut message: Value = serde_json::from_slice(body).map_err(|error| error.to_string())?;
            let mut requests = tests::requests();
            requests.repair(&mut message, Some(&RequestId::Number(2)));
            let malformed: usize = requests.take_malformed().iter().map(|(name, _)| name.len()).sum();
            message = requests.response(message, Some(&RequestId::Number(2)));
            let misses = misses_session(body, Some(&RequestId::Number(2)));
            let read = serde_json::from_value::<rmcp::model::ServerJsonRpcMessage>(message);
            let read = read.map_err(|error| error.to_string())?;
            let written = serde_json::to_vec(&read).map_err(|error| error.to_string())?;
            Ok::<_, String>(written.len() + malformed + usize::from(misses))
        })
    },
};

#[cfg(test)]
mod tests {
    use rmcp::model::{CallToolResult, ListToolsResult, ServerJsonRpcMessage, ServerResult};

    use super::*;

    /// Another request with id 0, a list of tools with id 1, a tool call with id 2, and an initialisation with id 3.
    pub(super) fn requests() -> Requests {
        let kinds = [("0", Kind::Other), ("1", Kind::ListTools), ("2", Kind::CallTool), ("3", Kind::Initialize)];
        let kinds = kinds.map(|(id, kind)| (id.to_owned(), kind)).into();
        Requests { kinds, malformed: Vec::new() }
    }

    /// Repairs a message in a response to the tool call, and parses it.
    fn read(mut message: Value) -> ServerJsonRpcMessage {
        requests().repair(&mut message, Some(&RequestId::Number(2)));
        serde_json::from_value(message.clone()).unwrap_or_else(|error| panic!("{error}: {message}"))
    }

    /// Returns what the model gets for the result of a tool call.
    fn for_model(result: &Value) -> Value {
        match read(json!({ "jsonrpc": "2.0", "id": 2, "result": result })) {
            JsonRpcMessage::Response(response) => match response.result {
                ServerResult::CallToolResult(read) => super::super::result::to_json(&read),
                other => panic!("{result} is read as {other:?}"),
            },
            other => panic!("{result} is read as {other:?}"),
        }
    }

    fn listed(result: Value) -> (ListToolsResult, Vec<Malformed>) {
        let mut requests = requests();
        let mut message = json!({ "jsonrpc": "2.0", "id": 1, "result": result });
        requests.repair(&mut message, None);
        let list = message["result"].take();
        (serde_json::from_value(list).expect("a list"), requests.take_malformed())
    }

    #[test]
    fn results_in_other_forms_reach_the_model() {
        let booked = || json!({ "type": "text", "text": "Booked." });
        let card = json!({ "type": "json", "json": { "booked": true } });
        let words = |text: &str| json!({ "text": text, "whole": true });
        for (result, expected) in [
            (json!({ "content": [card] }), card.clone()),
            (json!({ "content": [booked(), card] }), words(&format!("Booked.\n{card}"))),
            (json!({ "success": true }), json!({ "success": true })),
            (json!({ "success": true, "content": null, "_meta": {} }), json!({ "success": true })),
            (json!({ "booked": 7, "resultType": "complete" }), json!({ "booked": 7 })),
            (json!({ "tools": ["saw"] }), json!({ "tools": ["saw"] })),
            (json!({ "content": [booked()], "tools": [] }), words("Booked.")),
            (json!({ "content": { "booked": true } }), json!({ "booked": true })),
            (json!({ "content": "Booked." }), words("Booked.")),
            (json!({ "content": ["Booked.", null] }), words("Booked.")),
            (json!({ "content": [{ "type": "text", "text": { "booked": 7 } }] }), json!({ "booked": 7 })),
            (json!({ "content": [{ "type": "text", "text": "Booked.", "annotations": 5 }] }), words("Booked.")),
            (json!({ "content": [{ "type": "resource", "resource": { "text": "Menu." } }] }), words("Menu.")),
            (json!({ "content": [booked(), { "type": "image", "data": "AAAA" }] }), words("Booked.")),
            (json!({ "content": [], "structuredContent": null }), json!({ "ok": true })),
            (json!({ "content": null, "structuredContent": { "free": 7 } }), json!({ "free": 7 })),
            (json!({ "isError": null, "content": [booked()] }), words("Booked.")),
            (json!("Booked."), words("Booked.")),
            (json!([{ "type": "text", "text": "Booked." }]), words("Booked.")),
            (json!(7), words("7")),
            (json!({}), json!({ "ok": true })),
            (json!(null), json!({ "ok": true })),
        ] {
            assert_eq!(for_model(&result), expected, "{result}");
        }
        for failed in [json!({ "isError": "true", "reason": "full" }), json!({ "isError": true, "reason": "full" })] {
            let expected = json!({ "error": "The tool failed.", "text": "{\"reason\":\"full\"}" });
            assert_eq!(for_model(&failed), expected, "{failed}");
        }
    }

    #[test]
    fn results_that_follow_the_protocol_are_left_alone() {
        let result = json!({
            "content": [
                { "type": "text", "text": "Booked.", "annotations": { "priority": 0.5 } },
                { "type": "image", "data": "AAAA", "mimeType": "image/png" },
                { "type": "resource_link", "uri": "file:///a", "name": "a" },
                { "type": "resource", "resource": { "uri": "file:///a", "blob": "AAAA" } },
            ],
            "structuredContent": { "id": 12_345_678_901_234_567_u64 }, "isError": false,
        });
        assert_eq!(tool_result(result.clone()), result);
        let strict: CallToolResult = serde_json::from_value(result.clone()).expect("a result");
        assert_eq!(for_model(&result), super::super::result::to_json(&strict));
        for other in [json!({ "resultType": "task", "task": {} }), json!({ "resultType": "input_required" })] {
            assert_eq!(tool_result(other.clone()), other, "the tool has not run to its end");
        }
    }

    #[test]
    fn a_malformed_tool_takes_no_other_with_it() {
        let schema = json!({ "type": "object", "required": ["day"] });
        let empty = json!({ "type": "object", "properties": {}, "additionalProperties": false });
        let (list, malformed) = listed(json!({
            "tools": [
                { "name": "fine", "title": "Fine", "description": "It is.", "inputSchema": schema },
                { "name": "null", "inputSchema": null },
                { "name": "missing", "description": 5, "title": ["a"] },
                { "name": "empty", "inputSchema": {} },
                { "name": "list", "inputSchema": [] },
                {
                    "name": "unread", "inputSchema": schema, "outputSchema": [], "annotations": "none", "icons": {},
                    "_meta": 5, "execution": 5,
                },
                { "name": "text", "inputSchema": "{}" },
                { "description": "Nameless.", "inputSchema": schema },
                "book",
                null,
            ],
            "nextCursor": "page-2", "ttlMs": -1, "_meta": [],
        }));
        let read: Vec<_> =
            list.tools.iter().map(|tool| (&*tool.name, Value::Object((*tool.input_schema).clone()))).collect();
        let expected = [
            ("fine", schema.clone()),
            ("null", empty.clone()),
            ("missing", empty.clone()),
            ("empty", empty.clone()),
            ("list", empty),
            ("unread", schema),
        ];
        assert_eq!(read, expected);
        assert_eq!(
            (list.tools[0].title.as_deref(), list.tools[0].description.as_deref()),
            (Some("Fine"), Some("It is."))
        );
        assert_eq!(list.next_cursor.as_deref(), Some("page-2"));
        let names: Vec<_> = malformed.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["text", "", "", ""]);
        for result in [json!({ "tools": null }), json!({ "tools": [], "nextCursor": "" })] {
            let (list, malformed) = listed(result);
            assert_eq!((list.tools.len(), list.next_cursor, malformed.len()), (0, None, 0));
        }
    }

    #[test]
    fn a_sloppy_initialisation_costs_no_tools() {
        let info = json!({ "name": "x", "version": "1" });
        for (result, version, name) in [
            (json!({ "protocolVersion": "2025-06-18", "capabilities": {}, "serverInfo": info }), "2025-06-18", "x"),
            (
                json!({ "protocolVersion": "2024-11-05", "capabilities": { "tools": [{ "name": "book" }] }, "serverInfo": info }),
                "2024-11-05",
                "x",
            ),
            (
                json!({ "protocolVersion": "2025-06-18", "capabilities": [], "serverInfo": { "name": "x" } }),
                "2025-06-18",
                "x",
            ),
            (json!({ "protocolVersion": "2025-06-18", "capabilities": { "tools": true } }), "2025-06-18", ""),
            (json!({ "protocolVersion": "2025-06-18", "capabilities": null, "serverInfo": "x" }), "2025-06-18", ""),
            (json!({ "protocolVersion": 2, "serverInfo": { "name": 5, "version": 1.0 } }), UNNAMED_VERSION, ""),
            (
                json!({ "capabilities": { "tools": {} }, "serverInfo": info, "instructions": ["Ask."], "_meta": [] }),
                UNNAMED_VERSION,
                "x",
            ),
        ] {
            let JsonRpcMessage::Response(response) = read(json!({ "jsonrpc": "2.0", "id": 3, "result": result }))
            else {
                panic!("{result}: another message")
            };
            let ServerResult::InitializeResult(begun) = response.result else { panic!("{result}: another result") };
            assert_eq!((begun.protocol_version.as_str(), &*begun.server_info.name), (version, name), "{result}");
        }
        let tools = json!({ "tools": { "listChanged": true } });
        let result = json!({ "protocolVersion": "2025-06-18", "capabilities": tools, "serverInfo": info });
        assert_eq!(initialisation(result.clone()), result, "one that follows the protocol is left alone");
    }

    #[test]
    fn a_response_without_a_usable_id_belongs_to_its_request() {
        for id in [json!(null), json!("server-error"), json!(99), json!({}), json!(2), json!("2")] {
            let message = json!({ "jsonrpc": "2.0", "id": id, "error": { "code": -32_000, "message": "Full." } });
            let JsonRpcMessage::Error(error) = read(message) else { panic!("{id}: another message") };
            assert_eq!(error.id, Some(RequestId::Number(2)), "{id}");
        }
        let others = json!({ "jsonrpc": "2.0", "id": 0, "error": { "code": -32_000, "message": "Full." } });
        let JsonRpcMessage::Error(error) = read(others) else { panic!("another message") };
        assert_eq!(error.id, Some(RequestId::Number(0)), "another request's");
    }

    #[test]
    fn a_response_without_its_envelope_or_in_a_list_is_read() {
        let result = json!({ "content": [{ "type": "text", "text": "Booked." }] });
        let news = json!({ "jsonrpc": "2.0", "method": "notifications/message", "params": {} });
        let other = json!({ "jsonrpc": "2.0", "id": 0, "result": {} });
        let own = json!({ "jsonrpc": "2.0", "id": 2, "result": result });
        for message in [
            json!([own]),
            json!([news, own]),
            json!([other, own, news]),
            json!([{ "result": result }]),
            json!({ "id": 2, "result": result }),
            json!({ "id": "2", "result": result, "error": null }),
            json!({ "jsonrpc": 2.0, "id": "2", "result": result }),
            json!({ "result": result }),
            result,
        ] {
            let read = requests().response(message.clone(), Some(&RequestId::Number(2)));
            let read: ServerJsonRpcMessage =
                serde_json::from_value(read).unwrap_or_else(|error| panic!("{error}: {message}"));
            let JsonRpcMessage::Response(response) = read else { panic!("{message}: another message") };
            let ServerResult::CallToolResult(booked) = response.result else { panic!("{message}: another result") };
            assert_eq!(response.id, RequestId::Number(2), "{message}");
            assert_eq!(
                super::super::result::to_json(&booked),
                json!({ "text": "Booked.", "whole": true }),
                "{message}"
            );
        }
        for message in [news, json!([]), json!("Booked."), json!({ "jsonrpc": "2.0", "id": 2, "method": "ping" })] {
            assert_eq!(requests().response(message.clone(), Some(&RequestId::Number(2))), message, "no response");
        }
        let initialised = json!({ "protocolVersion": "2025-06-18" });
        assert_eq!(requests().response(initialised.clone(), Some(&RequestId::Number(0))), initialised);
    }

    #[test]
    fn errors_in_other_forms_are_read() {
        for (error, code, message) in [
            (json!("Full."), INTERNAL_ERROR, "Full."),
            (json!({ "code": "E7", "message": "Full." }), INTERNAL_ERROR, "Full."),
            (json!({ "code": 4_000_000_000_u32, "message": "Full.", "data": 5 }), INTERNAL_ERROR, "Full."),
            (json!({ "code": -1 }), -1, "{\"code\":-1}"),
        ] {
            let read = read(json!({ "jsonrpc": "2.0", "id": 2, "result": null, "error": error }));
            let JsonRpcMessage::Error(read) = read else { panic!("{error}: another message") };
            assert_eq!((read.error.code.0, &*read.error.message), (code, message), "{error}");
        }
        let result = read(json!({ "jsonrpc": "2.0", "id": 2, "error": null, "result": {} }));
        assert!(matches!(result, JsonRpcMessage::Response(_)), "an error that is null");
    }

    #[test]
    fn other_messages_are_left_alone() {
        for message in [
            json!({ "jsonrpc": "2.0", "id": null, "method": "ping", "result": 5 }),
            json!({ "error": "invalid_token" }),
            json!([{ "jsonrpc": "2.0", "id": 2, "result": 5 }]),
            json!({ "jsonrpc": "2.0", "id": 0, "result": { "protocolVersion": "2025-06-18", "tools": 5 } }),
        ] {
            let mut repaired = message.clone();
            requests().repair(&mut repaired, Some(&RequestId::Number(2)));
            assert_eq!(repaired, message);
        }
    }

    #[test]
    fn refusals_of_unknown_sessions_are_recognised() {
        let error = |id: Value, message: &str| {
            json!({ "jsonrpc": "2.0", "id": id, "error": { "code": -32_000, "message": message } }).to_string()
        };
        for (body, misses) in [
            (error(json!(null), "Bad Request: No valid session ID provided"), true),
            (error(json!("server-error"), "Bad Request: Missing session ID"), true),
            (error(json!(null), "Bad Request: Server not initialized"), true),
            (error(json!(2), "Bad Request: invalid Mcp-Session-Id"), true),
            (error(json!("2"), "The session on Friday is full."), false),
            (error(json!(2), "session_id is required"), false),
            ("Session full".to_owned(), false),
            ("Invalid or missing session ID".to_owned(), true),
            (json!({ "detail": "Session expired" }).to_string(), true),
            (error(json!(2), "The session on Friday is full."), false),
            (error(json!(null), "Bad Request: unsupported protocol version"), false),
            (String::new(), false),
        ] {
            assert_eq!(misses_session(body.as_bytes(), Some(&RequestId::Number(2))), misses, "{body}");
        }
    }
}
