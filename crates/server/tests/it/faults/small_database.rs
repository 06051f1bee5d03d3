//! PostgreSQL allows few connections.

use reqwest::StatusCode;
use serde_json::{Value, json};
use sqlx::postgres::PgConnection;
use sqlx::{Connection as _, query_scalar};

use super::tenant_of;
use crate::cluster::until;
use crate::harness::postgres::Server;
use crate::harness::process::Node;
use crate::harness::{Client, TIMEOUT, deliveries_of, text};

/// Starts a server with 20 connections. Returns it with a database URL for an ordinary role that owns the database.
async fn small_server() -> (Server, String) {
    let server = tokio::task::block_in_place(|| Server::with_connections(20));
    let database = server.database().await;
    let (_, name) = database.split_once("@localhost/").expect("an address of the harness");
    let name = name.split('?').next().unwrap_or_default();
    let owner = format!("ALTER DATABASE {name} OWNER TO app");
    server.execute(&["CREATE ROLE app LOGIN", &owner]).await;
    let address = database.replace("postgres://postgres@", "postgres://app@");
    (server, address)
}

/// Repeats a request that found every connection for requests taken. Returns the response.
async fn insist(client: &Client, path: &str, body: &Value) -> Value {
    let mut shown = Value::Null;
    until("the request gets a connection", TIMEOUT, async || {
        let (status, response) = client.post(path, body.clone()).await;
        assert!(status.is_success() || status == StatusCode::SERVICE_UNAVAILABLE, "{response}");
        shown = response;
        status.is_success()
    })
    .await;
    shown
}

#[tokio::test(flavor = "multi_thread")]
async fn calls_and_deliveries_keep_connections_while_requests_take_all_of_theirs() {
    let (_server, database) = small_server().await;
    let node = Node::on(Some(database.clone()));
    let service = node.serve();
    let client = tenant_of(&node, &service);
    let agent = client.scripted_agent(json!({})).await;
    let mut receiver = client.receiver().await;
    let requests: Vec<_> = (0..40)
        .map(|_| {
            let client = client.clone();
            tokio::spawn(async move { while client.get("/v1/calls").await.0 != 0 {} })
        })
        .collect();
    let body = json!({ "agent_id": agent.id, "to": "+12025550100" });
    let call = text(&insist(&client, "/v1/calls", &body).await["id"]);
    let is_heard = |shown: &Value| shown["data"].as_array().into_iter().flatten().any(|line| line["role"] == "caller");
    client.look_until(&format!("/v1/calls/{call}/transcript"), is_heard).await;
    insist(&client, &format!("/v1/calls/{call}/hangup"), &json!({})).await;
    let ended = client.wait_for_end(&call).await;
    assert_eq!((&ended["status"], &ended["end_reason"]), (&json!("completed"), &json!("api_hangup")), "{ended}");
    assert_ne!(deliveries_of(&mut receiver, &call).await.len(), 0);
    let mut operator = PgConnection::connect(&database).await.expect("some are left to operators");
    let open: i64 = query_scalar("SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()")
        .fetch_one(&mut operator)
        .await
        .expect("a count");
    assert!(open <= 16, "15 of the service and this one, not {open}");
    requests.iter().for_each(tokio::task::JoinHandle::abort);
}

#[tokio::test(flavor = "multi_thread")]
async fn too_few_connections_are_refused_at_the_start_with_the_numbers() {
    let (server, database) = small_server().await;
    let node = Node::on(Some(database));
    server.execute(&["ALTER ROLE app CONNECTION LIMIT 9"]).await;
    let refused = node.command().args(["serve", "--listen", "127.0.0.1:0"]).output().expect("the binary starts");
    let words = String::from_utf8(refused.stderr).expect("text");
    assert_eq!(refused.status.code(), Some(1), "{words}");
    for part in ["at least 8", "only 9 are available", "max_connections is 20", "the role may open 9"] {
        assert!(words.contains(part), "{words}");
    }
    let found = node.command().args(["doctor", "--json"]).output().expect("the binary starts");
    let found: Value = serde_json::from_slice(&found.stdout).expect("JSON");
    let finding =
        found["checks"].as_array().expect("checks").iter().find(|check| check["name"] == "database connections");
    assert_eq!(finding.expect("it is found")["status"], "problem", "{found}");
}
