//! Settings that operators make for a role, a database or a server of PostgreSQL, for all of its programs.

use std::time::{Duration, Instant};

use sqlx::postgres::PgConnection;
use sqlx::{Connection as _, Executor as _};
use url::Url;

use crate::store::{Store, Symptom, is_unavailable, on, ping, run, testing};

/// A schema after which migrations change the calls.
const EARLIER: i64 = 5;
/// Longer than a statement takes, also on a busy machine.
const LIMITS: &str = "-c statement_timeout=3000 -c lock_timeout=3000";
/// How often to look again.
const POLL: Duration = Duration::from_millis(20);
const VERSION: &str = "SELECT current_setting('server_version_num')::bigint";
const LOCK: &str = "BEGIN; LOCK TABLE calls IN ACCESS EXCLUSIVE MODE";
/// Whether another session has waited for a lock for longer than that.
const WAITS: &str = "SELECT EXISTS (SELECT FROM pg_stat_activity WHERE datname = current_database() \
    AND wait_event_type = 'Lock' AND query_start < clock_timestamp() - INTERVAL '4 seconds')";

/// Returns the address with settings of its sessions, in place of those of a role.
fn with_settings(direct: &str, settings: &str) -> String {
    let mut url: Url = direct.parse().expect("an address");
    url.query_pairs_mut().append_pair("options", settings);
    url.into()
}

#[tokio::test]
async fn settings_weaken_neither_the_isolation_of_transactions_nor_their_durability() {
    const FOUND: &str =
        "SELECT current_setting('transaction_isolation') || ', ' || current_setting('synchronous_commit')";
    let Some(direct) = testing::new_postgres().await else { return };
    for (set, expected) in [("off", "local"), ("on", "on"), ("remote_apply", "remote_apply")] {
        let settings = format!("-c default_transaction_isolation=serializable -c synchronous_commit={set}");
        let store = Store::connect(&with_settings(&direct, &settings)).await.expect("it can be used");
        let mut tx = store.begin().await.expect("a transaction");
        let found: String = run!(tx, query_scalar.fetch_one, FOUND).expect("read");
        assert_eq!(found, format!("read committed, {expected}"), "{set}");
        drop(tx);
        store.close().await;
    }
}

#[tokio::test]
async fn a_migration_may_take_longer_than_other_statements_of_its_role() {
    let Some(direct) = testing::new_postgres().await else { return };
    let store = Store::connect(&direct).await.expect("a new database");
    store.migrate_to(EARLIER).await.expect("the earlier schema");
    store.close().await;
    let mut other = PgConnection::connect(&direct).await.expect("another node");
    other.execute(sqlx::raw_sql(LOCK)).await.expect("it holds the calls");
    let mut observer = PgConnection::connect(&direct).await.expect("an observer");

    let url = with_settings(&direct, LIMITS);
    let let_go_late = async {
        let give_up = Instant::now() + Duration::from_secs(30);
        let mut waits = false;
        while !waits && Instant::now() < give_up {
            tokio::time::sleep(POLL).await;
            waits = sqlx::query_scalar(WAITS).fetch_one(&mut observer).await.expect("a valid query");
        }
        other.execute(sqlx::raw_sql("COMMIT")).await.expect("it lets go");
        waits
    };
    let (migrated, waited) = tokio::join!(Store::open(&url), let_go_late);
    migrated.expect("the migration waited for its turn").close().await;
    assert!(waited, "it waited for longer than the limits");
}

#[tokio::test]
async fn a_role_that_may_not_create_tables_is_named_with_what_to_grant() {
    const CLOSED: &str = "REVOKE CREATE ON SCHEMA public FROM PUBLIC"; // As PostgreSQL does it since version 15.
    let Some(direct) = testing::new_postgres().await else { return };
    let mut operator = PgConnection::connect(&direct).await.expect("a database");
    operator.execute(sqlx::raw_sql(CLOSED)).await.expect("revoked");
    for settings in ["-c role=pg_monitor", "-c search_path=missing"] {
        let error = Store::open(&with_settings(&direct, settings)).await.expect_err("there are no tables");
        let words = format!("{error:#}");
        assert!(words.contains("make it the owner of the database"), "{settings}: {words}");
    }
}

#[tokio::test]
async fn a_database_that_cannot_store_every_letter_is_refused() {
    for encoding in ["LATIN1", "SQL_ASCII"] {
        let Some((url, _kept)) = testing::encoded_postgres(encoding).await else { return };
        let error = Store::open(&url).await.expect_err("words would be lost").to_string();
        assert!(error.contains(&format!("stores text as {encoding}")) && error.contains("ENCODING 'UTF8'"), "{error}");
    }
}

#[tokio::test]
async fn connections_whose_statements_a_pooler_has_lost_are_given_up() {
    let Some(direct) = testing::new_postgres().await else { return };
    let store = Store::connect(&direct).await.expect("a new database");
    let mut connection = store.read().await.expect("a connection");
    ping(&mut connection).await.expect("the statement is prepared");
    on!(connection, |c| sqlx::raw_sql("DEALLOCATE ALL").execute(c).await.map(drop)).expect("lost");
    let error = ping(&mut connection).await.expect_err("the statement does not exist");
    assert!(is_unavailable(&error), "the client tries again: {error}");
    store.note(Symptom::of(&error));
    drop(connection);
    for _ in 0..3 {
        ping(&mut store.read().await.expect("a connection")).await.expect("the statement is prepared again");
    }
    store.close().await;
}

#[tokio::test]
async fn connections_that_the_server_ends_when_they_are_idle_are_replaced() {
    const OPEN: &str = "SELECT EXISTS (SELECT FROM pg_stat_activity WHERE datname = current_database() \
        AND backend_type = 'client backend' AND pid <> pg_backend_pid())";
    let Some(direct) = testing::new_postgres().await else { return };
    let mut observer = PgConnection::connect(&direct).await.expect("an observer");
    let version: i64 = sqlx::query_scalar(VERSION).fetch_one(&mut observer).await.expect("a number");
    if version < 140_000 {
        return; // There is no such setting.
    }
    let store = Store::connect(&direct).await.expect("a database");
    // As a role's setting would, but for this session alone: the next one must not end between two statements of a slow test.
    let mut connection = store.read().await.expect("a connection");
    on!(connection, |c| sqlx::raw_sql("SET idle_session_timeout = 100").execute(c).await.map(drop)).expect("set");
    drop(connection);
    let give_up = Instant::now() + Duration::from_secs(30);
    let mut open = true;
    while open && Instant::now() < give_up {
        tokio::time::sleep(POLL).await;
        open = sqlx::query_scalar(OPEN).fetch_one(&mut observer).await.expect("a valid query");
    }
    assert!(!open, "the server has ended it");
    ping(&mut store.read().await.expect("another connection")).await.expect("it responds");
    store.close().await;
}
