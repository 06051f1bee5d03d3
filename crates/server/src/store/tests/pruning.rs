//! What is old goes, everywhere, and what lives or is under way stays.

use std::time::Duration;

use switchhook_runtime::clock::Clock;

use super::past::{Past, count, past};
use crate::config::Config;
use crate::housekeeping::{self, Housekeeping};
use crate::store::calls::{self, Filter, search};
use crate::store::page::PageRequest;
use crate::store::testing::{TestStore, now, stores};
use crate::store::{Dialect, on};

fn housekeeping(test: &TestStore) -> Housekeeping {
    let config =
        Config { retention_days: Some(10), delivery_retention_days: 5, ..Config::for_tests(test.folder.path()) };
    Housekeeping::new(test.store.clone(), Clock::system(), &config)
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
