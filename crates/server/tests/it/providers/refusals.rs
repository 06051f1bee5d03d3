//! Permanent refusals by providers: a configuration error at the beginning, a failure in mid-call.

use serde_json::{Value, json};

use crate::doubles::model::{Double, KEY, Piece, Protocol as _, Reply, says};
use crate::doubles::openai_llm::OpenAi;
use crate::doubles::openai_tts;
use crate::doubles::tts::{self, Refusal, TtsState};
use crate::harness::{Client, TestService};

async fn connection(client: &Client, name: &str, base_url: &str, key: &str) -> Value {
    let connection = json!({
        "name": name, "provider": "openai", "settings": { "base_url": base_url }, "credentials": { "api_key": key },
    });
    client.create("/v1/connections", connection).await["id"].clone()
}

fn wrong_key() -> Reply {
    Reply::Refuses(401, Vec::new(), OpenAi.error(401, "Wrong key."))
}

/// Runs a call whose models, the first and its fallbacks, give these replies. Returns the ended call.
async fn held_by(models: Vec<Vec<Reply>>) -> Value {
    let service = TestService::start_allowing("127.0.0.0/8,http").await;
    let client = &service.client;
    let (mut doubles, mut ids) = (Vec::new(), Vec::new());
    for replies in models {
        let double = Double::start(OpenAi, replies).await;
        ids.push(connection(client, &format!("model {}", ids.len()), &double.base_url(), KEY).await);
        doubles.push(double);
    }
    let fallbacks: Vec<Value> = ids[1..].iter().map(|id| json!({ "connection_id": id })).collect();
    let changes = json!({
        "greeting": { "mode": "generate" }, "turn_taking": { "speculative": false }, "analysis": { "summary": false },
        "llm": { "connection_id": ids[0], "fallbacks": fallbacks },
    });
    let agent = client.scripted_agent(changes).await;
    let call = client.place(&agent, "+12025550100").await;
    let ended = client.wait_for_end(&call).await;
    doubles.into_iter().for_each(Double::finish);
    service.stop().await;
    ended
}

#[tokio::test(flavor = "multi_thread")]
async fn a_model_that_refuses_its_first_question_is_set_up_wrongly() {
    let ended = held_by(vec![vec![wrong_key()]]).await;
    assert_eq!((&ended["status"], &ended["error_code"]), (&json!("failed"), &json!("config_error")), "{ended}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_model_that_refuses_later_has_failed_and_is_not_asked_again() {
    let ended = held_by(vec![vec![says("Who is calling, please?"), wrong_key()]]).await;
    assert_eq!((&ended["status"], &ended["error_code"]), (&json!("failed"), &json!("pipeline_error")), "{ended}");
    assert!(ended["error"].as_str().is_some_and(|error| error.contains("Wrong key.")), "{ended}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_model_that_refuses_later_is_replaced_within_the_turn() {
    let goodbye = vec![Piece::Text("Goodbye."), Piece::Tool { id: "call_1", name: "end_call", arguments: json!({}) }];
    let first = vec![says("Who is calling, please?"), wrong_key()];
    let ended = held_by(vec![first, vec![Reply::Answer(goodbye)]]).await;
    assert_eq!((&ended["status"], &ended["error"]), (&json!("completed"), &json!(null)), "{ended}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_model_that_refuses_the_key_ends_the_call_before_anybody_answers() {
    let service = TestService::start_allowing("127.0.0.0/8,http").await;
    let client = &service.client;
    let double = Double::start(OpenAi, vec![]).await;
    let id = connection(client, "model", &double.base_url(), "sk-wrong").await;
    let patient = json!({ "ring_timeout_seconds": 120 });
    let agent = client.scripted_agent(json!({ "llm": { "connection_id": id }, "limits": patient })).await;
    // The number never answers, so the call cannot be answered before the refusal is read.
    let ended = client.wait_for_end(&client.place(&agent, "+12025550102").await).await;
    assert_eq!((&ended["error_code"], &ended["answered_at"]), (&json!("config_error"), &json!(null)), "{ended}");
    let words = ended["error"].as_str().unwrap_or_default();
    assert!(words.contains("Wrong key.") && !words.contains("sk-wrong"), "{ended}");
    double.finish();
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn so_it_is_with_voices() {
    let service = TestService::start_allowing("127.0.0.0/8,http").await;
    let client = &service.client;
    let state = TtsState::default();
    let base_url = format!("http://{}", openai_tts::serve(state.clone()).await);
    let id = connection(client, "voice", &base_url, tts::KEY).await;
    let agent = client.scripted_agent(json!({ "tts": { "connection_id": id } })).await;
    let refused = || Refusal { status: 401, retry_after: None, body: json!({ "error": { "message": "Wrong key." } }) };

    state.refuse([refused()]);
    let ended = client.wait_for_end(&client.place(&agent, "+12025550109").await).await;
    assert_eq!(ended["error_code"], "config_error", "{ended}");

    let call = client.place(&agent, "+12025550109").await;
    // A voice that is refused before it has spoken is set up wrongly.
    client.wait_for_words(&call).await;
    state.refuse([refused(), refused()]);
    client.post(&format!("/v1/calls/{call}/say"), json!({ "text": "Are you still there?" })).await;
    let ended = client.wait_for_end(&call).await;
    assert_eq!((&ended["status"], &ended["error_code"]), (&json!("failed"), &json!("pipeline_error")), "{ended}");
    assert_eq!(state.complaints(), Vec::<String>::new());
    service.stop().await;
}
