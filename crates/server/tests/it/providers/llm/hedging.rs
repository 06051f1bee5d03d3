//! Hedged requests: a second model is asked when the first is late.

use serde_json::{Value, json};

use crate::doubles::model::{Double, KEY, Piece, Reply};
use crate::doubles::openai_llm::OpenAi;
use crate::harness::{Client, TestService, text};

/// The responses that a model must have given before one of them can be late.
const LEARNED: usize = 20;
/// The tokens that the doubles report as read.
const READ: u64 = 12;

fn says_and_ends(text: &'static str) -> Reply {
    Reply::Answer(vec![Piece::Text(text), Piece::Tool { id: "call_1", name: "end_call", arguments: json!({}) }])
}

async fn connection(client: &Client, name: &str, double: &Double<OpenAi>, rates: Value) -> Value {
    let connection = json!({
        "name": name, "provider": "openai", "credentials": { "api_key": KEY },
        "settings": { "base_url": double.base_url(), "kinds": ["llm"], "prices": { "*": rates } },
    });
    client.create("/v1/connections", connection).await["id"].clone()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_model_that_is_late_gets_company_and_both_are_paid() {
    let quick = (0..LEARNED).map(|_| says_and_ends("Hello. Bye.")).chain([Reply::Silence]);
    let first = Double::start(OpenAi, quick.collect()).await;
    let second = Double::start(OpenAi, vec![says_and_ends("Good evening. Bye.")]).await;
    let service = TestService::start_allowing("127.0.0.0/8,http").await;
    let client = &service.client;
    // A dollar for each token read, and a hundred for each token written.
    let reading = json!({ "llm_input_million": 1_000_000, "llm_output_million": 0 });
    let writing = json!({ "llm_input_million": 0, "llm_output_million": 100_000_000 });
    let llm = json!({
        "connection_id": connection(client, "first", &first, reading).await, "hedge": true,
        "fallbacks": [{ "connection_id": connection(client, "second", &second, writing).await }],
    });
    let changes = json!({ "greeting": { "mode": "generate" }, "llm": llm, "analysis": { "summary": false } });
    let agent = client.scripted_agent(changes).await;

    // A tenant may have ten concurrent calls.
    for _ in 0..LEARNED / 10 {
        let mut calls = Vec::new();
        for _ in 0..10 {
            calls.push(client.place(&agent, "+12025550109").await);
        }
        for call in calls {
            let ended = client.wait_for_end(&call).await;
            assert_eq!(
                (&ended["status"], &ended["usage"]["llm_estimated"]),
                (&json!("completed"), &json!(false)),
                "{ended}"
            );
        }
    }
    assert_eq!(second.asked().len(), 0, "nobody is late before it is known what is usual");

    let call = client.place(&agent, "+12025550109").await;
    first.freed().await;
    assert_eq!(
        second.asked().len(),
        1,
        "the first is let go of once another has responded, and not before it is asked"
    );
    let ended = client.wait_for_end(&call).await;
    assert_eq!((&ended["status"], &ended["end_reason"]), (&json!("completed"), &json!("agent_hangup")), "{ended}");
    let (_, transcript) = client.get(&format!("/v1/calls/{call}/transcript")).await;
    assert_eq!(text(&transcript["data"][0]["text"]), "Good evening. Bye.", "{transcript}");

    let usage = &ended["usage"];
    let wasted = usage["llm_input_tokens"].as_u64().expect("a number") - READ;
    assert!(wasted > 0 && usage["llm_estimated"] == true, "{usage}");
    let cost = usage["cost_usd"].as_f64().expect("a number");
    #[expect(clippy::cast_precision_loss, reason = "a few tokens")]
    let expected = wasted as f64 + 700.0;
    assert!((cost - expected).abs() < 1e-6 && usage["unpriced"] == false, "{usage}");
    first.finish();
    second.finish();
    service.stop().await;
}
