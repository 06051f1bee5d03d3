//! Conversations in virtual time with each adapter.

use serde_json::json;
use switchhook_core::agent::AgentConfig;
use switchhook_core::conversation::{End, FailureCode, Speaker};

use super::beginning;
use super::rehearsal::Rehearsal;
use crate::doubles::anthropic_llm::Anthropic;
use crate::doubles::gemini_llm::Gemini;
use crate::doubles::model::{Double, Piece, Protocol, Reply, says};
use crate::doubles::openai_llm::OpenAi;

macro_rules! every_adapter {
    ($($story:ident),* $(,)?) => { $(
        mod $story {
            #[tokio::test]
            async fn openai_chat() {
                super::$story(super::OpenAi).await;
            }
            #[tokio::test]
            async fn anthropic_messages() {
                super::$story(super::Anthropic).await;
            }
            #[tokio::test]
            async fn gemini_contents() {
                super::$story(super::Gemini).await;
            }
        }
    )* };
}

every_adapter!(a_table_is_booked, whatever_fails_nobody_listens_to_a_dead_line);

fn agent() -> AgentConfig {
    let mut agent = AgentConfig::new("Book tables.");
    agent.greeting.text = "Harbor Table, hello?".to_owned();
    agent.turn_taking.speculative = false;
    agent
}

async fn a_table_is_booked<P: Protocol>(protocol: P) {
    let tool = |id, name, arguments| Piece::Tool { id, name, arguments };
    let replies = vec![
        Reply::Answer(vec![Piece::Text("Let me look. "), tool("call_1", "tables", json!({ "day": "Friday" }))]),
        says("There is one at seven, and there is another one at nine by the window. Which do you want?"),
        Reply::Answer(vec![Piece::Text("It is yours. Goodbye."), tool("call_2", "end_call", json!({}))]),
    ];
    let double = Double::start(protocol, replies).await;
    let mut talk = Rehearsal::new(&agent(), double.llm(), super::request().tools).await;
    talk.until_silent_for(500).await;
    talk.caller_says("A table on Friday, please.").await;
    // Into the middle of the second answer.
    while talk.said.iter().all(|said| !said.contains("another one at nine")) {
        talk.until(talk.now() + 20).await;
    }
    talk.until(talk.now() + 2_500).await;
    talk.caller_says("Seven o'clock is good for me.").await;
    talk.until_silent_for(20_000).await;
    assert!(matches!(talk.end, Some((_, End::AgentHungUp))), "{:?}", talk.end);
    let said: Vec<(Speaker, &str)> = talk.transcript.iter().map(|entry| (entry.speaker, entry.text.as_str())).collect();
    assert_eq!(said.len(), 5, "greeting, question, an answer that was cut short, objection and goodbye: {said:?}");
    let cut = talk.transcript.iter().find(|entry| entry.interrupted).expect("the caller spoke over it");
    assert!(!cut.text.contains("Which do you want"), "{}", cut.text);

    let asked = double.asked();
    let last = protocol.conversation(&asked[2]);
    let heard = format!("{}\u{2026}", cut.text);
    assert!(last.iter().any(|(by, text)| *by == "model" && *text == heard), "what was heard, and no more: {last:?}");
    assert!(last.iter().any(|(_, text)| text == "call tables {\"day\":\"Friday\"}"));
    assert!(last.iter().any(|(_, text)| text.starts_with("result") && text.contains("19:00")));
    assert_eq!(last.last().map(|(by, text)| (*by, text.as_str())), Some(("caller", "Seven o'clock is good for me.")));
    double.finish();
}

/// What a server can do wrong, and with which code a call ends that meets it again and again.
fn troubles<P: Protocol>(protocol: P) -> Vec<(&'static str, FailureCode, Vec<Reply>)> {
    let refuse = |status, headers: Vec<(&'static str, &'static str)>| {
        Reply::Refuses(status, headers, protocol.error(status, "No."))
    };
    let many = |count: usize, reply: &dyn Fn() -> Reply| (0..count).map(|_| reply()).collect::<Vec<_>>();
    let wrong_key = if protocol.error(401, "")["error"]["code"] == 400 { 400 } else { 401 };
    vec![
        ("a first byte that never comes", FailureCode::ProviderTimeout, many(2, &|| Reply::Silence)),
        (
            "a socket that dies after some words",
            FailureCode::ProviderTimeout,
            many(2, &|| Reply::Stalls(beginning(protocol))),
        ),
        ("a connection that breaks", FailureCode::Pipeline, many(2, &|| Reply::Breaks(beginning(protocol)))),
        (
            "a wrong key",
            FailureCode::Config,
            vec![Reply::Refuses(wrong_key, Vec::new(), protocol.error(401, "Wrong key."))],
        ),
        ("a long rate limit", FailureCode::Pipeline, many(2, &|| refuse(429, vec![("retry-after", "60")]))),
        ("a server in trouble", FailureCode::Pipeline, many(6, &|| refuse(503, Vec::new()))),
        ("junk", FailureCode::Pipeline, many(6, &|| Reply::Events(vec!["data: {{\n\n".to_owned()]))),
    ]
}

async fn whatever_fails_nobody_listens_to_a_dead_line<P: Protocol>(protocol: P) {
    for (trouble, code, replies) in troubles(protocol) {
        let double = Double::start(protocol, replies).await;
        let llm = double.llm_with(json!({ "timeouts_ms": { "first_byte": 600, "first_word": 600, "gap": 200 } }));
        let mut talk = Rehearsal::new(&agent(), llm, Vec::new()).await;
        talk.until_silent_for(500).await;
        let mut spoke = talk.caller_says("A table on Friday, please.").await;
        talk.until_silent_for(3_100).await;
        // Some troubles are excused once, and the caller says it again.
        if talk.end.is_none() {
            let before = talk.longest_silence_until(spoke, talk.now() - 3_100);
            assert!(before <= 3_000, "{trouble}: {before} ms of silence");
            spoke = talk.caller_says("A table on Friday, please.").await;
            talk.until_silent_for(20_000).await;
        }
        let (_, end) = talk.end.as_ref().unwrap_or_else(|| panic!("{trouble}: the call goes on: {:?}", talk.said));
        assert!(matches!(end, End::Failed(failure) if failure.code == code), "{trouble}: {end:?}");
        let silence = talk.longest_silence(spoke);
        assert!(silence <= 3_000, "{trouble}: {silence} ms of silence: {:?}", talk.said);
        double.finish();
    }
}
