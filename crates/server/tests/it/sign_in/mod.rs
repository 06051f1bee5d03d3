//! The dashboard's sign-in from a browser.

mod audit;
mod browser;
mod first;
mod floods;
mod invitations;
mod listening;
mod local;
mod memberships;
mod nodes;
mod pages;
mod people;
mod refusals;
mod sessions;
mod viewers;
mod web_calls;
mod wild;

use reqwest::{Method, StatusCode};
use serde_json::{Value, json};
use switchhook::config::Config;
use switchhook::store::tenants;
use switchhook_core::Timestamp;
use switchhook_runtime::clock::Clock;

use self::browser::Browser;
use crate::doubles::oidc::Oidc;
use crate::harness::{TestService, text};

/// Returns the initial time of manual clocks.
fn morning() -> Clock {
    Clock::manual(Timestamp::parse("2026-11-21T09:00:00Z").expect("a date"))
}

/// Starts a service with its own sign-in provider.
async fn with_provider(clock: Clock, change: impl FnOnce(&mut Config)) -> (TestService, Oidc) {
    let oidc = Oidc::start(&clock).await;
    let settings = oidc.settings();
    let service = TestService::start_as(clock, |config| {
        config.oidc = Some(settings);
        change(config);
    })
    .await;
    (service, oidc)
}

fn browser(service: &TestService) -> Browser {
    Browser::new(&service.client.base)
}

/// Returns a browser in which this person is signed in.
async fn signed_in(service: &TestService, oidc: &Oidc, name: &str) -> Browser {
    let mut browser = browser(service);
    browser.sign_in(oidc, claims(name)).await;
    assert!(browser.session().is_some(), "{name} is signed in");
    browser
}

/// Returns the provider's claims about a person with a verified address.
fn claims(name: &str) -> Value {
    json!({ "sub": name, "email": format!("{name}@example.com"), "name": name })
}

/// Invites a person and returns the response.
async fn invite(owner: &Browser, name: &str, role: &str) -> Value {
    let body = json!({ "email": format!("{name}@Example.com"), "role": role });
    let (status, person) = owner.ask(Method::POST, "/v1/people", Some(body)).await;
    assert_eq!(status, StatusCode::CREATED, "{person}");
    person
}

/// Returns the body that the page of an invitation sends.
fn link(invited: &Value) -> Value {
    let url = text(&invited["invitation_url"]);
    json!({ "token": url.split_once('#').expect("a token").1 })
}

/// Returns the browser of a person who has accepted an invitation of this owner.
async fn joined(service: &TestService, oidc: &Oidc, owner: &Browser, name: &str, role: &str) -> Browser {
    let invited = invite(owner, name, role).await;
    let mut browser = signed_in(service, oidc, name).await;
    let (status, refusal) = browser.act("/auth/invitation/accept", link(&invited)).await;
    assert_eq!(status, StatusCode::NO_CONTENT, "{refusal}");
    browser
}

/// Returns the names of all tenants except that of the test itself.
async fn tenant_names(service: &TestService) -> Vec<String> {
    let mut conn = service.store().read().await.expect("a connection");
    let rows = tenants::list_for_operator(&mut conn).await.expect("tenants");
    rows.into_iter().map(|row| row.name).filter(|name| name != "test").collect()
}
