//! Poolers between the store and PostgreSQL.

mod pooler;

use self::pooler::{Mode, Pooler};
use crate::store::Store;
use crate::store::pooling::Pooling;
use crate::store::tenants::{self, OwnLimits};
use crate::store::testing::{self, tenant};

/// A new database, and its address over a pooler.
async fn pooled(mode: Mode) -> Option<(String, String)> {
    let direct = testing::new_postgres().await?;
    let pooler = Pooler::start(&direct, mode).await;
    Some((direct, pooler))
}

#[tokio::test]
async fn an_address_without_a_pooler_keeps_its_sessions() {
    let Some(direct) = testing::new_postgres().await else { return };
    assert_eq!(Pooling::of(&direct.parse().expect("an address")).await.expect("reached"), Pooling::Session);
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
