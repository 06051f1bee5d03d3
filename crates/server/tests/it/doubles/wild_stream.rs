//! A language model's server with the protocol of a double, which it follows loosely, determined by a seed. It holds the same conversation
//! as [`super::wild_llm`].

use std::sync::{Arc, Mutex};

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Response};
use axum::routing::get;
use axum::{Json, Router};
use serde_json::{Value, json};

use super::model::{Piece, Protocol};
use super::wild::{BodyEnd, body};
use super::wild_llm::{BEFORE_BOOKING, GOODBYE, SECRET};
use crate::crash::rng::Rng;

/// A failure of one request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    Status(u16),
    /// An error as the last event.
    ErrorEvent,
    /// The connection breaks after the first event.
    Cut,
    Stalls,
    Garbage,
    /// The connection breaks before the last events, which complete the response.
    CutAtEnd(usize),
}

const FAULTS: [Fault; 10] = [
    Fault::Status(500),
    Fault::Status(503),
    Fault::Status(529),
    Fault::Status(429),
    Fault::Status(408),
    Fault::ErrorEvent,
    Fault::Cut,
    Fault::Stalls,
    Fault::Garbage,
    Fault::CutAtEnd(2),
];

struct Wild<P> {
    protocol: P,
    state: Arc<Mutex<WildState>>,
}

struct WildState {
    random: Rng,
    /// Whether the last request failed.
    failed: bool,
    /// Requests so far, for ids that are not repeated.
    requests: usize,
    /// Faults and variations so far, for the message of a failed seed.
    log: Vec<String>,
}

/// A running server.
pub(crate) struct WildStream {
    state: Arc<Mutex<WildState>>,
    pub(crate) base_url: String,
}

impl WildStream {
    pub(crate) async fn start<P: Protocol>(protocol: P, seed: u64) -> Self {
        let state = WildState { random: Rng::new(seed), failed: false, requests: 0, log: Vec::new() };
        let state = Arc::new(Mutex::new(state));
        let wild = Arc::new(Wild { protocol, state: state.clone() });
        // Requests to connect ahead are answered with a list of models.
        let models = get(|| async { Json(json!({ "data": [], "models": [] })) });
        let router = Router::new().fallback_service(models.post(respond::<P>).with_state(wild));
        let address = super::tts::serve(router).await;
        Self { state, base_url: format!("http://{address}") }
    }

    /// Returns the faults and variations so far.
    pub(crate) fn log(&self) -> Vec<String> {
        self.state.lock().expect("whole").log.clone()
    }
}

/// Returns what the model replies to a request, the number of which makes ids unique.
fn reply_to(results: &[String], request: usize) -> Vec<Piece> {
    let id = |name: &str| &*format!("{name}_{request}").leak();
    if results.iter().any(|result| result.contains("booked")) {
        return vec![Piece::Text(GOODBYE), Piece::Tool { id: id("end"), name: "end_call", arguments: json!({}) }];
    }
    // It is still running.
    if results.last().is_some_and(|result| !result.contains("JSON") && !result.contains("error")) {
        return vec![Piece::Text("One moment.")];
    }
    vec![
        Piece::Text(BEFORE_BOOKING),
        Piece::Tool { id: id("book"), name: "book", arguments: json!({ "day": "Friday" }) },
    ]
}

async fn respond<P: Protocol>(State(wild): State<Arc<Wild<P>>>, Json(asked): Json<Value>) -> Response {
    let said = wild.protocol.conversation(&asked).into_iter();
    let results: Vec<String> = said.filter_map(|(_, text)| Some(text.strip_prefix("result ")?.to_owned())).collect();
    let mut state = wild.state.lock().expect("whole");
    state.requests += 1;
    let reply = reply_to(&results, state.requests);
    let fault = (!state.failed && state.random.once_in(3)).then(|| state.random.any(&FAULTS));
    state.failed = fault.is_some();
    if let Some(fault) = fault {
        state.log.push(format!("{fault:?}"));
    }
    if let Some(Fault::Status(status)) = fault {
        let error = wild.protocol.error(status, &format!("Overloaded, {SECRET}."));
        return (StatusCode::from_u16(status).expect("a status"), Json(error)).into_response();
    }
    let mut events = wild.protocol.answer(&reply);
    match fault {
        Some(Fault::Cut | Fault::Stalls) => events.truncate(1),
        Some(Fault::ErrorEvent) => {
            events.truncate(1);
            events.push(wild.protocol.error_event(&format!("Overloaded, {SECRET}.")));
        }
        Some(Fault::Garbage) => events = vec![format!("data: {{\"{SECRET}\n\n")],
        Some(Fault::CutAtEnd(count)) => events.truncate(events.len().saturating_sub(count)),
        _ => vary(&mut state, &mut events),
    }
    let end = match fault {
        Some(Fault::Cut | Fault::CutAtEnd(_)) => BodyEnd::Breaks,
        Some(Fault::Stalls) => BodyEnd::Stalls,
        _ => BodyEnd::Complete,
    };
    let text = match state.random.once_in(3) {
        true => events.concat().replace('\n', "\r\n"),
        false => events.concat(),
    };
    let mut response = body(&mut state.random, text.into_bytes(), end).into_response();
    response.headers_mut().insert("content-type", "text/event-stream; charset=utf-8".parse().expect("a value"));
    response
}

/// Changes events in ways that keep the response complete.
fn vary(state: &mut WildState, events: &mut Vec<String>) {
    let WildState { random, log, .. } = state;
    for event in events.iter_mut() {
        if random.once_in(4) {
            *event = with_more_fields(random, event);
        }
    }
    for _ in 0..random.below(3) {
        let odd = random.any(&[
            ": ping\n\n",
            "event: ping\ndata: {\"type\":\"ping\"}\n\n",
            "event: unheard_of\ndata: {\"type\":\"unheard_of\",\"index\":null}\n\n",
            "data:\n\n",
            "id: 7\nretry: 5\n\n",
        ]);
        events.insert(random.position(events.len() + 1), odd.to_owned());
    }
    if random.once_in(4) {
        log.push("ends twice".to_owned());
        let last = events.iter().rev().find(|event| event.contains('{')).cloned();
        events.extend(last);
    }
}

fn with_more_fields(random: &mut Rng, event: &str) -> String {
    let Some((before, json)) = event.split_once("data: ") else { return event.to_owned() };
    let Ok(Value::Object(mut fields)) = serde_json::from_str(json.trim()) else { return event.to_owned() };
    let odd = random.any(&[json!(null), json!([]), json!({ "a": [1, null] }), json!(-1.5e300)]);
    fields.insert("unheardOf".to_owned(), odd);
    if random.once_in(2) {
        fields.insert("usageMetadata".to_owned(), Value::Null);
    }
    format!("{before}data: {}\n\n", Value::Object(fields))
}
