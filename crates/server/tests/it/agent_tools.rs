//! Tool use by models: requests to services, transfers, keys.

use std::sync::{Arc, Mutex};

use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, Uri};
use axum::response::{IntoResponse as _, Redirect, Response};
use futures_util::stream;
use serde_json::{Value, json};
use tokio::sync::watch;

use crate::doubles::model::{Double, KEY, Piece, Protocol as _, Reply, says};
use crate::doubles::openai_llm::OpenAi;
use crate::harness::{Agent, TestService, text};

/// A service that is a tool, and the requests to it.
#[derive(Clone, Default)]
struct Tables {
    asked: Arc<Mutex<Vec<(String, String, String)>>>,
    /// Requests whose responses are pending.
    awaited: Arc<watch::Sender<usize>>,
}

/// A pending request, until it is dropped.
struct Awaited(Arc<watch::Sender<usize>>);

impl Drop for Awaited {
    fn drop(&mut self) {
        self.0.send_modify(|awaited| *awaited -= 1);
    }
}

impl Tables {
    async fn start() -> (Self, String) {
        let tables = Self::default();
        let router = axum::Router::new().fallback(Self::answer).with_state(tables.clone());
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("bound");
        tokio::spawn(async move { axum::serve(listener, router).await });
        (tables, format!("http://{address}"))
    }

    async fn answer(State(tables): State<Self>, uri: Uri, headers: HeaderMap, body: String) -> Response {
        let header =
            |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default().to_owned();
        let known = format!("{} {}", header("x-voice-call"), header("authorization"));
        tables.asked.lock().expect("whole").push((uri.to_string(), known, body));
        match uri.path() {
            "/slow" => {
                tables.awaited.send_modify(|awaited| *awaited += 1);
                let _awaited = Awaited(tables.awaited.clone());
                std::future::pending().await
            }
            "/torn" => {
                let torn = [Ok("{\"free\": ["), Err(std::io::Error::other("torn"))];
                Body::from_stream(stream::iter(torn)).into_response()
            }
            "/locked" => (StatusCode::UNAUTHORIZED, "Who are you?").into_response(),
            "/busy" => (StatusCode::TOO_MANY_REQUESTS, [("retry-after", "5")], "Later.").into_response(),
            "/junk" => ([("content-type", "application/json")], "{\"free\": [").into_response(),
            "/moved" => Redirect::temporary("/private").into_response(),
            "/broken" => (StatusCode::INTERNAL_SERVER_ERROR, "Oh.").into_response(),
            "/long" => "x".repeat(100_000).into_response(),
            _ => axum::Json(json!({ "free": ["19:00"] })).into_response(),
        }
    }
}

/// Starts a service, a double, and an agent that uses the double as its model.
pub(crate) async fn ready(replies: Vec<Reply>, tools: Value) -> (TestService, Agent, Double<OpenAi>) {
    let service = TestService::start_allowing("127.0.0.0/8,http").await;
    let double = Double::start(OpenAi, replies).await;
    let connection = json!({
        "name": "model", "provider": "openai", "credentials": { "api_key": KEY },
        "settings": { "base_url": double.base_url(), "model": "gpt-4o-mini" },
    });
    let connection = service.client.create("/v1/connections", connection).await;
    let changes = json!({
        "greeting": { "mode": "generate" }, "llm": { "connection_id": connection["id"] }, "tools": tools,
        "variables": { "branch": { "default": "a b" } }, "analysis": { "summary": false },
    });
    let agent = service.client.scripted_agent(changes).await;
    (service, agent, double)
}

pub(crate) fn calls(name: &'static str, arguments: Value) -> Reply {
    Reply::Answer(vec![Piece::Tool { id: "call_1", name, arguments }])
}

pub(crate) fn goodbye() -> Reply {
    Reply::Answer(vec![Piece::Text("Goodbye."), Piece::Tool { id: "call_2", name: "end_call", arguments: json!({}) }])
}

#[tokio::test(flavor = "multi_thread")]
async fn a_service_is_asked_and_the_model_gets_what_it_says() {
    let (tables, base) = Tables::start().await;
    let parameters = json!({ "type": "object", "required": ["day"], "properties": { "day": { "type": "string" } } });
    let tool = |name: &str, path: &str| json!({ "type": "http", "name": name, "url": format!("{base}/{path}"), "timeout_seconds": 10 });
    let mut slow = tool("slow", "slow");
    // The others must respond in time on a busy machine too.
    slow["timeout_seconds"] = json!(1);
    let mut free = tool("tables", "{{branch}}/tables");
    free["parameters"] = parameters;
    free["headers"] = json!({ "authorization": "Token {{branch}}" });
    free["filler"] = json!("Let me check the book.");
    let tools = json!([free, slow, tool("broken", "broken"), tool("long", "long")]);
    let replies = vec![
        calls("tables", json!({ "day": 5 })),
        calls("tables", json!({ "day": "Friday" })),
        calls("slow", json!({})),
        calls("broken", json!({})),
        calls("long", json!({})),
        goodbye(),
    ];
    let (service, agent, double) = ready(replies, tools).await;
    let call = service.client.place(&agent, "+12025550109").await;
    let ended = service.client.wait_for_end(&call).await;
    assert_eq!(ended["end_reason"], "agent_hangup", "{ended}");

    let asked = tables.asked.lock().expect("whole").clone();
    let paths: Vec<&str> = asked.iter().map(|(path, ..)| path.as_str()).collect();
    assert_eq!(paths, ["/a%20b/tables", "/slow", "/broken", "/long"], "wrong arguments go nowhere");
    assert_eq!(asked[0].1, format!("{call} Token a b"));
    assert_eq!(asked[0].2, "{\"day\":\"Friday\"}");

    let told = OpenAi.conversation(&double.asked()[5]);
    let results: Vec<String> =
        told.into_iter().map(|(_, text)| text).filter(|text| text.starts_with("result")).collect();
    for (result, words) in results.iter().zip(["/day", "19:00", "not respond in time", "status 500", "\"whole\":false"])
    {
        assert!(result.contains(words) && result.len() < 3_000, "{words}: {result}");
    }
    let (_, transcript) = service.client.get(&format!("/v1/calls/{call}/transcript")).await;
    let said: Vec<String> =
        transcript["data"].as_array().expect("a list").iter().map(|line| text(&line["text"])).collect();
    assert!(
        said.iter().any(|text| text == "Let me check the book.") && said.last().is_some_and(|text| text == "Goodbye."),
        "{said:?}"
    );
    let tools = transcript["tool_calls"].as_array().expect("a list");
    let shown: Vec<_> = tools.iter().map(|tool| (text(&tool["name"]), text(&tool["status"]))).collect();
    let shown: Vec<_> = shown.iter().map(|(name, status)| (name.as_str(), status.as_str())).collect();
    let failed = "failed";
    let expected =
        [("tables", failed), ("tables", "succeeded"), ("slow", failed), ("broken", failed), ("long", "succeeded")];
    assert_eq!(shown, expected, "{transcript}");
    assert_eq!(tools[1]["arguments"], json!({ "day": "Friday" }));
    assert!(tools[1]["result"].to_string().contains("19:00"), "{transcript}");
    assert!(text(&tools[2]["error"]).contains("not respond in time"), "{transcript}");
    assert!(tools[2]["duration_ms"].as_i64().is_some_and(|ms| ms >= 1_000), "{transcript}");
    assert!(tools.is_sorted_by_key(|tool| tool["start_ms"].as_i64()), "{transcript}");
    // Six responses, each with 8 new tokens, 4 from the cache and 7 written, at the prices of gpt-4o-mini.
    let usage = &ended["usage"];
    assert_eq!((&usage["llm_input_tokens"], &usage["unpriced"]), (&json!(72), &json!(false)), "{usage}");
    let cost = usage["cost_usd"].as_f64().expect("a number") * 1_000_000.0;
    assert!((cost - 6.0 * (8.0 * 0.15 + 4.0 * 0.075 + 7.0 * 0.6)).abs() < 1e-6, "{usage}");
    assert_eq!(usage["costs"]["llm_usd"], usage["cost_usd"], "the rest is free: {usage}");
    double.finish();
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn service_failures_are_reported_to_the_model() {
    let (tables, base) = Tables::start().await;
    let failures = [
        ("torn", "could not be reached"),
        ("locked", "status 401"),
        ("busy", "\"retry_after\":\"5\""),
        ("broken", "status 500"),
        ("junk", "{\\\"free\\\": ["),
        ("moved", "status 307"),
    ];
    let tools = failures
        .map(|(name, _)| json!({ "type": "http", "name": name, "url": format!("{base}/{name}"), "method": "GET" }));
    let replies = failures.iter().map(|(name, _)| calls(name, json!({}))).chain([goodbye()]).collect();
    let (service, agent, double) = ready(replies, json!(tools)).await;
    let call = service.client.place(&agent, "+12025550109").await;
    let ended = service.client.wait_for_end(&call).await;
    assert_eq!(ended["end_reason"], "agent_hangup", "{ended}");
    let told = OpenAi.conversation(&double.asked()[failures.len()]);
    let results: Vec<String> =
        told.into_iter().map(|(_, text)| text).filter(|text| text.starts_with("result")).collect();
    assert_eq!(results.len(), failures.len());
    for (result, (name, words)) in results.iter().zip(failures) {
        assert!(result.contains(words), "{name}: {result}");
    }
    let asked: Vec<String> = tables.asked.lock().expect("whole").iter().map(|(path, ..)| path.clone()).collect();
    assert_eq!(
        asked,
        failures.map(|(name, _)| format!("/{name}")),
        "nothing is asked twice, and nobody is led elsewhere"
    );
    double.finish();
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_service_is_not_kept_waiting_for_a_call_that_is_over() {
    let (tables, base) = Tables::start().await;
    let slow = json!([{ "type": "http", "name": "slow", "url": format!("{base}/slow"), "timeout_seconds": 10 }]);
    let (service, agent, _double) = ready(vec![calls("slow", json!({}))], slow).await;
    let call = service.client.place(&agent, "+12025550109").await;
    let mut awaited = tables.awaited.subscribe();
    awaited.wait_for(|awaited| *awaited == 1).await.expect("it is asked");
    service.client.post(&format!("/v1/calls/{call}/hangup"), json!({})).await;
    awaited.wait_for(|awaited| *awaited == 0).await.expect("lives");
    service.client.wait_for_end(&call).await;
    let (_, transcript) = service.client.get(&format!("/v1/calls/{call}/transcript")).await;
    let slow = &transcript["tool_calls"][0];
    assert_eq!((&slow["name"], &slow["status"]), (&json!("slow"), &json!("failed")), "{transcript}");
    assert!(text(&slow["error"]).contains("call ended"), "it was not given up for its timeout: {transcript}");
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_caller_is_transferred_once_they_have_heard_that_they_will_be() {
    let words = "I am putting you through to the reception now. Please hold the line.";
    let reception = json!([{ "name": "reception", "number": "+12025550142" }]);
    let to_reception = Piece::Tool { id: "call_1", name: "transfer", arguments: json!({ "destination": "reception" }) };
    let replies = vec![
        calls("transfer", json!({ "destination": "+12025550199" })),
        Reply::Answer(vec![Piece::Text(words), to_reception]),
    ];
    let (service, agent, double) = ready(replies, json!([{ "type": "transfer", "destinations": reception }])).await;
    let call = service.client.place(&agent, "+12025550109").await;
    let ended = service.client.wait_for_end(&call).await;
    assert_eq!((&ended["end_reason"], &ended["ended_by"]), (&json!("transferred"), &json!("agent")), "{ended}");
    let (_, transcript) = service.client.get(&format!("/v1/calls/{call}/transcript")).await;
    let lines = transcript["data"].as_array().expect("a list").clone();
    assert_eq!((text(&lines[0]["text"]).as_str(), &lines[0]["interrupted"]), (words, &json!(false)), "{transcript}");
    assert!(double.asked()[1].to_string().contains("/destination"), "only who is on the list");
    let statuses: Vec<_> =
        transcript["tool_calls"].as_array().expect("a list").iter().map(|it| &it["status"]).collect();
    assert_eq!(statuses, ["failed", "succeeded"], "{transcript}");
    double.finish();
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn conversation_continues_after_keys_are_sent() {
    let replies = vec![calls("send_dtmf", json!({ "digits": "1w2#" })), says("I have pressed one and two.")];
    let (service, agent, double) = ready(replies, json!([{ "type": "send_dtmf" }])).await;
    let call = service.client.place(&agent, "+12025550109").await;
    let path = format!("/v1/calls/{call}/transcript");
    let said = |said: &Value| said.to_string().contains("pressed one and two");
    service.client.look_until(&path, said).await;
    assert!(OpenAi.conversation(&double.asked()[1]).iter().any(|(_, text)| text == "result {\"ok\":true}"));
    let (status, _) = service.client.post(&format!("/v1/calls/{call}/hangup"), json!({})).await;
    assert!(status.is_success());
    service.client.wait_for_end(&call).await;
    service.stop().await;
}
