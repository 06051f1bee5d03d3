//! Lists with filters find what a look at every call would find, wherever the calls are: live, ended lately, in a segment.

use switchhook_core::Timestamp;
use switchhook_core::id::{AgentId, CallId, NumberId, TenantId};

use super::past::{Past, count, numbered, past};
use crate::housekeeping;
use crate::store::calls::{self, CallRow, Filter, search};
use crate::store::page::PageRequest;
use crate::store::testing::{TestStore, now, stores};

/// A filter, and what it must find.
struct Case {
    name: &'static str,
    set: fn(&mut Filter),
    shows: fn(&CallRow) -> bool,
}

const fn case(name: &'static str, set: fn(&mut Filter), shows: fn(&CallRow) -> bool) -> Case {
    Case { name, set, shows }
}

fn midway() -> Timestamp {
    now() - std::time::Duration::from_secs(1300)
}

const CASES: [Case; 17] = [
    case("live", |f| f.status = ["queued", "dialing"].map(Into::into).into(), |c| c.status == "queued"),
    case("failed or queued", |f| f.status = ["failed", "queued"].map(Into::into).into(), |c| c.status != "completed"),
    case("inbound", |f| f.direction = vec!["inbound".into()], |c| c.direction == "inbound"),
    case(
        "an agent",
        |f| f.agent = vec![numbered(AgentId::new, 2).uuid()],
        |c| c.agent_id == numbered(AgentId::new, 2).uuid(),
    ),
    case(
        "a number",
        |f| f.number = vec![numbered(NumberId::new, 1).uuid()],
        |c| c.number_id == Some(numbered(NumberId::new, 1).uuid()),
    ),
    case("called once", |f| f.to = vec!["+49300000700".into()], |c| c.to_number == "+49300000700"),
    case("our number called", |f| f.to = vec!["+12025550101".into()], |c| c.to_number == "+12025550101"),
    case("calls from us", |f| f.from = vec!["+12025550100".into()], |c| c.from_number == "+12025550100"),
    case("busy", |f| f.error_code = vec!["busy".into()], |c| c.error_code.as_deref() == Some("busy")),
    case(
        "agent hung up",
        |f| f.end_reason = vec!["agent_hangup".into()],
        |c| c.end_reason.as_deref() == Some("agent_hangup"),
    ),
    case("no such end", |f| f.end_reason = vec!["voicemail".into()], |_| false),
    case("after", |f| f.created_after = Some(midway()), |c| c.created_at >= midway().as_micros()),
    case("before", |f| f.created_before = Some(midway()), |c| c.created_at < midway().as_micros()),
    case(
        "one order",
        |f| f.metadata = vec![("order".into(), "o-1033".into())],
        |c| c.request.metadata["order"] == "o-1033",
    ),
    case("a tier", |f| f.metadata = vec![("tier".into(), "3".into())], |c| c.request.metadata["tier"] == 3),
    case("vip", |f| f.metadata = vec![("vip".into(), "true".into())], |c| c.request.metadata["vip"] == true),
    case("null is nothing", |f| f.metadata = vec![("none".into(), "null".into())], |_| false),
];

/// Every page of a list.
async fn pages(test: &TestStore, tenant: TenantId, filter: &Filter, limit: i64) -> Vec<CallRow> {
    let mut conn = test.store.read().await.expect("a connection");
    let (mut all, mut cursor) = (Vec::new(), None);
    loop {
        let page = calls::list(&mut conn, tenant, filter, PageRequest { limit, cursor }).await.expect("a page");
        assert!(page.rows.len() <= usize::try_from(limit).expect("a small number"));
        all.extend(page.rows);
        cursor = page.next;
        if cursor.is_none() {
            return all;
        }
    }
}

fn ids(rows: &[CallRow]) -> Vec<CallId> {
    rows.iter().map(CallRow::call_id).collect()
}

/// Compares each filter, and each pair of filters, with a look at every call.
async fn compare(test: &TestStore, past: &Past) {
    let all = pages(test, past.tenant, &Filter::default(), 100).await;
    assert_eq!(all.len(), past.calls.len());
    assert!(all.is_sorted_by(|a, b| a.id > b.id), "newest first");
    for (n, one) in CASES.iter().enumerate() {
        for two in &CASES[n..] {
            let mut filter = Filter::default();
            (one.set)(&mut filter);
            if one.name != two.name {
                let before = filter.clone();
                (two.set)(&mut filter);
                // Two values of one field are not two filters.
                filter.metadata = [before.metadata.clone(), filter.metadata].concat();
                if !filter.contains(&before) {
                    continue;
                }
            }
            let expected = all.iter().filter(|call| (one.shows)(call) && (two.shows)(call));
            let expected: Vec<CallId> = expected.map(CallRow::call_id).collect();
            let found = pages(test, past.tenant, &filter, 97).await;
            assert!(ids(&found) == expected, "{}: {} and {}", test.engine, one.name, two.name);
        }
    }
}

impl Filter {
    /// Returns whether what `other` says is still said here.
    fn contains(&self, other: &Self) -> bool {
        let same = |here: &Vec<String>, other: &Vec<String>| other.is_empty() || here == other;
        same(&self.status, &other.status)
            && same(&self.to, &other.to)
            && same(&self.from, &other.from)
            && same(&self.end_reason, &other.end_reason)
    }
}

#[tokio::test]
async fn every_filter_and_every_pair_finds_what_a_look_at_every_call_finds() {
    for test in stores().await {
        let past = past(&test, 2 * search::SEGMENT + 500).await;
        compare(&test, &past).await;
        let mut reported = Vec::new();
        housekeeping::index_all(&test.store, |done, total| reported.push((done, total))).await.expect("indexed");
        assert_eq!((count(&test, "call_search_segments").await, reported.len()), (2, 1), "{}", test.engine);
        compare(&test, &past).await;

        let other = super::past::past(&test, 3).await;
        assert_eq!(pages(&test, other.tenant, &Filter::default(), 9).await.len(), 3, "tenants see their own");
        let inbound = Filter { direction: vec!["inbound".to_owned()], ..Filter::default() };
        assert_eq!(pages(&test, other.tenant, &inbound, 9).await.len(), 1, "tenants see their own");
    }
}
