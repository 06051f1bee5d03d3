//! A Whisper server as OpenAI and compatible servers offer it: `POST /v1/audio/transcriptions`.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse as _, Response};
use axum::routing::{get, post};
use serde_json::json;
use switchhook_media::format::AudioFormat;
use switchhook_media::frame::{CallerAudio, Frame};
use switchhook_media::wav;
use tokio::net::TcpListener;
use tokio::sync::watch;

use super::stt::TestStt;
use super::wild_transcriptions::WildTranscriptions;
use super::without_delay;

/// The reply to one request.
#[derive(Clone, Debug)]
pub(crate) enum Answers {
    Well,
    With(u16, Vec<(&'static str, &'static str)>, &'static str),
    Never,
    /// The response begins, and the connection breaks.
    Breaks,
}

/// The server.
#[derive(Clone)]
pub(crate) struct Whisper {
    pub(crate) address: SocketAddr,
    /// The replies to future requests; the last one is for all further ones.
    answers: Arc<Mutex<VecDeque<Answers>>>,
    complaints: Arc<Mutex<Vec<String>>>,
    requests: watch::Sender<usize>,
    /// Samples received, at 8 kHz.
    samples: watch::Sender<usize>,
    /// Requests that the client abandoned.
    given_up: watch::Sender<usize>,
    /// The response to a request for its models: many servers have no such list.
    models: Arc<Mutex<(u16, &'static str)>>,
    /// How often that was requested.
    knocks: watch::Sender<usize>,
    /// How it deviates from its documentation, if it does.
    wild: Arc<Mutex<Option<WildTranscriptions>>>,
}

impl Whisper {
    pub(crate) async fn start(answers: impl IntoIterator<Item = Answers>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("bound");
        let double = Self {
            address,
            answers: Arc::new(Mutex::new(answers.into_iter().collect())),
            complaints: Arc::default(),
            requests: watch::Sender::new(0),
            samples: watch::Sender::new(0),
            given_up: watch::Sender::new(0),
            models: Arc::new(Mutex::new((404, ""))),
            knocks: watch::Sender::new(0),
            wild: Arc::default(),
        };
        let router = Router::new()
            .route("/v1/audio/transcriptions", post(transcribe))
            .route("/v1/models", get(models))
            .with_state(double.clone());
        tokio::spawn(async move { axum::serve(without_delay(listener), router).await });
        double
    }

    /// Makes it follow its documentation loosely from now on, determined by this seed.
    pub(crate) fn go_wild(&self, seed: u64) {
        *self.wild.lock().expect("whole") = Some(WildTranscriptions::new(seed));
    }

    /// Sets the response to requests for its models.
    pub(crate) fn answers_for_models(&self, status: u16, body: &'static str) {
        *self.models.lock().expect("whole") = (status, body);
    }

    pub(crate) fn knocks(&self) -> usize {
        *self.knocks.borrow()
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    pub(crate) fn complaints(&self) -> Vec<String> {
        self.complaints.lock().expect("whole").clone()
    }

    pub(crate) fn requests(&self) -> usize {
        *self.requests.borrow()
    }

    /// Sets the replies to requests, in order; the last one is for all further ones.
    pub(crate) fn now(&self, answers: impl IntoIterator<Item = Answers>) {
        *self.answers.lock().expect("whole") = answers.into_iter().collect();
    }

    /// Returns how much audio arrived.
    pub(crate) fn heard(&self) -> Duration {
        Duration::from_micros(u64::try_from(*self.samples.borrow() * 125).expect("small"))
    }

    pub(crate) async fn asked(&self, count: usize) {
        self.requests.subscribe().wait_for(|now| *now >= count).await.expect("the server lives");
    }

    pub(crate) async fn given_up(&self) {
        self.given_up.subscribe().wait_for(|now| *now >= 1).await.expect("the server lives");
    }

    fn next(&self) -> Answers {
        let mut answers = self.answers.lock().expect("whole");
        let next = if answers.len() > 1 { answers.pop_front() } else { answers.front().cloned() };
        next.unwrap_or(Answers::Well)
    }
}

/// Counts a request that is dropped before it was answered.
struct GivenUp(Option<watch::Sender<usize>>);

impl Drop for GivenUp {
    fn drop(&mut self) {
        if let Some(count) = &self.0 {
            count.send_modify(|count| *count += 1);
        }
    }
}

#[expect(clippy::result_large_err, reason = "the web framework's own type")]
fn admits(headers: &HeaderMap) -> Result<(), Response> {
    if headers.get("authorization").and_then(|value| value.to_str().ok()) == Some("Bearer sk-key") {
        return Ok(());
    }
    let error = json!({ "error": { "message": "Incorrect API key provided.", "code": "invalid_api_key" } });
    Err((StatusCode::UNAUTHORIZED, error.to_string()).into_response())
}

async fn models(State(double): State<Whisper>, headers: HeaderMap) -> Response {
    double.knocks.send_modify(|count| *count += 1);
    if let Err(refused) = admits(&headers) {
        return refused;
    }
    let (status, body) = *double.models.lock().expect("whole");
    (StatusCode::from_u16(status).expect("a status"), body).into_response()
}

async fn transcribe(State(double): State<Whisper>, headers: HeaderMap, body: Bytes) -> Response {
    double.requests.send_modify(|count| *count += 1);
    if let Err(refused) = admits(&headers) {
        return refused;
    }
    let failure = double.wild.lock().expect("whole").as_mut().and_then(WildTranscriptions::failure);
    if let Some(failure) = failure {
        return failure;
    }
    match double.next() {
        Answers::Well => {}
        Answers::Breaks => {
            let pieces = [Ok(Bytes::from_static(b"{\"te")), Err(std::io::Error::other("it broke"))];
            return Body::from_stream(futures_util::stream::iter(pieces)).into_response();
        }
        Answers::Never => {
            let _given_up = GivenUp(Some(double.given_up.clone()));
            return std::future::pending().await;
        }
        Answers::With(status, headers, body) => {
            let mut response = body.into_response();
            *response.status_mut() = StatusCode::from_u16(status).expect("a status");
            for (name, value) in headers {
                response.headers_mut().insert(name, value.parse().expect("a header"));
            }
            return response;
        }
    }
    match understand(&double, &headers, &body).await {
        Ok(text) => respond(&double, &text).await,
        Err(complaint) => {
            double.complaints.lock().expect("whole").push(complaint.clone());
            (StatusCode::BAD_REQUEST, json!({ "detail": complaint }).to_string()).into_response()
        }
    }
}

async fn respond(double: &Whisper, text: &str) -> Response {
    let varied = double.wild.lock().expect("whole").as_mut().map(|wild| (wild.pause(), wild.response(text)));
    let Some((pause, response)) = varied else {
        let body = json!({ "text": format!(" {text}"), "usage": { "type": "duration", "seconds": 1 } });
        return ([("content-type", "application/json")], body.to_string()).into_response();
    };
    // A sleep of zero ends only when the clock advances.
    if !pause.is_zero() {
        tokio::time::sleep(pause).await;
    }
    response
}

async fn understand(double: &Whisper, headers: &HeaderMap, body: &[u8]) -> Result<String, String> {
    let kind = headers.get("content-type").and_then(|value| value.to_str().ok()).unwrap_or_default();
    let boundary = kind.strip_prefix("multipart/form-data; boundary=").ok_or(format!("{kind} is no form"))?;
    let parts = parts(body, boundary)?;
    let value = |name: &str| {
        let part = parts.iter().find(|(head, _)| head.contains(&format!("name=\"{name}\"")));
        part.map(|(_, value)| String::from_utf8_lossy(value).into_owned())
    };
    if value("model").is_none_or(|model| model.is_empty())
        || value("language").is_some_and(|language| language.len() != 2)
    {
        return Err(format!("model {:?} and language {:?} cannot be", value("model"), value("language")));
    }
    let (head, file) = parts.iter().find(|(head, _)| head.contains("name=\"file\"")).ok_or("there is no file")?;
    if !head.contains("filename=\"speech.wav\"") || !head.contains("Content-Type: audio/wav") {
        return Err(format!("the file is described as {head}"));
    }
    let wav = wav::read(file).map_err(|error| error.to_string())?;
    if wav.sample_rate != 8_000 || wav.channels.len() != 1 {
        return Err(format!("{} Hz, {} channels", wav.sample_rate, wav.channels.len()));
    }
    double.samples.send_modify(|samples| *samples += wav.channels[0].len());
    let mut stt = TestStt::new().await;
    for samples in wav.channels[0].chunks_exact(AudioFormat::Narrowband.frame_samples()) {
        stt.frame(CallerAudio(Frame::from_slice(AudioFormat::Narrowband, samples)));
    }
    Ok(stt.words())
}

/// Returns the file of a form.
pub(crate) fn file_of(headers: &HeaderMap, body: &[u8]) -> Result<Vec<u8>, String> {
    let kind = headers.get("content-type").and_then(|value| value.to_str().ok()).unwrap_or_default();
    let boundary = kind.strip_prefix("multipart/form-data; boundary=").ok_or(format!("{kind} is no form"))?;
    let parts = parts(body, boundary)?;
    let file = parts.iter().find(|(head, _)| head.contains("name=\"file\""));
    file.map(|(_, file)| file.to_vec()).ok_or_else(|| "there is no file".to_owned())
}

/// Returns the heads and bodies of a form (RFC 7578).
fn parts<'a>(body: &'a [u8], boundary: &str) -> Result<Vec<(String, &'a [u8])>, String> {
    let find = |within: &[u8], what: &[u8]| within.windows(what.len()).position(|window| window == what);
    let delimiter = format!("\r\n--{boundary}");
    let mut rest = body.strip_prefix(format!("--{boundary}").as_bytes()).ok_or("the form does not begin")?;
    let mut parts = Vec::new();
    while let Some(part) = rest.strip_prefix(b"\r\n") {
        let end = find(part, delimiter.as_bytes()).ok_or("a part does not end")?;
        let head = find(part, b"\r\n\r\n").ok_or("a part has no head")?;
        parts.push((String::from_utf8_lossy(&part[..head]).into_owned(), &part[head + 4..end]));
        rest = &part[end + delimiter.len()..];
    }
    if rest == b"--\r\n" { Ok(parts) } else { Err("the form does not end".to_owned()) }
}
