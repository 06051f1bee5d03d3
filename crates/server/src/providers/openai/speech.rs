//! Voices behind OpenAI's speech interface, OpenAI's own and those of local servers that offer the same
//! (`POST {base}/audio/speech`, sound as the body while it is made).
//!
//! OpenAI's `pcm` is 24 kHz, 16 bit, mono, without a header; other servers may have another rate, or only WAV. Dropping the
//! request closes the connection, which is the only way to stop a server. There are no times of words.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use reqwest::Response;
use reqwest::header::{CONTENT_TYPE, RETRY_AFTER};
use serde_json::{Value, json};
use switchhook_core::private::Private;
use tokio::sync::mpsc;
use tokio::time::{Instant, timeout, timeout_at};

use super::OPENAI_URL;
use crate::outbound::explain;
use crate::providers::connect::Connect;
use crate::providers::voice::refusal::{Refusal, words_of};
use crate::providers::voice::sound::Decoder;
use crate::providers::voice::{Attempts, Deadlines, Defaults, Line, cost, is_speakable};
use crate::providers::{ProviderError, Tts, TtsAudio, TtsRequest, Usage};

const PROVIDER: &str = "openai";
/// When neither the agent nor the connection names one.
const VOICE: &str = "alloy";
const MODEL: &str = "gpt-4o-mini-tts";
/// Samples a second of OpenAI's PCM.
const RATE: u32 = 24_000;
/// Speaking rates that are taken.
const SPEEDS: (f32, f32) = (0.25, 4.0);
/// How much of a refusal is read, in bytes.
const REFUSAL: usize = 16 * 1024;

struct OpenAiSpeech {
    http: reqwest::Client,
    endpoint: String,
    key: Option<Private<String>>,
    defaults: Defaults,
    format: &'static str,
    rate: u32,
    deadlines: Deadlines,
}

/// The voices behind a connection. `settings.tts_voice` and `settings.tts_model` are for agents that name none;
/// `settings.tts_format` is `pcm` or `wav`, and `settings.tts_sample_rate` the rate of the server's PCM.
///
/// # Errors
/// A sentence when a setting is of no use.
pub fn connect(connect: &Connect<'_>, deadlines: Deadlines) -> Result<Arc<dyn Tts>, String> {
    let base = connect.base_url(OPENAI_URL)?;
    let has_path = base.split_once("://").is_some_and(|(_, rest)| rest.contains('/'));
    let version = if has_path { "" } else { "/v1" };
    let format = connect.choice("tts_format", &[("pcm", "pcm"), ("wav", "wav")])?.unwrap_or("pcm");
    let rate = connect.integer("tts_sample_rate", 8_000..=192_000)?.unwrap_or(RATE);
    Decoder::new(rate).map_err(|error| format!("settings.tts_sample_rate: {error}."))?;
    Ok(Arc::new(OpenAiSpeech {
        http: connect.http.clone(),
        endpoint: format!("{base}{version}/audio/speech"),
        key: connect.key.clone(),
        defaults: Defaults::read(connect, VOICE, MODEL)?,
        format,
        rate,
        deadlines,
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
        body
    }

    /// Speaks once.
    async fn attempt(&self, request: &TtsRequest, line: &mut Line) -> Result<(), Refusal> {
        let mut wait = self.deadlines.first_sound;
        let mut deadline = Instant::now() + wait;
        let late = |wait| Refusal::late(PROVIDER, wait);
        let response = timeout_at(deadline, self.post(request)).await.map_err(|_| late(wait))??;
        let mut response = self.accepted(response).await?;
        let mut decoder = Decoder::new(self.rate)
            .map_err(|error| Refusal::last(ProviderError::Config { provider: PROVIDER, words: error.to_string() }))?;
        loop {
            let piece = timeout_at(deadline, response.chunk()).await.map_err(|_| late(wait))?;
            let piece = piece.map_err(|error| Refusal::no_answer(PROVIDER, &explain(&error, wait)))?;
            let Some(piece) = piece else { break };
            let samples = decoder
                .push(&piece)
                .map_err(|words| Refusal::last(ProviderError::Config { provider: PROVIDER, words }))?;
            if line.give(samples, Vec::new()).await.is_err() {
                return Ok(());
            }
            if line.is_endless() {
                return Err(Refusal::nonsense(PROVIDER, "its speech does not end"));
            }
            wait = self.deadlines.gap;
            deadline = Instant::now() + wait;
        }
        let _ = line.give(decoder.finish(), Vec::new()).await;
        if line.has_sound() { Ok(()) } else { Err(Refusal::nonsense(PROVIDER, "it spoke without any sound")) }
    }

    async fn post(&self, request: &TtsRequest) -> Result<Response, Refusal> {
        let mut post = self.http.post(&self.endpoint).json(&self.body(request));
        if let Some(key) = &self.key {
            post = post.bearer_auth(key.reveal());
        }
        post.send().await.map_err(|error| Refusal::no_answer(PROVIDER, &explain(&error, self.deadlines.connect)))
    }

    /// Tells sound from what is none, also where the status says that all is well.
    async fn accepted(&self, mut response: Response) -> Result<Response, Refusal> {
        let status = response.status();
        let is_json =
            response.headers().get(CONTENT_TYPE).is_some_and(|kind| kind.as_bytes().starts_with(b"application/json"));
        if status.is_success() && !is_json {
            return Ok(response);
        }
        let retry_after = response.headers().get(RETRY_AFTER).and_then(|value| value.to_str().ok()).map(str::to_owned);
        let words = words_of(&beginning(&mut response, self.deadlines.gap).await);
        if status.is_success() {
            let words = words.unwrap_or_else(|| "it answered with JSON instead of sound".to_owned());
            return Err(Refusal::said(PROVIDER, words));
        }
        Err(Refusal::status(PROVIDER, status.as_u16(), retry_after.as_deref(), words))
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
        while let Err(refusal) = self.attempt(&request, &mut line).await {
            attempts.again(refusal, &line).await.map_err(|refusal| refusal.into_error(self.key.as_ref()))?;
        }
        Ok(cost(&request.text))
    }
}
