//! Deepgram's `/v1/speak` websocket.

use std::collections::HashMap;

use axum::Router;
use axum::extract::ws::{CloseFrame, Message, WebSocket, WebSocketUpgrade};
use axum::extract::{Query, State};
use axum::http::HeaderMap;
use axum::response::Response;
use axum::routing::get;
use serde_json::{Value, json};

use super::voice::{Connected, Fate, KEY, Stage, Utterance, audio_of};

/// The most flushes on one connection within a minute; further ones are ignored.
const MOST_FLUSHES: usize = 20;

pub(crate) fn router(stage: Stage) -> Router {
    Router::new().route("/v1/speak", get(open)).with_state(stage)
}

async fn open(
    State(stage): State<Stage>,
    Query(query): Query<HashMap<String, String>>,
    headers: HeaderMap,
    upgrade: WebSocketUpgrade,
) -> Response {
    stage.answer().await;
    if let Some(no) = stage.no() {
        return no;
    }
    let token = format!("Token {KEY}");
    stage.expect("authorization", headers.get("authorization").and_then(|value| value.to_str().ok()), &token);
    for (name, value) in [("encoding", "mulaw"), ("sample_rate", "8000")] {
        stage.expect(name, query.get(name).map(String::as_str), value);
    }
    if !query.get("model").is_some_and(|model| model.starts_with("aura-")) {
        stage.complain(format!("{query:?} has no model of this version"));
    }
    upgrade.on_upgrade(move |socket| async move {
        let connected = Connected::new(&stage);
        talk(socket, &stage, &json!(query)).await;
        drop(connected);
    })
}

/// Serves a connection until it ends.
async fn talk(mut socket: WebSocket, stage: &Stage, asked: &Value) -> Option<()> {
    say(&mut socket, &json!({ "type": "Metadata", "request_id": "r", "model_name": "aura" })).await?;
    let (mut text, mut flushes) = (String::new(), 0);
    let mut stalled: Option<(Vec<Vec<char>>, bool)> = None;
    loop {
        let message = match socket.recv().await?.ok()? {
            Message::Text(message) => message,
            // The response to the ping after `Cleared`, which has therefore been read.
            Message::Pong(_) => {
                stage.note(|seen| seen.settled += 1);
                continue;
            }
            _ => continue,
        };
        let message: Value = serde_json::from_str(&message).unwrap_or_default();
        match message["type"].as_str() {
            Some("Speak") => {
                let piece = message["text"].as_str().unwrap_or_default();
                if piece.is_empty() || piece.chars().count() > 2_000 {
                    stage.complain("a text is empty or too long");
                }
                if stalled.is_some() {
                    stage.complain("it is asked to speak while it speaks; nobody could tell the two apart");
                }
                text.push_str(piece);
            }
            Some("Flush") => {
                flushes += 1;
                if flushes > MOST_FLUSHES {
                    stage.complain("too many flushes within a minute");
                }
                let utterance = Utterance::new(stage, &std::mem::take(&mut text), asked.clone());
                for piece in &utterance.pieces {
                    socket.send(Message::binary(audio_of(piece))).await.ok()?;
                }
                match utterance.fate {
                    Fate::End => say(&mut socket, &json!({ "type": "Flushed", "sequence_id": flushes })).await?,
                    Fate::Stay { deaf } => stalled = Some((utterance.late, deaf)),
                    Fate::Die => return None,
                    Fate::Freeze => std::future::pending().await,
                    Fate::Nonsense => socket.send(Message::text("<html>")).await.ok()?,
                    Fate::Say(message) => say(&mut socket, &message).await?,
                    Fate::Close(code, reason) => {
                        socket.send(Message::Close(Some(CloseFrame { code, reason: reason.into() }))).await.ok()?;
                    }
                }
            }
            Some("Clear") => {
                let Some((late, deaf)) = stalled.take() else {
                    stage.complain("there is nothing to clear");
                    continue;
                };
                stage.note(|seen| seen.stopped += 1);
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
            _ => stage.complain(format!("{message} is no message")),
        }
    }
}

async fn say(socket: &mut WebSocket, message: &Value) -> Option<()> {
    socket.send(Message::text(message.to_string())).await.ok()
}
