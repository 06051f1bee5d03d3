//! A language model's server that follows the protocol loosely, as real ones do, determined by a seed.
//!
//! The model books once and then says goodbye. The server varies how it sends that: most variations keep the response complete
//! ([`Wild::vary`]), and one request in three fails ([`Fault`]), but never two in a row.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Response};
use axum::routing::get;
use serde_json::{Value, json};

use super::wild::{BodyEnd, body};
use crate::crash::rng::Rng;

/// Is part of every text that must not be spoken.
pub(crate) const SECRET: &str = "Zanzibar";
/// What the model says before it books.
pub(crate) const BEFORE_BOOKING: &str = "Let me book that for you.";
/// What it says before it ends the call.
pub(crate) const GOODBYE: &str = "It is booked. Goodbye.";

/// A failure of one request.
#[derive(Clone, Copy, Debug)]
enum Fault {
    Status(u16),
    ErrorInside200,
    ErrorEvent,
    Cut,
    Stalls,
    Empty,
    Garbage,
    /// The arguments of the tool end in the middle.
    HalfArguments,
    /// The connection breaks after the whole tool call, before the response is complete.
    CutAfterTool,
}

const FAULTS: [Fault; 13] = [
    Fault::Status(500),
    Fault::Status(503),
    Fault::Status(429),
    Fault::Status(408),
    Fault::Status(409),
    Fault::ErrorInside200,
    Fault::ErrorEvent,
    Fault::Cut,
    Fault::Stalls,
    Fault::Empty,
    Fault::Garbage,
    Fault::HalfArguments,
    Fault::CutAfterTool,
];

struct Wild {
    random: Mutex<Rng>,
    /// Whether the last request failed.
    failed: AtomicBool,
    /// Faults and variations so far, for the message of a failed seed.
    log: Mutex<Vec<String>>,
}

/// A running server.
pub(crate) struct WildModel {
    wild: Arc<Wild>,
    pub(crate) base_url: String,
}

impl WildModel {
    pub(crate) async fn start(seed: u64) -> Self {
        let wild = Arc::new(Wild {
            random: Mutex::new(Rng::new(seed)),
            failed: AtomicBool::new(false),
            log: Mutex::default(),
        });
        // Requests to connect ahead are answered with a list of models.
        let models = get(|| async { axum::Json(json!({ "data": [] })) });
        let router = Router::new().fallback_service(models.post(respond).with_state(wild.clone()));
        let address = super::tts::serve(router).await;
        Self { wild, base_url: format!("http://{address}") }
    }

    /// Returns the faults and variations so far.
    pub(crate) fn log(&self) -> Vec<String> {
        self.wild.log.lock().expect("whole").clone()
    }
}

/// A response of the model: text, and the name and arguments of a tool.
struct Reply {
    text: &'static str,
    tool: Option<(&'static str, Value)>,
}

/// Returns what the model replies to a request.
fn reply_to(body: &Value) -> Reply {
    let messages = body["messages"].as_array().expect("a list");
    let is = |message: &&Value, role: &str| message["role"] == role;
    let results: Vec<String> =
        messages.iter().filter(|message| is(message, "tool")).map(|message| message["content"].to_string()).collect();
    if results.iter().any(|result| result.contains("booked")) {
        return Reply { text: GOODBYE, tool: Some(("end_call", json!({}))) };
    }
    // It is still running.
    if results.last().is_some_and(|result| !result.contains("JSON") && !result.contains("error")) {
        return Reply { text: "One moment.", tool: None };
    }
    Reply { text: BEFORE_BOOKING, tool: Some(("book", json!({ "day": "Friday" }))) }
}

async fn respond(State(wild): State<Arc<Wild>>, axum::Json(body): axum::Json<Value>) -> Response {
    let reply = reply_to(&body);
    let fault = {
        let mut random = wild.random.lock().expect("whole");
        let fault = (!wild.failed.load(Ordering::Relaxed) && random.once_in(3)).then(|| random.any(&FAULTS));
        wild.failed.store(fault.is_some(), Ordering::Relaxed);
        fault
    };
    if let Some(fault) = fault {
        wild.note(format!("{fault:?}"));
        if let Some(response) = wild.refusal(fault) {
            return response;
        }
    }
    wild.answer(&reply, fault)
}

impl Wild {
    fn note(&self, message: String) {
        self.log.lock().expect("whole").push(message);
    }

    fn refusal(&self, fault: Fault) -> Option<Response> {
        let error = json!({ "error": { "message": format!("Overloaded, {SECRET}."), "type": "server_error" } });
        match fault {
            Fault::Status(status) => {
                let mut response = (StatusCode::from_u16(status).expect("a status"), axum::Json(error)).into_response();
                if self.random.lock().expect("whole").once_in(2) {
                    response.headers_mut().insert("retry-after", "1".parse().expect("a value"));
                }
                Some(response)
            }
            Fault::ErrorInside200 => {
                let error = json!({ "error": { "message": "The server is overloaded.", "code": 503 } });
                Some(axum::Json(error).into_response())
            }
            _ => None,
        }
    }

    fn answer(&self, reply: &Reply, fault: Option<Fault>) -> Response {
        let mut random = *self.random.lock().expect("whole");
        let mut chunks = self.chunks(reply, fault, &mut random);
        let whole = fault.is_none() && random.once_in(12);
        if whole {
            self.note("not streamed".to_owned());
            let response = unstreamed(reply);
            *self.random.lock().expect("whole") = random;
            return axum::Json(response).into_response();
        }
        match fault {
            Some(Fault::Cut | Fault::Stalls) => chunks.truncate(1),
            Some(Fault::ErrorEvent) => {
                chunks.truncate(1);
                chunks.push(json!({ "error": { "message": "try again", "type": "server_error" } }));
            }
            Some(Fault::Empty) => chunks = vec![choice(&json!({}), Some("stop"))],
            // The last chunk completes the response.
            Some(Fault::CutAfterTool) => drop(chunks.pop()),
            _ => {}
        }
        self.vary(&mut chunks, &mut random);
        let mut text = self.events(&chunks, &mut random, fault);
        if let Some(Fault::Garbage) = fault {
            text = format!("data: {{\"choices\":[{{{SECRET}\n\n");
        }
        let end = match fault {
            Some(Fault::Cut | Fault::CutAfterTool) => BodyEnd::Breaks,
            Some(Fault::Stalls) => BodyEnd::Stalls,
            _ => BodyEnd::Complete,
        };
        let mut response = body(&mut random, text.into_bytes(), end).into_response();
        *self.random.lock().expect("whole") = random;
        response.headers_mut().insert("content-type", "text/event-stream".parse().expect("a value"));
        response
    }

    /// Returns the chunks of a response, the last of which completes it.
    fn chunks(&self, reply: &Reply, fault: Option<Fault>, random: &mut Rng) -> Vec<Value> {
        let mut chunks = vec![choice(&json!({ "role": "assistant", "content": "" }), None)];
        if random.once_in(4) {
            self.note("sends its reasoning".to_owned());
            let thought = format!("{SECRET} first.");
            chunks.push(match random.below(3) {
                0 => choice(&json!({ "reasoning_content": thought }), None),
                1 => choice(
                    &json!({ "content": [{ "type": "thinking", "thinking": [{ "type": "text", "text": thought }] }] }),
                    None,
                ),
                _ => choice(&json!({ "content": format!("<think>{thought}</think>") }), None),
            });
        }
        let size = random.any(&[1, 3, 10, 100]);
        let characters: Vec<char> = reply.text.chars().collect();
        for piece in characters.chunks(size) {
            let text: String = piece.iter().collect();
            let content = if random.once_in(6) { json!([{ "type": "text", "text": text }]) } else { json!(text) };
            chunks.push(choice(&json!({ "content": content }), None));
        }
        let Some((name, arguments)) = &reply.tool else {
            chunks.push(choice(&json!({}), Some("stop")));
            return chunks;
        };
        let written = arguments.to_string();
        if fault.is_none() && random.once_in(6) {
            self.note("writes its tool call as text".to_owned());
            let call = format!("<tool_call>{{\"name\":\"{name}\",\"arguments\":{written}}}</tool_call>");
            for piece in call.as_bytes().chunks(size) {
                chunks.push(choice(&json!({ "content": String::from_utf8_lossy(piece) }), None));
            }
            chunks.push(choice(&json!({}), Some("stop")));
            return chunks;
        }
        let call = |call: Value| choice(&json!({ "content": null, "tool_calls": [call] }), None);
        let (first, second) = written.split_at(written.len() / 2);
        match random.below(3) {
            0 if fault.is_none() => {
                chunks.push(call(json!({
                    "index": 0, "id": "call_1", "type": "function", "function": { "name": name, "arguments": written },
                })));
            }
            1 if fault.is_none() => {
                self.note("arguments as an object".to_owned());
                chunks.push(call(json!({
                    "index": 0, "id": "call_1", "function": { "name": name, "arguments": arguments },
                })));
            }
            _ => {
                let id = random.any(&[json!("call_1"), json!("chatcmpl-tool-1234567890abcdef"), Value::Null]);
                chunks.push(call(json!({ "index": 0, "id": id, "function": { "name": name, "arguments": "" } })));
                chunks.push(call(json!({ "index": 0, "function": { "arguments": first } })));
                if !matches!(fault, Some(Fault::HalfArguments)) {
                    chunks.push(call(json!({ "index": 0, "function": { "name": null, "arguments": second } })));
                }
            }
        }
        let reason = match fault {
            Some(Fault::HalfArguments) => "length",
            _ => random.any(&["tool_calls", "tool_calls", "stop", "function_call"]),
        };
        chunks.push(choice(&json!({}), Some(reason)));
        chunks
    }

    /// Changes chunks in ways that keep the response complete.
    fn vary(&self, chunks: &mut Vec<Value>, random: &mut Rng) {
        for chunk in chunks.iter_mut().filter(|chunk| chunk.get("choices").is_some()) {
            if random.once_in(4) {
                let odd = random.any(&[json!(null), json!([]), json!({ "a": [1, null] }), json!("x"), json!(-1.5e300)]);
                for place in ["/", "/choices/0", "/choices/0/delta"] {
                    let place = if place == "/" { Some(&mut *chunk) } else { chunk.pointer_mut(place) };
                    place.expect("it is there")["unheard_of"] = odd.clone();
                }
            }
            if random.once_in(5) {
                for field in ["function_call", "refusal", "audio", "reasoning", "tool_calls", "logprobs"] {
                    let delta = &mut chunk["choices"][0]["delta"];
                    if delta.get(field).is_none() {
                        delta[field] = Value::Null;
                    }
                }
                chunk["usage"] = Value::Null;
                chunk["system_fingerprint"] = json!(17);
            }
        }
        if random.once_in(3) {
            self.note("chunks without choices, and roles again".to_owned());
            chunks.insert(0, json!({ "choices": [], "prompt_filter_results": [{ "prompt_index": 0 }] }));
            let again = choice(&json!({ "role": "assistant", "content": null }), None);
            chunks.insert(2, again);
        }
        if random.once_in(3) {
            chunks.push(
                json!({ "choices": [], "usage": { "prompt_tokens": "12", "completion_tokens": null, "total": [] } }),
            );
        }
        if random.once_in(4) {
            let end = chunks.iter().position(|chunk| chunk["choices"][0]["finish_reason"].is_string());
            if let Some(end) = end {
                self.note("completes twice".to_owned());
                chunks.push(chunks[end].clone());
                chunks.push(choice(&json!({}), None));
            }
        }
    }

    /// Writes chunks as server-sent events.
    fn events(&self, chunks: &[Value], random: &mut Rng, fault: Option<Fault>) -> String {
        let end = random.any(&["\n", "\n", "\r\n"]);
        let space = random.any(&[" ", " ", ""]);
        let mut text = String::new();
        for chunk in chunks {
            if random.once_in(8) {
                text.push_str(&random.any(&[
                    format!(": ping{end}{end}"),
                    format!("id: 7{end}retry: 5{end}"),
                    format!("event: message{end}"),
                ]));
            }
            text.push_str(&format!("data:{space}{chunk}{end}{end}"));
        }
        let complete = fault.is_none() || matches!(fault, Some(Fault::HalfArguments | Fault::Empty));
        match random.below(4) {
            0 if complete => self.note("no [DONE]".to_owned()),
            1 if complete => {
                let late = format!("data: {{\"late\":\"{SECRET}\"}}{end}{end}");
                text.push_str(&format!("data:{space}[DONE]{end}{end}{late}"));
            }
            _ if complete => text.push_str(&format!("data:{space}[DONE]{end}{end}")),
            _ => {}
        }
        text
    }
}

fn choice(delta: &Value, finish: Option<&str>) -> Value {
    let choice = json!({ "index": 0, "delta": delta, "finish_reason": finish });
    json!({ "id": "chatcmpl-1", "object": "chat.completion.chunk", "choices": [choice] })
}

fn unstreamed(reply: &Reply) -> Value {
    let mut message = json!({ "role": "assistant", "content": reply.text });
    if let Some((name, arguments)) = &reply.tool {
        let function = json!({ "name": name, "arguments": arguments.to_string() });
        message["tool_calls"] = json!([{ "id": "call_1", "type": "function", "function": function }]);
    }
    let finish = if reply.tool.is_some() { "tool_calls" } else { "stop" };
    json!({ "id": "chatcmpl-1", "choices": [{ "index": 0, "message": message, "finish_reason": finish }] })
}
