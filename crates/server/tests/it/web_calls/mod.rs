//! Calls from a browser: a websocket instead of a telephone.

mod browser;
mod cluster;
mod lost;
#[cfg(feature = "webrtc")]
mod loudness_stt;
mod tokens;
#[cfg(feature = "webrtc")]
mod udp;
mod udp_end;

use reqwest::Method;
use serde_json::{Value, json};
use switchhook_media::wav;

pub(crate) use self::browser::Browser;
use crate::harness::{Agent, Client, TestService, deliveries_of, text};

/// Places a web call. Returns its id, and the URL of its socket.
async fn place(client: &Client, agent: &Agent) -> (String, String) {
    let placed = client.create("/v1/calls", json!({ "agent_id": agent.id, "to": "web" })).await;
    (text(&placed["id"]), text(&placed["web"]["url"]))
}

/// Waits for the end of the call, and compares it with the caller's last message. Returns the call.
async fn ended(client: &Client, call: &str, end: &Value, reason: &str) -> Value {
    assert_eq!((&end["end_reason"], &end["error_code"]), (&json!(reason), &json!(null)), "{end}");
    let ended = client.wait_for_end(call).await;
    assert_eq!((&ended["status"], &ended["end_reason"]), (&json!("completed"), &json!(reason)), "{ended}");
    ended
}

/// Hangs up as the caller, and checks that these lines were transcribed.
async fn hang_up_understood(client: &Client, call: &str, browser: &mut Browser, said: &[&str]) {
    browser.send(json!({ "type": "hangup" })).await;
    let end = browser.end().await;
    ended(client, call, &end, "caller_hangup").await;
    let (_, transcript) = client.get(&format!("/v1/calls/{call}/transcript")).await;
    let lines = transcript["data"].as_array().expect("a list");
    for id in said {
        let words = switchhook_caller_audio::recording(id).expect("a recording").text;
        assert!(lines.iter().any(|line| line["role"] == "caller" && line["text"] == words), "{id}: {transcript}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_whole_conversation_in_the_browser_is_a_call_like_any_other() {
    let service = TestService::start().await;
    let client = &service.client;
    let agent = client.scripted_agent(json!({ "recording": { "enabled": true } })).await;
    let mut receiver = client.receiver().await;
    let placed = client.create("/v1/calls", json!({ "agent_id": agent.id, "to": "web" })).await;
    assert_eq!((&placed["status"], &placed["direction"]), (&json!("queued"), &json!("web")), "{placed}");
    assert_eq!((&placed["carrier"]["provider"], &placed["carrier"]["connection_id"]), (&json!("web"), &json!(null)));
    assert_eq!((&placed["from"], &placed["to"], &placed["number_id"]), (&json!("web"), &json!("web"), &json!(null)));
    assert!(placed["web"]["expires_at"].is_string(), "{placed}");
    let (call, url) = (text(&placed["id"]), text(&placed["web"]["url"]));
    assert!(url.starts_with("ws://") && url.contains("/media/web/"), "{url}");

    let mut browser = Browser::connect(&url).await;
    let start = browser.text("a start", |_| true).await;
    assert_eq!(start, json!({ "type": "start", "sample_rate": 16_000 }), "the first text");
    let end = browser.book_a_table().await;
    assert_eq!(browser.closed, Some(1000));
    let ended = ended(client, &call, &end, "agent_hangup").await;
    assert!(text(&ended["outcome"]["name"]).contains("Miller"), "{ended}");
    assert_eq!(ended["outcome"]["people"], 4, "{ended}");
    assert!(ended["turns"].as_i64().is_some_and(|turns| turns >= 4), "{ended}");
    assert!(ended.get("web").is_none(), "the token is not told again: {ended}");
    let (_, usage) = client.get("/v1/usage").await;
    let used = &usage["connections"][0];
    assert_eq!((&used["connection_id"], &used["provider"]), (&json!(null), &json!("web")), "{usage}");

    let of = |kind: &str| browser.texts.iter().filter(|text| text["type"] == kind).collect::<Vec<_>>();
    let said = |role: &str| of("transcript").iter().any(|text| text["role"] == role && text["final"] == true);
    assert!(said("caller") && said("agent"), "{:?}", of("transcript"));
    assert!(of("transcript").iter().any(|line| text(&line["text"]).contains("Sarah Miller")));
    assert!(
        of("latency").iter().any(|text| text["latency_ms"].as_u64().is_some_and(|ms| ms < 5_000)),
        "{:?}",
        of("latency")
    );
    for state in ["listening", "thinking", "speaking"] {
        assert!(of("state").iter().any(|text| text["state"] == state), "{state}: {:?}", of("state"));
    }

    let names: Vec<_> = deliveries_of(&mut receiver, &call).await.iter().map(|one| one.event.clone()).collect();
    assert_eq!(names, ["call.queued", "call.dialing", "call.in_progress", "carrier.hangup", "call.completed"]);
    let recording = client.request(Method::GET, &text(&ended["recording_url"])).send().await.expect("an answer");
    let recording = wav::read(&recording.bytes().await.expect("a whole body")).expect("a WAV file");
    assert_eq!((recording.sample_rate, recording.channels.len()), (16_000, 2));
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_person_who_speaks_over_the_agent_silences_it_and_is_understood() {
    let (service, agent) = TestService::ready().await;
    let (call, url) = place(&service.client, &agent).await;
    let mut browser = Browser::connect(&url).await;
    browser.hear_agent_begin().await;
    browser.say("interrupt").await;
    browser.text("a clear", |text| text["type"] == "clear").await;
    let (_, transcript) = service.client.get(&format!("/v1/calls/{call}/transcript")).await;
    browser.hear_agent().await;
    browser.send(json!({ "type": "hangup" })).await;
    let end = browser.end().await;
    ended(&service.client, &call, &end, "caller_hangup").await;
    let (_, after) = service.client.get(&format!("/v1/calls/{call}/transcript")).await;
    let lines = after["data"].as_array().expect("a list");
    assert_eq!((&lines[0]["role"], &lines[0]["interrupted"]), (&json!("agent"), &json!(true)), "{transcript} {after}");
    assert!(lines.iter().any(|line| line["role"] == "caller"), "{after}");
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn three_browsers_talk_at_once_and_count_as_three_calls() {
    let (service, agent) = TestService::ready().await;
    let client = &service.client;
    let mut calls = Vec::new();
    for _ in 0..3 {
        calls.push(place(client, &agent).await);
    }
    let (_, tenant) = client.get("/v1/tenant").await;
    assert_eq!(tenant["concurrent_calls"]["in_use"], 3, "{tenant}");
    assert_eq!(tenant["monthly_calls"]["used"], 3, "{tenant}");
    let talks = calls.iter().map(async |(call, url)| {
        let mut browser = Browser::connect(url).await;
        for line in ["name", "day"] {
            browser.hear_agent().await;
            browser.say(line).await;
        }
        browser.hear_agent().await;
        hang_up_understood(client, call, &mut browser, &["name", "day"]).await;
    });
    futures_util::future::join_all(talks).await;
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn both_sides_can_hang_up_and_the_other_learns_of_it() {
    let (service, agent) = TestService::ready().await;
    let client = &service.client;
    let (call, url) = place(client, &agent).await;
    let mut browser = Browser::connect(&url).await;
    browser.hear_agent().await;
    browser.send(json!({ "type": "hangup" })).await;
    let end = browser.end().await;
    let left = ended(client, &call, &end, "caller_hangup").await;
    assert_eq!(left["ended_by"], "caller", "{left}");

    let (call, url) = place(client, &agent).await;
    let mut browser = Browser::connect(&url).await;
    browser.hear_agent().await;
    client.post(&format!("/v1/calls/{call}/hangup"), json!({})).await;
    let end = browser.end().await;
    ended(client, &call, &end, "api_hangup").await;
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn keys_pressed_on_the_page_are_the_callers_input() {
    let (service, agent) = TestService::ready().await;
    let (call, url) = place(&service.client, &agent).await;
    let mut browser = Browser::connect(&url).await;
    browser.hear_agent().await;
    for digit in ["4", "7", "#"] {
        browser.send(json!({ "type": "dtmf", "digit": digit })).await;
    }
    browser.text("the keys", |line| line["type"] == "transcript" && text(&line["text"]).contains("[keys] 47")).await;
    browser.send(json!({ "type": "hangup" })).await;
    let end = browser.end().await;
    ended(&service.client, &call, &end, "caller_hangup").await;
    service.stop().await;
}
