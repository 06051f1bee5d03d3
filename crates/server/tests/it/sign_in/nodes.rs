//! Two nodes on one database: a change on one takes effect on the other at once.

use reqwest::{Method, StatusCode};
use serde_json::{Value, json};
use switchhook_runtime::clock::Clock;

use super::browser::{SESSION, answer};
use super::{Browser, claims, invite, link};
use crate::doubles::oidc::{CLIENT_ID, CLIENT_SECRET, Oidc, Signed};
use crate::harness::postgres::Server;
use crate::harness::process::{Node, Process};
use crate::harness::{Client, text};
use crate::listening::Player;
use crate::web_calls;

/// The public URL of both nodes.
const PUBLIC: &str = "https://voice.test";

/// Creates a browser whose requests go to this node.
pub(super) fn at(node: &Process) -> Browser {
    let mut browser = Browser::new(&node.base);
    browser.origin = PUBLIC.to_owned();
    browser
}

/// Creates a node with this sign-in provider.
pub(super) async fn node_with(oidc: &Oidc) -> Node {
    with(Node::new().await, oidc)
}

fn with(node: Node, oidc: &Oidc) -> Node {
    node.with("SWITCHHOOK_PUBLIC_URL", PUBLIC)
        .with("SWITCHHOOK_OIDC_ISSUER", oidc.issuer())
        .with("SWITCHHOOK_OIDC_CLIENT_ID", CLIENT_ID)
        .with("SWITCHHOOK_OIDC_CLIENT_SECRET", CLIENT_SECRET)
}

/// Starts a server for the database of several processes. SQLite is for one.
async fn server() -> (Server, Node) {
    let server = tokio::task::block_in_place(Server::start);
    let node = Node::on(Some(server.database().await));
    (server, node)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_narrower_list_of_who_may_sign_in_ends_sessions_with_the_restart() {
    const ALLOW: &str = "SWITCHHOOK_OIDC_ALLOW";
    switchhook_net::install_tls();
    let oidc = Oidc::start(&Clock::system()).await;
    let node = node_with(&oidc).await;
    let before = node.serve_with(ALLOW, "@example.com");
    let mut people = [at(&before), at(&before)];
    let mut streams = Vec::new();
    for (browser, name) in people.iter_mut().zip(["ana", "bob"]) {
        browser.sign_in(&oidc, json!({ "sub": name, "email": format!("{name}@example.com") })).await;
        let (status, token) = browser.ask(Method::POST, "/v1/event-tokens", None).await;
        assert_eq!(status, StatusCode::OK, "{token}");
        streams.push(format!("/v1/events?limit=1&token={}", text(&token["token"])));
    }
    before.signal("TERM");
    before.ended().await;

    let after = node.serve_with(ALLOW, "ana@example.com");
    for ((browser, stream), status) in people.iter_mut().zip(&streams).zip([StatusCode::OK, StatusCode::UNAUTHORIZED]) {
        browser.base = after.base.clone();
        assert_eq!(browser.who().await.0, status);
        assert_eq!(browser.ask(Method::GET, "/v1/tenant", None).await.0, status);
        assert_eq!(answer(Browser::new(&after.base).request(Method::GET, stream)).await.0, status, "events");
    }
    after.signal("TERM");
    after.ended().await;

    let bob = &mut people[1];
    let wider = node.serve_with(ALLOW, "@example.com");
    bob.base = wider.base.clone();
    assert_eq!(bob.who().await.0, StatusCode::OK, "as long as the session lasts");
}

#[tokio::test(flavor = "multi_thread")]
async fn sessions_end_with_the_provider_that_vouched_for_them() {
    const ISSUER: &str = "SWITCHHOOK_OIDC_ISSUER";
    switchhook_net::install_tls();
    let (oidc, another) = (Oidc::start(&Clock::system()).await, Oidc::start(&Clock::system()).await);
    let node = node_with(&oidc).await;
    let before = node.serve();
    let mut ana = at(&before);
    ana.sign_in(&oidc, claims("ana")).await;
    assert_eq!(ana.who().await.0, StatusCode::OK);
    before.kill();

    // An operator who no longer trusts a provider configures another one.
    let after = node.serve_with(ISSUER, &another.issuer());
    ana.base = after.base.clone();
    assert_eq!(ana.who().await.0, StatusCode::UNAUTHORIZED);
    assert_eq!(ana.ask(Method::GET, "/v1/tenant", None).await.0, StatusCode::UNAUTHORIZED);
    after.kill();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_works_and_ends_on_every_node() {
    switchhook_net::install_tls();
    let oidc = Oidc::start(&Clock::system()).await;
    let (_server, node) = server().await;
    let node = with(node, &oidc);
    let (first, second) = (node.serve(), node.serve());

    // A balancer may send the first request to one node and the callback to the other.
    let mut ana = at(&first);
    let page = ana.login("/auth/login").await;
    ana.base = second.base.clone();
    let code = oidc.code(&page, json!({}), Signed::Well);
    assert_eq!(ana.come_back(&page, &code).await.status(), StatusCode::FOUND);
    ana.base = first.base.clone();
    let code = oidc.code(&page, json!({}), Signed::Well);
    let mut again = ana.clone();
    again.cookies.remove(SESSION);
    assert_eq!(
        again.come_back(&page, &code).await.status(),
        StatusCode::BAD_REQUEST,
        "the state was used on the other node"
    );
    let (status, who) = ana.who().await;
    assert_eq!(status, StatusCode::OK);
    assert_eq!(ana.ask(Method::POST, "/v1/api-keys", Some(json!({}))).await.0, StatusCode::CREATED);

    let mut elsewhere = ana.clone();
    elsewhere.base = second.base.clone();
    assert_eq!(elsewhere.who().await.1["person"]["id"], who["person"]["id"]);
    let logout = ana.api(Method::POST, "/auth/logout");
    ana.send(logout).await;
    assert_eq!(elsewhere.who().await.0, StatusCode::UNAUTHORIZED, "signed out on the other node");

    elsewhere.sign_in(&oidc, json!({})).await;
    ana.cookies = elsewhere.cookies.clone();
    assert_eq!(ana.who().await.0, StatusCode::OK);
    let deactivated = node.command().args(["tenant", "deactivate", &text(&who["tenant"]["id"])]).output();
    assert!(deactivated.expect("the binary starts").status.success());
    for browser in [&ana, &elsewhere] {
        assert_eq!(browser.ask(Method::GET, "/v1/tenant", None).await.0, StatusCode::UNAUTHORIZED);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_invitation_is_accepted_on_any_node_and_once() {
    switchhook_net::install_tls();
    let oidc = Oidc::start(&Clock::system()).await;
    let (_server, node) = server().await;
    let node = with(node, &oidc);
    let (first, second) = (node.serve(), node.serve());
    let mut ana = at(&first);
    ana.sign_in(&oidc, claims("ana")).await;
    let invited = invite(&ana, "bob", "member").await;
    assert!(text(&invited["invitation_url"]).starts_with(&format!("{PUBLIC}/invitation#")));

    let mut bobs = [at(&first), at(&second)];
    for (number, browser) in bobs.iter_mut().enumerate() {
        browser.sign_in(&oidc, json!({ "sub": format!("bob {number}"), "email": "bob@example.com" })).await;
    }
    let [one, other] = &mut bobs;
    let accept = "/auth/invitation/accept";
    let (one, other) = tokio::join!(one.act(accept, link(&invited)), other.act(accept, link(&invited)));
    let mut came = [one.0, other.0];
    came.sort();
    assert_eq!(came, [StatusCode::NO_CONTENT, StatusCode::NOT_FOUND]);
    let (_, people) = ana.ask(Method::GET, "/v1/people", None).await;
    assert_eq!(people["data"][0]["status"], "active");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_role_that_changes_on_one_node_ends_listening_and_web_calls_on_another() {
    switchhook_net::install_tls();
    let oidc = Oidc::start(&Clock::system()).await;
    let (_server, node) = server().await;
    let node = with(node, &oidc).with("SWITCHHOOK_RATE_LIMIT_PER_MINUTE", "100000");
    // Calls run on the second one only.
    let (first, second) = (node.serve_as("api"), node.serve());
    let mut ana = at(&first);
    ana.sign_in(&oidc, claims("ana")).await;
    let (_, key) = ana.ask(Method::POST, "/v1/api-keys", Some(json!({}))).await;
    let program = Client::new(first.base.clone(), text(&key["key"]));
    let agent = program.scripted_agent(json!({ "silence": { "hangup_after_seconds": null } })).await;
    let invited = invite(&ana, "bob", "member").await;
    let mut bob = at(&second);
    bob.sign_in(&oidc, claims("bob")).await;
    assert_eq!(bob.act("/auth/invitation/accept", link(&invited)).await.0, StatusCode::NO_CONTENT);
    let person = format!("/v1/people/{}", text(&bob.who().await.1["person"]["id"]));

    let held = program.place(&agent, "+12025550109").await;
    program.wait_for(&held, |call| call["status"] == "in_progress").await;
    let socket = second.base.replacen("http", "ws", 1);
    let at_second = |url: &Value| text(url).replacen("wss://voice.test", &socket, 1);
    let (_, listening) = bob.ask(Method::POST, &format!("/v1/calls/{held}/listen"), None).await;
    let mut player = Player::at(&at_second(&listening["url"])).await.expect("the token is good");
    let body = json!({ "agent_id": agent.id, "to": "web" });
    let (_, placed) = bob.ask(Method::POST, "/v1/calls", Some(body)).await;
    let mut page = web_calls::Browser::connect(&at_second(&placed["web"]["url"])).await;
    player.during(page.text("the agent's words", |text| text["state"] == "speaking")).await;

    let demotion = ana.ask(Method::PATCH, &person, Some(json!({ "role": "viewer" })));
    let ((status, refused), closed, end) = tokio::join!(demotion, player.until_closed(), page.end());
    assert_eq!(status, StatusCode::OK, "{refused}");
    assert_eq!((closed, &end["end_reason"]), (1008, &json!("api_hangup")), "{end}");
    assert_eq!(program.get(&format!("/v1/calls/{held}")).await.1["status"], "in_progress");
}
