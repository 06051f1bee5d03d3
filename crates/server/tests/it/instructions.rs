//! An agent without a language model follows a demo script, and says so; one that `switchhook dev` connects follows its instructions.

use std::io::{BufRead as _, BufReader};
use std::process::Stdio;

use reqwest::StatusCode;
use serde_json::{Value, json};

use crate::doubles::model::{Double, KEY, says};
use crate::doubles::openai_llm::OpenAi;
use crate::harness::process::Node;
use crate::harness::{Client, TestService, closed_port, text};

/// A number that answers and talks.
const TALKS: &str = "+12025550100";
/// Where `dev` looks for keys.
const KEYS: [&str; 5] = ["OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY", "GROQ_API_KEY", "OPENROUTER_API_KEY"];
const NOTICE: &str = "I have no language model yet, so this is a demo.";

async fn greeting(client: &Client, call: &str) -> String {
    let transcript = client.look_until(&format!("/v1/calls/{call}/transcript"), |said| said["data"] != json!([])).await;
    text(&transcript["data"][0]["text"])
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_without_a_language_model_says_so_when_saved_and_when_called() {
    let (service, _) = TestService::ready().await;
    let client = &service.client;
    let (_, connections) = client.get("/v1/connections").await;
    let scripted = connections["data"].as_array().expect("a list").iter().find(|one| one["provider"] == "scripted");
    let by = json!({ "connection_id": scripted.expect("it was made")["id"] });
    let mut own = json!({
        "name": "Dentist", "instructions": "You answer the phone of a dentist.", "stt": by, "tts": by,
        "greeting": { "text": "Dental practice, good morning." },
    });
    let made = client.create("/v1/agents", own.clone()).await;
    let warning = text(&made["warnings"][0]);
    assert!(
        warning.contains("does not follow its instructions") && warning.contains("POST /v1/connections"),
        "{warning}"
    );
    let call = client.create("/v1/calls", json!({ "agent_id": made["id"], "to": TALKS })).await;
    assert_eq!(greeting(client, &text(&call["id"])).await, format!("{NOTICE} Dental practice, good morning."));

    own["name"] = json!("By script");
    own["llm"] = by;
    let named = client.create("/v1/agents", own).await;
    assert_eq!(named["warnings"], json!(["llm: scripted follows a script for demos and tests, not the instructions."]));
    let call = client.create("/v1/calls", json!({ "agent_id": named["id"], "to": TALKS })).await;
    assert_eq!(greeting(client, &text(&call["id"])).await, "Dental practice, good morning.");

    let hosted = json!({ "name": "Hosted", "provider": "openai", "credentials": { "api_key": "sk-0123456789" } });
    let hosted = client.create("/v1/connections", hosted).await;
    let path = format!("/v1/agents/{}", text(&made["id"]));
    let (_, still) = client.patch(&path, json!({ "language": "en-GB" })).await;
    assert!(text(&still["warnings"][0]).contains("(Hosted)"), "it names what is there: {still}");
    let (status, follows) = client.patch(&path, json!({ "llm": { "connection_id": hosted["id"] } })).await;
    assert_eq!((status, &follows["warnings"]), (StatusCode::OK, &Value::Null), "{follows}");
    service.stop().await;
}

/// A process that ends with the test.
struct EndedWithTest(std::process::Child);

impl Drop for EndedWithTest {
    fn drop(&mut self) {
        let _ = self.0.kill(); // It may have ended.
        let _ = self.0.wait();
    }
}

/// Starts `switchhook dev` without a terminal and reads its output up to the language model.
fn dev(node: &Node, url: &str) -> (EndedWithTest, String, Value, Value) {
    let models = std::env::var("SWITCHHOOK_TEST_MODELS")
        .unwrap_or_else(|_| concat!(env!("CARGO_TARGET_TMPDIR"), "/../test-models").to_owned());
    let link = node.data_dir().join("models");
    // Where no test has pulled the models yet, it leads nowhere.
    if !link.is_symlink() {
        std::os::unix::fs::symlink(format!("{models}/models"), link).expect("a link");
    }
    let mut command = node.command();
    for name in KEYS {
        command.env_remove(name);
    }
    let options = ["dev", "--listen", "127.0.0.1:0", "--json", "--llm-url", url, "--llm-model", "tiny"];
    let mut process = command
        .args(options)
        .args(["--llm-key-env", "KEY_OF_THE_MODEL"])
        .env("KEY_OF_THE_MODEL", KEY)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .map(EndedWithTest)
        .expect("the binary starts");
    let mut printed = BufReader::new(process.0.stdout.take().expect("piped")).lines();
    let mut next = || -> Value {
        serde_json::from_str(&printed.next().expect("another line").expect("text")).expect("one object a line")
    };
    let listens = next();
    let mut lines: Vec<Value> = vec![next()];
    if lines[0].get("api_key").is_some() {
        lines.push(next());
    }
    let model = lines.pop().expect("a line about the model");
    (process, text(&listens["listening"]), lines.pop().unwrap_or_default(), model)
}

/// The same beside the test's own work.
async fn dev_beside(node: Node, url: &str) -> (Node, EndedWithTest, String, Value, Value) {
    let url = url.to_owned();
    let started = tokio::task::spawn_blocking(move || {
        let (process, base, seeded, model) = dev(&node, &url);
        (node, process, base, seeded, model)
    });
    started.await.expect("no panic")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_language_model_is_connected_at_the_first_start_without_a_terminal() {
    switchhook_net::install_tls();
    let double = Double::start(OpenAi, vec![says("Yes.")]).await;
    // The node owns the data directory of the process.
    let (_node, _process, base, seeded, model) = dev_beside(Node::on(None), &double.base_url()).await;
    assert_eq!(model["language_model"]["ok"], true, "it was tested: {model}");
    let client = Client::new(base, text(&seeded["api_key"]["key"]));
    let id = text(&model["language_model"]["connection_id"]);
    let (_, connection) = client.get(&format!("/v1/connections/{id}")).await;
    assert_eq!((&connection["provider"], &connection["settings"]["model"]), (&json!("openai"), &json!("tiny")));
    let own = json!({ "name": "Dentist", "instructions": "You are a dentist.", "llm": { "connection_id": id } });
    assert_eq!(client.create("/v1/agents", own).await["warnings"], Value::Null);
    let (_, demo) = client.get(&format!("/v1/agents/{}", text(&seeded["agent_id"]))).await;
    assert!(demo["llm"]["connection_id"].is_string(), "the demo agent follows its script knowingly: {demo}");
    double.finish();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_language_model_that_does_not_respond_is_not_connected_until_it_does() {
    switchhook_net::install_tls();
    let (_socket, closed) = closed_port();
    let (node, process, base, seeded, model) = dev_beside(Node::on(None), &format!("http://{closed}/v1")).await;
    let model = &model["language_model"];
    assert_eq!((&model["ok"], &model["connection_id"]), (&json!(false), &Value::Null), "{model}");
    let client = Client::new(base, text(&seeded["api_key"]["key"]));
    let (_, connections) = client.get("/v1/connections").await;
    let providers: Vec<_> = connections["data"].as_array().into_iter().flatten().map(|one| &one["provider"]).collect();
    assert!(!providers.contains(&&json!("openai")), "{providers:?}");
    drop(process);

    let double = Double::start(OpenAi, vec![says("Yes.")]).await;
    let (_node, _process, _, _, model) = dev_beside(node, &double.base_url()).await;
    assert_eq!(model["language_model"]["ok"], true, "a later start finds it: {model}");
    double.finish();
}
