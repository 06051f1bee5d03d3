//! The carrier's API: calls, numbers, the account.

use std::time::Instant;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{Path, RawQuery, State};
use axum::http::{HeaderMap, StatusCode, Uri, header};
use axum::response::Response;
use axum::routing::{get, post};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::json;

use super::applications;
use super::flavour::Flavour;
use super::form::Form;
use super::leg::Order;
use super::network::{Network, Record};
use super::placing::{self, Document, Refusal, mistake};
use super::records;
use super::script::{Answer, Script};
use super::twiml::Verb;

pub(crate) fn router(network: Network) -> Router {
    let api = Router::new()
        .route("/Accounts/{account}", get(account))
        .route("/Accounts/{account}/Calls.json", get(list).post(create))
        .route("/Accounts/{account}/Calls/{call}", get(show).post(update))
        .route("/Accounts/{account}/IncomingPhoneNumbers.json", get(numbers))
        .route("/Accounts/{account}/IncomingPhoneNumbers/{number}", post(set_number))
        .route("/Accounts/{account}/Applications.json", get(applications::list).post(applications::create))
        .route("/Accounts/{account}/Applications/{application}", get(applications::show));
    Router::new().nest(network.flavour.base_path(), api).fallback(nothing).with_state(network)
}

async fn nothing(State(network): State<Network>, uri: Uri) -> Response {
    network.complaints.add(format!("20404: there is no {}", uri.path()));
    records::refusal(network.flavour, 404, 20404, "The requested resource was not found")
}

/// Answers a refusal; what is a mistake in itself is complained about.
pub(super) fn refuse(network: &Network, refusal: &Refusal) -> Response {
    if refusal.is_mistake {
        network.complaints.add(format!("{}: {}", refusal.code, refusal.words));
    }
    records::refusal(network.flavour, refusal.status, refusal.code, &refusal.words)
}

/// Whether the request may be listened to; else what it is answered.
pub(super) fn admit(network: &Network, headers: &HeaderMap, account: &str) -> Result<(), Box<Response>> {
    let flavour = network.flavour;
    let given = headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let known =
        |(user, secret): &(&str, &str)| given == format!("Basic {}", STANDARD.encode(format!("{user}:{secret}")));
    if !flavour.secrets().iter().any(known) {
        return Err(Box::new(records::refusal(flavour, 401, 20003, "Authenticate")));
    }
    if account.strip_suffix(".json").unwrap_or(account) != flavour.account() {
        let refusal = Refusal { status: 404, code: 20404, words: format!("account {account}"), is_mistake: true };
        return Err(Box::new(refuse(network, &refusal)));
    }
    Ok(())
}

/// A form, as the header says it is.
pub(super) fn form(headers: &HeaderMap, body: &[u8]) -> Result<Form, Refusal> {
    let kind = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    if !kind.starts_with("application/x-www-form-urlencoded") {
        return Err(mistake(20001, format!("the body is {kind}")));
    }
    Ok(Form::parse(body))
}

/// The id in a path.
pub(super) fn sid<'a>(network: &Network, segment: &'a str, prefix: &str) -> Result<&'a str, Refusal> {
    let sid = segment.strip_suffix(".json").unwrap_or(segment);
    let hexadecimal = |digits: &str| digits.len() == 32 && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    let fine = match network.flavour {
        Flavour::Twilio => sid.strip_prefix(prefix).is_some_and(hexadecimal),
        Flavour::SignalWire => uuid::Uuid::try_parse(sid).is_ok(),
    };
    let refusal = || Refusal { status: 404, code: 20404, words: format!("{sid} is no id"), is_mistake: true };
    if fine { Ok(sid) } else { Err(refusal()) }
}

async fn account(State(network): State<Network>, Path(account): Path<String>, headers: HeaderMap) -> Response {
    if let Err(refused) = admit(&network, &headers, &account) {
        return *refused;
    }
    let sid = network.flavour.account();
    records::answer(200, &json!({ "sid": sid, "friendly_name": "Harbor Table", "status": "active", "type": "Full" }))
}

async fn create(
    State(network): State<Network>,
    Path(account): Path<String>,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    if let Err(refused) = admit(&network, &headers, &account) {
        return *refused;
    }
    let owns = |number: &str| network.look(|state| state.numbers.iter().any(|known| known.number == number));
    let placed = match form(&headers, &body).and_then(|form| placing::read(network.flavour, &form, owns)) {
        Ok(placed) => placed,
        Err(refusal) => return refuse(&network, &refusal),
    };
    let script = network.with(|state| {
        *state.asked.entry(placed.to.clone()).or_default() += 1;
        state.scripts.get(&placed.to).cloned().unwrap_or_default()
    });
    if let Some(answer) = answered_by_script(&network, &placed.to, &script) {
        return answer;
    }
    let answer = script.answer;
    let record = network.dial(placed, script);
    let created = records::answer(network.flavour.created(), &records::call(network.flavour, &record));
    match answer {
        Answer::FailsAfterwards => records::refusal(network.flavour, 500, 20500, "Internal server error"),
        Answer::BreaksOff => breaks_off(),
        Answer::NeverComes => std::future::pending().await,
        _ => created,
    }
}

/// Returns the response to a dial that rings no phone.
fn answered_by_script(network: &Network, to: &str, script: &Script) -> Option<Response> {
    match script.answer {
        Answer::Refuses(status, code) => {
            Some(records::refusal(network.flavour, status, code, "As the script of this number says"))
        }
        Answer::RepeatsAnId => {
            let before = network.look(|state| state.calls.last().cloned()).expect("a call was placed before");
            Some(records::answer(network.flavour.created(), &records::call(network.flavour, &before)))
        }
        Answer::Fails => Some(records::refusal(network.flavour, 500, 20500, "Internal server error")),
        Answer::TooMany(times) => {
            let before = network.with(|state| {
                let count = state.too_many.entry(to.to_owned()).or_default();
                *count += 1;
                *count - 1
            });
            (before < times).then(|| records::refusal(network.flavour, 429, 20429, "Too many requests"))
        }
        _ => None,
    }
}

/// A success whose body is cut off.
fn breaks_off() -> Response {
    let broken = futures_util::stream::iter([Ok(Bytes::from_static(b"{\"sid\":")), Err(std::io::Error::other("cut"))]);
    let mut response = Response::new(Body::from_stream(broken));
    *response.status_mut() = StatusCode::CREATED;
    response
}

async fn show(
    State(network): State<Network>,
    Path((account, call)): Path<(String, String)>,
    headers: HeaderMap,
) -> Response {
    if let Err(refused) = admit(&network, &headers, &account) {
        return *refused;
    }
    match sid(&network, &call, "CA").map(|sid| network.record(sid)) {
        Ok(Some(record)) => records::answer(200, &records::call(network.flavour, &record)),
        Ok(None) => records::refusal(network.flavour, 404, 20404, "The requested call was not found"),
        Err(refusal) => refuse(&network, &refusal),
    }
}

async fn list(
    State(network): State<Network>,
    Path(account): Path<String>,
    headers: HeaderMap,
    RawQuery(query): RawQuery,
) -> Response {
    const KNOWN: &[&str] =
        &["To", "From", "Status", "ParentCallSid", "StartTime", "StartTime>", "StartTime<", "PageSize", "Page"];
    if let Err(refused) = admit(&network, &headers, &account) {
        return *refused;
    }
    let query = Form::parse(query.unwrap_or_default().as_bytes());
    if let Some(unknown) = query.unknown(KNOWN) {
        return refuse(&network, &mistake(20001, format!("lists are not narrowed by {unknown}")));
    }
    let wanted = |name: &str, value: &str| query.one(name).ok().flatten().is_none_or(|wanted| wanted == value);
    // A call that has not begun has no time at which it did.
    let by_start = ["StartTime", "StartTime>", "StartTime<"].iter().any(|name| !query.all(name).is_empty());
    let now = Instant::now();
    let mut calls = network.look(|state| state.calls.clone());
    calls.retain(|call| {
        // Legs of transfers have no records here.
        let listed =
            query.all("ParentCallSid").is_empty() && call.listed_from <= now && !(by_start && call.started.is_none());
        listed && wanted("To", &call.to) && wanted("From", &call.from) && wanted("Status", call.status)
    });
    calls.reverse();
    let calls: Vec<_> = calls.iter().map(|call| records::call(network.flavour, call)).collect();
    records::answer(200, &records::page(network.flavour, &calls))
}

async fn update(
    State(network): State<Network>,
    Path((account, call)): Path<(String, String)>,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    if let Err(refused) = admit(&network, &headers, &account) {
        return *refused;
    }
    let changed = sid(&network, &call, "CA").and_then(|sid| {
        let order = order(&network, &form(&headers, &body)?)?;
        let not_found = Refusal { status: 404, code: 20404, words: format!("no call {sid}"), is_mistake: false };
        network.change(sid, |record| record.asked_to_end += u32::from(matches!(order, Order::End)));
        let record = network.record(sid).ok_or(not_found)?;
        if record.is_over() {
            let code = if network.flavour == Flavour::Twilio { 21220 } else { 10000 };
            return Err(Refusal { status: 400, code, words: "Call is not in-progress".to_owned(), is_mistake: false });
        }
        if let Order::End = order {
            network.change(sid, |record| record.ended_by_us = Some("completed".to_owned()));
        }
        let script = script_of_transfer(&network, &record, &order);
        if let Some(refused) = script.as_ref().and_then(|(to, script)| answered_by_script(&network, to, script)) {
            return Ok(Some(refused));
        }
        // A call that ends meanwhile needs no orders.
        let _ = record.orders.send(order);
        Ok(Some(match script.map_or(Answer::Accepts, |(_, script)| script.answer) {
            Answer::FailsAfterwards => records::refusal(network.flavour, 500, 20500, "Internal server error"),
            Answer::BreaksOff => breaks_off(),
            Answer::NeverComes => return Ok(None),
            _ => records::answer(200, &records::call(network.flavour, &record)),
        }))
    });
    match changed {
        Ok(Some(response)) => response,
        Ok(None) => std::future::pending().await,
        Err(refusal) => refuse(&network, &refusal),
    }
}

/// Returns the number whose script says how a transfer is answered, and the script: the number that is dialled, or that of the call
/// where the document is fetched afterwards.
fn script_of_transfer(network: &Network, record: &Record, order: &Order) -> Option<(String, Script)> {
    let number = match order {
        Order::Follow(Document::Inline(verbs)) => match &verbs[..] {
            [Verb::Dial(dial)] => &dial.to,
            _ => return None,
        },
        Order::Follow(Document::At(_)) => &record.to,
        _ => return None,
    };
    let script = network.look(|state| state.scripts.get(number).cloned())?;
    Some((number.clone(), script))
}

fn order(network: &Network, form: &Form) -> Result<Order, Refusal> {
    const KNOWN: &[&str] =
        &["Status", "Url", "Method", "FallbackUrl", "FallbackMethod", "StatusCallback", "StatusCallbackMethod"];
    let more: &[&str] = if network.flavour == Flavour::Twilio { &["Twiml", "TimeLimit"] } else { &[] };
    if let Some(unknown) = form.unknown(&[KNOWN, more].concat()) {
        return Err(mistake(0, format!("a call has no {unknown} that can be changed")));
    }
    match form.one("Status") {
        Ok(Some("completed" | "canceled")) => Ok(Order::End),
        Ok(None) => placing::document(network.flavour, form).map(Order::Follow),
        other => Err(mistake(20001, format!("a change of a call by {other:?}"))),
    }
}

async fn numbers(
    State(network): State<Network>,
    Path(account): Path<String>,
    headers: HeaderMap,
    RawQuery(query): RawQuery,
) -> Response {
    if let Err(refused) = admit(&network, &headers, &account) {
        return *refused;
    }
    let query = Form::parse(query.unwrap_or_default().as_bytes());
    if let Some(unknown) = query.unknown(&["PhoneNumber", "PageSize", "Page"]) {
        return refuse(&network, &mistake(20001, format!("lists are not narrowed by {unknown}")));
    }
    let wanted = query.one("PhoneNumber").ok().flatten();
    let mut found = network.look(|state| state.numbers.clone());
    found.retain(|known| wanted.is_none_or(|wanted| wanted == known.number));
    let found: Vec<_> = found.iter().map(|number| records::number(network.flavour, number)).collect();
    records::answer(200, &json!({ "incoming_phone_numbers": found, "page": 0, "page_size": 50, "next_page_uri": null }))
}

async fn set_number(
    State(network): State<Network>,
    Path((account, number)): Path<(String, String)>,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    if let Err(refused) = admit(&network, &headers, &account) {
        return *refused;
    }
    let changed = sid(&network, &number, "PN").and_then(|sid| {
        let form = form(&headers, &body)?;
        let known =
            ["VoiceUrl", "VoiceMethod", "StatusCallback", "StatusCallbackMethod", "VoiceApplicationSid", "TrunkSid"];
        if let Some(unknown) = form.unknown(&known) {
            return Err(mistake(0, format!("a number has no {unknown}")));
        }
        let (voice, status) = (placing::address(&form, "VoiceUrl")?, placing::address(&form, "StatusCallback")?);
        let application = applications::named(&network, &form)?;
        network.with(|state| {
            let number = state.numbers.iter_mut().find(|number| number.sid == sid);
            let number = number.ok_or_else(|| mistake(20404, format!("no number {sid}")))?;
            number.voice_url = voice.unwrap_or_default();
            number.status_callback = status.unwrap_or_default();
            if let Some(application) = application {
                // One deletes the other.
                (number.application, number.trunk) = (Some(application), None);
            }
            Ok(number.clone())
        })
    });
    match changed {
        Ok(number) => records::answer(200, &records::number(network.flavour, &number)),
        Err(refusal) => refuse(&network, &refusal),
    }
}
