//! An older node keeps working while a newer one adds columns.

use std::path::{Path, PathBuf};

use switchhook_core::id::{NodeId, TenantId};
use uuid::Uuid;

use crate::store::page::PageRequest;
use crate::store::testing::{TestStore, now, owned_call, stores};
use crate::store::{Engine, calls, connections, numbers, on, people, tenants, webhooks};

async fn tables(test: &TestStore) -> Vec<String> {
    const SQLITE: &str = "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite%'";
    const POSTGRES: &str = "SELECT tablename::text FROM pg_tables WHERE schemaname = 'public'";
    let mut tx = test.store.begin().await.expect("a transaction");
    match tx.engine() {
        Engine::Sqlite(c) => sqlx::query_scalar(SQLITE).fetch_all(c).await,
        Engine::Postgres(c) => sqlx::query_scalar(POSTGRES).fetch_all(c).await,
    }
    .expect("tables")
}

#[tokio::test]
async fn prepared_statements_survive_columns_added_by_a_newer_node() {
    for test in stores().await {
        let call = owned_call(&test.store, NodeId::from_uuid(Uuid::nil())).await;
        let tenant = TenantId::from_uuid(call.tenant_id);
        for added in [false, true] {
            if added {
                let tables = tables(&test).await;
                let mut tx = test.store.begin().await.expect("a transaction");
                for table in tables {
                    let sql = sqlx::AssertSqlSafe(format!("ALTER TABLE {table} ADD COLUMN of_tomorrow BIGINT"));
                    on!(tx, |c| sqlx::query(sql).execute(c).await.map(drop)).expect("added");
                }
                tx.commit().await.expect("committed");
            }
            let page = || PageRequest::first(10);
            let mut tx = test.store.begin().await.expect("a transaction");
            calls::lock(&mut tx, tenant, call.call_id()).await.expect("read").expect("the call");
            connections::list(&mut tx, tenant, page()).await.expect("read");
            numbers::list(&mut tx, tenant, page()).await.expect("read");
            people::list(&mut tx, tenant, page()).await.expect("read");
            webhooks::list(&mut tx, tenant, page()).await.expect("read");
            tenants::activate_for_operator(&mut tx, tenant, now()).await.expect("written");
            tx.commit().await.expect("committed");
        }
    }
}

#[tokio::test]
async fn no_statement_reads_whatever_columns_a_table_has() {
    let test = stores().await.swap_remove(0);
    let tables = tables(&test).await;
    assert!(tables.contains(&"calls".to_owned()), "{tables:?}");
    let mut found = Vec::new();
    for path in sources(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src")) {
        let text = std::fs::read_to_string(&path).expect("text");
        let code = text.split("#[cfg(test)]").next().expect("there is a first part");
        let all = |table: &String| {
            let after = |from: &str| {
                code.split(from).skip(1).any(|rest| !rest.starts_with(|c: char| c == '_' || c.is_alphanumeric()))
            };
            after(&format!("SELECT * FROM {table}")) || code.contains(&format!(" {table}.*"))
        };
        if code.contains("RETURNING *") || tables.iter().any(all) {
            found.push(path);
        }
    }
    assert!(found.is_empty(), "name the columns with columns!: {found:#?}");
}

fn sources(folder: &Path) -> Vec<PathBuf> {
    let mut folders = vec![folder.to_owned()];
    let mut files = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            match path.is_dir() {
                true if path.ends_with("tests") => {}
                true => folders.push(path),
                false if path.extension().is_some_and(|name| name == "rs") && !path.ends_with("columns.rs") => {
                    files.push(path);
                }
                false => {}
            }
        }
    }
    files
}
