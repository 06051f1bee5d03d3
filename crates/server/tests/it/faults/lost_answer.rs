//! The database commits a claim, and its answer is lost: no call and no delivery waits for the end of an unused lease.

use reqwest::StatusCode;
use serde_json::json;
use switchhook_core::Timestamp;
use switchhook_core::private::Private;
use switchhook_runtime::clock::Clock;

use super::gate::Gate;
use crate::carriers::Fixture;
use crate::doubles::twilio::OWN;
use crate::doubles::twilio::flavour::Flavour;
use crate::harness::postgres::Server;
use crate::harness::{TestService, deliveries_of, text};

/// How long a call is leased, in seconds.
const LEASE: i64 = 15;

async fn service_behind(server: &Server) -> (Gate, TestService) {
    let gate = Gate::before(server.socket()).await;
    let url = gate.url_of(&server.database().await);
    let service = TestService::start_as(Clock::system(), |config| config.database_url = Some(Private::new(url))).await;
    (gate, service)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_delivery_is_sent_at_its_first_attempt() {
    let server = tokio::task::block_in_place(Server::start);
    let (gate, service) = service_behind(&server).await;
    let agent = service.client.scripted_agent(json!({})).await;
    let mut receiver = service.client.receiver().await;
    gate.lose_commit_of(b"call.dialing");
    let call = service.client.place(&agent, "+12025550107").await;
    deliveries_of(&mut receiver, &call).await;
    assert!(gate.has_lost());
    let (_, deliveries) = service.client.get(&format!("/v1/calls/{call}/deliveries")).await;
    let attempts = deliveries["data"].as_array().expect("a list").iter().map(|delivery| &delivery["attempts"]);
    assert!(attempts.clone().count() == 3 && attempts.clone().all(|attempts| attempts == 1), "{deliveries}");
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_queued_call_is_dialled_at_once() {
    let server = tokio::task::block_in_place(Server::start);
    let (gate, service) = service_behind(&server).await;
    let agent = service.client.scripted_agent(json!({})).await;
    gate.lose_commit_of(b"+12025550107");
    let call = service.client.place(&agent, "+12025550107").await;
    service.client.wait_for_end(&call).await;
    assert!(gate.has_lost());
    let (_, events) = service.client.get(&format!("/v1/calls/{call}/events")).await;
    let at = |name: &str| {
        let event = events["data"].as_array().expect("a list").iter().find(|event| event["event"] == name);
        Timestamp::parse(&text(&event.expect(name)["created_at"])).expect("a time")
    };
    let waited = at("call.dialing").as_seconds() - at("call.queued").as_seconds();
    assert!(waited < LEASE, "{waited} s: {events}");
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_inbound_call_is_answered_when_it_is_announced() {
    let server = tokio::task::block_in_place(Server::start);
    let gate = Gate::before(server.socket()).await;
    let url = gate.url_of(&server.database().await);
    let stage = Fixture::with(Flavour::Twilio, |config| config.database_url = Some(Private::new(url))).await;
    let voice = stage.answer_calls().await;
    let caller = "+12025550100";
    gate.lose_commit_of(caller.as_bytes());
    let answered = stage.double.call_in(&voice, caller, OWN).await;
    assert!(gate.has_lost());
    assert_eq!(answered.status, StatusCode::OK, "{answered:?}");
    let (_, calls) = stage.client().get("/v1/calls").await;
    let call = text(&calls["data"][0]["id"]);
    let answered = stage.client().wait_for(&call, |call| call["status"] == "in_progress").await;
    let at = |time: &str| Timestamp::parse(&text(&answered[time])).expect("a time").as_seconds();
    assert!(at("answered_at") - at("created_at") < LEASE, "{answered}");
    stage.double.hang_up(caller);
    stage.client().wait_for_end(&call).await;
    stage.stop().await;
}
