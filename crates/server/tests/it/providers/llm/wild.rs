//! Holds conversations in virtual time with models' servers that follow their protocols loosely.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use axum::routing::post;
use axum::{Json, Router};
use serde_json::json;
use switchhook_core::agent::AgentConfig;
use switchhook_core::conversation::Conversation;
use switchhook_providers::Llm;

use crate::doubles::anthropic_llm::Anthropic;
use crate::doubles::gemini_llm::Gemini;
use crate::doubles::model::{Double, Protocol};
use crate::doubles::openai_llm::OpenAi;
use crate::doubles::wild_llm::{BEFORE_BOOKING, GOODBYE, SECRET, WildModel};
use crate::doubles::wild_stream::WildStream;
use crate::providers::rehearsal::{FakeProviders, VirtualCall};
use crate::providers::wild_seeds::try_seeds;

/// The caller's lines, until the agent ends the call.
const LINES: [&str; 4] = ["day", "time", "people", "yes"];

/// A protocol, by whose loose server the model is served.
#[derive(Clone, Copy)]
enum Dialect {
    OpenAi,
    Anthropic,
    Gemini,
}

/// A loose server, and the adapter that talks to it.
struct Loose {
    llm: Arc<dyn Llm>,
    log: Box<dyn Fn() -> Vec<String>>,
}

impl Dialect {
    fn seeds(self) -> u64 {
        match self {
            Self::OpenAi => 240,
            Self::Anthropic | Self::Gemini => 40,
        }
    }

    async fn serve(self, seed: u64) -> Loose {
        match self {
            Self::OpenAi => {
                let model = WildModel::start(seed).await;
                let llm = Double::start(OpenAi, Vec::new()).await.llm_with(json!({ "base_url": model.base_url }));
                Loose { llm, log: Box::new(move || model.log()) }
            }
            Self::Anthropic => serve_stream(Anthropic, seed).await,
            Self::Gemini => serve_stream(Gemini, seed).await,
        }
    }
}

async fn serve_stream<P: Protocol>(protocol: P, seed: u64) -> Loose {
    let model = WildStream::start(protocol, seed).await;
    let llm = Double::start(protocol, Vec::new()).await.llm_with(json!({ "base_url": model.base_url }));
    Loose { llm, log: Box::new(move || model.log()) }
}

/// Returns what is wrong with the conversation of a seed.
async fn fault_of(dialect: Dialect, seed: u64) -> Option<String> {
    let booked = Arc::new(AtomicU32::new(0));
    let count = booked.clone();
    let book = post(move || async move {
        count.fetch_add(1, Ordering::Relaxed);
        Json(json!({ "state": "booked" }))
    });
    let service = crate::doubles::tts::serve(Router::new().route("/book", book)).await;
    let mut agent = AgentConfig::new("Book tables.");
    agent.greeting.text = "Harbor Table, hello?".to_owned();
    agent.turn_taking.speculative = false;
    let parameters = json!({ "type": "object", "required": ["day"], "properties": { "day": { "type": "string" } } });
    let tool = json!({
        "type": "http", "name": "book", "description": "Books.", "parameters": parameters, "url": format!("http://{service}/book"),
    });
    agent.tools.push(serde_json::from_value(tool).expect("a tool"));

    let Loose { llm, log } = dialect.serve(seed).await;
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
    wrong.map(|wrong| format!("seed {seed}: {wrong}\n  said {:?}\n  the model: {:?}", talk.said(), log()))
}

#[tokio::test(start_paused = true)]
async fn a_loose_server_books_once_first_quarter() {
    try_seeds(Dialect::OpenAi.seeds(), 0, 4, async |seed| fault_of(Dialect::OpenAi, seed).await).await;
}

#[tokio::test(start_paused = true)]
async fn a_loose_server_books_once_second_quarter() {
    try_seeds(Dialect::OpenAi.seeds(), 1, 4, async |seed| fault_of(Dialect::OpenAi, seed).await).await;
}

#[tokio::test(start_paused = true)]
async fn a_loose_server_books_once_third_quarter() {
    try_seeds(Dialect::OpenAi.seeds(), 2, 4, async |seed| fault_of(Dialect::OpenAi, seed).await).await;
}

#[tokio::test(start_paused = true)]
async fn a_loose_server_books_once_fourth_quarter() {
    try_seeds(Dialect::OpenAi.seeds(), 3, 4, async |seed| fault_of(Dialect::OpenAi, seed).await).await;
}

#[tokio::test(start_paused = true)]
async fn a_loose_server_of_anthropics_api_books_once() {
    try_seeds(Dialect::Anthropic.seeds(), 0, 1, async |seed| fault_of(Dialect::Anthropic, seed).await).await;
}

#[tokio::test(start_paused = true)]
async fn a_loose_server_of_geminis_api_books_once() {
    try_seeds(Dialect::Gemini.seeds(), 0, 1, async |seed| fault_of(Dialect::Gemini, seed).await).await;
}
