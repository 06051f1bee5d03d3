//! Invitations: a link that one person accepts or declines, once.

use std::time::Duration;

use futures_util::future::join_all;
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};
use switchhook::store::{Engine, deactivation};
use switchhook_core::id::TenantId;

use super::{Browser, browser, claims, invite, joined, link, morning, signed_in, tenant_names, with_provider};
use crate::harness::{TestService, text};

const SHOW: &str = "/auth/invitation";
const ACCEPT: &str = "/auth/invitation/accept";
const DECLINE: &str = "/auth/invitation/decline";
const SECOND: Duration = Duration::from_secs(1);
const HOUR: Duration = Duration::from_secs(3600);
const DAY: Duration = Duration::from_secs(24 * 3600);

/// Returns the status and the code with which a link is refused.
async fn refused(browser: &mut Browser, path: &str, link: &Value) -> (u16, String) {
    let (status, body) = browser.act(path, link.clone()).await;
    (status.as_u16(), text(&body["code"]))
}

fn ended() -> (u16, String) {
    (404, "invitation_ended".to_owned())
}

/// Returns the address and the status of everyone in the tenant.
async fn people(owner: &Browser) -> Vec<(Value, Value)> {
    let (_, people) = owner.ask(Method::GET, "/v1/people", None).await;
    let people = people["data"].as_array().expect("a list").iter();
    people.map(|person| (person["email"].clone(), person["status"].clone())).collect()
}

#[tokio::test]
async fn invitation_grants_no_membership_until_accepted() {
    let (service, oidc) = with_provider(morning(), |_| {}).await;
    let stranger = signed_in(&service, &oidc, "eve").await;
    invite(&stranger, "bob", "owner").await;

    let bob = signed_in(&service, &oidc, "bob").await;
    let (_, who) = bob.who().await;
    assert_ne!(who["tenant"]["id"], stranger.who().await.1["tenant"]["id"], "a stranger invited him");
    assert_eq!((&who["tenant"]["name"], &who["person"]["role"]), (&json!("bob"), &json!("owner")), "it is his own");
    let key = json!({ "name": "mine", "provider": "openai", "credentials": { "api_key": "sk-of-bob" } });
    assert_eq!(bob.ask(Method::POST, "/v1/connections", Some(key)).await.0, StatusCode::CREATED);
    let (_, connections) = stranger.ask(Method::GET, "/v1/connections", None).await;
    assert_eq!(connections["data"], json!([]), "his key is nobody else's to use");
    assert!(people(&stranger).await.contains(&(json!("bob@example.com"), json!("invited"))));
    service.stop().await;
}

/// Returns the hashes of open invitations' links in the database.
async fn hashes(service: &TestService) -> Vec<Vec<u8>> {
    const SQL: &str = "SELECT invitation FROM people WHERE invitation IS NOT NULL";
    let mut conn = service.store().read().await.expect("a connection");
    let found = match conn.engine() {
        Engine::Sqlite(c) => sqlx::query_scalar(SQL).fetch_all(c).await,
        Engine::Postgres(c) => sqlx::query_scalar(SQL).fetch_all(c).await,
    };
    found.expect("read")
}

#[tokio::test]
async fn a_link_is_shown_once_and_is_nowhere_in_the_database() {
    let clock = morning();
    let (service, oidc) = with_provider(clock.clone(), |_| {}).await;
    let ana = signed_in(&service, &oidc, "ana").await;
    clock.advance(SECOND);
    let invited = invite(&ana, "bob", "viewer").await;
    let shown = json!({
        "id": invited["id"], "email": "bob@example.com", "name": null, "role": "viewer", "status": "invited",
        "created_at": "2026-11-21T09:00:01.000000Z", "last_seen_at": null, "expires_at": "2026-11-28T09:00:01.000000Z",
    });
    let mut with_link = shown.clone();
    with_link["invitation_url"] = invited["invitation_url"].clone();
    assert_eq!(invited, with_link);
    let url = text(&invited["invitation_url"]);
    let token = text(&link(&invited)["token"]);
    assert_eq!((url, token.len()), (format!("{}/invitation#{token}", service.client.base), 43));

    let path = format!("/v1/people/{}", text(&invited["id"]));
    assert_eq!(ana.ask(Method::GET, &path, None).await.1, shown);
    assert_eq!(ana.ask(Method::GET, "/v1/people", None).await.1["data"][0], shown);
    let stored = hashes(&service).await;
    assert_eq!(stored.len(), 1);
    assert!(stored[0] != token.as_bytes() && stored[0].len() == 32, "a hash");
    service.stop().await;
}

#[tokio::test]
async fn invitation_link_names_the_inviter_and_joins_only_on_acceptance() {
    let clock = morning();
    let (service, oidc) = with_provider(clock.clone(), |_| {}).await;
    let ana = signed_in(&service, &oidc, "ana").await;
    let invited = invite(&ana, "bob", "viewer").await;
    let theirs = ana.who().await.1["tenant"]["id"].clone();
    clock.advance(SECOND);
    let mut bob = signed_in(&service, &oidc, "bob").await;
    let own = bob.who().await.1;
    let (status, shown) = bob.act(SHOW, link(&invited)).await;
    assert_eq!(status, StatusCode::OK, "{shown}");
    assert_eq!(
        shown,
        json!({
            "tenant": { "name": "ana" }, "role": "viewer", "email": "bob@example.com",
            "invited_by": { "name": "ana", "email": "ana@example.com" }, "expires_at": "2026-11-28T09:00:00.000000Z",
        })
    );
    assert_eq!(bob.who().await.1["tenant"]["id"], own["tenant"]["id"], "looking is not joining");

    clock.advance(SECOND);
    let before = bob.clone();
    assert_eq!(bob.act(ACCEPT, link(&invited)).await.0, StatusCode::NO_CONTENT);
    let (_, who) = bob.who().await;
    assert_eq!(
        (&who["tenant"]["id"], &who["person"]["id"], &who["person"]["role"]),
        (&theirs, &invited["id"], &json!("viewer"))
    );
    assert_eq!(bob.ask(Method::GET, "/v1/tenant", None).await.1["id"], theirs);
    assert_eq!(bob.ask(Method::POST, "/v1/connections", Some(json!({}))).await.0, StatusCode::FORBIDDEN, "a viewer");
    assert_eq!(before.who().await.0, StatusCode::UNAUTHORIZED, "the session has a new cookie");
    assert!(people(&ana).await.contains(&(json!("bob@example.com"), json!("active"))));
    assert_eq!(refused(&mut bob, ACCEPT, &link(&invited)).await, ended(), "it was used");

    clock.advance(SECOND);
    bob.sign_in(&oidc, claims("bob")).await;
    assert_eq!(bob.who().await.1["tenant"]["id"], theirs, "where he was last");
    let again = ana.ask(Method::POST, "/v1/people", Some(json!({ "email": "BOB@example.com" }))).await;
    assert_eq!((again.0, &again.1["code"]), (StatusCode::CONFLICT, &json!("email_taken")));
    assert_eq!(tenant_names(&service).await, ["ana", "bob"]);
    service.stop().await;
}

#[tokio::test]
async fn declining_changes_no_tenant_and_ends_the_link() {
    let (service, oidc) = with_provider(morning(), |_| {}).await;
    let ana = signed_in(&service, &oidc, "ana").await;
    let invited = invite(&ana, "bob", "member").await;
    let mut bob = signed_in(&service, &oidc, "bob").await;
    let (_, before) = bob.who().await;
    assert_eq!(bob.act(DECLINE, link(&invited)).await.0, StatusCode::NO_CONTENT);
    assert_eq!(bob.who().await.1, before);
    assert_eq!(people(&ana).await, [(json!("ana@example.com"), json!("active"))]);
    for path in [SHOW, ACCEPT, DECLINE] {
        assert_eq!(refused(&mut bob, path, &link(&invited)).await, ended(), "{path}");
    }
    service.stop().await;
}

#[tokio::test]
async fn a_link_is_for_the_person_with_the_verified_address_only() {
    let (service, oidc) = with_provider(morning(), |_| {}).await;
    let ana = signed_in(&service, &oidc, "ana").await;
    let invited = invite(&ana, "bob", "owner").await;
    let mut eve = signed_in(&service, &oidc, "eve").await;
    let mut impostor = browser(&service);
    impostor.sign_in(&oidc, json!({ "sub": "x", "email": "bob@example.com", "email_verified": false })).await;
    for (who, browser) in [("another address", &mut eve), ("an unverified one", &mut impostor)] {
        let (_, before) = browser.who().await;
        for path in [SHOW, ACCEPT, DECLINE] {
            let refusal = refused(browser, path, &link(&invited)).await;
            assert_eq!(refusal, (403, "invitation_for_another".to_owned()), "{who}: {path}");
        }
        assert_eq!(browser.who().await.1, before);
    }
    let mut signed_out = browser(&service);
    assert_eq!(refused(&mut signed_out, ACCEPT, &link(&invited)).await, (401, "unauthorized".to_owned()));
    let mut bob = signed_in(&service, &oidc, "bob").await;
    assert_eq!(bob.act(ACCEPT, link(&invited)).await.0, StatusCode::NO_CONTENT, "it is still his");
    service.stop().await;
}

#[tokio::test]
async fn a_link_ends_after_seven_days_when_it_is_revoked_and_when_there_is_a_new_one() {
    let clock = morning();
    let (service, oidc) = with_provider(clock.clone(), |_| {}).await;
    let ana = signed_in(&service, &oidc, "ana").await;
    let late = invite(&ana, "bob", "member").await;
    clock.advance(DAY * 7);
    let ana = signed_in(&service, &oidc, "ana").await;
    let mut bob = signed_in(&service, &oidc, "bob").await;
    let (_, before) = bob.who().await;
    assert_eq!(refused(&mut bob, ACCEPT, &link(&late)).await, ended(), "late");

    let revoked = invite(&ana, "bob", "member").await;
    assert_eq!(refused(&mut bob, ACCEPT, &link(&late)).await, ended(), "there is a new one");
    let path = format!("/v1/people/{}", text(&revoked["id"]));
    assert_eq!(ana.ask(Method::DELETE, &path, None).await.0, StatusCode::NO_CONTENT);
    assert_eq!(refused(&mut bob, ACCEPT, &link(&revoked)).await, ended(), "revoked");

    let first = invite(&ana, "bob", "owner").await;
    let second = invite(&ana, "bob", "viewer").await;
    assert_eq!(people(&ana).await.len(), 2, "an address has one invitation");
    assert_eq!(refused(&mut bob, ACCEPT, &link(&first)).await, ended(), "replaced");
    for made_up in ["", "x", &"A".repeat(43)] {
        assert_eq!(refused(&mut bob, ACCEPT, &json!({ "token": made_up })).await, ended(), "{made_up}");
    }
    assert_eq!(bob.who().await.1, before, "nothing has changed");
    assert_eq!(bob.act(ACCEPT, link(&second)).await.0, StatusCode::NO_CONTENT);
    assert_eq!(bob.who().await.1["person"]["role"], "viewer");
    service.stop().await;
}

#[tokio::test]
async fn deactivated_or_already_joined_tenant_cannot_be_joined() {
    let clock = morning();
    let (service, oidc) = with_provider(clock.clone(), |_| {}).await;
    let ana = signed_in(&service, &oidc, "ana").await;
    let mut bob = joined(&service, &oidc, &ana, "bob", "member").await;
    let twice = invite(&ana, "robert", "owner").await;
    clock.advance(SECOND);
    bob.sign_in(&oidc, json!({ "sub": "bob", "email": "robert@example.com", "name": "bob" })).await;
    assert_eq!(refused(&mut bob, SHOW, &link(&twice)).await, (409, "already_member".to_owned()));
    assert_eq!(refused(&mut bob, ACCEPT, &link(&twice)).await, (409, "already_member".to_owned()));
    assert_eq!(bob.who().await.1["person"]["role"], "member");

    let invited = invite(&ana, "carol", "member").await;
    let mut carol = signed_in(&service, &oidc, "carol").await;
    let tenant: TenantId = text(&ana.who().await.1["tenant"]["id"]).parse().expect("an id");
    deactivation::deactivate_for_operator(service.store(), tenant, clock.now()).await.expect("deactivated");
    assert_eq!(refused(&mut carol, ACCEPT, &link(&invited)).await, ended());
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn of_many_acceptances_at_once_one_counts() {
    let (service, oidc) = with_provider(morning(), |_| {}).await;
    let ana = signed_in(&service, &oidc, "ana").await;
    let invited = invite(&ana, "bob", "member").await;
    let mut people_with_the_address = Vec::new();
    for number in 0..8 {
        let mut browser = browser(&service);
        browser.sign_in(&oidc, json!({ "sub": format!("bob {number}"), "email": "bob@example.com" })).await;
        people_with_the_address.push(browser);
    }
    let coming = people_with_the_address.iter_mut().map(|browser| browser.act(ACCEPT, link(&invited)));
    let came: Vec<_> = join_all(coming).await.into_iter().map(|(status, _)| status).collect();
    let accepted = came.iter().filter(|status| **status == StatusCode::NO_CONTENT).count();
    assert_eq!(accepted, 1, "{came:?}");
    assert!(came.iter().all(|status| [StatusCode::NO_CONTENT, StatusCode::NOT_FOUND].contains(status)), "{came:?}");
    assert_eq!(people(&ana).await.len(), 2);
    service.stop().await;
}

/// Invites this many addresses that have not been invited yet.
async fn invite_many(owner: &Browser, from: usize, number: usize) {
    for number in from..from + number {
        invite(owner, &format!("guest{number}"), "viewer").await;
    }
}

#[tokio::test]
async fn a_tenant_makes_twenty_invitations_in_an_hour_and_has_a_hundred_open_ones() {
    let clock = morning();
    let (service, oidc) = with_provider(clock.clone(), |_| {}).await;
    let ana = signed_in(&service, &oidc, "ana").await;
    let first = invite(&ana, "guest0", "viewer").await;
    clock.advance(HOUR / 2);
    invite_many(&ana, 1, 19).await;
    // Neither accepting nor revoking an invitation makes room for another one.
    let path = format!("/v1/people/{}", text(&first["id"]));
    assert_eq!(ana.ask(Method::DELETE, &path, None).await.0, StatusCode::NO_CONTENT);
    let again = ana.api(Method::POST, "/v1/people").json(&json!({ "email": "guest1@example.com" }));
    let refused = again.send().await.expect("an answer");
    assert_eq!(
        (refused.status(), refused.headers()["retry-after"].as_bytes()),
        (StatusCode::TOO_MANY_REQUESTS, &b"1800"[..])
    );
    assert_eq!(refused.json::<Value>().await.expect("JSON")["code"], "invitation_rate_limit");
    let other = signed_in(&service, &oidc, "bob").await;
    invite(&other, "guest0", "viewer").await;

    clock.advance(HOUR / 2);
    invite_many(&ana, 0, 1).await;
    for round in 1..5 {
        clock.advance(HOUR);
        invite_many(&ana, 20 * round, 20).await;
    }
    clock.advance(HOUR);
    let one_more = || Some(json!({ "email": "guest100@example.com" }));
    let (status, full) = ana.ask(Method::POST, "/v1/people", one_more()).await;
    assert_eq!((status, &full["errors"][0]["path"]), (StatusCode::UNPROCESSABLE_ENTITY, &json!("email")), "{full}");
    assert!(text(&full["detail"]).contains("100 open invitations"), "{full}");
    invite_many(&ana, 7, 1).await;
    service.stop().await;
}

#[tokio::test]
async fn invitation_by_api_key_names_no_inviter() {
    let (service, oidc) = with_provider(morning(), |_| {}).await;
    let invited = service.client.create("/v1/people", json!({ "email": "bob@example.com", "role": "owner" })).await;
    let mut bob = signed_in(&service, &oidc, "bob").await;
    let (_, shown) = bob.act(SHOW, link(&invited)).await;
    assert_eq!((&shown["tenant"]["name"], &shown["invited_by"]), (&json!("test"), &Value::Null));
    assert_eq!(bob.act(ACCEPT, link(&invited)).await.0, StatusCode::NO_CONTENT);
    assert_eq!(bob.who().await.1["tenant"]["name"], "test");
    service.stop().await;
}
