//! People sign in at providers that follow the specification loosely: people who may enter are signed in as
//! themselves, and all others learn what to do.

use std::net::Ipv4Addr;
use std::time::Duration;

use reqwest::{Response, StatusCode};
use serde_json::Value;
use switchhook_runtime::clock::Clock;
use url::Url;

use super::browser::{Browser, location};
use super::{morning, with_provider};
use crate::doubles::oidc::Oidc;
use crate::doubles::wild_oidc::{Entry, WildPerson};
use crate::harness::TestService;
use crate::providers::wild_seeds::try_seeds_within;

/// Number of seeds.
const SEEDS: u64 = 24;
/// How many seconds they may take.
const SECONDS: u64 = 10;
/// Sign-ins of each person: a provider fails once at most.
const TRIES: usize = 2;
/// After this time, what a provider publishes is read again.
const READ_AGAIN: Duration = Duration::from_secs(6);
/// Advice that the refusals give.
const ADVICE: [&str; 3] = ["Try again", "Sign in again", "Ask the operator"];

#[tokio::test]
async fn loose_providers_sign_in_the_right_person_or_a_page_says_what_to_do() {
    let clock = morning();
    let (service, oidc) = with_provider(clock.clone(), |config| {
        // Without a verified address, none of them may sign in.
        config.oidc.as_mut().expect("it is on").allow = "@example.com".parse().expect("valid");
    })
    .await;
    try_seeds_within(SECONDS, SEEDS, 0, 1, async |seed| fault_of(&service, &oidc, &clock, seed).await).await;
    service.stop().await;
}

/// Returns what is wrong with the sign-in of a seed's person.
async fn fault_of(service: &TestService, oidc: &Oidc, clock: &Clock, seed: u64) -> Option<String> {
    let person = oidc.go_wild(seed);
    // Each address of the machine may begin a certain number of sign-ins.
    let part = u8::try_from(seed % 200).expect("small");
    let mut browser = Browser::at(Ipv4Addr::new(127, 0, 0, 1 + part), &service.client.base);
    let mut wrong = Vec::new();
    for _ in 0..TRIES {
        clock.advance(READ_AGAIN);
        let response = sign_in(&mut browser, oidc, &person).await;
        wrong.extend(fault_in(&browser, &person, response).await);
        if browser.session().is_some() {
            break;
        }
    }
    let signed_in = browser.session().is_some();
    if (person.entry == Entry::Open && !signed_in) || (person.entry == Entry::Closed && signed_in) {
        wrong.push(format!("signed in: {signed_in}"));
    }
    let sent = || format!("{:?}, {:?} {}, user info {}", person.entry, person.signed, person.claims, person.user_info);
    (!wrong.is_empty()).then(|| format!("seed {seed}: {}\n  of {}", wrong.join("; "), sent()))
}

/// Signs in, as far as the service and the provider allow. Returns the last response.
async fn sign_in(browser: &mut Browser, oidc: &Oidc, person: &WildPerson) -> Response {
    let begun = browser.get("/auth/login").await;
    if begun.status() != StatusCode::FOUND {
        return begun;
    }
    let page: Url = location(begun.headers()).parse().expect("a URL");
    let code = oidc.code_with(&page, person.claims.clone(), person.signed, person.user_info.clone());
    browser.come_back(&page, &code).await
}

/// Returns what is wrong with the last response of a sign-in.
async fn fault_in(browser: &Browser, person: &WildPerson, response: Response) -> Option<String> {
    let status = response.status();
    if status == StatusCode::FOUND {
        let (_, who) = browser.who().await;
        return (who["person"]["email"] != person.email.as_str()).then(|| format!("it signs in {who}"));
    }
    let text = response.text().await.expect("a whole body");
    let body: Value = serde_json::from_str(&text).unwrap_or_default();
    let detail = body["detail"].as_str().unwrap_or_default();
    let is_helpful = ADVICE.iter().any(|advice| detail.contains(advice));
    let is_refusal = matches!(status, StatusCode::FORBIDDEN | StatusCode::BAD_GATEWAY);
    let is_right = is_refusal && is_helpful && browser.session().is_none();
    (!is_right).then(|| format!("it is answered with {status}: {text}"))
}
