//! Failures that no client can cause: panics, timeouts, an unavailable database.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, Bytes, to_bytes};
use axum::extract::ConnectInfo;
use axum::http::{Method, Request, StatusCode};
use axum::response::IntoResponse;
use axum::routing::{get, post};
use axum::{Router, http};
use futures_util::stream;
use serde_json::Value;
use switchhook_carriers::address::Addresses;
use switchhook_core::api_key::{ApiKey, Environment, KeyHash};
use switchhook_core::id::{ConnectionId, PersonId, TenantId};
use switchhook_core::rate::RATE_WINDOW;
use switchhook_runtime::clock::{self, Clock};
use tower::ServiceExt as _;

use super::client_network::ClientNetwork;
use super::extract::JsonBytes;
use super::{HttpState, around, rate_limit, router};
use crate::config::Config;
use crate::sign_in::attempt;
use crate::store::testing::{TestStore, now, stores};
use crate::wakeups::Wakeups;

fn state(test: &TestStore) -> HttpState {
    let config = Arc::new(Config::for_tests(test.folder.path()));
    let vault = config.open_vault().expect("a key file");
    let addresses = Addresses::new("http://service.test".to_owned(), &vault);
    HttpState::new(test.store.clone(), Clock::manual(now()), config, vault, Wakeups::default(), addresses)
}

async fn ask(router: &Router, request: http::request::Builder, body: Body) -> (StatusCode, http::HeaderMap, Value) {
    let answer = router.clone().oneshot(request.body(body).expect("a request")).await.expect("the router never fails");
    let (status, headers) = (answer.status(), answer.headers().clone());
    let bytes = to_bytes(answer.into_body(), usize::MAX).await.expect("a body");
    (status, headers, serde_json::from_slice(&bytes).expect("JSON"))
}

async fn panics() -> StatusCode {
    panic!("as a test wants it")
}

async fn reads(JsonBytes(_): JsonBytes) -> impl IntoResponse {
    StatusCode::OK
}

#[tokio::test]
async fn a_panic_and_time_that_runs_out_are_answered_like_any_error() {
    let test = stores().await.remove(0);
    let routes = Router::new()
        .route("/panics", get(panics))
        .route("/sleeps", get(std::future::pending::<StatusCode>))
        .route("/reads", post(reads));
    let state = state(&test);
    let router = around(routes, &state, Duration::from_millis(100)).with_state(state);
    let dripping = || {
        Body::from_stream(stream::unfold((), async |()| {
            tokio::time::sleep(Duration::from_millis(5)).await;
            Some((Ok::<_, std::io::Error>(Bytes::from_static(b" ")), ()))
        }))
    };
    for (request, body, status, code) in [
        (Request::get("/panics"), Body::empty(), StatusCode::INTERNAL_SERVER_ERROR, "internal_error"),
        (Request::get("/sleeps"), Body::empty(), StatusCode::SERVICE_UNAVAILABLE, "timeout"),
        (Request::post("/reads"), dripping(), StatusCode::SERVICE_UNAVAILABLE, "timeout"),
    ] {
        let (answered, headers, body) = ask(&router, request, body).await;
        assert_eq!((answered, body["code"].as_str()), (status, Some(code)), "{body}");
        assert_eq!(body["request_id"].as_str(), headers["x-request-id"].to_str().ok());
        assert_eq!(headers.contains_key("retry-after"), code == "timeout");
        assert!(!body["detail"].as_str().expect("a sentence").contains("as a test wants it"));
    }
}

#[tokio::test]
async fn a_malformed_key_is_refused_without_the_database_and_a_well_formed_one_is_not() {
    for test in stores().await {
        let router = router(state(&test));
        test.store.close().await;
        let key = ApiKey::generate(Environment::Dev, || clock::random::<1>()[0]).reveal().to_owned();
        let mut mistyped = key.clone();
        let last = mistyped.pop();
        mistyped.push(if last == Some('x') { 'y' } else { 'x' });
        for (key, status) in [
            ("", StatusCode::UNAUTHORIZED),
            ("nonsense", StatusCode::UNAUTHORIZED),
            ("vk_dev_k3v9x0a1b2c3_0000000000000000000000000000000000000x", StatusCode::UNAUTHORIZED),
            (&mistyped, StatusCode::UNAUTHORIZED),
            (&key, StatusCode::SERVICE_UNAVAILABLE),
        ] {
            let request = Request::get("/v1/tenant").header("Authorization", format!("Bearer {key}"));
            let (answered, _, body) = ask(&router, request, Body::empty()).await;
            assert_eq!(answered, status, "{key}: {body}");
        }
    }
}

/// The address of clients that send cookies.
const CLIENT: ([u8; 4], u16) = ([203, 0, 113, 7], 4000);

/// A request of the page with this session.
async fn with_session(router: &Router, request: http::request::Builder, cookie: &str) -> StatusCode {
    let request = request
        .header("Cookie", format!("__Host-session={cookie}"))
        .header("Origin", "http://service.test")
        .extension(ConnectInfo(SocketAddr::from(CLIENT)));
    let answer = router.clone().oneshot(request.body(Body::empty()).expect("a request")).await;
    answer.expect("the router never fails").status()
}

#[tokio::test]
async fn a_cookie_without_the_form_of_a_session_is_refused_without_the_database_and_another_is_not() {
    for test in stores().await {
        let router = router(state(&test));
        test.store.close().await;
        let away = StatusCode::SERVICE_UNAVAILABLE;
        for (request, without_session) in [
            (|| Request::get("/v1/tenant"), StatusCode::UNAUTHORIZED),
            (|| Request::get("/auth/session"), StatusCode::UNAUTHORIZED),
            (|| Request::post("/auth/logout"), StatusCode::NO_CONTENT),
        ] as [(fn() -> http::request::Builder, StatusCode); 3]
        {
            for cookie in ["made-up", &"x".repeat(42), &"x".repeat(44), &".".repeat(43), &"x".repeat(8_000)] {
                assert_eq!(with_session(&router, request(), cookie).await, without_session, "{cookie}");
            }
            assert_eq!(with_session(&router, request(), &attempt::random_text()).await, away);
        }
    }
}

#[tokio::test]
async fn an_address_that_guesses_sessions_is_slowed_down_like_one_that_guesses_keys() {
    for test in stores().await {
        for request in
            [|| Request::get("/v1/tenant"), || Request::get("/auth/session"), || Request::post("/auth/logout")]
                as [fn() -> http::request::Builder; 3]
        {
            let state = state(&test);
            let router = router(state.clone());
            with_session(&router, request(), "made-up").await;
            assert!(!state.throttle.has_charged(CLIENT.0.into()), "nothing was looked up");
            with_session(&router, request(), &attempt::random_text()).await;
            assert!(state.throttle.has_charged(CLIENT.0.into()));
        }
    }
}

#[tokio::test]
async fn an_address_that_floods_sign_ins_is_refused_and_its_sessions_and_others_are_not() {
    let test = stores().await.remove(0);
    let state = state(&test);
    let now = tokio::time::Instant::now() + Duration::from_secs(60);
    let mut at_once = 0;
    while state.sign_in_rate.admit(CLIENT.0.into(), now).is_ok() {
        at_once += 1;
    }
    assert_eq!(at_once, 120);
    let router = router(state);
    let from = |address: [u8; 4], request: http::request::Builder| {
        request.extension(ConnectInfo(SocketAddr::from((address, CLIENT.1))))
    };
    for path in ["/auth/login", "/auth/callback?state=x&code=y"] {
        let (status, headers, body) = ask(&router, from(CLIENT.0, Request::get(path)), Body::empty()).await;
        assert_eq!(
            (status, body["code"].as_str()),
            (StatusCode::TOO_MANY_REQUESTS, Some("sign_in_rate_limit")),
            "{body}"
        );
        assert!(headers.contains_key("retry-after"));
        let (status, ..) = ask(&router, from([203, 0, 113, 8], Request::get(path)), Body::empty()).await;
        assert_ne!(status, StatusCode::TOO_MANY_REQUESTS, "another address");
    }
    let page = from(CLIENT.0, Request::get("/auth/login").header("Accept", "text/html"));
    let page = router.clone().oneshot(page.body(Body::empty()).expect("a request")).await.expect("never fails");
    assert_eq!(page.status(), StatusCode::TOO_MANY_REQUESTS);
    assert!(page.headers().contains_key("retry-after"));
    let shown = to_bytes(page.into_body(), usize::MAX).await.expect("a body");
    assert!(String::from_utf8_lossy(&shown).contains("Too many sign-ins from your network address"));

    let unknown = attempt::random_text();
    assert_eq!(with_session(&router, Request::get("/auth/session"), &unknown).await, StatusCode::UNAUTHORIZED);
    assert_eq!(with_session(&router, Request::post("/auth/logout"), &unknown).await, StatusCode::NO_CONTENT);
}

#[tokio::test]
async fn an_address_that_floods_auth_is_refused_there_and_others_are_not() {
    let test = stores().await.remove(0);
    let state = state(&test);
    let now = tokio::time::Instant::now() + Duration::from_secs(60);
    let mut at_once = 0;
    while state.sign_in_rate.admit_any(CLIENT.0.into(), now).is_ok() {
        at_once += 1;
    }
    assert_eq!(at_once, 600);
    let known = attempt::random_text();
    state.throttle.admit(None, KeyHash::from_bytes(attempt::hash(&known))).await.right();
    let router = router(state);
    let reads = ["login", "callback", "session", "page.css"].map(|name| (Method::GET, name));
    let changes = ["logout", "invitation", "invitation/accept", "invitation/decline", "tenant", "leave"];
    for (method, name) in reads.into_iter().chain(changes.map(|name| (Method::POST, name))) {
        let path = format!("/auth/{name}");
        let request = Request::builder().method(method).uri(&path);
        let request = request.extension(ConnectInfo(SocketAddr::from(CLIENT)));
        let (status, headers, body) = ask(&router, request, Body::empty()).await;
        let refusal = (StatusCode::TOO_MANY_REQUESTS, Some("sign_in_rate_limit"));
        assert_eq!((status, body["code"].as_str()), refusal, "{path}: {body}");
        assert!(headers.contains_key("retry-after"), "{path}");
    }
    let session = with_session(&router, Request::get("/auth/session"), &known).await;
    assert_ne!(session, StatusCode::TOO_MANY_REQUESTS, "a session that was open when it was last looked up");
    for (address, path) in [([203, 0, 113, 8], "/auth/session"), (CLIENT.0, "/v1/tenant")] {
        let request = Request::get(path).extension(ConnectInfo(SocketAddr::from((address, CLIENT.1))));
        assert_eq!(ask(&router, request, Body::empty()).await.0, StatusCode::UNAUTHORIZED, "{path}");
    }
}

#[tokio::test]
async fn a_carrier_that_floods_is_refused_before_its_bodies_are_read() {
    let test = stores().await.remove(0);
    let state = state(&test);
    let connection = ConnectionId::from_uuid(uuid::Uuid::from_u128(7));
    let address = state.addresses.for_connection("twilio", connection).report("voice");
    let path = address.strip_prefix("http://service.test").expect("it begins so").to_owned();
    let now = tokio::time::Instant::now() + Duration::from_secs(60);
    while state.carrier_rate.admit(connection, ClientNetwork(None), now).is_ok() {}
    let router = router(state);
    let never = || Body::from_stream(stream::pending::<Result<Bytes, std::io::Error>>());
    let (status, headers, body) = ask(&router, Request::post(&path), never()).await;
    assert_eq!((status, body["code"].as_str()), (StatusCode::TOO_MANY_REQUESTS, Some("carrier_rate_limit")), "{body}");
    assert!(headers.contains_key("retry-after"));
    let elsewhere = Request::post(&path).extension(ConnectInfo(SocketAddr::from(CLIENT)));
    assert_eq!(ask(&router, elsewhere, Body::empty()).await.0, StatusCode::NOT_FOUND, "another network is not refused");
    let unknown = path.replace("/connections/", "/connections/x");
    assert_eq!(ask(&router, Request::post(&unknown), never()).await.0, StatusCode::NOT_FOUND, "no token, no place");
}

#[tokio::test]
async fn people_are_not_refused_for_longer_when_the_clock_is_set_back() {
    let test = stores().await.remove(0);
    let state = state(&test);
    let (tenant, person) = (TenantId::new(now(), [1; 10]), PersonId::new(now(), [1; 10]));
    let reads = || rate_limit::admit_page(&state, tenant, person).is_ok();
    assert!((0..10_000).any(|_| !reads()), "reads are limited");
    state.clock.set(now() - Duration::from_secs(3_600));
    assert!(!reads(), "no time has passed");
    state.clock.advance(RATE_WINDOW);
    assert!(reads());
}
