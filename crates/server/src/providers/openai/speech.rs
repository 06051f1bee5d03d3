//! Voices behind OpenAI's speech interface, OpenAI's own and those of local servers that offer the same
//! (`POST {base}/audio/speech`, sound as the body while it is made).
//!
//! OpenAI's `pcm` is 24 kHz, 16 bit, mono, without a header; other servers may have another rate, or only WAV. Dropping the
//! request closes the connection, which is the only way to stop a server. There are no times of words.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use reqwest::Response;
use reqwest::header::CONTENT_TYPE;
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio::time::{Instant, timeout, timeout_at};

use super::server::SpeechServer;
use crate::outbound::{SendError, explain};
use crate::providers::connect::Connect;
use crate::providers::parameters::Parameters;
use crate::providers::refusal::{Trouble, answered};
use crate::providers::voice::sound::Decoder;
use crate::providers::voice::{Attempts, Deadlines, Defaults, Line, cost, is_speakable};
use crate::providers::{ProviderError, Tts, TtsAudio, TtsRequest, Usage};
use crate::queues::Queue;

const PROVIDER: &str = "openai";
/// When neither the agent nor the connection names one.
const VOICE: &str = "alloy";
pub(crate) const USUAL_MODEL: &str = "gpt-4o-mini-tts";
/// Samples a second of OpenAI's PCM.
const RATE: u32 = 24_000;
/// Speaking rates that are taken.
const SPEEDS: (f32, f32) = (0.25, 4.0);
/// As long as a connection is kept at least after an answer, by us and by most servers.
const WARM: Duration = Duration::from_secs(45);
/// How much of a refusal is read, in bytes.
const REFUSAL: usize = 16 * 1024;

struct OpenAiSpeech {
    server: SpeechServer,
    defaults: Defaults,
    parameters: Parameters,
    format: &'static str,
    rate: u32,
    deadlines: Deadlines,
    /// When the server last answered.
    answered: Mutex<Option<Instant>>,
}

/// The voices behind a connection. `settings.tts_voice` and `settings.tts_model` are for agents that name none;
/// `settings.tts_format` is `pcm` or `wav`, and `settings.tts_sample_rate` the rate of the server's PCM; `settings.tts_parameters` are sent as well.
///
/// # Errors
/// A sentence when a setting is of no use.
pub fn connect(connect: &Connect<'_>, deadlines: Deadlines) -> Result<Arc<dyn Tts>, String> {
    let format = connect.choice("tts_format", &[("pcm", "pcm"), ("wav", "wav")])?.unwrap_or("pcm");
    let rate = connect.integer("tts_sample_rate", 8_000..=192_000)?.unwrap_or(RATE);
    Decoder::new(rate).map_err(|error| format!("settings.tts_sample_rate: {error}."))?;
    Ok(Arc::new(OpenAiSpeech {
        server: SpeechServer::read(connect)?,
        defaults: Defaults::read(connect, VOICE, USUAL_MODEL)?,
        parameters: Parameters::of_voices(connect)?,
        format,
        rate,
        deadlines,
        answered: Mutex::default(),
    }))
}

impl OpenAiSpeech {
    fn body(&self, request: &TtsRequest) -> Value {
        let mut body = json!({
            "model": self.defaults.model(request),
            "voice": self.defaults.voice(request),
            "input": request.text,
            "response_format": self.format,
        });
        if (request.speed - 1.0).abs() > f32::EPSILON {
            body["speed"] = json!(request.speed.clamp(SPEEDS.0, SPEEDS.1));
        }
        self.parameters.in_body(body)
    }

    /// Speaks once.
    async fn attempt(&self, request: &TtsRequest, line: &mut Line) -> Result<(), Trouble> {
        let mut wait = self.deadlines.first_sound;
        let mut deadline = Instant::now() + wait;
        let late = |wait| Trouble::timeout(PROVIDER, wait);
        let response = timeout_at(deadline, self.post(request)).await.map_err(|_| late(wait))??;
        let mut response = self.accepted(response).await?;
        let mut decoder = Decoder::new(self.rate).map_err(|error| Trouble::config(PROVIDER, error.to_string()))?;
        loop {
            let piece = timeout_at(deadline, response.chunk()).await.map_err(|_| late(wait))?;
            let piece = piece.map_err(|error| self.no_answer(&error))?;
            let Some(piece) = piece else { break };
            let samples = decoder.push(&piece).map_err(|words| Trouble::config(PROVIDER, words))?;
            if line.give(samples, Vec::new()).await.is_err() {
                return Ok(());
            }
            if line.is_endless() {
                Queue::Tts.full();
                return Err(Trouble::nonsense(PROVIDER, "its speech does not end"));
            }
            wait = self.deadlines.gap;
            deadline = Instant::now() + wait;
        }
        let _ = line.give(decoder.finish(), Vec::new()).await;
        if line.has_sound() { Ok(()) } else { Err(Trouble::nonsense(PROVIDER, "it spoke without any sound")) }
    }

    async fn post(&self, request: &TtsRequest) -> Result<Response, Trouble> {
        let post = self.server.post("/audio/speech").json(&self.body(request));
        let response = post.send().await.map_err(|error| self.no_answer(&error))?;
        self.answered();
        Ok(response)
    }

    fn answered(&self) {
        *self.answered.lock().unwrap_or_else(PoisonError::into_inner) = Some(Instant::now());
    }

    /// Whether a connection is still open, as far as that can be told.
    fn is_warm(&self) -> bool {
        let answered = *self.answered.lock().unwrap_or_else(PoisonError::into_inner);
        answered.is_some_and(|at| at.elapsed() < WARM)
    }

    /// Tells sound from what is none, also where the status says that all is well.
    async fn accepted(&self, mut response: Response) -> Result<Response, Trouble> {
        let status = response.status();
        let is_json =
            response.headers().get(CONTENT_TYPE).is_some_and(|kind| kind.as_bytes().starts_with(b"application/json"));
        if status.is_success() && !is_json {
            return Ok(response);
        }
        let (headers, url) = (response.headers().clone(), response.url().clone());
        let body = beginning(&mut response, self.deadlines.gap).await;
        let key = self.server.key();
        if status.is_success() {
            return Err(Trouble::said(PROVIDER, &serde_json::from_slice(&body).unwrap_or_default(), key));
        }
        let body = String::from_utf8_lossy(&body);
        let judged = answered(status.as_u16(), &headers, &body).asked_at(&url);
        Err(Trouble::judged(PROVIDER, judged, key, self.deadlines.first_sound))
    }

    /// The connection broke, or none came about.
    fn no_answer(&self, error: &reqwest::Error) -> Trouble {
        let patience = self.deadlines.connect;
        let error: SendError = explain(error, patience);
        Trouble::unanswered(PROVIDER, error)
    }
}

async fn beginning(response: &mut Response, patience: Duration) -> Vec<u8> {
    let mut body = Vec::new();
    let reading = async {
        while body.len() < REFUSAL
            && let Ok(Some(piece)) = response.chunk().await
        {
            body.extend_from_slice(&piece);
        }
    };
    let _ = timeout(patience, reading).await;
    body
}

#[async_trait]
impl Tts for OpenAiSpeech {
    async fn speak(&self, request: TtsRequest, audio: mpsc::Sender<TtsAudio>) -> Result<Usage, ProviderError> {
        if !is_speakable(&request.text) {
            return Ok(Usage::default());
        }
        let mut line = Line::new(audio);
        let mut attempts = Attempts::default();
        while let Err(trouble) = self.attempt(&request, &mut line).await {
            attempts.again(trouble, &mut line).await?;
        }
        Ok(cost(&request.text))
    }

    /// Asks for what every server of this interface can tell, or refuses to: the connection stays. A refusal says nothing of speech,
    /// for which a key may be good that is not for this.
    async fn warm(&self, _like: &TtsRequest) -> Result<(), ProviderError> {
        if self.is_warm() {
            return Ok(());
        }
        let asked = async {
            if let Ok(mut response) = self.server.get("/models").send().await {
                self.answered();
                let _ = beginning(&mut response, self.deadlines.gap).await;
            }
        };
        let _ = timeout(self.deadlines.connect, asked).await;
        Ok(())
    }
}
