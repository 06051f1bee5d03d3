//! What the types of fields cannot express: constraints, open sets, objects of any fields, examples that hang together.

use serde_json::{Map, Value, json};

use super::document::SCHEMAS;
use crate::http::calls::MAX_METADATA_FILTERS;
use crate::http::error::codes::CODES;

/// Objects whose fields are the client's, a provider's, or follow from a schema.
pub(super) const FREE: [(&str, &str); 7] = [
    ("AnalysisSettings", "schema"),
    ("Call", "outcome"),
    ("Connection", "settings"),
    ("CreateConnection", "settings"),
    ("Tool", "parameters"),
    ("UnplacedCall", "outcome"),
    ("UpdateConnection", "settings"),
];

/// Adds constraints that the types of fields cannot express.
pub(super) fn describe_values(schemas: &mut Value) {
    for (of, free) in FREE {
        schemas[of]["properties"][free]["additionalProperties"] = true.into();
    }
    schemas["ProblemCode"] = problem_codes();
    schemas["Call"]["example"] = call_example();
    describe_unplaced_call(&mut schemas["UnplacedCall"]);
    let fields = &mut schemas["AgentConfig"]["properties"];
    fields["variables"]["propertyNames"] = json!({ "type": "string", "pattern": "^[A-Za-z0-9_.-]{1,64}$" });
    fields["variables"]["maxProperties"] = json!(50);
    schemas["Variables"]["additionalProperties"] = json!({ "$ref": format!("{SCHEMAS}VariableValue") });
    schemas["VariableValue"] = json!({
        "description": "The value of a variable. Send long ids as strings.",
        "example": "Ana",
        "anyOf": [
            { "type": "string" },
            { "type": "integer", "format": "int64" },
            { "type": "number", "exclusiveMinimum": i64::MIN, "maximum": u64::MAX },
            { "type": "boolean" },
        ],
    });
}

/// Describes names and other words on one line, where they are sent.
pub(super) fn describe_words(schemas: &mut Value) {
    for of in ["SttChoiceInput", "LlmChoiceInput", "TtsChoiceInput", "RealtimeChoiceInput", "ProviderFallbackInput"] {
        for word in ["model", "voice"] {
            schemas[of]["properties"].get_mut(word).map(describe_word);
        }
    }
    for (of, words) in [("SttChoiceInput", "keyterms"), ("InterruptionInput", "backchannels"), ("ToolInput", "tools")] {
        describe_word(&mut schemas[of]["properties"][words]["items"]);
    }
    for (of, name) in [
        ("TransferDestinationInput", "name"),
        ("CreateConnection", "name"),
        ("UpdateConnection", "name"),
        ("CreateNumber", "label"),
        ("UpdateNumber", "label"),
    ] {
        describe_word(&mut schemas[of]["properties"][name]);
    }
}

/// Limits the keys of `metadata[key]`.
pub(super) fn describe_metadata_filter(document: &mut Value) {
    let parameters = document["paths"]["/v1/calls"]["get"]["parameters"].as_array_mut();
    if let Some(filter) = parameters.into_iter().flatten().find(|parameter| parameter["name"] == "metadata") {
        filter["schema"]["maxProperties"] = MAX_METADATA_FILTERS.into();
    }
}

/// Text on one line, not only whitespace.
fn describe_word(schema: &mut Value) {
    schema["minLength"] = json!(1);
    schema["maxLength"] = json!(200);
    schema["pattern"] = json!(r"^[^\x00-\x1f\x7f-\x9f]*[^\s\x00-\x1f\x7f-\x9f][^\x00-\x1f\x7f-\x9f]*$");
}

/// Its fields are those of a call, which describes them.
fn describe_unplaced_call(schema: &mut Value) {
    for field in schema["properties"].as_object_mut().into_iter().flat_map(Map::values_mut) {
        field.as_object_mut().map(|field| field.remove("description"));
    }
}

/// An open set: generated types of a closed one would refuse what a later version sends.
fn problem_codes() -> Value {
    let codes: Vec<_> = CODES.iter().map(|(code, ..)| *code).collect();
    let description = "What is wrong, for programs; `docs/api.md` says when. Later versions can have more codes; none changes its meaning.";
    json!({ "type": "string", "pattern": "^[a-z_]+$", "description": description, "x-extensible-enum": codes })
}

/// A call that was placed a moment ago.
fn call_example() -> Value {
    json!({
        "id": "0198c6a0-0000-7000-8000-000000000000",
        "status": "queued",
        "direction": "outbound",
        "agent_id": "0198c6a0-0000-7000-8000-000000000001",
        "agent_version": 1,
        "number_id": "0198c6a0-0000-7000-8000-000000000002",
        "from": "+12025550199",
        "to": "+12025550100",
        "variables": { "name": "Ana" },
        "metadata": { "order": "A-17" },
        "created_at": "2026-01-31T12:00:00.000000Z",
        "schedule_at": null,
        "dialing_at": null,
        "ringing_at": null,
        "answered_at": null,
        "ended_at": null,
        "duration_seconds": 0,
        "turns": 0,
        "end_reason": null,
        "ended_by": null,
        "answered_by": null,
        "error_code": null,
        "error": null,
        "carrier": {
            "connection_id": "0198c6a0-0000-7000-8000-000000000003", "provider": "simulator", "call_id": null, "cause": null,
            "sip_code": null,
        },
        "summary": null,
        "outcome": null,
        "analysis": null,
        "latency": null,
        "usage": null,
        "recording_url": null,
    })
}
