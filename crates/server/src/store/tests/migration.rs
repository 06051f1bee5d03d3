//! A database of an earlier version is brought up to date in place.

use switchhook_core::Timestamp;
use switchhook_core::id::{AgentId, ConnectionId, PersonId, TenantId};
use switchhook_core::quota;
use switchhook_runtime::clock::Clock;

use super::past::{count, numbered};
use crate::config::Config;
use crate::housekeeping::{self, Housekeeping};
use crate::store::bounds::{self, Stored};
use crate::store::calls::{self, Filter, search};
use crate::store::page::PageRequest;
use crate::store::people::{self, PersonRow};
use crate::store::testing::{TestStore, empty_stores, now};
use crate::store::{Dialect, execute, on, sessions};

/// The last schema without an index of calls.
const BEFORE: i64 = 5;

/// Ended calls, one a minute before `now`, and one that is queued.
async fn fill(test: &TestStore, tenant: TenantId, calls: usize) {
    const TENANT: &str =
        "INSERT INTO tenants (id, name, active, created_at, updated_at) VALUES ($1, 'Acme', TRUE, 0, 0)";
    const CALL: &str = "INSERT INTO calls (id, tenant_id, status, direction, agent_id, agent_version, connection_id, provider, \
        from_number, to_number, request, created_at, due_at, ended_at, hangup_reported, duration_seconds, turns, event_count, \
        lease_token, end_reason) VALUES ($1, $2, $3, $4, $5, 1, $5, 'simulator', '+12025550199', '+12025550100', ";
    let json = if test.store.dialect() == Dialect::Postgres { "'{}'::jsonb" } else { "'{}'" };
    let sql = format!("{CALL}{json}, $6, $6, $7, FALSE, 0, 0, 1, 0, $8)");
    let mut tx = test.store.begin().await.expect("a transaction");
    on!(tx, |c| sqlx::query(TENANT).bind(tenant.uuid()).execute(c).await.map(drop)).expect("written");
    for number in 0..=calls {
        let at = now() - std::time::Duration::from_secs(60 * (calls - number) as u64);
        let live = number == calls;
        let id = switchhook_core::id::CallId::new(at, [1; 10]);
        let direction = if number % 4 == 0 { "inbound" } else { "outbound" };
        on!(tx, |c| sqlx::query(sqlx::AssertSqlSafe(sql.clone()))
            .bind(id.uuid())
            .bind(tenant.uuid())
            .bind(if live { "queued" } else { "completed" })
            .bind(direction)
            .bind(numbered(ConnectionId::new, 1).uuid())
            .bind(at.as_micros())
            .bind((!live).then_some(at.as_micros()))
            .bind((!live).then_some("agent_hangup"))
            .execute(c)
            .await
            .map(drop))
        .expect("written");
    }
    tx.commit().await.expect("committed");
}

#[tokio::test]
async fn migrated_email_addresses_are_unverified() {
    const PERSON: &str = "INSERT INTO people (id, tenant_id, issuer, subject, email, role, created_at) \
        VALUES ($1, $2, 'issuer', 'ana', 'ana@example.com', 'owner', 0)";
    for test in empty_stores().await {
        test.store.migrate_to(12).await.expect("the earlier schema");
        let tenant = numbered(TenantId::new, 1);
        fill(&test, tenant, 0).await;
        let mut tx = test.store.begin().await.expect("a transaction");
        execute!(tx, PERSON; numbered(PersonId::new, 1).uuid(), tenant.uuid()).expect("written");
        tx.commit().await.expect("committed");

        test.store.migrate().await.expect("up to date");
        let mut conn = test.store.read().await.expect("a connection");
        let person = people::find_for_sign_in(&mut conn, "issuer", "ana").await.expect("read").expect("she is there");
        assert_eq!((person.email.as_deref(), person.known_email()), (Some("ana@example.com"), None), "{}", test.engine);
    }
}

#[tokio::test]
async fn who_has_joined_a_tenant_stays_signed_in_and_invitations_without_a_link_end() {
    const PERSON: &str = "INSERT INTO people (id, tenant_id, issuer, subject, email, role, created_at) \
        VALUES ($1, $2, $3, $3, $4, 'member', 0)";
    for test in empty_stores().await {
        test.store.migrate_to(14).await.expect("the earlier schema");
        let tenant = numbered(TenantId::new, 1);
        fill(&test, tenant, 0).await;
        let (joined, invited) = (numbered(PersonId::new, 1), numbered(PersonId::new, 2));
        let mut tx = test.store.begin().await.expect("a transaction");
        for (id, identity, email) in [(joined, Some("ana"), "ana@example.com"), (invited, None, "bob@example.com")] {
            execute!(tx, PERSON; id.uuid(), tenant.uuid(), identity, email).expect("written");
        }
        sessions::insert(&mut tx, tenant, joined, &[7; 32], now()).await.expect("written");
        tx.commit().await.expect("committed");

        test.store.migrate().await.expect("up to date");
        let mut tx = test.store.begin().await.expect("a transaction");
        let session = sessions::find_for_authentication(&mut tx, &[7; 32]).await.expect("read").expect("it goes on");
        assert_eq!((session.person(), session.tenant()), (joined, tenant), "{}", test.engine);
        let people = people::list(&mut tx, tenant, PageRequest::first(10)).await.expect("read").rows;
        assert_eq!(people.iter().map(PersonRow::person).collect::<Vec<_>>(), [joined], "{}", test.engine);
        people::delete(&mut tx, tenant, joined).await.expect("deleted");
        let session = sessions::find_for_authentication(&mut tx, &[7; 32]).await.expect("read");
        assert!(session.is_none(), "{}: sessions still end with their person", test.engine);
    }
}

#[tokio::test]
async fn a_database_of_an_earlier_version_is_counted_and_indexed() {
    for test in empty_stores().await {
        test.store.migrate_to(BEFORE).await.expect("the earlier schema");
        let tenant = numbered(TenantId::new, 1);
        fill(&test, tenant, search::SEGMENT + 10).await;

        test.store.migrate().await.expect("up to date");
        let mut progress = Vec::new();
        housekeeping::index_all(&test.store, |done, total| progress.push((done, total))).await.expect("indexed");
        assert_eq!(progress, [(search::SEGMENT, search::SEGMENT + 10)], "{}", test.engine);
        assert_eq!(count(&test, "call_search_pending").await, 10, "{}", test.engine);

        let mut conn = test.store.read().await.expect("a connection");
        let filter = Filter { direction: vec!["inbound".to_owned()], ..Filter::default() };
        let inbound = calls::list(&mut conn, tenant, &filter, PageRequest::first(10_000)).await.expect("a list");
        assert_eq!(inbound.rows.len(), (search::SEGMENT + 10).div_ceil(4), "{}", test.engine);
        let all = calls::list(&mut conn, tenant, &Filter::default(), PageRequest::first(10_000)).await.expect("a list");
        let month = quota::month_start(now());
        let placed =
            |row: &&calls::CallRow| row.direction == "outbound" && Timestamp::from_micros(row.created_at) >= month;
        let placed = u32::try_from(all.rows.iter().filter(placed).count()).expect("few");
        let usage = calls::count_for_quota(&mut conn, tenant, month, 10).await.expect("counted");
        assert_eq!((usage.concurrent_calls, usage.monthly_calls), (1, placed), "{}", test.engine);
        assert!(placed > 100, "the past is in this month too");
    }
}

/// The last schema in which every version of an agent stays.
const ALL_VERSIONS: i64 = 12;

/// Versions of agents from 1 up, by the number of the agent.
async fn fill_versions(test: &TestStore, tenant: TenantId, agents: [(u8, i64); 2]) {
    const TENANT: &str =
        "INSERT INTO tenants (id, name, active, created_at, updated_at) VALUES ($1, 'Acme', TRUE, 0, 0)";
    let json = if test.store.dialect() == Dialect::Postgres { "'{}'::jsonb" } else { "'{}'" };
    let version = format!(
        "INSERT INTO agent_versions (tenant_id, agent_id, version, config, created_at) VALUES ($1, $2, $3, {json}, 0)"
    );
    let mut tx = test.store.begin().await.expect("a transaction");
    on!(tx, |c| sqlx::query(TENANT).bind(tenant.uuid()).execute(c).await.map(drop)).expect("written");
    for (agent, versions) in agents {
        for number in 1..=versions {
            let sql = sqlx::AssertSqlSafe(version.clone());
            let agent = numbered(AgentId::new, agent).uuid();
            on!(tx, |c| sqlx::query(sql).bind(tenant.uuid()).bind(agent).bind(number).execute(c).await.map(drop))
                .expect("written");
        }
    }
    tx.commit().await.expect("committed");
}

#[tokio::test]
async fn versions_of_an_earlier_database_are_counted_and_pruned() {
    const AGENT: &str = "INSERT INTO agents (id, tenant_id, name, version, created_at, updated_at) \
        VALUES ($1, $2, 'Ava', 130, 0, 0)";
    for test in empty_stores().await {
        test.store.migrate_to(ALL_VERSIONS).await.expect("the earlier schema");
        let tenant = numbered(TenantId::new, 1);
        let (kept, deleted) = (1, 2);
        fill_versions(&test, tenant, [(kept, 130), (deleted, 20)]).await;
        let mut tx = test.store.begin().await.expect("a transaction");
        let agent = numbered(AgentId::new, kept).uuid();
        on!(tx, |c| sqlx::query(AGENT).bind(agent).bind(tenant.uuid()).execute(c).await.map(drop)).expect("written");
        tx.commit().await.expect("committed");

        test.store.migrate().await.expect("up to date");
        let bytes = async || {
            let mut conn = test.store.read().await.expect("a connection");
            bounds::in_use(&mut conn, tenant, Stored::AgentBytes).await.expect("read")
        };
        assert_eq!(bytes().await, 2 * 150, "{}", test.engine);
        let config = Config::for_tests(test.folder.path());
        let housekeeping = Housekeeping::new(test.store.clone(), Clock::system(), &config).without_pauses();
        housekeeping.prune_versions().await.expect("pruned");
        assert_eq!(count(&test, "agent_versions").await, 100, "{}", test.engine);
        assert_eq!(bytes().await, 2 * 100, "{}", test.engine);
    }
}
