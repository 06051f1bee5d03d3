//! What every operation of the document must have.

mod contract;
mod generators;
mod shape;
mod walk;

use serde_json::{Value, json};
use switchhook_core::Timestamp;
use switchhook_core::call::{CarrierCause, Direction, EndReason, Status};
use switchhook_core::conversation::cascade::Evidence;
use switchhook_core::event::{CallFacts, DeliveryBody, EventData, EventKind, WEBHOOK_TEST};
use switchhook_core::id::{AgentId, CallId, DeliveryId};
use switchhook_core::private::Private;
use uuid::Uuid;

use self::walk::{misfits, resolved};
use super::document::operations;
use super::openapi;
use crate::http::error::by_operation::{COMMON, OF_SOME};

#[test]
fn every_operation_has_a_unique_name_a_tag_and_described_parameters() {
    let document = openapi();
    let mut names = Vec::new();
    for operation in operations(&document) {
        let id = operation["operationId"].as_str().unwrap_or_else(|| panic!("no operationId: {operation}"));
        assert!(!names.contains(&id), "two operations are called {id}");
        assert!(!["create", "list", "show", "update", "delete"].contains(&id), "{id} of what?");
        let known = document["tags"].as_array().expect("tags").iter().any(|tag| tag["name"] == operation["tags"][0]);
        assert!(known, "{id} has no tag, or one that is not described");
        for parameter in operation["parameters"].as_array().into_iter().flatten() {
            let parameter = resolved(parameter, &document);
            assert!(parameter["description"].is_string(), "{id}: {} needs a description", parameter["name"]);
        }
        names.push(id);
    }
    assert!(names.len() > 30, "{}", names.len());
}

/// How summaries begin.
const VERBS: [&str; 25] = [
    "Add", "Change", "Create", "Delete", "Deliver", "Download", "Get", "Hang", "Invite", "List", "Listen", "Place",
    "Remove", "Repeat", "Restore", "Revoke", "Rotate", "Sample", "Send", "Simulate", "Speak", "Stream", "Test",
    "Transfer", "Update",
];

#[test]
fn every_operation_has_a_short_summary_in_the_imperative_and_a_sentence() {
    let document = openapi();
    let delivery = &document["webhooks"]["event"]["post"];
    for operation in operations(&document).chain([delivery]) {
        let (id, summary) = (&operation["operationId"], operation["summary"].as_str().unwrap_or_default());
        let words: Vec<_> = summary.split(' ').collect();
        assert!((2..=4).contains(&words.len()), "{id}: {summary:?} has not two to four words");
        assert!(VERBS.contains(&words[0]), "{id}: {summary:?} begins with no verb");
        assert!(!summary.ends_with('.'), "{id}: {summary:?} is a title");
        let description = operation["description"].as_str().unwrap_or_default();
        assert!(description.ends_with('.') && description.contains(' '), "{id}: {description:?} is no sentence");
    }
}

#[test]
fn every_operation_tells_of_every_status_and_every_status_of_its_headers() {
    let document = openapi();
    let paths = document["paths"].as_object().expect("paths");
    for (path, operations) in paths {
        for (method, operation) in operations.as_object().expect("operations") {
            let mut expected = vec!["401", "403", "422", "429", "500", "503"];
            if path.contains('{') {
                expected.push("404");
            }
            if operation.get("requestBody").is_some() {
                expected.push("413");
            }
            for status in expected {
                assert!(operation["responses"][status].is_object(), "{method} {path} does not tell of {status}");
            }
            for status in ["408", "413"] {
                let has_body = operation.get("requestBody").is_some();
                assert_eq!(operation["responses"].get(status).is_some(), has_body, "{method} {path} {status}");
            }
            for (status, response) in operation["responses"].as_object().expect("responses") {
                let response = resolved(response, &document);
                let has = |header: &str| resolved(&response["headers"][header], &document)["schema"].is_object();
                let at = format!("{method} {path} {status}");
                assert!(response["description"].as_str().is_some_and(|text| !text.is_empty()), "{at}");
                assert!(response.get("content").is_none_or(Value::is_object), "{at}");
                assert_eq!(has("X-Request-Id"), status.as_str() >= "400", "{at}");
                assert_eq!(has("WWW-Authenticate"), status == "401", "{at}");
                let can_be_repeated = matches!(status.as_str(), "429" | "503") || at == "post /v1/calls 409";
                assert_eq!(has("Retry-After"), can_be_repeated, "{at}");
                assert_eq!(has("RateLimit") && has("RateLimit-Policy"), status == "429", "{at}");
                assert!(has("Location") || status != "201", "{at}");
                assert!(has("Content-Range") || !matches!(status.as_str(), "206" | "416"), "{at}");
            }
        }
    }
}

#[test]
fn headers_that_an_operation_reads_are_parameters_of_it() {
    let document = openapi();
    let headers = |path: &str, method: &str| {
        let parameters = document["paths"][path][method]["parameters"].as_array().cloned().unwrap_or_default();
        let parameters = parameters.iter().map(|parameter| resolved(parameter, &document));
        let headers = parameters.filter(|parameter| parameter["in"] == "header");
        headers.filter_map(|header| header["name"].as_str().map(str::to_owned)).collect::<Vec<_>>()
    };
    assert_eq!(headers("/v1/calls", "post"), ["Idempotency-Key"]);
    assert_eq!(headers("/v1/calls/{id}/recording", "get"), ["Range", "If-Range"]);
    assert_eq!(headers("/v1/events/stream", "get"), ["Last-Event-ID"]);
}

#[test]
fn what_operations_share_is_written_once() {
    let document = openapi();
    let size = document.to_string().len();
    assert!(size < 200_000, "{size} bytes");
    let call = &document["paths"]["/v1/calls"]["get"];
    assert_eq!(call["responses"]["401"], json!({ "$ref": "#/components/responses/Unauthorized" }));
    let refused = &document["components"]["responses"]["Limited"];
    assert_eq!(resolved(&refused["headers"]["RateLimit"], &document)["example"], "\"requests\";r=0;t=9");
    let cursor = json!({ "$ref": "#/components/parameters/cursor" });
    assert!(call["parameters"].as_array().is_some_and(|parameters| parameters.contains(&cursor)), "{call}");
}

#[test]
fn words_that_are_closed_sets_are_described_as_such() {
    let document = openapi();
    let schemas = &document["components"]["schemas"];
    let ends = ["completed", "failed", "queued", "dialing", "in_progress"];
    let status = schemas["CallStatus"]["enum"].as_array().expect("an enumeration");
    assert!(ends.iter().all(|word| status.contains(&json!(word))) && status.len() == ends.len());
    assert_eq!(schemas["CallFailure"]["enum"].as_array().map(Vec::len), Some(11));
    assert_eq!(schemas["EventKind"]["enum"].as_array().map(Vec::len), Some(7));
    for (name, words) in [
        ("AnsweredBy", json!(["human", "voicemail"])),
        ("TranscriptRole", json!(["caller", "agent"])),
        ("ToolCallStatus", json!(["succeeded", "failed"])),
    ] {
        assert_eq!(schemas[name]["enum"], words, "{name}");
    }
    let codes = schemas["ProblemCode"]["x-extensible-enum"].as_array().expect("codes");
    assert!(codes.contains(&json!("idempotency_key_reused")) && codes.len() > 40);
    assert!(
        schemas["WebhookDeliveryEvent"]["enum"].as_array().is_some_and(|words| words.contains(&json!("webhook.test")))
    );
}

#[test]
fn fields_and_headers_with_words_of_a_set_refer_to_it() {
    let document = openapi();
    let schemas = &document["components"]["schemas"];
    for (at, set) in [
        ("/components/schemas/CallCarrier/properties/provider", "CarrierName"),
        ("/components/schemas/CallDecisionEvidence/properties/name", "EvidenceName"),
        ("/components/schemas/TranscriptTurnWitness/properties/witness", "EvidenceName"),
        ("/components/schemas/UsedByConnection/allOf/1/properties/provider/oneOf/0", "CarrierName"),
        ("/webhooks/event/post/parameters/0/schema", "WebhookDeliveryEvent"),
    ] {
        let field = document.pointer(at).unwrap_or_else(|| panic!("there is no {at}"));
        assert_eq!(field["$ref"], json!(format!("#/components/schemas/{set}")), "{at}: {field}");
        assert_eq!(schemas[set]["x-extensible-enum"], true, "{set} can grow, and what is stored can have older words");
    }
    assert_eq!(document["webhooks"]["event"]["post"]["parameters"][0]["name"], "X-Voice-Event");
    assert_eq!(schemas["EvidenceName"]["enum"].as_array().map(Vec::len), Some(Evidence::COUNT));
    assert!(schemas["CarrierName"]["enum"].as_array().is_some_and(|names| names.contains(&json!("web"))));
}

#[test]
fn an_outcome_is_any_json_value_wherever_it_is_returned() {
    let document = openapi();
    let schemas = &document["components"]["schemas"];
    let outcome = &schemas["UnplacedCall"]["properties"]["outcome"];
    assert_eq!(outcome, &schemas["CallCompletedData"]["allOf"][1]["properties"]["outcome"]);
    for value in [json!("booked"), json!(7), json!(true), json!(["a", 1]), json!({ "name": "Ana" }), Value::Null] {
        assert_eq!(misfits(&value, outcome, &document), [""; 0], "{value}");
    }
}

/// Sets of words to which no version of `/v1` adds any.
const CLOSED: [&str; 16] = [
    "AnsweredBy",
    "CallAnalysisStatus",
    "CallDirection",
    "CallEndedBy",
    "CallFailure",
    "CallStatus",
    "CarrierCause",
    "Eagerness",
    "HttpMethod",
    "MachineDetection",
    "PersonRole",
    "PersonStatus",
    "StatisticsInterval",
    "ToolCallStatus",
    "TranscriptRole",
    "WebhookDeliveryState",
];

#[test]
fn every_set_of_words_is_open_or_closed() {
    let document = openapi();
    let mut closed = Vec::new();
    for (name, schema) in document["components"]["schemas"].as_object().expect("schemas") {
        let open = &schema["x-extensible-enum"];
        assert!(open.is_null() || open.is_array() || schema["enum"].is_array(), "{name} is no set of words");
        if schema["enum"].is_array() && open.is_null() {
            closed.push(name.as_str());
        }
    }
    assert_eq!(closed, CLOSED, "left: closed in the document");
}

#[test]
fn every_operation_lists_the_codes_of_its_errors() {
    let document = openapi();
    let mut named: Vec<String> = Vec::new();
    for operation in operations(&document) {
        let id = &operation["operationId"];
        for (status, response) in operation["responses"].as_object().expect("responses") {
            let response = resolved(response, &document);
            let lists = [&operation["x-error-codes"][status], &response["x-error-codes"]];
            let codes: Vec<_> =
                lists.into_iter().filter_map(Value::as_array).flatten().filter_map(Value::as_str).collect();
            assert_eq!(codes.is_empty(), status.as_str() < "400", "{id} {status}: {codes:?}");
            let example = &response["content"]["application/json"]["example"]["code"];
            assert!(example.as_str().is_none_or(|code| codes.contains(&code)), "{id} {status}: {example}");
            named.extend(codes.into_iter().map(str::to_owned));
        }
    }
    for code in COMMON.iter().map(|(code, _)| code).chain(OF_SOME.iter().map(|(code, _)| code)) {
        assert!(named.iter().any(|named| named == code), "no operation lists {code}");
    }
}

#[test]
fn what_was_created_links_to_what_can_be_done_with_it() {
    let document = openapi();
    let links = &document["paths"]["/v1/webhooks"]["post"]["responses"]["201"]["links"];
    assert_eq!(links["delete_webhook"]["parameters"], json!({ "id": "$response.body#/id" }));
    let deliveries = &document["paths"]["/v1/webhooks/{id}/deliveries"]["get"]["responses"]["200"]["links"];
    let parameters = json!({ "id": "$request.path.id", "delivery_id": "$response.body#/data/0/id" });
    assert_eq!(deliveries["redeliver"]["parameters"], parameters);
}

#[test]
fn every_reference_leads_somewhere() {
    fn walk(value: &Value, document: &Value) {
        match value {
            Value::Object(fields) => {
                if let Some(at) = fields.get("$ref").and_then(Value::as_str) {
                    let pointer = at.strip_prefix('#').expect("within the document");
                    assert!(document.pointer(pointer).is_some(), "{at}");
                }
                fields.values().for_each(|value| walk(value, document));
            }
            Value::Array(items) => items.iter().for_each(|item| walk(item, document)),
            _ => {}
        }
    }
    let document = openapi();
    walk(&document, &document);
}

/// Fields that cannot change.
const FIXED: [(&str, &str); 1] = [("UpdateConnection", "provider")];

#[test]
fn an_update_takes_every_field_of_what_it_changes_requires_none_and_fills_in_nothing() {
    let document = openapi();
    let schemas = &document["components"]["schemas"];
    for (update, create) in [
        ("UpdateAgent", "CreateAgent"),
        ("UpdateNumber", "CreateNumber"),
        ("UpdateWebhook", "CreateWebhook"),
        ("UpdateConnection", "CreateConnection"),
    ] {
        let (taken, required) = super::requests::fields(&schemas[create], schemas);
        assert!(taken.len() > 2, "{create}: {taken:?}");
        for name in taken.keys().filter(|name| !FIXED.contains(&(update, name))) {
            let schema = &schemas[update]["properties"][name];
            assert!(schema.is_object(), "{update} has no {name}");
            let nullable = schema.to_string().contains(r#""null""#);
            assert_eq!(nullable, !required.contains(name), "{update}.{name}: null restores a default, if there is one");
        }
        changes_nothing_by_itself(update, schemas);
    }
    assert_eq!(schemas["GreetingInput"]["properties"]["text"]["type"], json!(["string", "null"]));
    let text = schemas["GreetingInput"]["properties"]["text"]["description"].as_str();
    assert_eq!(text, Some("The text for mode `speak`. Default: `\"Hello, how can I help you?\"`."));
    assert_eq!(schemas["RealtimeChanges"]["properties"]["connection_id"]["type"], "string");
    let variables = &schemas["UpdateAgent"]["properties"]["variables"]["additionalProperties"];
    assert_eq!(variables["oneOf"][0]["$ref"], "#/components/schemas/AgentVariableInput", "{variables}");
}

/// Lists are replaced as a whole, so what is in them may have defaults.
fn changes_nothing_by_itself(name: &str, schemas: &Value) {
    let schema = &schemas[name];
    assert!(schema["required"].is_null(), "{name}: {schema}");
    for (field, schema) in schema["properties"].as_object().into_iter().flatten() {
        assert!(schema["default"].is_null(), "{name}.{field} would be reset to its default");
        let alternatives = schema["oneOf"].as_array().into_iter().flatten();
        for one in alternatives.chain([schema, &schema["additionalProperties"]]) {
            let referred = one["$ref"].as_str().and_then(|at| at.rsplit('/').next());
            referred.into_iter().for_each(|name| changes_nothing_by_itself(name, schemas));
        }
    }
}

#[test]
fn events_have_a_schema_for_each_kind_in_webhooks_and_in_the_api_which_fits_what_is_sent() {
    let document = openapi();
    let delivery = &document["webhooks"]["event"]["post"];
    let schema = &delivery["requestBody"]["content"]["application/json"]["schema"];
    assert_eq!(schema["$ref"], "#/components/schemas/WebhookEvent");
    let facts = CallFacts {
        call_id: CallId::from_uuid(Uuid::nil()),
        status: Status::Completed,
        direction: Direction::Outbound,
        agent_id: AgentId::from_uuid(Uuid::nil()),
        from: Private::new("anonymous".to_owned()),
        to: "+12025550100".parse().expect("a number"),
        metadata: Private::new(json!({ "order": 7 })),
        summary: None,
        outcome: Private::new(json!([1])),
        duration_seconds: 42,
        turns: 5,
        end_reason: Some(EndReason::AgentHangup),
        error_code: None,
        error: None,
        carrier_cause: Some(CarrierCause::Busy),
        sip_code: Some(486),
        carrier_code: None,
        hung_up_by: None,
    };
    let kinds = EventKind::ALL.iter().map(|kind| (kind.as_str(), EventData::new(*kind, &facts, 3)));
    for (event, data) in kinds.chain([(WEBHOOK_TEST, EventData::of_test())]) {
        let id = DeliveryId::from_uuid(Uuid::nil());
        let body = DeliveryBody { id, event, created: Timestamp::from_millis(0), data: &data };
        let body: Value = serde_json::from_slice(&body.to_bytes()).expect("JSON");
        let schemas = &document["components"]["schemas"];
        let of_kind = json!({ "$ref": schemas["WebhookEvent"]["discriminator"]["mapping"][event] });
        for schema in [schema, &of_kind] {
            assert_eq!(misfits(&body, schema, &document), [""; 0], "{event}");
        }
        let mut lacking = body.clone();
        lacking["data"].as_object_mut().map(|data| data.remove("sequence").or_else(|| data.remove("message")));
        assert_ne!(misfits(&lacking, &of_kind, &document), [""; 0], "{event} without a field");
        if event != WEBHOOK_TEST {
            let nil = Uuid::nil();
            let row = json!({
                "id": nil, "call_id": nil, "sequence": 3, "event": event, "created": 0,
                "created_at": Timestamp::from_millis(0), "data": body["data"],
            });
            let of_kind = json!({ "$ref": schemas["CallEvent"]["discriminator"]["mapping"][event] });
            for schema in [&schemas["CallEvent"], &of_kind] {
                assert_eq!(misfits(&row, schema, &document), [""; 0], "{event}");
            }
        }
    }
}
