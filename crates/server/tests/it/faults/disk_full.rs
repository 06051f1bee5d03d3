//! SQLite's disk fills up, and has space again. A limit on file sizes simulates it: writes fail, reads do not.

use std::process::Command;
use std::str::FromStr as _;
use std::time::Duration;

use reqwest::StatusCode;
use serde_json::json;
use sqlx::ConnectOptions as _;
use sqlx::sqlite::SqliteConnectOptions;

use super::tenant_of;
use crate::cluster::until;
use crate::harness::deliveries_of;
use crate::harness::process::{Node, Process};

/// Limits the size of the files that the service may write, in bytes.
fn limit_files(service: &Process, size: &str) {
    let limit = format!("--fsize={size}:unlimited");
    let done = Command::new("prlimit").args(["--pid", &service.id().to_string(), &limit]).status();
    assert!(done.expect("prlimit of util-linux").success());
}

/// Waits until the lease of the live call has been expired for longer than the 5 s between renewals.
async fn until_the_lease_is_over(node: &Node) {
    const OVER: &str = "SELECT MAX(lease_until) + 6000000 < unixepoch('subsec') * 1000000 FROM calls";
    let options = SqliteConnectOptions::from_str(&node.database_url()).expect("an address").read_only(true);
    let mut database = options.connect().await.expect("the database");
    let is_over = async || sqlx::query_scalar(OVER).fetch_one(&mut database).await.expect("a row");
    until("the lease is over", Duration::from_secs(60), is_over).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_full_disk_can_be_read_and_says_so_and_writes_resume_when_there_is_room() {
    let node = Node::on(None);
    let service = node.serve();
    let client = tenant_of(&node, &service);
    let agent = client.scripted_agent(json!({ "silence": { "hangup_after_seconds": null } })).await;
    let mut receiver = client.receiver().await;
    let live = client.place(&agent, "+12025550109").await;
    client.wait_for(&live, |call| call["status"] == "in_progress").await;

    limit_files(&service, "4096");
    let (status, refused) = client.post("/v1/agents", json!({ "name": "Bea", "instructions": "Book." })).await;
    assert_eq!(
        (status, &refused["code"]),
        (StatusCode::SERVICE_UNAVAILABLE, &json!("database_unavailable")),
        "{refused}"
    );
    assert!(refused["detail"].to_string().contains("cannot be written"), "{refused}");
    let (status, ready) = client.get("/readyz").await;
    assert_eq!(status, StatusCode::SERVICE_UNAVAILABLE, "{ready}");
    assert!(ready["detail"].to_string().contains("cannot be written"), "{ready}");
    for path in ["/v1/agents", "/v1/calls", "/v1/tenant"] {
        let (status, read) = client.get(path).await;
        assert_eq!(status, StatusCode::OK, "{path}: {read}");
    }

    until_the_lease_is_over(&node).await;
    let (_, talking) = client.get(&format!("/v1/calls/{live}")).await;
    assert_eq!(talking["status"], "in_progress", "{talking}");

    limit_files(&service, "unlimited");
    client.look_until("/readyz", |ready| ready["status"] == "ready").await;
    client.post(&format!("/v1/calls/{live}/hangup"), json!({})).await;
    let ended = client.wait_for_end(&live).await;
    assert_eq!((&ended["status"], &ended["end_reason"]), (&json!("completed"), &json!("api_hangup")), "{ended}");
    let call = client.place(&agent, "+12025550100").await;
    client.hang_up_after(&call, 1).await;
    assert_ne!(deliveries_of(&mut receiver, &call).await.len(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_service_whose_database_file_was_moved_away_is_not_ready() {
    let node = Node::on(None);
    let service = node.serve();
    let client = tenant_of(&node, &service);
    client.look_until("/readyz", |ready| ready["status"] == "ready").await;
    let file = node.database_url();
    let file = file.strip_prefix("sqlite://").expect("a file");
    let aside = format!("{file}.aside");
    std::fs::rename(file, &aside).expect("moved");
    let moved = |ready: &serde_json::Value| ready["detail"].to_string().contains("was moved, replaced or deleted");
    client.look_until("/readyz", moved).await;
    std::fs::rename(&aside, file).expect("moved back");
    client.look_until("/readyz", |ready| ready["status"] == "ready").await;
}
