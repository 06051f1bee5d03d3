//! Stored data that cannot be read: a later version wrote it, or it was changed by hand.

use std::time::Duration;

use serde_json::json;
use sqlx::ConnectOptions as _;
use sqlx::sqlite::SqliteConnectOptions;
use switchhook::store::Dialect;
use switchhook_runtime::clock::Clock;

use crate::harness::{TestService, text};

#[tokio::test(flavor = "multi_thread")]
async fn a_call_whose_agent_cannot_be_read_fails_and_says_so() {
    let start = Clock::system().now();
    let clock = Clock::manual(start);
    let service = TestService::start_with(clock.clone()).await;
    if service.store().dialect() != Dialect::Sqlite {
        // The outcome of the call does not depend on the database.
        return service.stop().await;
    }
    let agent = service.client.scripted_agent(json!({})).await;
    let due = Duration::from_secs(60);
    let call = json!({ "agent_id": agent.id, "to": "+12025550100", "schedule_at": start + due });
    let call = text(&service.client.create("/v1/calls", call).await["id"]);
    make_agents_unreadable(&service).await;
    clock.advance(due);
    let ended = service.client.wait_for_end(&call).await;
    assert_eq!((&ended["status"], &ended["error_code"]), (&json!("failed"), &json!("config_error")), "{ended}");
    assert!(text(&ended["error"]).contains("cannot be read by this version"), "{ended}");
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_connection_whose_agent_cannot_be_read_is_tested_and_says_so() {
    let (service, _) = TestService::ready().await;
    if service.store().dialect() != Dialect::Sqlite {
        // As above.
        return service.stop().await;
    }
    make_agents_unreadable(&service).await;
    let (_, connections) = service.client.get("/v1/connections").await;
    let scripted = connections["data"].as_array().into_iter().flatten().find(|one| one["provider"] == "scripted");
    let path = format!("/v1/connections/{}/test", text(&scripted.expect("the agent's models")["id"]));
    let (status, tested) = service.client.post(&path, json!({})).await;
    let checks = tested["checks"].as_array().expect("a list");
    assert!(status == 200 && tested["ok"] == false && checks.iter().any(|check| check["ok"] == true), "{tested}");
    assert!(text(&checks.last().expect("several")["detail"]).contains("cannot be read by this version"), "{tested}");
    service.stop().await;
}

async fn make_agents_unreadable(service: &TestService) {
    let options = SqliteConnectOptions::new().filename(service.data_dir().join("switchhook.db"));
    let mut database = options.connect().await.expect("the same database");
    let changed = sqlx::query("UPDATE agent_versions SET config = json_set(config, '$.language', 7)");
    assert!(changed.execute(&mut database).await.expect("written").rows_affected() > 0);
}
