//! The sign-in of `switchhook dev`, which needs no identity provider, and services without sign-in.

use reqwest::header::{HOST, ORIGIN};
use reqwest::{Method, StatusCode};
use serde_json::json;
use switchhook::config::Config;
use switchhook::operator;
use switchhook::sign_in::SignIn;
use switchhook_core::api_key::Environment;
use switchhook_runtime::clock::Clock;

use super::browser::{answer, location};
use super::{browser, morning, tenant_names, with_provider};
use crate::harness::{TestService, text};

async fn developing(change: impl FnOnce(&mut Config)) -> TestService {
    TestService::start_as(Clock::system(), |config| {
        config.local_sign_in = true;
        change(config);
    })
    .await
}

/// Returns the link in the terminal.
fn link(service: &TestService) -> String {
    let SignIn::Local(link) = service.sign_in() else { panic!("there is no local sign-in") };
    link.path()
}

#[tokio::test]
async fn a_developer_signs_in_by_the_link_in_the_terminal_to_the_seeded_tenant() {
    let service = developing(|_| {}).await;
    let config = Config::for_tests(service.data_dir());
    let seeded = operator::seed(service.store(), &config).await.expect("seeded");
    let mut developer = browser(&service);
    assert_eq!(developer.who().await.1["sign_in"], "local");
    let in_ = developer.get(&format!("{}&return_to=/agents", link(&service))).await;
    assert_eq!((in_.status(), location(in_.headers()).as_str()), (StatusCode::FOUND, "/agents"));
    let (_, who) = developer.who().await;
    assert_eq!((&who["tenant"]["id"], &who["person"]["role"]), (&json!(seeded.tenant.id), &json!("owner")));
    assert_eq!(developer.ask(Method::POST, "/v1/api-keys", Some(json!({}))).await.0, StatusCode::CREATED);

    // The page may be open under another name of this machine.
    let port = developer.base.rsplit(':').next().expect("a port").to_owned();
    let host = format!("localhost:{port}");
    for (host, origin, status) in [
        (host.as_str(), format!("http://{host}"), StatusCode::CREATED),
        (host.as_str(), "http://localhost:1".to_owned(), StatusCode::FORBIDDEN),
        ("evil.test", "http://evil.test".to_owned(), StatusCode::FORBIDDEN),
    ] {
        let request = developer.request(Method::POST, "/v1/api-keys").header(HOST, host).header(ORIGIN, &origin);
        assert_eq!(answer(request.json(&json!({}))).await.0, status, "{host} {origin}");
    }
    service.stop().await;
}

/// A port of this machine may be forwarded from anywhere: the requested address and name prove nothing.
#[tokio::test]
async fn local_sign_in_requires_an_unused_link() {
    let service = developing(|_| {}).await;
    let SignIn::Local(shown) = service.sign_in() else { panic!("there is no local sign-in") };
    let first = link(&service);
    let preview = browser(&service).request(Method::HEAD, &first).send().await.expect("an answer");
    assert_eq!(preview.status(), StatusCode::FORBIDDEN, "a preview does not use it up");
    shown.asked().await;
    let in_ = browser(&service).get(&first).await;
    assert_eq!(in_.status(), StatusCode::FOUND);
    let wrong = format!("/auth/login?token={}", "A".repeat(43));
    for path in ["/auth/login", "/auth/login?token=", &wrong, &first] {
        let stranger = browser(&service);
        let (status, body) = answer(stranger.request(Method::GET, path)).await;
        assert_eq!((status, &body["code"]), (StatusCode::FORBIDDEN, &json!("sign_in_link_required")), "{path}");
        assert_eq!(stranger.who().await.0, StatusCode::UNAUTHORIZED, "{path}");
        // The next link is shown in the terminal.
        shown.asked().await;
    }
    assert_eq!(browser(&service).get(&link(&service)).await.status(), StatusCode::FOUND);
    service.stop().await;
}

#[tokio::test]
async fn a_service_that_is_reached_elsewhere_has_no_local_sign_in() {
    for address in ["https://calls.example.com", "http://192.0.2.7:8080", "http://localhost.example.com"] {
        let service = developing(|config| config.public_url = Some(address.to_owned())).await;
        assert_eq!(browser(&service).get("/auth/login").await.status(), StatusCode::NOT_FOUND, "{address}");
        service.stop().await;
    }
}

#[tokio::test]
async fn only_a_browser_on_this_machine_signs_in_so() {
    let service = developing(|_| {}).await;
    for (name, value) in [("host", "evil.test"), ("x-forwarded-for", "203.0.113.7"), ("forwarded", "for=203.0.113.7")] {
        let (status, body) = answer(browser(&service).request(Method::GET, &link(&service)).header(name, value)).await;
        assert_eq!((status, &body["code"]), (StatusCode::FORBIDDEN, &json!("sign_in_local_only")), "{name}");
    }
    assert_eq!(tenant_names(&service).await, Vec::<String>::new());
    service.stop().await;
}

/// A service in production, started as `switchhook dev` would.
fn production(config: &mut Config) {
    config.env = Environment::Prod;
    config.master_key = Some("AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE=".to_owned().into());
    config.local_sign_in = true;
}

#[tokio::test]
async fn production_without_a_provider_has_no_sign_in() {
    let link = format!("/auth/login?token={}", "A".repeat(43));
    for service in [developing(production).await, TestService::start().await] {
        assert!(matches!(service.sign_in(), SignIn::Off));
        let mut browser = browser(&service);
        assert_eq!(browser.who().await.1["sign_in"], "off");
        for path in ["/auth/login", &link] {
            let refused = browser.get(path).await;
            assert_eq!((refused.status(), browser.session()), (StatusCode::NOT_FOUND, None), "{path}");
            let words = refused.text().await.expect("text");
            assert!(words.contains("SWITCHHOOK_OIDC_ISSUER"), "it says how to turn it on: {words}");
        }
        assert_eq!(browser.get("/auth/callback?state=x&code=y").await.status(), StatusCode::BAD_REQUEST);
        service.stop().await;
    }
}

#[tokio::test]
async fn production_signs_in_at_the_provider_whatever_the_link_and_its_keys_are_of_production() {
    let (service, oidc) = with_provider(morning(), production).await;
    assert!(matches!(service.sign_in(), SignIn::Oidc(_)));
    let mut ana = browser(&service);
    let page = ana.login(&format!("/auth/login?token={}", "A".repeat(43))).await;
    assert!(page.as_str().starts_with(&oidc.issuer()), "{page}");
    assert_eq!((ana.session(), ana.who().await.0), (None, StatusCode::UNAUTHORIZED));
    // The browser asserts of each cookie that it is secure.
    let back = ana.sign_in(&oidc, json!({})).await;
    assert_eq!((back.status(), ana.session().is_some()), (StatusCode::FOUND, true));
    assert!(ana.cookies.keys().all(|name| name.starts_with("__Host-")), "{:?}", ana.cookies.keys());
    let (status, key) = ana.ask(Method::POST, "/v1/api-keys", Some(json!({}))).await;
    assert_eq!(status, StatusCode::CREATED, "{key}");
    assert!(text(&key["key"]).starts_with("vk_prod_"));
    service.stop().await;
}
