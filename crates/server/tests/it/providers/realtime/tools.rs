//! Tool calls of speech-to-speech models.

use axum::Json;
use serde_json::{Value, json};

use super::{GREETING, SILENT, goodbye, ready, said, who};
use crate::doubles::openai_realtime::Reply;

/// Starts a service that is a tool.
async fn service_of_tables() -> String {
    let router = axum::Router::new().fallback(|| async { Json(json!({ "free": ["19:00"] })) });
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let address = listener.local_addr().expect("bound");
    tokio::spawn(async move { axum::serve(listener, router).await });
    format!("http://{address}/tables")
}

#[tokio::test(flavor = "multi_thread")]
async fn tools_are_run_and_the_model_gets_their_results() {
    let parameters = json!({ "type": "object", "required": ["day"], "properties": { "day": { "type": "string" } } });
    let tables =
        json!({ "type": "http", "name": "tables", "url": service_of_tables().await, "parameters": parameters });
    let replies = vec![
        Reply::Calls(Some("Let me see."), "call_1", "tables", json!({ "day": 5 })),
        Reply::Calls(None, "call_2", "tables", json!({ "day": "Friday" })),
        Reply::Calls(Some("There is one at seven. I press one now."), "call_3", "send_dtmf", json!({ "digits": "1" })),
        Reply::Calls(None, "call_4", "end_call", json!({})),
        Reply::Says("Goodbye."),
    ];
    let tools = json!({ "tools": [tables, { "type": "send_dtmf" }] });
    let (service, agent, double) = ready(replies, vec![(4_500, 500, "Is there a table on Friday?")], tools).await;
    let call = service.client.place(&agent, SILENT).await;
    let ended = service.client.wait_for_end(&call).await;
    assert_eq!((&ended["end_reason"], &ended["turns"]), (&json!("agent_hangup"), &json!(1)), "{ended}");

    let outputs: Vec<Value> = double.received("conversation.item.create");
    let returned: Vec<&str> = outputs.iter().filter_map(|output| output["item"]["output"].as_str()).collect();
    for (output, words) in returned.iter().zip(["/day", "19:00", "\"ok\":true", "\"ok\":true"]) {
        assert!(output.contains(words), "{words}: {returned:?}");
    }
    assert_eq!(returned.len(), 4);
    let words: Vec<String> = said(&service.client, &call).await.into_iter().map(|(_, words)| words).collect();
    let expected =
        [GREETING, "Is there a table on Friday?", "Let me see.", "There is one at seven. I press one now.", "Goodbye."];
    assert_eq!(words, expected);
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_caller_is_transferred_once_they_have_heard_that_they_will_be() {
    let words = "I am putting you through to the reception now. Please hold the line.";
    let replies = vec![Reply::Calls(Some(words), "call_1", "transfer", json!({ "destination": "reception" }))];
    let destinations = json!([{ "name": "reception", "number": "+12025550142" }]);
    let tools = json!({ "tools": [{ "type": "transfer", "destinations": destinations }] });
    let (service, agent, double) = ready(replies, vec![(4_500, 500, "The reception, please.")], tools).await;
    let call = service.client.place(&agent, SILENT).await;
    let ended = service.client.wait_for_end(&call).await;
    assert_eq!((&ended["end_reason"], &ended["ended_by"]), (&json!("transferred"), &json!("agent")), "{ended}");
    let lines = said(&service.client, &call).await;
    assert_eq!((who(&lines), lines[2].1.as_str()), (vec!["agent", "caller", "agent"], words), "{lines:?}");
    let (_, transcript) = service.client.get(&format!("/v1/calls/{call}/transcript")).await;
    assert_eq!(transcript["tool_calls"][0]["status"], "succeeded", "{transcript}");
    double.is_free().await;
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_goodbye_that_the_caller_interrupts_does_not_end_the_call() {
    let first = Reply::Calls(Some("Thank you very much for calling, and goodbye."), "call_1", "end_call", json!({}));
    let turns = vec![(4_500, 500, "That is all."), (1_000, 500, "Wait, one more thing.")];
    let (service, agent, double) = ready(vec![first, goodbye()], turns, json!({})).await;
    let call = service.client.place(&agent, SILENT).await;
    let ended = service.client.wait_for_end(&call).await;
    assert_eq!((&ended["end_reason"], &ended["turns"]), (&json!("agent_hangup"), &json!(2)), "{ended}");
    let lines = said(&service.client, &call).await;
    assert_eq!(who(&lines), ["agent", "caller", "agent\u{2026}", "caller", "agent"], "{lines:?}");
    assert!(double.received("conversation.item.create").iter().any(|item| item.to_string().contains("It goes on")));
    service.stop().await;
}
