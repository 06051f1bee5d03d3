//! `kill -9`, and recovery by a restart.

mod cycles;
pub(crate) mod history;
pub(crate) mod load;
pub(crate) mod look;
pub(crate) mod rng;
pub(crate) mod webhook_recorder;

use std::collections::HashSet;
use std::time::Duration;

use reqwest::Method;
use serde_json::json;
use switchhook_media::wav;
use switchhook_runtime::clock::Clock;

use crate::agent_tools::ready;
use crate::cluster::until;
use crate::doubles::model::{Piece, Reply};
use crate::harness::process::{Node, json_of};
use crate::harness::{Client, TIMEOUT, TestService, deliveries_of, text};

/// The length of a WAV file's header.
const HEADER: u64 = 44;

#[tokio::test(flavor = "multi_thread")]
async fn a_call_whose_process_is_killed_ends_once_and_its_receiver_hears_of_it_once() {
    switchhook_net::install_tls();
    let node = Node::new().await;
    let tenant = json_of(node.command().args(["tenant", "create", "acme", "--rate-limit", "100000", "--json"]));
    let key = text(&tenant["api_key"]["key"]);

    let service = node.serve();
    let client = Client::new(service.base.clone(), key.clone());
    let agent = client.scripted_agent(json!({ "recording": { "enabled": true } })).await;
    let mut receiver = client.receiver().await;
    let talking = client.place(&agent, "+12025550109").await;
    let ringing = client.place(&agent, "+12025550102").await;
    client.wait_for(&talking, |call| call["status"] == "in_progress").await;
    client.wait_for(&ringing, |call| call["status"] != "queued").await;
    client.wait_for_words(&talking).await;
    let recording = format!("recordings/{}/{talking}.wav", text(&tenant["tenant"]["id"]));
    let recording = node.data_dir().join(recording);
    until("a second is on the disk", TIMEOUT, async || {
        recording.metadata().is_ok_and(|file| file.len() > HEADER + 8_000 * 2 * 2)
    })
    .await;
    service.kill();

    let service = node.serve();
    let client = Client::new(service.base.clone(), key);
    for (call, codes) in [(&talking, ["pipeline_error"; 2]), (&ringing, ["carrier_error", "no_answer"])] {
        let ended = client.wait_for_end(call).await;
        assert_eq!(ended["status"], "failed", "{ended}");
        assert!(codes.contains(&text(&ended["error_code"]).as_str()), "{ended}");
        let terminal =
            client.event_names(call).await.into_iter().filter(|event| event.starts_with("call.failed")).count();
        assert_eq!(terminal, 1);
    }
    let received = deliveries_of(&mut receiver, &talking).await;
    let failed: HashSet<_> = received.iter().filter(|d| d.event == "call.failed").map(|d| d.id.clone()).collect();
    assert_eq!(failed.len(), 1, "one delivery, however often it was posted");
    let kept = client.request(Method::GET, &format!("/v1/calls/{talking}/recording")).send().await.expect("an answer");
    let audio = wav::read(&kept.bytes().await.expect("a whole file")).expect("what was recorded is whole again");
    assert!(audio.channels[1].len() >= 8_000, "a second at least");
    let (_, tenant) = client.get("/v1/tenant").await;
    assert_eq!(tenant["concurrent_calls"]["in_use"], 0, "no slot is lost");
    service.kill();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_whose_runner_is_gone_ends_although_its_node_lives_on() {
    let service = TestService::start().await;
    let client = &service.client;
    // The agent would hang up on the silent neighbour while the lease of the lost call lasts on a slow machine.
    let agent = client.scripted_agent(json!({ "silence": { "hangup_after_seconds": null } })).await;
    let held = client.place(&agent, "+12025550109").await;
    let lost = client.place(&agent, "+12025550109").await;
    for call in [&held, &lost] {
        client.wait_for(call, |call| call["status"] == "in_progress").await;
    }
    // As after a commit that failed for too long.
    service.abandon(&lost);
    let ended = client.wait_for_end(&lost).await;
    assert_eq!((&ended["status"], &ended["error_code"]), (&json!("failed"), &json!("pipeline_error")), "{ended}");
    assert_eq!(ended["usage"]["unpriced"], true, "what it used died with its node: {ended}");
    let (_, other) = client.get(&format!("/v1/calls/{held}")).await;
    assert_eq!(other["status"], "in_progress", "its neighbour is not disturbed");
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_tools_had_requested_when_the_runner_was_lost_is_among_the_tools_of_the_call() {
    // It never answers.
    let silent = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let url = format!("http://{}/book", silent.local_addr().expect("bound"));
    // Far from spoken when the runner is gone.
    let words = "I am putting you through to the reception now. Please hold the line, and stay with us a little longer. \
                 They know what you have told me, and they will help you with your table and with everything else.";
    let to_reception = Piece::Tool { id: "call_1", name: "transfer", arguments: json!({ "destination": "reception" }) };
    let reception = json!([{ "name": "reception", "number": "+12025550142" }]);
    let book = Piece::Tool { id: "call_2", name: "book", arguments: json!({}) };
    let replies = vec![Reply::Answer(vec![Piece::Text(words), to_reception, book])];
    let tools = json!([
        { "type": "transfer", "destinations": reception },
        { "type": "http", "name": "book", "url": url, "timeout_seconds": 10 },
    ]);
    let (service, agent, double) = ready(replies, tools).await;
    let client = &service.client;
    let call = client.place(&agent, "+12025550109").await;
    service.wait_for_tool_requests(&call, 2).await;
    let (_, live) = client.get(&format!("/v1/calls/{call}/transcript")).await;
    assert_eq!(live["tool_calls"], json!([]), "they have not ended: {live}");
    service.abandon(&call);
    let ended = client.wait_for_end(&call).await;
    assert_eq!(ended["status"], "failed", "{ended}");
    let (_, transcript) = client.get(&format!("/v1/calls/{call}/transcript")).await;
    let shown = transcript["tool_calls"].as_array().expect("a list");
    let ids: HashSet<_> = shown.iter().map(|it| text(&it["id"])).collect();
    assert_eq!((shown.len(), ids), (2, HashSet::from(["call_1".to_owned(), "call_2".to_owned()])), "{transcript}");
    for tool in shown {
        assert_eq!(tool["status"], "failed", "{transcript}");
        assert!(text(&tool["error"]).contains("lost the call"), "{transcript}");
    }
    double.finish();
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_clock_that_jumps_takes_no_call_from_its_runner() {
    let start = Clock::system().now();
    let clock = Clock::manual(start);
    let service = TestService::start_with(clock.clone()).await;
    let agent = service.client.scripted_agent(json!({})).await;
    let client = &service.client;
    let held = client.place(&agent, "+12025550109").await;
    client.wait_for(&held, |call| call["status"] == "in_progress").await;
    clock.advance(Duration::from_secs(40));
    let (status, _) = client.post(&format!("/v1/calls/{held}/hangup"), json!({})).await;
    assert_eq!(status, 200);
    let ended = client.wait_for_end(&held).await;
    assert_eq!((&ended["status"], &ended["end_reason"]), (&json!("completed"), &json!("api_hangup")), "{ended}");
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn call_queued_too_long_is_not_dialled() {
    let start = Clock::system().now();
    let clock = Clock::manual(start);
    let service = TestService::start_with(clock.clone()).await;
    let agent = service.client.scripted_agent(json!({})).await;
    let due = start + Duration::from_secs(60);
    let body = json!({ "agent_id": agent.id, "to": "+12025550109", "schedule_at": due });
    let call = text(&service.client.create("/v1/calls", body).await["id"]);
    clock.advance(Duration::from_secs(60 + 3_600));
    let ended = service.client.wait_for_end(&call).await;
    assert_eq!((&ended["status"], &ended["dialing_at"]), (&json!("failed"), &json!(null)), "{ended}");
    service.stop().await;
}
