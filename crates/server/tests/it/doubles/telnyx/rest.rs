//! The API.

use std::collections::HashMap;
use std::sync::Arc;

use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::{HeaderMap, Method, StatusCode, Uri};
use axum::response::{IntoResponse as _, Response};
use serde_json::{Value, json};
use url::form_urlencoded;

use super::media::Stream;
use super::{API_KEY, APPLICATION, Double, Leg, Order, Script, call, checks};

/// Calls per page of a list, regardless of the requested number.
const PAGE: usize = 1;

pub(super) async fn handle(
    State(double): State<Arc<Double>>,
    method: Method,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    if headers.get("authorization").and_then(|value| value.to_str().ok()) != Some(&format!("Bearer {API_KEY}")) {
        return refusal(401, "10009", "Authentication failed", None);
    }
    let path: Vec<String> = uri.path().split('/').skip(1).map(unescaped).collect();
    let path: Vec<&str> = path.iter().map(String::as_str).collect();
    let query: HashMap<String, String> =
        form_urlencoded::parse(uri.query().unwrap_or_default().as_bytes()).into_owned().collect();
    let body = match read(&method, &headers, &body) {
        Ok(body) => body,
        Err(why) => {
            double.complain(format!("{method} {uri}: {why}"));
            return refusal(400, "10015", "Bad request", None);
        }
    };
    match (method.as_str(), &path[..]) {
        ("POST", ["v2", "calls"]) => dial(&double, &body),
        ("GET", ["v2", "calls", id]) => double.leg_of(id).map_or_else(not_found, |leg| found(&leg.shown())),
        ("POST", ["v2", "calls", id, "actions", name]) => command(&double, id, name, &body),
        ("GET", ["v2", "connections", APPLICATION, "active_calls"]) => active_calls(&double, &query),
        ("GET", ["v2", "balance"]) => {
            found(&json!({ "record_type": "balance", "available_credit": "12.30", "currency": "USD" }))
        }
        ("GET", ["v2", "call_control_applications", APPLICATION]) => {
            found(&double.with(|account| account.application.clone()))
        }
        ("PATCH", ["v2", "call_control_applications", APPLICATION]) => change_application(&double, &body),
        ("GET", ["v2", "call_control_applications", _]) => not_found(),
        ("GET", ["v2", "phone_numbers"]) => numbers(&double, &query),
        ("PATCH", ["v2", "phone_numbers", id]) => change_number(&double, id, &body),
        _ => {
            double.complain(format!("there is no {method} {uri}"));
            not_found()
        }
    }
}

fn read(method: &Method, headers: &HeaderMap, body: &[u8]) -> Result<Value, String> {
    if method == Method::GET {
        return Ok(Value::Null);
    }
    if headers.get("content-type").is_none_or(|kind| kind != "application/json") {
        return Err("the body is not called JSON".to_owned());
    }
    serde_json::from_slice(body).map_err(|error| format!("the body is no JSON: {error}"))
}

/// Decodes a segment of a path.
fn unescaped(segment: &str) -> String {
    // The only available decoder reads forms, where a plus is a space.
    let escaped = format!("x={}", segment.replace('+', "%2B"));
    form_urlencoded::parse(escaped.as_bytes()).next().map(|(_, value)| value.into_owned()).unwrap_or_default()
}

fn found(data: &Value) -> Response {
    axum::Json(json!({ "data": data })).into_response()
}

fn refusal(status: u16, code: &str, title: &str, pointer: Option<&str>) -> Response {
    let error = json!({
        "code": code, "title": title, "detail": format!("{title}, in more words."),
        "source": pointer.map(|pointer| json!({ "pointer": pointer })),
        "meta": { "url": format!("https://developers.telnyx.com/docs/overview/errors/{code}") },
    });
    let status = StatusCode::from_u16(status).expect("a status");
    (status, axum::Json(json!({ "errors": [error] }))).into_response()
}

fn not_found() -> Response {
    refusal(404, "10005", "Resource not found", None)
}

fn invalid() -> Response {
    refusal(422, "10015", "Invalid parameters", None)
}

fn dial(double: &Arc<Double>, body: &Value) -> Response {
    if !checks::check("dial", body, &checks::dial(), &double.complaints) {
        return invalid();
    }
    let to = body["to"].as_str().unwrap_or_default();
    let script = double.with(|account| {
        account.asked.push(to.to_owned());
        let scripts = account.scripts.get_mut(to)?;
        if scripts.len() > 1 { scripts.pop_front() } else { scripts.front().cloned() }
    });
    let Some(script) = script else {
        double.complain(format!("nobody has a script for {to}"));
        return refusal(422, "10001", "Inactive phone number", Some("/to"));
    };
    match script {
        Script::Refused { status, code, pointer } => refusal(status, code, "A refusal of the double", pointer),
        Script::Broken => (StatusCode::SERVICE_UNAVAILABLE, "<html>come back later</html>").into_response(),
        Script::Unanswered { cause, sip } => {
            found(&ring(double, body, call::DialOutcome::Unanswered { cause, sip }).shown())
        }
        Script::Rings => found(&ring(double, body, call::DialOutcome::Rings).shown()),
        Script::Answered(person) => found(&ring(double, body, call::DialOutcome::Answered(person)).shown()),
        Script::HangsUpAtOnce => refusal(422, "10001", "Inactive phone number", Some("/to")),
        Script::AnswerLost(person) => {
            ring(double, body, call::DialOutcome::Answered(person));
            cut_off()
        }
    }
}

/// Dials a number; complains when the same call is dialled again.
fn ring(double: &Arc<Double>, body: &Value, outcome: call::DialOutcome) -> Arc<Leg> {
    let text = |field: &str| body[field].as_str().unwrap_or_default().to_owned();
    let (to, command) = (text("to"), text("command_id"));
    double.with(|account| {
        if account.rung.iter().any(|(_, known)| *known == command) {
            double.complain("somebody was rung twice");
        }
        account.rung.push((to, command));
    });
    call::dialled(double, body, outcome)
}

fn command(double: &Arc<Double>, id: &str, name: &str, body: &Value) -> Response {
    let Some(fields) = checks::command(name) else {
        double.complain(format!("there is no command {name}"));
        return not_found();
    };
    if !checks::check(name, body, &fields, &double.complaints) {
        return invalid();
    }
    let Some(leg) = double.leg_of(id) else {
        return refusal(422, "90015", "Invalid call control id", None);
    };
    let progress = leg.with(|progress| progress.clone());
    if progress.ended {
        return refusal(422, "90018", "Call has already ended", None);
    }
    if progress.transferred {
        double.complain(format!("{name}: the caller was transferred"));
    }
    let order = match name {
        "answer" if !leg.inbound => return refusal(422, "90102", "Only incoming calls can be answered", None),
        "answer" => {
            if double.with(|account| !account.command_ids.insert((leg.id.clone(), body["command_id"].to_string()))) {
                return done();
            }
            Order::Answer(Stream::asked_for(body))
        }
        "reject" if progress.answered || !leg.inbound => {
            double.complain("reject: only calls that wait can be rejected");
            return refusal(422, "90016", "Call cannot be rejected", None);
        }
        "reject" => Order::Reject(body["cause"].as_str().unwrap_or_default().to_owned()),
        "hangup" => Order::HangUp,
        _ if !progress.answered => return refusal(422, "90034", "Call not answered yet", None),
        "streaming_start" if leg.with(|progress| std::mem::replace(&mut progress.streamed, true)) => {
            return refusal(422, "90045", "Media streaming is used already", None);
        }
        "streaming_start" => Order::Stream(Stream::asked_for(body).expect("it was checked")),
        "transfer" => Order::Transfer(body.clone()),
        _ => {
            leg.with(|progress| progress.seen.keys.push_str(body["digits"].as_str().unwrap_or_default()));
            double.note(name, body);
            return done();
        }
    };
    if matches!(order, Order::Transfer(_)) && matches!(double.script_of(body), Some(Script::Refused { .. })) {
        return refusal(403, "10010", "Transfer is not permitted", None);
    }
    double.note(name, body);
    let is_lost = matches!(order, Order::Transfer(_)) && matches!(double.script_of(body), Some(Script::AnswerLost(_)));
    // A leg that has just ended ignores commands.
    let _ = leg.orders.send(order);
    if is_lost { cut_off() } else { done() }
}

/// Returns a response that breaks off.
fn cut_off() -> Response {
    let pieces = [Ok(Bytes::from_static(b"{\"data\":")), Err(std::io::Error::other("the connection broke"))];
    Body::from_stream(futures_util::stream::iter(pieces)).into_response()
}

fn done() -> Response {
    found(&json!({ "result": "ok" }))
}

fn active_calls(double: &Double, query: &HashMap<String, String>) -> Response {
    let live: Vec<Value> = double.with(|account| {
        account.legs.iter().filter(|leg| leg.with(|progress| !progress.ended)).map(|leg| leg.shown()).collect()
    });
    let after: usize = query.get("page[after]").and_then(|after| after.parse().ok()).unwrap_or(0);
    let page: Vec<&Value> = live.iter().skip(after).take(PAGE).collect();
    let cursors = json!({ "after": (after + page.len()).to_string(), "before": after.to_string() });
    axum::Json(json!({ "data": page, "meta": { "cursors": cursors, "total_items": live.len() } })).into_response()
}

fn change_application(double: &Double, body: &Value) -> Response {
    if !checks::check("application", body, &checks::application(), &double.complaints) {
        return invalid();
    }
    double.with(|account| {
        for (field, value) in body.as_object().into_iter().flatten() {
            account.application[field] = value.clone();
        }
        found(&account.application)
    })
}

fn numbers(double: &Double, query: &HashMap<String, String>) -> Response {
    let wanted = query.get("filter[phone_number]").map_or("", String::as_str);
    if wanted.len() < 3 || !wanted.bytes().all(|byte| byte.is_ascii_digit()) {
        double.complain("filter[phone_number] takes three digits or more, and nothing else");
    }
    let matches = |number: &&Value| number["phone_number"].as_str().is_some_and(|number| number.contains(wanted));
    let found_ones: Vec<Value> = double.with(|account| account.numbers.iter().filter(matches).cloned().collect());
    found(&json!(found_ones))
}

fn change_number(double: &Double, id: &str, body: &Value) -> Response {
    if !checks::check("number", body, &checks::number(), &double.complaints) {
        return invalid();
    }
    double.with(|account| match account.numbers.iter_mut().find(|number| number["id"] == id) {
        Some(number) => {
            number["connection_id"] = body["connection_id"].clone();
            found(number)
        }
        None => not_found(),
    })
}

impl Double {
    fn leg_of(&self, id: &str) -> Option<Arc<Leg>> {
        self.with(|account| account.legs.iter().find(|leg| leg.id == id).cloned())
    }

    fn note(&self, name: &str, body: &Value) {
        self.with(|account| account.commands.push((name.to_owned(), body.clone())));
    }
}

impl Leg {
    /// Returns the leg as the API shows it.
    fn shown(&self) -> Value {
        let progress = self.with(|progress| progress.clone());
        let mut shown = json!({
            "call_control_id": self.id, "call_leg_id": self.session, "call_session_id": self.session, "record_type": "call",
            "client_state": self.client_state, "is_alive": progress.answered && !progress.ended,
        });
        if progress.ended {
            shown["end_time"] = json!("2026-11-21T09:00:00.000000Z");
            shown["call_duration"] = json!(progress.duration);
        }
        shown
    }
}
