//! The types of webhook bodies in the receiver's guide fit what is sent.

use serde_json::{Value, json};
use switchhook_core::Timestamp;
use switchhook_core::call::{CarrierCause, Direction, EndReason, EndedBy, ErrorCode, Status};
use switchhook_core::event::{CallFacts, DeliveryBody, EventData, EventKind, WEBHOOK_TEST};
use switchhook_core::id::{AgentId, CallId, DeliveryId};
use switchhook_core::private::Private;
use uuid::Uuid;

use super::{run, snippet};

const TYPE_SCRIPT: &str = "type WebhookEvent =";
const PYTHON: &str = "WebhookEvent = Union";

fn facts(end_reason: EndReason, error_code: ErrorCode, cause: CarrierCause, by: EndedBy) -> CallFacts {
    CallFacts {
        call_id: CallId::from_uuid(Uuid::nil()),
        status: Status::Completed,
        direction: Direction::Outbound,
        agent_id: AgentId::from_uuid(Uuid::nil()),
        from: Private::new("anonymous".to_owned()),
        to: "+12025550100".parse().expect("a number"),
        metadata: Private::new(json!({ "order": 7 })),
        summary: None,
        outcome: Private::new(json!(["any", "value"])),
        duration_seconds: 42,
        turns: 5,
        end_reason: Some(end_reason),
        error_code: Some(error_code),
        error: Some(Private::new("It failed.".to_owned())),
        carrier_cause: Some(cause),
        sip_code: Some(486),
        carrier_code: Some("17".to_owned()),
        hung_up_by: Some(by),
    }
}

fn body(event: &str, data: &EventData) -> Value {
    let id = DeliveryId::from_uuid(Uuid::nil());
    let body = DeliveryBody { id, event, created: Timestamp::from_millis(0), data };
    serde_json::from_slice(&body.to_bytes()).expect("JSON")
}

fn failed(code: ErrorCode) -> CallFacts {
    facts(EndReason::Silence, code, CarrierCause::Busy, EndedBy::Api)
}

fn hung_up(cause: CarrierCause, by: EndedBy) -> CallFacts {
    facts(EndReason::Silence, ErrorCode::Busy, cause, by)
}

/// A body of every event, with each value of every set.
fn bodies() -> Vec<Value> {
    let ends = EndReason::ALL.iter().map(|end| facts(*end, ErrorCode::Busy, CarrierCause::Busy, EndedBy::Api));
    let ends: Vec<CallFacts> = ends.collect();
    let failures: Vec<CallFacts> = ErrorCode::ALL.iter().map(|code| failed(*code)).collect();
    let causes = CarrierCause::ALL.iter().map(|cause| hung_up(*cause, EndedBy::Api));
    let hangups = causes.chain(EndedBy::ALL.iter().map(|by| hung_up(CarrierCause::Normal, *by)));
    let hangups: Vec<CallFacts> = hangups.collect();
    let mut bodies = vec![body(WEBHOOK_TEST, &EventData::of_test())];
    for kind in EventKind::ALL {
        let calls = match kind {
            EventKind::CallFailed => &failures,
            EventKind::CarrierHangup => &hangups,
            _ => &ends,
        };
        bodies.extend(calls.iter().map(|call| body(kind.as_str(), &EventData::new(*kind, call, 3))));
    }
    bodies
}

#[test]
fn each_body_fits_one_of_the_python_types_and_no_more() {
    let bodies = bodies();
    let fitting = run::fitting(snippet("python", PYTHON), &json!(bodies));
    assert_eq!(fitting.len(), bodies.len());
    for (body, types) in bodies.iter().zip(fitting) {
        assert_eq!(types.len(), 1, "{body} fits {types:?}");
    }
    let mut changed = body("call.failed", &EventData::new(EventKind::CallFailed, &failed(ErrorCode::Busy), 3));
    changed["data"]["error_code"] = json!("another");
    assert_eq!(run::fitting(snippet("python", PYTHON), &json!([changed])), [[""; 0]], "its words are all known");
}

/// `ci/generators.sh webhook-types` compiles them.
#[test]
fn the_typescript_types_have_every_event_field_and_value() {
    let types = snippet("ts", TYPE_SCRIPT);
    for body in bodies() {
        let event = body["event"].as_str().expect("an event");
        assert!(types.contains(&format!("\"{event}\"")), "{event}");
        let fields = [&body, &body["data"]].into_iter().filter_map(Value::as_object).flatten();
        for (field, value) in fields {
            assert!(types.contains(&format!(" {field}: ")), "{event}: {field}");
            let is_word =
                ["status", "direction", "end_reason", "error_code", "cause", "hung_up_by"].contains(&&**field);
            assert!(!is_word || types.contains(&value.to_string()), "{event}: {field} {value}");
        }
    }
}
