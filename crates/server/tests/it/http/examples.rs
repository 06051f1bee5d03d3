//! The examples of the OpenAPI document: one story, as the service tells it, and the requests that it takes.
//!
//! To record them again: `just examples`

mod normalize;
mod requests;

use reqwest::StatusCode;
use serde_json::{Value, json};
use switchhook_core::Timestamp;

use self::normalize::{Normalizer, shape};
use self::requests::Requests;
use crate::harness::{Client, TestService, deliveries_of, text};

const EXAMPLES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/src/http/openapi/examples.json");
/// Answers, and gives a name when asked for it.
const TALKS: &str = "+12025550100";
/// The tenant's number.
const NUMBER: &str = "+12025550199";

#[tokio::test]
async fn the_examples_are_what_the_service_takes_and_returns() {
    let service = TestService::start().await;
    let recorded = story(&service.client).await;
    service.stop().await;
    if std::env::var_os("SWITCHHOOK_WRITE_EXAMPLES").is_some() {
        std::fs::write(EXAMPLES, format!("{recorded:#}\n")).expect("the examples can be written");
    }
    let written = std::fs::read(EXAMPLES).expect("examples.json");
    let written: Value = serde_json::from_slice(&written).expect("JSON");
    assert_eq!(shape(&written), shape(&recorded), "record them again: just examples");
    assert_consistent(&recorded);
    assert_consistent(&written);
}

/// Makes what a first call needs, places and ends it, and shows everything, by the names of schemas.
async fn story(client: &Client) -> Value {
    let mut requests = Requests::new(client);
    let scripted = client.create("/v1/connections", json!({ "name": "No models", "provider": "scripted" })).await;
    let simulator = json!({ "name": "Main line", "provider": "simulator", "settings": { "time_scale": 0.05 } });
    let connection = requests.post("CreateConnection", "/v1/connections", simulator).await;
    let agent = json!({ "name": "Reception", "instructions": "You answer the phone of a restaurant." });
    let agent = requests.post("CreateAgent", "/v1/agents", agent).await;
    speak_by(client, &agent, &scripted).await;
    let number = json!({
        "number": NUMBER, "label": "Reception", "connection_id": connection["id"], "inbound_agent_id": agent["id"],
    });
    let number = requests.post("CreateNumber", "/v1/numbers", number).await;
    let mut receiver = requests.receiver().await;
    let call = json!({
        "agent_id": agent["id"], "to": TALKS, "metadata": { "order": "A-17" }, "variables": { "name": "Ana" },
    });
    let mut trial = call.clone();
    trial["dry_run"] = true.into();
    let (status, unplaced) = client.post("/v1/calls", trial).await;
    assert_eq!(status, StatusCode::OK, "{unplaced}");
    let call = text(&requests.post("CreateCall", "/v1/calls", call).await["id"]);

    let path = format!("/v1/calls/{call}");
    let answered = |said: &Value| {
        let lines: Vec<_> = said["data"].as_array().into_iter().flatten().map(|line| line["role"].clone()).collect();
        lines.len() > 2 && lines.ends_with(&[json!("caller"), json!("agent")])
    };
    client.look_until(&format!("{path}/transcript"), answered).await;
    client.post(&format!("{path}/hangup"), json!({})).await;
    client.wait_for(&call, |call| call["status"] == "completed" && call["recording_url"].is_string()).await;
    let delivered = deliveries_of(&mut receiver, &call).await.pop().expect("a delivery");
    let done =
        |page: &Value| page["data"].as_array().is_some_and(|all| all.iter().all(|one| one["state"] == "succeeded"));
    client.look_until(&format!("{path}/deliveries"), done).await;

    let webhook = first(client, "/v1/webhooks").await;
    let delivery = format!("/v1/webhooks/{}/deliveries/{}", text(&webhook["id"]), delivered.id);
    let mut normalizer = Normalizer::new(&receiver.url());
    let get = async |path: &str| client.get(path).await.1;
    let last =
        |list: Value| list["data"].as_array().and_then(|all| all.last().cloned()).expect("a list with something in it");
    let decisions = get(&format!("{path}/decisions")).await;
    let ended = decisions["data"].as_array().into_iter().flatten().find(|one| one["kind"] == "turn_ended").cloned();
    let agent_path = format!("/v1/agents/{}", text(&agent["id"]));
    let mut recorded = json!({
        "Agent": get(&agent_path).await,
        "AgentVersion": first(client, &format!("{agent_path}/versions")).await,
        "ApiKey": first(client, "/v1/api-keys").await,
        "Call": get(&path).await,
        "CallDecision": ended,
        "CallEvent": last(get(&format!("{path}/events")).await),
        "Connection": get(&format!("/v1/connections/{}", text(&connection["id"]))).await,
        "ConnectionTest": client.post(&format!("/v1/connections/{}/test", text(&connection["id"])), json!({})).await.1,
        "PhoneNumber": get(&format!("/v1/numbers/{}", text(&number["id"]))).await,
        "Tenant": get("/v1/tenant").await,
        "Transcript": get(&format!("{path}/transcript")).await,
        "UnplacedCall": unplaced,
        "Webhook": webhook,
        "WebhookDelivery": first(client, &format!("/v1/webhooks/{}/deliveries", text(&webhook["id"]))).await,
        "WebhookDeliveryWithAttempts": get(&delivery).await,
        "WebhookEvent": delivered.body,
    });
    requests.command().await;
    requests.change(&agent, &connection, &number, &webhook).await;
    requests.let_in().await;
    recorded["Person"] = first(client, "/v1/people").await;
    recorded.as_object_mut().expect("an object").extend(requests.sent);
    normalizer.normalize(recorded)
}

/// Gives an agent these models and a recording.
async fn speak_by(client: &Client, agent: &Value, connection: &Value) {
    let by = json!({ "connection_id": connection["id"] });
    let changes = json!({ "stt": by, "llm": by, "tts": by, "recording": { "enabled": true } });
    let (status, agent) = client.patch(&format!("/v1/agents/{}", text(&agent["id"])), changes).await;
    assert_eq!(status, StatusCode::OK, "{agent}");
}

async fn first(client: &Client, list: &str) -> Value {
    let (_, page) = client.get(list).await;
    page["data"][0].clone()
}

/// Checks what the parts of the story say about each other.
fn assert_consistent(recorded: &Value) {
    assert_requests_fit(recorded);
    let at = |pointer: &str| recorded.pointer(pointer).unwrap_or_else(|| panic!("there is no {pointer}"));
    let same = |places: &[&str]| {
        for place in places {
            assert_eq!(at(place), at(places[0]), "{place} and {}", places[0]);
        }
    };
    same(&[
        "/Call/id",
        "/CallEvent/data/call_id",
        "/CallEvent/call_id",
        "/WebhookEvent/data/call_id",
        "/WebhookDelivery/call_id",
    ]);
    same(&[
        "/Agent/id",
        "/Call/agent_id",
        "/UnplacedCall/agent_id",
        "/PhoneNumber/inbound_agent_id",
        "/CallEvent/data/agent_id",
    ]);
    same(&["/Agent/version", "/Call/agent_version"]);
    same(&["/PhoneNumber/id", "/Call/number_id"]);
    same(&["/PhoneNumber/number", "/Call/from", "/CallEvent/data/from"]);
    same(&["/Connection/id", "/Call/carrier/connection_id", "/PhoneNumber/connection_id"]);
    same(&["/Connection/provider", "/Call/carrier/provider", "/UnplacedCall/carrier/provider"]);
    same(&["/CallEvent/data", "/WebhookEvent/data"]);
    same(&["/CallEvent/event", "/WebhookEvent/event", "/WebhookDelivery/event"]);
    same(&["/CallEvent/created_at", "/WebhookDelivery/created_at"]);
    same(&["/CallEvent/created", "/WebhookEvent/created"]);
    same(&["/WebhookEvent/id", "/WebhookDelivery/id", "/WebhookDeliveryWithAttempts/id"]);
    for field in ["duration_seconds", "turns", "end_reason", "summary", "outcome", "error", "status", "metadata", "to"]
    {
        same(&[&format!("/Call/{field}"), &format!("/CallEvent/data/{field}")]);
    }
    same(&["/Call/latency/response_ms/p50", "/Transcript/data/2/latency_ms"]);

    for field in ["agent_version", "direction", "from", "to", "metadata", "variables"] {
        same(&[&format!("/Call/{field}"), &format!("/UnplacedCall/{field}")]);
    }
    assert_eq!(recorded["UnplacedCall"].get("id"), None, "there is no such call");
    assert_eq!([at("/UnplacedCall/duration_seconds"), at("/UnplacedCall/turns")], [0, 0]);
    assert_eq!([at("/UnplacedCall/answered_at"), at("/UnplacedCall/outcome")], [&Value::Null; 2]);

    assert_eq!(at("/Call/status"), "completed");
    assert_eq!([at("/Call/end_reason"), at("/Call/ended_by")], ["api_hangup", "api"]);
    assert_eq!([at("/Call/error_code"), at("/Call/error")], [&Value::Null; 2]);
    let times: Vec<_> = ["created_at", "dialing_at", "ringing_at", "answered_at", "ended_at"]
        .map(|field| Timestamp::parse(at(&format!("/Call/{field}")).as_str().unwrap_or_default()).expect("a time"))
        .into();
    assert!(times.is_sorted(), "{times:?}");
    let lasted = times[4].since(times[3]).as_secs_f64();
    let duration = at("/Call/duration_seconds").as_f64().expect("a number");
    assert!((duration - lasted).abs() <= 1.0, "{duration} s, but {lasted} s from answer to end");
    let callers =
        at("/Transcript/data").as_array().into_iter().flatten().filter(|line| line["role"] == "caller").count();
    assert_eq!(at("/Call/turns"), callers);

    assert_eq!([at("/Webhook/disabled_reason"), at("/Webhook/failing_since")], [&Value::Null; 2]);
    assert_eq!(at("/Webhook/enabled"), true);
    let attempts = at("/WebhookDeliveryWithAttempts/attempt_log").as_array().map_or(0, Vec::len);
    assert_eq!([at("/WebhookDelivery/attempts"), at("/WebhookDeliveryWithAttempts/attempts")], [attempts; 2]);
    assert_eq!(at("/WebhookDeliveryWithAttempts/attempt_log/0/status"), 200);
    let passed = at("/ConnectionTest/checks").as_array().is_some_and(|all| all.iter().all(|check| check["ok"] == true));
    assert_eq!(at("/ConnectionTest/ok"), passed);
    assert_eq!([at("/Tenant/monthly_calls/used"), at("/Tenant/stored/agents/in_use")], [1; 2]);
}

/// Checks that what was sent is about what is returned.
fn assert_requests_fit(recorded: &Value) {
    let fitting: [(&str, &str, &[&str]); 6] = [
        ("CreateAgent", "Agent", &["name", "instructions"]),
        ("CreateCall", "Call", &["agent_id", "to", "metadata", "variables"]),
        ("CreateConnection", "Connection", &["name", "provider", "settings"]),
        ("CreateNumber", "PhoneNumber", &["number", "label", "connection_id", "inbound_agent_id"]),
        ("CreateWebhook", "Webhook", &["url", "events"]),
        ("UpdatePerson", "Person", &["role"]),
    ];
    for (sent, shown, fields) in fitting {
        for field in fields {
            assert!(!recorded[sent][*field].is_null(), "{sent} has no {field}");
            assert_eq!(recorded[sent][*field], recorded[shown][*field], "{field} of {sent} and {shown}");
        }
    }
    assert_eq!(recorded["AgentVersion"]["version"], recorded["Agent"]["version"]);
    assert_eq!(recorded["SimulateCall"]["to"], recorded["PhoneNumber"]["number"]);
}
