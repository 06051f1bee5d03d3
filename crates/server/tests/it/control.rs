//! API requests to a running call: speech, keys, transfers; and tests of connections.

use std::time::Duration;

use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use crate::harness::postgres::Server;
use crate::harness::process::{Node, json_of};
use crate::harness::{Client, TestService, text};

/// A number that answers and stays on the line.
const HOLDS: &str = "+12025550109";

/// Places a call and waits until its greeting is over.
async fn held_call(client: &Client, agent: &crate::harness::Agent) -> String {
    let call = client.place(agent, HOLDS).await;
    client.wait_for(&call, |call| call["status"] == "in_progress").await;
    client.wait_for_words(&call).await;
    call
}

async fn said_by_agent(client: &Client, call: &str) -> Vec<String> {
    let (_, transcript) = client.get(&format!("/v1/calls/{call}/transcript")).await;
    let lines = transcript["data"].as_array().expect("a list");
    lines.iter().filter(|line| line["role"] == "agent").map(|line| text(&line["text"])).collect()
}

async fn wait_until_said(client: &Client, call: &str, wanted: impl Fn(&str) -> bool) {
    let said = |transcript: &Value| {
        let lines = transcript["data"].as_array().into_iter().flatten().filter(|line| line["role"] == "agent");
        lines.map(|line| text(&line["text"])).any(|text| wanted(&text))
    };
    client.look_until(&format!("/v1/calls/{call}/transcript"), said).await;
}

async fn refuse_transfers(client: &Client) {
    let (_, connections) = client.get("/v1/connections").await;
    let simulator = connections["data"].as_array().expect("a list").iter().find(|one| one["provider"] == "simulator");
    let id = text(&simulator.expect("it was made")["id"]);
    let patch = json!({ "settings": { "time_scale": 0.05, "refuse_transfers": true } });
    let patched = client.request(Method::PATCH, &format!("/v1/connections/{id}")).json(&patch).send().await;
    assert_eq!(patched.expect("an answer").status(), StatusCode::OK);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_agent_says_what_the_api_wants_said_at_once_or_after_what_it_says() {
    let (service, agent) = TestService::ready().await;
    let client = &service.client;
    let call = held_call(client, &agent).await;
    let path = format!("/v1/calls/{call}/say");
    let say = |body: Value| client.post(&path, body);
    let long = "The table by the window is free, and so is the one beside the fireplace, which is a little larger.";
    let (status, answer) = say(json!({ "text": long, "colour": 1 })).await;
    assert_eq!((status, &answer["id"], &answer["status"]), (StatusCode::OK, &json!(call), &json!("in_progress")));
    assert_eq!(answer["warnings"].as_array().map(Vec::len), Some(1), "{answer}");
    let (status, _) = say(json!({ "text": "Your taxi is here.", "interrupt": true })).await;
    assert_eq!(status, StatusCode::OK);
    wait_until_said(client, &call, |text| text == "Your taxi is here.").await;
    assert!(!said_by_agent(client, &call).await.iter().any(|text| text == long), "it was cut off");
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn keys_are_heard_at_the_other_end() {
    let (service, agent) = TestService::ready().await;
    let client = &service.client;
    let call = held_call(client, &agent).await;
    for digits in ["12w3", "#*0D"] {
        let (status, answer) = client.post(&format!("/v1/calls/{call}/dtmf"), json!({ "digits": digits })).await;
        assert_eq!((status, &answer["status"]), (StatusCode::OK, &json!("in_progress")));
    }
    // Text after the keys is heard after them.
    client.post(&format!("/v1/calls/{call}/say"), json!({ "text": "Thank you." })).await;
    wait_until_said(client, &call, |text| text == "Thank you.").await;
    client.post(&format!("/v1/calls/{call}/hangup"), json!({})).await;
    client.wait_for_end(&call).await;
    let (_, events) = client.get(&format!("/v1/calls/{call}/events")).await;
    let hangup = events["data"].as_array().expect("a list").iter().find(|event| event["event"] == "carrier.hangup");
    assert_eq!(hangup.expect("it was hung up")["data"]["carrier_code"], "DTMF 123#*0D");
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_transferred_call_is_completed_and_a_refused_transfer_changes_nothing() {
    let (service, agent) = TestService::ready().await;
    let client = &service.client;
    let call = held_call(client, &agent).await;
    let (status, _) = client.post(&format!("/v1/calls/{call}/transfer"), json!({ "to": "+12025550142" })).await;
    assert_eq!(status, StatusCode::OK);
    let ended = client.wait_for_end(&call).await;
    assert_eq!((&ended["status"], &ended["end_reason"]), (&json!("completed"), &json!("transferred")), "{ended}");
    assert_eq!(ended["ended_by"], "api", "{ended}");
    let events = client.event_names(&call).await;
    assert_eq!(events, ["call.queued", "call.dialing", "call.in_progress", "call.completed"], "the line lives on");
    let (_, found) = client.get("/v1/calls?end_reason=transferred").await;
    assert_eq!(found["data"].as_array().map(Vec::len), Some(1));

    refuse_transfers(client).await;
    let call = held_call(client, &agent).await;
    let to = json!({ "to": "sip:desk@example.com" });
    assert_eq!(client.post(&format!("/v1/calls/{call}/transfer"), to).await.0, StatusCode::OK);
    wait_until_said(client, &call, |text| text.contains("put you through") || text.contains("putting you through"))
        .await;
    let (_, shown) = client.get(&format!("/v1/calls/{call}")).await;
    assert_eq!(shown["status"], "in_progress", "{shown}");
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn commands_are_refused_in_the_order_of_the_checks() {
    let (service, agent) = TestService::ready().await;
    let client = &service.client;
    let call = held_call(client, &agent).await;
    let ended = client.place(&agent, "+12025550101").await;
    client.wait_for_end(&ended).await;
    let unknown = "0198c6a0-0000-7000-8000-000000000000";
    let long = "x".repeat(2_001);
    let table = [
        ("say", json!({}), "text"),
        ("say", json!({ "text": "..." }), "text"),
        ("say", json!({ "text": long }), "text"),
        ("say", json!({ "text": "Hi", "interrupt": 1 }), "interrupt"),
        ("dtmf", json!({ "digits": "" }), "digits"),
        ("dtmf", json!({ "digits": "12a" }), "digits"),
        ("dtmf", json!({ "digits": "1".repeat(65) }), "digits"),
        ("transfer", json!({ "to": "110" }), "to"),
        ("transfer", json!({ "to": 110 }), "to"),
    ];
    for (what, body, field) in table {
        let (status, error) = client.post(&format!("/v1/calls/{call}/{what}"), body.clone()).await;
        assert_eq!((status, &error["errors"][0]["path"]), (StatusCode::UNPROCESSABLE_ENTITY, &json!(field)), "{error}");
        let (status, _) = client.post(&format!("/v1/calls/{unknown}/{what}"), body.clone()).await;
        assert_eq!(status, StatusCode::NOT_FOUND, "404 comes before 422");
        let (status, _) = client.post(&format!("/v1/calls/{ended}/{what}"), body).await;
        assert_eq!(status, StatusCode::UNPROCESSABLE_ENTITY, "422 comes before 409");
    }
    let in_a_day = switchhook_runtime::clock::Clock::system().now() + Duration::from_secs(86_400);
    let scheduled = json!({ "agent_id": agent.id, "to": HOLDS, "schedule_at": in_a_day });
    let queued = text(&client.create("/v1/calls", scheduled).await["id"]);
    for (what, body) in [
        ("say", json!({ "text": "Hi" })),
        ("dtmf", json!({ "digits": "1" })),
        ("transfer", json!({ "to": "+12025550142" })),
    ] {
        for call in [&ended, &queued] {
            let (status, error) = client.post(&format!("/v1/calls/{call}/{what}"), body.clone()).await;
            assert_eq!((status, &error["code"]), (StatusCode::CONFLICT, &json!("call_not_in_progress")), "{error}");
        }
    }
    client.post(&format!("/v1/calls/{call}/hangup"), json!({})).await;
    let (status, _) = client.post(&format!("/v1/calls/{call}/say"), json!({ "text": "Wait" })).await;
    assert_eq!(status, StatusCode::CONFLICT, "its end was asked for");
    service.stop().await;
}

/// SQLite is for one node.
#[tokio::test(flavor = "multi_thread")]
async fn a_request_may_land_on_a_node_that_does_not_run_the_call() {
    switchhook_net::install_tls();
    let server = tokio::task::block_in_place(Server::start);
    let node = Node::on(Some(server.database().await));
    let tenant = json_of(node.command().args(["tenant", "create", "acme", "--rate-limit", "100000", "--json"]));
    let key = text(&tenant["api_key"]["key"]);
    let owner = node.serve();
    let client = Client::new(owner.base.clone(), key.clone());
    // Starting another node may take longer than the agent bears silence.
    let agent = client.scripted_agent(json!({ "silence": { "hangup_after_seconds": null } })).await;
    let call = held_call(&client, &agent).await;

    let other = node.serve_as("api");
    let elsewhere = Client::new(other.base.clone(), key);
    let (status, _) = elsewhere.post(&format!("/v1/calls/{call}/say"), json!({ "text": "Here." })).await;
    assert_eq!(status, StatusCode::OK);
    wait_until_said(&elsewhere, &call, |text| text == "Here.").await;
    let path = format!("/v1/calls/{call}/dtmf");
    let keys = (0..8).map(|_| elsewhere.post(&path, json!({ "digits": "7" })));
    for (status, _) in futures_util::future::join_all(keys).await {
        assert_eq!(status, StatusCode::OK);
    }
    // After the keys.
    elsewhere.post(&format!("/v1/calls/{call}/say"), json!({ "text": "Done." })).await;
    wait_until_said(&elsewhere, &call, |text| text == "Done.").await;
    elsewhere.post(&format!("/v1/calls/{call}/hangup"), json!({})).await;
    elsewhere.wait_for_end(&call).await;
    let (_, events) = elsewhere.get(&format!("/v1/calls/{call}/events")).await;
    let hangup = events["data"].as_array().expect("a list").iter().find(|event| event["event"] == "carrier.hangup");
    assert_eq!(hangup.expect("it was hung up")["data"]["carrier_code"], "DTMF 77777777", "each of them once");
    other.kill();
    owner.kill();
}

/// Starts a model server that accepts one key, and quotes any other.
async fn model_server() -> std::net::SocketAddr {
    use axum::http::HeaderMap;
    use axum::response::IntoResponse as _;
    let answer = async |headers: HeaderMap| {
        let key = headers.get("authorization").and_then(|value| value.to_str().ok()).unwrap_or_default().to_owned();
        if key == "Bearer sk-the-right-key" {
            let piece = r#"{"choices":[{"delta":{"content":"Yes."},"finish_reason":"stop"}]}"#;
            return format!("data: {piece}\n\ndata: [DONE]\n\n").into_response();
        }
        let error = json!({ "error": { "message": format!("Incorrect API key provided: {key}") } });
        (StatusCode::UNAUTHORIZED, axum::Json(error)).into_response()
    };
    let router = axum::Router::new().route("/v1/chat/completions", axum::routing::post(answer));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let address = listener.local_addr().expect("it listens");
    tokio::spawn(async move { axum::serve(listener, router).await });
    address
}

#[tokio::test(flavor = "multi_thread")]
async fn a_connection_is_tried_for_real_and_tells_no_secret() {
    let service = TestService::start_allowing("127.0.0.0/8,http").await;
    let client = &service.client;
    let address = model_server().await;
    let make = async |body: Value| text(&client.create("/v1/connections", body).await["id"]);
    let test = async |id: &str| {
        let (status, tested) = client.post(&format!("/v1/connections/{id}/test"), json!({})).await;
        assert_eq!(status, StatusCode::OK, "{tested}");
        let checks = tested["checks"].as_array().expect("a list").clone();
        assert_eq!(tested["ok"], checks.iter().all(|check| check["ok"] == true), "{tested}");
        checks
    };
    let model = |name: &str, key: &str, path: &str| {
        json!({
            "name": name, "provider": "openai", "settings": { "base_url": format!("http://{address}{path}") },
            "credentials": { "api_key": key },
        })
    };
    let right = test(&make(model("right", "sk-the-right-key", "/v1")).await).await;
    assert_eq!((&right[0]["name"], &right[0]["ok"]), (&json!("language_model"), &json!(true)), "{right:?}");
    assert!(right[0]["duration_ms"].is_u64());
    let wrong = test(&make(model("wrong", "sk-some-other-key", "/v1")).await).await;
    let detail = text(&wrong[0]["detail"]);
    assert!(wrong[0]["ok"] == false && detail.contains("Incorrect") && !detail.contains("some-other"), "{detail}");
    let nowhere = test(&make(model("nowhere", "sk-the-right-key", "/v2")).await).await;
    assert_eq!(nowhere[0]["ok"], false, "{nowhere:?}");

    let simulator = test(&make(json!({ "name": "line", "provider": "simulator" })).await).await;
    assert_eq!((&simulator[0]["name"], &simulator[0]["ok"]), (&json!("carrier"), &json!(true)));
    let scripted = test(&make(json!({ "name": "script", "provider": "scripted" })).await).await;
    assert_eq!(scripted.len(), 3, "it hears, thinks and speaks: {scripted:?}");
    assert!(scripted.iter().all(|check| check["ok"] == true), "{scripted:?}");
    let broken = json!({ "name": "broken", "provider": "scripted", "settings": { "flow": 7 } });
    assert_eq!(test(&make(broken).await).await[0]["name"], "settings");
    let local = test(&make(json!({ "name": "local", "provider": "local" })).await).await;
    assert!(local.iter().any(|check| text(&check["detail"]).contains("switchhook models pull")), "{local:?}");
    let planned = json!({ "name": "v", "provider": "vonage" });
    assert_eq!(test(&make(planned).await).await[0]["ok"], false, "not usable yet");
    let incomplete = json!({
        "name": "t", "provider": "twilio",
        "credentials": { "account_sid": "AC1", "auth_token": "secret-token", "api_key_sid": "SK1" },
    });
    let incomplete = test(&make(incomplete).await).await;
    assert_eq!(incomplete[0]["name"], "settings");
    assert!(text(&incomplete[0]["detail"]).contains("api_key_secret"), "{incomplete:?}");

    let unknown = "0198c6a0-0000-7000-8000-000000000000";
    let (status, _) = client.post(&format!("/v1/connections/{unknown}/test"), json!({})).await;
    assert_eq!(status, StatusCode::NOT_FOUND);
    service.stop().await;
}
