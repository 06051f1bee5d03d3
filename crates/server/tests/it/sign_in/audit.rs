//! The audit log: it has each change with its tenant and actor, and nothing personal.

use reqwest::{Method, StatusCode};
use serde_json::{Value, json};
use switchhook_runtime::clock::Clock;

use super::nodes::{at, node_with};
use super::{Browser, claims, invite, link};
use crate::doubles::oidc::Oidc;
use crate::harness::{Client, text};

/// Returns the ids of the current tenant and of the person there.
async fn place(browser: &Browser) -> (Value, Value) {
    let (_, who) = browser.who().await;
    (who["tenant"]["id"].clone(), who["person"]["id"].clone())
}

/// Returns the lines of the audit log.
fn audit(log: &str) -> Vec<Value> {
    let lines = log.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    lines.filter(|line| line["target"] == "switchhook::audit").collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn each_change_leaves_a_line_with_its_tenant_and_actor_and_nothing_personal() {
    switchhook_net::install_tls();
    let oidc = Oidc::start(&Clock::system()).await;
    let node = node_with(&oidc).await.with("SWITCHHOOK_LOG_FORMAT", "json");
    let service = node.serve();
    let (mut ana, mut bob) = (at(&service), at(&service));
    ana.sign_in(&oidc, claims("ana")).await;
    let (hers, ana_id) = place(&ana).await;
    bob.sign_in(&oidc, claims("bob")).await;
    let (his, bob_at_home) = place(&bob).await;

    let (status, key) = ana.ask(Method::POST, "/v1/api-keys", Some(json!({}))).await;
    assert_eq!(status, StatusCode::CREATED, "{key}");
    let program = Client::new(service.base.clone(), text(&key["key"]));
    let agent = json!({ "name": "Ava", "instructions": "Talk." });
    program.create("/v1/agents", agent.clone()).await;
    assert_eq!(program.post("/v1/agents", json!({ "name": 7 })).await.0, StatusCode::UNPROCESSABLE_ENTITY);

    let invited = invite(&ana, "bob", "viewer").await;
    assert_eq!(bob.act("/auth/invitation", link(&invited)).await.0, StatusCode::OK);
    assert_eq!(bob.act("/auth/invitation/accept", link(&invited)).await.0, StatusCode::NO_CONTENT);
    let (there, bob_there) = place(&bob).await;
    assert_eq!((&there, &bob_there), (&hers, &invited["id"]));
    assert_eq!(bob.ask(Method::POST, "/v1/agents", Some(agent)).await.0, StatusCode::FORBIDDEN);
    let person = format!("/v1/people/{}", text(&bob_there));
    assert_eq!(ana.ask(Method::PATCH, &person, Some(json!({ "role": "member" }))).await.0, StatusCode::OK);
    assert_eq!(bob.act("/auth/tenant", json!({ "id": his })).await.0, StatusCode::NO_CONTENT);
    let cookies = [ana.session(), bob.session()].map(|cookie| cookie.expect("a session").to_owned());
    assert_eq!(bob.act("/auth/logout", json!({})).await.0, StatusCode::NO_CONTENT);
    service.signal("TERM");
    service.ended().await;

    let log = node.log();
    let lines = audit(&log);
    let fields = ["method", "route", "status", "outcome", "tenant_id", "actor_kind", "actor_id", "to_tenant_id"];
    let logged: Vec<_> = lines.iter().map(|line| json!(fields.map(|field| line["fields"][field].clone()))).collect();
    let expected = [
        json!(["GET", "/auth/callback", 302, "made", hers, "person", ana_id, null]),
        json!(["GET", "/auth/callback", 302, "made", his, "person", bob_at_home, null]),
        json!(["POST", "/v1/api-keys", 201, "made", hers, "person", ana_id, null]),
        json!(["POST", "/v1/agents", 201, "made", hers, "api_key", key["id"], null]),
        json!(["POST", "/v1/people", 201, "made", hers, "person", ana_id, null]),
        json!(["POST", "/auth/invitation/accept", 204, "made", his, "person", bob_at_home, hers]),
        json!(["POST", "/v1/agents", 403, "refused", hers, "person", bob_there, null]),
        json!(["PATCH", "/v1/people/{id}", 200, "made", hers, "person", ana_id, null]),
        json!(["POST", "/auth/tenant", 204, "made", hers, "person", bob_there, his]),
        json!(["POST", "/auth/logout", 204, "made", his, "person", bob_at_home, null]),
    ];
    assert_eq!(logged, expected, "{log}");
    let private = [text(&key["key"]), text(&link(&invited)["token"])];
    for line in lines {
        assert!(line["fields"]["request_id"].is_string() && line["level"] == "INFO", "{line}");
        let line = line.to_string();
        assert!(!line.contains('@') && !line.contains('?'), "neither an address nor a query: {line}");
        assert!(!private.iter().chain(&cookies).any(|secret| line.contains(secret.as_str())), "{line}");
    }
}
