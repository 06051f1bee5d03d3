//! Deepgram's `/v1/speak` websocket.

use std::collections::HashMap;

use axum::Router;
use axum::extract::ws::{CloseFrame, Message, WebSocket, WebSocketUpgrade};
use axum::extract::{Query, State};
use axum::http::HeaderMap;
use axum::response::Response;
use axum::routing::get;
use serde_json::{Value, json};

use super::tts::{Connected, KEY, TtsState, Utterance, UtteranceEnd, audio_of};

/// The most flushes on one connection within a minute; further ones are ignored.
const MOST_FLUSHES: usize = 20;

pub(crate) fn router(state: TtsState) -> Router {
    Router::new().route("/v1/speak", get(open)).with_state(state)
}

async fn open(
    State(state): State<TtsState>,
    Query(query): Query<HashMap<String, String>>,
    headers: HeaderMap,
    upgrade: WebSocketUpgrade,
) -> Response {
    state.answer().await;
    if let Some(refusal) = state.refusal() {
        return refusal;
    }
    let token = format!("Token {KEY}");
    state.expect("authorization", headers.get("authorization").and_then(|value| value.to_str().ok()), &token);
    for (name, value) in [("encoding", "mulaw"), ("sample_rate", "8000")] {
        state.expect(name, query.get(name).map(String::as_str), value);
    }
    if !query.get("model").is_some_and(|model| model.starts_with("aura-")) {
        state.complain(format!("{query:?} has no model of this version"));
    }
    upgrade.on_upgrade(move |socket| async move {
        let connected = Connected::new(&state);
        talk(socket, &state, &json!(query)).await;
        drop(connected);
    })
}

/// Serves a connection until it ends.
async fn talk(mut socket: WebSocket, state: &TtsState, asked: &Value) -> Option<()> {
    say(&mut socket, &json!({ "type": "Metadata", "request_id": "r", "model_name": "aura" })).await?;
    let (mut text, mut flushes) = (String::new(), 0);
    let mut stalled: Option<(Vec<Vec<char>>, bool)> = None;
    loop {
        let message = match socket.recv().await?.ok()? {
            Message::Text(message) => message,
            // The response to the ping after `Cleared`, which has therefore been read.
            Message::Pong(_) => {
                state.note(|seen| seen.settled += 1);
                continue;
            }
            _ => continue,
        };
        let message: Value = serde_json::from_str(&message).unwrap_or_default();
        match message["type"].as_str() {
            Some("Speak") => {
                let piece = message["text"].as_str().unwrap_or_default();
                if piece.is_empty() || piece.chars().count() > 2_000 {
                    state.complain("a text is empty or too long");
                }
                if stalled.is_some() {
                    state.complain("it is asked to speak while it speaks; nobody could tell the two apart");
                }
                text.push_str(piece);
            }
            Some("Flush") => {
                flushes += 1;
                if flushes > MOST_FLUSHES {
                    state.complain("too many flushes within a minute");
                }
                let utterance = Utterance::new(state, &std::mem::take(&mut text), asked.clone());
                for piece in &utterance.pieces {
                    state.pause().await;
                    if let Some(odd) = state.odd(&oddities()) {
                        socket.send(odd).await.ok()?;
                    }
                    socket.send(Message::binary(audio_of(piece))).await.ok()?;
                }
                match utterance.end {
                    UtteranceEnd::End => {
                        say(&mut socket, &json!({ "type": "Flushed", "sequence_id": flushes })).await?;
                    }
                    UtteranceEnd::Stay { deaf } => stalled = Some((utterance.late, deaf)),
                    UtteranceEnd::Die => return None,
                    UtteranceEnd::Freeze => std::future::pending().await,
                    UtteranceEnd::Nonsense => socket.send(Message::text("<html>")).await.ok()?,
                    UtteranceEnd::Say(message) => say(&mut socket, &message).await?,
                    UtteranceEnd::Close(code, reason) => {
                        socket.send(Message::Close(Some(CloseFrame { code, reason: reason.into() }))).await.ok()?;
                    }
                }
            }
            Some("Clear") => {
                let Some((late, deaf)) = stalled.take() else {
                    // The text was spoken completely in the meantime.
                    if !state.is_wild() {
                        state.complain("there is nothing to clear");
                    }
                    say(&mut socket, &json!({ "type": "Cleared", "sequence_id": flushes })).await?;
                    socket.send(Message::Ping(Vec::new().into())).await.ok()?;
                    continue;
                };
                state.note(|seen| seen.stopped += 1);
                for piece in &late {
                    socket.send(Message::binary(audio_of(piece))).await.ok()?;
                }
                // The text may have been spoken completely in the meantime.
                say(&mut socket, &json!({ "type": "Flushed", "sequence_id": flushes })).await?;
                if deaf {
                    stalled = Some((late, deaf));
                } else {
                    say(&mut socket, &json!({ "type": "Cleared", "sequence_id": flushes })).await?;
                    socket.send(Message::Ping(Vec::new().into())).await.ok()?;
                }
            }
            Some("Close") => return socket.send(Message::Close(None)).await.ok(),
            _ => state.complain(format!("{message} is no message")),
        }
    }
}

/// Returns messages without a meaning for the utterance.
fn oddities() -> Vec<Message> {
    let text = |message: Value| Message::text(message.to_string());
    vec![
        text(json!({ "type": "UnheardOf", "sequence_id": [1, null] })),
        text(json!({ "type": "Warning", "description": "Slow down.", "code": "SLOW" })),
        text(json!({ "type": "Metadata", "request_id": null })),
        text(json!({ "type": null })),
        Message::binary(Vec::new()),
        Message::Ping(vec![7].into()),
    ]
}

async fn say(socket: &mut WebSocket, message: &Value) -> Option<()> {
    socket.send(Message::text(message.to_string())).await.ok()
}
