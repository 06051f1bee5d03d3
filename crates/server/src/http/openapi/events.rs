//! Events: the data of each kind, the bodies of webhooks, and the requests that deliver them.

use serde_json::{Map, Value, json};
use switchhook_core::event::{EventKind, WEBHOOK_TEST};

use super::document::{SCHEMAS, reference};

/// The data of an event, by its kind; other kinds have what all have.
const DATA: [(&str, &str); 3] = [
    ("call.completed", "CallCompletedData"),
    ("call.failed", "CallFailedData"),
    ("carrier.hangup", "CarrierHangupData"),
];
const ANY_DATA: &str = "CallEventData";
/// What all bodies have.
const ANY_BODY: &str = "WebhookEventHead";

/// Adds the schemas of events, and the webhook that receives them.
pub(super) fn describe_events(document: &mut Value) {
    let schemas = &mut document["components"]["schemas"];
    for (name, schema) in data_schemas() {
        schemas[name] = schema;
    }
    for events in ["CallEvent", "TenantEvent"] {
        let data = schemas[events].pointer_mut("/properties/data");
        if let Some(data) = data {
            *data = reference("EventData");
        }
    }
    schemas[ANY_BODY] = json!({
        "type": "object",
        "description": "Body of every delivery.",
        "properties": {
            "id": { "type": "string", "format": "uuid", "description": "Delivery id, the same in every attempt." },
            "created": { "type": "integer", "format": "int64", "description": "When it happened, in Unix seconds." },
        },
    });
    let mut mapping = Map::new();
    for (event, data) in kinds() {
        let name = body_name(event);
        schemas[&name] = body(event, data);
        mapping.insert(event.to_owned(), format!("{SCHEMAS}{name}").into());
    }
    let bodies: Vec<Value> = mapping.values().map(|body| json!({ "$ref": body })).collect();
    schemas["WebhookEvent"] = json!({
        "description": "Body of a delivery. Later versions can add events and fields.",
        "oneOf": bodies,
        "discriminator": { "propertyName": "event", "mapping": mapping },
    });
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

/// `CallInProgressEvent` for `call.in_progress`.
fn body_name(event: &str) -> String {
    let words = event.split(['.', '_']).map(|word| {
        let (first, rest) = word.split_at_checked(1).unwrap_or_default();
        first.to_uppercase() + rest
    });
    format!("{}Event", words.collect::<String>())
}

fn body(event: &str, data: &str) -> Value {
    let own = json!({
        "type": "object",
        "properties": { "event": { "type": "string", "const": event }, "data": reference(data) },
    });
    json!({ "allOf": [reference(ANY_BODY), own] })
}

/// The data of events: what all have, and what some have besides.
fn data_schemas() -> [(&'static str, Value); 7] {
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
                "outcome": { "description": "Result, in the shape of the agent's `analysis.schema`." },
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
        (
            "DeletedData",
            json!({ "type": "object", "additionalProperties": false,
            "description": "Data of an event whose words were deleted." }),
        ),
        (
            "EventData",
            json!({
                "description": "Event data, by kind.",
                "anyOf": DATA.map(|(_, data)| data).into_iter().chain([ANY_DATA, "DeletedData"]).map(reference).collect::<Vec<_>>(),
            }),
        ),
        ("WebhookTestData", json!({ "type": "object", "properties": { "message": { "type": "string" } } })),
    ]
}

/// The request of a delivery.
fn delivery() -> Value {
    let header = |name: &str, description: &str| json!({ "name": name, "in": "header", "required": true, "description": description, "schema": { "type": "string" } });
    json!({
        "operationId": "receive_event",
        // With the tag of another operation, generators write one class for both, and lose either.
        "tags": ["Events"],
        "summary": "Deliver an event",
        "description": "Sent to the `url` of each subscribed webhook until it answers with 2XX. Verify a signature, then ignore a known `id`.",
        "security": [],
        "parameters": [
            header("X-Voice-Event", "The event."),
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
