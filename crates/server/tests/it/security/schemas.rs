//! JSON Schemas that cost more than their size suggests.

use reqwest::StatusCode;
use serde_json::{Map, Value, json};
use switchhook::store::agents;

use crate::doubles::mcp::{Does, Has, McpDouble, has, words};
use crate::doubles::model::{Double, KEY, Piece, Reply};
use crate::doubles::openai_llm::OpenAi;
use crate::harness::{TestService, text};

/// Returns `levels` definitions, each of which contains the next one twice.
fn doubling(levels: usize) -> Value {
    let definition = |level: usize| {
        let next = json!({ "$ref": format!("#/$defs/d{}", level + 1) });
        (format!("d{level}"), json!({ "allOf": [next, next] }))
    };
    let mut definitions: Map<String, Value> = (0..levels).map(definition).collect();
    definitions.insert(format!("d{levels}"), json!({ "type": "string" }));
    json!({ "type": "object", "properties": { "a": { "$ref": "#/$defs/d0" } }, "$defs": definitions })
}

#[tokio::test(flavor = "multi_thread")]
async fn a_schema_that_stands_for_more_than_it_says_is_refused_where_it_is_saved() {
    let service = TestService::start().await;
    let client = &service.client;
    let tool = |parameters: &Value| json!({ "type": "http", "name": "tables", "url": "https://example.com", "parameters": parameters });
    let nested = |levels: usize| (0..levels).fold(json!({}), |inner, _| json!({ "type": "object", "not": inner }));
    let many: Map<String, Value> = (0..1_000).map(|n| (format!("p{n}"), json!({}))).collect();
    let tree = json!({ "type": "object", "properties": { "children": { "items": { "$ref": "#" } } } });
    let elsewhere = json!({ "type": "object", "properties": { "a": { "$ref": "https://example.com/a.json" } } });
    let large = json!({ "type": "object", "description": "x".repeat(65_536) });
    let slow = json!({ "type": "object", "properties": { "a": { "pattern": "(a+)+\\1" } } });
    let patterns: Map<String, Value> =
        (0..200).map(|n| (format!("p{n}"), json!({ "pattern": "^[^a]{150}$" }))).collect();
    for (schema, words) in [
        (doubling(18), "at most 1000 nodes"),
        (nested(33), "more than 32 levels deep"),
        (json!({ "type": "object", "properties": many }), "at most 1000 nodes"),
        (tree, "must not refer to itself"),
        (elsewhere, "parts of itself"),
        (large, "at most 65536 bytes"),
        (slow, "not a usable JSON Schema"),
        (json!({ "type": "object", "properties": patterns }), "not a usable JSON Schema"),
    ] {
        for (field, changes) in [
            ("tools.1.parameters", json!({ "tools": [{ "type": "end_call" }, tool(&schema)] })),
            ("analysis.schema", json!({ "analysis": { "schema": schema } })),
        ] {
            let mut agent = json!({ "name": "Ava", "instructions": "Book." });
            agent.as_object_mut().expect("an object").extend(changes.as_object().cloned().expect("an object"));
            let (status, error) = client.post("/v1/agents", agent).await;
            assert_eq!(status, StatusCode::UNPROCESSABLE_ENTITY, "{words}: {error}");
            let first = &error["errors"][0];
            assert_eq!(first["path"], field, "{error}");
            assert!(text(&first["message"]).contains(words), "{words}: {error}");
        }
    }
    let fine = json!({ "name": "Ava", "instructions": "Book.", "tools": [tool(&doubling(5))] });
    let agent = client.create("/v1/agents", fine).await;
    let path = format!("/v1/agents/{}", text(&agent["id"]));
    let (status, error) = client.patch(&path, json!({ "analysis": { "schema": doubling(18) } })).await;
    assert_eq!((status, &error["errors"][0]["path"]), (StatusCode::UNPROCESSABLE_ENTITY, &json!("analysis.schema")));
    let (status, _) = client.patch(&path, json!({ "analysis": { "schema": doubling(3) } })).await;
    assert_eq!(status, StatusCode::OK);
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_mcp_server_loses_the_tools_whose_schemas_are_too_large_and_no_others() {
    let service = TestService::start_allowing("127.0.0.0/8,http").await;
    let large = Has { tool: json!({ "name": "large", "inputSchema": doubling(18) }), does: Does::Nothing };
    let tree = json!({ "type": "object", "properties": { "a": { "$ref": "#" } } });
    let tree = Has { tool: json!({ "name": "tree", "inputSchema": tree }), does: Does::Nothing };
    let server = McpDouble::start(vec![vec![large, has("hours", Does::Says(words("From nine to five."))), tree]]).await;
    let goodbye = vec![Piece::Text("Goodbye."), Piece::Tool { id: "call_1", name: "end_call", arguments: json!({}) }];
    let double = Double::start(OpenAi, vec![Reply::Answer(goodbye)]).await;
    let connection = json!({
        "name": "model", "provider": "openai", "settings": { "base_url": double.base_url() }, "credentials": { "api_key": KEY },
    });
    let connection = service.client.create("/v1/connections", connection).await;
    let changes = json!({
        "greeting": { "mode": "generate" }, "llm": { "connection_id": connection["id"] }, "analysis": { "summary": false },
        "tools": [{ "type": "mcp", "url": server.url() }],
    });
    let agent = service.client.scripted_agent(changes).await;
    let call = service.client.place(&agent, "+12025550109").await;
    assert_eq!(service.client.wait_for_end(&call).await["end_reason"], "agent_hangup");
    let asked = double.asked();
    let offered: Vec<&Value> =
        asked[0]["tools"].as_array().expect("a list").iter().map(|tool| &tool["function"]["name"]).collect();
    assert_eq!(offered, ["end_call", "hours"]);
    double.finish();
    server.finish();
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_that_was_stored_before_there_were_limits_fails_its_calls_with_the_reason() {
    let service = TestService::start().await;
    let client = &service.client;
    let agent = client.scripted_agent(json!({})).await;
    let tenant = text(&client.get("/v1/tenant").await.1["id"]).parse().expect("an id");
    let mut tx = service.store().begin().await.expect("a transaction");
    let id = agent.id.parse().expect("an id");
    let mut row = agents::get(&mut tx, tenant, id).await.expect("read").expect("it is there");
    row.config.0.analysis.schema = Some(doubling(18));
    row.version += 1;
    agents::update(&mut tx, &row).await.expect("stored");
    tx.commit().await.expect("stored");

    let call = client.place(&agent, "+12025550108").await;
    let ended = client.wait_for_end(&call).await;
    assert_eq!((&ended["status"], &ended["error_code"]), (&json!("failed"), &json!("config_error")), "{ended}");
    assert!(ended.to_string().contains("analysis.schema must have at most 1000 nodes"), "{ended}");

    let (status, _) =
        client.patch(&format!("/v1/agents/{}", agent.id), json!({ "analysis": { "schema": null } })).await;
    assert_eq!(status, StatusCode::OK, "it can be fixed");
    let call = client.place(&agent, "+12025550108").await;
    assert_eq!(client.wait_for_end(&call).await["status"], "completed", "and the node has not noticed");
    service.stop().await;
}
