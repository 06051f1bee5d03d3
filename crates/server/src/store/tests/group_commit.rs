//! A transaction is durable when its commit returns, and never partial, even if others in its batch fail.

use std::time::Duration;

use switchhook_core::id::TenantId;
use switchhook_runtime::clock;

use crate::store::tenants::{self, OwnLimits};
use crate::store::testing::{TestStore, now, patiently, stores};
use crate::store::{Store, is_duplicate, is_unavailable, on};

fn new_id() -> TenantId {
    TenantId::new(now(), clock::random())
}

async fn insert(store: &Store, id: TenantId) -> Result<(), sqlx::Error> {
    let mut tx = patiently(|| store.begin()).await?;
    tenants::create_for_operator(&mut tx, id, "one of many", OwnLimits::default(), now()).await?;
    tx.commit().await
}

async fn count(store: &Store) -> usize {
    tenants::list_for_operator(&mut store.read().await.expect("a connection")).await.expect("a list").len()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn two_hundred_at_once_are_all_seen_as_soon_as_they_are_acknowledged() {
    for TestStore { store, engine, .. } in stores().await {
        let writers: Vec<_> = (0..200)
            .map(|_| {
                let store = store.clone();
                tokio::spawn(async move {
                    let id = new_id();
                    insert(&store, id).await.expect("committed");
                    let mut reader = patiently(|| store.read()).await.expect("a connection");
                    tenants::get(&mut reader, id).await.expect("a row").is_some()
                })
            })
            .collect();
        for writer in writers {
            assert!(writer.await.expect("no panic"), "{engine}: an acknowledged row is there for others");
        }
        assert_eq!(count(&store).await, 200, "{engine}");
    }
}

/// SQLite does this when a disk is full.
#[tokio::test]
async fn a_rollback_of_everything_is_a_database_that_is_away_for_its_transaction_only() {
    let TestStore { store, folder: _kept, .. } = stores().await.remove(0);
    let rolled_back = async || {
        let mut tx = store.begin().await.expect("a transaction");
        on!(tx, |c| sqlx::query("ROLLBACK").execute(c).await.map(drop)).expect("rolled back");
        tx
    };
    drop(rolled_back().await);
    insert(&store, new_id()).await.expect("the next transaction is written");
    let lost = rolled_back().await.commit().await.expect_err("nothing is left of it");
    assert!(is_unavailable(&lost), "{lost}");
    insert(&store, new_id()).await.expect("the next transaction is written");
    assert_eq!(count(&store).await, 2);
}

#[tokio::test]
async fn what_was_committed_is_there_after_the_database_is_opened_again() {
    let TestStore { store, folder, .. } = stores().await.remove(0);
    let id = new_id();
    insert(&store, id).await.expect("committed");
    let mut lost = store.begin().await.expect("a transaction");
    tenants::create_for_operator(&mut lost, new_id(), "never committed", OwnLimits::default(), now())
        .await
        .expect("a row");
    std::mem::forget(lost); // As a process that is killed leaves it.
    let url = format!("sqlite://{}", folder.path().join("test.db").display());
    // The writer never ends; a copy of the files is what the next process would find.
    let copy = tempfile::tempdir().expect("a folder");
    for file in ["test.db", "test.db-wal"] {
        std::fs::copy(folder.path().join(file), copy.path().join(file)).expect("a database file");
    }
    let reopened =
        Store::open(&url.replace(folder.path().to_str().expect("UTF-8"), copy.path().to_str().expect("UTF-8")))
            .await
            .expect("what a crash leaves can be opened");
    let rows = tenants::list_for_operator(&mut reopened.read().await.expect("a connection")).await.expect("a list");
    assert_eq!(rows.iter().map(|row| row.id).collect::<Vec<_>>(), [id.uuid()]);
}

#[tokio::test]
async fn dropped_transaction_is_rolled_back_and_unblocks_the_next() {
    for TestStore { store, engine, .. } in stores().await {
        let mut dropped = store.begin().await.expect("a transaction");
        tenants::create_for_operator(&mut dropped, new_id(), "never", OwnLimits::default(), now())
            .await
            .expect("a row");
        drop(dropped);
        let next = tokio::time::timeout(Duration::from_secs(10), insert(&store, new_id())).await;
        next.expect("the next one gets its turn").expect("and commits");
        assert_eq!(count(&store).await, 1, "{engine}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn errors_dropped_transactions_and_given_up_requests_do_not_hurt_the_others() {
    for TestStore { store, engine, .. } in stores().await {
        let taken = new_id();
        insert(&store, taken).await.expect("committed");
        let writers: Vec<_> = (0..120)
            .map(|number| {
                let store = store.clone();
                tokio::spawn(async move {
                    match number % 4 {
                        0 => {
                            let error = insert(&store, taken).await.expect_err("the id is taken");
                            assert!(is_duplicate(&error), "{error}");
                        }
                        1 => {
                            let mut tx = patiently(|| store.begin()).await.expect("a transaction");
                            let name = "dropped";
                            tenants::create_for_operator(&mut tx, new_id(), name, OwnLimits::default(), now())
                                .await
                                .expect("a row");
                        }
                        2 => {
                            // A client that hangs up: the future is dropped wherever it happens to be.
                            let limit = Duration::from_micros(50 * number);
                            let _ = tokio::time::timeout(limit, rename_twice(&store, taken)).await;
                        }
                        _ => insert(&store, new_id()).await.expect("committed, whatever the neighbours do"),
                    }
                })
            })
            .collect();
        for writer in writers {
            writer.await.expect("no panic");
        }
        assert_eq!(count(&store).await, 1 + 120 / 4, "{engine}");
        let row = tenants::get(&mut store.read().await.expect("a connection"), taken).await.expect("a read");
        let name = row.expect("the tenant").name;
        assert!(["one of many", "second"].contains(&name.as_str()), "{engine}: all of it or nothing, but not {name}");
    }
}

async fn rename_twice(store: &Store, id: TenantId) -> Result<(), sqlx::Error> {
    let mut tx = store.begin().await?;
    tenants::rename_for_operator(&mut tx, id, "first", now()).await?;
    tenants::rename_for_operator(&mut tx, id, "second", now()).await?;
    tx.commit().await
}
