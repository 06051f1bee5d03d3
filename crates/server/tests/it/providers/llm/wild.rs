//! Holds conversations in virtual time with a model's server that follows the protocol loosely.
//!
//! `WILD_SEEDS=500` tries more seeds, `WILD_SEED=7` one of them.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use axum::routing::post;
use axum::{Json, Router};
use serde_json::json;
use switchhook_core::agent::AgentConfig;
use switchhook_core::conversation::Conversation;

use crate::doubles::model::Double;
use crate::doubles::openai_llm::OpenAi;
use crate::doubles::wild::{BEFORE_BOOKING, GOODBYE, SECRET, WildModel};
use crate::providers::rehearsal::{FakeProviders, VirtualCall};

/// Number of seeds, in four parts.
const SEEDS: u64 = 240;
/// The caller's lines, until the agent ends the call.
const LINES: [&str; 4] = ["day", "time", "people", "yes"];

/// Returns what is wrong with the conversation of a seed.
async fn fault_of(seed: u64) -> Option<String> {
    let booked = Arc::new(AtomicU32::new(0));
    let count = booked.clone();
    let book = post(move || async move {
        count.fetch_add(1, Ordering::Relaxed);
        Json(json!({ "state": "booked" }))
    });
    let service = crate::doubles::voice::serve(Router::new().route("/book", book)).await;
    let mut agent = AgentConfig::new("Book tables.");
    agent.greeting.text = "Harbor Table, hello?".to_owned();
    agent.turn_taking.speculative = false;
    let parameters = json!({ "type": "object", "required": ["day"], "properties": { "day": { "type": "string" } } });
    let tool = json!({
        "type": "http", "name": "book", "description": "Books.", "parameters": parameters, "url": format!("http://{service}/book"),
    });
    agent.tools.push(serde_json::from_value(tool).expect("a tool"));

    let model = WildModel::start(seed).await;
    let adapter = Double::start(OpenAi, Vec::new()).await;
    let llm = adapter.llm_with(json!({ "base_url": model.base_url }));
    let mut talk = VirtualCall::begin(&agent, FakeProviders::scripted(llm)).await;
    talk.until_silent_for(500, 0).await;
    let mut silence = None;
    for line in LINES {
        silence = silence.or(talk.says_and_is_answered(line).await);
    }
    let phrases = Conversation::phrases(&agent);
    let ours = |said: &String| {
        let known =
            phrases.iter().map(String::as_str).chain([BEFORE_BOOKING, GOODBYE, "One moment.", "Harbor Table, hello?"]);
        known.into_iter().any(|known| known.contains(said.trim()) || said.contains(known))
    };
    let odd =
        talk.spoken().into_iter().find(|said| said.contains(SECRET) || said.contains(['{', '<', '[']) || !ours(said));
    let booked = booked.load(Ordering::Relaxed);
    let wrong = if let Some(odd) = odd {
        Some(format!("it speaks {odd:?}"))
    } else if let Some(silence) = silence {
        Some(silence)
    } else if booked != 1 {
        Some(format!("{booked} tables are booked"))
    } else if !talk.was_ended_by_the_agent() {
        Some(format!("it ends with {:?}", talk.end))
    } else {
        None
    };
    adapter.finish();
    wrong.map(|wrong| format!("seed {seed}: {wrong}\n  said {:?}\n  the model: {:?}", talk.said(), model.log()))
}

async fn try_seeds(part: u64) {
    let number = |name: &str| std::env::var(name).ok().map(|value| value.parse::<u64>().expect("a number"));
    let (one, seeds) = (number("WILD_SEED"), number("WILD_SEEDS").unwrap_or(SEEDS));
    let seeds: Range<u64> = one.map_or(0..seeds, |seed| seed..seed + 1);
    let mut wrong = Vec::new();
    for seed in seeds.filter(|seed| seed % 4 == part) {
        wrong.extend(fault_of(seed).await);
    }
    assert!(wrong.is_empty(), "{} seeds fail:\n{}", wrong.len(), wrong.join("\n"));
}

#[tokio::test(start_paused = true)]
async fn a_loose_server_books_once_first_quarter() {
    try_seeds(0).await;
}

#[tokio::test(start_paused = true)]
async fn a_loose_server_books_once_second_quarter() {
    try_seeds(1).await;
}

#[tokio::test(start_paused = true)]
async fn a_loose_server_books_once_third_quarter() {
    try_seeds(2).await;
}

#[tokio::test(start_paused = true)]
async fn a_loose_server_books_once_fourth_quarter() {
    try_seeds(3).await;
}
