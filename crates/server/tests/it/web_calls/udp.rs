//! Switching audio to UDP, and back to the socket.

use std::net::SocketAddr;
use std::time::Duration;

use reqwest::Method;
use serde_json::{Value, json};
use switchhook_runtime::clock::Clock;
use tokio::net::UdpSocket;

use super::udp_end::UdpEnd;
use super::{Browser, ended, hang_up_understood, loudness_stt, place};
use crate::faults::tenant_of;
use crate::harness::process::Node;
use crate::harness::{Agent, TIMEOUT, TestService, text};

/// Starts a service that accepts audio over UDP, and an agent with an STT that recognises it.
async fn service() -> (TestService, Agent) {
    let address = loudness_stt::start().await;
    let service = TestService::start_as(Clock::system(), |config| {
        config.rtc_listen = Some(SocketAddr::from(([127, 0, 0, 1], 0)));
        config.outbound_allow = "127.0.0.0/8,http".parse().expect("valid");
    })
    .await;
    let settings = json!({ "base_url": format!("http://{address}/v1"), "stt_sample_rate": 16_000 });
    let stt = json!({ "name": "loudness", "provider": "openai", "credentials": { "api_key": "sk-key" }, "settings": settings });
    let stt = service.client.create("/v1/connections", stt).await;
    let agent =
        service.client.scripted_agent(json!({ "stt": { "connection_id": stt["id"], "model": "whisper-1" } })).await;
    (service, agent)
}

fn is_transport(text: &Value, transport: &str) -> bool {
    text["type"] == "transport" && text["transport"] == transport
}

/// Starts a call whose audio uses UDP.
async fn talking_over_udp() -> (TestService, String, Browser) {
    let (service, agent) = service().await;
    let (call, url) = place(&service.client, &agent).await;
    let mut browser = Browser::connect_over_udp(&url).await;
    browser.text("the change to UDP", |text| is_transport(text, "udp")).await;
    (service, call, browser)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_conversation_is_held_over_udp() {
    let (service, call, mut browser) = talking_over_udp().await;
    let before = browser.frames;
    browser.say("name").await;
    for line in ["day", "time", "people", "yes"] {
        browser.hear_agent().await;
        browser.say(line).await;
    }
    let end = browser.end().await;
    let ended = ended(&service.client, &call, &end, "agent_hangup").await;
    assert!(text(&ended["outcome"]["name"]).contains("Miller"), "{ended}");
    assert_eq!(ended["outcome"]["people"], 4, "{ended}");
    assert_eq!(browser.frames, before, "no audio came over the socket after the change");
    assert!(!browser.texts.iter().any(|text| is_transport(text, "websocket")), "{:?}", browser.texts);
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_person_who_speaks_over_the_agent_silences_it_over_udp() {
    let (service, call, mut browser) = talking_over_udp().await;
    browser.say("name").await;
    browser.hear_agent_begin().await;
    browser.say("interrupt").await;
    browser.text("a clear", |text| text["type"] == "clear").await;
    browser.hear_agent().await;
    browser.send(json!({ "type": "hangup" })).await;
    let end = browser.end().await;
    ended(&service.client, &call, &end, "caller_hangup").await;
    let (_, transcript) = service.client.get(&format!("/v1/calls/{call}/transcript")).await;
    let lines = transcript["data"].as_array().expect("a list");
    assert!(lines.iter().any(|line| line["role"] == "agent" && line["interrupted"] == true), "{transcript}");
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn broken_udp_falls_back_to_the_websocket() {
    let (service, call, mut browser) = talking_over_udp().await;
    browser.converse("name").await;
    browser.break_udp();
    browser.text("the change back", |text| is_transport(text, "websocket")).await;
    let before = browser.frames;
    browser.converse("day").await;
    assert!(browser.frames > before + 50, "{} frames over the socket", browser.frames - before);
    hang_up_understood(&service.client, &call, &mut browser, &["name", "day"]).await;
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_agent_says_while_udp_breaks_down_is_heard_over_the_socket() {
    let (service, call, mut browser) = talking_over_udp().await;
    browser.say("name").await;
    browser.hear_agent_begin_speaking().await;
    browser.break_udp();
    let before = browser.frames;
    browser.text("the change back", |text| is_transport(text, "websocket")).await;
    browser.hear_agent().await;
    assert!(browser.frames > before, "the rest comes over the socket");
    browser.send(json!({ "type": "hangup" })).await;
    let end = browser.end().await;
    ended(&service.client, &call, &end, "caller_hangup").await;
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn where_udp_does_not_get_through_the_call_stays_on_the_socket() {
    let (service, agent) = service().await;
    let (call, url) = place(&service.client, &agent).await;
    let mut browser = Browser::connect_over_udp(&url).await;
    browser.break_udp();
    browser.hear_agent().await;
    browser.converse("name").await;
    hang_up_understood(&service.client, &call, &mut browser, &["name"]).await;
    assert!(browser.texts.iter().any(|text| text["type"] == "rtc_unavailable"), "{:?}", browser.texts);
    assert!(!browser.texts.iter().any(|text| text["type"] == "transport"), "{:?}", browser.texts);
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lost_socket_does_not_silence_what_goes_over_udp() {
    let (service, agent) = service().await;
    let (call, url) = place(&service.client, &agent).await;
    let mut browser = Browser::connect_over_udp(&url).await;
    let token = browser.resume_token().await;
    browser.text("the change to UDP", |text| is_transport(text, "udp")).await;
    browser.say("name").await;
    browser.hear_agent_begin_speaking().await;
    let mut browser = browser.lose_socket_and_resume(&url, &token).await;
    let change = browser.text("the transport", |text| text["type"] == "transport").await;
    assert!(is_transport(&change, "udp"), "{change}");
    browser.hear_agent().await;
    let before = browser.frames;
    browser.converse("day").await;
    hang_up_understood(&service.client, &call, &mut browser, &["name", "day"]).await;
    assert_eq!(browser.frames, before, "no audio came over the socket");
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn offers_without_sense_are_refused_in_words_and_floods_leave_the_call_alone() {
    let (service, agent) = service().await;
    let (call, url) = place(&service.client, &agent).await;
    let mut browser = Browser::connect_over_udp(&url).await;
    let answer = browser.text("an answer", |text| text["type"] == "rtc_answer").await;
    for (sdp, words) in [("v=0".to_owned(), "has a session already"), ("x".repeat(20_000), "has a session already")] {
        browser.send(json!({ "type": "rtc_offer", "sdp": sdp })).await;
        let refused = browser.text("a refusal", |text| text["type"] == "rtc_unavailable").await;
        assert!(text(&refused["reason"]).contains(words), "{refused}");
    }
    let flood = tokio::spawn(flood(UdpEnd::service(&answer)));
    browser.text("the change to UDP", |text| is_transport(text, "udp")).await;
    browser.converse("name").await;
    browser.send(json!({ "type": "transport", "transport": "websocket" })).await;
    browser.stop_udp();
    browser.converse("day").await;
    for (sdp, words) in [("v=0".to_owned(), "no SDP"), ("x".repeat(20_000), "longer than 16384")] {
        browser.send(json!({ "type": "rtc_offer", "sdp": sdp })).await;
        let refused = browser.text("a refusal", |text| text["type"] == "rtc_unavailable").await;
        assert!(text(&refused["reason"]).contains(words), "{refused}");
    }
    browser.say("time").await;
    browser.hear_agent().await;
    hang_up_understood(&service.client, &call, &mut browser, &["name", "day", "time"]).await;
    flood.abort();
    service.stop().await;
}

/// Keeps sending packets that belong to no session.
async fn flood(service: SocketAddr) {
    let socket = UdpSocket::bind("127.0.0.1:0").await.expect("a port");
    for number in 0_u64.. {
        let packet: Vec<u8> = number.to_le_bytes().into_iter().cycle().take(200).collect();
        let _ = socket.send_to(&packet, service).await;
        if number % 5 == 0 {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }
}

/// Returns a STUN message for the session of this answer, with 300 attributes that the underlying library warns about.
fn strange_packet(answer: &Value) -> Vec<u8> {
    const MAPPED_ADDRESS: [u8; 4] = [0, 1, 0, 0];
    let sdp = text(&answer["sdp"]);
    let name = sdp.lines().find_map(|line| line.strip_prefix("a=ice-ufrag:")).expect("a name");
    let user = format!("{name}:x");
    let length = u8::try_from(user.len()).expect("short");
    let mut attributes = [&[0, 6, 0, length], user.as_bytes()].concat();
    attributes.resize(attributes.len().next_multiple_of(4), 0);
    attributes.extend(MAPPED_ADDRESS.repeat(300));
    let length = u16::try_from(attributes.len()).expect("a packet");
    [&[0, 1], &length.to_be_bytes()[..], &0x2112_A442_u32.to_be_bytes(), &[7; 12], &attributes].concat()
}

#[tokio::test(flavor = "multi_thread")]
async fn packets_that_a_library_warns_of_do_not_fill_the_log() {
    let node = Node::new().await.with("SWITCHHOOK_RTC_LISTEN", "127.0.0.1:0");
    let service = node.serve();
    let client = tenant_of(&node, &service);
    let agent = client.scripted_agent(json!({ "silence": { "hangup_after_seconds": null } })).await;
    let (_, url) = place(&client, &agent).await;
    let mut browser = Browser::connect_over_udp(&url).await;
    let answer = browser.text("an answer", |text| text["type"] == "rtc_answer").await;
    let (packet, stranger) = (strange_packet(&answer), UdpSocket::bind("127.0.0.1:0").await.expect("a port"));
    let metric = "switchhook_log_lines_dropped_total{library=\"is\"}";
    let dropped = async {
        loop {
            for _ in 0..20 {
                stranger.send_to(&packet, UdpEnd::service(&answer)).await.expect("sent");
            }
            let metrics = client.request(Method::GET, "/metrics").send().await.expect("answered");
            if metrics.text().await.expect("text").contains(metric) {
                return;
            }
        }
    };
    tokio::time::timeout(TIMEOUT, dropped).await.expect("lines are dropped");
    browser.send(json!({ "type": "hangup" })).await;
    browser.end().await;
    service.signal("TERM");
    service.ended().await;
    let log = node.log();
    let lines = log.matches("STUN got MappedAddress").count();
    assert!((1..=120).contains(&lines), "{lines} lines, of at most two minutes");
    assert!(log.contains("lines of it were dropped") && log.contains("\"library\":\"is\""), "{log}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_node_without_udp_offers_none() {
    let (service, agent) = TestService::ready().await;
    let (call, url) = place(&service.client, &agent).await;
    let mut browser = Browser::connect(&url).await;
    let start = browser.text("a start", |_| true).await;
    assert_eq!(start, json!({ "type": "start", "sample_rate": 16_000 }));
    browser.send(json!({ "type": "rtc_offer", "sdp": "v=0" })).await;
    let refused = browser.text("a refusal", |text| text["type"] == "rtc_unavailable").await;
    assert!(text(&refused["reason"]).contains("does not take audio over UDP"), "{refused}");
    browser.hear_agent().await;
    browser.send(json!({ "type": "hangup" })).await;
    let end = browser.end().await;
    ended(&service.client, &call, &end, "caller_hangup").await;
    service.stop().await;
}
