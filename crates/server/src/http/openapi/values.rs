//! What the types of fields cannot express: constraints, open sets, objects of any fields.

use serde_json::{Value, json};

use super::document::{SCHEMAS, reference};
use crate::http::calls::MAX_METADATA_FILTERS;
use crate::http::error::codes::CODES;

/// Objects whose fields are the client's, a provider's, or follow from a schema.
pub(super) const FREE: [(&str, &str); 5] = [
    ("AnalysisSettings", "schema"),
    ("Connection", "settings"),
    ("CreateConnection", "settings"),
    ("HttpTool", "parameters"),
    ("UpdateConnection", "settings"),
];

/// Sets that grow: later versions can add values. All others are closed.
const OPEN: [&str; 16] = [
    "AttentionKind",
    "AttentionSubjectKind",
    "CallDecisionKind",
    "CallEndReason",
    "CarrierName",
    "ConnectionCheckName",
    "ConnectionKind",
    "EventKind",
    "EvidenceName",
    "GreetingMode",
    "LimitName",
    "OnMachine",
    "ProviderName",
    "RedactedKind",
    "TurnEndedBy",
    "WebhookDeliveryEvent",
];

/// Adds constraints that the types of fields cannot express.
pub(super) fn describe_values(schemas: &mut Value) {
    describe_call(schemas);
    for (of, free) in FREE {
        schemas[of]["properties"][free]["additionalProperties"] = true.into();
    }
    schemas["ProblemCode"] = problem_codes();
    for open in OPEN {
        schemas[open]["x-extensible-enum"] = true.into();
    }
    let fields = &mut schemas["AgentConfig"]["properties"];
    fields["variables"]["propertyNames"] = json!({ "type": "string", "pattern": "^[A-Za-z0-9_.-]{1,64}$" });
    fields["variables"]["maxProperties"] = json!(50);
    schemas["Variables"]["additionalProperties"] = json!({ "$ref": format!("{SCHEMAS}VariableValue") });
    schemas["VariableValue"] = json!({
        "description": "A variable's value. Send long ids as strings.",
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
    for (of, words) in
        [("SttChoiceInput", "keyterms"), ("InterruptionInput", "backchannels"), ("McpToolInput", "tools")]
    {
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

/// A call is an unplaced one with an id.
fn describe_call(schemas: &mut Value) {
    let call = schemas["Call"].take();
    schemas["Call"] = json!({
        "description": call["description"],
        "allOf": [reference("UnplacedCall"), { "type": "object", "properties": { "id": call["properties"]["id"] } }],
    });
}

/// An open set: generated types of a closed one would refuse what a later version sends.
fn problem_codes() -> Value {
    let codes: Vec<_> = CODES.iter().map(|(code, ..)| *code).collect();
    let description = "Error code; see `docs/api.md`. None changes its meaning.";
    json!({ "type": "string", "pattern": "^[a-z_]+$", "description": description, "x-extensible-enum": codes })
}
