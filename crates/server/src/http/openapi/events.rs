//! Events: the data of each kind, the bodies of webhooks, and the requests that deliver them.

use serde_json::{Value, json};
use switchhook_core::event::{EventKind, WEBHOOK_TEST};

use super::document::reference;
use super::unions::union;

/// The data of an event, by its kind; other kinds have what all have.
const DATA: [(&str, &str); 3] = [
    ("call.completed", "CallCompletedData"),
    ("call.failed", "CallFailedData"),
    ("carrier.hangup", "CarrierHangupData"),
];
const ANY_DATA: &str = "CallEventData";
/// An event as the API returns it, and what all of them have.
const EVENT: &str = "CallEvent";
const ANY_EVENT: &str = "CallEventHead";
/// What all bodies have.
const ANY_BODY: &str = "WebhookEventHead";

/// Adds the schemas of events, and the webhook that receives them.
pub(super) fn describe_events(document: &mut Value) {
    let schemas = &mut document["components"]["schemas"];
    for (name, schema) in data_schemas() {
        schemas[name] = schema;
    }
    let mut any = schemas[EVENT].take();
    let description = any.as_object_mut().and_then(|any| any.remove("description"));
    for own in ["event", "data"] {
        any["properties"].as_object_mut().map(|fields| fields.remove(own));
    }
    schemas[ANY_EVENT] = any;
    let events = kinds().filter(|(event, _)| *event != WEBHOOK_TEST);
    schemas[EVENT] = by_kind(schemas, events, "", ANY_EVENT);
    schemas[EVENT]["description"] = description.into();
    schemas[ANY_BODY] = json!({
        "type": "object",
        "properties": {
            "id": { "type": "string", "format": "uuid", "description": "Delivery id, the same in every attempt." },
            "created": { "type": "integer", "format": "int64", "description": "When it happened, in Unix seconds." },
        },
    });
    // What a stream sends has no tag: its event says what it is.
    let items = schemas["TranscriptItem"].as_object_mut();
    if let Some(items) = items {
        let kinds = items.remove("oneOf").unwrap_or_default();
        items.insert("anyOf".to_owned(), kinds);
    }
    schemas["WebhookEvent"] = by_kind(schemas, kinds(), "Event", ANY_BODY);
    schemas["WebhookEvent"]["description"] = "Body of a delivery.".into();
    document["webhooks"] = json!({ "event": { "post": delivery() } });
}

/// All events that webhooks receive, and the schema of their data.
fn kinds() -> impl Iterator<Item = (&'static str, &'static str)> {
    let data = |event: &str| DATA.iter().find(|(kind, _)| *kind == event).map_or(ANY_DATA, |(_, data)| data);
    EventKind::ALL
        .iter()
        .map(move |kind| (kind.as_str(), data(kind.as_str())))
        .chain([(WEBHOOK_TEST, "WebhookTestData")])
}

/// Adds a schema for each kind, which has what all of them have, and returns the union of these.
fn by_kind(
    schemas: &mut Value,
    kinds: impl Iterator<Item = (&'static str, &'static str)>,
    suffix: &str,
    any: &str,
) -> Value {
    let kinds: Vec<_> = kinds.map(|(event, data)| (event, name(event) + suffix, data)).collect();
    for (event, name, data) in &kinds {
        let own = json!({
            "type": "object",
            "properties": { "event": { "type": "string", "const": event }, "data": reference(data) },
        });
        schemas[name] = json!({ "allOf": [reference(any), own] });
    }
    union("event", kinds.iter().map(|(event, name, _)| (*event, name.as_str())))
}

/// `CallInProgress` for `call.in_progress`.
fn name(event: &str) -> String {
    let words = event.split(['.', '_']).map(|word| {
        let (first, rest) = word.split_at_checked(1).unwrap_or_default();
        first.to_uppercase() + rest
    });
    words.collect()
}

/// The data of events: what all have, and what some have besides.
fn data_schemas() -> [(&'static str, Value); 5] {
    let uuid = |description: &str| json!({ "type": "string", "format": "uuid", "description": description });
    let text = |description: &str| json!({ "type": ["string", "null"], "description": description });
    let number = |description: &str| json!({ "type": "integer", "minimum": 0, "description": description });
    let more =
        |properties: Value| json!({ "allOf": [reference(ANY_DATA), { "type": "object", "properties": properties }] });
    let (duration, turns) = (number("Seconds from answer to end."), number("Caller turns that the agent answered."));
    let either = |name: &str| json!({ "oneOf": [reference(name), { "type": "null" }] });
    [
        (
            ANY_DATA,
            json!({
                "type": "object",
                "description": "Data of every call event.",
                "properties": {
                    "call_id": uuid("The call."),
                    "status": reference("CallStatus"),
                    "direction": reference("CallDirection"),
                    "agent_id": uuid("The agent."),
                    "from": { "type": "string", "description": "The caller." },
                    "to": { "type": "string", "description": "The callee." },
                    "metadata": reference("Metadata"),
                    "sequence": { "type": "integer", "minimum": 1, "description": "Number within the call." },
                },
            }),
        ),
        (
            "CallCompletedData",
            more(json!({
                "summary": { "type": "string", "description": "Summary of the conversation." },
                "duration_seconds": duration, "turns": turns,
                "error": text("`null`: the call did not fail."),
                "end_reason": either("CallEndReason"),
                "outcome": { "description": "Result of the analysis: any JSON value, in the shape of the agent's `analysis.schema`, or `null`." },
            })),
        ),
        (
            "CallFailedData",
            more(json!({
                "error_code": reference("CallFailure"),
                "error": { "type": "string", "description": "What went wrong, as a sentence." },
                "duration_seconds": duration, "turns": turns,
            })),
        ),
        (
            "CarrierHangupData",
            more(json!({
                "cause": reference("CarrierCause"),
                "sip_code": { "type": ["integer", "null"], "description": "The SIP status." },
                "carrier_code": text("The carrier's own code."),
                "hung_up_by": either("CallEndedBy"),
            })),
        ),
        ("WebhookTestData", json!({ "type": "object", "properties": { "message": { "type": "string" } } })),
    ]
}

/// The request of a delivery.
fn delivery() -> Value {
    let typed = |name: &str, description: &str, schema: Value| json!({ "name": name, "in": "header", "required": true, "description": description, "schema": schema });
    let header = |name: &str, description: &str| typed(name, description, json!({ "type": "string" }));
    json!({
        "operationId": "receive_event",
        // With the tag of another operation, generators write one class for both, and lose either.
        "tags": ["Events"],
        "summary": "Deliver an event",
        "description": "Sent to the `url` of each subscribed webhook until it answers with 2XX. Verify a signature, then ignore a known `id`.",
        "security": [],
        "parameters": [
            typed("X-Voice-Event", "The event.", reference("WebhookDeliveryEvent")),
            header("X-Voice-Delivery", "The delivery's id."),
            header("X-Voice-Signature", "`t=<Unix seconds>,v1=<HMAC-SHA256 of t, a dot and the body, in hexadecimal>`"),
            header("webhook-id", "The delivery's id, as Standard Webhooks name it."),
            header("webhook-timestamp", "Unix seconds of the attempt."),
            header("webhook-signature", "`v1,<base64>` as Standard Webhooks describe it."),
        ],
        "requestBody": { "required": true, "content": { "application/json": { "schema": reference("WebhookEvent") } } },
        "responses": { "2XX": { "description": "Received. Anything else, or no answer within 15 s, is retried." } },
    })
}
