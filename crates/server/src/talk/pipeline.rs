//! The providers of one call, each with its fallbacks, run so that the driver only reads one channel per kind.
//!
//! A provider that fails before its first output is replaced by the next one in the same turn; one that fails in the middle is not,
//! since the caller has heard half a response. If the agent wants it, a late model is hedged with a second request. Dropping a
//! [`Running`] cancels it.

mod hedging;
mod response_times;
mod run;
mod usage_ledger;

pub use self::response_times::{AllResponseTimes, ResponseTimes};

use std::sync::Arc;
use std::time::Duration;

use switchhook_core::conversation::Message;
use switchhook_providers::json_schema::Schema;
use switchhook_providers::llm::{self, Withheld};
use switchhook_providers::prices::Rates;
use switchhook_providers::tts::cost;
use switchhook_providers::{
    Analysis, AnalysisRequest, Llm, LlmEvent, LlmRequest, ProviderError, Stt, SttEvent, SttOptions, Tts, TtsAudio,
    Usage, UsageMeter,
};
use switchhook_runtime::panics::{Panicked, caught};
use tokio::sync::{Semaphore, mpsc};
use tokio::time::{Instant, timeout_at};
use tokio_util::task::AbortOnDropHandle;
use tracing::Instrument as _;

use self::run::{Entry, PipelineStage, run};
use self::usage_ledger::UsageLedger;
use super::phrase_cache::PhraseCache;
use super::provider_health::ProviderHealth;
use super::strip_nul::{strip_nul, strip_nul_value};
use super::stt::{SpeechToText, SttProvider};
use super::tools::Toolbox;
use super::voice::{ConfiguredVoice, Rendered, TtsSettings};

/// How long a model with a fallback may take until its first output.
const LLM_TIMEOUT: Duration = Duration::from_secs(4);
/// The least it is given however many models there are: good models need a while too.
const MIN_LLM_TIMEOUT: Duration = Duration::from_secs(2);
/// The time for all models of an agent together; the conversation waits for ten seconds.
const ALL_MODELS: Duration = Duration::from_millis(9_500);
/// The same for a TTS, for which the caller waits in silence.
const TTS_TIMEOUT: Duration = Duration::from_secs(2);
/// The pause between two phrases that are synthesized into the cache: speech for the caller takes precedence.
const BETWEEN_PHRASES: Duration = Duration::from_secs(1);
/// Pieces of a response or of speech that are buffered for the driver.
const EVENT_CAPACITY: usize = 64;

/// Running work; dropping it cancels it.
pub type Running = AbortOnDropHandle<()>;

/// A running request to providers; dropping it cancels it.
pub struct RunningRequest {
    running: Running,
    ledger: UsageLedger,
}

impl RunningRequest {
    /// Returns the cost if its end is not awaited, after `written` characters of a response: providers charge for what they were sent, and
    /// do not report how much that is.
    #[must_use]
    pub fn cost(&self, written: usize) -> Usage {
        self.ledger.usage(written)
    }

    /// Returns the same request, with `running` forwarding its results.
    #[must_use]
    pub fn through(self, running: impl FnOnce(Running) -> Running) -> Self {
        Self { running: running(self.running), ledger: self.ledger }
    }
}

/// The providers of one call, each kind in order of preference.
#[derive(Clone)]
pub struct Pipeline {
    /// Speech to text.
    pub stt: Vec<(Arc<dyn Stt>, SttOptions)>,
    /// The language model.
    pub llm: Vec<(Arc<dyn Llm>, LlmSettings)>,
    /// Text to speech.
    pub tts: Vec<(Arc<dyn Tts>, TtsSettings)>,
    /// Speech that is cached.
    pub phrases: Arc<PhraseCache>,
    /// The tools that the model may call.
    pub tools: Arc<Toolbox>,
    /// The prices of the providers.
    pub rates: KnownRates,
    /// Whether to send a second request when the first model is late.
    pub hedge: bool,
    /// The answers that content filters withheld in this call.
    pub withheld: Withheld,
}

/// The prices of providers, in the same order; `None` where unknown.
#[derive(Clone, Debug, Default)]
pub struct KnownRates {
    /// Speech to text.
    pub stt: Vec<Option<Rates>>,
    /// The language model.
    pub llm: Vec<Option<Rates>>,
    /// Text to speech.
    pub tts: Vec<Option<Rates>>,
}

/// Prices the usage of the provider at `position`.
fn priced(rates: &[Option<Rates>], position: usize, usage: Usage) -> Usage {
    Rates::price(rates.get(position).and_then(Option::as_ref), usage)
}

/// The settings of requests to one model.
#[derive(Clone, Debug, Default)]
pub struct LlmSettings {
    /// The provider's model name.
    pub model: Option<String>,
    /// Sampling temperature.
    pub temperature: Option<f32>,
    /// The maximum length of a response, in tokens.
    pub max_tokens: Option<u32>,
    /// The model's recent response times.
    pub response_times: Arc<ResponseTimes>,
    /// The provider's state in this call.
    pub health: ProviderHealth,
}

/// A signal of a running request.
pub enum Signal<T> {
    /// The next piece.
    Piece(T),
    /// The end, with the usage. Boxed: channels have room for many signals.
    Done(Box<Usage>),
    /// It failed, and no fallback is left.
    Failed(ProviderError),
}

impl Pipeline {
    /// Starts to open the first STT that works, with the others as fallbacks. Adds their cost to `meter`.
    #[must_use]
    pub fn start_stt(&self, events: mpsc::Sender<SttEvent>, meter: &UsageMeter) -> SpeechToText {
        let rates = |position: usize| self.rates.stt.get(position).copied().flatten();
        let providers = self.stt.iter().cloned().enumerate();
        let providers = providers.map(|(position, (stt, options))| SttProvider {
            stt,
            options,
            rates: rates(position),
            meter: meter.clone(),
        });
        SpeechToText::begin(providers.collect(), events)
    }

    /// Returns the cost of speech of this many characters that was stopped: they were sent and are charged.
    #[must_use]
    pub fn stopped(&self, characters: u64) -> Usage {
        priced(&self.rates.tts, 0, Usage { tts_characters: characters, ..Usage::default() })
    }

    /// Returns the minimum cost of a conversation of which only the length and the number of the agent's characters are known. Its tokens
    /// are unknown, so it counts as unpriced.
    #[must_use]
    pub fn at_least(&self, heard: Duration, characters: u64) -> Usage {
        let stt_audio_ms = u64::try_from(heard.as_millis()).unwrap_or(u64::MAX);
        let speech = Usage { stt_audio_ms: if self.stt.is_empty() { 0 } else { stt_audio_ms }, ..Usage::default() };
        let known = priced(&self.rates.stt, 0, speech) + self.stopped(characters);
        Usage { unpriced: true, llm_estimated: true, ..known }
    }

    /// Requests a response from the LLM; every signal carries `turn`.
    pub fn request_completion(
        &self,
        turn: u32,
        messages: Vec<Message>,
        signals: mpsc::Sender<(u32, Signal<LlmEvent>)>,
    ) -> RunningRequest {
        let (pipeline, ledger) = (self.clone(), UsageLedger::default());
        let open = ledger.clone();
        let signal = signals.clone();
        let responding = async move {
            let tools = pipeline.tools.specs().await;
            let start = |(llm, settings): &(Arc<dyn Llm>, LlmSettings), events| {
                let request = LlmRequest {
                    model: settings.model.clone(),
                    messages: messages.clone(),
                    tools: tools.clone(),
                    temperature: settings.temperature,
                    max_tokens: settings.max_tokens,
                    withheld: Some(pipeline.withheld.clone()),
                };
                let llm = llm.clone();
                async move { llm.respond(request, events).await }
            };
            run(PipelineStage::Model, turn, pipeline.models(llm::characters(&messages)), start, signals, &open).await;
        };
        RunningRequest { running: running(PipelineStage::Model, turn, signal, responding), ledger }
    }

    /// Synthesizes a text; every signal carries `utterance`.
    pub fn speak(
        &self,
        utterance: u32,
        text: String,
        signals: mpsc::Sender<(u32, Signal<TtsAudio>)>,
    ) -> RunningRequest {
        let (pipeline, ledger) = (self.clone(), UsageLedger::default());
        let open = ledger.clone();
        let signal = signals.clone();
        let speaking = async move {
            let start = |voice: &ConfiguredVoice, audio| say(voice, &text, audio);
            run(PipelineStage::Voice, utterance, pipeline.voices(&text), start, signals, &open).await;
        };
        RunningRequest { running: running(PipelineStage::Voice, utterance, signal, speaking), ledger }
    }

    /// Returns a phrase if one of the TTS voices has it in the cache.
    #[must_use]
    pub fn cached(&self, text: &str) -> Option<Arc<Rendered>> {
        self.tts.iter().find_map(|voice| self.phrases.find(voice, text))
    }

    /// Synthesizes the `texts` that are not cached with the first TTS, one after the other, and stops at the first failure. Adds the cost
    /// before each request, since an abandoned one is charged too. Each takes one of the `places`.
    pub fn cache_phrases(
        &self,
        texts: Vec<String>,
        meter: UsageMeter,
        places: Arc<Semaphore>,
    ) -> impl Future<Output = ()> + Send + use<> {
        let pipeline = self.clone();
        async move {
            let voice = pipeline.tts.first().filter(|(tts, settings)| {
                tts.keeps_phrases() && settings.health.refusal().is_none() && settings.health.rate_limited().is_none()
            });
            let Some(voice) = voice else { return };
            for text in &texts {
                let Ok(place) = places.acquire().await else { return };
                let Some(making) = pipeline.phrases.make(voice, text) else { continue };
                let characters = text.chars().count() as u64;
                meter.add(pipeline.stopped(characters));
                match pipeline.say_into_memory(voice, text).await {
                    Ok((usage, said)) => match usage.tts_characters.saturating_sub(characters) {
                        0 => making.store(said),
                        // It broke off and is joined from several requests: another call synthesizes it in one.
                        repeated => meter.add(pipeline.stopped(repeated)),
                    },
                    Err(error) => return drop(voice.1.health.judge(error)),
                }
                drop(place);
                tokio::time::sleep(BETWEEN_PHRASES).await;
            }
        }
    }

    async fn say_into_memory(&self, voice: &ConfiguredVoice, text: &str) -> Result<(Usage, Rendered), ProviderError> {
        let (audio, mut pieces) = mpsc::channel(EVENT_CAPACITY);
        let gathering = async {
            let mut rendered = Rendered::default();
            while let Some(piece) = pieces.recv().await {
                rendered.add(piece);
            }
            rendered
        };
        let (said, rendered) = tokio::join!(say(voice, text, audio), gathering);
        said.map(|usage| (usage, rendered))
    }

    /// Returns the models for a request of this many characters, those that failed recently last.
    fn models(&self, characters: usize) -> Vec<Entry<'_, (Arc<dyn Llm>, LlmSettings)>> {
        let rates = |position: usize| self.rates.llm.get(position).copied().flatten();
        let providers = self.llm.iter().enumerate();
        let entries = providers.map(|(position, provider)| Entry {
            provider,
            rates: rates(position),
            response_times: Some(provider.1.response_times.clone()),
            late_after: provider.1.response_times.late_after().filter(|_| self.hedge),
            unanswered: llm::estimate(characters, 0),
            health: &provider.1.health,
        });
        let mut entries: Vec<_> = entries.collect();
        entries.sort_by_key(|entry| entry.health.has_failed_recently());
        entries
    }

    /// Returns the TTS voices for this text.
    fn voices(&self, text: &str) -> Vec<Entry<'_, ConfiguredVoice>> {
        let rates = |position: usize| self.rates.tts.get(position).copied().flatten();
        let providers = self.tts.iter().enumerate();
        let entries = providers.map(|(position, provider)| Entry {
            provider,
            rates: rates(position),
            response_times: None,
            late_after: None,
            unanswered: cost(text),
            health: &provider.1.health,
        });
        entries.collect()
    }

    /// Connects to the models. One that rejects the key is not used in this call.
    ///
    /// # Errors
    /// If all of them reject it.
    pub async fn warm_models(&self) -> Result<(), ProviderError> {
        let mut soon = if self.hedge { 2 } else { 1 };
        let mut models = self.llm.iter();
        let mut refused = None;
        loop {
            let next: Vec<_> = models.by_ref().take(soon).collect();
            if next.is_empty() {
                return refused.map_or(Ok(()), Err);
            }
            soon = 1;
            let warmed = futures_util::future::join_all(next.iter().map(|(llm, _)| llm.warm())).await;
            let mut works = false;
            for ((_, settings), warmed) in next.into_iter().zip(warmed) {
                match warmed {
                    Err(error @ ProviderError::Config { .. }) => refused = Some(settings.health.judge(error)),
                    _ => works = true,
                }
            }
            if works {
                return Ok(());
            }
        }
    }

    /// Connects to the TTS that will speak first.
    ///
    /// # Errors
    /// If it refuses and there is no other.
    pub async fn warm_voice(&self) -> Result<(), ProviderError> {
        let Some((tts, settings)) = self.tts.first() else { return Ok(()) };
        let warmed = tts.warm(&settings.request("")).await;
        if self.tts.len() > 1 { Ok(()) } else { warmed }
    }

    /// Runs the post-call analysis on the first model that answers, within `timeout_after`. Returns the cost even if it fails.
    pub async fn analyse(
        &self,
        messages: &[Message],
        schema: Option<&Schema>,
        timeout_after: Duration,
    ) -> (Result<(String, serde_json::Value), ProviderError>, Usage) {
        let deadline = Instant::now() + timeout_after;
        let mut last = none_configured("language model");
        let mut cost = Usage::default();
        for (position, (llm, settings)) in self.llm.iter().enumerate() {
            if Instant::now() >= deadline {
                break;
            }
            if let Some(refusal) = settings.health.refusal() {
                last = refusal;
                continue;
            }
            let meter = UsageMeter::default();
            let request = AnalysisRequest {
                model: settings.model.clone(),
                messages: messages.to_vec(),
                schema: schema.cloned(),
                meter: meter.clone(),
            };
            let looking = async {
                if let Some((wait, _)) = settings.health.rate_limited() {
                    tokio::time::sleep(wait).await;
                }
                llm.analyse(request).await
            };
            let looking = match timeout_at(deadline, caught(looking)).await {
                Ok(looking) => looking.unwrap_or_else(|panicked| Err(stopped("language model", panicked))),
                Err(_) => Err(timed_out("language model", timeout_after)),
            };
            if matches!(looking, Err(ProviderError::Timeout { .. })) {
                meter.add(llm::estimate(llm::characters(messages), 0));
            }
            cost = cost + priced(&self.rates.llm, position, meter.usage());
            match looking {
                Ok(Analysis { summary, outcome }) => return (Ok((strip_nul(summary), strip_nul_value(outcome))), cost),
                Err(error) => last = error,
            }
        }
        (Err(last), cost)
    }
}

fn say(
    (tts, settings): &(Arc<dyn Tts>, TtsSettings),
    text: &str,
    audio: mpsc::Sender<TtsAudio>,
) -> impl Future<Output = Result<Usage, ProviderError>> + Send + use<> {
    let request = settings.request(text);
    let tts = tts.clone();
    async move { tts.speak(request, audio).await }
}

/// Runs a request as a separate task, and reports a panic as a failure.
fn running<T: Send + 'static>(
    kind: PipelineStage,
    tag: u32,
    signals: mpsc::Sender<(u32, Signal<T>)>,
    work: impl Future<Output = ()> + Send + 'static,
) -> Running {
    AbortOnDropHandle::new(tokio::spawn(
        async move {
            if let Err(panicked) = caught(work).await {
                // A driver that is gone needs no signal.
                let _ = signals.send((tag, Signal::Failed(stopped(kind.words(), panicked)))).await;
            }
        }
        .in_current_span(),
    ))
}

fn stopped(provider: &'static str, panicked: Panicked) -> ProviderError {
    ProviderError::Failed { provider, message: panicked.to_string() }
}

/// Returns how long each of the models may take, so that the last one gets as much time as those before it.
fn llm_timeout(models: usize) -> Duration {
    let share = ALL_MODELS / u32::try_from(models.max(1)).unwrap_or(u32::MAX);
    share.clamp(MIN_LLM_TIMEOUT, LLM_TIMEOUT)
}

fn none_configured(kind: &'static str) -> ProviderError {
    ProviderError::Config { provider: kind, message: "no provider is configured".to_owned() }
}

fn timed_out(kind: &'static str, waited: Duration) -> ProviderError {
    ProviderError::Timeout { provider: kind, waited_ms: u64::try_from(waited.as_millis()).unwrap_or(u64::MAX) }
}

#[cfg(test)]
mod tests;
