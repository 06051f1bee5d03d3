//! Calls with a speech-to-speech model, over the API.

mod conversation;
mod lost;
mod rehearsed;
mod sessions;
mod tools;
mod trouble;
mod wild;

use serde_json::{Value, json};

use crate::doubles::openai_realtime::{Double, KEY, Reply, Turn};
use crate::harness::{Agent, Client, TestService, text};

/// A silent line: the server recognises the test's scripted turns on it.
const SILENT: &str = "+12025550109";
const GREETING: &str = "Hello, this is Ava from Harbor Table. What may I do for you today?";

/// Starts a service and an agent with a scripted model; `changes` are the agent's.
async fn ready(replies: Vec<Reply>, turns: Vec<Turn>, changes: Value) -> (TestService, Agent, Double) {
    let double = Double::start(replies, turns).await;
    let service = TestService::start_allowing("127.0.0.0/8,http").await;
    let agent = agent(&service.client, &double, KEY, changes).await;
    (service, agent, double)
}

async fn agent(client: &Client, double: &Double, key: &str, changes: Value) -> Agent {
    let connection = connection(client, double, key).await;
    let mut agent = json!({
        "greeting": { "text": GREETING }, "realtime": { "connection_id": connection, "voice": "cedar" },
        "analysis": { "summary": false },
    });
    for (field, value) in changes.as_object().expect("an object") {
        agent[field] = value.clone();
    }
    client.scripted_agent(agent).await
}

async fn connection(client: &Client, double: &Double, key: &str) -> String {
    let connection = json!({
        "name": "model", "provider": "openai", "settings": { "base_url": double.base_url() }, "credentials": { "api_key": key },
    });
    text(&client.create("/v1/connections", connection).await["id"])
}

/// Returns the transcript: `agent`, `agent…` when cut off, or `caller`, and the text.
async fn said(client: &Client, call: &str) -> Vec<(String, String)> {
    let (_, transcript) = client.get(&format!("/v1/calls/{call}/transcript")).await;
    let line = |line: &Value| {
        let cut = if line["interrupted"] == true { "\u{2026}" } else { "" };
        (format!("{}{cut}", text(&line["role"])), text(&line["text"]))
    };
    transcript["data"].as_array().expect("a list").iter().map(line).collect()
}

fn who(lines: &[(String, String)]) -> Vec<&str> {
    lines.iter().map(|(who, _)| who.as_str()).collect()
}

async fn wait_for_words(client: &Client, call: &str, words: &str) {
    client.look_until(&format!("/v1/calls/{call}/transcript"), |said| said.to_string().contains(words)).await;
}

fn goodbye() -> Reply {
    Reply::Calls(Some("Thank you. Goodbye."), "call_end", "end_call", json!({}))
}
