//! The forms in which servers of OpenAI's transcription API respond, and how they fail once, determined by a seed.
//!
//! Every sentence can be understood: a request that fails works when it is made again, and no wait is longer than a caller's patience.

use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::StatusCode;
use axum::http::header::{CONTENT_ENCODING, CONTENT_TYPE, HeaderName, HeaderValue};
use axum::response::Response;
use futures_util::stream;
use serde_json::{Value, json};

use super::stt::halves;
use super::wild::{BodyEnd, body, gzip};
use crate::crash::rng::Rng;

/// The longest wait for a response, in milliseconds.
const SLOWEST: u64 = 1_000;
/// Descriptions of sounds that models put beside words.
const BESIDE: [&str; 5] = ["[BLANK_AUDIO]", "[ Silence ]", "[Música]", "[door closes]", "【音楽】"];
/// Transcripts of noise.
const NOISE: [&str; 8] =
    ["", ".", "[BLANK_AUDIO]", "[ Silence ]", "(upbeat music)", "*coughs*", "♪ la la la ♪", "（笑）"];
/// Content types of JSON and of plain text.
const JSON: [Option<&str>; 6] = [
    Some("application/json"),
    Some("application/json; charset=utf-8"),
    Some("Application/JSON;charset=\"UTF-8\""),
    Some("text/plain; charset=utf-8"),
    Some("text/json"),
    None,
];
const PLAIN: [Option<&str>; 4] =
    [Some("text/plain"), Some("text/plain; charset=utf-8"), Some("text/html; charset=utf-8"), None];
/// Bodies of refusals that say only that the server is at fault.
const EXCUSES: [&str; 5] = [
    "",
    "busy",
    r#"{"error":{"message":"No."}}"#,
    r#"{"detail":"CUDA out of memory"}"#,
    "<html><body>Bad gateway</body></html>",
];
/// Headers of refusals about when to try again: soon, or nothing that can be read.
const RETRY: [(&str, &str); 9] = [
    ("retry-after", "0"),
    ("retry-after", "1"),
    ("retry-after", "0.5"),
    ("retry-after", "-1"),
    ("retry-after", "soon"),
    ("retry-after", ""),
    ("retry-after", "Sun, 06 Nov 1994 08:49:37 GMT"),
    ("retry-after-ms", "250"),
    ("x-unheard-of", "1"),
];

/// The deviations of one server.
pub(super) struct WildTranscriptions {
    random: Rng,
    /// Whether the last request failed.
    failed: bool,
    /// Whether the request before it failed: the caller has waited already.
    punctual: bool,
}

impl WildTranscriptions {
    pub(super) fn new(seed: u64) -> Self {
        Self { random: Rng::new(seed), failed: false, punctual: false }
    }

    /// Returns the response to a request that fails; no two in a row do.
    pub(super) fn failure(&mut self) -> Option<Response> {
        self.punctual = self.failed;
        self.failed = !self.failed && self.random.once_in(3);
        self.failed.then(|| match self.random.below(4) {
            0 => closed(),
            1 => Response::new(body(&mut self.random, b"{\"text\": \"Yes".to_vec(), BodyEnd::Breaks)),
            _ => refusal(&mut self.random),
        })
    }

    /// Returns how long the response takes.
    pub(super) fn pause(&mut self) -> Duration {
        let is_slow = !self.punctual && self.random.once_in(3);
        Duration::from_millis(if is_slow { self.random.below(SLOWEST + 1) } else { 0 })
    }

    /// Returns the response with these words, if there are any.
    pub(super) fn response(&mut self, words: &str) -> Response {
        let random = &mut self.random;
        let heard = heard(random, words);
        let (text, kind) = if random.once_in(4) {
            (format!("{heard}{}", random.any(&["", "\n", "\r\n"])), random.any(&PLAIN))
        } else {
            (json_with(random, &heard), random.any(&JSON))
        };
        let bytes = encoded(random, text);
        let packed = random.once_in(4);
        let bytes = if packed { gzip(&bytes) } else { bytes };
        let mut response = Response::new(body(random, bytes, BodyEnd::Complete));
        if let Some(kind) = kind {
            response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(kind));
        }
        let encoding = random.any(&if packed { ["gzip", "GZIP", "x-gzip"] } else { ["", "identity", "utf-8"] });
        if !encoding.is_empty() {
            response.headers_mut().insert(CONTENT_ENCODING, HeaderValue::from_static(encoding));
        }
        response
    }
}

/// Returns a response whose connection is closed before it begins.
fn closed() -> Response {
    Response::new(Body::from_stream(stream::iter([Err::<Bytes, _>(std::io::Error::other("closed"))])))
}

fn refusal(random: &mut Rng) -> Response {
    let mut response = Response::new(Body::from(random.any(&EXCUSES)));
    *response.status_mut() = StatusCode::from_u16(random.any(&[429, 500, 502, 503])).expect("a status");
    let (name, value) = random.any(&RETRY);
    response.headers_mut().insert(HeaderName::from_static(name), HeaderValue::from_static(value));
    response
}

/// Returns what a model makes of these words, at times with a description of a sound.
fn heard(random: &mut Rng, words: &str) -> String {
    if words.is_empty() {
        return random.any(&NOISE).to_owned();
    }
    let sound = random.any(&BESIDE);
    match random.below(6) {
        0 => format!("{sound} {words}"),
        1 => format!("{words} {sound}"),
        _ => words.to_owned(),
    }
}

fn json_with(random: &mut Rng, heard: &str) -> String {
    let (first, rest) = halves(heard);
    let segments = json!([
        { "id": 0, "text": format!(" {first}"), "no_speech_prob": 0.1, "avg_logprob": -0.3 },
        { "id": "1", "text": format!(" {rest}"), "no_speech_prob": null, "avg_logprob": "low", "words": 7 },
    ]);
    let with_invented = json!([
        { "text": heard, "no_speech_prob": 0.1, "avg_logprob": -0.2 },
        { "text": " Thank you.", "no_speech_prob": 0.9, "avg_logprob": -1.4 },
    ]);
    let mut reply = random.any(&[
        json!({ "text": format!(" {heard}"), "usage": { "type": "duration", "seconds": 1 } }),
        json!({ "text": heard }),
        json!({ "text": heard, "segments": null }),
        json!({ "text": heard, "segments": [] }),
        json!({ "text": heard, "segments": "none" }),
        json!({ "text": heard, "segments": { "0": heard } }),
        json!({ "text": heard, "segments": [{ "start": 0.1, "text": null }, 7, null] }),
        json!({ "text": heard, "segments": segments }),
        json!({ "text": null, "segments": segments }),
        json!({ "segments": segments }),
        json!({ "text": format!("{heard} Thank you."), "segments": with_invented }),
        json!(heard),
    ]);
    if reply.is_object() && random.once_in(2) {
        reply["unheard_of"] = random.any(&[json!(null), json!([]), json!({ "a": [1, null] }), json!(-1.5e300)]);
        reply["language"] = random.any(&[json!("english"), json!(7), Value::Null]);
        reply["error"] = Value::Null;
    }
    let text = if random.once_in(3) { serde_json::to_string_pretty(&reply).expect("JSON") } else { reply.to_string() };
    format!("{}{text}{}", random.any(&["", "", " \r\n"]), random.any(&["", "\n"]))
}

/// Returns a text as UTF-8, with or without a byte order mark, or as UTF-16 with one.
fn encoded(random: &mut Rng, text: String) -> Vec<u8> {
    match random.below(5) {
        0 => format!("\u{feff}{text}").into_bytes(),
        1 => format!("\u{feff}{text}").encode_utf16().flat_map(u16::to_be_bytes).collect(),
        _ => text.into_bytes(),
    }
}
