//! A deactivated tenant stops everywhere at once, and nothing of it resumes.

use std::time::Duration;

use reqwest::StatusCode;
use serde_json::{Value, json};
use switchhook::store::calls;
use switchhook::store::{deactivation, tenants};
use switchhook_core::id::{CallId, TenantId};
use switchhook_runtime::clock::Clock;

use crate::harness::{Agent, TIMEOUT, TestService, text};
use crate::listening::Player;

async fn set_active(service: &TestService, tenant: TenantId, active: bool) {
    let now = Clock::system().now();
    let row = if active {
        let mut tx = service.store().begin().await.expect("a transaction");
        let row = tenants::activate_for_operator(&mut tx, tenant, now).await.expect("written");
        tx.commit().await.expect("committed");
        row
    } else {
        deactivation::deactivate_for_operator(service.store(), tenant, now).await.expect("written")
    };
    assert_eq!(row.map(|row| row.active), Some(active));
}

/// Returns the call's status and reason from the database: the tenant's own key gets a 403.
async fn ending(service: &TestService, tenant: TenantId, call: &str) -> (String, Option<String>) {
    let id: CallId = call.parse().expect("an id");
    let row = calls::get(&mut service.store().read().await.expect("a connection"), tenant, id).await;
    let row = row.expect("read").expect("the call");
    (row.status, row.end_reason)
}

async fn wait_for_end(service: &TestService, tenant: TenantId, call: &str) -> Option<String> {
    let looking = async {
        loop {
            let (status, reason) = ending(service, tenant, call).await;
            if status == "completed" {
                return reason;
            }
            // Polls a service that runs in real time.
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    tokio::time::timeout(TIMEOUT, looking).await.expect("it ends")
}

async fn scheduled(service: &TestService, agent: &Agent) -> String {
    let later = Clock::system().now() + Duration::from_secs(3600);
    let body = json!({ "agent_id": agent.id, "to": "+12025550101", "schedule_at": later });
    text(&service.client.create("/v1/calls", body).await["id"])
}

#[tokio::test(flavor = "multi_thread")]
async fn deactivation_ends_calls_and_deliveries_and_activation_brings_nothing_back() {
    let (service, agent) = TestService::ready().await;
    let client = &service.client;
    let tenant: TenantId = text(&client.get("/v1/tenant").await.1["id"]).parse().expect("an id");
    // The URL has no listener: deliveries wait for their next attempt.
    let webhook = client.create("/v1/webhooks", json!({ "url": "http://127.0.0.1:9/" })).await;
    let deliveries = format!("/v1/webhooks/{}/deliveries", text(&webhook["id"]));
    let queued = scheduled(&service, &agent).await;
    let live = client.place(&agent, "+12025550109").await;
    client.wait_for(&live, |call| call["status"] == "in_progress").await;
    let mut player = Player::open(client, &live).await;

    set_active(&service, tenant, false).await;
    assert_eq!(wait_for_end(&service, tenant, &queued).await.as_deref(), Some("canceled"));
    wait_for_end(&service, tenant, &live).await;
    assert!([1000, 1008].contains(&player.until_closed().await), "nobody hears it any more");
    let (status, refused) = client.post("/v1/calls", json!({ "agent_id": agent.id, "to": "+12025550101" })).await;
    assert_eq!((status, &refused["code"]), (StatusCode::FORBIDDEN, &json!("tenant_deactivated")), "{refused}");

    set_active(&service, tenant, true).await;
    let (_, shown) = client.get(&format!("/v1/calls/{queued}")).await;
    assert_eq!((&shown["status"], &shown["end_reason"]), (&json!("completed"), &json!("canceled")));
    let all_over = |list: &Value| {
        let rows = list["data"].as_array().expect("a list");
        rows.len() >= 6 && rows.iter().all(|row| row["state"] == "canceled")
    };
    let told = client.look_until(&deliveries, all_over).await;
    let ends = told["data"].as_array().expect("a list").iter().filter(|row| row["event"] == "call.completed");
    assert_eq!(ends.count(), 2, "the ends are on record, and were sent to nobody: {told}");
    assert_eq!(client.event_names(&live).await.last().map(String::as_str), Some("call.completed"));
    service.stop().await;
}
