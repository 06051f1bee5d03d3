//! Language models over the API.

use serde_json::{Value, json};

use crate::doubles::anthropic_llm::Anthropic;
use crate::doubles::gemini_llm::Gemini;
use crate::doubles::model::{Double, KEY, Protocol, Reply, says};
use crate::doubles::openai_llm::OpenAi;
use crate::harness::{Client, TestService, text};

/// Creates a connection to a double.
async fn connect<P: Protocol>(client: &Client, provider: &str, double: &Double<P>, settings: Value) -> Value {
    let mut settings = settings;
    settings["base_url"] = json!(double.base_url());
    let name = format!("{provider} {}", settings["kinds"]);
    let connection = json!({
        "name": name, "provider": provider, "settings": settings, "credentials": { "api_key": KEY },
    });
    client.create("/v1/connections", connection).await["id"].clone()
}

async fn is_tried<P: Protocol>(client: &Client, provider: &str, protocol: P) {
    let refusal = Reply::Refuses(401, Vec::new(), protocol.error(401, &format!("Wrong key: {KEY}")));
    let double = Double::start(protocol, vec![says("Yes."), refusal]).await;
    let id = connect(client, provider, &double, json!({ "kinds": ["llm"] })).await;
    let path = format!("/v1/connections/{}/test", text(&id));
    let (_, tested) = client.post(&path, json!({})).await;
    assert_eq!((&tested["ok"], &tested["checks"][0]["name"]), (&json!(true), &json!("language_model")), "{tested}");
    let (_, tested) = client.post(&path, json!({})).await;
    let detail = text(&tested["checks"][0]["detail"]);
    assert!(tested["ok"] == false && detail.contains("Wrong key") && !detail.contains(KEY), "{provider}: {detail}");
    let (_, changed) =
        client.patch(&format!("/v1/connections/{}", text(&id)), json!({ "settings": { "headers": 7 } })).await;
    assert_eq!(changed["settings"]["headers"], 7);
    let (_, tested) = client.post(&path, json!({})).await;
    assert!(text(&tested["checks"][0]["detail"]).contains("settings.headers"), "{tested}");
    double.finish();
}

#[tokio::test(flavor = "multi_thread")]
async fn each_connection_is_tried_with_a_token() {
    let service = TestService::start_allowing("127.0.0.0/8,http").await;
    is_tried(&service.client, "openai", OpenAi).await;
    is_tried(&service.client, "anthropic", Anthropic).await;
    is_tried(&service.client, "gemini", Gemini).await;
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_redirect_is_followed_on_the_same_origin_and_named_where_it_leads_elsewhere() {
    let service = TestService::start_allowing("127.0.0.0/8,http").await;
    let moved = |to: &'static str| Reply::Refuses(307, vec![("location", to)], json!({}));
    let elsewhere = moved("https://models.example.com/v1/chat/completions?key=s3cret");
    let replies = vec![moved("/gateway/v1/chat/completions"), says("Yes."), elsewhere];
    // It complains about requests without method, body or key.
    let double = Double::start(OpenAi, replies).await;
    let id = connect(&service.client, "openai", &double, json!({ "kinds": ["llm"] })).await;
    let path = format!("/v1/connections/{}/test", text(&id));
    let (_, tested) = service.client.post(&path, json!({})).await;
    assert_eq!(tested["ok"], true, "{tested}");
    let (_, tested) = service.client.post(&path, json!({})).await;
    let detail = text(&tested["checks"][0]["detail"]);
    let named = detail.contains("redirects to https://models.example.com/v1/chat/completions: change");
    assert!(tested["ok"] == false && named && !detail.contains("s3cret"), "{detail}");
    double.finish();
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_connection_is_tried_with_the_tools_of_the_agents_that_use_it() {
    const WORDS: &str =
        "Invalid schema for function 'book': In context=('properties', 'day'), 'format' is not permitted.";
    let service = TestService::start_allowing("127.0.0.0/8,http").await;
    let client = &service.client;
    let error = json!({ "message": WORDS, "type": "invalid_request_error", "code": "invalid_function_parameters" });
    let refusal = Reply::Refuses(400, Vec::new(), json!({ "error": error }));
    // The second time without the tool; then all are sent again.
    let double = Double::start(OpenAi, vec![refusal, says("Yes."), says("Yes."), says("Yes."), says("Yes.")]).await;
    let id = connect(client, "openai", &double, json!({ "kinds": ["llm"] })).await;
    let scripted = client.create("/v1/connections", json!({ "name": "scripted", "provider": "scripted" })).await;
    let by = json!({ "connection_id": scripted["id"] });
    let book = |day: Value| {
        let parameters = json!({ "type": "object", "properties": { "day": day }, "required": ["day"] });
        json!({ "type": "http", "name": "book", "description": "Books.", "url": "https://a.example/book", "parameters": parameters })
    };
    let agent = |name: &str, day: Value| {
        let llm = json!({ "connection_id": id });
        json!({
            "name": name, "instructions": "Book a table.", "stt": by, "llm": llm, "tts": by,
            "tools": [book(day), { "type": "send_dtmf" }],
        })
    };
    client.create("/v1/agents", agent("Ava", json!({ "type": "string", "format": "date" }))).await;
    let path = format!("/v1/connections/{}/test", text(&id));
    let (_, tested) = client.post(&path, json!({})).await;
    let detail = text(&tested["checks"][0]["detail"]);
    assert!(tested["ok"] == false && detail.contains("book (") && detail.contains(WORDS), "{detail}");
    let (_, tested) = client.post(&path, json!({})).await;
    assert_eq!(tested["ok"], true, "the server takes it by now: {tested}");

    client.create("/v1/agents", agent("Bea", json!({ "type": "integer" }))).await;
    let (_, tested) = client.post(&path, json!({})).await;
    assert_eq!(tested["ok"], true, "{tested}");
    let sent: Vec<Vec<String>> = double.asked().iter().map(tools).collect();
    let with_book = ["end_call", "book", "send_dtmf"];
    let expected: [&[&str]; 5] = [&with_book, &["end_call", "send_dtmf"], &with_book, &with_book, &["book"]];
    assert_eq!(sent, expected);
    let first = &double.asked()[0];
    let roles: Vec<&str> = first["messages"].as_array().expect("a list").iter().map(role).collect();
    assert_eq!(roles, ["system", "user", "assistant", "user"], "as a call begins that the agent greets");
    double.finish();
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_connection_that_only_analyses_calls_is_tried_without_tools() {
    let service = TestService::start_allowing("127.0.0.0/8,http").await;
    let client = &service.client;
    let double = Double::start(OpenAi, vec![says("Yes.")]).await;
    let id = connect(client, "openai", &double, json!({ "kinds": ["llm"] })).await;
    let realtime = connect(client, "openai", &double, json!({ "kinds": ["realtime"] })).await;
    let agent = json!({
        "name": "Ava", "instructions": "Book a table.", "tools": [{ "type": "send_dtmf" }],
        "llm": { "connection_id": id }, "realtime": { "connection_id": realtime },
    });
    client.create("/v1/agents", agent).await;
    let (_, tested) = client.post(&format!("/v1/connections/{}/test", text(&id)), json!({})).await;
    assert_eq!(tested["ok"], true, "{tested}");
    assert_eq!(tools(&double.asked()[0]), [""; 0]);
    double.finish();
    service.stop().await;
}

fn role(message: &Value) -> &str {
    message["role"].as_str().expect("a role")
}

fn tools(request: &Value) -> Vec<String> {
    request["tools"].as_array().into_iter().flatten().map(|tool| text(&tool["function"]["name"])).collect()
}
