//! Sessions that are lost in mid-call: the conversation so far continues in the next one.

use serde_json::json;

use super::{GREETING, SILENT, goodbye, ready, said, wait_for_words, who};
use crate::doubles::openai_realtime::Reply;

/// The caller whose recordings the model understands.
const NUMBER: &str = "+12025550100";

#[tokio::test(flavor = "multi_thread")]
async fn a_session_that_is_lost_is_replaced_and_knows_what_was_said() {
    let calls = [Reply::Dies, Reply::Garbage, Reply::Expires].map(|broken| async move {
        let turns = vec![(6_000, 500, "A table, please."), (3_000, 500, "For two.")];
        let replies = vec![Reply::Says("When would that be?"), broken, goodbye()];
        let (service, agent, double) = ready(replies, turns, json!({})).await;
        let call = service.client.place(&agent, SILENT).await;
        let ended = service.client.wait_for_end(&call).await;
        assert_eq!((&ended["end_reason"], &ended["turns"]), (&json!("agent_hangup"), &json!(2)), "{ended}");
        assert_eq!(double.sessions(), 2);
        let items = double.received("conversation.item.create");
        let texts: Vec<&str> = items.iter().filter_map(|item| item["item"]["content"][0]["text"].as_str()).collect();
        assert_eq!(texts[..3], [GREETING, "A table, please.", "When would that be?"], "{texts:?}");
        assert!(
            said(&service.client, &call)
                .await
                .iter()
                .any(|(who, words)| who == "agent" && words == "Thank you. Goodbye.")
        );
        service.stop().await;
    });
    futures_util::future::join_all(calls).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sentence_in_which_the_session_is_lost_is_finished_in_the_next_one() {
    let long = "We have tables at six, at seven, at eight and at nine, inside, outside, and at the bar.";
    let replies = vec![Reply::Breaks(long), Reply::Says("And at the bar, of course."), goodbye()];
    let turns = vec![(4_500, 500, "What do you have?"), (7_000, 500, "Seven, please.")];
    let (service, agent, double) = ready(replies, turns, json!({})).await;
    let call = service.client.place(&agent, SILENT).await;
    let ended = service.client.wait_for_end(&call).await;
    assert_eq!((&ended["end_reason"], double.sessions()), (&json!("agent_hangup"), 2), "{ended}");
    let lines = said(&service.client, &call).await;
    assert_eq!(who(&lines)[2..4], ["agent", "agent"], "{lines:?}");
    assert!(long.starts_with(&lines[2].1) && lines[3].1 == "And at the bar, of course.", "{lines:?}");
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_that_dies_before_it_tells_what_it_heard_is_replaced_by_one_that_hears_it_again() {
    let calls = [Reply::Dies, Reply::Garbage].map(|broken| async move {
        let replies = vec![Reply::Says("When would you like to come?"), broken, goodbye()];
        let (service, agent, double) = ready(replies, vec![], json!({})).await;
        let call = service.client.place(&agent, NUMBER).await;
        let ended = service.client.wait_for_end(&call).await;
        assert_eq!((&ended["end_reason"], &ended["turns"]), (&json!("agent_hangup"), &json!(2)), "{ended}");
        assert_eq!((double.sessions(), &ended["usage"]["llm_estimated"]), (2, &json!(true)), "{ended}");
        let lines = said(&service.client, &call).await;
        let day = switchhook_caller_audio::recording("day").expect("shipped").text;
        let times = lines.iter().filter(|(who, words)| who == "caller" && words == day).count();
        assert_eq!(times, 1, "only the second session can have told: {lines:?}");
        assert_eq!(lines.last().map(|(_, words)| words.as_str()), Some("Thank you. Goodbye."), "{lines:?}");
        service.stop().await;
    });
    futures_util::future::join_all(calls).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_that_is_dead_without_a_word_is_noticed_when_the_caller_speaks() {
    let question = "When would you like to come?";
    let replies = vec![Reply::Says(question), goodbye()];
    let (service, agent, double) = ready(replies, vec![], json!({})).await;
    let call = service.client.place(&agent, NUMBER).await;
    wait_for_words(&service.client, &call, question).await;
    double.freeze();
    let ended = service.client.wait_for_end(&call).await;
    assert_eq!((&ended["end_reason"], double.sessions()), (&json!("agent_hangup"), 2), "{ended}");
    let lines = said(&service.client, &call).await;
    let day = switchhook_caller_audio::recording("day").expect("shipped").text;
    assert!(lines.iter().any(|(who, words)| who == "caller" && words == day), "{lines:?}");
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sentence_that_the_model_breaks_off_is_finished() {
    let long = "We have tables at six, at seven, at eight and at nine, inside, outside, and at the bar.";
    let replies = vec![Reply::Stops(long), Reply::Says("And at the bar, of course."), goodbye()];
    let turns = vec![(4_500, 500, "What do you have?"), (7_000, 500, "Seven, please.")];
    let (service, agent, double) = ready(replies, turns, json!({})).await;
    let call = service.client.place(&agent, SILENT).await;
    let ended = service.client.wait_for_end(&call).await;
    assert_eq!((&ended["end_reason"], double.sessions()), (&json!("agent_hangup"), 1), "{ended}");
    let lines = said(&service.client, &call).await;
    assert_eq!(who(&lines)[2..4], ["agent", "agent"], "{lines:?}");
    assert_eq!(lines[3].1, "And at the bar, of course.", "{lines:?}");
    service.stop().await;
}
