//! Language models behind OpenAI's chat completions interface, OpenAI's own and the many servers that offer the same
//! (`POST {base}/chat/completions`, streamed as server-sent events).
//!
//! The servers differ in much; [`wire`] reads the union. A stream that ends without having said anything, or without a finish
//! reason, is a failure and not an answer. Requests are tried again only while nothing has been given.

mod realtime_stt;
pub(crate) mod sse;
pub mod stt;
#[cfg(test)]
mod tests;
mod transcriptions;
mod wire;

use std::time::Duration;

use async_trait::async_trait;
use futures_util::StreamExt as _;
use serde_json::{Value, json};
use switchhook_core::conversation::{Message, Role};
use switchhook_core::private::Private;
use tokio::sync::mpsc;

use self::sse::Events;
use self::wire::{Answer, Step};
use crate::providers::{Analysis, AnalysisRequest, Llm, LlmEvent, LlmRequest, ProviderError, Usage};

/// The name by which errors speak of us.
const PROVIDER: &str = "openai";
/// Where OpenAI itself listens.
pub const OPENAI_URL: &str = "https://api.openai.com/v1";
/// The model when neither the agent nor the connection names one.
const DEFAULT_MODEL: &str = "gpt-4o-mini";
/// Until the headers of an answer.
const FIRST_BYTE: Duration = Duration::from_secs(5);
/// Between two pieces of an answer.
const GAP: Duration = Duration::from_secs(8);
/// A whole answer.
const WHOLE: Duration = Duration::from_secs(60);
/// Requests for one answer, the first included.
const TRIES: u32 = 3;
/// Before the second and the third.
const PAUSES: [Duration; 2] = [Duration::from_millis(100), Duration::from_millis(600)];
/// The longest pause a server may ask for; whoever asks for more is given up.
const LONGEST_PAUSE: Duration = Duration::from_secs(2);
/// Tokens of an answer when the agent sets no limit: a caller does not listen longer.
const MAX_TOKENS: u32 = 300;
/// Tokens for looking back on a call.
const ANALYSIS_TOKENS: u32 = 600;
/// How much of an error's body is read.
const ERROR_BYTES: usize = 16 * 1024;
/// How much of a look back on a call is read.
const ANALYSIS_BYTES: usize = 256 * 1024;
/// How much of a streamed answer is read: many times what a caller would listen to.
const STREAM_BYTES: usize = 1024 * 1024;

/// One connection's model server.
pub struct OpenAiLlm {
    http: reqwest::Client,
    endpoint: String,
    key: Option<Private<String>>,
    model: String,
    max_tokens_field: &'static str,
}

impl OpenAiLlm {
    /// With a base address such as `https://api.openai.com/v1`; a missing `/v1` is added when there is no path at all.
    #[must_use]
    pub fn new(http: reqwest::Client, base_url: &str, key: Option<Private<String>>, model: Option<String>) -> Self {
        let base = base_url.trim_end_matches('/');
        let has_path = base.split_once("://").is_some_and(|(_, rest)| rest.contains('/'));
        let base = if has_path { base.to_owned() } else { format!("{base}/v1") };
        // OpenAI's newer models refuse `max_tokens`, and most other servers know nothing else.
        let max_tokens_field = if base.contains("api.openai.com") { "max_completion_tokens" } else { "max_tokens" };
        Self {
            http,
            endpoint: format!("{base}/chat/completions"),
            key,
            model: model.unwrap_or_else(|| DEFAULT_MODEL.to_owned()),
            max_tokens_field,
        }
    }

    fn body(&self, request: &LlmRequest) -> Value {
        let mut body = json!({
            "model": request.model.as_deref().unwrap_or(&self.model),
            "messages": wire::messages(&request.messages),
            "stream": true,
            "stream_options": { "include_usage": true },
        });
        body[self.max_tokens_field] = json!(request.max_tokens.unwrap_or(MAX_TOKENS));
        if let Some(temperature) = request.temperature {
            body["temperature"] = json!(temperature);
        }
        if !request.tools.is_empty() {
            body["tools"] = request.tools.iter().map(|tool| json!({ "type": "function", "function": tool })).collect();
        }
        body
    }

    /// Sends a request until it is taken or cannot be.
    async fn post(&self, body: &Value) -> Result<reqwest::Response, ProviderError> {
        let mut attempt = 0;
        loop {
            let refusal = match self.post_once(body).await {
                Ok(response) => return Ok(response),
                Err(refusal) => refusal,
            };
            attempt += 1;
            let pause = refusal.retry.filter(|pause| attempt < TRIES && *pause <= LONGEST_PAUSE);
            let Some(pause) = pause else { return Err(refusal.error) };
            tracing::warn!(error = %refusal.error, attempt, "the language model refused; trying again");
            let least = PAUSES[usize::try_from(attempt - 1).unwrap_or(0).min(PAUSES.len() - 1)];
            tokio::time::sleep(pause.max(least)).await;
        }
    }

    async fn post_once(&self, body: &Value) -> Result<reqwest::Response, Refusal> {
        let mut request = self.http.post(&self.endpoint).json(body);
        if let Some(key) = &self.key {
            request = request.bearer_auth(key.reveal());
        }
        let response = match tokio::time::timeout(FIRST_BYTE, request.send()).await {
            Ok(Ok(response)) => response,
            Ok(Err(error)) if error.is_timeout() => return Err(Refusal::again(timeout(FIRST_BYTE))),
            Ok(Err(error)) => return Err(Refusal::again(failed(without_url(error)))),
            Err(_) => return Err(Refusal::again(timeout(FIRST_BYTE))),
        };
        if response.status().is_success() {
            return Ok(response);
        }
        Err(Refusal::read(response).await)
    }
}

/// Why a request was not taken, and after how long it may be sent again.
struct Refusal {
    error: ProviderError,
    retry: Option<Duration>,
}

impl Refusal {
    fn again(error: ProviderError) -> Self {
        Self { error, retry: Some(Duration::ZERO) }
    }

    async fn read(response: reqwest::Response) -> Self {
        let status = response.status().as_u16();
        let asked = wire::retry_after(response.headers()).unwrap_or(Duration::ZERO);
        let body = tokio::time::timeout(FIRST_BYTE, read_some(response, ERROR_BYTES)).await.unwrap_or_default();
        let words = wire::error_words(&body).unwrap_or_else(|| format!("it answered with status {status}"));
        let out_of_money = words.contains("insufficient_quota") || words.contains("billing");
        match status {
            408 | 504 => Self { error: timeout(FIRST_BYTE), retry: Some(asked) },
            429 if !out_of_money => Self { error: failed(words), retry: Some(asked) },
            409 | 500..=599 => Self { error: failed(words), retry: Some(asked) },
            _ => Self { error: ProviderError::Config { provider: PROVIDER, words }, retry: None },
        }
    }
}

/// The beginning of a body, at most `most` bytes.
async fn read_some(response: reqwest::Response, most: usize) -> Vec<u8> {
    let mut body = Vec::new();
    let mut pieces = response.bytes_stream();
    while let Some(Ok(piece)) = pieces.next().await {
        body.extend_from_slice(&piece);
        if body.len() >= most {
            body.truncate(most);
            break;
        }
    }
    body
}

fn failed(words: impl ToString) -> ProviderError {
    ProviderError::Failed { provider: PROVIDER, words: words.to_string() }
}

fn timeout(waited: Duration) -> ProviderError {
    ProviderError::Timeout { provider: PROVIDER, waited_ms: u64::try_from(waited.as_millis()).unwrap_or(u64::MAX) }
}

/// An address may hold secrets; the sentence says enough without it.
fn without_url(error: reqwest::Error) -> String {
    let error = error.without_url();
    let mut words = error.to_string();
    let mut source = std::error::Error::source(&error);
    while let Some(cause) = source {
        words = format!("{words}: {cause}");
        source = cause.source();
    }
    words
}

#[async_trait]
impl Llm for OpenAiLlm {
    async fn answer(&self, request: LlmRequest, events: mpsc::Sender<LlmEvent>) -> Result<Usage, ProviderError> {
        let body = self.body(&request);
        let streamed = async {
            let mut stream = self.post(&body).await?.bytes_stream();
            let mut reader = Events::default();
            let mut answer = Answer::default();
            let mut read = 0;
            while !answer.is_over() {
                let piece = match tokio::time::timeout(GAP, stream.next()).await {
                    Ok(Some(piece)) => piece.map_err(|error| failed(without_url(error)))?,
                    Ok(None) => break,
                    Err(_) => return Err(timeout(GAP)),
                };
                read += piece.len();
                if read > STREAM_BYTES {
                    return Err(failed("its answer does not end"));
                }
                for data in reader.push(&piece) {
                    match answer.take(&data).map_err(failed)? {
                        Step::Text(text) => {
                            if events.send(LlmEvent::Delta(text)).await.is_err() {
                                return Ok(answer.usage()); // Nobody listens any more.
                            }
                        }
                        Step::Nothing => {}
                    }
                }
            }
            for event in answer.finish().map_err(failed)? {
                let _ = events.send(event).await;
            }
            Ok(answer.usage())
        };
        tokio::time::timeout(WHOLE, streamed).await.unwrap_or_else(|_| Err(timeout(WHOLE)))
    }

    async fn analyse(&self, request: AnalysisRequest) -> Result<Analysis, ProviderError> {
        let mut body = json!({
            "model": request.model.as_deref().unwrap_or(&self.model),
            "messages": [
                { "role": "system", "content": instructions(request.schema.as_ref()) },
                { "role": "user", "content": conversation(&request.messages) },
            ],
            "temperature": 0,
        });
        body[self.max_tokens_field] = json!(ANALYSIS_TOKENS);
        let response = self.post(&body).await?;
        let body =
            tokio::time::timeout(WHOLE, read_some(response, ANALYSIS_BYTES)).await.map_err(|_| timeout(WHOLE))?;
        let answer: Value =
            serde_json::from_slice(&body).map_err(|_| failed("it answered with something that is not JSON"))?;
        let text = answer.pointer("/choices/0/message/content").and_then(Value::as_str).unwrap_or_default();
        wire::analysis(text).ok_or_else(|| failed("its look back on the call was not the JSON it was asked for"))
    }
}

fn instructions(schema: Option<&Value>) -> String {
    let outcome = match schema {
        Some(schema) => format!("an object that follows this JSON Schema, null for what is not known: {schema}"),
        None => "null".to_owned(),
    };
    format!(
        "You read the transcript of a phone call. Answer with one JSON object and nothing else: {{\"summary\": one or two \
         plain sentences about what the call came to, \"outcome\": {outcome}}}. Use only what was said."
    )
}

fn conversation(messages: &[Message]) -> String {
    let line = |message: &Message| match message.role {
        Role::User => Some(format!("Caller: {}", message.text)),
        Role::Assistant if !message.text.is_empty() => Some(format!("Agent: {}", message.text)),
        _ => None,
    };
    messages.iter().filter_map(line).collect::<Vec<_>>().join("\n")
}
