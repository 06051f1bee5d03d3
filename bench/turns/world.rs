//! The providers: a language model and a voice behind real sockets that always take the same time, and, if asked for, a
//! STT that knows what callers say. Each worker has its own desk, so that calls at the same time do not mix.

use std::convert::Infallible;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::extract::ws::{Message, WebSocket, WebSocketUpgrade};
use axum::extract::{Path, State};
use axum::response::sse::{Event, Sse};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use bytes::Bytes;
use futures_util::{Stream, StreamExt as _, stream};
use serde_json::{Value, json};
use tokio::time::Instant;

use super::corpus::Clip;
use super::phone::Sound;

/// The agent's speech while callers talk over it.
pub(crate) const OVERLAPPED_SPEECH: &str = "Thank you for calling, we are open from Monday to Friday between eight and six, and you will find us \
    in the old station opposite the park";
/// The pieces of the LLM's response, and the time between two of them.
const ANSWER: &[&str] = &["Certainly", ",", " let", " me", " look", " that", " up", " for", " you", "."];
const BETWEEN_PIECES: Duration = Duration::from_millis(2);
/// The time the TTS takes to speak a character.
const CHARACTER_MS: f64 = 55.0;
const SHORTEST_MS: f64 = 500.0;
/// Audio is sent in pieces of 100 ms.
const PIECE: usize = 800;
/// Half a period of the voice's tone, in samples.
const HALF_PERIOD: usize = 8;
/// How often the STT sends a partial transcript, and how far behind that is.
const PARTIAL_EVERY: Duration = Duration::from_millis(100);
const PARTIAL_BEHIND: Duration = Duration::from_millis(150);

/// The delays of the providers.
#[derive(Clone, Copy)]
pub(crate) struct Delays {
    pub(crate) stt: Duration,
    pub(crate) llm: Duration,
    pub(crate) tts: Duration,
}

pub(crate) struct World {
    pub(crate) delays: Delays,
    pub(crate) desks: Vec<Arc<Desk>>,
}

/// The state that the providers share about the call of one worker.
#[derive(Default)]
pub(crate) struct Desk(Mutex<Current>);

#[derive(Default)]
struct Current {
    clip: Option<Arc<Clip>>,
    began: Option<Instant>,
    requests: u32,
    question: String,
}

impl Desk {
    pub(crate) fn begin(&self, clip: &Arc<Clip>, question: &str) {
        let mut current = self.lock();
        *current = Current { clip: Some(Arc::clone(clip)), began: None, requests: 0, question: question.to_owned() };
    }

    /// The caller began the item then.
    pub(crate) fn speaks(&self, began: Instant) {
        self.lock().began.get_or_insert(began);
    }

    /// Requests to the language model since the beginning.
    pub(crate) fn requests(&self) -> u32 {
        self.lock().requests
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Current> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The words that were spoken `behind` ago or earlier.
    fn words(&self, behind: Duration) -> Vec<String> {
        let current = self.lock();
        let (Some(clip), Some(began)) = (&current.clip, current.began) else { return Vec::new() };
        let at = Instant::now().saturating_duration_since(began).saturating_sub(behind).as_millis();
        let mut spoken = Vec::new();
        for part in &clip.item.parts {
            let (length, mut said) = (part.text.len().max(1), 0);
            for word in part.text.split(' ').filter(|word| !word.is_empty()) {
                said += word.len() + 1;
                let lasts = f64::from(part.end_ms - part.start_ms);
                let end = f64::from(part.start_ms) + lasts * (said as f64 / length as f64).min(1.0);
                if end <= at as f64 {
                    spoken.push(word.to_owned());
                }
            }
        }
        spoken
    }
}

pub(crate) fn router(world: Arc<World>) -> axum::Router {
    axum::Router::new()
        .route("/{desk}/v1/listen", get(listen))
        .route("/{desk}/v1/speak", get(speak))
        .route("/{desk}/v1/chat/completions", post(answer))
        .with_state(world)
}

impl World {
    fn desk(&self, number: usize) -> Arc<Desk> {
        self.desks.get(number).cloned().unwrap_or_default()
    }
}

async fn listen(State(world): State<Arc<World>>, Path(desk): Path<usize>, upgrade: WebSocketUpgrade) -> Response {
    let (desk, takes) = (world.desk(desk), world.delays.stt);
    upgrade.on_upgrade(move |socket| async move {
        // A peer that is gone has hung up.
        let _ = recognise(socket, &desk, takes).await;
    })
}

/// Speaks Deepgram's protocol: partial transcripts while the caller speaks, final ones when asked to finalise.
async fn recognise(mut socket: WebSocket, desk: &Desk, takes: Duration) -> Result<(), axum::Error> {
    let (mut settled, mut sent) = (0, 0);
    let mut partials = tokio::time::interval(PARTIAL_EVERY);
    loop {
        tokio::select! {
            _ = partials.tick() => {
                let words = desk.words(PARTIAL_BEHIND);
                if words.len() > sent.max(settled) {
                    sent = words.len();
                    socket.send(results(&words[settled..].join(" "), false)).await?;
                }
            }
            message = socket.recv() => {
                let Some(message) = message.transpose()? else { return Ok(()) };
                let Message::Text(text) = message else { continue };
                if !text.contains("Finalize") {
                    continue;
                }
                // The speech until now; the response comes later.
                let words = desk.words(Duration::ZERO);
                tokio::time::sleep(takes).await;
                socket.send(results(&words[settled.min(words.len())..].join(" "), true)).await?;
                settled = settled.max(words.len());
            }
        }
    }
}

fn results(text: &str, last: bool) -> Message {
    let words = json!({ "alternatives": [{ "transcript": text, "confidence": 0.99 }] });
    let results =
        json!({ "type": "Results", "channel": words, "is_final": last, "speech_final": last, "from_finalize": last });
    Message::text(results.to_string())
}

async fn speak(State(world): State<Arc<World>>, Path(desk): Path<usize>, upgrade: WebSocketUpgrade) -> Response {
    let (desk, takes) = (world.desk(desk), world.delays.tts);
    upgrade.on_upgrade(move |socket| async move {
        // A peer that is gone has hung up.
        let _ = voice(socket, &desk, takes).await;
    })
}

/// Deepgram's protocol: texts, then `Flush`, then their audio.
async fn voice(mut socket: WebSocket, desk: &Desk, takes: Duration) -> Result<(), axum::Error> {
    let mut text = String::new();
    while let Some(message) = socket.recv().await.transpose()? {
        let Message::Text(message) = message else { continue };
        let message: Value = serde_json::from_str(&message).unwrap_or_default();
        match message["type"].as_str() {
            Some("Speak") => text.push_str(message["text"].as_str().unwrap_or_default()),
            Some("Clear") => {
                text.clear();
                socket.send(Message::text(json!({ "type": "Cleared" }).to_string())).await?;
            }
            Some("Flush") => {
                tokio::time::sleep(takes).await;
                for piece in audio(&std::mem::take(&mut text), desk) {
                    socket.send(Message::Binary(piece)).await?;
                }
                socket.send(Message::text(json!({ "type": "Flushed" }).to_string())).await?;
            }
            _ => {}
        }
    }
    Ok(())
}

/// Returns how long a text takes to speak.
pub(crate) fn lasts_ms(text: &str) -> f64 {
    (text.chars().count() as f64 * CHARACTER_MS).max(SHORTEST_MS)
}

/// A tone that says who speaks, as long as the text.
fn audio(text: &str, desk: &Desk) -> Vec<Bytes> {
    let text = text.trim();
    let sound = if ANSWER.concat().contains(text) {
        Sound::Response
    } else if desk.lock().question.contains(text) {
        Sound::Question
    } else {
        Sound::Phrase
    };
    let samples = (lasts_ms(text) * 8.0) as usize;
    let tone: Vec<u8> = (0..samples)
        .map(|n| if (n / HALF_PERIOD).is_multiple_of(2) { sound.tone() } else { sound.tone() | 0x80 })
        .collect();
    tone.chunks(PIECE).map(Bytes::copy_from_slice).collect()
}

async fn answer(State(world): State<Arc<World>>, Path(desk): Path<usize>) -> impl IntoResponse {
    world.desk(desk).lock().requests += 1;
    Sse::new(pieces(world.delays.llm))
}

fn pieces(takes: Duration) -> impl Stream<Item = Result<Event, Infallible>> {
    let chunk = |delta: Value, end: Option<&str>| {
        let choice = json!({ "index": 0, "delta": delta, "finish_reason": end });
        json!({ "id": "x", "object": "chat.completion.chunk", "model": "synthetic", "choices": [choice] }).to_string()
    };
    let words = ANSWER.iter().map(move |piece| chunk(json!({ "content": piece }), None));
    let end = [chunk(json!({}), Some("stop")), "[DONE]".to_owned()];
    let all: Vec<String> = words.chain(end).collect();
    stream::iter(all.into_iter().enumerate()).then(move |(position, data)| async move {
        tokio::time::sleep(if position == 0 { takes } else { BETWEEN_PIECES }).await;
        Ok(Event::default().data(data))
    })
}
