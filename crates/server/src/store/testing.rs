//! Fresh stores for tests: SQLite in a temporary folder, and PostgreSQL where `SWITCHHOOK_TEST_POSTGRES` names a server.

use std::borrow::Borrow;
use std::time::Duration;

use sqlx::postgres::{PgConnectOptions, PgConnection};
use sqlx::{AssertSqlSafe, Connection as _, Executor as _};
use switchhook_core::Timestamp;
use switchhook_core::agent::AgentConfig;
use switchhook_core::call::{Call, Direction, Timing};
use switchhook_core::event::EventKind;
use switchhook_core::id::{AgentId, CallId, ConnectionId, NodeId, TenantId};
use switchhook_runtime::clock;
use tempfile::TempDir;

use super::Store;
use super::agents::AgentRow;
use super::calls::{self, CallRequest, CallRow, NewCall};
use super::lease_time::LeaseTime;
use super::tenants::{self, OwnLimits};

#[path = "../../tests/it/harness/database.rs"]
mod database;

/// Nine in the morning of an ordinary day.
pub(crate) const NOW: &str = "2026-11-21T09:00:00Z";

/// A separate store, and the folder that is deleted with it.
pub(crate) struct TestStore {
    pub(crate) store: Store,
    pub(crate) folder: TempDir,
    pub(crate) engine: &'static str,
}

/// One fresh store of each engine that is there.
pub(crate) async fn stores() -> Vec<TestStore> {
    let sqlite = sqlite().await;
    sqlite.store.migrate().await.expect("a new database");
    let mut stores = vec![sqlite];
    match database::create_migrated().await {
        Some(url) => stores.push(postgres(&url).await),
        None => say_that_postgres_is_left_out(),
    }
    stores
}

/// As [`stores`], without a schema.
pub(crate) async fn empty_stores() -> Vec<TestStore> {
    let mut stores = vec![sqlite().await];
    if let Some(url) = new_postgres().await {
        stores.push(postgres(&url).await);
    }
    stores
}

/// The address of a new PostgreSQL database, if there is a server.
pub(crate) async fn new_postgres() -> Option<String> {
    let url = database::create().await;
    if url.is_none() {
        say_that_postgres_is_left_out();
    }
    url
}

/// The same with another encoding. The database lasts as long as the connection.
pub(crate) async fn encoded_postgres(encoding: &str) -> Option<(String, PgConnection)> {
    let server = new_postgres().await?;
    let name = database::new_name();
    let options: PgConnectOptions = server.parse().expect("an address");
    let mut connection = PgConnection::connect_with(&options.application_name(&name)).await.expect("a database");
    let create = format!("CREATE DATABASE {name} ENCODING '{encoding}' LC_COLLATE 'C' LC_CTYPE 'C' TEMPLATE template0");
    connection.execute(AssertSqlSafe(create)).await.expect("created");
    Some((database::with_database(&server, &name), connection))
}

async fn sqlite() -> TestStore {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let url = format!("sqlite://{}", folder.path().join("test.db").display());
    TestStore { store: Store::connect(&url).await.expect("a new SQLite file"), folder, engine: "sqlite" }
}

async fn postgres(url: &str) -> TestStore {
    let folder = tempfile::tempdir().expect("a temporary folder");
    TestStore { store: Store::connect(url).await.expect("a new database"), folder, engine: "postgres" }
}

/// Set where another step runs these tests, on both engines.
const BOTH_ELSEWHERE: &str = "SWITCHHOOK_TEST_STORES_ELSEWHERE";

#[expect(clippy::print_stderr, reason = "nothing is left out silently")]
fn say_that_postgres_is_left_out() {
    let elsewhere = std::env::var_os(BOTH_ELSEWHERE).is_some();
    assert!(!elsewhere, "this test runs on SQLite only: name its module in STORES of ci/test.sh");
    eprintln!("SWITCHHOOK_TEST_POSTGRES is not set: this test ran without PostgreSQL");
}

/// The time at which tests begin.
pub(crate) fn now() -> Timestamp {
    Timestamp::parse(NOW).expect("a date")
}

/// How often a test asks for a connection, some seconds each time.
const MOST_TRIES: usize = 20;

/// Repeats what found no connection or transaction in time. The store gives up after a few seconds, which a busy machine may need for the
/// others of many at once.
pub(crate) async fn patiently<T, E, W>(ask: impl Fn() -> W) -> Result<T, E>
where
    E: Borrow<sqlx::Error>,
    W: Future<Output = Result<T, E>>,
{
    for _ in 1..MOST_TRIES {
        match ask().await {
            Err(error) if matches!(error.borrow(), sqlx::Error::PoolTimedOut) => {}
            done => return done,
        }
    }
    ask().await
}

/// A new tenant with these limits.
pub(crate) async fn tenant(store: &Store, limits: OwnLimits) -> TenantId {
    let id = TenantId::new(now(), clock::random());
    let mut tx = store.begin().await.expect("a transaction");
    tenants::create_for_operator(&mut tx, id, "Acme", limits, now()).await.expect("a tenant");
    tx.commit().await.expect("committed");
    id
}

/// The first version of a new agent, not written yet.
pub(crate) fn new_agent(tenant: TenantId, name: &str) -> AgentRow {
    AgentRow {
        id: AgentId::new(now(), clock::random()).uuid(),
        tenant_id: tenant.uuid(),
        name: name.to_owned(),
        version: 1,
        traffic: None,
        config: AgentConfig::new("Book a table.").into(),
        created_at: now().as_micros(),
        updated_at: now().as_micros(),
    }
}

/// How long a claim of these tests lasts.
pub(crate) const LEASE: Duration = Duration::from_secs(15);

/// A call that waits to be dialled, not written yet.
pub(crate) fn queued_call(tenant: TenantId, agent: AgentId, agent_version: i64) -> CallRow {
    let new = NewCall {
        id: CallId::new(now(), clock::random()),
        tenant,
        direction: Direction::Outbound,
        agent,
        agent_version,
        number: None,
        connection: ConnectionId::new(now(), clock::random()),
        provider: "simulator".to_owned(),
        from: "+12025550199".to_owned(),
        to: "+12025550109".to_owned(),
        request: CallRequest::default(),
        created_at: now(),
        due_at: now(),
        retention_days: None,
    };
    new.row(Call::outbound(now(), now(), Timing::default()))
}

/// A call of a new tenant, owned by `node`.
pub(crate) async fn owned_call(store: &Store, node: NodeId) -> CallRow {
    let tenant = tenant(store, OwnLimits::default()).await;
    let row = queued_call(tenant, AgentId::new(now(), clock::random()), 1);
    let mut tx = store.begin().await.expect("a transaction");
    calls::create(&mut tx, tenant, std::slice::from_ref(&row), EventKind::CallQueued).await.expect("written");
    let row = calls::own_for_arrival(&mut tx, row.call_id(), node, LeaseTime::at(now(), LEASE)).await.expect("owned");
    tx.commit().await.expect("committed");
    row
}
