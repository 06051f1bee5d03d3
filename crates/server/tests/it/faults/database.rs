//! The database is unavailable, behind a proxy without a server, or read-only.

use reqwest::{Method, StatusCode};
use serde_json::{Value, json};
use switchhook_core::private::Private;
use switchhook_runtime::clock::Clock;

use super::gate::Gate;
use crate::cluster::until;
use crate::harness::postgres::Server;
use crate::harness::{Client, TIMEOUT, TestService};

pub(super) async fn service_on(database: String) -> TestService {
    TestService::start_as(Clock::system(), |config| config.database_url = Some(Private::new(database))).await
}

/// Asserts that the response reports that the database is unavailable, and when to retry.
async fn assert_away(client: &Client, method: Method, path: &str) {
    let response = client.request(method.clone(), path).json(&json!({})).send().await.expect("an answer");
    let (status, again) = (response.status(), response.headers().get("retry-after").cloned());
    let body: Value = response.json().await.expect("JSON");
    assert_eq!(
        (status, &body["code"]),
        (StatusCode::SERVICE_UNAVAILABLE, &json!("database_unavailable")),
        "{method} {path}: {body}"
    );
    assert!(again.is_some(), "{method} {path}");
}

/// Asserts that a write succeeds and the service is ready again long before connections are replaced for their age.
async fn assert_written_to_again(client: &Client) {
    let mut is_written = false;
    until("a write succeeds and the service is ready", TIMEOUT, async || {
        if !is_written {
            let (status, _) = client.post("/v1/agents", json!({ "name": "Bea", "instructions": "Book." })).await;
            is_written = status.is_success();
        }
        is_written && client.get("/readyz").await.0.is_success()
    })
    .await;
}

/// Asserts that a call can be placed and ends well.
async fn assert_well(client: &Client) {
    client.look_until("/readyz", |ready| ready["status"] == "ready").await;
    let agent = client.scripted_agent(json!({})).await;
    let call = client.place(&agent, "+12025550100").await;
    client.hang_up_after(&call, 1).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_proxy_without_a_server_is_a_database_that_is_away() {
    let server = tokio::task::block_in_place(Server::start);
    let gate = Gate::before(server.socket()).await;
    let service = service_on(gate.url_of(&server.database().await)).await;
    gate.shut();
    assert_away(&service.client, Method::GET, "/v1/tenant").await;
    assert_away(&service.client, Method::POST, "/v1/calls").await;
    assert_away(&service.client, Method::GET, "/readyz").await;
    gate.open();
    assert_well(&service.client).await;
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_database_that_becomes_read_only_is_away_until_it_can_be_written_to() {
    let server = tokio::task::block_in_place(Server::start);
    let service = service_on(server.database().await).await;
    server.execute(&["ALTER SYSTEM SET default_transaction_read_only = on", "SELECT pg_reload_conf()"]).await;
    service.client.look_until("/readyz", |ready| ready["code"] == "database_unavailable").await;
    assert_away(&service.client, Method::POST, "/v1/agents").await;
    server.execute(&["ALTER SYSTEM RESET default_transaction_read_only", "SELECT pg_reload_conf()"]).await;
    assert_well(&service.client).await;
    service.stop().await;
}

/// Simulates a failover during which the database's name led to a replica: sessions from that time stay read-only.
#[tokio::test(flavor = "multi_thread")]
async fn connections_to_a_replica_are_given_up_after_a_failover() {
    let server = tokio::task::block_in_place(Server::start);
    let database = server.database().await;
    let (_, name) = database.split_once("@localhost/").expect("an address of the harness");
    let name = name.split('?').next().unwrap_or_default();
    let service = service_on(format!("{database}&target_session_attrs=read-write")).await;
    let disconnect = format!("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{name}'");
    let replica = format!("ALTER DATABASE {name} SET default_transaction_read_only = on");
    server.execute(&[&replica, &disconnect]).await;
    service.client.look_until("/readyz", |ready| ready["code"] == "database_unavailable").await;
    assert_away(&service.client, Method::POST, "/v1/agents").await;
    server.execute(&[&format!("ALTER DATABASE {name} RESET default_transaction_read_only")]).await;
    assert_written_to_again(&service.client).await;
    assert_well(&service.client).await;
    service.stop().await;
}
