//! The adapter against a server that speaks the protocol as real ones do, and breaks off as real ones do.

use std::convert::Infallible;
use std::sync::{Arc, Mutex};

use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse as _, Response};
use axum::routing::post;
use axum::{Json, Router};
use serde_json::{Value, json};
use switchhook_core::conversation::{Message, Role, ToolCall};
use switchhook_core::private::Private;
use tokio::sync::mpsc;

use super::OpenAiLlm;
use crate::providers::{AnalysisRequest, Llm as _, LlmEvent, LlmRequest, ProviderError, ToolSpec};

/// What the server answers, one after the other, and what it was asked.
#[derive(Clone, Default)]
struct Double {
    answers: Arc<Mutex<Vec<(u16, String)>>>,
    asked: Arc<Mutex<Vec<Value>>>,
}

impl Double {
    async fn start(answers: Vec<(u16, String)>) -> (Self, OpenAiLlm) {
        let double = Self { answers: Arc::new(Mutex::new(answers)), ..Self::default() };
        let router = Router::new().route("/v1/chat/completions", post(complete)).with_state(double.clone());
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("bound");
        tokio::spawn(async move { axum::serve(listener, router).await });
        crate::lifecycle::install_tls();
        let key = Private::new("sk-test".to_owned());
        let llm =
            OpenAiLlm::new(reqwest::Client::new(), &format!("http://{address}"), Some(key), Some("m1".to_owned()));
        (double, llm)
    }
}

async fn complete(State(double): State<Double>, headers: HeaderMap, Json(body): Json<Value>) -> Response {
    if headers.get("authorization").and_then(|value| value.to_str().ok()) != Some("Bearer sk-test") {
        return (StatusCode::UNAUTHORIZED, Json(json!({ "error": { "message": "Invalid key" } }))).into_response();
    }
    // As the real service does: a tool call without its answer is refused.
    let messages = body["messages"].as_array().cloned().unwrap_or_default();
    for (at, message) in messages.iter().enumerate() {
        let calls = message["tool_calls"].as_array().map_or(0, Vec::len);
        let answers = messages[at + 1..].iter().take_while(|next| next["role"] == "tool").count();
        if calls > answers {
            let error = json!({ "error": { "message": "tool_call_ids did not have response messages", "code": null } });
            return (StatusCode::BAD_REQUEST, Json(error)).into_response();
        }
    }
    double.asked.lock().expect("whole").push(body);
    let (status, answer) = double.answers.lock().expect("whole").remove(0);
    let status = StatusCode::from_u16(status).expect("a status");
    let pieces: Vec<Result<Vec<u8>, Infallible>> =
        answer.as_bytes().chunks(7).map(|piece| Ok(piece.to_vec())).collect();
    (status, Body::from_stream(futures_util::stream::iter(pieces))).into_response()
}

fn stream(chunks: &[Value], done: bool) -> String {
    let mut text: String = chunks.iter().map(|chunk| format!("data: {chunk}\n\n")).collect();
    if done {
        text.push_str("data: [DONE]\n\n");
    }
    text
}

fn delta(delta: Value, finish: Option<&str>) -> Value {
    json!({ "object": "chat.completion.chunk", "choices": [{ "index": 0, "delta": delta, "finish_reason": finish }] })
}

fn request() -> LlmRequest {
    let mut called = Message::new(Role::Assistant, "One moment.");
    called.tool_calls =
        vec![ToolCall { id: "c9".to_owned(), name: "look_up".to_owned(), arguments: json!({ "n": 1 }) }];
    LlmRequest {
        model: None,
        messages: vec![Message::new(Role::System, "Be brief."), called, Message::new(Role::User, "Bye")],
        tools: vec![ToolSpec {
            name: "end_call".to_owned(),
            description: "Ends it.".to_owned(),
            parameters: json!({}),
        }],
        temperature: Some(0.5),
        max_tokens: None,
    }
}

async fn ask(llm: &OpenAiLlm) -> (Vec<LlmEvent>, Result<crate::providers::Usage, ProviderError>) {
    let (sender, mut events) = mpsc::channel(64);
    let result = llm.answer(request(), sender).await;
    let mut all = Vec::new();
    while let Some(event) = events.recv().await {
        all.push(event);
    }
    (all, result)
}

fn text(events: &[LlmEvent]) -> String {
    events
        .iter()
        .filter_map(|event| if let LlmEvent::Delta(text) = event { Some(text.as_str()) } else { None })
        .collect()
}

#[tokio::test]
async fn text_tools_and_usage_are_read_from_the_stream() {
    let call = |part: Value| delta(json!({ "content": null, "tool_calls": [part] }), None);
    let answer = stream(
        &[
            json!({ "choices": [], "prompt_filter_results": [] }),
            delta(json!({ "role": "assistant", "content": "" }), None),
            delta(json!({ "content": "<think>" }), None),
            delta(json!({ "content": "hm" }), None),
            delta(json!({ "content": "</think>Good" }), None),
            delta(json!({ "content": "bye, \u{e9}milie." }), None),
            call(json!({ "index": 0, "id": "c1", "function": { "name": "end_call", "arguments": "" } })),
            call(json!({ "index": 0, "id": "c1", "function": { "name": "end_call", "arguments": "{\"why\":" } })),
            call(json!({ "index": 0, "function": { "arguments": "\"done\"}" } })),
            delta(json!({}), Some("tool_calls")),
            json!({ "choices": [], "usage": { "prompt_tokens": 12, "completion_tokens": 7 } }),
        ],
        true,
    );
    let (double, llm) = Double::start(vec![(200, answer)]).await;
    let (events, usage) = ask(&llm).await;
    assert_eq!(text(&events), "Goodbye, \u{e9}milie.");
    let called = |event: &LlmEvent| matches!(event, LlmEvent::ToolCall { id, name, arguments } if id == "c1" && name == "end_call" && arguments["why"] == "done");
    assert!(events.last().is_some_and(called));
    let usage = usage.expect("answered");
    assert_eq!((usage.llm_input_tokens, usage.llm_output_tokens), (12, 7));
    let asked = double.asked.lock().expect("whole").remove(0);
    assert_eq!(
        (&asked["model"], &asked["max_tokens"], &asked["temperature"]),
        (&json!("m1"), &json!(300), &json!(0.5))
    );
    assert_eq!(asked["messages"][2], json!({ "role": "tool", "tool_call_id": "c9", "content": "cancelled" }));
    assert_eq!(asked["tools"][0]["function"]["name"], "end_call");
}

#[tokio::test]
async fn a_busy_server_is_asked_again_and_a_refusal_is_not() {
    let good = stream(&[delta(json!({ "content": "Yes." }), Some("stop"))], false);
    let busy = json!({ "error": { "message": "overloaded", "code": 503 } }).to_string();
    let (double, llm) = Double::start(vec![(503, busy.clone()), (429, busy), (200, good)]).await;
    let (events, result) = ask(&llm).await;
    assert_eq!((text(&events).as_str(), result.is_ok()), ("Yes.", true));
    assert_eq!(double.asked.lock().expect("whole").len(), 3);

    let unknown = json!({ "error": { "message": "no such model", "code": "model_not_found" } }).to_string();
    let (double, llm) = Double::start(vec![(404, unknown)]).await;
    let (_, result) = ask(&llm).await;
    assert!(matches!(result, Err(ProviderError::Config { words, .. }) if words == "no such model (model_not_found)"));
    assert_eq!(double.asked.lock().expect("whole").len(), 1);
}

#[tokio::test]
async fn what_breaks_off_is_a_failure_and_not_an_answer() {
    let half = stream(&[delta(json!({ "content": "I would" }), None)], false);
    let broken = stream(&[delta(json!({ "content": "I" }), None), json!({ "error": { "message": "gone" } })], true);
    for (answer, words) in [(String::new(), "empty answer"), (half, "cut off"), (broken, "gone")] {
        let (_, llm) = Double::start(vec![(200, answer)]).await;
        let (_, result) = ask(&llm).await;
        let error = result.expect_err("not an answer").to_string();
        assert!(error.contains(words), "{error}");
    }
}

#[tokio::test]
async fn a_call_is_looked_back_upon_in_json_even_when_the_model_chats() {
    let written = "Sure!\n```json\n{\"summary\": \"A table was booked.\", \"outcome\": {\"people\": 4}}\n```";
    let answer =
        json!({ "choices": [{ "message": { "role": "assistant", "content": written }, "finish_reason": "stop" }] });
    let (_, llm) = Double::start(vec![(200, answer.to_string())]).await;
    let request = AnalysisRequest { model: None, messages: vec![Message::new(Role::User, "Four.")], schema: None };
    let analysis = llm.analyse(request).await.expect("analysed");
    assert_eq!((analysis.summary.as_str(), &analysis.outcome["people"]), ("A table was booked.", &json!(4)));
}
