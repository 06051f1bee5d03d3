//! Invalid sign-ins, which sign in no user and create no tenant.

use reqwest::header::{ACCEPT, CONTENT_TYPE, SET_COOKIE};
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};
use switchhook::config::{Config, OidcSettings};
use switchhook::store::Engine;
use switchhook_core::sign_in::AllowList;
use switchhook_runtime::clock::Clock;
use url::Url;

use super::browser::{SESSION, answer, location};
use super::{Browser, browser, morning, tenant_names, with_provider};
use crate::doubles::oidc::{Oidc, Signed};
use crate::harness::TestService;

/// A response of the provider, and the resulting error.
struct Case {
    name: &'static str,
    path: String,
    status: u16,
    code: &'static str,
}

/// Checks the error of a callback that is correct except for one thing.
async fn refused(browser: &mut Browser, oidc: &Oidc, name: &'static str, claims: Value, signed: Signed) {
    let page = browser.login("/auth/login").await;
    let code = oidc.code(&page, claims, signed);
    let path = format!("/auth/callback?code={code}&state={}", state_of(&page));
    check(browser, Case { name, path, status: 403, code: "sign_in_refused" }).await;
}

fn state_of(page: &Url) -> String {
    page.query_pairs().find(|(name, _)| name == "state").expect("a state").1.into_owned()
}

async fn check(browser: &mut Browser, case: Case) {
    let response = browser.get(&case.path).await;
    let status = response.status().as_u16();
    let body: Value = response.json().await.expect("JSON for programs");
    assert_eq!((status, body["code"].as_str()), (case.status, Some(case.code)), "{}: {body}", case.name);
    assert_eq!(browser.cookies.get(SESSION), None, "{}", case.name);
}

#[tokio::test]
async fn id_tokens_that_do_not_hold_are_refused() {
    let (service, oidc) = with_provider(morning(), |_| {}).await;
    let mut browser = browser(&service);
    let now = morning().now().as_seconds();
    for (name, claims) in [
        ("another nonce", json!({ "nonce": "another" })),
        ("no nonce", json!({ "nonce": null })),
        ("another audience", json!({ "aud": "another" })),
        ("another audience too", json!({ "aud": ["switchhook", "another"] })),
        ("another audience too, which it was issued to", json!({ "aud": ["switchhook", "another"], "azp": "another" })),
        ("only other audiences", json!({ "aud": ["one", "another"], "azp": "switchhook" })),
        ("another issuer", json!({ "iss": "https://issuer.test" })),
        ("expired", json!({ "exp": now })),
        ("expired long ago", json!({ "iat": now - 900, "exp": now - 600 })),
        ("no subject", json!({ "sub": "" })),
        ("a subject that is no text", json!({ "sub": "a\u{0}b" })),
    ] {
        refused(&mut browser, &oidc, name, claims, Signed::Well).await;
    }
    for signed in [Signed::Not, Signed::WithSecret, Signed::ByAnother] {
        refused(&mut browser, &oidc, "signed", json!({}), signed).await;
    }
    assert_eq!(tenant_names(&service).await, Vec::<String>::new());
    // The same browser and provider, with everything correct.
    assert_eq!(browser.sign_in(&oidc, json!({})).await.status(), StatusCode::FOUND);
    service.stop().await;
}

#[tokio::test]
async fn a_state_is_good_once_in_its_own_browser_and_for_ten_minutes() {
    let clock = morning();
    let (service, oidc) = with_provider(clock.clone(), |_| {}).await;
    let mut ana = browser(&service);
    let page = ana.login("/auth/login").await;
    let code = || oidc.code(&page, json!({}), Signed::Well);
    let state = state_of(&page);
    let expired = |name, path| Case { name, path, status: 400, code: "sign_in_expired" };

    let path = format!("/auth/callback?code={}&state=", code());
    for (name, state) in [("no state", ""), ("a wrong state", "x"), ("a state of ours, changed", &state[1..])] {
        check(&mut ana, expired(name, format!("{path}{state}"))).await;
    }
    check(&mut ana, expired("nothing", "/auth/callback".to_owned())).await;
    check(&mut ana, expired("twice the same", format!("{path}{state}&state={state}"))).await;
    let mut eve = browser(&service);
    check(&mut eve, expired("another browser", format!("{path}{state}"))).await;
    eve.login("/auth/login").await;
    check(&mut eve, expired("another browser that began a sign-in too", format!("{path}{state}"))).await;

    assert_eq!(ana.come_back(&page, &code()).await.status(), StatusCode::FOUND);
    ana.cookies.remove(SESSION);
    check(
        &mut ana,
        expired("the same again, with a new code", format!("/auth/callback?code={}&state={state}", code())),
    )
    .await;

    let late = ana.login("/auth/login").await;
    let code = oidc.code(&late, json!({ "exp": clock.now().as_seconds() + 3600 }), Signed::Well);
    clock.advance(std::time::Duration::from_secs(600));
    check(&mut ana, expired("late", format!("/auth/callback?code={code}&state={}", state_of(&late)))).await;
    service.stop().await;
}

#[tokio::test]
async fn a_state_is_used_up_by_a_sign_in_that_succeeds_only() {
    let (service, oidc) = with_provider(morning(), |_| {}).await;
    let mut ana = browser(&service);
    let page = ana.login("/auth/login").await;
    let state = state_of(&page);
    for (query, status, code) in [
        ("error=access_denied", 403, "sign_in_declined"),
        ("code=unknown", 403, "sign_in_refused"),
        ("code=unknown&iss=https%3A%2F%2Fissuer.test", 403, "sign_in_refused"),
        ("x=y", 400, "sign_in_expired"),
    ] {
        let path = format!("/auth/callback?{query}&state={state}");
        check(&mut ana, Case { name: query, path, status, code }).await;
    }
    assert_eq!(used_sign_ins(&service).await, 0, "no sign-in succeeded");
    assert_eq!(ana.come_back(&page, &oidc.code(&page, json!({}), Signed::Well)).await.status(), StatusCode::FOUND);
    ana.cookies.remove(SESSION);
    let path = format!("/auth/callback?code={}&state={state}", oidc.code(&page, json!({}), Signed::Well));
    check(&mut ana, Case { name: "again", path, status: 400, code: "sign_in_expired" }).await;
    assert_eq!(used_sign_ins(&service).await, 1);
    service.stop().await;
}

/// "Back" and "Reload" after a sign-in.
#[tokio::test]
async fn who_comes_back_again_with_an_open_session_is_not_refused() {
    let clock = morning();
    let allow = |config: &mut Config| {
        config.oidc.as_mut().expect("it is on").allow = "ana@example.com".parse().expect("valid");
    };
    let (service, oidc) = with_provider(clock.clone(), allow).await;
    let mut ana = browser(&service);
    let page = ana.login("/auth/login?return_to=/calls").await;
    let (state, code) = (state_of(&page), oidc.code(&page, json!({}), Signed::Well));
    let path = format!("/auth/callback?code={code}&state={state}");
    assert_eq!(ana.get(&path).await.status(), StatusCode::FOUND);
    let session = ana.session().expect("a session").to_owned();

    let other = oidc.code(&page, json!({}), Signed::Well);
    let with_another_code = format!("/auth/callback?code={other}&state={state}");
    for (path, place) in [
        (path.as_str(), "/calls"),
        (with_another_code.as_str(), "/calls"),
        ("/auth/callback", "/"),
        ("/auth/callback?state=x", "/"),
    ] {
        let back = ana.get(path).await;
        assert_eq!((back.status(), location(back.headers()).as_str()), (StatusCode::FOUND, place), "{path}");
        assert_eq!((back.headers().get(SET_COOKIE), ana.session()), (None, Some(session.as_str())), "{path}");
    }
    assert_eq!(used_sign_ins(&service).await, 1);

    // What another attempt is refused for is shown.
    let eve = json!({ "sub": "eve", "email": "eve@example.com" });
    let page = ana.login("/auth/login").await;
    let not_allowed = format!("code={}&state={}", oidc.code(&page, eve, Signed::Well), state_of(&page));
    let declined = format!("error=access_denied&state={}", state_of(&page));
    for (query, code) in [(not_allowed, "sign_in_not_allowed"), (declined, "sign_in_declined")] {
        let (status, body) = answer(ana.request(Method::GET, &format!("/auth/callback?{query}"))).await;
        assert_eq!((status, &body["code"]), (StatusCode::FORBIDDEN, &json!(code)), "{body}");
    }

    // So is why a sign-in that began after the session was refused.
    clock.advance(std::time::Duration::from_secs(1));
    let page = ana.login("/auth/login").await;
    let (status, body) =
        answer(ana.request(Method::GET, &format!("/auth/callback?code=unknown&state={}", state_of(&page)))).await;
    assert_eq!((status, &body["code"]), (StatusCode::FORBIDDEN, &json!("sign_in_refused")), "{body}");

    // The state has expired before the session.
    clock.advance(std::time::Duration::from_secs(600));
    let back = ana.get(&path).await;
    assert_eq!((back.status(), location(back.headers()).as_str()), (StatusCode::FOUND, "/"));
    ana.act("/auth/logout", json!({})).await;
    ana.cookies.insert(SESSION.to_owned(), session);
    assert_eq!(ana.get(&path).await.status(), StatusCode::BAD_REQUEST, "its session has ended");
    service.stop().await;
}

/// Returns how many sign-ins the database remembers.
async fn used_sign_ins(service: &TestService) -> i64 {
    const SQL: &str = "SELECT COUNT(*) FROM used_sign_ins";
    let mut conn = service.store().read().await.expect("a connection");
    let count = match conn.engine() {
        Engine::Sqlite(c) => sqlx::query_scalar(SQL).fetch_one(c).await,
        Engine::Postgres(c) => sqlx::query_scalar(SQL).fetch_one(c).await,
    };
    count.expect("counted")
}

#[tokio::test]
async fn declined_sign_in_is_reported() {
    let (service, oidc) = with_provider(morning(), |_| {}).await;
    let mut ana = browser(&service);
    for (name, query, status, code) in [
        ("declined", "error=access_denied&error_description=%3Cb%3E", 403, "sign_in_declined"),
        ("a code of nobody", "code=unknown", 403, "sign_in_refused"),
        ("no code", "x=y", 400, "sign_in_expired"),
    ] {
        let page = ana.login("/auth/login").await;
        let path = format!("/auth/callback?{query}&state={}", state_of(&page));
        check(&mut ana, Case { name, path, status, code }).await;
    }
    let page = ana.login("/auth/login").await;
    let code = oidc.code(&page, json!({}), Signed::Well);
    let path = format!("/auth/callback?code={code}&state={}&iss=https%3A%2F%2Fissuer.test", state_of(&page));
    check(&mut ana, Case { name: "another issuer's code", path, status: 403, code: "sign_in_refused" }).await;

    let page = ana.login("/auth/login").await;
    let request = ana.request(Method::GET, &format!("/auth/callback?error=%3Cscript%3E&state={}", state_of(&page)));
    let shown = request.header(ACCEPT, "text/html,*/*").send().await.expect("an answer");
    assert_eq!(
        (shown.status().as_u16(), &shown.headers()[CONTENT_TYPE]),
        (403, &"text/html; charset=utf-8".parse().expect("a value"))
    );
    assert!(shown.headers()["content-security-policy"].to_str().expect("text").starts_with("default-src 'none'"));
    let page = shown.text().await.expect("text");
    assert!(page.contains("let you in: script.") && page.contains("href=\"/auth/login\""), "{page}");
    service.stop().await;
}

#[tokio::test]
async fn provider_outage_is_reported_and_leaves_the_api_running() {
    let clock = Clock::system();
    let (service, oidc) = with_provider(clock, |_| {}).await;
    let mut ana = browser(&service);
    let page = ana.login("/auth/login").await;
    let code = oidc.code(&page, json!({}), Signed::Well);
    oidc.stop().await;

    let back = ana.come_back(&page, &code).await;
    assert_eq!((back.status(), ana.session()), (StatusCode::BAD_GATEWAY, None));
    let (status, body) = answer(browser(&service).request(Method::GET, "/auth/session")).await;
    assert_eq!((status, &body["sign_in"]), (StatusCode::UNAUTHORIZED, &json!("oidc")), "pages need no provider");
    assert_eq!(service.client.get("/v1/tenant").await.0, StatusCode::OK);
    assert_eq!(tenant_names(&service).await, Vec::<String>::new());
    service.stop().await;

    let service = TestService::start_as(morning(), |config| config.oidc = Some(gone())).await;
    let request = browser(&service).request(Method::GET, "/auth/login").header(ACCEPT, "text/html");
    let shown = request.send().await.expect("an answer");
    assert_eq!(
        (shown.status(), &shown.headers()["retry-after"]),
        (StatusCode::BAD_GATEWAY, &"5".parse().expect("a value"))
    );
    assert!(shown.text().await.expect("text").contains("The API works without it."));
    let (status, body) = answer(browser(&service).request(Method::GET, "/auth/login")).await;
    assert_eq!((status, &body["code"]), (StatusCode::BAD_GATEWAY, &json!("identity_provider_unavailable")));
    service.stop().await;
}

/// Returns the settings of a provider that cannot be reached.
fn gone() -> OidcSettings {
    OidcSettings {
        issuer: "http://127.0.0.1:9".to_owned(),
        client_id: "switchhook".to_owned(),
        client_secret: None,
        allow: AllowList::default(),
        scopes: vec!["openid".to_owned()],
    }
}
