//! How sessions are used, how long they last, and how they end.

use std::time::Duration;

use reqwest::header::{ACCEPT, AUTHORIZATION, HeaderValue, ORIGIN};
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};
use switchhook::store::{deactivation, tenants};
use switchhook_core::id::TenantId;
use switchhook_runtime::clock::Clock;

use super::browser::{SESSION, answer};
use super::{browser, morning, with_provider};
use crate::doubles::oidc::Signed;
use crate::harness::{Client, TIMEOUT, text};

const SIXTY: HeaderValue = HeaderValue::from_static("60");
const HOUR: Duration = Duration::from_secs(3600);

#[tokio::test]
async fn a_session_ends_after_twelve_idle_hours_and_after_a_week() {
    let clock = morning();
    let (service, oidc) = with_provider(clock.clone(), |_| {}).await;
    let mut ana = browser(&service);
    ana.sign_in(&oidc, json!({})).await;
    clock.advance(HOUR * 12 - Duration::from_secs(60));
    assert_eq!(ana.who().await.0, StatusCode::OK);
    clock.advance(HOUR * 12 - Duration::from_secs(60));
    assert_eq!(ana.ask(Method::GET, "/v1/calls", None).await.0, StatusCode::OK, "it was used in between");
    clock.advance(HOUR * 12);
    assert_eq!(ana.who().await.0, StatusCode::UNAUTHORIZED, "idle");
    assert_eq!(ana.ask(Method::GET, "/v1/calls", None).await.0, StatusCode::UNAUTHORIZED);

    ana.sign_in(&oidc, json!({})).await;
    for _ in 0..15 {
        clock.advance(HOUR * 11);
        assert_eq!(ana.who().await.0, StatusCode::OK);
    }
    let (_, who) = ana.who().await;
    assert_eq!(who["expires_at"], "2026-11-29T20:58:00.000000Z", "a week after the sign-in");
    clock.advance(HOUR * 3);
    assert_eq!(ana.who().await.0, StatusCode::UNAUTHORIZED, "used, and a week old");
    service.stop().await;
}

#[tokio::test]
async fn a_request_comes_from_a_person_or_a_program_and_never_from_both() {
    let (service, oidc) = with_provider(morning(), |_| {}).await;
    let mut ana = browser(&service);
    ana.sign_in(&oidc, json!({})).await;
    let key = format!("Bearer {}", service.client.key);
    for authorization in [key.as_str(), "Bearer x", "Basic dTpw", ""] {
        let both = ana.api(Method::GET, "/v1/tenant").header(AUTHORIZATION, authorization);
        let (status, body) = answer(both).await;
        assert_eq!((status, &body["code"]), (StatusCode::UNAUTHORIZED, &json!("unauthorized")), "{authorization:?}");
    }
    ana.cookies.insert(SESSION.to_owned(), "made-up".to_owned());
    assert_eq!(ana.ask(Method::GET, "/v1/tenant", None).await.0, StatusCode::UNAUTHORIZED);
    service.stop().await;
}

#[tokio::test]
async fn pages_of_others_change_nothing() {
    let (service, oidc) = with_provider(morning(), |_| {}).await;
    let mut ana = browser(&service);
    ana.sign_in(&oidc, json!({})).await;
    let base = ana.base.clone();
    let other_port = format!("{base}0");
    for origin in
        [None, Some("null"), Some("https://evil.test"), Some(other_port.as_str()), Some(""), Some("http://localhost")]
    {
        for (method, path) in [
            (Method::POST, "/v1/api-keys"),
            (Method::POST, "/v1/nowhere"),
            (Method::DELETE, "/v1/agents/0198c6a0-0000-7000-8000-000000000000"),
            (Method::POST, "/auth/logout"),
            (Method::POST, "/auth/invitation"),
            (Method::POST, "/auth/invitation/accept"),
            (Method::POST, "/auth/invitation/decline"),
            (Method::POST, "/auth/tenant"),
            (Method::POST, "/auth/leave"),
        ] {
            let request = ana.request(method, path).json(&json!({}));
            let request = origin.into_iter().fold(request, |request, origin| request.header(ORIGIN, origin));
            let (status, body) = answer(request).await;
            assert_eq!((status, &body["code"]), (StatusCode::FORBIDDEN, &json!("foreign_origin")), "{origin:?} {path}");
        }
    }
    let two = ana.api(Method::POST, "/v1/api-keys").header(ORIGIN, "https://evil.test").json(&json!({}));
    assert_eq!(answer(two).await.0, StatusCode::FORBIDDEN, "two origins");
    let (status, keys) = ana.ask(Method::GET, "/v1/api-keys", None).await;
    assert_eq!((status, &keys["data"]), (StatusCode::OK, &json!([])), "nothing was done");
    let foreign_read = ana.request(Method::GET, "/v1/api-keys").header(ORIGIN, "https://evil.test");
    assert_eq!(answer(foreign_read).await.0, StatusCode::OK, "its answer is not theirs to read: there is no CORS");
    assert_eq!(ana.ask(Method::POST, "/v1/api-keys", Some(json!({}))).await.0, StatusCode::CREATED);
    service.stop().await;
}

#[tokio::test]
async fn signing_out_ends_the_session_of_every_copy_of_its_cookie() {
    let (service, oidc) = with_provider(morning(), |_| {}).await;
    let mut ana = browser(&service);
    ana.sign_in(&oidc, json!({})).await;
    let thief = ana.clone();
    let mut phone = browser(&service);
    phone.sign_in(&oidc, json!({})).await;

    let logout = ana.api(Method::POST, "/auth/logout");
    let out = ana.send(logout).await;
    assert_eq!((out.status(), ana.session()), (StatusCode::NO_CONTENT, None));
    assert_eq!(thief.who().await.0, StatusCode::UNAUTHORIZED);
    assert_eq!(thief.ask(Method::GET, "/v1/tenant", None).await.0, StatusCode::UNAUTHORIZED);
    assert_eq!(phone.who().await.0, StatusCode::OK, "the other session goes on");
    let again = ana.api(Method::POST, "/auth/logout");
    assert_eq!(ana.send(again).await.status(), StatusCode::NO_CONTENT, "there is nothing to end");
    service.stop().await;
}

#[tokio::test]
async fn signing_out_without_a_session_writes_nothing() {
    let (service, _oidc) = with_provider(morning(), |_| {}).await;
    // On SQLite, transactions are serialised: a write waits for this one.
    let writing = service.store().begin().await.expect("a transaction");
    let mut stranger = browser(&service);
    for cookie in ["made-up".to_owned(), "A".repeat(43)] {
        stranger.cookies.insert(SESSION.to_owned(), cookie);
        let logout = stranger.api(Method::POST, "/auth/logout");
        assert_eq!((stranger.send(logout).await.status(), stranger.session()), (StatusCode::NO_CONTENT, None));
    }
    drop(writing);
    service.stop().await;
}

#[tokio::test]
async fn looking_at_pages_costs_programs_nothing() {
    let (service, oidc) = with_provider(morning(), |config| config.rate_limit_per_minute = 3).await;
    let mut ana = browser(&service);
    ana.sign_in(&oidc, json!({})).await;
    let (_, key) = ana.ask(Method::POST, "/v1/api-keys", Some(json!({}))).await;
    for seen in 1..20 {
        let page = ana.api(Method::GET, "/v1/calls").send().await.expect("an answer");
        assert_eq!(page.headers()["ratelimit-policy"], "\"requests\";q=600;w=60");
        assert_eq!(page.headers()["ratelimit"], format!("\"requests\";r={}", 600 - seen));
    }
    let program = Client::new(service.client.base.clone(), text(&key["key"]));
    // The key created by the page was one of the three.
    for allowed in [true, true, false] {
        let (status, _) = program.get("/v1/calls").await;
        assert_eq!(status == StatusCode::OK, allowed, "{status}");
    }
    assert_eq!(ana.ask(Method::GET, "/v1/calls", None).await.0, StatusCode::OK, "and programs cost people nothing");
    service.stop().await;
}

#[tokio::test]
async fn what_a_person_changes_counts_like_what_a_program_does_and_is_at_most_half_of_it() {
    let (service, oidc) = with_provider(morning(), |config| config.rate_limit_per_minute = 4).await;
    let mut ana = browser(&service);
    ana.sign_in(&oidc, json!({})).await;
    let mut key = String::new();
    for left in [1, 0] {
        let made = ana.api(Method::POST, "/v1/api-keys").json(&json!({})).send().await.expect("an answer");
        assert_eq!(made.status(), StatusCode::CREATED);
        assert_eq!(made.headers()["ratelimit-policy"], "\"requests\";q=2;w=60");
        assert_eq!(made.headers()["ratelimit"], format!("\"requests\";r={left}"));
        key = text(&made.json::<Value>().await.expect("JSON")["key"]);
    }
    for (method, path) in [(Method::POST, "/v1/api-keys"), (Method::PATCH, "/v1/tenant"), (Method::DELETE, "/v1/x")] {
        let (status, body) = ana.ask(method, path, Some(json!({}))).await;
        assert_eq!((status, &body["code"]), (StatusCode::TOO_MANY_REQUESTS, &json!("rate_limited")), "{path}");
    }
    let program = Client::new(service.client.base.clone(), key);
    for allowed in [true, true, false] {
        let (status, _) = program.get("/v1/calls").await;
        assert_eq!(status == StatusCode::OK, allowed, "{status}");
    }
    assert_eq!(ana.ask(Method::GET, "/v1/calls", None).await.0, StatusCode::OK, "pages are still read");
    service.stop().await;
}

#[tokio::test]
async fn moving_between_tenants_counts_as_a_change() {
    let (service, oidc) = with_provider(morning(), |config| config.rate_limit_per_minute = 4).await;
    let mut ana = browser(&service);
    ana.sign_in(&oidc, json!({})).await;
    let here = json!({ "id": ana.who().await.1["tenant"]["id"] });
    for allowed in [true, true, false] {
        let (status, body) = ana.act("/auth/tenant", here.clone()).await;
        let expected = if allowed { StatusCode::NO_CONTENT } else { StatusCode::TOO_MANY_REQUESTS };
        assert_eq!(status, expected, "{body}");
    }
    service.stop().await;
}

#[tokio::test]
async fn a_person_has_fifty_sessions_and_loses_the_one_that_was_not_used_for_longest() {
    let clock = morning();
    let (service, oidc) = with_provider(clock.clone(), |_| {}).await;
    let mut browsers = Vec::new();
    for _ in 0..51 {
        let mut browser = browser(&service);
        assert_eq!(browser.sign_in(&oidc, json!({})).await.status(), StatusCode::FOUND);
        browsers.push(browser);
        clock.advance(Duration::from_secs(1));
    }
    let open = [&browsers[0], &browsers[1], &browsers[50]].map(|browser| browser.who());
    let [first, second, last] = open;
    assert_eq!((first.await.0, second.await.0), (StatusCode::UNAUTHORIZED, StatusCode::OK));
    assert_eq!(last.await.0, StatusCode::OK);
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn asking_who_is_signed_in_counts_as_looking_at_a_page() {
    let (service, oidc) = with_provider(morning(), |_| {}).await;
    let mut ana = browser(&service);
    ana.sign_in(&oidc, json!({})).await;
    for _ in 0..600 {
        assert_eq!(ana.who().await.0, StatusCode::OK);
    }
    let refused = ana.request(Method::GET, "/auth/session").send().await.expect("an answer");
    assert_eq!((refused.status(), &refused.headers()["retry-after"]), (StatusCode::TOO_MANY_REQUESTS, &SIXTY));
    assert_eq!(ana.ask(Method::GET, "/v1/calls", None).await.0, StatusCode::TOO_MANY_REQUESTS, "it is the same window");
    let mut bob = browser(&service);
    bob.sign_in(&oidc, json!({ "sub": "bob" })).await;
    assert_eq!(bob.who().await.0, StatusCode::OK, "of another tenant");
    service.stop().await;
}

#[tokio::test]
async fn deactivation_ends_sessions_and_streams_and_blocks_sign_in() {
    let clock = morning();
    let (service, oidc) = with_provider(clock.clone(), |_| {}).await;
    let mut ana = browser(&service);
    ana.sign_in(&oidc, json!({})).await;
    let tenant: TenantId = text(&ana.who().await.1["tenant"]["id"]).parse().expect("an id");
    deactivation::deactivate_for_operator(service.store(), tenant, clock.now()).await.expect("deactivated");

    assert_eq!(ana.who().await.0, StatusCode::UNAUTHORIZED);
    assert_eq!(ana.ask(Method::GET, "/v1/tenant", None).await.0, StatusCode::UNAUTHORIZED);
    let page = ana.login("/auth/login").await;
    let code = oidc.code(&page, json!({}), Signed::Well);
    let back = ana.come_back(&page, &code).await;
    assert_eq!((back.status(), ana.who().await.0), (StatusCode::FORBIDDEN, StatusCode::UNAUTHORIZED));

    let mut tx = service.store().begin().await.expect("a transaction");
    tenants::activate_for_operator(&mut tx, tenant, clock.now()).await.expect("activated");
    tx.commit().await.expect("committed");
    assert_eq!(ana.who().await.0, StatusCode::UNAUTHORIZED, "nothing comes back");
    ana.sign_in(&oidc, json!({})).await;
    assert_eq!(ana.who().await.1["tenant"]["id"], tenant.to_string());
    service.stop().await;
}

#[tokio::test]
async fn a_stream_ends_with_its_session() {
    let (service, oidc) = with_provider(Clock::system(), |_| {}).await;
    let mut ana = browser(&service);
    ana.sign_in(&oidc, json!({})).await;
    let (_, key) = ana.ask(Method::POST, "/v1/api-keys", Some(json!({}))).await;
    let program = Client::new(service.client.base.clone(), text(&key["key"]));
    let agent = program.scripted_agent(json!({})).await;
    let call = program.place(&agent, "+12025550109").await;
    let stream = ana.api(Method::GET, &format!("/v1/calls/{call}/events")).header(ACCEPT, "text/event-stream");
    let stream = stream.send().await.expect("an answer");
    assert_eq!(stream.status(), StatusCode::OK);
    let logout = ana.api(Method::POST, "/auth/logout");
    ana.send(logout).await;
    let rest = tokio::time::timeout(TIMEOUT, stream.text()).await.expect("it ends");
    assert!(!rest.expect("text").contains("call.completed"), "the call continues");
    service.stop().await;
}
