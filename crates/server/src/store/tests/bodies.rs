//! An event's data is stored once, but every attempt of its deliveries sends the same bytes.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use switchhook_core::Timestamp;
use switchhook_core::call::{Call, Direction, Timing};
use switchhook_core::event::{EventKind, WORDS_DELETED};
use switchhook_core::id::{AgentId, CallId, ConnectionId, DeliveryId, TenantId};
use switchhook_core::idempotency::IdempotencyKey;
use switchhook_runtime::clock;
use uuid::Uuid;

use super::past::{endpoint, numbered};
use crate::store::calls::{self, CallRequest, NewCall};
use crate::store::deliveries::body;
use crate::store::idempotency::{self, Stored};
use crate::store::lease_time::LeaseTime;
use crate::store::tenants::OwnLimits;
use crate::store::testing::{TestStore, now, stores, tenant};
use crate::store::{on, retention};

const ENDPOINTS: usize = 20;

/// A call with 16 KiB of metadata and an outcome that must not be kept, of a tenant with many endpoints.
async fn call(test: &TestStore) -> (TenantId, CallId) {
    const END: &str =
        "UPDATE calls SET status = 'completed', ended_at = $2, deadline = NULL, retention_days = 1 WHERE id = $1";
    const TELL: &str = "UPDATE events SET event = 'call.completed', data = $2 WHERE call_id = $1";
    const DELIVER: &str = "UPDATE deliveries SET event = 'call.completed' WHERE call_id = $1";
    let tenant = tenant(&test.store, OwnLimits::default()).await;
    for _ in 0..ENDPOINTS {
        endpoint(test, tenant).await;
    }
    let metadata = json!({ "note": "x".repeat(16_000) }).as_object().cloned().unwrap_or_default();
    let new = NewCall {
        id: CallId::new(now(), clock::random()),
        tenant,
        direction: Direction::Outbound,
        agent: numbered(AgentId::new, 1),
        agent_version: 1,
        number: None,
        connection: numbered(ConnectionId::new, 9),
        provider: "simulator".to_owned(),
        from: "+12025550100".to_owned(),
        to: "+12025550101".to_owned(),
        request: CallRequest { metadata: metadata.clone(), ..CallRequest::default() },
        created_at: now(),
        due_at: now(),
        retention_days: None,
    };
    let row = new.row(Call::outbound(now(), now(), Timing::default()));
    let id = row.call_id();
    let mut tx = test.store.begin().await.expect("a transaction");
    calls::create(&mut tx, tenant, &[row], EventKind::CallQueued).await.expect("written");
    let data = json!({ "metadata": metadata, "summary": "Ana called.", "outcome": { "name": "Ana" }, "error": null });
    on!(tx, |c| sqlx::query(END).bind(id.uuid()).bind(now().as_micros()).execute(c).await.map(drop)).expect("ended");
    on!(tx, |c| sqlx::query(TELL).bind(id.uuid()).bind(sqlx::types::Json(data)).execute(c).await.map(drop))
        .expect("written");
    on!(tx, |c| sqlx::query(DELIVER).bind(id.uuid()).execute(c).await.map(drop)).expect("written");
    tx.commit().await.expect("committed");
    (tenant, id)
}

async fn deliveries(test: &TestStore, call: CallId) -> Vec<Uuid> {
    const SQL: &str = "SELECT id FROM deliveries WHERE call_id = $1 ORDER BY id";
    let mut conn = test.store.read().await.expect("a connection");
    on!(conn, |c| sqlx::query_scalar(SQL).bind(call.uuid()).fetch_all(c).await).expect("read")
}

async fn stored(test: &TestStore) -> i64 {
    const SQL: &str = "SELECT CAST(COALESCE(SUM(LENGTH(body)), 0) AS BIGINT) FROM deliveries";
    let mut conn = test.store.read().await.expect("a connection");
    on!(conn, |c| sqlx::query_scalar(SQL).fetch_one(c).await).expect("read")
}

async fn bytes(test: &TestStore, tenant: TenantId, id: Uuid) -> Vec<u8> {
    let mut conn = test.store.read().await.expect("a connection");
    body::get(&mut conn, tenant, DeliveryId::from_uuid(id)).await.expect("its bytes")
}

fn parsed(bytes: &[u8]) -> Value {
    serde_json::from_slice(bytes).expect("JSON")
}

async fn set_state(test: &TestStore, state: &str) {
    let sql = "UPDATE deliveries SET state = $1";
    let mut tx = test.store.begin().await.expect("a transaction");
    on!(tx, |c| sqlx::query(sql).bind(state).execute(c).await.map(drop)).expect("written");
    tx.commit().await.expect("committed");
}

#[tokio::test]
async fn twenty_endpoints_cost_no_copy_of_an_event() {
    for test in stores().await {
        let (tenant, call) = call(&test).await;
        let all = deliveries(&test, call).await;
        assert_eq!((all.len(), stored(&test).await), (ENDPOINTS, 0), "{}", test.engine);
        let body = bytes(&test, tenant, all[7]).await;
        let created = now().as_seconds();
        let opening = format!(r#"{{"id":"{}","event":"call.completed","created":{created},"data":{{"#, all[7]);
        assert!(body.starts_with(opening.as_bytes()), "{}", String::from_utf8_lossy(&body[..150]));
        assert_eq!(parsed(&body)["data"]["summary"], "Ana called.");
        assert_eq!(parsed(&body)["data"]["metadata"]["note"].as_str().map(str::len), Some(16_000));
    }
}

#[tokio::test]
async fn a_delivery_under_way_keeps_its_bytes_when_the_words_of_its_event_go() {
    for test in stores().await {
        let engine = test.engine;
        let (tenant, call) = call(&test).await;
        let all = deliveries(&test, call).await;
        let before = bytes(&test, tenant, all[0]).await;
        let later = now() + Duration::from_secs(2 * 24 * 3600);
        erase(&test, later).await;
        assert_eq!(claimed(&test, all[0], later).await, before, "{engine}: the same bytes in every attempt");
        assert_eq!(
            parsed(&bytes(&test, tenant, all[1]).await)["data"]["summary"],
            WORDS_DELETED,
            "{engine}: shown to nobody"
        );

        set_state(&test, "succeeded").await;
        erase(&test, later).await;
        let after = parsed(&bytes(&test, tenant, all[0]).await);
        assert_eq!(
            (&after["data"]["summary"], &after["data"]["outcome"]),
            (&json!(WORDS_DELETED), &Value::Null),
            "{engine}"
        );
    }
}

#[tokio::test]
async fn a_delivery_under_way_outlives_its_call() {
    for test in stores().await {
        let (tenant, call) = call(&test).await;
        let all = deliveries(&test, call).await;
        let before = bytes(&test, tenant, all[0]).await;
        let mut tx = test.store.begin().await.expect("a transaction");
        retention::delete_calls_for_housekeeping(&mut tx, tenant, None, &[call.uuid()]).await.expect("deleted");
        tx.commit().await.expect("committed");
        assert_eq!(bytes(&test, tenant, all[0]).await, before, "{}", test.engine);
    }
}

#[tokio::test]
async fn the_response_that_placed_a_call_is_erased_with_it() {
    for test in stores().await {
        let (tenant, call) = call(&test).await;
        let key = IdempotencyKey::from_header_values([&b"order-17"[..]]).expect("a key").expect("one");
        let response = Stored {
            key: key.as_str().to_owned(),
            fingerprint: vec![7],
            status: 201,
            location: format!("/v1/calls/{call}"),
            body: b"{\"to\":\"+12025550100\"}".to_vec(),
        };
        let mut tx = test.store.begin().await.expect("a transaction");
        idempotency::put(&mut tx, tenant, &[Arc::new(response)], now()).await.expect("stored");
        retention::delete_calls_for_housekeeping(&mut tx, tenant, None, &[call.uuid()]).await.expect("deleted");
        tx.commit().await.expect("committed");
        let mut conn = test.store.read().await.expect("a connection");
        let kept = idempotency::get_all(&mut conn, tenant, &[&key]).await.expect("read").pop().expect("its key");
        assert_eq!((kept.body.as_slice(), kept.status), (idempotency::ERASED, 201), "{}", test.engine);
    }
}

async fn erase(test: &TestStore, at: Timestamp) {
    let mut tx = test.store.begin().await.expect("a transaction");
    retention::erase_calls_for_housekeeping(&mut tx, at).await.expect("erased");
    retention::erase_deliveries_for_housekeeping(&mut tx).await.expect("erased");
    tx.commit().await.expect("committed");
}

/// Returns the body that an attempt of this delivery would send.
async fn claimed(test: &TestStore, id: Uuid, at: Timestamp) -> Vec<u8> {
    let batches = crate::store::deliveries::queue::claim_due_for_worker(
        &test.store,
        at,
        LeaseTime::at(at, Duration::from_secs(60)),
        0,
        &mut Vec::new(),
    )
    .await
    .expect("claimed");
    let mut attempts = batches.into_iter().flat_map(|batch| batch.attempts);
    attempts.find(|attempt| attempt.lease.id == id).expect("it is due").body
}
