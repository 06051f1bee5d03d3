//! STT, LLM, TTS and speech to speech: the traits that providers implement.
//!
//! One provider is created per connection and shared by all calls. Each call works through its own session or future:
//! **dropping it cancels the work** and frees its resources, so there is no cancel method to forget. Results arrive in
//! channels that the call's driver reads; a full channel means backpressure, a closed one that the call is over.
//!
//! Audio in both directions uses the call's format, which each request names; a provider that needs another format converts.

pub mod adapter_config;
pub mod anthropic;
pub mod assemblyai;
pub mod cartesia;
pub mod check;
pub mod deepgram;
pub mod elevenlabs;
pub mod entry;
mod extras;
pub(crate) mod failure;
#[cfg(test)]
mod fuzz;
pub mod gemini;
pub mod json_schema;
pub mod llm;
pub mod local;
pub mod model_schema;
pub mod openai;
mod parameters;
pub mod prices;
pub mod realtime;
pub mod registry;
pub mod replay_buffer;
pub mod scripted;
mod segment;
pub mod sse;
pub(crate) mod stt;
pub mod tts;
pub mod voices;
pub(crate) mod websocket;

pub use self::failure::without_secret;

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use switchhook_core::call::ErrorCode;
use switchhook_core::conversation::{Message, SpokenWord, ToolCall};
use switchhook_media::format::AudioFormat;
use switchhook_media::frame::CallerAudio;
use switchhook_runtime::panics::caught;
use tokio::sync::mpsc;
use utoipa::ToSchema;

use crate::json_schema::Schema;
use crate::llm::Withheld;

/// How long connecting to a provider may take.
pub(crate) const CONNECT_TIMEOUT: Duration = Duration::from_secs(3);

/// Why a provider request failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ProviderError {
    /// The provider did not respond in time; `provider_timeout`.
    #[error("{provider} did not respond within {waited_ms} ms")]
    Timeout {
        /// The provider's name.
        provider: &'static str,
        /// How long we waited, in milliseconds.
        waited_ms: u64,
    },
    /// The provider refuses our credentials or settings, or cannot be used at all; `config_error`.
    #[error("{provider}: {message}")]
    Config {
        /// The provider's name.
        provider: &'static str,
        /// The provider's own message where it sent one.
        message: String,
    },
    /// The provider refuses what it accepted earlier in the call; `pipeline_error`.
    #[error("{provider}: {message}")]
    Refused {
        /// The provider's name.
        provider: &'static str,
        /// The provider's own message where it sent one.
        message: String,
    },
    /// The provider has no capacity, and says for how long; `pipeline_error`.
    #[error("{provider}: {message}")]
    Busy {
        /// The provider's name.
        provider: &'static str,
        /// The provider's own message where it sent one.
        message: String,
        /// How long to wait before the next request, in milliseconds.
        retry_after_ms: u64,
    },
    /// The provider failed; `pipeline_error`.
    #[error("{provider}: {message}")]
    Failed {
        /// The provider's name.
        provider: &'static str,
        /// The provider's own message where it sent one.
        message: String,
    },
}

impl ProviderError {
    /// Creates a [`ProviderError::Busy`] with this pause.
    pub fn busy(provider: &'static str, message: String, retry_after: Duration) -> Self {
        Self::Busy { provider, message, retry_after_ms: u64::try_from(retry_after.as_millis()).unwrap_or(u64::MAX) }
    }

    /// Creates a [`ProviderError::Timeout`] after this wait.
    pub fn timeout(provider: &'static str, waited: Duration) -> Self {
        Self::Timeout { provider, waited_ms: u64::try_from(waited.as_millis()).unwrap_or(u64::MAX) }
    }

    /// Replaces the pause of a [`ProviderError::Busy`], for when part of it has passed.
    pub fn retry_after(self, pause: Duration) -> Self {
        match self {
            Self::Busy { provider, message, .. } => Self::busy(provider, message, pause),
            error => error,
        }
    }

    /// Returns the error code of a call that ends with this error.
    #[must_use]
    pub fn code(&self) -> ErrorCode {
        match self {
            Self::Timeout { .. } => ErrorCode::ProviderTimeout,
            Self::Config { .. } => ErrorCode::ConfigError,
            Self::Refused { .. } | Self::Busy { .. } | Self::Failed { .. } => ErrorCode::PipelineError,
        }
    }

    /// Returns whether a retry would be useless.
    #[must_use]
    pub fn is_final(&self) -> bool {
        matches!(self, Self::Config { .. } | Self::Refused { .. })
    }

    /// Converts the error for a provider that has already worked in this call: its configuration cannot be wrong.
    #[must_use]
    pub fn of_proven(self) -> Self {
        match self {
            Self::Config { provider, message } => Self::Refused { provider, message },
            error => error,
        }
    }
}

/// Usage in the providers' units.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[schema(as = CallUsage)]
#[serde(default)]
pub struct Usage {
    /// Audio transcribed.
    pub stt_audio_ms: u64,
    /// Input tokens, including those read from or written to the cache.
    pub llm_input_tokens: u64,
    /// Of these, from the provider's cache.
    pub llm_cached_tokens: u64,
    /// Of these, written to the cache.
    pub llm_cache_write_tokens: u64,
    /// Output tokens, including reasoning.
    pub llm_output_tokens: u64,
    /// Whether some token counts are estimates.
    pub llm_estimated: bool,
    /// Audio input tokens of a speech-to-speech model, including cached ones. Its text tokens count as `llm_*_tokens`.
    pub audio_input_tokens: u64,
    /// Of these, from the provider's cache.
    pub audio_cached_tokens: u64,
    /// Audio output tokens of a speech-to-speech model.
    pub audio_output_tokens: u64,
    /// Characters spoken.
    pub tts_characters: u64,
    /// Cost by the price table.
    pub cost_usd: f64,
    /// Whether some usage has no price, so the cost is incomplete.
    pub unpriced: bool,
    /// Costs by part.
    pub costs: Costs,
}

/// Costs by part, in US dollars.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[schema(as = CallCosts)]
#[serde(default)]
pub struct Costs {
    /// Speech to text.
    pub stt_usd: f64,
    /// Language models, including post-call analysis.
    pub llm_usd: f64,
    /// Text to speech.
    pub tts_usd: f64,
    /// Speech-to-speech models.
    pub realtime_usd: f64,
    /// `null`: carriers bill separately.
    pub carrier_usd: Option<f64>,
}

impl std::ops::Add for Costs {
    type Output = Self;

    fn add(self, more: Self) -> Self {
        Self {
            stt_usd: self.stt_usd + more.stt_usd,
            llm_usd: self.llm_usd + more.llm_usd,
            tts_usd: self.tts_usd + more.tts_usd,
            realtime_usd: self.realtime_usd + more.realtime_usd,
            carrier_usd: match (self.carrier_usd, more.carrier_usd) {
                (None, None) => None,
                (one, other) => Some(one.unwrap_or(0.0) + other.unwrap_or(0.0)),
            },
        }
    }
}

/// Saturates: the numbers come from providers, and none may overflow a sum.
impl std::ops::Add for Usage {
    type Output = Self;

    fn add(self, more: Self) -> Self {
        Self {
            stt_audio_ms: self.stt_audio_ms.saturating_add(more.stt_audio_ms),
            llm_input_tokens: self.llm_input_tokens.saturating_add(more.llm_input_tokens),
            llm_cached_tokens: self.llm_cached_tokens.saturating_add(more.llm_cached_tokens),
            llm_cache_write_tokens: self.llm_cache_write_tokens.saturating_add(more.llm_cache_write_tokens),
            llm_output_tokens: self.llm_output_tokens.saturating_add(more.llm_output_tokens),
            llm_estimated: self.llm_estimated || more.llm_estimated,
            audio_input_tokens: self.audio_input_tokens.saturating_add(more.audio_input_tokens),
            audio_cached_tokens: self.audio_cached_tokens.saturating_add(more.audio_cached_tokens),
            audio_output_tokens: self.audio_output_tokens.saturating_add(more.audio_output_tokens),
            tts_characters: self.tts_characters.saturating_add(more.tts_characters),
            cost_usd: self.cost_usd + more.cost_usd,
            unpriced: self.unpriced || more.unpriced,
            costs: self.costs + more.costs,
        }
    }
}

/// Speech to text.
#[async_trait]
pub trait Stt: Send + Sync {
    /// Opens a session for one call. Its transcripts arrive in `events` until the session is dropped.
    ///
    /// # Errors
    /// When the provider cannot be reached or refuses.
    async fn open(
        &self,
        options: SttOptions,
        events: mpsc::Sender<SttEvent>,
    ) -> Result<Box<dyn SttSession>, ProviderError>;

    /// Returns the unsupported options, each as the rest of a sentence that begins with the provider's name.
    fn unsupported_options(&self, _options: &SttOptions) -> Vec<String> {
        Vec::new()
    }
}

/// Options of an STT session.
#[derive(Clone, Debug, Default)]
pub struct SttOptions {
    /// BCP 47 tag.
    pub language: String,
    /// The provider's model name.
    pub model: Option<String>,
    /// Words to expect.
    pub keyterms: Vec<String>,
    /// The format of the caller's audio.
    pub format: AudioFormat,
}

/// Returns whether a BCP 47 tag means English; an empty tag counts, since it may mean any language.
#[must_use]
pub fn is_english(language: &str) -> bool {
    let primary = language.split(['-', '_']).next().unwrap_or_default();
    primary.is_empty() || primary.eq_ignore_ascii_case("en")
}

/// One call's STT session. Nothing here may block: audio is due every 20 ms.
pub trait SttSession: Send + Sync {
    /// Starts in mid-call: everything before this segment has been transcribed.
    fn takes_over(&mut self, _segment: u32) {}
    /// Takes the next 20 ms of the caller, silence included.
    fn audio(&mut self, frame: &CallerAudio);
    /// Reports that voice activity began, some 60 to 120 ms before this frame: keep 300 ms of pre-roll.
    fn speech_started(&mut self) {}
    /// Reports that voice activity ended about 200 ms ago. Send [`SttEvent::Final`] for this segment, even if it has no words.
    fn speech_stopped(&mut self, segment: u32);
    /// Returns how much audio was sent for transcription, where that differs from the call's audio counted once.
    fn sent(&self) -> Option<Duration> {
        None
    }
}

/// Input of an STT session, as a value: the calls of [`SttSession`].
#[derive(Clone)]
pub enum SttInput {
    /// Starts in mid-call: everything before this segment has been transcribed.
    StartAt(u32),
    /// 20 ms of audio.
    Audio(CallerAudio),
    /// Voice activity began.
    SpeechStarted,
    /// Voice activity ended, and with it this segment.
    SpeechStopped(u32),
}

/// An event of an STT session. Not `Debug`, which would print spoken words.
#[derive(Clone, PartialEq, Eq)]
pub enum SttEvent {
    /// The transcript of the current segment so far; may change.
    Partial {
        /// The text so far.
        text: String,
    },
    /// The final transcript of a segment.
    Final {
        /// The number given to [`SttSession::speech_stopped`].
        segment: u32,
        /// The text; empty when there were no words.
        text: String,
    },
    /// The provider's own endpointing ended the turn.
    EndOfTurn,
    /// The session has failed.
    Failed {
        /// The code the call fails with.
        code: ErrorCode,
        /// The message.
        message: String,
    },
}

/// Runs a transcription and reports a panic as [`SttEvent::Failed`].
pub(crate) async fn understood(events: mpsc::Sender<SttEvent>, work: impl Future<Output = ()>) {
    if let Err(panicked) = caught(work).await {
        let message = format!("speech to text: {panicked}");
        // When the receiver is gone, the call is over.
        let _ = events.send(SttEvent::Failed { code: ErrorCode::PipelineError, message }).await;
    }
}

/// A language model.
#[async_trait]
pub trait Llm: Send + Sync {
    /// Streams a response into `events` and returns its usage. Dropping the future cancels the request.
    ///
    /// # Errors
    /// When the provider cannot be reached, refuses, or fails midway.
    async fn respond(&self, request: LlmRequest, events: mpsc::Sender<LlmEvent>) -> Result<Usage, ProviderError>;

    /// Those among `tools` that the server has refused. They are left out of requests.
    fn refused(&self, _tools: &[ToolSpec]) -> Vec<RefusedTool> {
        Vec::new()
    }

    /// Returns whether the server refuses one of `tools`, and more requests will show which.
    fn is_searching_refused(&self, _tools: &[ToolSpec]) -> bool {
        false
    }

    /// Sends tools again that the server has refused: it may take them by now.
    fn forget_refusals(&self) {}

    /// Prepares what the first response would wait for, such as a connection.
    ///
    /// # Errors
    /// When the provider turns out to refuse the key. Success proves nothing.
    async fn warm(&self) -> Result<(), ProviderError> {
        Ok(())
    }

    /// Analyses a finished conversation.
    ///
    /// # Errors
    /// As [`Llm::respond`].
    async fn analyse(&self, request: AnalysisRequest) -> Result<Analysis, ProviderError>;
}

/// A request to the model.
#[derive(Clone, Debug)]
pub struct LlmRequest {
    /// The provider's model name; its default when absent.
    pub model: Option<String>,
    /// The conversation, oldest first, after the instructions.
    pub messages: Vec<Message>,
    /// The tools it may call.
    pub tools: Vec<ToolSpec>,
    /// Sampling temperature.
    pub temperature: Option<f32>,
    /// Token limit of the response.
    pub max_tokens: Option<u32>,
    /// Messages that content filters refused in this call, to be left out. `None` if the whole conversation must be sent.
    pub withheld: Option<Withheld>,
}

/// A tool that a model's server does not take.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RefusedTool {
    /// Its name.
    pub name: String,
    /// The server's message about it.
    pub message: String,
}

/// A tool as the model sees it.
#[derive(Clone, Debug, Serialize)]
pub struct ToolSpec {
    /// Its name.
    pub name: String,
    /// When to use it.
    pub description: String,
    /// JSON Schema of its arguments.
    pub parameters: Value,
}

/// An event of the model's response. Not `Debug`, which would print spoken words.
#[derive(Clone, PartialEq)]
pub enum LlmEvent {
    /// The next piece of text.
    Delta(String),
    /// A complete tool call. Boxed: channels have room for many events, nearly all of them text.
    ToolCall(Box<ToolCall>),
}

/// A post-call analysis request.
#[derive(Clone, Debug)]
pub struct AnalysisRequest {
    /// The provider's model name; its default when absent.
    pub model: Option<String>,
    /// The conversation as it was heard, oldest first, after the instructions.
    pub messages: Vec<Message>,
    /// JSON Schema of the outcome, if the agent has one.
    pub schema: Option<Schema>,
    /// Collects usage as soon as it is known.
    pub meter: UsageMeter,
}

/// Usage so far of work that may still fail.
#[derive(Clone, Debug, Default)]
pub struct UsageMeter(Arc<Mutex<Usage>>);

impl UsageMeter {
    /// Adds usage.
    pub fn add(&self, more: Usage) {
        let mut usage = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        *usage = *usage + more;
    }

    /// Returns the usage so far.
    #[must_use]
    pub fn usage(&self) -> Usage {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The result of post-call analysis.
#[derive(Clone, PartialEq)]
pub struct Analysis {
    /// One or two sentences.
    pub summary: String,
    /// The facts found, by name; `null` when there are none.
    pub outcome: Value,
}

/// Text to speech.
#[async_trait]
pub trait Tts: Send + Sync {
    /// Synthesizes `request` into `audio` and returns its usage. Dropping the future cancels the request.
    ///
    /// # Errors
    /// When the provider cannot be reached, refuses, or fails midway.
    async fn speak(&self, request: TtsRequest, audio: mpsc::Sender<TtsAudio>) -> Result<Usage, ProviderError>;

    /// Prepares what the first request of this kind would wait for, such as a connection. The text is irrelevant; nothing is spoken.
    ///
    /// # Errors
    /// When it turns out that nothing could be spoken. Success proves nothing.
    async fn warm(&self, _like: &TtsRequest) -> Result<(), ProviderError> {
        Ok(())
    }

    /// Returns what the provider does not support of such a request, regardless of its text: the rest of a sentence that begins with the
    /// provider's name.
    fn unsupported_options(&self, _like: &TtsRequest) -> Option<String> {
        None
    }

    /// Returns whether caching frequent phrases pays off.
    fn keeps_phrases(&self) -> bool {
        true
    }
}

/// A TTS request. Not `Debug`, which would print spoken words.
#[derive(Clone, PartialEq)]
pub struct TtsRequest {
    /// The text to speak.
    pub text: String,
    /// The provider's voice name.
    pub voice: Option<String>,
    /// The provider's model name.
    pub model: Option<String>,
    /// Speaking rate; 1 is the voice's own.
    pub speed: f32,
    /// BCP 47 tag.
    pub language: String,
    /// The format of the audio to produce.
    pub format: AudioFormat,
}

/// A chunk of synthesized audio.
#[derive(Clone)]
pub struct TtsAudio {
    /// In the format of the request; any length.
    pub samples: Vec<i16>,
    /// When each word is spoken, from the start of the request; empty when the provider does not say.
    pub words: Vec<SpokenWord>,
}
