//! A flood of sign-ins costs the identity provider and the database little, and others can soon sign in again.

use std::net::Ipv4Addr;
use std::time::Duration;

use futures_util::future::join_all;
use reqwest::{Method, StatusCode};
use serde_json::json;

use super::browser::{Browser, answer};
use super::{browser, morning, with_provider};
use crate::doubles::oidc::Signed;

const DISCOVERY: &str = "/.well-known/openid-configuration";

#[tokio::test(flavor = "multi_thread")]
async fn two_hundred_sign_ins_at_once_open_one_connection_to_a_silent_provider() {
    let clock = morning();
    let (service, oidc) = with_provider(clock.clone(), |_| {}).await;
    oidc.set_silent(true);
    let visits = (0..200_u8).map(|number| {
        let visitor = Browser::at(Ipv4Addr::new(127, 0, 0, 1 + number / 20), &service.client.base);
        answer(visitor.request(Method::GET, "/auth/login"))
    });
    for (status, body) in join_all(visits).await {
        assert_eq!(
            (status, &body["code"]),
            (StatusCode::BAD_GATEWAY, &json!("identity_provider_unavailable")),
            "{body}"
        );
    }
    assert_eq!((oidc.connections(), oidc.requests(DISCOVERY)), (1, 1));

    let mut late = browser(&service);
    assert_eq!(late.get("/auth/login").await.status(), StatusCode::BAD_GATEWAY);
    assert_eq!(oidc.requests(DISCOVERY), 1, "the failure is remembered");
    oidc.set_silent(false);
    clock.advance(Duration::from_secs(5));
    late.login("/auth/login").await;
    assert_eq!((oidc.connections(), oidc.requests(DISCOVERY)), (2, 2), "but not for long");
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_discovery_is_not_shared_for_longer_when_the_clock_is_set_back() {
    let clock = morning();
    let (service, oidc) = with_provider(clock.clone(), |_| {}).await;
    let mut visitor = browser(&service);
    visitor.login("/auth/login").await;
    clock.set(clock.now() - Duration::from_secs(3_600));
    visitor.login("/auth/login").await;
    assert_eq!(oidc.requests(DISCOVERY), 1, "no time has passed");
    clock.advance(Duration::from_secs(5));
    visitor.login("/auth/login").await;
    assert_eq!(oidc.requests(DISCOVERY), 2);
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn discovery_continues_after_its_first_client_disconnects() {
    let (service, oidc) = with_provider(morning(), |_| {}).await;
    oidc.set_silent(true);
    let leaving = browser(&service);
    let left = tokio::spawn(async move { leaving.request(Method::GET, "/auth/login").send().await.map(drop) });
    oidc.until_requested(DISCOVERY, 1).await;
    left.abort();
    let mut staying = browser(&service);
    let (page, ()) = tokio::join!(staying.login("/auth/login"), async {
        oidc.set_silent(false);
    });
    assert!(page.as_str().starts_with(&oidc.issuer()));
    assert_eq!(oidc.requests(DISCOVERY), 1);
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn at_most_twenty_codes_are_exchanged_at_once() {
    let (service, oidc) = with_provider(morning(), |_| {}).await;
    let mut ana = browser(&service);
    let mut pages = Vec::new();
    for _ in 0..21 {
        let page = ana.login("/auth/login").await;
        pages.push((oidc.code(&page, json!({}), Signed::Well), page));
    }
    let (one_more, page) = pages.pop().expect("21");
    oidc.set_silent(true);
    let coming = pages.into_iter().map(|(code, page)| {
        let mut tab = ana.clone();
        tokio::spawn(async move { tab.come_back(&page, &code).await.status() })
    });
    let coming: Vec<_> = coming.collect();
    oidc.until_requested("/token", 20).await;

    let refused = ana.come_back(&page, &one_more).await;
    assert_eq!((refused.status(), refused.headers()["retry-after"].as_bytes()), (StatusCode::BAD_GATEWAY, &b"5"[..]));
    let body: serde_json::Value = refused.json().await.expect("JSON");
    assert_eq!(body["code"], "identity_provider_unavailable");
    assert_eq!(oidc.requests("/token"), 20, "the provider does not hear of it");

    oidc.set_silent(false);
    for came in join_all(coming).await {
        assert_eq!(came.expect("no panic"), StatusCode::FOUND);
    }
    let again = ana.come_back(&page, &one_more).await;
    assert_eq!(again.status(), StatusCode::FOUND, "the code and the state are still good");
    service.stop().await;
}
