//! What is stored of the text of a call: nothing that must be redacted, and nothing for longer than configured.

use std::time::Duration;

use reqwest::{Method, StatusCode};
use serde_json::{Value, json};
use switchhook::recordings::Recordings;
use switchhook::retention::Retention;
use switchhook::store::calls::inputs;
use switchhook::webhooks::receiver::Receiver;
use switchhook_core::event::{NO_SUMMARY, WORDS_DELETED};
use switchhook_core::webhook::SigningSecret;
use switchhook_runtime::clock::Clock;

use crate::harness::process::json_of;
use crate::harness::{TestService, text};

const HOUR: Duration = Duration::from_secs(3_600);

fn retention(service: &TestService) -> Retention {
    Retention::new(service.store().clone(), Recordings::below(service.data_dir()))
}

/// Erases what is due `hours` from now. Returns how many calls.
async fn erase_after(service: &TestService, hours: u32) -> usize {
    let then = Clock::system().now() + HOUR * hours;
    retention(service).erase_expired(then).await.expect("erased")
}

/// Repeats the delivery of `call.completed`. Returns the data that arrives.
async fn redelivered(service: &TestService, webhook: &str, receiver: &mut Receiver) -> Value {
    let deliveries = format!("/v1/webhooks/{webhook}/deliveries");
    let (_, listed) = service.client.get(&deliveries).await;
    let delivery = text(&listed["data"].as_array().and_then(|all| all.last()).expect("a delivery")["id"]);
    let (status, answer) = service.client.post(&format!("{deliveries}/{delivery}/redeliver"), json!({})).await;
    assert!(status.is_success(), "{answer}");
    let received = tokio::time::timeout(HOUR / 60, receiver.next()).await.expect("it arrives");
    assert!(received.verified);
    received.body["data"].clone()
}

#[tokio::test(flavor = "multi_thread")]
async fn words_are_deleted_at_the_end_of_their_retention_and_the_rest_stays() {
    // It stands still, so that no delivery is retried before the test asks for it.
    let service = TestService::start_with(Clock::manual(Clock::system().now())).await;
    let client = &service.client;
    let agent = client
        .scripted_agent(json!({
            "greeting": { "text": "Hello {{guest}}, this is a long greeting, so that you can hang up in the middle of it." },
            "privacy": { "retention_days": 2 }, "recording": { "enabled": true },
        }))
        .await;
    let mut receiver = Receiver::start(([127, 0, 0, 1], 0).into()).await.expect("a free port");
    receiver.answer_with(StatusCode::SERVICE_UNAVAILABLE);
    let webhook = client.create("/v1/webhooks", json!({ "url": receiver.url(), "events": ["call.completed"] })).await;
    receiver.set_secret(SigningSecret::parse(&text(&webhook["secret"])).expect("a signing secret"));
    let webhook = text(&webhook["id"]);
    let body = json!({
        "agent_id": agent.id, "to": "+12025550108", "variables": { "guest": "Zebulon" }, "metadata": { "order": 7 },
    });
    let placing = client.request(Method::POST, "/v1/calls").header("Idempotency-Key", "order-7").json(&body);
    let placed: Value = placing.send().await.expect("an answer").json().await.expect("JSON");
    let call = text(&placed["id"]);
    let before = client.wait_for_end(&call).await;
    let recording =
        service.data_dir().join("recordings").join(client_tenant(&service).await).join(format!("{call}.wav"));
    assert!(recording.exists() && before["recording_url"].is_string(), "{before}");
    assert!(log_of(&service, &call).await.is_some_and(|log| log.contains("Zebulon")), "its inputs can be replayed");
    let (_, said) = client.get(&format!("/v1/calls/{call}/transcript")).await;
    assert!(said.to_string().contains("Zebulon"), "{said}");
    let first = tokio::time::timeout(HOUR / 60, receiver.next()).await.expect("an attempt");
    assert_eq!(first.body["data"]["summary"], before["summary"]);

    assert_eq!(erase_after(&service, 47).await, 0, "two days have not passed");
    assert_eq!(erase_after(&service, 49).await, 1);
    let (_, after) = client.get(&format!("/v1/calls/{call}")).await;
    assert_eq!((&after["summary"], &after["variables"]), (&json!(WORDS_DELETED), &json!({})), "{after}");
    assert_eq!((&after["recording_url"], &after["outcome"]), (&json!(null), &json!(null)));
    for kept in ["status", "from", "to", "metadata", "duration_seconds", "turns", "usage", "latency", "ended_at"] {
        assert_eq!(after[kept], before[kept], "{kept} stays");
    }
    assert!(!recording.exists());
    assert_eq!(log_of(&service, &call).await, None);
    let again = client.request(Method::POST, "/v1/calls").header("Idempotency-Key", "order-7").json(&body);
    let again = again.send().await.expect("an answer");
    assert_eq!(
        (again.status(), again.headers()["idempotent-replayed"].as_bytes()),
        (StatusCode::CREATED, &b"true"[..])
    );
    let again: Value = again.json().await.expect("JSON");
    assert_eq!((&again["id"], &again["status"]), (&placed["id"], &before["status"]), "nobody is called twice");
    assert!(!again.to_string().contains("Zebulon"), "{again}");
    for (path, status) in
        [("transcript", StatusCode::OK), ("events", StatusCode::OK), ("recording", StatusCode::NOT_FOUND)]
    {
        let (answered, shown) = client.get(&format!("/v1/calls/{call}/{path}")).await;
        assert_eq!(answered, status, "{path}");
        let shown = shown.to_string();
        assert!(!shown.contains("Zebulon") && !shown.contains(&text(&before["summary"])), "{path}: {shown}");
    }

    receiver.answer_with(StatusCode::NO_CONTENT);
    let late = redelivered(&service, &webhook, &mut receiver).await;
    assert_eq!(late["summary"], before["summary"], "what is under way stays as it was signed up for");
    client
        .look_until(&format!("/v1/webhooks/{webhook}/deliveries"), |all| all["data"][0]["state"] == "succeeded")
        .await;
    let again = redelivered(&service, &webhook, &mut receiver).await;
    assert_eq!(again["summary"], json!(WORDS_DELETED), "also before the words of the finished delivery are deleted");
    assert_eq!(erase_after(&service, 49).await, 0, "the call itself was erased before");
    let later = redelivered(&service, &webhook, &mut receiver).await;
    assert_eq!((&later["summary"], &later["outcome"]), (&json!(WORDS_DELETED), &json!(null)), "{later}");
    assert_eq!((&later["to"], &later["metadata"]), (&before["to"], &before["metadata"]));
    service.stop().await;
}

/// Returns the stored log for replaying a call.
async fn log_of(service: &TestService, call: &str) -> Option<String> {
    let mut conn = service.store().read().await.expect("a connection");
    let logged = inputs::get_for_operator(&mut conn, call.parse().expect("an id")).await.expect("read");
    logged.map(|logged| logged.log().expect("a log"))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_redacted_call_is_replayed_without_its_numbers() {
    let service = TestService::start().await;
    let agent = service.client.scripted_agent(json!({ "privacy": { "redact": ["digits"] } })).await;
    let call = service.client.place(&agent, "+12025550100").await;
    let ended = service.client.wait_for_end(&call).await;
    assert_eq!(ended["status"], "completed", "{ended}");
    let log = log_of(&service, &call).await.expect("a log");
    // Four people at half-past seven.
    let texts: Vec<&str> = log.split("\"text\":\"").skip(1).filter_map(|rest| rest.split('"').next()).collect();
    for said in &texts {
        assert!(!["four", "seven", "7", "4"].iter().any(|number| said.contains(number)), "{said}");
    }
    assert!(texts.iter().any(|said| said.contains('0') || said.contains("zero")), "{texts:?}");
    let replayed = json_of(service.command().args(["replay", "--json", &call]));
    assert_eq!(replayed["as_it_was"]["turns"], ended["turns"], "{replayed}");
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_with_addresses_to_redact_leaves_no_log() {
    let service = TestService::start().await;
    let agent = service.client.scripted_agent(json!({})).await;
    for (redact, is_logged) in [("digits", true), ("email_addresses", false)] {
        let privacy = json!({ "privacy": { "redact": [redact] } });
        let (status, _) = service.client.patch(&format!("/v1/agents/{}", agent.id), privacy).await;
        assert_eq!(status, StatusCode::OK);
        let call = service.client.place(&agent, "+12025550108").await;
        service.client.wait_for_end(&call).await;
        assert_eq!(log_of(&service, &call).await.is_some(), is_logged, "{redact}");
    }
    service.stop().await;
}

/// Returns the folder of this tenant's recordings.
async fn client_tenant(service: &TestService) -> String {
    text(&service.client.get("/v1/tenant").await.1["id"])
}

#[tokio::test(flavor = "multi_thread")]
async fn a_recording_left_on_a_disk_is_found_and_that_of_a_call_that_is_kept_is_not_touched() {
    let service = TestService::start().await;
    let client = &service.client;
    let kept_for = async |privacy: Value| {
        let (_, agents) = client.get("/v1/agents").await;
        let agent = match agents["data"].as_array().and_then(|all| all.first()) {
            Some(agent) => text(&agent["id"]),
            None => client.scripted_agent(json!({ "recording": { "enabled": true } })).await.id,
        };
        let (status, patched) = client.patch(&format!("/v1/agents/{agent}"), json!({ "privacy": privacy })).await;
        assert_eq!(status, StatusCode::OK, "{patched}");
        let call = text(&client.create("/v1/calls", json!({ "agent_id": agent, "to": "+12025550108" })).await["id"]);
        client.wait_for_end(&call).await;
        call
    };
    let (short, long) =
        (kept_for(json!({ "retention_days": 1 })).await, kept_for(json!({ "retention_days": 9 })).await);
    let unlimited = kept_for(json!(null)).await;
    let folder = service.data_dir().join("recordings").join(client_tenant(&service).await);
    let recording = |call: &str| folder.join(format!("{call}.wav"));
    let copy = std::fs::read(recording(&short)).expect("a recording");
    assert_eq!(erase_after(&service, 25).await, 1, "each call keeps what its version of the agent said");
    // As if the process had died in between, or the file were on the disk of another node.
    std::fs::write(recording(&short), copy).expect("written");
    let unknown = folder.join(format!("{}.wav", uuid::Uuid::max()));
    std::fs::copy(recording(&short), &unknown).expect("written");
    retention(&service).sweep(None).await.expect("swept");
    let left =
        || [recording(&short), recording(&long), recording(&unlimited), unknown.clone()].map(|file| file.exists());
    assert_eq!(left(), [false, true, true, true], "what no call is known of stays: the database may be another one");
    retention(&service).sweep(Some(Clock::system().now() + HOUR)).await.expect("swept");
    assert_eq!(left(), [false, true, true, false], "unless calls as old are deleted");
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn keys_become_a_turn_and_are_written_down_only_where_that_is_wanted() {
    let service = TestService::start().await;
    let client = &service.client;
    let open = client.scripted_agent(json!({ "analysis": { "summary": false } })).await;
    let (_, listed) = client.get("/v1/connections").await;
    let all = listed["data"].as_array().expect("a list");
    let simulator = text(&all.iter().find(|one| one["provider"] == "simulator").expect("it was made")["id"]);
    let settings = json!({ "settings": { "time_scale": 0.05, "presses": ["4711#", "22"] } });
    assert_eq!(client.patch(&format!("/v1/connections/{simulator}"), settings).await.0, StatusCode::OK);
    let (_, mut careful) = client.get(&format!("/v1/agents/{}", open.id)).await;
    careful["name"] = json!("Careful");
    careful["analysis"] = json!({ "summary": true });
    careful["privacy"] = json!({ "redact": ["dtmf"] });
    let careful = text(&client.create("/v1/agents", careful).await["id"]);

    let calls = [open.id, careful].map(|agent| json!({ "agent_id": agent, "to": "+12025550100" }));
    let calls = futures_util::future::join_all(calls.into_iter().map(async |body| {
        let call = text(&client.create("/v1/calls", body).await["id"]);
        let ended = client.wait_for_end(&call).await;
        let (_, said) = client.get(&format!("/v1/calls/{call}/transcript")).await;
        let lines = said["data"].as_array().expect("a list").clone();
        let caller: Vec<_> =
            lines.iter().filter(|line| line["role"] == "caller").map(|line| text(&line["text"])).collect();
        (call, ended, caller)
    }))
    .await;
    let (open, careful) = (&calls[0], &calls[1]);
    assert_eq!(open.2, ["[keys] 4711", "[keys] 22"]);
    assert!(open.1["turns"].as_i64() >= Some(2), "keys are answered: {}", open.1);
    assert_eq!((&open.1["summary"], &open.1["outcome"]), (&json!(NO_SUMMARY), &json!(null)), "nobody looked back");
    assert_eq!(careful.2, ["[keys] [dtmf]", "[keys] [dtmf]"]);
    let (_, events) = client.get(&format!("/v1/calls/{}/events", careful.0)).await;
    let told = format!(
        "{}{}",
        careful.1["summary"],
        events["data"].as_array().and_then(|all| all.last()).expect("an end")["data"]["summary"]
    );
    assert!(!told.contains("4711") && !told.contains(NO_SUMMARY), "{told}");
    service.stop().await;
}
