//! No statement reads a past that it does not show.
//!
//! Every function of the store that touches a table that grows is called on a database with a past, every statement that it runs is
//! given to the engine's planner, and a plan that reads more than an index of live rows, or than a few rows of another index, fails.
//! A statement in the store's source that is not run here fails too: call its function in [`walk`].

mod plans;
mod source;

use std::collections::{BTreeSet, HashSet};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::json;
use sqlx::types::Json;
use switchhook_core::agent::Traffic;
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

use self::plans::{plain, scans};
use super::past::{LIVE as LIVE_EVERY, Past, numbered, past};
use crate::housekeeping;
use crate::store::agents::pruning;
use crate::store::calls::commands::{self, CallCommand};
use crate::store::calls::tool_calls::{self, ToolCallEntry};
use crate::store::calls::{self, CallRow, Claim, Filter, TranscriptEntry, decisions, inputs, search};
use crate::store::deliveries::outcome::{self, Finished, Outcome, Record, Then};
use crate::store::deliveries::{self, queue};
use crate::store::dial_policy::{DialAttempt, DialHistory};
use crate::store::group_commit::BatchJob as _;
use crate::store::lease_time::LeaseTime;
use crate::store::page::PageRequest;
use crate::store::people::{self, PersonRow, ProvidedEmail};
use crate::store::rate::{Admit, RateRequest};
use crate::store::statistics::{self, Span};
use crate::store::testing::{TestStore, new_agent, now, stores};
use crate::store::{
    agents, bounds, dial_policy, events, idempotency, invitations, memberships, on, refusals, retention, sessions,
    tenants, webhooks,
};

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
    let policy = dial_policy::of(&tenants::get(c, tenant).await.expect("read").expect("a tenant"));
    DialHistory::read(c, tenant, &policy, &[attempt], now()).await.expect("read");
    dial_policy::times_dialed(c, tenant, to.reveal(), (0, i64::MAX)).await.expect("read");
    calls::transcript(c, tenant, call, 0).await.expect("read");
    tool_calls::list(c, tenant, call, 0).await.expect("read");
    tool_calls::requested(c, tenant, call).await.expect("read");
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
    calls::give_back_for_node(&mut tx, node, &HashSet::from([(past.calls[0], 1)])).await.expect("given back");
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
        turn: None,
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
    let tools = std::slice::from_ref(&tool);
    assert!(tool_calls::request_for_runner(&mut tx, id, row.lease_token, 0, tools).await.expect("added"));
    assert!(tool_calls::add_for_runner(&mut tx, id, row.lease_token, 0, tools).await.expect("added"));
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
    let claimed = queue::claim_due_for_worker(&test.store, now(), lease(), 0, &mut Vec::new()).await.expect("claimed");
    let attempts: Vec<_> = claimed.into_iter().flat_map(|batch| batch.attempts).collect();
    queue::give_back_for_worker(&test.store, &[attempts[1].unconfirmed()], now()).await.expect("given back");
    let lease = attempts[0].lease;
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
    sessions::end_oldest(&mut tx, person).await.expect("ended");
    sessions::end_of_identity(&mut tx, "issuer", "subject").await.expect("ended");
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
    agents::named(&mut tx, tenant, "Ava").await.expect("read").expect("the agent");
    row.traffic = Some(Traffic::all_to(1).into());
    agents::creation_times(&mut tx, &row, 1).await.expect("read");
    agents::set_traffic(&mut tx, &row).await.expect("written");
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
