//! ElevenLabs' multi-context websocket.

use std::collections::HashMap;

use axum::extract::ws::{CloseFrame, Message, WebSocket, WebSocketUpgrade};
use axum::extract::{Path, Query, State};
use axum::http::HeaderMap;
use axum::response::{IntoResponse as _, Response};
use axum::routing::get;
use axum::{Json, Router};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::tts::{Connected, KEY, TtsState, Utterance, UtteranceEnd, audio_of};
use super::wild_tts::STRANGE_CONTEXT;

/// The most contexts; one more is refused, and the socket closed.
const MOST_CONTEXTS: usize = 5;

pub(crate) fn router(state: TtsState) -> Router {
    Router::new()
        .route("/v1/text-to-speech/{voice}/multi-stream-input", get(open))
        .route("/v2/voices", get(voices))
        .with_state(state)
}

async fn voices(
    State(state): State<TtsState>,
    Query(query): Query<HashMap<String, String>>,
    headers: HeaderMap,
) -> Response {
    if let Some(refusal) = state.refusal() {
        return refusal;
    }
    state.expect("xi-api-key", headers.get("xi-api-key").and_then(|value| value.to_str().ok()), KEY);
    state.expect("page_size", query.get("page_size").map(String::as_str), "100");
    let voice =
        |id: &str| json!({ "voice_id": id, "name": id, "labels": { "language": "en" }, "verified_languages": [] });
    Json(json!({ "voices": [voice("ann-1"), voice("ben-2")], "has_more": true, "next_page_token": "x" }))
        .into_response()
}

async fn open(
    State(state): State<TtsState>,
    Path(voice): Path<String>,
    Query(query): Query<HashMap<String, String>>,
    headers: HeaderMap,
    upgrade: WebSocketUpgrade,
) -> Response {
    if let Some(refusal) = state.refusal() {
        return refusal;
    }
    state.expect("xi-api-key", headers.get("xi-api-key").and_then(|value| value.to_str().ok()), KEY);
    for (name, value) in [("output_format", "ulaw_8000"), ("auto_mode", "true"), ("inactivity_timeout", "180")] {
        state.expect(name, query.get(name).map(String::as_str), value);
    }
    let model = query.get("model_id").cloned().unwrap_or_default();
    if model.contains("v3") || model.is_empty() {
        state.complain(format!("the model {model:?} is not offered on this websocket"));
    }
    if query.contains_key("language_code") != model.ends_with("_v2_5") {
        state.complain(format!("the language is not for {model}"));
    }
    upgrade.on_upgrade(move |socket| async move {
        let connected = Connected::new(&state);
        let mut address = json!(query);
        (address["voice"], address["model"]) = (json!(voice), json!(model));
        talk(socket, &state, &address).await;
        drop(connected);
    })
}

/// A context that is open.
#[derive(Default)]
struct Context {
    settings: Value,
    text: String,
    flushed: bool,
}

/// Serves a connection until it ends.
async fn talk(mut socket: WebSocket, state: &TtsState, address: &Value) -> Option<()> {
    let mut open: HashMap<String, Context> = HashMap::new();
    // Closed contexts that continue until their audio is sent; deaf ones never end.
    let mut stalled: Vec<(String, Vec<Vec<char>>, bool)> = Vec::new();
    loop {
        let Message::Text(text) = socket.recv().await?.ok()? else { continue };
        let message: Value = serde_json::from_str(&text).unwrap_or_default();
        if message["close_socket"] == true {
            return socket.send(Message::Close(None)).await.ok();
        }
        let Some(name) = message["context_id"].as_str().map(str::to_owned) else {
            state.complain(format!("{message} names no context"));
            continue;
        };
        if message["close_context"] == true {
            let Some(context) = open.remove(&name) else {
                state.complain("a context was closed that is not open");
                continue;
            };
            if !context.flushed {
                state.complain("what was not flushed is lost when its context is closed");
            }
            let mut asked = address.clone();
            asked["voice_settings"] = context.settings;
            let utterance = Utterance::new(state, context.text.trim(), asked);
            if let Some((late, deaf)) = speak(&mut socket, state, &name, utterance).await? {
                state.note_stopped();
                stalled.push((name, late, deaf));
            }
            continue;
        }
        let Some(text) = message["text"].as_str() else {
            state.complain(format!("{message} is no message"));
            continue;
        };
        match open.get_mut(&name) {
            None => {
                if text != " " {
                    state.complain("a context is opened with one space");
                }
                // Stalled contexts have been closed but are not over.
                if open.len() + stalled.len() == MOST_CONTEXTS {
                    state.complain("too many contexts");
                    let frame = CloseFrame { code: 1008, reason: "Maximum simultaneous contexts exceeded".into() };
                    return socket.send(Message::Close(Some(frame))).await.ok();
                }
                let settings = message["voice_settings"].clone();
                open.insert(name, Context { settings, ..Context::default() });
            }
            Some(context) => {
                if !message["voice_settings"].is_null() {
                    state.complain("settings come with the first message only");
                }
                if !text.is_empty() && !text.ends_with(' ') {
                    state.complain("text does not end with a space");
                }
                context.text.push_str(text);
                context.flushed |= message["flush"] == true;
                // Stalled contexts end now.
                for (name, late, _) in stalled.extract_if(.., |(_, _, deaf)| !*deaf) {
                    for (at, piece) in late.iter().enumerate() {
                        say(&mut socket, &chunk(&name, piece, at)).await?;
                    }
                    say(&mut socket, &json!({ "isFinal": true, "contextId": name })).await?;
                }
            }
        }
    }
}

/// The rest of an utterance, and whether it never arrives.
type Late = (Vec<Vec<char>>, bool);

/// Speaks, and returns the rest of an utterance that stalls.
async fn speak(socket: &mut WebSocket, state: &TtsState, name: &str, utterance: Utterance) -> Option<Option<Late>> {
    let Utterance { pieces, late, end } = utterance;
    for (at, piece) in pieces.iter().enumerate() {
        state.pause().await;
        if let Some(odd) = state.odd(&oddities(name)) {
            say(socket, &odd).await?;
        }
        say(socket, &chunk(name, piece, at)).await?;
    }
    match end {
        UtteranceEnd::End if state.varies(6) => {}
        UtteranceEnd::End => {
            say(socket, &json!({ "audio": null, "alignment": null, "contextId": name })).await?;
            say(socket, &json!({ "isFinal": true, "contextId": name })).await?;
            if state.varies(3) {
                say(socket, &json!({ "isFinal": true, "contextId": name })).await?;
                say(socket, &chunk(name, &['?'], 0)).await?;
            }
        }
        UtteranceEnd::Stay { deaf } => return Some(Some((late, deaf))),
        UtteranceEnd::Die => return None,
        UtteranceEnd::Freeze => std::future::pending().await,
        UtteranceEnd::Nonsense => socket.send(Message::text("<html>")).await.ok()?,
        UtteranceEnd::Say(mut message) => {
            message["contextId"] = json!(name);
            say(socket, &message).await?;
        }
        UtteranceEnd::Close(code, reason) => {
            socket.send(Message::Close(Some(CloseFrame { code, reason: reason.into() }))).await.ok()?;
        }
    }
    Some(None)
}

/// Returns messages without a meaning for the utterance.
fn oddities(name: &str) -> Vec<Value> {
    vec![
        json!({ "unheard_of": [1, null], "contextId": name }),
        json!({ "audio": null, "alignment": null, "isFinal": null, "contextId": name }),
        json!({ "audio": "", "isFinal": false, "context_id": name }),
        json!({ "audio": "", "alignment": { "chars": [], "charStartTimesMs": [], "charDurationsMs": [] }, "contextId": name }),
        json!({ "contextId": null }),
        chunk(STRANGE_CONTEXT, &['?', '?'], 0),
        json!({ "isFinal": true, "contextId": STRANGE_CONTEXT }),
    ]
}

/// Times are relative to the start of the chunk. Field names differ between versions of the API.
fn chunk(name: &str, piece: &[char], at: usize) -> Value {
    let count = piece.len();
    let starts: Vec<usize> = (0..count).map(|at| at * 10).collect();
    let lengths = vec![10; count];
    let spelled = json!({ "chars": ["?"], "charStartTimesMs": [0], "charDurationsMs": [1] });
    let audio = STANDARD.encode(audio_of(piece));
    if at.is_multiple_of(2) {
        let alignment = json!({ "chars": piece, "charStartTimesMs": starts, "charDurationsMs": lengths });
        return json!({ "audio": audio, "contextId": name, "alignment": alignment, "normalizedAlignment": spelled });
    }
    let alignment = json!({ "chars": piece, "charsStartTimesMs": starts, "charsDurationsMs": lengths });
    json!({ "audio": audio, "context_id": name, "alignment": alignment, "normalizedAlignment": null, "isFinal": null })
}

async fn say(socket: &mut WebSocket, message: &Value) -> Option<()> {
    socket.send(Message::text(message.to_string())).await.ok()
}
