//! Secrets of tools: headers that are stored in a connection, and sent only to its own URLs.

use std::sync::{Arc, Mutex};

use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, Uri, header};
use axum::response::{IntoResponse as _, Response};
use serde_json::{Value, json};

use crate::doubles::mcp::{Does, McpDouble, has, words};
use crate::doubles::model::{Double, KEY, Piece, Protocol as _, Reply};
use crate::doubles::openai_llm::OpenAi;
use crate::harness::{Agent, Client, TestService, text};

const SECRET: &str = "Bearer a-secret-that-nobody-may-read";

/// A service that requires the secret, and the requests to it: path, `Authorization`.
#[derive(Clone, Default)]
struct Vaulted {
    asked: Arc<Mutex<Vec<(String, String)>>>,
}

impl Vaulted {
    async fn start() -> (Self, String) {
        let vaulted = Self::default();
        let router = axum::Router::new().fallback(Self::answer).with_state(vaulted.clone());
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("bound");
        tokio::spawn(async move { axum::serve(listener, router).await });
        (vaulted, format!("http://{address}"))
    }

    async fn answer(State(vaulted): State<Self>, uri: Uri, headers: HeaderMap) -> Response {
        let shown = headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok()).unwrap_or_default();
        vaulted.asked.lock().expect("whole").push((uri.path().to_owned(), shown.to_owned()));
        if uri.path().ends_with("/moved") {
            return axum::response::Redirect::temporary("/stolen").into_response();
        }
        if shown == SECRET {
            axum::Json(json!({ "free": 7 })).into_response()
        } else {
            StatusCode::FORBIDDEN.into_response()
        }
    }

    fn asked(&self) -> Vec<(String, String)> {
        self.asked.lock().expect("whole").clone()
    }
}

async fn connection(client: &Client, name: &str, settings: Value, secret: &str) -> String {
    let connection =
        json!({ "name": name, "provider": "http", "settings": settings, "credentials": { "Authorization": secret } });
    text(&client.create("/v1/connections", connection).await["id"])
}

/// Creates an agent that first uses these tools, one after the other.
async fn agent(client: &Client, double: &Double<OpenAi>, tools: Value) -> Agent {
    let connection = json!({
        "name": "model", "provider": "openai", "settings": { "base_url": double.base_url() }, "credentials": { "api_key": KEY },
    });
    let model = client.create("/v1/connections", connection).await;
    let changes = json!({
        "greeting": { "mode": "generate" }, "llm": { "connection_id": model["id"] }, "tools": tools,
        "analysis": { "summary": false }, "variables": { "branch": { "default": "north" } },
    });
    client.scripted_agent(changes).await
}

fn uses(names: &[&'static str]) -> Vec<Reply> {
    let tool = |name: &&'static str| Reply::Answer(vec![Piece::Tool { id: "call_1", name, arguments: json!({}) }]);
    let end = Piece::Tool { id: "call_2", name: "end_call", arguments: json!({}) };
    names.iter().map(tool).chain([Reply::Answer(vec![Piece::Text("Goodbye."), end])]).collect()
}

fn results(asked: &Value) -> Vec<String> {
    let returned = OpenAi.conversation(asked).into_iter().map(|(_, text)| text);
    returned.filter_map(|text| text.strip_prefix("result ").map(str::to_owned)).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn secrets_reach_only_the_services_that_they_are_for() {
    let service = TestService::start_allowing("127.0.0.0/8,http").await;
    let client = &service.client;
    let (vaulted, base) = Vaulted::start().await;
    let server = McpDouble::start(vec![vec![has("hours", Does::Says(words("Nine to five.")))]]).await;
    let for_service = connection(client, "book", json!({ "base_url": format!("{base}/v1") }), SECRET).await;
    let for_server = connection(client, "shop", json!({ "base_url": server.url() }), SECRET).await;
    let for_old = connection(client, "old", json!({ "base_url": format!("{base}/v1") }), SECRET).await;

    let tool = |name: &str, path: &str, connection: &str| json!({ "type": "http", "name": name, "url": format!("{base}{path}"), "connection_id": connection });
    let mut open = tool("open", "/v1/tables", &for_service);
    open["headers"] = json!({ "authorization": "overridden" });
    let tools = json!([
        open, tool("moved", "/v1/moved", &for_service), tool("old", "/v1/{{branch}}", &for_old),
        { "type": "mcp", "url": server.url(), "connection_id": for_server },
    ]);
    let double = Double::start(OpenAi, uses(&["open", "moved", "old", "hours"])).await;
    let agent = agent(client, &double, tools.clone()).await;
    // The allowed URLs of the secrets change after the agent was created.
    let elsewhere = json!({ "settings": { "base_url": format!("{base}/v2") } });
    assert!(client.patch(&format!("/v1/connections/{for_old}"), elsewhere).await.0.is_success());
    let call = client.place(&agent, "+12025550109").await;
    let ended = client.wait_for_end(&call).await;
    assert_eq!(ended["end_reason"], "agent_hangup", "{ended}");

    let expected =
        [("/v1/tables", SECRET), ("/v1/moved", SECRET)].map(|(path, shown)| (path.to_owned(), shown.to_owned()));
    assert_eq!(vaulted.asked(), expected, "not where it was redirected to, nor where it may no longer go");
    let returned = results(&double.asked()[4]);
    for (returned, words) in returned.iter().zip(["\"free\":7", "status 307", "cannot be used", "Nine to five"]) {
        assert!(returned.contains(words), "{words}: {returned}");
    }
    assert_eq!(
        (returned.len(), server.known_by().into_iter().collect::<Vec<_>>()),
        (4, vec![format!("{call} {SECRET}")])
    );
    let (_, shown) = client.get(&format!("/v1/connections/{for_service}")).await;
    assert_eq!(shown["credentials"]["Authorization"], "••••read", "{shown}");
    let (_, agents) = client.get("/v1/agents").await;
    assert!(!agents.to_string().contains(SECRET) && !double.asked()[4].to_string().contains(SECRET));

    let in_use = client.request(reqwest::Method::DELETE, &format!("/v1/connections/{for_server}")).send().await;
    let in_use: Value = in_use.expect("an answer").json().await.expect("JSON");
    assert_eq!(in_use["code"], "connection_in_use", "{in_use}");
    assert!(in_use["detail"].as_str().is_some_and(|detail| detail.contains("Ava")), "{in_use}");
    server.closed(1).await;
    double.finish();
    server.finish();
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_connection_for_tools_is_checked_field_by_field() {
    let service = TestService::start_allowing("127.0.0.0/8,http").await;
    let client = &service.client;
    for (settings, credentials, path) in [
        (json!({}), json!({ "a b": "c" }), "credentials.a b"),
        (json!({}), json!({ "X-Key": "a\nb" }), "credentials.X-Key"),
        (json!({}), json!({ "Host": "example.com" }), "credentials.Host"),
        (json!({}), json!({ "X-Key": "a", "x-key": "b" }), "credentials.x-key"),
        (json!({ "base_url": "https://example.com/?a=b" }), json!({}), "settings.base_url"),
        (json!({ "base_url": "wss://example.com" }), json!({}), "settings.base_url"),
    ] {
        let connection = json!({ "name": "x", "provider": "http", "settings": settings, "credentials": credentials });
        let (status, error) = client.post("/v1/connections", connection).await;
        assert_eq!((status.as_u16(), &error["errors"][0]["path"]), (422, &json!(path)), "{error}");
    }
    let settings = json!({ "base_url": "https://example.com/v1" });
    let id = connection(client, "book", settings, SECRET).await;
    let (_, all) = client.get("/v1/connections").await;
    let book = all["data"].as_array().expect("a list").iter().find(|row| row["name"] == "book").expect("it is there");
    assert_eq!((&book["kind"], &book["kinds"]), (&json!("tool"), &json!(["tool"])));
    let model = json!({ "name": "other", "provider": "openai", "credentials": { "api_key": KEY } });
    let model = text(&client.create("/v1/connections", model).await["id"]);
    for (url, connection, path) in [
        ("https://example.com/v1", "0198c6a0-0000-7000-8000-000000000000", "tools.0.connection_id"),
        ("https://example.com/v1", model.as_str(), "tools.0.connection_id"),
        ("https://example.com/v12", id.as_str(), "tools.0.url"),
        ("https://example.org/v1", id.as_str(), "tools.0.url"),
        ("https://{{host}}/v1", id.as_str(), "tools.0.url"),
    ] {
        for mut tool in [json!({ "type": "http", "name": "a" }), json!({ "type": "mcp" })] {
            (tool["url"], tool["connection_id"]) = (json!(url), json!(connection));
            let agent = json!({ "name": "x", "instructions": "x", "tools": [tool] });
            let (status, error) = client.post("/v1/agents", agent).await;
            assert_eq!((status.as_u16(), &error["errors"][0]["path"]), (422, &json!(path)), "{url}: {error}");
        }
    }
    let other = service.another_tenant().await;
    let tool = json!({ "type": "mcp", "url": "https://example.com/v1/mcp", "connection_id": id });
    let theirs = json!({ "name": "x", "instructions": "x", "tools": [tool] });
    assert_eq!(other.post("/v1/agents", theirs.clone()).await.0, 422, "another tenant's does not exist");
    assert_eq!(client.post("/v1/agents", theirs).await.0, 201);
    let hears = json!({ "name": "y", "instructions": "x", "stt": { "connection_id": id } });
    let (status, error) = client.post("/v1/agents", hears).await;
    assert_eq!((status.as_u16(), &error["errors"][0]["path"]), (422, &json!("stt.connection_id")), "{error}");
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_connection_for_tools_is_tried_where_its_secrets_may_go() {
    let service = TestService::start_allowing("127.0.0.0/8,http").await;
    let client = &service.client;
    let (vaulted, base) = Vaulted::start().await;
    let settings = json!({ "base_url": base });
    for (name, settings, secret, ok, words) in [
        ("right", settings.clone(), SECRET, true, "status 200"),
        ("wrong", settings, "Bearer wrong", false, "status 403"),
        ("nowhere", json!({ "base_url": "http://127.0.0.1:9" }), SECRET, false, "settings.base_url"),
        ("anywhere", json!({}), SECRET, true, "settings.base_url"),
    ] {
        let id = connection(client, name, settings, secret).await;
        let (status, tried) = client.post(&format!("/v1/connections/{id}/test"), json!({})).await;
        assert_eq!((status.as_u16(), &tried["ok"]), (200, &json!(ok)), "{name}: {tried}");
        let check = &tried["checks"][0];
        assert_eq!(check["name"], "service");
        assert!(text(&check["detail"]).contains(words) && !tried.to_string().contains(secret), "{name}: {tried}");
    }
    assert_eq!(vaulted.asked().len(), 2);
    service.stop().await;
}
