//! Sums of ended calls, and the refusals of connections that follow from how calls end.

use std::time::Duration;

use serde_json::json;
use switchhook_core::Timestamp;
use switchhook_core::call::{Call, CallEffect, CallInput, Timing};
use switchhook_core::histogram::Histogram;
use switchhook_core::id::{AgentId, NodeId, TenantId};

use crate::store::calls::{self, CallRow, WrapUp};
use crate::store::connections::{self, ConnectionRow};
use crate::store::statistics::{self, Span, Sums};
use crate::store::testing::{TestStore, now, owned_call, stores};
use crate::store::{on, refusals};

const HOUR: i64 = 3_600_000_000;

/// Ends a call by the API, as if this had been its conversation.
async fn end(test: &TestStore, row: &CallRow, wrap_up: &WrapUp) {
    let mut tx = test.store.begin().await.expect("a transaction");
    let mut call = Call::restore(row.snapshot().expect("a known status"), Timing::default());
    for effect in call.handle(now(), CallInput::HangUpRequested) {
        if let CallEffect::Commit(change) = effect {
            let written = calls::apply_for_runner(&mut tx, row, &change, Some(wrap_up), now()).await.expect("applied");
            assert_eq!(written.expect("our lease").status, "completed");
        }
    }
    tx.commit().await.expect("committed");
}

fn span(tenant: TenantId, hours: i64) -> Span {
    let end = now().as_micros() / HOUR * HOUR + HOUR;
    let (after, before) = (Timestamp::from_micros(end - hours * HOUR), Timestamp::from_micros(end));
    Span { tenant, after, before, agent: None }
}

fn waited(durations: &[u64]) -> Histogram {
    let mut histogram = Histogram::default();
    durations.iter().for_each(|ms| histogram.count(*ms));
    histogram
}

#[tokio::test]
async fn what_a_call_came_to_is_summed_as_it_ends_and_is_its_tenants_only() {
    for test in stores().await {
        let node = NodeId::new(now(), [1; 10]);
        let (first, other) = (owned_call(&test.store, node).await, owned_call(&test.store, node).await);
        let usage = json!({ "cost_usd": 0.25, "unpriced": true });
        let wrap_up = WrapUp { usage: Some(usage), responses: waited(&[100, 400, 400]), ..WrapUp::default() };
        end(&test, &first, &wrap_up).await;
        end(&test, &other, &WrapUp::default()).await;

        let mut conn = test.store.read().await.expect("a connection");
        let c = &mut conn;
        let (tenant, hour) = (first.tenant(), now().as_micros() / HOUR * HOUR);
        let sums = Sums { completed: 1, failed: 0, seconds: 0, cost_micros: 250_000, unpriced: 1 };
        let by_hour = statistics::by_interval(c, span(tenant, 2), HOUR).await.expect("read");
        assert_eq!(by_hour, [(hour, sums)].into(), "{}", test.engine);
        let by_day = statistics::by_interval(c, span(tenant, 2), 24 * HOUR).await.expect("read");
        assert_eq!(by_day.values().collect::<Vec<_>>(), [&sums], "{}", test.engine);
        let before = Span { before: span(tenant, 1).after, ..span(tenant, 2) };
        assert!(statistics::by_interval(c, before, HOUR).await.expect("read").is_empty(), "{}: earlier", test.engine);

        let responses = statistics::responses_by_interval(c, span(tenant, 1), HOUR).await.expect("read");
        assert_eq!(responses, [(hour, waited(&[100, 400, 400]))].into(), "{}", test.engine);
        let agent = AgentId::from_uuid(first.agent_id);
        let of_agent = Span { agent: Some(agent), ..span(tenant, 1) };
        assert_eq!(statistics::by_interval(c, of_agent, HOUR).await.expect("read"), by_hour, "{}", test.engine);
        let of_another = Span { agent: Some(AgentId::from_uuid(other.agent_id)), ..of_agent };
        assert!(statistics::by_interval(c, of_another, HOUR).await.expect("read").is_empty(), "{}", test.engine);
        let by_agent = statistics::responses_by_agent(c, span(tenant, 1)).await.expect("read");
        assert_eq!(by_agent.keys().collect::<Vec<_>>(), [&first.agent_id], "{}", test.engine);

        for (parts, id) in [
            (statistics::by_agent(c, span(tenant, 1)).await.expect("read"), first.agent_id),
            (statistics::by_connection(c, span(tenant, 1)).await.expect("read"), first.connection_id),
        ] {
            let found: Vec<_> = parts.iter().map(|part| (part.id, part.name.as_deref(), part.sums)).collect();
            assert_eq!(found, [(id, None, sums)], "{}: whatever was deleted since", test.engine);
        }
    }
}

#[tokio::test]
async fn a_refused_connection_is_known_until_a_call_succeeds_with_it() {
    for test in stores().await {
        let call = owned_call(&test.store, NodeId::new(now(), [1; 10])).await;
        let mut tx = test.store.begin().await.expect("a transaction");
        let id = switchhook_core::id::ConnectionId::from_uuid(call.connection_id);
        let connection = ConnectionRow::new(id, call.tenant(), "Main".to_owned(), "simulator".to_owned(), now());
        connections::insert(&mut tx, &connection).await.expect("written");
        let with = |code: Option<&str>, carrier_call_id: Option<&str>| CallRow {
            error_code: code.map(str::to_owned),
            error: code.map(|_| "simulator: no".to_owned()),
            carrier_call_id: carrier_call_id.map(str::to_owned),
            ..call.clone()
        };
        let later = now() + Duration::from_secs(60);
        refusals::note(&mut tx, &with(Some("carrier_unauthorized"), None), now()).await.expect("noted");
        refusals::note(&mut tx, &with(Some("carrier_unauthorized"), None), later).await.expect("noted");
        // Nothing follows for the connection from a line that was busy before the carrier took the call, or from settings of others.
        refusals::note(&mut tx, &with(Some("busy"), None), later).await.expect("noted");
        refusals::note(&mut tx, &with(Some("config_error"), None), later).await.expect("noted");
        let found = refusals::list(&mut tx, call.tenant(), 10).await.expect("read");
        let found: Vec<_> = found.iter().map(|refused| (refused.name.as_str(), refused.since, refused.calls)).collect();
        assert_eq!(found, [("Main", now().as_micros(), 2)], "{}", test.engine);

        refusals::note(&mut tx, &with(Some("busy"), Some("carrier-1")), later).await.expect("noted");
        assert!(refusals::list(&mut tx, call.tenant(), 10).await.expect("read").is_empty(), "{}", test.engine);

        refusals::note(&mut tx, &with(Some("carrier_unauthorized"), None), later).await.expect("noted");
        refusals::forget(&mut tx, call.tenant(), id).await.expect("forgotten");
        assert!(refusals::list(&mut tx, call.tenant(), 10).await.expect("read").is_empty(), "{}", test.engine);

        refusals::note(&mut tx, &with(Some("carrier_unauthorized"), None), later).await.expect("noted");
        assert!(
            connections::delete(&mut tx, call.tenant(), id).await.expect("deleted"),
            "a refusal keeps nothing alive"
        );
        refusals::note(&mut tx, &with(Some("carrier_unauthorized"), None), later).await.expect("it is gone");
        const LEFT: &str = "SELECT COUNT(*) FROM connection_refusals";
        let left: i64 = on!(tx, |c| sqlx::query_scalar(LEFT).fetch_one(c).await).expect("counted");
        assert_eq!(left, 0, "{}", test.engine);
    }
}
