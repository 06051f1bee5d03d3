//! Recognition, language model and voice behind real sockets, with protocols of Deepgram and OpenAI. What they say is always the
//! same and takes always the same time.

use std::convert::Infallible;

use axum::extract::ws::{Message, WebSocket, WebSocketUpgrade};
use axum::response::IntoResponse;
use axum::response::sse::{Event, Sse};
use axum::routing::{get, post};
use bytes::Bytes;
use futures_util::{Stream, StreamExt as _, stream};
use serde_json::{Value, json};
use std::time::Duration;

use super::{MODEL_TAKES, VOICE_TAKES};

/// The transcript of every turn.
const HEARD: &str = "I would like to book a table for two.";
/// The delay of the STT.
const RECOGNITION_TAKES: Duration = Duration::from_millis(50);
/// The pieces of the LLM's response, and the time between two of them.
const ANSWER: &[&str] = &["Certainly", ". ", "At what", " time", " would", " you", " like", " to come", "?"];
const BETWEEN_PIECES: Duration = Duration::from_millis(15);
/// The length of every utterance: µ-law bytes in pieces of 100 ms.
const SPEECH_PIECES: usize = 20;
const SPEECH_PIECE: usize = 800;

pub(crate) fn router() -> axum::Router {
    axum::Router::new()
        .route("/v1/listen", get(|upgrade: WebSocketUpgrade| async { upgrade.on_upgrade(listen) }))
        .route("/v1/speak", get(|upgrade: WebSocketUpgrade| async { upgrade.on_upgrade(speak) }))
        .route("/v1/chat/completions", post(answer))
}

async fn listen(mut socket: WebSocket) {
    while let Some(Ok(message)) = socket.recv().await {
        let Message::Text(text) = message else { continue };
        if !text.contains("Finalize") {
            continue;
        }
        tokio::time::sleep(RECOGNITION_TAKES).await;
        let words = json!({ "alternatives": [{ "transcript": HEARD, "confidence": 0.99 }] });
        let results = json!({ "type": "Results", "channel": words, "is_final": true, "speech_final": true, "from_finalize": true });
        if socket.send(Message::text(results.to_string())).await.is_err() {
            return;
        }
    }
}

async fn speak(mut socket: WebSocket) {
    let piece = Bytes::from((0..SPEECH_PIECE).map(|n| if n % 16 < 8 { 0x20 } else { 0xa0 }).collect::<Vec<u8>>());
    while let Some(Ok(message)) = socket.recv().await {
        let Message::Text(text) = message else { continue };
        let kind: Value = serde_json::from_str(&text).unwrap_or_default();
        let done = match kind["type"].as_str() {
            Some("Flush") => "Flushed",
            Some("Clear") => "Cleared",
            _ => continue,
        };
        if done == "Flushed" {
            tokio::time::sleep(VOICE_TAKES).await;
            for _ in 0..SPEECH_PIECES {
                if socket.send(Message::Binary(piece.clone())).await.is_err() {
                    return;
                }
            }
        }
        if socket.send(Message::text(json!({ "type": done }).to_string())).await.is_err() {
            return;
        }
    }
}

async fn answer() -> impl IntoResponse {
    Sse::new(pieces())
}

fn pieces() -> impl Stream<Item = Result<Event, Infallible>> {
    let chunk = |delta: Value, end: Option<&str>| {
        let choice = json!({ "index": 0, "delta": delta, "finish_reason": end });
        json!({ "id": "x", "object": "chat.completion.chunk", "model": "synthetic", "choices": [choice] }).to_string()
    };
    let words = ANSWER.iter().map(move |piece| chunk(json!({ "content": piece }), None));
    let end = [chunk(json!({}), Some("stop")), "[DONE]".to_owned()];
    let all: Vec<String> = words.chain(end).collect();
    stream::iter(all.into_iter().enumerate()).then(|(position, data)| async move {
        tokio::time::sleep(if position == 0 { MODEL_TAKES } else { BETWEEN_PIECES }).await;
        Ok(Event::default().data(data))
    })
}
