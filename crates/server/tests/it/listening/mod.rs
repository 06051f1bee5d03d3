//! Listening to live calls.

mod access;
mod player;

use reqwest::Method;
use serde_json::json;
use switchhook_media::level::{VOICED_DBFS, rms_dbfs};
use switchhook_media::wav;

pub(crate) use self::player::{Player, address};
use crate::cluster::Cluster;
use crate::harness::{Client, TestService, text};
use crate::web_calls::Browser;

/// A number that answers and talks, and one that answers and stays silent.
const TALKS: &str = "+12025550100";
const HOLDS: &str = "+12025550109";

async fn talking(client: &Client, agent: &crate::harness::Agent, to: &str) -> String {
    let call = client.place(agent, to).await;
    client.wait_for(&call, |call| call["status"] == "in_progress").await;
    call
}

/// Returns whether the audio contains voice.
fn is_heard(samples: &[i16]) -> bool {
    samples.chunks(160).any(|chunk| rms_dbfs(chunk) > VOICED_DBFS)
}

#[tokio::test(flavor = "multi_thread")]
async fn listener_hears_both_sides_as_recorded_beside_a_slow_one() {
    let service = TestService::start().await;
    let client = &service.client;
    let agent = client.scripted_agent(json!({ "recording": { "enabled": true } })).await;
    let call = talking(client, &agent, TALKS).await;
    let slow = Player::hard_of_hearing(&address(client, &call).await).await;
    let mut player = Player::open(client, &call).await;
    let (code, ended) = tokio::join!(player.until_closed(), client.hang_up_after(&call, 2));
    assert_eq!((code, player.sample_rate), (1000, 8_000), "the call has ended");
    let recording = client.request(Method::GET, &text(&ended["recording_url"])).send().await.expect("an answer");
    let recording = wav::read(&recording.bytes().await.expect("a whole body")).expect("a WAV file");
    for (side, (heard, recorded)) in player.sides.iter().zip(&recording.channels).enumerate() {
        assert!(heard.len() > 5 * 8_000 && is_heard(heard), "side {side}: {} samples", heard.len());
        assert!(recorded.ends_with(heard), "side {side} is what was recorded, to the last sample");
    }

    let mut slow = slow;
    slow.until_closed().await;
    assert!(slow.frames < player.frames, "{} of {} frames", slow.frames, player.frames);
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_is_not_recorded_is_heard_too_at_its_own_rate() {
    let service = TestService::start().await;
    let client = &service.client;
    let agent = client.scripted_agent(json!({ "recording": { "enabled": false } })).await;
    let placed = client.create("/v1/calls", json!({ "agent_id": agent.id, "to": "web" })).await;
    let call = text(&placed["id"]);
    let mut browser = Browser::connect(&text(&placed["web"]["url"])).await;
    let listening = async {
        client.wait_for(&call, |call| call["status"] == "in_progress").await;
        let mut player = Player::open(client, &call).await;
        (player.until_closed().await, player)
    };
    let ((code, player), _end) = tokio::join!(listening, async {
        browser.hear_agent().await;
        browser.say("name").await;
        browser.hear_agent().await;
        browser.send(json!({ "type": "hangup" })).await;
        browser.end().await
    });
    assert_eq!((code, player.sample_rate), (1000, 16_000));
    assert!(player.sides.iter().all(|side| is_heard(side)), "both sides");
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_socket_that_reaches_another_node_says_so_and_its_token_is_still_good() {
    let cluster = Cluster::new(&["--rate-limit", "100000"]).await;
    let nodes = [cluster.start(), cluster.start()];
    let agent = nodes[0].client.scripted_agent(json!({ "silence": { "hangup_after_seconds": null } })).await;
    let call = talking(&nodes[0].client, &agent, HOLDS).await;
    let runs = usize::from(nodes[0].live_calls().await == 0);
    let (here, elsewhere) = (&nodes[runs].client, &nodes[1 - runs].client);

    // Requested at a node that does not run the call; the URL names that node.
    let url = address(elsewhere, &call).await;
    let path = url.split("/media/").nth(1).expect("a path");
    let there = format!("{}/media/{path}", here.base.replacen("http", "ws", 1));
    assert_eq!(Player::at(&url).await.err(), Some(503));
    let mut player = Player::at(&there).await.expect("it runs there");
    player.frames(10).await;
    assert_eq!(Player::at(&there).await.err(), Some(409), "once only");
    elsewhere.post(&format!("/v1/calls/{call}/hangup"), json!({})).await;
    assert_eq!(player.until_closed().await, 1000);
}
