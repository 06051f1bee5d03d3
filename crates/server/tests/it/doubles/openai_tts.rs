//! OpenAI's speech API: `POST /v1/audio/speech`, with the audio as the body.

use std::collections::HashSet;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};

use axum::body::Body;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::{IntoResponse as _, Response};
use axum::routing::post;
use axum::{Json, Router};
use futures_util::StreamExt as _;
use futures_util::stream;
use serde_json::{Value, json};
use switchhook_media::tone::sine;

use super::tts::{KEY, PER_CHARACTER, TtsState, Utterance, UtteranceEnd};
use super::without_delay;

/// The sample rate of its PCM, in Hz.
const RATE: u32 = 24_000;
/// Bytes per piece, which splits samples.
const PIECE: usize = 2_401;

pub(crate) fn router(state: TtsState) -> Router {
    Router::new().route("/v1/audio/speech", post(speak)).with_state(state)
}

/// Returns a tone with the length of `text`.
pub(crate) fn tone(text: &str, rate: u32) -> Vec<i16> {
    let rate_of_telephones = 8_000;
    let samples = text.chars().count() * PER_CHARACTER * usize::try_from(rate).expect("small") / rate_of_telephones;
    sine(440.0, rate, 0.5, samples)
}

async fn speak(State(state): State<TtsState>, headers: HeaderMap, Json(request): Json<Value>) -> Response {
    if let Some(refusal) = state.refusal() {
        return refusal;
    }
    if let Some(text) = state.text_response() {
        return text;
    }
    let bearer = format!("Bearer {KEY}");
    state.expect("authorization", headers.get("authorization").and_then(|value| value.to_str().ok()), &bearer);
    for field in ["model", "voice"] {
        if request[field].as_str().is_none_or(str::is_empty) {
            state.complain(format!("there is no {field}"));
        }
    }
    let format = request["response_format"].as_str().unwrap_or_default().to_owned();
    if !["pcm", "wav"].contains(&format.as_str()) {
        state.complain(format!("{format:?} cannot be played while it comes"));
    }
    let text = request["input"].as_str().unwrap_or_default().to_owned();
    let Utterance { pieces, end, .. } = Utterance::new(&state, &text, request);
    let mut audio: Vec<u8> = tone(&text, RATE).iter().flat_map(|sample| sample.to_le_bytes()).collect();
    if format == "wav" {
        audio.splice(0..0, wav_header());
    }
    let kind = state.odd(&["application/octet-stream", "audio/pcm; rate=24000", "audio/mpeg"]).unwrap_or("audio/pcm");
    let size = if state.varies(2) { 97 } else { PIECE };
    let mut sent: Vec<Vec<u8>> = audio.chunks(size).map(<[u8]>::to_vec).collect();
    let whole = end == UtteranceEnd::End;
    if !whole {
        sent.truncate(pieces.len());
    }
    let stopped = Stopped { state, armed: matches!(end, UtteranceEnd::Stay { .. } | UtteranceEnd::Freeze) };
    let sent = stream::iter(sent).map(Ok);
    let body = match end {
        UtteranceEnd::End => Body::from_stream(sent),
        // Not even headers are sent.
        UtteranceEnd::Stay { .. } if pieces.is_empty() => {
            let _stopped = stopped;
            std::future::pending().await
        }
        UtteranceEnd::Stay { .. } | UtteranceEnd::Freeze => Body::from_stream(sent.chain(stream::once(async move {
            let _stopped = stopped;
            std::future::pending::<Result<Vec<u8>, std::io::Error>>().await
        }))),
        UtteranceEnd::Die | UtteranceEnd::Close(..) => {
            let broken = async {
                // What was written is sent while the task is idle.
                tokio::task::yield_now().await;
                Err(std::io::Error::other("the connection breaks"))
            };
            Body::from_stream(sent.chain(stream::once(broken)))
        }
        UtteranceEnd::Nonsense => Body::from("ID3\u{4}\0 a compressed file"),
        UtteranceEnd::Say(message) => return Json(message).into_response(),
    };
    ([("content-type", kind)], body).into_response()
}

/// Records that the response is no longer read.
struct Stopped {
    state: TtsState,
    armed: bool,
}

impl Drop for Stopped {
    fn drop(&mut self) {
        if self.armed {
            self.state.note_stopped();
        }
    }
}

/// Returns the header of a stream, whose length is not known.
fn wav_header() -> Vec<u8> {
    let mut header = b"RIFF\xff\xff\xff\xffWAVEfmt \x10\0\0\0\x01\0\x01\0".to_vec();
    header.extend(RATE.to_le_bytes());
    header.extend((2 * RATE).to_le_bytes());
    header.extend(b"\x02\0\x10\0data\xff\xff\xff\xff");
    header
}

/// Starts the server, which counts connections.
pub(crate) async fn serve(state: TtsState) -> SocketAddr {
    let peers: Arc<Mutex<HashSet<SocketAddr>>> = Arc::default();
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let address = listener.local_addr().expect("bound");
    let counting = {
        let state = state.clone();
        axum::middleware::from_fn(move |request: axum::extract::Request, next: axum::middleware::Next| {
            let peer = request.extensions().get::<axum::extract::ConnectInfo<SocketAddr>>().expect("known").0;
            if peers.lock().unwrap_or_else(PoisonError::into_inner).insert(peer) {
                state.note(|seen| seen.connections += 1);
            }
            next.run(request)
        })
    };
    let service = router(state).layer(counting).into_make_service_with_connect_info::<SocketAddr>();
    tokio::spawn(async move { axum::serve(without_delay(listener), service).await });
    address
}

/// Formats an error as OpenAI does.
pub(crate) fn error(message: &str, code: &str) -> Value {
    json!({ "error": { "message": message, "type": "invalid_request_error", "param": null, "code": code } })
}
