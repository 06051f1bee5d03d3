//! Conversations in virtual time with each adapter.

use std::net::SocketAddr;

use crate::providers::rehearsal::{FakeProviders, VirtualCall};
use axum::routing::post;
use axum::{Json, Router};
use serde_json::{Value, json};
use switchhook_core::agent::{AgentConfig, TurnTaking};
use switchhook_core::conversation::FailureCode;

use super::beginning;
use crate::doubles::anthropic_llm::Anthropic;
use crate::doubles::gemini_llm::Gemini;
use crate::doubles::model::{Double, Piece, Protocol, Reply, says};
use crate::doubles::openai_llm::OpenAi;

macro_rules! every_adapter {
    ($($story:ident),* $(,)?) => { $(
        mod $story {
            #[tokio::test(start_paused = true)]
            async fn openai_chat() {
                super::$story(super::OpenAi).await;
            }
            #[tokio::test(start_paused = true)]
            async fn anthropic_messages() {
                super::$story(super::Anthropic).await;
            }
            #[tokio::test(start_paused = true)]
            async fn gemini_contents() {
                super::$story(super::Gemini).await;
            }
        }
    )* };
}

every_adapter!(
    a_table_is_booked,
    no_failure_leaves_dead_air,
    what_is_refused_is_not_asked_again,
    a_pause_that_is_asked_for_is_kept_and_covered,
    a_wrong_key_is_found_out_while_the_phone_rings,
);

fn agent() -> AgentConfig {
    let mut agent = AgentConfig::new("Book tables.");
    agent.greeting.text = "Harbor Table, hello?".to_owned();
    agent.turn_taking.speculative = false;
    agent
}

/// Starts the restaurant's own service.
async fn tables() -> SocketAddr {
    let router = Router::new().route("/tables", post(|| async { Json(json!({ "free": ["19:00"] })) }));
    crate::doubles::tts::serve(router).await
}

fn tool(id: &'static str, name: &'static str, arguments: Value) -> Piece {
    Piece::Tool { id, name, arguments }
}

/// Returns an agent that can look for tables.
async fn booking() -> AgentConfig {
    let mut agent = agent();
    let parameters = json!({ "type": "object", "properties": { "day": { "type": "string" } } });
    let url = format!("http://{}/tables", tables().await);
    let tables = json!({
        "type": "http", "name": "tables", "description": "Free tables.", "parameters": parameters, "url": url,
    });
    agent.tools.push(serde_json::from_value(tables).expect("a tool"));
    agent
}

async fn a_table_is_booked<P: Protocol>(protocol: P) {
    let replies = vec![
        Reply::Answer(vec![Piece::Text("Let me look. "), tool("call_1", "tables", json!({ "day": "Friday" }))]),
        says("There is one at seven, and there is another one at nine by the window. Which do you want?"),
        Reply::Answer(vec![Piece::Text("It is yours. Goodbye."), tool("call_2", "end_call", json!({}))]),
    ];
    let double = Double::start(protocol, replies).await;
    let agent = booking().await;
    let mut talk = VirtualCall::begin(&agent, FakeProviders::scripted(double.llm_with(json!({})))).await;
    talk.until_silent_for(500, 0).await;
    talk.caller_says("day").await;
    // In the middle of the second response.
    talk.until_it_says("another one at nine").await;
    talk.wait(2_500).await;
    let objected = talk.caller_says("interrupt").await;
    talk.until_silent_for(20_000, objected).await;
    assert!(talk.was_ended_by_the_agent(), "{:?}", talk.end);
    let said = talk.said();
    assert_eq!(said.len(), 5, "greeting, question, an answer that was cut short, objection and goodbye: {said:?}");
    let cut = talk.transcript.iter().find(|entry| entry.interrupted).expect("the caller spoke over it");
    assert!(!cut.text.contains("Which do you want"), "{}", cut.text);

    let asked = double.asked();
    let last = protocol.conversation(&asked[2]);
    let heard = format!("{}\u{2026}", cut.text);
    assert!(last.iter().any(|(by, text)| *by == "model" && *text == heard), "what was heard, and no more: {last:?}");
    assert!(last.iter().any(|(_, text)| text == "call tables {\"day\":\"Friday\"}"));
    assert!(last.iter().any(|(_, text)| text.starts_with("result") && text.contains("19:00")), "{last:?}");
    let objection = "Wait, actually, make it Saturday.";
    assert_eq!(last.last().map(|(by, text)| (*by, text.as_str())), Some(("caller", objection)));
    double.finish();
}

/// Returns server failures, with the code of a call in which they occur repeatedly.
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
        ("a long rate limit", FailureCode::Pipeline, many(1, &|| refuse(429, vec![("retry-after", "60")]))),
        ("a server in trouble", FailureCode::Pipeline, many(6, &|| refuse(503, Vec::new()))),
        ("junk", FailureCode::Pipeline, many(6, &|| Reply::Events(vec!["data: {{\n\n".to_owned()]))),
    ]
}

async fn no_failure_leaves_dead_air<P: Protocol>(protocol: P) {
    let mut broken = Vec::new();
    for (trouble, code, replies) in troubles(protocol) {
        let double = Double::start(protocol, replies).await;
        // The timeouts of a real call.
        let llm = double.llm_with(json!({ "timeouts_ms": {} }));
        let mut talk = VirtualCall::begin(&agent(), FakeProviders::scripted(llm)).await;
        talk.until_silent_for(500, 0).await;
        // Some failures are tolerated once, and the caller repeats the line.
        for line in ["day", "day"] {
            broken.extend(talk.says_and_is_answered(line).await.map(|promise| format!("{trouble}: {promise}")));
        }
        if talk.failure() != Some(code) {
            broken.push(format!("{trouble}: it ends by {:?} and not by {code:?}", talk.end));
        }
        double.finish();
    }
    assert!(broken.is_empty(), "{broken:#?}");
}

/// Returns an agent whose model is asked early, and may have responded before the turn is over.
fn hasty_agent() -> AgentConfig {
    let turn_taking = TurnTaking { min_silence_ms: 1_500, speculative: true, ..TurnTaking::default() };
    AgentConfig { turn_taking, ..agent() }
}

async fn what_is_refused_is_not_asked_again<P: Protocol>(protocol: P) {
    for status in [403, 404] {
        let double =
            Double::start(protocol, vec![Reply::Refuses(status, Vec::new(), protocol.error(status, "No."))]).await;
        let mut talk = VirtualCall::begin(&hasty_agent(), FakeProviders::scripted(double.llm())).await;
        talk.until_silent_for(500, 0).await;
        assert_eq!(talk.says_and_is_answered("day").await, None);
        talk.wait(10_000).await;
        assert_eq!(talk.failure(), Some(FailureCode::Config), "{status}: {:?}", talk.end);
        double.finish();
    }
}

async fn a_pause_that_is_asked_for_is_kept_and_covered<P: Protocol>(protocol: P) {
    let full = Reply::Refuses(429, vec![("retry-after", "5")], protocol.error(429, "Slow down."));
    let double = Double::start(protocol, vec![full, says("There is one at seven.")]).await;
    let mut talk = VirtualCall::begin(&hasty_agent(), FakeProviders::scripted(double.llm())).await;
    talk.until_silent_for(500, 0).await;
    let spoke = talk.caller_says("day").await;
    assert_eq!(talk.dead_air_since(spoke).await, None);
    let answer = talk.transcript.iter().find(|entry| entry.text == "There is one at seven.").expect("an answer");
    let waited = answer.start_ms - i64::try_from(spoke).expect("short");
    assert!((5_000..8_000).contains(&waited), "{waited} ms");
    assert!(talk.end.is_none(), "{:?}", talk.end);
    double.finish();
}

async fn a_wrong_key_is_found_out_while_the_phone_rings<P: Protocol>(protocol: P) {
    let double = Double::start(protocol, vec![]).await;
    let talk = VirtualCall::begin(&agent(), FakeProviders::scripted(double.llm_with_key("sk-wrong"))).await;
    assert!(matches!(&talk.end, Some((0, _))), "nobody answers: {:?}", talk.end);
    assert_eq!(talk.failure(), Some(FailureCode::Config), "{:?}", talk.end);
    double.finish();
}

/// Two models of different providers: the first looks for a table, and then fails before it has reported what it found. The second
/// continues from there, and is asked first in the next turn.
async fn check_fallback<P: Protocol, Q: Protocol>(first: P, second: Q, trouble: fn(P) -> Vec<Reply>) {
    let mut replies = vec![Reply::Answer(vec![tool("call_0", "tables", json!({ "day": "Friday" }))])];
    replies.extend(trouble(first));
    let first_double = Double::start(first, replies).await;
    let second_double = Double::start(
        second,
        vec![
            says("There is one at seven. For how many people?"),
            // The id that the other model has used.
            Reply::Answer(vec![tool("call_0", "tables", json!({ "day": "Saturday" }))]),
            says("There is one at seven on Saturday too."),
        ],
    )
    .await;
    // The timeouts of a real call.
    let patient = || json!({ "timeouts_ms": {} });
    let cast = FakeProviders {
        other_llms: vec![second_double.llm_with(patient())],
        ..FakeProviders::scripted(first_double.llm_with(patient()))
    };
    let mut talk = VirtualCall::begin(&booking().await, cast).await;
    talk.until_silent_for(500, 0).await;
    assert_eq!(talk.says_and_is_answered("day").await, None);
    assert!(talk.spoken().iter().any(|said| said.contains("For how many people")), "{:?}", talk.spoken());
    let objected = talk.caller_says("interrupt").await;
    assert_eq!(talk.dead_air_since(objected).await, None);
    assert!(talk.end.is_none(), "{:?}", talk.end);
    assert!(talk.spoken().iter().any(|said| said.contains("on Saturday too")), "{:?}", talk.spoken());
    let answered = talk.sounds().iter().find(|(began, _)| *began > objected).expect("an answer");
    assert!(answered.0 < objected + 3_000, "the one in trouble is not waited for again: {answered:?}, {objected}");

    let asked = second_double.asked();
    for (question, day) in [(0, "Friday"), (2, "Saturday")] {
        let returned = second.conversation(&asked[question]);
        let [.., (_, called), (_, result)] = &returned[..] else { panic!("{returned:?}") };
        assert_eq!(*called, format!("call tables {{\"day\":\"{day}\"}}"), "{returned:?}");
        assert!(result.starts_with("result") && result.contains("19:00"), "{returned:?}");
    }
    first_double.finish();
    second_double.finish();
}

#[tokio::test(start_paused = true)]
async fn anthropic_takes_over_when_openai_hangs_after_a_tool() {
    check_fallback(OpenAi, Anthropic, |_| vec![Reply::Silence]).await;
}

#[tokio::test(start_paused = true)]
async fn gemini_takes_over_when_anthropic_is_busy_after_a_tool() {
    check_fallback(Anthropic, Gemini, |anthropic| {
        (0..3).map(|_| Reply::Refuses(529, Vec::new(), anthropic.error(529, "Overloaded."))).collect()
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn openai_takes_over_when_gemini_refuses_after_a_tool() {
    check_fallback(Gemini, OpenAi, |gemini| {
        vec![Reply::Refuses(403, Vec::new(), gemini.error(403, "No longer allowed."))]
    })
    .await;
}
