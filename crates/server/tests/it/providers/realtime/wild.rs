//! Holds conversations in virtual time with a speech-to-speech server that follows its documentation loosely and fails at times.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use axum::routing::post;
use axum::{Json, Router};
use serde_json::json;
use switchhook_core::agent::AgentConfig;

use super::rehearsed::model;
use crate::crash::rng::Rng;
use crate::doubles::openai_realtime::{Double, Reply};
use crate::providers::rehearsal::{FakeProviders, VirtualCall, always};
use crate::providers::wild_seeds::try_seeds;

/// Number of seeds.
const SEEDS: u64 = 40;
const GREETING: &str = "Harbor Table, hello?";

/// Returns what the model replies, with at most one failure before each reply.
fn replies(random: &mut Rng) -> (Vec<Reply>, Vec<String>) {
    let book = Reply::Calls(Some("Let me book that."), "call_1", "book", json!({ "day": "Friday" }));
    let end = Reply::Calls(Some("It is yours. Goodbye."), "call_2", "end_call", json!({}));
    let planned = [Reply::Says("For which day?"), book, Reply::Says("It is booked. Anything else?"), end];
    let faults = [
        ("dies", Reply::Dies),
        ("breaks", Reply::Breaks("There is one at seven, and another one at nine.")),
        ("stops", Reply::Stops("There is one at seven, and another one at nine.")),
        ("fails", Reply::Fails("Out of luck.")),
        ("expires", Reply::Expires),
        ("sends garbage", Reply::Garbage),
    ];
    let (mut replies, mut log) = (Vec::new(), Vec::new());
    for (at, reply) in planned.into_iter().enumerate() {
        if random.once_in(3) {
            let (name, fault) = random.any(&faults);
            log.push(format!("{name} before reply {at}"));
            replies.push(fault);
        }
        replies.push(reply);
    }
    (replies, log)
}

/// Returns what is wrong with the conversation of a seed.
async fn fault_of(seed: u64) -> Option<String> {
    let booked = Arc::new(AtomicU32::new(0));
    let count = booked.clone();
    let book = post(move || async move {
        count.fetch_add(1, Ordering::Relaxed);
        Json(json!({ "state": "booked" }))
    });
    let service = crate::doubles::tts::serve(Router::new().route("/book", book)).await;
    let mut agent = AgentConfig::new("Book tables.");
    agent.greeting.text = GREETING.to_owned();
    let parameters = json!({ "type": "object", "required": ["day"], "properties": { "day": { "type": "string" } } });
    let tool = json!({
        "type": "http", "name": "book", "description": "Books.", "parameters": parameters, "url": format!("http://{service}/book"),
    });
    agent.tools.push(serde_json::from_value(tool).expect("a tool"));

    let (replies, log) = replies(&mut Rng::new(seed));
    let double = Double::start(replies, vec![]).await;
    double.go_wild(seed);
    let mut talk = VirtualCall::begin_with(&agent, FakeProviders::scripted(always("")), vec![model(&double)]).await;
    talk.until_silent_for(500, 0).await;
    let mut wrong = Vec::new();
    // More lines than the model needs: a turn may be lost with its session.
    for line in ["name", "day", "time", "people", "yes", "no"] {
        wrong.extend(talk.says_and_is_answered(line).await);
    }
    talk.wait(10_000).await;
    let booked = booked.load(Ordering::Relaxed);
    if booked != 1 {
        wrong.push(format!("{booked} tables are booked"));
    }
    if !talk.was_ended_by_the_agent() {
        wrong.push(format!("it ends with {:?}", talk.end));
    }
    let said = talk.said();
    for words in [GREETING, "Let me book that.", "It is booked. Anything else?", "It is yours. Goodbye."] {
        if said.iter().filter(|line| **line == (true, words)).count() != 1 {
            wrong.push(format!("{words:?} is not said once"));
        }
    }
    if !wrong.is_empty() {
        // It complains of the client of a call that has not ended, which would hide the seed.
        double.ignore_complaints();
    }
    (!wrong.is_empty()).then(|| format!("seed {seed}: {}\n  said {said:?}\n  the model: {log:?}", wrong.join("; ")))
}

#[tokio::test(start_paused = true)]
async fn a_loose_server_books_once() {
    try_seeds(SEEDS, 0, 1, fault_of).await;
}
