//! The database responds, but this node's work makes no progress.

use sqlx::{AssertSqlSafe, Connection, PgConnection, SqliteConnection, raw_sql};

use crate::harness::TestService;

/// Renames a table of the service, so that the work on it fails.
async fn rename(service: &TestService, from: &str, to: &str) {
    let sql = AssertSqlSafe(format!("ALTER TABLE {from} RENAME TO {to}"));
    let url = service.database_url();
    if url.starts_with("sqlite://") {
        let mut connection = SqliteConnection::connect(url).await.expect("a database");
        raw_sql(sql).execute(&mut connection).await.expect("renamed");
    } else {
        let mut connection = PgConnection::connect(url).await.expect("a database");
        raw_sql(sql).execute(&mut connection).await.expect("renamed");
    }
}

/// Asserts that the service reports `code` as long as `table` is missing.
async fn assert_stalled_without(table: &str, code: &str) {
    let service = TestService::start().await;
    service.client.look_until("/readyz", |ready| ready["status"] == "ready").await;
    rename(&service, table, "elsewhere").await;
    service.client.look_until("/readyz", |ready| ready["code"] == code).await;
    rename(&service, "elsewhere", table).await;
    service.client.look_until("/readyz", |ready| ready["status"] == "ready").await;
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_node_that_cannot_claim_calls_is_not_ready() {
    assert_stalled_without("calls", "calls_stalled").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_node_that_cannot_claim_deliveries_is_not_ready() {
    assert_stalled_without("deliveries", "deliveries_stalled").await;
}
