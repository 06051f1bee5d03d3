//! Tools of MCP servers, in calls.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Response};
use axum::{Json, Router};
use serde_json::{Value, json};

use crate::doubles::mcp::{Does, Has, McpDouble, has, words};
use crate::doubles::model::{Double, KEY, Piece, Protocol as _, Reply};
use crate::doubles::openai_llm::OpenAi;
use crate::doubles::wild_mcp;
use crate::harness::{Agent, TestService, text};

fn calls(name: &'static str, arguments: Value) -> Reply {
    Reply::Answer(vec![Piece::Tool { id: "call_1", name, arguments }])
}

fn goodbye() -> Reply {
    Reply::Answer(vec![Piece::Text("Goodbye."), Piece::Tool { id: "call_2", name: "end_call", arguments: json!({}) }])
}

/// Creates an agent with these tools that uses the double as its model.
async fn agent(service: &TestService, double: &Double<OpenAi>, tools: Value) -> Agent {
    let connection = json!({
        "name": "model", "provider": "openai", "settings": { "base_url": double.base_url() }, "credentials": { "api_key": KEY },
    });
    let connection = service.client.create("/v1/connections", connection).await;
    let changes = json!({
        "greeting": { "mode": "generate" }, "llm": { "connection_id": connection["id"] }, "tools": tools,
        "variables": { "branch": { "default": "north" } }, "analysis": { "summary": false },
    });
    service.client.scripted_agent(changes).await
}

async fn whole_call(service: &TestService, agent: &Agent) -> String {
    let call = service.client.place(agent, "+12025550109").await;
    let ended = service.client.wait_for_end(&call).await;
    assert_eq!(ended["end_reason"], "agent_hangup", "{ended}");
    call
}

/// Returns the names of the tools offered to the model.
fn offered(asked: &Value) -> Vec<String> {
    asked["tools"].as_array().into_iter().flatten().map(|tool| text(&tool["function"]["name"])).collect()
}

/// Returns the tool results sent to the model, in order.
fn results(asked: &Value) -> Vec<String> {
    let returned = OpenAi.conversation(asked).into_iter().map(|(_, text)| text);
    returned.filter_map(|text| text.strip_prefix("result ").map(str::to_owned)).collect()
}

fn tables() -> Has {
    let day = json!({ "type": "object", "required": ["day"], "properties": { "day": { "type": "string" } } });
    let free = json!({ "content": [{ "type": "text", "text": "19:00" }], "structuredContent": { "free": ["19:00"] } });
    Has { tool: json!({ "name": "tables", "inputSchema": day }), does: Does::Streams(free) }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_servers_tools_are_offered_checked_and_used() {
    let service = TestService::start_allowing("127.0.0.0/8,http").await;
    let failed = json!({ "content": [{ "type": "text", "text": "The book is lost." }], "isError": true });
    let remote = json!({ "name": "remote", "inputSchema": { "type": "object", "$ref": "https://127.0.0.1/schema" } });
    let pages = vec![
        vec![tables(), has("hours", Does::Says(words("From nine to five."))), has("hidden", Does::Nothing)],
        vec![has("crm/broken", Does::Says(failed)), Has { tool: remote, does: Does::Nothing }],
        vec![has("refuses", Does::Refuses(-32_602, "No such guest.")), has("slow", Does::Nothing)],
        vec![has("long", Does::Says(words(&"x".repeat(100_000))))],
    ];
    let server = McpDouble::start(pages).await;
    let replies = vec![
        calls("tables", json!({ "day": 5 })),
        calls("tables", json!({ "day": "Friday" })),
        calls("shop_hours", json!({})),
        calls("crm_broken", json!({})),
        calls("refuses", json!({})),
        calls("slow", json!({})),
        calls("long", json!({})),
        goodbye(),
        calls("tables", json!({ "day": "Sunday" })),
        goodbye(),
    ];
    let double = Double::start(OpenAi, replies).await;
    let chosen = ["tables", "hours", "crm/broken", "remote", "refuses", "slow", "long", "made_up"];
    let tools = json!([
        { "type": "http", "name": "hours", "url": "https://example.com" },
        {
            "type": "mcp", "name": "shop", "url": server.url(), "tools": chosen, "timeout_seconds": 5,
            "headers": { "authorization": "Token {{branch}}" }, "filler": "Let me check the book.",
        },
    ]);
    let agent = agent(&service, &double, tools).await;
    let first = whole_call(&service, &agent).await;
    server.closed(1).await;

    let asked = double.asked();
    let own = ["end_call", "hours"];
    let theirs = ["tables", "shop_hours", "crm_broken", "refuses", "slow", "long"];
    assert_eq!(offered(&asked[0]), [&own[..], &theirs[..]].concat(), "those that were chosen and can be used");
    assert!(asked.iter().all(|asked| asked["tools"] == double.asked()[0]["tools"]), "the same in every question");
    let returned = results(&asked[7]);
    let expected =
        ["/day", "{\"free\":[\"19:00\"]}", "nine to five", "book is lost", "No such guest", "not respond in time"];
    for (returned, words) in returned.iter().zip(expected.into_iter().chain(["\"whole\":false"])) {
        assert!(returned.contains(words) && returned.len() < 3_000, "{words}: {returned}");
    }
    assert_eq!(returned.len(), 7);
    let called: Vec<String> = server.called().into_iter().map(|(name, _)| name).collect();
    assert_eq!(called, ["tables", "hours", "crm/broken", "refuses", "slow", "long"], "wrong arguments go nowhere");
    assert_eq!(server.called()[0].1, json!({ "day": "Friday" }));
    let (_, transcript) = service.client.get(&format!("/v1/calls/{first}/transcript")).await;
    assert!(transcript.to_string().contains("Let me check the book."), "{transcript}");

    let second = whole_call(&service, &agent).await;
    server.closed(2).await;
    assert_eq!(server.opened_and_listed(), (2, 1), "each call has a session, and they share the list");
    let known = [&first, &second].map(|call| format!("{call} Token north"));
    assert_eq!(server.known_by(), known.into());
    assert_eq!(results(&double.asked()[9]), ["{\"free\":[\"19:00\"]}"]);
    double.finish();
    server.finish();
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_malformed_tool_takes_no_other_with_it() {
    let service = TestService::start_allowing("127.0.0.0/8,http").await;
    let listed = |tool: Value| Has { tool, does: Does::Says(words("Done.")) };
    let day = json!({ "required": ["day"], "properties": { "day": { "type": "string" } } });
    let tools = vec![
        listed(json!({ "name": "null", "inputSchema": null })),
        listed(json!({ "name": "missing", "description": 5 })),
        listed(json!({ "name": "untyped", "inputSchema": day })),
        listed(
            json!({ "name": "unread", "inputSchema": {}, "outputSchema": [], "annotations": "none", "icons": {}, "_meta": 5 }),
        ),
        listed(json!({ "name": "lists", "inputSchema": { "type": "object", "properties": [], "required": [] } })),
        listed(json!({ "name": "list", "inputSchema": [] })),
        listed(json!({ "name": "text", "inputSchema": "{}" })),
        listed(json!({ "description": "Nameless.", "inputSchema": {} })),
        tables(),
    ];
    let server = McpDouble::start(vec![tools, vec![has("hours", Does::Nothing)]]).await;
    let replies = vec![
        calls("null", json!({})),
        calls("untyped", json!({})),
        calls("untyped", json!({ "day": "Friday" })),
        calls("tables", json!({ "day": "Friday" })),
        goodbye(),
    ];
    let double = Double::start(OpenAi, replies).await;
    let agent = agent(&service, &double, json!([{ "type": "mcp", "name": "shop", "url": server.url() }])).await;
    whole_call(&service, &agent).await;
    let asked = double.asked();
    let usable = ["end_call", "null", "missing", "untyped", "unread", "lists", "list", "tables", "hours"];
    assert_eq!(offered(&asked[0]), usable);
    let returned = results(&asked[4]);
    for (returned, words) in returned.iter().zip(["Done.", "day", "Done.", "19:00"]) {
        assert!(returned.contains(words), "{words}: {returned}");
    }
    let called: Vec<String> = server.called().into_iter().map(|(name, _)| name).collect();
    assert_eq!(called, ["null", "untyped", "tables"], "wrong arguments go nowhere");
    double.finish();
    server.finish();
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_is_down_costs_the_tools_and_not_the_call() {
    // All addresses but 127.0.0.2 may be reached.
    let service = TestService::start_allowing("127.0.0.1/32,http").await;
    let forbidden = McpDouble::start_at("127.0.0.2:0", vec![vec![tables()]]).await;
    let to_forbidden = axum::response::Redirect::temporary(&forbidden.url());
    let elsewhere = axum::Router::new().fallback(move || std::future::ready(to_forbidden.clone()));
    let silent = axum::Router::new().fallback(std::future::pending::<()>);
    let junk = axum::Router::new().fallback(|| std::future::ready(axum::Json(json!([1]))));
    let mut urls = vec![forbidden.url()];
    for router in [elsewhere, silent, junk] {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        urls.push(format!("http://{}/mcp", listener.local_addr().expect("bound")));
        tokio::spawn(async move { axum::serve(listener, router).await });
    }
    let server = McpDouble::start(vec![vec![tables()]]).await;
    urls.push(server.url());
    let double = Double::start(OpenAi, vec![calls("tables", json!({ "day": "Friday" })), goodbye()]).await;
    let tools: Vec<Value> = urls.iter().map(|url| json!({ "type": "mcp", "url": url })).collect();
    let agent = agent(&service, &double, json!(tools)).await;
    whole_call(&service, &agent).await;
    assert_eq!(offered(&double.asked()[0]), ["end_call", "tables"], "of the one that works");
    assert_eq!(results(&double.asked()[1]), ["{\"free\":[\"19:00\"]}"]);
    assert_eq!(forbidden.opened_and_listed(), (0, 0));
    assert!(forbidden.known_by().is_empty(), "nobody went there");
    server.closed(1).await;
    double.finish();
    server.finish();
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_has_moved_on_its_origin_is_followed() {
    let service = TestService::start_allowing("127.0.0.0/8,http").await;
    let server = McpDouble::start(vec![vec![tables()]]).await;
    let double = Double::start(OpenAi, vec![calls("tables", json!({ "day": "Friday" })), goodbye()]).await;
    let agent = agent(&service, &double, json!([{ "type": "mcp", "url": server.moved_url() }])).await;
    whole_call(&service, &agent).await;
    assert_eq!(results(&double.asked()[1]), ["{\"free\":[\"19:00\"]}"]);
    assert_eq!(server.called(), [("tables".to_owned(), json!({ "day": "Friday" }))], "once, with its arguments");
    server.closed(1).await;
    double.finish();
    server.finish();
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_that_the_server_has_forgotten_is_opened_again() {
    let error = |id: Value, message: &str| {
        json!({ "jsonrpc": "2.0", "id": id, "error": { "code": -32_000, "message": message } }).to_string()
    };
    for (status, body) in [
        (404, String::new()),
        (400, error(json!(null), "Bad Request: No valid session ID provided")),
        (400, error(json!("server-error"), "Bad Request: Missing session ID")),
        (400, "Invalid or missing session ID".to_owned()),
    ] {
        let service = TestService::start_allowing("127.0.0.0/8,http").await;
        let server = McpDouble::start(vec![vec![tables()]]).await;
        server.forget_once(status, &body);
        let double = Double::start(OpenAi, vec![calls("tables", json!({ "day": "Friday" })), goodbye()]).await;
        let agent = agent(&service, &double, json!([{ "type": "mcp", "url": server.url() }])).await;
        whole_call(&service, &agent).await;
        assert_eq!(results(&double.asked()[1]), ["{\"free\":[\"19:00\"]}"], "{status} {body}");
        assert_eq!((server.opened_and_listed(), server.called().len()), ((2, 1), 1), "{status} {body}");
        server.closed(1).await;
        double.finish();
        server.finish();
        service.stop().await;
    }
}

/// Checks that the model gets a result with these words from each tool, and that the session can be used afterwards.
async fn each_is_reported(cases: Vec<(&'static str, Does, &str)>) {
    let service = TestService::start_allowing("127.0.0.0/8,http").await;
    let (names, expected): (Vec<&str>, Vec<&str>) = cases.iter().map(|(name, _, words)| (*name, *words)).unzip();
    let mut tools: Vec<Has> = cases.iter().map(|(name, does, _)| has(name, does.clone())).collect();
    tools.push(tables());
    let server = McpDouble::start(vec![tools]).await;
    let works = calls("tables", json!({ "day": "Friday" }));
    let replies = cases.iter().map(|(name, ..)| calls(name, json!({}))).chain([works, goodbye()]).collect();
    let double = Double::start(OpenAi, replies).await;
    let tools = json!([{ "type": "mcp", "url": server.url(), "timeout_seconds": 10 }]);
    let agent = agent(&service, &double, tools).await;
    whole_call(&service, &agent).await;
    let returned = results(&double.asked()[names.len() + 1]);
    assert_eq!(returned.len(), names.len() + 1, "{returned:?}");
    for ((returned, name), words) in returned.iter().zip(&names).zip(expected) {
        assert!(returned.contains(words), "{name}: {returned}");
    }
    assert_eq!(returned.last().map(String::as_str), Some("{\"free\":[\"19:00\"]}"), "the session goes on");
    let called: Vec<String> = server.called().into_iter().map(|(name, _)| name).collect();
    assert_eq!(called, [&names[..], &["tables"]].concat(), "nothing is used twice");
    double.finish();
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn tool_failures_of_the_server_are_reported_to_the_model() {
    each_is_reported(vec![
        ("locked", Does::Fails(401, &[]), "could not be reached"),
        ("busy", Does::Fails(429, &[("retry-after", "5")]), "could not be reached"),
        ("broken", Does::Fails(500, &[]), "could not be reached"),
        ("moved", Does::Fails(307, &[("location", "http://10.0.0.1/mcp")]), "could not be reached"),
        ("torn", Does::Breaks, "cannot be read"),
        ("garbage", Does::Garbage, "cannot be read"),
        ("streamed", Does::StreamsGarbage, "cannot be read"),
    ])
    .await;
}

/// A server that refuses before it reads the request does not know its id.
#[tokio::test(flavor = "multi_thread")]
async fn refusals_without_the_id_of_the_request_are_not_waited_for() {
    each_is_reported(vec![
        ("locked", Does::Denies(401, json!(null), "Unauthorized"), "The tool refused: Unauthorized"),
        ("closed", Does::Denies(403, json!("server-error"), "Forbidden"), "The tool refused: Forbidden"),
        ("strange", Does::Denies(400, json!(7_000), "Not today"), "The tool refused: Not today"),
        ("polite", Does::Denies(200, json!(null), "Not now"), "The tool refused: Not now"),
    ])
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn results_in_forms_that_the_protocol_does_not_have_reach_the_model() {
    let card = json!({ "type": "json", "json": { "booked": true } });
    let mixed = json!({ "content": [{ "type": "text", "text": "See you soon." }, card] });
    each_is_reported(vec![
        ("card", Does::Says(json!({ "content": [card] })), "{\"booked\":true}"),
        ("bare", Does::Says(json!({ "success": true })), "{\"success\":true}"),
        ("mixed", Does::Streams(mixed), "See you soon."),
        ("polled", Does::Interrupts(json!({ "success": true }), 1), "{\"success\":true}"),
        ("asks", Does::Says(json!({ "resultType": "input_required" })), "Do not assume that nothing was done"),
    ])
    .await;
}

/// A result in its envelope, and a notification.
const BOOKED: &str = r#"{"jsonrpc":"2.0","id":$ID,"result":{"content":[{"type":"text","text":"Booked."}]}}"#;
const NEWS: &str = r#"{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"x"}}"#;
const JSON: Option<&str> = Some("application/json");
const EVENTS: Option<&str> = Some("text/event-stream");

#[tokio::test(flavor = "multi_thread")]
async fn responses_in_other_envelopes_reach_the_model() {
    let text = r#"{"id":"$ID","result":{"content":[{"type":"text","text":"Booked."}]}}"#;
    let bare = r#"{"content":[{"type":"text","text":"Booked."}]}"#;
    each_is_reported(vec![
        ("one_in_a_list", Does::Sends(JSON, format!("[{BOOKED}]").leak()), "Booked."),
        ("a_list", Does::Sends(JSON, format!("[{NEWS},{BOOKED}]").leak()), "Booked."),
        ("a_list_in_events", Does::Sends(EVENTS, format!("data: [{BOOKED}]\n\n").leak()), "Booked."),
        ("a_text_for_an_id", Does::Sends(JSON, text), "Booked."),
        ("no_envelope", Does::Sends(JSON, bare), "Booked."),
        ("nothing", Does::Sends(JSON, ""), "cannot be read"),
    ])
    .await;
}

/// JavaScript cuts text within an emoji.
#[tokio::test(flavor = "multi_thread")]
async fn half_an_emoji_hides_no_result() {
    let half = r#"{"jsonrpc":"2.0","id":$ID,"result":{"content":[{"type":"text","text":"Booked. \ud83d"}]}}"#;
    each_is_reported(vec![
        ("whole", Does::Sends(JSON, half), "Booked."),
        ("in_events", Does::Sends(EVENTS, format!("data: {half}\n\n").leak()), "Booked."),
    ])
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn responses_of_other_content_types_reach_the_model() {
    let stream: &str = format!("event: message\ndata: {NEWS}\n\ndata: {BOOKED}\n\n").leak();
    each_is_reported(vec![
        ("plain", Does::Sends(Some("text/plain; charset=utf-8"), BOOKED), "Booked."),
        ("untyped", Does::Sends(None, BOOKED), "Booked."),
        ("untyped_events", Does::Sends(None, stream), "Booked."),
        ("events_as_json", Does::Sends(JSON, stream), "Booked."),
        ("json_as_events", Does::Sends(EVENTS, BOOKED), "Booked."),
        ("a_page", Does::Sends(Some("text/html"), "<html>Sign in</html>"), "cannot be read"),
    ])
    .await;
}

/// Number of seeds, and how many of them one call uses. `WILD_SEEDS=500` tries more.
const SEEDS: u64 = 36;
const SEEDS_OF_A_CALL: usize = 6;

#[tokio::test(flavor = "multi_thread")]
async fn results_reach_the_model_however_loosely_the_server_sends_them() {
    let seeds = std::env::var("WILD_SEEDS").ok().map_or(SEEDS, |seeds| seeds.parse().expect("a number"));
    for seeds in (0..seeds).collect::<Vec<_>>().chunks(SEEDS_OF_A_CALL) {
        let case = |seed: &u64| (&*format!("seed_{seed}").leak(), Does::Wild(*seed), wild_mcp::BOOKED);
        each_is_reported(seeds.iter().map(case).collect()).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_is_not_kept_waiting_for_a_call_that_is_over() {
    let service = TestService::start_allowing("127.0.0.0/8,http").await;
    let server = McpDouble::start(vec![vec![has("slow", Does::Nothing)]]).await;
    let double = Double::start(OpenAi, vec![calls("slow", json!({}))]).await;
    let tools = json!([{ "type": "mcp", "url": server.url(), "timeout_seconds": 10 }]);
    let agent = agent(&service, &double, tools).await;
    let call = service.client.place(&agent, "+12025550109").await;
    server.awaited(1).await;
    service.client.post(&format!("/v1/calls/{call}/hangup"), json!({})).await;
    server.awaited(0).await;
    server.closed(1).await;
    service.client.wait_for_end(&call).await;
    let (_, transcript) = service.client.get(&format!("/v1/calls/{call}/transcript")).await;
    let error = text(&transcript["tool_calls"][0]["error"]);
    assert!(error.contains("call ended"), "it was not given up for its timeout: {transcript}");
    service.stop().await;
}

/// The number of requests in each of the server's responses.
const PINGS: usize = 1_000;

/// A server that has one tool and sends a thousand requests in response to any message. Counts the responses.
async fn ask_back(State(answers): State<Arc<AtomicUsize>>, Json(message): Json<Value>) -> Response {
    let id = &message["id"];
    let result = match message["method"].as_str() {
        Some("initialize") => json!({
            "protocolVersion": "2025-06-18", "capabilities": { "tools": {} }, "serverInfo": { "name": "x", "version": "1" },
        }),
        Some("tools/list") => json!({ "tools": [has("hours", Does::Nothing).tool] }),
        Some(_) => Value::Null,
        None => {
            answers.fetch_add(1, Ordering::Relaxed);
            Value::Null
        }
    };
    let ping = |number| json!({ "jsonrpc": "2.0", "id": format!("{id}-{number}"), "method": "ping" });
    let mut events: String = (0..PINGS).map(|number| format!("data: {}\n\n", ping(number))).collect();
    if !result.is_null() {
        events += &format!("data: {}\n\n", json!({ "jsonrpc": "2.0", "id": id, "result": result }));
    }
    (StatusCode::OK, [("content-type", "text/event-stream")], events).into_response()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_answers_with_questions_is_answered_a_few_times_and_its_tools_are_used() {
    let service = TestService::start_allowing("127.0.0.0/8,http").await;
    let answers = Arc::new(AtomicUsize::new(0));
    let router = Router::new().route("/mcp", axum::routing::post(ask_back)).with_state(answers.clone());
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let url = format!("http://{}/mcp", listener.local_addr().expect("bound"));
    let server = tokio::spawn(async move { axum::serve(listener, router).await.expect("serves") });
    let double = Double::start(OpenAi, vec![goodbye()]).await;
    let agent = agent(&service, &double, json!([{ "type": "mcp", "name": "shop", "url": url }])).await;
    whole_call(&service, &agent).await;
    assert!(offered(&double.asked()[0]).contains(&"hours".to_owned()));
    double.finish();
    // The two responses to our requests contain requests; the responses to our responses are not read.
    let answers = answers.load(Ordering::Relaxed);
    assert!((1..50).contains(&answers), "{answers}");
    server.abort();
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_interrupted_response_is_resumed_where_it_stopped_a_limited_number_of_times() {
    let service = TestService::start_allowing("127.0.0.0/8,http").await;
    let pages = vec![vec![
        has("polled", Does::Interrupts(words("Booked."), 3)),
        has("endless", Does::Interrupts(words("Never."), u32::MAX)),
    ]];
    let server = McpDouble::start(pages).await;
    let replies = vec![calls("polled", json!({})), calls("endless", json!({})), goodbye()];
    let double = Double::start(OpenAi, replies).await;
    // Longer than all resumptions take, which are limited by their number.
    let tools = json!([{ "type": "mcp", "name": "shop", "url": server.url(), "timeout_seconds": 10 }]);
    let agent = agent(&service, &double, tools).await;
    whole_call(&service, &agent).await;
    let returned = results(&double.asked()[2]);
    assert!(returned[0].contains("Booked") && returned[1].contains("error"), "{returned:?}");
    let called: Vec<String> = server.called().into_iter().map(|(name, _)| name).collect();
    assert_eq!((called, server.resumed()), (vec!["polled".to_owned(), "endless".to_owned()], 32));
    double.finish();
    server.finish();
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_resumed_response_that_is_too_long_is_not_fetched_again() {
    let service = TestService::start_allowing("127.0.0.0/8,http").await;
    let server = McpDouble::start(vec![vec![has("long", Does::Interrupts(words(&"x".repeat(1_100_000)), 1))]]).await;
    let double = Double::start(OpenAi, vec![calls("long", json!({})), goodbye()]).await;
    let tools = json!([{ "type": "mcp", "name": "shop", "url": server.url(), "timeout_seconds": 10 }]);
    let agent = agent(&service, &double, tools).await;
    whole_call(&service, &agent).await;
    let returned = results(&double.asked()[1]);
    assert!(returned[0].contains("error"), "{returned:?}");
    assert_eq!((server.called().len(), server.resumed()), (1, 1));
    double.finish();
    server.finish();
    service.stop().await;
}
