//! Cartesia's websocket with contexts, version 2026-08-14.

use std::collections::{HashMap, HashSet};

use axum::extract::State;
use axum::extract::ws::{CloseFrame, Message, WebSocket, WebSocketUpgrade};
use axum::http::HeaderMap;
use axum::response::{IntoResponse as _, Response};
use axum::routing::get;
use axum::{Json, Router};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::tts::{Connected, KEY, TtsState, Utterance, UtteranceEnd, audio_of};
use super::wild_tts::STRANGE_CONTEXT;

/// The most concurrent contexts, as on the smallest plan. (The limit is per account; here per socket, since there is rarely more than
/// one.)
const MOST_ACTIVE: usize = 2;

pub(crate) fn router(state: TtsState) -> Router {
    Router::new().route("/tts/websocket", get(open)).route("/voices", get(voices)).with_state(state)
}

async fn voices(State(state): State<TtsState>, headers: HeaderMap) -> Response {
    if let Some(refusal) = state.refusal() {
        return refusal;
    }
    identified(&state, &headers);
    let voice = |id: &str| json!({ "id": id, "name": id, "description": "Calm.", "language": "en" });
    Json(json!({ "data": [voice("ann-1"), voice("ben-2")], "has_more": true })).into_response()
}

fn identified(state: &TtsState, headers: &HeaderMap) {
    let header = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    state.expect("authorization", header("authorization"), &format!("Bearer {KEY}"));
    state.expect("cartesia-version", header("cartesia-version"), "2026-08-14");
}

async fn open(State(state): State<TtsState>, headers: HeaderMap, upgrade: WebSocketUpgrade) -> Response {
    state.answer().await;
    if let Some(refusal) = state.refusal() {
        return refusal;
    }
    identified(&state, &headers);
    upgrade.on_upgrade(move |socket| async move {
        let connected = Connected::new(&state);
        talk(socket, &state).await;
        drop(connected);
    })
}

/// Serves a connection until it ends.
async fn talk(mut socket: WebSocket, state: &TtsState) -> Option<()> {
    let mut known = HashSet::new();
    let mut stalled: HashMap<String, Vec<Vec<char>>> = HashMap::new();
    loop {
        let Message::Text(text) = socket.recv().await?.ok()? else { continue };
        let request: Value = serde_json::from_str(&text).unwrap_or_default();
        let context = request["context_id"].as_str().unwrap_or_default().to_owned();
        if request["cancel"] == true {
            let Some(late) = stalled.remove(&context) else {
                // A cancellation may cross the end of its context.
                if !known.contains(&context) {
                    state.complain("a context was cancelled that was never asked for");
                }
                continue;
            };
            state.note_stopped();
            for piece in &late {
                say(&mut socket, &chunk(&context, piece)).await?;
            }
            continue;
        }
        check(state, &request);
        if context.is_empty() || !known.insert(context.clone()) {
            state.complain(format!("the context {context:?} is not a new one"));
        }
        if stalled.len() >= MOST_ACTIVE {
            state.note(|seen| seen.refused += 1);
            let busy = json!({
                "type": "error", "title": "Too many", "message": "Too many contexts are spoken at a time.", "status_code": 429,
                "error_code": "concurrency_limited", "done": true, "context_id": context,
            });
            say(&mut socket, &busy).await?;
            continue;
        }
        let text = request["transcript"].as_str().unwrap_or_default().to_owned();
        let Utterance { pieces, late, end } = Utterance::new(state, &text, request);
        let mut times = Vec::new();
        if !pieces.is_empty() {
            let spoken = pieces.concat().len();
            // A word that is cut off by the end of the audio has its whole time.
            let cut = text.chars().skip(spoken).take_while(|character| *character != ' ').count();
            let begun: String = text.chars().take(spoken + cut).collect();
            times.push(timestamps(&context, begun.trim_end()));
        }
        let timed_late = state.varies(2);
        for times in times.iter().filter(|_| !timed_late) {
            say(&mut socket, times).await?;
        }
        for piece in &pieces {
            state.pause().await;
            if let Some(odd) = state.odd(&oddities(&context)) {
                say(&mut socket, &odd).await?;
            }
            say(&mut socket, &chunk(&context, piece)).await?;
        }
        for times in times.iter().filter(|_| timed_late) {
            say(&mut socket, times).await?;
        }
        match end {
            UtteranceEnd::End if state.varies(6) => {}
            UtteranceEnd::End => {
                let done = json!({ "type": "done", "done": true, "status_code": 206, "context_id": context });
                say(&mut socket, &done).await?;
                if state.varies(3) {
                    say(&mut socket, &done).await?;
                    say(&mut socket, &chunk(&context, &['?'])).await?;
                }
            }
            UtteranceEnd::Stay { .. } => drop(stalled.insert(context, late)),
            UtteranceEnd::Die => return None,
            UtteranceEnd::Freeze => std::future::pending().await,
            UtteranceEnd::Nonsense => socket.send(Message::text("<html>")).await.ok()?,
            UtteranceEnd::Say(mut message) => {
                message["context_id"] = json!(context);
                say(&mut socket, &message).await?;
            }
            UtteranceEnd::Close(code, reason) => {
                socket.send(Message::Close(Some(CloseFrame { code, reason: reason.into() }))).await.ok()?;
            }
        }
    }
}

fn check(state: &TtsState, request: &Value) {
    let format = json!({ "container": "raw", "encoding": "pcm_mulaw", "sample_rate": 8000 });
    if request["output_format"] != format {
        state.complain(format!("telephones do not play {}", request["output_format"]));
    }
    let voice = request["voice"].as_object();
    if voice.is_none_or(|voice| voice.len() != 1 || voice["id"].as_str().is_none_or(str::is_empty)) {
        state.complain(format!("a voice is its id and nothing else: {}", request["voice"]));
    }
    if request["model_id"].as_str().is_none_or(str::is_empty) {
        state.complain("there is no model");
    }
    if request["add_timestamps"] != true || request["continue"] != false {
        state.complain("a whole utterance with its times was not asked for");
    }
    state.expect("language", request["language"].as_str(), "en");
}

/// Returns messages without a meaning for the utterance.
fn oddities(context: &str) -> Vec<Value> {
    let of = |mut message: Value| {
        message["context_id"] = json!(context);
        message
    };
    vec![
        of(json!({ "type": "unheard_of", "data": [1, null] })),
        of(json!({ "type": "flush_done", "flush_id": 1, "done": false })),
        of(json!({ "type": "chunk", "data": "", "done": false })),
        of(json!({ "type": "chunk", "data": null, "done": null })),
        of(json!({ "type": "timestamps", "word_timestamps": null })),
        of(json!({ "type": "timestamps", "word_timestamps": { "words": [], "start": [], "end": [] } })),
        of(
            json!({ "type": "phoneme_timestamps", "phoneme_timestamps": { "phonemes": ["h"], "start": [0], "end": [1] } }),
        ),
        chunk(STRANGE_CONTEXT, &['?', '?']),
        json!({ "type": "done", "done": true, "context_id": STRANGE_CONTEXT }),
        json!({ "type": "error", "title": "Gone", "message": "It is gone.", "done": true, "context_id": STRANGE_CONTEXT }),
    ]
}

fn chunk(context: &str, piece: &[char]) -> Value {
    json!({
        "type": "chunk", "data": STANDARD.encode(audio_of(piece)), "done": false, "status_code": 206, "step_time": 12.3,
        "context_id": context,
    })
}

/// Returns times in seconds from the start of the context.
fn timestamps(context: &str, text: &str) -> Value {
    let (mut words, mut start, mut end) = (Vec::new(), Vec::new(), Vec::new());
    let mut at = 0;
    for word in text.split(' ') {
        let length = word.chars().count();
        words.push(word);
        start.push(f64::from(u32::try_from(at).expect("short")) / 100.0);
        end.push(f64::from(u32::try_from(at + length).expect("short")) / 100.0);
        at += length + 1;
    }
    json!({
        "type": "timestamps", "done": false, "status_code": 206, "context_id": context,
        "word_timestamps": { "words": words, "start": start, "end": end },
    })
}

async fn say(socket: &mut WebSocket, message: &Value) -> Option<()> {
    socket.send(Message::text(message.to_string())).await.ok()
}
