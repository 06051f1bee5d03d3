//! The request window, as the database keeps it.

use std::time::Duration;

use switchhook_core::Timestamp;
use switchhook_core::id::TenantId;
use switchhook_core::rate::Decision;

use super::past::count;
use crate::store::Store;
use crate::store::execute;
use crate::store::group_commit::Batcher;
use crate::store::rate::{Admit, RateRequest};
use crate::store::tenants::OwnLimits;
use crate::store::testing::{TestStore, now, patiently, stores, tenant};

const ADMITTED: fn(&Decision) -> bool = |decision| matches!(decision, Decision::Admitted { .. });

/// As a node decides that has nothing else to decide; so every call is another node.
async fn admit(store: &Store, tenant: TenantId, limit: u32, at: Timestamp) -> Result<Decision, String> {
    let node = Batcher::new(Admit(store.clone()));
    patiently(|| node.submit(tenant, RateRequest { limit, at })).await.map_err(|error| error.to_string())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn of_a_hundred_at_once_exactly_as_many_are_admitted_as_may_be() {
    for TestStore { store, engine, .. } in stores().await {
        let (busy, other) = (tenant(&store, OwnLimits::default()).await, tenant(&store, OwnLimits::default()).await);
        let requests: Vec<_> = (0..100)
            .map(|_| {
                let store = store.clone();
                tokio::spawn(async move { admit(&store, busy, 37, now()).await.expect("a decision") })
            })
            .collect();
        let mut admitted = 0;
        for request in requests {
            admitted += usize::from(ADMITTED(&request.await.expect("no panic")));
        }
        assert_eq!(admitted, 37, "{engine}");
        let neighbour = admit(&store, other, 37, now()).await.expect("a decision");
        assert_eq!(neighbour, Decision::Admitted { remaining: 36 }, "{engine}: windows are one tenant's own");
    }
}

#[tokio::test]
async fn the_window_slides_by_the_request_and_forgets_no_more_than_it_may() {
    for TestStore { store, engine, .. } in stores().await {
        let tenant = tenant(&store, OwnLimits::default()).await;
        let at = async |seconds: u64, limit: u32| {
            admit(&store, tenant, limit, now() + Duration::from_secs(seconds)).await.expect("a decision")
        };
        let ok = |remaining| Decision::Admitted { remaining };
        let wait = |retry_after_seconds| Decision::Refused { retry_after_seconds };
        // Admitted at 0, 10 and 20, three in a minute.
        assert_eq!([at(0, 3).await, at(10, 3).await, at(20, 3).await], [ok(2), ok(1), ok(0)], "{engine}");
        assert_eq!([at(21, 3).await, at(59, 3).await], [wait(39), wait(1)], "{engine}: until the one of 0 has left");
        assert_eq!([at(60, 3).await, at(61, 3).await], [ok(0), wait(9)], "{engine}: then until the one of 10 has");
        // The limit is raised to five: beside 20 and 60, three more fit into the minute before 75.
        let four = [at(75, 5).await, at(75, 5).await, at(75, 5).await, at(75, 5).await];
        assert_eq!(four, [ok(2), ok(1), ok(0), wait(5)], "{engine}");
        // And lowered to one: the last of 75 counts.
        assert_eq!([at(134, 1).await, at(135, 1).await, at(136, 0).await], [wait(1), ok(0), wait(60)], "{engine}");
        assert_eq!(at(1_000, 120).await, ok(119), "{engine}: after a long silence all are free");
    }
}

#[tokio::test]
async fn clock_set_back_does_not_lock_out_the_tenant() {
    for TestStore { store, engine, .. } in stores().await {
        let tenant = tenant(&store, OwnLimits::default()).await;
        let before = admit(&store, tenant, 1, now() + Duration::from_secs(3600)).await.expect("a decision");
        let after = admit(&store, tenant, 1, now()).await.expect("a decision");
        assert!(ADMITTED(&before) && ADMITTED(&after), "{engine}: an hour is not waited for");
        // But nodes whose clocks differ by little share one window.
        let behind = admit(&store, tenant, 1, now() - Duration::from_secs(5)).await.expect("a decision");
        assert!(!ADMITTED(&behind), "{engine}");
    }
}

/// Writes so many admitted requests, numbered from one.
async fn have_admitted(store: &Store, tenant: TenantId, requests: i64, at: Timestamp) {
    const SQL: &str = "INSERT INTO admitted_requests (tenant_id, number, admitted_at) VALUES ($1, $2, $3)";
    let mut tx = store.begin().await.expect("a transaction");
    for number in 1..=requests {
        execute!(tx, SQL; tenant.uuid(), number, at.as_micros()).expect("written");
    }
    tx.commit().await.expect("committed");
}

#[tokio::test]
async fn what_has_left_the_window_is_forgotten_in_batches() {
    for test in stores().await {
        let (store, engine) = (&test.store, test.engine);
        let tenant = tenant(store, OwnLimits::default()).await;
        have_admitted(store, tenant, 2_500, now()).await;
        for (admission, left) in [(1, 1_501), (2, 502), (3, 3)] {
            let at = now() + Duration::from_secs(120);
            let decision = admit(store, tenant, 120, at).await.expect("a decision");
            assert_eq!(decision, Decision::Admitted { remaining: 120 - admission }, "{engine}");
            assert_eq!(count(&test, "admitted_requests").await, left, "{engine}");
        }
    }
}

#[tokio::test]
async fn after_a_clock_was_set_back_nothing_of_the_future_counts() {
    for test in stores().await {
        let (store, engine) = (&test.store, test.engine);
        let tenant = tenant(store, OwnLimits::default()).await;
        have_admitted(store, tenant, 2_500, now() + Duration::from_secs(3600)).await;
        for remaining in [2, 1, 0] {
            let decision = admit(store, tenant, 3, now()).await.expect("a decision");
            assert_eq!(decision, Decision::Admitted { remaining }, "{engine}");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn those_that_are_decided_together_are_counted_one_by_one() {
    for TestStore { store, engine, .. } in stores().await {
        let tenant = tenant(&store, OwnLimits::default()).await;
        let nodes = [(); 3].map(|()| Batcher::new(Admit(store.clone())));
        for (minute, admitted_before) in [(0, 0), (1, 0), (1, 50)] {
            let requests: Vec<_> = (0..300)
                .map(|index: usize| {
                    let (node, at) = (nodes[index % 3].clone(), now() + Duration::from_secs(60 * minute));
                    tokio::spawn(async move {
                        node.submit(tenant, RateRequest { limit: 50, at }).await.expect("a decision")
                    })
                })
                .collect();
            let (mut left, mut waits) = (Vec::new(), Vec::new());
            for request in requests {
                match request.await.expect("no panic") {
                    Decision::Admitted { remaining } => left.push(remaining),
                    Decision::Refused { retry_after_seconds } => waits.push(retry_after_seconds),
                }
            }
            left.sort_unstable();
            assert_eq!(left, (0..50 - admitted_before).collect::<Vec<_>>(), "{engine}: each sees those before it");
            assert!(waits.iter().all(|seconds| *seconds == 60), "{engine}: {waits:?}");
        }
    }
}
