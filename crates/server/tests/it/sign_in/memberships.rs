//! People who belong to several tenants: how they switch between them, and leave one.

use std::time::Duration;

use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use super::browser::answer;
use super::{Browser, browser, claims, invite, joined, link, morning, signed_in, tenant_names, with_provider};
use crate::harness::text;

const SECOND: Duration = Duration::from_secs(1);
const DAY: Duration = Duration::from_secs(24 * 3600);

/// Returns the name of the current tenant.
async fn tenant(browser: &Browser) -> Value {
    browser.who().await.1["tenant"]["name"].clone()
}

/// Switches to the tenant with this name.
async fn switch(browser: &mut Browser, name: &str) -> StatusCode {
    let (_, who) = browser.who().await;
    let tenants = who["tenants"].as_array().expect("a list");
    let there = tenants.iter().find(|tenant| tenant["name"] == name).expect("a tenant of theirs");
    browser.act("/auth/tenant", json!({ "id": there["id"] })).await.0
}

#[tokio::test]
async fn a_person_moves_between_their_tenants_and_is_in_one_at_a_time() {
    let clock = morning();
    let (service, oidc) = with_provider(clock.clone(), |_| {}).await;
    let ana = signed_in(&service, &oidc, "ana").await;
    let mut bob = joined(&service, &oidc, &ana, "bob", "viewer").await;
    let (_, who) = bob.who().await;
    let names: Vec<_> =
        who["tenants"].as_array().expect("a list").iter().map(|one| (&one["name"], &one["role"])).collect();
    assert_eq!(names, [(&json!("ana"), &json!("viewer")), (&json!("bob"), &json!("owner"))]);
    assert_eq!(who["tenants"][0]["id"], who["tenant"]["id"]);

    clock.advance(SECOND);
    assert_eq!(switch(&mut bob, "bob").await, StatusCode::NO_CONTENT);
    assert_eq!((tenant(&bob).await, &bob.who().await.1["person"]["role"]), (json!("bob"), &json!("owner")));
    let connection = json!({ "name": "scripted", "provider": "scripted" });
    assert_eq!(bob.ask(Method::POST, "/v1/connections", Some(connection)).await.0, StatusCode::CREATED);
    assert_eq!(ana.ask(Method::GET, "/v1/connections", None).await.1["data"], json!([]), "it is in his own tenant");
    let mut phone = signed_in(&service, &oidc, "bob").await;
    assert_eq!(tenant(&phone).await, "bob", "where he was last");
    clock.advance(SECOND);
    assert_eq!(switch(&mut phone, "ana").await, StatusCode::NO_CONTENT);
    assert_eq!((tenant(&phone).await, tenant(&bob).await), (json!("ana"), json!("bob")), "each session has its own");

    let carol = signed_in(&service, &oidc, "carol").await;
    let foreign = carol.who().await.1["tenant"]["id"].clone();
    let (status, refusal) = bob.act("/auth/tenant", json!({ "id": foreign })).await;
    assert_eq!((status, &refusal["code"]), (StatusCode::NOT_FOUND, &json!("not_found")));
    assert_eq!(tenant(&bob).await, "bob");
    service.stop().await;
}

#[tokio::test]
async fn what_a_session_opened_in_one_tenant_does_not_stay_open_in_another() {
    let clock = morning();
    let (service, oidc) = with_provider(clock.clone(), |_| {}).await;
    let ana = signed_in(&service, &oidc, "ana").await;
    let mut bob = joined(&service, &oidc, &ana, "bob", "member").await;
    let before = bob.clone();
    let (_, token) = bob.ask(Method::POST, "/v1/event-tokens", None).await;
    let events = format!("/v1/events?limit=1&token={}", text(&token["token"]));
    assert_eq!(answer(browser(&service).request(Method::GET, &events)).await.0, StatusCode::OK);
    assert_eq!(switch(&mut bob, "bob").await, StatusCode::NO_CONTENT);
    assert_eq!(answer(browser(&service).request(Method::GET, &events)).await.0, StatusCode::UNAUTHORIZED);
    assert_eq!(before.who().await.0, StatusCode::UNAUTHORIZED, "nor does its old cookie");

    // Regardless of switches, a session ends a week after the sign-in.
    for _ in 0..13 {
        clock.advance(DAY / 2 - SECOND);
        assert_eq!(switch(&mut bob, "ana").await, StatusCode::NO_CONTENT);
    }
    clock.advance(DAY / 2 - SECOND);
    assert_eq!(bob.who().await.0, StatusCode::OK);
    clock.advance(SECOND * 14);
    assert_eq!(bob.who().await.0, StatusCode::UNAUTHORIZED);
    service.stop().await;
}

#[tokio::test]
async fn a_person_leaves_a_tenant_whatever_their_role() {
    let (service, oidc) = with_provider(morning(), |_| {}).await;
    let ana = signed_in(&service, &oidc, "ana").await;
    for role in ["viewer", "member", "owner"] {
        let mut bob = joined(&service, &oidc, &ana, "bob", role).await;
        let phone = signed_in(&service, &oidc, "bob").await;
        assert_eq!(tenant(&phone).await, "ana");
        assert_eq!(bob.act("/auth/leave", json!({})).await.0, StatusCode::NO_CONTENT, "{role}");
        assert_eq!(tenant(&bob).await, "bob", "in what is left to them");
        assert_eq!(phone.who().await.0, StatusCode::UNAUTHORIZED, "other sessions there end");
        assert_eq!(bob.who().await.1["tenants"].as_array().expect("a list").len(), 1);
        assert_eq!(ana.ask(Method::GET, "/v1/people", None).await.1["data"].as_array().expect("a list").len(), 1);
    }
    service.stop().await;
}

#[tokio::test]
async fn the_last_owner_does_not_leave() {
    let (service, oidc) = with_provider(morning(), |_| {}).await;
    let mut ana = signed_in(&service, &oidc, "ana").await;
    invite(&ana, "carol", "owner").await;
    let (status, refusal) = ana.act("/auth/leave", json!({})).await;
    assert_eq!((status, &refusal["code"]), (StatusCode::CONFLICT, &json!("last_owner")));
    assert_eq!(tenant(&ana).await, "ana");

    let mut bob = joined(&service, &oidc, &ana, "bob", "owner").await;
    let (hers, his) = tokio::join!(ana.act("/auth/leave", json!({})), bob.act("/auth/leave", json!({})));
    let left = [&hers, &his].into_iter().filter(|(status, _)| *status == StatusCode::NO_CONTENT).count();
    assert_eq!(left, 1, "{hers:?} {his:?}");
    service.stop().await;
}

#[tokio::test]
async fn leaving_the_only_tenant_signs_out_and_the_next_sign_in_creates_one() {
    let clock = morning();
    let (service, oidc) = with_provider(clock.clone(), |_| {}).await;
    let mut ana = signed_in(&service, &oidc, "ana").await;
    clock.advance(SECOND);
    let bob = joined(&service, &oidc, &ana, "bob", "owner").await;
    let (_, before) = ana.who().await;
    assert_eq!(ana.act("/auth/leave", json!({})).await.0, StatusCode::NO_CONTENT);
    assert_eq!((ana.session(), ana.who().await.0), (None, StatusCode::UNAUTHORIZED));
    clock.advance(SECOND);
    ana.sign_in(&oidc, claims("ana")).await;
    let (_, after) = ana.who().await;
    assert_ne!(after["tenant"]["id"], before["tenant"]["id"]);
    assert_eq!(after["person"]["role"], "owner");
    assert_eq!(tenant(&bob).await, "ana", "the one that she left is his");
    assert_eq!(tenant_names(&service).await, ["ana", "bob", "ana"]);
    service.stop().await;
}

#[tokio::test]
async fn a_person_joins_at_most_twenty_tenants() {
    let (service, oidc) = with_provider(morning(), |_| {}).await;
    let mut bob = signed_in(&service, &oidc, "bob").await;
    for number in 1..20 {
        let owner = signed_in(&service, &oidc, &format!("owner{number}")).await;
        let invitation = invite(&owner, "bob", "viewer").await;
        assert_eq!(bob.act("/auth/invitation/accept", link(&invitation)).await.0, StatusCode::NO_CONTENT, "{number}");
    }
    let owner = signed_in(&service, &oidc, "owner20").await;
    let invitation = invite(&owner, "bob", "viewer").await;
    let (status, refusal) = bob.act("/auth/invitation/accept", link(&invitation)).await;
    assert_eq!((status, &refusal["code"]), (StatusCode::CONFLICT, &json!("too_many_tenants")));
    assert_eq!(bob.act("/auth/leave", json!({})).await.0, StatusCode::NO_CONTENT);
    assert_eq!(bob.act("/auth/invitation/accept", link(&invitation)).await.0, StatusCode::NO_CONTENT);
    service.stop().await;
}

#[tokio::test]
async fn an_address_and_a_name_change_in_all_tenants_of_a_person() {
    let clock = morning();
    let (service, oidc) = with_provider(clock.clone(), |_| {}).await;
    let ana = signed_in(&service, &oidc, "ana").await;
    let mut bob = joined(&service, &oidc, &ana, "bob", "member").await;
    clock.advance(SECOND);
    assert_eq!(switch(&mut bob, "bob").await, StatusCode::NO_CONTENT);
    bob.sign_in(&oidc, json!({ "sub": "bob", "email": "robert@example.com", "name": "Robert" })).await;
    assert_eq!(tenant(&bob).await, "bob");
    let (_, people) = ana.ask(Method::GET, "/v1/people", None).await;
    let shown = people["data"].as_array().expect("a list").iter().map(|person| (&person["email"], &person["name"]));
    assert!(shown.into_iter().any(|shown| shown == (&json!("robert@example.com"), &json!("Robert"))), "{people}");
    let taken = ana.ask(Method::POST, "/v1/people", Some(json!({ "email": "robert@example.com" }))).await;
    assert_eq!(taken.1["code"], "email_taken");
    let free = invite(&ana, "bob", "viewer").await;
    let (_, refusal) = bob.act("/auth/invitation", link(&free)).await;
    assert_eq!(refusal["code"], "invitation_for_another", "the address is not his any more");
    service.stop().await;
}
