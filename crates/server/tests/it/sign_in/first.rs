//! The first sign-in creates a tenant, later ones find it.

use futures_util::future::join_all;
use reqwest::header::LOCATION;
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use super::browser::{answer, location};
use super::{browser, morning, tenant_names, with_provider};
use crate::doubles::oidc::Signed;
use crate::harness::Client;

#[tokio::test]
async fn a_first_sign_in_makes_a_tenant_and_the_next_one_finds_it() {
    let (service, oidc) = with_provider(morning(), |_| {}).await;
    let mut ana = browser(&service);
    let (status, signed_out) = ana.who().await;
    assert_eq!(
        (status, &signed_out["code"], &signed_out["sign_in"]),
        (StatusCode::UNAUTHORIZED, &json!("unauthorized"), &json!("oidc"))
    );

    let page = ana.login("/auth/login?return_to=/calls/7%3Ft%3D1").await;
    let back = ana.come_back(&page, &oidc.code(&page, json!({}), Signed::Well)).await;
    assert_eq!((back.status(), location(back.headers()).as_str()), (StatusCode::FOUND, "/calls/7?t=1"));
    let first = ana.session().expect("a session").to_owned();
    let (status, who) = ana.who().await;
    assert_eq!(status, StatusCode::OK, "{who}");
    let person = &who["person"];
    assert_eq!(
        (&person["email"], &person["name"], &person["role"]),
        (&json!("ana@example.com"), &json!("Ana"), &json!("owner"))
    );
    assert_eq!((&who["tenant"]["name"], &who["tenant"]["rate_limit"]["limit"]), (&json!("Ana"), &json!(120)));
    assert_eq!(who["expires_at"], "2026-11-21T21:00:00.000000Z", "twelve hours without use");
    assert_eq!(ana.ask(Method::GET, "/v1/tenant", None).await, (StatusCode::OK, who["tenant"].clone()));

    // The session creates a key, which then works.
    let (status, key) = ana.ask(Method::POST, "/v1/api-keys", Some(json!({ "name": "ci" }))).await;
    assert_eq!(status, StatusCode::CREATED, "{key}");
    let program = Client::new(service.client.base.clone(), key["key"].as_str().expect("a key").to_owned());
    assert_eq!(program.get("/v1/tenant").await.1["id"], who["tenant"]["id"]);

    let changed = json!({ "name": "Ana Maria", "email": "ana.maria@example.com" });
    ana.sign_in(&oidc, changed).await;
    let (_, again) = ana.who().await;
    assert_eq!((&again["person"]["id"], &again["tenant"]["id"]), (&person["id"], &who["tenant"]["id"]));
    assert_eq!(again["person"]["email"], "ana.maria@example.com", "as the provider has it now");
    assert_eq!(tenant_names(&service).await, ["Ana"]);
    assert_ne!(ana.session(), Some(first.as_str()));
    ana.cookies.insert(super::browser::SESSION.to_owned(), first);
    assert_eq!(ana.who().await.0, StatusCode::UNAUTHORIZED, "a new sign-in ends the browser's session");
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn fifty_first_sign_ins_at_once_make_one_tenant() {
    let (service, oidc) = with_provider(morning(), |_| {}).await;
    // One browser has all of them in its tabs.
    let mut opener = browser(&service);
    let mut tabs = Vec::new();
    for _ in 0..50 {
        let page = opener.login("/auth/login").await;
        let code = oidc.code(&page, json!({}), Signed::Well);
        tabs.push((page, code));
    }
    let coming = tabs.into_iter().map(|(page, code)| {
        let mut tab = opener.clone();
        async move {
            let back = tab.come_back(&page, &code).await.status();
            (back, tab.who().await.1)
        }
    });
    let came = join_all(coming).await;
    for (status, who) in &came {
        assert_eq!((*status, &who["tenant"]["id"]), (StatusCode::FOUND, &came[0].1["tenant"]["id"]), "{who}");
        assert_eq!(who["person"]["id"], came[0].1["person"]["id"]);
    }
    assert_eq!(tenant_names(&service).await, ["Ana"]);
    service.stop().await;
}

#[tokio::test]
async fn the_identity_is_issuer_and_subject_and_nothing_else() {
    let (service, oidc) = with_provider(morning(), |_| {}).await;
    let (mut ana, mut twin) = (browser(&service), browser(&service));
    ana.sign_in(&oidc, json!({})).await;
    twin.sign_in(&oidc, json!({ "sub": "another" })).await;
    assert_ne!(
        ana.who().await.1["tenant"]["id"],
        twin.who().await.1["tenant"]["id"],
        "the same address, another person"
    );
    service.stop().await;
}

#[tokio::test]
async fn claims_that_are_not_in_the_id_token_are_asked_for() {
    let (service, oidc) = with_provider(morning(), |_| {}).await;
    let bare = || json!({ "email": null, "email_verified": null, "name": null });
    let mut ana = browser(&service);
    let page = ana.login("/auth/login").await;
    let claims = json!({ "sub": "ana", "email": "Ana@Example.com", "email_verified": "true", "name": "Ana" });
    ana.come_back(&page, &oidc.code_with(&page, bare(), Signed::Well, claims)).await;
    assert_eq!(ana.who().await.1["person"]["email"], "ana@example.com");

    // Core, section 5.3.2: the claims may belong to another person.
    let mut bob = browser(&service);
    let page = bob.login("/auth/login").await;
    let back = bob.come_back(&page, &oidc.code_with(&page, bare(), Signed::Well, json!({ "sub": "eve" }))).await;
    assert_eq!((back.status(), bob.session()), (StatusCode::FORBIDDEN, None));

    let nameless = json!({ "sub": "nobody", "email": null, "email_verified": null, "name": null });
    let page = bob.login("/auth/login").await;
    bob.come_back(&page, &oidc.code_with(&page, nameless, Signed::Well, json!({ "sub": "nobody" }))).await;
    assert_eq!(bob.who().await.1["person"]["email"], Value::Null);
    service.stop().await;
}

/// Okta's thin ID tokens have an address without the flag; Entra's user info has no flag either.
#[tokio::test]
async fn a_flag_that_is_not_in_the_id_token_is_asked_for() {
    let allow = |config: &mut switchhook::config::Config| {
        config.oidc.as_mut().expect("it is on").allow = "ana@example.com".parse().expect("valid");
    };
    let (strict, strict_oidc) = with_provider(morning(), allow).await;
    let (open, open_oidc) = with_provider(morning(), |_| {}).await;
    let ana = "ana@example.com";
    let said = |sub: &str, email: &str, flag: Value| json!({ "sub": sub, "email": email, "email_verified": flag });
    let odd = json!({ "sub": "10", "email": ana, "email_verified": true, "locale": 7 });
    for (sub, flag, user_info, allowed, address) in [
        ("1", Value::Null, said("1", ana, json!(true)), true, ana),
        ("2", Value::Null, said("2", "Ana@Example.com", json!("true")), true, ana),
        // The flag is about the address beside it.
        ("3", Value::Null, said("3", "eve@example.com", json!(true)), false, "eve@example.com"),
        ("4", Value::Null, said("4", ana, json!(false)), false, ana),
        ("5", Value::Null, json!({ "sub": "5", "email": ana }), false, ana),
        ("6", Value::Null, json!({ "sub": "6", "email_verified": true }), false, ana),
        // Another person's claims, and none.
        ("7", Value::Null, said("eve", ana, json!(true)), false, ana),
        ("8", Value::Null, json!({}), false, ana),
        // An explicit one is final.
        ("9", json!(false), said("9", ana, json!(true)), false, ana),
        // Other claims, and the flag itself, of another type.
        ("10", Value::Null, odd, true, ana),
        ("11", Value::Null, said("11", ana, json!("yes")), false, ana),
    ] {
        let claims = json!({ "sub": sub, "email_verified": flag });
        let expected = if allowed { StatusCode::FOUND } else { StatusCode::FORBIDDEN };
        let mut person = browser(&strict);
        let page = person.login("/auth/login").await;
        let code = strict_oidc.code_with(&page, claims.clone(), Signed::Well, user_info.clone());
        let back = person.come_back(&page, &code).await;
        assert_eq!((back.status(), person.session().is_some()), (expected, allowed), "{sub}: {user_info}");

        let mut person = browser(&open);
        let page = person.login("/auth/login").await;
        let back = person.come_back(&page, &open_oidc.code_with(&page, claims, Signed::Well, user_info)).await;
        assert_eq!(back.status(), StatusCode::FOUND, "{sub}");
        assert_eq!(person.who().await.1["person"]["email"], address, "{sub}");
    }
    assert_eq!(strict_oidc.requests("/userinfo"), 10, "an explicit flag is not asked for");
    strict.stop().await;
    open.stop().await;
}

/// Core, section 3.1.3.7: `azp` names the client that the token was issued to.
#[tokio::test]
async fn a_token_for_several_audiences_signs_in_at_the_client_that_it_was_issued_to() {
    let (service, oidc) = with_provider(morning(), |_| {}).await;
    for (subject, claims) in [
        ("project", json!({ "aud": ["another", "switchhook", "project-7"], "azp": "switchhook" })),
        ("one", json!({ "aud": ["switchhook"], "azp": "switchhook" })),
        ("twice", json!({ "aud": ["switchhook", "switchhook"] })),
    ] {
        let mut ana = browser(&service);
        let mut all = claims.clone();
        all["sub"] = json!(subject);
        let back = ana.sign_in(&oidc, all).await;
        assert_eq!((back.status(), ana.session().is_some()), (StatusCode::FOUND, true), "{claims}");
    }
    service.stop().await;
}

/// Core, section 5.1, has seconds; some providers send RFC 3339.
#[tokio::test]
async fn times_are_read_as_seconds_and_as_text() {
    let (service, oidc) = with_provider(morning(), |_| {}).await;
    for (subject, updated_at) in [
        ("whole", json!(1_766_487_547)),
        ("fraction", json!(1_766_487_547.841)),
        ("utc", json!("2025-12-23T10:59:07.841Z")),
        ("offset", json!("2025-12-23T11:59:07+01:00")),
    ] {
        let mut ana = browser(&service);
        let back = ana.sign_in(&oidc, json!({ "sub": subject, "updated_at": updated_at })).await;
        assert_eq!((back.status(), ana.session().is_some()), (StatusCode::FOUND, true), "{subject}");
    }
    // The same claim of the user info endpoint.
    let mut ana = browser(&service);
    let page = ana.login("/auth/login").await;
    let bare = json!({ "email": null, "email_verified": null });
    let claims = json!({
        "sub": "ana", "email": "ana@example.com", "email_verified": true, "updated_at": "2025-12-23T10:59:07.841Z",
    });
    ana.come_back(&page, &oidc.code_with(&page, bare, Signed::Well, claims)).await;
    assert_eq!(ana.who().await.1["person"]["email"], "ana@example.com");
    service.stop().await;
}

/// Azure AD sends numbers as text, and some discovery documents lack the types of subjects.
#[tokio::test]
async fn members_that_are_not_used_may_have_any_type() {
    let (service, oidc) = with_provider(morning(), |_| {}).await;
    let metadata = json!({ "subject_types_supported": null, "op_policy_uri": "", "claims_supported": "all" });
    oidc.replace("/.well-known/openid-configuration", metadata);
    for (subject, tokens) in [
        ("text", json!({ "expires_in": "3600", "ext_expires_in": "3600", "not_before": "1763712000" })),
        ("fraction", json!({ "expires_in": 3599.5 })),
        ("scopes", json!({ "scope": ["openid", "email"], "refresh_token": false })),
    ] {
        oidc.replace("/token", tokens);
        let mut ana = browser(&service);
        let back = ana.sign_in(&oidc, json!({ "sub": subject })).await;
        assert_eq!((back.status(), ana.session().is_some()), (StatusCode::FOUND, true), "{subject}");
    }
    service.stop().await;
}

#[tokio::test]
async fn claims_of_another_type_are_left_out_of_user_info() {
    let (service, oidc) = with_provider(morning(), |_| {}).await;
    let ana = json!("ana@example.com");
    for (subject, claims, email) in [
        ("time", json!({ "updated_at": "yesterday" }), &ana),
        ("empty", json!({ "updated_at": "", "picture": "" }), &ana),
        ("locale", json!({ "locale": { "language": "es" }, "zoneinfo": -5 }), &ana),
        ("address", json!({ "address": "Lima", "phone_number": 511 }), &ana),
        ("name", json!({ "name": { "given": "Ana" } }), &ana),
        ("list", json!({ "email": ["ana@example.com"] }), &Value::Null),
    ] {
        let mut user_info = json!({ "sub": subject, "email": "ana@example.com", "email_verified": true });
        for (name, value) in claims.as_object().expect("an object") {
            user_info[name] = value.clone();
        }
        let bare = json!({ "sub": subject, "email": null, "email_verified": null, "name": null });
        let mut browser = browser(&service);
        let page = browser.login("/auth/login").await;
        let back = browser.come_back(&page, &oidc.code_with(&page, bare, Signed::Well, user_info)).await;
        assert_eq!(back.status(), StatusCode::FOUND, "{subject}");
        assert_eq!(&browser.who().await.1["person"]["email"], email, "{subject}");
    }
    service.stop().await;
}

#[tokio::test]
async fn a_token_that_is_signed_with_p_384_holds() {
    let (service, oidc) = with_provider(morning(), |_| {}).await;
    let mut ana = browser(&service);
    let page = ana.login("/auth/login").await;
    let back = ana.come_back(&page, &oidc.code(&page, json!({}), Signed::WithP384)).await;
    assert_eq!((back.status(), ana.session().is_some()), (StatusCode::FOUND, true));
    service.stop().await;
}

#[tokio::test]
async fn only_verified_addresses_that_are_allowed_sign_in() {
    let allow = |config: &mut switchhook::config::Config| {
        let oidc = config.oidc.as_mut().expect("it is on");
        oidc.allow = "ana@example.com,@example.org,@work.example".parse().expect("valid");
    };
    let (service, oidc) = with_provider(morning(), allow).await;
    for (claims, signed_in) in [
        (json!({ "sub": "1" }), true),
        (json!({ "sub": "2", "email": "bob@example.org" }), true),
        (json!({ "sub": "3", "email": "bob@example.com" }), false),
        (json!({ "sub": "4", "email_verified": false }), false),
        (json!({ "sub": "5", "email_verified": null }), false),
        (json!({ "sub": "6", "email": "ana@wor\u{212A}.example" }), false),
    ] {
        let mut browser = browser(&service);
        let back = browser.sign_in(&oidc, claims.clone()).await;
        let expected = if signed_in { StatusCode::FOUND } else { StatusCode::FORBIDDEN };
        assert_eq!((back.status(), browser.session().is_some()), (expected, signed_in), "{claims}");
    }
    assert_eq!(tenant_names(&service).await.len(), 2);

    // Who is no longer allowed is signed out everywhere.
    let mut bob = browser(&service);
    bob.sign_in(&oidc, json!({ "sub": "2", "email": "bob@example.org" })).await;
    let back = browser(&service).sign_in(&oidc, json!({ "sub": "2", "email": "bob@elsewhere.example" })).await;
    assert_eq!((back.status(), bob.who().await.0), (StatusCode::FORBIDDEN, StatusCode::UNAUTHORIZED));
    service.stop().await;
}

#[tokio::test]
async fn a_sign_in_returns_to_this_service_only() {
    let (service, oidc) = with_provider(morning(), |_| {}).await;
    for (wish, place) in [
        ("/agents", "/agents"),
        ("//evil.test/", "/"),
        ("https://evil.test/", "/"),
        ("/%5Cevil.test/", "/"),
        ("/%0A/evil.test", "/"),
        ("/auth/login", "/"),
        ("x&return_to=/calls", "/"),
    ] {
        let mut browser = browser(&service);
        let page = browser.login(&format!("/auth/login?return_to={wish}")).await;
        let back = browser.come_back(&page, &oidc.code(&page, json!({}), Signed::Well)).await;
        assert_eq!(location(back.headers()), place, "{wish}");
    }
    service.stop().await;
}

#[tokio::test]
async fn a_sign_in_at_another_name_of_this_machine_begins_at_the_public_address() {
    let (service, _oidc) = with_provider(morning(), |_| {}).await;
    let base = &service.client.base;
    let port = base.rsplit(':').next().expect("a port");
    let here = browser(&service)
        .request(Method::GET, "/auth/login?return_to=/calls")
        .header("Host", format!("localhost:{port}"));
    let moved = here.send().await.expect("an answer");
    assert_eq!(moved.headers()[LOCATION], format!("{base}/auth/login?return_to=%2Fcalls&moved=1"));
    let (status, _) = answer(browser(&service).request(Method::GET, "/v1/tenant")).await;
    assert_eq!(status, StatusCode::UNAUTHORIZED);
    service.stop().await;
}

/// A proxy may leave the port out of `Host`, or send a name of its own.
#[tokio::test]
async fn a_sign_in_behind_a_proxy_on_this_machine_reaches_the_provider_whatever_host_the_proxy_names() {
    let (service, oidc) = with_provider(morning(), |_| {}).await;
    for (host, redirects) in [("127.0.0.1", 0), ("127.0.0.1:1", 0), ("localhost", 1), ("localhost:1", 1)] {
        let browser = browser(&service);
        let mut path = "/auth/login?return_to=/calls".to_owned();
        let mut followed = 0;
        let place = loop {
            let asked = browser.request(Method::GET, &path).header("Host", host).send().await.expect("an answer");
            let place = location(asked.headers());
            match place.strip_prefix(&format!("{}/", service.client.base)) {
                Some(rest) if followed < 3 => path = format!("/{rest}"),
                _ => break place,
            }
            followed += 1;
        };
        assert!(place.starts_with(&oidc.issuer()), "{host}: {place}");
        assert_eq!(followed, redirects, "{host}");
    }
    service.stop().await;
}
