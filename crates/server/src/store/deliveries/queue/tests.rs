//! Which deliveries are claimed, and whose outcomes count.

use std::collections::BTreeSet;
use std::time::Duration;

use switchhook_core::id::{CallId, DeliveryId, TenantId, WebhookId};
use switchhook_core::webhook::SigningSecret;
use switchhook_runtime::clock;

use super::*;
use crate::config::Config;
use crate::store::deliveries::outcome::{
    DISABLE_AFTER, Finished, Outcome, Record, Then, abandoned_for_recovery, cancel_disabled_for_recovery,
};
use crate::store::deliveries::{self, NewBody, NewDelivery};
use crate::store::group_commit::{BatchJob as _, Batcher};
use crate::store::tenants::OwnLimits;
use crate::store::testing::{TestStore, now, stores, tenant};
use crate::store::webhooks;

const MINUTE: Duration = Duration::from_secs(60);

async fn endpoint(test: &TestStore, tenant: TenantId) -> WebhookId {
    let vault = Config::for_tests(test.folder.path()).open_vault().expect("a key file");
    let id = WebhookId::new(now(), clock::random());
    let secret = SigningSecret::generate([1; 32]);
    let row = WebhookRow::new(id, tenant, "https://example.com/".to_owned(), &vault, &secret, now());
    let mut tx = test.store.begin().await.expect("a transaction");
    webhooks::insert(&mut tx, &row).await.expect("an endpoint");
    tx.commit().await.expect("committed");
    id
}

/// A delivery of event number `sequence` of `call`, due at `at`.
async fn queue(
    store: &Store,
    tenant: TenantId,
    webhook: WebhookId,
    call: CallId,
    sequence: i64,
    at: Timestamp,
) -> Uuid {
    let id = DeliveryId::new(at, clock::random());
    let of = Some((call, Some(sequence)));
    let new = NewDelivery {
        id,
        tenant,
        webhook,
        of,
        event: "call.dialing",
        body: NewBody::Own(b"{}".to_vec()),
        wanted: true,
        now: at,
    };
    let mut tx = store.begin().await.expect("a transaction");
    deliveries::insert(&mut tx, &[new]).await.expect("queued");
    tx.commit().await.expect("committed");
    id.uuid()
}

fn call() -> CallId {
    CallId::new(now(), clock::random())
}

async fn claim_at(store: &Store, at: Timestamp) -> Vec<Claimed> {
    claim_while(store, at, 0).await
}

async fn claim_while(store: &Store, at: Timestamp, under_way: i64) -> Vec<Claimed> {
    let batches =
        claim_due_for_worker(store, at, LeaseTime::at(at, MINUTE), under_way, &mut Vec::new()).await.expect("a claim");
    batches.into_iter().flat_map(|batch| batch.attempts).collect()
}

fn ids(claimed: &[Claimed]) -> Vec<Uuid> {
    claimed.iter().map(|claimed| claimed.lease.id).collect()
}

async fn finish(store: &Store, claimed: &Claimed, then: Then) -> bool {
    finish_at(store, claimed.lease, now(), Outcome { status: Some(500), then, ..Outcome::default() }).await
}

async fn finish_at(store: &Store, lease: Lease, at: Timestamp, outcome: Outcome) -> bool {
    Batcher::new(Record(store.clone())).submit((), Finished { lease, outcome, at }).await.expect("recorded")
}

#[tokio::test]
async fn events_of_one_call_are_first_sent_one_after_another_and_retries_come_last() {
    for test in stores().await {
        let store = &test.store;
        let tenant = tenant(store, OwnLimits::default()).await;
        let (webhook, one, other) = (endpoint(&test, tenant).await, call(), call());
        // Both in the same microsecond, as when a carrier's report ends a call: only the sequence tells them apart.
        let second = queue(store, tenant, webhook, one, 2, now()).await;
        let first = queue(store, tenant, webhook, one, 1, now()).await;
        let elsewhere = queue(store, tenant, webhook, other, 1, now()).await;

        let claimed = claim_at(store, now()).await;
        assert_eq!(BTreeSet::from_iter(ids(&claimed)), BTreeSet::from([first, elsewhere]), "{}", test.engine);
        assert!(claim_at(store, now()).await.is_empty(), "the second waits while the first is under way");

        let of_one = claimed.iter().find(|claimed| claimed.lease.id == first).expect("claimed");
        let of_other = claimed.iter().find(|claimed| claimed.lease.id == elsewhere).expect("claimed");
        assert!(finish(store, of_one, Then::RetryAt(now())).await);
        assert!(finish(store, of_other, Then::Succeeded).await);
        let claimed = claim_while(store, now(), share::UNDER_WAY - 1).await;
        assert_eq!(ids(&claimed), [second], "a first attempt goes before a repeated one, and waits for no other");
        let claimed = claim_at(store, now()).await;
        assert_eq!((ids(&claimed), claimed[0].lease.attempts), (vec![first], 2), "{}", test.engine);
    }
}

#[tokio::test]
async fn a_claim_that_is_given_back_has_not_happened() {
    for test in stores().await {
        let store = &test.store;
        let tenant = tenant(store, OwnLimits::default()).await;
        let (webhook, one) = (endpoint(&test, tenant).await, call());
        let first = queue(store, tenant, webhook, one, 1, now()).await;
        queue(store, tenant, webhook, one, 2, now()).await;

        let earlier = [claim_at(store, now()).await[0].unconfirmed()];
        give_back_for_worker(store, &earlier, now()).await.expect("given back");
        give_back_for_worker(store, &earlier, now()).await.expect("nothing to give back");
        let claimed = claim_at(store, now()).await;
        assert_eq!(ids(&claimed), [first], "{}: it still goes before the second", test.engine);
        assert_eq!(claimed[0].lease.attempts, 1, "{}: no attempt is counted", test.engine);

        // Another node claims what a claim that was rolled back would have had: its fencing token is the same.
        let rolled_back = UnconfirmedClaim { until: claimed[0].until - 1, ..claimed[0].unconfirmed() };
        for not_its_own in [earlier[0], rolled_back] {
            give_back_for_worker(store, &[not_its_own], now()).await.expect("nothing to give back");
        }
        assert!(finish(store, &claimed[0], Then::Succeeded).await, "{}: the later lease is held", test.engine);
        let attempts = deliveries::attempts(&mut store.read().await.expect("a connection"), tenant, first.into()).await;
        assert_eq!(attempts.expect("read").len(), 1, "{}: nor listed", test.engine);
    }
}

#[tokio::test]
async fn endpoint_with_ten_deliveries_in_flight_does_not_block_others() {
    for test in stores().await {
        let store = &test.store;
        let tenant = tenant(store, OwnLimits::default()).await;
        let (slow, quick) = (endpoint(&test, tenant).await, endpoint(&test, tenant).await);
        for _ in 0..25 {
            queue(store, tenant, slow, call(), 1, now()).await;
        }
        let later = queue(store, tenant, quick, call(), 1, now() + MINUTE).await;

        let claimed = claim_at(store, now()).await;
        assert_eq!(claimed.len(), 10, "{}", test.engine);
        assert_eq!(ids(&claim_at(store, now() + MINUTE).await), [later], "the other endpoint, when it is due");
        assert!(finish(store, &claimed[0], Then::Failed).await);
        assert!(finish(store, &claimed[1], Then::Succeeded).await);
        assert_eq!(claim_at(store, now()).await.len(), 2, "{}", test.engine);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn nodes_that_claim_at_once_share_the_ten_of_an_endpoint() {
    for test in stores().await {
        let tenant = tenant(&test.store, OwnLimits::default()).await;
        let webhook = endpoint(&test, tenant).await;
        for _ in 0..100 {
            queue(&test.store, tenant, webhook, call(), 1, now()).await;
        }
        for round in 0..5 {
            let node = |store: Store| tokio::spawn(async move { claim_at(&store, now()).await });
            let nodes: Vec<_> = (0..16).map(|_| node(test.store.clone())).collect();
            let mut claimed = Vec::new();
            for node in nodes {
                claimed.extend(node.await.expect("no panic"));
            }
            assert!(claimed.len() <= 10, "round {round} on {}: {}", test.engine, claimed.len());
            assert_eq!(BTreeSet::from_iter(ids(&claimed)).len(), claimed.len(), "each by one node only");
            for claimed in &claimed {
                assert!(finish(&test.store, claimed, Then::Succeeded).await);
            }
        }
    }
}

#[tokio::test]
async fn an_outcome_counts_once_and_only_under_its_lease() {
    for test in stores().await {
        let store = &test.store;
        let tenant = tenant(store, OwnLimits::default()).await;
        let webhook = endpoint(&test, tenant).await;
        let id = DeliveryId::from_uuid(queue(store, tenant, webhook, call(), 1, now()).await);
        let claimed = claim_at(store, now()).await.remove(0);

        let later = now() + MINUTE + MINUTE;
        let mut conn = store.read().await.expect("a connection");
        assert!(
            abandoned_for_recovery(&mut conn, LeaseTime::at(now(), MINUTE)).await.expect("a read").is_empty(),
            "its lease still runs"
        );
        let abandoned = abandoned_for_recovery(&mut conn, LeaseTime::at(later, MINUTE)).await.expect("a read");
        assert_eq!(abandoned, [claimed.lease], "{}", test.engine);
        let taken_over = Outcome { then: Then::RetryAt(now()), error: Some("died".into()), ..Outcome::default() };
        assert!(finish_at(store, abandoned[0], later, taken_over).await);
        assert!(!finish(store, &claimed, Then::Succeeded).await, "the node that was given up comes back too late");

        let again = claim_at(store, now()).await.remove(0);
        assert!(!finish(store, &claimed, Then::Succeeded).await, "and its token is old");
        assert!(finish(store, &again, Then::Failed).await);
        let row = deliveries::get(&mut conn, tenant, webhook, id).await.expect("a read").expect("the delivery");
        assert_eq!((row.state.as_str(), row.attempts, row.next_attempt_at), ("failed", 2, None), "{}", test.engine);
        let log = deliveries::attempts(&mut conn, tenant, id).await.expect("a read");
        let log: Vec<_> =
            log.iter().map(|attempt| (attempt.number, attempt.error.as_deref(), attempt.status)).collect();
        assert_eq!(log, [(1, Some("died"), None), (2, None, Some(500))], "{}", test.engine);
    }
}

#[tokio::test]
async fn nothing_waits_for_an_endpoint_that_is_disabled() {
    for test in stores().await {
        let store = &test.store;
        let tenant = tenant(store, OwnLimits::default()).await;
        let webhook = endpoint(&test, tenant).await;
        let under_way = queue(store, tenant, webhook, call(), 1, now()).await;
        let claimed = claim_at(store, now()).await.remove(0);
        let waiting = queue(store, tenant, webhook, call(), 1, now()).await;

        let mut tx = store.begin().await.expect("a transaction");
        let mut row = webhooks::get(&mut tx, tenant, webhook).await.expect("a read").expect("the endpoint");
        row.enabled = false;
        webhooks::update(&mut tx, &row).await.expect("disabled");
        tx.commit().await.expect("committed");

        assert!(claim_at(store, now()).await.is_empty(), "{}", test.engine);
        cancel_disabled_for_recovery(store).await.expect("canceled");
        assert!(finish(store, &claimed, Then::RetryAt(now())).await);
        let mut conn = store.read().await.expect("a connection");
        for id in [under_way, waiting] {
            let id = DeliveryId::from_uuid(id);
            let row = deliveries::get(&mut conn, tenant, webhook, id).await.expect("a read").expect("the delivery");
            assert_eq!((row.state.as_str(), row.next_attempt_at), ("canceled", None), "{}", test.engine);
        }
        assert_eq!(next_due_for_worker(&mut conn).await.expect("a read"), None);
    }
}

#[tokio::test]
async fn an_endpoint_that_fails_leaves_room_for_others() {
    for test in stores().await {
        let store = &test.store;
        let tenant = tenant(store, OwnLimits::default()).await;
        let (dead, new, well) =
            (endpoint(&test, tenant).await, endpoint(&test, tenant).await, endpoint(&test, tenant).await);
        for (endpoint, then) in [(dead, Then::Failed), (well, Then::Succeeded)] {
            queue(store, tenant, endpoint, call(), 1, now()).await;
            assert!(finish(store, &claim_at(store, now()).await[0], then).await);
        }
        for endpoint in [dead, new, well] {
            for _ in 0..20 {
                queue(store, tenant, endpoint, call(), 1, now()).await;
            }
        }
        let whose = |claimed: &[Claimed]| {
            let of = |id: WebhookId| claimed.iter().filter(|claimed| claimed.lease.webhook_id == id.uuid()).count();
            [of(dead), of(new), of(well)]
        };
        let scarce = claim_while(store, now(), share::UNDER_WAY / 8 * 7).await;
        assert_eq!(whose(&scarce), [0, 0, 1], "{}", test.engine);
        let less_scarce = claim_while(store, now(), share::UNDER_WAY / 2).await;
        assert_eq!(whose(&less_scarce), [0, 1, 9], "{}", test.engine);
        let rest = claim_at(store, now()).await;
        assert_eq!(whose(&rest), [2, 9, 0], "{}: one that fails is asked, not flooded", test.engine);
    }
}

#[tokio::test]
async fn endpoint_failing_for_five_days_without_a_success_is_disabled() {
    for test in stores().await {
        let store = &test.store;
        let tenant = tenant(store, OwnLimits::default()).await;
        let (dead, shaky) = (endpoint(&test, tenant).await, endpoint(&test, tenant).await);
        let attempt = async |endpoint: WebhookId, at: Timestamp, then: Then| {
            queue(store, tenant, endpoint, call(), 1, at).await;
            let claimed = claim_at(store, at).await;
            let claimed = claimed.iter().find(|claimed| claimed.lease.webhook_id == endpoint.uuid()).expect("claimed");
            assert!(finish_at(store, claimed.lease, at, Outcome { then, ..Outcome::default() }).await);
        };
        let row = async |endpoint| {
            let mut conn = store.read().await.expect("a connection");
            webhooks::get(&mut conn, tenant, endpoint).await.expect("a read").expect("the endpoint")
        };
        attempt(dead, now(), Then::Failed).await;
        attempt(shaky, now(), Then::Failed).await;
        attempt(shaky, now() + MINUTE, Then::Succeeded).await;
        attempt(shaky, now() + MINUTE * 2, Then::Failed).await;
        attempt(dead, now() + DISABLE_AFTER - MINUTE, Then::Failed).await;
        assert!(row(dead).await.enabled, "{}", test.engine);

        let waiting =
            DeliveryId::from_uuid(queue(store, tenant, dead, call(), 1, now() + DISABLE_AFTER + MINUTE).await);
        attempt(dead, now() + DISABLE_AFTER, Then::RetryAt(now() + DISABLE_AFTER)).await;
        attempt(shaky, now() + DISABLE_AFTER, Then::Failed).await;
        let (dead_row, shaky_row) = (row(dead).await, row(shaky).await);
        assert!(!dead_row.enabled && dead_row.disabled_reason.is_some(), "{}", test.engine);
        assert!(shaky_row.enabled, "{}: it worked in between", test.engine);
        let mut conn = store.read().await.expect("a connection");
        let waiting = deliveries::get(&mut conn, tenant, dead, waiting).await.expect("a read").expect("the delivery");
        assert_eq!(waiting.state, "canceled", "{}", test.engine);
    }
}

#[tokio::test]
async fn a_success_among_failures_keeps_an_endpoint_that_has_failed_for_days() {
    for test in stores().await {
        let store = &test.store;
        let tenant = tenant(store, OwnLimits::default()).await;
        let webhook = endpoint(&test, tenant).await;
        queue(store, tenant, webhook, call(), 1, now()).await;
        assert!(finish(store, &claim_at(store, now()).await[0], Then::Failed).await);
        for _ in 0..2 {
            queue(store, tenant, webhook, call(), 1, now()).await;
        }
        let claimed = claim_at(store, now()).await;
        let ended = |index: usize, then| {
            let outcome = Outcome { then, ..Outcome::default() };
            Finished { lease: claimed[index].lease, outcome, at: now() + DISABLE_AFTER }
        };
        let together = [ended(0, Then::Succeeded), ended(1, Then::Failed)];
        assert_eq!(Record(store.clone()).run(&(), &together).await.expect("recorded"), [true, true]);
        let mut conn = store.read().await.expect("a connection");
        let row = webhooks::get(&mut conn, tenant, webhook).await.expect("a read").expect("the endpoint");
        let since = Some((now() + DISABLE_AFTER).as_micros());
        assert_eq!((row.enabled, row.proven, row.failing_since), (true, true, since), "{}", test.engine);
    }
}

#[tokio::test]
async fn a_tenant_with_much_under_way_comes_after_one_with_nothing() {
    for test in stores().await {
        let store = &test.store;
        let (crowd, other) = (tenant(store, OwnLimits::default()).await, tenant(store, OwnLimits::default()).await);
        let mut endpoints = Vec::new();
        for _ in 0..ENDPOINTS_PER_CLAIM + 10 {
            let webhook = endpoint(&test, crowd).await;
            queue(store, crowd, webhook, call(), 1, now()).await;
            endpoints.push(webhook);
        }
        let late = queue(store, other, endpoint(&test, other).await, call(), 1, now()).await;
        let first = claim_at(store, now()).await;
        assert_eq!(first.len(), usize::try_from(ENDPOINTS_PER_CLAIM).expect("few"), "{}", test.engine);
        if !ids(&first).contains(&late) {
            assert!(
                ids(&claim_at(store, now()).await).contains(&late),
                "{}: its turn is before the crowd's",
                test.engine
            );
            let rest = claim_while(store, now(), 0).await;
            assert!(rest.is_empty(), "{}: and then all are under way", test.engine);
        }
    }
}
