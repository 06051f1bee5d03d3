//! What a person with the smallest role can do, and what remains to one whose role was larger before.

use reqwest::header::ACCEPT;
use reqwest::{Method, Response, StatusCode};
use serde_json::json;
use switchhook_runtime::clock::Clock;

use super::{Browser, browser, joined, morning, signed_in, with_provider};
use crate::doubles::oidc::Oidc;
use crate::harness::{Client, TIMEOUT, TestService, text};
use crate::http::read_until;
use crate::listening::Player;

/// A number that answers and stays silent until the call is hung up.
const HOLDS: &str = "+12025550109";
/// Frames in the 3 seconds within which listening ends, of 20 ms each, and in one more second for a machine under load.
const MOST_FRAMES: usize = 200;

/// Signs in an owner, and creates a client with their key.
async fn owner(service: &TestService, oidc: &Oidc) -> (Browser, Client) {
    let ana = signed_in(service, oidc, "ana").await;
    let (_, key) = ana.ask(Method::POST, "/v1/api-keys", Some(json!({}))).await;
    (ana, Client::new(service.client.base.clone(), text(&key["key"])))
}

/// Creates a member of the owner's tenant with this role, and returns the path at which the role is changed.
async fn with_role(service: &TestService, oidc: &Oidc, owner: &Browser, name: &str, role: &str) -> (Browser, String) {
    let joined = joined(service, oidc, owner, name, role).await;
    let (_, who) = joined.who().await;
    assert_eq!(who["person"]["role"], role);
    let person = format!("/v1/people/{}", text(&who["person"]["id"]));
    (joined, person)
}

async fn follow(browser: &Browser, path: &str) -> Response {
    browser.api(Method::GET, path).header(ACCEPT, "text/event-stream").send().await.expect("an answer")
}

/// Returns everything that arrives until the stream ends.
async fn rest(stream: Response) -> String {
    tokio::time::timeout(TIMEOUT, stream.text()).await.expect("it ends").expect("text")
}

#[tokio::test]
async fn a_viewer_has_no_provider_asked_for_its_voices() {
    let (service, oidc) = with_provider(morning(), |_| {}).await;
    let (ana, program) = owner(&service, &oidc).await;
    let connection = program.create("/v1/connections", json!({ "name": "tones", "provider": "scripted" })).await;
    let voices = format!("/v1/connections/{}/voices", text(&connection["id"]));
    let (viewer, person) = with_role(&service, &oidc, &ana, "bob", "viewer").await;
    let (status, refused) = viewer.ask(Method::GET, &voices, None).await;
    assert_eq!((status, &refused["code"]), (StatusCode::FORBIDDEN, &json!("role_forbids")), "{refused}");
    assert_eq!(viewer.ask(Method::HEAD, &voices, None).await.0, StatusCode::FORBIDDEN);
    assert_eq!(
        viewer.ask(Method::GET, "/v1/connections/local/voices", None).await.0,
        StatusCode::OK,
        "they cost nothing"
    );
    ana.ask(Method::PATCH, &person, Some(json!({ "role": "member" }))).await;
    let member = viewer;
    assert_eq!(member.ask(Method::GET, &voices, None).await.0, StatusCode::OK);
    service.stop().await;
}

#[tokio::test]
async fn one_person_leaves_streams_to_the_others_and_to_programs() {
    let (service, oidc) = with_provider(Clock::system(), |_| {}).await;
    let (ana, program) = owner(&service, &oidc).await;
    let (viewer, _) = with_role(&service, &oidc, &ana, "bob", "viewer").await;
    let mut streams = Vec::new();
    for _ in 0..8 {
        let stream = follow(&viewer, "/v1/events").await;
        assert_eq!(stream.status(), StatusCode::OK);
        streams.push(stream);
    }
    let refused = follow(&viewer, "/v1/events").await;
    assert_eq!(refused.status(), StatusCode::TOO_MANY_REQUESTS);
    let refused: serde_json::Value = refused.json().await.expect("JSON");
    assert_eq!(refused["code"], "too_many_streams", "{refused}");

    // A token's streams belong to the person who requested it.
    let (_, token) = ana.ask(Method::POST, "/v1/event-tokens", None).await;
    let by_token = format!("/v1/events?token={}", text(&token["token"]));
    for allowed in [true; 8].into_iter().chain([false]) {
        let stream = follow(&browser(&service), &by_token).await;
        assert_eq!(stream.status() == StatusCode::OK, allowed, "{}", stream.status());
        streams.push(stream);
    }
    let events = program.request(Method::GET, "/v1/events").header(ACCEPT, "text/event-stream");
    assert_eq!(events.send().await.expect("an answer").status(), StatusCode::OK);
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn one_person_leaves_pages_to_the_others() {
    let (service, oidc) = with_provider(morning(), |_| {}).await;
    let (ana, _) = owner(&service, &oidc).await;
    let (viewer, _) = with_role(&service, &oidc, &ana, "bob", "viewer").await;
    let reading = async { while viewer.who().await.0 == StatusCode::OK {} };
    tokio::time::timeout(TIMEOUT, reading).await.expect("a limit");
    let (status, refused) = viewer.ask(Method::GET, "/v1/calls", None).await;
    assert_eq!((status, &refused["code"]), (StatusCode::TOO_MANY_REQUESTS, &json!("rate_limited")), "{refused}");
    assert_eq!(ana.ask(Method::GET, "/v1/calls", None).await.0, StatusCode::OK);
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn who_becomes_a_viewer_stops_listening_and_keeps_what_viewers_have() {
    let (service, oidc) = with_provider(Clock::system(), |config| config.rate_limit_per_minute = 100_000).await;
    let (ana, program) = owner(&service, &oidc).await;
    let agent = program.scripted_agent(json!({ "silence": { "hangup_after_seconds": null } })).await;
    let call = program.place(&agent, HOLDS).await;
    program.wait_for(&call, |call| call["status"] == "in_progress").await;
    let (bob, person) = with_role(&service, &oidc, &ana, "bob", "member").await;
    let listen = format!("/v1/calls/{call}/listen");
    let address = async || text(&bob.ask(Method::POST, &listen, None).await.1["url"]);
    let mut player = Player::at(&address().await).await.expect("the token is good");
    let unused = address().await;
    player.frames(5).await;
    let opening = async {
        let (_, token) = bob.ask(Method::POST, "/v1/event-tokens", None).await;
        let by_token = format!("/v1/calls/{call}/events?token={}", text(&token["token"]));
        let passed_on = follow(&browser(&service), &by_token).await;
        let own = follow(&bob, &format!("/v1/calls/{call}/events")).await;
        (by_token, passed_on, own)
    };
    let (by_token, passed_on, mut own) = player.during(opening).await;

    // Frames count from the answer: how long the database takes to write the change is up to the machine.
    let demotion = ana.ask(Method::PATCH, &person, Some(json!({ "role": "viewer" })));
    let (status, _) = player.while_open(demotion).await;
    assert_eq!(status, StatusCode::OK);
    let before = player.frames;
    assert_eq!(Player::at(&unused).await.err(), Some(401), "at once");
    assert_eq!(follow(&browser(&service), &by_token).await.status(), StatusCode::UNAUTHORIZED, "at once");
    assert_eq!(player.until_closed().await, 1008, "within seconds");
    let after = player.frames - before;
    assert!(after < MOST_FRAMES, "{after} frames");
    assert!(!rest(passed_on).await.contains("call.completed"), "the call continues");

    program.post(&format!("/v1/calls/{call}/hangup"), json!({})).await;
    let read = read_until(&mut own, "event: call.completed").await;
    assert!(read.contains("event: call.completed"), "a viewer may read events: {read}");
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn who_is_removed_hears_and_reads_nothing_more() {
    let (service, oidc) = with_provider(Clock::system(), |config| config.rate_limit_per_minute = 100_000).await;
    let (ana, program) = owner(&service, &oidc).await;
    let agent = program.scripted_agent(json!({ "silence": { "hangup_after_seconds": null } })).await;
    let call = program.place(&agent, HOLDS).await;
    program.wait_for(&call, |call| call["status"] == "in_progress").await;
    let (bob, person) = with_role(&service, &oidc, &ana, "bob", "member").await;
    let (_, given) = bob.ask(Method::POST, &format!("/v1/calls/{call}/listen"), None).await;
    let mut player = Player::at(&text(&given["url"])).await.expect("the token is good");
    let mut streams = Vec::new();
    for path in ["/v1/events".to_owned(), format!("/v1/calls/{call}/events"), format!("/v1/calls/{call}/transcript")] {
        streams.push(follow(&bob, &path).await);
    }
    let (status, _) = ana.ask(Method::DELETE, &person, None).await;
    assert_eq!(status, StatusCode::NO_CONTENT);
    assert_eq!(player.until_closed().await, 1008);
    for stream in streams {
        assert!(!rest(stream).await.contains("call.completed"), "the call continues");
    }
    assert_eq!(program.get(&format!("/v1/calls/{call}")).await.1["status"], "in_progress");
    service.stop().await;
}
