//! Old rows are deleted from every table; live and current ones stay.

use std::time::Duration;

use switchhook_core::id::{DeliveryId, PersonId, TenantId, WebhookId};
use switchhook_core::sign_in::{EXPIRED_INVITATION_KEPT, IDLE_TIMEOUT, Role, STATE_MAX_AGE};
use switchhook_runtime::clock::{self, Clock};

use super::past::{Past, count, endpoint, numbered, past};
use crate::config::Config;
use crate::housekeeping::{self, Housekeeping};
use crate::store::calls::{self, Filter, search};
use crate::store::deliveries::{self, NewBody, NewDelivery, outcome};
use crate::store::page::PageRequest;
use crate::store::people::{self, PersonRow};
use crate::store::tenants::OwnLimits;
use crate::store::testing::{TestStore, now, stores, tenant};
use crate::store::{Dialect, deactivation, invitations, on, sessions, webhooks};

fn housekeeping(test: &TestStore) -> Housekeeping {
    let config =
        Config { retention_days: Some(10), delivery_retention_days: 5, ..Config::for_tests(test.folder.path()) };
    Housekeeping::new(test.store.clone(), Clock::system(), &config).without_pauses()
}

/// Leaves the delivery of one ended call under way.
async fn keep_one_under_way(test: &TestStore, past: &Past) {
    const SQL: &str = "UPDATE deliveries SET state = 'sending' WHERE call_id = $1";
    let mut tx = test.store.begin().await.expect("a transaction");
    on!(tx, |c| sqlx::query(SQL).bind(past.calls[1].uuid()).execute(c).await.map(drop)).expect("written");
    tx.commit().await.expect("committed");
}

#[tokio::test]
async fn old_calls_and_deliveries_go_with_all_that_belongs_to_them() {
    for test in stores().await {
        let engine = test.engine;
        let past = past(&test, search::SEGMENT + 300).await;
        housekeeping::index_all(&test.store, |_, _| {}).await.expect("indexed");
        keep_one_under_way(&test, &past).await;
        let live = 3;
        let housekeeping = housekeeping(&test);
        let days = |days: u32| now() + Duration::from_secs(24 * 3600) * days;

        housekeeping.prune(days(4)).await.expect("pruned");
        housekeeping.delete_calls(days(9)).await.expect("deleted");
        assert_eq!(count(&test, "deliveries").await, past.calls.len() as i64, "{engine}: nothing is old enough");
        assert_eq!(count(&test, "calls").await, past.calls.len() as i64, "{engine}: nothing is old enough");

        housekeeping.prune(days(6)).await.expect("pruned");
        assert_eq!(count(&test, "deliveries").await, live + 1, "{engine}: what is under way is not deleted");
        assert_eq!(count(&test, "delivery_attempts").await, 1, "{engine}");
        assert_eq!(count(&test, "calls").await, past.calls.len() as i64, "{engine}: calls are kept for longer");

        housekeeping.delete_calls(days(11)).await.expect("deleted");
        for (table, left) in [
            ("calls", live),
            ("events", live),
            ("transcript_entries", live),
            ("deliveries", live + 1),
            ("call_search_pending", 0),
            ("call_search_segments", 0),
            ("call_search_postings", 0),
        ] {
            assert_eq!(count(&test, table).await, left, "{engine}: {table}");
        }
        let mut conn = test.store.read().await.expect("a connection");
        let ended = Filter { status: vec!["completed".to_owned(), "queued".to_owned()], ..Filter::default() };
        let left = calls::list(&mut conn, past.tenant, &ended, PageRequest::first(100)).await.expect("a list");
        assert_eq!(left.rows.len() as i64, live, "{engine}");
        let usage =
            calls::count_for_quota(&mut conn, past.tenant, switchhook_core::quota::month_start(now()), 10).await;
        assert!(usage.expect("counted").monthly_calls > 100, "{engine}: deleted calls were placed all the same");
    }
}

/// Creates twelve hundred sessions of one person, and as many used sign-ins, all of now.
async fn sign_in_often(test: &TestStore, tenant: TenantId) {
    let person = numbered(PersonId::new, 1);
    let row = PersonRow::invited(person, tenant, "ana@example.com".to_owned(), Role::Owner, now());
    let mut tx = test.store.begin().await.expect("a transaction");
    assert!(people::insert(&mut tx, &row).await.expect("written"));
    for number in 0..1_200_u32 {
        let mut hash = [0; 32];
        hash[..4].copy_from_slice(&number.to_be_bytes());
        sessions::insert(&mut tx, tenant, person, &hash, now()).await.expect("written");
        assert!(sessions::use_for_sign_in(&mut tx, &hash, now()).await.expect("written"));
    }
    tx.commit().await.expect("committed");
}

#[tokio::test]
async fn sessions_and_used_sign_ins_go_in_batches_once_they_have_ended() {
    for test in stores().await {
        let engine = test.engine;
        let tenant = tenant(&test.store, OwnLimits::default()).await;
        sign_in_often(&test, tenant).await;
        let prune = async |after: Duration| {
            let mut tx = test.store.begin().await.expect("a transaction");
            let deleted = sessions::prune_for_housekeeping(&mut tx, now() + after).await.expect("pruned");
            tx.commit().await.expect("committed");
            deleted
        };
        let second = Duration::from_secs(1);
        assert_eq!(prune(STATE_MAX_AGE - second).await, 0, "{engine}");
        let batches = [prune(STATE_MAX_AGE).await, prune(STATE_MAX_AGE).await, prune(STATE_MAX_AGE).await];
        assert_eq!((batches, prune(STATE_MAX_AGE).await), ([500, 500, 200], 0), "{engine}: states have expired");
        assert_eq!(prune(IDLE_TIMEOUT - second).await, 0, "{engine}: sessions go on");
        assert_eq!(
            [prune(IDLE_TIMEOUT).await, prune(IDLE_TIMEOUT).await, prune(IDLE_TIMEOUT).await],
            [500, 500, 200],
            "{engine}"
        );
        assert_eq!((count(&test, "sessions").await, count(&test, "used_sign_ins").await), (0, 0), "{engine}");
    }
}

#[tokio::test]
async fn invitations_go_in_batches_long_after_they_have_expired_and_members_stay() {
    for test in stores().await {
        let engine = test.engine;
        let tenant = tenant(&test.store, OwnLimits::default()).await;
        let mut tx = test.store.begin().await.expect("a transaction");
        for number in 0..700 {
            let person = PersonId::new(now(), clock::random());
            let email = format!("{number}@example.com");
            let row = PersonRow {
                expires_at: (number > 0).then(|| now().as_micros()),
                ..PersonRow::invited(person, tenant, email, Role::Member, now())
            };
            assert!(people::insert(&mut tx, &row).await.expect("written"));
        }
        tx.commit().await.expect("committed");
        let prune = async |after: Duration| {
            let mut tx = test.store.begin().await.expect("a transaction");
            let deleted = invitations::prune_for_housekeeping(&mut tx, now() + after).await.expect("pruned");
            tx.commit().await.expect("committed");
            deleted
        };
        let kept = EXPIRED_INVITATION_KEPT;
        assert_eq!(prune(kept - Duration::from_secs(1)).await, 0, "{engine}");
        assert_eq!([prune(kept).await, prune(kept).await, prune(kept).await], [500, 199, 0], "{engine}");
        assert_eq!(count(&test, "people").await, 1, "{engine}");
    }
}

/// Twelve hundred deliveries that wait.
async fn queue_deliveries(test: &TestStore, tenant: TenantId) -> WebhookId {
    let webhook = endpoint(test, tenant).await;
    let delivery = |_| NewDelivery {
        id: DeliveryId::new(now(), clock::random()),
        tenant,
        webhook,
        of: None,
        event: "webhook.test",
        body: NewBody::Own(b"{}".to_vec()),
        wanted: true,
        now: now(),
    };
    let mut tx = test.store.begin().await.expect("a transaction");
    deliveries::insert(&mut tx, &(0..1_200).map(delivery).collect::<Vec<_>>()).await.expect("written");
    tx.commit().await.expect("committed");
    webhook
}

#[tokio::test]
async fn what_a_tenant_or_an_endpoint_had_ends_in_batches() {
    for test in stores().await {
        let engine = test.engine;
        let pending = async || count(&test, "deliveries WHERE state = 'pending'").await;
        let tenant = tenant(&test.store, OwnLimits::default()).await;
        let webhook = queue_deliveries(&test, tenant).await;
        let cancel = async || {
            let mut tx = test.store.begin().await.expect("a transaction");
            let canceled = deliveries::cancel_waiting(&mut tx, tenant, webhook).await.expect("canceled");
            tx.commit().await.expect("committed");
            canceled
        };
        assert_eq!(cancel().await, 0, "{engine}: the endpoint is enabled");
        let mut tx = test.store.begin().await.expect("a transaction");
        let mut row = webhooks::get(&mut tx, tenant, webhook).await.expect("read").expect("the endpoint");
        row.enable(false);
        webhooks::update(&mut tx, &row).await.expect("written");
        tx.commit().await.expect("committed");
        assert_eq!((cancel().await, pending().await), (500, 700), "{engine}");
        outcome::cancel_disabled_for_recovery(&test.store).await.expect("canceled");
        assert_eq!(pending().await, 0, "{engine}: the worker cancels what is left");

        queue_deliveries(&test, tenant).await;
        sign_in_often(&test, tenant).await;
        deactivation::deactivate_for_operator(&test.store, tenant, now()).await.expect("deactivated");
        assert_eq!((pending().await, count(&test, "sessions").await), (0, 0), "{engine}");
        sign_in_again(&test, tenant).await;
        let mut tx = test.store.begin().await.expect("a transaction");
        assert_eq!(sessions::end_of_tenant(&mut tx, tenant).await.expect("ended"), 500, "{engine}");
    }
}

/// Gives the person of [`sign_in_often`] six hundred sessions.
async fn sign_in_again(test: &TestStore, tenant: TenantId) {
    let mut tx = test.store.begin().await.expect("a transaction");
    for number in 0..600_u32 {
        let mut hash = [1; 32];
        hash[..4].copy_from_slice(&number.to_be_bytes());
        sessions::insert(&mut tx, tenant, numbered(PersonId::new, 1), &hash, now()).await.expect("written");
    }
    tx.commit().await.expect("committed");
}

#[tokio::test]
async fn sqlite_gives_the_space_of_deleted_rows_back() {
    for test in stores().await.into_iter().filter(|test| test.store.dialect() == Dialect::Sqlite) {
        past(&test, 2000).await;
        let pages = async || {
            let mut conn = test.store.read().await.expect("a connection");
            on!(conn, |c| sqlx::query_scalar::<_, i64>("PRAGMA page_count").fetch_one(c).await).expect("a count")
        };
        let before = pages().await;
        let housekeeping = housekeeping(&test);
        housekeeping.delete_calls(now() + Duration::from_secs(30 * 24 * 3600)).await.expect("deleted");
        assert_eq!(pages().await, before, "deleted pages are only free");
        housekeeping.return_space().await.expect("given back");
        assert!(pages().await < before - 200, "{before} pages, then {}", pages().await);
    }
}
