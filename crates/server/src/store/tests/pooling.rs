//! Poolers between the store and PostgreSQL.

mod pooler;

use sqlx::postgres::PgConnection;
use sqlx::{Connection as _, raw_sql};
use tokio::net::TcpListener;

use self::pooler::{Mode, Pooler};
use crate::store::tenants::{self, OwnLimits};
use crate::store::testing::{self, tenant};
use crate::store::{Store, Symptom, is_unavailable};

/// A new database, and its address over a pooler.
async fn pooled(mode: Mode) -> Option<(String, String)> {
    let direct = testing::new_postgres().await?;
    let pooler = Pooler::start(&direct, mode).await;
    Some((direct, pooler))
}

#[tokio::test]
async fn an_address_without_a_pooler_keeps_its_sessions() {
    let Some(direct) = testing::new_postgres().await else { return };
    let store = Store::open(&direct).await.expect("it can be used");
    assert!(store.can_migrate());
}

#[tokio::test]
async fn a_pooler_that_cannot_be_used_is_refused_with_what_to_set() {
    for (mode, named) in [(Mode::Statement, "statement"), (Mode::Transaction, "transaction")] {
        let Some((_, pooled)) = pooled(mode).await else { return };
        let error = Store::open(&pooled).await.expect_err("it cannot be used").to_string();
        assert!(error.contains(&format!("a pooler in {named} mode")), "{error}");
        assert!(error.contains("set pool_mode = session"), "{error}");
    }
}

#[tokio::test]
async fn a_pooler_that_lends_several_sessions_in_turns_is_found() {
    let Some(direct) = testing::new_postgres().await else { return };
    let pooled = Pooler::start_with(&direct, Mode::Transaction, 7).await;
    let error = Store::open(&pooled).await.expect_err("it cannot be used").to_string();
    assert!(error.contains("a pooler in transaction mode"), "{error}");
}

#[tokio::test]
async fn a_pooler_without_a_session_to_lend_is_a_database_that_is_away() {
    let Some((_, pooled)) = pooled(Mode::Full).await else { return };
    let refused = PgConnection::connect(&pooled).await.expect_err("there is no session");
    assert!(is_unavailable(&refused), "{refused:?}");
    let error = format!("{:#}", Store::open(&pooled).await.expect_err("there is no session"));
    assert!(error.contains("could not connect to PostgreSQL") && !error.contains("pool_mode"), "{error}");
}

#[tokio::test]
async fn a_start_waits_for_a_server_that_is_starting() {
    let Some((direct, pooled)) = pooled(Mode::Starting).await else { return };
    Store::open(&direct).await.expect("migrated").close().await;
    Store::open(&pooled).await.expect("it starts in time").close().await;
}

#[tokio::test]
async fn a_server_that_never_answers_is_given_up() {
    let silent = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let address = silent.local_addr().expect("bound");
    tokio::time::pause();
    let url = format!("postgres://postgres@{address}/postgres?sslmode=disable");
    let error = format!("{:#}", Store::open(&url).await.expect_err("no answer"));
    assert!(error.starts_with("could not connect to PostgreSQL: it does not answer"), "{error}");
}

#[tokio::test]
async fn a_pooler_that_keeps_prepared_statements_is_used_once_the_schema_is_up_to_date() {
    let Some((direct, pooled)) = pooled(Mode::TransactionWithStatements).await else { return };
    let error = format!("{:#}", Store::open(&pooled).await.expect_err("there is no schema"));
    assert!(error.contains("switchhook migrate --database-url ADDRESS"), "{error}");

    Store::open(&direct).await.expect("migrated").close().await;
    let store = Store::open(&pooled).await.expect("the schema is up to date");
    let acme = tenant(&store, OwnLimits::default()).await;
    for _ in 0..3 {
        let mut connections = [store.read().await.expect("one"), store.read().await.expect("another")];
        for connection in &mut connections {
            assert!(tenants::get(connection, acme).await.expect("read").is_some());
        }
    }
    store.close().await;
}

#[tokio::test]
async fn a_session_that_a_pooler_keeps_with_statements_of_an_earlier_schema_is_ended() {
    let Some((direct, pooled)) = pooled(Mode::SharedStatements).await else { return };
    Store::open(&direct).await.expect("migrated").close().await;
    let store = Store::open(&pooled).await.expect("the schema is up to date");
    let acme = tenant(&store, OwnLimits::default()).await;
    let read = async || tenants::get(&mut store.read().await?, acme).await;
    assert!(read().await.expect("read").is_some());

    let mut operator = PgConnection::connect(&direct).await.expect("a database");
    let change = raw_sql("ALTER TABLE tenants ALTER COLUMN name TYPE varchar(1000)");
    change.execute(&mut operator).await.expect("a valid statement");
    let mut refused = 0;
    let found = loop {
        match read().await {
            Ok(found) => break found,
            Err(error) => {
                assert_eq!(Symptom::of(&error), Some(Symptom::OutdatedStatements), "{error:?}");
                store.note(Symptom::of(&error));
            }
        }
        refused += 1;
        assert!(refused < 20, "each new connection gets the same session");
    };
    assert!(found.is_some() && refused > 0, "the type of a column is another, and a new session has prepared nothing");
    store.close().await;
}

#[tokio::test]
async fn work_may_be_repeated_where_the_server_does_not_have_what_was_prepared() {
    let Some(direct) = testing::new_postgres().await else { return };
    let mut connection = PgConnection::connect(&direct).await.expect("a database");
    for statements in ["EXECUTE missing", "PREPARE doubled AS SELECT 1; PREPARE doubled AS SELECT 1"] {
        let error = raw_sql(statements).execute(&mut connection).await.expect_err("refused");
        assert_eq!(Symptom::of(&error), Some(Symptom::OutdatedStatements), "{error:?}");
        assert!(is_unavailable(&error), "{error:?}");
    }
}
