//! A database with a past: calls of one tenant that have ended, with their events and deliveries, and a few that live.

use serde_json::json;
use switchhook_core::Timestamp;
use switchhook_core::call::{Call, Direction, Timing};
use switchhook_core::event::EventKind;
use switchhook_core::id::{AgentId, CallId, ConnectionId, NumberId, TenantId, WebhookId};
use switchhook_core::webhook::SigningSecret;
use switchhook_runtime::clock;

use crate::config::Config;
use crate::store::calls::{self, CallRequest, CallRow, NewCall, search};
use crate::store::tenants::OwnLimits;
use crate::store::testing::{TestStore, now, tenant};
use crate::store::webhooks::{self, WebhookRow};
use crate::store::{Dialect, Tx, on};

/// Every so many calls, one lives on.
pub(in crate::store) const LIVE: usize = 500;

pub(in crate::store) struct Past {
    pub(in crate::store) tenant: TenantId,
    pub(in crate::store) webhook: WebhookId,
    /// Oldest first.
    pub(in crate::store) calls: Vec<CallId>,
}

/// An id that only its number decides.
pub(in crate::store) fn numbered<T>(make: fn(Timestamp, [u8; 10]) -> T, number: u8) -> T {
    make(now(), [number; 10])
}

/// Writes so many calls, a second apart, the last one now. What they are follows from their number, as [`ended`] says of their ends.
pub(in crate::store) async fn past(test: &TestStore, number_of_calls: usize) -> Past {
    let tenant = tenant(&test.store, OwnLimits::default()).await;
    let webhook = endpoint(test, tenant).await;
    let mut calls = Vec::new();
    for batch in (0..number_of_calls).collect::<Vec<_>>().chunks(256) {
        let rows: Vec<CallRow> = batch.iter().map(|number| queued(tenant, *number, number_of_calls)).collect();
        let mut tx = test.store.begin().await.expect("a transaction");
        calls::create(&mut tx, tenant, &rows, EventKind::CallQueued).await.expect("written");
        for (number, row) in batch.iter().zip(&rows).filter(|(number, _)| !number.is_multiple_of(LIVE)) {
            end(&mut tx, *number, row).await;
        }
        tx.commit().await.expect("committed");
        calls.extend(rows.iter().map(CallRow::call_id));
    }
    deliver(test).await;
    Past { tenant, webhook, calls }
}

fn queued(tenant: TenantId, number: usize, of: usize) -> CallRow {
    let created_at = now() - std::time::Duration::from_secs((of - number) as u64);
    let outbound = !number.is_multiple_of(3);
    let (ours, theirs) = (format!("+1202555010{}", number % 2), format!("+4930{:07}", number / 2));
    let (from, to) = if outbound { (ours, theirs) } else { (theirs, ours) };
    let metadata =
        json!({ "order": format!("o-{number}"), "tier": number % 4, "vip": number.is_multiple_of(8), "none": null });
    let metadata = metadata.as_object().cloned().unwrap_or_default();
    let new = NewCall {
        id: CallId::new(created_at, clock::random()),
        tenant,
        direction: if outbound { Direction::Outbound } else { Direction::Inbound },
        agent: numbered(AgentId::new, u8::try_from(number % 5).unwrap_or(0)),
        agent_version: 1,
        number: (!number.is_multiple_of(7)).then(|| numbered(NumberId::new, u8::try_from(number % 2).unwrap_or(0))),
        connection: numbered(ConnectionId::new, 9),
        provider: "simulator".to_owned(),
        from,
        to,
        request: CallRequest { metadata, ..CallRequest::default() },
        created_at,
        due_at: created_at,
        retention_days: None,
    };
    new.row(Call::outbound(created_at, created_at, Timing::default()))
}

/// Status, reason and error code of an ended call.
fn ended(number: usize) -> (&'static str, Option<&'static str>, Option<&'static str>) {
    match number % 10 {
        0 => ("failed", None, Some("busy")),
        1 => ("failed", None, Some("no_answer")),
        2 | 3 => ("completed", Some("agent_hangup"), None),
        _ => ("completed", Some("caller_hangup"), None),
    }
}

async fn end(tx: &mut Tx, number: usize, row: &CallRow) {
    const SQL: &str = "UPDATE calls SET status = $2, end_reason = $3, error_code = $4, ended_at = $5, deadline = NULL, \
        carrier_call_id = $6, dialing_at = $5 WHERE id = $1";
    // Longer calls end later than shorter ones that began after them.
    let ended_at = row.created_at + i64::try_from(number % 13).unwrap_or(0) * 1_000_000;
    let (status, reason, code) = ended(number);
    let carrier = (number % 10 != 1).then(|| format!("carrier-{}", row.id));
    let done = on!(tx, |c| sqlx::query(SQL)
        .bind(row.id)
        .bind(status)
        .bind(reason)
        .bind(code)
        .bind(ended_at)
        .bind(carrier)
        .execute(c)
        .await
        .map(drop));
    done.expect("ended");
    search::add(tx, row, ended_at).await.expect("noted");
}

pub(in crate::store) async fn endpoint(test: &TestStore, tenant: TenantId) -> WebhookId {
    let vault = Config::for_tests(test.folder.path()).open_vault().expect("a key file");
    let id = WebhookId::new(now(), clock::random());
    let secret = SigningSecret::generate([1; 32]);
    let row = WebhookRow::new(id, tenant, "https://example.com/".to_owned(), &vault, &secret, now());
    let mut tx = test.store.begin().await.expect("a transaction");
    webhooks::insert(&mut tx, &row).await.expect("written");
    tx.commit().await.expect("committed");
    id
}

/// Ends all deliveries but those of live calls, and has something said in every call.
async fn deliver(test: &TestStore) {
    const DELIVER: &str = "UPDATE deliveries SET state = 'succeeded', next_attempt_at = NULL, attempts = 1 WHERE call_id IN \
        (SELECT id FROM calls WHERE ended_at IS NOT NULL)";
    const LINES: &str = "INSERT INTO transcript_entries \
        (tenant_id, call_id, position, role, text, start_ms, end_ms, interrupted) \
        SELECT tenant_id, id, 0, 'agent', 'Hello.', 0, 1, FALSE FROM calls WHERE TRUE ON CONFLICT DO NOTHING";
    const TOOLS: &str = "INSERT INTO tool_calls \
        (tenant_id, call_id, position, id, name, arguments, status, start_ms, duration_ms) \
        SELECT tenant_id, id, 0, 'a', 'book', '{}', 'succeeded', 0, 1 FROM calls WHERE TRUE ON CONFLICT DO NOTHING";
    const DECISIONS: &str = "INSERT INTO call_decisions (tenant_id, call_id, decisions) \
        SELECT tenant_id, id, '[]' FROM calls WHERE TRUE ON CONFLICT DO NOTHING";
    const INPUTS: &str = "INSERT INTO call_inputs (tenant_id, call_id, kept_at, log) \
        SELECT tenant_id, id, ended_at, $1 FROM calls WHERE ended_at IS NOT NULL ON CONFLICT DO NOTHING";
    const KEYS: &str = "INSERT INTO idempotency_keys (tenant_id, key, fingerprint, status, location, body, created_at) \
        SELECT tenant_id, carrier_call_id, $1, 201, '', $1, created_at FROM calls WHERE carrier_call_id IS NOT NULL \
        ON CONFLICT DO NOTHING";
    const ATTEMPTS: &str = "INSERT INTO delivery_attempts (delivery_id, number, started_at) \
        SELECT id, 1, created_at FROM deliveries WHERE state = 'succeeded' ON CONFLICT DO NOTHING";
    const DIALED: &str = "INSERT INTO dialed_numbers (tenant_id, number, dialed_at) \
        SELECT tenant_id, to_number, created_at FROM calls";
    const AGENTS: &str = "INSERT INTO agents (id, tenant_id, name, version, created_at, updated_at) \
        SELECT agent_id, tenant_id, CAST(MAX(created_at) AS TEXT), COUNT(*), 0, 0 FROM calls GROUP BY agent_id, tenant_id \
        ON CONFLICT DO NOTHING";
    // As many as calls.
    const VERSIONS: &str = "INSERT INTO agent_versions (tenant_id, agent_id, version, config, created_at) \
        SELECT tenant_id, agent_id, ROW_NUMBER() OVER (ORDER BY id), '{\"instructions\":\"Hi.\"}', created_at FROM calls WHERE TRUE \
        ON CONFLICT DO NOTHING";
    const PEOPLE: &str = "INSERT INTO people (id, tenant_id, issuer, subject, role, created_at) \
        SELECT id, tenant_id, 'past', carrier_call_id, 'member', created_at FROM calls \
        WHERE carrier_call_id IS NOT NULL ON CONFLICT DO NOTHING";
    let mut tx = test.store.begin().await.expect("a transaction");
    const INVITED: &str = "INSERT INTO people (id, tenant_id, email, role, created_at) \
        SELECT id, tenant_id, CAST(created_at AS TEXT) || '@example.com', 'member', created_at FROM calls \
        WHERE carrier_call_id IS NULL ON CONFLICT DO NOTHING";
    // A hash that is as good as random.
    let hash = if tx.dialect() == Dialect::Postgres { "uuid_send(id)" } else { "id" };
    let sessions = format!(
        "INSERT INTO sessions (hash, tenant_id, person_id, created_at, used_at) \
         SELECT {hash}, tenant_id, id, created_at, created_at FROM people WHERE TRUE ON CONFLICT DO NOTHING"
    );
    let sign_ins = format!(
        "INSERT INTO used_sign_ins (hash, used_at) SELECT {hash}, created_at FROM people WHERE TRUE ON CONFLICT DO NOTHING"
    );
    for sql in [KEYS, INPUTS] {
        on!(tx, |c| sqlx::query(sql).bind(b"bytes".as_slice()).execute(c).await.map(drop)).expect("written");
    }
    for sql in
        [DELIVER, LINES, TOOLS, DECISIONS, ATTEMPTS, DIALED, AGENTS, VERSIONS, PEOPLE, INVITED, &sessions, &sign_ins]
    {
        on!(tx, |c| sqlx::query(sqlx::AssertSqlSafe(sql.to_owned())).execute(c).await.map(drop)).expect("written");
    }
    tx.commit().await.expect("committed");
}

/// The rows of a table.
pub(in crate::store) async fn count(test: &TestStore, table: &str) -> i64 {
    let sql = sqlx::AssertSqlSafe(format!("SELECT COUNT(*) FROM {table}"));
    let mut conn = test.store.read().await.expect("a connection");
    on!(conn, |c| sqlx::query_scalar(sql).fetch_one(c).await).expect("counted")
}
