//! Another program holds the write lock of the SQLite file.

use std::time::Duration;

use futures_util::future::join_all;
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};
use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{ConnectOptions as _, Executor as _};
use switchhook_runtime::clock::Clock;

use crate::harness::TestService;

/// A client that waits no longer. The service promises 8 s; the rest is for a machine that stands still meanwhile.
const PATIENCE: Duration = Duration::from_secs(30);
/// Writes that wait for the lock together: more than could wait one after the other, 4 s each, while a client does.
const WRITES: usize = 16;

#[tokio::test(flavor = "multi_thread")]
async fn writes_get_an_answer_while_another_program_locks_the_database() {
    let service = TestService::start_as(Clock::system(), |config| config.database_url = None).await;
    let options = SqliteConnectOptions::new().filename(service.data_dir().join("switchhook.db"));
    let mut other = options.connect().await.expect("the same database");
    other.execute("BEGIN IMMEDIATE").await.expect("nothing else writes for long");
    let write = || async {
        let request =
            service.client.request(Method::POST, "/v1/webhooks").json(&json!({ "url": "http://127.0.0.1:9" }));
        let answer = request.timeout(PATIENCE).send().await.expect("an answer in time");
        let again = answer.headers().contains_key("retry-after");
        (answer.status(), again, answer.json::<Value>().await.expect("JSON")["code"].clone())
    };
    for answer in join_all((0..WRITES).map(|_| write())).await {
        assert_eq!(answer, (StatusCode::SERVICE_UNAVAILABLE, true, json!("database_unavailable")));
    }
    other.execute("ROLLBACK").await.expect("the lock is ours");
    service.client.look_until("/readyz", |ready| ready["status"] == "ready").await;
    assert_eq!(write().await.0, StatusCode::CREATED);
    service.stop().await;
}
