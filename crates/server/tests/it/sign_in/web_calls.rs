//! People who talk to an agent from the dashboard, as long as they may.

use reqwest::{Method, StatusCode};
use serde_json::json;
use switchhook_runtime::clock::Clock;

use super::{Browser, joined, signed_in, with_provider};
use crate::doubles::oidc::Oidc;
use crate::harness::{Agent, Client, TestService, text};
use crate::web_calls;

/// Starts a service with an owner, a client with their key, and an agent that waits for a silent caller.
async fn ready() -> (TestService, Oidc, Browser, Client, Agent) {
    let (service, oidc) = with_provider(Clock::system(), |config| config.rate_limit_per_minute = 100_000).await;
    let ana = signed_in(&service, &oidc, "ana").await;
    let (_, key) = ana.ask(Method::POST, "/v1/api-keys", Some(json!({}))).await;
    let program = Client::new(service.client.base.clone(), text(&key["key"]));
    let agent = program.scripted_agent(json!({ "silence": { "hangup_after_seconds": null } })).await;
    (service, oidc, ana, program, agent)
}

/// Places a web call with a session. Returns its id, and the URL of its socket.
async fn place(person: &Browser, agent: &Agent) -> (String, String) {
    let body = json!({ "agent_id": agent.id, "to": "web" });
    let (status, placed) = person.ask(Method::POST, "/v1/calls", Some(body)).await;
    assert_eq!(status, StatusCode::CREATED, "{placed}");
    (text(&placed["id"]), text(&placed["web"]["url"]))
}

/// Opens the socket and waits until the agent speaks.
async fn talk(url: &str) -> web_calls::Browser {
    let mut page = web_calls::Browser::connect(url).await;
    page.text("the agent's words", |text| text["state"] == "speaking").await;
    page
}

#[tokio::test(flavor = "multi_thread")]
async fn a_web_call_ends_with_the_session_that_placed_it() {
    let (service, _oidc, mut ana, program, agent) = ready().await;
    let (call, url) = place(&ana, &agent).await;
    let mut page = talk(&url).await;
    let logout = ana.api(Method::POST, "/auth/logout");
    let (_, end) = tokio::join!(ana.send(logout), page.end());
    assert_eq!((&end["end_reason"], page.closed), (&json!("api_hangup"), Some(1000)), "{end}");
    assert_eq!(program.wait_for_end(&call).await["end_reason"], "api_hangup");
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn who_becomes_a_viewer_talks_no_more_and_a_visitor_with_a_programs_token_does() {
    let (service, oidc, ana, program, agent) = ready().await;
    let bob = joined(&service, &oidc, &ana, "bob", "member").await;
    let person = format!("/v1/people/{}", text(&bob.who().await.1["person"]["id"]));
    let (_, url) = place(&bob, &agent).await;
    let (_, unused) = place(&bob, &agent).await;
    let visit = program.create("/v1/calls", json!({ "agent_id": agent.id, "to": "web" })).await;
    let mut page = talk(&url).await;

    let demotion = async {
        let (status, _) = ana.ask(Method::PATCH, &person, Some(json!({ "role": "viewer" }))).await;
        assert_eq!(status, StatusCode::OK);
        assert_eq!(web_calls::Browser::open(&unused).await.err(), Some(401), "at once");
    };
    let ((), end) = tokio::join!(demotion, page.end());
    assert_eq!(end["end_reason"], "api_hangup", "within seconds");
    let mut visitor = talk(&text(&visit["web"]["url"])).await;
    visitor.send(json!({ "type": "hangup" })).await;
    assert_eq!(visitor.end().await["end_reason"], "caller_hangup");
    service.stop().await;
}
