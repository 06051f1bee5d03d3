//! Which versions of agents stay.

use switchhook_core::agent::{Traffic, TrafficPart};
use switchhook_core::event::EventKind;
use switchhook_core::id::{AgentId, TenantId};
use switchhook_runtime::clock::Clock;

use super::past::count;
use crate::config::Config;
use crate::housekeeping::Housekeeping;
use crate::store::agents::pruning::KEPT;
use crate::store::agents::{self, AgentRow};
use crate::store::bounds::{self, Stored};
use crate::store::calls::{self, CallRow};
use crate::store::tenants::OwnLimits;
use crate::store::testing::{TestStore, new_agent, queued_call, stores, tenant};
use crate::store::{on, retention};

/// An agent that was changed until it has this version.
async fn agent(test: &TestStore, tenant: TenantId, version: i64) -> AgentRow {
    let mut row = new_agent(tenant, "Ava");
    let mut tx = test.store.begin().await.expect("a transaction");
    agents::insert(&mut tx, &row).await.expect("written");
    tx.commit().await.expect("committed");
    change(test, &mut row, version).await;
    row
}

/// Changes an agent until it has this version.
async fn change(test: &TestStore, row: &mut AgentRow, version: i64) {
    let mut tx = test.store.begin().await.expect("a transaction");
    while row.version < version {
        row.version += 1;
        row.config.0.instructions = format!("Book table {}.", row.version);
        agents::update(&mut tx, row).await.expect("written");
    }
    tx.commit().await.expect("committed");
}

/// A call with this version of an agent, which has ended.
async fn call(test: &TestStore, tenant: TenantId, agent: AgentId, version: i64) -> CallRow {
    const END: &str = "UPDATE calls SET status = 'completed' WHERE id = $1";
    let row = queued_call(tenant, agent, version);
    let mut tx = test.store.begin().await.expect("a transaction");
    calls::create(&mut tx, tenant, std::slice::from_ref(&row), EventKind::CallQueued).await.expect("written");
    on!(tx, |c| sqlx::query(END).bind(row.id).execute(c).await.map(drop)).expect("ended");
    tx.commit().await.expect("committed");
    row
}

/// Deletes a call at the end of its retention.
async fn forget(test: &TestStore, tenant: TenantId, call: &CallRow) {
    let mut tx = test.store.begin().await.expect("a transaction");
    retention::delete_calls_for_housekeeping(&mut tx, tenant, None, &[call.id]).await.expect("deleted");
    tx.commit().await.expect("committed");
}

async fn has(test: &TestStore, tenant: TenantId, agent: AgentId, version: i64) -> bool {
    let mut conn = test.store.read().await.expect("a connection");
    agents::named_version(&mut conn, tenant, agent, version).await.expect("read").is_some()
}

/// Returns the recorded size of the tenant's stored versions, and the actual one.
async fn bytes(test: &TestStore, tenant: TenantId) -> (i64, i64) {
    const SIZE: &str = "SELECT CAST(COALESCE(SUM(bytes), 0) AS BIGINT) FROM agent_versions WHERE tenant_id = $1";
    let mut conn = test.store.read().await.expect("a connection");
    let size = on!(conn, |c| sqlx::query_scalar(SIZE).bind(tenant.uuid()).fetch_one(c).await).expect("summed");
    (bounds::in_use(&mut conn, tenant, Stored::AgentBytes).await.expect("read"), size)
}

#[tokio::test]
async fn of_1300_versions_the_newest_100_stay_and_those_of_calls() {
    for test in stores().await {
        let (engine, tenant) = (test.engine, tenant(&test.store, OwnLimits::default()).await);
        let mut row = agent(&test, tenant, 50).await;
        let (first, other) = (call(&test, tenant, row.agent(), 7).await, call(&test, tenant, row.agent(), 7).await);
        change(&test, &mut row, 1_300).await;

        assert_eq!(count(&test, "agent_versions").await, KEPT + 1, "{engine}");
        for (version, stays) in [(1, false), (7, true), (1_200, false), (1_201, true), (1_300, true)] {
            assert_eq!(has(&test, tenant, row.agent(), version).await, stays, "{engine}: {version}");
        }
        let (said, size) = bytes(&test, tenant).await;
        assert!(said == size && size > 0, "{engine}: {said} {size}");

        forget(&test, tenant, &first).await;
        assert!(has(&test, tenant, row.agent(), 7).await, "{engine}: another call has it");
        forget(&test, tenant, &other).await;
        assert_eq!(count(&test, "agent_versions").await, KEPT, "{engine}");
        let newest = call(&test, tenant, row.agent(), 1_300).await;
        forget(&test, tenant, &newest).await;
        assert!(has(&test, tenant, row.agent(), 1_300).await, "{engine}: it is among the newest");
        let (said, size) = bytes(&test, tenant).await;
        assert_eq!(said, size, "{engine}");
    }
}

/// Splits an agent's new calls.
async fn route(test: &TestStore, row: &mut AgentRow, parts: &[(i64, u32)]) {
    let parts: Vec<_> = parts.iter().map(|&(version, percent)| TrafficPart { version, percent }).collect();
    row.traffic = (!parts.is_empty()).then(|| Traffic::new(parts).into());
    let mut tx = test.store.begin().await.expect("a transaction");
    agents::set_traffic(&mut tx, row).await.expect("written");
    tx.commit().await.expect("committed");
}

#[tokio::test]
async fn versions_that_get_calls_stay_until_they_get_none() {
    for test in stores().await {
        let (engine, tenant) = (test.engine, tenant(&test.store, OwnLimits::default()).await);
        let mut row = agent(&test, tenant, 9).await;
        route(&test, &mut row, &[(2, 50), (5, 50)]).await;
        change(&test, &mut row, 300).await;
        for (version, stays) in [(2, true), (3, false), (5, true), (200, false), (201, true)] {
            assert_eq!(has(&test, tenant, row.agent(), version).await, stays, "{engine}: {version}");
        }
        route(&test, &mut row, &[(5, 100)]).await;
        assert!(!has(&test, tenant, row.agent(), 2).await && has(&test, tenant, row.agent(), 5).await, "{engine}");
        let held = call(&test, tenant, row.agent(), 5).await;
        route(&test, &mut row, &[]).await;
        assert!(has(&test, tenant, row.agent(), 5).await, "{engine}: a call has it");
        forget(&test, tenant, &held).await;
        assert_eq!(count(&test, "agent_versions").await, KEPT, "{engine}");
        let (said, size) = bytes(&test, tenant).await;
        assert_eq!(said, size, "{engine}");
    }
}

#[tokio::test]
async fn a_call_gets_the_configuration_of_its_version() {
    for test in stores().await {
        let (engine, tenant) = (test.engine, tenant(&test.store, OwnLimits::default()).await);
        let mut row = agent(&test, tenant, 4).await;
        let mut conn = test.store.read().await.expect("a connection");
        let call = queued_call(tenant, row.agent(), 1).call_id();
        let mut got = async |version: Option<i64>| {
            let got = agents::for_call(&mut conn, tenant, row.agent(), version, call).await.expect("read");
            got.map(|got| (got.version, got.config.instructions))
        };
        let expected = |version: i64| Some((version, format!("Book table {version}.")));
        assert_eq!(
            (got(None).await, got(Some(2)).await, got(Some(5)).await),
            (expected(4), expected(2), None),
            "{engine}"
        );
        drop(conn);
        route(&test, &mut row, &[(3, 100)]).await;
        let mut conn = test.store.read().await.expect("a connection");
        for (version, gets) in [(None, 3), (Some(4), 4)] {
            let got = agents::for_call(&mut conn, tenant, row.agent(), version, call).await.expect("read");
            assert_eq!(got.map(|got| (got.version, got.config.instructions)), expected(gets), "{engine}");
        }
        drop(conn);
        // As a node of a release without traffic would.
        let mut tx = test.store.begin().await.expect("a transaction");
        let sql = "DELETE FROM agent_versions WHERE version = 3";
        on!(tx, |c| sqlx::query(sql).execute(c).await.map(drop)).expect("deleted");
        tx.commit().await.expect("committed");
        let mut conn = test.store.read().await.expect("a connection");
        for (version, gets) in [(None, expected(4)), (Some(3), None)] {
            let got = agents::for_call(&mut conn, tenant, row.agent(), version, call).await.expect("read");
            assert_eq!(got.map(|got| (got.version, got.config.instructions)), gets, "{engine}");
        }
    }
}

#[tokio::test]
async fn versions_of_a_deleted_agent_go_but_those_of_calls() {
    for test in stores().await {
        let (engine, tenant) = (test.engine, tenant(&test.store, OwnLimits::default()).await);
        let config = Config::for_tests(test.folder.path());
        let housekeeping = Housekeeping::new(test.store.clone(), Clock::system(), &config).without_pauses();
        let row = agent(&test, tenant, 40).await;
        let kept = call(&test, tenant, row.agent(), 7).await;
        housekeeping.prune_versions().await.expect("pruned");
        assert_eq!(count(&test, "agent_versions").await, 40, "{engine}: the agent is there");

        let mut tx = test.store.begin().await.expect("a transaction");
        assert!(agents::delete(&mut tx, tenant, row.agent()).await.expect("deleted"));
        tx.commit().await.expect("committed");
        housekeeping.prune_versions().await.expect("pruned");
        assert_eq!(count(&test, "agent_versions").await, 1, "{engine}");
        assert!(has(&test, tenant, row.agent(), 7).await, "{engine}");
        assert_eq!(count(&test, "agents_to_prune").await, 0, "{engine}: it is done with");

        forget(&test, tenant, &kept).await;
        assert_eq!(count(&test, "agent_versions").await, 0, "{engine}");
        assert_eq!(bytes(&test, tenant).await, (0, 0), "{engine}");
    }
}
