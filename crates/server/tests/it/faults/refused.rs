//! PostgreSQL refuses statements for a reason that its connections do not show: the disk is full, or the schema is newer than what they prepared.

use std::time::Duration;

use reqwest::StatusCode;
use serde_json::{Value, json};
use sqlx::postgres::PgConnection;
use sqlx::{Connection as _, query_scalar, raw_sql};

use super::database::service_on;
use crate::cluster::until;
use crate::harness::postgres::Server;

/// A phone that answers and ends the call at once.
const ENDS: &str = "+12025550111";
/// Refuses a statement as on a full disk, and counts that.
const REFUSE: [&str; 2] = [
    "CREATE SEQUENCE refused",
    "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN \
     PERFORM nextval('refused'); RAISE EXCEPTION 'could not extend file' USING ERRCODE = '53100'; END $$",
];
/// Makes inserts fail. Rows still change, as they do where their page has room.
const REFUSE_INSERTS: [&str; 2] = [
    "CREATE TRIGGER refuse BEFORE INSERT ON agents FOR EACH STATEMENT EXECUTE FUNCTION refuse()",
    "CREATE TRIGGER refuse BEFORE INSERT ON events FOR EACH STATEMENT EXECUTE FUNCTION refuse()",
];
/// Makes every change of a call fail, except claims and renewals of leases.
const REFUSE_CHANGES: [&str; 1] =
    ["CREATE TRIGGER refuse BEFORE UPDATE OF ended_at ON calls FOR EACH STATEMENT EXECUTE FUNCTION refuse()"];
const MAKE_ROOM: [&str; 3] =
    ["DROP TRIGGER refuse ON agents", "DROP TRIGGER refuse ON events", "DROP TRIGGER refuse ON calls"];
/// A commit is tried every 250 ms: for 9 s where a lease could end. These tries take longer than the 12 s that a conversation has to report.
const TRIES_OF_A_KEPT_CALL: i64 = 52;
/// More tries than within the 10 s after which a dial would be out of date.
const TRIES_OF_A_DIAL: i64 = 42;

/// Returns how many statements were refused.
async fn refusals(operator: &mut PgConnection) -> i64 {
    query_scalar("SELECT last_value FROM refused").fetch_one(operator).await.expect("a number")
}

async fn execute(connection: &mut PgConnection, statements: &[&'static str]) {
    for statement in statements {
        raw_sql(*statement).execute(&mut *connection).await.expect("a valid statement");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_full_disk_of_postgres_can_be_read_and_says_so_and_calls_outlast_it() {
    let server = tokio::task::block_in_place(Server::start);
    let database = server.database().await;
    let service = service_on(database.clone()).await;
    let client = &service.client;
    let agent = json!({ "silence": { "hangup_after_seconds": null }, "recording": { "enabled": true } });
    let agent = client.scripted_agent(agent).await;
    let live = client.place(&agent, "+12025550109").await;
    client.wait_for(&live, |call| call["status"] == "in_progress").await;

    let mut operator = PgConnection::connect(&database).await.expect("a database");
    execute(&mut operator, &[&REFUSE[..], &REFUSE_INSERTS, &REFUSE_CHANGES].concat()).await;
    let (status, refused) = client.post("/v1/agents", json!({ "name": "Bea", "instructions": "Book." })).await;
    assert_eq!(
        (status, &refused["code"]),
        (StatusCode::SERVICE_UNAVAILABLE, &json!("database_unavailable")),
        "{refused}"
    );
    let is_full = |body: &Value| body["detail"].to_string().contains("cannot be written: its disk is full");
    assert!(is_full(&refused), "{refused}");
    until("the service is not ready", Duration::from_secs(60), async || {
        client.post("/v1/agents", json!({ "name": "Bea", "instructions": "Book." })).await;
        is_full(&client.get("/readyz").await.1)
    })
    .await;
    for path in ["/v1/agents", "/v1/calls", "/v1/tenant"] {
        let (status, read) = client.get(path).await;
        assert_eq!(status, StatusCode::OK, "{path}: {read}");
    }

    let before = refusals(&mut operator).await;
    client.post(&format!("/v1/calls/{live}/hangup"), json!({})).await;
    until("the end of the call is refused", Duration::from_secs(60), async || {
        refusals(&mut operator).await > before + TRIES_OF_A_KEPT_CALL
    })
    .await;
    execute(&mut operator, &MAKE_ROOM).await;
    let ended = client.wait_for_end(&live).await;
    assert_eq!((&ended["status"], &ended["end_reason"]), (&json!("completed"), &json!("api_hangup")), "{ended}");
    assert!(ended["recording_url"].is_string(), "the conversation reported: {ended}");
    client.look_until("/readyz", |ready| ready["status"] == "ready").await;
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_whose_dial_was_refused_for_long_is_dialled_when_there_is_room() {
    let server = tokio::task::block_in_place(Server::start);
    let database = server.database().await;
    let service = service_on(database.clone()).await;
    let client = &service.client;
    let agent = client.scripted_agent(json!({})).await;
    let mut operator = PgConnection::connect(&database).await.expect("a database");
    execute(&mut operator, &[&REFUSE[..], &REFUSE_CHANGES].concat()).await;
    let call = client.place(&agent, ENDS).await;
    until("the dial is refused for long", Duration::from_secs(60), async || {
        refusals(&mut operator).await > TRIES_OF_A_DIAL
    })
    .await;
    execute(&mut operator, &MAKE_ROOM[2..]).await;
    let ended = client.wait_for_end(&call).await;
    assert_eq!((&ended["status"], &ended["end_reason"]), (&json!("completed"), &json!("caller_hangup")), "{ended}");
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn connections_with_statements_of_an_earlier_schema_are_given_up() {
    let server = tokio::task::block_in_place(Server::start);
    let database = server.database().await;
    let service = service_on(database.clone()).await;
    let client = &service.client;
    let list = async || {
        let mut statuses = Vec::new();
        for _ in 0..40 {
            statuses.push(client.get("/v1/agents").await.0);
        }
        statuses
    };
    assert!(list().await.iter().all(|status| *status == StatusCode::OK), "every connection prepares the statement");
    let mut operator = PgConnection::connect(&database).await.expect("a database");
    execute(&mut operator, &["ALTER TABLE agents ALTER COLUMN name TYPE varchar(1000)"]).await;
    let statuses = list().await;
    assert!(statuses.contains(&StatusCode::SERVICE_UNAVAILABLE), "PostgreSQL refused the statement: {statuses:?}");
    assert!(!statuses.contains(&StatusCode::INTERNAL_SERVER_ERROR), "{statuses:?}");
    assert_eq!(statuses.last(), Some(&StatusCode::OK), "{statuses:?}");
    service.stop().await;
}
