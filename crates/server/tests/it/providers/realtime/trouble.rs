//! Models that fail, and callers who hang up.

use serde_json::json;

use super::{GREETING, SILENT, ready, said, wait_for_words, who};
use crate::doubles::openai_realtime::Reply;
use crate::harness::TIMEOUT;

#[tokio::test(flavor = "multi_thread")]
async fn a_caller_who_hangs_up_in_mid_sentence_leaves_what_they_heard_and_no_session() {
    let (service, agent, double) = ready(vec![], vec![], json!({})).await;
    let call = service.client.place(&agent, "+12025550108").await;
    let ended = service.client.wait_for_end(&call).await;
    assert_eq!(ended["end_reason"], "caller_hangup", "{ended}");
    let lines = said(&service.client, &call).await;
    let [(who, words)] = &lines[..] else { panic!("{lines:?}") };
    assert!(who == "agent\u{2026}" && GREETING.starts_with(words.as_str()) && words.len() < 30, "{lines:?}");
    double.is_free().await;
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_is_ended_frees_its_session_at_once() {
    let (service, agent, double) = ready(vec![], vec![], json!({})).await;
    let call = service.client.place(&agent, SILENT).await;
    service.client.wait_for(&call, |call| call["status"] == "in_progress").await;
    service.client.post(&format!("/v1/calls/{call}/hangup"), json!({})).await;
    tokio::time::timeout(TIMEOUT, double.is_free()).await.expect("it is let go of");
    service.client.wait_for_end(&call).await;
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wait_is_bridged_in_another_voice_and_in_the_end_given_up() {
    let (service, agent, double) = ready(vec![Reply::Nothing], vec![(4_500, 500, "Hello?")], json!({})).await;
    let call = service.client.place(&agent, SILENT).await;
    let ended = service.client.wait_for_end(&call).await;
    assert_eq!(ended["error_code"], "provider_timeout", "{ended}");
    let (_, transcript) = service.client.get(&format!("/v1/calls/{call}/transcript")).await;
    let lines = transcript["data"].as_array().expect("a list");
    let by_agent = lines.iter().filter(|line| line["role"] == "agent").count();
    assert_eq!(by_agent, 4, "greeting, two words that bridge the wait, an apology: {transcript}");
    double.is_free().await;
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_model_that_keeps_failing_ends_the_call_with_its_words() {
    let lost = (vec![Reply::Dies, Reply::Dies, Reply::Dies], "the connection broke", 3);
    let fails = (vec![Reply::Fails("Out of luck."), Reply::Fails("Out of luck.")], "Out of luck.", 1);
    for (replies, words, sessions) in [lost, fails] {
        let (service, agent, double) = ready(replies, vec![(4_500, 500, "Hello?")], json!({})).await;
        let call = service.client.place(&agent, SILENT).await;
        wait_for_words(&service.client, &call, GREETING).await;
        let ended = service.client.wait_for_end(&call).await;
        assert_eq!(ended["error_code"], "pipeline_error", "{ended}");
        assert!(ended["error"].as_str().is_some_and(|error| error.contains(words)), "{ended}");
        assert_eq!(double.sessions(), sessions);
        let lines = said(&service.client, &call).await;
        assert!(who(&lines).ends_with(&["agent"]) && lines.len() >= 2, "an apology in the other voice: {lines:?}");
        service.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_machine_is_known_by_what_it_says_and_hears_the_message_after_its_beep() {
    let message = "This is Ava. Please call us back.";
    let machine = json!({ "mode": "detect", "on_machine": "leave_message", "message": message });
    let (service, agent, double) = ready(vec![], vec![], json!({ "answering_machine": machine })).await;
    let call = service.client.place(&agent, "+12025550110").await;
    let ended = service.client.wait_for_end(&call).await;
    assert_eq!((&ended["end_reason"], &ended["answered_by"]), (&json!("voicemail"), &json!("voicemail")), "{ended}");
    let lines = said(&service.client, &call).await;
    assert_eq!(lines.last(), Some(&("agent".to_owned(), message.to_owned())), "{lines:?}");
    double.is_free().await;
    service.stop().await;
}
