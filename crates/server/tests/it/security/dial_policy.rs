//! The numbers that a tenant may call.

use std::time::Duration;

use futures_util::future::join_all;
use reqwest::StatusCode;
use serde_json::{Value, json};
use switchhook::store::dial_policy;
use switchhook::store::tenants::{self, OwnRules};
use switchhook_core::id::TenantId;
use switchhook_runtime::clock::Clock;

use crate::agent_tools;
use crate::doubles::model::says;
use crate::harness::{Client, TestService, text};

async fn tenant(service: &TestService) -> TenantId {
    text(&service.client.get("/v1/tenant").await.1["id"]).parse().expect("an id")
}

async fn set(service: &TestService, rules: OwnRules) {
    let (tenant, now) = (tenant(service).await, Clock::system().now());
    let mut tx = service.store().begin().await.expect("a transaction");
    tenants::set_rules_for_operator(&mut tx, tenant, &rules, now).await.expect("written");
    tx.commit().await.expect("committed");
}

/// Returns the sentence with which a call to `to` is refused.
async fn refusal(service: &TestService, agent: &str, to: &str) -> Option<String> {
    let body = json!({ "agent_id": agent, "to": to, "dry_run": true });
    let (status, answer) = service.client.post("/v1/calls", body).await;
    if status == StatusCode::OK {
        return None;
    }
    assert_eq!((status, &answer["errors"][0]["path"]), (StatusCode::UNPROCESSABLE_ENTITY, &json!("to")), "{answer}");
    Some(text(&answer["errors"][0]["message"]))
}

/// A number of a carrier whose calls count. Nothing is dialled: the calls of these tests are for later.
async fn number_of_a_carrier(client: &Client) -> Value {
    let credentials = json!({ "account_sid": format!("AC{}", "1".repeat(32)), "auth_token": "a".repeat(32) });
    let settings = json!({ "name": "carrier", "provider": "twilio", "credentials": credentials });
    let carrier = client.create("/v1/connections", settings).await;
    client.create("/v1/numbers", json!({ "number": "+12025550188", "connection_id": carrier["id"] })).await
}

#[tokio::test(flavor = "multi_thread")]
async fn numbers_are_refused_by_the_rule_that_is_named() {
    let (service, agent) = TestService::ready().await;
    let refusal = async |to: &str| refusal(&service, &agent.id, to).await;
    let (_, shown) = service.client.get("/v1/tenant").await;
    let default = json!({ "allow": [], "deny": [], "per_number_per_day": 20, "cost_per_day_usd": null });
    assert_eq!(shown["dial_policy"], default);
    for (to, word) in [
        ("+19002345678", "premium-rate"),
        ("sip:+19002345678@gateway.example.com", "premium-rate"),
        ("+491801234567", "shared-cost"),
        ("+881612345678", "satellite"),
        ("+12025550199", "your own numbers"),
    ] {
        let sentence = refusal(to).await.expect(to);
        assert!(sentence.contains(word), "{to}: {sentence}");
    }
    assert_eq!(refusal("+4930123456").await, None, "every country");

    let rules = OwnRules {
        dial_allow: Some("+1,+1900".to_owned()),
        dial_deny: Some("+1202666".to_owned()),
        cost_per_day_micros: Some(1_500_000),
        ..OwnRules::default()
    };
    set(&service, rules).await;
    assert_eq!(refusal("+19002345678").await, None, "a prefix names it");
    assert!(refusal("+4930123456").await.expect("not allowed").contains("none of the allowed prefixes"));
    assert!(refusal("+12026660100").await.expect("denied").contains("prefix +1202666"));
    let (id, now) = (tenant(&service).await, Clock::system().now());
    let mut tx = service.store().begin().await.expect("a transaction");
    dial_policy::add_cost(&mut tx, id, 1_500_000, now).await.expect("counted");
    tx.commit().await.expect("committed");
    assert!(refusal("+12025550100").await.expect("too dear").contains("1.50 USD per day"));
    let (_, shown) = service.client.get("/v1/tenant").await;
    let set =
        json!({ "allow": ["+1", "+1900"], "deny": ["+1202666"], "per_number_per_day": 20, "cost_per_day_usd": 1.5 });
    assert_eq!(shown["dial_policy"], set);
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn one_number_is_called_twenty_times_a_day_however_many_ask_at_once() {
    let (service, agent) = TestService::ready().await;
    let client = &service.client;
    // No number is dialled: the calls are for later. The simulator's calls are not counted.
    let number = number_of_a_carrier(client).await;
    let later = Clock::system().now() + Duration::from_secs(3600);
    let body = |to: &str| json!({ "agent_id": agent.id, "to": to, "number_id": number["id"], "schedule_at": later });
    let limits = tenants::OwnLimits { concurrent_calls: Some(100), ..tenants::OwnLimits::default() };
    let id = tenant(&service).await;
    let mut tx = service.store().begin().await.expect("a transaction");
    tenants::set_limits_for_operator(&mut tx, id, limits, Clock::system().now()).await.expect("written");
    tx.commit().await.expect("committed");

    let answers = join_all((0..30).map(|_| client.post("/v1/calls", body("+12025550177")))).await;
    let accepted = answers.iter().filter(|(status, _)| *status == StatusCode::CREATED).count();
    let refused: Vec<&Value> =
        answers.iter().filter(|(status, _)| *status != StatusCode::CREATED).map(|(_, body)| body).collect();
    assert_eq!((accepted, refused.len()), (20, 10), "{refused:?}");
    for answer in refused {
        let sentence = text(&answer["errors"][0]["message"]);
        assert!(sentence.contains("at most 20 calls to the same number in 24 hours"), "{answer}");
    }
    assert_eq!(client.post("/v1/calls", body("+12025550178")).await.0, StatusCode::CREATED, "another number");
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn calls_that_are_scheduled_count_on_their_own_day() {
    let clock = Clock::manual(Clock::system().now());
    let service = TestService::start_with(clock.clone()).await;
    let agent = service.client.scripted_agent(json!({})).await;
    let client = &service.client;
    set(&service, OwnRules { per_number_per_day: Some(2), ..OwnRules::default() }).await;
    let number = number_of_a_carrier(client).await;
    let place = async |hours: u64, to: &str| {
        let at = clock.now() + Duration::from_secs(hours * 3600);
        let body = json!({ "agent_id": agent.id, "to": to, "number_id": number["id"], "schedule_at": at });
        client.post("/v1/calls", body).await.0
    };
    let (created, refused) = (StatusCode::CREATED, StatusCode::UNPROCESSABLE_ENTITY);
    // Placed on five days: the number is not called five times on the last of them.
    for (hours, expected) in [(48, created), (50, created), (71, refused), (73, created), (26, created), (49, refused)]
    {
        assert_eq!(place(hours, "+12025550177").await, expected, "in {hours} h");
    }
    // In any 24 hours, not in the 24 before and the 24 after.
    for (hours, expected) in [(10, created), (40, created), (25, created), (26, refused)] {
        assert_eq!(place(hours, "+12025550176").await, expected, "in {hours} h");
    }
    let spellings = ["sip:bob@example.com", "sip:bob@EXAMPLE.com;x=1", "sips:%62ob:pw@example.com:5061"];
    for (to, expected) in spellings.into_iter().zip([created, created, refused]) {
        assert_eq!(place(48, to).await, expected, "{to}");
    }
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_waited_is_not_dialled_where_its_number_was_denied_meanwhile() {
    let clock = Clock::manual(Clock::system().now());
    let service = TestService::start_with(clock.clone()).await;
    let agent = service.client.scripted_agent(json!({})).await;
    let client = &service.client;
    let schedule = async |to: &str| {
        let at = clock.now() + Duration::from_secs(7200);
        text(&client.create("/v1/calls", json!({ "agent_id": agent.id, "to": to, "schedule_at": at })).await["id"])
    };
    let (denied, allowed) = (schedule("+12025550109").await, schedule("+12025550101").await);
    set(&service, OwnRules { dial_deny: Some("+12025550109".to_owned()), ..OwnRules::default() }).await;
    clock.advance(Duration::from_secs(7200));
    let ended = client.wait_for_end(&denied).await;
    assert_eq!((&ended["error_code"], &ended["carrier_call_id"]), (&json!("rejected"), &json!(null)), "{ended}");
    assert!(text(&ended["error"]).contains("numbers with prefix +12025550109 are denied"), "{ended}");
    assert_eq!(client.wait_for_end(&allowed).await["error_code"], "busy");

    let too_dear = schedule("+12025550101").await;
    set(&service, OwnRules { cost_per_day_micros: Some(1), ..OwnRules::default() }).await;
    let (id, mut tx) = (tenant(&service).await, service.store().begin().await.expect("a transaction"));
    let due = clock.now() + Duration::from_secs(7200);
    dial_policy::add_cost(&mut tx, id, 1, due).await.expect("counted");
    tx.commit().await.expect("committed");
    clock.advance(Duration::from_secs(7200));
    let ended = client.wait_for_end(&too_dear).await;
    assert!(text(&ended["error"]).contains("USD per day"), "{ended}");
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_caller_is_not_transferred_to_a_number_that_may_not_be_called() {
    let (service, agent) = TestService::ready().await;
    let client = &service.client;
    let call = client.place(&agent, "+12025550109").await;
    client.wait_for(&call, |call| call["status"] == "in_progress").await;
    let (status, answer) = client.post(&format!("/v1/calls/{call}/transfer"), json!({ "to": "+19002345678" })).await;
    assert_eq!((status, &answer["errors"][0]["path"]), (StatusCode::UNPROCESSABLE_ENTITY, &json!("to")), "{answer}");
    let (_, shown) = client.get(&format!("/v1/calls/{call}")).await;
    assert_eq!(shown["status"], "in_progress", "{shown}");
    service.stop().await;
}

#[tokio::test]
async fn an_agent_that_would_transfer_to_a_refused_number_is_saved_with_a_warning() {
    let service = TestService::start().await;
    let destinations =
        json!([{ "name": "desk", "number": "+12025550142" }, { "name": "prize", "number": "+19002345678" }]);
    let tools = json!([{ "type": "end_call" }, { "type": "transfer", "destinations": destinations }]);
    let agent = json!({ "name": "Ava", "instructions": "Book a table.", "tools": tools });
    let (status, saved) = service.client.post("/v1/agents", agent).await;
    assert_eq!(status, StatusCode::CREATED, "{saved}");
    let warnings = saved["warnings"].to_string();
    assert!(warnings.contains("tools.1.destinations.1.number is refused by this tenant's dial policy"), "{warnings}");
    assert!(!warnings.contains("destinations.0"), "{warnings}");
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_that_was_talked_over_does_not_pass_its_caller_on_to_a_premium_rate_number() {
    let destinations = json!([{ "name": "prize hotline", "number": "+19002345678" }]);
    let tools = json!([{ "type": "transfer", "destinations": destinations }]);
    let replies = vec![
        agent_tools::calls("transfer", json!({ "destination": "prize hotline" })),
        says("What else can I do for you?"),
    ];
    let (service, agent, double) = agent_tools::ready(replies, tools).await;
    let client = &service.client;
    let call = client.place(&agent, "+12025550109").await;
    let refused = |transcript: &Value| transcript.to_string().contains("you through");
    client.look_until(&format!("/v1/calls/{call}/transcript"), refused).await;
    let (_, transcript) = client.get(&format!("/v1/calls/{call}/transcript")).await;
    let tool = &transcript["tool_calls"][0];
    let failed = (&json!("failed"), &json!("The caller could not be transferred."));
    assert_eq!((&tool["status"], &tool["error"]), failed, "{transcript}");
    let (_, shown) = client.get(&format!("/v1/calls/{call}")).await;
    assert_eq!(shown["status"], "in_progress", "{shown}");
    client.post(&format!("/v1/calls/{call}/hangup"), json!({})).await;
    let ended = client.wait_for_end(&call).await;
    assert_eq!(ended["end_reason"], "api_hangup", "{ended}");
    drop(double);
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_calls_have_cost_counts_for_the_cap_of_the_day() {
    let (service, agent, double) = agent_tools::ready(vec![agent_tools::goodbye()], json!([])).await;
    set(&service, OwnRules { cost_per_day_micros: Some(1), ..OwnRules::default() }).await;
    let call = service.client.place(&agent, "+12025550109").await;
    let ended = service.client.wait_for_end(&call).await;
    assert!(ended["usage"]["cost_usd"].as_f64().is_some_and(|dollars| dollars > 0.0), "{ended}");
    let sentence = refusal(&service, &agent.id, "+12025550109").await.expect("the day's money is spent");
    assert!(sentence.contains("0.00 USD per day"), "{sentence}");
    double.finish();
    service.stop().await;
}
