//! One request per segment of speech (`POST {base}/audio/transcriptions`): OpenAI's Whisper API, which every local Whisper server
//! offers too.
//!
//! Our voice activity detection cuts the segments. A segment that continues after a short pause is transcribed again as a whole.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use futures_util::StreamExt as _;
use serde_json::Value;
use switchhook_core::call::ErrorCode;
use switchhook_media::format::{AudioFormat, FRAME_DURATION};
use switchhook_media::frame::CallerAudio;
use switchhook_media::{resample, wav};
use switchhook_net::lenient_json;
use switchhook_net::outbound::unpacked;
use switchhook_net::queues::Queue;
use switchhook_net::text::{content_type, text};
use switchhook_runtime::clock;
use tokio::sync::mpsc;
use tokio::task::{AbortHandle, JoinSet};

use super::server::SpeechServer;
use super::{KEYTERM_LIMITS, PROVIDER};
use crate::adapter_config::AdapterConfig;
use crate::failure::unexpected::{classify_unexpected, has_reason};
use crate::failure::{AttemptError, classify_response, is_error};
use crate::parameters::Parameters;
use crate::segment::{Segment, Segmenter};
use crate::stt::spoken_text;
use crate::{ProviderError, Stt, SttEvent, SttOptions, SttSession, understood};

/// The model when neither the agent nor the connection names one.
pub(super) const DEFAULT_MODEL: &str = "gpt-transcribe";
/// The sample rate of the file, in Hz: some servers accept no other.
const DEFAULT_RATE: u32 = 16_000;
/// How long to wait for the text of a segment.
const DEFAULT_FINALIZE_TIMEOUT_MS: u32 = 8_000;
/// Shorter speech is a click or a breath, in which models hear words that were never spoken.
const DEFAULT_MIN_SPEECH_MS: u32 = 150;
/// Voice activity is detected up to 100 ms after it began and 200 ms after it ended.
const NOTICED_LATE: Duration = Duration::from_millis(100);
/// The pause before the second attempt; there is no third, since the caller is waiting.
const RETRY_DELAY: Duration = Duration::from_millis(100);
/// How long the server may take to show that it is available. A fallback is tried after 4 s.
const PROBE_TIMEOUT: Duration = Duration::from_millis(3_500);
/// How many bytes of a response are read.
const RESPONSE_BYTES: usize = 256 * 1024;
/// Whisper's own thresholds for a stretch without speech.
const NO_SPEECH: f64 = 0.6;
const UNSURE: f64 = -1.0;

/// Speech to text with one request per segment.
pub(super) struct Transcriptions {
    server: SpeechServer,
    model: Option<String>,
    language: Option<String>,
    rate: u32,
    finalize_timeout: Duration,
    min_speech: Duration,
    parameters: Parameters,
}

impl Transcriptions {
    /// Reads `stt_model`, `stt_language`, `stt_sample_rate`, `stt_finalize_timeout_ms`, `stt_min_speech_ms` and `stt_parameters`, which
    /// become fields of the form.
    pub(super) fn new(config: &AdapterConfig<'_>, server: SpeechServer) -> Result<Self, String> {
        let rate =
            config.integer("stt_sample_rate", AudioFormat::default().sample_rate()..=48_000)?.unwrap_or(DEFAULT_RATE);
        for format in AudioFormat::ALL {
            resample::whole(&[], format.sample_rate(), rate)
                .map_err(|error| format!("settings.stt_sample_rate: {error}."))?;
        }
        let finalize_timeout =
            config.integer("stt_finalize_timeout_ms", 200..=30_000)?.unwrap_or(DEFAULT_FINALIZE_TIMEOUT_MS);
        let min_speech = config.integer("stt_min_speech_ms", 0..=2_000)?.unwrap_or(DEFAULT_MIN_SPEECH_MS);
        Ok(Self {
            server,
            model: config.text("stt_model")?.map(str::to_owned),
            language: config.text("stt_language")?.map(str::to_owned),
            rate,
            finalize_timeout: Duration::from_millis(finalize_timeout.into()),
            min_speech: Duration::from_millis(min_speech.into()),
            parameters: Parameters::of_recogniser(config)?,
        })
    }

    /// Returns the fields of the form without the audio.
    fn fields(&self, options: SttOptions) -> Vec<(String, String)> {
        let prompt = KEYTERM_LIMITS.of(&options).join(", ");
        let model = options.model.or_else(|| self.model.clone()).unwrap_or_else(|| DEFAULT_MODEL.to_owned());
        let language = options.language.split('-').next().unwrap_or_default().to_lowercase();
        let language = self.language.clone().unwrap_or(language);
        let fields =
            [("model", model), ("response_format", "json".to_owned()), ("language", language), ("prompt", prompt)];
        let given = fields.into_iter().filter(|(_, value)| !value.is_empty()).collect();
        let all = self.parameters.in_query(given).into_iter();
        all.map(|(name, value)| (name.to_owned(), value)).collect()
    }
}

#[async_trait]
impl Stt for Transcriptions {
    async fn open(
        &self,
        options: SttOptions,
        events: mpsc::Sender<SttEvent>,
    ) -> Result<Box<dyn SttSession>, ProviderError> {
        let format = options.format;
        let terms = KEYTERM_LIMITS.of(&options).into_iter().map(str::to_owned).collect();
        let client = SegmentClient {
            server: self.server.clone(),
            format,
            fields: self.fields(options),
            terms,
            rate: self.rate,
            finalize_timeout: self.finalize_timeout,
            proven: AtomicBool::new(false),
            sent: AtomicU64::new(0),
            events,
        };
        client.probe().await?;
        Ok(Box::new(SegmentedSttSession {
            client: Arc::new(client),
            min_speech: self.min_speech,
            segmenter: Segmenter::new(format),
            spoken: Duration::ZERO,
            runs: JoinSet::new(),
            last: None,
        }))
    }

    fn unsupported_options(&self, options: &SttOptions) -> Vec<String> {
        KEYTERM_LIMITS.omitted_keyterms(options).into_iter().collect()
    }
}

/// The session of one call. Dropping it cancels its requests.
struct SegmentedSttSession {
    client: Arc<SegmentClient>,
    min_speech: Duration,
    segmenter: Segmenter,
    /// The length of the current speech.
    spoken: Duration,
    runs: JoinSet<()>,
    /// The request of the last stop.
    last: Option<AbortHandle>,
}

impl SttSession for SegmentedSttSession {
    fn audio(&mut self, frame: &CallerAudio) {
        self.segmenter.audio(frame);
        self.spoken += FRAME_DURATION;
    }

    fn speech_started(&mut self) {
        let continues = self.segmenter.started();
        if let Some(run) = self.last.take().filter(|_| continues) {
            run.abort();
        }
        self.spoken = Duration::ZERO;
    }

    fn speech_stopped(&mut self, segment: u32) {
        while self.runs.try_join_next().is_some() {}
        let segment = self.segmenter.stopped(segment);
        let too_short = self.spoken.saturating_sub(NOTICED_LATE) < self.min_speech && segment.replaces.is_empty();
        let client = Arc::clone(&self.client);
        let events = client.events.clone();
        self.last = Some(self.runs.spawn(understood(events, async move {
            if too_short {
                client.send_final(segment.number, String::new()).await;
            } else {
                client.transcribe_segment(segment).await;
            }
        })));
    }

    fn sent(&self) -> Option<Duration> {
        Some(self.client.format.duration(self.client.sent.load(Ordering::Relaxed)))
    }
}

/// Everything that a request needs.
struct SegmentClient {
    server: SpeechServer,
    /// The call's format.
    format: AudioFormat,
    fields: Vec<(String, String)>,
    /// The terms in the prompt.
    terms: Vec<String>,
    rate: u32,
    finalize_timeout: Duration,
    /// Whether the server has ever responded as expected.
    proven: AtomicBool,
    /// Samples of the call that were sent; those of a second attempt count again.
    sent: AtomicU64,
    events: mpsc::Sender<SttEvent>,
}

impl SegmentClient {
    /// Checks, before the call is answered, that the server is available and accepts the key, and leaves a connection open for the first
    /// sentence. Whisper servers may lack the list of models, and keys may not be allowed to read it.
    async fn probe(&self) -> Result<(), ProviderError> {
        let probing = async {
            match self.models().await {
                Err(failure) if failure.retry_after.is_some() => {
                    tracing::warn!(error = %failure.error, "the speech server cannot be reached; retrying");
                    tokio::time::sleep(failure.retry_after.unwrap_or_default().max(RETRY_DELAY)).await;
                    self.models().await
                }
                first => first,
            }
        };
        let late = |_| Err(AttemptError::timeout(PROVIDER, PROBE_TIMEOUT));
        tokio::time::timeout(PROBE_TIMEOUT, probing).await.unwrap_or_else(late).map_err(|failure| failure.error)
    }

    async fn models(&self) -> Result<(), AttemptError> {
        let broken = |error: reqwest::Error| AttemptError::failed(PROVIDER, chain(&error.without_url()));
        let response = self.server.get("/models").send().await.map(unpacked).map_err(broken)?;
        let (status, headers, url) = (response.status().as_u16(), response.headers().clone(), response.url().clone());
        let refuses = matches!(status, 401..=403);
        if !refuses && status < 500 {
            return Ok(());
        }
        let body = text(content_type(&headers), &whole(response).await?);
        // A restricted key: it may transcribe, but not list models.
        if refuses && body.contains("scope") {
            return Ok(());
        }
        let classified = classify_response(status, &headers, &body).at_url(&url);
        Err(AttemptError::from_classified(PROVIDER, classified, self.server.key(), PROBE_TIMEOUT))
    }

    /// Sends the transcript of a segment, and empties those already sent for the pauses in it.
    async fn transcribe_segment(&self, segment: Segment) {
        match self.transcribe(&segment.samples).await {
            Ok(text) => {
                self.proven.store(true, Ordering::Relaxed);
                for pause in segment.replaces {
                    self.send_final(pause, String::new()).await;
                }
                self.send_final(segment.number, text).await;
            }
            Err(error) => {
                let code = match error.code() {
                    ErrorCode::ConfigError if self.proven.load(Ordering::Relaxed) => ErrorCode::PipelineError,
                    code => code,
                };
                let _ = self.events.send(SttEvent::Failed { code, message: error.to_string() }).await;
            }
        }
    }

    async fn send_final(&self, segment: u32, text: String) {
        // When the receiver is gone, the call is over.
        let _ = self.events.send(SttEvent::Final { segment, text }).await;
    }

    async fn transcribe(&self, samples: &[i16]) -> Result<String, ProviderError> {
        let length = samples.len() as u64;
        let samples = resample::whole(samples, self.format.sample_rate(), self.rate)
            .map_err(|error| AttemptError::config(PROVIDER, error.to_string()).error)?;
        let (boundary, body) = form(&self.fields, &wav::mono(&samples, self.rate));
        let audio = Duration::from_secs(1).mul_f64(samples.len() as f64 / f64::from(self.rate));
        self.sent.fetch_add(length, Ordering::Relaxed);
        let first = match self.post(&boundary, body.clone(), audio).await {
            Ok(text) => return Ok(text),
            Err(failure) => failure,
        };
        let Some(pause) = first.retry_after else { return Err(first.error) };
        tracing::warn!(error = %first.error, "transcription failed; retrying");
        tokio::time::sleep(pause.max(RETRY_DELAY)).await;
        self.sent.fetch_add(length, Ordering::Relaxed);
        self.post(&boundary, body, audio).await.map_err(|failure| failure.error)
    }

    async fn post(&self, boundary: &str, body: Vec<u8>, audio: Duration) -> Result<String, AttemptError> {
        let form_type = format!("multipart/form-data; boundary={boundary}");
        let request = self.server.post("/audio/transcriptions").header("content-type", form_type).body(body);
        let proven = self.proven.load(Ordering::Relaxed);
        let response = async {
            let broken = |error: reqwest::Error| AttemptError::failed(PROVIDER, chain(&error.without_url()));
            let response = request.send().await.map(unpacked).map_err(broken)?;
            let (status, headers, url) = (response.status(), response.headers().clone(), response.url().clone());
            let body = text(content_type(&headers), &whole(response).await?);
            let refused = |classified| {
                AttemptError::from_classified(PROVIDER, classified, self.server.key(), self.finalize_timeout)
            };
            if !status.is_success() {
                return Err(refused(classify_response(status.as_u16(), &headers, &body).at_url(&url)));
            }
            let heard = transcript(&body, content_type(&headers)).map_err(|error| match error {
                NoTranscript::Unreadable(words) => AttemptError::failed(PROVIDER, words.to_owned()),
                // A page may have the caller's words, and a server that has transcribed may do so again.
                NoTranscript::Refusal if proven && is_page(&body, content_type(&headers)) => {
                    AttemptError::failed(PROVIDER, "it sent a page in place of a transcript".to_owned())
                }
                NoTranscript::Refusal => {
                    let refusal = refused(classify_unexpected(&body, "it sent no transcript", &url));
                    let retry_after = refusal.retry_after.or_else(|| proven.then_some(Duration::ZERO));
                    AttemptError { retry_after, ..refusal }
                }
            })?;
            Ok(spoken_text(&heard, &self.terms, audio))
        };
        let late = |_| Err(AttemptError::timeout(PROVIDER, self.finalize_timeout));
        tokio::time::timeout(self.finalize_timeout, response).await.unwrap_or_else(late)
    }
}

/// Reads the body of a response, up to the limit.
async fn whole(response: reqwest::Response) -> Result<Vec<u8>, AttemptError> {
    let mut body = Vec::new();
    let mut pieces = response.bytes_stream();
    while let Some(piece) = pieces.next().await {
        let piece = piece.map_err(|error| AttemptError::failed(PROVIDER, chain(&error.without_url())))?;
        body.extend_from_slice(&piece);
        if body.len() > RESPONSE_BYTES {
            Queue::SttBody.full();
            return Err(AttemptError::failed(PROVIDER, "its response does not end".to_owned()));
        }
    }
    Ok(body)
}

/// Formats an error with its causes.
fn chain(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(Some(error), |error| error.source());
    causes.map(ToString::to_string).collect::<Vec<_>>().join(": ")
}

/// Builds a `multipart/form-data` body (RFC 7578); returns its boundary and the body.
fn form(fields: &[(String, String)], file: &[u8]) -> (String, Vec<u8>) {
    let boundary = format!("switchhook-{:032x}", u128::from_ne_bytes(clock::random()));
    let mut body = Vec::with_capacity(file.len() + 1024);
    for (name, value) in fields {
        let name = name.replace(['"', '\r', '\n'], "_");
        let part = format!("--{boundary}\r\nContent-Disposition: form-data; name=\"{name}\"\r\n\r\n{value}\r\n");
        body.extend_from_slice(part.as_bytes());
    }
    let head =
        "Content-Disposition: form-data; name=\"file\"; filename=\"speech.wav\"\r\nContent-Type: audio/wav\r\n\r\n";
    body.extend_from_slice(format!("--{boundary}\r\n{head}").as_bytes());
    body.extend_from_slice(file);
    body.extend_from_slice(format!("\r\n--{boundary}--\r\n").as_bytes());
    (boundary, body)
}

/// Why a successful response has no transcript.
#[derive(Debug, PartialEq)]
enum NoTranscript {
    /// It cannot be read, for this reason.
    Unreadable(&'static str),
    /// It is an error, or the page of another service.
    Refusal,
}

/// Returns the text of a response: an object with `text` or with `segments` that have texts, a JSON string, or plain text. Without speech,
/// some servers send `null` or no segment.
fn transcript(body: &str, content_type: Option<&str>) -> Result<String, NoTranscript> {
    let response: Value = match lenient_json::from_str(body) {
        Ok(response) => response,
        Err(_) if is_page(body, content_type) => return Err(NoTranscript::Refusal),
        Err(_) if content_type.is_some_and(|kind| kind.contains("json")) => {
            return Err(NoTranscript::Unreadable("its response is not JSON"));
        }
        Err(_) => return Ok(body.trim().to_owned()),
    };
    if let Some(text) = response.as_str() {
        return Ok(text.trim().to_owned());
    }
    let heard = transcribed(&response);
    let is_refusal = match &heard {
        None => is_error(&response) || has_reason(&response),
        // Beside no words, servers also say that there was no error, or no speech.
        Some(text) => text.is_empty() && names_error(&response),
    };
    if is_refusal {
        return Err(NoTranscript::Refusal);
    }
    heard.ok_or(NoTranscript::Unreadable("its response contains no text"))
}

/// Returns whether a response has an error with a name.
fn names_error(response: &Value) -> bool {
    match &response["error"] {
        Value::String(words) => !words.trim().is_empty(),
        error => error.is_object(),
    }
}

/// Returns whether a body is a web page or another document in HTML or XML, none of which is a transcript. Some servers label plain text as
/// HTML.
fn is_page(body: &str, content_type: Option<&str>) -> bool {
    let kind = content_type.unwrap_or_default().to_ascii_lowercase();
    let beginning = body.trim_start().chars().take(5).collect::<String>().to_ascii_lowercase();
    let begins_as_page = ["<!", "<?xml", "<html", "<head", "<body"].iter().any(|sign| beginning.starts_with(sign));
    begins_as_page || (["html", "xml"].iter().any(|name| kind.contains(name)) && has_tags(body))
}

fn has_tags(body: &str) -> bool {
    let is_tag = |c: char| c.is_ascii_alphabetic() || matches!(c, '!' | '/' | '?');
    body.split('<').skip(1).any(|behind| behind.starts_with(is_tag))
}

/// Returns the text of an object.
fn transcribed(response: &Value) -> Option<String> {
    let segments = response.get("segments").and_then(Value::as_array).map(Vec::as_slice);
    let has_text = |segment: &Value| segment.get("text").is_some_and(Value::is_string);
    if let Some(segments) = segments.filter(|segments| segments.iter().any(has_text)) {
        let spoken = segments.iter().filter(|segment| is_speech(segment));
        let texts = spoken.filter_map(|segment| segment.get("text").and_then(Value::as_str)).map(str::trim);
        return Some(texts.collect::<Vec<_>>().join(" "));
    }
    match response.get("text") {
        Some(Value::String(text)) => Some(text.trim().to_owned()),
        Some(Value::Null) => Some(String::new()),
        None if segments.is_some_and(<[Value]>::is_empty) => Some(String::new()),
        _ => None,
    }
}

/// Applies Whisper's own rule, where the server reports the values.
fn is_speech(segment: &Value) -> bool {
    let number = |name: &str, unknown| segment.get(name).and_then(Value::as_f64).unwrap_or(unknown);
    number("no_speech_prob", 0.0) < NO_SPEECH || number("avg_logprob", 0.0) > UNSURE
}

#[cfg(test)]
pub(crate) const FUZZED: switchhook_fuzz::Target = switchhook_fuzz::Target {
    file: file!(),
    seeds: || {
        switchhook_fuzz::each_alone(&[
            r##"{"text":" Book a table. ","usage":{"type":"tokens","input_tokens":14}}"##,
            r##"{"text":"x","segments":[{"text":" Book","no_speech_prob":0.1,"avg_logprob":-0.3},{"text":" a","no_speech_prob":0.9,"avg_logprob":-1.5}]}"##,
            r##""Book a table.""##,
            r##"Book a table."##,
        ])
    },
    read: |messages| {
        switchhook_fuzz::Read::each_text(messages, |body| {
            let classified = transcript(body, Some("application/json")).is_ok();
            transcript(body, None).map(|text| text.len() + usize::from(classified))
        })
    },
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_are_found_in_whatever_a_server_answers() {
        for (body, words) in [
            (r#"{"text":" Book a table. ","usage":{"type":"duration","seconds":2}}"#, "Book a table."),
            (r#""Book a table.""#, "Book a table."),
            ("Book a table.\n", "Book a table."),
            (
                r#"{"text":"Book. Thank you.","segments":[{"text":" Book.","no_speech_prob":0.1,"avg_logprob":-0.2},
                    {"text":" Thank you.","no_speech_prob":0.9,"avg_logprob":-1.4}]}"#,
                "Book.",
            ),
            (r#"{"text":"","segments":[]}"#, ""),
            (r#"{"segments":[]}"#, ""),
            (r#"{"text":"Book a table.","segments":[]}"#, "Book a table."),
            (r#"{"text":"Book a table.","segments":[{"start":0.1,"text":null}]}"#, "Book a table."),
            (r#"{"text":"Book a table.","segments":null}"#, "Book a table."),
            (r#"{"text":"Book a table \ud83d"}"#, "Book a table \u{fffd}"),
            (r#"{"text":null}"#, ""),
            (r#"{"text":null,"segments":[{"text":" Book."}]}"#, "Book."),
        ] {
            assert_eq!(transcript(body, None), Ok(words.to_owned()), "{body}");
        }
        for body in ["{", "{}", "[1]", r#"{"segments":[{}]}"#, r#"{"text":7,"segments":[]}"#] {
            let read = transcript(body, Some("application/json"));
            assert!(matches!(read, Err(NoTranscript::Unreadable(_))), "{body}");
        }
    }

    #[test]
    fn pages_and_errors_are_no_words_of_the_caller() {
        for (content_type, body) in [
            (Some("text/html; charset=utf-8"), "<p>Please sign in.</p>"),
            (Some("text/html"), "Please <a href=/>sign in</a>."),
            (Some("Application/XML"), "<Error><Code>AccessDenied</Code></Error>"),
            (Some("text/plain"), "\n<!DOCTYPE html><title>Sign in</title>"),
            (None, "<HTML><body>Sign in</body></html>"),
            (Some("application/json"), r#"{"error":"No such model."}"#),
            (Some("text/html"), r#"{"error":{"message":"No such model.","code":404}}"#),
            (Some("application/problem+json"), r#"{"title":"No such model."}"#),
            (None, r#"{"text":"","error":"CUDA out of memory"}"#),
            (None, r#"[{"error":{"message":"No."}}]"#),
        ] {
            assert_eq!(transcript(body, content_type), Err(NoTranscript::Refusal), "{content_type:?} {body}");
        }
        for (content_type, body) in [
            (Some("text/plain"), "Is 3 < 4?"),
            (Some("text/html; charset=utf-8"), " Is 3 < 4?\n"),
            (Some("text/html"), r#"{"text":"Is 3 < 4?"}"#),
            (None, r#"{"text":"Is 3 < 4?","error":null}"#),
            (None, r#"{"text":"Is 3 < 4?","message":"done"}"#),
        ] {
            assert_eq!(transcript(body, content_type), Ok("Is 3 < 4?".to_owned()), "{content_type:?} {body}");
        }
        for beside in [r#""error":"""#, r#""error":false"#, r#""error":null"#, r#""detail":"No speech detected""#] {
            let body = format!(r#"{{"text":"",{beside}}}"#);
            assert_eq!(transcript(&body, None), Ok(String::new()), "{body}");
        }
    }
}
