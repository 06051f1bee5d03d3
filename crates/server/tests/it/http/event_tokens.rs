//! Tokens with which a browser's `EventSource`, which cannot send a key, opens event streams.

use std::time::Duration;

use reqwest::{Method, RequestBuilder, Response, StatusCode};
use serde_json::{Value, json};
use switchhook_core::Timestamp;
use switchhook_runtime::clock::Clock;

use super::read_until;
use crate::harness::{Client, TestService, text};

/// Answers, and holds the line in silence until either side hangs up.
const HOLDS: &str = "+12025550109";

/// A request of a page: with neither key nor cookie.
fn page(client: &Client, path: &str, token: &str) -> RequestBuilder {
    let between = if path.contains('?') { '&' } else { '?' };
    let http = reqwest::Client::builder().no_proxy().build().expect("a client");
    http.get(format!("{}{path}{between}token={token}", client.base))
}

/// As an `EventSource` sends it.
async fn open(client: &Client, path: &str, token: &str) -> Response {
    page(client, path, token).header("Accept", "text/event-stream").send().await.expect("an answer")
}

async fn token(client: &Client) -> String {
    let (status, made) = client.post("/v1/event-tokens", json!({})).await;
    assert_eq!(status, StatusCode::OK, "{made}");
    assert!(made["expires_at"].is_string(), "{made}");
    text(&made["token"])
}

#[tokio::test]
async fn a_page_without_a_key_reads_events_and_nothing_else() {
    let (service, agent) = TestService::ready().await;
    let client = &service.client;
    let token = token(client).await;
    let mut all = open(client, "/v1/events", &token).await;
    let call = client.place(&agent, HOLDS).await;
    let mut stream = open(client, &format!("/v1/calls/{call}/events"), &token).await;
    for stream in [&mut stream, &mut all] {
        assert_eq!(stream.status(), StatusCode::OK);
        assert_eq!(stream.headers()["content-type"], "text/event-stream");
        assert_eq!(stream.headers()["access-control-allow-origin"], "*");
        let read = read_until(stream, "event: call.in_progress").await;
        assert!(read.contains("event: call.queued"), "{read}");
    }
    assert_eq!(open(client, &format!("/v1/calls/{call}/transcript"), &token).await.status(), StatusCode::OK);

    for path in [format!("/v1/calls/{call}"), "/v1/calls".to_owned(), "/v1/tenant".to_owned()] {
        assert_eq!(open(client, &path, &token).await.status(), StatusCode::UNAUTHORIZED, "{path}");
    }
    let http = reqwest::Client::builder().no_proxy().build().expect("a client");
    for path in [format!("/v1/calls/{call}/hangup"), "/v1/event-tokens".to_owned()] {
        let sent = http.post(format!("{}{path}?token={token}", client.base)).send().await.expect("an answer");
        assert_eq!(sent.status(), StatusCode::UNAUTHORIZED, "{path}");
    }
    let (_, shown) = client.get(&format!("/v1/calls/{call}")).await;
    assert_eq!(shown["status"], "in_progress", "the call is live");
    let other = service.another_tenant().await;
    let stranger = self::token(&other).await;
    assert_eq!(open(client, &format!("/v1/calls/{call}/events"), &stranger).await.status(), StatusCode::NOT_FOUND);
    assert_eq!(open(client, "/v1/events", "nonsense").await.status(), StatusCode::UNAUTHORIZED);
    service.stop().await;
}

#[tokio::test]
async fn a_token_dies_with_the_key_that_asked() {
    let (service, agent) = TestService::ready().await;
    let owner = &service.client;
    let call = owner.place(&agent, HOLDS).await;
    let key = owner.create("/v1/api-keys", json!({})).await;
    let token = token(&Client::new(owner.base.clone(), text(&key["key"]))).await;
    let mut stream = open(owner, &format!("/v1/calls/{call}/events"), &token).await;
    read_until(&mut stream, "event: call.in_progress").await;
    let revoke = owner.request(Method::DELETE, &format!("/v1/api-keys/{}", text(&key["id"])));
    assert_eq!(revoke.send().await.expect("an answer").status(), StatusCode::NO_CONTENT);
    let rest = read_until(&mut stream, "nothing more than the end").await;
    assert!(!rest.contains("event:"), "{rest}");
    assert_eq!(open(owner, "/v1/events", &token).await.status(), StatusCode::UNAUTHORIZED);
    service.stop().await;
}

#[tokio::test]
async fn a_page_with_a_token_uses_up_nothing_of_the_programs() {
    let service = TestService::start().await;
    let client = &service.client;
    let token = token(client).await;
    let mut streams = Vec::new();
    for allowed in [true; 8].into_iter().chain([false]) {
        let stream = open(client, "/v1/events", &token).await;
        assert_eq!(stream.status() == StatusCode::OK, allowed, "{}", stream.status());
        streams.push(stream);
    }
    let own = client.request(Method::GET, "/v1/events").header("Accept", "text/event-stream");
    assert_eq!(own.send().await.expect("an answer").status(), StatusCode::OK);

    let mut refused = None;
    for _ in 0..200 {
        let read = page(client, "/v1/events?limit=1", &token).header("Accept", "application/json");
        let read = read.send().await.expect("an answer");
        assert_eq!(read.headers()["ratelimit-policy"], "\"requests\";q=120;w=60");
        refused = (read.status() == StatusCode::TOO_MANY_REQUESTS).then_some(read);
        if refused.is_some() {
            break;
        }
    }
    let refused: Value = refused.expect("a limit").json().await.expect("JSON");
    assert_eq!(refused["code"], "rate_limited", "{refused}");
    assert_eq!(client.get("/v1/events").await.0, StatusCode::OK);
    service.stop().await;
}

/// A client that uses `fetch` sets `Last-Event-ID` itself, for which a browser asks first.
#[tokio::test]
async fn a_page_of_another_origin_may_resume_a_stream_and_sees_that_its_token_has_expired() {
    let clock = Clock::manual(Timestamp::parse("2026-11-21T09:00:00Z").expect("a date"));
    let service = TestService::start_with(clock.clone()).await;
    let client = &service.client;
    let token = token(client).await;
    let http = reqwest::Client::builder().no_proxy().build().expect("a client");
    let ask = async |path: &str, wanted: &str, key: Option<&str>| {
        let request =
            http.request(Method::OPTIONS, format!("{}{path}", client.base)).header("Origin", "https://app.test");
        let request = request.header("Access-Control-Request-Method", wanted);
        let request = request.header("Access-Control-Request-Headers", "cache-control,last-event-id");
        key.into_iter().fold(request, RequestBuilder::bearer_auth).send().await.expect("an answer")
    };
    for path in ["/v1/events", "/v1/events/stream", "/v1/calls/7/events/stream", "/v1/calls/7/transcript"] {
        let allowed = ask(&format!("{path}?token={token}"), "GET", None).await;
        assert_eq!(allowed.status(), StatusCode::NO_CONTENT, "{path}");
        for (name, value) in [
            ("access-control-allow-origin", "*"),
            ("access-control-allow-methods", "GET"),
            ("access-control-allow-headers", "Last-Event-ID, Cache-Control"),
            ("access-control-max-age", "600"),
        ] {
            assert_eq!(allowed.headers()[name], value, "{path}: {name}");
        }
        assert_eq!(allowed.headers().get("access-control-allow-credentials"), None, "{path}");
    }
    let key = Some(client.key.as_str());
    for (path, wanted, key, status) in [
        ("/v1/events?token=x", "POST", None, StatusCode::UNAUTHORIZED),
        ("/v1/events", "GET", None, StatusCode::UNAUTHORIZED),
        ("/v1/calls?token=x", "GET", None, StatusCode::UNAUTHORIZED),
        ("/v1/event-tokens?token=x", "GET", None, StatusCode::UNAUTHORIZED),
        ("/v1/events?token=x", "GET", key, StatusCode::METHOD_NOT_ALLOWED),
    ] {
        let refused = ask(path, wanted, key).await;
        let open = refused.headers().get("access-control-allow-origin");
        assert_eq!((refused.status(), open), (status, None), "{wanted} {path}");
    }

    assert_eq!(page(client, "/v1/events", &token).send().await.expect("an answer").status(), StatusCode::OK);
    clock.advance(Duration::from_secs(600));
    let expired = open(client, "/v1/events", &token).await;
    let opened_to = expired.headers().get("access-control-allow-origin").map(|origin| origin.as_bytes().to_vec());
    assert_eq!((expired.status(), opened_to), (StatusCode::UNAUTHORIZED, Some(b"*".to_vec())));
    service.stop().await;
}
