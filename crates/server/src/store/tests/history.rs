//! No statement reads a past that it does not show.
//!
//! Every function of the store that touches a table that grows is called on a database with a past, every statement that it runs is
//! given to the engine's planner, and a plan that reads more than an index of live rows, or than a few rows of another index, fails.
//! A statement in the store's source that is not run here fails too: call its function in [`walk`].

mod source;

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::json;
use sqlx::types::Json;
use switchhook_core::call::{Call, CallEffect, CallInput, Timing};
use switchhook_core::dial_policy::{NumberingPlan, Tariff};
use switchhook_core::event::EventKind;
use switchhook_core::histogram::Histogram;
use switchhook_core::id::{AgentId, CallId, ConnectionId, DeliveryId, NodeId, PersonId};
use switchhook_core::idempotency::IdempotencyKey;
use switchhook_core::sign_in::Role;
use switchhook_runtime::clock::Clock;
use tracing::field::{Field, Visit};
use tracing_subscriber::layer::{Context, SubscriberExt as _};
use uuid::Uuid;

use super::past::{LIVE as LIVE_EVERY, Past, numbered, past};
use crate::housekeeping;
use crate::store::agents::pruning;
use crate::store::batch::BatchJob as _;
use crate::store::calls::commands::{self, CallCommand};
use crate::store::calls::tool_calls::{self, ToolCallEntry};
use crate::store::calls::{self, CallRow, Claim, Filter, TranscriptEntry, decisions, inputs, search};
use crate::store::deliveries::outcome::{self, Finished, Outcome, Record, Then};
use crate::store::deliveries::{self, queue};
use crate::store::dial_policy::DialAttempt;
use crate::store::lease_time::LeaseTime;
use crate::store::page::PageRequest;
use crate::store::people::{self, PersonRow, ProvidedEmail};
use crate::store::rate::{Admit, RateRequest};
use crate::store::statistics::{self, Span};
use crate::store::testing::{TestStore, new_agent, now, stores};
use crate::store::{
    Engine, agents, bounds, columns, dial_policy, events, idempotency, invitations, memberships, on, refusals,
    retention, sessions, webhooks,
};

/// Tables with rows of the past.
const GROWING: [&str; 20] = [
    "calls",
    "events",
    "transcript_entries",
    "deliveries",
    "delivery_attempts",
    "idempotency_keys",
    "dialed_numbers",
    "admitted_requests",
    "call_search_pending",
    "call_search_segments",
    "call_search_postings",
    "call_sums",
    "response_times",
    "tool_calls",
    "call_decisions",
    "call_inputs",
    "agent_versions",
    "people",
    "sessions",
    "used_sign_ins",
];

/// Indexes that hold only what is live, due or waiting: reading all of one is what they are for.
const LIVE: [&str; 15] = [
    "calls_live",
    "calls_live_by_tenant",
    "calls_live_by_connection",
    "calls_to_hang_up",
    "calls_to_erase",
    "call_search_pending_by_end",
    "deliveries_due",
    "deliveries_first",
    "deliveries_again",
    "deliveries_sending",
    "deliveries_open",
    "deliveries_to_erase",
    "idempotency_keys_by_age",
    // Ended rows are deleted soon.
    "sessions_by_use",
    "used_sign_ins_by_age",
];

/// Columns that only identify an owner: a condition on nothing else reads all rows that the owner ever had.
const OWNERS: [&str; 3] = ["tenant_id", "webhook_id", "connection_id"];

/// Statements that read the newest or oldest rows of an owner and stop: pages, and the deletion of an endpoint. Their beginnings.
const PAGES: [&str; 18] = [
    "SELECT * FROM (SELECT id, webhook_id, call_id, event, state, attempts, next_attempt_at, created_at FROM deliveries WHERE 1 = 1",
    "SELECT id FROM calls WHERE tenant_id = $ AND id >= $ AND id <= $",
    "DELETE FROM deliveries WHERE id IN (SELECT id FROM deliveries WHERE tenant_id = $ AND webhook_id = $ LIMIT",
    // The oldest of everybody's, a batch at a time.
    "DELETE FROM deliveries WHERE id IN (SELECT id FROM deliveries WHERE id > $ AND id < $",
    "DELETE FROM dialed_numbers WHERE id IN (SELECT id FROM dialed_numbers WHERE dialed_at <= $ LIMIT",
    "DELETE FROM call_inputs WHERE call_id IN (SELECT call_id FROM call_inputs WHERE kept_at <= $ ORDER BY kept_at LIMIT",
    // The newest that an operator replays.
    "SELECT call_id FROM call_inputs ORDER BY kept_at DESC LIMIT",
    "SELECT call_id FROM call_inputs JOIN calls ON calls.id = call_inputs.call_id WHERE calls.agent_id = $ ORDER BY",
    // The people of one tenant are few, and all of a deactivated tenant's sessions end.
    concat!("SELECT ", columns!(people), " FROM people WHERE tenant_id = $ AND id < $ ORDER BY id DESC LIMIT"),
    "SELECT COUNT(*) FROM people WHERE tenant_id = $",
    "DELETE FROM sessions WHERE hash IN (SELECT hash FROM sessions WHERE tenant_id = $ LIMIT",
    "SELECT (SELECT COUNT(*) FROM agents WHERE tenant_id = $), (SELECT COUNT(*) FROM connections WHERE tenant_id = $)",
    // After all but the last of its deliveries are deleted.
    "DELETE FROM webhooks",
    // The last minute of a tenant's requests; older ones are deleted as new ones come.
    "SELECT latest.number, latest.admitted_at, (SELECT number FROM admitted_requests",
    "DELETE FROM admitted_requests WHERE tenant_id = $ AND number < $ AND number < $ + (SELECT MIN(number) FROM admitted_requests",
    // Of what is pending: at most a segment and what ended in the last half minute. Of segments: one row for a thousand calls.
    "SELECT tenant_id, COUNT(*) FROM call_search_pending GROUP BY",
    "SELECT COUNT(*) FROM (SELECT 1 FROM call_search_pending WHERE tenant_id = $ LIMIT",
    "SELECT call_id FROM call_search_pending WHERE tenant_id = $ ORDER BY call_id LIMIT",
];

/// Collects the statements that sqlx says it ran.
#[derive(Clone, Default)]
struct Statements(Arc<Mutex<BTreeSet<String>>>);

impl<S: tracing::Subscriber> tracing_subscriber::Layer<S> for Statements {
    fn on_event(&self, event: &tracing::Event<'_>, _: Context<'_, S>) {
        struct Texts(Vec<String>);
        impl Visit for Texts {
            fn record_str(&mut self, field: &Field, value: &str) {
                if ["db.statement", "summary"].contains(&field.name()) && !value.is_empty() {
                    self.0.push(value.to_owned());
                }
            }
            fn record_debug(&mut self, _: &Field, _: &dyn std::fmt::Debug) {}
        }
        if event.metadata().target() == "sqlx::query" {
            let mut texts = Texts(Vec::new());
            event.record(&mut texts);
            if let Some(sql) = texts.0.into_iter().max_by_key(String::len) {
                self.0.lock().expect("nobody panicked").insert(one_line(&sql));
            }
        }
    }
}

fn one_line(sql: &str) -> String {
    sql.split_whitespace().collect::<Vec<_>>().join(" ")
}

impl Statements {
    fn take(&self) -> BTreeSet<String> {
        std::mem::take(&mut *self.0.lock().expect("nobody panicked"))
    }
}

/// Calls every function that touches a table that grows.
async fn walk(test: &TestStore, past: &Past) {
    walk_reads(test, past).await;
    walk_calls(test, past).await;
    walk_deliveries(test, past).await;
    walk_housekeeping(test, past).await;
    walk_people(test, past).await;
    walk_agents(test, past).await;
}

async fn walk_reads(test: &TestStore, past: &Past) {
    let (tenant, call) = (past.tenant, past.calls[7]);
    let (connection, node) = (numbered(ConnectionId::new, 9), numbered(NodeId::new, 1));
    let mut conn = test.store.read().await.expect("a connection");
    let c = &mut conn;
    calls::get(c, tenant, call).await.expect("read");
    calls::get_for_carrier(c, call).await.expect("read");
    calls::by_carrier_call_id(c, connection, "7").await.expect("read");
    calls::has_twin_without_id(c, call, now()).await.expect("read");
    calls::count_for_quota(c, tenant, now(), 10).await.expect("read");
    let to = "+12025550155".parse().expect("a number");
    let plan = NumberingPlan { tariff: Tariff::Ordinary, country_code_digits: 1 };
    let attempt = DialAttempt { to: &to, plan, counts_at: Some(now()) };
    dial_policy::judge(c, tenant, attempt, now()).await.expect("read").expect("nothing is against it");
    dial_policy::times_dialed(c, tenant, to.reveal(), (0, i64::MAX)).await.expect("read");
    calls::transcript(c, tenant, call, 0).await.expect("read");
    tool_calls::list(c, tenant, call, 0).await.expect("read");
    decisions::list(c, tenant, call).await.expect("read");
    inputs::get_for_operator(c, call).await.expect("read");
    inputs::last_for_operator(c, None, 10).await.expect("read");
    inputs::last_for_operator(c, Some(AgentId::from(Uuid::nil())), 10).await.expect("read");
    events::before(c, tenant, PageRequest::first(10)).await.expect("read");
    events::after(c, tenant, Uuid::nil(), 10).await.expect("read");
    calls::hangup_requests_for_node(c, node).await.expect("read");
    calls::count_live_since_before_for_operator(c, now()).await.expect("read");
    commands::waiting_for_nodes(c).await.expect("read");
    events::list(c, tenant, call, 0, 10).await.expect("read");
    for filter in filters() {
        calls::list(c, tenant, &filter, PageRequest::first(10)).await.expect("read");
    }
    let delivery = numbered(DeliveryId::new, 1);
    let by_state =
        deliveries::DeliveryFilter { state: vec!["failed".to_owned(), "pending".to_owned()], ..Default::default() };
    let of_call = deliveries::DeliveryFilter { call: Some(call.uuid()), ..Default::default() };
    for filter in [deliveries::DeliveryFilter::default(), by_state, of_call] {
        deliveries::list(c, tenant, past.webhook, &filter, PageRequest::first(10)).await.expect("read");
    }
    deliveries::get(c, tenant, past.webhook, delivery).await.expect("read");
    assert!(deliveries::body::get(c, tenant, delivery).await.is_err(), "there is none");
    deliveries::attempts(c, tenant, delivery).await.expect("read");
    deliveries::of_call(c, tenant, call, PageRequest::first(10)).await.expect("read");
    deliveries::attempts_of(c, tenant, &[delivery.uuid()]).await.expect("read");
    deliveries::backlog::failing(c, tenant, 20).await.expect("read");
    deliveries::backlog::waiting(c, tenant, past.webhook).await.expect("read");
    deliveries::backlog::last_failure(c, tenant, past.webhook).await.expect("read");
    refusals::list(c, tenant, 20).await.expect("read");
    let span = Span { tenant, after: now(), before: now(), agent: None };
    statistics::by_interval(c, span, 3_600_000_000).await.expect("read");
    statistics::responses_by_interval(c, span, 3_600_000_000).await.expect("read");
    statistics::responses_by_agent(c, span).await.expect("read");
    statistics::by_agent(c, span).await.expect("read");
    statistics::by_connection(c, span).await.expect("read");
    queue::next_due_for_worker(c).await.expect("read");
    outcome::abandoned_for_recovery(c, lease()).await.expect("read");
    let key = IdempotencyKey::from_header_values([&b"key"[..]]).expect("a key").expect("one");
    idempotency::get_all(c, tenant, &[&key]).await.expect("read");
    search::pending_for_housekeeping(c, tenant).await.expect("read");
    search::tenants_to_index_for_housekeeping(c).await.expect("read");
    search::tenants_with_ends_for_housekeeping(c, now()).await.expect("read");
    search::expired_segment_for_housekeeping(c, now()).await.expect("read");
    retention::ended_before_for_housekeeping(c, now()).await.expect("read");
    retention::erased_since_for_housekeeping(c, now()).await.expect("read");
    retention::known_for_housekeeping(c, &[call.uuid()]).await.expect("read");
}

fn filters() -> Vec<Filter> {
    let text = |text: &str| vec![text.to_owned()];
    let id = vec![Uuid::max()];
    vec![
        Filter::default(),
        Filter { created_after: Some(now()), created_before: Some(now()), ..Filter::default() },
        Filter { status: text("queued"), direction: text("inbound"), ..Filter::default() },
        Filter { to: text("+1"), from: text("+1"), created_after: Some(now()), ..Filter::default() },
        Filter { agent: id.clone(), number: id, ..Filter::default() },
        Filter { error_code: text("busy"), end_reason: text("voicemail"), ..Filter::default() },
        Filter {
            metadata: vec![("order".to_owned(), "o-7".to_owned())],
            status: text("completed"),
            ..Filter::default()
        },
    ]
}

/// By the database's clock, as in production.
fn lease() -> LeaseTime {
    LeaseTime::new(&Clock::system(), Duration::from_secs(15))
}

async fn walk_calls(test: &TestStore, past: &Past) {
    let (tenant, node) = (past.tenant, numbered(NodeId::new, 1));
    let claim = Claim { node, now: now(), lease: lease(), limit: 10, running: &[past.calls[1]] };
    let mut tx = test.store.begin().await.expect("a transaction");
    let mut live = calls::claim_due_for_dialer(&mut tx, &claim).await.expect("claimed");
    calls::claim_abandoned_for_recovery(&mut tx, &claim).await.expect("claimed");
    calls::lock_canceled_for_dialer(&mut tx, 10).await.expect("locked");
    calls::renew_leases_for_node(&mut tx, node, &past.calls[..2], lease()).await.expect("renewed");
    calls::hand_back_for_node(&mut tx, node).await.expect("handed back");
    let mut row: CallRow = live.pop().expect("a live call");
    let id: CallId = row.call_id();
    calls::lock(&mut tx, tenant, id).await.expect("locked");
    calls::request_hangup(&mut tx, tenant, id, now()).await.expect("noted");
    calls::request_hangup_of_all(&mut tx, tenant, now()).await.expect("noted");
    let number = "+12025550100".parse().expect("a number");
    dial_policy::count(&mut tx, tenant, &[(number, now())]).await.expect("counted");
    calls::own_for_arrival(&mut tx, id, node, lease()).await.expect("owned");
    calls::move_for_media(&mut tx, id, "7", node, lease()).await.expect("moved or not");
    calls::claim_for_browser(&mut tx, id, node, now(), lease()).await.expect("claimed or not");
    row.lease_token = calls::take_over(&mut tx, tenant, id).await.expect("taken over");
    let command = CallCommand::Dtmf { digits: "1".to_owned() };
    commands::insert(&mut tx, tenant, id, &command, now()).await.expect("given");
    let mut conn = test.store.read().await.expect("a connection");
    commands::waiting_for_runner(&mut conn, &row).await.expect("read");
    drop(conn);
    commands::delete_for_runner(&mut tx, id, &[Uuid::nil()]).await.expect("deleted");
    let entry = TranscriptEntry {
        role: "agent".to_owned(),
        text: "Hello.".to_owned(),
        start_ms: 0,
        end_ms: 1,
        interrupted: false,
        latency_ms: None,
        stages: None,
    };
    let lines = std::slice::from_ref(&entry);
    assert!(calls::add_transcript_for_runner(&mut tx, id, row.lease_token, 0, lines).await.expect("added"));
    let tool = ToolCallEntry {
        id: "1".to_owned(),
        name: "look_up".to_owned(),
        arguments: Json(json!({})),
        result: None,
        status: "succeeded".to_owned(),
        error: None,
        start_ms: 0,
        duration_ms: 1,
    };
    assert!(tool_calls::add_for_runner(&mut tx, id, row.lease_token, 0, &[tool]).await.expect("added"));
    let mut call = Call::restore(row.snapshot().expect("a known status"), Timing::default());
    for effect in call.handle(now(), CallInput::HangUpRequested) {
        if let CallEffect::Commit(change) = effect {
            calls::apply_for_runner(&mut tx, &row, &change, None, now()).await.expect("applied").expect("our lease");
            calls::applied_for_runner(&mut tx, &row, &change).await.expect("read");
        }
    }
    let mut responses = Histogram::default();
    responses.count(461);
    statistics::add(&mut tx, &row, Some(&responses)).await.expect("summed");
    calls::create(&mut tx, tenant, &[], EventKind::CallQueued).await.expect("written");
    tx.commit().await.expect("committed");
    Admit(test.store.clone()).run(&tenant, &[RateRequest { limit: 3, at: now() }]).await.expect("decided");
    Admit(test.store.clone()).run(&tenant, &[RateRequest { limit: 3, at: now() }]).await.expect("decided");
}

async fn walk_deliveries(test: &TestStore, past: &Past) {
    const FAILING: &str = "UPDATE webhooks SET failing_since = 1";
    let claimed = queue::claim_due_for_worker(&test.store, now(), lease(), 0).await.expect("claimed");
    let lease = claimed[0].attempts[0].lease;
    let mut tx = test.store.begin().await.expect("a transaction");
    on!(tx, |c| sqlx::query(FAILING).execute(c).await.map(drop)).expect("written");
    tx.commit().await.expect("committed");
    let outcome = Outcome { then: Then::RetryAt(now()), ..Outcome::default() };
    Record(test.store.clone()).run(&(), &[Finished { lease, outcome, at: now() }]).await.expect("recorded");
    let mut tx = test.store.begin().await.expect("a transaction");
    on!(tx, |c| sqlx::query("UPDATE deliveries SET state = 'pending' WHERE id = $1")
        .bind(lease.id)
        .execute(c)
        .await
        .map(drop))
    .expect("written");
    deliveries::bring_forward(&mut tx, past.tenant, DeliveryId::from_uuid(lease.id), now()).await.expect("written");
    tx.commit().await.expect("committed");
    outcome::cancel_disabled_for_recovery(&test.store).await.expect("canceled");
    let mut tx = test.store.begin().await.expect("a transaction");
    let live: Vec<Uuid> = past.calls.iter().step_by(LIVE_EVERY).map(|call| call.uuid()).collect();
    deliveries::body::freeze(&mut tx, &live).await.expect("frozen");
    deliveries::cancel_waiting(&mut tx, past.tenant, past.webhook).await.expect("canceled");
    deliveries::cancel_of_tenant(&mut tx, past.tenant).await.expect("canceled");
    deliveries::delete_some(&mut tx, past.tenant, past.webhook).await.expect("deleted");
    let endpoint = webhooks::get(&mut tx, past.tenant, past.webhook).await.expect("read").expect("an endpoint");
    webhooks::update(&mut tx, &endpoint).await.expect("written");
    webhooks::delete(&mut tx, past.tenant, past.webhook).await.expect("deleted");
    // Not committed: the past stays.
}

async fn walk_housekeeping(test: &TestStore, past: &Past) {
    const EXPIRES: [&str; 3] = [
        "UPDATE calls SET retention_days = 1 WHERE id = $1",
        "UPDATE events SET event = 'call.completed' WHERE call_id = $1",
        "UPDATE deliveries SET event = 'call.completed' WHERE call_id = $1",
    ];
    let (tenant, call, later) = (past.tenant, past.calls[3].uuid(), now() + std::time::Duration::from_secs(90_000));
    let mut tx = test.store.begin().await.expect("a transaction");
    for sql in EXPIRES {
        on!(tx, |c| sqlx::query(sql).bind(call).execute(c).await.map(drop)).expect("written");
    }
    assert_eq!(retention::erase_calls_for_housekeeping(&mut tx, later).await.expect("erased").len(), 1);
    assert_eq!(retention::erase_deliveries_for_housekeeping(&mut tx).await.expect("erased"), 1);
    idempotency::prune_for_housekeeping(&mut tx, now()).await.expect("pruned");
    commands::prune_for_housekeeping(&mut tx).await.expect("pruned");
    inputs::prune_for_housekeeping(&mut tx, now()).await.expect("pruned");
    dial_policy::prune_for_housekeeping(&mut tx, now()).await.expect("pruned");
    deliveries::prune_for_housekeeping(&mut tx, Uuid::nil(), now()).await.expect("pruned");
    search::seal_for_housekeeping(&mut tx, tenant, 1).await.expect("made or not");
    retention::delete_calls_for_housekeeping(&mut tx, tenant, Some(1), &[call]).await.expect("deleted");
    retention::delete_calls_for_housekeeping(&mut tx, tenant, None, &[call]).await.expect("deleted");
    let expired = search::Expired { tenant, segment: 1, calls: Vec::new() };
    search::delete_segment_for_housekeeping(&mut tx, &expired).await.expect("deleted");
}

async fn walk_people(test: &TestStore, past: &Past) {
    let (tenant, hash) = (past.tenant, [7; 32]);
    let (person, invited) = (numbered(PersonId::new, 1), numbered(PersonId::new, 2));
    let row = PersonRow {
        issuer: Some("issuer".to_owned()),
        subject: Some("subject".to_owned()),
        ..PersonRow::invited(person, tenant, "ana@example.com".to_owned(), Role::Owner, now())
    };
    let invitation = PersonRow {
        invitation: Some(hash.to_vec()),
        ..PersonRow::invited(invited, tenant, "bob@example.com".to_owned(), Role::Owner, now())
    };
    let mut tx = test.store.begin().await.expect("a transaction");
    assert!(people::insert(&mut tx, &row).await.expect("written"));
    people::has_email(&mut tx, tenant, "ana@example.com").await.expect("read");
    let email = ProvidedEmail { address: "ana@example.com", verified: true };
    people::find_for_sign_in(&mut tx, "issuer", "subject").await.expect("read").expect("the person");
    people::update_for_sign_in(&mut tx, "issuer", "subject", Some(email), Some("Ana")).await.expect("written");
    people::saw(&mut tx, tenant, person, now()).await.expect("written");
    people::set_role(&mut tx, tenant, person, Role::Owner).await.expect("written");
    people::get(&mut tx, tenant, person).await.expect("read").expect("the person");
    people::list(&mut tx, tenant, PageRequest::first(10)).await.expect("read");
    assert!(people::is_last_owner(&mut tx, &row).await.expect("read"));
    invitations::end_of_address(&mut tx, tenant, "bob@example.com").await.expect("ended");
    invitations::count(&mut tx, tenant, now()).await.expect("counted");
    invitations::prune_for_housekeeping(&mut tx, now()).await.expect("pruned");
    assert!(people::insert(&mut tx, &invitation).await.expect("written"));
    invitations::find_for_answer(&mut tx, &hash).await.expect("read").expect("the invitation");
    let bob = PersonRow { subject: Some("bob".to_owned()), ..row };
    assert!(invitations::accept_for_sign_in(&mut tx, &hash, &bob).await.expect("accepted"));
    assert!(!invitations::decline_for_sign_in(&mut tx, &hash).await.expect("it was accepted"));
    assert_eq!(memberships::list_for_sign_in(&mut tx, tenant, person).await.expect("read").len(), 1);
    sessions::insert(&mut tx, tenant, person, &[8; 32], now()).await.expect("written");
    assert!(sessions::move_for_sign_in(&mut tx, &[8; 32], &hash, (tenant, person), now()).await.expect("moved"));
    sessions::find_for_authentication(&mut tx, &hash).await.expect("read").expect("the session");
    sessions::touch(&mut tx, tenant, &hash, now()).await.expect("written");
    assert!(sessions::use_for_sign_in(&mut tx, &hash, now()).await.expect("written"));
    sessions::prune_for_housekeeping(&mut tx, now()).await.expect("pruned");
    sessions::end_for_sign_in(&mut tx, &hash).await.expect("ended");
    sessions::end_of_tenant(&mut tx, tenant).await.expect("ended");
    people::delete(&mut tx, tenant, person).await.expect("deleted");
}

async fn walk_agents(test: &TestStore, past: &Past) {
    let tenant = past.tenant;
    let mut row = new_agent(tenant, "Ava");
    let agent = row.agent();
    let mut tx = test.store.begin().await.expect("a transaction");
    agents::insert(&mut tx, &row).await.expect("written");
    row.version += 1;
    agents::update(&mut tx, &row).await.expect("written");
    agents::get(&mut tx, tenant, agent).await.expect("read").expect("the agent");
    agents::list(&mut tx, tenant, PageRequest::first(10)).await.expect("read");
    agents::using(&mut tx, tenant, numbered(ConnectionId::new, 9), 20).await.expect("read");
    agents::version(&mut tx, tenant, agent, 1).await.expect("read").expect("the version");
    agents::named_version(&mut tx, tenant, agent, 1).await.expect("read").expect("the version");
    agents::versions(&mut tx, tenant, agent, i64::MAX, 10).await.expect("read");
    assert!(pruning::exists(&mut tx, tenant, agent, 1).await.expect("read"));
    bounds::all_in_use(&mut tx, tenant).await.expect("read");
    assert!(agents::delete(&mut tx, tenant, agent).await.expect("deleted"));
    assert_eq!(pruning::waiting_for_housekeeping(&mut tx).await.expect("read"), [(tenant, agent)]);
    assert_eq!(pruning::prune_for_housekeeping(&mut tx, tenant, agent, 0).await.expect("pruned"), Some(2));
}

/// The lines of the plans of a statement that read a past.
async fn scans(test: &TestStore, sql: &str) -> Vec<String> {
    let plain: String = one_line(&plain(sql));
    if PAGES.iter().any(|page| plain.starts_with(page)) {
        return Vec::new();
    }
    let mut tx = test.store.begin().await.expect("a transaction");
    match tx.engine() {
        Engine::Sqlite(c) => {
            let explain = sqlx::AssertSqlSafe(format!("EXPLAIN QUERY PLAN {sql}"));
            let plan: Vec<(i64, i64, i64, String)> = sqlx::query_as(explain).fetch_all(c).await.expect("a plan");
            plan.into_iter().map(|(.., line)| line).filter(|line| sqlite_scans(sql, line)).collect()
        }
        Engine::Postgres(c) => {
            let prepare = sqlx::AssertSqlSafe(format!("PREPARE walk{} AS {sql}", parameter_types(sql)));
            sqlx::raw_sql(prepare).execute(&mut *c).await.expect("prepared");
            // The tables of this test are small: force the use of an index where one is possible.
            const SETTINGS: &str = "SET LOCAL plan_cache_mode = force_generic_plan; SET LOCAL enable_seqscan = off";
            sqlx::raw_sql(SETTINGS).execute(&mut *c).await.expect("set");
            const COUNT: &str =
                "SELECT COALESCE(cardinality(parameter_types), 0) FROM pg_prepared_statements WHERE name = 'walk'";
            let parameters: i32 = sqlx::query_scalar(COUNT).fetch_one(&mut *c).await.expect("a count");
            let nulls = vec!["NULL"; usize::try_from(parameters).expect("a count")].join(", ");
            let nulls = if nulls.is_empty() { String::new() } else { format!("({nulls})") };
            let explain = sqlx::AssertSqlSafe(format!("EXPLAIN (FORMAT JSON) EXECUTE walk{nulls}"));
            let plan: serde_json::Value = sqlx::query_scalar(explain).fetch_one(&mut *c).await.expect("a plan");
            sqlx::raw_sql("DEALLOCATE walk").execute(c).await.expect("deallocated");
            let mut found = Vec::new();
            postgres_scans(&plan, "", &mut found);
            found
        }
    }
}

/// Of rows of VALUES and of a CASE, PostgreSQL must be given the types of parameters; elsewhere it infers them.
fn parameter_types(sql: &str) -> String {
    let row: &[&str] = match sql {
        sql if sql.starts_with("WITH busy") => &["BIGINT"],
        sql if sql.starts_with("UPDATE deliveries SET state = new.column3") => &["UUID", "BIGINT", "TEXT", "BIGINT"],
        sql if sql.starts_with("UPDATE delivery_attempts SET duration_ms = new.column3") => {
            &["UUID", "BIGINT", "BIGINT", "BIGINT", "TEXT", "TEXT"]
        }
        _ => return String::new(),
    };
    let parameters = sql.matches('$').count();
    format!("({})", row.iter().copied().cycle().take(parameters).collect::<Vec<_>>().join(", "))
}

/// A statement with the numbers of its parameters left out.
fn plain(sql: &str) -> String {
    let mut digits = false;
    sql.chars()
        .filter(|c| {
            let skip = digits && c.is_ascii_digit();
            digits = *c == '$' || *c == '?' || skip;
            !skip
        })
        .map(|c| if c == '?' { '$' } else { c })
        .collect()
}

/// `SCAN table …` and `SEARCH table USING … INDEX index (columns)`, of https://sqlite.org/eqp.html.
fn sqlite_scans(sql: &str, line: &str) -> bool {
    let words: Vec<&str> = line.split_whitespace().collect();
    let (Some(verb @ (&"SCAN" | &"SEARCH")), Some(name)) = (words.first(), words.get(1)) else { return false };
    if !GROWING.contains(&table(sql, name)) {
        return false;
    }
    let index = words.iter().position(|word| *word == "INDEX").and_then(|at| words.get(at + 1));
    if index.is_some_and(|index| LIVE.contains(index)) {
        return false;
    }
    let conditions = line.rsplit_once('(').map_or("", |(_, conditions)| conditions);
    *verb == "SCAN" || !narrow(conditions)
}

/// The table that a name in a plan is of: plans say the alias.
fn table<'s>(sql: &'s str, name: &'s str) -> &'s str {
    let words: Vec<&str> = sql.split([' ', '(', ')', ',']).filter(|word| !word.is_empty() && *word != "AS").collect();
    let before = words.windows(2).find(|pair| pair[1] == name && GROWING.contains(&pair[0]));
    before.map_or(name, |pair| pair[0])
}

/// Returns whether conditions are on more than whose a row is, or on more than a range of everybody's ids.
fn narrow(conditions: &str) -> bool {
    let names = || conditions.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').filter(|name| !name.is_empty());
    let owned = names().any(|name| OWNERS.contains(&name));
    let one = conditions.contains("id = ") || conditions.contains("id=");
    names().any(|name| COLUMNS.contains(&name) && (name != "id" || owned || one))
}

/// Columns by which indexes are searched.
const COLUMNS: [&str; 23] = [
    "id",
    "email",
    "invitation",
    "expires_at",
    "subject",
    "hash",
    "person_id",
    "call_id",
    "delivery_id",
    "carrier_call_id",
    "agent_version",
    "version",
    "dialing_at",
    "number",
    "key",
    "created_at",
    "erased_at",
    "last_ended_at",
    "last_id",
    "segment",
    "hour",
    "term",
    "rowid",
];

/// Adds those nodes of a plan that read a past. Scans that make a bitmap do not say their table, which is that of `parent`.
fn postgres_scans(plan: &serde_json::Value, parent: &str, found: &mut Vec<String>) {
    match plan {
        serde_json::Value::Array(all) => all.iter().for_each(|plan| postgres_scans(plan, parent, found)),
        serde_json::Value::Object(fields) => {
            let text = |name: &str| fields.get(name).and_then(serde_json::Value::as_str).unwrap_or_default();
            let (kind, table, index) = (text("Node Type"), text("Relation Name"), text("Index Name"));
            let table = if table.is_empty() { parent } else { table };
            let scan = match kind {
                "Seq Scan" => true,
                "Index Scan" | "Index Only Scan" | "Bitmap Index Scan" => {
                    !LIVE.contains(&index) && !narrow(text("Index Cond"))
                }
                _ => false,
            };
            if scan && GROWING.contains(&table) {
                found.push(format!("{kind} of {table} {index} {}", text("Index Cond")));
            }
            fields.values().for_each(|plan| postgres_scans(plan, table, found));
        }
        _ => {}
    }
}

#[tokio::test]
async fn no_statement_reads_a_past_that_it_does_not_show() {
    let statements = Statements::default();
    let subscriber = tracing_subscriber::registry().with(statements.clone());
    tracing::subscriber::set_global_default(subscriber).expect("each test has a process of its own");
    let mut ran = BTreeSet::new();
    let mut failures = Vec::new();
    for test in stores().await {
        let past = past(&test, 3 * search::SEGMENT + 100).await;
        housekeeping::index_all(&test.store, |_, _| {}).await.expect("indexed");
        statements.take();
        walk(&test, &past).await;
        let seen = statements.take();
        for statistics in [false, true] {
            if statistics {
                let mut tx = test.store.begin().await.expect("a transaction");
                on!(tx, |c| sqlx::query("ANALYZE").execute(c).await.map(drop)).expect("analyzed");
                tx.commit().await.expect("committed");
            }
            for sql in seen
                .iter()
                .filter(|sql| ["SELECT", "UPDATE", "DELETE", "WITH", "INSERT"].iter().any(|verb| sql.starts_with(verb)))
            {
                let scans = scans(&test, sql).await;
                if !scans.is_empty() {
                    failures.push(format!("{}, statistics {statistics}: {sql}\n{scans:#?}", test.engine));
                }
            }
        }
        ran.extend(seen.iter().map(|sql| plain(sql)));
    }
    assert!(failures.is_empty(), "these read a past:\n{}", failures.join("\n"));
    if std::env::var("SWITCHHOOK_TEST_POSTGRES").is_ok() {
        let missing: Vec<_> = source::statements()
            .into_iter()
            .filter(|sql| !ran.iter().any(|ran| ran.contains(plain(sql).trim())))
            .collect();
        assert!(missing.is_empty(), "statements of the store that the walk does not run: {missing:#?}");
    }
}
