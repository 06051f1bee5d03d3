//! Voices behind OpenAI's speech API, from OpenAI or compatible local servers (`POST {base}/audio/speech`; the body is the audio,
//! streamed while it is generated).
//!
//! OpenAI's `pcm` is 24 kHz, 16-bit, mono, without a header; other servers may use another rate, or support only WAV. Dropping the
//! request closes the connection, which is the only way to stop a server. There are no word timings.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use reqwest::Response;
use serde_json::{Value, json};
use switchhook_media::format::AudioFormat;
use switchhook_net::outbound::{SendError, explain, unpacked};
use switchhook_net::queues::Queue;
use switchhook_net::text::{content_type, text};
use tokio::sync::mpsc;
use tokio::time::{Instant, timeout, timeout_at};

use super::PROVIDER;
use super::server::SpeechServer;
use crate::adapter_config::AdapterConfig;
use crate::failure::unexpected::classify_unexpected;
use crate::failure::{AttemptError, classify_response};
use crate::parameters::Parameters;
use crate::tts::decoder::Decoder;
use crate::tts::{Retries, TtsDefaults, TtsOutput, TtsTimeouts, is_speakable};
use crate::{ProviderError, Tts, TtsAudio, TtsRequest, Usage};

/// The voice when neither the agent nor the connection names one.
pub(super) const VOICE: &str = "alloy";
pub(crate) const DEFAULT_MODEL: &str = "gpt-4o-mini-tts";
/// The sample rate of OpenAI's PCM, in Hz.
const RATE: u32 = 24_000;
/// The supported speaking rates.
const SPEEDS: (f32, f32) = (0.25, 4.0);
/// How long most servers, and our client, keep an idle connection open.
const IDLE_CONNECTION_LIFETIME: Duration = Duration::from_secs(45);
/// How many bytes of an error response are read.
const REFUSAL: usize = 16 * 1024;
/// How many bytes show whether a body is audio or text. As samples, that many letters would be too loud for the beginning of speech.
const PROBED: usize = 16;

struct OpenAiSpeech {
    server: SpeechServer,
    defaults: TtsDefaults,
    parameters: Parameters,
    format: &'static str,
    rate: u32,
    timeouts: TtsTimeouts,
    /// When the server last responded.
    responded: Mutex<Option<Instant>>,
}

/// Creates text to speech for a connection. `settings.tts_voice` and `settings.tts_model` are for agents that name none;
/// `settings.tts_format` is `pcm` or `wav`, `settings.tts_sample_rate` the rate of the server's PCM, and `settings.tts_parameters` are
/// added to requests.
///
/// # Errors
/// A sentence when a setting is invalid.
pub fn connect(config: &AdapterConfig<'_>, timeouts: TtsTimeouts) -> Result<Arc<dyn Tts>, String> {
    let format = config.choice("tts_format", &[("pcm", "pcm"), ("wav", "wav")])?.unwrap_or("pcm");
    let rate = config.integer("tts_sample_rate", 8_000..=192_000)?.unwrap_or(RATE);
    Decoder::new(rate, AudioFormat::default()).map_err(|error| format!("settings.tts_sample_rate: {error}."))?;
    Ok(Arc::new(OpenAiSpeech {
        server: SpeechServer::read(config)?,
        defaults: TtsDefaults::read(config, VOICE, DEFAULT_MODEL)?,
        parameters: Parameters::of_voices(config)?,
        format,
        rate,
        timeouts,
        responded: Mutex::default(),
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

    /// Makes one attempt.
    async fn attempt(&self, request: &TtsRequest, output: &mut TtsOutput) -> Result<(), AttemptError> {
        let timeouts = output.timeouts(self.timeouts);
        let mut wait = timeouts.first_audio;
        let mut deadline = Instant::now() + wait;
        let late = |wait| AttemptError::timeout(PROVIDER, wait);
        let response = timeout_at(deadline, self.post(request)).await.map_err(|_| late(wait))??;
        let mut response = self.accepted(response).await?;
        let begun = timeout_at(deadline, self.first_bytes(&mut response)).await.map_err(|_| late(wait))??;
        if !is_audio(content_type(response.headers()), &begun) {
            return Err(self.no_audio(response, begun).await);
        }
        let decoder = Decoder::new(self.rate, request.format);
        let mut decoder = decoder.map_err(|error| AttemptError::config(PROVIDER, error.to_string()))?;
        let mut piece = Bytes::from(begun);
        loop {
            let samples = decoder.push(&piece).map_err(|words| AttemptError::config(PROVIDER, words))?;
            if output.give(samples, Vec::new()).await.is_err() {
                return Ok(());
            }
            if output.exceeds_limit() {
                Queue::Tts.full();
                return Err(AttemptError::unusable(PROVIDER, "its speech does not end"));
            }
            wait = timeouts.gap;
            deadline = Instant::now() + wait;
            let next = timeout_at(deadline, response.chunk()).await.map_err(|_| late(wait))?;
            let Some(next) = next.map_err(|error| self.no_response(&error))? else { break };
            piece = next;
        }
        let _ = output.give(decoder.finish(), Vec::new()).await;
        if output.attempt_has_audio() { Ok(()) } else { Err(AttemptError::unusable(PROVIDER, "it returned no audio")) }
    }

    async fn post(&self, request: &TtsRequest) -> Result<Response, AttemptError> {
        let post = self.server.post("/audio/speech").json(&self.body(request));
        let response = post.send().await.map(unpacked).map_err(|error| self.no_response(&error))?;
        self.note_response();
        Ok(response)
    }

    fn note_response(&self) {
        *self.responded.lock().unwrap_or_else(PoisonError::into_inner) = Some(Instant::now());
    }

    /// Returns whether a connection is probably still open.
    fn is_warm(&self) -> bool {
        let responded = *self.responded.lock().unwrap_or_else(PoisonError::into_inner);
        responded.is_some_and(|at| at.elapsed() < IDLE_CONNECTION_LIFETIME)
    }

    /// Returns the response unless its status is an error.
    async fn accepted(&self, mut response: Response) -> Result<Response, AttemptError> {
        let status = response.status();
        if status.is_success() {
            return Ok(response);
        }
        let (headers, url) = (response.headers().clone(), response.url().clone());
        let body = beginning(&mut response, self.timeouts.gap).await;
        let body = text(content_type(&headers), &body);
        let classified = classify_response(status.as_u16(), &headers, &body).at_url(&url);
        Err(AttemptError::from_classified(PROVIDER, classified, self.server.key(), self.timeouts.first_audio))
    }

    /// Reads as much as shows whether the body is audio.
    async fn first_bytes(&self, response: &mut Response) -> Result<Vec<u8>, AttemptError> {
        let mut begun = Vec::new();
        while begun.len() < PROBED
            && let Some(piece) = response.chunk().await.map_err(|error| self.no_response(&error))?
        {
            begun.extend_from_slice(&piece);
        }
        Ok(begun)
    }

    /// Describes a body that is not audio although the status reports success.
    async fn no_audio(&self, mut response: Response, mut body: Vec<u8>) -> AttemptError {
        body.extend(beginning(&mut response, self.timeouts.gap).await);
        let body = text(content_type(response.headers()), &body);
        let classified = classify_unexpected(&body, "it sent text instead of audio", response.url());
        AttemptError::from_classified(PROVIDER, classified, self.server.key(), self.timeouts.first_audio)
    }

    /// Describes a connection that broke or could not be opened.
    fn no_response(&self, error: &reqwest::Error) -> AttemptError {
        let timeout = self.timeouts.connect;
        let error: SendError = explain(error, timeout);
        AttemptError::unanswered(PROVIDER, error)
    }
}

/// Returns whether a body is audio, with any content type: servers label audio as text, and text as audio.
fn is_audio(content_type: Option<&str>, begun: &[u8]) -> bool {
    // Samples have zeros where it is quiet, and no text has.
    if begun.is_empty() || begun.starts_with(b"RIFF") || begun.contains(&0) {
        return true;
    }
    let kind = content_type.unwrap_or_default().trim_start().to_ascii_lowercase();
    let is_labelled_text = kind.starts_with("text/") || ["json", "xml", "html"].iter().any(|name| kind.contains(name));
    !is_labelled_text && !is_text(begun)
}

/// Returns whether bytes are text, by the first ones.
fn is_text(begun: &[u8]) -> bool {
    let begun = begun.strip_prefix("\u{feff}".as_bytes()).unwrap_or(begun);
    begun.iter().take(PROBED).all(|byte| byte.is_ascii_graphic() || byte.is_ascii_whitespace())
}

async fn beginning(response: &mut Response, limit: Duration) -> Vec<u8> {
    let mut body = Vec::new();
    let reading = async {
        while body.len() < REFUSAL
            && let Ok(Some(piece)) = response.chunk().await
        {
            body.extend_from_slice(&piece);
        }
    };
    let _ = timeout(limit, reading).await;
    body
}

#[async_trait]
impl Tts for OpenAiSpeech {
    async fn speak(&self, request: TtsRequest, audio: mpsc::Sender<TtsAudio>) -> Result<Usage, ProviderError> {
        if !is_speakable(&request.text) {
            return Ok(Usage::default());
        }
        let mut output = TtsOutput::new(request.format, audio);
        let mut attempts = Retries::default();
        while let Err(failure) = self.attempt(&request, &mut output).await {
            attempts.again(failure, &mut output).await?;
        }
        Ok(attempts.cost(&request.text))
    }

    /// Lists models, to have an open connection. A refusal is ignored: the key may be restricted to speech.
    async fn warm(&self, _like: &TtsRequest) -> Result<(), ProviderError> {
        if self.is_warm() {
            return Ok(());
        }
        let warmup = async {
            if let Ok(mut response) = self.server.get("/models").send().await.map(unpacked) {
                self.note_response();
                let _ = beginning(&mut response, self.timeouts.gap).await;
            }
        };
        let _ = timeout(self.timeouts.connect, warmup).await;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_no_audio_whatever_its_label_and_samples_are_no_text() {
        let samples = |first: u8| [first, 0, 0x3c, 0, 0x21, 0, 0x22, 0xff, 0x7b, 0, 0x22, 0, 0x20, 0, 0x0a, 0, 0x7d];
        let wav = b"RIFF    WAVEfmt ";
        for (kind, begun, expected) in [
            (Some("text/html; charset=utf-8"), &b"<p>"[..], false),
            (Some(" TEXT/PLAIN"), b"busy", false),
            (Some("application/problem+json"), b"{}", false),
            (Some("application/xhtml+xml"), b"<html>", false),
            (Some("application/octet-stream"), br#"{"error":"No such voice."}"#, false),
            (Some("audio/pcm"), b"Internal Server Error", false),
            (None, b"\xef\xbb\xbf\r\n<!doctype html>", false),
            (None, b"<html>", false),
            (None, &samples(0x7b), true),
            (None, &samples(0x3c), true),
            (Some("audio/pcm; rate=24000"), &samples(0x3c), true),
            (Some("text/html"), &samples(0x3c), true),
            (Some("text/html"), wav, true),
            (None, wav, true),
            (Some("text/plain"), b"", true),
        ] {
            assert_eq!(is_audio(kind, begun), expected, "{kind:?} {begun:?}");
        }
    }
}
