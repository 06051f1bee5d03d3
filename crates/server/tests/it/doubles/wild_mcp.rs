//! The forms in which real MCP servers send the result of a tool, determined by a seed. All of them are complete.

use axum::body::Body;
use axum::response::Response;
use futures_util::stream;
use serde_json::{Value, json};

use super::wild::cut;
use crate::crash::rng::Rng;

/// What the tool returns.
pub(crate) const BOOKED: &str = "Table 7 is booked.";

/// Returns the response to the request with this id.
pub(super) fn respond(seed: u64, id: &Value) -> Response {
    let mut random = Rng::new(seed);
    let message = envelope(&mut random, id);
    let events = random.once_in(2);
    let body = if events { events_with(&mut random, id, &message) } else { json_with(&mut random, &message) };
    let kinds: &[Option<&str>] = match events {
        true => &[Some("text/event-stream"), Some("text/event-stream;charset=UTF-8"), Some("Text/Event-Stream"), None],
        false => &[Some("application/json"), Some("application/json; charset=utf-8"), Some("text/plain"), None],
    };
    let kind = random.any(kinds);
    let pieces = cut(&mut random, body.into_bytes());
    let pieces = stream::iter(pieces.into_iter().map(Ok::<_, std::io::Error>));
    let mut response = Response::new(Body::from_stream(pieces));
    if let Some(kind) = kind {
        response.headers_mut().insert("content-type", kind.parse().expect("a header"));
    }
    response
}

fn result(random: &mut Rng) -> Value {
    let text = json!({ "type": "text", "text": BOOKED });
    let mut result = random.any(&[
        json!({ "content": [text] }),
        json!({ "content": [text], "isError": false, "_meta": { "progressToken": null } }),
        json!({ "content": [text, { "type": "unheard_of", "data": [1, null] }] }),
        json!({ "content": [{ "type": "text", "text": BOOKED, "annotations": null }] }),
        json!({ "content": BOOKED }),
        json!({ "content": [{ "type": "json", "json": { "state": BOOKED } }] }),
        json!({ "content": [text], "structuredContent": { "state": BOOKED } }),
        json!({ "state": BOOKED }),
    ]);
    if random.once_in(3) {
        result["unheardOf"] = random.any(&[json!(null), json!([]), json!(-1.5e300)]);
    }
    result
}

fn envelope(random: &mut Rng, id: &Value) -> Value {
    let mut message = json!({ "jsonrpc": "2.0", "id": id, "result": result(random) });
    match random.below(8) {
        0 => message["id"] = json!(id.to_string()),
        1 => drop(message.as_object_mut().expect("an object").remove("jsonrpc")),
        2 => message["error"] = Value::Null,
        3 => message["unheardOf"] = json!([1, null]),
        _ => {}
    }
    message
}

/// A message of the server's own, which needs no answer.
fn notification(random: &mut Rng) -> Value {
    let (method, params) = random.any(&[
        ("notifications/message", json!({ "level": "info", "data": "Looking." })),
        ("notifications/progress", json!({ "progressToken": 1, "progress": 1 })),
        ("notifications/tools/list_changed", Value::Null),
        ("notifications/unheard_of", json!({ "a": [] })),
    ]);
    let mut message = json!({ "jsonrpc": "2.0", "method": method });
    if !params.is_null() {
        message["params"] = params;
    }
    message
}

fn json_with(random: &mut Rng, message: &Value) -> String {
    let text = match random.below(4) {
        0 => json!([notification(random), message]).to_string(),
        1 => serde_json::to_string_pretty(message).expect("JSON"),
        _ => message.to_string(),
    };
    let before = random.any(&["", "", "\u{feff}", " \r\n"]);
    format!("{before}{text}{}", random.any(&["", "\n"]))
}

fn events_with(random: &mut Rng, id: &Value, message: &Value) -> String {
    let end = random.any(&["\n", "\n", "\r\n"]);
    let mut text = String::new();
    for _ in 0..random.below(3) {
        let own = notification(random);
        text.push_str(&random.any(&[
            format!(": ping{end}{end}"),
            format!("id: 7{end}retry: 50{end}data:{end}{end}"),
            format!("event: message{end}data: {own}{end}{end}"),
            format!("event: ping{end}data: {{}}{end}{end}"),
        ]));
    }
    let pretty = serde_json::to_string_pretty(message).expect("JSON");
    let lines = pretty.lines().map(|line| format!("data: {line}{end}")).collect::<String>();
    text.push_str(&random.any(&[
        format!("data: {message}{end}{end}"),
        format!("event: message{end}id: 8{end}data:{message}{end}{end}"),
        format!("id: {id}{end}{lines}{end}"),
    ]));
    text.push_str(&random.any(&[String::new(), format!(": bye{end}{end}"), format!("data: {message}{end}{end}")]));
    text
}
